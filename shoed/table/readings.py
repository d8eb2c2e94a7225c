"""The readings of an unexpected report.

Theory of operation: a card that is reported in the due slot is the due card (`fits`). Any other report is in one named
`Situation`, and `READINGS` lists the readings of each situation, the most probable first. If the only reading is a card
in excess, no person decides. `read` returns the record for one reading.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Final

from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.events import Seen, Slot
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.observations import Outcome, Side
from shoed.rules.drawing import FULL_HAND, INITIAL_CARDS, Hands
from shoed.rules.irregular import Course, Irregularity
from shoed.table.matters import Matter, Status
from shoed.table.record import (
    IN_NO_HAND,
    MOST_WAITING,
    TOGETHER,
    CardEntry,
    Record,
    ReportedPlace,
    Source,
    Where,
    changed,
    corrected,
    excess,
    placed,
    positioned,
    reported_as,
    with_matter,
    with_unseen_card,
    withdrawn,
)

FIRST: Final = (Side.PLAYER.value, 1)  # slot of a round
LAST: Final = 2 * FULL_HAND  # slot of a round: Banker's third card


class Reading(Enum):
    """A possible meaning of a report that is not due."""

    MISSED = "missed"  # the due card left the shoe before this card, without a report
    WRONG_SIDE = "wrong-side"  # the due card was dealt to the other hand
    SAME_CARD = "same-card"  # the device reported a card again
    READ_AGAIN = "read-again"  # the device reported a card again and corrected its face
    DUE = "due"  # the card is the due card; the reported place is wrong
    EXCESS = "excess"  # the card was drawn in excess
    CARRIED = "carried"  # the left-over card opens this round, and the device does not count it
    NOT_CARRIED = "not-carried"  # the left-over card was put away
    INTERRUPTION = "interruption"  # the game was interrupted
    NEXT_ROUND = "next-round"  # the card is a card of the next round, which has begun
    PUT_AWAY = "put-away"  # the card was put away and is not a card of this round
    NOT_SO = "not-so"  # the device's result is wrong
    SHOWN = "cards-shown"  # the cards shown are the cards on the table: play continues after the loss
    NONE_OF_THESE = "none-of-these"  # the house decides; after a loss the round is abandoned
    RECONNECTION = "reconnection"  # the cut shoe only started again
    NEW_SHOE = "new-shoe"  # another shoe is at the table, or the same shoe with a new set of cards


class Situation(Enum):
    OVERDRAW = auto()
    OVERDRAW_REPEATED = auto()
    RESULT_TOO_EARLY = auto()
    IN_NO_HAND = auto()
    IN_NO_HAND_REPEATED = auto()
    IN_NO_HAND_AFTER_END = auto()
    EXPOSED_BEFORE = auto()
    FIRST_REPEATED = auto()
    AFTER_GAP_DUE = auto()
    AFTER_GAP = auto()
    AFTER_END = auto()
    AFTER_END_THIRD = auto()
    AFTER_END_SLOT_FILLED = auto()
    FIRST_AFTER_CARRIED = auto()
    FIRST_AFTER_CARRIED_DUE = auto()
    OTHER_HANDS = auto()
    SLOT_FILLED = auto()
    THIRD_CARD_NOT_DUE = auto()
    OTHER_HAND = auto()
    LATER_SLOT = auto()
    STARTED_AFTER_CUT = auto()
    BEFORE_FIRST_ROUND = auto()


R: Final = Reading
# `readings` omits a reading that cannot be true: an interruption without an absence of the line or a forced end, a due
# card while no card is due, and the next round before the first card of this round.
READINGS: Final[Mapping[Situation, tuple[Reading, ...]]] = {
    Situation.OVERDRAW: (R.DUE, R.EXCESS, R.MISSED, R.NONE_OF_THESE),
    Situation.OVERDRAW_REPEATED: (R.SAME_CARD, R.DUE, R.EXCESS, R.MISSED, R.NONE_OF_THESE),
    Situation.RESULT_TOO_EARLY: (R.MISSED, R.NOT_SO, R.INTERRUPTION, R.NONE_OF_THESE),
    Situation.IN_NO_HAND: (R.DUE, R.EXCESS, R.PUT_AWAY, R.MISSED, R.NONE_OF_THESE),
    Situation.IN_NO_HAND_REPEATED: (R.SAME_CARD, R.DUE, R.EXCESS, R.PUT_AWAY, R.MISSED, R.NONE_OF_THESE),
    Situation.IN_NO_HAND_AFTER_END: (R.EXCESS, R.PUT_AWAY, R.NONE_OF_THESE),
    Situation.EXPOSED_BEFORE: (R.SAME_CARD, R.DUE, R.EXCESS, R.MISSED, R.NONE_OF_THESE),
    Situation.FIRST_REPEATED: (R.SAME_CARD, R.NEXT_ROUND, R.EXCESS, R.MISSED, R.NONE_OF_THESE),
    Situation.AFTER_GAP_DUE: (R.SHOWN, R.MISSED, R.NEXT_ROUND, R.INTERRUPTION, R.NONE_OF_THESE),
    Situation.AFTER_GAP: (R.MISSED, R.SHOWN, R.NEXT_ROUND, R.INTERRUPTION, R.NONE_OF_THESE),
    Situation.AFTER_END: (R.NEXT_ROUND, R.EXCESS, R.NONE_OF_THESE),
    Situation.AFTER_END_THIRD: (R.EXCESS, R.NEXT_ROUND, R.NONE_OF_THESE),
    Situation.AFTER_END_SLOT_FILLED: (R.NEXT_ROUND, R.EXCESS, R.SAME_CARD, R.READ_AGAIN, R.NONE_OF_THESE),
    Situation.FIRST_AFTER_CARRIED: (R.CARRIED, R.NOT_CARRIED, R.NONE_OF_THESE),
    Situation.FIRST_AFTER_CARRIED_DUE: (R.DUE, R.CARRIED, R.NOT_CARRIED, R.NONE_OF_THESE),
    Situation.OTHER_HANDS: (R.DUE, R.EXCESS, R.MISSED, R.SAME_CARD, R.INTERRUPTION, R.NONE_OF_THESE),
    Situation.SLOT_FILLED: (R.SAME_CARD, R.READ_AGAIN, R.EXCESS, R.MISSED, R.NONE_OF_THESE),
    Situation.THIRD_CARD_NOT_DUE: (R.EXCESS,),
    Situation.OTHER_HAND: (R.MISSED, R.WRONG_SIDE, R.INTERRUPTION, R.NONE_OF_THESE),
    Situation.LATER_SLOT: (R.MISSED, R.EXCESS, R.INTERRUPTION, R.NONE_OF_THESE),
    Situation.STARTED_AFTER_CUT: (R.RECONNECTION, R.NEW_SHOE),
    Situation.BEFORE_FIRST_ROUND: (R.NEXT_ROUND, R.PUT_AWAY),
}


def slot(hands: Hands, hand: Side | None) -> Slot | None:
    return None if hand is None else Slot(hand, len(hands.of(hand)) + 1, len(hands) + 1)


def due_slot(record: Record, course: Course) -> Slot | None:
    """The due slot. Its index counts every card that left the shoe for the round."""
    due = slot(course.hands, course.due)
    return None if due is None else replace(due, index=len(record.at(Where.PLACED)) + len(record.published_away) + 1)


def place(seen: Seen) -> tuple[str | None, int | None]:
    return seen.hand, seen.position


def may_be_new_shoe(record: Record) -> bool:
    """Whether the shoe started after its cut card, and no later report proves which shoe it is."""
    return record.continuity.restarted is not None and not record.published.complete


def of_either_shoe(record: Record, card: CardEntry) -> bool:
    """Whether this card of a hand may be a card of this shoe or of a new shoe, after a start after the cut card.

    The card is Player's first card, or the round had no card when the shoe started.
    """
    after = record.continuity.restarted
    if after is None or record.published.complete or 0 < card.id <= after:
        return False
    begun = any(each.id <= after for each in record.order[record.carried :])
    return place(card.seen) == FIRST or (not begun and card.report in (ReportedPlace.SLOT, ReportedPlace.UNNAMED))


def first_of_either(record: Record) -> bool:
    """Whether the first waiting card may be a card of this shoe or of a new shoe."""
    first = next(iter(record.waiting), None)
    return first is not None and of_either_shoe(record, first)


def of_another_round(record: Record) -> bool:
    """Whether the waiting card is Player's first card of the next round, in this shoe or in a new shoe."""
    return first_of_either(record) and place(record.waiting[0].seen) == FIRST and len(record.order) > record.carried


