"""Commands of people, and the answer to each: done, or refused with the reason.

A command says what a person saw or decided; it becomes an entry of the record, and is assessed as a card is. A Pit
Supervisor or above corrects the record (a misread card, a void round); a question is answered in the role that the rule
book names; every role of the house may give the other commands.
"""

from collections import Counter
from typing import Final, assert_never

from msgspec.structs import replace

from shoed import events
from shoed.cards import Card
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
    PutAway,
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
from shoed.rules.questions import Inquiry
from shoed.step import Told
from shoed.table import device_orders, rounds
from shoed.table.answers import decide, report_past
from shoed.table.context import Table, signed
from shoed.table.corrections import correct, may_correct, past_round, put_away, remembered, void
from shoed.table.customs import after_the_cut
from shoed.table.matters import Matter, Status
from shoed.table.notices import exposed, is_known, replace_set, reported_again, same_thing, waits, withdraw
from shoed.table.phase import DRAWN, OPEN, Phase
from shoed.table.posing import ask
from shoed.table.record import TOGETHER, Record, Source, Where, changed, with_matter
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
            return device_orders.obey(table, told)
        case _:
            assert_never(told.command)


def open_bets(table: Table, at: Now) -> str | None:
    record, phase = table.record, table.state.phase
    asked = f"answer question {table.state.asked[0].id}" if table.state.asked else "end it"
    if phase in OPEN and not rounds.may_be_overtaken(table):
        return f"round {record.number} is {phase.value}: {asked} first, or void the round"
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
    record = table.record
    if notice.kind in FOLLOWS:
        return f"{notice.kind.value} is nothing that happens"
    if notice.kind is Kind.DRAWN_TOGETHER and notice.count < TOGETHER:
        return f"one card is not drawn together; count is {TOGETHER} or more"
    past = None if notice.round is None else past_round(table, notice.round)
    if past is not None:
        return notice_past(table, notice, past, by, at)
    if notice.round is not None and notice.round > record.number:
        return f"round {notice.round} has not been played; the last one is {record.number}"
    if notice.card is not None:
        return notice_exposed(table, notice, notice.card, by, at)
    (first, drawn), phase = first_of(record, notice), table.state.phase
    counts = phase is Phase.SETTLED and notice.kind in UNTIL_THE_NEXT
    if phase not in (*OPEN, *DRAWN) and not counts:
        return notice_between(table, notice, first, by, at)
    if (reason := impossible(table, notice, first, drawn)) is not None:
        return reason
    enter(table, notice, record, noticed_by(record, notice, first, by), at)
    return None


def notice_exposed(table: Table, notice: Notice, face: Card, by: Author, at: Now) -> str | None:
    """A card that was seen before it was drawn."""
    before, record = table.record.last_drawn, exposed(table, notice, face, at)
    if isinstance(record, str):
        return record
    matter = noticed_by(record, notice, len(record.order), by)
    enter(table, notice, record, replace(matter, noticed_after=before), at)
    return None


def notice_past(table: Table, notice: Notice, past: tuple[int, int], by: Author, at: Now) -> str | None:
    if notice.in_time:
        return notice_in_time(table, notice, past, by, at)
    first, _ = first_of(table.record, notice)
    what = Happened(notice.kind, first, first, noticed_late=True)
    notice_late(table, Matter(what, Status.OPEN, f"told by {by.name} of round {past[1]}", by), past, at)
    kept = remembered(table, past)
    if notice.kind is Kind.FOREIGN_CARD and kept is not None:
        not_carried(table, kept.record, first, by, at)
    return None


def not_carried(table: Table, past: Record, first: int, by: Author, at: Now) -> None:
    """C 5.5.1: a card of the last round that opens this one is foreign: it is put away, or voids the round."""
    drawn, record = past.drawn, table.record
    foreign = {each.row for each in drawn[first - 1 : first]} - {0}
    carried = next((each for each in record.cards if each.source is Source.CARRIED and each.row in foreign), None)
    if carried is None:
        return
    if carried.where is Where.LYING:
        report(table, at, changed(record, replace(carried, where=Where.PUT_AWAY)))
        return
    what, evidence = Happened(Kind.FOREIGN_CARD), f"told by {by.name} of a card that was left over"
    matter = Matter(what, Status.OPEN, evidence, by, cards=(carried.id,), noticed_after=record.last_drawn)
    report(table, at, with_matter(record, replace(matter, confirmation=table.confirmation(by))))


