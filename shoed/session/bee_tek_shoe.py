"""A Bee-Tek shoe, in the role of the device: the other end of `bee_tek`.

Theory of operation: a fold like the host's, with nothing to keep. A card in the game is told as
often as the settings say, all else once. The shoe heeds nothing that a host says, and says
nothing of its own accord.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from firmware_protocols import bee_tek as theirs
from firmware_protocols.bee_tek import BeeTekSettings, Report
from shoed.cards import Card, Rank
from shoed.now import Chunk
from shoed.session.bee_tek import SUITS

FACES: Final[Mapping[Card, theirs.Face]] = {
    Card.of(rank, ours): theirs.Face(rank.value, suit) for suit, ours in SUITS.items() for rank in Rank
}


class ShoeState(msgspec.Struct, frozen=True):
    pass


class BeeTekShoe:
    def __init__(self, settings: BeeTekSettings) -> None:
        self.settings = settings

    def begin(self) -> ShoeState:
        return ShoeState()

    def say(self, state: ShoeState, report: Report) -> tuple[ShoeState, bytes]:
        copies = self.settings.copies if isinstance(report, theirs.GameCard) else 1
        return state, theirs.build(report) * copies

    def hear(self, state: ShoeState, chunk: Chunk) -> tuple[ShoeState, bytes]:  # noqa: ARG002 -- it heeds nothing
        return state, b""

    def wake_at(self, state: ShoeState) -> int | None:  # noqa: ARG002 -- it waits for nothing
        return None
