"""The round: cards, results, doubts, and what each does to it.

Theory of operation: whatever happens to a round makes another Round of it, and `follow` tells what has changed. The
cards and the Table of Play alone say what is due, what a hand is worth and who won; what the device says of hand,
position and result is only compared. A card that is not the one due is set aside and never put where it might belong:
it waits, with the round, until the rules or a person say what it is.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from tests.oracle.engine_5 import events
from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.events import Points, Result, Seen, Slot
from tests.oracle.engine_5.findings import AnyFinding, DrawnTogether, TooMany, TooOften, Unread
from tests.oracle.engine_5.now import Now
from tests.oracle.engine_5.observations import CardSeen, Pair, Place, ResultSeen
from tests.oracle.engine_5.rules import drawing
from tests.oracle.engine_5.rules.irregular import Happened
from tests.oracle.engine_5.rules.questions import Ask
from tests.oracle.engine_5.table.between import between, too_many
from tests.oracle.engine_5.table.context import Table
from tests.oracle.engine_5.table.follow import ask, compare, follow, left_over, tell_noticed
from tests.oracle.engine_5.table.reading import beside, fits, opens
from tests.oracle.engine_5.table.rounds import against_custom, begin_dealing, may_be_overtaken, open_round
from tests.oracle.engine_5.table.sets import SUSPECTED
from tests.oracle.engine_5.table.state import AT_A_TABLE, DRAWN, MOST_WAITING, OPEN, OVER, Last, Noticed, Phase, Round, Taken
from tests.oracle.engine_5.words import Event as Mishap

HANDS: Final = {Place.PLAYER: Pair.PLAYER, Place.BANKER: Pair.BANKER}
NOT_DUE: Final = ("not-due", Place.OVERDRAW.value)


# --- what the device reports


def card(table: Table, seen: CardSeen, findings: Sequence[AnyFinding]) -> None:
    state = table.state
    if not state.shoe:  # joined midway: numbered at its first card, and partial
        table.state = replace(state, shoe=1, round=replace(state.round, shoe=1))
    hand = HANDS.get(seen.place)
    if hand is None and seen.place is not Place.DEALT:
        if seen.place is Place.OVERDRAW and state.phase in (*AT_A_TABLE, *OVER):
            overdrawn(table, seen)
            doubt(table, seen.at, findings)
            return
        set_aside(table, seen, seen.place.value)
        if (
            seen.place in (Place.BURN, Place.FIRST_CARD)
            and table.state.round.number <= 1
            and state.round.play is not Phase.DEALING
        ):
            first = seen.card if seen.place is Place.FIRST_CARD else table.state.first_card
            table.state = replace(table.state, burnt=table.state.burnt + 1, first_card=first)
        doubt(table, seen.at, findings)
        return
    waited_for = state.phase in OPEN and not state.round.cards and not state.round.waiting
    is_first = hand is Pair.PLAYER and seen.position == 1 and not waited_for
    unsure, left = state.round.unsure, lying(table)
    if is_first or dealt_anew(table, seen) or opens(left, reported(seen)):
        open_round(table, seen.at, "card")
        if unsure and (left or hand is None):  # that the shoe counts them, or that it is the first, is not proven
            table.set_round(replace(table.state.round, partial=True, lost=True))
    if table.state.phase in (Phase.IDLE, Phase.ABANDONED):
        set_aside(table, seen, "no-round")
        doubt(table, seen.at, findings)
    elif table.state.phase in OVER:
        set_aside(table, seen, "not-due")
        too_many(table, seen)
        doubt(table, seen.at, findings)
    else:
        take(table, seen, findings, reported(seen), reason="not-due")


def dealt_anew(table: Table, seen: CardSeen) -> bool:
    """Where the device names no hand, a card behind a round opens the next, unless each of them is announced."""
    if seen.place is not Place.DEALT:
        return False
    behind = table.state.phase in (*DRAWN, *OVER) or may_be_overtaken(table)
    return table.state.phase is Phase.IDLE or (behind and not table.settings.custom.bets_close_by_command)


def lying(table: Table) -> tuple[Card, ...]:
    """The cards that were left over, between two rounds."""
    if table.state.phase in DRAWN:
        return (*left_over(table.judgement), *table.state.kept)
    return (*table.state.left_over, *table.state.kept) if table.state.phase in OVER else ()


def take(table: Table, seen: CardSeen, findings: Sequence[AnyFinding], told: Seen, reason: str) -> None:
    """A card of this round: the one that is due, or one that waits until somebody says what it is."""
    play = table.state.round.play
    begun = begin_dealing(table, seen.at)
    current = replace(begun, empty=None, lost=False)  # it was not empty, after all
    due = table.judgement.due if not current.waiting else None
    dealt = seen.place is Place.DEALT
    taken = Taken(seen.card, told, seen.at.utc_us, table.row, dealt=dealt, behind_loss=begun.lost)
    if due is not None and seen.card is not None and fits(current, due, taken, table.judgement.course):
        taken = replace(taken, sequence=draw(table, seen, due, seen.card), drawn=True)
        current = replace(current, cards=(*current.cards, taken))  # whatever was noticed in it
    else:
        taken = replace(taken, sequence=set_aside(table, seen, reason))
        if len(current.waiting) < MOST_WAITING:
            current = replace(current, waiting=(*current.waiting, taken))
    current = replace(current, suspected=(*current.suspected, *against_custom(table, play)))
    ordinal = len(current.cards) + len(current.waiting)
    follow(table, seen.at, noticed(table, seen.at, current, ordinal, findings), told)


def overdrawn(table: Table, seen: CardSeen) -> None:
    """The device says that no card was due; what it is by the Table of Play, a person says.

    assumed: it may have been told before, and then it was the last one; the watch does not count it twice either.
    """
    state, current, last = table.state, table.state.round, table.state.told
    same = last is not None and last.card is not None and last.card is seen.card
    sequence = set_aside(table, seen, seen.place.value)
    if state.phase in OVER or current.play is not Phase.DEALING:
        if same and last is not None and last.aside:
            table.state = replace(table.state, told=last)
        else:
            too_many(table, seen)
        return
    kept = (*current.cards, *current.waiting, *current.over)
    before = next((each for each in kept if same and last is not None and each.sequence == last.sequence), None)
    if before is not None and no_card_due(current, before):
        table.state = replace(table.state, told=last)
        return
    taken = Taken(
        seen.card, Seen(card=seen.card), seen.at.utc_us, table.row, sequence, excess=True, again=before is not None
    )
    if len(current.waiting) < MOST_WAITING:
        follow(table, seen.at, replace(current, waiting=(*current.waiting, taken)), taken.seen)


def no_card_due(current: Round, taken: Taken) -> bool:
    """Whether this one was reported where none was due: the shoe tells it again once its error is cleared."""
    found = [each.what for each in current.happened if each.what.event is Mishap.CARD_IN_EXCESS]
    return not taken.excess and any(current.cards[each.at - 1] == taken for each in found)


def draw(table: Table, seen: CardSeen, due: Slot, face: Card) -> int:
    hands = table.judgement.course.hands.with_card(due.hand, face)
    return tell_card(
        table,
        seen,
        events.CardDrawn(
            shoe=table.state.shoe,
            round=table.state.round.number,
            index=due.index,
            hand=due.hand,
            card=face,
            points=Points(drawing.points(table.book, hands.player), drawing.points(table.book, hands.banker)),
            provenance=table.row,
        ),
    )


def set_aside(table: Table, seen: CardSeen, reason: str) -> int:
    return tell_card(
        table,
        seen,
        events.CardSetAside(
            shoe=table.state.shoe,
            round=table.state.round.number or None,
            card=seen.card,
            reason=reason,
            reported=reported(seen),
            provenance=table.row,
        ),
    )


def tell_card(table: Table, seen: CardSeen, told: events.CardDrawn | events.CardSetAside) -> int:
    sequence = table.emit(seen.at, told)
    aside = isinstance(told, events.CardSetAside) and told.reason in NOT_DUE
    table.state = replace(table.state, told=Last(seen.card, sequence, aside))
    return sequence


def reported(seen: CardSeen) -> Seen:
    if seen.place in HANDS:
        return Seen(card=seen.card, hand=seen.place.value, position=seen.position)
    return Seen(card=seen.card)


def result(table: Table, seen: ResultSeen) -> None:
    theirs, state = Result(seen.outcome, seen.pairs), table.state
    if state.phase is Phase.DEALING or (state.phase is Phase.SUSPENDED and not state.round.complete):
        # Before the last card due: it is compared once the round has its cards.
        follow(table, seen.at, replace(state.round, result=theirs), Seen(result=theirs))
    else:
        compare(table, seen.at, theirs)


# --- doubts


def reconsider(table: Table, at: Now) -> None:
    """The settings may be others than they were: a round that waits is judged by those in force."""
    if table.state.phase is Phase.SUSPENDED or (table.state.phase in AT_A_TABLE and table.judgement.held):
        follow(table, at, table.state.round)
    elif table.state.asked is not None:
        ask(table, at)


def noticed(table: Table, at: Now, current: Round, ordinal: int, findings: Sequence[AnyFinding]) -> Round:
    """The round with what the watch found; `ordinal` is that of its last card."""
    for finding in findings:
        if isinstance(finding, DrawnTogether):
            current = came_together(table, at, current, ordinal, finding)
        elif isinstance(finding, Unread) or not holds(table, finding):
            pass  # the fault, or the card that was set aside, has told it; or it is on record, and proves nothing
        else:
            about = finding.card if isinstance(finding, TooOften) else None
            found = Noticed(Happened(SUSPECTED[type(finding)], ordinal, ordinal), str(finding), card=about)
            if found.what.event not in {each.what.event for each in (*current.suspected, *current.happened)}:
                current = replace(current, suspected=(*current.suspected, found))
    return current


def came_together(table: Table, at: Now, current: Round, ordinal: int, finding: DrawnTogether) -> Round:
    found, asked = together(finding), table.judgement.questions
    next_in_line = finding.order_known and asked and isinstance(asked[0].ask, Ask)  # nobody doubts the record
    before = (*current.cards, *current.waiting)[ordinal - 2 : ordinal - 1]
    if finding.cards[0] is None and all(each.card is not None for each in before):  # it is no card of the round yet
        found = replace(found, what=replace(found.what, count=1))
    if ordinal > len(current.cards) and not next_in_line:  # with which it came is known once it has a place
        *waiting, last = current.waiting
        after = replace(current, waiting=(*waiting, replace(last, together=found)))
    else:
        after = beside(current, found, ordinal)
    if (after.happened, after.suspected) == (current.happened, current.suspected):
        tell_noticed(table, at, found)
    return after


def together(finding: DrawnTogether) -> Noticed:
    return Noticed(Happened(Mishap.DRAWN_TOGETHER, 0, 0, len(finding.cards), finding.order_known), finding.evidence)


def doubt(table: Table, at: Now, findings: Sequence[AnyFinding]) -> None:
    """What the watch found in something else than a card of the round."""
    there = table.state.phase in AT_A_TABLE
    of_cards = [each for each in findings if isinstance(each, DrawnTogether)]
    others = [each for each in findings if not isinstance(each, DrawnTogether)]
    passed_unread = any(isinstance(each, Unread) and each.meaning is not None for each in others)
    if there and of_cards and passed_unread and not table.judgement.held and not table.state.hold:
        # It is a card of the round as well.
        play = table.state.round.play
        current = begin_dealing(table, at)
        current = replace(
            current,
            cards=(*current.cards, Taken(None, utc_us=at.utc_us, row=table.row)),
            suspected=(*current.suspected, *against_custom(table, play)),
        )
        follow(table, at, noticed(table, at, current, len(current.cards), findings))
        return
    for finding in of_cards:
        tell_noticed(table, at, together(finding))
    if there and others:
        follow(table, at, noticed(table, at, table.state.round, len(table.state.round.cards), others))
    for each in [] if there else others:
        if not isinstance(each, Unread) and holds(table, each):
            between(table, at, SUSPECTED[type(each)], str(each))


def holds(table: Table, finding: AnyFinding) -> bool:
    """More cards than a set has may be those of two, where the shoe was not seen from its start."""
    return table.state.shoe_whole or not isinstance(finding, TooOften | TooMany)
