"""The messages of a Bee-Tek shoe, in the words of the protocol."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class BeeTekSuit(Enum):
    SPADES = "spades"
    HEARTS = "hearts"
    DIAMONDS = "diamonds"
    CLUBS = "clubs"


@dataclass(frozen=True, slots=True)
class BeeTekFace:
    """A card that the shoe has read."""

    rank: int  # 1 ace ... 11 jack, 12 queen, 13 king
    suit: BeeTekSuit


@dataclass(frozen=True, slots=True)
class BeeTekNoFace:
    """A card whose text names no card."""

    text: str


CardText: TypeAlias = BeeTekFace | BeeTekNoFace


class Alarms(Enum):
    NOT_READ = "not-read"


class Mode(Enum):
    """The mode of the shoe. Most lines begin with the mode."""

    GAME = "game"
    MANUAL_BURN = "manual-burn"


@dataclass(frozen=True, slots=True)
class GameCard:
    card: CardText


@dataclass(frozen=True, slots=True)
class BurnCard:
    """A card in the mode of manual burn cards."""

    card: CardText


@dataclass(frozen=True, slots=True)
class FailedRead:
    mode: Mode = Mode.GAME


@dataclass(frozen=True, slots=True)
class Alarm:
    text: str
    number: int | None  # the 3 of `E3`, if the text begins with such a code
    mode: Mode = Mode.GAME


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning: a line with a W code."""

    number: int


BeeTekReport: TypeAlias = GameCard | BurnCard | FailedRead | Alarm | Caution
