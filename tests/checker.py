"""Verifies one table by its MQTT messages alone, and names each law that a message breaks.

Theory of operation: the input is the ordered list of messages. A message is a topic below `shoed/v1/<site>/<table>/`
and its payload. `Follower` computes the round from the events. `Checker` verifies the envelopes and follows each
question from `asked` to its end. It keeps the consequence that the retained question shows for each choice, and
compares this consequence with the events after the answer. All events of one input have the same time. Each `state` is
compared with the state that `Follower` computes. The checker imports nothing of the project.
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
    """A slot without its index. The index counts every card that left the shoe, so the hands do not determine it."""
    return due and (due["hand"], due["position"])


class Answered(NamedTuple):
    """An answer, and the consequence that the question showed for it."""

    time: str  # the time of all events of the same input
    of: Round
    present: bool  # the question is about the present round
    voidable: bool  # the round was not void before the answer
    question: str
    effect: Json


class Checker:
    def __init__(self, game: str) -> None:
        self.round = Follower(game)
        self.require = self.round.require
        self.events: dict[str, Json] = {}  # by their id
        self.in_backlog = False  # the daemon has a new connection, and publishes its backlog
        self.ahead: Json = None  # the state of a new connection, before its backlog
        self.counts: Counter[str] = Counter()
        self.open: dict[str, Json] = {}
        self.known: set[str] = set()
        self.shown: dict[tuple[str, int], Json] = {}  # retained questions, by id and revision
        self.bettors: dict[str, str | None] = {}  # by the id of the question
        self.state: Json = None
        self.question: Json = None
        self.answer: Answered | None = None
        self.after: list[tuple[str, Json]] = []  # the events of the answer
        self.heard_at = ""
        self.moment = ""
        self.word = ""  # in the ids of the events

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
            self.in_backlog = json.loads(payload)["status"] == "online"

    # --- events

    def event(self, topic: str, event: Json) -> None:
        number = int(event["sequence"])
        if event["id"] in self.events:
            same = self.events[event["id"]] == {**event, "historical": None}
            self.require("sequence", f"{event['id']} is repeated with other content", holds=same)
            self.require("sequence", f"{event['id']} is repeated without historical", holds=event.get("historical"))
            return
        self.in_backlog = self.in_backlog and bool(event.get("historical"))
        word = event["id"].partition("-")[0]
        due = self.round.sequence + 1
        begins = self.word not in ("", word) and number < due  # another incarnation of the journal
        self.require("sequence", f"event {number}; expected {due}", holds=begins or number == due)
        self.word = word
        self.events[event["id"]] = {**event, "historical": None}
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
            before = self.events.get(data["supersedes"], {}).get("data", {})
            named = [before.get(name) for name in ("shoe", "round")] == [data["shoe"], data["round"]]
            self.require("supersedes", f"{data['supersedes']} is not an event of the round", holds=named)

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
        if kind == "question.revised":  # a matter between two rounds becomes a matter of the next round
            opened |= {"shoe": data["shoe"], "round": data["round"]}
        self.require("question", f"question {name} is about {about}", holds=about.items() <= opened.items())
        if kind == "question.revised":
            consecutive = data["revision"] == opened["revision"] + 1
            self.require("question", f"question {name} is revised to {data['revision']}", holds=consecutive)
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
            effect = consequence(asked, data["choice"]) if asked is not None else None
            if effect is not None:
                of = (data["shoe"], data["round"])
                voidable = of not in self.round.void
                present = of == self.round.of and self.round.phase != "abandoned"
                self.answer = Answered(time, of, present, voidable, data["question"], effect)
                self.after = []
        self.round.answered(data)

    def compare_answer(self, first: Json, *, known: bool) -> None:
        """Compare the consequence that was shown with the events; `first` is the first question after the answer."""
        answer, self.answer = self.answer, None
        if answer is None:
            return
        self.counts["consequences"] += 1
        effect, drawn = answer.effect, self.round.drawn()

        def same(field: str, shown: object, found: object) -> None:
            text = f"{answer.question} {' '.join(effect['choice'])}: {field} was shown as {shown}; found {found}"
            self.require("consequence", text, holds=shown == found)

        ended = [data for kind, data in self.after if kind == "round.voided"]
        voids = [data["clause"] or "" for data in ended if (data["shoe"], data["round"]) == answer.of]
        if answer.voidable:
            same("void", effect["void"], voids[0] if voids else None)
        if not answer.present:
            return
        then = effect["then_asks"]
        if known:
            same("then_asks", then, None if first is None or first["optional"] else first["question"])
        if then is not None or effect["void"] is not None:
            return
        by_rank = answer.question == "face"
        for name in ("player", "banker"):
            same(name, held(effect[name], by_rank=by_rank), held(drawn["hands"][name], by_rank=by_rank))
        both_hands = [drawn["hands"][name]["cards"] for name in ("player", "banker")]
        same("due", slot_of(effect["due"]), slot_of(book.slot(*both_hands)))
        resumed = [data["carried"] for kind, data in self.after if kind == "round.resumed"]
        if resumed:
            same("carried", effect["carried"], resumed[-1])
        if effect["outcome"] is not None:
            last = drawn["last_round"]
            same("outcome", effect["outcome"], last and last["result"]["outcome"])
            same("pays", effect["pays"], last and last["pays"])

    # --- retained messages

    def take_state(self, state: Json) -> None:
        self.state = state
        drawn, plain = self.round.drawn(), {**state}
        self.ahead = state if self.in_backlog and int(state["sequence"]) > self.round.sequence else None
        if self.ahead is not None:
            return
        text = f"the state includes event {state['sequence']}; the last event is {drawn['sequence']}"
        self.require("state", text, holds=state["sequence"] == drawn["sequence"])
        if state["sequence"] != drawn["sequence"]:
            return
        self.counts["states"] += 1
        heard_at = state["device"]["heard_at"] or ""
        recent = heard_at >= max(self.heard_at, self.moment)
        self.require("state", f"heard_at is {heard_at}; before, it was {self.heard_at}", holds=recent)
        self.heard_at = heard_at
        plain["device"] = {name: state["device"][name] for name in drawn["device"]}
        plain["insurance"] = {each["bet"]: each["odds"] for each in state["insurance"]}
        if state["last_round"] is not None:
            pays = odds(state["last_round"]["pays"])
            plain["last_round"] = {**state["last_round"], "pays": pays}
            right = drawn["last_round"] and drawn["last_round"]["pays"]
            self.require("pays", f"{pays} in the state; expected {right}", holds=pays == right)
        for name, right in drawn.items():
            self.require(
                "state", f"{name} is {plain[name]}; expected from the events: {right}", holds=plain[name] == right
            )
        listed = {
            each["id"]: {name: each[name] for name in self.open.get(each["id"], {})} for each in state["questions"]
        }
        self.require("questions", f"the state lists {listed}; open are {self.open}", holds=listed == self.open)
        holding = [not each["optional"] for each in state["questions"]]
        self.require(
            "questions", "a question that holds play is after one that does not", holds=holding == sorted(holding)[::-1]
        )
        waits, in_phase = self.round.suspended is not None, state["phase"] == "suspended"
        self.require("suspension", "the round is suspended without a question", holds=not waits or any(holding))
        self.require("suspension", f"suspended is {waits} in the phase {state['phase']}", holds=waits == in_phase)
        self.compare_answer(next(iter(state["questions"]), None), known=True)

    def take_question(self, question: Json) -> None:
        self.question = question
        if question is None:
            return
        self.counts["shown"] += 1
        self.shown[question["id"], question["revision"]] = question
        self.bettors[question["id"]] = question["bettor"]
        self.check_cards(question)
        for effect in question["consequences"]:
            self.check_consequence(question, effect)

    def check_cards(self, question: Json) -> None:
        """Each card of a question left the shoe once, for the round of the question."""
        indexes = [each["index"] for each in question["cards"]]
        right = list(range(1, len(indexes) + 1))
        self.require("index", f"question {question['id']} has the cards {indexes}", holds=indexes == right)
        if (question["shoe"], question["round"]) == self.round.of:
            faces = Counter(each["card"] for each in question["cards"] if each["card"] is not None)
            extra = faces - self.round.known
            shown = extra.total() <= self.round.misread
            self.require("card-once", f"question {question['id']} has {dict(extra)} too often", holds=shown)

    def check_consequence(self, question: Json, effect: Json) -> None:
        """A consequence is a round by the Table of Play."""
        name = f"{question['question']} {' '.join(effect['choice'])}"
        both_hands = effect["player"]["cards"], effect["banker"]["cards"]
        for hand, cards in zip(("player", "banker"), both_hands, strict=True):
            shown = effect[hand]["points"]
            self.require("points", f"{name}: {shown} points for {cards}", holds=shown == book.points(cards))
        if effect["due"] is not None:
            right = book.slot(*both_hands)
            self.require(
                "slot",
                f"{name}: due {effect['due']}, and it is {right}",
                holds=slot_of(effect["due"]) == slot_of(right),
            )
        if effect["outcome"] is not None:
            won, pays = book.outcome(*both_hands), book.pays(self.round.game, *both_hands)
            self.require("result", f"{name}: {effect['outcome']}; expected {won}", holds=effect["outcome"] == won)
            self.require("pays", f"{name}: {effect['pays']}; expected {pays}", holds=effect["pays"] == pays)

    def compare_question(self) -> None:
        """Verify that the retained question is the first question of the last state."""
        if self.state is None:
            return
        first = next(iter(self.state["questions"]), None)
        asked = self.question and {name: self.question[name] for name in OPEN_FIELDS}
        self.require("first-question", f"{asked} is retained; the first question is {first}", holds=asked == first)

    def end(self) -> list[Defect]:
        """Return all defects, after the last message."""
        self.compare_question()
        last = int(self.state["sequence"]) if self.state is not None else 0
        text = f"the last state includes event {last}; the last event is {self.round.sequence}"
        self.require("state", text, holds=last == self.round.sequence)
        return self.round.defects


def consequence(asked: Json, choice: list[str]) -> Json:
    """The consequence of a choice. The consequence of a face may be listed under its rank."""
    ranked = [f"{FACES}{choice[0][:-1]}"]
    found = [each for each in asked["consequences"] if each["choice"] == choice]
    found += [each for each in asked["consequences"] if each["choice"] == ranked and asked["question"] == "face"]
    return next(iter(found), None)


def held(hand: Json, *, by_rank: bool) -> list[str]:
    return [card[:-1] if by_rank else card for card in hand["cards"]]


def check(game: str, messages: Iterable[tuple[str, bytes]]) -> tuple[list[Defect], Counter[str]]:
    """All defects in the messages of one table, and the number of events of each type."""
    checker = Checker(game)
    for topic, payload in messages:
        checker.hear(topic, payload)
    return checker.end(), checker.counts
