"""How a round and a shoe begin and end, and what a house asks of them."""

from typing import Final

from msgspec.structs import replace

from shoed import events
from shoed.commands import Author
from shoed.now import Now
from shoed.observations import CommunicationStarted, ShoeLoaded
from shoed.rules.irregular import Happened, course
from shoed.rules.questions import Ask, Inquiry
from shoed.table.assess import foreseen
from shoed.table.context import AfterGap, Table, both, signed
from shoed.table.continuity import Continuity
from shoed.table.customs import against_custom
from shoed.table.matters import Matter, Status
from shoed.table.phase import AT_THE_TABLE, OPEN, Move, Phase
from shoed.table.posing import ask, lapse, revise
from shoed.table.questions import OF_A_NEW_SET, outliving, renewal, with_waiting
from shoed.table.readings import Reading, read, unheard
from shoed.table.record import (
    MOST_WAITING,
    CardEntry,
    Record,
    Where,
    carried_in,
    positioned,
    with_matter,
    with_status,
)
from shoed.table.report import (
    account_again,
    publish_noticed,
    publish_ruled,
    publish_settled,
    publish_settlement_again,
    report,
    suspend,
    visible,
)
from shoed.table.state import Comparison, Past, Shoe
from shoed.words import Event as Kind

NEW_SET: Final = Ask.SET_REPLACED.value
MISSING: Final = "were lost, or may have been lost"
MOST_PAST: Final = 8  # rounds with open questions; the questions of older ones lapse


def open_round(table: Table, at: Now, opened_by: str) -> None:
    overtake(table, at)
    last = table.state.last
    if last is not None and last.answer is Comparison.AWAITED and not last.void:
        table.emit(at, events.RoundUnconfirmed(shoe=last.published.shoe, round=last.published.round))
        table.state = replace(table.state, last=replace(last, answer=Comparison.UNCONFIRMED))
    left = lying(table)
    end_round(table, at, "the next round began")
    before = table.record
    for found in renewal(before):
        publish_found(table, at, found)
    over_empty(table, at, "bets were opened")
    announced = opened_by == "announcement"
    table.move(Move.ANNOUNCED if announced else Move.OPENING_CARD)
    shoe = table.state.shoe
    gap, asks = before.continuity, table.settings.after_gap is AfterGap.ASK
    unasked = (gap.unasked if asks else gap.gap) is not None and not before.published.complete
    of_no_round = bool(before.waiting) and not before.number  # a round may have been dealt unheard
    if unasked or shoe.gap or of_no_round or (shoe.cut and shoe.missed is not None):  # perhaps another shoe already
        table.state = replace(table.state, shoe=replace(shoe, whole=False))
    record = Record(
        shoe.number,
        before.number + 1,
        table.settings.game,
        announced=announced,
        play=Phase.BETTING if announced else Phase.IDLE,
    )
    for each in left:
        record = carried_in(record, each, Where.LYING)
    record = inherited(record, table.record)
    table.set_record(record)
    integrity = table.state.shoe.integrity
    started = events.RoundStarted(
        shoe=record.shoe, round=record.number, game=record.game, opened_by=opened_by, shoe_integrity=integrity
    )
    table.emit(at, started)


def inherited(record: Record, before: Record) -> Record:
    """The record of the new round, with the matters that hold it, or may hold it with its first card."""
    matters = [each for each in before.having(Status.LATENT) if each.what.between_rounds]
    for each in before.having(Status.CARRIED_OVER):  # a card that is kept is asked about before the first card
        status = Status.HOLDING if each.face is None else each.status
        matters.append(replace(each, status=status, cards=(), noticed_after=0))
    return replace(record, matters=tuple(matters), given=before.last_matter)


def overtake(table: Table, at: Now) -> None:
    """The round as it ends.

    A round that has all its cards, and waits only for players' choices or for a suspicion, is played on first. A round
    that was published is paid by its cards as they are now, whatever is asked of those after its end.
    """
    if not table.record.published.complete and may_be_overtaken(table):
        report(table, at, replace(table.record, overtaken=True))
    record, last, found = table.record, table.state.last, table.standing.course
    if record.published.complete and last is not None and found.void is None and found.due is None:
        account_again(table, at, last, found.hands)


def may_be_overtaken(table: Table) -> bool:
    """Whether the round has all its cards, and waits only for players' choices or for a suspicion."""
    found = foreseen(table.house, replace(table.record, overtaken=True))
    return found.course.void is None and found.course.due is None and not found.held


def lying(table: Table) -> tuple[CardEntry, ...]:
    """The cards that are left over between two rounds, and open the next one."""
    found = table.standing
    over = found.record.published.complete and found.course.void is None
    return (*(found.carried if over and not found.held else ()), *found.record.lying)