def begins_another_round(record: Record, choice: object) -> bool:
    """Whether, after a start of the shoe, this answer makes the waiting card the first card of another round."""
    new_shoe = choice == Reading.NEW_SHOE.value
    return first_of_either(record) if new_shoe else of_another_round(record)


def first_deal(index: int) -> tuple[str, int]:
    """The slot of one of the first four cards (C 3.10)."""
    return "player" if index % 2 else "banker", (index + 1) // 2


def opens(left: int, seen: Seen) -> bool:
    """Whether the device counts the left-over cards: it reports the slot after their slots."""
    index = left + 1
    return 1 < index <= INITIAL_CARDS and place(seen) == first_deal(index)


def fits(record: Record, due: Slot | None, card: CardEntry, course: Course) -> bool:
    """Whether the device reported the due slot. Cards that the device counts in another round shift its slots."""
    waits = after_gap(record, card) or of_either_shoe(record, card)
    return not waits and in_due_slot(record, due, card, course)


def after_gap(record: Record, card: CardEntry) -> bool:
    """Whether reports may be missing before the card, so that the card may be of another round."""
    hand_is_there = len(record.order) > record.carried
    return card.after_loss and (hand_is_there or card.report is ReportedPlace.UNNAMED)


def in_due_slot(record: Record, due: Slot | None, card: CardEntry, course: Course) -> bool:
    if due is None or card.report is ReportedPlace.OVERDRAWN or exposed_before(record, card) is not None:
        return False
    if card.report is not ReportedPlace.SLOT:
        return card.report is ReportedPlace.UNNAMED
    if reported_before(record, card) or (record.continuity.partial and first_after_carried(record)):
        return False
    put_aside = [record.order[at - 1] for at in course.carried_at]  # for the next round, while a card is due
    shift = record.shift - sum(each not in not_reported(record) for each in put_aside)
    if not shift:
        return place(card.seen) == (due.hand.value, due.position)
    ours = len(course.hands) + 1
    # The device derives third cards from other hands than ours.
    return max(ours, ours - shift) <= INITIAL_CARDS and place(card.seen) == first_deal(ours - shift)


