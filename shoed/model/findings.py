"""Findings: the conclusions of the watch from observations, with their evidence. The table decides the consequences."""

from collections.abc import Mapping

import msgspec

from shoed.model.cards import Card
from shoed.model.moments import Now
from shoed.model.observations import FaultMeaning


class Finding(msgspec.Struct, frozen=True, kw_only=True, tag_field="found", tag=True, omit_defaults=True):
    at: Now


class DrawnTogether(Finding, frozen=True, kw_only=True):
    """Cards that were not drawn one by one."""

    cards: tuple[Card | None, ...]  # the last one is the newest card
    order_known: bool
    evidence: str  # one sentence, with the measured figures and their limit

    def __str__(self) -> str:
        cards = " and ".join("an unread card" if card is None else str(card) for card in self.cards)
        order = "in this order" if self.order_known else "in an unknown order"
        return f"{cards} were drawn together, {order}: {self.evidence}"


class Unread(Finding, frozen=True, kw_only=True):
    """A card without a face: unreadable, or foreign."""

    meaning: FaultMeaning | None  # of the fault, if the device reports one
    code: str  # of the card, if the device reports one
    evidence: str

    def __str__(self) -> str:
        return f"a card could not be read: {self.evidence}"


class TooOften(Finding, frozen=True, kw_only=True):
    """More cards of one face than the decks hold, or than the delivered set holds."""

    card: Card
    times: int
    decks: int
    delivered: int | None = None  # the count of the shuffler, if it is smaller

    def __str__(self) -> str:
        of = f"{self.decks} decks" if self.delivered is None else f"a set with {self.delivered} by the shuffler's count"
        return f"{self.card} was reported {self.times} times from {of}: foreign, misread, or of another set"


class TooMany(Finding, frozen=True, kw_only=True):
    """More cards than the set holds, by its decks or by the count of the shuffler."""

    cards: int
    whole: int

    def __str__(self) -> str:
        return f"card {self.cards} was reported from a set of {self.whole} cards"


class SetWrong(Finding, frozen=True, kw_only=True):
    """A set, of which every card was counted, has missing cards or cards in excess."""

    missing: Mapping[Card, int]
    extra: Mapping[Card, int]
    evidence: str
    of_next_shoe: bool = msgspec.field(default=False, name="coming")

    def __str__(self) -> str:
        missing = ", ".join(f"{times} {card}" for card, times in self.missing.items()) or "none"
        extra = ", ".join(f"{times} {card}" for card, times in self.extra.items()) or "none"
        return f"cards missing from the set: {missing}; cards in excess: {extra}; {self.evidence}"


class OtherSet(Finding, frozen=True, kw_only=True):
    """The shoe was loaded with another set than the shuffler delivered."""

    delivered: str
    loaded: str

    def __str__(self) -> str:
        return f"the shuffler delivered set {self.delivered}, and the shoe was loaded with set {self.loaded}"


class ShuffleFailed(Finding, frozen=True, kw_only=True):
    """The next set is not shuffled, by the report of the shuffler."""

    reason: str
    set_id: str = ""  # empty: the shuffler does not name the set

    def __str__(self) -> str:
        named = f" {self.set_id}" if self.set_id else ""
        return f"the shuffler did not shuffle the set{named}: {self.reason}"


class OrderAltered(Finding, frozen=True, kw_only=True):
    """The order of the cards is not the order of the shuffler, or a card moved backwards."""

    card: Card | None
    expected: Card | None
    evidence: str

    def __str__(self) -> str:
        return f"the order of the cards was altered: {self.evidence}"


class NotShuffled(Finding, frozen=True, kw_only=True):
    """The order of the cards is very improbable for a shuffled set."""

    cards: int  # reported so far
    evidence: str

    def __str__(self) -> str:
        return f"after {self.cards} cards, the set does not look shuffled: {self.evidence}"


AnyFinding = (
    DrawnTogether | Unread | TooOften | TooMany | SetWrong | OtherSet | ShuffleFailed | OrderAltered | NotShuffled
)
