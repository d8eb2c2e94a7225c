"""A subscriber of the events alone: it draws the table from them and fails on an impossible event.

This module implements the rules of C 3.10 to 3.14 independently of the tables of the code. An error in one of the two
implementations makes a test fail.
"""

from collections.abc import Sequence
from functools import singledispatchmethod
from typing import Any, Final

import msgspec

from shoed.model import device_events, events
from shoed.model.cards import Card
from shoed.model.device_events import EventData
from shoed.model.observations import Device, DeviceDoubt, Outcome, Pair, Side
from shoed.table import PublicState

OUTSIDE: Final = ("burn", "first-card", "locked", "error", "set-up", "overdraw", "unknown")
WORTH: Final = {"A": 1} | {str(face): face for face in range(2, 10)} | dict.fromkeys(("10", "J", "Q", "K"), 0)


def rank(card: Card) -> str:
    return str(card)[:-1]


def total(hand: Sequence[Card]) -> int:
    return sum(WORTH[rank(card)] for card in hand) % 10


def next_hand(player: Sequence[Card], banker: Sequence[Card]) -> Side | None:
    if len(player) + len(banker) < 4:
        return Side.BANKER if len(player) > len(banker) else Side.PLAYER
    ours, theirs = total(player[:2]), total(banker[:2])
    if max(ours, theirs) >= 8 or len(banker) == 3:
        return None
    if len(player) == 2:
        if ours <= 5:
            return Side.PLAYER
        return Side.BANKER if theirs <= 5 else None
    third = WORTH[rank(player[2])]
    lowest = {4: 2, 5: 4, 6: 6}.get(theirs)
    draws = theirs <= 2 or (theirs == 3 and third != 8) or (lowest is not None and lowest <= third <= 7)
    return Side.BANKER if draws else None


def expected_result(player: Sequence[Card], banker: Sequence[Card]) -> tuple[Outcome, tuple[Pair, ...]]:
    lead = total(player) - total(banker)
    outcome = Outcome.TIE if lead == 0 else Outcome.PLAYER if lead > 0 else Outcome.BANKER
    hands = ((Pair.PLAYER, player), (Pair.BANKER, banker))
    return outcome, tuple(name for name, hand in hands if rank(hand[0]) == rank(hand[1]))


def shown_hand(hand: Sequence[Card]) -> dict[str, object]:
    return {"cards": [str(card) for card in hand], "points": total(hand)}


def state_without_rules(state: PublicState) -> dict[str, Any]:
    """The published state without the fields that depend on the rule book; the tests of the book cover those."""
    message: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(state))
    del message["insurance"], message["questions"], message["journal"]
    del message["incarnation"], message["time"]
    if message["last_round"] is not None:
        del message["last_round"]["pays"]
    return message


NO_REPORT: Final = {"link": "offline", "reason": None, "fault": None, "locked": False}
OVER: Final = ("idle", "settled", "voided", "abandoned")


