"""How a round and a shoe begin and end, and what a house asks of them."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tests.oracle.engine_5 import events
from tests.oracle.engine_5.cards import Rank
from tests.oracle.engine_5.commands import Author
from tests.oracle.engine_5.now import Now
from tests.oracle.engine_5.rules.irregular import Happened
from tests.oracle.engine_5.rules.questions import Ask
from tests.oracle.engine_5.table.advance import foreseen
from tests.oracle.engine_5.table.between import note
from tests.oracle.engine_5.table.context import BY_FIRST_CARD, Table, both, signed
from tests.oracle.engine_5.table.follow import (
    account_anew,
    ask,
    follow,
    lapse,
    left_over,
    lie,
    suspend,
    tell_settled,
)
from tests.oracle.engine_5.table.judging import LINGERING, Doubt, left_open, placed, renewal, unplaced
from tests.oracle.engine_5.table.reading import unheard
from tests.oracle.engine_5.table.state import (
    AT_A_TABLE,
    MOST_WAITING,
    OPEN,
    Comparison,
    Move,
    Noticed,
    Phase,
    Round,
    Taken,
)
from tests.oracle.engine_5.words import Event as Mishap


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
        announced=opened_by == "announcement",
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

    One that has all its cards, and waits only for what players choose or for a suspicion, is played on first. One that
    was told is paid by what its cards are now, whatever is asked of those behind its end.
    """
    if not table.state.round.complete and may_be_overtaken(table):
        follow(table, at, replace(table.state.round, overtaken=True))
    current, last, course = table.state.round, table.state.last, table.judgement.course
    in_order = all(each.ask is not Ask.CARD_ORDER for each in table.judgement.questions)
    if current.complete and last is not None and course.void is None and course.due is None and in_order:
        account_anew(table, at, last, course.hands)
    return current, left_open(current, table.judgement), unplaced(current, table.judgement)


def may_be_overtaken(table: Table) -> bool:
    """Whether the round has all its cards, and waits only for what players choose or for a suspicion."""
    current, asked = table.state.round, [each for each in table.judgement.questions if each.holds]
    if table.state.phase is not Phase.SUSPENDED or any(each.ask not in (Ask.OPTION, Doubt.CONFIRM) for each in asked):
        return False
    if current.complete:
        return not current.waiting
    after, found = foreseen(table.house, replace(current, overtaken=True))
    over = found.course.void is None and found.course.due is None and placed(found)
    return over and not after.waiting and not found.course.carried


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
        cards=current.cards or unheard(before.waiting[0]),
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
