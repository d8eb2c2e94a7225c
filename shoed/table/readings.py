"""What an unexpected report may mean.

Theory of operation: a card that is reported in the slot that is due is the card that is due (`fits`). Any other report
is in one named `Situation`, and `READINGS` lists what each situation may mean, the likeliest first. If that is an
excess card alone, no person is needed. `read` is the record when the report means one of them.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Final

from msgspec.structs import replace

from shoed.cards import Card
from shoed.events import Seen, Slot
from shoed.observations import Outcome, Pair
from shoed.rules.drawing import FULL_HAND, INITIAL_CARDS, Hands
from shoed.rules.irregular import Course, Happened
from shoed.table.matters import Matter, Status
from shoed.table.record import (
    IN_NO_HAND,
    MOST_WAITING,
    TOGETHER,
    CardEntry,
    Record,
    Report,
    Source,
    Where,
    changed,
    corrected,
    excess,
    placed,
    positioned,
    reported_as,
    unseen,
    with_matter,
    withdrawn,
)
from shoed.words import Event as Kind

FIRST: Final = (Pair.PLAYER.value, 1)  # slot of a round
LAST: Final = 2 * FULL_HAND  # slot of a round: Banker's third card


class Reading(Enum):
    """What a report that is not due may mean."""

    MISSED = "missed"  # the card that is due left the shoe unseen before it
    WRONG_SIDE = "wrong-side"  # it is the card that is due, in the other hand
    SAME_CARD = "same-card"  # the card that lies there was reported again
    READ_AGAIN = "read-again"  # the same, and this time it was read correctly
    DUE = "due"  # it is the card that is due, whatever the device calls it
    EXCESS = "excess"  # one more card
    CARRIED = "carried"  # the card left over opens this round, and the shoe does not count it
    NOT_CARRIED = "not-carried"  # the card left over was put away
    INTERRUPTION = "interruption"  # the game itself was interrupted
    NEXT_ROUND = "next-round"  # it is of the next round, which has begun
    PUT_AWAY = "put-away"  # it is not a card of this round: it was put away
    NOT_SO = "not-so"  # the device's result is wrong
    SHOWN = "cards-shown"  # the cards shown are those on the table: play goes on after the loss
    NONE_OF_THESE = "none-of-these"  # the house decides; after a loss the round is abandoned
    RECONNECTION = "reconnection"  # the shoe that was cut only started again
    NEW_SHOE = "new-shoe"  # another shoe is at the table, or the same with a new set of cards


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
# `readings` leaves out a reading that cannot be true: an interruption of the game where neither was the line away nor
# does the device report a forced end, a card that is due where none is, and the next round before the first card.
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


def slot(hands: Hands, hand: Pair | None) -> Slot | None:
    return None if hand is None else Slot(hand, len(hands.of(hand)) + 1, len(hands) + 1)


def due_slot(record: Record, course: Course) -> Slot | None:
    """The slot that is due; its index counts every card that left the shoe for the round."""
    due = slot(course.hands, course.due)
    return None if due is None else replace(due, index=len(record.order) + len(record.published_away) + 1)


def place(seen: Seen) -> tuple[str | None, int | None]:
    return seen.hand, seen.position


def may_be_new_shoe(record: Record) -> bool:
    """Whether the shoe started after its cut card, and no later report tells which shoe it is."""
    return record.continuity.restarted is not None and not record.published.complete


def of_either_shoe(record: Record, card: CardEntry) -> bool:
    """Whether this card of a hand may be of this shoe or of a new one: it follows a start after the cut card.

    It is Player's first card, or the round had no card when the shoe started, so that no card proves which shoe it is.
    """
    after = record.continuity.restarted
    if after is None or record.published.complete or 0 < card.id <= after:
        return False
    begun = any(each.id <= after for each in record.order[record.carried :])
    return place(card.seen) == FIRST or (not begun and card.report in (Report.SLOT, Report.UNNAMED))


def first_of_either(record: Record) -> bool:
    """Whether a card waits that may be of this shoe or of a new one."""
    first = next(iter(record.waiting), None)
    return first is not None and of_either_shoe(record, first)


def of_another_round(record: Record) -> bool:
    """Whether Player's first card waits, of the next round of this shoe or of the first one of a new shoe."""
    return first_of_either(record) and place(record.waiting[0].seen) == FIRST and len(record.order) > record.carried


def begins(record: Record, choice: object) -> bool:
    """Whether, after a start of the shoe, this answer makes the card that waits the first one of another round."""
    new_shoe = choice == Reading.NEW_SHOE.value
    return first_of_either(record) if new_shoe else of_another_round(record)


