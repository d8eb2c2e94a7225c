"""Observations: facts from a device that do not depend on the device family.

A session makes observations from the frames of its family. The watch and the table read observations only. An
observation from a frame holds the frame: its bytes in hexadecimal, their offset on the link, and its sequence number.
"""

from collections.abc import Mapping
from enum import Enum

import msgspec
from msgspec.structs import force_setattr

from shoed.model.cards import Card
from shoed.model.identity_enum import IdentityEnum
from shoed.model.moments import Now


class Device(IdentityEnum):
    """A device of a table."""

    SHOE = "shoe"
    SHUFFLER = "shuffler"


class Place(IdentityEnum):
    """The place of a card, by the report of the device."""

    PLAYER = "player"
    BANKER = "banker"
    BURN = "burn"
    FIRST_CARD = "first-card"
    LOCKED = "locked"
    ERROR = "error"
    SET_UP = "set-up"
    OVERDRAW = "overdraw"
    DEALT = "dealt"  # out of the shoe; the device names no hand
    UNKNOWN = "unknown"  # the page of the family does not name the value of the device


class Outcome(Enum):
    PLAYER = "player"
    BANKER = "banker"
    TIE = "tie"
    FORCED_END = "forced-end"  # only a device reports it; shoed does not compute it


class Side(IdentityEnum):
    PLAYER = "player"
    BANKER = "banker"


class Pair(Enum):
    """The pair bets: each is on the first two cards of one side."""

    PLAYER = "player"
    BANKER = "banker"


class FaultMeaning(Enum):
    """The meaning of a fault for the cards, without the words of a device family."""

    UNREAD = "unread"  # a card passed and was not read
    BAD_CODE = "bad-code"  # a card has a code that the device does not know
    SLOW = "slow"  # a draw took too long
    OVERDRAW = "overdraw"
    REVERSED = "reversed"  # a card moved backwards


class Capability(Enum):
    """A capability, as the device states it."""

    PASSAGE = "passage"  # it measures the time in which a card passes
    HANDS = "hands"  # it names the hand of each card
    LOCK = "lock"  # an order locks and unlocks its exit
    CLEAR = "clear"  # an order clears its faults
    MEMORY = "memory"  # it keeps its reports without power
    QUALITY = "quality"  # it reports the quality of each reading
    ORDER = "order"  # it reports the order of the cards of a set


class Edges(msgspec.Struct, frozen=True):
    """The times of a card at the window of the device, on the clock of the device."""

    leading_us: int
    trailing_us: int
    double: bool = False  # the device saw the thickness of two cards


class DrawTime(msgspec.Struct, frozen=True):
    """The time of the leading edge of a card at the window of the device. The error is at most `within_us`."""

    utc_us: int
    within_us: int


class Observation(msgspec.Struct, frozen=True, kw_only=True, tag_field="saw", tag=True, omit_defaults=True):
    at: Now
    device: Device = Device.SHOE  # the source of the observation


class LinkOpened(Observation, frozen=True, kw_only=True):
    port: str


class LinkClosed(Observation, frozen=True, kw_only=True):
    """The link closed, or could not be opened."""

    reason: str


class WentQuiet(Observation, frozen=True, kw_only=True):
    """An open link has been silent for longer than the limit of the family."""

    since: Now


class HeardAgain(Observation, frozen=True, kw_only=True):
    pass


class DeviceDoubt(Enum):
    """The reason for not trusting a device with an open line."""

    NO_HELLO = "no-hello"  # it does not identify itself
    UNKNOWN_VERSION = "unknown-version"  # the version of its protocol is unknown
    WRONG_ROLE = "wrong-role"  # a shoe where a shuffler is expected, or a shuffler where a shoe is
    IGNORES_ACKNOWLEDGEMENTS = "ignores-acknowledgements"
    CLOCK_JUMPS = "clock-jumps"
    NOT_UNDERSTOOD = "not-understood"  # bytes arrive without a valid frame
    KEY_NEEDED = "key-needed"  # the device has a key; this host has no key


class DoubtRaised(Observation, frozen=True, kw_only=True, tag="DeviceDoubted"):
    reason: DeviceDoubt
    detail: str


class DoubtEnded(Observation, frozen=True, kw_only=True, tag="DeviceTrusted"):
    """A doubt has ended on an open line. A closed line ends every doubt without this observation."""

    reason: DeviceDoubt


