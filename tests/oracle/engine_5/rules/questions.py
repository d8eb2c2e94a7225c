"""What only a person can say of a round: the questions, who may answer them, and the answers.

    question         asked when                                            choices              who
    option           the book gives every player a choice (C 5.12)         continue return      the player
    card-order       cards came together, in no known order (C 5.10)       the cards, in order  as the book says
    reconstructable  it hangs on whether the cards can be put back (C 5.7) yes no               as the book says
    ruling           the book hands it to a person, or is silent           continue void        as the book says
    set-replaced     cards came together (C 5.10.2); need not be answered  yes no               as the book says
    next-round       an error was found between two rounds                 go-on                anybody at the table
    intended         insurance was not offered and would have won (I 5.13) yes no               as the book says

A decision answers every open question of its name, or the one of the irregularity and of the bettor that it names.
One that is made by somebody who may not make it, or that answers nothing, is refused, and the question stays open.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final, Literal

import msgspec

from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.words import PLAYER, Role


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
Voice = Role | Literal["player"]  # who speaks


class Question(msgspec.Struct, frozen=True):
    ask: Ask
    irregularity: int  # its position in the list
    role: Voice | None  # this one or above; None: the document names nobody, so anybody but a player
    clause: str  # "" where the document is silent
    choices: tuple[Choice, ...] = ()
    clauses: tuple[str, ...] = ()  # of the choices, where each has its own
    cards: tuple[Card, ...] = ()  # to be put in order
    bettor: str | None = None
    proposed: Choice | None = None
    optional: bool = False  # nothing waits for it
    bet: str | None = None  # that may go back


class Decision(msgspec.Struct, frozen=True):
    ask: Ask
    choice: Choice | tuple[Card, ...] | None  # None: something else was said
    role: Voice | None  # None: nobody the books know
    irregularity: int | None = None
    bettor: str | None = None
    bet: str | None = None


class Unheard(Enum):
    """Why a decision counts for nothing."""

    ROLE = "role"
    CHOICE = "choice"
    NOT_ASKED = "not-asked"


class Inquiry:
    """One round's questions, each answered or left open."""

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._decisions = decisions
        self._unheard: dict[int, Unheard] = dict.fromkeys(range(len(decisions)), Unheard.NOT_ASKED)
        self._heard: set[int] = set()
        self.open: list[Question] = []

    def choice(self, question: Question) -> Choice | None:
        answer = self._answer(question)
        return answer if isinstance(answer, Choice) else None

    def order(self, question: Question) -> tuple[Card, ...] | None:
        answer = self._answer(question)
        return answer if isinstance(answer, tuple) else None

    def unheard(self) -> list[tuple[int, Unheard]]:
        return [(position, why) for position, why in self._unheard.items() if position not in self._heard]

    def _answer(self, question: Question) -> Choice | tuple[Card, ...] | None:
        for position, decision in enumerate(self._decisions):
            if not _about(decision, question):
                continue
            if not may(decision.role, question.role):
                self._unheard[position] = Unheard.ROLE
            elif not _fits(decision.choice, question):
                self._unheard[position] = Unheard.CHOICE
            else:
                self._heard.add(position)
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


def may(voice: Voice | None, needed: Voice | None) -> bool:
    """C 5.12: the option is each player's own. Everything else belongs to the House."""
    if PLAYER in (needed, voice):
        return voice == needed
    return isinstance(voice, Role) and (not isinstance(needed, Role) or voice.may_decide_for(needed))


def _fits(choice: Choice | tuple[Card, ...] | None, question: Question) -> bool:
    if isinstance(choice, Choice):
        return choice in question.choices
    return choice is not None and sorted(map(str, choice)) == sorted(map(str, question.cards)) != []
