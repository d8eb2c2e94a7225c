"""What people tell a table, and what becomes of it: done, or refused with the reason.

Nobody tells a round what it is: a command says what was seen or decided, and the same judgement follows as from a card.
Whoever mends the record (a card that was misread, a round that is void) is a Pit Supervisor or above; whoever answers
a question has the role that the rule book names for it; everything else anybody of the house may tell.
"""

from collections import Counter
from typing import Final, assert_never

from msgspec.structs import replace

from tests.oracle.engine_5 import events
from tests.oracle.engine_5.commands import (
    Answer,
    Author,
    CloseBets,
    CorrectCard,
    Decide,
    EmptyShoe,
    GrantSqueeze,
    Notice,
    OpenBets,
    ReportLate,
    SettleRound,
    StartShoe,
    VoidRound,
)
from tests.oracle.engine_5.now import Now
from tests.oracle.engine_5.observations import Pair
from tests.oracle.engine_5.rules import drawing
from tests.oracle.engine_5.rules.book import Act, Rule
from tests.oracle.engine_5.rules.irregular import OF_A_CARD, Happened, course, lay
from tests.oracle.engine_5.rules.questions import Ask, Inquiry
from tests.oracle.engine_5.step import Told
from tests.oracle.engine_5.table import rounds
from tests.oracle.engine_5.table.between import between
from tests.oracle.engine_5.table.context import Table, signed
from tests.oracle.engine_5.table.follow import Spot, ask, follow, tell_noticed, tell_ruled
from tests.oracle.engine_5.table.judging import OTHERS, RECORD, Asked, Doubt, choose, holding, kept, open_questions, refusal
from tests.oracle.engine_5.table.reading import TOGETHER, Reading, corrected
from tests.oracle.engine_5.table.state import DRAWN, MENDABLE, OPEN, Noticed, Phase, Round
from tests.oracle.engine_5.words import FOLLOWS, Stage
from tests.oracle.engine_5.words import Event as Mishap

UNTIL_THE_NEXT: Final = {Mishap.WRONG_COUNT, Mishap.INSURANCE_NEGLECTED}  # C 5.5.3, I 5.13: also once bets are paid


def obey(table: Table, told: Told, at: Now) -> None:
    refused = _obey(table, told, at)
    table.answers.append(Answer(told.id, refused is None, refused or ""))


def _obey(table: Table, told: Told, at: Now) -> str | None:  # noqa: C901, PLR0912 -- one line a command
    """None if it was done, else why not."""
    by = told.author
    if by.role is None and not isinstance(told.command, Decide):
        return "a player tells the house, and the house tells the table: name a role"
    match told.command:
        case OpenBets():
            return _open_bets(table, at)
        case CloseBets():
            return _close_bets(table, at)
        case Notice() as notice:
            return _notice(table, notice, by, at)
        case ReportLate(act=act):
            return _late(table, act, by, at)
        case GrantSqueeze():
            return _squeeze(table, by, at)
        case Decide() as decision:
            return _decide(table, decision, by, at)
        case CorrectCard() as correction:
            return _correct(table, correction, by, at)
        case VoidRound(round=number):
            return _void(table, number, by, at)
        case SettleRound():
            return _settle(table, at)
        case StartShoe():
            rounds.start_shoe(table, at, whole=True)
            return None
        case EmptyShoe():
            rounds.run_empty(table, at, by)
            return None
        case _:
            assert_never(told.command)


def _open_bets(table: Table, at: Now) -> str | None:
    if table.state.phase in OPEN and not table.state.round.complete and not rounds.may_be_overtaken(table):
        return f"round {table.state.round.number} is {table.state.phase.value}: end it first, or void it"
    if not table.state.shoe:  # joined midway
        table.state = replace(table.state, shoe=1, round=Round(1))
    rounds.open_round(table, at, "announcement")
    current = table.state.round
    follow(table, at, replace(current, suspected=tuple(rounds.behind_the_cut(table))))  # asked before its first card
    return None


def _close_bets(table: Table, at: Now) -> str | None:
    if table.state.phase not in (Phase.BETTING, Phase.SUSPENDED) or table.state.round.play is not Phase.BETTING:
        return f"no bets are open: the table is {table.state.phase.value}"
    rounds.close_bets(table, at, "announcement")
    return None


