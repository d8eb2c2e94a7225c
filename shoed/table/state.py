"""What a table knows between two Steps, and every legal move of its round."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from shoed.events import LineRejected, Result, RoundCompleted, RoundSuspended
from shoed.observations import Evidence
from shoed.rules.drawing import Hands


class Phase(Enum):
    IDLE = "idle"  # no round in this shoe yet
    DEALING = "dealing"
    SUSPENDED = "suspended"  # waits for a person
    COMPLETE = "complete"  # every card due is drawn


class Move(Enum):
    OPENING_CARD = "opening-card"  # reported as Player's first
    DUE_CARD = "due-card"
    LAST_CARD = "last-card"  # the due one that completes the round
    UNDUE_CARD = "undue-card"
    RESULT = "result"
    NEW_SHOE = "new-shoe"


# Every legal move is here, and what it leads to. What is absent cannot follow from any
# observation; the machine fails on it rather than guess.
MOVES: Final[Mapping[tuple[Phase, Move], Phase]] = {
    (Phase.IDLE, Move.OPENING_CARD): Phase.DEALING,
    (Phase.IDLE, Move.UNDUE_CARD): Phase.IDLE,
    (Phase.IDLE, Move.RESULT): Phase.IDLE,
    (Phase.IDLE, Move.NEW_SHOE): Phase.IDLE,
    (Phase.DEALING, Move.OPENING_CARD): Phase.DEALING,
    (Phase.DEALING, Move.DUE_CARD): Phase.DEALING,
    (Phase.DEALING, Move.LAST_CARD): Phase.COMPLETE,
    (Phase.DEALING, Move.UNDUE_CARD): Phase.SUSPENDED,
    (Phase.DEALING, Move.RESULT): Phase.SUSPENDED,
    (Phase.SUSPENDED, Move.OPENING_CARD): Phase.DEALING,
    (Phase.SUSPENDED, Move.UNDUE_CARD): Phase.SUSPENDED,
    (Phase.SUSPENDED, Move.RESULT): Phase.SUSPENDED,
    (Phase.SUSPENDED, Move.NEW_SHOE): Phase.IDLE,  # if every card of the round was drawn: else it is open
    (Phase.COMPLETE, Move.OPENING_CARD): Phase.DEALING,
    (Phase.COMPLETE, Move.UNDUE_CARD): Phase.SUSPENDED,
    (Phase.COMPLETE, Move.RESULT): Phase.COMPLETE,
    (Phase.COMPLETE, Move.NEW_SHOE): Phase.IDLE,
}


class Link(Enum):
    ONLINE = "online"
    QUIET = "quiet"
    OFFLINE = "offline"


class Answer(Enum):
    """What the shoe's result made of a completed round."""

    AWAITED = "awaited"
    CONFIRMED = "confirmed"
    DISPUTED = "disputed"
    UNCONFIRMED = "unconfirmed"


class Fault(msgspec.Struct, frozen=True):
    code: int
    name: str
    blocking: bool


class Device(msgspec.Struct, frozen=True):
    link: Link | None = None  # None: nothing is known yet
    reason: str = ""  # of an offline link
    heard_utc_us: int | None = None
    fault: Fault | None = None
    locked: bool = False


class Rejections(msgspec.Struct, frozen=True):
    """Rejected frames after the first are counted until a moment, then told."""

    until: int  # monotonic ns
    counted: LineRejected | None = None


class Round(msgspec.Struct, frozen=True):
    shoe: int = 0
    number: int = 0  # in its shoe, from 1; 0: none yet
    hands: Hands = Hands()
    away: bool = False  # the line was away since it opened
    partial: bool = False  # and nothing proves that no report was missed
    complete: bool = False  # every card due was drawn, whatever came after it
    unsure: bool = False  # reports were missed since: a result may be another round's


class Completed(msgspec.Struct, frozen=True):
    """The last round that was completed, also when a new shoe began since."""

    told: RoundCompleted
    answer: Answer = Answer.AWAITED
    theirs: Result | None = None  # the last result that the shoe gave for it

    @property
    def ours(self) -> Result:
        return Result(self.told.outcome, self.told.pairs)


class TableState(msgspec.Struct, frozen=True):
    sequence: int = 0  # of the last event
    phase: Phase = Phase.IDLE
    shoe: int = 0  # 0: no shoe has been numbered
    shoe_whole: bool = False  # seen from its start
    cut: bool = False  # the cutting card came out of this shoe
    missed: Evidence | None = None  # the report that showed that others were missed since then
    round: Round = Round()
    last: Completed | None = None
    suspended: RoundSuspended | None = None  # what the round waits on
    device: Device = Device()
    rejections: Rejections | None = None

    @property
    def shoe_integrity(self) -> str:
        return "complete" if self.shoe_whole else "partial"
