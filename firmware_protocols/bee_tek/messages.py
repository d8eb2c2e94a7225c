"""What a Bee-Tek shoe says, in its own words."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Suit(Enum):
    SPADES = "spades"
    HEARTS = "hearts"
    DIAMONDS = "diamonds"
    CLUBS = "clubs"


@dataclass(frozen=True, slots=True)
class Face:
    """A card that the shoe has read."""

    rank: int  # 1 ace ... 11 jack, 12 queen, 13 king
    suit: Suit


@dataclass(frozen=True, slots=True)
class NoFace:
    """A card that the shoe has told, in words that name none."""

    text: str


CardText: TypeAlias = Face | NoFace


class Alarms(Enum):
    NOT_READ = "not-read"


class Mode(Enum):
    """The shoe's mode, which begins most lines."""

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
    number: int | None  # the 3 of `E3`, where the text begins so
    mode: Mode = Mode.GAME


@dataclass(frozen=True, slots=True)
class Caution:
    """What the shoe marks with a W: a warning."""

    number: int


Report: TypeAlias = GameCard | BurnCard | FailedRead | Alarm | Caution
