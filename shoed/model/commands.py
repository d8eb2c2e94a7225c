"""The commands of people to a table, and their answers.

A command is imperative and states an observation or a decision of its author. The answer is a part of the same Step.
The docstring of a command and the description of each field are the text of `shoed tell --help` and docs/commands.md.
The journal stores commands and is decoded with these types. A bound on a field would reject older records:
`shoed/model/requests.py` checks the bounds of new commands.
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from shoed.model.cards import Card
from shoed.model.irregularities import IrregularityKind, OverdrawnCard, Role, Stage
from shoed.model.observations import Device

RoundNumber = Annotated[int | None, Meta(description="the round of this shoe; default: the present round")]
TargetDevice = Annotated[Device, Meta(description="the device that receives the order")]


def in_words(value: object) -> str:
    match msgspec.to_builtins(value):
        case bool(found):
            return "yes" if found else "no"
        case list(found) | tuple(found):
            return ",".join(map(str, found))
        case found:
            return str(found)


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="command", omit_defaults=True):
    """The base of all commands. `done`: the effect of an accepted command in words, with the names of fields."""

    done: ClassVar[str]

    @property
    def deed(self) -> str:
        """The effect of this command, and its other keys."""
        fields = {name: in_words(getattr(self, name)) for name in self.__struct_fields__}
        shown = ("revision", *(name for name in fields if f"{{{name}}}" in self.done))  # revision: only a condition
        given = [name for name in msgspec.to_builtins(self) if name in fields and name not in shown]
        return ", ".join([self.done.format(**fields), *(f"{name} {fields[name]}" for name in given)])


class OpenBets(Command, frozen=True, kw_only=True, tag="open-bets"):
    """Report that the dealer announced "Place your bets". The next round opens."""

    done: ClassVar[str] = "bets are open"


class CloseBets(Command, frozen=True, kw_only=True, tag="close-bets"):
    """Report that the dealer announced "No more bets". The bets are closed."""

    done: ClassVar[str] = "bets are closed"


class ReportIrregularity(Command, frozen=True, kw_only=True, tag="notice"):
    """Report an irregularity."""

    done: ClassVar[str] = "noticed: {kind}"

    kind: Annotated[IrregularityKind, Meta(description="the irregularity")]
    at: Annotated[
        int | None,
        Meta(description="the number of the first affected card in the round, from 1; default: the last card"),
    ] = None
    count: Annotated[int, Meta(description="with `drawn-together`: the number of cards that were drawn together")] = 2
    order_known: Annotated[
        bool | None,
        Meta(description="with `drawn-together`: whether the order of the cards is known; default: not known"),
    ] = None
    reconstructable: Annotated[
        bool | None, Meta(description="whether the cards can be put back in their order; default: not decided")
    ] = None
    order: Annotated[
        tuple[Card, ...], Meta(description="with `order-altered`: the cards from `at` on, in their intended order")
    ] = ()
    of_the_dealing: Annotated[
        bool,
        Meta(description="with `order-altered`: yes if a dealing error altered the order, no if another cause did"),
    ] = True
    other: Annotated[
        int | None, Meta(description="with `wrong-side`: the number of the card that changed places with the card `at`")
    ] = None
    stage: Annotated[
        Stage, Meta(description="with `insurance-neglected`: the stage whose insurance was not offered")
    ] = Stage.AFTER_FOUR
    round: RoundNumber = None
    card: Annotated[
        Card | None,
        Meta(description="with `card-exposed`: the face of the next card, if a person saw it before it was drawn"),
    ] = None
    in_time: Annotated[
        bool,
        Meta(
            description="with `round`: whether a person noticed the irregularity before the next round began;"
            " yes requires a pit supervisor or above"
        ),
    ] = False


class Withdraw(Command, frozen=True, kw_only=True, tag="withdraw"):
    """Withdraw a mistaken notice. The notice stays on record and has no effect."""

    done: ClassVar[str] = "the notice is withdrawn"

    number: Annotated[
        int | None,
        Meta(description="the number of the matter in this round, from `irregularity/noticed`; default: see below"),
    ] = None


class ReplaceSet(Command, frozen=True, kw_only=True, tag="replace-set"):
    """Decide that the set of cards is replaced after this round. The next round waits for `new-shoe`."""

    done: ClassVar[str] = "the set of cards is replaced after this round"


class PutAway(Command, frozen=True, kw_only=True, tag="put-away"):
    """Put away a card whose place in the round is in question. No round uses the card (C 5.17, I 5.18)."""

    done: ClassVar[str] = "card {index} is put away"

    index: Annotated[int, Meta(description="the number of the card, as `index` in the question")]


class ReportLate(Command, frozen=True, kw_only=True, tag="late"):
    """Report that a bet was placed, increased or withdrawn after the bets were closed."""

    done: ClassVar[str] = "the late {act} is recorded"

    act: Annotated[str, Meta(description="the change of the bet: `bet`, `increase` or `withdrawal`")]


class GrantSqueeze(Command, frozen=True, kw_only=True, tag="squeeze"):
    """Report that a squeeze of the last cards is granted. Insurance after Player's third card is waived (I 3.14)."""

    done: ClassVar[str] = "the squeeze is granted"


