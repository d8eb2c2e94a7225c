"""How a round stands, from its cards in order, what went wrong and what was decided: a function of the Round alone.

Theory of operation: `judge` asks the rules, and the first question that is open holds the round; what a report that is
not due may mean is asked where there is more than one reading. `advance.py` takes in what waits. `choose` is what an
answer makes of the round, and so also what it would make of it: the consequences that a question shows.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import takewhile
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.commands import Author
from tests.oracle.engine_5.events import Slot, TookBack
from tests.oracle.engine_5.rules.book import RuleBook, Then
from tests.oracle.engine_5.rules.drawing import Hands
from tests.oracle.engine_5.rules.drawing import due as due_of
from tests.oracle.engine_5.rules.insurance import waived
from tests.oracle.engine_5.rules.irregular import Course, Happened, Layout, Ruling, course, lay, rows_of, said_of
from tests.oracle.engine_5.rules.load import book
from tests.oracle.engine_5.rules.neglect import Cover, neglected
from tests.oracle.engine_5.rules.questions import Ask, Choice, Decision, Inquiry, Question, Voice, may
from tests.oracle.engine_5.table.reading import Reading, corrected, read, readings, slot, unheard, with_unread, without_card
from tests.oracle.engine_5.table.state import OPEN, Decided, Noticed, Phase, Round, TableState, Taken, after_round
from tests.oracle.engine_5.words import PLAYER, Role, Stage
from tests.oracle.engine_5.words import Event as Mishap

OTHERS: Final = "others"  # every bettor whom no decision has named


class Doubt(Enum):
    """What the rules do not ask, because it is about the record: what left the shoe."""

    FACE = "face"  # which card it was that nobody could read
    READING = "reading"  # what a card or a result that is not due means
    CONFIRM = "confirm"  # whether what was inferred is so


FOREIGN: Final = "foreign-card"
NO_CARD: Final = "no-card"  # the device said that one passed unread, in no slot, and none did
HOLDING: Final = frozenset({Ask.CARD_ORDER, Ask.RECONSTRUCTABLE, Ask.RULING, Ask.OPTION, Ask.NEXT_ROUND, *Doubt})
RECORD: Final = Role.PIT_SUPERVISOR  # our reading: who may mend the record, or above
WANTED: Final = HOLDING - {Ask.OPTION} | {Ask.INTENDED}  # whoever does not choose plays on; this nobody chooses


class Asked(msgspec.Struct, frozen=True):
    """A question that is open."""

    ask: Ask | Doubt
    role: Voice | None  # this one or above; None: anybody of the house
    clause: str = ""  # "": no document says it
    irregularity: int | None = None
    choices: tuple[str, ...] = ()  # none: a card, or cards in order
    clauses: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()  # to be put in order
    index: int | None = None  # of the card that it is about
    bettor: str | None = None
    proposed: str | None = None
    optional: bool = False  # nothing waits for it
    bet: str | None = None  # that may go back

    @property
    def key(self) -> str:
        about = (
            self.irregularity,
            self.index,
            self.bettor,
            self.bet,
            "optional" if self.optional else None,
            *map(str, self.cards),
        )
        return " ".join([self.ask.value, *("-" if each is None else str(each) for each in about)])

    @property
    def holds(self) -> bool:
        return self.ask in HOLDING and not self.optional


LINGERING: Final = Asked(Ask.NEXT_ROUND, None, optional=True).key  # of a doubt that nobody answered in its time


class Judgement(msgspec.Struct, frozen=True):
    course: Course
    rulings: tuple[Ruling, ...]
    questions: tuple[Asked, ...]  # the one that is asked first in front
    due: Slot | None
    returned: tuple[TookBack, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the round waits for a person."""
        return any(each.holds for each in self.questions)


class House(msgspec.Struct, frozen=True):
    """What of the table's settings a judgement hangs on."""

    book: RuleBook
    insurance: bool = True


def house_of(game: str, state: TableState, *, insurance: bool) -> House:
    """A round is judged by the book of the game under which it opened."""
    return House(book(state.round.game or game), insurance)


