"""The log of the daemon: a thread writes the lines, so that no table waits for the reader of the log.

Theory of operation: the loop puts each line into a queue, and a thread writes it. If the reader of the log stops
reading, the queue fills, and further lines are dropped and counted. The next line that is written has their number.
The thread holds no lock while it writes. A blocked write therefore does not delay the end of the process.
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
FAREWELL_S: Final = 2.0  # at the end, for the lines in the queue
STANDARD_ERROR: Final = 2


class Log(logging.Handler):
    """Puts log lines into a queue. `logging.handlers` has such a class; its import costs 4 ms of each start."""

    def __init__(self, write: Callable[[str], None], room: int = ROOM) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
        self.lines: queue.Queue[str | None] = queue.Queue(room)
        self.write = write
        self.dropped = 0
        self.thread = threading.Thread(target=self.run, name="log", daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        if self.dropped and not self.lines.full():
            text = f"{self.dropped} log lines were dropped: the reader of the log stopped reading; check the reader"
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
        """Write the lines in the queue, within a time limit."""
        with suppress(queue.Full):
            self.lines.put_nowait(None)
            self.thread.join(FAREWELL_S)


def to_standard_error(line: str) -> None:
    data = line.encode("utf-8", "backslashreplace") + b"\n"
    with suppress(OSError):  # the reader has closed the log
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
