"""What an Open Shoe device says and is told, in its own words.

Values only: how they lie on the line is in `layout`.
"""

from dataclasses import dataclass, field
from enum import Enum, Flag
from typing import Final, TypeAlias

from firmware_protocols.family import Malformed

FIRST: Final = 1
LAST: Final = 0xFFFF  # after it comes FIRST again: 0 is never a report's number


def following(sequence: int) -> int:
    return sequence + 1 if sequence < LAST else FIRST


class Suit(Enum):
    SPADES = "spades"
    HEARTS = "hearts"
    DIAMONDS = "diamonds"
    CLUBS = "clubs"


@dataclass(frozen=True, slots=True)
class Face:
    suit: Suit
    rank: int  # 1 ace ... 11 jack, 12 queen, 13 king


class Place(Enum):
    """Where a card went."""

    DEALT = "dealt"
    PLAYER = "player"
    BANKER = "banker"
    BURNT = "burnt"
    LOCKED = "locked"
    ERROR = "error"


class Passage(Flag):
    """What was odd about a card's way through the shoe."""

    CLEAN = 0
    DOUBLE = 1
    FOREIGN = 2


class Role(Enum):
    SHOE = "shoe"
    SHUFFLER = "shuffler"


class Result(Enum):
    """What became of an order."""

    DONE = "done"
    NOT_NOW = "not-now"
    UNABLE = "unable"
    FAILED = "failed"


class OrderKind(Enum):
    LOCK = "lock"
    UNLOCK = "unlock"
    CLEAR = "clear"


class Fault(Enum):
    UNREADABLE = "unreadable"
    JAM = "jam"
    REVERSE_RUN = "reverse-run"
    LID_OPEN = "lid-open"
    DOOR_OPEN = "door-open"
    SENSOR = "sensor"
    OVERDRAW = "overdraw"
    MEMORY_FULL = "memory-full"


class Failure(Enum):
    """Why a set was not shuffled."""

    OTHER = "other"
    WRONG_COUNT = "wrong-count"
    UNREADABLE = "unreadable"
    JAM = "jam"
    DOOR_OPEN = "door-open"
    STOPPED = "stopped"


class Capability(Flag):
    """What a device can do."""

    NONE = 0
    PASSAGE = 1
    HANDS = 2
    LOCK = 4
    CLEAR = 8
    MEMORY = 16
    QUALITY = 32
    ORDER = 64


@dataclass(frozen=True, slots=True)
class Card:
    """A card left the shoe. Its leading edge passed at the report's clock."""

    card: Face | None  # None: it was not read
    place: Place
    position: int
    passage_us: int  # trailing minus leading edge; 0: not measured
    odd: Passage = Passage.CLEAN
    quality: int | None = None  # percent
    code: int = 0  # what a card without a face carried; 0: nothing


@dataclass(frozen=True, slots=True)
class CuttingCard:
    pass


@dataclass(frozen=True, slots=True)
class Loaded:
    """A new set was put into the shoe."""

    set_id: str


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Lock:
    locked: bool


@dataclass(frozen=True, slots=True)
class FaultChanged:
    """A fault came or went; a code that the page does not name is still a fault, and keeps its number."""

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
class Failed:
    reason: int  # a number that the page does not name is a failure all the same
    set_id: str = ""  # in version 3


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a shuffler counted in a set."""

    set_id: str
    counts: tuple[int, ...]  # of the 52 faces, in the order of `layout.FACES`
    unread: int


@dataclass(frozen=True, slots=True)
class Delivered:
    set_id: str


@dataclass(frozen=True, slots=True)
class CardOrder:
    """A part of the order in which a delivered set lies, the first to be dealt before the others."""

    set_id: str
    first: int  # place of the first of these cards, from 1
    cards: tuple[Face | None, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """A fault that stands."""

    code: int
    blocking: bool


@dataclass(frozen=True, slots=True)
class Status:
    """The whole state of a device."""

    locked: bool | None  # None: it has no lock
    set_id: str
    faults: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class OfVendor:
    """A message of a type that is left to the makers of devices."""

    type: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A report whose check is right, and which its version does not declare: a card may have been in it."""

    type: int
    payload: bytes
    why: Malformed


@dataclass(frozen=True, slots=True)
class Hello:
    """Who the device is, and which reports it holds."""

    stream: int
    role: Role
    next: int  # the number that the next new report will carry
    oldest: int  # of those that are not acknowledged; `next`, if all are
    vendor: str
    model: str
    serial: str
    firmware: str
    boot: int = 0  # this and the following: in version 3
    clock_us: int = 0  # at this moment
    drift_ppm: int | None = None
    capabilities: Capability = Capability.NONE


@dataclass(frozen=True, slots=True)
class Alive:
    stream: int
    next: int
    boot: int = 0  # in version 3
    clock_us: int = 0  # at this moment, in version 3


@dataclass(frozen=True, slots=True)
class Done:
    order: OrderKind | int  # a number: an order that the page does not have
    number: int
    result: Result


@dataclass(frozen=True, slots=True)
class Response:
    """The answer of a device to a challenge."""

    nonce: bytes
    proof: bytes


@dataclass(frozen=True, slots=True)
class Unkeyed:
    """No session stands: a challenge is due."""


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
class Acknowledge:
    """All reports of the stream, up to this one, are on the disk."""

    stream: int
    upto: int


@dataclass(frozen=True, slots=True)
class Resend:
    stream: int
    start: int


@dataclass(frozen=True, slots=True)
class Order:
    order: OrderKind
    number: int = 0  # the fault to clear; 0 with the others


Reported: TypeAlias = (
    Card
    | CuttingCard
    | Loaded
    | Empty
    | Lock
    | FaultChanged
    | Recognised
    | Shuffling
    | Shuffled
    | Failed
    | Inventory
    | Delivered
    | CardOrder
    | Status
    | OfVendor
)
Noticed: TypeAlias = Hello | Alive | Done | Response | Unkeyed | Sealed | OfVendor
Requested: TypeAlias = Identify | Acknowledge | Resend | Order | Inquire | Challenge | HostSealed


@dataclass(frozen=True, slots=True)
class Report:
    """A numbered message of a device, which it keeps until it is acknowledged."""

    version: int
    sequence: int
    stream: int
    clock_us: int
    said: Reported | Unreadable
    boot: int = 0  # in version 3
    check: int = field(default=0, compare=False)  # the CRC of its frame; 0 where it was not read from one


@dataclass(frozen=True, slots=True)
class Notice:
    """What a device says without a number, and does not keep."""

    version: int
    said: Noticed


@dataclass(frozen=True, slots=True)
class Request:
    """What a host says."""

    version: int
    said: Requested


FromDevice: TypeAlias = Report | Notice
Message: TypeAlias = FromDevice | Request
