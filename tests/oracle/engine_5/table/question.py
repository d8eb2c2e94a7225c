"""The retained `question`: what a person has to say, and what each answer would make of the round."""

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Final

import msgspec
from msgspec.structs import replace

from tests.oracle.engine_5.cards import RANK_TEXT, Card, Rank, Suit
from tests.oracle.engine_5.commands import Author
from tests.oracle.engine_5.events import Hand, Seen, Slot, TookBack
from tests.oracle.engine_5.now import rfc3339
from tests.oracle.engine_5.observations import Outcome
from tests.oracle.engine_5.rules import drawing
from tests.oracle.engine_5.rules.questions import Ask
from tests.oracle.engine_5.rules.results import rows
from tests.oracle.engine_5.table.advance import foreseen
from tests.oracle.engine_5.table.context import both
from tests.oracle.engine_5.table.follow import role_of
from tests.oracle.engine_5.table.judging import (
    FOREIGN,
    Asked,
    Doubt,
    House,
    Judgement,
    begun,
    choose,
    holding,
    house_of,
    judge,
    kept,
    left_by_void,
    left_open,
    open_questions,
    placed,
    renewed,
    shown,
)
from tests.oracle.engine_5.table.reading import Reading, slot
from tests.oracle.engine_5.table.state import Noticed, Round, TableState, Taken
from tests.oracle.engine_5.words import PLAYER, Role

MOST_ORDERS: Final = 24  # of four cards; the orders of more are too many to be read


class Consequence(msgspec.Struct, frozen=True):
    """What the round would be after one answer: its hands, and what is due, or its result and what each bet pays.

    `void`: the clause that would void it, empty where the document is silent. `returned`: who would get bets back.
    `new_shoe`: the next round would be dealt from a new set of cards. `then_asks`: the question that would follow; what
    hangs on that one is shown as if it were answered as proposed. `any 8`: any card of that rank.
    """

    choice: tuple[str, ...]
    clause: str | None
    player: Hand
    banker: Hand
    due: Slot | None
    outcome: Outcome | None
    pays: Mapping[str, str] | None
    void: str | None
    carried: tuple[Card, ...]
    returned: tuple[TookBack, ...]
    new_shoe: bool
    then_asks: str | None


class CardOnRecord(msgspec.Struct, frozen=True):
    """A card of the round in the order in which it left the shoe; a null card has no face for us yet."""

    index: int
    card: Card | None
    reported: Seen
    time: str | None
    provenance: int | None


class PublicQuestion(msgspec.Struct, frozen=True):
    """A question, with the round that it is about.

    `due` is the slot that is due now, or, while it is asked where cards lie, the one that was due when the round began
    to wait; a consequence has its own. `gap`: the line was away since the round opened. `optional`: nothing waits for
    the answer.
    """

    shoe: int | None
    round: int | None
    due: Slot | None
    seen: Seen | None
    gap: bool
    id: str
    asked_at: str
    question: str
    kind: str | None
    clause: str | None
    role: str | None
    bettor: str | None
    index: int | None
    optional: bool
    proposed: str | None
    evidence: tuple[str, ...]
    cards: tuple[CardOnRecord, ...]
    choices: tuple[str, ...]
    consequences: tuple[Consequence, ...]


def public_question(game: str, state: TableState, *, insurance: bool = True) -> PublicQuestion | None:
    if state.asked is None:
        return None
    house = house_of(game, state, insurance=insurance)
    current, suspended, found = state.round, state.suspended, judge(house, state.round)
    asked = next(each for each in open_questions(house, state, found) if each.key == state.asked.key)
    about = _about(state, asked)
    return PublicQuestion(
        shoe=state.shoe or None,
        round=current.number or None,
        due=slot(found.course.hands, found.course.due) if placed(found) or not suspended else suspended.due,
        seen=suspended.seen if suspended else None,
        gap=current.away if suspended else False,
        id=state.asked.id,
        asked_at=rfc3339(state.asked.utc_us),
        question=asked.ask.value,
        kind=about.what.event.value if about else None,
        clause=asked.clause or None,
        role=role_of(asked),
        bettor=asked.bettor,
        index=asked.index or None,
        optional=not asked.holds,
        proposed=asked.proposed,
        evidence=tuple(_evidence(state, asked, about)),
        cards=tuple(on_record(at, each) for at, each in enumerate((*current.cards, *current.waiting), 1)),
        choices=(*asked.choices, *map(str, asked.cards)),
        consequences=tuple((between if about in state.hold else consequences)(house, state, asked)),
    )


