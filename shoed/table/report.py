"""The events of a change of the record: the difference between the published events and the standing of the round.

Theory of operation: `report` compares the earlier standing of the round with the standing of its new record. It
publishes new facts in this order: the suspension, the irregularities, their rulings, the change of the round (void,
resumed, complete, corrected), and the question that is asked. The end of a round is published before later cards are
assessed, so `report` repeats until no card waits.
"""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from shoed.model import events
from shoed.model.cards import Card
from shoed.model.events import Points, RoundCompleted, RoundResult, Seen, Slot
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.moments import Now
from shoed.model.observations import Outcome, Side
from shoed.rules import drawing
from shoed.rules.book import Rule, Then
from shoed.rules.drawing import Hands
from shoed.rules.irregular import Ruling
from shoed.table.assess import Standing, assess, shown
from shoed.table.context import Table, author_fields, pays_of, public_hands
from shoed.table.matters import Matter, Status
from shoed.table.phase import DRAWN, Move, Phase
from shoed.table.question_events import ask
from shoed.table.questions import left_by_void
from shoed.table.readings import due_slot, slot
from shoed.table.record import (
    MOST_WAITING,
    CardEntry,
    Record,
    Source,
    Where,
    changed,
    facts,
    with_changed,
    with_matter,
    with_status,
)
from shoed.table.state import Comparison, Completed

NOTHING: Final = Seen()
RESUMES: Final = {
    Phase.BETTING: Move.STILL_BETTING,
    Phase.CLOSED: Move.STILL_CLOSED,
    Phase.DEALING: Move.RESUMED,
}


def report(table: Table, at: Now, record: Record, seen: Seen = NOTHING) -> None:
    """Set the record of the round and publish the difference; `seen` is the report that caused the change."""
    while True:
        before = table.standing
        after = assess(table.house, record, before)
        table.set_standing(after)
        publish_differences(table, at, before, seen)
        record, seen = table.record, NOTHING
        if not after.record.published.complete or record.published.complete:
            publish_settlement_again(table, at, before)
            record = table.record
            following = record.at(Where.DEFERRED, Where.WAITING) if table.state.phase in DRAWN else ()
            if not following:
                break
            seen = following[0].seen
    ask(table, at)


def publish_differences(table: Table, at: Now, before: Standing, seen: Seen) -> None:
    after = table.standing
    if after.held and after.course.void is None:
        suspend(table, at, due_slot(before.record, before.course), seen)
    publish_matters(table, at, before.record)
    if after.course.void is None and after.places_known and not all(each.published for each in table.record.order):
        publish_drawn(table, at)
    if after.course.void is not None:
        if table.state.phase is not Phase.VOIDED:
            void(table, at, after.course.void)
    elif not after.held:
        continue_round(table, at, before)
    else:
        amend(table, at)


def visible(table: Table) -> Hands:
    return shown(table.house, table.standing)


# --- matters


def publish_matters(table: Table, at: Now, was: Record) -> None:
    record, rulings = table.record, table.standing.rulings
    suspected = {each.id for each in was.having(Status.SUSPECTED)}
    for each in record.having(Status.SUSPECTED):
        if each.id not in suspected and not each.number:
            publish_noticed(table, at, each)
    for each in record.counted:
        if not each.number:
            numbered = replace(each, number=1 + max(each.number for each in record.matters))
            record = with_changed(record, numbered)
            publish_noticed(table, at, numbered)
    for ruling in rulings:
        matter = record.matter(ruling.irregularity)
        if ruling.then is not Then.ASK and matter.ruling != ruling:
            publish_ruled(table, at, matter, ruling)
            record = with_changed(record, replace(matter, ruling=ruling))
            if matter.status is Status.OPEN:
                record = with_status(record, Status.RULED, record.matter(matter.id))
    if record is not table.record:
        table.set_standing(replace(table.standing, record=record))


