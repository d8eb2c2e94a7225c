"""Commands of people, and the answer to each command: executed, or refused with the reason.

A command becomes an entry of the record, and the record is assessed again, as after a card. These commands require a
role:
- `correct`, `void`, `replace-set` and a notice with `in_time`: Pit Supervisor or above;
- `put-away`: the role that the rule book names;
- `withdraw`: the role of the author of the notice, or a higher role;
- `decide`: the role that the question names;
- `clear-fault` with the card of an overdraw: Pit Supervisor or above.
Every role of the house may give the other commands.
"""

from collections import Counter
from typing import Final, assert_never

from msgspec.structs import replace

from shoed.model import events
from shoed.model.cards import Card
from shoed.model.commands import (
    Answer,
    Author,
    ClearFault,
    CloseBets,
    CorrectCard,
    Decide,
    EmptyShoe,
    GrantSqueeze,
    LockDevice,
    OpenBets,
    PutAway,
    ReplaceSet,
    ReportIrregularity,
    ReportLate,
    SettleRound,
    StartShoe,
    UnlockDevice,
    VoidRound,
    Withdraw,
)
from shoed.model.irregularities import FOLLOWS, Stage
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.moments import Now
from shoed.model.observations import Side
from shoed.model.step import Commanded
from shoed.rules import drawing
from shoed.rules.book import BetAction, Rule
from shoed.rules.irregular import ABOUT_A_CARD, Irregularity, course, deal
from shoed.rules.questions import Inquiry
from shoed.table import device_orders, rounds
from shoed.table.answers import decide, report_past
from shoed.table.context import Table, author_fields
from shoed.table.corrections import correct, may_correct, past_round, put_away, remembered, void
from shoed.table.customs import after_the_cut
from shoed.table.matters import Matter, Status
from shoed.table.notices import is_known, known_matter, replace_set, reported_again, waits, with_exposed_card, withdraw
from shoed.table.phase import DRAWN, OPEN, Phase
from shoed.table.question_events import ask
from shoed.table.record import TOGETHER, Record, Source, Where, changed, with_matter
from shoed.table.report import publish_noticed, publish_ruled, report

UNTIL_THE_NEXT: Final = {Kind.WRONG_COUNT, Kind.INSURANCE_NEGLECTED}  # C 5.5.3, I 5.13: also once bets are paid


def answer_command(table: Table, commanded: Commanded, at: Now) -> None:
    refused = execute(table, commanded, at)
    table.answers.append(Answer(commanded.id, refused is None, refused or table.remark))


def execute(table: Table, commanded: Commanded, at: Now) -> str | None:  # noqa: C901, PLR0912 -- one line a command
    """Execute the command; return the refusal, or None."""
    by = commanded.author
    if by.role is None and not isinstance(commanded.command, Decide):
        return "a player gives no commands except answers; name a role of the house"
    match commanded.command:
        case OpenBets():
            return open_bets(table, at)
        case CloseBets():
            return close_bets(table, at)
        case ReportIrregularity() as notice:
            return take_notice(table, notice, by, at)
        case Withdraw() as command:
            return withdraw(table, command, by, at)
        case ReplaceSet():
            return replace_set(table, by, at)
        case PutAway(index=index):
            return put_away(table, index, by, at)
        case ReportLate(act=act):
            return late(table, act, by, at)
        case GrantSqueeze():
            return squeeze(table, by, at)
        case Decide() as decision:
            return decide(table, decision, by, at)
        case CorrectCard() as correction:
            return correct(table, correction, by, at)
        case VoidRound(round=number):
            return void(table, number, by, at)
        case SettleRound():
            return settle(table, at)
        case StartShoe():
            rounds.start_shoe(table, at, whole=True)
            return None
        case EmptyShoe():
            rounds.run_empty(table, at, by)
            return None
        case LockDevice() | UnlockDevice() | ClearFault():
            return device_orders.record_order(table, commanded)
        case _:
            assert_never(commanded.command)


