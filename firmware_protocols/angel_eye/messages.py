"""The messages of an Angel Eye shoe and of its host, in the words of the protocol.

Only values: `layout` declares their bytes.
"""

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

# 1 to 9, then 1 again. Other characters are accepted, but their successor is unknown.
FOLLOWING: Final = MappingProxyType(dict(zip("123456789", "234567891", strict=True)))


class AngelEyeSuit(Enum):
    DIAMONDS = "diamonds"
    CLUBS = "clubs"
    SPADES = "spades"
    HEARTS = "hearts"


@dataclass(frozen=True, slots=True)
class AngelEyeFace:
    """A card that the shoe has read."""

    suit: AngelEyeSuit
    rank: int  # 1 ace ... 11 jack, 12 queen, 13 king


@dataclass(frozen=True, slots=True)
class AngelEyeNoFace:
    """A card whose code names no card: suit 0 or an unknown suit, or a rank outside 1 to 13."""

    code: int  # the card byte without bit 7


CardCode: TypeAlias = AngelEyeFace | AngelEyeNoFace


class Target(Enum):
    """The place of a card in the game."""

    PLAYER = "player"
    BANKER = "banker"
    BURN = "burn"
    FIRST_CARD = "first-card"
    BURN_COUNT = "burn-count"


@dataclass(frozen=True, slots=True)
class UnknownTarget:
    """A target that the protocol page does not name."""

    code: int


class AngelEyeSituation(Enum):
    """The state of the shoe when a card left it outside the game."""

    LOCKED = "locked"
    ERROR = "error"
    SET_UP = "set-up"


@dataclass(frozen=True, slots=True)
class UnknownSituation:
    """A situation that the protocol page does not name."""

    code: int


class AngelEyeOutcome(Enum):
    PLAYER = "player"
    TIE = "tie"
    BANKER = "banker"
    FORCED_END = "forced-end"


class AngelEyeFault(Enum):
    CANNOT_READ = "cannot-read"
    OVERDRAW = "overdraw"
    BUTTON = "button"
    REVERSE_AT_EXIT = "reverse-at-exit"
    REVERSE_MIDWAY = "reverse-midway"
    CARD_CODE = "card-code"
    DRAW_TIMED_OUT = "draw-timed-out"


class AngelEyeRefusal(Enum):
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
    """The forms of the same messages on the line. Some host programs read only one of them."""

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
class AngelEyeCutCard:
    sequence: str


@dataclass(frozen=True, slots=True)
class CardInGame:
    sequence: str
    target: Target | UnknownTarget
    index: int  # as the shoe reports it, 0 to 15; valid in a hand are 1 to 3
    card: CardCode


@dataclass(frozen=True, slots=True)
class CardOutside:
    sequence: str
    situation: AngelEyeSituation | UnknownSituation
    card: CardCode


@dataclass(frozen=True, slots=True)
class OverdrawCard:
    """The card of an overdraw. The shoe reports this card after the error is cleared."""

    sequence: str
    target: Target | UnknownTarget
    index: int
    card: CardCode


@dataclass(frozen=True, slots=True)
class AngelEyeResult:
    sequence: str
    outcome: AngelEyeOutcome
    player_pair: bool
    banker_pair: bool


@dataclass(frozen=True, slots=True)
class ErrorRaised:
    """A fault. A code that the protocol page does not name is also a fault, and keeps its number."""

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
class AngelEyePresetChanged:
    sequence: str
    address: str
    value: str


@dataclass(frozen=True, slots=True)
class AngelEyeAcknowledge:
    """The shoe has accepted an order."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The shoe has refused an order."""

    code: AngelEyeRefusal


@dataclass(frozen=True, slots=True)
class Reply:
    """Text of the shoe in a separate frame. Text neither accepts nor refuses an order."""

    text: str


@dataclass(frozen=True, slots=True)
class AngelEyeOrder:
    type: OrderType
    number: int


LOCK: Final = AngelEyeOrder(OrderType.LOCK, 2)
UNLOCK: Final = AngelEyeOrder(OrderType.LOCK, 1)
CLEAR_ERROR: Final = AngelEyeOrder(OrderType.ERROR_CLEAR, 0)
USE_OVERDRAWN: Final = AngelEyeOrder(OrderType.ERROR_CLEAR, 1)
DISCARD_OVERDRAWN: Final = AngelEyeOrder(OrderType.ERROR_CLEAR, 2)
CONFIRM_PROCESS: Final = AngelEyeOrder(OrderType.PROCESS, 0)

AngelEyeReport: TypeAlias = (
    StartOfCommunication
    | StandBy
    | AngelEyeCutCard
    | CardInGame
    | CardOutside
    | OverdrawCard
    | AngelEyeResult
    | ErrorRaised
    | ErrorCleared
    | KeyLock
    | AngelEyePresetChanged
)
FromShoe: TypeAlias = AngelEyeReport | AngelEyeAcknowledge | Refuse | Reply
AngelEyeMessage: TypeAlias = FromShoe | AngelEyeOrder