class FrameRejected(Observation, frozen=True, kw_only=True):
    """Bytes that are not a frame. On a noisy line: the last of several rejections for one reason, with their count."""

    raw: str
    offset: int
    reason: str
    detail: str
    heard: Now | None = None  # the moment of the last byte, if a timer or the end of the link rejects it
    count: int = 1  # of the rejections
    earlier: int = 0  # bytes of all rejections before the last
    unkept: int = 0  # bytes of all rejections that the journal does not keep

    @property
    def size(self) -> int:
        """Bytes of all rejections."""
        return self.earlier + len(bytes.fromhex(self.raw))

    @property
    def last_byte(self) -> Now:
        return self.heard or self.at


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The frame of an observation."""

    raw: str
    offset: int
    sequence: str
    form: str = ""  # the name of the form on the page of the family; empty: the documented form


class Reported(Observation, frozen=True, kw_only=True):
    """The base of the observations from valid frames."""

    frame: Evidence
    late_ns: int = 0  # the longest time between arrival and `at`

    @property
    def last_byte(self) -> Now:
        return self.at


class CopyHeard(Reported, frozen=True, kw_only=True):
    """Another transmission of the preceding report. It is counted only."""


class SequenceClashed(Reported, frozen=True, kw_only=True):
    """Other bytes with the sequence number of the preceding report. The next observation is their content."""

    previous: str


class SequenceJumped(Reported, frozen=True, kw_only=True):
    """Reports were lost on an open link. The next observation is the content of the report with the jump."""

    expected: str
    missed_at_least: int = 0  # the minimum number of missed reports; 0: unknown


class Continuity(Enum):
    """Whether reports were missed while the link was closed, or the daemon or the device was off."""

    PROVEN = "proven"  # no report was missed
    LOST = "lost"  # reports were missed: the sequence number jumped
    UNKNOWN = "unknown"  # it is not known whether reports were missed


class Resumed(Reported, frozen=True, kw_only=True):
    """The first report after the link was closed, or the daemon or the device was off."""

    continuity: Continuity = Continuity.UNKNOWN
    missed_at_least: int = 0  # the minimum number of missed reports; 0: unknown
    expected: str = ""  # the expected sequence number, if the device sends another one
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
    """The identity of the device, by its own report. An empty field is not reported."""

    vendor: str
    model: str
    serial: str
    firmware: str
    protocol: str  # the version of its protocol
    capabilities: tuple[Capability, ...] | None = None  # None: the device does not state them


class CommunicationStarted(Reported, frozen=True, kw_only=True):
    pass


class StoodBy(Reported, frozen=True, kw_only=True):
    pass


class Replied(Observation, frozen=True, kw_only=True):
    """Text of the device that is not the answer to an order. It is recorded only."""

    frame: Evidence
    text: str


class CutCardSeen(Reported, frozen=True, kw_only=True):
    pass


class CardSeen(Reported, frozen=True, kw_only=True):
    place: Place
    position: int  # in the hand, from 1 to 3, if the place is a hand
    card: Card | None  # None: the code of the device is not a card
    code: str = ""  # this code
    unknown: str = ""  # the value of an unknown place, as in `target 6`
    target: str = ""  # of an overdraw: the slot that the device names, as in `player 1`
    edges: Edges | None = None  # if the family reports them
    quality: int | None = None  # of the reading, in percent, if the family reports it
    drawn: DrawTime | None = None  # if the device has a clock that can be compared with UTC


class ResultSeen(Reported, frozen=True, kw_only=True):
    outcome: Outcome
    pairs: tuple[Pair, ...]


class FaultRaised(Reported, frozen=True, kw_only=True):
    code: int
    name: str
    blocking: bool  # the device stays in its error mode until the fault is cleared
    meaning: FaultMeaning | None = None


class FaultCleared(Reported, frozen=True, kw_only=True):
    code: int
    name: str


class LockChanged(Reported, frozen=True, kw_only=True):
    locked: bool


class FaultStanding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A present fault."""

    code: int
    name: str
    blocking: bool
    meaning: FaultMeaning | None = None


class DeviceStatus(Reported, frozen=True, kw_only=True):
    """The whole state of a device."""

    locked: bool | None  # None: the device has no lock
    faults: tuple[FaultStanding, ...]
    set_id: str  # empty: the set has no name, or there is no set


class PresetChanged(Reported, frozen=True, kw_only=True):
    address: str
    value: str


class ShoeLoaded(Reported, frozen=True, kw_only=True):
    """A new set of cards was put into the shoe."""

    set_id: str  # empty: the device knows no name


class ShoeEmptySeen(Reported, frozen=True, kw_only=True, tag="ShoeEmptied"):
    pass


class SetRecognitionSeen(Reported, frozen=True, kw_only=True, tag="SetRecognised"):
    """A shuffler has recognised its set."""

    set_id: str


class ShuffleStarted(Reported, frozen=True, kw_only=True):
    set_id: str = ""  # empty: the shuffler does not name the set


class ShuffleEnded(Reported, frozen=True, kw_only=True):
    failed: str = ""  # the reason; empty: the set is shuffled
    set_id: str = ""  # empty: the shuffler does not name the set


class SetDeliverySeen(Reported, frozen=True, kw_only=True, tag="SetDelivered"):
    """A shuffler has counted the set for the shoe. `order` begins with the first card to be drawn."""

    counts: Mapping[Card, int]  # empty: the shuffler does not report its count
    order: tuple[Card, ...] = ()  # empty: the shuffler does not report the order
    set_id: str = ""
    unread: int = 0  # the number of cards without a face


class AnsweredBy(Enum):
    """The source of the answer to a device order."""

    DEVICE = "device"
    HOST = "host"  # the session refused the order: no byte was sent
    NO_ONE = "no-one"  # the order was sent, and no answer arrived


class OrderAnswered(Observation, frozen=True, kw_only=True):
    order: str
    accepted: bool
    detail: str
    answered_by: AnsweredBy = AnsweredBy.DEVICE
    form: str = ""  # the name of the form on the page of the family; empty: the documented form


# Observations about a shoe, from any device.
ShoeObservation = CardSeen | ResultSeen | CutCardSeen | CommunicationStarted | ShoeLoaded | ShoeEmptySeen

AnyObservation = (
    LinkOpened
    | LinkClosed
    | WentQuiet
    | HeardAgain
    | DoubtRaised
    | DoubtEnded
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
    | ShoeEmptySeen
    | SetRecognitionSeen
    | ShuffleStarted
    | ShuffleEnded
    | SetDeliverySeen
    | OrderAnswered
)


def warning(seen: AnyObservation) -> str:
    """The log line of an observation; empty: there is none."""
    match seen:
        case Resumed(proven=False) | SequenceJumped():
            due = f"report {seen.expected} was expected" if seen.expected else "continuity is not proven"
            return f"reports may be missing before report {seen.frame.sequence}: {due}"
        case DoubtRaised(reason=reason, detail=detail):
            return f"{reason.value}: {detail}"
        case DoubtEnded(reason=reason):
            return f"{reason.value}: the doubt has ended"
        case _:
            return ""
