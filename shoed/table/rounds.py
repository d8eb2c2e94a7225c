"""The beginning and the end of rounds and shoes."""

from typing import Final

from msgspec.structs import replace

from shoed.model import events
from shoed.model.commands import Author
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.moments import Now
from shoed.model.observations import CommunicationStarted, ShoeLoaded
from shoed.rules.irregular import Irregularity, course
from shoed.rules.questions import Ask, Inquiry
from shoed.table.assess import foreseen
from shoed.table.context import AfterGap, Table, author_fields, public_hands
from shoed.table.continuity import RoundContinuity
from shoed.table.customs import custom_breaches
from shoed.table.matters import Matter, Status
from shoed.table.phase import AT_THE_TABLE, OPEN, Move, Phase
from shoed.table.question_events import ask, lapse, revise
from shoed.table.questions import OF_A_NEW_SET, outliving, renewal, with_waiting
from shoed.table.readings import Reading, read, with_missed_card
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

NEW_SET: Final = Ask.SET_REPLACED.value
MISSING: Final = "were lost, or may have been lost"
# The reasons for the end of a round.
NEXT_ROUND_BEGAN: Final = "the next round began"
NEW_SHOE_BEGAN: Final = "a new shoe began"
REPORTS_MISSING: Final = f"reports {MISSING}"
MOST_PAST: Final = 8  # rounds with open questions; the questions of older rounds lapse


def open_round(table: Table, at: Now, opened_by: str) -> None:
    if table.state.journal.rounds_elsewhere:
        start_shoe(table, at, whole=False)
    overtake(table, at)
    last = table.state.last
    if last is not None and last.answer is Comparison.AWAITED and not last.void:
        table.emit(at, events.RoundUnconfirmed(shoe=last.published.shoe, round=last.published.round))
        table.state = replace(table.state, last=replace(last, answer=Comparison.UNCONFIRMED))
    left = left_over_cards(table)
    end_round(table, at, NEXT_ROUND_BEGAN)
    before = table.record
    for found in renewal(before):
        publish_between_rounds(table, at, found)
    end_empty_shoe(table, at, "bets were opened")
    announced = opened_by == "announcement"
    table.move(Move.ANNOUNCED if announced else Move.OPENING_CARD)
    shoe = table.state.shoe
    gap, asks = before.continuity, table.settings.after_gap is AfterGap.ASK
    unasked = (gap.unasked if asks else gap.gap) is not None and not before.published.complete
    round_missed = bool(before.waiting) and not before.number  # a round may have been dealt without reports
    shoe_missed = shoe.cut and shoe.missed is not None  # this may be another shoe
    if unasked or shoe.gap or round_missed or shoe_missed:
        table.state = replace(table.state, shoe=replace(shoe, whole=False))
    record = Record(
        shoe.number,
        before.number + 1,
        table.settings.game,
        announced=announced,
        play=Phase.BETTING if announced else Phase.IDLE,
    )
    for each in left:
        record = carried_in(record, each, Where.LEFT_OVER)
    record = inherited(record, table.record)
    table.set_record(record)
    integrity = table.state.shoe.integrity
    started = events.RoundStarted(
        shoe=record.shoe, round=record.number, game=record.game, opened_by=opened_by, shoe_integrity=integrity
    )
    table.emit(at, started)


def inherited(record: Record, before: Record) -> Record:
    """The record of the new round, with the matters that hold it now or from its first card on."""
    matters = [each for each in before.having(Status.LATENT) if each.irregularity.between_rounds]
    for each in before.having(Status.CARRIED_OVER):  # a card left over is asked about before the first card
        status = Status.HOLDING if each.face is None else each.status
        matters.append(replace(each, status=status, cards=(), noticed_after=0))
    return replace(record, matters=tuple(matters), earlier_matters=before.last_matter)


