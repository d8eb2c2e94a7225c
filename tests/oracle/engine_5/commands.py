"""What people tell a table: the commands, and the answer to each.

A command is imperative and says what its author saw or decided; the table answers it in the same Step. What a
command may say of cards is in the words of the rule books, and a decision names the question that it answers.
"""

import msgspec

from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.words import Event, Role, Stage


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="command", omit_defaults=True):
    """The base of all commands."""


class OpenBets(Command, frozen=True, kw_only=True, tag="open-bets"):
    """The dealer says "Place your bets": the next round opens."""


class CloseBets(Command, frozen=True, kw_only=True, tag="close-bets"):
    """The dealer says "No more bets"."""


class Notice(Command, frozen=True, kw_only=True, tag="notice"):
    """Something went wrong that no shoe sees, or that this shoe did not tell."""

    kind: Event
    at: int | None = None  # the ordinal of the card that it begins with; without it the last one
    count: int = 2  # cards drawn together
    order_known: bool = False
    reconstructable: bool | None = None
    order: tuple[Card, ...] = ()  # the cards from `at` on as they were meant to come
    of_the_dealing: bool = True
    other: int | None = None  # that changed places with the one on the wrong side
    stage: Stage = Stage.AFTER_FOUR  # of insurance that was not offered
    round: int | None = None  # of this shoe; without it the present one


class ReportLate(Command, frozen=True, kw_only=True, tag="late"):
    """A bet was placed, raised or withdrawn after the bets were closed."""

    act: str  # bet, increase, withdrawal


class GrantSqueeze(Command, frozen=True, kw_only=True, tag="squeeze"):
    """The last cards may be squeezed: insurance after Player's third card is waived (I 3.14)."""


class Decide(Command, frozen=True, kw_only=True, tag="decide"):
    """The open question is answered by whom the book names."""

    question: str  # its id
    choice: str | tuple[str, ...]  # a word, a card, or cards in order
    bettor: str | None = None  # whose choice it is, where each has their own


class CorrectCard(Command, frozen=True, kw_only=True, tag="correct"):
    """A card of the round was read wrongly."""

    index: int  # its ordinal in the round
    card: Card
    round: int | None = None


class VoidRound(Command, frozen=True, kw_only=True, tag="void"):
    """A round does not count, and its bets are returned."""

    round: int | None = None


class SettleRound(Command, frozen=True, kw_only=True, tag="settle"):
    """All bets of the complete round are paid."""


class StartShoe(Command, frozen=True, kw_only=True, tag="new-shoe"):
    """A new set of cards is in the shoe."""


class EmptyShoe(Command, frozen=True, kw_only=True, tag="empty-shoe"):
    """No card is left in the shoe."""


AnyCommand = (
    OpenBets
    | CloseBets
    | Notice
    | ReportLate
    | GrantSqueeze
    | Decide
    | CorrectCard
    | VoidRound
    | SettleRound
    | StartShoe
    | EmptyShoe
)


class Answer(msgspec.Struct, frozen=True):
    """What became of a command."""

    id: str  # of the command, as its sender gave it
    accepted: bool
    detail: str = ""  # of a refusal: why, and what to do


class Author(msgspec.Struct, frozen=True):
    name: str
    role: Role | None  # None: a player
