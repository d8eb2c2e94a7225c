"""The journal file: lock, open, migrate to the newest schema.

Theory of operation: one process uses the state directory; it locks a file in it. The process has one writing
connection (`writer.py`) in WAL mode with `synchronous=FULL`: after a commit the data are on the disk. Every reader
(`reader.py`) opens its own read-only connection.
"""

import errno
import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from shoed.errors import JournalLocked, JournalUnusable
from shoed.journal.reader import Reader
from shoed.journal.schema import OTHER, UNREADABLE, Use, migrate, unusable

LOG: Final = logging.getLogger("shoed.journal")

CACHE_KB: Final = 512  # of the writer: eight tables write to 60 pages; further pages cost memory and save no time


@contextmanager
def hold(state_dir: Path, use: Use = Use.DAEMON) -> Iterator[None]:
    """Lock the state directory for one shoed. The kernel releases the lock at the end of the process.

    A command makes the last directory of its path only: the disk of the others may not be mounted. A reader makes and
    writes nothing: the disk may be read-only.
    """
    writes = use is not Use.READ
    try:
        if use is not Use.DAEMON and not state_dir.parent.is_dir():
            raise JournalUnusable(f"{state_dir}: {state_dir.parent} is not a directory; mount its disk, or make it")
        if writes:
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT if writes else os.O_RDONLY
        lock = os.open(state_dir / "lock", flags | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unwritable(state_dir, error, use) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
            raise JournalLocked(
                f"{state_dir}: another shoed uses the directory (process {holder}); stop that process, or {OTHER[use]}"
            ) from None
        try:
            if writes:
                os.ftruncate(lock, os.pwrite(lock, f"{os.getpid()}\n".encode(), 0))
        except OSError as error:
            raise unwritable(state_dir, error, use) from error
        yield
    finally:
        os.close(lock)


def unwritable(directory: Path, error: OSError, use: Use = Use.WRITTEN) -> JournalUnusable:
    match error.errno:
        case errno.EEXIST | errno.ENOTDIR:
            return JournalUnusable(f"{directory}: this is not a directory; {OTHER[use]}")
        case errno.ENOSPC | errno.EDQUOT:
            remedy = "free space on the disk"
        case errno.EROFS:
            remedy = "the file system is read-only: check the disk and the kernel's log, then mount it for writing"
        case errno.EACCES | errno.EPERM:
            remedy = "allow this user to write the directory"
        case _:
            remedy = "check the disk and the kernel's log"
    return JournalUnusable(f"{directory}: {error.strerror}; {remedy}, or {OTHER[use]}")


JOURNAL: Final = "journal.db"


class Store:
    """The file of one journal. Only the writer uses `connect`; every reader uses `read`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / JOURNAL
        self.note = ""  # about a loss that was found at the start, for the status
        self.incarnation: tuple[int, str] | None = None  # its number and its word, if this process began one
        self.damage = ""  # the first that a read found and that play does not need, for the status
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
                migrate(connection, self.path, Use.DAEMON)
            self.connect().close()
        except UNREADABLE as error:
            raise unusable(self.path, error, Use.DAEMON) from error
        with self.read() as reader:
            self.word, _ = reader.word, reader.dictionary  # with an altered dictionary, new rows would be unreadable

    def connect(self) -> sqlite3.Connection:
        """The writing connection, with explicit transactions. The writer's thread may use it."""
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            connection.close()
            raise JournalUnusable(
                f"{self.path}: this file system does not support SQLite's WAL mode; set another site.state_dir"
            )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        return connection

    def read(self) -> Reader:
        return Reader(self.path)

    def report(self, problem: str) -> None:
        """Report a part of the file that cannot be read, and that play does not need."""
        LOG.error("%s", problem)
        self.damage = self.damage or problem