def first_deal(index: int) -> tuple[str, int]:
    """The slot of one of the first four cards (C 3.10)."""
    return "player" if index % 2 else "banker", (index + 1) // 2


def opens(left: int, seen: Seen) -> bool:
    """Whether the device counts the cards left over: it reports the slot that follows them."""
    index = left + 1
    return 1 < index <= INITIAL_CARDS and place(seen) == first_deal(index)


def fits(record: Record, due: Slot | None, card: CardEntry, course: Course) -> bool:
    """Whether the device reported the slot that is due; cards that it counts to another round shift its count."""
    waits = after_gap(record, card) or of_either_shoe(record, card)
    return not waits and in_due_slot(record, due, card, course)


def after_gap(record: Record, card: CardEntry) -> bool:
    """Whether the card may be of another round than the hand before it. A first card that names its slot is not."""
    hand_is_there = len(record.order) > record.carried
    return card.after_loss and (hand_is_there or card.report is Report.UNNAMED)


def in_due_slot(record: Record, due: Slot | None, card: CardEntry, course: Course) -> bool:
    if due is None or card.report is Report.OVERDRAWN or exposed_before(record, card) is not None:
        return False
    if card.report is not Report.SLOT:
        return card.report is Report.UNNAMED
    if reported_before(record, card) or (record.continuity.partial and first_after_carried(record)):
        return False
    put_aside = [record.order[at - 1] for at in course.carried_at]  # while a card is due, for the next round
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
    """What the first card that waits, or the early result, may mean; none where no person is needed."""
    found = situation(record, course)
    choices = () if found is None else READINGS[found]
    early = record.early if found is Situation.RESULT_TOO_EARLY else None
    forced = early is not None and early.result.outcome is Outcome.FORCED_END
    noticed = any(each.kind is Kind.INTERRUPTION for each in record.counted)
    cannot_be = {Reading.INTERRUPTION} if (record.continuity.away is None and not forced) or noticed else set()
    if course.due is None:
        cannot_be |= {Reading.DUE, Reading.MISSED}
    if not record.order and record.number:
        cannot_be |= {Reading.NEXT_ROUND}
    if not any(place(each.seen) == place(waiting.seen) for waiting in record.waiting[:1] for each in record.order):
        cannot_be |= {Reading.READ_AGAIN}
    return tuple([each for each in choices if each not in cannot_be]) if choices != (Reading.EXCESS,) else ()


def situation(record: Record, course: Course) -> Situation | None:
    due, first = slot(course.hands, course.due), next(iter(record.waiting), None)
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
    if first.report is Report.OVERDRAWN:
        return Situation.OVERDRAW
    return in_another_slot(record, course, due, first)


def known_before(record: Record, course: Course, first: CardEntry) -> Situation | None:
    """The card may be one that was reported, or entered by a person, before."""
    if first.repeated:
        in_no_hand = first.report in IN_NO_HAND and course.due is not None
        return Situation.IN_NO_HAND_REPEATED if in_no_hand else Situation.OVERDRAW_REPEATED
    if exposed_before(record, first) is not None:
        return Situation.EXPOSED_BEFORE
    again = place(first.seen) == FIRST and course.hands.player == (first.face,) and not first_after_carried(record)
    return Situation.FIRST_REPEATED if again else None


def after_the_end(record: Record, course: Course, first: CardEntry) -> Situation | None:
    """The next round may have begun, if reports were missed, or by a card left over."""
    if first.report is Report.OVERDRAWN:
        return None
    if first.report in IN_NO_HAND:
        return Situation.IN_NO_HAND_AFTER_END
    unnamed = first.report is Report.UNNAMED and (first.after_loss or not record.announced)
    if unnamed or opens(len(course.carried), first.seen):
        return Situation.AFTER_END
    if not in_order(first.seen):
        return None
    ours = record.order[: len(course.hands)]
    there = [each for each in record.order if place(each.seen) == place(first.seen)]
    filled = any(each in ours or each.face is first.face for each in there)
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
    if hand is None or position is None or not in_order(first.seen):
        return Situation.LATER_SLOT
    uncounted = not_reported(record) or any(each.report in IN_NO_HAND for each in record.order)
    if (uncounted or counts_otherwise(record, course)) and (is_due or is_next(record, first.seen)):
        return Situation.OTHER_HANDS  # its slot may be any that is due
    there = len(course.hands.of(Pair(hand)))
    if position <= there:
        return Situation.SLOT_FILLED
    if position == FULL_HAND and not record.order:  # the shoe is still at the round before
        return Situation.OTHER_HANDS
    if due.position == FULL_HAND and due.hand is Pair.BANKER:
        # Player stands, and the device reports that it drew: one more card, unless the due one was lost.
        return Situation.LATER_SLOT if record.continuity.partial else Situation.THIRD_CARD_NOT_DUE
    if position == there + 1 and hand != due.hand.value:
        return Situation.OTHER_HAND
    return Situation.LATER_SLOT


