"""Answers to questions: an answer is refused with a reason, or it becomes an entry on the record of its round.

Theory of operation: an answer about the open round is one more entry, and `report` publishes the difference. An answer
about a past round is a ruling on the record of that round. It may void the past round, and it changes no other round.
"""

from msgspec.structs import replace

from shoed.model import events
from shoed.model.cards import Card
from shoed.model.commands import Author, Decide
from shoed.model.moments import Now
from shoed.rules.book import Then
from shoed.rules.questions import Ask
from shoed.table import rounds
from shoed.table.asking import LATE, OTHERS, RecordAsk, RoundQuestion, is_card, refusal, role_of
from shoed.table.assess import assess, judge
from shoed.table.context import Table, author_fields
from shoed.table.phase import Phase
from shoed.table.question_events import ask, revise
from shoed.table.questions import Listed, choose, outliving, renewal, renewed
from shoed.table.readings import Reading, begins_another_round
from shoed.table.record import Record
from shoed.table.report import present, publish_matters, publish_settled, publish_voided, report
from shoed.table.state import Completed, Open, Past


def decide(table: Table, decision: Decide, by: Author, at: Now) -> str | None:
    opened = next((each for each in table.state.asked if each.id == decision.question), None)
    if opened is None:
        return stale(table, decision.question)
    listed = next(each for each in table.listed() if each.topic == opened.topic)
    asked, choice, bettor = listed.asked, decision.choice, decision.bettor
    if (reason := refusal(asked, choice, by)) is not None:
        return reason
    if bettor is not None and (reason := not_for(listed.found.record, asked, bettor)) is not None:
        return reason
    if (reason := outdated(opened, decision)) is not None:
        return reason
    record = listed.found.record
    table.emit(
        at,
        events.QuestionAnswered(
            shoe=opened.shoe or None,
            round=opened.round or None,
            id=opened.id,
            question=asked.ask.value,
            choice=(choice,) if isinstance(choice, str) else choice,
            bettor=bettor or asked.bettor,
            carried=carried_by(record, asked, choice),
            revision=decision.revision or opened.revision,
            **author_fields(by),
        ),
    )
    if bettor in (None, asked.bettor):
        rest = tuple([each for each in table.state.asked if each is not opened])
        table.state = replace(table.state, asked=rest)
    apply_answer(table, at, listed, decision, by)
    return None


def apply_answer(table: Table, at: Now, listed: Listed, decision: Decide, by: Author) -> None:
    asked, choice = listed.asked, decision.choice
    if listed.past is None and asked.ask in (RecordAsk.READING, RecordAsk.GAP) and choice == Reading.NEXT_ROUND.value:
        rounds.begin_next(table, at)
        return
    if listed.past is None and asked.ask is RecordAsk.GAP and choice == Reading.NONE_OF_THESE.value:
        rounds.abandon(table, at)
        return
    record = listed.found.record
    if asked.ask is RecordAsk.RESTART and begins_another_round(record, choice):
        rounds.begin_next(table, at, new_shoe=choice == Reading.NEW_SHOE.value)
        return
    if asked.ask is RecordAsk.RESTART and choice == Reading.NEW_SHOE.value:
        rounds.start_after_cut(table, at)
        return
    record = choose(record, asked, choice, by, decision.bettor)
    if listed.past is not None:
        report_past(table, at, listed.past, record, listed)
    elif listed.holds_the_next or table.state.phase is Phase.IDLE:
        table.set_record(record)
    else:
        report(table, at, record)
        return
    ask(table, at)