def _notice(table: Table, notice: Notice, by: Author, at: Now) -> str | None:
    current = table.state.round
    if notice.kind in FOLLOWS:
        return f"{notice.kind.value} is nothing that happens"
    number = notice.round or current.number
    past = None if notice.round is None else past_round(table, notice.round)
    if number > current.number and past is None:
        return f"round {number} has not been played; the last one is {current.number}"
    drawn = len(current.cards) + len(current.waiting)
    together = notice.count if notice.kind is Mishap.DRAWN_TOGETHER else 1
    first = drawn - together + 1 if notice.at is None and drawn else notice.at or 0
    if past is not None:
        _noticed_late(table, Happened(notice.kind, first, first, noticed_late=True), past, by, at)
        return None
    counts = table.state.phase is Phase.SETTLED and notice.kind in UNTIL_THE_NEXT
    if table.state.phase not in (*OPEN, *DRAWN) and not counts:
        if notice.kind is Mishap.INSURANCE_NEGLECTED:
            return f"no bet stands that insurance was owed to: the table is {table.state.phase.value}"
        between(table, at, notice.kind, f"told by {by.name}", by)
        return None
    if (reason := _impossible(table, notice, first, drawn)) is not None:
        return reason
    what = Happened(
        notice.kind,
        first,
        drawn,
        notice.count,
        notice.order_known,
        notice.reconstructable,
        notice.order,
        notice.of_the_dealing,
        stage=notice.stage,
    )
    both = [what] if notice.other is None else [what, replace(what, at=notice.other)]
    found = tuple(Noticed(each, f"told by {by.name}", by) for each in both)
    follow(table, at, replace(current, happened=(*current.happened, *found)))
    return None


def _side(table: Table, at: int) -> Pair | None:
    """The hand that the card was drawn for, by the order of the deal."""
    before = [each.card for each in table.state.round.cards[: at - 1] if each.card is not None]
    return drawing.due(table.book, lay(table.book, before)[0])


def _impossible(table: Table, notice: Notice, first: int, drawn: int) -> str | None:
    """Why this cannot be said of the cards that there are."""
    current = table.state.round
    last = first + notice.count - 1 if notice.kind is Mishap.DRAWN_TOGETHER else first
    if notice.kind is Mishap.DRAWN_TOGETHER and notice.count < TOGETHER:
        return f"one card is not drawn together; count is {TOGETHER} or more"
    if notice.other is not None and (notice.kind is not Mishap.WRONG_SIDE or not 1 <= notice.other <= drawn):
        return f"only a card of the round can be the other one of a {Mishap.WRONG_SIDE.value}"
    if notice.other is not None and _side(table, first) is _side(table, notice.other):
        return f"cards {first} and {notice.other} are of one side: they cannot have changed places"
    if notice.kind in OF_A_CARD and not drawn:
        return f"{notice.kind.value} is said of a card, and none was drawn yet"
    if last > drawn or (notice.kind in OF_A_CARD and first < 1):
        return f"{notice.kind.value} is said of card {last}, and the round has {drawn}"
    if notice.kind in OF_A_CARD and last > len(current.cards):
        return f"card {last} has no place in the round yet: answer the open question first"
    lie = [each.card for each in current.cards[first - 1 : first - 1 + len(notice.order)]]
    if notice.kind is Mishap.ORDER_ALTERED and Counter(notice.order) != Counter(lie):
        return f"order is not the cards that came from card {first} on, {' '.join(str(card) for card in lie)}"
    return None


def past_round(table: Table, number: int | None) -> Spot | None:
    """A round that is past: of this shoe, or the last of the one before, as long as this one has none."""
    shoe, played = table.state.round.shoe, table.state.round.number - 1
    if played < 0 and table.state.past is not None:
        shoe, played = table.state.past
    return Spot(shoe, number) if number is not None and 1 <= number <= played else None


def _noticed_late(table: Table, what: Happened, of: Spot, by: Author, at: Now) -> None:
    """C 5.11: it is recorded, and no later round is touched."""
    tell_noticed(table, at, Noticed(what, f"told by {by.name} of round {of.round}", by), of)
    (ruling,) = course(table.book, (), [what], Inquiry([])).rulings
    tell_ruled(table, at, what.event, ruling, of)


def _late(table: Table, act: str, by: Author, at: Now) -> str | None:
    acts = {each.value: each for each in Act}
    if act not in acts:
        return f"{act} is nothing that is late; write {' or '.join(acts)}"
    if table.state.round.play in (Phase.IDLE, Phase.BETTING):
        return "the bets are not closed"
    late = table.book.late[acts[act]]
    current = table.state.round
    table.emit(
        at,
        events.BetsLate(
            shoe=current.shoe, round=current.number, act=act, then=late.then.value, clause=late.clause, **signed(by)
        ),
    )
    return None


def _squeeze(table: Table, by: Author, at: Now) -> str | None:
    ground = table.book.rules.get(Rule.SQUEEZE_WAIVES_INSURANCE)
    if ground is None:
        return f"{table.book.id} has no insurance that a squeeze could waive"
    if not table.house.insurance:
        return "insurance is switched off at this table: there is none to waive"
    if table.state.phase not in OPEN or table.state.round.complete:
        return "no round is open" if table.state.phase not in OPEN else "no card is left to be squeezed"
    if table.state.round.squeeze:
        return "it was granted already"
    neglected = [each.what for each in table.state.round.happened if each.what.event is Mishap.INSURANCE_NEGLECTED]
    if any(each.stage is Stage.AFTER_PLAYER_THIRD for each in neglected):
        return "it was told that insurance was not offered: a squeeze asked for after that waives nothing"
    current = replace(table.state.round, squeeze=True)
    table.emit(at, events.InsuranceWaived(shoe=current.shoe, round=current.number, clause=ground.clause, **signed(by)))
    follow(table, at, current)
    return None