def first_of(record: Record, notice: Notice) -> tuple[int, int]:
    """The ordinal of the card that the notice begins with, and how many cards left the shoe."""
    drawn = len(record.drawn)
    together = notice.count if notice.kind is Kind.DRAWN_TOGETHER else 1
    return (drawn - together + 1 if notice.at is None and drawn else notice.at or 0), drawn


def notice_in_time(table: Table, notice: Notice, of: tuple[int, int], by: Author, at: Now) -> str | None:
    """C 1.16, 5.5.3: a matter that was noticed before the next round commenced counts in its round."""
    if (reason := may_correct(by)) is not None:
        return reason
    if (past := remembered(table, of)) is None:
        return (
            f"the cards of round {of[1]} are not kept: only those of the last round, and of rounds with open questions"
        )
    over = table.over(past, past.record)
    first, drawn = first_of(past.record, notice)
    if (reason := impossible(over, notice, first, drawn)) is not None:
        return reason
    matter = noticed_by(past.record, notice, first, by)
    known = same_thing(past.record, matter)
    table.remark = "" if known is None else is_known(past.record, known)
    record = with_matter(past.record, matter) if known is None else reported_again(past.record, known, matter)
    report_past(table, at, past, record)
    ask(table, at)
    return None


def notice_between(table: Table, notice: Notice, first: int, by: Author, at: Now) -> str | None:
    """A notice while no round is open. A foreign card may be one of the last round."""
    if notice.kind is Kind.INSURANCE_NEGLECTED:
        return f"no bet stands that insurance was owed to: the table is {table.state.phase.value}"
    drawn = table.record.drawn
    named = notice.kind is Kind.FOREIGN_CARD and notice.at is not None
    if named and (reason := impossible(table, notice, first, len(drawn))) is not None:
        return reason
    cards = (drawn[first - 1].id,) if named else ()
    carried = table.record.having(Status.CARRIED_OVER)
    known = next((each for each in carried if (each.kind, each.cards, each.face) == (notice.kind, cards, None)), None)
    if known is not None:
        table.remark = is_known(table.record, known)
        again = Matter(known.what, known.status, f"told by {by.name}", by, cards=cards)
        table.set_standing(replace(table.standing, record=reported_again(table.record, known, again)))
        return None
    rounds.between(table, at, rounds.of_no_round(notice.kind, f"told by {by.name}", by, cards))
    return None


def enter(table: Table, notice: Notice, record: Record, matter: Matter, at: Now) -> None:
    matter = replace(matter, confirmation=table.confirmation(matter.by))
    known = same_thing(record, matter)
    table.remark = "" if known is None else is_known(record, known)
    if known is None and waits(record, matter):
        matter = replace(matter, status=Status.LATENT)
        publish_noticed(table, at, matter)
    if known is not None and notice.order_known is not False:
        matter = replace(matter, what=replace(matter.what, order_known=known.what.order_known))
    record = with_matter(record, matter) if known is None else reported_again(record, known, matter)
    report(table, at, record)


def noticed_by(record: Record, notice: Notice, first: int, by: Author) -> Matter:
    drawn = record.drawn
    what = Happened(
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
    evidence, last = f"told by {by.name}", record.last_drawn
    return Matter(what, Status.OPEN, evidence, by, cards=cards, noticed_after=last, meant=tuple(meant))


def side(table: Table, at: int) -> Pair | None:
    """The hand that the card was drawn for, by the order of the deal."""
    before = [each.face for each in table.record.order[: at - 1] if each.face is not None]
    return drawing.due(table.book, lay(table.book, before)[0])


def impossible(table: Table, notice: Notice, first: int, drawn: int) -> str | None:
    """Why this cannot be said of the cards that there are."""
    order = table.record.order
    last = first + notice.count - 1 if notice.kind is Kind.DRAWN_TOGETHER else first
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


def settle(table: Table, at: Now) -> str | None:
    if table.state.phase not in DRAWN:
        return f"no round is complete: the table is {table.state.phase.value}"
    rounds.settle(table, at, by_command=True)
    return None
