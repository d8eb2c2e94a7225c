"""What is found between two rounds: it holds the next one until a person says how it goes on."""

from msgspec.structs import replace

from tests.oracle.engine_5.commands import Author
from tests.oracle.engine_5.now import Now
from tests.oracle.engine_5.observations import CardSeen
from tests.oracle.engine_5.rules.irregular import Happened, course
from tests.oracle.engine_5.rules.questions import Inquiry
from tests.oracle.engine_5.table.context import Table
from tests.oracle.engine_5.table.follow import ask, present, tell_noticed, tell_ruled
from tests.oracle.engine_5.table.state import MOST_WAITING, Noticed, after_round
from tests.oracle.engine_5.words import Event as Mishap


def too_many(table: Table, seen: CardSeen) -> None:
    """C 5.7: it came between two rounds, and may open the next."""
    hold(table, seen.at, after_round(seen.card, "after the round was over"))


def between(table: Table, at: Now, mishap: Mishap, evidence: str, by: Author | None = None) -> None:
    """Noticed while no round is open: there is nothing to void, and the next round waits for a person."""
    hold(table, at, Noticed(Happened(mishap, 0, 0, reconstructable=True, between_rounds=True), evidence, by))


def hold(table: Table, at: Now, found: Noticed) -> None:
    note(table, at, found)
    ask(table, at)


def note(table: Table, at: Now, found: Noticed) -> None:
    """One of a kind, but of every card where it goes."""
    tell_noticed(table, at, found)
    (ruling,) = course(table.book, (), [found.what], Inquiry([])).rulings
    tell_ruled(table, at, found.what.event, ruling, present(table))
    there = [each.what.event for each in table.state.hold if (each.card is None) is (found.card is None)]
    if len(there) < MOST_WAITING if found.card is not None else found.what.event not in there:
        table.state = replace(table.state, hold=(*table.state.hold, found))