def reported_before(record: Record, card: CardEntry) -> bool:
    """Whether a card of the round was reported in the same slot, with the same face."""
    before = [(place(each.seen), each.face) for each in record.order[record.carried :] if each.face is not None]
    return card.seen.hand is not None and (place(card.seen), card.face) in before


def not_reported(record: Record) -> list[CardEntry]:
    """The exposed cards that a person entered, and that the device has not reported."""
    named = {card for each in record.counted if each.kind is Kind.CARD_EXPOSED for card in each.cards}
    return [each for each in record.order if each.id in named and each.source is Source.PERSON and not each.row]


def exposed_before(record: Record, card: CardEntry) -> CardEntry | None:
    """The exposed card with this face that the device has not reported."""
    return next((each for each in not_reported(record) if each.face is card.face), None)


def first_after_carried(record: Record) -> bool:
    """Whether the next report is the first one after cards that were left over."""
    return bool(record.carried) and not record.shift and len(record.order) == record.carried


def readings(record: Record, course: Course) -> tuple[Reading, ...]:
    """The readings of the first waiting card or of the early result; empty if no person has to decide."""
    found = situation(record, course)
    if found is None:
        return ()
    choices = READINGS[found]
    early = record.early if found is Situation.RESULT_TOO_EARLY else None
    forced = early is not None and early.result.outcome is Outcome.FORCED_END
    interrupted = any(each.kind is Kind.INTERRUPTION for each in record.counted)
    cannot_be = {Reading.INTERRUPTION} if (record.continuity.away is None and not forced) or interrupted else set()
    if course.due is None:
        cannot_be |= {Reading.DUE, Reading.MISSED}
    if not record.order and record.number:
        cannot_be |= {Reading.NEXT_ROUND}
    if not any(place(each.seen) == place(waiting.seen) for waiting in record.waiting[:1] for each in record.order):
        cannot_be |= {Reading.READ_AGAIN}
    return tuple([each for each in choices if each not in cannot_be]) if choices != (Reading.EXCESS,) else ()


def situation(record: Record, course: Course) -> Situation | None:
    first = next(iter(record.waiting), None)
    if first is None and record.early is None:
        return None
    due = slot(course.hands, course.due)
    if first is not None and not record.number:
        return Situation.BEFORE_FIRST_ROUND
    early, is_open = record.result_is_early, course.due is not None or record.published.complete
    if first is not None and is_open and not early and (known := known_before(record, course, first)) is not None:
        return known
    if due is None:
        return after_the_end(record, course, first) if first is not None and record.published.complete else None
    if early:
        return Situation.RESULT_TOO_EARLY
    if first is None or fits(record, due, first, course):
        return None
    if after_gap(record, first):
        return Situation.AFTER_GAP_DUE if in_due_slot(record, due, first, course) else Situation.AFTER_GAP
    if first.report in IN_NO_HAND:
        return Situation.IN_NO_HAND
    if first.report is ReportedPlace.OVERDRAWN:
        return Situation.OVERDRAW
    return in_another_slot(record, course, due, first)