def overtake(table: Table, at: Now) -> None:
    """Prepare the end of the round, because a new round or shoe begins.

    If a round has all its cards and waits only for players' choices or for a suspicion, it is completed first. A
    completed round is paid by its present cards. Open questions about later cards do not change the pays.
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


def left_over_cards(table: Table) -> tuple[CardEntry, ...]:
    """The cards that are left over between two rounds and open the next round."""
    found = table.standing
    over = found.record.published.complete and found.course.void is None
    return (*(found.carried if over and not found.held else ()), *found.record.left_over)


def begin_next(table: Table, at: Now, *, new_shoe: bool = False) -> None:
    """Begin the next round with the waiting cards. Its first card was missed, unless cards were left over."""
    before = table.record
    waiting = before.waiting
    table.set_record(read(before, Reading.NEXT_ROUND))
    if new_shoe:
        start_after_cut(table, at)
    open_round(table, at, "card")
    against = tuple(custom_breaches(table.settings.custom, table.state.shoe, table.record.number, Phase.IDLE))
    record = begin_dealing(table, at)
    lost = before.continuity.beyond is not None or waiting[0].after_loss
    away = None if before.continuity.away is None else 0
    table.set_record(replace(record, continuity=RoundContinuity(away, gap=0 if lost else None)))
    suspend(table, at, table.standing.due, waiting[0].seen)
    record = table.record
    if not record.order:
        record = with_missed_card(record, waiting[0], record.having(Status.HOLDING))
    report(table, at, with_matter(with_waiting(record, before), *against))


def begin_dealing(table: Table, at: Now) -> Record:
    """The record in the phase of dealing. The first card closes the bets; the left-over cards are placed before it."""
    if table.record.play is Phase.DEALING:
        return table.record
    if table.record.play is Phase.BETTING:
        close_bets(table, at, "card")
    if table.state.phase is Phase.CLOSED:
        table.move(Move.OPENING_CARD)
    record = replace(table.record, play=Phase.DEALING)
    for each in record.at(Where.LEFT_OVER):
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
    """Settle the round, or abandon it if it never had all its cards: a new round or shoe begins."""
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
    """Keep the last round, and each round with open questions. Questions for players end with their round."""
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
    record, (player, banker) = table.record, public_hands(table.book, visible(table))
    data = events.RoundAbandoned(shoe=record.shoe, round=record.number, player=player, banker=banker, reason=reason)
    table.emit(at, data)
    table.move(Move.GIVEN_UP)


def abandon(table: Table, at: Now) -> None:
    """End the round without a result because reports are missing. The next round begins with its own first card."""
    before, shoe = table.record, table.state.shoe
    give_up(table, at, REPORTS_MISSING)
    table.set_record(read(before, Reading.NEXT_ROUND))
    remember(table, at, REPORTS_MISSING)
    matters = [each for each in before.having(Status.LATENT) if each.irregularity.between_rounds]
    matters += before.having(Status.CARRIED_OVER)
    beyond, earlier_matters = RoundContinuity(beyond=0), before.last_matter
    record = Record(
        before.shoe,
        before.number,
        before.game,
        matters=tuple(matters),
        earlier_matters=earlier_matters,
        continuity=beyond,
    )
    table.state = replace(table.state, record=record, suspended=None, shoe=replace(shoe, gap=True))
    ask(table, at)


def settle(table: Table, at: Now, *, by_command: bool) -> None:
    """Pay every bet of a complete round.

    Published by command, or if bets are returned, cards are left over, or a settlement was published before.
    """
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
    """A new shoe, or a restart of the same shoe. While a round is open, a person decides."""
    record, shoe = table.record, table.state.shoe
    if isinstance(seen, ShoeLoaded):
        start_shoe(table, seen.at, whole=True, set_id=seen.set_id)
        return
    if shoe.missed == seen.frame:  # the numbers jumped to this start: no report of the new shoe is missing
        table.state = replace(table.state, shoe=replace(shoe, missed=None))
    if table.state.phase in OPEN and not record.published.complete:
        report(table, seen.at, replace(record, continuity=replace(record.continuity, restarted=record.last_id)))
    else:
        start_after_cut(table, seen.at)


def start_after_cut(table: Table, at: Now) -> None:
    """Start the shoe that began communication after the cut card. It is partial if reports are missing since then."""
    start_shoe(table, at, whole=table.state.shoe.missed is None)


def start_shoe(table: Table, at: Now, *, whole: bool, set_id: str = "") -> None:
    """End the open round, carry over the open matters, and publish the start. `set_id` is empty if it is unknown."""
    overtake(table, at)
    waiting = table.record.having(Status.HOLDING, Status.CARRIED_OVER)
    solved = [each for each in waiting if each.kind in OF_A_NEW_SET]
    table.set_record(with_status(table.record, Status.DECIDED, *solved))
    end_round(table, at, NEW_SHOE_BEGAN)
    ended, shoe = table.record, table.state.shoe
    past_rounds = [
        replace(each, topics=tuple([topic for topic in each.topics if topic.ask != NEW_SET]))
        for each in table.state.past
    ]
    last_round = (ended.shoe, ended.number) if ended.number else shoe.past
    started = Shoe(table.state.next_shoe, whole, past=last_round)
    carried = [replace(each, face=None, cards=(), noticed_after=0) for each in ended.having(Status.CARRIED_OVER)]
    about_sets = [each for each in ended.having(Status.LATENT) if each.irregularity.between_rounds]
    about_other_sets = [each for each in about_sets if set_id and each.set_id not in ("", set_id)]
    continuity = RoundContinuity(beyond=None if ended.continuity.beyond is None else 0)
    matters = (*about_other_sets, *carried)
    record = Record(started.number, matters=matters, earlier_matters=ended.last_matter, continuity=continuity)
    journal = replace(table.state.journal, rounds_elsewhere=False)
    table.state = replace(
        table.state, shoe=started, record=record, last_card=None, past=tuple(past_rounds), journal=journal
    )
    table.emit(at, events.ShoeStarted(shoe=started.number, shoe_integrity=started.integrity))
    for each in about_sets:
        if each not in about_other_sets:
            publish_between_rounds(table, at, replace(each, status=Status.CARRIED_OVER))
    ask(table, at)


def run_empty(table: Table, at: Now, by: Author | None) -> None:
    """C 5.5.4: a round cannot be completed if a card is due, now or after a decision or a correction."""
    record = table.record
    shoe, number = record.shoe or None, record.number or None
    empty = [each for each in record.having(Status.LATENT) if each.kind is Kind.TOO_FEW_CARDS]
    record = with_status(record, Status.WITHDRAWN, *empty)
    table.state = replace(table.state, shoe=replace(table.state.shoe, emptied=True))
    irregularity = Irregularity(Kind.TOO_FEW_CARDS)
    evidence, confirmation = "the shoe is empty, and a card is due", table.confirmation(by)
    record = with_matter(record, Matter(irregularity, Status.LATENT, evidence, by, confirmation=confirmation))
    table.emit(at, events.ShoeEmptied(shoe=shoe, round=number, **author_fields(by)))
    if table.state.phase in AT_THE_TABLE:
        report(table, at, record)
    else:
        table.set_record(record)


def end_empty_shoe(table: Table, at: Now, reason: str) -> None:
    """C 5.5.4: no round can be dealt from an empty shoe; the next round waits for a new shoe."""
    shoe = table.state.shoe
    if shoe.emptied:
        table.state = replace(table.state, shoe=replace(shoe, emptied=False))
        evidence = f"the shoe is empty, no new shoe was announced, and {reason}"
        publish_between_rounds(table, at, matter_between_rounds(Kind.TOO_FEW_CARDS, evidence))


# --- between two rounds


def matter_between_rounds(kind: Kind, evidence: str, by: Author | None = None, cards: tuple[int, ...] = ()) -> Matter:
    """A matter that is noticed while no round is open: it voids no round, and the next round waits for a person."""
    irregularity = Irregularity(kind, reconstructable=True, between_rounds=True)
    return Matter(irregularity, Status.CARRIED_OVER, evidence, by, cards=cards)


def add_between_rounds(table: Table, at: Now, found: Matter) -> None:
    before = table.standing
    publish_between_rounds(table, at, found)
    publish_settlement_again(table, at, before)
    ask(table, at)


def publish_between_rounds(table: Table, at: Now, found: Matter) -> None:
    """Publish a matter found between two rounds, and add it to the record.

    The record has one such matter of each kind, and one for each card that was drawn in excess.
    """
    publish_noticed(table, at, found if found.face is None else replace(found, cards=()))
    (ruling,) = course(table.book, (), [found.irregularity], Inquiry([])).rulings
    publish_ruled(table, at, found, ruling)
    carried = table.record.having(Status.CARRIED_OVER)
    kinds = [each.kind for each in carried if (each.face is None) is (found.face is None)]
    several = found.face is not None or found.cards
    if len(kinds) < MOST_WAITING if several else found.kind not in kinds:
        table.set_standing(replace(table.standing, record=with_matter(table.record, found)))