def judge(house: House, current: Round) -> Judgement:
    faces = known(current)
    if not (current.happened or current.decisions or current.squeeze or current.void or current.voided):  # nearly all
        hands, carried = lay(house.book, faces)
        plain = Course(hands, carried, due_of(house.book, hands), (), None, False, {}, frozenset())  # noqa: FBT003
        return _judged(plain, (), _doubts(house, current, plain, []))
    inquiry = Inquiry(_decisions(current))
    named = dict.fromkeys(each.bettor for each in current.decisions if each.bettor is not None)
    bettors = (*(name for name in named if name != OTHERS), OTHERS)
    happened = [each.what for each in current.happened]
    all_known = len(faces) == len(current.cards) and not current.waiting
    found = course(house.book, faces, happened, inquiry, Layout(bettors, all_known=all_known))
    rulings, returned = list(found.rulings), [TookBack(*each) for each in found.returned.items()]
    ground = current.voided or found.void
    if ground is None and current.void is not None:
        ground = Ruling(len(happened), Then.VOID, "", None, silent=True, reading="a person of the house voided it")
    if ground is not found.void:
        found = replace(found, void=ground, due=None, suspended=False)
        inquiry.open[:] = [each for each in inquiry.open if each.ask is Ask.SET_REPLACED]
    if found.void is None and found.due is None and not found.suspended:
        passed = [(bettor, stage, bet) for bettor in bettors for stage in Stage for bet in house.book.insurances]
        cover = Cover(house.insurance, passed, waived(house.book, squeeze=current.squeeze and house.insurance))
        neglect = neglected(house.book, found, happened, cover, inquiry)
        rulings += neglect.rulings
        returned += [TookBack(bettor, clause, bet) for (bettor, bet), clause in neglect.returned.items()]
    asked = [_asked(each) for each in inquiry.open if not (current.overtaken and each.ask is Ask.OPTION)]
    if found.void is None:
        asked = _doubts(house, current, found, asked)
    else:
        asked += [_unanswered(house, each) for each in left_open(current)]
    return replace(_judged(found, rulings, asked), returned=tuple(returned))


def _judged(found: Course, rulings: Sequence[Ruling], asked: Sequence[Asked]) -> Judgement:
    held = found.void is not None or any(each.holds for each in asked)
    due = None if held else slot(found.hands, found.due)
    return Judgement(found, tuple(sorted(rulings, key=lambda each: each.irregularity)), tuple(asked), due)


def known(current: Round) -> list[Card]:
    """The cards up to the first that nobody has told."""
    faces: list[Card] = []
    for each in current.cards:
        if each.card is None:
            break
        faces.append(each.card)
    return faces


def shown(house: House, current: Round, found: Judgement) -> Hands:
    """The hands as anybody may see them: without cards of which it is a question where they go."""
    if placed(found) and found.course.void is None:
        return found.course.hands
    drawn = list(takewhile(lambda each: each.drawn and each.card is not None, current.cards))
    asked = {each.irregularity for each in found.questions if each.holds}
    happened = [
        replace(each.what, noticed_late=number in asked or each.what.at > len(drawn))  # so that it changes nothing
        for number, each in enumerate(current.happened)
    ]
    faces = [each.card for each in drawn if each.card is not None]
    told = course(house.book, faces, happened, Inquiry(_decisions(current)))
    return min(found.course.hands, told.hands, key=len)


def placed(found: Judgement) -> bool:
    """Whether nobody has to be asked where a card lies."""
    return all(each.ask is Ask.OPTION for each in found.questions if each.holds)


def next_round(house: House, hold: Noticed) -> Asked:
    """Whether the next round may go on, whatever was found before it."""
    clause, decides = said_of(house.book, hold.what.event)
    if hold.card is None:
        return Asked(Ask.NEXT_ROUND, decides, clause, choices=(Choice.GO_ON.value,))
    carried = Reading.CARRIED.value  # C 5.7: where a card in excess serves
    return Asked(Ask.NEXT_ROUND, decides, clause, choices=(carried, Choice.GO_ON.value), proposed=carried)


def renewed(current: Round) -> bool:
    """C 5.10.2: whether it was decided that a new set of cards comes into the shoe."""
    return any(each.ask is Ask.SET_REPLACED and each.choice == Choice.YES.value for each in current.decisions)


def renewal(before: Round) -> tuple[Noticed, ...]:
    """What then holds the next round, as long as no new set has come."""
    evidence = f"a new set was to come after round {before.number}, and none is told"
    found = Noticed(Happened(Mishap.SET_REPLACED, 0, 0, between_rounds=True), evidence)
    return (found,) if renewed(before) else ()


def open_questions(house: House, state: TableState, found: Judgement) -> tuple[Asked, ...]:
    """What is asked now, the first in front: what holds the round goes before what holds the next one."""
    between = [next_round(house, each) for each in state.hold[:1]]
    holding = [each for each in found.questions if each.holds]
    return (*holding, *between, *(each for each in found.questions if not each.holds))


def holding(state: TableState) -> tuple[Noticed, ...]:
    """What holds the round that is open, or else the next one."""
    return state.round.hold if state.round.hold and state.phase in OPEN else state.hold


