"""The files of a journal: their identity while it is open, their size, the proof of a writable disk, and their end.

Theory of operation: SQLite does not notice that its open file was deleted or replaced. Its commits succeed, and no
later start finds them. Therefore the writer compares the identity of the file and of its write-ahead log before each
commit. After a failed commit, `prove_room` shows that the disk accepts more than one page, so that a table does not
stop again at once.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from shoed.errors import JournalReplaced

PARTS: Final = ("", "-journal", "-wal", "-shm")  # of a database of SQLite
ROOM: Final = 256 * 1024  # bytes: about fifty rounds
PROOF: Final = "journal-proof"

Inode = tuple[int, int] | None  # the device and the number of the file; None: there is no file


class OpenFiles:
    """The files of a journal as they were when the writer opened them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path.with_name(f"{path.name}-wal")
        self.main: Inode = identity(path)
        self.of_log: Inode = None  # SQLite makes the log for the first commit

    def check(self) -> None:
        """Raise an error if another file, or no file, has the name of an open file."""
        if self.main is None or identity(self.path) != self.main:
            raise replaced(self.path)
        if self.of_log is not None and identity(self.log) != self.of_log:
            raise replaced(self.log)

    def committed(self) -> None:
        if self.of_log is None:
            self.of_log = identity(self.log)


def identity(path: Path) -> Inode:
    try:
        found = os.stat(path)  # noqa: PTH116 -- before each commit: Path.stat takes twice as long
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def replaced(path: Path) -> JournalReplaced:
    return JournalReplaced(
        f"{path}: the file was deleted or replaced while shoed used it; move the original file back, and the"
        " tables continue; if it is lost, restart shoed"
    )


def remove_unfinished(path: Path) -> None:
    """Remove a file that an interrupted process has left, with its logs."""
    for part in PARTS:
        path.with_name(f"{path.name}{part}").unlink(missing_ok=True)


def size_on_disk(path: Path) -> int:
    """In bytes, of a journal with its logs. SQLite may remove one of them at any time."""
    size = 0
    for part in PARTS:
        with suppress(FileNotFoundError):
            size += path.with_name(f"{path.name}{part}").stat().st_size
    return size


def prove_room(state_dir: Path) -> None:
    """Write a file to the disk and delete it; an OSError if the disk refuses it."""
    path = state_dir / PROOF
    try:
        proof = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            left = ROOM
            while left > 0:
                left -= os.write(proof, bytes(left))
            os.fsync(proof)
        finally:
            os.close(proof)
    finally:
        with suppress(OSError):
            path.unlink()
