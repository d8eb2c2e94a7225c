"""What a rule book must be beyond its words: every reachable result has its one pay, every offer can pay.

Reachable is what the standings of the book's own Table of Play lead to, from any two totals of two cards.
Each check tells what is wrong of which row; `load` says in which line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shoed.cards import RANK_TEXT, Rank
from shoed.observations import Pair
from shoed.rules.book import Fact, Hand, Irregularity, Offer, PayRow, Play, Winner
from shoed.rules.results import applies
from shoed.rules.standing import DIGITS, Board, Result, Results
from shoed.words import Stage

HIGHEST: Final = 9
TOTALS: Final = range(HIGHEST + 1)
RANKS: Final[tuple[Rank | None, ...]] = (None, *Rank)  # None: no pair

Cells = dict[tuple[Stage, int, int], set[Result]]  # by Player's points, then Banker's


def pays(rows: Sequence[PayRow], reachable: Results) -> Iterator[tuple[int | None, str, str]]:
    """(row, problem, remedy) of a bet on results; None: the bet as a whole."""
    covered: dict[Result, int] = {}
    for at, row in enumerate(rows):
        results = {result for result in reachable if applies(row, result)}
        for result in sorted(results & covered.keys()):  # of one winner
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


def open_cells(board: Board) -> Cells:
    """How a round that is still open can end."""
    cells: Cells = {}
    for four in board.fours:
        places = [(Stage.AFTER_FOUR, four)]
        if four.due is Pair.PLAYER:
            places += [(Stage.AFTER_PLAYER_THIRD, four.after(third)) for third in DIGITS]
        for stage, at in places:
            if at.due is not None:
                cells.setdefault((stage, at.player_points, at.banker_points), set()).update(at.results)
    return cells


def offers(rows: Sequence[Offer], cells: Cells) -> Iterator[tuple[int, str, str]]:
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
                elif (ends := cells.get((row.stage, player, banker))) is None:
                    yield at, f"is for {where}, where no more card is due", "leave these points out"
                elif all(result.winner is not row.pays_on for result in ends):
                    yield at, f"can never pay at {where}", "leave these points out"
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
