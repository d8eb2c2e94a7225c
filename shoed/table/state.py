"""What a table knows between two Steps."""

from enum import Enum

import msgspec

from shoed.cards import Card
from shoed.commands import Author
from shoed.device_events import LineRejected
from shoed.events import CardSetAside, Result, RoundCompleted, RoundSuspended
from shoed.observations import DeviceDoubt, Evidence, FaultMeaning, FaultStanding
from shoed.step import DeviceOrder
from shoed.table.asking import Topic
from shoed.table.phase import Phase
from shoed.table.record import Record


class Link(Enum):
    ONLINE = "online"
    QUIET = "quiet"
    OFFLINE = "offline"


class Comparison(Enum):
    """How the shoe's result compares with a completed round."""

    AWAITED = "awaited"
    CONFIRMED = "confirmed"
    DISPUTED = "disputed"
    UNCONFIRMED = "unconfirmed"


class Fault(msgspec.Struct, frozen=True):
    code: int
    name: str
    blocking: bool


class Awaited(Enum):
    """What is still to come for a device order."""

    BOTH = "both"  # the direct answer, and perhaps a report that shows the effect
    ANSWER = "answer"  # the direct answer: a report has shown the effect
    REPORT = "report"  # perhaps a report: the direct answer is known


class PendingOrder(msgspec.Struct, frozen=True):
    """The last device order that was sent."""

    order: DeviceOrder
    author: Author
    awaited: Awaited = Awaited.BOTH
    answered_ns: int = 0  # monotonic; of the direct answer


class Rejections(msgspec.Struct, frozen=True):
    """Frames that were rejected for one reason: after the first one they are counted until a moment, then published."""

    reason: str
    until: int  # monotonic ns
    counted: LineRejected | None = None


class Doubted(msgspec.Struct, frozen=True):
    """Why a device cannot be relied on."""

    reason: DeviceDoubt
    detail: str


class Flaps(msgspec.Struct, frozen=True):
    """Openings and closings of a link without a report: after the first few they are counted until a moment."""

    until: int  # monotonic ns
    told: int
    opened: int = 0
    closed: int = 0


class Asides(msgspec.Struct, frozen=True):
    """Cards that were set aside: more of them than a hand can draw are counted until a moment."""

    until: int  # monotonic ns
    told: int
    counted: CardSetAside | None = None


class Condition(msgspec.Struct, frozen=True):
    """The condition of a device and of its line."""

    link: Link | None = None  # None: nothing is known yet
    reason: str = ""  # of an offline link
    heard_utc_us: int | None = None
    fault: Fault | None = None
    meaning: FaultMeaning | None = None  # of the fault
    locked: bool = False
    rejections: tuple[Rejections, ...] = ()
    order: PendingOrder | None = None
    doubts: tuple[Doubted, ...] = ()  # that stand on an open line
    unidentified: bool = False  # the line is open, and the device has yet to say who it is
    flaps: Flaps | None = None
    standing: tuple[FaultStanding, ...] | None = None  # all faults; None: the device never stated them


class LastCard(msgspec.Struct, frozen=True):
    """The card that was published last."""

    face: Card | None
    sequence: int  # of its event
    aside: bool  # it was set aside, as one that was not due


class Completed(msgspec.Struct, frozen=True):
    """The last round that was completed, also if a new shoe began since."""

    published: RoundCompleted
    sequence: int = 0  # of the event that published it
    void: bool = False
    answer: Comparison = Comparison.AWAITED
    theirs: Result | None = None  # the last result that the shoe gave for it

    @property
    def ours(self) -> Result:
        return Result(self.published.outcome, self.published.pairs)


class Effect(msgspec.Struct, frozen=True):
    """What a choice would lead to, and since which revision of its question."""

    choice: tuple[str, ...]
    digest: int
    since: int


class Open(msgspec.Struct, frozen=True):
    """A question that is asked."""

    id: str
    topic: Topic
    utc_us: int
    shoe: int
    round: int
    revision: int = 0  # 0: not compared yet
    hands: int = 0  # a digest of the hands as they lie
    effects: tuple[Effect, ...] = ()


class Past(msgspec.Struct, frozen=True):
    """A round that is over: the last one, or one with open questions."""

    record: Record
    completed: Completed | None  # None: it never had all its cards
    topics: tuple[Topic, ...] = ()  # of its open questions
    suspended: RoundSuspended | None = None  # why it waited at its end


class Shoe(msgspec.Struct, frozen=True, omit_defaults=True):
    number: int = 0  # 0: no shoe has been numbered
    whole: bool = False  # seen from its start
    cut: bool = False  # the cut card left this shoe
    cut_in: int = 0  # in or before this round
    burnt: int = 0  # cards of this shoe, before its first round
    first_card: Card | None = None  # the card that gives the number of burn cards
    missed: Evidence | None = None  # the report that showed that others were missed since the cut card
    gap: bool = False  # rounds may have been missed: it is partial from the next round on
    emptied: bool = False  # it was reported empty, and no card left it since
    past: tuple[int, int] | None = None  # the last round of the shoe before, as long as this one has none

    @property
    def integrity(self) -> str:
        return "complete" if self.whole else "partial"


class TableState(msgspec.Struct, frozen=True):
    sequence: int = 0  # of the last event
    phase: Phase = Phase.IDLE
    shoe: Shoe = Shoe()
    record: Record = Record()  # of the round that is open, or of the last one
    last: Completed | None = None
    before: Completed | None = None  # the one before `last`
    last_card: LastCard | None = None  # None: reports were missed since
    suspended: RoundSuspended | None = None  # why the round waits
    past: tuple[Past, ...] = ()  # the oldest first
    asked: tuple[Open, ...] = ()  # the open questions
    questions: int = 0  # the number of the last question
    device: Condition = Condition()  # of the shoe
    shuffler: Condition | None = None  # None: the table has none, or nothing is known yet
    asides: Asides | None = None
