"""The retained `question`: what a person has to say, and what each answer would make of the round."""

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.cards import RANK_TEXT, Card, Rank, Suit
from shoed.commands import Author
from shoed.events import Hand, Seen, Slot, TookBack
from shoed.now import rfc3339
from shoed.observations import Outcome
from shoed.rules import drawing
from shoed.rules.questions import Ask
from shoed.rules.results import rows
from shoed.table.asking import FOREIGN, Asked, Doubt, role_of
from shoed.table.assess import House, Standing, foreseen, house_of, judge, shown
from shoed.table.context import both
from shoed.table.matters import Matter, Status
from shoed.table.questions import begun, choose, left_by_void, open_questions, renewed
from shoed.table.readings import Reading, slot
from shoed.table.record import CardEntry, Record, Report, with_matter
from shoed.table.state import TableState
from shoed.words import PLAYER, Role

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
    house = house_of(game, state.record, insurance=insurance)
    record, suspended, found = state.record, state.suspended, judge(house, state.record)
    asked = next(each for each in open_questions(house, found) if each.topic == state.asked.topic)
    about = None if asked.matter is None else record.matter(asked.matter)
    holds_the_next = about is not None and about.status is Status.CARRIED_OVER
    return PublicQuestion(
        shoe=state.shoe.number or None,
        round=record.number or None,
        due=slot(found.course.hands, found.course.due) if found.places_known or not suspended else suspended.due,
        seen=suspended.seen if suspended else None,
        gap=record.continuity.away is not None if suspended else False,
        id=state.asked.id,
        asked_at=rfc3339(state.asked.utc_us),
        question=asked.ask.value,
        kind=about.kind.value if about else None,
        clause=asked.clause or None,
        role=role_of(asked),
        bettor=asked.bettor,
        index=asked.index or None,
        optional=not asked.holds,
        proposed=asked.proposed,
        evidence=tuple(evidence(record, asked, about)),
        cards=tuple(on_record(at, each) for at, each in enumerate((*record.order, *record.waiting), 1)),
        choices=(*asked.choices, *map(str, asked.cards)),
        consequences=tuple((between if holds_the_next else consequences)(house, found, asked)),
    )


def evidence(record: Record, asked: Asked, about: Matter | None) -> Iterator[str]:
    waiting = record.waiting
    match asked.ask:
        case Doubt.FACE:
            yield f"card {asked.index} left the shoe, and nobody has told its face"
        case Doubt.READING if waiting and not record.result_is_early:
            seen = waiting[0].seen
            other = "as overdrawn" if waiting[0].report is Report.OVERDRAWN else "in no hand"
            where = f"as {seen.hand} {seen.position}" if seen.hand else other
            due = "no card is due" if record.published.complete else "another slot is due"
            yield f"{waiting[0].face or 'a card without a face'} was reported {where}, and {due}"
        case Doubt.READING:
            yield "the shoe told a result, and a card is still due"
        case _:
            yield from [] if about is None else [about.evidence]


def on_record(at: int, card: CardEntry) -> CardOnRecord:
    time = rfc3339(card.utc_us) if card.utc_us else None
    return CardOnRecord(at, card.face, card.seen, time, card.row or None)


def consequences(house: House, found: Standing, asked: Asked) -> Iterator[Consequence]:
    role = None if asked.role == PLAYER else asked.role if isinstance(asked.role, Role) else Role.DEALER
    by = Author("", role)
    clauses = dict(zip(asked.choices, asked.clauses, strict=False))
    for shown_as, choice in answers(asked):
        next_one = asked.ask is Doubt.READING and choice == Reading.NEXT_ROUND.value
        would_be = begun(found) if next_one else choose(found.record, asked, choice, by, None)
        after = foreseen(house, would_be)
        held = after.record
        for each in left_by_void(held, after):
            held = with_matter(held, each)
        then = next((each for each in open_questions(house, replace(after, record=held)) if each.holds), None)
        would = consequence(house, after, then)
        yield replace(would, choice=shown_as, clause=clauses.get(shown_as[0]) or None)


def between(house: House, found: Standing, asked: Asked) -> Iterator[Consequence]:
    """A decision between two rounds leaves the one that is over as it is."""
    for choice in asked.choices:
        after = replace(found, record=choose(found.record, asked, choice, Author("", None), None))
        then = next((each for each in open_questions(house, after) if each.holds), None)
        would = consequence(house, found, then)
        yield replace(would, choice=(choice,), carried=(*would.carried, *after.record.lying))


def answers(asked: Asked) -> Iterator[tuple[tuple[str, ...], str | tuple[str, ...]]]:
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


def consequence(house: House, after: Standing, then: Asked | None) -> Consequence:
    course = after.course
    player, banker = both(house.book, course.hands if course.void is None else shown(house, after))
    # A player's option changes no card: what follows from the cards is known before it.
    stands = course.void is None and after.places_known
    over = stands and course.due is None and after.record.order
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
        returned=after.returned,
        new_shoe=renewed(after.record),
        then_asks=then.ask.value if then else None,
    )