def _about(state: TableState, asked: Asked) -> Noticed | None:
    current = state.round
    if asked.ask is Doubt.CONFIRM:
        return current.suspected[0]
    if asked.ask is Ask.NEXT_ROUND:
        return (left_open(current) if asked.optional else holding(state))[0]
    return None if asked.irregularity is None else current.happened[asked.irregularity]


def _evidence(state: TableState, asked: Asked, about: Noticed | None) -> Iterator[str]:
    waiting = state.round.waiting
    match asked.ask:
        case Doubt.FACE:
            yield f"card {asked.index} left the shoe, and nobody has told its face"
        case Doubt.READING if waiting and not state.round.early:
            told, other = waiting[0].seen, "as overdrawn" if waiting[0].excess else "in no hand"
            where = f"as {told.hand} {told.position}" if told.hand else other
            due = "no card is due" if state.round.complete else "another slot is due"
            yield f"{waiting[0].card or 'a card without a face'} was reported {where}, and {due}"
        case Doubt.READING:
            yield "the shoe told a result, and a card is still due"
        case _:
            yield from [] if about is None else [about.evidence]


def on_record(at: int, taken: Taken) -> CardOnRecord:
    time = rfc3339(taken.utc_us) if taken.utc_us else None
    return CardOnRecord(at, taken.card, taken.seen, time, taken.row or None)


def consequences(house: House, state: TableState, asked: Asked) -> Iterator[Consequence]:
    role = None if asked.role == PLAYER else asked.role if isinstance(asked.role, Role) else Role.DEALER
    by = Author("", role)
    clauses = dict(zip(asked.choices, asked.clauses, strict=False))
    for told, choice in _answers(asked):
        next_one = asked.ask is Doubt.READING and choice == Reading.NEXT_ROUND.value
        would_be = begun(house, state) if next_one else choose(state.round, asked, choice, by, None)
        after, found = foreseen(house, would_be)
        held = replace(state, hold=(*state.hold, *left_by_void(after, found)))
        then = next((each for each in open_questions(house, held, found) if each.holds), None)
        would = _consequence(house, after, found, then)
        yield replace(would, choice=told, clause=clauses.get(told[0]) or None)


def between(house: House, state: TableState, asked: Asked) -> Iterator[Consequence]:
    """What is decided between two rounds leaves the one that is over as it is."""
    found, after = judge(house, state.round), replace(state, hold=state.hold[1:])
    then = next((each for each in open_questions(house, after, found) if each.holds), None)
    would = _consequence(house, state.round, found, then)
    left = state.left_over or would.carried
    for choice in asked.choices:
        yield replace(would, choice=(choice,), carried=(*left, *state.kept, *kept(state, asked, choice)))


def _answers(asked: Asked) -> Iterator[tuple[tuple[str, ...], str | tuple[str, ...]]]:
    """How an answer is shown, and one that stands for it."""
    match asked.ask:
        case Doubt.FACE:
            for rank in Rank:
                yield (f"any {RANK_TEXT[rank]}",), Card.of(rank, Suit.SPADES).value
            for word in asked.choices or (FOREIGN,):
                yield (word,), word
        case Ask.CARD_ORDER:
            orders = dict.fromkeys(tuple(map(str, order)) for order in permutations(asked.cards))
            for order in list(orders) if len(orders) <= MOST_ORDERS else []:
                yield order, order
        case _:
            for choice in asked.choices:
                yield (choice,), choice


def _consequence(house: House, after: Round, found: Judgement, then: Asked | None) -> Consequence:
    course = found.course
    player, banker = both(house.book, course.hands if course.void is None else shown(house, after, found))
    # A player's option changes no card: what comes of them is known before it.
    stands = course.void is None and placed(found)
    over = stands and course.due is None and after.cards
    pays = rows(house.book, course.hands) if over else {}
    return Consequence(
        choice=(),
        clause=None,
        player=player,
        banker=banker,
        due=slot(course.hands, course.due) if stands else None,
        outcome=Outcome(drawing.winner(house.book, course.hands).value) if over else None,
        pays={bet: row.pays.text for bet, row in pays.items() if row is not None} if over else None,
        void=None if course.void is None else course.void.clause,
        carried=() if course.void is not None else course.carried,
        returned=found.returned,
        new_shoe=renewed(after),
        then_asks=then.ask.value if then else None,
    )
