"""Commands of people, and the answer to each: done, or refused with the reason.

A command says what a person saw or decided; it becomes an entry of the record, and is assessed as a card is. A Pit
Supervisor or above corrects the record (a misread card, a void round); a question is answered in the role that the rule
book names; every role of the house may give the other commands.
"""

from collections import Counter
from typing import Final, assert_never

from msgspec.structs import replace

from shoed import events
from shoed.commands import (
    Answer,
    Author,
    ClearFault,
    CloseBets,
    CorrectCard,
    Decide,
    EmptyShoe,
    GrantSqueeze,
    LockDevice,
    Notice,
    OpenBets,
    ReplaceSet,
    ReportLate,
    SettleRound,
    StartShoe,
    UnlockDevice,
    VoidRound,
    Withdraw,
)
from shoed.now import Now
from shoed.observations import Pair
from shoed.rules import drawing
from shoed.rules.book import Act, Rule
from shoed.rules.irregular import OF_A_CARD, Happened, course, lay
from shoed.rules.questions import Ask, Choice, Inquiry
from shoed.step import Told
from shoed.table import device_orders, rounds
from shoed.table.answers import decide
from shoed.table.asking import RECORD
from shoed.table.assess import with_moved_third
from shoed.table.context import Table, signed
from shoed.table.customs import after_the_cut
from shoed.table.matters import Matter, Status
from shoed.table.notices import exposed, is_known, replace_set, reported_again, same_thing, waits, withdraw
from shoed.table.phase import CORRECTABLE, DRAWN, OPEN, Phase
from shoed.table.questions import with_kept
from shoed.table.record import TOGETHER, Decided, Record, corrected, with_matter
from shoed.table.report import publish_noticed, publish_ruled, report
from shoed.words import FOLLOWS, Stage
from shoed.words import Event as Kind

UNTIL_THE_NEXT: Final = {Kind.WRONG_COUNT, Kind.INSURANCE_NEGLECTED}  # C 5.5.3, I 5.13: also once bets are paid


def obey(table: Table, told: Told, at: Now) -> None:
    refused = obeyed(table, told, at)
    table.answers.append(Answer(told.id, refused is None, refused or table.remark))


def obeyed(table: Table, told: Told, at: Now) -> str | None:  # noqa: C901, PLR0912 -- one line a command
    """None if it was done, else why not."""
    by = told.author
    if by.role is None and not isinstance(told.command, Decide):
        return "a player tells the house, and the house tells the table: name a role"
    match told.command:
        case OpenBets():
            return open_bets(table, at)
        case CloseBets():
            return close_bets(table, at)
        case Notice() as notice:
            return take_notice(table, notice, by, at)
        case Withdraw() as command:
            return withdraw(table, command, by, at)
        case ReplaceSet():
            return replace_set(table, by, at)
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
            return device_orders.obey(table, told)
        case _:
            assert_never(told.command)


def open_bets(table: Table, at: Now) -> str | None:
    record, phase = table.record, table.state.phase
    if phase in OPEN and not record.published.complete and not rounds.may_be_overtaken(table):
        return f"round {record.number} is {phase.value}: end it first, or void it"
    if not table.state.shoe.number:  # joined midway
        opened = Record(1, matters=record.matters)
        table.state = replace(table.state, shoe=replace(table.state.shoe, number=1), record=opened)
    rounds.open_round(table, at, "announcement")
    record = table.record
    against = after_the_cut(table.settings.custom, table.state.shoe, record.number)
    report(table, at, with_matter(record, *against))  # asked before its first card
    return None


def close_bets(table: Table, at: Now) -> str | None:
    if table.state.phase not in (Phase.BETTING, Phase.SUSPENDED) or table.record.play is not Phase.BETTING:
        return f"no bets are open: the table is {table.state.phase.value}"
    rounds.close_bets(table, at, "announcement")
    return None


# --- notices


