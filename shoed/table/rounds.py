"""How a round and a shoe begin and end, and what a house asks of them."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from shoed import events
from shoed.cards import Card, Rank
from shoed.commands import Author
from shoed.now import Now
from shoed.observations import CommunicationStarted, ShoeLoaded
from shoed.rules.irregular import Happened, course
from shoed.rules.questions import Ask, Inquiry
from shoed.table.asking import Doubt
from shoed.table.assess import foreseen
from shoed.table.context import BY_FIRST_CARD, Table, both, signed
from shoed.table.continuity import Continuity
from shoed.table.matters import Matter, Status
from shoed.table.phase import AT_THE_TABLE, OPEN, Move, Phase
from shoed.table.questions import not_placed, outliving, renewal, with_waiting
from shoed.table.readings import unheard
from shoed.table.record import (
    MOST_WAITING,
    Record,
    Where,
    carried_in,
    changed,
    positioned,
    with_matter,
    with_status,
)
from shoed.table.report import (
    account_again,
    ask,
    lapse,
    publish_noticed,
    publish_ruled,
    publish_settled,
    report,
    suspend,
    visible,
)
from shoed.table.state import Comparison, Shoe
from shoed.words import Event as Kind


def open_round(table: Table, at: Now, opened_by: str) -> None:
    lingering, not_decided = overtake(table, at)
    last = table.state.last
    if last is not None and last.answer is Comparison.AWAITED and not last.void:
        table.emit(at, events.RoundUnconfirmed(shoe=last.published.shoe, round=last.published.round))
        table.state = replace(table.state, last=replace(last, answer=Comparison.UNCONFIRMED))
    left = lying(table)
    end_round(table, at)
    before = table.record
    for found in renewal(before):
        publish_found(table, at, found)
    announced = opened_by == "announcement"
    table.move(Move.ANNOUNCED if announced else Move.OPENING_CARD)
    shoe = table.state.shoe
    if shoe.cut and shoe.missed is not None:  # this may be another shoe already
        table.state = replace(table.state, shoe=replace(shoe, whole=False))
    record = Record(
        shoe.number,
        before.number + 1,
        table.settings.game,
        announced=announced,
        play=Phase.BETTING if announced else Phase.IDLE,
    )
    for face in left:
        record = carried_in(record, face, Where.LYING)
    record = inherited(record, table.record, lingering, not_decided)
    table.set_record(record)
    integrity = table.state.shoe.integrity
    started = events.RoundStarted(
        shoe=record.shoe, round=record.number, game=record.game, opened_by=opened_by, shoe_integrity=integrity
    )
    table.emit(at, started)


def inherited(record: Record, before: Record, lingering: Sequence[Matter], not_decided: Sequence[Matter]) -> Record:
    """The record of the new round, with the matters that outlive the round before."""
    if record.announced:  # a card may still be placed in front of the first card of the round
        lingering = [each for each in lingering if each.kind is not Kind.CARD_IN_EXCESS]
    elif not_decided and Kind.CARD_IN_EXCESS not in {each.kind for each in lingering}:
        lingering = [*lingering, replace(not_decided[0], face=None, status=Status.LINGERING)]
    matters = [afresh(each) for each in lingering]
    matters += [each for each in before.having(Status.LATENT) if each.what.between_rounds]
    holding = (*before.having(Status.CARRIED_OVER), *(not_decided if record.announced else ()))[:MOST_WAITING]
    matters += [each if each.face is not None else replace(each, status=Status.HOLDING) for each in holding]
    next_id = 1 + max((each.id for each in before.matters), default=0)
    return replace(record, matters=tuple(kept_ids(matters, next_id)))


def afresh(matter: Matter) -> Matter:
    """A matter that outlives its round, without the cards of that one."""
    return replace(matter, number=0, cards=(), noticed_after=0, meant=(), face=None, ruling=None)


def kept_ids(matters: Sequence[Matter], next_id: int) -> Iterator[Matter]:
    """New matters get ids that no matter of the table had before."""
    for number, each in enumerate(matters):
        yield each if each.id else replace(each, id=next_id + number)


def overtake(table: Table, at: Now) -> tuple[Sequence[Matter], Sequence[Matter]]:
    """The round as it ends: the doubts that it leaves open, and the cards after it that have no place.

    A round that has all its cards, and waits only for players' choices or for a suspicion, is played on first. A round
    that was published is paid by its cards as they are now, whatever is asked of those after its end.
    """
    if not table.record.published.complete and may_be_overtaken(table):
        report(table, at, replace(table.record, overtaken=True))
    record, last, found = table.record, table.state.last, table.standing.course
    in_order = all(each.ask is not Ask.CARD_ORDER for each in table.standing.questions)
    if record.published.complete and last is not None and found.void is None and found.due is None and in_order:
        account_again(table, at, last, found.hands)
    return outliving(table.standing), not_placed(table.standing)


def may_be_overtaken(table: Table) -> bool:
    """Whether the round has all its cards, and waits only for players' choices or for a suspicion."""
    record, held_by = table.record, [each.ask for each in table.standing.questions if each.holds]
    if table.state.phase is not Phase.SUSPENDED or any(each not in (Ask.OPTION, Doubt.CONFIRM) for each in held_by):
        return False
    if record.published.complete:
        return not record.waiting
    found = foreseen(table.house, replace(record, overtaken=True))
    over = found.course.void is None and found.course.due is None and found.places_known
    return over and not found.record.waiting and not found.course.carried


