"""What a card that left the shoe means to a round: the one that is due, or what else it may be.

Theory of operation: a card that is reported in the slot that is due is the one that is due. Any other waits, and has
readings; where there is but one it is taken, else a person says which is true.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec.structs import replace

from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.events import Seen, Slot
from tests.oracle.engine_5.observations import Outcome, Pair
from tests.oracle.engine_5.rules.drawing import FULL_HAND, INITIAL_CARDS, Hands
from tests.oracle.engine_5.rules.irregular import OF_A_CARD, Course, Happened
from tests.oracle.engine_5.table.state import MOST_WAITING, Decided, Noticed, Round, Taken
from tests.oracle.engine_5.words import Event as Mishap

TOGETHER: Final = 2  # cards, at least
LAST: Final = 2 * FULL_HAND  # card of a round: Banker's third


class Reading(Enum):
    """What a report that is not due may mean."""

    MISSED = "missed"  # the card that is due left the shoe unseen before it
    WRONG_SIDE = "wrong-side"  # it is the card that is due, in the other hand
    SAME_CARD = "same-card"  # the card that lies there was told again
    READ_AGAIN = "read-again"  # and this time it was read rightly
    DUE = "due"  # it is the card that is due, whatever the device calls it
    EXCESS = "excess"  # one more card
    CARRIED = "carried"  # the card left over opens this round, and the shoe does not know it
    NOT_CARRIED = "not-carried"  # it was put away
    INTERRUPTION = "interruption"  # the game itself was interrupted
    NEXT_ROUND = "next-round"  # it is of the next round, which has begun
    NOT_SO = "not-so"  # the device's result is wrong


def slot(hands: Hands, hand: Pair | None) -> Slot | None:
    return None if hand is None else Slot(hand, len(hands.of(hand)) + 1, len(hands) + 1)


def added(current: Round, taken: Taken) -> Round:
    """The round with one more card in its order."""
    after = replace(current, cards=(*current.cards, replace(taken, together=None)))
    return after if taken.together is None else beside(after, taken.together, len(after.cards))


def beside(current: Round, together: Noticed, last: int) -> Round:
    """The card of this ordinal came together with those before it, as far as they are of this round.

    Of one that came with the last card of the round before, nobody can be asked for an order.
    """
    if together.what.count < TOGETHER:  # with one that nobody could read, or it is that one, read at last
        what = replace(together.what, at=last, noticed_at=last)
        return replace(current, suspected=(*current.suspected, replace(together, what=what)))
    first = max(current.carried + 1, last - together.what.count + 1)
    if first > last or (first == last and current.number == 1):
        return current
    if first == last:
        event = Mishap.DRAWN_TOGETHER if together.what.order_known else Mishap.OTHER
        evidence = f"{together.evidence}; the one before it was of the round before"
        what = replace(together.what, event=event, at=first, noticed_at=last, count=1)
        return replace(current, happened=(*current.happened, replace(together, what=what, evidence=evidence)))
    what = replace(together.what, at=first, noticed_at=last, count=last - first + 1)
    return replace(current, happened=(*current.happened, replace(together, what=what)))


def excess(current: Round, at: int, *, back: bool | None = None) -> Round:
    """`back`: somebody has said that it serves this round."""
    what = Happened(Mishap.CARD_IN_EXCESS, at, len(current.cards), reconstructable=back)
    overdrawn = current.cards[at - 1].excess
    why = "the shoe says that it was overdrawn" if overdrawn else "no card was due where it was reported"
    evidence = f"card {at}: {why}"
    return replace(current, happened=(*current.happened, Noticed(what, evidence)))


def put_by(current: Round, taken: Taken) -> Round:
    """It is looked at once the round has its cards."""
    return replace(current, over=(*current.over, taken)) if len(current.over) < MOST_WAITING else current


def fits(current: Round, due: Slot | None, taken: Taken, course: Course) -> bool:
    """Whether the device reported the slot that is due; what one of us counts to another round shifts it."""
    if due is None or taken.excess or (taken.seen.hand is None and not taken.dealt):
        return False
    if taken.dealt:
        return not taken.behind_loss
    if told_before(current, taken):
        return False
    if current.partial and behind_carried(current):
        return False  # whether the device counts them, or a report was missed
    shift = current.shift - len(course.carried)  # while a card is due, these were put aside for the next round
    if not shift:
        return place(taken.seen) == (due.hand.value, due.position)
    theirs = due.index - shift
    if max(due.index, theirs) > INITIAL_CARDS:
        return False  # the device reckons third cards from other hands than ours
    return place(taken.seen) == first_deal(theirs)


def told_before(current: Round, taken: Taken) -> bool:
    """Whether a card of the round was reported in the same slot, with the same face."""
    told = [(place(each.seen), each.card) for each in current.cards[current.carried :] if each.card is not None]
    return taken.seen.hand is not None and (place(taken.seen), taken.card) in told


def first_deal(index: int) -> tuple[str, int]:
    """The slot of one of the first four cards (C 3.10)."""
    return "player" if index % 2 else "banker", (index + 1) // 2


def unheard(first: Taken) -> tuple[Taken, ...]:
    """What left the shoe before the first report of a round that began unheard; of one without a slot it is asked."""
    return () if first.dealt else (Taken(None),)


def opens(left: Sequence[Card], seen: Seen) -> bool:
    """Whether the device counts the cards left over: it reports the slot behind them."""
    index = len(left) + 1
    return 1 < index <= INITIAL_CARDS and place(seen) == first_deal(index)


def readings(current: Round, found: Course) -> tuple[Reading, ...]:
    """What the first report that waits may mean, the likeliest first; none if it is due, or means but one thing."""
    due, first = slot(found.hands, found.due), current.waiting[0] if current.waiting else None
    if first is not None and first.again and (due is not None or current.complete) and not current.early:
        return Reading.SAME_CARD, *([] if due is None else [Reading.DUE]), Reading.EXCESS
    if due is None:
        return _of_the_next(current, found, first)
    told = any(each.what.event is Mishap.INTERRUPTION for each in current.happened)
    if current.early and current.result is not None:
        forced = current.result.outcome is Outcome.FORCED_END
        gap = (Reading.INTERRUPTION,) if (forced or current.away) and not told else ()
        return (Reading.MISSED, Reading.NOT_SO, *gap)
    if first is None or fits(current, due, first, found):
        return ()
    if first.excess:
        return (Reading.MISSED,) * current.partial + (Reading.DUE, Reading.EXCESS)
    gap = (Reading.INTERRUPTION,) if current.away and not told else ()
    return _of_a_slot(current, found, due, gap)


def _of_the_next(current: Round, found: Course, first: Taken | None) -> tuple[Reading, ...]:
    """Behind a complete round: the next one may have begun, where reports were missed, or by a card left over."""
    if first is None or first.excess or not current.complete:
        return ()
    unnamed = first.dealt and (first.behind_loss or not current.announced)
    if unnamed or opens(found.carried, first.seen):
        return Reading.NEXT_ROUND, Reading.EXCESS
    hand, position = place(first.seen)
    if hand is None or position is None or not 1 <= position <= FULL_HAND:
        return ()
    there = [each for each in current.cards if place(each.seen) == (hand, position)]
    lies = any(each in current.cards[: len(found.hands)] or each.card is first.card for each in there)
    same = (Reading.SAME_CARD, Reading.READ_AGAIN) if lies else ()
    if not current.unsure:
        return (*same, Reading.EXCESS) if same else ()
    dealt = Reading.NEXT_ROUND, Reading.EXCESS
    return (*(dealt if position < FULL_HAND else dealt[::-1]), *same)


def _of_a_slot(current: Round, found: Course, due: Slot, gap: tuple[Reading, ...]) -> tuple[Reading, ...]:
    if current.waiting[0].dealt:
        return Reading.DUE, Reading.MISSED, Reading.EXCESS, *gap
    hand, position = place(current.waiting[0].seen)
    is_due = (hand, position) == (due.hand.value, due.position)
    if behind_carried(current):
        counted = (Reading.DUE,) if is_due else ()
        doubted = any(each.what.event in OF_A_CARD for each in current.happened)  # so they are this round's
        return (*counted, Reading.CARRIED) if doubted else (*counted, Reading.CARRIED, Reading.NOT_CARRIED)
    if hand is None or position is None or not 1 <= position <= FULL_HAND:
        return Reading.EXCESS, Reading.SAME_CARD
    if counts_otherwise(current, found) and (is_due or is_next(current, current.waiting[0].seen)):
        return *_counted_otherwise(current, due), *gap
    there = len(found.hands.of(Pair(hand)))
    if position <= there:
        told = Reading.SAME_CARD, Reading.READ_AGAIN, Reading.EXCESS
        return (Reading.MISSED, *told) if current.partial else (*told, Reading.MISSED) if current.shift else told
    if position == FULL_HAND and not current.cards:  # the shoe is still at the round before
        return (Reading.DUE, Reading.EXCESS, Reading.MISSED, *gap)
    if position == there + 1 and due.position == FULL_HAND and due.hand is Pair.BANKER:
        # Player stands, and the device says it drew: one more card, unless it lost the one that was due.
        return (Reading.MISSED, Reading.EXCESS) if current.partial else ()
    if position == there + 1 and hand != due.hand.value:
        return (Reading.MISSED, Reading.WRONG_SIDE, *gap)
    return (Reading.MISSED, Reading.EXCESS, *gap)


def _counted_otherwise(current: Round, due: Slot) -> tuple[Reading, ...]:
    """The device reckons with other hands: its slot may be any that is due."""
    first = current.waiting[0]
    if told_before(current, first):
        return Reading.SAME_CARD, Reading.DUE, Reading.EXCESS, Reading.MISSED
    same = (Reading.SAME_CARD,) if place(first.seen) in [place(each.seen) for each in current.cards] else ()
    if current.partial or (current.shift and due.index <= INITIAL_CARDS):  # its count is known, or it lost reports
        return Reading.MISSED, Reading.DUE, Reading.EXCESS, *same
    return Reading.DUE, Reading.EXCESS, Reading.MISSED, *same


def behind_carried(current: Round) -> bool:
    """Whether this is the first report behind cards that were left over."""
    return bool(current.carried) and not current.shift and len(current.cards) == current.carried


def counts_otherwise(current: Round, found: Course) -> bool:
    """Whether the hands by which the device reckons, as it reported them, are others than those that lie there."""
    ours: dict[tuple[str | None, int | None], Card] = {}
    ours |= {(hand.value, at): card for hand in Pair for at, card in enumerate(found.hands.of(hand), 1)}
    theirs = [each.seen for each in current.cards if each.seen.hand is not None and each.seen.card is not None]
    return any(ours.get(place(each)) is not each.card for each in theirs)


def is_next(current: Round, seen: Seen) -> bool:
    """Whether the device has counted every card up to this slot; what nobody reported it may have counted."""
    told = [in_order(each.seen) for each in current.cards]
    reached = max(told, default=0) + 1 + sum(each.seen.hand is None for each in current.cards[current.carried :])
    here = in_order(seen)
    # Banker's third card may come without Player's.
    return here not in told and (here <= reached or (here == LAST and reached >= LAST - 1))


def in_order(seen: Seen) -> int:
    """By the order of the deal, from 1 to 6; 0: in no hand."""
    if seen.position is None or not 1 <= seen.position <= FULL_HAND:
        return 0
    return 2 * seen.position - (seen.hand == Pair.PLAYER.value)


def read(current: Round, reading: Reading) -> Round:
    """The round if the first report that waits, or the result that came early, means this."""
    match reading:
        case Reading.MISSED:
            return missed(current)
        case Reading.NOT_SO:
            return replace(current, result=None, early=False)
        case Reading.CARRIED:
            return replace(current, shift=current.carried)
        case Reading.NOT_CARRIED:
            return replace(current, cards=current.cards[current.carried :], carried=0)
        case Reading.INTERRUPTION:
            what = Happened(Mishap.INTERRUPTION, len(current.cards), len(current.cards))
            return replace(current, happened=(*current.happened, Noticed(what, "the game was interrupted")))
        case _:
            return _read_card(replace(current, waiting=current.waiting[1:]), current.waiting[0], reading)


def _read_card(rest: Round, first: Taken, reading: Reading) -> Round:
    taken = added(rest, first)
    at = len(taken.cards)
    match reading:
        case Reading.SAME_CARD:
            return noticed_among(rest, at - 1 + len(rest.waiting))
        case Reading.READ_AGAIN:
            before = next((at for at, each in enumerate(rest.cards, 1) if place(each.seen) == place(first.seen)), None)
            return rest if before is None or first.card is None else corrected(rest, before, first.card)
        case Reading.DUE:
            return excess(taken, at, back=True) if first.excess else taken
        case Reading.EXCESS if first.excess and not rest.complete:
            return put_by(rest, replace(first, again=False))
        case Reading.EXCESS:
            return excess(taken, at)
        case _:  # the wrong side
            what = Happened(Mishap.WRONG_SIDE, at, at)
            return replace(
                taken, happened=(*taken.happened, Noticed(what, f"card {at} was reported in the other hand"))
            )


def noticed_among(current: Round, drawn: int) -> Round:
    """No more cards than these had been drawn, whenever it was noticed."""
    happened = [
        replace(each, what=replace(each.what, noticed_at=min(each.what.noticed_at, drawn))) for each in current.happened
    ]
    return replace(current, happened=tuple(happened))


def without_card(current: Round, at: int) -> Round:
    """No card was there: what was said of it did not happen, and those behind it are one earlier."""
    happened = [replace(each, what=_without_card(each.what, at)) for each in current.happened]
    suspected = [replace(each, what=_without_card(each.what, at)) for each in current.suspected]
    return replace(
        current,
        cards=(*current.cards[: at - 1], *current.cards[at:]),
        happened=tuple(happened),
        suspected=tuple(each for each in suspected if not each.what.withdrawn),
    )


def _without_card(what: Happened, gone: int) -> Happened:
    if what.noticed_at >= gone:
        what = replace(what, noticed_at=what.noticed_at - 1)
    if what.at > gone:
        return replace(what, at=what.at - 1)
    if what.event is Mishap.DRAWN_TOGETHER and what.at <= gone < what.at + what.count:
        alone = what.count <= TOGETHER
        return replace(what, count=what.count - 1, withdrawn=alone, at=0 if alone else what.at)
    return replace(what, at=0, withdrawn=True) if what.at == gone and what.event in OF_A_CARD else what


def missed(current: Round) -> Round:
    """The card that is due left the shoe unseen; it came with the next one, if one that nobody could read did."""
    after = replace(current, cards=(*current.cards, Taken(None)))
    first, *others = current.waiting or (None,)
    if first is None or first.together is None or first.together.what.count >= TOGETHER:
        return after
    both = replace(first.together, what=replace(first.together.what, count=TOGETHER))
    return added(replace(after, waiting=tuple(others)), replace(first, together=both))


def with_unread(current: Round, found: Noticed) -> Round:
    """A card passed unread beside the last one: which, and in what order, is asked."""
    what = replace(found.what, noticed_at=len(current.cards) + 1, count=2)
    cards = (*current.cards, Taken(None))
    return replace(current, cards=cards, happened=(*current.happened, replace(found, what=what)))


def place(seen: Seen) -> tuple[str | None, int | None]:
    return seen.hand, seen.position


def corrected(current: Round, at: int, card: Card) -> Round:
    before = current.cards[at - 1].card
    taken = replace(current.cards[at - 1], card=card)
    happened = tuple(_with_face(each, at, before, card) for each in current.happened)
    decisions = tuple(_put_in_order(current, each, at, card) for each in current.decisions)
    suspected = tuple(each for each in current.suspected if each.card is None or each.card is not before)
    mended = replace(current, happened=happened, decisions=decisions, suspected=suspected)
    return replace(mended, cards=(*current.cards[: at - 1], taken, *current.cards[at:]))


def _put_in_order(current: Round, decided: Decided, at: int, card: Card) -> Decided:
    """The order that was decided stands, with the face as it is now; of two that were alike nobody knows which."""
    first, before = current.happened[decided.irregularity].what, str(current.cards[at - 1].card)
    ordered = decided.choice
    if isinstance(ordered, str) or ordered.count(before) != 1 or not first.at <= at < first.at + first.count:
        return decided
    return replace(decided, choice=tuple(str(card) if each == before else each for each in ordered))


def _with_face(found: Noticed, at: int, before: Card | None, card: Card) -> Noticed:
    """An order that was told names cards by their faces: the card keeps its place in it."""
    what = found.what
    if before not in what.order or not what.at <= at < what.at + len(what.order):
        return found
    place = what.order.index(before)
    return replace(found, what=replace(what, order=(*what.order[:place], card, *what.order[place + 1 :])))
