"""Insurance offers and their pays (I 3.11, 3.12, 4.1.2, 4.2.1). One game has insurance.

Theory of operation: the rows of the pay table are data. An offer is open at its stage if a row has the points of both
hands and a card is still due. After Player's third card only Banker can draw, and the points alone do not show whether
Banker draws. `money` decides which bettors may accept an offer, and up to which stake.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from shoed.model.irregularities import Stage
from shoed.rules.book import Offer, Pays, Rule, RuleBook, Winner
from shoed.rules.card_states import CardState, RoundEnd, card_states
from shoed.rules.drawing import FULL_HAND, INITIAL_CARDS, INITIAL_HAND, Hands

LOSE: Final = Pays("lose", None)
PUSH: Final = Pays("push", None)

CARDS_AT: Final[Mapping[Stage, int]] = {Stage.AFTER_FOUR: INITIAL_CARDS, Stage.AFTER_PLAYER_THIRD: INITIAL_CARDS + 1}

Offers = tuple[Offer, ...]


def offers(book: RuleBook, hands: Hands) -> Mapping[Stage, Offers | None]:
    """The offers of each stage; None before the stage, and for a stage that the round does not have."""
    state = card_states(book).of(hands)
    return {stage: offers_at(book, state, stage) for stage in Stage}


def waived(book: RuleBook, *, squeeze: bool) -> Mapping[Stage, str]:
    """The stages without insurance, each with the clause: a granted squeeze ends the offers after the third card."""
    ground = book.rules.get(Rule.SQUEEZE_WAIVES_INSURANCE) if squeeze else None
    return {} if ground is None else {Stage.AFTER_PLAYER_THIRD: ground.clause}


def offers_at(book: RuleBook, state: CardState, stage: Stage) -> Offers | None:
    state_then = at_stage(state, stage)
    if state_then is None:
        return None
    if state_then.due is None:  # I 3.12.1: no card can change the result
        return ()
    return tuple(
        row
        for row in book.offers
        if row.stage is stage and state_then.player_points in row.player and state_then.banker_points in row.banker
    )


def at_stage(state: CardState, stage: Stage) -> CardState | None:
    """The state of the cards at the stage; None if the round has not reached it."""
    match stage:
        case Stage.AFTER_FOUR:
            if len(state.player) + len(state.banker) < INITIAL_CARDS:
                return None
            return state.states.at(state.player[:INITIAL_HAND], state.banker[:INITIAL_HAND])
        case Stage.AFTER_PLAYER_THIRD:
            if len(state.player) < FULL_HAND:
                return None
            return state.states.at(state.player, state.banker[:INITIAL_HAND])
        case _:
            assert_never(stage)


def settle_offer(book: RuleBook, offer: Offer, hands: Hands) -> Pays | None:
    """The pay of an insurance bet on this offer; None while it is open."""
    return settle_at(offer, card_states(book).of(hands))


def settle_at(offer: Offer, state: CardState) -> Pays | None:
    possible = {pays_of(offer, result) for result in state.results}
    return possible.pop() if len(possible) == 1 else None


def pays_of(offer: Offer, result: RoundEnd) -> Pays:
    if result.winner is offer.pays_on:  # I 4.2.1: the row of nine pays on a tie
        return offer.odds
    if result.winner is Winner.TIE and offer.tie_returned:  # I 3.17
        return PUSH
    return LOSE
