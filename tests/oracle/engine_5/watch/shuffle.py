"""A set that is not shuffled, recognised from the cards themselves.

Theory of operation: a bettor who believes that the set is not shuffled stakes, card after card, that the next
one is the neighbour in suit of the one before it (eight of spades after seven or nine), or of its suit. The
odds are those that are fair if the set is shuffled: they follow from what is left of it. Fair odds make
nobody rich: that the capital ever reaches R times what it began with has a chance of at most 1 in R, at any
moment of a shoe and over all stakes together. docs/detection.md has the derivation.

Only +, -, * and / touch the figures, which every machine rounds alike: replay arrives at the same finding.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from tests.oracle.engine_5.findings import NotShuffled
from tests.oracle.engine_5.now import Now
from tests.oracle.engine_5.watch.counts import FACES

# 1e-6 for a shoe, and a shoe may be seen in up to ten pieces: a gap in the record begins anew.
FALSE_ALARMS: Final = 1e-7

# The shares that the stakes believe in. A riffle leaves half of the neighbours where they are, two a quarter, three an
# eighth; of a suit a riffled set has runs that are longer than its own share.
FEW: Final = 0.125
MANY: Final = 0.5
SUITS: Final = 0.75
Stakes: TypeAlias = tuple[float, float, float]
BEGINNING: Final[Stakes] = (0.0, 0.0, 0.0)

RANKS: Final = 13
BESIDE: Final = tuple(
    tuple(other for other in (number - 1, number + 1) if other // RANKS == number // RANKS)
    for number in range(len(FACES))
)
SUIT: Final = [slice(first, first + RANKS) for first in range(0, len(FACES), RANKS)]
OF_SUIT: Final = tuple(SUIT[number // RANKS] for number in range(len(FACES)))


class Shuffle(msgspec.Struct, frozen=True, omit_defaults=True):
    stakes: Stakes = BEGINNING  # what each belief has won
    pairs: int = 0  # cards that came right behind another
    neighbours: int = 0
    same_suit: int = 0
    told: bool = False


def card(
    decks: int, state: Shuffle, faces: Sequence[int], pair: tuple[int, int], at: Now
) -> tuple[Shuffle, NotShuffled | None]:
    """A card right behind another, by their faces' numbers; `faces` counts what came before this one."""
    if state.told:
        return state, None
    before, this = pair
    stakes = bet(decks, state.stakes, faces, before, this)
    after = Shuffle(
        stakes,
        state.pairs + 1,
        state.neighbours + (this in BESIDE[before]),
        state.same_suit + (OF_SUIT[before] is OF_SUIT[this]),
        told=capital(stakes) * FALSE_ALARMS >= 1,
    )
    if not after.told:
        return after, None
    usual = after.pairs * usual_share(decks)
    evidence = (
        f"{after.neighbours} of {after.pairs} cards are neighbours in suit of the card before them, where shuffling"
        f" leaves {usual:.1f}, and {after.same_suit} are of its suit, where it leaves {after.pairs / 4:.0f}"
    )
    return after, NotShuffled(at=at, cards=sum(faces) + 1, evidence=evidence)


def capital(stakes: Stakes) -> float:
    few, many, suits = stakes  # sum() rounds otherwise from Python 3.12 on
    return few + many + suits


def usual_share(decks: int) -> float:
    """How often a card of a shuffled set is the neighbour of the one before it: 12 ranks in 13 have the one above."""
    return 2 * (RANKS - 1) / RANKS * decks / (decks * len(FACES) - 1)


def bet(decks: int, stakes: Stakes, faces: Sequence[int], before: int, this: int) -> Stakes:
    """One round of bets. Each belief gets its share of the capital in equal parts, one with each card of a set."""
    whole = decks * len(FACES)
    left, share = whole - sum(faces), 1 / (whole * len(stakes))
    beside, suit = BESIDE[before], OF_SUIT[before]
    neighbours = decks * len(beside) - sum([faces[face] for face in beside])
    of_suit = decks * RANKS - sum(faces[suit])
    few, many, suits = stakes
    return (
        (few + share) * win(FEW, neighbours, left, came=this in beside),
        (many + share) * win(MANY, neighbours, left, came=this in beside),
        (suits + share) * win(SUITS, of_suit, left, came=OF_SUIT[this] is suit),
    )


def win(belief: float, good: int, left: int, *, came: bool) -> float:
    """What one unit becomes. On what is certain nobody bets, nor on what cannot come out of so many decks."""
    if not 0 < good < left:
        return 1.0
    return belief * left / good if came else (1 - belief) * left / (left - good)
