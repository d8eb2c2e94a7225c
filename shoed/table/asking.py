"""The open questions of a round: those of the rules, and those about the record."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.cards import Card
from shoed.commands import Author
from shoed.rules.book import RuleBook, Then
from shoed.rules.irregular import Course, rows_of, said_of
from shoed.rules.questions import Ask, Choice, Question, Voice, may
from shoed.table.matters import Confirmation, Matter, Status
from shoed.table.readings import (
    READINGS,
    Reading,
    Situation,
    first_of_either,
    may_be_new_shoe,
    of_another_round,
    readings,
)
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
    GAP = "gap"  # whether the cards shown are those on the table, after reports may have been lost
    CONFIRM = "confirm"  # whether a suspicion is true
    RESTART = "restart"  # whether a new shoe began, or the one that was cut only started again


HOLDING: Final = frozenset({Ask.CARD_ORDER, Ask.RECONSTRUCTABLE, Ask.RULING, Ask.OPTION, Ask.NEXT_ROUND, *Doubt})
# These stay open over the end of a round.
OUTLIVES: Final = frozenset(HOLDING | {Ask.INTENDED, Ask.SET_REPLACED}) - {Doubt.RESTART}

LATE: Final = (
    Ask.RULING,
    Ask.RECONSTRUCTABLE,
    Doubt.CONFIRM,
)  # these may follow from an answer about a round that is over


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question that is open."""

    ask: Ask | Doubt
    role: Voice | None  # this one or above; None: every role of the house
    clause: str = ""  # "": no document names one
    matter: int | None = None
    choices: tuple[str, ...] = ()  # none: a card, or cards in order
    clauses: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()  # to be put in order
    card: int | None = None  # the id of the card that it is about
    index: int | None = None  # and its position
    bettor: str | None = None
    proposed: str | None = None
    optional: bool = False  # play does not wait for it
    bet: str | None = None  # that may go back

    @property
    def holds(self) -> bool:
        return self.ask in HOLDING and not self.optional


class Topic(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a question is about: the same topic is the same question. Two rounds may give their matters one id."""

    ask: str
    matter: int | None = None
    round: tuple[int, int] | None = None  # with its shoe; None: a matter between two rounds, which may be of either
    card: int = 0  # its id in the round
    bettor: str | None = None
    bet: str | None = None


def topic(asked: Asked, record: Record) -> Topic:
    of = None if asked.ask is Ask.NEXT_ROUND else (record.shoe, record.number)
    return Topic(asked.ask.value, asked.matter, of, asked.card or 0, asked.bettor, asked.bet)


def of_the_rules(question: Question, matter: int) -> Asked:
    silent = question.ask is Ask.RULING and question.role is None  # whether the round is void: no less than `void`
    return Asked(
        question.ask,
        RECORD if silent else question.role,
        question.clause,
        matter,
        tuple([each.value for each in question.choices]),
        question.clauses,
        question.cards,
        None,
        None,
        question.bettor,
        question.proposed.value if question.proposed else None,
        question.optional,
        question.bet,
    )


def of_the_record(book: RuleBook, record: Record, found: Course, asked: Sequence[Asked]) -> list[Asked]:
    """All questions of the round, in the order in which they are asked."""
    restart = to_restart(record)
    if found.void is not None:
        doubts = [goes_on(book, record, each) for each in record.having(Status.HOLDING)] + to_confirm(book, record)
        doubts += restart
        return [*asked, *(replace(each, optional=True) for each in doubts)]
    holding = sorted([each for each in asked if each.holds], key=lambda each: each.ask is not Ask.CARD_ORDER)
    others = [each for each in asked if not each.holds]
    held_by = sorted(record.having(Status.HOLDING), key=lambda each: each.face is not None)
    first = [goes_on(book, record, each) for each in held_by[:1]]
    if of_another_round(record):
        return [*restart, *holding, *others]
    if first_of_either(record):
        return [*restart, *first, *holding, *to_confirm(book, record), *others]
    others += restart
    if first:
        return [*first, *holding, *others]
    order = record.order
    unknown = next((at for at, each in enumerate(order) if each.face is None), None)
    if unknown is not None:
        doubted = (FOREIGN, NO_CARD) if order[unknown].in_no_slot else ()
        face = Asked(Doubt.FACE, RECORD, choices=doubted, card=order[unknown].id, index=unknown + 1)
        return [face, *holding, *others]
    if holding:
        return [*holding, *others]
    return [*(to_confirm(book, record) or to_read(book, record, found)), *others]


def to_confirm(book: RuleBook, record: Record) -> list[Asked]:
    """The suspicions; the next round does not wait for one."""
    asked: list[Asked] = []
    for matter in record.having(Status.SUSPECTED):
        rows = rows_of(book, matter.kind)
        if matter.confirmation is Confirmation.NEEDED:  # the round would be void
            rows = sorted(rows, key=lambda row: row.then is not Then.VOID)
        clause = next((row.clause for row in rows), "")
        index = facts(record, matter).at
        confirm = Asked(Doubt.CONFIRM, RECORD, clause, matter.id, ("yes", "no"), index=index)
        asked.append(replace(confirm, optional=record.overtaken))
    return asked


def to_restart(record: Record) -> list[Asked]:
    """Whether a new shoe began in the round. The round waits for the answer with a card that may be of either shoe.

    A new shoe is proposed if the card cannot be of the open round.
    """
    if not may_be_new_shoe(record):
        return []
    choices = tuple([each.value for each in READINGS[Situation.STARTED_AFTER_CUT]])
    proposed = choices[of_another_round(record)]
    return [Asked(Doubt.RESTART, RECORD, choices=choices, proposed=proposed, optional=not first_of_either(record))]


def to_read(book: RuleBook, record: Record, found: Course) -> list[Asked]:
    choices = tuple([each.value for each in readings(record, found)])
    if not choices:
        return []
    waiting = record.waiting
    ask = Doubt.GAP if Reading.SHOWN.value in choices else Doubt.READING
    card = waiting[0].id if waiting and not record.result_is_early else None
    overdrawn = ask is Doubt.READING and card is not None and waiting[0].report is Report.OVERDRAWN
    clause = said_of(book, Kind.CARD_IN_EXCESS)[0] if overdrawn else ""
    at = len(record.order) + 1
    return [Asked(ask, RECORD, clause, None, choices, card=card, index=at, proposed=choices[0])]


def goes_on(book: RuleBook, record: Record, matter: Matter) -> Asked:
    """Whether the next round may go on after what was found before it."""
    clause, decides = said_of(book, matter.kind)
    author = matter.by.role if matter.by is not None else None
    if author is not None and author.may_decide_for(decides or RECORD):
        decides = author  # nobody below the author dismisses the notice of a supervisor
    if matter.face is None or not record.foreign.isdisjoint(matter.cards):
        return Asked(Ask.NEXT_ROUND, decides, clause, matter.id, (Choice.GO_ON.value,))
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
