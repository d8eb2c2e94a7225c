"""Verifies one table by its MQTT messages alone, and names each law that does not hold.

Theory of operation: the input is the ordered list of messages, each a topic below `shoed/v1/<site>/<table>/` and its
payload. `Follower` draws the round from the events. `Checker` verifies the envelopes, follows each question from
`asked` to its end, remembers the consequence that the retained question shows for each choice, and compares it with
the events after the answer. All events of one input carry one time. A `state` is a quiet moment: it is compared with
what the events give. Nothing of the project is imported.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from tests import checker_book as book
from tests.checker_round import Defect, Follower, Json, Round, odds

ENVELOPE: Final = {"specversion": "1.0", "datacontenttype": "application/json"}
OPEN_FIELDS: Final = ("id", "revision", "question", "shoe", "round", "kind", "clause", "role", "bettor", "optional")
FACES: Final = "any "


def slot_of(due: Json) -> object:
    """A slot without its index, which counts every card that left the shoe."""
    return due and (due["hand"], due["position"])


class Answered(NamedTuple):
    """An answer, and what the question showed for it."""

    time: str  # of all events of the same input
    of: Round
    present: bool  # the question is about the present round
    voidable: bool  # the round was not void before
    question: str
    would: Json


class Checker:
    def __init__(self, game: str) -> None:
        self.round = Follower(game)
        self.require = self.round.require
        self.told: dict[str, Json] = {}  # by the id of an event
        self.born = False  # the daemon has a new connection, and its backlog follows
        self.ahead: Json = None  # the state of a birth, before its backlog
        self.counts: Counter[str] = Counter()
        self.open: dict[str, Json] = {}
        self.known: set[str] = set()
        self.shown: dict[tuple[str, int], Json] = {}  # questions as retained, by id and revision
        self.bettors: dict[str, str | None] = {}  # by the id of the question
        self.state: Json = None
        self.question: Json = None
        self.answer: Answered | None = None
        self.after: list[tuple[str, Json]] = []  # the answer's events
        self.heard_at = ""
        self.moment = ""

    def hear(self, topic: str, payload: bytes) -> None:
        if topic.startswith("event/"):
            self.compare_question()
            self.event(topic, json.loads(payload))
        elif topic == "state":
            self.compare_question()
            self.take_state(json.loads(payload))
        elif topic == "question":
            self.take_question(json.loads(payload) if payload else None)
        elif topic == "status":
            self.born = json.loads(payload)["status"] == "online"

    # --- events

    def event(self, topic: str, event: Json) -> None:
        number = int(event["sequence"])
        if event["id"] in self.told:
            same = self.told[event["id"]] == {**event, "historical": None}
            self.require("sequence", f"{event['id']} again, and it differs", holds=same)
            self.require("sequence", f"{event['id']} again, and not as historical", holds=event.get("historical"))
            return
        self.born = self.born and bool(event.get("historical"))
        after = self.round.sequence + 1
        self.require("sequence", f"{number} comes, and {after} is the next", holds=number == after)
        self.told[event["id"]] = {**event, "historical": None}
        self.round.sequence = number
        kind = event["type"].removeprefix("shoed.")
        plain = {**event, **ENVELOPE} == event and event["id"].endswith(f"-{number}")
        self.require("envelope", f"{event['id']} {event['type']}", holds=plain)
        self.require("envelope", f"{kind} on {topic}", holds=topic == f"event/{kind.replace('.', '/')}")
        data = event["data"]
        if self.answer is not None and event["time"] != self.answer.time:
            self.compare_answer(first=None, known=False)
        self.counts[kind] += 1
        if kind.startswith("question."):
            self.follow_question(kind, data, event["time"])
        if kind == "card.set-aside" or (kind == "card.drawn" and self.round.phase in ("dealing", "closed")):
            self.moment = event["time"]
        self.round.hear(kind, data)
        if self.answer is not None:
            self.after.append((kind, data))
        if self.ahead is not None and self.ahead["sequence"] == event["sequence"]:
            self.take_state(self.ahead)
        if data.get("supersedes") is not None:
            before = self.told.get(data["supersedes"], {}).get("data", {})
            named = [before.get(name) for name in ("shoe", "round")] == [data["shoe"], data["round"]]
            self.require("supersedes", f"{data['supersedes']} is no event of the round", holds=named)

    # --- questions

    def follow_question(self, kind: str, data: Json, time: str) -> None:
        name = data["id"]
        if kind == "question.asked":
            self.require("question", f"question {name} is asked twice", holds=name not in self.known)
            self.known.add(name)
            self.open[name] = {"revision": 1, **{each: data[each] for each in ("question", "shoe", "round", "clause")}}
            self.round.asked(data)
            return
        opened = self.open.get(name)
        self.require("question", f"question {name} is not open: {kind}", holds=opened is not None)
        if opened is None:
            return
        about = {each: data[each] for each in ("question", "shoe", "round")}
        if kind == "question.revised":  # a matter between two rounds is then one of the next round
            opened |= {"shoe": data["shoe"], "round": data["round"]}
        self.require("question", f"question {name} is about {about}", holds=about.items() <= opened.items())
        if kind == "question.revised":
            following = data["revision"] == opened["revision"] + 1
            self.require("question", f"question {name} is revised to {data['revision']}", holds=following)
            opened["revision"] = data["revision"]
            self.round.asked(data)
        elif kind == "question.lapsed":
            self.require("question", f"question {name} lapses without a reason", holds=data["reason"])
            self.close_question(name)
        else:
            known = 1 <= data["revision"] <= opened["revision"]
            self.require("question", f"revision {data['revision']} of question {name}", holds=known)
            self.take_answer(data, time)

    def close_question(self, name: str) -> None:
        del self.open[name]

    def take_answer(self, data: Json, time: str) -> None:
        asked = self.shown.get((data["id"], data["revision"]))
        if data["bettor"] in (None, self.bettors.get(data["id"])):
            self.close_question(data["id"])
            would = consequence(asked, data["choice"]) if asked is not None else None
            if would is not None:
                of = (data["shoe"], data["round"])
                voidable = of not in self.round.void
                present = of == self.round.of and self.round.phase != "abandoned"
                self.answer = Answered(time, of, present, voidable, data["question"], would)
                self.after = []
        self.round.answered(data)

    def compare_answer(self, first: Json, *, known: bool) -> None:
        """Compare the consequence that was shown with the events; `first` is the question that is asked first then."""
        answer, self.answer = self.answer, None
        if answer is None:
            return
        self.counts["consequences"] += 1
        would, drawn = answer.would, self.round.drawn()

        def same(what: str, says: object, is_so: object) -> None:
            name = f"{answer.question} {' '.join(would['choice'])}: {what} shown as {says}, and it is {is_so}"
            self.require("consequence", name, holds=says == is_so)

        ended = [data for kind, data in self.after if kind == "round.voided"]
        voids = [data["clause"] or "" for data in ended if (data["shoe"], data["round"]) == answer.of]
        if answer.voidable:
            same("void", would["void"], voids[0] if voids else None)
        if not answer.present:
            return
        then = would["then_asks"]
        if known:
            same("then_asks", then, None if first is None or first["optional"] else first["question"])
        if then is not None or would["void"] is not None:
            return
        by_rank = answer.question == "face"
        for name in ("player", "banker"):
            same(name, held(would[name], by_rank=by_rank), held(drawn["hands"][name], by_rank=by_rank))
        lying = [drawn["hands"][name]["cards"] for name in ("player", "banker")]
        same("due", slot_of(would["due"]), slot_of(book.slot(*lying)))
        resumed = [data["carried"] for kind, data in self.after if kind == "round.resumed"]
        if resumed:
            same("carried", would["carried"], resumed[-1])
        if would["outcome"] is not None:
            last = drawn["last_round"]
            same("outcome", would["outcome"], last and last["result"]["outcome"])
            same("pays", would["pays"], last and last["pays"])

    # --- quiet moments

    def take_state(self, state: Json) -> None:
        self.state = state
        drawn, plain = self.round.drawn(), {**state}
        self.ahead = state if self.born and int(state["sequence"]) > self.round.sequence else None
        if self.ahead is not None:
            return
        self.require("state", f"it includes {state['sequence']}", holds=state["sequence"] == drawn["sequence"])
        if state["sequence"] != drawn["sequence"]:
            return
        self.counts["states"] += 1
        heard_at = state["device"]["heard_at"] or ""
        recent = heard_at >= max(self.heard_at, self.moment)
        self.require("state", f"the device was heard at {heard_at}, and at {self.heard_at}", holds=recent)
        self.heard_at = heard_at
        plain["device"] = {name: state["device"][name] for name in drawn["device"]}
        plain["insurance"] = {each["bet"]: each["odds"] for each in state["insurance"]}
        if state["last_round"] is not None:
            pays = odds(state["last_round"]["pays"])
            plain["last_round"] = {**state["last_round"], "pays": pays}
            right = drawn["last_round"] and drawn["last_round"]["pays"]
            self.require("pays", f"{pays} in the state, and it is {right}", holds=pays == right)
        for name, right in drawn.items():
            self.require("state", f"{name} is {plain[name]}, and the events give {right}", holds=plain[name] == right)
        listed = {
            each["id"]: {name: each[name] for name in self.open.get(each["id"], {})} for each in state["questions"]
        }
        self.require("questions", f"state has {listed}, and open are {self.open}", holds=listed == self.open)
        holding = [not each["optional"] for each in state["questions"]]
        self.require(
            "questions", "one that holds comes after one that does not", holds=holding == sorted(holding)[::-1]
        )
        waits = self.round.suspended is not None
        self.require("suspension", "the round waits, and nothing is asked", holds=not waits or any(holding))
        self.require("suspension", f"{waits} in {state['phase']}", holds=waits == (state["phase"] == "suspended"))
        self.compare_answer(next(iter(state["questions"]), None), known=True)

    def take_question(self, question: Json) -> None:
        self.question = question
        if question is None:
            return
        self.counts["shown"] += 1
        self.shown[question["id"], question["revision"]] = question
        self.bettors[question["id"]] = question["bettor"]
        self.check_cards(question)
        for would in question["consequences"]:
            self.check_consequence(question, would)

    def check_cards(self, question: Json) -> None:
        """The cards of a question left the shoe for its round, each once."""
        indexes = [each["index"] for each in question["cards"]]
        right = list(range(1, len(indexes) + 1))
        self.require("index", f"question {question['id']} has the cards {indexes}", holds=indexes == right)
        if (question["shoe"], question["round"]) == self.round.of:
            faces = Counter(each["card"] for each in question["cards"] if each["card"] is not None)
            extra = faces - self.round.known
            shown = extra.total() <= self.round.misread
            self.require("card-once", f"question {question['id']} has {dict(extra)} too often", holds=shown)

    def check_consequence(self, question: Json, would: Json) -> None:
        """A consequence is a round by the Table of Play."""
        name = f"{question['question']} {' '.join(would['choice'])}"
        lying = would["player"]["cards"], would["banker"]["cards"]
        for hand, cards in zip(("player", "banker"), lying, strict=True):
            told = would[hand]["points"]
            self.require("points", f"{name}: {told} for {cards}", holds=told == book.points(cards))
        if would["due"] is not None:
            right = book.slot(*lying)
            self.require(
                "slot", f"{name}: due {would['due']}, and it is {right}", holds=slot_of(would["due"]) == slot_of(right)
            )
        if would["outcome"] is not None:
            won, pays = book.outcome(*lying), book.pays(self.round.game, *lying)
            self.require("result", f"{name}: {would['outcome']}, and it is {won}", holds=would["outcome"] == won)
            self.require("pays", f"{name}: {would['pays']}, and it is {pays}", holds=would["pays"] == pays)

    def compare_question(self) -> None:
        """The retained question is the first of those that the last state lists."""
        if self.state is None:
            return
        first = next(iter(self.state["questions"]), None)
        asked = self.question and {name: self.question[name] for name in OPEN_FIELDS}
        self.require("first-question", f"{asked} is retained, and {first} is the first", holds=asked == first)

    def end(self) -> list[Defect]:
        """All defects. A question that is open at the end is in the last state."""
        self.compare_question()
        last = int(self.state["sequence"]) if self.state is not None else 0
        self.require("state", f"the last state includes {last}", holds=last == self.round.sequence)
        return self.round.defects


def consequence(asked: Json, choice: list[str]) -> Json:
    """The consequence of this choice; a face has that of its rank."""
    ranked = [f"{FACES}{choice[0][:-1]}"]
    found = [each for each in asked["consequences"] if each["choice"] == choice]
    found += [each for each in asked["consequences"] if each["choice"] == ranked and asked["question"] == "face"]
    return next(iter(found), None)


def held(hand: Json, *, by_rank: bool) -> list[str]:
    return [card[:-1] if by_rank else card for card in hand["cards"]]


def check(game: str, messages: Iterable[tuple[str, bytes]]) -> tuple[list[Defect], Counter[str]]:
    """All defects in the messages of one table, and a count of each type of event."""
    checker = Checker(game)
    for topic, payload in messages:
        checker.hear(topic, payload)
    return checker.end(), checker.counts
