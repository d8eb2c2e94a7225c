"""What devices say, in words that belong to no device.

A session turns a family's frames into these; the watch and the table know nothing else.
An observation made from a frame carries that frame: its bytes (hex, as an auditor reads them),
their offset since the link opened, and the sequence character that the device gave them.
"""

from collections.abc import Mapping
from enum import Enum

import msgspec
from msgspec.structs import force_setattr

from shoed.cards import Card
from shoed.now import Now


class Device(Enum):
    """What stands at a table."""

    SHOE = "shoe"
    SHUFFLER = "shuffler"


class Place(Enum):
    """Where the device says that a card was drawn."""

    PLAYER = "player"
    BANKER = "banker"
    BURN = "burn"
    FIRST_CARD = "first-card"
    LOCKED = "locked"
    ERROR = "error"
    SET_UP = "set-up"
    OVERDRAW = "overdraw"
    DEALT = "dealt"  # it left the shoe, and the device names no hand
    UNKNOWN = "unknown"  # the device gives a value that the page of its family does not name


class Outcome(Enum):
    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"
    FORCED_END = "forced-end"  # only ever said by a device, never reckoned


class Pair(Enum):
    PLAYER = "player"
    BANKER = "banker"


class FaultMeaning(Enum):
    """What a device's fault says of the cards, in words that belong to no device."""

    UNREAD = "unread"  # a card passed that could not be read
    BAD_CODE = "bad-code"  # a card carries a code that the device does not know
    SLOW = "slow"  # a draw took too long
    OVERDRAW = "overdraw"
    REVERSED = "reversed"  # a card ran backwards


class Capability(Enum):
    """What a device says that it can do."""

    PASSAGE = "passage"  # it measures how long a card took to pass
    HANDS = "hands"  # it names the hand of each card
    LOCK = "lock"  # an order locks and unlocks its exit
    CLEAR = "clear"  # an order clears its faults
    MEMORY = "memory"  # it keeps its reports without power
    QUALITY = "quality"  # it says how well each card was read
    ORDER = "order"  # it gives the order of the cards of a set


class Edges(msgspec.Struct, frozen=True):
    """When a card passed the device's window, on the device's clock in microseconds."""

    leading_us: int
    trailing_us: int
    double: bool = False  # the device saw the thickness of two cards


class Drawn(msgspec.Struct, frozen=True):
    """When the leading edge of a card passed the device's window; the true moment is at most `within_us` away."""

    utc_us: int
    within_us: int


class Observation(msgspec.Struct, frozen=True, kw_only=True, tag_field="saw", tag=True, omit_defaults=True):
    at: Now
    device: Device = Device.SHOE  # that told it


class LinkOpened(Observation, frozen=True, kw_only=True):
    port: str


class LinkClosed(Observation, frozen=True, kw_only=True):
    """The link ended, or could not be opened."""

    reason: str


class WentQuiet(Observation, frozen=True, kw_only=True):
    """Nothing for longer than the family's custom, on a link that is open."""

    since: Now


class HeardAgain(Observation, frozen=True, kw_only=True):
    pass


class DeviceDoubt(Enum):
    """Why a device cannot be relied on, though its line is open."""

    NO_HELLO = "no-hello"  # it does not say who it is
    UNKNOWN_VERSION = "unknown-version"  # of its protocol
    WRONG_ROLE = "wrong-role"  # a shoe where a shuffler is expected, or a shuffler where a shoe is
    IGNORES_ACKNOWLEDGEMENTS = "ignores-acknowledgements"
    CLOCK_JUMPS = "clock-jumps"
    NOT_UNDERSTOOD = "not-understood"  # bytes come, and none of them is a valid frame
    KEY_NEEDED = "key-needed"  # it has a key, and this host has none


class DeviceDoubted(Observation, frozen=True, kw_only=True):
    reason: DeviceDoubt
    detail: str


