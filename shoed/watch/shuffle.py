"""Recognises from the cards alone a set that is not shuffled.

Theory of operation: an imaginary bettor believes that the set is not shuffled. The bettor stakes on every card: that
the card is a neighbour in suit of the card before it (eight of spades after seven or nine of spades), or that it has
the same suit. The odds are fair for a shuffled set: they follow from the cards that are left in the shoe. With fair
odds, the probability that the capital ever reaches R times its initial value is at most 1 in R. This holds for the
whole shoe and for all stakes together. docs/detection.md has the derivation.

The computation uses only +, -, * and /, which every machine rounds in the same way: replay gives the same finding.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from shoed.model.findings import NotShuffled
from shoed.model.moments import Now
from shoed.watch.counts import FACES

# 1e-6 for a shoe. A shoe may be seen in up to ten pieces, because the computation restarts at a gap in the record.
FALSE_ALARMS: Final = 1e-7

# The shares of neighbours or equal suits that the stakes believe in. One riffle keeps half of the neighbours, two keep
# a quarter, three an eighth. A riffled set has long runs of one suit.
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
    stakes: Stakes = BEGINNING  # the capital of each belief
    pairs: int = 0  # cards that directly followed another card
    neighbours: int = 0
    same_suit: int = 0
    reported: bool = msgspec.field(default=False, name="told")  # the key of checkpoints


def card(
    decks: int, state: Shuffle, faces: Sequence[int], pair: tuple[int, int], at: Now
) -> tuple[Shuffle, NotShuffled | None]:
    """Bet on a card that directly follows another. `pair` numbers both faces; `faces` counts the earlier cards."""
    if state.reported:
        return state, None
    before, this = pair
    stakes = bet(decks, state.stakes, faces, before, this)
    after = Shuffle(
        stakes,
        state.pairs + 1,
        state.neighbours + (this in BESIDE[before]),
        state.same_suit + (OF_SUIT[before] is OF_SUIT[this]),
        reported=capital(stakes) * FALSE_ALARMS >= 1,
    )
    if not after.reported:
        return after, None
    usual = after.pairs * usual_share(decks)
    evidence = (
        f"{after.neighbours} of {after.pairs} cards are neighbours in suit of the card before them, where shuffling"
        f" leaves {usual:.1f}, and {after.same_suit} are of its suit, where it leaves {after.pairs / 4:.0f}"
    )
    return after, NotShuffled(at=at, cards=sum(faces) + 1, evidence=evidence)


def capital(stakes: Stakes) -> float:
    few, many, suits = stakes  # sum() rounds differently since Python 3.12
    return few + many + suits


def usual_share(decks: int) -> float:
    """The share of neighbours in a shuffled set. Of 13 ranks, 12 have a next higher rank."""
    return 2 * (RANKS - 1) / RANKS * decks / (decks * len(FACES) - 1)


def bet(decks: int, stakes: Stakes, faces: Sequence[int], before: int, this: int) -> Stakes:
    """One round of bets. Each belief also receives its share of the initial capital, in equal parts per card."""
    whole = decks * len(FACES)
    left, share = whole - sum(faces), 1 / (whole * len(stakes))
    beside, suit = BESIDE[before], OF_SUIT[before]
    neighbours = decks * len(beside) - sum([faces[face] for face in beside])
    of_suit = decks * RANKS - sum(faces[suit])
    few, many, suits = stakes
    return (
        (few + share) * win(FEW, neighbours, left, incoming=this in beside),
        (many + share) * win(MANY, neighbours, left, incoming=this in beside),
        (suits + share) * win(SUITS, of_suit, left, incoming=OF_SUIT[this] is suit),
    )


def win(belief: float, good: int, left: int, *, incoming: bool) -> float:
    """Return the capital that one unit becomes. There is no bet on a certain or an impossible card."""
    if not 0 < good < left:
        return 1.0
    return belief * left / good if incoming else (1 - belief) * left / (left - good)
