"""The published questions of a table: asked, revised, lapsed.

Theory of operation: the first open question is asked. It keeps its number as long as its topic is open. A question
lapses with a reason if nothing is left to decide. If its hands or consequences change, it gets a new revision.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from shoed.model import events
from shoed.model.moments import Now
from shoed.table.asking import role_of
from shoed.table.assess import shown
from shoed.table.context import Table, public_hands
from shoed.table.customs import NextBreaches, next_breaches
from shoed.table.matters import Status
from shoed.table.public_question import revised
from shoed.table.questions import Listed
from shoed.table.state import Open

NOTHING_LEFT: Final = "nothing is left to decide"


def ask(table: Table, at: Now) -> None:
    """Let questions lapse that are not open any more, ask the first open question, and publish new revisions."""
    state, record = table.state, table.record
    may_ask = table.standing.questions or record.having(Status.CARRIED_OVER) or any(each.topics for each in state.past)
    if not (state.asked or may_ask):
        return
    listed = {each.topic: each for each in table.listed()}
    lapse(table, at, [each for each in state.asked if each.topic not in listed], NOTHING_LEFT)
    first = next(iter(listed), None)
    if first is not None and first not in {each.topic for each in table.state.asked}:
        pose(table, at, listed[first])
    revise(table, at, [each for each in listed.values() if each.past is None])


def revise(table: Table, at: Now, listed: Iterable[Listed]) -> None:
    """Publish a new revision of each asked question in the list whose hands or consequences have changed."""
    by_topic = {each.topic: each for each in listed}
    against = by_house_rules(table)
    for opened in table.state.asked:
        if (found := by_topic.get(opened.topic)) is None:
            continue
        house = table.house_of(found.found.record)
        if (after := revised(house, found, opened, against)) is opened:
            continue
        asked = [after if each is opened else each for each in table.state.asked]
        table.state = replace(table.state, asked=tuple(asked))
        player, banker = public_hands(house.book, shown(house, found.found))
        table.emit(
            at,
            events.QuestionRevised(
                shoe=after.shoe or None,
                round=after.round or None,
                id=opened.id,
                question=opened.topic.ask,
                revision=after.revision,
                player=player,
                banker=banker,
            ),
        )


def by_house_rules(table: Table) -> NextBreaches:
    return next_breaches(table.settings.custom, table.state.shoe, table.record.number)


def pose(table: Table, at: Now, listed: Listed) -> None:
    asked, record = listed.asked, listed.found.record
    house, number = table.house_of(record), table.state.questions + 1
    opened = Open(str(number), listed.topic, at.utc_us, record.shoe, record.number)
    opened = revised(house, listed, opened, by_house_rules(table))
    table.state = replace(table.state, questions=number, asked=(*table.state.asked, opened))
    player, banker = public_hands(house.book, shown(house, listed.found))
    table.emit(
        at,
        events.QuestionAsked(
            shoe=record.shoe or None,
            round=record.number or None,
            id=opened.id,
            question=asked.ask.value,
            clause=asked.clause or None,
            role=role_of(asked),
            optional=not asked.holds,
            player=player,
            banker=banker,
        ),
    )


def lapse(table: Table, at: Now, questions: Sequence[Open], reason: str) -> None:
    for each in questions:
        asked = tuple([other for other in table.state.asked if other is not each])
        table.state = replace(table.state, asked=asked)
        shoe, number, question = each.shoe or None, each.round or None, each.topic.ask
        table.emit(at, events.QuestionLapsed(shoe=shoe, round=number, id=each.id, question=question, reason=reason))
