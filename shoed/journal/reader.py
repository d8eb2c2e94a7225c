"""The reader of the journal: a read-only connection, and the values that it returns."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from shoed.errors import JournalUnusable
from shoed.journal.rows import unpacked
from shoed.journal.schema import absent, schema_of, unusable

ANSWERED: Final = 2  # the first schema with answers
SHUFFLED: Final = 3  # the first schema with shufflers
PACKED: Final = 4  # the first schema with compressed bytes, and with bytes that are not kept
STEPS: Final = 10_000  # of SQLite's machine, between two looks at the clock
MOST_DAMAGES: Final = 3


class Checkpoint(msgspec.Struct, frozen=True):
    """The state of a table's engine after a row, as JSON."""

    row: int
    engine: int
    state: str


class StoredAnswer(msgspec.Struct, frozen=True):
    """A command and the answers of its row, as JSON."""

    command: str
    answers: str


class StoredStep(msgspec.Struct, frozen=True):
    """One recorded row. Every `str` field is JSON."""

    row: int
    utc_us: int
    input: str
    data: bytes | None
    observations: str
    findings: str
    orders: str
    sent: bytes
    sent_to_shuffler: bytes
    answers: str
    packed: int
    left: str

    @property
    def received(self) -> bytes | None:
        return unpacked(self.data, self.packed)


class StoredEvent(msgspec.Struct, frozen=True):
    sequence: int
    type: str
    utc_us: int
    data: str  # JSON


