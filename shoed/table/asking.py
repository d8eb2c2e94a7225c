"""The open questions of a round: questions of the rules and questions about the record."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.commands import Author
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.irregularities import Role
from shoed.rules.book import RuleBook, Then
from shoed.rules.irregular import Course, clause_and_role, rows_of
from shoed.rules.questions import Ask, Choice, Decider, Question, may_decide
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
from shoed.table.record import CardEntry, Record, ReportedPlace, facts

OTHERS: Final = "others"  # every bettor without an answer in the bettor's own name
FOREIGN: Final = "foreign-card"
NO_CARD: Final = "no-card"  # the device reported an unread card without a slot, and no card left the shoe
RECORD: Final = Role.PIT_SUPERVISOR  # our interpretation: this role or above corrects the record


class RecordAsk(Enum):
    """A question about the record of the cards. The rules do not ask it."""

    FACE = "face"  # the face of an unread card
    READING = "reading"  # the meaning of a card or a result that is not due
    GAP = "gap"  # whether the cards shown are the cards on the table, after reports may have been lost
    CONFIRM = "confirm"  # whether a suspicion is correct
    RESTART = "restart"  # whether a new shoe began, or the cut shoe only started again


HOLDING: Final = frozenset({Ask.CARD_ORDER, Ask.RECONSTRUCTABLE, Ask.RULING, Ask.OPTION, Ask.NEXT_ROUND, *RecordAsk})
# These questions stay open after the end of their round.
OUTLIVES: Final = frozenset(HOLDING | {Ask.INTENDED, Ask.SET_REPLACED}) - {RecordAsk.RESTART}

# An answer about a past round may lead to these questions.
LATE: Final = (Ask.RULING, Ask.RECONSTRUCTABLE, RecordAsk.CONFIRM)


class RoundQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """An open question of a round."""

    ask: Ask | RecordAsk
    role: Decider | None  # this role or a higher one; None: every role of the house
    clause: str = ""  # "": the document is silent
    matter: int | None = None
    choices: tuple[str, ...] = ()  # empty: the answer is a card, or cards in order
    clauses: tuple[str, ...] = ()  # of the choices
    cards: tuple[Card, ...] = ()  # to be put in order
    card: int | None = None  # the id of the card concerned
    index: int | None = None  # the position of the card concerned
    bettor: str | None = None
    proposed: str | None = None
    optional: bool = False  # play does not wait for the answer
    bet: str | None = None  # the bet that may be returned

    @property
    def holds(self) -> bool:
        return self.ask in HOLDING and not self.optional


class Topic(msgspec.Struct, frozen=True, omit_defaults=True):
    """The subject of a question. The same topic is the same question. Matters of two rounds may have the same id."""

    ask: str
    matter: int | None = None
    round: tuple[int, int] | None = None  # shoe and round; None: a matter between two rounds
    card: int = 0  # the id of the card in the round
    bettor: str | None = None
    bet: str | None = None


def topic(asked: RoundQuestion, record: Record) -> Topic:
    of_round = None if asked.ask is Ask.NEXT_ROUND else (record.shoe, record.number)
    return Topic(asked.ask.value, asked.matter, of_round, asked.card or 0, asked.bettor, asked.bet)


def of_the_rules(question: Question, matter: int) -> RoundQuestion:
    silent = question.ask is Ask.RULING and question.role is None  # the same role as for the command `void`
    return RoundQuestion(
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


def of_the_record(book: RuleBook, record: Record, found: Course, asked: Sequence[RoundQuestion]) -> list[RoundQuestion]:
    """All questions of the round, in the order in which they are asked."""
    if not (asked or record.matters or record.waiting or record.early or found.void or may_be_new_shoe(record)):
        return face_of_unread(record.order)  # most rounds
    restart = to_restart(record)
    if found.void is not None:
        optional = [next_round_question(book, record, each) for each in record.having(Status.HOLDING)] + to_confirm(
            book, record
        )
        optional += restart
        return [*asked, *(replace(each, optional=True) for each in optional)]
    holding = sorted([each for each in asked if each.holds], key=lambda each: each.ask is not Ask.CARD_ORDER)
    others = [each for each in asked if not each.holds]
    held_by = sorted(record.having(Status.HOLDING), key=lambda each: each.face is not None)
    first = [next_round_question(book, record, each) for each in held_by[:1]]
    if of_another_round(record):
        return [*restart, *holding, *others]
    if first_of_either(record):
        return [*restart, *first, *holding, *to_confirm(book, record), *others]
    others += restart
    if first:
        return [*first, *holding, *others]
    face = face_of_unread(record.order)
    if face or holding:
        return [*face, *holding, *others]
    return [*(to_confirm(book, record) or to_read(book, record, found)), *others]


def face_of_unread(order: Sequence[CardEntry]) -> list[RoundQuestion]:
    """The question about the first card without a face."""
    for index, card in enumerate(order, 1):
        if card.face is None:
            answers = (FOREIGN, NO_CARD) if card.in_no_slot else ()
            return [RoundQuestion(RecordAsk.FACE, RECORD, choices=answers, card=card.id, index=index)]
    return []


def to_confirm(book: RuleBook, record: Record) -> list[RoundQuestion]:
    """The questions about suspicions. The next round does not wait for them."""
    asked: list[RoundQuestion] = []
    for matter in record.having(Status.SUSPECTED):
        rows = rows_of(book, matter.kind)
        if matter.confirmation is Confirmation.NEEDED:  # the round would be void
            rows = sorted(rows, key=lambda row: row.then is not Then.VOID)
        clause = next((row.clause for row in rows), "")
        index = facts(record, matter).at
        confirm = RoundQuestion(RecordAsk.CONFIRM, RECORD, clause, matter.id, ("yes", "no"), index=index)
        asked.append(replace(confirm, optional=record.overtaken))
    return asked


def to_restart(record: Record) -> list[RoundQuestion]:
    """The question whether a new shoe began in the round.

    The round waits for the answer if a card waits that may be of either shoe. A new shoe is proposed if the card cannot
    be a card of the open round.
    """
    if not may_be_new_shoe(record):
        return []
    choices = tuple([each.value for each in READINGS[Situation.STARTED_AFTER_CUT]])
    proposed = choices[of_another_round(record)]
    optional = not first_of_either(record)
    return [RoundQuestion(RecordAsk.RESTART, RECORD, choices=choices, proposed=proposed, optional=optional)]


def to_read(book: RuleBook, record: Record, found: Course) -> list[RoundQuestion]:
    choices = tuple([each.value for each in readings(record, found)])
    if not choices:
        return []
    waiting = record.waiting
    ask = RecordAsk.GAP if Reading.SHOWN.value in choices else RecordAsk.READING
    card = waiting[0].id if waiting and not record.result_is_early else None
    overdrawn = ask is RecordAsk.READING and card is not None and waiting[0].report is ReportedPlace.OVERDRAWN
    clause = clause_and_role(book, Kind.CARD_IN_EXCESS)[0] if overdrawn else ""
    at = len(record.order) + 1
    return [RoundQuestion(ask, RECORD, clause, None, choices, card=card, index=at, proposed=choices[0])]


def next_round_question(book: RuleBook, record: Record, matter: Matter) -> RoundQuestion:
    """The question whether play may continue after a matter that was found between two rounds."""
    clause, decides = clause_and_role(book, matter.kind)
    author = matter.by.role if matter.by is not None else None
    if author is not None and author.may_decide_for(decides or RECORD):
        decides = author  # a role below the author cannot close the notice of a supervisor
    if matter.face is None or not record.foreign.isdisjoint(matter.cards):
        return RoundQuestion(Ask.NEXT_ROUND, decides, clause, matter.id, (Choice.GO_ON.value,))
    carried = Reading.CARRIED.value  # C 5.7: where a card in excess serves
    choices = (carried, Choice.GO_ON.value)
    return RoundQuestion(Ask.NEXT_ROUND, decides, clause, matter.id, choices, proposed=carried)


def role_of(asked: RoundQuestion) -> str | None:
    return asked.role.value if isinstance(asked.role, Role) else asked.role


def refusal(asked: RoundQuestion, choice: str | tuple[str, ...], by: Author) -> str | None:
    """The refusal of an answer; None: the answer counts."""
    if not may_decide(by.role or "player", asked.role):
        needed = role_of(asked) or "a role of the house"
        return f"{by.role.value if by.role else 'a player'} may not answer this question; the required role is {needed}"
    match asked.ask:
        case RecordAsk.FACE:
            right = choice == FOREIGN or choice in asked.choices or (isinstance(choice, str) and is_card(choice))
            wanted = f"a card, as in 8S or 10H, or {' or '.join(asked.choices) or FOREIGN}"
        case Ask.CARD_ORDER:
            right = not isinstance(choice, str) and sorted(choice) == sorted(map(str, asked.cards))
            wanted = f"these cards in their order: {','.join(map(str, asked.cards))}"
        case _:
            right = choice in asked.choices
            wanted = " or ".join(asked.choices)
    given = choice if isinstance(choice, str) else ",".join(choice)
    return None if right else f"{given} is not an answer to this question; write {wanted}"


def is_card(text: str) -> bool:
    try:
        Card.parse(text)
    except ValueError:
        return False
    return True
