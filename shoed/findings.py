"""What the watch noticed, with its evidence. What follows from a finding is the table's business."""

from collections.abc import Mapping

import msgspec

from shoed.cards import Card
from shoed.now import Now
from shoed.observations import FaultMeaning


class Finding(msgspec.Struct, frozen=True, kw_only=True, tag_field="found", tag=True, omit_defaults=True):
    at: Now


class DrawnTogether(Finding, frozen=True, kw_only=True):
    """Cards that were not drawn one by one."""

    cards: tuple[Card | None, ...]  # the last one is the card just seen
    order_known: bool
    evidence: str  # in a sentence, with the figures and the limit that they were held against

    def __str__(self) -> str:
        cards = " and ".join("an unread card" if card is None else str(card) for card in self.cards)
        order = "in this order" if self.order_known else "in an order that nobody knows"
        return f"{cards} were drawn together, {order}: {self.evidence}"


class Unread(Finding, frozen=True, kw_only=True):
    """A card passed that has no face for us: unreadable, or foreign."""

    meaning: FaultMeaning | None  # what the device said of it, if it said a fault
    code: str  # that the card carries, if it told one
    evidence: str

    def __str__(self) -> str:
        return f"a card could not be read: {self.evidence}"


class TooOften(Finding, frozen=True, kw_only=True):
    """A card more often than the decks hold it, or the set that was delivered."""

    card: Card
    times: int
    decks: int
    delivered: int | None = None  # so many a shuffler counted, and that are fewer

    def __str__(self) -> str:
        of = f"{self.decks} decks" if self.delivered is None else f"a set with {self.delivered} by the shuffler's count"
        return f"{self.card} came {self.times} times from {of}: foreign, misread, or another set?"


class TooMany(Finding, frozen=True, kw_only=True):
    """More cards than the set has, by its decks or as it was delivered."""

    cards: int
    whole: int

    def __str__(self) -> str:
        return f"card {self.cards} of a set of {self.whole}"


class SetWrong(Finding, frozen=True, kw_only=True):
    """A set that was counted whole lacks cards, or has some that it should not have."""

    missing: Mapping[Card, int]
    extra: Mapping[Card, int]
    evidence: str
    coming: bool = False  # it is the next shoe's

    def __str__(self) -> str:
        lacks = ", ".join(f"{times} {card}" for card, times in self.missing.items()) or "nothing"
        extra = ", ".join(f"{times} {card}" for card, times in self.extra.items()) or "nothing"
        return f"the set lacks {lacks} and has {extra} too many: {self.evidence}"


class OtherSet(Finding, frozen=True, kw_only=True):
    """The shoe was loaded with another set than the shuffler delivered."""

    delivered: str
    loaded: str

    def __str__(self) -> str:
        return f"the shuffler delivered set {self.delivered}, and the shoe was loaded with set {self.loaded}"


class ShuffleFailed(Finding, frozen=True, kw_only=True):
    """The set that comes next is not shuffled, as the shuffler says itself."""

    reason: str
    set_id: str = ""  # empty where the shuffler does not name it

    def __str__(self) -> str:
        named = f" {self.set_id}" if self.set_id else ""
        return f"the shuffler did not shuffle the set{named}: {self.reason}"


class OrderAltered(Finding, frozen=True, kw_only=True):
    """The cards do not come as the shuffler delivered them, or one ran backwards."""

    card: Card | None
    expected: Card | None
    evidence: str

    def __str__(self) -> str:
        return f"the order of the cards was altered: {self.evidence}"


class NotShuffled(Finding, frozen=True, kw_only=True):
    """The cards follow each other as no shuffled set does."""

    cards: int  # seen so far
    evidence: str

    def __str__(self) -> str:
        return f"after {self.cards} cards this set does not look shuffled: {self.evidence}"


AnyFinding = (
    DrawnTogether | Unread | TooOften | TooMany | SetWrong | OtherSet | ShuffleFailed | OrderAltered | NotShuffled
)
