"""A commit: the waiting Steps of all tables in one transaction, with the states after them and the cursors."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from shoed.journal.rows import event_row, step_row, text
from shoed.model.step import Step

STEP: Final = "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
EVENT: Final = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)"
CHECKPOINT: Final = "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?)"
CURSOR: Final = "INSERT OR REPLACE INTO cursor VALUES (?, ?)"


class Entry(msgspec.Struct):
    """A Step that waits for its commit, with the state after it. `done` runs on the event loop after the commit."""

    table: str
    step: Step
    state: msgspec.Struct
    done: Callable[[], None] | None


class Committer:
    """All that a commit writes. A commit that fails leaves no trace, in the file and here: it may be repeated."""

    def __init__(self, connection: sqlite3.Connection, engine: int) -> None:
        self.connection = connection
        self.engine = engine

    def commit(self, entries: Sequence[Entry], cursors: Mapping[str, int]) -> None:
        try:
            self.write(entries, cursors)
        except BaseException:
            with suppress(sqlite3.Error):  # the connection may be lost
                self.connection.execute("ROLLBACK")
            raise

    def write(self, entries: Sequence[Entry], cursors: Mapping[str, int]) -> None:
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        for entry in entries:
            execute(STEP, step_row(entry.table, entry.step))
            self.connection.executemany(EVENT, (event_row(entry.table, entry.step, each) for each in entry.step.events))
        for table, entry in {entry.table: entry for entry in entries}.items():  # the last one of each table
            execute(CHECKPOINT, (table, entry.step.row, self.engine, text(entry.state)))
        for cursor in cursors.items():
            execute(CURSOR, cursor)
        execute("COMMIT")