def known_before(record: Record, course: Course, first: CardEntry) -> Situation | None:
    """The situation of a card that may be an earlier card, reported or entered by a person."""
    if first.repeated:
        in_no_hand = first.report in IN_NO_HAND and course.due is not None
        return Situation.IN_NO_HAND_REPEATED if in_no_hand else Situation.OVERDRAW_REPEATED
    if exposed_before(record, first) is not None:
        return Situation.EXPOSED_BEFORE
    again = place(first.seen) == FIRST and course.hands.player == (first.face,) and not first_after_carried(record)
    return Situation.FIRST_REPEATED if again else None


def after_the_end(record: Record, course: Course, first: CardEntry) -> Situation | None:
    """The situation of a card after the end of the round. The next round may have begun."""
    if first.report is ReportedPlace.OVERDRAWN:
        return None
    if first.report in IN_NO_HAND:
        return Situation.IN_NO_HAND_AFTER_END
    unnamed = first.report is ReportedPlace.UNNAMED and (first.after_loss or not record.announced)
    if unnamed or opens(len(course.carried), first.seen):
        return Situation.AFTER_END
    if not deal_position(first.seen):
        return None
    ours = record.order[: len(course.hands)]
    in_slot = [each for each in record.order if place(each.seen) == place(first.seen)]
    filled = any(each in ours or each.face is first.face for each in in_slot)
    if record.continuity.beyond is None:
        return Situation.SLOT_FILLED if filled else None
    if filled:
        return Situation.AFTER_END_SLOT_FILLED
    return Situation.AFTER_END_THIRD if first.seen.position == FULL_HAND else Situation.AFTER_END


def in_another_slot(record: Record, course: Course, due: Slot, first: CardEntry) -> Situation:
    hand, position = place(first.seen)
    is_due = (hand, position) == (due.hand.value, due.position)
    if first_after_carried(record):
        return Situation.FIRST_AFTER_CARRIED_DUE if is_due else Situation.FIRST_AFTER_CARRIED
    if hand is None or position is None or not deal_position(first.seen):
        return Situation.LATER_SLOT
    uncounted = not_reported(record) or any(each.report in IN_NO_HAND for each in record.order)
    if (uncounted or counts_otherwise(record, course)) and (is_due or is_next(record, first.seen)):
        return Situation.OTHER_HANDS  # the reported slot may be any due slot
    dealt = len(course.hands.of(Side(hand)))
    if position <= dealt:
        return Situation.SLOT_FILLED
    if position == FULL_HAND and not record.order:  # the shoe has not ended the previous round
        return Situation.OTHER_HANDS
    if due.position == FULL_HAND and due.hand is Side.BANKER:
        # Player stands, and the device reports Player's third card: in excess, unless the due card was missed.
        return Situation.LATER_SLOT if record.continuity.partial else Situation.THIRD_CARD_NOT_DUE
    if position == dealt + 1 and hand != due.hand.value:
        return Situation.OTHER_HAND
    return Situation.LATER_SLOT


def counts_otherwise(record: Record, course: Course) -> bool:
    """Whether the hands by the reports of the device differ from the hands on record."""
    ours: dict[tuple[str | None, int | None], Card] = {}
    ours |= {(hand.value, at): card for hand in Side for at, card in enumerate(course.hands.of(hand), 1)}
    theirs = [each.seen for each in record.order if each.seen.hand is not None and each.seen.card is not None]
    return any(ours.get(place(each)) is not each.card for each in theirs)


def is_next(record: Record, seen: Seen) -> bool:
    """Whether the slot follows the slots that the device has counted, with cards that it did not report."""
    positions = [deal_position(each.seen) for each in record.order]
    uncounted = sum(each.seen.hand is None for each in record.order[record.carried :])
    reached, here = max(positions, default=0) + 1 + uncounted, deal_position(seen)
    # Banker may draw a third card while Player stands.
    return here not in positions and (here <= reached or (here == LAST and reached >= LAST - 1))


def deal_position(seen: Seen) -> int:
    """The position of the slot in the order of the deal, from 1 to 6; 0: in no hand."""
    if seen.position is None or not 1 <= seen.position <= FULL_HAND:
        return 0
    return 2 * seen.position - (seen.hand == Side.PLAYER.value)