def open_bets(table: Table, at: Now) -> str | None:
    record, phase = table.record, table.state.phase
    if phase in OPEN and not rounds.may_be_overtaken(table):
        remedy = answer_first(table) or "end the round first"
        return f"round {record.number} is {phase.value}; {remedy}, or void the round"
    if not table.state.shoe.number:  # joined midway
        number = table.state.next_shoe
        opened = Record(number, matters=record.matters)
        table.state = replace(table.state, shoe=replace(table.state.shoe, number=number), record=opened)
    rounds.open_round(table, at, "announcement")
    record = table.record
    against = after_the_cut(table.settings.custom, table.state.shoe, record.number)
    report(table, at, with_matter(record, *against))  # a breach is asked about before the first card
    return None


def answer_first(table: Table) -> str:
    """The remedy while a question suspends the round; "": none does."""
    held = table.holding_question
    return "" if held is None else f"answer question {held} first"


def with_remedy(problem: str, remedy: str) -> str:
    return f"{problem}; {remedy}" if remedy else problem


def close_bets(table: Table, at: Now) -> str | None:
    if table.state.phase not in (Phase.BETTING, Phase.SUSPENDED) or table.record.play is not Phase.BETTING:
        return f"bets are not open; the table is {table.state.phase.value}"
    rounds.close_bets(table, at, "announcement")
    return None


# --- notices


def take_notice(table: Table, notice: ReportIrregularity, by: Author, at: Now) -> str | None:
    record = table.record
    if notice.kind in FOLLOWS:
        return f"{notice.kind.value} is a consequence, not an irregularity that a person reports"
    if notice.kind is Kind.DRAWN_TOGETHER and notice.count < TOGETHER:
        return f"{notice.kind.value} needs {TOGETHER} cards or more; write count={TOGETHER} or more"
    past = None if notice.round is None else past_round(table, notice.round)
    if past is not None:
        return notice_past(table, notice, past, by, at)
    if notice.round is not None and notice.round > record.number:
        return f"round {notice.round} has not been played; the last round is {record.number}"
    if notice.card is not None:
        return notice_exposed(table, notice, notice.card, by, at)
    (first, drawn), phase = first_of(record, notice), table.state.phase
    counts = phase is Phase.SETTLED and notice.kind in UNTIL_THE_NEXT
    if phase not in (*OPEN, *DRAWN) and not counts:
        return notice_between(table, notice, first, by, at)
    if (reason := impossible(table, notice, first, drawn)) is not None:
        return reason
    enter(table, notice, record, matter_of_notice(record, notice, first, by), at)
    return None


def notice_exposed(table: Table, notice: ReportIrregularity, face: Card, by: Author, at: Now) -> str | None:
    """A notice of a card that was seen before it was drawn."""
    before, record = table.record.last_drawn, with_exposed_card(table, notice, face, at)
    if isinstance(record, str):
        return record
    matter = matter_of_notice(record, notice, len(record.order), by)
    enter(table, notice, record, replace(matter, noticed_after=before), at)
    return None


def notice_past(table: Table, notice: ReportIrregularity, past: tuple[int, int], by: Author, at: Now) -> str | None:
    if notice.in_time:
        return notice_in_time(table, notice, past, by, at)
    first, _ = first_of(table.record, notice)
    irregularity = Irregularity(notice.kind, first, first, noticed_late=True)
    notice_late(table, Matter(irregularity, Status.OPEN, f"reported by {by.name} about round {past[1]}", by), past, at)
    kept = remembered(table, past)
    if notice.kind is Kind.FOREIGN_CARD and kept is not None:
        put_away_foreign(table, kept.record, first, by, at)
    return None


def put_away_foreign(table: Table, past: Record, first: int, by: Author, at: Now) -> None:
    """C 5.5.1: put away a foreign card of the last round that opens this round; once drawn, it voids the round."""
    drawn, record = past.drawn, table.record
    foreign = {each.row for each in drawn[first - 1 : first]} - {0}
    carried = next((each for each in record.cards if each.source is Source.CARRIED and each.row in foreign), None)
    if carried is None:
        return
    if carried.where is Where.LEFT_OVER:
        report(table, at, changed(record, replace(carried, where=Where.PUT_AWAY)))
        return
    irregularity, evidence = Irregularity(Kind.FOREIGN_CARD), f"reported by {by.name} about a card that was left over"
    matter = Matter(irregularity, Status.OPEN, evidence, by, cards=(carried.id,), noticed_after=record.last_drawn)
    report(table, at, with_matter(record, replace(matter, confirmation=table.confirmation(by))))