def kept(state: TableState, asked: Asked, choice: str | tuple[str, ...]) -> tuple[Card, ...]:
    """The card that came between two rounds, if this answer lays it in front of the next."""
    lays = asked.ask is Ask.NEXT_ROUND and choice == Reading.CARRIED.value
    return tuple(each.card for each in holding(state)[:1] if lays and each.card is not None)


def _unanswered(house: House, doubt: Noticed) -> Asked:
    """It held a round that was overtaken: play goes on, and it is asked until somebody answers."""
    return replace(next_round(house, replace(doubt, card=None)), optional=True)


def left_open(before: Round, found: Judgement | None = None) -> tuple[Noticed, ...]:
    """The doubts that nobody answered while the round was there; one of a kind. `found`: it is over."""
    first: dict[Mishap, Noticed] = {}
    asked = (
        {each.irregularity for each in found.questions if each.ask in WANTED} if found and before.complete else set()
    )
    undecided = [each for number, each in enumerate(before.happened) if number in asked]
    for each in (*before.unanswered, *before.hold, *before.suspected, *undecided):
        first.setdefault(each.what.event, each)
    return tuple(first.values())


def unplaced(before: Round, found: Judgement) -> tuple[Noticed, ...]:
    """Cards behind a complete round of which nobody has said where they go."""
    if not before.complete or found.course.void is not None:
        return ()
    asked = {each.irregularity for each in found.questions if each.ask is Ask.RECONSTRUCTABLE}
    excess = [
        before.cards[each.what.at - 1]
        for number, each in enumerate(before.happened)
        if number in asked and each.what.event is Mishap.CARD_IN_EXCESS
    ]
    told = f"came behind round {before.number}"
    return tuple(after_round(each.card, told) for each in (*excess, *before.over, *before.waiting))


def left_by_void(current: Round, found: Judgement) -> tuple[Noticed, ...]:
    """Cards that were to open the next round, or of which nobody had said it: whether they do, a person says."""
    ruling = found.course.void
    if ruling is None or current.voided is not None:
        return ()
    left: list[Card | None] = [each.card for each in (*current.over, *(current.waiting if current.complete else ()))]
    if any(each.then is Then.RECONSTRUCT_OR_CARRY for each in found.rulings):
        left = [*found.course.carried, *left]
    elif current.complete:
        decided = {ruling.irregularity, *(each.irregularity for each in current.decisions)}
        left = [
            *(
                current.cards[each.what.at - 1].card
                for number, each in enumerate(current.happened)
                if each.what.event is Mishap.CARD_IN_EXCESS and not each.what.withdrawn and number not in decided
            ),
            *left,
        ]
    return tuple(after_round(card, f"was left over by round {current.number}, which is void") for card in left)


def _doubts(house: House, current: Round, found: Course, asked: list[Asked]) -> list[Asked]:
    """The questions of the rules, and those about the record, in the order in which they are asked."""
    holding = [each for each in asked if each.holds]
    others = [each for each in asked if not each.holds]
    others += [_unanswered(house, each) for each in current.unanswered]
    if current.hold:
        return [next_round(house, current.hold[0]), *holding, *others]
    faces = known(current)
    if len(faces) < len(current.cards):
        doubted = (FOREIGN, NO_CARD) if current.cards[len(faces)].in_no_slot else ()
        return [Asked(Doubt.FACE, RECORD, choices=doubted, index=len(faces) + 1), *holding, *others]
    if holding:
        return [*holding, *others]
    if current.suspected and not current.overtaken:
        mishap = current.suspected[0].what
        clause = next((row.clause for row in rows_of(house.book, mishap.event)), "")
        return [Asked(Doubt.CONFIRM, RECORD, clause, choices=("yes", "no"), index=mishap.at), *others]
    choices = readings(current, found)
    if choices:
        names, index = tuple(each.value for each in choices), len(current.cards) + 1
        overdrawn = current.waiting and current.waiting[0].excess and Reading.MISSED not in choices
        clause = said_of(house.book, Mishap.CARD_IN_EXCESS)[0] if overdrawn else ""
        return [Asked(Doubt.READING, RECORD, clause, choices=names, index=index, proposed=names[0]), *others]
    return others


def _asked(question: Question) -> Asked:
    return Asked(
        question.ask,
        question.role,
        question.clause,
        question.irregularity,
        tuple(each.value for each in question.choices),
        question.clauses,
        question.cards,
        None,
        question.bettor,
        question.proposed.value if question.proposed else None,
        question.optional,
        question.bet,
    )


