"""What every bet gets, of a finished round and of an unfinished one, and whether an outcome is established.

Theory of operation: a bet looks at the result (who won, on which points, with how many cards) or,
a pair bet, at the ranks of a hand's first two cards. Of an unfinished round several of either are
possible. A bet is decided once all that is possible pays alike, and open before. Each combination
that ever comes up is decided once for its book, then looked up.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Final, NamedTuple

import msgspec

from shoed.cards import Card, Rank
from shoed.observations import Pair
from shoed.rules.book import Bet, PayRow, Pays, RuleBook
from shoed.rules.drawing import INITIAL_HAND, Hands
from shoed.rules.insurance import offers_at, pays_of
from shoed.rules.standing import Result, Results, Standing, board, per_book
from shoed.words import Stage

PairRanks = frozenset[Rank | None]  # that a hand's pair may have; None: it is no pair


class Decided(NamedTuple):
    """What is known of one bet."""

    row: PayRow | None  # what it pays, and by which clause; None while that is open
    conclusive: bool  # it has won, or it has lost, whatever comes


class Verdict(msgspec.Struct, frozen=True, eq=False):
    """On all bets of a book; one object for all rounds that are alike."""

    bets: Mapping[str, Decided]
    established: bool  # some bet that the game offers has conclusively won or lost


class Verdicts:
    """All verdicts of one book."""

    def __init__(self, book: RuleBook) -> None:
        self.book: Final = book
        self._verdicts: dict[tuple[Results, PairRanks, PairRanks], Verdict] = {}

    def on(self, standing: Standing, player: PairRanks, banker: PairRanks) -> Verdict:
        key = (standing.results, player, banker)
        if key not in self._verdicts:
            possible = {None: standing.results, Pair.PLAYER: player, Pair.BANKER: banker}
            bets = {bet.name: decide(bet, possible[bet.pair]) for bet in self.book.bets}
            self._verdicts[key] = Verdict(bets, any(each.conclusive for each in bets.values()))
        return self._verdicts[key]


@per_book
def verdicts(book: RuleBook) -> Verdicts:
    return Verdicts(book)


def decide(bet: Bet, possible: AbstractSet[Result | Rank | None]) -> Decided:
    rows = [row for row in bet.rows if any(applies(row, each) for each in possible)]
    possible_pays = {row.pays for row in rows}
    return Decided(rows[0] if len(possible_pays) == 1 else None, conclusive(possible_pays))


def conclusive(possible: AbstractSet[Pays]) -> bool:
    """Won, whatever the odds come to, or lost. A bet that can still only push or lose is not lost."""
    return all(each.loses for each in possible) or all(each.odds is not None for each in possible)


def applies(row: PayRow, to: Result | Rank | None) -> bool:
    if not isinstance(to, Result):  # of a pair; a row with no ranks is for hands that are none
        return to in row.ranks if row.ranks else to is None
    return (
        row.winner is to.winner
        and (not row.points or to.points in row.points)
        and (not row.cards or to.cards in row.cards)
    )


@cache
def pair_ranks(hand: tuple[Rank, ...]) -> PairRanks:
    """C 1.13: the first two cards, of one rank; until both are there, what they may yet turn out to be."""
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
    standing = board(book).of(hands)
    return verdicts(book).on(standing, pair_ranks(ranks(hands.player)), pair_ranks(ranks(hands.banker)))


def rows(book: RuleBook, hands: Hands) -> Mapping[str, PayRow | None]:
    """By bet, in the book's order: what it pays and the clause that says so; None while it is open."""
    return {name: each.row for name, each in verdict(book, hands).bets.items()}


def pays(book: RuleBook, hands: Hands) -> Mapping[str, Pays | None]:
    return {name: None if row is None else row.pays for name, row in rows(book, hands).items()}


def established(book: RuleBook, hands: Hands, placed: AbstractSet[tuple[str, Stage | None]] | None = None) -> bool:
    """C and I 5.4.1, to the letter: a bet of those placed, or of all that are offered, has conclusively won or lost.

    A bet that is placed is a name, and the stage if it is insurance.
    """
    known = verdict(book, hands)
    if placed is None:
        return known.established
    if any(each.conclusive for name, each in known.bets.items() if (name, None) in placed):
        return True
    standing = board(book).of(hands)
    insured = (row for stage in Stage for row in offers_at(book, standing, stage) or () if (row.bet, stage) in placed)
    return any(conclusive({pays_of(row, each) for each in standing.results}) for row in insured)
