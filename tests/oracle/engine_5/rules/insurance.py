"""Insurance, which one of the games has (I 3.11, 3.12, 4.1.2, 4.2.1): what is offered, and what it pays.

Theory of operation: the rows of the pay table are data. An offer is open at its stage where a row
names both totals and the insured hand's fate is open, that is while a card is still due: after
Player's third card only Banker can be due one, and the totals alone do not say whether it is.
Who may take an offer, and for how much, is told in bets.py.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from tests.oracle.engine_5.rules.book import Offer, Pays, Rule, RuleBook, Winner
from tests.oracle.engine_5.rules.drawing import FULL_HAND, INITIAL_CARDS, INITIAL_HAND, Hands
from tests.oracle.engine_5.rules.standing import Result, Standing, board
from tests.oracle.engine_5.words import Stage

LOSE: Final = Pays("lose", None)
PUSH: Final = Pays("push", None)

CARDS_AT: Final[Mapping[Stage, int]] = {Stage.AFTER_FOUR: INITIAL_CARDS, Stage.AFTER_PLAYER_THIRD: INITIAL_CARDS + 1}

Offers = tuple[Offer, ...]


def offers(book: RuleBook, hands: Hands) -> Mapping[Stage, Offers | None]:
    """What was or is open at each stage; None while or where the stage does not come."""
    standing = board(book).of(hands)
    return {stage: offers_at(book, standing, stage) for stage in Stage}


def waived(book: RuleBook, *, squeeze: bool) -> Mapping[Stage, str]:
    """The stages at which nobody may insure, and the clause: a squeeze that was granted ends the later one (I 3.14)."""
    ground = book.rules.get(Rule.SQUEEZE_WAIVES_INSURANCE) if squeeze else None
    return {} if ground is None else {Stage.AFTER_PLAYER_THIRD: ground.clause}


def offers_at(book: RuleBook, standing: Standing, stage: Stage) -> Offers | None:
    then = back_to(standing, stage)
    if then is None:
        return None
    if then.due is None:  # I 3.12.1: the third-card rules have nothing more to say, so nothing is left to insure
        return ()
    return tuple(
        row
        for row in book.offers
        if row.stage is stage and then.player_points in row.player and then.banker_points in row.banker
    )


def back_to(standing: Standing, stage: Stage) -> Standing | None:
    """The round as it stood when the stage came."""
    match stage:
        case Stage.AFTER_FOUR:
            if len(standing.player) + len(standing.banker) < INITIAL_CARDS:
                return None
            return standing.board.at(standing.player[:INITIAL_HAND], standing.banker[:INITIAL_HAND])
        case Stage.AFTER_PLAYER_THIRD:
            if len(standing.player) < FULL_HAND:
                return None
            return standing.board.at(standing.player, standing.banker[:INITIAL_HAND])
        case _:
            assert_never(stage)


def settle_offer(book: RuleBook, offer: Offer, hands: Hands) -> Pays | None:
    """What an insurance bet placed on this offer gets; None while it is open."""
    return settle_at(offer, board(book).of(hands))


def settle_at(offer: Offer, standing: Standing) -> Pays | None:
    possible = {pays_of(offer, result) for result in standing.results}
    return possible.pop() if len(possible) == 1 else None


def pays_of(offer: Offer, result: Result) -> Pays:
    if result.winner is offer.pays_on:  # I 4.2.1: the row of nine pays on a tie
        return offer.odds
    if result.winner is Winner.TIE and offer.tie_returned:  # I 3.17
        return PUSH
    return LOSE