def _decisions(current: Round) -> list[Decision]:
    """What `others` answered holds for whoever is named later."""
    told = list(current.decisions)
    own = {(each.ask, each.irregularity, each.bettor, each.bet) for each in told}
    named = dict.fromkeys(each.bettor for each in told if each.bettor not in (None, OTHERS))
    for each in current.decisions:
        if each.bettor == OTHERS:
            later = [name for name in named if (each.ask, each.irregularity, name, each.bet) not in own]
            told += [replace(each, bettor=name) for name in later]
    return [_decision(each) for each in told]


def _decision(told: Decided) -> Decision:
    choice: Choice | tuple[Card, ...]
    choice = Choice(told.choice) if isinstance(told.choice, str) else tuple(map(Card.parse, told.choice))
    return Decision(told.ask, choice, told.by.role or PLAYER, told.irregularity, told.bettor, told.bet)


# --- answers


def choose(current: Round, asked: Asked, choice: str | tuple[str, ...], by: Author, bettor: str | None) -> Round:
    """The round after an answer that fits the question."""
    match asked.ask:
        case Doubt.FACE:
            return _faced(current, asked, choice, by)
        case Doubt.CONFIRM:
            first, *rest = current.suspected
            opened = replace(current, suspected=tuple(rest))
            if choice != "yes":
                return opened
            if first.what.event is Mishap.DRAWN_TOGETHER and first.what.count == 1:
                return with_unread(opened, replace(first, by=by))
            return replace(opened, happened=(*current.happened, replace(first, by=by)))
        case Ask.NEXT_ROUND if asked.optional:
            return replace(current, unanswered=left_open(current)[1:], hold=(), suspected=())
        case Ask.NEXT_ROUND:
            first, *others = current.hold
            opened = replace(current, hold=tuple(others))
            return laid(opened, first.card) if choice == Reading.CARRIED.value else opened
        case Doubt.READING:
            return read(current, Reading(choice))
        case Ask():
            decided = Decided(asked.ask, choice, by, asked.irregularity or 0, bettor or asked.bettor, asked.bet)
            return replace(current, decisions=(*current.decisions, decided))
        case _:
            assert_never(asked.ask)


def laid(current: Round, card: Card | None) -> Round:
    """With one more card that was left over before it."""
    at = current.carried
    cards = (*current.cards[:at], Taken(card, drawn=True), *current.cards[at:])
    return replace(current, cards=cards, carried=at + 1)


def begun(house: House, state: TableState) -> Round:
    """The next round, if what waits is of that one: its first card was missed, unless some were left over."""
    current = state.round
    carried = judge(house, replace(current, waiting=())).course.carried
    left = tuple(Taken(face, drawn=True) for face in (*carried, *state.kept))
    return Round(
        current.shoe,
        current.number + 1,
        cards=left or unheard(current.waiting[0]),
        waiting=current.waiting,
        carried=len(left),
        hold=(*state.hold, *renewal(current)),
        play=Phase.DEALING,
    )


def _faced(current: Round, asked: Asked, choice: str | tuple[str, ...], by: Author) -> Round:
    at = asked.index or 0
    if choice == NO_CARD:
        return without_card(current, at)
    if choice == FOREIGN:
        what = Happened(Mishap.FOREIGN_CARD, at, len(current.cards))
        return replace(current, happened=(*current.happened, Noticed(what, f"card {at} is none of the set", by)))
    return corrected(current, at, Card.parse(str(choice)))


def refusal(asked: Asked, choice: str | tuple[str, ...], by: Author) -> str | None:
    """Why an answer does not count."""
    if not may(by.role or "player", asked.role):
        needed = asked.role.value if isinstance(asked.role, Role) else asked.role or "a role of the house"
        return f"{by.role.value if by.role else 'a player'} may not decide this: it takes {needed}"
    match asked.ask:
        case Doubt.FACE:
            right = choice == FOREIGN or choice in asked.choices or (isinstance(choice, str) and _is_card(choice))
            wanted = f"a card, as in 8S or 10H, or {' or '.join(asked.choices) or FOREIGN}"
        case Ask.CARD_ORDER:
            right = not isinstance(choice, str) and sorted(choice) == sorted(map(str, asked.cards))
            wanted = f"these cards in their order: {','.join(map(str, asked.cards))}"
        case _:
            right = choice in asked.choices
            wanted = " or ".join(asked.choices)
    said = choice if isinstance(choice, str) else ",".join(choice)
    return None if right else f"{said} is no answer; write {wanted}"


def _is_card(text: str) -> bool:
    try:
        Card.parse(text)
    except ValueError:
        return False
    return True