def first_of(record: Record, notice: ReportIrregularity) -> tuple[int, int]:
    """The ordinal of the first card of the notice, and the number of cards that left the shoe."""
    drawn = len(record.drawn)
    together = notice.count if notice.kind is Kind.DRAWN_TOGETHER else 1
    return (drawn - together + 1 if notice.at is None and drawn else notice.at or 0), drawn


def notice_in_time(
    table: Table, notice: ReportIrregularity, of_round: tuple[int, int], by: Author, at: Now
) -> str | None:
    """C 1.16, 5.5.3: a matter counts in its round if it was noticed before the next round commenced."""
    if (reason := may_correct(by)) is not None:
        return reason
    if (past := remembered(table, of_round)) is None:
        kept = "shoed keeps the cards of the last round and of rounds with open questions"
        return f"the cards of round {of_round[1]} are not kept; {kept}"
    over = table.over(past, past.record)
    first, drawn = first_of(past.record, notice)
    if (reason := impossible(over, notice, first, drawn)) is not None:
        return reason
    matter = matter_of_notice(past.record, notice, first, by)
    known = known_matter(past.record, matter)
    table.remark = "" if known is None else is_known(past.record, known)
    record = with_matter(past.record, matter) if known is None else reported_again(past.record, known, matter)
    report_past(table, at, past, record)
    ask(table, at)
    return None


def notice_between(table: Table, notice: ReportIrregularity, first: int, by: Author, at: Now) -> str | None:
    """A notice while no round is open. A foreign card may be a card of the last round."""
    if notice.kind is Kind.INSURANCE_NEGLECTED:
        return f"no bet with a right to insurance is in play; the table is {table.state.phase.value}"
    drawn = table.record.drawn
    named = notice.kind is Kind.FOREIGN_CARD and notice.at is not None
    if named and (reason := impossible(table, notice, first, len(drawn))) is not None:
        return reason
    cards = (drawn[first - 1].id,) if named else ()
    carried = table.record.having(Status.CARRIED_OVER)
    known = next((each for each in carried if (each.kind, each.cards, each.face) == (notice.kind, cards, None)), None)
    if known is not None:
        table.remark = is_known(table.record, known)
        again = Matter(known.irregularity, known.status, f"reported by {by.name}", by, cards=cards)
        table.set_standing(replace(table.standing, record=reported_again(table.record, known, again)))
        return None
    rounds.add_between_rounds(table, at, rounds.matter_between_rounds(notice.kind, f"reported by {by.name}", by, cards))
    return None


def enter(table: Table, notice: ReportIrregularity, record: Record, matter: Matter, at: Now) -> None:
    matter = replace(matter, confirmation=table.confirmation(matter.by))
    known = known_matter(record, matter)
    table.remark = "" if known is None else is_known(record, known)
    if known is None and waits(record, matter):
        matter = replace(matter, status=Status.LATENT)
        publish_noticed(table, at, matter)
    if known is not None and notice.order_known is not False:
        matter = replace(matter, irregularity=replace(matter.irregularity, order_known=known.irregularity.order_known))
    record = with_matter(record, matter) if known is None else reported_again(record, known, matter)
    report(table, at, record)


def matter_of_notice(record: Record, notice: ReportIrregularity, first: int, by: Author) -> Matter:
    drawn = record.drawn
    irregularity = Irregularity(
        notice.kind,
        count=notice.count,
        order_known=bool(notice.order_known),
        reconstructable=notice.reconstructable,
        of_the_dealing=notice.of_the_dealing,
        stage=notice.stage,
    )
    altered = notice.order if notice.kind is Kind.ORDER_ALTERED else ()
    count = notice.count if notice.kind is Kind.DRAWN_TOGETHER else max(1, len(altered))
    cards = tuple([each.id for each in drawn[first - 1 : first - 1 + count]]) if first else ()
    meant: list[int] = []
    for face in altered:
        meant.append(next(each for each in cards if record.card(each).face is face and each not in meant))
    if notice.other is not None:
        cards = (*cards, drawn[notice.other - 1].id)
    evidence, last = f"reported by {by.name}", record.last_drawn
    return Matter(irregularity, Status.OPEN, evidence, by, cards=cards, noticed_after=last, meant=tuple(meant))


