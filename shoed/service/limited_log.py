"""Repeated log lines: the first lines of each kind in a minute are written, the others are counted.

A disturbed line can repeat one kind of log line without end. At the end of the minute, one line has the count.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

LOG: Final = logging.getLogger("shoed")

LINES_WRITTEN: Final = 10  # of one kind in a window
WINDOW_S: Final = 60.0


class LimitedLog:
    """The log of one table or device."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: dict[str, int] = {}  # by kind, in the present window

    def write(self, level: int, kind: str, text: object, event_ids: Sequence[str] = ()) -> None:
        """`kind` names the lines that are counted together; `event_ids`: the events that the line is about."""
        if self.counts_as_written(kind):
            LOG.log(level, "%s: %s", self.name, text, extra={"event_ids": event_ids})

    def counts_as_written(self, kind: str) -> bool:
        """Count a line. Return whether it is one of the first in its window."""
        count = self.counts[kind] = self.counts.get(kind, 0) + 1
        if count == 1:
            self.begin_window(kind)
        return count <= LINES_WRITTEN

    def begin_window(self, kind: str) -> None:
        asyncio.get_running_loop().call_later(WINDOW_S, self.end_window, kind)

    def end_window(self, kind: str) -> None:
        """Write the count of the omitted lines. If there is one, the next window writes a count only."""
        omitted = self.counts.pop(kind) - LINES_WRITTEN
        if omitted > 0:
            LOG.warning("%s: %s: %d more in %.0f s", self.name, kind, omitted, WINDOW_S)
            self.counts[kind] = LINES_WRITTEN
            self.begin_window(kind)


class LimitedLibrary(logging.Filter):
    """Limits the repeated messages of a library. Without free descriptors, asyncio logs 100 errors in each second."""

    def __init__(self, library: str) -> None:
        super().__init__()
        self.limited_log = LimitedLog(library)

    def filter(self, record: logging.LogRecord) -> bool:
        with suppress(RuntimeError):  # outside the event loop
            asyncio.get_running_loop()
            return self.limited_log.counts_as_written(str(record.msg).partition("\n")[0])
        return True
