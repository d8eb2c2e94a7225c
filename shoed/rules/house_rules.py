"""The settings that the documents leave to the house or to a table's notice: limits, rounding, and house rules.

They are read from the configuration, and from the input of `shoed rules table`.
"""

from enum import Enum
from fractions import Fraction
from typing import Annotated, assert_never

import msgspec

Amount = Annotated[int, msgspec.Meta(ge=0)]


class DifferentialReading(Enum):
    """The bets that the differential limits."""

    SIDE = "side"  # all Banker bets against all Player bets
    BOX = "box"  # each box of Player or Banker by itself


class TableLimits(msgspec.Struct, frozen=True):
    minimum: Amount = 0
    maximum: Amount | None = None
    minimums: dict[str, Amount] = {}  # by kind of bet, where it differs from `minimum`
    differential: Amount | None = None
    reading: DifferentialReading = DifferentialReading.SIDE

    def minimum_of(self, bet: str) -> int:
        return self.minimums.get(bet, self.minimum)


class Rounding(Enum):
    """The rounding of winnings and losses to whole units, applied to the magnitude."""

    DOWN = "down"
    HALF_UP = "half-up"

    def whole(self, magnitude: Fraction) -> int:
        match self:
            case Rounding.DOWN:
                return magnitude.numerator // magnitude.denominator
            case Rounding.HALF_UP:
                return (2 * magnitude.numerator + magnitude.denominator) // (2 * magnitude.denominator)
            case _:
                assert_never(self)


class ForgoneFor(Enum):
    """The time for which a bettor who does not accept an offer forgoes insurance."""

    ROUND = "round"  # I 5.3
    STAGE = "stage"  # a milder rule of the house


class OutcomeBasis(Enum):
    """The bets that establish an outcome (C 5.4.1)."""

    OFFERED = "offered"  # all bets of the game
    PLACED = "placed"  # the bets on the layout
