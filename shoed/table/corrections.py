"""Corrections of the record: misread cards, voids, past rounds, and cards that are put away.

The role that the rule book names puts a card away. The other corrections require a Pit Supervisor or above.
"""

from msgspec.structs import replace

from shoed.model.commands import Author, CorrectCard
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.irregularities import Role
from shoed.model.moments import Now
from shoed.rules.irregular import Irregularity, clause_and_role
from shoed.rules.questions import Ask, Choice
from shoed.table.answers import report_past
from shoed.table.asking import RECORD
from shoed.table.assess import with_disputed_third_card
from shoed.table.context import Table
from shoed.table.matters import Matter, Status
from shoed.table.phase import AT_THE_TABLE, CORRECTABLE, Phase
from shoed.table.question_events import ask
from shoed.table.questions import with_late_card
from shoed.table.record import RuleAnswer, Where, corrected, positioned, with_decision, with_matter
from shoed.table.report import publish_noticed, report
from shoed.table.state import Past
from shoed.table.wording import NEXT_ROUND_BEGAN


def past_round(table: Table, number: int | None) -> tuple[int, int] | None:
    """The shoe and number of a past round of this shoe; before its first round, of the previous shoe."""
    shoe, played = table.record.shoe, table.record.number - 1
    if played < 0 and table.state.shoe.past is not None:
        shoe, played = table.state.shoe.past
    return (shoe, number) if number is not None and 1 <= number <= played else None


def remembered(table: Table, of_round: tuple[int, int]) -> Past | None:
    return next((each for each in table.state.past if (each.record.shoe, each.record.number) == of_round), None)


def may_correct(by: Author) -> str | None:
    if by.role is not None and by.role.may_decide_for(RECORD):
        return None
    return role_refusal(by, "correct the record", RECORD)


def role_refusal(by: Author, act: str, required: Role) -> str:
    return f"{by.role.value if by.role else 'a player'} may not {act}; the required role is {required.value}"


def correct(table: Table, correction: CorrectCard, by: Author, at: Now) -> str | None:
    """Correct the face of a card, or put the correction of a past round on record; return the refusal, or None."""
    record, index = table.record, correction.index
    if (reason := may_correct(by)) is not None:
        return reason
    drawn = record.drawn
    carried = {card for each in record.having(Status.CARRIED_OVER) if each.face is not None for card in each.cards}
    waits = table.state.phase is Phase.VOIDED and 1 <= index <= len(drawn) and drawn[index - 1].id in carried
    if (correction.round or record.number) != record.number or not (waits or table.state.phase in CORRECTABLE):
        return correct_late(table, correction.round, f"card {index} is {correction.card}", by, at)
    if not 1 <= index <= len(drawn):
        return f"card {index} is not a card of the round; the number of cards in the round is {len(drawn)}"
    card = drawn[index - 1]
    if card.face is correction.card:
        return f"card {index} is {card.face} already"
    evidence = f"card {index} was recorded as {card.face or 'unread'}, and is {correction.card}"
    publish_noticed(table, at, Matter(Irregularity(Kind.OTHER, at=index), Status.OPEN, evidence, by), kind="misread")
    record = corrected(record, card.id, correction.card)
    if waits:
        table.set_standing(replace(table.standing, record=record))
        ask(table, at)
        return None
    if table.state.phase is Phase.SETTLED:
        record = with_late_card(table.house, record)
    report(table, at, with_disputed_third_card(table.house, table.standing, record))
    return None


def put_away(table: Table, index: int, by: Author, at: Now) -> str | None:
    """C 5.17, I 5.18: put away a card whose place is in question; return the refusal, or None."""
    clause, decides = clause_and_role(table.book, Kind.OTHER)
    if decides is None:
        return f"{table.book.title} does not provide for this decision; answer the question about the card"
    if by.role is None or not by.role.may_decide_for(decides):
        return f"{role_refusal(by, 'put a card away', decides)} ({clause})"
    record = table.record
    drawn = record.drawn
    if not len(record.order) < index <= len(drawn) or table.state.phase not in AT_THE_TABLE:
        return f"the place of card {index} is not in question; give the index of a card whose place is in question"
    card = drawn[index - 1]
    evidence = f"{card.face or 'a card without a face'} was put away by {by.name}"
    record = positioned(record, card.id, Where.PUT_AWAY)
    matter = Matter(Irregularity(Kind.OTHER), Status.OPEN, evidence, by, noticed_after=record.last_placed)
    record = with_matter(record, matter)
    decided = RuleAnswer(Ask.RULING, Choice.CONTINUE.value, by, record.last_matter)
    report(table, at, with_decision(record, decided))
    return None


def void(table: Table, number: int | None, by: Author, at: Now) -> str | None:
    """Void the round; return the refusal, or None."""
    if (reason := may_correct(by)) is not None:
        return reason
    record = table.record
    decided, is_present = RuleAnswer(Ask.RULING, Choice.VOID.value, by, matter=0), number in (None, record.number)
    if is_present and table.state.phase in CORRECTABLE:
        report(table, at, with_decision(record, decided))
        return None
    of_round = (record.shoe, record.number) if is_present and record.number else past_round(table, number)
    if of_round is None:
        return no_such_round(table, number)
    past = remembered(table, of_round)
    is_void = table.state.phase is Phase.VOIDED if is_present else past is not None and past.record.published.voided
    if is_void:
        return f"round {of_round[1]} is void already"
    if past is None or not (past.completed is None or past.topics):
        return too_late(table, of_round[1])
    report_past(table, at, past, with_decision(past.record, decided))
    ask(table, at)
    return None


def too_late(table: Table, number: int) -> str:
    clause = clause_and_role(table.book, Kind.NOTICED_LATE)[0]
    ground = f"clause {clause}" if clause else f"the document is silent; our interpretation {NEXT_ROUND_BEGAN} applies"
    return (
        f"round {number} cannot be voided, because the next round has begun ({ground}); "
        f"for a matter that was noticed before, give the notice with round={number} in_time=yes"
    )


def no_such_round(table: Table, number: int | None) -> str:
    if table.record.number:
        return f"there is no round {number} in this shoe"
    if table.state.shoe.past is None:
        return "no round has been played"
    return "this shoe has no round yet" if number is None else f"the previous shoe had no round {number}"


def correct_late(table: Table, number: int | None, statement: str, by: Author, at: Now) -> str | None:
    """C 5.11: put the correction of a past round on record. Later rounds do not change."""
    record = table.record
    is_last = table.state.phase in (Phase.VOIDED, Phase.ABANDONED) and number in (None, record.number)
    of_round = (record.shoe, record.number) if is_last else past_round(table, number)
    if of_round is None:
        return no_such_round(table, number)
    late_one = Irregularity(Kind.OTHER, noticed_late=not is_last)
    matter = Matter(late_one, Status.OPEN, f"round {of_round[1]}: {statement}", by)
    publish_noticed(table, at, matter, of_round, kind="correction")
    return None