def lying(table: Table) -> tuple[Card, ...]:
    """The cards that are left over between two rounds, and open the next one."""
    found = table.standing
    over = found.record.published.complete and found.course.void is None
    return (*(found.left_over if over else ()), *found.record.lying)


def begin_next(table: Table, at: Now) -> None:
    """The cards that wait are of the next round. Its first card was missed, unless some were left over."""
    before = table.record
    waiting = before.at(Where.WAITING)
    over = before
    for each in waiting:
        over = changed(over, replace(each, where=Where.NEXT_ROUND))
    table.set_record(over)
    open_round(table, at, "card")
    against = tuple(against_custom(table, Phase.IDLE))
    record = begin_dealing(table, at)
    gap = 0 if before.continuity.beyond is not None else None
    away = None if before.continuity.away is None else 0
    table.set_record(replace(record, continuity=Continuity(away, gap)))
    suspend(table, at, table.standing.due, waiting[0].seen)
    record = table.record
    if not record.order:
        record = unheard(record, waiting[0])
    record = with_waiting(record, before)
    for matter in against:
        record = with_matter(record, matter)
    report(table, at, record)


def begin_dealing(table: Table, at: Now) -> Record:
    """A card of the round is there. The first one closes the bets, and follows those left over before."""
    if table.record.play is Phase.DEALING:
        return table.record
    if table.record.play is Phase.BETTING:
        close_bets(table, at, "card")
    if table.state.phase is Phase.CLOSED:
        table.move(Move.OPENING_CARD)
    record = replace(table.record, play=Phase.DEALING)
    left = record.at(Where.LYING)
    if left:
        lapse(table, at)  # what is asked of an empty round is another question now
    for each in left:
        record = positioned(record, each.id)
    for matter in record.having(Status.CARRIED_OVER):
        record = with_status(record, matter, Status.HOLDING)
    table.set_record(record)
    return record


def against_custom(table: Table, play: Phase) -> Iterator[Matter]:
    """What this house asks for and has not been done; asked at the first card of a round whose phase was `play`."""
    if play is Phase.IDLE:  # the round was not announced
        yield from after_the_cut(table)
    if play in (Phase.IDLE, Phase.BETTING) and table.settings.custom.bets_close_by_command:
        yield suspicion(Kind.DEALING_ERROR, "the first card came before the bets were closed", at=1)
    if play is not Phase.DEALING and (evidence := burnt_otherwise(table)) is not None:
        yield suspicion(Kind.OTHER, evidence)


def suspicion(kind: Kind, evidence: str, at: int = 0) -> Matter:
    return Matter(0, Happened(kind, at, at), Status.SUSPECTED, evidence)


def after_the_cut(table: Table) -> Iterator[Matter]:
    shoe, rounds = table.state.shoe, table.settings.custom.rounds_after_cut
    if shoe.cut and rounds is not None and table.record.number > shoe.cut_in + rounds:
        evidence = f"the cutting card came in round {shoe.cut_in}, and {rounds} are dealt after it"
        yield suspicion(Kind.OTHER, evidence)


def burnt_otherwise(table: Table) -> str | None:
    """How the cards burnt at the start of this shoe differ from what the house asks for."""
    shoe, burn = table.state.shoe, table.settings.custom.burn_cards
    if burn is None or table.record.number != 1 or not shoe.whole:
        return None
    burnt = f"{shoe.burnt} cards were burnt at the start of this shoe"
    if burn == BY_FIRST_CARD:
        if shoe.first_card is None:
            return f"{burnt}, and no first card was read that says how many should have been"
        burn = 1 + min(shoe.first_card.rank, Rank.TEN)
    return None if shoe.burnt == burn else f"{burnt}, and {burn} should have been"


def close_bets(table: Table, at: Now, closed_by: str) -> None:
    record = table.record
    table.set_standing(replace(table.standing, record=replace(record, play=Phase.CLOSED)))
    table.move(Move.BETS_CLOSED)
    table.emit(at, events.BetsClosed(shoe=record.shoe, round=record.number, closed_by=closed_by))


