"""The round as a subscriber draws it: the input is the events of one table, the output is its `state`.

Theory of operation: `Follower` has one case for each event that changes what is shown. A law that does not hold is a
`Defect` with the name of the law; following goes on from the event, so that one defect is not many. Nothing of the
project is imported; the sources are docs/events.md, the contract and `checker_book`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from tests import checker_book as book

Json = Any  # a decoded payload
Round = tuple[int | None, int | None]  # a shoe and its round

OUTSIDE: Final = ("burn", "first-card", "locked", "error", "set-up")
ENDED: Final = ("idle", "settled", "voided", "abandoned")
UNHEARD: Final[Mapping[str, object]] = {"link": "offline", "reason": None, "fault": None, "locked": False}
CLOSES: Final = ("round.resumed", "round.voided", "round.abandoned", "round.overtaken")


class Defect(NamedTuple):
    law: str
    sequence: int  # of the last event that was heard
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
        self.left_over: list[str] = []  # these open the next round
        self.kept: list[str] = []  # these too, by an answer after the round
        self.altered = False  # the cards may be in another order than they were drawn
        self.complete = False
        self.squeezed = False
        self.last: dict[str, Json] | None = None
        self.before: dict[str, Json] | None = None  # the complete round before it
        self.published: dict[str, Json] = {}  # the face in each event of a card, by its sequence
        self.devices: dict[str, dict[str, Json]] = {"shoe": dict(UNHEARD)}
        self.doubts: dict[str, dict[str, str]] = {}  # by device and reason
        self.suspended: Round | None = None
        self.indexes: set[int] = set()
        self.known: Counter[str] = Counter()  # the faces that the round may show
        self.reported: Counter[str] = Counter()  # those that the shoe reported in the round, for a hand of it
        self.corrected = False  # the face of a card of the round was corrected
        self.misread = 0  # so many faces of the round were corrected
        self.void: set[Round] = set()
        self.accounts: dict[Round, dict[str, Json]] = {}  # of the rounds that were complete
        self.explained = False  # a person or an irregularity says where a reported card is
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
        """An event that changes nothing that is shown."""

    def is_present(self, data: Json) -> bool:
        return (data["shoe"], data["round"]) == self.of

    # --- cards

    def once(self, data: Json, *place: Json) -> None:
        """A report gives one event, and the rows of the journal increase."""
        report = (data["provenance"], data["card"], *place)
        self.require("card-once", f"{report} has two events", holds=report not in self.reports)
        self.require("card-once", "an older row", holds=data["provenance"] >= self.provenance)
        self.reports.add(report)
        self.provenance = data["provenance"]
        if data["card"] is not None:
            self.known[data["card"]] += 1

    def card_drawn(self, data: Json) -> None:
        self.require("slot", f"a card of round {data['round']}", holds=self.is_present(data))
        self.require("index", f"index {data['index']} twice", holds=data["index"] not in self.indexes)
        self.indexes.add(data["index"])
        if self.was_drawn_late(data):
            return
        self.once(data, data["hand"], data["index"])
        self.reported[data["card"]] += 1
        self.require("phase", f"a card is drawn in phase {self.phase}", holds=self.phase in ("dealing", "closed"))
        self.phase = "dealing"
        due = book.due(self.player, self.banker)
        self.require("slot", f"{due} is due, and {data['hand']} has the card", holds=due == data["hand"])
        (self.player if data["hand"] == "player" else self.banker).append(data["card"])
        count = len(self.player) + len(self.banker)
        plain = not self.explained and not self.altered
        self.require("index", f"index {data['index']} of card {count}", holds=data["index"] == count or not plain)
        right = {"player": book.points(self.player), "banker": book.points(self.banker)}
        self.require("points", f"{data['points']} for {right}", holds=data["points"] == right)

    def was_drawn_late(self, data: Json) -> bool:
        """A card that was set aside or left over, or that a person named, has its event once its place is known."""
        before, by_person = data.get("set_aside"), data.get("source") == "person"
        if before is None and not by_person and self.phase != "suspended":
            return False
        face = self.published.get(before.rpartition("-")[2]) if before is not None else None
        told = before is None or face in (None, data["card"]) or self.corrected
        self.require("card-once", f"{before} published {face}, and {data['card']} is drawn", holds=told)
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
        if data["reason"] == "overdraw":  # perhaps the card that was reported before it
            self.explained = True
            return
        self.require("slot", f"{data['reason']} in {self.phase}", holds=(data["reason"] == "no-round") == no_round)
        self.phase = "dealing" if self.phase == "closed" else self.phase

    def told_face(self, card: str) -> None:
        """A person names the face of a card."""
        self.known[card] += 1

    def take_hands(self, data: Json) -> None:
        """The hands are those of the event: the order of the cards may have changed."""
        self.player, self.banker = list(data["player"]["cards"]), list(data["banker"]["cards"])
        self.left_over = [] if self.player or self.banker else self.left_over
        self.compare_hands(data)

    def compare_hands(self, data: Json) -> None:
        for name, held in (("player", self.player), ("banker", self.banker)):
            told = data[name]
            self.require("hands", f"{name} {told['cards']}, and {held} lie there", holds=told["cards"] == held)
            right = book.points(told["cards"])
            self.require("points", f"{told['points']} for {told['cards']}", holds=told["points"] == right)
        self.account_for([*data["player"]["cards"], *data["banker"]["cards"]])

    def account_for(self, cards: Iterable[str]) -> None:
        """Cards of the round left the shoe, each once; a correction has another face for one of them."""
        extra = Counter(cards) - self.known
        corrected = extra.total() <= self.misread
        self.require("card-once", f"{dict(extra)} did not leave the shoe, or lie twice", holds=corrected)
        self.misread -= min(extra.total(), self.misread)
        self.known += extra

    # --- a shoe and a round begin

    def shoe_cut(self, data: Json) -> None:
        holds = data["shoe_integrity"] in ("partial", self.shoe_integrity)
        self.require("round", "a partial shoe is not whole again", holds=holds)
        self.shoe_integrity = data["shoe_integrity"]

    def shoe_started(self, data: Json) -> None:
        self.begin()
        self.require("round", "the number of the shoe", holds=data["shoe"] == (self.shoe or 0) + 1)
        self.shoe, self.round, self.phase, self.shoe_integrity = data["shoe"], None, "idle", data["shoe_integrity"]
        self.left_over, self.kept, self.known = [], [], Counter()

    def round_started(self, data: Json) -> None:
        self.begin()
        after = (self.shoe or 1, (self.round or 0) + 1)
        self.require("round", f"{after} follows", holds=(data["shoe"], data["round"]) == after)
        self.require(
            "round",
            "a partial shoe is not whole again",
            holds=data["shoe_integrity"] in ("partial", self.shoe_integrity),
        )
        answered = self.last is None or self.last["answer"] != "awaited" or self.last["void"]
        self.require("round", "the round before has neither a result of the shoe nor none", holds=answered)
        self.shoe, self.round, self.shoe_integrity = data["shoe"], data["round"], data["shoe_integrity"]
        self.phase = "betting" if data["opened_by"] == "announcement" else "dealing"
        self.left_over, self.kept = [*self.left_over, *self.kept], []

    def begin(self) -> None:
        self.require("suspension", f"{self.suspended} waits, and the next begins", holds=self.suspended is None)
        self.require("phase", f"the next begins in {self.phase}", holds=self.phase in ENDED or self.complete)
        rest = self.reported - Counter((*self.player, *self.banker, *self.left_over, *self.kept))
        abandoned_or_void = self.phase in ("abandoned", "voided")
        self.require("lost", f"{dict(rest)} are in no hand", holds=not rest or self.explained or abandoned_or_void)
        self.known -= Counter((*self.player, *self.banker))  # what is left may be a card of the next round
        self.player, self.banker, self.suspended, self.misread = [], [], None, 0
        self.altered = self.complete = self.squeezed = self.explained = self.corrected = False
        self.indexes, self.reported = set(), Counter()

    def bets_closed(self, _: Json) -> None:
        self.require("phase", f"bets close in {self.phase}", holds=self.phase in ("betting", "suspended"))
        self.phase = "closed" if self.phase == "betting" else self.phase

    def insurance_waived(self, _: Json) -> None:
        self.squeezed = True

    # --- a round waits and resumes

    def irregularity_noticed(self, data: Json) -> None:
        if self.is_present(data) and not data["late"]:
            self.altered = self.explained = True
            self.misread += data["kind"] == "misread"
            self.corrected = self.corrected or data["kind"] == "misread"

    def round_suspended(self, data: Json) -> None:
        self.require("round", "another round is suspended", holds=self.is_present(data))
        self.require("suspension", "suspended twice", holds=self.suspended is None)
        goes_on = self.phase not in ("idle", "suspended", "voided", "abandoned")
        self.require("phase", f"suspended in {self.phase}", holds=goes_on)
        self.suspended = self.of
        self.left_over = [] if self.phase == "settled" else self.left_over
        self.phase = "suspended"

    def asked(self, data: Json) -> None:
        """A question, or its revision, shows the hands."""
        if not self.is_present(data) or self.phase == "abandoned":
            return
        self.explained = True  # a person decides where a card is
        if self.phase == "suspended":
            self.take_hands(data)
        else:
            self.compare_hands(data)

    def answered(self, data: Json) -> None:
        if data["question"] == "face" and data["choice"][0][:-1] in book.VALUE:
            self.told_face(data["choice"][0])
        if not self.is_present(data):
            return
        self.explained = True
        if self.phase in ("betting", "closed"):
            self.left_over += data["carried"]
        elif self.phase != "suspended":  # else the card is in a hand at once
            self.kept += data["carried"]

    def round_resumed(self, data: Json) -> None:
        self.require("suspension", "resumed, and it did not wait", holds=self.suspended == self.of)
        self.take_hands(data)
        self.compare_due(data["due"])
        self.phase = data["phase"]
        complete = book.due(self.player, self.banker) is None
        self.require("phase", f"resumed as {self.phase}", holds=(self.phase == "complete") == complete)

    def compare_due(self, due: Json) -> None:
        right = book.slot(self.player, self.banker)
        told, right = ({**each, "index": None} if each else None for each in (due, right))  # it counts every card
        self.require("slot", f"due {due}, and the Table of Play has {right}", holds=told == right)

    # --- results

    def result(self, data: Json) -> dict[str, Json]:
        """The complete round as the state shows it, by the book of the checker."""
        right = {"outcome": book.outcome(self.player, self.banker), "pairs": book.pairs(self.player, self.banker)}
        told = {"outcome": data["outcome"], "pairs": data["pairs"]}
        self.require("result", f"{told}, and it is {right}", holds=told == right)
        done = book.due(self.player, self.banker) is None
        self.require("result", "a result, and a card is due", holds=done)
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
            self.require("result", "a correction of no result", holds=False)

    def round_confirmed(self, data: Json) -> None:
        self.require("result", "confirmed, and it differs", holds=data["ours"] == data["theirs"])
        self.answer(data, "confirmed")

    def round_disputed(self, data: Json) -> None:
        self.require("result", "disputed, and it is the same", holds=data["ours"] != data["theirs"])
        self.answer(data, "disputed")

    def round_unconfirmed(self, data: Json) -> None:
        self.answer(data, "unconfirmed")

    def answer(self, data: Json, answer: str) -> None:
        last = self.last or {}
        named = (last.get("shoe"), last.get("round")) == (data["shoe"], data["round"])
        self.require("result", f"{answer}, and it is not of the last round", holds=named)
        if "ours" in data:
            self.require("result", f"ours is {data['ours']}", holds=data["ours"] == last.get("result"))
        last["answer"] = answer

    # --- a round ends

    def round_settled(self, data: Json) -> None:
        """The last account of the round is paid. A settlement may be published again for a round that is over."""
        unknown: dict[str, Json] = {"result": {"outcome": None}, "pays": {}}
        account = self.accounts.get((data["shoe"], data["round"]), unknown)
        right, told = account["result"]["outcome"], data["outcome"]
        self.require("result", f"settled as {told}, and it is {right}", holds=told == right)
        pays = odds(data["pays"])
        self.require("pays", f"{pays}, and it is {account['pays']}", holds=pays == account["pays"])
        if self.is_present(data):
            self.require("phase", f"settled in {self.phase}", holds=self.complete)
            self.phase, self.left_over = "settled", list(data["carried"])
            self.account_for([*self.player, *self.banker, *self.left_over])

    def round_abandoned(self, data: Json) -> None:
        open_still = self.phase in ("betting", "closed", "dealing", "suspended") and not self.complete
        self.require("phase", f"abandoned in {self.phase}", holds=open_still)
        self.take_hands(data)  # a person may have named faces while it waited
        self.player, self.banker, self.phase = [], [], "abandoned"

    def round_overtaken(self, _: Json) -> None:
        self.require("suspension", "overtaken, and it did not wait", holds=self.suspended == self.of and self.complete)

    def round_voided(self, data: Json) -> None:
        self.void.add((data["shoe"], data["round"]))
        of_last = self.last is not None and (self.last["shoe"], self.last["round"]) == (data["shoe"], data["round"])
        if self.is_present(data) and self.phase != "abandoned":  # else a person voids it late
            again = self.phase in ENDED and self.phase != "settled"
            self.require("phase", f"voided in {self.phase}", holds=not again)
            self.require(
                "result", "a void supersedes a result", holds=(data["supersedes"] is not None) == self.complete
            )
            self.left_over = [] if self.phase == "settled" else self.left_over
            self.take_hands(data)
            self.phase = "voided"
        if of_last and self.last is not None:
            self.last["void"] = True

    # --- the devices

    def device(self, kind: str, data: Json) -> None:
        device = self.devices.setdefault(data["device"], dict(UNHEARD))
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
        """The state as it must be shown; odds without their clauses, and without the moment a device was heard."""
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
