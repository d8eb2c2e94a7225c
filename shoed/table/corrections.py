"""Corrections of the record by a Pit Supervisor or above: a misread card, a void, and rounds that are over."""

from msgspec.structs import replace

from shoed.commands import Author, CorrectCard
from shoed.now import Now
from shoed.rules.irregular import Happened, said_of
from shoed.rules.questions import Ask, Choice
from shoed.table.answers import report_past
from shoed.table.asking import RECORD
from shoed.table.assess import with_moved_third
from shoed.table.context import Table
from shoed.table.matters import Matter, Status
from shoed.table.phase import AT_THE_TABLE, CORRECTABLE, Phase
from shoed.table.posing import ask
from shoed.table.questions import with_kept
from shoed.table.record import Decided, Where, corrected, positioned, with_decision, with_matter
from shoed.table.report import publish_noticed, report
from shoed.table.state import Past
from shoed.words import Event as Kind


def past_round(table: Table, number: int | None) -> tuple[int, int] | None:
    """A round that is past: of this shoe, or the last of the one before, as long as this one has none."""
    shoe, played = table.record.shoe, table.record.number - 1
    if played < 0 and table.state.shoe.past is not None:
        shoe, played = table.state.shoe.past
    return (shoe, number) if number is not None and 1 <= number <= played else None


def remembered(table: Table, of: tuple[int, int]) -> Past | None:
    return next((each for each in table.state.past if (each.record.shoe, each.record.number) == of), None)


def may_correct(by: Author) -> str | None:
    if by.role is not None and by.role.may_decide_for(RECORD):
        return None
    return f"{by.role.value if by.role else 'a player'} may not mend the record: it takes {RECORD.value}"


def correct(table: Table, correction: CorrectCard, by: Author, at: Now) -> str | None:
    """None if the card has its face now, or the correction is on record; else why not."""
    record, index = table.record, correction.index
    if (reason := may_correct(by)) is not None:
        return reason
    drawn = record.drawn
    carried = {card for each in record.having(Status.CARRIED_OVER) if each.face is not None for card in each.cards}
    waits = table.state.phase is Phase.VOIDED and 1 <= index <= len(drawn) and drawn[index - 1].id in carried
    if (correction.round or record.number) != record.number or not (waits or table.state.phase in CORRECTABLE):
        return correct_late(table, correction.round, f"card {index} is {correction.card}", by, at)
    if not 1 <= index <= len(drawn):
        return f"card {index} is not a card of the round, which has {len(drawn)}"
    card = drawn[index - 1]
    if card.face is correction.card:
        return f"card {index} is {card.face} already"
    evidence = f"card {index} was told as {card.face or 'no card'}, and is {correction.card}"
    publish_noticed(table, at, Matter(Happened(Kind.OTHER, at=index), Status.OPEN, evidence, by), kind="misread")
    record = corrected(record, card.id, correction.card)
    if waits:
        table.set_standing(replace(table.standing, record=record))
        ask(table, at)
        return None
    if table.state.phase is Phase.SETTLED:
        record = with_kept(table.house, record)
    report(table, at, with_moved_third(table.house, table.standing, record))
    return None


def put_away(table: Table, index: int, by: Author, at: Now) -> str | None:
    """C 5.17, I 5.18: None if a card that waits is put away, else why not."""
    clause, decides = said_of(table.book, Kind.OTHER)
    if decides is None:
        return f"{table.book.title} gives nobody this decision: answer the question about the card"
    if by.role is None or not by.role.may_decide_for(decides):
        return f"{decides.value} decides that a card is put away ({clause})"
    record = table.record
    drawn = record.drawn
    if not len(record.order) < index <= len(drawn) or table.state.phase not in AT_THE_TABLE:
        return f"card {index} does not wait: only a card whose place is in question is put away"
    card = drawn[index - 1]
    evidence = f"{card.face or 'a card without a face'} was put away by {by.name}"
    record = positioned(record, card.id, Where.PUT_AWAY)
    matter = Matter(Happened(Kind.OTHER), Status.OPEN, evidence, by, noticed_after=record.last_placed)
    record = with_matter(record, matter)
    decided = Decided(Ask.RULING, Choice.CONTINUE.value, by, record.last_matter)
    report(table, at, with_decision(record, decided))
    return None


def void(table: Table, number: int | None, by: Author, at: Now) -> str | None:
    """None if the round is void now, else why not."""
    if (reason := may_correct(by)) is not None:
        return reason
    record = table.record
    decided, is_present = Decided(Ask.RULING, Choice.VOID.value, by, matter=0), number in (None, record.number)
    if is_present and table.state.phase in CORRECTABLE:
        report(table, at, with_decision(record, decided))
        return None
    of = (record.shoe, record.number) if is_present and record.number else past_round(table, number)
    if of is None:
        return no_such_round(table, number)
    past = remembered(table, of)
    is_void = table.state.phase is Phase.VOIDED if is_present else past is not None and past.record.published.voided
    if is_void:
        return f"round {of[1]} is void already"
    if past is None or not (past.completed is None or past.topics):
        return stands(table, of[1])
    report_past(table, at, past, with_decision(past.record, decided))
    ask(table, at)
    return None


def stands(table: Table, number: int) -> str:
    clause = said_of(table.book, Kind.NOTICED_LATE)[0]
    ground = f"clause {clause}" if clause else "the document is silent; reading 6 of our readings"
    return (
        f"round {number} stands, because the next round has begun ({ground}); "
        f"if a matter was noticed before that, give its notice with round={number} in_time=yes"
    )


def no_such_round(table: Table, number: int | None) -> str:
    if table.record.number:
        return f"there is no round {number} in this shoe"
    if table.state.shoe.past is None:
        return "no round has been played"
    return "this shoe has no round yet" if number is None else f"the shoe before had no round {number}"


def correct_late(table: Table, number: int | None, what: str, by: Author, at: Now) -> str | None:
    """C 5.11: recorded, and what was played since stands."""
    record = table.record
    is_last = table.state.phase in (Phase.VOIDED, Phase.ABANDONED) and number in (None, record.number)
    of = (record.shoe, record.number) if is_last else past_round(table, number)
    if of is None:
        return no_such_round(table, number)
    late_one = Happened(Kind.OTHER, noticed_late=not is_last)
    matter = Matter(late_one, Status.OPEN, f"of round {of[1]}: {what}", by)
    publish_noticed(table, at, matter, of, kind="correction")
    return None