def end_round(table: Table, at: Now) -> None:
    """Something new begins: the round is settled, or abandoned if it never had all its cards."""
    phase, record = table.state.phase, table.record
    if phase in AT_THE_TABLE and record.published.complete:
        settle(table, at, by_command=False)
    elif phase in OPEN:
        player, banker = both(table.book, visible(table))
        table.emit(at, events.RoundAbandoned(shoe=record.shoe, round=record.number, player=player, banker=banker))
        table.move(Move.GIVEN_UP)
    asked = table.state.asked
    if asked is not None and not (asked.topic.ask == Ask.NEXT_ROUND.value and asked.topic.optional):
        lapse(table, at)
    table.move(Move.NEXT)
    table.state = replace(table.state, suspended=None)


def settle(table: Table, at: Now, *, by_command: bool) -> None:
    """Every bet of a complete round is paid: published by command, or if there is more to it than the result."""
    found, last = table.standing, table.state.last
    more = found.returned or found.left_over or table.record.published.paid
    if last is not None and (by_command or more):
        publish_settled(table, at, last)
    table.move(Move.SETTLEMENT)


# --- shoes


def communication_started(table: Table, seen: CommunicationStarted | ShoeLoaded) -> None:
    """A new set is in the shoe. If the shoe only restarted, a round may still need a card of the old set."""
    record, shoe = table.record, table.state.shoe
    if isinstance(seen, ShoeLoaded):
        start_shoe(table, seen.at, whole=True)
        return
    needs_cards = not record.published.complete and (record.order or record.waiting)
    if table.state.phase in OPEN and needs_cards:
        if table.state.phase is Phase.SUSPENDED:  # a new shoe may have begun all the same
            table.state = replace(table.state, shoe=replace(shoe, missed=shoe.missed or seen.frame))
        return
    # Reports missed since the cut may have been this shoe's first; a jump to its own start is not one of them.
    start_shoe(table, seen.at, whole=shoe.missed in (None, seen.frame))


def start_shoe(table: Table, at: Now, *, whole: bool) -> None:
    lingering, _ = overtake(table, at)
    end_round(table, at)
    before, shoe = table.record, table.state.shoe
    past = (before.shoe, before.number) if before.number else shoe.past
    after = Shoe(shoe.number + 1, whole, past=past)
    outlive = (*lingering, *before.having(Status.CARRIED_OVER))  # but for a new set that was wanted: it is there
    matters = [afresh(each) for each in outlive if each.kind is not Kind.SET_REPLACED]
    beyond = None if before.continuity.beyond is None else 0
    record = Record(after.number, matters=tuple(matters), continuity=Continuity(beyond=beyond))
    table.state = replace(table.state, shoe=after, record=record, last_card=None)
    table.emit(at, events.ShoeStarted(shoe=after.number, shoe_integrity=after.integrity))
    for each in before.having(Status.LATENT):
        if each.what.between_rounds:  # found in the set that this shoe deals
            publish_found(table, at, replace(each, status=Status.CARRIED_OVER))
    ask(table, at)


def run_empty(table: Table, at: Now, by: Author | None) -> None:
    """C 5.5.4: a round that needs a card, now or after a decision or a correction, cannot be completed."""
    record = table.record
    shoe, number = record.shoe or None, record.number or None
    for each in record.having(Status.LATENT):
        if each.kind is Kind.TOO_FEW_CARDS:
            record = with_status(record, each, Status.WITHDRAWN)
    what = Happened(Kind.TOO_FEW_CARDS, 0, 0)
    record = with_matter(record, Matter(0, what, Status.LATENT, "the shoe is empty, and a card is due", by))
    table.emit(at, events.ShoeEmptied(shoe=shoe, round=number, **signed(by)))
    if table.state.phase in AT_THE_TABLE:
        report(table, at, record)
    else:
        table.set_record(record)


# --- between two rounds


def between(table: Table, at: Now, kind: Kind, evidence: str, by: Author | None = None) -> None:
    """Noticed while no round is open: nothing can be void, and the next round waits for a person."""
    what = Happened(kind, 0, 0, reconstructable=True, between_rounds=True)
    publish_found(table, at, Matter(0, what, Status.CARRIED_OVER, evidence, by))
    ask(table, at)


def publish_found(table: Table, at: Now, found: Matter) -> None:
    """A matter found between two rounds: one of a kind, but each card that was drawn in excess."""
    publish_noticed(table, at, found)
    (ruling,) = course(table.book, (), [found.what], Inquiry([])).rulings
    publish_ruled(table, at, found, ruling)
    carried = table.record.having(Status.CARRIED_OVER)
    there = [each.kind for each in carried if (each.face is None) is (found.face is None)]
    if len(there) < MOST_WAITING if found.face is not None else found.kind not in there:
        table.set_standing(replace(table.standing, record=with_matter(table.record, found)))
