"""The retained `question`: the decision that a person has to make, and the consequence of each answer."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import permutations
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import RANK_TEXT, Card, Rank, Suit
from shoed.model.commands import Author
from shoed.model.events import Hand, ReturnedBets, Seen, Slot
from shoed.model.irregularities import PLAYER, Role
from shoed.model.moments import rfc3339
from shoed.model.observations import Outcome
from shoed.rules import drawing
from shoed.rules.questions import Ask
from shoed.rules.results import rows
from shoed.table.asking import FOREIGN, LATE, RecordAsk, RoundQuestion, next_round_question, role_of
from shoed.table.assess import House, Standing, foreseen, house_of, judge, shown
from shoed.table.context import Custom, public_hands
from shoed.table.customs import NextBreaches, next_breaches
from shoed.table.matters import Matter, Status
from shoed.table.public_state import PublicHands
from shoed.table.questions import Listed, begun, choose, left_by_void, open_questions, over_a_new_shoe, renewed
from shoed.table.readings import Reading, begins_another_round, due_slot, of_another_round, place, read
from shoed.table.record import IN_NO_HAND, CardEntry, Record, ReportedPlace, reported_as, with_matter
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

ABANDONING: Final = {(Reading.NONE_OF_THESE.value,), (Reading.NEW_SHOE.value,)}
NO_CUSTOM: Final = Custom()
MOST_ORDERS: Final = 24  # the orders of four cards; a person does not read more


class Consequence(msgspec.Struct, frozen=True):
    """The effect of one answer on the round: the hands, and either the due slot, or the outcome and each bet's pay.

    `choice`: the answer; `any 8` is any card of the rank 8. `pays`: for each bet `lose`, `push` or the odds. `void`:
    null if the round is not void, empty if the round is void without a clause, otherwise the clause. `carried`: the
    cards that become the first cards of the next round. `returned`: the returned bets. `new_shoe`: the next round is
    dealt from a new set of cards. `then_asks`: the question that this answer leads to; the other fields then apply
    if the proposed answer is given. `as_dealt`: the hands in the order in which the cards were dealt; null if these are
    the same hands. `effect`: the effect in words.
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
    returned: tuple[ReturnedBets, ...]
    new_shoe: bool
    then_asks: str | None
    effect: str = ""
    as_dealt: PublicHands | None = None


class CardOnRecord(msgspec.Struct, frozen=True):
    """A card of the round, in the order in which the cards left the shoe. `card` is null if the face is unknown.

    `index`: the [position](#cards) of the card. `time`: the arrival of the report. `provenance`: the journal row of the
    report.
    """

    index: int
    card: Card | None
    reported: Seen
    time: str | None
    provenance: int | None


