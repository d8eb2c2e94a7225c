"""What the documents leave to the house, or to a table's own notice; a configuration and a line of an audit say it."""

from enum import Enum
from fractions import Fraction
from typing import Annotated, assert_never

import msgspec

Amount = Annotated[int, msgspec.Meta(ge=0)]


class Reading(Enum):
    """What the differential binds."""

    SIDE = "side"
    BOX = "box"


class Limits(msgspec.Struct, frozen=True):
    minimum: Amount = 0
    maximum: Amount | None = None
    minimums: dict[str, Amount] = {}  # by kind of bet, where it is not the minimum
    differential: Amount | None = None
    reading: Reading = Reading.SIDE

    def minimum_of(self, bet: str) -> int:
        return self.minimums.get(bet, self.minimum)


class Rounding(Enum):
    """Of winnings and losses that do not come out whole, on the magnitude."""

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


class Forgone(Enum):
    """For how long insurance is forgone by letting an offer pass."""

    ROUND = "round"  # I 5.3
    STAGE = "stage"  # a house's milder rule


class Basis(Enum):
    """The bets that an outcome is established by (C 5.4.1)."""

    OFFERED = "offered"
    PLACED = "placed"