def begin_next(table: Table, at: Now, *, new_shoe: bool = False) -> None:
    """The cards that wait are of the next round. Its first card was missed, unless some were left over."""
    before = table.record
    waiting = before.waiting
    table.set_record(read(before, Reading.NEXT_ROUND))
    if new_shoe:
        start_spoken(table, at)
    open_round(table, at, "card")
    against = tuple(against_custom(table.settings.custom, table.state.shoe, table.record.number, Phase.IDLE))
    record = begin_dealing(table, at)
    lost = before.continuity.beyond is not None or waiting[0].after_loss
    away = None if before.continuity.away is None else 0
    table.set_record(replace(record, continuity=Continuity(away, gap=0 if lost else None)))
    suspend(table, at, table.standing.due, waiting[0].seen)
    record = table.record
    if not record.order:
        record = unheard(record, waiting[0], record.having(Status.HOLDING))
    report(table, at, with_matter(with_waiting(record, before), *against))


def begin_dealing(table: Table, at: Now) -> Record:
    """A card of the round is there. The first one closes the bets, and follows those left over before."""
    if table.record.play is Phase.DEALING:
        return table.record
    if table.record.play is Phase.BETTING:
        close_bets(table, at, "card")
    if table.state.phase is Phase.CLOSED:
        table.move(Move.OPENING_CARD)
    record = replace(table.record, play=Phase.DEALING)
    for each in record.at(Where.LYING):
        record = positioned(record, each.id)
    record = with_status(record, Status.HOLDING, *record.having(Status.CARRIED_OVER))
    table.set_record(record)
    return record


def close_bets(table: Table, at: Now, closed_by: str) -> None:
    record = table.record
    table.set_standing(replace(table.standing, record=replace(record, play=Phase.CLOSED)))
    table.move(Move.BETS_CLOSED)
    table.emit(at, events.BetsClosed(shoe=record.shoe, round=record.number, closed_by=closed_by))


def end_round(table: Table, at: Now, reason: str) -> None:
    """Something new begins: the round is settled, or abandoned if it never had all its cards."""
    phase, record = table.state.phase, table.record
    if table.state.suspended is not None and record.published.complete:
        table.emit(at, events.RoundOvertaken(shoe=record.shoe, round=record.number, reason=reason))
    if phase in AT_THE_TABLE and record.published.complete:
        settle(table, at, by_command=False)
    elif phase in OPEN:
        gap = record.continuity.gap is not None
        give_up(table, at, f"{reason}, and reports of this round {MISSING}" if gap else reason)
    remember(table, at, reason)
    table.move(Move.NEXT)
    table.state = replace(table.state, suspended=None)


def remember(table: Table, at: Now, reason: str) -> None:
    """The last round is kept, and each round with open questions; questions for players end with their round."""
    state, record = table.state, table.record
    remembered = [(each.record.shoe, each.record.number) for each in state.past]
    if record.number and (record.shoe, record.number) not in remembered:
        completed = state.last if record.published.complete else None
        past = Past(record, completed, suspended=state.suspended)
        left = outliving(table.house, past)
        past = replace(past, topics=tuple([each.topic for each in left]))
        kept = (*(each for each in state.past if each.topics), past)[-MOST_PAST:]
        table.state = replace(state, past=kept)
        revise(table, at, left)
    outlive = {each.topic for each in table.listed() if each.past is not None or each.holds_the_next}
    lapse(table, at, [each for each in table.state.asked if each.topic not in outlive], reason)


def give_up(table: Table, at: Now, reason: str) -> None:
    record, (player, banker) = table.record, both(table.book, visible(table))
    data = events.RoundAbandoned(shoe=record.shoe, round=record.number, player=player, banker=banker, reason=reason)
    table.emit(at, data)
    table.move(Move.GIVEN_UP)


def abandon(table: Table, at: Now) -> None:
    """The round ends without a result, and no other begins: reports were lost, and its cards are not known."""
    before, shoe = table.record, table.state.shoe
    reason = f"reports {MISSING}"
    give_up(table, at, reason)
    table.set_record(read(before, Reading.NEXT_ROUND))
    remember(table, at, reason)
    matters = [each for each in before.having(Status.LATENT) if each.what.between_rounds]
    matters += before.having(Status.CARRIED_OVER)
    beyond, given = Continuity(beyond=0), before.last_matter
    record = Record(before.shoe, before.number, before.game, matters=tuple(matters), given=given, continuity=beyond)
    table.state = replace(table.state, record=record, suspended=None, shoe=replace(shoe, gap=True))
    ask(table, at)


def settle(table: Table, at: Now, *, by_command: bool) -> None:
    """Every bet of a complete round is paid: published by command, or if there is more to it than the result."""
    found, last = table.standing, table.state.last
    more = found.returned or found.left_over or table.record.published.settled
    if last is not None and (by_command or more):
        publish_settled(table, at, last)
    table.move(Move.SETTLEMENT)


# --- shoes


def cut(table: Table, at: Now) -> None:
    shoe, number = table.state.shoe, table.record.number
    cut_in = shoe.cut_in if shoe.cut else max(1, number)
    shoe = replace(shoe, cut=True, cut_in=cut_in, missed=None, whole=shoe.whole and not shoe.gap)
    table.state = replace(table.state, shoe=shoe)
    table.emit(at, events.ShoeCut(shoe=shoe.number or None, round=number or None, shoe_integrity=shoe.integrity))