def outdated(opened: Open, decision: Decide) -> str | None:
    """The refusal of an answer to an earlier revision; None: the consequence of the choice is the same."""
    given, choice = decision.revision, decision.choice
    if given is None or given == opened.revision:
        return None
    if given > opened.revision:
        return f"question {opened.id} has no revision {given}; answer the present revision, {opened.revision}"
    as_shown = {(choice,) if isinstance(choice, str) else choice}
    if isinstance(choice, str) and is_card(choice):
        as_shown.add((f"any {str(Card.parse(choice))[:-1]}",))
    since = max((each.since for each in opened.effects if each.choice in as_shown), default=1)
    if since <= given:
        return None
    changed = f"the consequence of {choice} has changed since revision {given}"
    return f"{changed}; read revision {opened.revision} and answer again"


def carried_by(record: Record, asked: RoundQuestion, choice: str | tuple[str, ...]) -> tuple[Card, ...]:
    """The card that was drawn between two rounds, if it opens the next round by this answer."""
    if asked.ask is not Ask.NEXT_ROUND or choice != Reading.CARRIED.value:
        return ()
    face = record.matter(asked.matter or 0).face
    return () if face is None else (face,)


def not_for(record: Record, asked: RoundQuestion, bettor: str) -> str | None:
    """The refusal of an answer in the name of this bettor."""
    if asked.bettor is None:
        return f"the question {asked.ask.value} is not for one bettor; leave bettor out"
    answered = {(each.bettor, each.matter, each.ask) for each in record.decisions}
    if (bettor, asked.matter, asked.ask) in answered:
        return f"{bettor} has chosen already"
    return None if asked.bettor in (OTHERS, bettor) else f"the question is for {asked.bettor}, not for {bettor}"


def stale(table: Table, question: str) -> str:
    ids = ", ".join(each.id for each in table.state.asked)
    now = f"open questions: {ids}" if ids else "no question is open"
    if question.isascii() and question.isdigit() and 0 < int(question) <= table.state.questions:
        return f"question {question} was answered or has lapsed; {now}"
    return f"there is no question {question}; {now}"


# --- rounds that are over


def report_past(table: Table, at: Now, past: Past, record: Record, answered: Listed | None = None) -> None:
    """Set the record of a past round. The change may void that round, and it changes no other round."""
    house, already, last = table.house_of(record), len(table.events), table.state.last
    is_last = last is not None and past.completed is not None and same_round(last, past.completed)
    kept, past = past, replace(past, completed=last) if is_last else past
    was = judge(house, past.record)
    over = table.over(past, assess(house, record).record)
    publish_matters(over, at, was.record)
    ground, last = over.standing.course.void, over.state.last
    if ground is not None and was.record.published.voided is None:
        publish_voided(over, at, ground)
    elif last is not None and over.standing.returned != was.returned:
        publish_settled(over, at, last)
    if answered is not None and len(table.events) == already:
        publish_recorded(over, at, answered)
    after = replace(past, record=over.record, completed=over.state.last)
    now = outliving(house, after)
    topics = [each.topic for each in now if each.topic in past.topics or each.asked.ask in LATE]
    after = replace(after, topics=tuple(topics))
    state = table.state
    rest = tuple([after if each is kept else each for each in state.past])
    completed = after.completed if is_last else state.last
    table.state = replace(state, sequence=over.state.sequence, past=rest, last=completed)
    for found in () if renewed(past.record) else renewal(over.record):
        rounds.publish_between_rounds(table, at, found)
    revise(table, at, outliving(house, after))


def same_round(one: Completed, other: Completed) -> bool:
    return (one.published.shoe, one.published.round) == (other.published.shoe, other.published.round)


def publish_recorded(table: Table, at: Now, listed: Listed) -> None:
    asked, matter = listed.asked, listed.matter
    shoe, number = present(table)
    table.emit(
        at,
        events.IrregularityRuled(
            shoe=shoe,
            round=number,
            number=(matter and matter.number) or None,
            kind=matter.kind.value if matter else asked.ask.value,
            then=Then.STANDS.value,
            clause=asked.clause or None,
            decides=role_of(asked),
            silent=not asked.clause,
            reading="the round is over; the answer is on record",
        ),
    )