def publish_noticed(
    table: Table, at: Now, matter: Matter, of_round: tuple[int, int] | None = None, kind: str = ""
) -> None:
    """`of_round` is the shoe and the number of the round; None: the present round."""
    irregularity, (shoe, number) = facts(table.record, matter), of_round or present(table)
    table.emit(
        at,
        events.IrregularityNoticed(
            shoe=shoe,
            round=number,
            number=matter.number or None,
            kind=kind or irregularity.kind.value,
            at=irregularity.at or None,
            count=irregularity.count if irregularity.kind is Kind.DRAWN_TOGETHER else None,
            other=irregularity.other or None,
            evidence=matter.evidence,
            late=irregularity.noticed_late,
            **author_fields(matter.by),
        ),
    )


def publish_ruled(
    table: Table, at: Now, matter: Matter, ruling: Ruling, of_round: tuple[int, int] | None = None
) -> None:
    shoe, number = of_round or present(table)
    table.emit(
        at,
        events.IrregularityRuled(
            shoe=shoe,
            round=number,
            number=matter.number or None,
            kind=matter.kind.value,
            then=ruling.then.value,
            clause=ruling.clause or None,
            decides=ruling.decides.value if ruling.decides else None,
            silent=ruling.silent,
            reading=ruling.reading or None,
        ),
    )


def present(table: Table) -> tuple[int | None, int | None]:
    return table.record.shoe or None, table.record.number or None


# --- suspension, continuation and end of the round


def suspend(table: Table, at: Now, due: Slot | None, seen: Seen) -> None:
    """Suspend the round, once. Later reports in a suspended round publish no further suspension."""
    if table.state.phase is Phase.SUSPENDED:
        return
    table.move(Move.DOUBT)
    record = table.record
    away = record.continuity.away is not None
    suspended = events.RoundSuspended(shoe=record.shoe, round=record.number, due=due, seen=seen, gap=away)
    table.state = replace(table.state, suspended=suspended)
    table.emit(at, suspended)


def publish_drawn(table: Table, at: Now) -> None:
    """Publish `card/drawn` for each card of a hand without such an event.

    The card is due, was set aside or left over before, or was entered by a person.
    """
    standing = table.standing
    record, dealt, drawn = table.record, standing.course.hands, Hands()
    left = {Side.PLAYER: list(dealt.player), Side.BANKER: list(dealt.banker)}
    for card in record.order:
        sequence, hands = card.sequence, [hand for hand, faces in left.items() if card.face in faces]
        if len(hands) > 1 and drawing.due(table.book, drawn) is Side.BANKER:
            hands.reverse()
        hand = next((each for each in hands if left[each][0] is card.face), hands[0] if hands else None)
        if hand is not None and (face := card.face) is not None:
            left[hand].remove(face)
            drawn = drawn.with_card(hand, face)
            if not card.published:
                sequence = table.emit(at, card_drawn(table, card, face, hand, drawn))
        if not card.published:
            record = changed(record, replace(card, published=True, sequence=sequence))
    table.set_standing(replace(table.standing, record=record))


def card_drawn(table: Table, card: CardEntry, face: Card, hand: Side, hands: Hands) -> events.CardDrawn:
    return events.CardDrawn(
        shoe=table.record.shoe,
        round=table.record.number,
        index=table.record.index(card.id),
        hand=hand,
        card=face,
        points=Points(drawing.points(table.book, hands.player), drawing.points(table.book, hands.banker)),
        provenance=card.row or table.row,
        set_aside=table.event_id(card.sequence) if card.sequence else None,
        source=(Source.DEVICE if card.row else Source.PERSON).value,
        measured=card.measured or UNSET,
    )


def continue_round(table: Table, at: Now, before: Standing) -> None:
    """Continue without a person: a card is due, or the round is complete."""
    if table.state.phase is Phase.SUSPENDED:
        resume(table, at)
    record, after = table.record, table.standing
    if not record.order:
        if table.state.phase is Phase.SUSPENDED:
            table.move(RESUMES[record.play])
    elif after.due is None:
        finish(table, at, after.course.hands)
    elif record.published.complete and table.state.last is not None:  # a correction made a card due
        correct(table, at, table.state.last, after.course.hands, after.due)
    elif table.state.phase is Phase.SUSPENDED:
        table.move(Move.RESUMED)
    else:
        hands = after.course.hands
        if hands != before.course.hands:
            superseded = max([record.published.accounted, *(each.sequence for each in before.record.order)])
            accounted = publish_corrected(table, at, account(table, hands), after.due, superseded)
            publish_in(table, accounted=accounted)
        table.move(Move.DUE_CARD)


