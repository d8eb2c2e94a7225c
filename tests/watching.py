"""A watch for tests: it processes observations, each at its millisecond."""

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.findings import AnyFinding
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, CardSeen, Edges, FaultMeaning, FaultRaised, Place, SetDeliverySeen
from shoed.watch import WatchSettings, WatchState, watch
from tests.observed import FRAME, START, card, fault

LIMIT_MS = 250
SETTINGS = WatchSettings(LIMIT_MS)
SLOWLY_MS = 1000.0


def at(ms: float) -> Now:
    return Now(START.utc_us + int(ms * 1000), START.mono_ns + int(ms * 1e6))


class Watching:
    """The state passes through JSON between any two observations, as a checkpoint does."""

    def __init__(self, settings: WatchSettings = SETTINGS) -> None:
        self.settings = settings
        self.state = WatchState()
        self.ms = 0.0

    def hear(self, *seen: AnyObservation, every_ms: float = SLOWLY_MS) -> list[AnyFinding]:
        return [finding for each in seen for finding in self.hear_at(self.ms + every_ms, each)]

    def hear_at(self, ms: float, seen: AnyObservation) -> tuple[AnyFinding, ...]:
        self.ms = ms
        self.state = msgspec.json.decode(msgspec.json.encode(self.state), type=WatchState)
        self.state, findings = watch(self.settings, self.state, replace(seen, at=at(ms)))
        return findings


def watched(*seen: tuple[float, AnyObservation], settings: WatchSettings = SETTINGS) -> list[AnyFinding]:
    """Return the findings of these observations, each at its millisecond."""
    watching = Watching(settings)
    return [finding for ms, each in seen for finding in watching.hear_at(ms, each)]


def passed(face: str, leading_ms: float, trailing_ms: float, *, double: bool = False) -> CardSeen:
    """Return a card with its edges."""
    return replace(card("P1", face), edges=Edges(int(leading_ms * 1000), int(trailing_ms * 1000), double))


def burnt(each: Card) -> CardSeen:
    return CardSeen(at=START, frame=FRAME, place=Place.BURN, position=0, card=each)


def failing(code: int, name: str, meaning: FaultMeaning | None) -> FaultRaised:
    return replace(fault(code, name), meaning=meaning)


def delivery(*cards: Card, ordered: bool = True) -> SetDeliverySeen:
    counts = {each: cards.count(each) for each in dict.fromkeys(cards)}
    return SetDeliverySeen(at=START, frame=FRAME, counts=counts, order=cards if ordered else ())


UNREAD = failing(1, "cannot-read", FaultMeaning.UNREAD)
BAD_CODE = failing(6, "card-code", FaultMeaning.BAD_CODE)
SLOW = failing(7, "draw-timed-out", FaultMeaning.SLOW)
OVERDRAWN = failing(2, "overdraw", FaultMeaning.OVERDRAW)
REVERSED = failing(4, "reverse-at-exit", FaultMeaning.REVERSED)
BUTTON = failing(3, "button", None)
