"""The round: cards, results, doubts, and what each does to it.

Theory of operation: whatever happens to a round makes another Round of it, and `follow` tells what has changed. The
cards and the Table of Play alone say what is due, what a hand is worth and who won; what the device says of hand,
position and result is only compared. A card that is not the one due is set aside and never put where it might belong:
it waits, with the round, until the rules or a person say what it is.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from shoed import events
from shoed.cards import Card, Rank
from shoed.commands import Author
from shoed.events import Points, Result, Seen, Slot
from shoed.findings import AnyFinding, DrawnTogether, TooMany, TooOften, Unread
from shoed.now import Now
from shoed.observations import CardSeen, Pair, Place, ResultSeen
from shoed.rules import drawing
from shoed.rules.irregular import Happened, course
from shoed.rules.questions import Ask, Inquiry
from shoed.table.advance import advance
from shoed.table.context import BY_FIRST_CARD, Table, both, signed
from shoed.table.follow import (
    ask,
    compare,
    follow,
    lapse,
    left_over,
    lie,
    present,
    suspend,
    tell_noticed,
    tell_ruled,
    tell_settled,
)
from shoed.table.judging import LINGERING, left_open, renewal, unplaced
from shoed.table.reading import beside, fits, opens
from shoed.table.sets import SUSPECTED
from shoed.table.state import DRAWN, MOST_WAITING, OPEN, OVER, Comparison, Last, Move, Noticed, Phase, Round, Taken
from shoed.words import Event as Mishap

HANDS: Final = {Place.PLAYER: Pair.PLAYER, Place.BANKER: Pair.BANKER}
NOT_DUE: Final = ("not-due", Place.OVERDRAW.value)
AT_A_TABLE: Final = (*OPEN, *DRAWN)  # a round is there to be doubted


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
    begins = is_first or dealt_anew(table, seen) or opens(lying(table), reported(seen))
    if begins:
        unsure, left = table.state.round.unsure, lying(table)
        open_round(table, seen.at, "card")
        if unsure and left:  # that the shoe counts them is not proven
            table.set_round(replace(table.state.round, partial=True))
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
    behind = table.state.phase in (*DRAWN, *OVER)
    announced = behind and table.settings.custom.bets_close_by_command
    return seen.place is Place.DEALT and (behind or table.state.phase is Phase.IDLE) and not announced


def lying(table: Table) -> tuple[Card, ...]:
    """The cards that were left over, between two rounds."""
    if table.state.phase in DRAWN:
        return (*left_over(table.judgement), *table.state.kept)
    return (*table.state.left_over, *table.state.kept) if table.state.phase in OVER else ()


def take(table: Table, seen: CardSeen, findings: Sequence[AnyFinding], told: Seen, reason: str) -> None:
    """A card of this round: the one that is due, or one that waits until somebody says what it is."""
    play = table.state.round.play
    current = replace(begin_dealing(table, seen.at), empty=None)  # it was not, after all
    due = table.judgement.due if not current.waiting else None
    taken = Taken(seen.card, told, seen.at.utc_us, table.row, dealt=seen.place is Place.DEALT)
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
    look_at_excess(table, seen.at)


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
    look_at_excess(table, seen.at)


def no_card_due(current: Round, taken: Taken) -> bool:
    """Whether this one was reported where none was due: the shoe tells it again once its error is cleared."""
    found = [each.what for each in current.happened if each.what.event is Mishap.CARD_IN_EXCESS]
    return not taken.excess and any(current.cards[each.at - 1] == taken for each in found)


def look_at_excess(table: Table, at: Now) -> None:
    """Once the round has its cards, those that were put by are looked at."""
    current = table.state.round
    if current.over and table.state.phase in DRAWN:
        follow(table, at, current, current.over[0].seen)


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


# --- a round opens, and the one before it ends


def open_round(table: Table, at: Now, opened_by: str) -> None:
    before, undecided, lying_there = overtake(table, at)
    last = table.state.last
    if last is not None and last.answer is Comparison.AWAITED and not last.void:
        table.emit(at, events.RoundUnconfirmed(shoe=last.told.shoe, round=last.told.round))
        table.state = replace(table.state, last=replace(last, answer=Comparison.UNCONFIRMED))
    end_round(table, at)
    for found in renewal(before):
        note(table, at, found)
    if opened_by == "announcement":  # what lies there may still be laid in front of its first card
        undecided = tuple(each for each in undecided if each.what.event is not Mishap.CARD_IN_EXCESS)
        table.state = replace(table.state, hold=(*table.state.hold, *lying_there)[:MOST_WAITING])
    elif lying_there and Mishap.CARD_IN_EXCESS not in {each.what.event for each in undecided}:
        undecided = (*undecided, replace(lying_there[0], card=None))
    table.move(Move.ANNOUNCED if opened_by == "announcement" else Move.OPENING_CARD)
    if table.state.cut and table.state.missed is not None:  # this may be another shoe already
        table.state = replace(table.state, shoe_whole=False)
    play = Phase.BETTING if opened_by == "announcement" else Phase.IDLE
    current = Round(
        table.state.shoe,
        before.number + 1,
        hold=tuple(each for each in table.state.hold if each.card is None),
        unanswered=undecided,
        play=play,
        game=table.settings.game,
    )
    # The others wait for the first card: until then they may still be laid in front of it.
    table.state = replace(table.state, round=current, hold=tuple(each for each in table.state.hold if each.card))
    table.emit(
        at,
        events.RoundStarted(
            shoe=table.state.shoe,
            round=current.number,
            game=table.settings.game,
            opened_by=opened_by,
            shoe_integrity=table.state.shoe_integrity,
        ),
    )


def overtake(table: Table, at: Now) -> tuple[Round, tuple[Noticed, ...], tuple[Noticed, ...]]:
    """The round as it ends, the doubts that it leaves open, and the cards behind it that nobody has placed.

    One that has all its cards, and waits only for what players choose, is played on first.
    """
    current, asked = table.state.round, [each for each in table.judgement.questions if each.holds]
    if table.state.phase is Phase.SUSPENDED and not current.complete and all(each.ask is Ask.OPTION for each in asked):
        after, found = advance(table.house, replace(current, overtaken=True))
        if not found.held and found.course.void is None and found.course.due is None and after.cards:
            follow(table, at, replace(current, overtaken=True))
    current = table.state.round
    return current, left_open(current, table.judgement), unplaced(current, table.judgement)


def begin_next(table: Table, at: Now) -> None:
    """The next round has begun: what waits is of that one. Its first card was missed, unless some were left over."""
    before = table.state.round
    table.set_round(replace(before, waiting=()))
    open_round(table, at, "card")
    against = tuple(against_custom(table, Phase.IDLE))
    current = replace(begin_dealing(table, at), away=before.away, partial=before.unsure)
    table.set_round(current)
    suspend(table, at, table.judgement.due, before.waiting[0].seen)
    current = replace(
        current,
        cards=current.cards or (Taken(None),),
        waiting=before.waiting,
        suspected=(*current.suspected, *against),
    )
    follow(table, at, current)


def begin_dealing(table: Table, at: Now) -> Round:
    """A card of the round came. The first one closes the bets, and follows those that the round before left over."""
    state, current = table.state, table.state.round
    if current.play is Phase.DEALING:
        return current
    if current.play is Phase.BETTING:
        close_bets(table, at, "card")
    if table.state.phase is Phase.CLOSED:
        table.move(Move.OPENING_CARD)
    table.set_round(replace(table.state.round, play=Phase.DEALING), table.judgement)
    if state.left_over or state.kept:
        lapse(table, at)  # what is asked of an empty round is another question now
        left = tuple(Taken(face, drawn=True) for face in (*state.left_over, *state.kept))
        table.set_round(replace(table.state.round, cards=left, carried=len(left)))
    if state.hold:
        table.set_round(replace(table.state.round, hold=(*current.hold, *state.hold)))
    table.state = replace(table.state, left_over=(), kept=(), hold=())
    return table.state.round


def against_custom(table: Table, play: Phase) -> Iterator[Noticed]:
    """What this house asks for and has not been done; asked at the first card of a round that was so far."""
    if play is Phase.IDLE:  # nobody announced the round
        yield from behind_the_cut(table)
    if play in (Phase.IDLE, Phase.BETTING) and table.settings.custom.bets_close_by_command:
        yield Noticed(Happened(Mishap.DEALING_ERROR, 1, 1), "the first card came before the bets were closed")
    if play is not Phase.DEALING and (told := burnt_otherwise(table)) is not None:
        yield Noticed(Happened(Mishap.OTHER, 0, 0), told)


def behind_the_cut(table: Table) -> Iterator[Noticed]:
    state, rounds = table.state, table.settings.custom.rounds_after_cut
    if state.cut and rounds is not None and state.round.number > state.cut_in + rounds:
        told = f"the cutting card came in round {state.cut_in}, and {rounds} are dealt after it"
        yield Noticed(Happened(Mishap.OTHER, 0, 0), told)


def burnt_otherwise(table: Table) -> str | None:
    """How the cards burnt at the start of this shoe are not what the house asks for."""
    state, burn = table.state, table.settings.custom.burn_cards
    if burn is None or state.round.number != 1 or not state.shoe_whole:
        return None
    burnt = f"{state.burnt} cards were burnt at the start of this shoe"
    if burn == BY_FIRST_CARD:
        if state.first_card is None:
            return f"{burnt}, and no first card was read that says how many should have been"
        burn = 1 + min(state.first_card.rank, Rank.TEN)
    return None if state.burnt == burn else f"{burnt}, and {burn} should have been"


def close_bets(table: Table, at: Now, closed_by: str) -> None:
    current = table.state.round
    table.set_round(replace(current, play=Phase.CLOSED), table.judgement)
    table.move(Move.BETS_CLOSED)
    table.emit(at, events.BetsClosed(shoe=current.shoe, round=current.number, closed_by=closed_by))


def end_round(table: Table, at: Now) -> None:
    """Something new begins: the round is settled, or abandoned if it never had all its cards."""
    phase, current = table.state.phase, table.state.round
    if phase in AT_A_TABLE and current.complete:
        settle(table, at, said=False)
    elif phase in OPEN:
        player, banker = both(table.book, lie(table))
        table.emit(at, events.RoundAbandoned(shoe=current.shoe, round=current.number, player=player, banker=banker))
        table.move(Move.GIVEN_UP)
    if table.state.asked is not None and table.state.asked.key != LINGERING:
        lapse(table, at)
    table.move(Move.NEXT)
    table.state = replace(table.state, suspended=None)


def settle(table: Table, at: Now, *, said: bool) -> None:
    """Every bet of a complete round is paid: told if somebody said so, or if there is more to it than the result."""
    found, last = table.judgement, table.state.last
    if last is not None and (said or found.returned or left_over(found) or table.state.round.paid):
        tell_settled(table, at, last)
    table.move(Move.SETTLEMENT)
    table.state = replace(table.state, left_over=left_over(found))


def start_shoe(table: Table, at: Now, *, whole: bool) -> None:
    before, undecided, _ = overtake(table, at)
    end_round(table, at)
    shoe = table.state.shoe + 1
    opened = Round(shoe, unsure=before.unsure, unanswered=without_renewal(undecided))
    table.state = replace(table.state, shoe=shoe, shoe_whole=whole, cut=False, missed=None, round=opened)
    hold = tuple(replace(each, card=None) for each in without_renewal(table.state.hold))  # it is of the shoe before
    table.state = replace(table.state, hold=hold, left_over=(), kept=(), told=None)
    past = (before.shoe, before.number) if before.number else table.state.past
    table.state = replace(table.state, burnt=0, first_card=None, cut_in=0, past=past)
    table.emit(at, events.ShoeStarted(shoe=shoe, shoe_integrity=table.state.shoe_integrity))
    coming, table.state = table.state.coming, replace(table.state, coming=())
    for found in coming:
        note(table, at, found)
    ask(table, at)


def without_renewal(doubts: Sequence[Noticed]) -> tuple[Noticed, ...]:
    """The new set that was wanted has come."""
    return tuple(each for each in doubts if each.what.event is not Mishap.SET_REPLACED)


def run_empty(table: Table, at: Now, by: Author | None) -> None:
    """C 5.5.4: a round that still needs a card, or will when it is decided or mended, cannot be completed."""
    short = Noticed(Happened(Mishap.TOO_FEW_CARDS, 0, 0), "the shoe is empty, and a card is due", by)
    current = replace(table.state.round, empty=short)
    told = events.ShoeEmptied(shoe=current.shoe or None, round=current.number or None, **signed(by))
    table.emit(at, told)
    if table.state.phase in AT_A_TABLE:
        follow(table, at, current)
    else:
        table.set_round(current)


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
    if finding.cards[0] is None and ordinal > len(current.cards):  # it may be the same card, read at last
        after = replace(current, with_unread=ordinal)
    elif finding.cards[0] is None:
        what = replace(found.what, at=ordinal, noticed_at=ordinal, count=1)
        return replace(current, suspected=(*current.suspected, replace(found, what=what)))
    elif ordinal > len(current.cards) and not next_in_line:  # with which it came is known once it has a place
        *waiting, last = current.waiting
        after = replace(current, waiting=(*waiting, replace(last, together=found)))
    else:
        after = beside(current, found, ordinal)
    if after.happened == current.happened:
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


def too_many(table: Table, seen: CardSeen) -> None:
    """C 5.7: it came between two rounds, and may open the next."""
    evidence = f"{seen.card or 'a card without a face'} after the round was over"
    what = Happened(Mishap.CARD_IN_EXCESS, 0, 0, between_rounds=True)
    hold(table, seen.at, Noticed(what, evidence, card=seen.card))


def between(table: Table, at: Now, mishap: Mishap, evidence: str, by: Author | None = None) -> None:
    """Noticed while no round is open: there is nothing to void, and the next round waits for a person."""
    hold(table, at, Noticed(Happened(mishap, 0, 0, reconstructable=True, between_rounds=True), evidence, by))


def hold(table: Table, at: Now, found: Noticed) -> None:
    note(table, at, found)
    ask(table, at)


def note(table: Table, at: Now, found: Noticed) -> None:
    """One of a kind, but of every card where it goes."""
    tell_noticed(table, at, found)
    (ruling,) = course(table.book, (), [found.what], Inquiry([])).rulings
    tell_ruled(table, at, found.what.event, ruling, present(table))
    there = [each.what.event for each in table.state.hold if (each.card is None) is (found.card is None)]
    if len(there) < MOST_WAITING if found.card is not None else found.what.event not in there:
        table.state = replace(table.state, hold=(*table.state.hold, found))
