"""The questions of a round that only a person can answer, the roles that may answer them, and the decisions.

    question         asked when                                              choices              role
    option           the book gives each player a choice (C 5.12)            continue return      the player
    card-order       cards were drawn together, order unknown (C 5.10)       the cards, in order  by the book
    reconstructable  the ruling depends on a reconstruction (C 5.7)          yes no               by the book
    ruling           the book leaves the decision to a person, or is silent  continue void        by the book
    set-replaced     cards were drawn together (C 5.10.2); optional          yes no               by the book
    next-round       an error was found between two rounds                   go-on                by the book
    intended         insurance was not offered and would win (I 5.13)        yes no               by the book

A decision answers all open questions of its kind, or only those of the irregularity, the bettor and the bet that it
names. A decision by a role that may not decide, or one that answers no question, is refused. The question stays open.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final, Literal

import msgspec

from shoed.model.cards import Card
from shoed.model.irregularities import PLAYER, Role


class Ask(Enum):
    OPTION = "option"
    CARD_ORDER = "card-order"
    RECONSTRUCTABLE = "reconstructable"
    RULING = "ruling"
    SET_REPLACED = "set-replaced"
    NEXT_ROUND = "next-round"
    INTENDED = "intended"


class Choice(Enum):
    CONTINUE = "continue"
    RETURN = "return"
    VOID = "void"
    YES = "yes"
    NO = "no"
    GO_ON = "go-on"


YES_NO: Final = (Choice.YES, Choice.NO)
Decider = Role | Literal["player"]


class Question(msgspec.Struct, frozen=True):
    ask: Ask
    irregularity: int  # its position in the list
    role: Decider | None  # the lowest role; None: the document names no role, and any role of the house may decide
    clause: str  # "" where the document is silent
    choices: tuple[Choice, ...] = ()
    clauses: tuple[str, ...] = ()  # one for each choice, if they differ
    cards: tuple[Card, ...] = ()  # of CARD_ORDER
    bettor: str | None = None
    proposed: Choice | None = None
    optional: bool = False  # the round continues without an answer
    bet: str | None = None  # of INTENDED: the Original Bet that may be returned


class Decision(msgspec.Struct, frozen=True):
    ask: Ask
    choice: Choice | tuple[Card, ...] | None  # None: the given text is not a choice
    role: Decider | None  # None: the given text is not a role
    irregularity: int | None = None
    bettor: str | None = None
    bet: str | None = None


class UnheardReason(Enum):
    """The reason why a decision has no effect."""

    ROLE = "role"
    CHOICE = "choice"
    NOT_ASKED = "not-asked"


class Inquiry:
    """The questions of one round, answered by its decisions or left open."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._decisions = decisions
        self._reasons: dict[int, UnheardReason] = dict.fromkeys(range(len(decisions)), UnheardReason.NOT_ASKED)
        self._effective: set[int] = set()
        self.open: list[Question] = []

    def choice(self, question: Question) -> Choice | None:
        answer = self._answer(question)
        return answer if isinstance(answer, Choice) else None

    def order(self, question: Question) -> tuple[Card, ...] | None:
        answer = self._answer(question)
        return answer if isinstance(answer, tuple) else None

    def unheard(self) -> list[tuple[int, UnheardReason]]:
        return [(position, why) for position, why in self._reasons.items() if position not in self._effective]

    def _answer(self, question: Question) -> Choice | tuple[Card, ...] | None:
        for position, decision in enumerate(self._decisions):
            if not _about(decision, question):
                continue
            if not may_decide(decision.role, question.role):
                self._reasons[position] = UnheardReason.ROLE
            elif not _fits(decision.choice, question):
                self._reasons[position] = UnheardReason.CHOICE
            else:
                self._effective.add(position)
                return decision.choice
        self.open.append(question)
        return None


def _about(decision: Decision, question: Question) -> bool:
    return (
        decision.ask is question.ask
        and decision.irregularity in (None, question.irregularity)
        and decision.bettor in (None, question.bettor)
        and decision.bet in (None, question.bet)
    )


def may_decide(voice: Decider | None, needed: Decider | None) -> bool:
    """C 5.12: each player chooses an option alone. The house decides everything else."""
    if PLAYER in (needed, voice):
        return voice == needed
    return isinstance(voice, Role) and (not isinstance(needed, Role) or voice.may_decide_for(needed))


def _fits(choice: Choice | tuple[Card, ...] | None, question: Question) -> bool:
    if isinstance(choice, Choice):
        return choice in question.choices
    return choice is not None and sorted(map(str, choice)) == sorted(map(str, question.cards)) != []