class DeviceTrusted(Observation, frozen=True, kw_only=True):
    """The doubt has ended on an open line; a line that closes ends every doubt."""

    reason: DeviceDoubt


class FrameRejected(Observation, frozen=True, kw_only=True):
    """Bytes that are no frame; on a noisy line, the last of several rejections for one reason, with their count."""

    raw: str
    offset: int
    reason: str
    detail: str
    heard: Now | None = None  # when its last byte came, where a timer or the end of the link rejects it later
    count: int = 1  # of the rejections
    earlier: int = 0  # bytes of all of them but the last
    unkept: int = 0  # bytes of all of them that no row has

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return self.earlier + len(bytes.fromhex(self.raw))

    @property
    def last_byte(self) -> Now:
        return self.heard or self.at


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The frame behind an observation."""

    raw: str
    offset: int
    sequence: str
    form: str = ""  # its name on the page of the family; empty: the documented one


class Reported(Observation, frozen=True, kw_only=True):
    """The base of all that a good frame said."""

    frame: Evidence
    late_ns: int = 0  # how long before `at` it may have come

    @property
    def last_byte(self) -> Now:
        return self.at


class CopyHeard(Reported, frozen=True, kw_only=True):
    """One more transmission of the report before it: counted, and nothing else."""


class SequenceClashed(Reported, frozen=True, kw_only=True):
    """The sequence of the report before it, other bytes: the next observation is that report, taken."""

    previous: str


class SequenceJumped(Reported, frozen=True, kw_only=True):
    """Reports were lost on an open link; the next observation is the one that shows it."""

    expected: str
    missed_at_least: int = 0  # reports; 0: how many is not known


class Continuity(Enum):
    """What is known about reports that may have been missed while the link, the daemon or the device was away."""

    PROVEN = "proven"  # no report was missed
    LOST = "lost"  # reports were missed: the number jumped
    UNKNOWN = "unknown"  # neither is proven


class Resumed(Reported, frozen=True, kw_only=True):
    """The first report since the link, the daemon or the device was away."""

    continuity: Continuity = Continuity.UNKNOWN
    missed_at_least: int = 0  # reports; 0: how many is not known
    expected: str = ""  # the number that was due, where the device gives another one
    was_proven: bool | None = msgspec.field(default=None, name="proven")  # only in records of engine 5 and earlier

    def __post_init__(self) -> None:
        if self.was_proven is not None:
            lost = Continuity.LOST if self.expected else Continuity.UNKNOWN
            force_setattr(self, "continuity", Continuity.PROVEN if self.was_proven else lost)
            force_setattr(self, "was_proven", None)

    @property
    def proven(self) -> bool:
        return self.continuity is Continuity.PROVEN


class Identified(Reported, frozen=True, kw_only=True):
    """Who the device is, as it says itself; empty where it does not."""

    vendor: str
    model: str
    serial: str
    firmware: str
    protocol: str  # the version of its protocol
    capabilities: tuple[Capability, ...] | None = None  # None: it does not state them


class CommunicationStarted(Reported, frozen=True, kw_only=True):
    pass


class StoodBy(Reported, frozen=True, kw_only=True):
    pass


class Replied(Observation, frozen=True, kw_only=True):
    """Text of the device that no order of ours asks for: on record, and nothing else."""

    frame: Evidence
    text: str


class CutCardSeen(Reported, frozen=True, kw_only=True):
    pass


class CardSeen(Reported, frozen=True, kw_only=True):
    place: Place
    position: int  # in its hand, 1-3, where the place is a hand
    card: Card | None  # None: the device's code names no card
    code: str = ""  # and that code
    unknown: str = ""  # the value that names no place, as in `target 6`
    target: str = ""  # of an overdraw: the slot that the device names, as in `player 1`
    edges: Edges | None = None  # where the family has them
    quality: int | None = None  # of the reading, in percent, where the family tells it
    drawn: Drawn | None = None  # where the device has a clock, and it is known what it showed when


class ResultSeen(Reported, frozen=True, kw_only=True):
    outcome: Outcome
    pairs: tuple[Pair, ...]


class FaultRaised(Reported, frozen=True, kw_only=True):
    code: int
    name: str
    blocking: bool  # the device stays in its error mode until cleared
    meaning: FaultMeaning | None = None


class FaultCleared(Reported, frozen=True, kw_only=True):
    code: int
    name: str


class LockChanged(Reported, frozen=True, kw_only=True):
    locked: bool


class FaultStanding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault that stands."""

    code: int
    name: str
    blocking: bool
    meaning: FaultMeaning | None = None


