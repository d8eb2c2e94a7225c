"""The device's session of a Bee-Tek shoe: the counterpart of `bee_tek`.

Theory of operation: this session is a fold without state. It sends a game card `copies` times and any other report
once. The shoe ignores all bytes of the host, and it sends nothing without a report.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from firmware_protocols import bee_tek as theirs
from firmware_protocols.bee_tek import BeeTekReport, BeeTekSettings
from shoed.model.cards import Card, Rank
from shoed.model.moments import Chunk
from shoed.session.bee_tek import SUITS

FACES: Final[Mapping[Card, theirs.BeeTekFace]] = {
    Card.of(rank, ours): theirs.BeeTekFace(rank.value, suit) for suit, ours in SUITS.items() for rank in Rank
}


class BeeTekShoeState(msgspec.Struct, frozen=True):
    pass


class BeeTekShoe:
    def __init__(self, settings: BeeTekSettings) -> None:
        self.settings = settings

    def begin(self) -> BeeTekShoeState:
        return BeeTekShoeState()

    def say(self, state: BeeTekShoeState, report: BeeTekReport) -> tuple[BeeTekShoeState, bytes]:
        copies = self.settings.copies if isinstance(report, theirs.GameCard) else 1
        return state, theirs.build(report) * copies

    def hear(self, state: BeeTekShoeState, chunk: Chunk) -> tuple[BeeTekShoeState, bytes]:  # noqa: ARG002 -- the shoe reads nothing
        return state, b""

    def wake_at(self, state: BeeTekShoeState) -> int | None:  # noqa: ARG002 -- no deadline
        return None
