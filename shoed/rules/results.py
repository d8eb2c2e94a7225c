"""The pay of every bet in a complete or an incomplete round, and whether an outcome is established.

Theory of operation: a bet depends on the result (winner, points, number of cards); a pair bet depends on the ranks of
a hand's first two cards. An incomplete round has several possible results and ranks. A bet is decided when all of them
pay alike. Each combination is computed once for its book, then looked up. Sets of possible results or ranks that pay
alike share their verdicts: a book has 15,000 combinations for complete rounds, and less than a hundred verdicts.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Final, NamedTuple

import msgspec

from shoed.model.cards import Card, Rank
from shoed.model.irregularities import Stage
from shoed.model.observations import Pair
from shoed.rules.book import Bet, PayRow, Pays, RuleBook
from shoed.rules.card_states import CardState, Results, RoundEnd, card_states, per_book
from shoed.rules.drawing import INITIAL_HAND, Hands
from shoed.rules.insurance import offers_at, pays_of

PairRanks = frozenset[Rank | None]  # the possible ranks of a hand's pair; None: no pair
Possible = Results | PairRanks


class BetResult(NamedTuple):
    """The result of one bet."""

    row: PayRow | None  # with the pay and its clause; None while the bet is open
    conclusive: bool  # the bet has won or has lost, whatever the next cards are


class Verdict(msgspec.Struct, frozen=True, eq=False):
    """The results of all bets of a book. Rounds with the same results of all bets share one object."""

    bets: Mapping[str, BetResult]
    established: bool  # a bet of the game has conclusively won or lost


class Verdicts:
    """All verdicts of one book."""

    def __init__(self, book: RuleBook) -> None:
        self.book: Final = book
        self._first_like: dict[tuple[Pair | None, Possible], Possible] = {}
        self._with_results: dict[tuple[Pair | None, tuple[BetResult, ...]], Possible] = {}
        self._verdicts: dict[tuple[Possible, Possible, Possible], Verdict] = {}

    def on(self, state: CardState, player: PairRanks, banker: PairRanks) -> Verdict:
        key = (
            self.first_like(None, state.results),
            self.first_like(Pair.PLAYER, player),
            self.first_like(Pair.BANKER, banker),
        )
        if key not in self._verdicts:
            possible = {None: key[0], Pair.PLAYER: key[1], Pair.BANKER: key[2]}
            bets = {bet.name: decide(bet, possible[bet.pair]) for bet in self.book.bets}
            self._verdicts[key] = Verdict(bets, any(each.conclusive for each in bets.values()))
        return self._verdicts[key]

    def first_like(self, pair: Pair | None, possible: Possible) -> Possible:
        """The first set with the same results of all bets on this pair; of all other bets, if the pair is None."""
        key = (pair, possible)
        if key not in self._first_like:
            results = tuple([decide(bet, possible) for bet in self.book.bets if bet.pair is pair])
            self._first_like[key] = self._with_results.setdefault((pair, results), possible)
        return self._first_like[key]


@per_book
def verdicts(book: RuleBook) -> Verdicts:
    return Verdicts(book)


def decide(bet: Bet, possible: AbstractSet[RoundEnd | Rank | None]) -> BetResult:
    rows = [row for row in bet.rows if any(applies(row, each) for each in possible)]
    possible_pays = {row.pays for row in rows}
    return BetResult(rows[0] if len(possible_pays) == 1 else None, conclusive(possible_pays))


def conclusive(possible: AbstractSet[Pays]) -> bool:
    """Whether the bet wins, at any odds, or loses. A bet that can push or lose is not lost yet."""
    return all(each.loses for each in possible) or all(each.odds is not None for each in possible)


def applies(row: PayRow, to: RoundEnd | Rank | None) -> bool:
    if not isinstance(to, RoundEnd):  # a pair bet: a row without ranks applies to a hand without a pair
        return to in row.ranks if row.ranks else to is None
    return (
        row.winner is to.winner
        and (not row.points or to.points in row.points)
        and (not row.cards or to.cards in row.cards)
    )


@cache
def pair_ranks(hand: tuple[Rank, ...]) -> PairRanks:
    """C 1.13: the rank that the first two cards share. Before the second card: all ranks that are possible."""
    match hand:
        case (first, second):
            return frozenset({first if first == second else None})
        case (first,):
            return frozenset({first, None})
        case _:
            return frozenset({*Rank, None})


def ranks(cards: Sequence[Card]) -> tuple[Rank, ...]:
    return tuple(card.rank for card in cards[:INITIAL_HAND])


def verdict(book: RuleBook, hands: Hands) -> Verdict:
    state = card_states(book).of(hands)
    return verdicts(book).on(state, pair_ranks(ranks(hands.player)), pair_ranks(ranks(hands.banker)))


def rows(book: RuleBook, hands: Hands) -> Mapping[str, PayRow | None]:
    """The pay row of each bet, in the book's order; None while the bet is open."""
    return {name: each.row for name, each in verdict(book, hands).bets.items()}


def pays(book: RuleBook, hands: Hands) -> Mapping[str, Pays | None]:
    return {name: None if row is None else row.pays for name, row in rows(book, hands).items()}


def established(book: RuleBook, hands: Hands, placed: AbstractSet[tuple[str, Stage | None]] | None = None) -> bool:
    """C and I 5.4.1, read literally: a bet has conclusively won or lost. `placed`: only these bets count.

    A placed bet is a name, with the stage of an insurance bet.
    """
    known = verdict(book, hands)
    if placed is None:
        return known.established
    if any(each.conclusive for name, each in known.bets.items() if (name, None) in placed):
        return True
    state = card_states(book).of(hands)
    insured = (row for stage in Stage for row in offers_at(book, state, stage) or () if (row.bet, stage) in placed)
    return any(conclusive({pays_of(row, each) for each in state.results}) for row in insured)
