"""House rules that no document has: announced bets, rounds after the cut card, burn cards. A breach is asked about."""

from collections.abc import Iterator
from typing import NamedTuple

from shoed.cards import Rank
from shoed.rules.irregular import Happened
from shoed.table.context import BY_FIRST_CARD, Custom
from shoed.table.matters import Matter, Status
from shoed.table.phase import Phase
from shoed.table.state import Shoe
from shoed.words import Event as Kind


class Against(NamedTuple):
    """What the next round would begin with if its first card were there now."""

    next_round: tuple[Matter, ...]
    new_shoe: tuple[Matter, ...]  # the same, in the first round of a new shoe


def next_against(custom: Custom, shoe: Shoe, number: int) -> Against:
    """`number`: of the present round."""
    after = Shoe(shoe.number + 1, whole=shoe.missed is None)
    in_this_shoe = against_custom(custom, shoe, number + 1, Phase.IDLE)
    return Against(tuple(in_this_shoe), tuple(against_custom(custom, after, 1, Phase.IDLE)))


def against_custom(custom: Custom, shoe: Shoe, number: int, play: Phase) -> Iterator[Matter]:
    """What this house asks for and has not been done; asked at the first card of a round whose phase was `play`."""
    if play is Phase.IDLE:  # the round was not announced
        yield from after_the_cut(custom, shoe, number)
    if play in (Phase.IDLE, Phase.BETTING) and custom.bets_close_by_command:
        yield suspicion(Kind.DEALING_ERROR, "the first card came before the bets were closed", at=1)
    if play is not Phase.DEALING and number == 1 and (evidence := burnt_otherwise(custom, shoe)) is not None:
        yield suspicion(Kind.OTHER, evidence)


def suspicion(kind: Kind, evidence: str, at: int = 0) -> Matter:
    return Matter(Happened(kind, at, at), Status.SUSPECTED, evidence)


def after_the_cut(custom: Custom, shoe: Shoe, number: int) -> Iterator[Matter]:
    rounds = custom.rounds_after_cut
    if shoe.cut and rounds is not None and number > shoe.cut_in + rounds:
        evidence = f"the cutting card came in round {shoe.cut_in}, and {rounds} are dealt after it"
        yield suspicion(Kind.OTHER, evidence)


def burnt_otherwise(custom: Custom, shoe: Shoe) -> str | None:
    """How the cards burnt at the start of this shoe differ from what the house asks for."""
    burn = custom.burn_cards
    if burn is None or not shoe.whole:
        return None
    burnt = f"{shoe.burnt} cards were burnt at the start of this shoe"
    if burn == BY_FIRST_CARD:
        if shoe.first_card is None:
            return f"{burnt}, and no first card was read that says how many should have been"
        burn = 1 + min(shoe.first_card.rank, Rank.TEN)
    return None if shoe.burnt == burn else f"{burnt}, and {burn} should have been"
