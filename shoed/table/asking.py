"""The open questions of a round: those of the rules, and those about the record."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec

from shoed.cards import Card
from shoed.commands import Author
from shoed.rules.book import RuleBook
from shoed.rules.irregular import Course, rows_of, said_of
from shoed.rules.questions import Ask, Choice, Question, Voice, may
from shoed.table.matters import Matter, Status
from shoed.table.readings import Reading, readings
from shoed.table.record import Record, Report, facts
from shoed.words import Event as Kind
from shoed.words import Role

OTHERS: Final = "others"  # every bettor whom no decision has named
FOREIGN: Final = "foreign-card"
NO_CARD: Final = "no-card"  # the device reported an unread card in no slot, and there was none
RECORD: Final = Role.PIT_SUPERVISOR  # our reading: this role or above corrects the record


class Doubt(Enum):
    """What the rules do not ask, because it is about the record: what left the shoe."""

    FACE = "face"  # which card it was that could not be read
    READING = "reading"  # what a card or a result that is not due means
    CONFIRM = "confirm"  # whether a suspicion is true


HOLDING: Final = frozenset({Ask.CARD_ORDER, Ask.RECONSTRUCTABLE, Ask.RULING, Ask.OPTION, Ask.NEXT_ROUND, *Doubt})
# These stay open over the end of a round. A player who does not choose plays on.
OUTLIVES: Final = HOLDING - {Ask.OPTION} | {Ask.INTENDED}


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question that is open."""

    ask: Ask | Doubt
    role: Voice | None  # this one or above; None: every role of the house
    clause: str = ""  # "": no document names one
    matter: int | None = None
    choices: tuple[str, ...] = ()  # none: a card, or cards in order
    clauses: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()  # to be put in order
    index: int | None = None  # the position of the card that it is about
    bettor: str | None = None
    proposed: str | None = None
    optional: bool = False  # play does not wait for it
    bet: str | None = None  # that may go back

    @property
    def topic(self) -> "Topic":
        return Topic(self.ask.value, self.matter, self.index, self.bettor, self.bet, self.optional, self.cards)

    @property
    def holds(self) -> bool:
        return self.ask in HOLDING and not self.optional


class Topic(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a question is about: the same topic is the same question."""

    ask: str
    matter: int | None = None
    index: int | None = None
    bettor: str | None = None
    bet: str | None = None
    optional: bool = False
    cards: tuple[Card, ...] = ()


def of_the_rules(question: Question, matter: int) -> Asked:
    return Asked(
        question.ask,
        question.role,
        question.clause,
        matter,
        tuple([each.value for each in question.choices]),
        question.clauses,
        question.cards,
        None,
        question.bettor,
        question.proposed.value if question.proposed else None,
        question.optional,
        question.bet,
    )


def of_the_record(book: RuleBook, record: Record, found: Course, asked: Sequence[Asked]) -> list[Asked]:
    """All questions of the round, in the order in which they are asked."""
    lingering = [goes_on(book, each, optional=True) for each in record.having(Status.LINGERING)]
    if found.void is not None:
        return [*asked, *lingering]
    holding = [each for each in asked if each.holds]
    others = [each for each in asked if not each.holds] + lingering
    held_by = sorted(record.having(Status.HOLDING), key=lambda each: each.face is not None)
    if first := [goes_on(book, each) for each in held_by[:1]]:
        return [*first, *holding, *others]
    order = record.order
    unknown = next((at for at, each in enumerate(order) if each.face is None), None)
    if unknown is not None:
        doubted = (FOREIGN, NO_CARD) if order[unknown].in_no_slot else ()
        return [Asked(Doubt.FACE, RECORD, choices=doubted, index=unknown + 1), *holding, *others]
    if holding:
        return [*holding, *others]
    return [*confirm_or_read(book, record, found), *others]


def confirm_or_read(book: RuleBook, record: Record, found: Course) -> list[Asked]:
    suspected = record.having(Status.SUSPECTED)
    if suspected and not record.overtaken:
        matter = suspected[0]
        clause = next((row.clause for row in rows_of(book, matter.kind)), "")
        index = facts(record, matter).at
        return [Asked(Doubt.CONFIRM, RECORD, clause, matter.id, ("yes", "no"), index=index)]
    choices = tuple([each.value for each in readings(record, found)])
    if not choices:
        return []
    waiting = record.waiting
    overdrawn = waiting and waiting[0].report is Report.OVERDRAWN and Reading.MISSED.value not in choices
    clause = said_of(book, Kind.CARD_IN_EXCESS)[0] if overdrawn else ""
    return [Asked(Doubt.READING, RECORD, clause, None, choices, index=len(record.order) + 1, proposed=choices[0])]


def goes_on(book: RuleBook, matter: Matter, *, optional: bool = False) -> Asked:
    """Whether the next round may go on after what was found before it."""
    clause, decides = said_of(book, matter.kind)
    if matter.face is None or optional:
        return Asked(Ask.NEXT_ROUND, decides, clause, matter.id, (Choice.GO_ON.value,), optional=optional)
    carried = Reading.CARRIED.value  # C 5.7: where a card in excess serves
    choices = (carried, Choice.GO_ON.value)
    return Asked(Ask.NEXT_ROUND, decides, clause, matter.id, choices, proposed=carried)


def role_of(asked: Asked) -> str | None:
    return asked.role.value if isinstance(asked.role, Role) else asked.role


def refusal(asked: Asked, choice: str | tuple[str, ...], by: Author) -> str | None:
    """Why an answer does not count."""
    if not may(by.role or "player", asked.role):
        needed = role_of(asked) or "a role of the house"
        return f"{by.role.value if by.role else 'a player'} may not decide this: it takes {needed}"
    match asked.ask:
        case Doubt.FACE:
            right = choice == FOREIGN or choice in asked.choices or (isinstance(choice, str) and is_card(choice))
            wanted = f"a card, as in 8S or 10H, or {' or '.join(asked.choices) or FOREIGN}"
        case Ask.CARD_ORDER:
            right = not isinstance(choice, str) and sorted(choice) == sorted(map(str, asked.cards))
            wanted = f"these cards in their order: {','.join(map(str, asked.cards))}"
        case _:
            right = choice in asked.choices
            wanted = " or ".join(asked.choices)
    given = choice if isinstance(choice, str) else ",".join(choice)
    return None if right else f"{given} is no answer; write {wanted}"


def is_card(text: str) -> bool:
    try:
        Card.parse(text)
    except ValueError:
        return False
    return True