class Reader:
    """A read-only connection. It returns committed data only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise absent(path) from None
        except OSError as error:
            raise JournalUnusable(f"{path}: {error.strerror}; run as the user of the daemon, or as root") from error
        try:
            self.connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise unusable(path, error) from error

    @property
    def word(self) -> str:
        ((word,),) = self.rows("SELECT word FROM journal")
        return str(word)

    def close(self) -> None:
        self.connection.close()

    @property
    def schema(self) -> int:
        ((version,),) = self.rows("PRAGMA user_version")
        return int(version)

    @property
    def answers(self) -> str:
        """The column of answers. A reader cannot migrate a copy with an old schema, which has no such column."""
        return "answers" if self.schema >= ANSWERED else "'[]'"

    @property
    def sent_to_shuffler(self) -> str:
        return "sent_to_shuffler" if self.schema >= SHUFFLED else "x''"

    @property
    def packed(self) -> str:
        """The columns: whether the bytes are compressed, and the state that replaces bytes that are not kept."""
        return "packed, left_behind" if self.schema >= PACKED else "0, '{}'"

    @property
    def tables(self) -> list[str]:
        """The names, by one look into the key for each: a query for distinct names reads all rows."""
        found = set[str]()
        for each in ("step", "event"):
            query = f"SELECT min(table_name) FROM {each} WHERE table_name > ?"  # noqa: S608 -- ours
            ((name,),) = self.rows(query, "")
            while name is not None:
                found.add(name)
                ((name,),) = self.rows(query, name)
        return sorted(found)

    def verified_schema(self) -> int:
        """The schema; an error if this shoed cannot read it."""
        return schema_of(self.connection, self.path)

    @property
    def engine(self) -> int | None:
        """The newest engine version that wrote a state; None without a state."""
        ((newest,),) = self.rows("SELECT max(engine) FROM checkpoint")
        return None if newest is None else int(newest)

    def quick_check(self, limit_s: float) -> list[str] | None:
        """The damages that SQLite finds in the file; None if the check requires more time."""
        until = time.monotonic() + limit_s
        self.connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
        try:
            found = [str(text) for (text,) in self.connection.execute(f"PRAGMA quick_check({MOST_DAMAGES})")]
        except sqlite3.Error as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                return None
            raise unusable(self.path, error) from error
        finally:
            self.connection.set_progress_handler(None, 0)
        return [] if found == ["ok"] else found

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """All reads within the context return the record of one moment."""
        list(self.rows("BEGIN"))
        try:
            yield
        finally:
            list(self.rows("ROLLBACK"))

    def counts(self, table: str) -> tuple[int, int]:
        """The numbers of rows and events."""
        ((rows,),) = self.rows("SELECT count(*) FROM step WHERE table_name = ?", table)
        ((events,),) = self.rows("SELECT count(*) FROM event WHERE table_name = ?", table)
        return rows, events

    def step(self, table: str, first: int, last: int) -> Iterator[StoredStep]:
        query = (
            "SELECT row, utc_us, input, bytes, observations, findings, orders, sent,"  # noqa: S608 -- ours
            f" {self.sent_to_shuffler}, {self.answers}, {self.packed} FROM step"
            " WHERE table_name = ? AND row BETWEEN ? AND ? ORDER BY row"
        )
        return (StoredStep(*row) for row in self.rows(query, table, first, last))

    def last_rows(self, table: str, rounds: int, most: int) -> tuple[int, int]:
        """The first and the last row of the newest rounds, or of the last rows if these rounds have more rows."""
        started = "SELECT row FROM event WHERE table_name = ? AND type = 'round.started' ORDER BY sequence DESC LIMIT ?"
        ((first,),) = self.rows(f"SELECT coalesce(min(row), 1) FROM ({started})", table, rounds)  # noqa: S608 -- ours
        ((last,),) = self.rows("SELECT coalesce(max(row), 0) FROM step WHERE table_name = ?", table)
        return max(first, last - most + 1), last

    def newest_events(self, table: str, kind: str) -> Iterator[StoredEvent]:
        """The events of a type, the newest first."""
        query = (
            "SELECT sequence, type, utc_us, data FROM event WHERE table_name = ? AND type = ? ORDER BY sequence DESC"
        )
        return (StoredEvent(*row) for row in self.rows(query, table, kind))

    def last_row(self, table: str) -> int:
        ((last,),) = self.rows("SELECT coalesce(max(row), 0) FROM step WHERE table_name = ?", table)
        return int(last)

    def engines(self, table: str) -> list[int]:
        """The engine versions that wrote the record."""
        query = (
            "SELECT DISTINCT json_extract(input, '$.engine') FROM step"
            " WHERE table_name = ? AND json_extract(input, '$.came') = 'Configured' ORDER BY 1"
        )
        return [engine for (engine,) in self.rows(query, table)]

    def rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        try:
            for row in self.connection.execute(query, values):  # noqa: UP028 -- `yield from` would close a cursor that may be closed already
                yield row
        except sqlite3.Error as error:
            raise unusable(self.path, error) from error

    def events(self, table: str, after: int, limit: int) -> list[StoredEvent]:
        query = (
            "SELECT sequence, type, utc_us, data FROM event"
            " WHERE table_name = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        )
        return [StoredEvent(*row) for row in self.rows(query, table, after, limit)]

    def last_sequence(self, table: str) -> int:
        ((last,),) = self.rows("SELECT coalesce(max(sequence), 0) FROM event WHERE table_name = ?", table)
        return int(last)

    def cursor(self, table: str) -> int:
        return sum(row[0] for row in self.rows("SELECT sequence FROM cursor WHERE table_name = ?", table))

    def answer(self, table: str, command: str) -> StoredAnswer | None:
        """The recorded answer to the command with this id, at any time in the past."""
        query = (
            "SELECT input, answers FROM step INDEXED BY answered"
            " WHERE table_name = ? AND json_extract(answers, '$[0].id') = ? AND answers <> '[]'"
        )
        return next((StoredAnswer(*row) for row in self.rows(query, table, command)), None)

    def checkpoint(self, table: str) -> Checkpoint | None:
        query = "SELECT row, engine, state FROM checkpoint WHERE table_name = ?"
        return next((Checkpoint(*row) for row in self.rows(query, table)), None)
