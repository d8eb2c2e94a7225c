"""What an Angel Eye shoe says and is told, in its own words.

Values only: how they lie on the line is in `layout`.
"""

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

# 1 to 9, then 1 again. Other characters are taken as they come, but nothing is known to follow them.
FOLLOWING: Final = MappingProxyType(dict(zip("123456789", "234567891", strict=True)))


class Suit(Enum):
    DIAMONDS = "diamonds"
    CLUBS = "clubs"
    SPADES = "spades"
    HEARTS = "hearts"


@dataclass(frozen=True, slots=True)
class Face:
    """A card that the shoe has read."""

    suit: Suit
    rank: int  # 1 ace ... 11 jack, 12 queen, 13 king


@dataclass(frozen=True, slots=True)
class NoFace:
    """A card that the shoe has seen, under a code that names none: no suit, or a rank outside 1 to 13."""

    code: int  # the card byte without bit 7


CardCode: TypeAlias = Face | NoFace


class Target(Enum):
    """Where a card in the game goes."""

    PLAYER = "player"
    BANKER = "banker"
    BURN = "burn"
    FIRST_CARD = "first-card"
    BURN_COUNT = "burn-count"


@dataclass(frozen=True, slots=True)
class UnknownTarget:
    """A target that the page does not name."""

    code: int


class Situation(Enum):
    """What the shoe was in when a card left it outside the game."""

    LOCKED = "locked"
    ERROR = "error"
    SET_UP = "set-up"


@dataclass(frozen=True, slots=True)
class UnknownSituation:
    """A situation that the page does not name."""

    code: int


class Outcome(Enum):
    PLAYER = "player"
    TIE = "tie"
    BANKER = "banker"
    FORCED_END = "forced-end"


class Fault(Enum):
    CANNOT_READ = "cannot-read"
    OVERDRAW = "overdraw"
    BUTTON = "button"
    REVERSE_AT_EXIT = "reverse-at-exit"
    REVERSE_MIDWAY = "reverse-midway"
    CARD_CODE = "card-code"
    DRAW_TIMED_OUT = "draw-timed-out"


class Refusal(Enum):
    LINE = "line"
    BCC = "bcc"
    NO_ETX = "no-etx"
    FORMAT = "format"
    ADDRESS = "address"
    COMMAND = "command"
    TYPE = "type"
    BUSY = "busy"
    WRITING = "writing"
    OTHER = "other"


class FormName(Enum):
    """The forms in which the shoe says the same things, by the drivers that read them."""

    DOCUMENTED = ""
    BIT_7_CLEAR = "bit 7 clear"
    ONE_BYTE = "NAK and one byte"
    STX = "STX and text"


class OrderType(Enum):
    LOCK = "LK"
    ERROR_CLEAR = "EC"
    PROCESS = "GP"


@dataclass(frozen=True, slots=True)
class StartOfCommunication:
    sequence: str


@dataclass(frozen=True, slots=True)
class StandBy:
    sequence: str


@dataclass(frozen=True, slots=True)
class CuttingCard:
    sequence: str


@dataclass(frozen=True, slots=True)
class CardInGame:
    sequence: str
    target: Target | UnknownTarget
    index: int  # as the shoe says it, 0 to 15; in a hand 1 to 3 make sense
    card: CardCode


@dataclass(frozen=True, slots=True)
class CardOutside:
    sequence: str
    situation: Situation | UnknownSituation
    card: CardCode


@dataclass(frozen=True, slots=True)
class OverdrawCard:
    """The card of an overdraw, told after its error is cleared."""

    sequence: str
    target: Target | UnknownTarget
    index: int
    card: CardCode


@dataclass(frozen=True, slots=True)
class Result:
    sequence: str
    outcome: Outcome
    player_pair: bool
    banker_pair: bool


@dataclass(frozen=True, slots=True)
class ErrorRaised:
    """A fault; a code that the page does not name is still a fault, and keeps its number."""

    sequence: str
    in_error_mode: bool
    code: int


@dataclass(frozen=True, slots=True)
class ErrorCleared:
    sequence: str
    code: int


@dataclass(frozen=True, slots=True)
class KeyLock:
    sequence: str
    locked: bool


@dataclass(frozen=True, slots=True)
class PresetChanged:
    sequence: str
    address: str
    value: str


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """The shoe has taken an order."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The shoe has not taken an order."""

    code: Refusal


@dataclass(frozen=True, slots=True)
class Reply:
    """Text of the shoe in a frame of its own: it says neither yes nor no to an order."""

    text: str


@dataclass(frozen=True, slots=True)
class Order:
    type: OrderType
    number: int


LOCK: Final = Order(OrderType.LOCK, 2)
UNLOCK: Final = Order(OrderType.LOCK, 1)
CLEAR_ERROR: Final = Order(OrderType.ERROR_CLEAR, 0)
USE_OVERDRAWN: Final = Order(OrderType.ERROR_CLEAR, 1)
DISCARD_OVERDRAWN: Final = Order(OrderType.ERROR_CLEAR, 2)
CONFIRM_PROCESS: Final = Order(OrderType.PROCESS, 0)

Report: TypeAlias = (
    StartOfCommunication
    | StandBy
    | CuttingCard
    | CardInGame
    | CardOutside
    | OverdrawCard
    | Result
    | ErrorRaised
    | ErrorCleared
    | KeyLock
    | PresetChanged
)
FromShoe: TypeAlias = Report | Acknowledge | Refuse | Reply
Message: TypeAlias = FromShoe | Order
