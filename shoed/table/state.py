"""The state of a table between two Steps."""

from enum import Enum

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import Author
from shoed.model.device_events import LineRejected
from shoed.model.events import CardSetAside, RoundCompleted, RoundResult, RoundSuspended
from shoed.model.incarnations import WordSince
from shoed.model.observations import DeviceDoubt, Evidence, FaultMeaning, FaultStanding
from shoed.model.step import DeviceOrder
from shoed.table.asking import Topic
from shoed.table.phase import Phase
from shoed.table.record import Record


class LinkStatus(Enum):
    ONLINE = "online"
    QUIET = "quiet"
    OFFLINE = "offline"


class Comparison(Enum):
    """How the shoe's result compares with a completed round."""

    AWAITED = "awaited"
    CONFIRMED = "confirmed"
    DISPUTED = "disputed"
    UNCONFIRMED = "unconfirmed"


class RaisedFault(msgspec.Struct, frozen=True):
    code: int
    name: str
    blocking: bool


class Awaited(Enum):
    """The messages that a device order waits for."""

    BOTH = "both"  # the direct answer, and perhaps a report that shows the effect
    ANSWER = "answer"  # the direct answer; a report has shown the effect
    REPORT = "report"  # perhaps a report that shows the effect; the direct answer has arrived


class PendingOrder(msgspec.Struct, frozen=True):
    """The last device order that was sent."""

    order: DeviceOrder
    author: Author
    awaited: Awaited = Awaited.BOTH
    answered_ns: int = 0  # monotonic time of the direct answer


class RejectionTally(msgspec.Struct, frozen=True):
    """Frames rejected for one reason. The first is published at once; the others are counted until `until`."""

    reason: str
    until: int  # monotonic ns
    counted: LineRejected | None = None


class Doubted(msgspec.Struct, frozen=True):
    """The reason why the reports of a device cannot be relied on."""

    reason: DeviceDoubt
    detail: str


class Flaps(msgspec.Struct, frozen=True):
    """Openings and closings of a link without a report. The first ones are published; the others are counted."""

    until: int  # monotonic ns, the end of the window
    published: int = msgspec.field(name="told")  # the number of events published one by one
    opened: int = 0
    closed: int = 0


class Asides(msgspec.Struct, frozen=True):
    """Cards that were set aside. The first ones are published; more than a hand can draw are counted."""

    until: int  # monotonic ns, the end of the window
    published: int = msgspec.field(name="told")  # the number of events published one by one
    counted: CardSetAside | None = None


class Condition(msgspec.Struct, frozen=True):
    """The condition of a device and of its line."""

    link: LinkStatus | None = None  # None: unknown until the first observation
    reason: str = ""  # of an offline link
    heard_utc_us: int | None = None
    fault: RaisedFault | None = None
    meaning: FaultMeaning | None = None  # of the fault
    locked: bool = False
    rejections: tuple[RejectionTally, ...] = ()
    order: PendingOrder | None = None
    doubts: tuple[Doubted, ...] = ()  # about the device on the open line
    unidentified: bool = False  # the line is open, and the device has not identified itself yet
    flaps: Flaps | None = None
    standing: tuple[FaultStanding, ...] | None = None  # all present faults; None: the device never reported them all


class LastCard(msgspec.Struct, frozen=True):
    """The last published card."""

    face: Card | None
    sequence: int  # of its event
    aside: bool  # the card was set aside because it was not due


class Completed(msgspec.Struct, frozen=True):
    """The last completed round; a new shoe does not change it."""

    published: RoundCompleted
    sequence: int = 0  # of the event that published it
    void: bool = False
    answer: Comparison = Comparison.AWAITED
    theirs: RoundResult | None = None  # the last result that the shoe reported for it

    @property
    def ours(self) -> RoundResult:
        return RoundResult(self.published.outcome, self.published.pairs)


class Effect(msgspec.Struct, frozen=True):
    """A digest of the consequence of a choice, and the revision of the question in which it first appeared."""

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
    hands: int = 0  # a digest of the present hands
    effects: tuple[Effect, ...] = ()


class Past(msgspec.Struct, frozen=True):
    """A round that is over: the last round, or a round with open questions."""

    record: Record
    completed: Completed | None  # None: the round never had all its cards
    topics: tuple[Topic, ...] = ()  # of its open questions
    suspended: RoundSuspended | None = None  # the suspension in which the round ended


class Shoe(msgspec.Struct, frozen=True, omit_defaults=True):
    number: int = 0  # 0: no shoe has been numbered
    whole: bool = False  # all its reports were received, from its start on
    cut: bool = False  # the cut card left this shoe
    cut_in: int = 0  # the cut card left the shoe in or before this round
    burnt: int = 0  # the number of burn cards before its first round
    first_card: Card | None = None  # its rank sets the number of burn cards
    missed: Evidence | None = None  # the first report after a loss of reports since the cut card
    gap: bool = False  # rounds may have been missed: the shoe is partial from the next round on
    emptied: bool = False  # reported empty, and no card has left it since
    past: tuple[int, int] | None = None  # the last round of the previous shoe, until this shoe has a round

    @property
    def integrity(self) -> str:
        return "complete" if self.whole else "partial"


class JournalPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The place of the last event in the journal."""

    utc_us: int | None = None  # the time of the event
    words: tuple[WordSince, ...] = ()  # in the ids of all events
    shoes_elsewhere: int = 0  # the highest number of a shoe that may be missing from the journal
    rounds_elsewhere: bool = False  # also rounds of the present shoe: the next round begins another shoe


class TableState(msgspec.Struct, frozen=True):
    sequence: int = 0  # of the last event
    phase: Phase = Phase.IDLE
    shoe: Shoe = Shoe()
    record: Record = Record()  # of the open round, or of the last round
    last: Completed | None = None
    before: Completed | None = None  # the completed round before `last`
    last_card: LastCard | None = None  # None: no card yet, or reports may be missing since the last card
    suspended: RoundSuspended | None = None  # the suspension of the round, while it waits
    past: tuple[Past, ...] = ()  # the oldest first
    asked: tuple[Open, ...] = ()  # the open questions
    questions: int = 0  # the number of the last question
    device: Condition = Condition()  # of the shoe
    shuffler: Condition | None = None  # None: the table has no shuffler, or its condition is unknown
    asides: Asides | None = None
    journal: JournalPlace = JournalPlace()

    @property
    def next_shoe(self) -> int:
        return max(self.shoe.number, self.journal.shoes_elsewhere) + 1


def same_but_heard(one: TableState, other: TableState) -> bool:
    """Whether the states are equal, except the moment of the last report."""
    if one == other:
        return True
    unheard = [
        replace(state, device=silent(state.device), shuffler=state.shuffler and silent(state.shuffler))
        for state in (one, other)
    ]
    return unheard[0] == unheard[1]


def silent(condition: Condition) -> Condition:
    return replace(condition, heard_utc_us=None)
