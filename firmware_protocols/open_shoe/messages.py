"""The messages of Open Shoe, in the words of PROTOCOL.md.

This module has values only: `layout` declares their bytes.
"""

from dataclasses import dataclass, field
from enum import Enum, Flag
from typing import Final, TypeAlias

from firmware_protocols.family import Malformed

FIRST: Final = 1
LAST: Final = 0xFFFF  # the number after it is FIRST: 0 is never the number of a report


def following(sequence: int) -> int:
    return sequence + 1 if sequence < LAST else FIRST


class OpenShoeSuit(Enum):
    SPADES = "spades"
    HEARTS = "hearts"
    DIAMONDS = "diamonds"
    CLUBS = "clubs"


@dataclass(frozen=True, slots=True)
class OpenShoeFace:
    suit: OpenShoeSuit
    rank: int  # 1 ace ... 11 jack, 12 queen, 13 king


class OpenShoePlace(Enum):
    """Where a card went, or in which state of the device it was drawn."""

    DEALT = "dealt"
    PLAYER = "player"
    BANKER = "banker"
    BURNT = "burnt"
    LOCKED = "locked"
    ERROR = "error"


class OpenShoePassage(Flag):
    """What was unusual about the passage of a card through the shoe."""

    CLEAN = 0
    DOUBLE = 1
    FOREIGN = 2


class OpenShoeRole(Enum):
    SHOE = "shoe"
    SHUFFLER = "shuffler"


class OpenShoeResult(Enum):
    """The result of an order."""

    DONE = "done"
    NOT_NOW = "not-now"
    UNABLE = "unable"
    FAILED = "failed"


class OrderKind(Enum):
    LOCK = "lock"
    UNLOCK = "unlock"
    CLEAR = "clear"


class OpenShoeFault(Enum):
    UNREADABLE = "unreadable"
    JAM = "jam"
    REVERSE_RUN = "reverse-run"
    LID_OPEN = "lid-open"
    DOOR_OPEN = "door-open"
    SENSOR = "sensor"
    OVERDRAW = "overdraw"
    MEMORY_FULL = "memory-full"


class ShuffleFailure(Enum):
    """The reason why a set is not shuffled."""

    OTHER = "other"
    WRONG_COUNT = "wrong-count"
    UNREADABLE = "unreadable"
    JAM = "jam"
    DOOR_OPEN = "door-open"
    STOPPED = "stopped"


class OpenShoeCapability(Flag):
    """An ability of a device."""

    NONE = 0
    PASSAGE = 1
    HANDS = 2
    LOCK = 4
    CLEAR = 8
    MEMORY = 16
    QUALITY = 32
    ORDER = 64


@dataclass(frozen=True, slots=True)
class OpenShoeCard:
    """A card left the shoe. Its leading edge passed at the clock of the report."""

    card: OpenShoeFace | None  # None: it was not read
    place: OpenShoePlace
    position: int
    passage_us: int  # trailing minus leading edge; 0: not measured
    odd: OpenShoePassage = OpenShoePassage.CLEAN
    quality: int | None = None  # percent
    code: int = 0  # the code on a card without a face; 0: no code


@dataclass(frozen=True, slots=True)
class OpenShoeCutCard:
    pass


@dataclass(frozen=True, slots=True)
class Loaded:
    """A new set was inserted into the shoe."""

    set_id: str


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Lock:
    locked: bool


@dataclass(frozen=True, slots=True)
class FaultChanged:
    """A fault began or ended. A code that the page does not name is still a fault, and keeps its number."""

    code: int
    raised: bool
    blocking: bool


@dataclass(frozen=True, slots=True)
class Recognised:
    set_id: str


@dataclass(frozen=True, slots=True)
class Shuffling:
    set_id: str = ""  # in version 3


@dataclass(frozen=True, slots=True)
class Shuffled:
    set_id: str = ""  # in version 3


@dataclass(frozen=True, slots=True)
class OpenShoeFailed:
    reason: int  # a number that the page does not name is still a failure
    set_id: str = ""  # in version 3


@dataclass(frozen=True, slots=True)
class Inventory:
    """The cards of a set as a shuffler counted them."""

    set_id: str
    counts: tuple[int, ...]  # of the 52 faces, in the order of `layout.FACES`
    unread: int


@dataclass(frozen=True, slots=True)
class Delivered:
    set_id: str


