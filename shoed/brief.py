"""Log lines of a kind that a bad line can repeat without end: the first few of a minute, then their count."""

import asyncio
import logging
from typing import Final

LOG: Final = logging.getLogger("shoed")

SAID: Final = 10  # of one kind in a minute
WINDOW_S: Final = 60.0


class Brief:
    """The log of one table or device."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: dict[str, int] = {}  # of each kind, in its minute

    def say(self, level: int, kind: str, text: object) -> None:
        """`kind` names the lines that are counted together."""
        count = self.counts[kind] = self.counts.get(kind, 0) + 1
        if count == 1:
            self.arm(kind)
        if count <= SAID:
            LOG.log(level, "%s: %s", self.name, text)

    def arm(self, kind: str) -> None:
        asyncio.get_running_loop().call_later(WINDOW_S, self.end, kind)

    def end(self, kind: str) -> None:
        """The count of what was not said; while there is any, the next minute only counts."""
        more = self.counts.pop(kind) - SAID
        if more > 0:
            LOG.warning("%s: %s: %d more in %.0f s", self.name, kind, more, WINDOW_S)
            self.counts[kind] = SAID
            self.arm(kind)
