"""House rules that no rule document has: announced bets, rounds after the cut card, burn cards.

A breach of a house rule is a suspicion: a person confirms or denies it.
"""

from collections.abc import Iterator
from typing import NamedTuple

from shoed.model.cards import Rank
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.rules.irregular import Irregularity
from shoed.table.context import BY_FIRST_CARD, Custom
from shoed.table.matters import Matter, Status
from shoed.table.phase import Phase
from shoed.table.state import Shoe


class NextBreaches(NamedTuple):
    """The breaches of house rules if the next round began now with its first card."""

    next_round: tuple[Matter, ...]  # in this shoe
    new_shoe: tuple[Matter, ...]  # in the first round of a new shoe


def next_breaches(custom: Custom, shoe: Shoe, number: int) -> NextBreaches:
    """`number` is the number of the present round."""
    after = Shoe(shoe.number + 1, whole=shoe.missed is None)
    in_this_shoe = custom_breaches(custom, shoe, number + 1, Phase.IDLE)
    return NextBreaches(tuple(in_this_shoe), tuple(custom_breaches(custom, after, 1, Phase.IDLE)))


def custom_breaches(custom: Custom, shoe: Shoe, number: int, play: Phase) -> Iterator[Matter]:
    """The breaches of house rules at the first card of a round; `play` is the phase before that card."""
    if play is Phase.IDLE:  # the round was not announced
        yield from after_the_cut(custom, shoe, number)
    if play in (Phase.IDLE, Phase.BETTING) and custom.bets_close_by_command:
        yield suspicion(Kind.DEALING_ERROR, "the first card was drawn before the bets were closed", at=1)
    if play is not Phase.DEALING and number == 1 and (evidence := burnt_otherwise(custom, shoe)) is not None:
        yield suspicion(Kind.OTHER, evidence)


def suspicion(kind: Kind, evidence: str, at: int = 0) -> Matter:
    return Matter(Irregularity(kind, at, at), Status.SUSPECTED, evidence)


def after_the_cut(custom: Custom, shoe: Shoe, number: int) -> Iterator[Matter]:
    rounds = custom.rounds_after_cut
    if shoe.cut and rounds is not None and number > shoe.cut_in + rounds:
        evidence = f"the cut card left the shoe in round {shoe.cut_in}; rounds after it by the house rule: {rounds}"
        yield suspicion(Kind.OTHER, evidence)


def burnt_otherwise(custom: Custom, shoe: Shoe) -> str | None:
    """The evidence if the number of burn cards of this shoe breaks the house rule."""
    burn = custom.burn_cards
    if burn is None or not shoe.whole:
        return None
    burnt = f"the number of cards burnt at the start of this shoe is {shoe.burnt}"
    if burn == BY_FIRST_CARD:
        if shoe.first_card is None:
            return f"{burnt}, and the first card, which sets the number, was not read"
        burn = 1 + min(shoe.first_card.rank, Rank.TEN)
    return None if shoe.burnt == burn else f"{burnt}, and the house rule is {burn}"