class Listener:
    """One method for each event that changes the shown table; other events have no method."""

    def __init__(self, game: str = "commission") -> None:
        self.game = game
        self.phase = "idle"
        self.shoe: int | None = None
        self.shoes_elsewhere = 0  # the highest number of a shoe in another journal
        self.shoe_integrity = "partial"
        self.round: int | None = None
        self.player: list[Card] = []
        self.banker: list[Card] = []
        self.indices: set[int] = set()  # the indices of the cards of the round
        self.irregular = False  # the round has an irregularity: its hands may differ from the order of the reports
        self.complete = False  # all cards of the round are drawn
        self.last: dict[str, object] | None = None
        self.previous: dict[str, object] | None = None  # the previous completed round
        self.devices: dict[Device, dict[str, object]] = {Device.SHOE: dict(NO_REPORT)}
        self.doubted: dict[Device, dict[DeviceDoubt, str]] = {}

    @singledispatchmethod
    def hear(self, data: EventData) -> None:
        assert type(data) in events.TYPES

    # --- cards

    @hear.register
    def _(self, data: events.CardDrawn) -> None:
        assert (data.shoe, data.round) == (self.shoe, self.round)
        assert data.index not in self.indices
        self.indices.add(data.index)
        if data.set_aside is not None or self.phase not in ("dealing", "closed"):
            self.place_set_aside(data)
            return
        self.phase = "dealing"
        assert data.hand is next_hand(self.player, self.banker)
        self.place(data.card)
        assert self.irregular or data.index == len(self.player) + len(self.banker) <= 6
        assert (data.points.player, data.points.banker) == (total(self.player), total(self.banker))

    def place_set_aside(self, data: events.CardDrawn) -> None:
        """Place a card that was set aside, was left over or was named by a person; a later event shows the hands."""
        (self.player if data.hand is Side.PLAYER else self.banker).append(data.card)
        if not self.irregular:
            assert (data.points.player, data.points.banker) == (total(self.player), total(self.banker))

    @hear.register
    def _(self, data: events.CardSetAside) -> None:
        self.shoe = self.shoe or data.shoe
        assert (data.shoe, data.round) == (self.shoe, self.round)
        if data.reason not in OUTSIDE:
            assert (data.reason == "no-round") == (self.phase in ("idle", "abandoned"))
            self.phase = "dealing" if self.phase == "closed" else self.phase

    def place(self, card: Card) -> None:
        (self.player if next_hand(self.player, self.banker) is Side.PLAYER else self.banker).append(card)

    def hands_are(self, player: events.Hand, banker: events.Hand) -> None:
        self.player, self.banker = list(player.cards), list(banker.cards)
        self.check_hands(player, banker)

    def check_hands(self, player: events.Hand, banker: events.Hand) -> None:
        assert (list(player.cards), player.points) == (self.player, total(self.player))
        assert (list(banker.cards), banker.points) == (self.banker, total(self.banker))

    # --- start and end of a round and of a shoe

    @hear.register
    def _(self, data: events.ShoeStarted) -> None:
        assert self.phase in OVER or self.complete
        assert data.shoe == max(self.shoe or 0, self.shoes_elsewhere) + 1
        self.shoe, self.round, self.phase, self.shoe_integrity = data.shoe, None, "idle", data.shoe_integrity
        self.player, self.banker, self.complete = [], [], False

    @hear.register
    def _(self, data: events.RoundStarted) -> None:
        assert (data.shoe, data.round) == (self.shoe or self.shoes_elsewhere + 1, (self.round or 0) + 1)
        assert data.shoe_integrity in ("partial", self.shoe_integrity), "the integrity of a shoe never improves"
        self.shoe_integrity = data.shoe_integrity
        assert self.last is None or self.last["answer"] != "awaited" or self.last["void"], (
            "the previous round has no answer"
        )
        assert self.phase in OVER or self.complete
        self.shoe, self.round = data.shoe, data.round
        self.phase = "betting" if data.opened_by == "announcement" else "dealing"
        self.player, self.banker, self.irregular, self.complete, self.indices = [], [], False, False, set()

    @hear.register
    def _(self, _: events.BetsClosed) -> None:
        assert self.phase in ("betting", "suspended")
        self.phase = "closed" if self.phase == "betting" else self.phase

    @hear.register
    def _(self, data: events.RoundSettled) -> None:
        if self.is_past(data.shoe, data.round):
            return
        assert self.complete
        assert self.phase in ("complete", "corrected", "suspended", "settled")
        self.phase = "settled"

    @hear.register
    def _(self, data: events.RoundAbandoned) -> None:
        assert self.phase in ("betting", "closed", "dealing", "suspended")
        assert not self.complete
        self.check_hands(data.player, data.banker)
        self.player, self.banker, self.phase = [], [], "abandoned"

    @hear.register
    def _(self, data: events.RoundVoided) -> None:
        if self.is_past(data.shoe, data.round) or self.phase == "abandoned":  # a late void by a person
            if self.last is not None and (self.last["shoe"], self.last["round"]) == (data.shoe, data.round):
                self.last["void"] = True
            return
        assert self.phase == "settled" or self.phase not in OVER
        assert (data.supersedes is not None) == self.complete
        self.hands_are(data.player, data.banker)
        self.phase = "voided"
        if self.complete and self.last is not None:
            self.last["void"] = True

    def is_past(self, shoe: int | None, number: int | None) -> bool:
        return (shoe, number) != (self.shoe, self.round)

    # --- suspension and resumption

    @hear.register
    def _(self, data: events.IrregularityNoticed) -> None:
        if data.late or self.is_past(data.shoe, data.round):
            return
        assert data.shoe == self.shoe
        self.irregular = True

    @hear.register
    def _(self, data: events.RoundSuspended) -> None:
        assert (data.shoe, data.round) == (self.shoe, self.round)
        assert self.phase in ("betting", "closed", "dealing", "complete", "corrected", "settled")
        self.phase = "suspended"

    @hear.register
    def _(self, data: events.QuestionAsked | events.QuestionRevised) -> None:
        if self.is_past(data.shoe, data.round) or self.phase in ("abandoned", "settled"):
            return
        if self.phase == "suspended":
            self.hands_are(data.player, data.banker)
        else:
            self.check_hands(data.player, data.banker)

    @hear.register
    def _(self, data: events.ShoeCut) -> None:
        assert data.shoe_integrity in ("partial", self.shoe_integrity), "the integrity of a shoe never improves"
        self.shoe_integrity = data.shoe_integrity

    @hear.register
    def _(self, data: events.RoundResumed) -> None:
        assert self.phase == "suspended"
        self.hands_are(data.player, data.banker)
        assert (data.due and data.due.hand) is (next_hand(self.player, self.banker))
        self.phase = data.phase
        assert (self.phase == "complete") == (data.due is None)

    # --- the result

    @hear.register
    def _(self, data: events.RoundCompleted) -> None:
        if self.irregular:
            self.hands_are(data.player, data.banker)
        self.check_hands(data.player, data.banker)
        assert next_hand(self.player, self.banker) is None
        assert (data.outcome, data.pairs) == expected_result(self.player, self.banker)
        self.phase, self.complete = "complete", True
        self.previous = self.last
        self.last = {
            "shoe": data.shoe,
            "round": data.round,
            **self.result(data.outcome, data.pairs),
            "integrity": data.integrity,
            "answer": "awaited",
            "void": False,
        }

    @hear.register
    def _(self, data: events.RoundCorrected) -> None:
        assert self.phase == "settled" or self.phase not in OVER
        self.hands_are(data.player, data.banker)
        if data.outcome is None:
            assert data.due is not None
            if self.complete:
                self.last = self.previous
            self.phase, self.complete = "suspended" if self.phase == "suspended" else "dealing", False
            return
        assert self.complete
        assert self.last is not None
        assert (data.outcome, data.pairs) == expected_result(self.player, self.banker)
        self.phase = "suspended" if self.phase == "suspended" else "corrected"
        self.last |= {**self.result(data.outcome, data.pairs), "answer": "awaited"}

    def result(self, outcome: Outcome, pairs: Sequence[Pair]) -> dict[str, object]:
        return {
            "hands": {"player": shown_hand(self.player), "banker": shown_hand(self.banker)},
            "result": {"outcome": outcome.value, "pairs": [each.value for each in pairs]},
        }

    @hear.register
    def _(self, data: events.RoundConfirmed) -> None:
        assert data.ours == data.theirs
        self.answer(data.shoe, data.round, "confirmed")

    @hear.register
    def _(self, data: events.RoundDisputed) -> None:
        assert data.ours != data.theirs
        self.answer(data.shoe, data.round, "disputed")

    @hear.register
    def _(self, data: events.RoundUnconfirmed) -> None:
        assert self.last is not None
        assert self.last["answer"] == "awaited"
        self.answer(data.shoe, data.round, "unconfirmed")

    def answer(self, shoe: int, number: int, answer: str) -> None:
        assert self.last is not None
        assert (self.last["shoe"], self.last["round"]) == (shoe, number)
        self.last["answer"] = answer

    # --- the devices

    def device_state(self, data: device_events.DeviceEvent) -> dict[str, object]:
        return self.devices.setdefault(data.device, dict(NO_REPORT))

    @hear.register
    def _(self, data: device_events.DeviceEvent) -> None:
        self.device_state(data)

    @hear.register
    def _(self, data: device_events.DeviceOnline) -> None:
        self.device_state(data).update(link="online", reason=None)

    @hear.register
    def _(self, data: device_events.DeviceQuiet) -> None:
        self.device_state(data).update(link="quiet")

    @hear.register
    def _(self, data: device_events.DeviceDoubted) -> None:
        self.doubts(data.device)[data.reason] = data.detail

    @hear.register
    def _(self, data: device_events.DeviceTrusted) -> None:
        del self.doubts(data.device)[data.reason]

    def doubts(self, device: Device) -> dict[DeviceDoubt, str]:
        return self.doubted.setdefault(device, {})

    def shown(self, device: Device) -> dict[str, object]:
        device_state = self.devices.setdefault(device, dict(NO_REPORT))
        doubts = "; ".join(f"{reason.value}: {detail}" for reason, detail in self.doubts(device).items())
        return device_state | {"reason": doubts or device_state["reason"]}

    @hear.register
    def _(self, data: device_events.DeviceOffline) -> None:
        self.device_state(data).update(link="offline", reason=data.reason)

    @hear.register
    def _(self, data: device_events.DeviceFault) -> None:
        self.device_state(data)["fault"] = {"code": data.code, "name": data.name, "blocking": data.blocking}

    @hear.register
    def _(self, data: device_events.DeviceCleared) -> None:
        self.device_state(data)["fault"] = None

    @hear.register
    def _(self, data: device_events.DeviceLocked | device_events.DeviceUnlocked) -> None:
        self.device_state(data)["locked"] = isinstance(data, device_events.DeviceLocked)

    def drawn(self, sequence: int, heard_at: str | None, shuffler_at: str | None = None) -> dict[str, object]:
        """The expected state message after `sequence` events, without the fields that depend on the rule book."""
        if shuffler_at is not None:  # also by a report without an event
            self.devices.setdefault(Device.SHUFFLER, dict(NO_REPORT))
        shuffler = self.shown(Device.SHUFFLER) if Device.SHUFFLER in self.devices else None
        return {
            "sequence": str(sequence),
            "phase": self.phase,
            "game": self.game,
            "shoe": self.shoe,
            "shoe_integrity": self.shoe_integrity,
            "round": self.round,
            "hands": {"player": shown_hand(self.player), "banker": shown_hand(self.banker)},
            "last_round": self.last,
            "device": self.shown(Device.SHOE) | {"heard_at": heard_at},
            "shuffler": shuffler and shuffler | {"heard_at": shuffler_at},
        }