def resume(table: Table, at: Now) -> None:
    record, after = table.record, table.standing
    player, banker = public_hands(table.book, after.course.hands)
    phase = Phase.COMPLETE if after.due is None else Phase.DEALING if record.order else record.play
    table.emit(
        at,
        events.RoundResumed(
            shoe=record.shoe,
            round=record.number,
            player=player,
            banker=banker,
            due=after.due,
            carried=after.course.carried,
            phase=phase.value,
        ),
    )
    table.state = replace(table.state, suspended=None)


def publish_in(table: Table, **changes: object) -> None:
    """Change the published facts of the round. Its standing does not depend on them."""
    record = table.record
    record = replace(record, published=replace(record.published, **changes))
    table.set_standing(replace(table.standing, record=record))


def account(table: Table, hands: Hands) -> RoundCompleted:
    """The result of the round by these hands, as if no card were due."""
    record = table.record
    player, banker = public_hands(table.book, hands)
    seen = not record.continuity.partial and all(each.row for each in record.order[record.carried :])
    return RoundCompleted(
        shoe=record.shoe,
        round=record.number,
        game=record.game or table.settings.game,
        player=player,
        banker=banker,
        outcome=Outcome(drawing.winner(table.book, hands).value),
        pairs=drawing.pairs(hands),
        integrity="complete" if seen else "partial",
    )


def finish(table: Table, at: Now, hands: Hands) -> None:
    """Publish the result of a round with all its cards: the first result, or a correction."""
    record, last, completed = table.record, table.state.last, account(table, hands)
    if not record.published.complete:
        sequence = table.emit(at, completed)
        table.move(Move.COMPLETED if table.state.phase is Phase.SUSPENDED else Move.LAST_CARD)
        table.set_record(replace(record, early=None, published=replace(record.published, complete=True)))
        table.state = replace(table.state, last=Completed(completed, sequence), before=last)
        theirs = record.early.result if record.early is not None else record.published.theirs
        if theirs is not None:
            compare(table, at, theirs)
    elif last is not None and replace(completed, integrity=last.published.integrity) != last.published:
        correct(table, at, last, hands, None)
    elif table.state.phase is Phase.SUSPENDED:
        table.move(Move.COMPLETED)


def account_again(table: Table, at: Now, last: Completed, hands: Hands) -> None:
    """Publish a correction if the hands by the Table of Play differ from the published hands."""
    if (hands.player, hands.banker) != (last.published.player.cards, last.published.banker.cards):
        correct(table, at, last, hands, None)


def amend(table: Table, at: Now) -> None:
    """Publish a correction of a waiting round if decisions or corrections have changed its hands."""
    last, hands = table.state.last, visible(table)
    if not table.record.published.complete or last is None:
        return
    published = Hands(last.published.player.cards, last.published.banker.cards)
    if hands != published and len(hands) >= len(published):  # fewer cards: the place of a card is in question
        correct(table, at, last, hands, slot(hands, drawing.due(table.book, hands)))


def correct(table: Table, at: Now, last: Completed, hands: Hands, due: Slot | None) -> None:
    """Publish a correction of a round that was complete."""
    completed = replace(account(table, hands), integrity=last.published.integrity)
    sequence = publish_corrected(table, at, completed, due, last.sequence)
    if not table.standing.held:
        table.move(Move.CORRECTION if due is None else Move.REOPENED)
    if due is not None:
        record = table.record
        theirs = last.theirs or record.published.theirs
        published = replace(record.published, complete=False, theirs=theirs, accounted=sequence)
        table.set_record(replace(record, published=published))
        table.state = replace(table.state, last=table.state.before)
        return
    table.state = replace(table.state, last=Completed(completed, sequence))
    if last.theirs is not None:
        compare(table, at, last.theirs)


def publish_corrected(table: Table, at: Now, completed: RoundCompleted, due: Slot | None, superseded: int) -> int:
    return table.emit(
        at,
        events.RoundCorrected(
            shoe=completed.shoe,
            round=completed.round,
            game=completed.game,
            player=completed.player,
            banker=completed.banker,
            outcome=completed.outcome if due is None else None,
            pairs=completed.pairs,
            integrity=completed.integrity,
            due=due,
            supersedes=table.event_id(superseded),
        ),
    )