class Decide(Command, frozen=True, kw_only=True, tag="decide"):
    """Answer a question, in the role of the question or in a higher role."""

    done: ClassVar[str] = "question {question} answered: {choice}"

    question: Annotated[str, Meta(description="the id of the question")]
    choice: Annotated[
        str | tuple[str, ...],
        Meta(description="one of the `choices` of the question; for cards: one card, or several cards in their order"),
    ]
    bettor: Annotated[str | None, Meta(description="the bettor who answers, if the question is for each bettor")] = None
    revision: Annotated[
        int | None,
        Meta(
            description="the revision that the author read;"
            " shoed refuses the command if this choice has another effect in a later revision;"
            " default: the present revision"
        ),
    ] = None


class CorrectCard(Command, frozen=True, kw_only=True, tag="correct"):
    """Correct the face of a misread card."""

    done: ClassVar[str] = "card {index} is corrected: {card}"

    index: Annotated[int, Meta(description="the number of the card in the round, from 1")]
    card: Annotated[Card, Meta(description="the correct card")]
    round: RoundNumber = None


class VoidRound(Command, frozen=True, kw_only=True, tag="void"):
    """Void a round: the round has no result, and its bets are returned."""

    done: ClassVar[str] = "the round is void"

    round: RoundNumber = None


class SettleRound(Command, frozen=True, kw_only=True, tag="settle"):
    """Report that all bets of the complete round are settled."""

    done: ClassVar[str] = "the round is settled"


class StartShoe(Command, frozen=True, kw_only=True, tag="new-shoe"):
    """Report that a new set of cards is in the shoe."""

    done: ClassVar[str] = "a new shoe is in play"


class EmptyShoe(Command, frozen=True, kw_only=True, tag="empty-shoe"):
    """Report that the shoe is empty."""

    done: ClassVar[str] = "the shoe is empty"


class LockDevice(Command, frozen=True, kw_only=True, tag="lock"):
    """Order a device to lock itself."""

    done: ClassVar[str] = "the order to lock is sent to the {device}"

    device: TargetDevice = Device.SHOE


class UnlockDevice(Command, frozen=True, kw_only=True, tag="unlock"):
    """Order a device to unlock itself."""

    done: ClassVar[str] = "the order to unlock is sent to the {device}"

    device: TargetDevice = Device.SHOE


class ClearFault(Command, frozen=True, kw_only=True, tag="clear-fault"):
    """Order a device to clear its fault. For an overdraw, `card` decides about the overdrawn card."""

    done: ClassVar[str] = "the order to clear the fault is sent to the {device}"

    device: TargetDevice = Device.SHOE
    card: Annotated[
        OverdrawnCard | None,
        Meta(
            description="`use`: deal the overdrawn card, `discard`: put it away;"
            " required for an overdraw, refused for another fault"
        ),
    ] = None


AnyCommand = (
    OpenBets
    | CloseBets
    | ReportIrregularity
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
    """The result of a command."""

    id: str  # of the command, from its sender
    accepted: bool
    detail: str = ""  # of a refusal: the reason and the remedy; of a notice: the matter that it repeats


class Author(msgspec.Struct, frozen=True):
    name: str
    role: Role | None  # None: a player
