"""The checks of a rule book beyond its vocabulary: each reachable result has exactly one pay, and each offer can pay.

A result is reachable if the book's own Table of Play leads to it from any two totals of two cards. Each check yields
the row, the problem and the remedy; `load` adds the line of the file.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from shoed.model.cards import RANK_TEXT, Rank
from shoed.model.irregularities import Stage
from shoed.model.observations import Side
from shoed.rules.book import Fact, IrregularityRow, Offer, PayRow, Play, Winner
from shoed.rules.card_states import DIGITS, CardStates, Results, RoundEnd
from shoed.rules.results import applies

HIGHEST: Final = 9
TOTALS: Final = range(HIGHEST + 1)
RANKS: Final[tuple[Rank | None, ...]] = (None, *Rank)  # None: no pair

Cells = dict[tuple[Stage, int, int], set[RoundEnd]]  # by Player's points, then Banker's


def pays(rows: Sequence[PayRow], reachable: Results) -> Iterator[tuple[int | None, str, str]]:
    """(row, problem, remedy) for a bet on the result. Row None: the whole bet."""
    covered: dict[RoundEnd, int] = {}
    for at, row in enumerate(rows):
        results = {result for result in reachable if applies(row, result)}
        for result in sorted(results & covered.keys()):
            yield at, f"overlaps row {covered[result] + 1}: both are for {result}", "write one row for each result"
            break
        covered |= dict.fromkeys(results, at)
        for name, listed, met in (
            ("points", row.points, {result.points for result in results}),
            ("cards", row.cards, {result.cards for result in results}),
        ):
            if unused := sorted(listed - met):
                yield at, f"no round of this row ends with {name} {unused[0]}", f"remove {unused[0]}"
    for result in sorted(reachable - covered.keys(), key=str):
        yield None, f"has no row for {result}", 'add a row; if the bet loses, write pays = "lose"'
        break


def pair_pays(rows: Sequence[PayRow]) -> Iterator[tuple[int | None, str, str]]:
    """(row, problem, remedy) for a pair bet. Its results are the ranks, and no pair."""
    covered: dict[Rank | None, int] = {}
    for at, row in enumerate(rows):
        for rank in row.ranks or (None,):
            if rank in covered:
                problem = f"overlaps row {covered[rank] + 1}: both are for {_pair(rank)}"
                yield at, problem, "write one row for each pair"
                break
            covered[rank] = at
    for rank in RANKS:
        if rank not in covered:
            yield None, f"has no row for {_pair(rank)}", "add a row; ranks = [] means no pair"
            break


def _pair(rank: Rank | None) -> str:
    return "no pair" if rank is None else f"a pair of {RANK_TEXT[rank]}"


def draws(play: Play) -> Iterator[tuple[str, str, str]]:
    """(key, problem, remedy) for the Table of Play."""
    for key, totals in (("player", play.player), ("banker_alone", play.banker_alone)):
        if natural := sorted(totals & play.natural):
            yield key, f"draws on {natural[0]}, which is a natural", f"remove {natural[0]}"
    due = set(TOTALS) - play.natural
    for total in sorted(due - play.banker.keys()):
        yield "banker", f"has no row for Banker's total {total}", "add the row; if Banker stands, write third = []"


def open_cells(states: CardStates) -> Cells:
    """The possible results at each insurance stage, by the points of both hands."""
    cells: Cells = {}
    for state in states.after_four:
        places = [(Stage.AFTER_FOUR, state)]
        if state.due is Side.PLAYER:
            places += [(Stage.AFTER_PLAYER_THIRD, state.after(third)) for third in DIGITS]
        for stage, at in places:
            if at.due is not None:
                cells.setdefault((stage, at.player_points, at.banker_points), set()).update(at.results)
    return cells


def offers(rows: Sequence[Offer], cells: Cells) -> Iterator[tuple[int, str, str]]:
    """(row, problem, remedy) for the insurance pay table."""
    seen: dict[tuple[str, Stage, int, int], int] = {}
    for at, row in enumerate(rows):
        own = Winner.PLAYER if row.side is Side.PLAYER else Winner.BANKER
        if row.pays_on is own:
            yield at, "pays when the insured hand wins", "write the other hand or tie"
        if row.pays_on is Winner.TIE and row.tie_returned:
            yield at, "pays on a tie and is returned on a tie", "write tie_returned = false"
        for player in sorted(row.player):
            for banker in sorted(row.banker):
                where = f"Player {player}, Banker {banker}"
                if (earlier := seen.setdefault((row.bet, row.stage, player, banker), at)) != at:
                    yield at, f"overlaps row {earlier + 1}: both are for {where}", "write one row for these points"
                elif (ends := cells.get((row.stage, player, banker))) is None:
                    yield at, f"is for {where}, where no card is due", "remove these points"
                elif all(result.winner is not row.pays_on for result in ends):
                    yield at, f"cannot pay at {where}", "remove these points"
                else:
                    continue
                break


def irregularities(rows: Sequence[IrregularityRow]) -> Iterator[tuple[int, str, str]]:
    """(row, problem, remedy) for rows of one kind that can apply together."""
    for at, row in enumerate(rows):
        for position, earlier in enumerate(rows[:at]):
            if row.kind is earlier.kind and not _exclude(row.when, earlier.when):
                problem = f"can apply together with row {position + 1} of {row.kind.value}"
                yield at, problem, "let one fact of when differ"
                break


def _exclude(one: Mapping[Fact, bool], other: Mapping[Fact, bool]) -> bool:
    return any(other.get(fact, wanted) is not wanted for fact, wanted in one.items())