def void(table: Table, at: Now, ruling: Ruling) -> None:
    record = table.record
    left = left_by_void(record, table.standing)
    publish_voided(table, at, ruling)
    table.move(Move.VOID)
    record = table.record
    for each in left:
        publish_noticed(table, at, replace(each, cards=()))
        record = carried_over(record, each)
    table.set_record(record)
    table.state = replace(table.state, suspended=None)


def publish_voided(table: Table, at: Now, ruling: Ruling) -> None:
    record, last = table.record, table.state.last
    ground = next((each for each in record.counted if each.id == ruling.irregularity), None)
    player, banker = public_hands(table.book, visible(table))
    superseded = last if record.published.complete else None
    answered = [each.by for each in record.decisions if each.matter == ruling.irregularity and each.bettor is None]
    by = answered[-1] if answered else ground.by if ground is not None else record.voided_by
    table.emit(
        at,
        events.RoundVoided(
            shoe=record.shoe,
            round=record.number,
            kind=ground.kind.value if ground is not None else "void",
            clause=ruling.clause or None,
            returns=table.book.rules[Rule.VOID_RETURNS_EVERY_STAKE].clause or None,
            reading=ruling.reading or None,
            player=player,
            banker=banker,
            supersedes=table.event_id(superseded.sequence) if superseded is not None else None,
            **author_fields(by),
        ),
    )
    table.set_record(replace(record, published=replace(record.published, voided=ruling)))
    if superseded is not None:
        table.state = replace(table.state, last=replace(superseded, void=True))


def carried_over(record: Record, matter: Matter) -> Record:
    """The record with a matter that holds the next round. Beyond `MOST_WAITING`, a further matter is published only."""
    return with_matter(record, matter) if len(record.having(Status.CARRIED_OVER)) < MOST_WAITING else record


def publish_settled(table: Table, at: Now, last: Completed) -> None:
    """Publish the pays of every bet of the complete round, the returned bets, and the cards left over."""
    record, found = table.record, table.standing
    before = record.published.settled
    settled = table.emit(
        at,
        events.RoundSettled(
            shoe=record.shoe,
            round=record.number,
            outcome=last.published.outcome,
            pays=pays_of(last.published),
            returned=found.returned,
            carried=found.left_over,
            supersedes=table.event_id(before) if before else None,
        ),
    )
    publish_in(table, settled=settled)


def publish_settlement_again(table: Table, at: Now, before: Standing) -> None:
    last, after, phase = table.state.last, table.standing, table.state.phase
    corrected = last is not None and phase is Phase.CORRECTED and 0 < table.record.published.settled < last.sequence
    if last is not None and (corrected or (phase is Phase.SETTLED and returns(before) != returns(after))):
        publish_settled(table, at, last)
    if corrected:
        table.move(Move.SETTLEMENT)


def returns(standing: Standing) -> tuple[object, ...]:
    """The parts of a settlement that a later matter changes."""
    return standing.returned, standing.left_over


def compare(table: Table, at: Now, theirs: RoundResult) -> None:
    last = table.state.last
    if last is None or not awaits(table, last):
        return
    answer = Comparison.CONFIRMED if theirs == last.ours else Comparison.DISPUTED
    if theirs != last.theirs:
        event = events.RoundConfirmed if answer is Comparison.CONFIRMED else events.RoundDisputed
        table.emit(at, event(shoe=last.published.shoe, round=last.published.round, ours=last.ours, theirs=theirs))
        table.state = replace(table.state, last=replace(last, answer=answer, theirs=theirs))


def awaits(table: Table, last: Completed) -> bool:
    """Whether a result belongs to the last completed round.

    After undue cards or in a new shoe, only the first result does.
    """
    state, record = table.state, table.record
    none_since = state.phase is Phase.IDLE and not record.waiting
    first = last.answer is Comparison.AWAITED and (record.published.complete or none_since)
    return (first or state.phase in DRAWN) and record.continuity.beyond is None and not last.void