class PublicQuestion(msgspec.Struct, frozen=True):
    """A question and the round that the question concerns.

    `due`: the due slot. If the question is about the place of a card, `due` is the slot that was due at the suspension.
    `seen` and `gap`: as in `round/suspended`. `kind`: the kind of the matter that the question is about. `role` and
    `optional`: as in `question/asked`. `index`: the [position](#cards) of the card that the question is about.
    `evidence`: the evidence, in words. Three further fields are texts for people. `text`: the facts and the question.
    `ground`: the clause, or our interpretation by its number. `decided_by`: the role that decides.
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
    against = next_breaches(custom, state.shoe, state.record.number)
    shown = (
        published(house_of(game, each.found.record, insurance=insurance), state, each, asked[each.topic], against)
        for each in listed_in(game, state, insurance=insurance)
        if each.topic in asked
    )
    return next(shown, None)


def listed_in(game: str, state: TableState, *, insurance: bool) -> list[Listed]:
    found = judge(house_of(game, state.record, insurance=insurance), state.record)
    return open_questions(game, state, found, insurance=insurance)


def published(house: House, state: TableState, listed: Listed, opened: Open, against: NextBreaches) -> PublicQuestion:
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
        evidence=tuple(evidence(record, asked, about, due_slot(record, found.course))),
        cards=tuple(on_record(at, each) for at, each in enumerate(record.drawn, 1)),
        choices=(*asked.choices, *map(str, asked.cards)),
        consequences=tuple(
            replace(each, effect=effect_of_answer(house, listed, each)) for each in effects(house, listed, against)
        ),
        text=text_of(record, asked, due_slot(record, found.course)),
        ground=ground_of(house.book, asked.ask, asked.clause, about.kind if about else None),
        decided_by=decided_by(asked),
    )


def effects(house: House, listed: Listed, against: NextBreaches) -> Iterator[Consequence]:
    if listed.holds_the_next:
        return between(house, listed.found, listed.asked)
    return consequences(house, listed, against)


def revised(house: House, listed: Listed, opened: Open, against: NextBreaches) -> Open:
    """The open question, with a new revision if its round, its hands or its consequences have changed."""
    record, hands = listed.found.record, digest(shown(house, listed.found))
    now = [(each.choice, digest(each)) for each in effects(house, listed, against)]
    before = [(each.choice, each.digest) for each in opened.effects]
    of_round = record.shoe, record.number  # a matter between two rounds is a matter of the next round once it opens
    if opened.revision and (hands, now, of_round) == (opened.hands, before, (opened.shoe, opened.round)):
        return opened
    revision = opened.revision + 1
    known = {(each.choice, each.digest): each for each in opened.effects}
    after = [known.get((choice, found)) or Effect(choice, found, revision) for choice, found in now]
    return replace(opened, shoe=of_round[0], round=of_round[1], revision=revision, hands=hands, effects=tuple(after))


def digest(value: object) -> int:
    return int.from_bytes(blake2b(msgspec.json.encode(value), digest_size=6).digest())


def evidence(record: Record, asked: RoundQuestion, about: Matter | None, due: Slot | None) -> Iterator[str]:
    waiting = record.waiting
    match asked.ask:
        case RecordAsk.FACE:
            yield f"card {asked.index} left the shoe, and its face is unknown"
        case RecordAsk.RESTART:
            yield "the shoe started again after its cut card, and the round needs cards"
        case RecordAsk.GAP:
            yield f"reports may be missing between the cards shown and {waiting[0].face or 'a card without a face'}"
        case RecordAsk.READING if waiting and not record.result_is_early:
            seen = waiting[0].seen
            outside = waiting[0].report in (*IN_NO_HAND, ReportedPlace.OVERDRAWN)
            other = reported_as(waiting[0].report, seen) if outside else "in no hand"
            where = f"as {seen.hand} {seen.position}" if seen.hand else other
            expected = "no card is due" if record.published.complete else "another slot is due"
            if due is not None and place(seen) == (due.hand.value, due.position):
                expected = "that slot is due, but the shoe may count other cards of the round"
            yield f"{waiting[0].face or 'a card without a face'} was reported {where}, and {expected}"
        case RecordAsk.READING:
            yield "the shoe reported a result, and a card is still due"
        case _:
            yield from [] if about is None else [about.evidence]


def on_record(at: int, card: CardEntry) -> CardOnRecord:
    time = rfc3339(card.utc_us) if card.utc_us else None
    return CardOnRecord(at, card.face, card.seen, time, card.row or None)


def consequences(house: House, listed: Listed, against: NextBreaches) -> Iterator[Consequence]:
    asked, found = listed.asked, listed.found
    role = None if asked.role == PLAYER else asked.role if isinstance(asked.role, Role) else Role.DEALER
    by = Author("", role)
    clauses = dict(zip(asked.choices, asked.clauses, strict=False))
    for shown_as, choice in shown_choices(asked):
        match listed.past, asked.ask, choice:
            case None, (RecordAsk.READING | RecordAsk.GAP), Reading.NEXT_ROUND.value:
                would_be = begun(found, against.next_round)
            case None, RecordAsk.GAP, Reading.NONE_OF_THESE.value:  # the next round begins with its first card
                would_be = Record()
            case None, RecordAsk.RESTART, _ if begins_another_round(found.record, choice):
                new_shoe = choice == Reading.NEW_SHOE.value
                would_be = begun(found, against.new_shoe if new_shoe else against.next_round, new_shoe=new_shoe)
            case None, RecordAsk.RESTART, Reading.NEW_SHOE.value:
                would_be = with_matter(Record(), *over_a_new_shoe(found.record))
            case _:
                would_be = choose(found.record, asked, choice, by, None)
        after = foreseen(house, would_be)
        of_the_past = next((each for each in after.questions if each.ask in LATE), None)
        then = of_the_past if listed.past is not None else next_asked(house, after)
        result = consequence(house, after, then)
        new_shoe = result.new_shoe or choice == Reading.NEW_SHOE.value
        yield replace(result, choice=shown_as, clause=clauses.get(shown_as[0]) or None, new_shoe=new_shoe)


def next_asked(house: House, after: Standing) -> RoundQuestion | None:
    """The question that holds the round, or else the next round."""
    held = with_matter(after.record, *left_by_void(after.record, after))
    holding = [each for each in after.questions if each.holds]
    between_rounds = [next_round_question(house.book, held, each) for each in held.having(Status.CARRIED_OVER)]
    return next(iter((*holding, *between_rounds)), None)


def between(house: House, found: Standing, asked: RoundQuestion) -> Iterator[Consequence]:
    """The consequences of a decision between two rounds. The round that is over does not change."""
    for choice in asked.choices:
        after = replace(found, record=choose(found.record, asked, choice, Author("", None), None))
        result = consequence(house, found, next_asked(house, after))
        yield replace(result, choice=(choice,), carried=(*result.carried, *faces(after.record.left_over)))


def faces(cards: Iterable[CardEntry]) -> tuple[Card, ...]:
    return tuple([each.face for each in cards if each.face is not None])


def shown_choices(asked: RoundQuestion) -> Iterator[tuple[tuple[str, ...], str | tuple[str, ...]]]:
    """Return, for each choice, the text of the question and one valid `choice` for the command `decide`."""
    match asked.ask:
        case RecordAsk.FACE:
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


def consequence(house: House, after: Standing, then: RoundQuestion | None) -> Consequence:
    course = after.course
    player, banker = public_hands(house.book, course.hands if course.void is None else shown(house, after))
    # A player's option changes no card, so the cards decide the consequence.
    is_known = course.void is None and after.places_known
    has_outcome = is_known and course.due is None and after.record.order
    pays = rows(house.book, course.hands) if has_outcome else {}
    return Consequence(
        choice=(),
        clause=None,
        player=player,
        banker=banker,
        due=due_slot(after.record, course) if is_known else None,
        outcome=Outcome(drawing.winner(house.book, course.hands).value) if has_outcome else None,
        pays={bet: row.pays.text for bet, row in pays.items() if row is not None} if has_outcome else None,
        void=None if course.void is None else course.void.clause,
        carried=() if course.void is not None else course.carried,
        returned=after.returned,
        new_shoe=renewed(after.record),
        then_asks=then.ask.value if then else None,
        as_dealt=as_dealt(house, after),
    )


# --- effects, for people


def effect_of_answer(house: House, listed: Listed, result: Consequence) -> str:
    if listed.holds_the_next:
        return effect_between(listed, result)
    abandons = result.choice in ABANDONING
    sentences = [effect_of(listed.asked, result.choice[0], result.clause)]
    if ends_the_round(house, listed, result.choice[0]):
        sentences.append(ABANDONED)
    if result.void is not None:
        sentences.append(f"The round is void ({result.void or 'the document is silent'}); all bets are returned.")
    elif result.then_asks is not None:
        sentences.append(THEN[result.then_asks])
    elif listed.past is not None:
        sentences.append("The round is over, and the answer is recorded.")
    elif not abandons:
        return " ".join(filter(None, (*sentences, *effect_on_round(listed.found.record, result))))
    return " ".join(filter(None, sentences))


def ends_the_round(house: House, listed: Listed, choice: str) -> bool:
    """Whether the answer begins the next round of this shoe while the present round lacks cards."""
    record = listed.found.record
    restarts = listed.asked.ask is RecordAsk.RESTART and begins_another_round(record, choice)
    next_round = restarts or choice == Reading.NEXT_ROUND.value
    if not next_round or choice == Reading.NEW_SHOE.value or listed.past is not None or not record.number:
        return False
    found = foreseen(house, replace(read(record, Reading.NEXT_ROUND), overtaken=True))
    return not record.published.complete and (found.held or found.course.due is not None)


def effect_on_round(record: Record, result: Consequence) -> Iterator[str]:
    if result.outcome is not None:
        score = sorted((result.player.points, result.banker.points), reverse=True)
        yield f"The round is complete: {WINS[result.outcome]}, {score[0]} to {score[1]}."
    elif result.due is not None and record.number:
        opens = result.choice == (Reading.NEXT_ROUND.value,) or of_another_round(record)
        yield f"{'' if opens else 'The round continues. '}{draws(result.due)}"
    yield opens_the_next(result)


def effect_between(listed: Listed, result: Consequence) -> str:
    """The effect of a decision between two rounds. The round that is over does not change."""
    asked, which = listed.asked, "this" if awaits_first_card(listed.found.record) else "the next"
    put_away = result.choice != (Reading.CARRIED.value,) and Reading.CARRIED.value in asked.choices
    away = effect_of(asked, result.choice[0], None) if put_away else ""
    then = f"{which.capitalize()} round may begin." if result.then_asks is None else THEN[result.then_asks]
    return " ".join(filter(None, (away, opens_the_next(result, which), then)))


def opens_the_next(result: Consequence, which: str = "the next") -> str:
    if not result.carried:
        return ""
    return f"{joined(tuple(map(str, result.carried)))} open{'' if result.carried[1:] else 's'} {which} round."


def as_dealt(house: House, after: Standing) -> PublicHands | None:
    """The hands as they were dealt, if they differ from the hands in the intended order."""
    matters = tuple([replace(each, meant=()) for each in after.record.matters])
    if after.course.void is not None or not any(each.meant for each in after.record.matters):
        return None
    dealt = judge(house, replace(after.record, matters=matters)).course.hands
    return None if dealt == after.course.hands else PublicHands(*public_hands(house.book, dealt))