def take_notice(table: Table, notice: Notice, by: Author, at: Now) -> str | None:
    record, phase = table.record, table.state.phase
    if notice.kind in FOLLOWS:
        return f"{notice.kind.value} is nothing that happens"
    number = notice.round or record.number
    past = None if notice.round is None else past_round(table, notice.round)
    if number > record.number and past is None:
        return f"round {number} has not been played; the last one is {record.number}"
    drawn = (*record.order, *record.waiting)
    together = notice.count if notice.kind is Kind.DRAWN_TOGETHER else 1
    first = len(drawn) - together + 1 if notice.at is None and drawn else notice.at or 0
    if past is not None:
        what = Happened(notice.kind, first, first, noticed_late=True)
        notice_late(table, Matter(0, what, Status.OPEN, f"told by {by.name} of round {past[1]}", by), past, at)
        return None
    counts = phase is Phase.SETTLED and notice.kind in UNTIL_THE_NEXT
    if notice.card is not None:
        entered = exposed(table, notice, notice.card)
        if isinstance(entered, str):
            return entered
        record, first = entered, len(entered.order)
    elif phase not in (*OPEN, *DRAWN) and not counts:
        return notice_between(table, notice, first, by, at)
    elif (reason := impossible(table, notice, first, len(drawn))) is not None:
        return reason
    matter = noticed_by(record, notice, first, by)
    if notice.card is not None:  # it was not drawn yet
        matter = replace(matter, noticed_after=table.record.last_drawn)
    enter(table, record, matter, at)
    return None


def notice_between(table: Table, notice: Notice, first: int, by: Author, at: Now) -> str | None:
    """A notice while no round is open. A foreign card may be one of the last round."""
    if notice.kind is Kind.INSURANCE_NEGLECTED:
        return f"no bet stands that insurance was owed to: the table is {table.state.phase.value}"
    drawn = (*table.record.order, *table.record.waiting)
    named = notice.kind is Kind.FOREIGN_CARD and notice.at is not None
    if named and (reason := impossible(table, notice, first, len(drawn))) is not None:
        return reason
    cards = (drawn[first - 1].id,) if named else ()
    rounds.between(table, at, rounds.of_no_round(notice.kind, f"told by {by.name}", by, cards))
    return None


def enter(table: Table, record: Record, matter: Matter, at: Now) -> None:
    matter = replace(matter, confirmation=table.confirmation(matter.by))
    known = same_thing(record, matter)
    table.remark = "" if known is None else is_known(record, known)
    if known is None and waits(record, matter):
        matter = replace(matter, status=Status.LATENT)
        publish_noticed(table, at, matter)
    record = with_matter(record, matter) if known is None else reported_again(record, known, matter)
    report(table, at, record)


