"""The attempts of a commit: together, once more, and then each table alone.

Theory of operation: a failed commit leaves no trace, so it can be repeated. An error of the disk may pass, so the
commit is repeated once. If it fails again, each table's part is committed alone: an error in the rows of one table does
not stop another table. An error that is not of the disk is a defect, and the same rows fail again. What a failed commit
has written to the log of SQLite is cut off: a shorter attempt would leave the rest of it.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from shoed.errors import JournalError
from shoed.journal.commit import Committer, Entry
from shoed.journal.files import OpenFiles
from shoed.journal.wal import cut_off

DEFECTS: Final = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.ProgrammingError,
    sqlite3.NotSupportedError,
    sqlite3.InterfaceError,
)


def is_of_disk(error: Exception) -> bool:
    """Whether the disk, the file or another program caused the error; otherwise it is a defect."""
    return isinstance(error, sqlite3.DatabaseError | OSError | JournalError) and not isinstance(error, DEFECTS)


def is_lock(error: Exception) -> bool:
    """Whether another program locks the file. SQLite has waited already."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


class Attempts:
    """The commits on one connection."""

    def __init__(self, committer: Committer, files: OpenFiles) -> None:
        self.committer = committer
        self.files = files

    def commit(self, entries: Sequence[Entry], cursors: Mapping[str, int]) -> dict[str, Exception]:
        """Commit. Return the error of each table whose part is not committed."""
        error = self.attempt(entries, cursors)
        if error is not None and is_of_disk(error) and not is_lock(error):
            error = self.attempt(entries, cursors)
        if error is None:
            return {}
        tables = list(dict.fromkeys([*(entry.table for entry in entries), *cursors]))
        if len(tables) == 1 or is_lock(error):
            return dict.fromkeys(tables, error)
        return {table: error for table in tables if (error := self.part_of(table, entries, cursors)) is not None}

    def part_of(self, table: str, entries: Sequence[Entry], cursors: Mapping[str, int]) -> Exception | None:
        own = {table: cursors[table]} if table in cursors else {}
        return self.attempt([entry for entry in entries if entry.table == table], own)

    def attempt(self, entries: Sequence[Entry], cursors: Mapping[str, int]) -> Exception | None:
        try:
            self.files.check()
            self.committer.commit(entries, cursors)
            self.files.committed()
        except Exception as error:  # noqa: BLE001 -- the thread reports it
            if isinstance(error, sqlite3.OperationalError) and not is_lock(error):
                self.cut_off()
            return error
        return None

    def cut_off(self) -> None:
        with suppress(sqlite3.Error, OSError, JournalError), self.committer.locked():
            self.files.check()
            cut_off(self.files.path)
