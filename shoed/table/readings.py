"""What an unexpected report may mean.

Theory of operation: a card that is reported in the slot that is due is the card that is due (`fits`). Any other report
is in one named `Situation`, and `READINGS` lists what each situation may mean, the likeliest first. If that is an
excess card alone, no person is needed. `read` is the record when the report means one of them.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Final

from msgspec.structs import replace

from shoed.cards import Card
from shoed.events import Seen, Slot
from shoed.observations import Outcome, Pair
from shoed.rules.drawing import FULL_HAND, INITIAL_CARDS, Hands
from shoed.rules.irregular import OF_A_CARD, Course, Happened
from shoed.table.matters import Matter, Status
from shoed.table.record import (
    MOST_WAITING,
    TOGETHER,
    CardEntry,
    Record,
    Report,
    Where,
    changed,
    corrected,
    excess,
    placed,
    unseen,
    with_matter,
    withdrawn,
)
from shoed.words import Event as Kind

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
    NOT_SO = "not-so"  # the device's result is wrong


class Situation(Enum):
    OVERDRAW_REPEATS_DUE_CARD = auto()
    OVERDRAW_REPEATS_LAST_CARD = auto()
    OVERDRAW = auto()
    OVERDRAW_AFTER_LOSS = auto()
    RESULT_TOO_EARLY = auto()
    UNNAMED = auto()
    BEGINS_NEXT_ROUND = auto()
    AFTER_END_SLOT_FILLED = auto()
    AFTER_END_IN_DOUBT = auto()
    AFTER_END_IN_DOUBT_SLOT_FILLED = auto()
    AFTER_END_IN_DOUBT_THIRD = auto()
    AFTER_END_IN_DOUBT_THIRD_SLOT_FILLED = auto()
    FIRST_AFTER_CARRIED = auto()
    FIRST_AFTER_CARRIED_DUE = auto()
    OWN_CARRIED = auto()
    OWN_CARRIED_DUE = auto()
    NO_SLOT = auto()
    OTHER_HANDS_SAME_CARD = auto()
    OTHER_HANDS = auto()
    OTHER_HANDS_SLOT_FILLED = auto()
    OTHER_HANDS_AFTER_LOSS = auto()
    OTHER_HANDS_AFTER_LOSS_SLOT_FILLED = auto()
    SLOT_FILLED = auto()
    SLOT_FILLED_AFTER_LOSS = auto()
    SLOT_FILLED_SHIFTED = auto()
    THIRD_CARD_FIRST = auto()
    THIRD_CARD_NOT_DUE = auto()
    THIRD_CARD_NOT_DUE_AFTER_LOSS = auto()
    OTHER_HAND = auto()
    LATER_SLOT = auto()


R: Final = Reading
# An interruption of the game is offered only after the line was away, or with a forced end.
READINGS: Final[Mapping[Situation, tuple[Reading, ...]]] = {
    Situation.OVERDRAW_REPEATS_DUE_CARD: (R.SAME_CARD, R.DUE, R.EXCESS),
    Situation.OVERDRAW_REPEATS_LAST_CARD: (R.SAME_CARD, R.EXCESS),
    Situation.OVERDRAW: (R.DUE, R.EXCESS),
    Situation.OVERDRAW_AFTER_LOSS: (R.MISSED, R.DUE, R.EXCESS),
    Situation.RESULT_TOO_EARLY: (R.MISSED, R.NOT_SO, R.INTERRUPTION),
    Situation.UNNAMED: (R.DUE, R.MISSED, R.EXCESS, R.INTERRUPTION),
    Situation.BEGINS_NEXT_ROUND: (R.NEXT_ROUND, R.EXCESS),
    Situation.AFTER_END_SLOT_FILLED: (R.SAME_CARD, R.READ_AGAIN, R.EXCESS),
    Situation.AFTER_END_IN_DOUBT: (R.NEXT_ROUND, R.EXCESS),
    Situation.AFTER_END_IN_DOUBT_SLOT_FILLED: (R.NEXT_ROUND, R.EXCESS, R.SAME_CARD, R.READ_AGAIN),
    Situation.AFTER_END_IN_DOUBT_THIRD: (R.EXCESS, R.NEXT_ROUND),
    Situation.AFTER_END_IN_DOUBT_THIRD_SLOT_FILLED: (R.EXCESS, R.NEXT_ROUND, R.SAME_CARD, R.READ_AGAIN),
    Situation.FIRST_AFTER_CARRIED: (R.CARRIED, R.NOT_CARRIED),
    Situation.FIRST_AFTER_CARRIED_DUE: (R.DUE, R.CARRIED, R.NOT_CARRIED),
    Situation.OWN_CARRIED: (R.CARRIED,),
    Situation.OWN_CARRIED_DUE: (R.DUE, R.CARRIED),
    Situation.NO_SLOT: (R.EXCESS, R.SAME_CARD),
    Situation.OTHER_HANDS_SAME_CARD: (R.SAME_CARD, R.DUE, R.EXCESS, R.MISSED, R.INTERRUPTION),
    Situation.OTHER_HANDS: (R.DUE, R.EXCESS, R.MISSED, R.INTERRUPTION),
    Situation.OTHER_HANDS_SLOT_FILLED: (R.DUE, R.EXCESS, R.MISSED, R.SAME_CARD, R.INTERRUPTION),
    Situation.OTHER_HANDS_AFTER_LOSS: (R.MISSED, R.DUE, R.EXCESS, R.INTERRUPTION),
    Situation.OTHER_HANDS_AFTER_LOSS_SLOT_FILLED: (R.MISSED, R.DUE, R.EXCESS, R.SAME_CARD, R.INTERRUPTION),
    Situation.SLOT_FILLED: (R.SAME_CARD, R.READ_AGAIN, R.EXCESS),
    Situation.SLOT_FILLED_AFTER_LOSS: (R.MISSED, R.SAME_CARD, R.READ_AGAIN, R.EXCESS),
    Situation.SLOT_FILLED_SHIFTED: (R.SAME_CARD, R.READ_AGAIN, R.EXCESS, R.MISSED),
    Situation.THIRD_CARD_FIRST: (R.DUE, R.EXCESS, R.MISSED, R.INTERRUPTION),
    Situation.THIRD_CARD_NOT_DUE: (R.EXCESS,),
    Situation.THIRD_CARD_NOT_DUE_AFTER_LOSS: (R.MISSED, R.EXCESS),
    Situation.OTHER_HAND: (R.MISSED, R.WRONG_SIDE, R.INTERRUPTION),
    Situation.LATER_SLOT: (R.MISSED, R.EXCESS, R.INTERRUPTION),
}


def slot(hands: Hands, hand: Pair | None) -> Slot | None:
    return None if hand is None else Slot(hand, len(hands.of(hand)) + 1, len(hands) + 1)


def place(seen: Seen) -> tuple[str | None, int | None]:
    return seen.hand, seen.position


def first_deal(index: int) -> tuple[str, int]:
    """The slot of one of the first four cards (C 3.10)."""
    return "player" if index % 2 else "banker", (index + 1) // 2


def opens(left: Sequence[Card], seen: Seen) -> bool:
    """Whether the device counts the cards left over: it reports the slot that follows them."""
    index = len(left) + 1
    return 1 < index <= INITIAL_CARDS and place(seen) == first_deal(index)


def fits(record: Record, due: Slot | None, card: CardEntry, course: Course) -> bool:
    """Whether the device reported the slot that is due; cards that it counts to another round shift its count."""
    if due is None or card.report is Report.OVERDRAWN:
        return False
    if card.report is not Report.SLOT:
        return card.report is Report.UNNAMED and not card.after_loss
    if reported_before(record, card) or (record.continuity.partial and first_after_carried(record)):
        return False
    shift = record.shift - len(course.carried)  # while a card is due, these were put aside for the next round
    if not shift:
        return place(card.seen) == (due.hand.value, due.position)
    theirs = due.index - shift
    # The device derives third cards from other hands than ours.
    return max(due.index, theirs) <= INITIAL_CARDS and place(card.seen) == first_deal(theirs)


def reported_before(record: Record, card: CardEntry) -> bool:
    """Whether a card of the round was reported in the same slot, with the same face."""
    before = [(place(each.seen), each.face) for each in record.order[record.carried :] if each.face is not None]
    return card.seen.hand is not None and (place(card.seen), card.face) in before


def first_after_carried(record: Record) -> bool:
    """Whether the next report is the first one after cards that were left over."""
    return bool(record.carried) and not record.shift and len(record.order) == record.carried


def readings(record: Record, course: Course) -> tuple[Reading, ...]:
    """What the first card that waits, or the early result, may mean; none where no person is needed."""
    found = situation(record, course)
    choices = () if found is None else READINGS[found]
    forced = found is Situation.RESULT_TOO_EARLY and record.early is not None
    forced = forced and record.early is not None and record.early.result.outcome is Outcome.FORCED_END
    noticed = any(each.kind is Kind.INTERRUPTION for each in record.counted)
    if (record.continuity.away is None and not forced) or noticed:
        choices = tuple([each for each in choices if each is not Reading.INTERRUPTION])
    return choices if choices != (Reading.EXCESS,) else ()


def situation(record: Record, course: Course) -> Situation | None:
    due, first = slot(course.hands, course.due), next(iter(record.waiting), None)
    early = record.result_is_early
    if first is not None and first.repeated and (due is not None or record.published.complete) and not early:
        return Situation.OVERDRAW_REPEATS_LAST_CARD if due is None else Situation.OVERDRAW_REPEATS_DUE_CARD
    if due is None:
        return after_the_end(record, course, first) if first is not None and record.published.complete else None
    if early:
        return Situation.RESULT_TOO_EARLY
    if first is None or fits(record, due, first, course):
        return None
    lost = record.continuity.partial
    match first.report:
        case Report.OVERDRAWN:
            return Situation.OVERDRAW_AFTER_LOSS if lost else Situation.OVERDRAW
        case Report.UNNAMED:
            return Situation.UNNAMED
        case _:
            return in_another_slot(record, course, due, first)


def after_the_end(record: Record, course: Course, first: CardEntry) -> Situation | None:
    """The next round may have begun, if reports were missed, or by a card left over."""
    if first.report is Report.OVERDRAWN:
        return None
    unnamed = first.report is Report.UNNAMED and (first.after_loss or not record.announced)
    if unnamed or opens(course.carried, first.seen):
        return Situation.BEGINS_NEXT_ROUND
    hand, position = place(first.seen)
    if hand is None or position is None or not 1 <= position <= FULL_HAND:
        return None
    ours = record.order[: len(course.hands)]
    there = [each for each in record.order if place(each.seen) == (hand, position)]
    filled = any(each in ours or each.face is first.face for each in there)
    if record.continuity.beyond is None:
        return Situation.AFTER_END_SLOT_FILLED if filled else None
    if position < FULL_HAND:
        return Situation.AFTER_END_IN_DOUBT_SLOT_FILLED if filled else Situation.AFTER_END_IN_DOUBT
    return Situation.AFTER_END_IN_DOUBT_THIRD_SLOT_FILLED if filled else Situation.AFTER_END_IN_DOUBT_THIRD


def in_another_slot(record: Record, course: Course, due: Slot, first: CardEntry) -> Situation:
    hand, position = place(first.seen)
    is_due = (hand, position) == (due.hand.value, due.position)
    if first_after_carried(record):
        if any(each.kind in OF_A_CARD for each in record.counted):  # so they are of this round
            counted, uncounted = Situation.OWN_CARRIED_DUE, Situation.OWN_CARRIED
        else:
            counted, uncounted = Situation.FIRST_AFTER_CARRIED_DUE, Situation.FIRST_AFTER_CARRIED
        return counted if is_due else uncounted
    if hand is None or position is None or not 1 <= position <= FULL_HAND:
        return Situation.NO_SLOT
    if counts_otherwise(record, course) and (is_due or is_next(record, first.seen)):
        return by_other_hands(record, due, first)
    lost, there = record.continuity.partial, len(course.hands.of(Pair(hand)))
    if position <= there:
        if lost:
            return Situation.SLOT_FILLED_AFTER_LOSS
        return Situation.SLOT_FILLED_SHIFTED if record.shift else Situation.SLOT_FILLED
    if position == FULL_HAND and not record.order:  # the shoe is still at the round before
        return Situation.THIRD_CARD_FIRST
    if position == there + 1 and due.position == FULL_HAND and due.hand is Pair.BANKER:
        # Player stands, and the device reports that it drew: one more card, unless the due one was lost.
        return Situation.THIRD_CARD_NOT_DUE_AFTER_LOSS if lost else Situation.THIRD_CARD_NOT_DUE
    if position == there + 1 and hand != due.hand.value:
        return Situation.OTHER_HAND
    return Situation.LATER_SLOT


def by_other_hands(record: Record, due: Slot, first: CardEntry) -> Situation:
    """The device counts with other hands than ours: its slot may be any that is due."""
    if reported_before(record, first):
        return Situation.OTHER_HANDS_SAME_CARD
    filled = place(first.seen) in [place(each.seen) for each in record.order]
    # Its count is known, or it lost reports.
    if record.continuity.partial or (record.shift and due.index <= INITIAL_CARDS):
        return Situation.OTHER_HANDS_AFTER_LOSS_SLOT_FILLED if filled else Situation.OTHER_HANDS_AFTER_LOSS
    return Situation.OTHER_HANDS_SLOT_FILLED if filled else Situation.OTHER_HANDS


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
        case Reading.CARRIED:
            return replace(record, shift=record.carried)
        case Reading.NOT_CARRIED:
            for each in record.order[: record.carried]:
                record = withdrawn(record, each.id)
            return record
        case Reading.INTERRUPTION:
            what = Happened(Kind.INTERRUPTION, 0, 0)
            last = record.last_placed
            matter = Matter(0, what, Status.OPEN, "the game was interrupted", None, 0, (last and (last,)) or (), last)
            return with_matter(record, matter)
        case _:
            return read_card(record, record.waiting[0], reading)


def read_card(record: Record, first: CardEntry, reading: Reading) -> Record:
    match reading:
        case Reading.SAME_CARD:
            return withdrawn(record, first.id)
        case Reading.READ_AGAIN:
            before = next((each for each in record.order if place(each.seen) == place(first.seen)), None)
            record = withdrawn(record, first.id)
            return record if before is None or first.face is None else corrected(record, before.id, first.face)
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
            what = Happened(Kind.WRONG_SIDE, 0, 0)
            evidence = f"card {record.ordinal(first.id)} was reported in the other hand"
            return with_matter(record, Matter(0, what, Status.OPEN, evidence, None, 0, (first.id,), first.id))


def missed(record: Record) -> Record:
    """The card that is due left the shoe unseen; it was drawn with the next one if that is known of an unread card."""
    after, first = unseen(record), next(iter(record.waiting), None)
    latent = [each for each in after.having(Status.LATENT) if first is not None and each.cards == (first.id,)]
    if first is None or not latent or latent[0].what.count >= TOGETHER:
        return after
    both = replace(latent[0], what=replace(latent[0].what, count=TOGETHER))
    matters = tuple([both if each is latent[0] else each for each in after.matters])
    return placed(replace(after, matters=matters), first.id)


def unheard(record: Record, first: CardEntry) -> Record:
    """A card left the shoe before the first report of a round that began unheard; of one without a slot it is asked."""
    return record if first.report is Report.UNNAMED else unseen(record)


def with_unread(record: Record, matter: Matter) -> Matter:
    """The matter, with the unread card that was just added beside its own."""
    what = replace(matter.what, count=TOGETHER)
    return replace(matter, what=what, cards=(*matter.cards, record.last_id), noticed_after=record.last_id)