def counts_otherwise(record: Record, course: Course) -> bool:
    """Whether the hands by the device's reports differ from those that lie there."""
    ours: dict[tuple[str | None, int | None], Card] = {}
    ours |= {(hand.value, at): card for hand in Pair for at, card in enumerate(course.hands.of(hand), 1)}
    theirs = [each.seen for each in record.order if each.seen.hand is not None and each.seen.card is not None]
    return any(ours.get(place(each)) is not each.card for each in theirs)


def is_next(record: Record, seen: Seen) -> bool:
    """Whether the device has counted every card up to this slot; it may have counted what was not reported."""
    reported = [in_order(each.seen) for each in record.order]
    uncounted = sum(each.seen.hand is None for each in record.order[record.carried :])
    reached, here = max(reported, default=0) + 1 + uncounted, in_order(seen)
    # Banker's third card may come without Player's.
    return here not in reported and (here <= reached or (here == LAST and reached >= LAST - 1))


def in_order(seen: Seen) -> int:
    """By the order of the deal, from 1 to 6; 0: in no hand."""
    if seen.position is None or not 1 <= seen.position <= FULL_HAND:
        return 0
    return 2 * seen.position - (seen.hand == Pair.PLAYER.value)


def read(record: Record, reading: Reading) -> Record:
    """The record if the first card that waits, or the early result, means this."""
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
            return with_open(record, Kind.OTHER, "no reading explains what the device reported")
        case _:
            return read_card(record, record.waiting[0], reading)


def of_the_next_round(record: Record) -> Record:
    for each in record.waiting:
        record = changed(record, replace(each, where=Where.NEXT_ROUND))
    return record


def with_open(record: Record, kind: Kind, evidence: str) -> Record:
    last = record.last_placed
    return with_matter(
        record, Matter(Happened(kind), Status.OPEN, evidence, cards=(last,) if last else (), noticed_after=last)
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
            if not record.number:  # of no round: no order is altered
                return record
            what = Happened(Kind.ORDER_ALTERED)
            how = reported_as(first.report, first.seen)
            evidence = f"{first.face or 'a card without a face'} was reported {how}, and was put away"
            return with_matter(record, Matter(what, Status.OPEN, evidence, noticed_after=record.last_placed))
        case Reading.EXCESS if first.report is Report.OVERDRAWN and not record.published.complete:
            if len(record.at(Where.PUT_BY)) >= MOST_WAITING:
                return withdrawn(record, first.id)
            return changed(record, replace(first, where=Where.PUT_BY, repeated=False))
        case _:
            pass
    record = placed(record, first.id)
    match reading:
        case Reading.DUE:
            return excess(record, first.id, back=True) if first.report is Report.OVERDRAWN else record
        case Reading.EXCESS:
            return excess(record, first.id)
        case _:  # the wrong side
            what = Happened(Kind.WRONG_SIDE)
            evidence = f"card {record.ordinal(first.id)} was reported in the other hand"
            return with_matter(record, Matter(what, Status.OPEN, evidence, cards=(first.id,), noticed_after=first.id))


def missed(record: Record) -> Record:
    """The card that is due left the shoe unseen; it was drawn with the next one if that is known of an unread card."""
    first = next(iter(record.waiting), None)
    if first is not None and first.report is not Report.UNNAMED:  # its slot shows whether more are missing
        record = changed(record, replace(first, after_loss=False))
    after = unseen(record)
    latent = [each for each in after.having(Status.LATENT) if first is not None and each.cards == (first.id,)]
    if first is None or not latent or latent[0].what.count >= TOGETHER:
        return after
    both = replace(latent[0], what=replace(latent[0].what, count=TOGETHER))
    matters = tuple([both if each is latent[0] else each for each in after.matters])
    return placed(replace(after, matters=matters), first.id)


def unheard(record: Record, first: CardEntry, held_by: Iterable[Matter]) -> Record:
    """A card left the shoe before the first report of a round that began unheard; of one without a slot it is asked.

    A card of which it is asked whether it opens the round may be that card.
    """
    known = (
        first.report is Report.UNNAMED or place(first.seen) == FIRST or any(each.face is not None for each in held_by)
    )
    return record if known else unseen(record)


def with_unread(record: Record, matter: Matter) -> Matter:
    """The matter, with the unread card that was just added beside its own."""
    what = replace(matter.what, count=TOGETHER)
    return replace(matter, what=what, cards=(*matter.cards, record.last_id), noticed_after=record.last_id)
