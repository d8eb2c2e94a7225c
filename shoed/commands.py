"""What people tell a table: the commands, and the answer to each.

A command is imperative and says what its author saw or decided; the table answers it in the same Step. What a
command may say of cards is in the words of the rule books, and a decision names the question that it answers.
"""

import msgspec

from shoed.cards import Card
from shoed.observations import Device
from shoed.words import Event, OverdrawnCard, Role, Stage


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
    order_known: bool | None = None
    reconstructable: bool | None = None
    order: tuple[Card, ...] = ()  # the cards from `at` on as they were meant to come
    of_the_dealing: bool = True
    other: int | None = None  # that changed places with the one on the wrong side
    stage: Stage = Stage.AFTER_FOUR  # of insurance that was not offered
    round: int | None = None  # of this shoe; without it the present one
    card: Card | None = None  # exposed in the shoe, and not drawn yet
    in_time: bool = False  # of a past round: it was noticed before the next round commenced


class Withdraw(Command, frozen=True, kw_only=True, tag="withdraw"):
    """A notice was a mistake. It stays on record, and nothing follows from it."""

    number: int | None = None  # of its matter in the present round; without it the one that is asked about


class ReplaceSet(Command, frozen=True, kw_only=True, tag="replace-set"):
    """The set of cards is to be replaced: the next round waits for `new-shoe`."""


class PutAway(Command, frozen=True, kw_only=True, tag="put-away"):
    """A card that waits is put away: it serves in no round (C 5.17, I 5.18)."""

    index: int  # as the question shows it


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
    revision: int | None = None  # of the question, as its author read it; without it the present one


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


class LockDevice(Command, frozen=True, kw_only=True, tag="lock"):
    """The daemon orders a device to lock itself."""

    device: Device = Device.SHOE


class UnlockDevice(Command, frozen=True, kw_only=True, tag="unlock"):
    """The daemon orders a device to unlock itself."""

    device: Device = Device.SHOE


class ClearFault(Command, frozen=True, kw_only=True, tag="clear-fault"):
    """The daemon orders a device to clear its fault; for an overdraw, with the decision about its card."""

    device: Device = Device.SHOE
    card: OverdrawnCard | None = None


AnyCommand = (
    OpenBets
    | CloseBets
    | Notice
    | Withdraw
    | ReplaceSet
    | PutAway
    | ReportLate
    | GrantSqueeze
    | Decide
    | CorrectCard
    | VoidRound
    | SettleRound
    | StartShoe
    | EmptyShoe
    | LockDevice
    | UnlockDevice
    | ClearFault
)


class Answer(msgspec.Struct, frozen=True):
    """What became of a command."""

    id: str  # of the command, as its sender gave it
    accepted: bool
    detail: str = ""  # of a refusal: why, and what to do; of a notice: the matter that it repeats


class Author(msgspec.Struct, frozen=True):
    name: str
    role: Role | None  # None: a player
