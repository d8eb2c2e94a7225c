"""What a rule book must be beyond its words: every reachable result has its one pay, every offer can pay.

Reachable is reckoned from the book's own Table of Play: all two-card totals, all third cards.
Each check tells what is wrong of which row; `load` says in which line.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from shoed.cards import RANK_TEXT, Rank
from shoed.rules.book import Fact, Hand, Irregularity, Offer, PayRow, Play, Stage, Winner

HIGHEST: Final = 9
TOTALS: Final = range(HIGHEST + 1)
RANKS: Final[tuple[Rank | None, ...]] = (None, *Rank)  # None: no pair


class Result(NamedTuple):
    """A finished round as a pay row sees it."""

    winner: Winner
    points: int  # of the winning or tied hands
    cards: int  # of the winning hand; 0 in a tie, where there is none

    def __str__(self) -> str:
        if self.winner is Winner.TIE:
            return f"a tie on {self.points}"
        return f"{self.winner.value} winning on {self.points} with {self.cards} cards"


def results(play: Play, thirds: Sequence[int]) -> frozenset[Result]:
    """Every result that the Table of Play can end in."""
    return frozenset(
        _result(player, banker, player_cards, banker_cards)
        for player, banker, player_cards, banker_cards in _ends(play, thirds)
    )


def _result(player: int, banker: int, player_cards: int, banker_cards: int) -> Result:
    if player == banker:
        return Result(Winner.TIE, player, 0)
    if player > banker:
        return Result(Winner.PLAYER, player, player_cards)
    return Result(Winner.BANKER, banker, banker_cards)


def _ends(play: Play, thirds: Sequence[int]) -> set[tuple[int, int, int, int]]:
    """Totals and numbers of cards of both hands. A third card can bring any total, so a hand's last one is free."""
    ends = set()
    for player in TOTALS:
        for banker in TOTALS:
            if player in play.natural or banker in play.natural:
                ends.add((player, banker, 2, 2))
            elif player in play.player:
                for third in thirds:
                    drawn = (player + third) % 10
                    if third in play.banker.get(banker, ()):
                        ends |= {(drawn, total, 3, 3) for total in TOTALS}
                    else:
                        ends.add((drawn, banker, 3, 2))
            elif banker in play.banker_alone:
                ends |= {(player, total, 2, 3) for total in TOTALS}
            else:
                ends.add((player, banker, 2, 2))
    return ends


def pays(rows: Sequence[PayRow], reachable: frozenset[Result]) -> Iterator[tuple[int | None, str, str]]:
    """(row, problem, remedy) of a bet on results; None: the bet as a whole."""
    covered: dict[Result, int] = {}
    for at, row in enumerate(rows):
        results = {result for result in reachable if _holds(row, result)}
        for result in sorted(results & covered.keys(), key=str):
            yield at, f"overlaps row {covered[result] + 1}: both are for {result}", "let one row pay each result"
            break
        covered |= dict.fromkeys(results, at)
        for name, listed, met in (
            ("points", row.points, {result.points for result in results}),
            ("cards", row.cards, {result.cards for result in results}),
        ):
            if idle := sorted(listed - met):
                yield at, f"no round ends with {name} {idle[0]} here", "leave it out"
    for result in sorted(reachable - covered.keys(), key=str):
        yield None, f"pays nothing for {result}", 'add a row for it, pays = "lose" if it loses'
        break


def _holds(row: PayRow, result: Result) -> bool:
    return (
        row.winner is result.winner
        and (not row.points or result.points in row.points)
        and (not row.cards or result.cards in row.cards)
    )


def pair_pays(rows: Sequence[PayRow]) -> Iterator[tuple[int | None, str, str]]:
    """The same of a bet on a pair: its results are the ranks, and no pair."""
    covered: dict[Rank | None, int] = {}
    for at, row in enumerate(rows):
        for rank in row.ranks or (None,):
            if rank in covered:
                problem = f"overlaps row {covered[rank] + 1}: both are for {_pair(rank)}"
                yield at, problem, "let one row pay each pair"
                break
            covered[rank] = at
    for rank in RANKS:
        if rank not in covered:
            yield None, f"pays nothing for {_pair(rank)}", "add a row for it; ranks = [] is for no pair"
            break


