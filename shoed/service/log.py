"""The log of the daemon: a thread writes the lines, so that no table waits for the reader of the log.

Theory of operation: the loop puts each line into a queue, and a thread writes it. If the reader of the log stops
reading, the queue fills, and further lines are dropped and counted. The next line that is written has their number.
The thread holds no lock while it writes. A blocked write therefore does not delay the end of the process.

If the standard error is the journal of systemd, the thread sends each line to the journal itself, with its fields
(`journal_log.py`). The tasks of a table set `ABOUT`, so that the lines of every room have the fields of the table.

Each border that catches an unexpected error logs it with its traceback. `UnexpectedErrors` counts these lines, also
those of asyncio, of threads and of the log itself. The status, /health and /metrics have the number.
"""

import atexit
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from shoed.model.requests import LogLevel

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

LOG: Final = logging.getLogger("shoed")

PLAIN: Final = logging.Formatter("%(levelname)s %(name)s: %(message)s")
ROOM: Final = 10_000  # lines: a few MB
FAREWELL_S: Final = 2.0  # at the end, for the lines in the queue
STANDARD_ERROR: Final = 2
JOURNAL: Final = "/run/systemd/journal/socket"

ABOUT: Final[ContextVar[Callable[[], Mapping[str, str]]]] = ContextVar("ABOUT", default=dict)  # the fields of a line

L = TypeVar("L")


class Log(logging.Handler, Generic[L]):
    """Puts log lines into a queue. `logging.handlers` has such a class; its import costs 4 ms of each start."""

    def __init__(self, form: Callable[[logging.LogRecord], L], write: Callable[[L], None], room: int = ROOM) -> None:
        super().__init__()
        self.lines: queue.Queue[L | None] = queue.Queue(room)
        self.form = form
        self.write = write
        self.dropped = 0
        self.thread = threading.Thread(target=self.run, name="log", daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.form(record)
        except Exception:  # noqa: BLE001  # the border of the log: a wrong call must not end the task that logs
            where = f"{record.pathname}:{record.lineno}"
            Context().run(LOG.exception, "%s: this log call is wrong, and its line is lost; report this log", where)
            return
        if self.dropped and not self.lines.full():
            text = f"{self.dropped} log lines were dropped: the reader of the log stopped reading; check the reader"
            self.dropped = 0
            self.lines.put_nowait(self.form(logging.LogRecord("shoed", logging.WARNING, "", 0, text, None, None)))
        try:
            self.lines.put_nowait(line)
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


class UnexpectedErrors(logging.Handler):
    """Counts the errors that are logged with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.count = 0
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.count += 1
            error = record.exc_info[1]
            self.last = " ".join(f"{type(error).__name__}: {error}".split())

    @property
    def text(self) -> str:
        """For people; empty without an error."""
        if not self.count:
            return ""
        remedy = "report the log, and restart shoed between two rounds"
        return f"unexpected errors: {self.count}; the last: {self.last}; {remedy}"


def in_thread(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None:
        name = "" if found.thread is None else found.thread.name
        LOG.error("the thread %s has ended; report this log", name, exc_info=found.exc_value)


def in_callback(found: "UnraisableHookArgs") -> None:
    """Of libusb, or of a destructor."""
    LOG.error("a callback has failed: %r; report this log", found.object, exc_info=found.exc_value)


def to_standard_error(line: str) -> None:
    data = line.encode("utf-8", "backslashreplace") + b"\n"
    with suppress(OSError):  # the reader has closed the log
        while data:
            data = data[os.write(STANDARD_ERROR, data) :]


def is_journal(descriptor: int) -> bool:
    """Whether systemd has connected the descriptor to its journal."""
    device, _, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    with suppress(OSError):
        found = os.fstat(descriptor)
        return (device, inode) == (str(found.st_dev), str(found.st_ino))
    return False


def begin(journal: str = JOURNAL) -> None:
    """Write the log of this process to the journal of systemd, or to the standard error. `journal`: its socket."""
    log: Log[str] | Log[tuple[bytes, str]] = Log(PLAIN.format, to_standard_error)
    if is_journal(STANDARD_ERROR):
        from shoed.service.journal_log import JournalSocket, with_fields  # noqa: PLC0415 -- only under systemd

        log = Log(with_fields, JournalSocket(journal, to_standard_error).write)
    log.thread.start()
    atexit.register(log.end)
    logging.getLogger().addHandler(log)
    threading.excepthook, sys.unraisablehook = in_thread, in_callback
    set_level(LogLevel.INFO)


def set_level(level: LogLevel) -> None:
    logging.getLogger().setLevel(level.name)
