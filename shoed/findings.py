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


AnyFinding = DrawnTogether
