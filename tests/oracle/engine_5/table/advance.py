"""What a round takes in by itself: the cards that wait, as far as nobody has to be asked.

Theory of operation: each card that is the one due by its reported slot goes into the order, one by one; the first that
is not ends it, and `judging` asks. What follows of itself comes before anything else: a card left over is in excess,
a card due of an empty shoe is one too few, what the watch alone infers voids nothing, and what was taken for an excess
by a wrong face is none once the face is right.
"""

from typing import Final

from msgspec.structs import replace

from tests.oracle.engine_5.table.judging import House, Judgement, judge, placed
from tests.oracle.engine_5.table.reading import added, excess, fits, slot
from tests.oracle.engine_5.table.state import Round
from tests.oracle.engine_5.words import Event as Mishap

LEFT_OVER: Final = frozenset({Mishap.CARD_IN_EXCESS, Mishap.CARD_EXPOSED, Mishap.ORDER_ALTERED, Mishap.WRONG_COUNT})


def advance(house: House, current: Round) -> tuple[Round, Judgement]:
    """Take in what waits, as far as nobody has to be asked."""
    while True:
        current = without_false(house, gathered(current))
        found = judge(house, current)
        if (after := inferred(current, found)) is not current:
            current = after
            continue
        if found.held or found.course.void is not None:
            return current, found
        current = replace(current, left=len(found.course.carried), looked_at=len(current.happened))
        has_its_cards = current.cards and found.course.due is None
        if not current.waiting or (has_its_cards and not current.complete):  # its end is told before what is behind it
            return current, found
        first = current.waiting[0]
        rest = replace(current, waiting=current.waiting[1:])
        current = added(rest, first)
        if not fits(rest, found.due, first, found.course):  # judge asks where there is more than one reading
            current = excess(current, len(current.cards))


def gathered(current: Round) -> Round:
    """What waits, in its order, behind a result that came before the last card."""
    if current.over and current.complete:
        current = replace(current, waiting=(*current.over, *current.waiting), over=())
    return replace(current, early=True) if current.result is not None and not current.waiting else current


def inferred(current: Round, found: Judgement) -> Round:
    """What follows of itself before anything else is taken in; the same Round if nothing does."""
    if (doubted := unconfirmed(current, found)) is not current:
        return doubted
    if found.course.void is None and not found.held and len(found.course.carried) > current.left:
        told = current.happened[current.looked_at :]
        if not any(each.what.event in LEFT_OVER for each in told):
            return excess(current, len(found.course.hands) + 1)
    return ran_out(current, found)


def unconfirmed(current: Round, found: Judgement) -> Round:
    """A round is not void because the watch infers that two cards came together: a person confirms it first."""
    ruling, happened = found.course.void, current.happened
    if ruling is None or ruling is current.voided or ruling.irregularity >= len(happened):
        return current
    at, ground = ruling.irregularity, happened[ruling.irregularity]
    told = [*(each.irregularity for each in current.decisions), *(each.irregularity for each in current.ruled)]
    if any(number >= at for number in told) or ground.by is not None or ground.what.event is not Mishap.DRAWN_TOGETHER:
        return current
    return replace(current, happened=(*happened[:at], *happened[at + 1 :]), suspected=(*current.suspected, ground))


def without_false(house: House, current: Round) -> Round:
    """A card was taken for one in excess, and by the faces as they are now it is the one that was due: it is none."""
    happened = list(current.happened)
    for number, each in enumerate(happened):
        what, at = each.what, each.what.at
        inferred = each.by is None and what.event is Mishap.CARD_IN_EXCESS and 1 <= at <= len(current.cards)
        if not inferred or current.cards[at - 1].excess:
            continue
        others = [one if one.what.at < at else replace(one, what=replace(one.what, withdrawn=True)) for one in happened]
        before = replace(current, cards=current.cards[: at - 1], waiting=(), happened=tuple(others))
        found = judge(house, before)
        if not found.held:
            due = slot(found.course.hands, found.course.due)
            was_due = fits(before, due, current.cards[at - 1], found.course)
            happened[number] = replace(each, what=replace(what, withdrawn=was_due))
    return current if happened == list(current.happened) else replace(current, happened=tuple(happened))


def ran_out(current: Round, found: Judgement) -> Round:
    """C 5.5.4: a card is due, and none is left; the same Round if that is not so, or was told."""
    told = any(each.what.event is Mishap.TOO_FEW_CARDS for each in current.happened)
    lacks = current.number and found.course.due is not None and placed(found) and not current.waiting
    if current.empty is None or told or not lacks:
        return current
    drawn = len(current.cards)
    what = replace(current.empty.what, at=drawn, noticed_at=drawn)
    return replace(current, happened=(*current.happened, replace(current.empty, what=what)))


def foreseen(house: House, current: Round) -> tuple[Round, Judgement]:
    """How the round will stand, all that came looked at."""
    after, found = advance(house, current)
    if found.held or found.course.void is not None or found.course.due is not None:
        return after, found
    return advance(house, replace(after, complete=True))