def communication_started(table: Table, seen: CommunicationStarted | ShoeLoaded) -> None:
    """A new set is in the shoe. While a round is open, the shoe may only have started again: a person is asked."""
    record, shoe = table.record, table.state.shoe
    if isinstance(seen, ShoeLoaded):
        start_shoe(table, seen.at, whole=True, set_id=seen.set_id)
        return
    if shoe.missed == seen.frame:  # a jump to its own start lacks none of its reports
        table.state = replace(table.state, shoe=replace(shoe, missed=None))
    if table.state.phase in OPEN and not record.published.complete:
        report(table, seen.at, replace(record, continuity=replace(record.continuity, restarted=record.last_id)))
    else:
        start_spoken(table, seen.at)


def start_spoken(table: Table, at: Now) -> None:
    """A shoe that started to speak after the cut card; reports missed since then may have been its first."""
    start_shoe(table, at, whole=table.state.shoe.missed is None)


def start_shoe(table: Table, at: Now, *, whole: bool, set_id: str = "") -> None:
    """`set_id`: of the set that this shoe deals; empty where nobody tells it."""
    overtake(table, at)
    held_by = table.record.having(Status.HOLDING, Status.CARRIED_OVER)
    over = [each for each in held_by if each.kind in OF_A_NEW_SET]
    table.set_record(with_status(table.record, Status.DECIDED, *over))
    end_round(table, at, "a new shoe began")
    before, shoe = table.record, table.state.shoe
    kept = [replace(each, topics=tuple([of for of in each.topics if of.ask != NEW_SET])) for each in table.state.past]
    past = (before.shoe, before.number) if before.number else shoe.past
    after = Shoe(shoe.number + 1, whole, past=past)
    matters = [replace(each, face=None, cards=(), noticed_after=0) for each in before.having(Status.CARRIED_OVER)]
    found = [each for each in before.having(Status.LATENT) if each.what.between_rounds]
    of_another = [each for each in found if set_id and each.set_id not in ("", set_id)]
    beyond = None if before.continuity.beyond is None else 0
    continuity = Continuity(beyond=beyond)
    waiting = (*of_another, *matters)
    record = Record(after.number, matters=waiting, given=before.last_matter, continuity=continuity)
    table.state = replace(table.state, shoe=after, record=record, last_card=None, past=tuple(kept))
    table.emit(at, events.ShoeStarted(shoe=after.number, shoe_integrity=after.integrity))
    for each in found:
        if each not in of_another:
            publish_found(table, at, replace(each, status=Status.CARRIED_OVER))
    ask(table, at)


def run_empty(table: Table, at: Now, by: Author | None) -> None:
    """C 5.5.4: a round that needs a card, now or after a decision or a correction, cannot be completed."""
    record = table.record
    shoe, number = record.shoe or None, record.number or None
    empty = [each for each in record.having(Status.LATENT) if each.kind is Kind.TOO_FEW_CARDS]
    record = with_status(record, Status.WITHDRAWN, *empty)
    table.state = replace(table.state, shoe=replace(table.state.shoe, emptied=True))
    what = Happened(Kind.TOO_FEW_CARDS)
    evidence, confirmation = "the shoe is empty, and a card is due", table.confirmation(by)
    record = with_matter(record, Matter(what, Status.LATENT, evidence, by, confirmation=confirmation))
    table.emit(at, events.ShoeEmptied(shoe=shoe, round=number, **signed(by)))
    if table.state.phase in AT_THE_TABLE:
        report(table, at, record)
    else:
        table.set_record(record)


def over_empty(table: Table, at: Now, what: str) -> None:
    """C 5.5.4: no round can be dealt from an empty shoe; the next one waits for a new shoe."""
    shoe = table.state.shoe
    if shoe.emptied:
        table.state = replace(table.state, shoe=replace(shoe, emptied=False))
        evidence = f"the shoe is empty, no new shoe was announced, and {what}"
        publish_found(table, at, of_no_round(Kind.TOO_FEW_CARDS, evidence))


# --- between two rounds


def of_no_round(kind: Kind, evidence: str, by: Author | None = None, cards: tuple[int, ...] = ()) -> Matter:
    """Noticed while no round is open: nothing can be void, and the next round waits for a person."""
    what = Happened(kind, reconstructable=True, between_rounds=True)
    return Matter(what, Status.CARRIED_OVER, evidence, by, cards=cards)


def between(table: Table, at: Now, found: Matter) -> None:
    before = table.standing
    publish_found(table, at, found)
    publish_settlement_again(table, at, before)
    ask(table, at)


def publish_found(table: Table, at: Now, found: Matter) -> None:
    """A matter found between two rounds: one of a kind, but each card that was drawn in excess."""
    publish_noticed(table, at, found if found.face is None else replace(found, cards=()))
    (ruling,) = course(table.book, (), [found.what], Inquiry([])).rulings
    publish_ruled(table, at, found, ruling)
    carried = table.record.having(Status.CARRIED_OVER)
    there = [each.kind for each in carried if (each.face is None) is (found.face is None)]
    several = found.face is not None or found.cards
    if len(there) < MOST_WAITING if several else found.kind not in there:
        table.set_standing(replace(table.standing, record=with_matter(table.record, found)))