def read(record: Record, reading: Reading) -> Record:
    """The record for this reading of the first waiting card or of the early result."""
    match reading:
        case Reading.MISSED:
            return missed(record)
        case Reading.NOT_SO:
            return replace(record, early=None)
        case Reading.NEXT_ROUND:
            return of_the_next_round(record)
        case Reading.CARRIED:
            return replace(record, shift=record.carried)
        case Reading.NOT_CARRIED:
            for each in record.order[: record.carried]:
                record = withdrawn(record, each.id)
            return record
        case Reading.SHOWN:
            return changed(record, replace(record.waiting[0], after_loss=False))
        case Reading.INTERRUPTION:
            return with_open(record, Kind.INTERRUPTION, "the game was interrupted")
        case Reading.NONE_OF_THESE:
            record = replace(record, early=None) if record.result_is_early else withdrawn(record, record.waiting[0].id)
            return with_open(record, Kind.OTHER, "no reading explains the report of the device")
        case _:
            return read_card(record, record.waiting[0], reading)


def of_the_next_round(record: Record) -> Record:
    for each in record.waiting:
        record = changed(record, replace(each, where=Where.NEXT_ROUND))
    return record


def with_open(record: Record, kind: Kind, evidence: str) -> Record:
    last = record.last_placed
    return with_matter(
        record, Matter(Irregularity(kind), Status.OPEN, evidence, cards=(last,) if last else (), noticed_after=last)
    )


def read_card(record: Record, first: CardEntry, reading: Reading) -> Record:
    match reading:
        case Reading.SAME_CARD:
            before = exposed_before(record, first)
            record = withdrawn(record, first.id)
            if before is None:
                return record
            return changed(record, replace(before, seen=first.seen, row=first.row, measured=first.measured))
        case Reading.READ_AGAIN:
            before = next((each for each in record.order if place(each.seen) == place(first.seen)), None)
            record = withdrawn(record, first.id)
            return record if before is None or first.face is None else corrected(record, before.id, first.face)
        case Reading.PUT_AWAY:
            record = positioned(record, first.id, Where.PUT_AWAY)
            if not record.number:  # outside a round no order is altered
                return record
            irregularity = Irregularity(Kind.ORDER_ALTERED)
            how = reported_as(first.report, first.seen)
            evidence = f"{first.face or 'a card without a face'} was reported {how}, and was put away"
            return with_matter(record, Matter(irregularity, Status.OPEN, evidence, noticed_after=record.last_placed))
        case Reading.EXCESS if first.report is ReportedPlace.OVERDRAWN and not record.published.complete:
            if len(record.at(Where.DEFERRED)) >= MOST_WAITING:
                return withdrawn(record, first.id)
            return changed(record, replace(first, where=Where.DEFERRED, repeated=False))
        case _:
            pass
    record = placed(record, first.id)
    match reading:
        case Reading.DUE:
            return excess(record, first.id, back=True) if first.report is ReportedPlace.OVERDRAWN else record
        case Reading.EXCESS:
            return excess(record, first.id)
        case _:  # the wrong side
            irregularity = Irregularity(Kind.WRONG_SIDE)
            evidence = f"card {record.ordinal(first.id)} was reported in the other hand"
            return with_matter(
                record, Matter(irregularity, Status.OPEN, evidence, cards=(first.id,), noticed_after=first.id)
            )


def missed(record: Record) -> Record:
    """The record with an unseen due card.

    If the waiting card was drawn together with an unread card, the unseen card is that card.
    """
    first = next(iter(record.waiting), None)
    if first is not None and first.report is not ReportedPlace.UNNAMED:  # its slot shows whether more cards are missing
        record = changed(record, replace(first, after_loss=False))
    after = with_unseen_card(record)
    latent = [each for each in after.having(Status.LATENT) if first is not None and each.cards == (first.id,)]
    if first is None or not latent or latent[0].irregularity.count >= TOGETHER:
        return after
    both = replace(latent[0], irregularity=replace(latent[0].irregularity, count=TOGETHER))
    matters = tuple([both if each is latent[0] else each for each in after.matters])
    return placed(replace(after, matters=matters), first.id)


def with_missed_card(record: Record, first: CardEntry, held_by: Iterable[Matter]) -> Record:
    """The record of a round whose first card was missed, with an unseen card.

    The missed card is not certain if the device names no slot, or if a held matter has a card that may open the round.
    """
    known = (
        first.report is ReportedPlace.UNNAMED
        or place(first.seen) == FIRST
        or any(each.face is not None for each in held_by)
    )
    return record if known else with_unseen_card(record)


def with_unread(record: Record, matter: Matter) -> Matter:
    """The matter with the unread card that was added last."""
    irregularity = replace(matter.irregularity, count=TOGETHER)
    return replace(
        matter, irregularity=irregularity, cards=(*matter.cards, record.last_id), noticed_after=record.last_id
    )
