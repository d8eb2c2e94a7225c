"""What the rule books say. Never sees a device, the time or the journal."""

from collections.abc import Mapping
from typing import Final

import msgspec


class Game(msgspec.Struct, frozen=True):
    name: str
    decks: tuple[int, int]  # fewest and most, C 2.2.1
    layouts: tuple[str, ...]  # C 2.1.1 and its appendices


GAMES: Final[Mapping[str, Game]] = {
    "commission": Game("commission", (4, 8), ("bean-9", "bean-7", "mini-7", "big-12")),
}
