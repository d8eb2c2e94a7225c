"""What has changed, told: the events that follow when a Round becomes another one.

Theory of operation: `follow` judges the round as it was and as it is. What is new goes out in this order: that the
round waits, what was noticed, what the book says of it, what becomes of the round (void, resumed, complete, corrected),
and last the question that is asked now. Everything is the difference of two judgements; nothing else decides.
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from tests.oracle.engine_5 import events
from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.events import Result, RoundCompleted, Seen, Slot
from tests.oracle.engine_5.now import Now
from tests.oracle.engine_5.observations import Outcome
from tests.oracle.engine_5.rules import drawing
from tests.oracle.engine_5.rules.book import Rule, Then
from tests.oracle.engine_5.rules.drawing import Hands
from tests.oracle.engine_5.rules.irregular import Ruling
from tests.oracle.engine_5.table.advance import advance
from tests.oracle.engine_5.table.context import Table, both, pays_of, signed
from tests.oracle.engine_5.table.judging import Asked, Judgement, left_by_void, open_questions, shown
from tests.oracle.engine_5.table.reading import slot
from tests.oracle.engine_5.table.state import DRAWN, MOST_WAITING, Comparison, Completed, Move, Noticed, Open, Phase, Round
from tests.oracle.engine_5.words import Event as Mishap
from tests.oracle.engine_5.words import Role

NOTHING: Final = Seen()
RESUMES: Final = {
    Phase.BETTING: Move.STILL_BETTING,
    Phase.CLOSED: Move.STILL_CLOSED,
    Phase.DEALING: Move.RESUMED,
}


class Spot(NamedTuple):
    """Of which round an irregularity is told, and under which number in it."""

    shoe: int | None
    round: int | None
    number: int | None = None


def follow(table: Table, at: Now, current: Round, seen: Seen = NOTHING) -> None:
    """The round is now this one: take in what waits, and tell what has changed."""
    was = table.state.round
    before = table.judgement
    current, after = advance(table.house, current)
    table.set_round(current, after)
    if after.held and after.course.void is None:
        suspend(table, at, due_in_doubt(table, was, before), seen)
    tell_irregular(table, at, was, after)
    if after.course.void is not None:
        if table.state.phase is not Phase.VOIDED:
            void(table, at, after, after.course.void)
    elif not after.held:
        go_on(table, at, before, after)
    else:
        if shown(table.house, was, before) != lie(table):  # what is asked is asked of other cards than it was
            lapse(table, at)
        amend(table, at)
        if current.complete and not table.state.round.complete:  # what waits behind its end is not behind it any more
            follow(table, at, table.state.round)
            return
    told, now = ((each.returned, left_over(each)) for each in (before, after))
    last = table.state.last
    if table.state.phase is Phase.SETTLED and last is not None and told != now:
        tell_settled(table, at, last)
        table.state = replace(table.state, left_over=left_over(after))
    current = table.state.round
    behind = (*current.over, *current.waiting) if table.state.phase in DRAWN else ()
    if behind:
        follow(table, at, current, behind[0].seen)
        return
    ask(table, at)


def tell_irregular(table: Table, at: Now, was: Round, after: Judgement) -> None:
    current = table.state.round
    for found in current.suspected:
        if found not in was.suspected:
            tell_noticed(table, at, found)
    for number, found in enumerate(current.happened[len(was.happened) :], len(was.happened) + 1):
        tell_noticed(table, at, found, present(table, number))
    told = {each.irregularity: each for each in current.ruled}
    for ruling in after.rulings:
        if ruling.then is not Then.ASK and told.get(ruling.irregularity) != ruling:
            mishap = current.happened[ruling.irregularity].what.event
            tell_ruled(table, at, mishap, ruling, present(table, ruling.irregularity + 1))
            told[ruling.irregularity] = ruling
    ruled = tuple(told.values())
    if ruled != current.ruled:
        table.set_round(replace(current, ruled=ruled), after)


def suspend(table: Table, at: Now, due: Slot | None, seen: Seen) -> None:
    """Once; what else comes while the round waits adds nothing."""
    if table.state.phase is Phase.SUSPENDED:
        return
    table.move(Move.DOUBT)
    current = table.state.round
    told = events.RoundSuspended(shoe=current.shoe, round=current.number, due=due, seen=seen, gap=current.away)
    table.state = replace(table.state, suspended=told)
    table.emit(at, told)


def due_in_doubt(table: Table, was: Round, before: Judgement) -> Slot | None:
    """The slot that was due when the doubt came, or the one after it where its card is there."""
    current, found = table.state.round, before.course
    if len(current.cards) > len(was.cards) and current.cards[-1].drawn:
        hands = with_last(before, current)
        return slot(hands, drawing.due(table.book, hands))
    return slot(found.hands, found.due)


def go_on(table: Table, at: Now, before: Judgement, after: Judgement) -> None:
    """Nobody has to be asked: a card is due, or the round is complete."""
    current, hands = table.state.round, after.course.hands
    if table.state.phase is Phase.SUSPENDED:
        player, banker = both(table.book, hands)
        table.emit(
            at,
            events.RoundResumed(
                shoe=current.shoe,
                round=current.number,
                player=player,
                banker=banker,
                due=after.due,
                carried=after.course.carried,
                phase=(Phase.COMPLETE if after.due is None else Phase.DEALING if current.cards else current.play).value,
            ),
        )
        current = replace(current, cards=tuple(replace(each, drawn=True) for each in current.cards))
        table.set_round(current, after)
        table.state = replace(table.state, suspended=None)
    if not current.cards:
        if table.state.phase is Phase.SUSPENDED:
            table.move(RESUMES[current.play])
        return
    if after.due is None:
        finish(table, at, hands)
    elif current.complete and table.state.last is not None:  # a correction took its end away
        correct(table, at, table.state.last, hands, after.due)
    elif table.state.phase is Phase.SUSPENDED:
        table.move(Move.RESUMED)
    else:
        if hands not in (before.course.hands, with_last(before, current)):
            last_told = max(current.accounted, *(each.sequence for each in current.cards))
            accounted = tell_corrected(table, at, account(table, hands), after.due, last_told)
            table.set_round(replace(current, accounted=accounted), after)
        table.move(Move.DUE_CARD)


def with_last(before: Judgement, current: Round) -> Hands:
    """The hands once the card that was due has been drawn, as its event tells them."""
    hands, last = before.course.hands, current.cards[-1].card
    return hands if before.due is None or last is None else hands.with_card(before.due.hand, last)


def account(table: Table, hands: Hands) -> RoundCompleted:
    """The round by these hands, as if no card were due."""
    current = table.state.round
    player, banker = both(table.book, hands)
    seen = not current.partial and all(each.row for each in current.cards[current.carried :])
    return RoundCompleted(
        shoe=current.shoe,
        round=current.number,
        game=current.game or table.settings.game,
        player=player,
        banker=banker,
        outcome=Outcome(drawing.winner(table.book, hands).value),
        pairs=drawing.pairs(hands),
        integrity="complete" if seen else "partial",
    )


def finish(table: Table, at: Now, hands: Hands) -> None:
    """Every card due is there: the result, for the first time or in the place of another."""
    current, last, completed = table.state.round, table.state.last, account(table, hands)
    if not current.complete:
        sequence = table.emit(at, completed)
        table.move(Move.COMPLETED if table.state.phase is Phase.SUSPENDED else Move.LAST_CARD)
        table.set_round(replace(current, complete=True, result=None, early=False))
        table.state = replace(table.state, last=Completed(completed, sequence))
        theirs = current.result or current.theirs
        if theirs is not None:
            compare(table, at, theirs)
    elif last is not None and replace(completed, integrity=last.told.integrity) != last.told:
        correct(table, at, last, hands, None)
    elif table.state.phase is Phase.SUSPENDED:
        table.move(Move.COMPLETED)


def account_anew(table: Table, at: Now, last: Completed, hands: Hands) -> None:
    """By the Table of Play these are the hands, wherever the cards behind them go."""
    if (hands.player, hands.banker) != (last.told.player.cards, last.told.banker.cards):
        correct(table, at, last, hands, None)


def amend(table: Table, at: Now) -> None:
    """The round waits; what was decided or corrected so far may have made another account of it."""
    last, hands = table.state.last, lie(table)
    if not table.state.round.complete or last is None:
        return
    told = Hands(last.told.player.cards, last.told.banker.cards)
    if hands != told and len(hands) >= len(told):  # else it is a question where some of them lie
        correct(table, at, last, hands, slot(hands, drawing.due(table.book, hands)))


def correct(table: Table, at: Now, last: Completed, hands: Hands, due: Slot | None) -> None:
    """Another account of a round that was complete."""
    told = replace(account(table, hands), integrity=last.told.integrity)
    sequence = tell_corrected(table, at, told, due, last.sequence)
    if not table.judgement.held:
        table.move(Move.CORRECTION if due is None else Move.REOPENED)
    if due is not None:
        theirs = last.theirs or table.state.round.theirs
        table.set_round(replace(table.state.round, complete=False, theirs=theirs, accounted=sequence))
        table.state = replace(table.state, last=None)
        return
    table.state = replace(table.state, last=Completed(told, sequence))
    if last.theirs is not None:
        compare(table, at, last.theirs)


def tell_corrected(table: Table, at: Now, told: RoundCompleted, due: Slot | None, superseded: int) -> int:
    return table.emit(
        at,
        events.RoundCorrected(
            shoe=told.shoe,
            round=told.round,
            game=told.game,
            player=told.player,
            banker=told.banker,
            outcome=told.outcome if due is None else None,
            pairs=told.pairs,
            integrity=told.integrity,
            due=due,
            supersedes=table.event_id(superseded),
        ),
    )


def void(table: Table, at: Now, after: Judgement, ruling: Ruling) -> None:
    current, last = table.state.round, table.state.last
    happened = current.happened[ruling.irregularity] if ruling.irregularity < len(current.happened) else None
    player, banker = both(table.book, shown(table.house, current, after))
    told = current.complete and last is not None
    answered = [
        each.by for each in current.decisions if each.irregularity == ruling.irregularity and each.bettor is None
    ]
    by = answered[-1] if answered else happened.by if happened is not None else current.void
    table.emit(
        at,
        events.RoundVoided(
            shoe=current.shoe,
            round=current.number,
            kind=happened.what.event.value if happened is not None else "void",
            clause=ruling.clause or None,
            returns=table.book.rules[Rule.VOID_RETURNS_EVERY_STAKE].clause or None,
            reading=ruling.reading or None,
            player=player,
            banker=banker,
            supersedes=table.event_id(last.sequence) if told and last is not None else None,
            **signed(by),
        ),
    )
    table.move(Move.VOID)
    for left in left_by_void(current, after):
        tell_noticed(table, at, left)
        table.state = replace(table.state, hold=(*table.state.hold, left)[:MOST_WAITING])
    table.set_round(replace(current, voided=ruling))
    table.state = replace(table.state, suspended=None)
    if told and last is not None:
        table.state = replace(table.state, last=replace(last, void=True))


def tell_settled(table: Table, at: Now, last: Completed) -> None:
    """What each bet of the complete round is paid, what goes back, and what is left over."""
    current, found = table.state.round, table.judgement
    table.emit(
        at,
        events.RoundSettled(
            shoe=current.shoe,
            round=current.number,
            outcome=last.told.outcome,
            pays=pays_of(last.told),
            returned=found.returned,
            carried=left_over(found),
        ),
    )
    table.set_round(replace(current, paid=True), found)


def left_over(found: Judgement) -> tuple[Card, ...]:
    return () if found.held else found.course.carried


def compare(table: Table, at: Now, theirs: Result) -> None:
    last = table.state.last
    if last is None or not awaits(table, last):
        return
    answer = Comparison.CONFIRMED if theirs == last.ours else Comparison.DISPUTED
    if theirs != last.theirs:
        event = events.RoundConfirmed if answer is Comparison.CONFIRMED else events.RoundDisputed
        table.emit(at, event(shoe=last.told.shoe, round=last.told.round, ours=last.ours, theirs=theirs))
        table.state = replace(table.state, last=replace(last, answer=answer, theirs=theirs))


def awaits(table: Table, last: Completed) -> bool:
    """Whether a result is that of the last completed round; after undue cards or a new shoe only the first is."""
    state = table.state
    first = last.answer is Comparison.AWAITED and (state.round.complete or state.phase is Phase.IDLE)
    return (first or state.phase in DRAWN) and not state.round.unsure and not last.void


# --- questions


def ask(table: Table, at: Now) -> None:
    """The first open question is the one that is asked; one that is no longer open lapses."""
    questions = open_questions(table.house, table.state, table.judgement)
    first, asked = (questions[0] if questions else None), table.state.asked
    if asked is not None and (first is None or first.key != asked.key):
        lapse(table, at)
    if first is None or (asked is not None and first.key == asked.key):
        return
    number = table.state.questions + 1
    table.state = replace(table.state, questions=number, asked=Open(str(number), first.key, at.utc_us))
    player, banker = both(table.book, lie(table))
    table.emit(
        at,
        events.QuestionAsked(
            shoe=table.state.shoe or None,
            round=table.state.round.number or None,
            id=str(number),
            question=first.ask.value,
            clause=first.clause or None,
            role=role_of(first),
            optional=not first.holds,
            player=player,
            banker=banker,
        ),
    )


def lie(table: Table) -> Hands:
    return shown(table.house, table.state.round, table.judgement)


def role_of(asked: Asked) -> str | None:
    return asked.role.value if isinstance(asked.role, Role) else asked.role


def lapse(table: Table, at: Now) -> None:
    asked = table.state.asked
    if asked is None:
        return
    table.state = replace(table.state, asked=None)
    current = table.state.round
    name = asked.key.partition(" ")[0]
    table.emit(
        at, events.QuestionLapsed(shoe=current.shoe or None, round=current.number or None, id=asked.id, question=name)
    )


# --- what was noticed


def tell_noticed(table: Table, at: Now, found: Noticed, spot: Spot | None = None, kind: str = "") -> None:
    what, spot = found.what, spot or present(table)
    table.emit(
        at,
        events.IrregularityNoticed(
            shoe=spot.shoe,
            round=spot.round,
            number=spot.number,
            kind=kind or what.event.value,
            at=what.at or None,
            count=what.count if what.event is Mishap.DRAWN_TOGETHER else None,
            evidence=found.evidence,
            late=what.noticed_late,
            **signed(found.by),
        ),
    )


def tell_ruled(table: Table, at: Now, mishap: Mishap, ruling: Ruling, spot: Spot) -> None:
    table.emit(
        at,
        events.IrregularityRuled(
            shoe=spot.shoe,
            round=spot.round,
            number=spot.number,
            kind=mishap.value,
            then=ruling.then.value,
            clause=ruling.clause or None,
            decides=ruling.decides.value if ruling.decides else None,
            silent=ruling.silent,
            reading=ruling.reading or None,
        ),
    )


def present(table: Table, number: int | None = None) -> Spot:
    return Spot(table.state.shoe or None, table.state.round.number or None, number)