@dataclass(frozen=True, slots=True)
class CardOrder:
    """A part of the order of the cards in a delivered set. The first card is dealt first."""

    set_id: str
    first: int  # the place of the first of these cards, from 1
    cards: tuple[OpenShoeFace | None, ...]


@dataclass(frozen=True, slots=True)
class OpenShoeStandingFault:
    """An active fault."""

    code: int
    blocking: bool


@dataclass(frozen=True, slots=True)
class OpenShoeStatus:
    """The whole state of a device."""

    locked: bool | None  # None: it has no lock
    set_id: str
    faults: tuple[OpenShoeStandingFault, ...]


@dataclass(frozen=True, slots=True)
class OfVendor:
    """A message of a type that the page leaves to the makers of devices."""

    type: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A report with a right CRC that its version does not declare. The report may have contained a card."""

    type: int
    payload: bytes
    why: Malformed


@dataclass(frozen=True, slots=True)
class Hello:
    """Identifies the device and the reports that it keeps."""

    stream: int
    role: OpenShoeRole
    next: int  # the number of the next new report
    oldest: int  # the oldest report that is not acknowledged; `next`, if all are acknowledged
    vendor: str
    model: str
    serial: str
    firmware: str
    boot: int = 0  # this field and the fields below: in version 3
    clock_us: int = 0  # at the moment of sending
    drift_ppm: int | None = None
    capabilities: OpenShoeCapability = OpenShoeCapability.NONE


@dataclass(frozen=True, slots=True)
class Alive:
    stream: int
    next: int
    boot: int = 0  # in version 3
    clock_us: int = 0  # at the moment of sending, in version 3


@dataclass(frozen=True, slots=True)
class Done:
    order: OrderKind | int  # a number: an order that the page does not define
    number: int
    result: OpenShoeResult


@dataclass(frozen=True, slots=True)
class Response:
    """The answer of a device to a challenge."""

    nonce: bytes
    proof: bytes


@dataclass(frozen=True, slots=True)
class Unkeyed:
    """The device has no session: the host must send CHALLENGE."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A message of a device that only the key opens."""

    counter: int
    content: bytes


@dataclass(frozen=True, slots=True)
class HostSealed:
    """A message of a host that only the key opens."""

    counter: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Identify:
    pass


@dataclass(frozen=True, slots=True)
class Inquire:
    pass


@dataclass(frozen=True, slots=True)
class Challenge:
    nonce: bytes


@dataclass(frozen=True, slots=True)
class OpenShoeAcknowledge:
    """All reports of the stream, up to this one, are on the disk."""

    stream: int
    upto: int


@dataclass(frozen=True, slots=True)
class Resend:
    stream: int
    start: int


@dataclass(frozen=True, slots=True)
class OpenShoeOrder:
    order: OrderKind
    number: int = 0  # the fault to clear; 0 with the others


ReportBody: TypeAlias = (
    OpenShoeCard
    | OpenShoeCutCard
    | Loaded
    | Empty
    | Lock
    | FaultChanged
    | Recognised
    | Shuffling
    | Shuffled
    | OpenShoeFailed
    | Inventory
    | Delivered
    | CardOrder
    | OpenShoeStatus
    | OfVendor
)
Noticed: TypeAlias = Hello | Alive | Done | Response | Unkeyed | Sealed | OfVendor
Requested: TypeAlias = Identify | OpenShoeAcknowledge | Resend | OpenShoeOrder | Inquire | Challenge | HostSealed


@dataclass(frozen=True, slots=True)
class OpenShoeReport:
    """A numbered message of a device. The device keeps the message until the acknowledgement."""

    version: int
    sequence: int
    stream: int
    clock_us: int
    body: ReportBody | Unreadable
    boot: int = 0  # in version 3
    check: int = field(default=0, compare=False)  # the CRC of its frame; 0 if it was not read from a frame


@dataclass(frozen=True, slots=True)
class OpenShoeNotice:
    """A message of a device without a number. The device does not keep this message."""

    version: int
    body: Noticed


@dataclass(frozen=True, slots=True)
class OpenShoeRequest:
    """A message of a host."""

    version: int
    body: Requested


FromDevice: TypeAlias = OpenShoeReport | OpenShoeNotice
OpenShoeMessage: TypeAlias = FromDevice | OpenShoeRequest