def noticed_by(record: Record, notice: Notice, first: int, by: Author) -> Matter:
    drawn = (*record.order, *record.waiting)
    what = Happened(
        notice.kind,
        0,
        0,
        notice.count,
        notice.order_known,
        notice.reconstructable,
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
    evidence, last = f"told by {by.name}", record.last_drawn
    return Matter(0, what, Status.OPEN, evidence, by, 0, cards, last, tuple(meant))


def side(table: Table, at: int) -> Pair | None:
    """The hand that the card was drawn for, by the order of the deal."""
    before = [each.face for each in table.record.order[: at - 1] if each.face is not None]
    return drawing.due(table.book, lay(table.book, before)[0])


def impossible(table: Table, notice: Notice, first: int, drawn: int) -> str | None:
    """Why this cannot be said of the cards that there are."""
    order = table.record.order
    last = first + notice.count - 1 if notice.kind is Kind.DRAWN_TOGETHER else first
    if notice.kind is Kind.DRAWN_TOGETHER and notice.count < TOGETHER:
        return f"one card is not drawn together; count is {TOGETHER} or more"
    if notice.other is not None and (notice.kind is not Kind.WRONG_SIDE or not 1 <= notice.other <= drawn):
        return f"only a card of the round can be the other one of a {Kind.WRONG_SIDE.value}"
    if notice.other is not None and side(table, first) is side(table, notice.other):
        return f"cards {first} and {notice.other} are of one side: they cannot have changed places"
    if notice.kind in OF_A_CARD and not drawn:
        return f"{notice.kind.value} is said of a card, and none was drawn yet"
    if last > drawn or (notice.kind in OF_A_CARD and first < 1):
        return f"{notice.kind.value} is said of card {last}, and the round has {drawn}"
    if notice.kind is Kind.ORDER_ALTERED and notice.order and last > len(order):
        return f"card {last} has no place in the round yet: answer the open question first"
    lie = [each.face for each in order[first - 1 : first - 1 + len(notice.order)]]
    if notice.kind is Kind.ORDER_ALTERED and Counter(notice.order) != Counter(lie):
        return f"order is not the cards that came from card {first} on, {' '.join(str(face) for face in lie)}"
    return None


def past_round(table: Table, number: int | None) -> tuple[int, int] | None:
    """A round that is past: of this shoe, or the last of the one before, as long as this one has none."""
    shoe, played = table.record.shoe, table.record.number - 1
    if played < 0 and table.state.shoe.past is not None:
        shoe, played = table.state.shoe.past
    return (shoe, number) if number is not None and 1 <= number <= played else None


def notice_late(table: Table, matter: Matter, of: tuple[int, int], at: Now) -> None:
    """C 5.11: it is recorded, and no later round changes."""
    publish_noticed(table, at, matter, of)
    (ruling,) = course(table.book, (), [matter.what], Inquiry([])).rulings
    publish_ruled(table, at, matter, ruling, of)


def late(table: Table, act: str, by: Author, at: Now) -> str | None:
    acts = {each.value: each for each in Act}
    if act not in acts:
        return f"{act} is nothing that is late; write {' or '.join(acts)}"
    record = table.record
    if record.play in (Phase.IDLE, Phase.BETTING):
        return "the bets are not closed"
    ruled = table.book.late[acts[act]]
    data = events.BetsLate(
        shoe=record.shoe, round=record.number, act=act, then=ruled.then.value, clause=ruled.clause, **signed(by)
    )
    table.emit(at, data)
    return None


def squeeze(table: Table, by: Author, at: Now) -> str | None:
    record, phase = table.record, table.state.phase
    ground = table.book.rules.get(Rule.SQUEEZE_WAIVES_INSURANCE)
    if ground is None:
        return f"{table.book.id} has no insurance that a squeeze could waive"
    if not table.house.insurance:
        return "insurance is switched off at this table: there is none to waive"
    if phase not in OPEN or record.published.complete:
        return "no round is open" if phase not in OPEN else "no card is left to be squeezed"
    if record.squeeze:
        return "it was granted already"
    neglected = [each.what for each in record.counted if each.kind is Kind.INSURANCE_NEGLECTED]
    if any(each.stage is Stage.AFTER_PLAYER_THIRD for each in neglected):
        return "it was told that insurance was not offered: a squeeze asked for after that waives nothing"
    table.emit(at, events.InsuranceWaived(shoe=record.shoe, round=record.number, clause=ground.clause, **signed(by)))
    report(table, at, replace(record, squeeze=True))
    return None


# --- corrections


def may_correct(by: Author) -> str | None:
    if by.role is not None and by.role.may_decide_for(RECORD):
        return None
    return f"{by.role.value if by.role else 'a player'} may not mend the record: it takes {RECORD.value}"


def correct(table: Table, correction: CorrectCard, by: Author, at: Now) -> str | None:
    record = table.record
    if (reason := may_correct(by)) is not None:
        return reason
    if (correction.round or record.number) != record.number or table.state.phase not in CORRECTABLE:
        return correct_late(table, correction.round, f"card {correction.index} is {correction.card}", by, at)
    order = record.order
    if not 1 <= correction.index <= len(order):
        return f"card {correction.index} is none of the round, which has {len(order)}"
    card = order[correction.index - 1]
    if card.face is correction.card:
        return f"card {correction.index} is {card.face} already"
    evidence = f"card {correction.index} was told as {card.face or 'no card'}, and is {correction.card}"
    matter = Matter(0, Happened(Kind.OTHER, correction.index, 0), Status.OPEN, evidence, by)
    publish_noticed(table, at, matter, kind="misread")
    record = corrected(record, card.id, correction.card)
    if table.state.phase is Phase.SETTLED:
        record = with_kept(table.house, record)
    report(table, at, with_moved_third(table.house, table.standing, record))
    return None


def void(table: Table, number: int | None, by: Author, at: Now) -> str | None:
    record = table.record
    if (reason := may_correct(by)) is not None:
        return reason
    if (number or record.number) != record.number or table.state.phase not in CORRECTABLE:
        if table.state.phase is Phase.VOIDED and number in (None, record.number):
            return f"round {record.number} is void already"
        return correct_late(table, number, "it should have been void", by, at)
    decided = Decided(Ask.RULING, Choice.VOID.value, by, matter=0)
    report(table, at, replace(record, decisions=(*record.decisions, decided)))
    return None


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
    late_one = Happened(Kind.OTHER, 0, 0, noticed_late=not is_last)
    matter = Matter(0, late_one, Status.OPEN, f"of round {of[1]}: {what}", by)
    publish_noticed(table, at, matter, of, kind="correction")
    return None


def settle(table: Table, at: Now) -> str | None:
    if table.state.phase not in DRAWN:
        return f"no round is complete: the table is {table.state.phase.value}"
    rounds.settle(table, at, by_command=True)
    return None
