"""What the watch noticed, with its evidence. What follows from a finding is the table's business."""

import msgspec

from shoed.cards import Card
from shoed.now import Now


class Finding(msgspec.Struct, frozen=True, kw_only=True, tag_field="found", tag=True):
    at: Now


class DrawnTogether(Finding, frozen=True, kw_only=True):
    """Two reports closer than a dealer draws two cards on purpose."""

    cards: tuple[Card | None, ...]
    gap_ms: float
    limit_ms: int

    def __str__(self) -> str:
        cards = " and ".join("an unread card" if card is None else str(card) for card in self.cards)
        return f"{cards} were reported {self.gap_ms:.1f} ms apart, closer than {self.limit_ms} ms: drawn together?"


AnyFinding = DrawnTogether