def side(table: Table, at: int) -> Side | None:
    """The hand for which the card was drawn, by the order of the deal."""
    before = [each.face for each in table.record.order[: at - 1] if each.face is not None]
    return drawing.due(table.book, deal(table.book, before)[0])


def impossible(table: Table, notice: ReportIrregularity, first: int, drawn: int) -> str | None:
    """The refusal if the notice does not fit the cards of the round."""
    order = table.record.order
    last = first + notice.count - 1 if notice.kind is Kind.DRAWN_TOGETHER else first
    if notice.other is not None and (notice.kind is not Kind.WRONG_SIDE or not 1 <= notice.other <= drawn):
        kind = Kind.WRONG_SIDE.value
        return f"the field other belongs to a notice of {kind} and names a card of the round; correct the field"
    if notice.other is not None and side(table, first) is side(table, notice.other):
        return f"cards {first} and {notice.other} are of one side, so they cannot have changed places"
    if notice.kind in ABOUT_A_CARD and not drawn:
        return f"{notice.kind.value} concerns a card, and no card is drawn yet"
    if last > drawn or (notice.kind in ABOUT_A_CARD and first < 1):
        return f"{notice.kind.value} names card {last}, and the number of cards in the round is {drawn}"
    if notice.kind is Kind.ORDER_ALTERED and notice.order and last > len(order):
        return with_remedy(f"card {last} has no place in the round yet", answer_first(table))
    dealt = [each.face for each in order[first - 1 : first - 1 + len(notice.order)]]
    if notice.kind is Kind.ORDER_ALTERED and Counter(notice.order) != Counter(dealt):
        return f"the field order must have the cards from card {first} on: {' '.join(str(face) for face in dealt)}"
    return None


def notice_late(table: Table, matter: Matter, of_round: tuple[int, int], at: Now) -> None:
    """C 5.11: record the notice. No later round changes."""
    publish_noticed(table, at, matter, of_round)
    (ruling,) = course(table.book, (), [matter.irregularity], Inquiry([])).rulings
    publish_ruled(table, at, matter, ruling, of_round)


def late(table: Table, act: str, by: Author, at: Now) -> str | None:
    acts = {each.value: each for each in BetAction}
    if act not in acts:
        return f"{act} is not a late act; write {' or '.join(acts)}"
    record = table.record
    if record.play in (Phase.IDLE, Phase.BETTING):
        return "the bets are not closed"
    ruled = table.book.late[acts[act]]
    data = events.BetsLate(
        shoe=record.shoe, round=record.number, act=act, then=ruled.then.value, clause=ruled.clause, **author_fields(by)
    )
    table.emit(at, data)
    return None


def squeeze(table: Table, by: Author, at: Now) -> str | None:
    record, phase = table.record, table.state.phase
    ground = table.book.rules.get(Rule.SQUEEZE_WAIVES_INSURANCE)
    if ground is None:
        return f"{table.book.id} has no insurance that a squeeze waives"
    if not table.house.insurance:
        return "insurance is switched off at this table, so a squeeze waives nothing"
    if phase not in OPEN or record.published.complete:
        return "no round is open" if phase not in OPEN else "no card is due that could be squeezed"
    if record.squeeze:
        return "a squeeze was granted already in this round"
    neglected = [each.irregularity for each in record.counted if each.kind is Kind.INSURANCE_NEGLECTED]
    if any(each.stage is Stage.AFTER_PLAYER_THIRD for each in neglected):
        return "a notice reports that insurance was not offered; a later squeeze waives nothing"
    table.emit(
        at, events.InsuranceWaived(shoe=record.shoe, round=record.number, clause=ground.clause, **author_fields(by))
    )
    report(table, at, replace(record, squeeze=True))
    return None


def settle(table: Table, at: Now) -> str | None:
    if table.state.phase not in DRAWN:
        return with_remedy(f"no round is complete; the table is {table.state.phase.value}", answer_first(table))
    rounds.settle(table, at, by_command=True)
    return None
