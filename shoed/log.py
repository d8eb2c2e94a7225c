"""The log of the daemon: its lines wait in a queue for their reader, and no table waits for it.

Theory of operation: the loop puts each line into a queue, and a thread writes it. If the reader of the log stands
still, the queue fills, and further lines are dropped and counted. The next line that is written names their number.
The thread holds no lock while it writes, so that it does not hold up the end of the process either.
"""

import atexit
import logging
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

FORMAT: Final = "%(levelname)s %(name)s: %(message)s"
ROOM: Final = 10_000  # lines: a few MB
FAREWELL_S: Final = 2.0  # at the end, for what waits
STANDARD_ERROR: Final = 2


class Log(logging.Handler):
    """The end of the queue where lines are put; `logging.handlers` has one, and costs 4 ms of each start."""

    def __init__(self, write: Callable[[str], None], room: int = ROOM) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
        self.lines: queue.Queue[str | None] = queue.Queue(room)
        self.write = write
        self.dropped = 0
        self.thread = threading.Thread(target=self.run, name="log", daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        if self.dropped and not self.lines.full():
            text = f"{self.dropped} log lines were dropped: the reader of the log does not read; check it"
            self.dropped = 0
            self.lines.put_nowait(self.format(logging.LogRecord("shoed", logging.WARNING, "", 0, text, None, None)))
        try:
            self.lines.put_nowait(self.format(record))
        except queue.Full:
            self.dropped += 1

    def run(self) -> None:
        while (line := self.lines.get()) is not None:
            self.write(line)

    def end(self) -> None:
        """Write what waits, for a moment: a reader that stands still does not hold up the end."""
        with suppress(queue.Full):
            self.lines.put_nowait(None)
            self.thread.join(FAREWELL_S)


def to_standard_error(line: str) -> None:
    data = line.encode("utf-8", "backslashreplace") + b"\n"
    with suppress(OSError):  # nobody reads the log any more
        while data:
            data = data[os.write(STANDARD_ERROR, data) :]


def begin() -> None:
    """Write the log of this process to its standard error."""
    log = Log(to_standard_error)
    log.thread.start()
    atexit.register(log.end)
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(log)