def _pair(rank: Rank | None) -> str:
    return "no pair" if rank is None else f"a pair of {RANK_TEXT[rank]}"


def draws(play: Play) -> Iterator[tuple[str, str, str]]:
    """(key, problem, remedy) of the Table of Play."""
    for key, totals in (("player", play.player), ("banker_alone", play.banker_alone)):
        if natural := sorted(totals & play.natural):
            yield key, f"draws on {natural[0]}, which is a natural", "list totals that are none"
    due = set(TOTALS) - play.natural
    for total in sorted(due - play.banker.keys()):
        yield "banker", f"has no row for Banker's total {total}", "add it, third = [] if Banker stands"


def open_cells(play: Play, thirds: Sequence[int]) -> Mapping[Stage, Mapping[tuple[int, int], frozenset[Winner]]]:
    """By stage, and there by (player's points, banker's points): how a round that is still open can end."""
    four: dict[tuple[int, int], set[Winner]] = {}
    later: dict[tuple[int, int], set[Winner]] = {}
    for player in TOTALS:
        for banker in TOTALS:
            if player in play.natural or banker in play.natural:
                continue
            if player in play.player:
                for third in thirds:
                    drawn = (player + third) % 10
                    ends = _winners(drawn, (banker,))
                    if third in play.banker.get(banker, ()):
                        ends = _winners(drawn, TOTALS)
                        later.setdefault((drawn, banker), set()).update(ends)
                    four.setdefault((player, banker), set()).update(ends)
            elif banker in play.banker_alone:
                four[player, banker] = set(_winners(player, TOTALS))
    return {
        stage: {cell: frozenset(ends) for cell, ends in cells.items()}
        for stage, cells in ((Stage.AFTER_FOUR, four), (Stage.AFTER_PLAYER_THIRD, later))
    }


@cache
def _winners(player: int, bankers: Sequence[int]) -> frozenset[Winner]:
    return frozenset(_result(player, banker, 0, 0).winner for banker in bankers)


def offers(
    rows: Sequence[Offer], cells: Mapping[Stage, Mapping[tuple[int, int], frozenset[Winner]]]
) -> Iterator[tuple[int, str, str]]:
    """(row, problem, remedy) of the insurance pay table."""
    seen: dict[tuple[str, Stage, int, int], int] = {}
    for at, row in enumerate(rows):
        own = Winner.PLAYER if row.hand is Hand.PLAYER else Winner.BANKER
        if row.pays_on is own:
            yield at, "pays when the insured hand wins", "name the other hand, or a tie"
        if row.pays_on is Winner.TIE and row.tie_returned:
            yield at, "both pays and is returned on a tie", "say tie_returned = false"
        for player in sorted(row.player):
            for banker in sorted(row.banker):
                where = f"Player {player}, Banker {banker}"
                if (before := seen.setdefault((row.bet, row.stage, player, banker), at)) != at:
                    yield at, f"overlaps row {before + 1}: both are for {where}", "let one row be for each situation"
                elif row.pays_on not in (ends := cells[row.stage].get((player, banker), frozenset())):
                    problem = f"can never pay at {where}" if ends else f"is for {where}, where no more card is due"
                    yield at, problem, "leave these points out"
                else:
                    continue
                break


def irregularities(rows: Sequence[Irregularity]) -> Iterator[tuple[int, str, str]]:
    """(row, problem, remedy): rows of an event that can apply together."""
    for at, row in enumerate(rows):
        for before, earlier in enumerate(rows[:at]):
            if row.event is earlier.event and not _exclude(row.when, earlier.when):
                problem = f"can apply together with row {before + 1} of {row.event.value}"
                yield at, problem, "let one fact differ between them"
                break


def _exclude(one: Mapping[Fact, bool], other: Mapping[Fact, bool]) -> bool:
    return any(other.get(fact, wanted) is not wanted for fact, wanted in one.items())
