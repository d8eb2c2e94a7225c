"""Cards: rank and suit, written as `8S`, `10H` or `AC`. The rule books hold the points of a card."""

from enum import Enum, IntEnum
from typing import Final, Self

from shoed.model.identity_enum import IdentityEnum
from shoed.settings import shown


class Suit(Enum):
    SPADES = "S"
    HEARTS = "H"
    DIAMONDS = "D"
    CLUBS = "C"


class Rank(IntEnum):
    ACE = 1
    TWO = 2
    THREE = 3
    FOUR = 4
    FIVE = 5
    SIX = 6
    SEVEN = 7
    EIGHT = 8
    NINE = 9
    TEN = 10
    JACK = 11
    QUEEN = 12
    KING = 13


RANK_TEXT: Final = dict(zip(Rank, ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"), strict=True))
RIGHT: Final = "write a rank (A 2-9 10 J Q K) and a suit (S H D C), as in 8S or 10H"
RANK_NAMED: Final = {text: rank for rank, text in RANK_TEXT.items()} | {"T": Rank.TEN}


class Card(IdentityEnum):
    """One of the 52 faces. The value is its written form, also in the journal."""

    SA, S2, S3, S4, S5, S6, S7 = "AS", "2S", "3S", "4S", "5S", "6S", "7S"
    S8, S9, S10, SJ, SQ, SK = "8S", "9S", "10S", "JS", "QS", "KS"
    HA, H2, H3, H4, H5, H6, H7 = "AH", "2H", "3H", "4H", "5H", "6H", "7H"
    H8, H9, H10, HJ, HQ, HK = "8H", "9H", "10H", "JH", "QH", "KH"
    DA, D2, D3, D4, D5, D6, D7 = "AD", "2D", "3D", "4D", "5D", "6D", "7D"
    D8, D9, D10, DJ, DQ, DK = "8D", "9D", "10D", "JD", "QD", "KD"
    CA, C2, C3, C4, C5, C6, C7 = "AC", "2C", "3C", "4C", "5C", "6C", "7C"
    C8, C9, C10, CJ, CQ, CK = "8C", "9C", "10C", "JC", "QC", "KC"

    def __init__(self, text: str) -> None:
        self.rank: Final = RANK_NAMED[text[:-1]]
        self.suit: Final = Suit(text[-1])

    @classmethod
    def of(cls, rank: Rank, suit: Suit) -> Self:
        return cls(RANK_TEXT[rank] + suit.value)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `8S`, `10H` or `TH`. The ValueError of any other text has the remedy."""
        rank = RANK_NAMED.get(text[:-1])
        if rank is None or text[-1] not in "SHDC":
            raise ValueError(f"{shown(text)} is not a card; {RIGHT}")
        return cls(RANK_TEXT[rank] + text[-1])

    def __str__(self) -> str:
        return self.value