def _decide(table: Table, decision: Decide, by: Author, at: Now) -> str | None:
    asked_now = table.state.asked
    if asked_now is None or decision.question != asked_now.id:
        return _stale(table, decision.question)
    questions = open_questions(table.house, table.state, table.judgement)
    asked = next(each for each in questions if each.key == asked_now.key)
    choice = decision.choice
    if (reason := refusal(asked, choice, by)) is not None:
        return reason
    bettor = decision.bettor
    if bettor is not None and (reason := _not_for(table, asked, bettor)) is not None:
        return reason
    state, carried = table.state, kept(table.state, asked, choice)
    table.emit(
        at,
        events.QuestionAnswered(
            shoe=table.state.shoe or None,
            round=table.state.round.number or None,
            id=asked_now.id,
            question=asked.ask.value,
            choice=(choice,) if isinstance(choice, str) else choice,
            bettor=bettor or asked.bettor,
            carried=carried,
            **signed(by),
        ),
    )
    if bettor in (None, asked.bettor):
        table.state = replace(table.state, asked=None)
    if asked.ask is Ask.NEXT_ROUND and not asked.optional and holding(state) == state.hold:
        table.state = replace(table.state, hold=state.hold[1:], kept=(*state.kept, *carried))
        ask(table, at)
        return None
    if asked.ask is Doubt.READING and choice == Reading.NEXT_ROUND.value:
        rounds.begin_next(table, at)
    else:
        follow(table, at, choose(table.state.round, asked, choice, by, bettor))
    return None


def _not_for(table: Table, asked: Asked, bettor: str) -> str | None:
    """Why this question is not answered for one bettor, or not for this one."""
    if asked.bettor is None:
        return f"{asked.ask.value} is nobody's own choice: leave bettor out"
    if any(
        (each.bettor, each.irregularity, each.ask) == (bettor, asked.irregularity, asked.ask)
        for each in table.state.round.decisions
    ):
        return f"{bettor} has chosen already"
    return None if asked.bettor in (OTHERS, bettor) else f"this is asked of {asked.bettor}"


def _stale(table: Table, question: str) -> str:
    asked = table.state.asked
    now = f"the open one is {asked.id}" if asked else "none is open"
    if question.isascii() and question.isdigit() and 0 < int(question) <= table.state.questions:
        return f"question {question} was answered, or has lapsed; {now}"
    return f"there is no question {question}; {now}"


def _may_mend(by: Author) -> str | None:
    if by.role is not None and by.role.may_decide_for(RECORD):
        return None
    return f"{by.role.value if by.role else 'a player'} may not mend the record: it takes {RECORD.value}"


def _correct(table: Table, correction: CorrectCard, by: Author, at: Now) -> str | None:
    current = table.state.round
    if (reason := _may_mend(by)) is not None:
        return reason
    if (correction.round or current.number) != current.number or table.state.phase not in MENDABLE:
        told = f"card {correction.index} is {correction.card}"
        return _mend_late(table, correction.round, told, by, at)
    if not 1 <= correction.index <= len(current.cards):
        return f"card {correction.index} is none of the round, which has {len(current.cards)}"
    before = current.cards[correction.index - 1].card
    if before is correction.card:
        return f"card {correction.index} is {before} already"
    found = Noticed(
        Happened(Mishap.OTHER, correction.index, len(current.cards)),
        f"card {correction.index} was told as {before or 'no card'}, and is {correction.card}",
        by,
    )
    tell_noticed(table, at, found, kind="misread")
    follow(table, at, corrected(current, correction.index, correction.card))
    return None


def _void(table: Table, number: int | None, by: Author, at: Now) -> str | None:
    current = table.state.round
    if (reason := _may_mend(by)) is not None:
        return reason
    if (number or current.number) != current.number or table.state.phase not in MENDABLE:
        if table.state.phase is Phase.VOIDED and number in (None, current.number):
            return f"round {current.number} is void already"
        return _mend_late(table, number, "it should have been void", by, at)
    follow(table, at, replace(current, void=by))
    return None


def _no_such_round(table: Table, number: int | None) -> str:
    if table.state.round.number:
        return f"there is no round {number} in this shoe"
    if table.state.past is None:
        return "no round has been played"
    return "this shoe has no round yet" if number is None else f"the shoe before had no round {number}"


def _mend_late(table: Table, number: int | None, what: str, by: Author, at: Now) -> str | None:
    """C 5.11: recorded, and what was played since stands."""
    current = table.state.round
    void = table.state.phase is Phase.VOIDED and number in (None, current.number)
    of = Spot(current.shoe, current.number) if void else past_round(table, number)
    if of is None:
        return _no_such_round(table, number)
    late = Happened(Mishap.OTHER, 0, 0, noticed_late=not void)
    tell_noticed(table, at, Noticed(late, f"of round {of.round}: {what}", by), of, kind="correction")
    return None


def _settle(table: Table, at: Now) -> str | None:
    if table.state.phase not in DRAWN:
        return f"no round is complete: the table is {table.state.phase.value}"
    rounds.settle(table, at, said=True)
    return None
