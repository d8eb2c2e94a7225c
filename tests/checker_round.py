"""The round as a subscriber computes it: the input is the events of one table, the output is its `state`.

Theory of operation: `Follower` has one method for each event that changes the state. An event that breaks a law gives a
`Defect` with the name of the law. The follower then continues from the values of the event, so that an error gives one
defect only. This module imports nothing of the project; its sources are docs/events.md, the contract and
`checker_book`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from tests import checker_book as book

Json = Any  # a decoded payload
Round = tuple[int | None, int | None]  # a shoe and its round

OUTSIDE: Final = ("burn", "first-card", "locked", "error", "set-up")
ENDED: Final = ("idle", "settled", "voided", "abandoned")
UNKNOWN_DEVICE: Final[Mapping[str, object]] = {"link": "offline", "reason": None, "fault": None, "locked": False}
CLOSES: Final = ("round.resumed", "round.voided", "round.abandoned", "round.overtaken")


class Defect(NamedTuple):
    law: str
    sequence: int  # of the last event
    text: str


def shown(cards: Iterable[str]) -> dict[str, object]:
    held = list(cards)
    return {"cards": held, "points": book.points(held)}


class Follower:
    def __init__(self, game: str) -> None:
        self.game = game
        self.defects: list[Defect] = []
        self.sequence = 0
        self.phase = "idle"
        self.shoe: int | None = None
        self.shoe_integrity = "partial"
        self.round: int | None = None
        self.player: list[str] = []
        self.banker: list[str] = []
        self.left_over: list[str] = []  # cards that open the next round
        self.kept: list[str] = []  # cards that open the next round by an answer after the round
        self.altered = False  # the order of the cards may differ from the order in which they were drawn
        self.complete = False
        self.squeezed = False
        self.last: dict[str, Json] | None = None
        self.before: dict[str, Json] | None = None  # the complete round before `last`
        self.published: dict[str, Json] = {}  # the face in each event of a card, by the sequence of the event
        self.devices: dict[str, dict[str, Json]] = {"shoe": dict(UNKNOWN_DEVICE)}
        self.doubts: dict[str, dict[str, str]] = {}  # by device and reason
        self.suspended: Round | None = None
        self.indexes: set[int] = set()
        self.known: Counter[str] = Counter()  # the faces that the round may show
        self.reported: Counter[str] = Counter()  # the faces that the shoe reported for a hand of the round
        self.corrected = False  # the face of a card of the round was corrected
        self.misread = 0  # the number of corrected faces of the round
        self.void: set[Round] = set()
        self.accounts: dict[Round, dict[str, Json]] = {}  # results and pays of the complete rounds
        self.explained = False  # a person or an irregularity determines the place of a reported card
        self.provenance = 0
        self.reports: set[tuple[Json, ...]] = set()

    def require(self, law: str, text: str, *, holds: object) -> None:
        if not holds:
            self.defects.append(Defect(law, self.sequence, text))

    @property
    def of(self) -> Round:
        return self.shoe, self.round

    def hear(self, kind: str, data: Json) -> None:
        noun = kind.split(".", maxsplit=1)[0]
        if noun == "card":
            self.published[str(self.sequence)] = data["card"]
        if noun in ("card", "shoe", "round", "bets", "insurance", "irregularity"):
            getattr(self, kind.replace(".", "_").replace("-", "_"), self.nothing)(data)
        elif noun == "device":
            self.device(kind, data)
        if kind in CLOSES and (data["shoe"], data["round"]) == self.suspended:
            self.suspended = None

    def nothing(self, data: Json) -> None:
        """An event that does not change the state."""

    def is_present(self, data: Json) -> bool:
        return (data["shoe"], data["round"]) == self.of

    # --- cards

    def once(self, data: Json, *place: Json) -> None:
        """Verify that a report has one event, and that the journal rows do not decrease."""
        report = (data["provenance"], data["card"], *place)
        self.require("card-once", f"{report} has two events", holds=report not in self.reports)
        in_order = data["provenance"] >= self.provenance
        self.require("card-once", f"journal row {data['provenance']} after {self.provenance}", holds=in_order)
        self.reports.add(report)
        self.provenance = data["provenance"]
        if data["card"] is not None:
            self.known[data["card"]] += 1

    def card_drawn(self, data: Json) -> None:
        self.require("slot", f"the card is of round {data['round']}", holds=self.is_present(data))
        self.require("index", f"index {data['index']} is used twice", holds=data["index"] not in self.indexes)
        self.indexes.add(data["index"])
        if self.was_drawn_late(data):
            return
        self.once(data, data["hand"], data["index"])
        self.reported[data["card"]] += 1
        self.require("phase", f"a card is drawn in the phase {self.phase}", holds=self.phase in ("dealing", "closed"))
        self.phase = "dealing"
        due = book.due(self.player, self.banker)
        self.require("slot", f"the card is in the hand {data['hand']}; expected {due}", holds=due == data["hand"])
        (self.player if data["hand"] == "player" else self.banker).append(data["card"])
        count = len(self.player) + len(self.banker)
        plain = not self.explained and not self.altered
        self.require("index", f"card {count} has index {data['index']}", holds=data["index"] == count or not plain)
        right = {"player": book.points(self.player), "banker": book.points(self.banker)}
        self.require("points", f"the points are {data['points']}; expected {right}", holds=data["points"] == right)

    def was_drawn_late(self, data: Json) -> bool:
        """Whether the event follows a decision: the card was set aside or left over, or a person named it."""
        before, by_person = data.get("set_aside"), data.get("source") == "person"
        if before is None and not by_person and self.phase != "suspended":
            return False
        face = self.published.get(before.rpartition("-")[2]) if before is not None else None
        same = before is None or face in (None, data["card"]) or self.corrected
        self.require("card-once", f"{before} has the card {face}, and {data['card']} is drawn", holds=same)
        if before is None or self.corrected:
            self.known[data["card"]] = max(1, self.known[data["card"]])
        (self.player if data["hand"] == "player" else self.banker).append(data["card"])
        return True

    def card_set_aside(self, data: Json) -> None:
        seen = data["reported"]
        self.once(data, seen["hand"], seen["position"], data["reason"])
        self.shoe = self.shoe or data["shoe"]
        if data["reason"] in OUTSIDE:
            return
        no_round = self.phase in ("idle", "abandoned")
        if data["card"] is not None and not no_round:
            self.reported[data["card"]] += 1
        if data["reason"] == "overdraw":  # may be the card of the report before
            self.explained = True
            return
        text = f"a card is set aside as {data['reason']} in the phase {self.phase}"
        self.require("slot", text, holds=(data["reason"] == "no-round") == no_round)
        self.phase = "dealing" if self.phase == "closed" else self.phase

    def name_face(self, card: str) -> None:
        """A person names the face of a card."""
        self.known[card] += 1

    def take_hands(self, data: Json) -> None:
        """Take the hands of the event: the order of the cards may have changed."""
        self.player, self.banker = list(data["player"]["cards"]), list(data["banker"]["cards"])
        self.left_over = [] if self.player or self.banker else self.left_over
        self.compare_hands(data)

    def compare_hands(self, data: Json) -> None:
        for name, held in (("player", self.player), ("banker", self.banker)):
            hand = data[name]
            self.require("hands", f"{name} has {hand['cards']}; expected {held}", holds=hand["cards"] == held)
            right = book.points(hand["cards"])
            self.require("points", f"{hand['points']} points for {hand['cards']}", holds=hand["points"] == right)
        self.account_for([*data["player"]["cards"], *data["banker"]["cards"]])

    def account_for(self, cards: Iterable[str]) -> None:
        """Verify that each card of the round left the shoe once; a correction may replace a face."""
        extra = Counter(cards) - self.known
        corrected = extra.total() <= self.misread
        self.require("card-once", f"{dict(extra)} did not leave the shoe, or are shown twice", holds=corrected)
        self.misread -= min(extra.total(), self.misread)
        self.known += extra

    # --- a shoe and a round begin

    def shoe_cut(self, data: Json) -> None:
        holds = data["shoe_integrity"] in ("partial", self.shoe_integrity)
        self.require("round", "a partial shoe becomes complete", holds=holds)
        self.shoe_integrity = data["shoe_integrity"]

    def shoe_started(self, data: Json) -> None:
        self.begin()
        self.require("round", f"shoe {data['shoe']} after {self.shoe}", holds=data["shoe"] == (self.shoe or 0) + 1)
        self.shoe, self.round, self.phase, self.shoe_integrity = data["shoe"], None, "idle", data["shoe_integrity"]
        self.left_over, self.kept, self.known = [], [], Counter()

    def round_started(self, data: Json) -> None:
        self.begin()
        due = (self.shoe or 1, (self.round or 0) + 1)
        text = f"shoe {data['shoe']}, round {data['round']}; expected {due}"
        self.require("round", text, holds=(data["shoe"], data["round"]) == due)
        self.require(
            "round",
            "a partial shoe becomes complete",
            holds=data["shoe_integrity"] in ("partial", self.shoe_integrity),
        )
        answered = self.last is None or self.last["answer"] != "awaited" or self.last["void"]
        self.require("round", "the round before is not confirmed, disputed or unconfirmed", holds=answered)
        self.shoe, self.round, self.shoe_integrity = data["shoe"], data["round"], data["shoe_integrity"]
        self.phase = "betting" if data["opened_by"] == "announcement" else "dealing"
        self.left_over, self.kept = [*self.left_over, *self.kept], []

    def begin(self) -> None:
        self.require("suspension", f"a round begins while {self.suspended} is suspended", holds=self.suspended is None)
        self.require("phase", f"a round begins in the phase {self.phase}", holds=self.phase in ENDED or self.complete)
        rest = self.reported - Counter((*self.player, *self.banker, *self.left_over, *self.kept))
        abandoned_or_void = self.phase in ("abandoned", "voided")
        self.require("lost", f"{dict(rest)} are in no hand", holds=not rest or self.explained or abandoned_or_void)
        self.known -= Counter((*self.player, *self.banker))  # the other cards may be cards of the next round
        self.player, self.banker, self.suspended, self.misread = [], [], None, 0
        self.altered = self.complete = self.squeezed = self.explained = self.corrected = False
        self.indexes, self.reported = set(), Counter()

    def bets_closed(self, _: Json) -> None:
        self.require(
            "phase", f"bets are closed in the phase {self.phase}", holds=self.phase in ("betting", "suspended")
        )
        self.phase = "closed" if self.phase == "betting" else self.phase

    def insurance_waived(self, _: Json) -> None:
        self.squeezed = True

    # --- a round is suspended and resumed

    def irregularity_noticed(self, data: Json) -> None:
        if self.is_present(data) and not data["late"]:
            self.altered = self.explained = True
            self.misread += data["kind"] == "misread"
            self.corrected = self.corrected or data["kind"] == "misread"

    def round_suspended(self, data: Json) -> None:
        self.require("round", "another round is suspended", holds=self.is_present(data))
        self.require("suspension", "the round is suspended twice", holds=self.suspended is None)
        is_open = self.phase not in ("idle", "suspended", "voided", "abandoned")
        self.require("phase", f"suspended in the phase {self.phase}", holds=is_open)
        self.suspended = self.of
        self.left_over = [] if self.phase == "settled" else self.left_over
        self.phase = "suspended"

    def asked(self, data: Json) -> None:
        """Take the hands of a question or of its revision."""
        if not self.is_present(data) or self.phase == "abandoned":
            return
        self.explained = True  # a person decides on the place of a card
        if self.phase == "suspended":
            self.take_hands(data)
        else:
            self.compare_hands(data)

    def answered(self, data: Json) -> None:
        if data["question"] == "face" and data["choice"][0][:-1] in book.VALUE:
            self.name_face(data["choice"][0])
        if not self.is_present(data):
            return
        self.explained = True
        if self.phase in ("betting", "closed"):
            self.left_over += data["carried"]
        elif self.phase != "suspended":  # in a suspended round the card is in a hand at once
            self.kept += data["carried"]

    def round_resumed(self, data: Json) -> None:
        self.require("suspension", "a round is resumed that is not suspended", holds=self.suspended == self.of)
        self.take_hands(data)
        self.compare_due(data["due"])
        self.phase = data["phase"]
        complete = book.due(self.player, self.banker) is None
        self.require("phase", f"resumed in the phase {self.phase}", holds=(self.phase == "complete") == complete)

    def compare_due(self, due: Json) -> None:
        right = book.slot(self.player, self.banker)
        # The index counts every card that left the shoe, so the hands do not determine it.
        shown, right = ({**each, "index": None} if each else None for each in (due, right))
        self.require("slot", f"due is {due}; by the Table of Play it is {right}", holds=shown == right)

    # --- results

    def result(self, data: Json) -> dict[str, Json]:
        """The complete round as the state shows it, computed by `checker_book`."""
        right = {"outcome": book.outcome(self.player, self.banker), "pairs": book.pairs(self.player, self.banker)}
        published = {"outcome": data["outcome"], "pairs": data["pairs"]}
        self.require("result", f"{published}; expected {right}", holds=published == right)
        done = book.due(self.player, self.banker) is None
        self.require("result", "a round has a result while a card is due", holds=done)
        hands = {"player": shown(self.player), "banker": shown(self.banker)}
        return {"hands": hands, "result": right, "pays": book.pays(self.game, self.player, self.banker)}

    def round_completed(self, data: Json) -> None:
        self.require("round", "another round is complete", holds=self.is_present(data))
        if self.altered:
            self.take_hands(data)
        self.compare_hands(data)
        self.phase, self.complete = "complete", True
        named = {"shoe": data["shoe"], "round": data["round"], "integrity": data["integrity"]}
        self.before = self.last
        self.last = {**named, "answer": "awaited", "void": False, **self.result(data)}
        self.accounts[self.of] = self.last

    def round_corrected(self, data: Json) -> None:
        self.require("round", "another round is corrected", holds=self.is_present(data))
        self.left_over = [] if self.phase == "settled" else self.left_over
        self.explained = True
        self.take_hands(data)
        waits = self.phase == "suspended"
        if data["outcome"] is None:
            self.compare_due(data["due"])
            self.last = self.before if self.complete else self.last
            self.phase, self.complete = "suspended" if waits else "dealing", False
        elif self.last is not None and self.complete:
            self.phase = "suspended" if waits else "corrected"
            self.last |= {**self.result(data), "answer": "awaited"}
        else:
            self.require("result", "a correction has a result for a round without one", holds=False)

    def round_confirmed(self, data: Json) -> None:
        self.require("result", "a confirmed result differs", holds=data["ours"] == data["theirs"])
        self.answer(data, "confirmed")

    def round_disputed(self, data: Json) -> None:
        self.require("result", "a disputed result is equal", holds=data["ours"] != data["theirs"])
        self.answer(data, "disputed")

    def round_unconfirmed(self, data: Json) -> None:
        self.answer(data, "unconfirmed")

    def answer(self, data: Json, answer: str) -> None:
        last = self.last or {}
        named = (last.get("shoe"), last.get("round")) == (data["shoe"], data["round"])
        self.require("result", f"{answer} is of another round than the last one", holds=named)
        if "ours" in data:
            self.require("result", f"ours is {data['ours']}", holds=data["ours"] == last.get("result"))
        last["answer"] = answer

    # --- a round ends

    def round_settled(self, data: Json) -> None:
        """Verify a settlement by the last result of its round. A round that is over may be settled again."""
        unknown: dict[str, Json] = {"result": {"outcome": None}, "pays": {}}
        account = self.accounts.get((data["shoe"], data["round"]), unknown)
        right, outcome = account["result"]["outcome"], data["outcome"]
        self.require("result", f"settled as {outcome}; expected {right}", holds=outcome == right)
        pays = odds(data["pays"])
        self.require("pays", f"{pays}; expected {account['pays']}", holds=pays == account["pays"])
        if self.is_present(data):
            self.require("phase", f"settled in the phase {self.phase}", holds=self.complete)
            self.phase, self.left_over = "settled", list(data["carried"])
            self.account_for([*self.player, *self.banker, *self.left_over])

    def round_abandoned(self, data: Json) -> None:
        still_open = self.phase in ("betting", "closed", "dealing", "suspended") and not self.complete
        self.require("phase", f"abandoned in the phase {self.phase}", holds=still_open)
        self.take_hands(data)  # a person may have named faces while the round was suspended
        self.player, self.banker, self.phase = [], [], "abandoned"

    def round_overtaken(self, _: Json) -> None:
        holds = self.suspended == self.of and self.complete
        self.require("suspension", "a round is overtaken that is not suspended and complete", holds=holds)

    def round_voided(self, data: Json) -> None:
        self.void.add((data["shoe"], data["round"]))
        of_last = self.last is not None and (self.last["shoe"], self.last["round"]) == (data["shoe"], data["round"])
        if self.is_present(data) and self.phase != "abandoned":  # else it is a late void
            again = self.phase in ENDED and self.phase != "settled"
            self.require("phase", f"voided in the phase {self.phase}", holds=not again)
            self.require(
                "result",
                "supersedes of a void does not fit the round",
                holds=(data["supersedes"] is not None) == self.complete,
            )
            self.left_over = [] if self.phase == "settled" else self.left_over
            self.take_hands(data)
            self.phase = "voided"
        if of_last and self.last is not None:
            self.last["void"] = True

    # --- the devices

    def device(self, kind: str, data: Json) -> None:
        device = self.devices.setdefault(data["device"], dict(UNKNOWN_DEVICE))
        match kind.removeprefix("device."):
            case "online":
                device |= {"link": "online", "reason": None}
            case "quiet":
                device |= {"link": "quiet"}
            case "offline":
                device |= {"link": "offline", "reason": data["reason"]}
            case "fault":
                device["fault"] = {name: data[name] for name in ("code", "name", "blocking")}
            case "cleared":
                device["fault"] = None
            case "locked" | "unlocked" as turned:
                device["locked"] = turned == "locked"
            case "doubted":
                self.doubts.setdefault(data["device"], {})[data["reason"]] = data["detail"]
            case "trusted":
                del self.doubts[data["device"]][data["reason"]]
            case _:
                pass

    def shown_device(self, name: str) -> Json:
        doubts = "; ".join(f"{reason}: {detail}" for reason, detail in self.doubts.get(name, {}).items())
        return {**self.devices[name], "reason": doubts or self.devices[name]["reason"]}

    # --- the state

    def drawn(self) -> dict[str, Json]:
        """The expected state: odds have no clauses, and the device has no `heard_at`."""
        return {
            "sequence": str(self.sequence),
            "phase": self.phase,
            "game": self.game,
            "shoe": self.shoe,
            "shoe_integrity": self.shoe_integrity,
            "round": self.round,
            "hands": {"player": shown(self.player), "banker": shown(self.banker)},
            "last_round": None if self.last is None else dict(self.last),
            "device": self.shown_device("shoe"),
            "insurance": self.insurance(),
        }

    def insurance(self) -> dict[str, str]:
        waived = self.squeezed and len(self.player) + len(self.banker) > 4  # I 3.14
        if self.game != "super-six-plus" or self.phase != "dealing" or waived:
            return {}
        return book.insurance(self.player, self.banker)


def odds(pays: Json) -> dict[str, str]:
    return {bet: paid["pays"] for bet, paid in pays.items()}
