"""Observations as any session might make them, and a table that hears them: for the tests of all behind a session.

Time is a second further at each hearing, unless a test moves it itself.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.cards import Card
from shoed.events import Event, EventData, RoundCompleted
from shoed.now import Now
from shoed.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    CopyHeard,
    CutCardSeen,
    Evidence,
    FaultCleared,
    FaultRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    LinkOpened,
    LockChanged,
    Outcome,
    Pair,
    Place,
    PresetChanged,
    ResultSeen,
    Resumed,
    SequenceClashed,
    SequenceJumped,
    StoodBy,
    WentQuiet,
)
from shoed.table import PublicState, TableSettings, TableState, fold, public_state

SECOND_NS: Final = 1_000_000_000
START: Final = Now(1_700_000_000_000_000, 50 * SECOND_NS)
FRAME: Final = Evidence("05 31 44 81 b8 03 34 46", 40, "4")
PORT: Final = "tcp://127.0.0.1:4001"

HANDS: Final = {"P": Place.PLAYER, "B": Place.BANKER}


def card(place: str, face: str) -> CardSeen:
    """`P1` to `B3` with a card, or a place outside the hands; a face of `?` could not be read."""
    known = None if face == "?" else Card.parse(face)
    code = "00" if known is None else ""
    if place[0] in HANDS:
        return CardSeen(at=START, frame=FRAME, place=HANDS[place[0]], position=int(place[1:]), card=known, code=code)
    return CardSeen(at=START, frame=FRAME, place=Place(place), position=0, card=known, code=code)


def cards(text: str) -> list[AnyObservation]:
    """`P1 8S, B1 3H` as they are reported."""
    return [card(*each.split()) for each in text.split(",")]


def dealt(player: str, banker: str) -> list[AnyObservation]:
    """A whole round by the order of the deal, each hand's cards given; Player's third comes before Banker's."""
    ours, theirs = player.split(), banker.split()
    order = [f"P1 {ours[0]}", f"B1 {theirs[0]}", f"P2 {ours[1]}", f"B2 {theirs[1]}"]
    order += [f"P3 {face}" for face in ours[2:]] + [f"B3 {face}" for face in theirs[2:]]
    return cards(",".join(order))


def result(outcome: str, *pairs: str) -> ResultSeen:
    return ResultSeen(at=START, frame=FRAME, outcome=Outcome(outcome), pairs=tuple(map(Pair, pairs)))


def rejected(
    raw: str = "05 05", offset: int = 7, reason: str = "torn", detail: str = "report broken off"
) -> FrameRejected:
    return FrameRejected(at=START, raw=raw, offset=offset, reason=reason, detail=detail)


def fault(code: int = 1, name: str = "cannot-read", *, blocking: bool = True) -> FaultRaised:
    return FaultRaised(at=START, frame=FRAME, code=code, name=name, blocking=blocking)


def lock(*, locked: bool) -> LockChanged:
    return LockChanged(at=START, frame=FRAME, locked=locked)


def closed(reason: str = "the cable is out") -> LinkClosed:
    return LinkClosed(at=START, reason=reason)


OPENED: Final = LinkOpened(at=START, port=PORT)
CUT: Final = CutCardSeen(at=START, frame=FRAME)
STARTED: Final = CommunicationStarted(at=START, frame=FRAME)
STOOD_BY: Final = StoodBy(at=START, frame=FRAME)
COPY: Final = CopyHeard(at=START, frame=FRAME)
QUIET: Final = WentQuiet(at=START, since=START)
AGAIN: Final = HeardAgain(at=START)
PROVEN: Final = Resumed(at=START, frame=FRAME, proven=True)
UNPROVEN: Final = Resumed(at=START, frame=FRAME, proven=False)
JUMPED: Final = SequenceJumped(at=START, frame=FRAME, expected="2")
CLASHED: Final = SequenceClashed(at=START, frame=FRAME, previous="05 34 50 03 36 37")
CLEARED: Final = FaultCleared(at=START, frame=FRAME, code=1, name="cannot-read")
PRESET: Final = PresetChanged(at=START, frame=FRAME, address="01", value="0005")


class Sitting:
    """One table, and all that it has told."""

    def __init__(self, game: str = "commission") -> None:
        self.settings = TableSettings(game, PORT)
        self.state = TableState()
        self.now = START
        self.row = 0
        self.told: list[Event] = []

    def hear(self, *seen: AnyObservation, after_s: float = 1) -> list[EventData]:
        """One Step; the data of the events that it gave."""
        self.pass_time(after_s)
        self.row += 1
        observations = [replace(each, at=self.now) for each in seen]
        self.state, events = fold(self.settings, self.state, observations, self.now, self.row)
        self.told += events
        return [event.data for event in events]

    def hear_each(self, seen: Iterable[AnyObservation]) -> list[EventData]:
        """A Step for each."""
        return [event for each in seen for event in self.hear(each)]

    def pass_time(self, seconds: float) -> None:
        self.now = Now(self.now.utc_us + int(seconds * 1e6), self.now.mono_ns + int(seconds * 1e9))

    @property
    def shown(self) -> PublicState:
        return public_state(self.settings.game, self.state)

    @property
    def message(self) -> object:
        """The state as whoever listens reads it."""
        return msgspec.json.decode(msgspec.json.encode(self.shown))


def after(*before: AnyObservation) -> Sitting:
    """A table that has heard these, one by one."""
    table = Sitting()
    table.hear_each(before)
    return table


def kinds(told: list[EventData]) -> list[type[EventData]]:
    return [type(each) for each in told]


def completed(told: list[EventData]) -> RoundCompleted:
    (only,) = (each for each in told if isinstance(each, RoundCompleted))
    return only


NATURAL: Final = dealt("8S KS", "3H 4H")  # Player 8, Banker 7
SIX_CARDS: Final = dealt("2S KS 6S", "3H KH 4H")  # Player 8, Banker 7
TIE: Final = dealt("9S KS", "9H KH")
