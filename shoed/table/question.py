"""The retained `question`: what a person has to say, and what each answer would make of the round."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
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
from shoed.table.asking import FOREIGN, LATE, Asked, Doubt, goes_on, role_of
from shoed.table.assess import House, Standing, foreseen, house_of, judge, shown
from shoed.table.context import Custom, both
from shoed.table.customs import Against, next_against
from shoed.table.matters import Matter, Status
from shoed.table.public import PublicHands
from shoed.table.questions import Listed, begun, choose, left_by_void, open_questions, over_a_new_shoe, renewed
from shoed.table.readings import Reading, begins, due_slot, of_another_round, read
from shoed.table.record import IN_NO_HAND, CardEntry, Record, Report, reported_as, with_matter
from shoed.table.state import Effect, Open, TableState
from shoed.table.wording import (
    ABANDONED,
    THEN,
    WINS,
    awaits_first_card,
    decided_by,
    draws,
    effect_of,
    ground_of,
    joined,
    text_of,
)
from shoed.words import PLAYER, Role

ABANDONING: Final = {(Reading.NONE_OF_THESE.value,), (Reading.NEW_SHOE.value,)}
NO_CUSTOM: Final = Custom()
MOST_ORDERS: Final = 24  # of four cards; the orders of more are too many to be read


class Consequence(msgspec.Struct, frozen=True):
    """What the round would be after one answer: its hands, and what is due, or its result and what each bet pays.

    `void`: the clause that would void it, empty where the document is silent. `returned`: who would get bets back.
    `new_shoe`: the next round would be dealt from a new set of cards. `then_asks`: the question that would follow; what
    hangs on that one is shown as if it were answered as proposed. `any 8`: any card of that rank. `as_dealt`: the hands
    without the reconstruction of an altered order, null if they are the same. `effect`: what the answer changes, for
    people.
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
    effect: str = ""
    as_dealt: PublicHands | None = None


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
    the answer. `text`, `ground` and `decided_by` are for people: what happened and what is asked, the clause or the
    reading of ours, and the role that decides.
    """

    shoe: int | None
    round: int | None
    due: Slot | None
    seen: Seen | None
    gap: bool
    id: str
    revision: int
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
    text: str
    ground: str
    decided_by: str


def public_question(
    game: str, state: TableState, *, insurance: bool = True, custom: Custom = NO_CUSTOM
) -> PublicQuestion | None:
    """The question that is asked first."""
    if not state.asked:
        return None
    asked = {each.topic: each for each in state.asked}
    against = next_against(custom, state.shoe, state.record.number)
    shown = (
        published(house_of(game, each.found.record, insurance=insurance), state, each, asked[each.topic], against)
        for each in listed_in(game, state, insurance=insurance)
        if each.topic in asked
    )
    return next(shown, None)


def listed_in(game: str, state: TableState, *, insurance: bool) -> list[Listed]:
    found = judge(house_of(game, state.record, insurance=insurance), state.record)
    return open_questions(game, state, found, insurance=insurance)


def published(house: House, state: TableState, listed: Listed, opened: Open, against: Against) -> PublicQuestion:
    asked, found, record, about = listed.asked, listed.found, listed.found.record, listed.matter
    suspended = state.suspended if listed.past is None else listed.past.suspended
    return PublicQuestion(
        shoe=opened.shoe or None,
        round=opened.round or None,
        due=due_slot(record, found.course) if found.places_known or not suspended else suspended.due,
        seen=suspended.seen if suspended else None,
        gap=record.continuity.away is not None if suspended else False,
        id=opened.id,
        revision=opened.revision,
        asked_at=rfc3339(opened.utc_us),
        question=asked.ask.value,
        kind=about.kind.value if about else None,
        clause=asked.clause or None,
        role=role_of(asked),
        bettor=asked.bettor,
        index=asked.index or None,
        optional=not asked.holds,
        proposed=asked.proposed,
        evidence=tuple(evidence(record, asked, about)),
        cards=tuple(on_record(at, each) for at, each in enumerate(record.drawn, 1)),
        choices=(*asked.choices, *map(str, asked.cards)),
        consequences=tuple(
            replace(each, effect=effect_of_answer(house, listed, each)) for each in effects(house, listed, against)
        ),
        text=text_of(record, asked, due_slot(record, found.course)),
        ground=ground_of(house.book, asked.ask, asked.clause, about.kind if about else None),
        decided_by=decided_by(asked),
    )


def effects(house: House, listed: Listed, against: Against) -> Iterator[Consequence]:
    if listed.holds_the_next:
        return between(house, listed.found, listed.asked)
    return consequences(house, listed, against)


def revised(house: House, listed: Listed, opened: Open, against: Against) -> Open:
    """The open question; its revision is new if it is about another round, or its hands or effects have changed."""
    record, hands = listed.found.record, digest(shown(house, listed.found))
    now = [(each.choice, digest(each)) for each in effects(house, listed, against)]
    before = [(each.choice, each.digest) for each in opened.effects]
    of = record.shoe, record.number  # a matter between two rounds is then one of the next round
    if opened.revision and (hands, now, of) == (opened.hands, before, (opened.shoe, opened.round)):
        return opened
    revision = opened.revision + 1
    known = {(each.choice, each.digest): each for each in opened.effects}
    after = [known.get((choice, found)) or Effect(choice, found, revision) for choice, found in now]
    return replace(opened, shoe=of[0], round=of[1], revision=revision, hands=hands, effects=tuple(after))


def digest(value: object) -> int:
    return int.from_bytes(blake2b(msgspec.json.encode(value), digest_size=6).digest())


def evidence(record: Record, asked: Asked, about: Matter | None) -> Iterator[str]:
    waiting = record.waiting
    match asked.ask:
        case Doubt.FACE:
            yield f"card {asked.index} left the shoe, and nobody has told its face"
        case Doubt.RESTART:
            yield "the shoe started again after its cut card, and the round needs cards"
        case Doubt.GAP:
            yield f"reports may be missing between the cards shown and {waiting[0].face or 'a card without a face'}"
        case Doubt.READING if waiting and not record.result_is_early:
            seen = waiting[0].seen
            outside = waiting[0].report in (*IN_NO_HAND, Report.OVERDRAWN)
            other = reported_as(waiting[0].report, seen) if outside else "in no hand"
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


def consequences(house: House, listed: Listed, against: Against) -> Iterator[Consequence]:
    asked, found = listed.asked, listed.found
    role = None if asked.role == PLAYER else asked.role if isinstance(asked.role, Role) else Role.DEALER
    by = Author("", role)
    clauses = dict(zip(asked.choices, asked.clauses, strict=False))
    for shown_as, choice in answers(asked):
        match listed.past, asked.ask, choice:
            case None, (Doubt.READING | Doubt.GAP), Reading.NEXT_ROUND.value:
                would_be = begun(found, against.next_round)
            case None, Doubt.GAP, Reading.NONE_OF_THESE.value:  # the next round begins with its first card
                would_be = Record()
            case None, Doubt.RESTART, _ if begins(found.record, choice):
                new_shoe = choice == Reading.NEW_SHOE.value
                would_be = begun(found, against.new_shoe if new_shoe else against.next_round, new_shoe=new_shoe)
            case None, Doubt.RESTART, Reading.NEW_SHOE.value:
                would_be = with_matter(Record(), *over_a_new_shoe(found.record))
            case _:
                would_be = choose(found.record, asked, choice, by, None)
        after = foreseen(house, would_be)
        of_the_past = next((each for each in after.questions if each.ask in LATE), None)
        then = of_the_past if listed.past is not None else next_asked(house, after)
        would = consequence(house, after, then)
        new_shoe = would.new_shoe or choice == Reading.NEW_SHOE.value
        yield replace(would, choice=shown_as, clause=clauses.get(shown_as[0]) or None, new_shoe=new_shoe)


def next_asked(house: House, after: Standing) -> Asked | None:
    """The question that holds the round, or else the next round."""
    held = with_matter(after.record, *left_by_void(after.record, after))
    holding = [each for each in after.questions if each.holds]
    between_rounds = [goes_on(house.book, held, each) for each in held.having(Status.CARRIED_OVER)]
    return next(iter((*holding, *between_rounds)), None)


def between(house: House, found: Standing, asked: Asked) -> Iterator[Consequence]:
    """A decision between two rounds leaves the one that is over as it is."""
    for choice in asked.choices:
        after = replace(found, record=choose(found.record, asked, choice, Author("", None), None))
        would = consequence(house, found, next_asked(house, after))
        yield replace(would, choice=(choice,), carried=(*would.carried, *faces(after.record.lying)))


def faces(cards: Iterable[CardEntry]) -> tuple[Card, ...]:
    return tuple([each.face for each in cards if each.face is not None])


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
        due=due_slot(after.record, course) if stands else None,
        outcome=Outcome(drawing.winner(house.book, course.hands).value) if over else None,
        pays={bet: row.pays.text for bet, row in pays.items() if row is not None} if over else None,
        void=None if course.void is None else course.void.clause,
        carried=() if course.void is not None else course.carried,
        returned=after.returned,
        new_shoe=renewed(after.record),
        then_asks=then.ask.value if then else None,
        as_dealt=as_dealt(house, after),
    )


# --- effects, for people


def effect_of_answer(house: House, listed: Listed, would: Consequence) -> str:
    if listed.holds_the_next:
        return effect_between(listed, would)
    abandons = would.choice in ABANDONING  # else a ruling is asked
    said = [effect_of(listed.asked, would.choice[0], would.clause)]
    if ends_the_round(house, listed, would.choice[0]):
        said.append(ABANDONED)
    if would.void is not None:
        said.append(f"The round is void ({would.void or 'the document is silent'}); all bets are returned.")
    elif would.then_asks is not None:
        said.append(THEN[would.then_asks])
    elif listed.past is not None:
        said.append("The round is over, and the answer is recorded.")
    elif not abandons:
        return " ".join(filter(None, (*said, *effect_on_round(listed.found.record, would))))
    return " ".join(filter(None, said))


def ends_the_round(house: House, listed: Listed, choice: str) -> bool:
    """Whether the answer begins the next round of this shoe over a round without all its cards."""
    record = listed.found.record
    next_round = choice == Reading.NEXT_ROUND.value or (listed.asked.ask is Doubt.RESTART and begins(record, choice))
    if not next_round or choice == Reading.NEW_SHOE.value or listed.past is not None or not record.number:
        return False
    found = foreseen(house, replace(read(record, Reading.NEXT_ROUND), overtaken=True))
    return not record.published.complete and (found.held or found.course.due is not None)


def effect_on_round(record: Record, would: Consequence) -> Iterator[str]:
    if would.outcome is not None:
        score = sorted((would.player.points, would.banker.points), reverse=True)
        yield f"The round is complete: {WINS[would.outcome]}, {score[0]} to {score[1]}."
    elif would.due is not None and record.number:
        opens = would.choice == (Reading.NEXT_ROUND.value,) or of_another_round(record)
        yield f"{'' if opens else 'The round continues. '}{draws(would.due)}"
    yield opens_the_next(would)


def effect_between(listed: Listed, would: Consequence) -> str:
    """The round that is over stays as it is."""
    asked, which = listed.asked, "this" if awaits_first_card(listed.found.record) else "the next"
    put_away = would.choice != (Reading.CARRIED.value,) and Reading.CARRIED.value in asked.choices
    away = effect_of(asked, would.choice[0], None) if put_away else ""
    then = f"{which.capitalize()} round may begin." if would.then_asks is None else THEN[would.then_asks]
    return " ".join(filter(None, (away, opens_the_next(would, which), then)))


def opens_the_next(would: Consequence, which: str = "the next") -> str:
    if not would.carried:
        return ""
    return f"{joined(tuple(map(str, would.carried)))} open{'' if would.carried[1:] else 's'} {which} round."


def as_dealt(house: House, after: Standing) -> PublicHands | None:
    """The hands as they were dealt, if the order that was meant makes other ones."""
    matters = tuple([replace(each, meant=()) for each in after.record.matters])
    if after.course.void is not None or not any(each.meant for each in after.record.matters):
        return None
    dealt = judge(house, replace(after.record, matters=matters)).course.hands
    return None if dealt == after.course.hands else PublicHands(*both(house.book, dealt))
