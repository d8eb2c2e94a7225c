"""Somebody with nothing but the events: draws the table from them, and fails on what cannot be.

The rules stand here a second time, from C 3.10 to 3.14 and without the tables of the code, so that
both cannot be wrong together.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from shoed import events
from shoed.cards import Card
from shoed.events import EventData
from shoed.observations import Outcome, Pair

OUTSIDE: Final = ("burn", "first-card", "locked", "error", "set-up", "overdraw")
WORTH: Final = {"A": 1} | {str(face): face for face in range(2, 10)} | dict.fromkeys(("10", "J", "Q", "K"), 0)


def rank(card: Card) -> str:
    return str(card)[:-1]


def total(hand: Sequence[Card]) -> int:
    return sum(WORTH[rank(card)] for card in hand) % 10


def next_hand(player: Sequence[Card], banker: Sequence[Card]) -> Pair | None:
    if len(player) + len(banker) < 4:
        return Pair.BANKER if len(player) > len(banker) else Pair.PLAYER
    ours, theirs = total(player[:2]), total(banker[:2])
    if max(ours, theirs) >= 8 or len(banker) == 3:
        return None
    if len(player) == 2:
        if ours <= 5:
            return Pair.PLAYER
        return Pair.BANKER if theirs <= 5 else None
    third = WORTH[rank(player[2])]
    lowest = {4: 2, 5: 4, 6: 6}.get(theirs)
    draws = theirs <= 2 or (theirs == 3 and third != 8) or (lowest is not None and lowest <= third <= 7)
    return Pair.BANKER if draws else None


def reckoned(player: Sequence[Card], banker: Sequence[Card]) -> tuple[Outcome, tuple[Pair, ...]]:
    lead = total(player) - total(banker)
    outcome = Outcome.TIE if lead == 0 else Outcome.PLAYER if lead > 0 else Outcome.BANKER
    hands = ((Pair.PLAYER, player), (Pair.BANKER, banker))
    return outcome, tuple(name for name, hand in hands if rank(hand[0]) == rank(hand[1]))


def shown_hand(hand: Sequence[Card]) -> dict[str, object]:
    return {"cards": [str(card) for card in hand], "points": total(hand)}


class Listener:
    def __init__(self) -> None:
        self.phase = "idle"
        self.shoe: int | None = None
        self.shoe_integrity = "partial"
        self.round: int | None = None
        self.player: list[Card] = []
        self.banker: list[Card] = []
        self.suspensions = 0
        self.last: dict[str, object] | None = None
        self.link = "offline"
        self.reason: str | None = None
        self.fault: object = None
        self.locked = False

    def hear(self, data: EventData) -> None:
        for ear in (self.hear_card, self.hear_round, self.hear_answer, self.hear_device):
            ear(data)

    def hear_card(self, data: EventData) -> None:
        match data:
            case events.CardDrawn(hand=hand, card=card):
                assert (data.shoe, data.round, self.phase) == (self.shoe, self.round, "dealing")
                assert hand is next_hand(self.player, self.banker)
                (self.player if hand is Pair.PLAYER else self.banker).append(card)
                assert data.index == len(self.player) + len(self.banker) <= 6
                assert (data.points.player, data.points.banker) == (total(self.player), total(self.banker))
            case events.CardSetAside(reason=reason):
                self.shoe = self.shoe or data.shoe
                assert (data.shoe, data.round) == (self.shoe, self.round)
                assert (reason == "no-round") == (self.phase == "idle" and reason not in OUTSIDE)
            case _:
                pass

    def hear_round(self, data: EventData) -> None:
        match data:
            case events.ShoeStarted():
                drawn = self.last is not None and (self.last["shoe"], self.last["round"]) == (self.shoe, self.round)
                assert self.phase in ("idle", "complete") or drawn
                assert data.shoe == (self.shoe or 0) + 1
                self.shoe, self.round, self.phase, self.shoe_integrity = data.shoe, None, "idle", data.shoe_integrity
                self.player, self.banker = [], []
            case events.RoundStarted():
                assert (data.shoe, data.round) == (self.shoe or 1, (self.round or 0) + 1)
                assert data.shoe_integrity in ("partial", self.shoe_integrity), "a doubt is never taken back"
                self.shoe_integrity = data.shoe_integrity
                assert self.last is None or self.last["answer"] != "awaited", "the round before was left unanswered"
                self.shoe, self.round, self.phase, self.suspensions = data.shoe, data.round, "dealing", 0
                self.player, self.banker = [], []
            case events.RoundCompleted():
                assert next_hand(self.player, self.banker) is None
                self.check_hands(data.player, data.banker)
                assert (data.outcome, data.pairs) == reckoned(self.player, self.banker)
                self.phase = "complete"
                self.last = {
                    "shoe": data.shoe,
                    "round": data.round,
                    "hands": {"player": shown_hand(self.player), "banker": shown_hand(self.banker)},
                    "result": {"outcome": data.outcome.value, "pairs": [each.value for each in data.pairs]},
                    "integrity": data.integrity,
                    "answer": "awaited",
                }
            case events.RoundSuspended(due=due):
                assert (data.shoe, data.round) == (self.shoe, self.round)
                assert self.phase in ("dealing", "complete")
                self.suspensions += 1
                assert self.suspensions == 1
                next_one = next_hand(self.player, self.banker), len(self.player) + len(self.banker) + 1
                assert (due.hand, due.index) == next_one if due is not None else next_one[0] is None
                self.phase = "suspended"
            case events.RoundAbandoned():
                assert self.phase in ("dealing", "suspended")
                self.check_hands(data.player, data.banker)
                assert self.last is None or (self.last["shoe"], self.last["round"]) != (data.shoe, data.round)
            case _:
                pass

    def check_hands(self, player: events.Hand, banker: events.Hand) -> None:
        assert (list(player.cards), player.points) == (self.player, total(self.player))
        assert (list(banker.cards), banker.points) == (self.banker, total(self.banker))

    def hear_answer(self, data: EventData) -> None:
        match data:
            case events.RoundConfirmed():
                assert data.ours == data.theirs
                answer = "confirmed"
            case events.RoundDisputed():
                assert data.ours != data.theirs
                answer = "disputed"
            case events.RoundUnconfirmed():
                assert self.last is not None
                assert self.last["answer"] == "awaited"
                answer = "unconfirmed"
            case _:
                return
        assert self.last is not None
        assert (self.last["shoe"], self.last["round"]) == (data.shoe, data.round)
        self.last["answer"] = answer

    def hear_device(self, data: EventData) -> None:
        match data:
            case events.DeviceOnline():
                self.link, self.reason = "online", None
            case events.DeviceQuiet():
                self.link = "quiet"
            case events.DeviceOffline(reason=reason):
                self.link, self.reason = "offline", reason
            case events.DeviceFault():
                self.fault = msgspec.to_builtins(data)
            case events.DeviceCleared():
                self.fault = None
            case events.DeviceLocked() | events.DeviceUnlocked():
                self.locked = isinstance(data, events.DeviceLocked)
            case _:
                pass

    def drawn(self, sequence: int, heard_at: str | None) -> dict[str, object]:
        """The state message as it must be after so many events."""
        return {
            "sequence": str(sequence),
            "phase": self.phase,
            "game": "commission",
            "shoe": self.shoe,
            "shoe_integrity": self.shoe_integrity,
            "round": self.round,
            "hands": {"player": shown_hand(self.player), "banker": shown_hand(self.banker)},
            "last_round": self.last,
            "device": {
                "link": self.link,
                "reason": self.reason,
                "heard_at": heard_at,
                "fault": self.fault,
                "locked": self.locked,
            },
        }