class DeviceStatus(Reported, frozen=True, kw_only=True):
    """The whole state of a device."""

    locked: bool | None  # None: it has no lock
    faults: tuple[FaultStanding, ...]
    set_id: str  # empty where the set in it has no name, or none is there


class PresetChanged(Reported, frozen=True, kw_only=True):
    address: str
    value: str


class ShoeLoaded(Reported, frozen=True, kw_only=True):
    """A new set of cards was put into the shoe."""

    set_id: str  # empty where the device knows none


class ShoeEmptied(Reported, frozen=True, kw_only=True):
    pass


class SetRecognised(Reported, frozen=True, kw_only=True):
    """A shuffler knows which set was put into it."""

    set_id: str


class ShuffleStarted(Reported, frozen=True, kw_only=True):
    set_id: str = ""  # empty where the shuffler does not name it


class ShuffleEnded(Reported, frozen=True, kw_only=True):
    failed: str = ""  # why the set is not shuffled; empty: it is
    set_id: str = ""  # empty where the shuffler does not name it


class SetDelivered(Reported, frozen=True, kw_only=True):
    """A shuffler counted the set that it hands to the shoe; `order` where it tells it, the first card to come first."""

    counts: Mapping[Card, int]  # empty where it did not tell what it counted
    order: tuple[Card, ...] = ()
    set_id: str = ""
    unread: int = 0  # cards of it that could not be recognised


class AnsweredBy(Enum):
    """Where the answer to a device order comes from."""

    DEVICE = "device"
    HOST = "host"  # the session refused the order: no byte was sent
    NO_ONE = "no-one"  # the order was sent, and no answer arrived


class OrderAnswered(Observation, frozen=True, kw_only=True):
    order: str
    accepted: bool
    detail: str
    answered_by: AnsweredBy = AnsweredBy.DEVICE
    form: str = ""  # of the answer, by its name on the page of the family; empty: the documented one


# What is so of a shoe alone, whichever device says it.
OfTheShoe = CardSeen | ResultSeen | CutCardSeen | CommunicationStarted | ShoeLoaded | ShoeEmptied

AnyObservation = (
    LinkOpened
    | LinkClosed
    | WentQuiet
    | HeardAgain
    | DeviceDoubted
    | DeviceTrusted
    | FrameRejected
    | CopyHeard
    | SequenceClashed
    | SequenceJumped
    | Resumed
    | Identified
    | CommunicationStarted
    | StoodBy
    | Replied
    | CutCardSeen
    | CardSeen
    | ResultSeen
    | FaultRaised
    | FaultCleared
    | LockChanged
    | DeviceStatus
    | PresetChanged
    | ShoeLoaded
    | ShoeEmptied
    | SetRecognised
    | ShuffleStarted
    | ShuffleEnded
    | SetDelivered
    | OrderAnswered
)


def warning(seen: AnyObservation) -> str:
    """The line of the log about an observation; empty where the log has none."""
    match seen:
        case Resumed(proven=False) | SequenceJumped():
            due = f"report {seen.expected} was due" if seen.expected else "nothing proves the opposite"
            return f"reports may be missing before report {seen.frame.sequence}: {due}"
        case DeviceDoubted(reason=reason, detail=detail):
            return f"{reason.value}: {detail}"
        case DeviceTrusted(reason=reason):
            return f"{reason.value}: this has ended"
        case _:
            return ""
