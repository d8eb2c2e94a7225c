"""The reader of the journal: a read-only connection, and the values that it returns.

The rows of schemas 1 to 4 are in the table `step_4`, later rows in `step`. Both are returned as StoredStep. A reader
cannot migrate a copy with an old schema, so it also reads old schemas.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from shoed.errors import JournalDamaged, JournalUnusable
from shoed.journal.rows import (
    DICTIONARY,
    DICTIONARY_SHA256,
    RUN,
    STEP,
    Checkpoint,
    Columns,
    EventColumns,
    StoredEvent,
    StoredStep,
    genesis,
    stored_step,
    stored_step_4,
)
from shoed.journal.schema import CHAINED, DAMAGED, UNREADABLE, Use, absent, require_file, schema_of, unusable
from shoed.model.step import Configured
from shoed.typed_json import decoder

ANSWERED: Final = 2  # the first schema with answers
SHUFFLED: Final = 3  # the first schema with shufflers
PACKED: Final = 4  # the first schema with compressed bytes, and with bytes that are not kept
LAST_ROW: Final = 2**63 - 1  # of SQLite
STEPS: Final = 10_000  # of SQLite's machine, between two looks at the clock
MOST_DAMAGES: Final = 3


class StoredAnswer(msgspec.Struct, frozen=True):
    """A command and the answers of its row, as JSON."""

    command: str
    answers: str


# Of values with a wrong type, in code that trusts the schema.
MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
CHECK_S: Final = 30.0


class MissingEvents(msgspec.Struct, frozen=True):
    """A read did not find `count` of these events. A damaged key misleads the search of SQLite, without an error."""

    table: str
    first: int
    last: int
    count: int

    def is_within(self, other: "MissingEvents") -> bool:
        return self.table == other.table and other.first <= self.first <= self.last <= other.last


class ChainAnchor(msgspec.Struct, frozen=True):
    """The chain of a table begins after this row: at the end of the sealed rows (`seal`), or at a `cut`."""

    row: int
    sequence: int
    hash: bytes
    state: bytes | None = None  # the digest of the checkpoint after the row
    reason: str = "seal"
    utc_us: int = 0


def connected(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. For a file in WAL mode, SQLite makes two files in the directory.

    If this user cannot make them, and no `-wal` exists, no process uses the file: it may be read as it is.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
    except sqlite3.OperationalError as error:
        is_unwritable = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
        if not is_unwritable or path.with_name(f"{path.name}-wal").exists():
            raise
        connection.close()
        connection = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
    return connection


class Reader:
    """A read-only connection. It returns committed data only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.verified_runs: set[tuple[str, int]] = set()  # of sealed rows: the table and the last row
        self.not_found: dict[MissingEvents, None] = {}  # by the reads of this reader, in their order
        self.forged_cuts: set[tuple[str, int]] = set()  # the table and the row; they are ignored
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise absent(path) from None
        except OSError as error:
            raise JournalUnusable(f"{path}: {error.strerror}; run as the user of the daemon, or as root") from error
        require_file(path)
        try:
            self.connection = connected(path)
        except UNREADABLE as error:
            raise unusable(path, error, Use.READ) from error

    @property
    def word(self) -> str:
        """The first word of the file."""
        words = [str(word) for (word,) in self.rows("SELECT word FROM journal LIMIT 2")]
        if len(words) != 1:
            raise JournalDamaged(
                f"{self.path}: the table `journal` has {'several rows' if words else 'no row'}, and must have one; keep"
                " the file as evidence, and restore a backup"
            )
        return words[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if isinstance(error, MALFORMED):
                raise self.damage(error) from error
        finally:
            self.close()

    def close(self) -> None:
        self.connection.close()

    def damage(self, error: Exception) -> JournalUnusable:
        """The damage that SQLite finds: a page in a wrong place gives values of a wrong type. Else raise the error."""
        if isinstance(error, JournalUnusable):
            return error
        for damage in self.check(CHECK_S, "integrity_check") or ():  # it also compares the indexes
            first = damage.partition("\n")[0]
            return JournalDamaged(f"{self.path}: {first}; {DAMAGED[Use.READ]}")
        raise error

    @cached_property
    def schema(self) -> int:
        ((version,),) = self.rows("PRAGMA user_version")
        return int(version)

    @cached_property
    def is_chained(self) -> bool:
        return self.schema >= CHAINED

    @cached_property
    def dictionary(self) -> bytes:
        """The dictionary of the compressed bodies."""
        found = [bytes(each) for (each,) in self.rows("SELECT bytes FROM dictionary WHERE number = ?", DICTIONARY)]
        if [sha256(each).digest() for each in found] != [DICTIONARY_SHA256]:
            raise JournalDamaged(
                f"{self.path}: dictionary {DICTIONARY} was altered, and no row can be read; keep the file as evidence,"
                " and restore a backup"
            )
        return found[0]

    @cached_property
    def old_steps(self) -> str:
        """A query for the rows of schemas 1 to 4, with the columns of schema 4."""
        answers = "answers" if self.schema >= ANSWERED else "'[]'"
        sent_to_shuffler = "sent_to_shuffler" if self.schema >= SHUFFLED else "x''"
        packed = "packed, left_behind" if self.schema >= PACKED else "0, '{}'"
        return (
            "SELECT table_name, row, utc_us, mono_ns, input, bytes, observations, findings, orders, sent,"  # noqa: S608 -- ours
            f" {answers}, {sent_to_shuffler}, {packed} FROM {'step_4' if self.is_chained else 'step'}"
            " WHERE table_name = ? AND row BETWEEN ? AND ? ORDER BY row"
        )

    @property
    def tables(self) -> list[str]:
        """The names, by one look into the key for each: a query for distinct names reads all rows."""
        found = set[str]()
        for each in ("step", "event", *(("step_4",) if self.is_chained else ())):
            query = f"SELECT min(table_name) FROM {each} WHERE table_name > ?"  # noqa: S608 -- ours
            ((name,),) = self.rows(query, "")
            while name is not None:
                found.add(name)
                ((name,),) = self.rows(query, name)
        return sorted(found)

    def verified_schema(self, use: Use = Use.READ) -> int:
        """The schema; an error if this shoed cannot read it."""
        return schema_of(self.connection, self.path, use)

    @property
    def engine(self) -> int | None:
        """The newest engine version that wrote a state; None without a state."""
        ((newest,),) = self.rows("SELECT max(engine) FROM checkpoint")
        return None if newest is None else int(newest)

    def check(self, limit_s: float, pragma: str = "quick_check") -> list[str] | None:
        """The damages that SQLite finds in the file; None if the check requires more time."""
        until = time.monotonic() + limit_s
        self.connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
        try:
            found = [str(text) for (text,) in self.connection.execute(f"PRAGMA {pragma}({MOST_DAMAGES})")]
        except UNREADABLE as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                return None
            raise unusable(self.path, error, Use.READ) from error
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
            with suppress(JournalUnusable):  # the reader may be closed
                list(self.rows("ROLLBACK"))

    def counts(self, table: str) -> tuple[int, int]:
        """The numbers of rows and events."""
        names = ("event", "step", *(("step_4",) if self.is_chained else ()))
        queries = (f"SELECT count(*) FROM {name} WHERE table_name = ?" for name in names)  # noqa: S608 -- ours
        events, *rows = (count for query in queries for (count,) in self.rows(query, table))
        return sum(rows), events

    def columns(self, table: str, first: int, last: int) -> Iterator[Columns]:
        """The rows with a hash, as they are."""
        query = f"SELECT {STEP} FROM step WHERE table_name = ? AND row BETWEEN ? AND ? ORDER BY row"  # noqa: S608 -- ours
        return (Columns(*row) for row in self.rows(query, table, first, last)) if self.is_chained else iter(())

    def step(self, table: str, first: int, last: int) -> Iterator[StoredStep]:
        for old in self.rows(self.old_steps, table, first, last):
            yield stored_step_4(old)
        for columns in self.columns(table, first, last):
            yield stored_step(columns, self.dictionary)

    def hash_of(self, table: str, row: int, *sources: str) -> bytes | None:
        """The hash of a row, in the first of these tables that has the row."""
        for source in sources:
            query = f"SELECT hash FROM {source} WHERE table_name = ? AND row = ?"  # noqa: S608 -- ours
            for (found,) in self.rows(query, table, row):
                return bytes(found)
        return None

    def event_columns(self, table: str, row: int) -> list[EventColumns]:
        """The events of a row, without an index: the row of an event never decreases."""
        low, high = self.first_sequence(table), self.last_sequence(table) + 1
        at_or_after = "SELECT row FROM event WHERE table_name = ? AND sequence >= ? ORDER BY sequence LIMIT 1"
        while low < high:
            middle = (low + high) // 2
            ((found,),) = self.rows(at_or_after, table, middle)
            low, high = (middle + 1, high) if found < row else (low, middle)
        return self.events_from(table, row, low)

    def event_columns_near(self, table: str, row: int, sequence: int) -> list[EventColumns]:
        """The events of a row, which has the event with this number."""
        query = "SELECT sequence, row FROM event WHERE table_name = ? AND sequence <= ? ORDER BY sequence DESC"
        own = takewhile(lambda each: each[1] == row, self.rows(query, table, sequence))
        return self.events_from(table, row, min((number for number, _ in own), default=sequence))

    def events_from(self, table: str, row: int, sequence: int) -> list[EventColumns]:
        query = (
            "SELECT sequence, type, utc_us, data, row FROM event WHERE table_name = ? AND sequence > ?"
            " ORDER BY sequence"
        )
        return [each[:-1] for each in takewhile(lambda each: each[-1] == row, self.rows(query, table, sequence - 1))]

    def last_rows(self, table: str, rounds: int, most: int) -> tuple[int, int]:
        """The first and the last row of the newest rounds, or of the last rows if these rounds have more rows."""
        started = "SELECT row FROM event WHERE table_name = ? AND type = 'round.started' ORDER BY sequence DESC LIMIT ?"
        ((first,),) = self.rows(f"SELECT coalesce(min(row), 1) FROM ({started})", table, rounds)  # noqa: S608 -- ours
        last = self.last_row(table)
        return max(first, last - most + 1), last

    def newest_events(self, table: str, kind: str) -> Iterator[StoredEvent]:
        """The events of a type, the newest first."""
        query = (
            "SELECT sequence, type, utc_us, data FROM event WHERE table_name = ? AND type = ? ORDER BY sequence DESC"
        )
        return (StoredEvent(*row) for row in self.rows(query, table, kind))

    def last_row(self, table: str) -> int:
        """The last row with its Step; 0 without a row."""
        names = ("step", "step_4") if self.is_chained else ("step",)
        queries = (f"SELECT coalesce(max(row), 0) FROM {name} WHERE table_name = ?" for name in names)  # noqa: S608 -- ours
        anchored = (anchor.row for anchor in self.anchors(table))
        return max(*anchored, *(int(last) for query in queries for (last,) in self.rows(query, table)), 0)

    def next_row(self, table: str, row: int) -> int | None:
        """The first row with its Step that is not before this row."""
        names = ("step", "step_4") if self.is_chained else ("step",)
        queries = (f"SELECT min(row) FROM {name} WHERE table_name = ? AND row >= ?" for name in names)  # noqa: S608 -- ours
        found = [next_one for query in queries for (next_one,) in self.rows(query, table, row) if next_one is not None]
        return min(found, default=None)

    def end(self, table: str) -> int:
        """The last row with its Step or with an event."""
        query = "SELECT row FROM event WHERE table_name = ? ORDER BY sequence DESC LIMIT 1"
        return max(self.last_row(table), *(int(row) for (row,) in self.rows(query, table)), 0)

    def configured(self, table: str, most: int) -> Iterator[StoredStep]:
        """The rows of the settings up to a row, the newest first."""
        query = (
            f"SELECT {STEP} FROM step INDEXED BY step_configured WHERE table_name = ? AND row <= ?"  # noqa: S608 -- ours
            " AND kind = 'Configured' ORDER BY row DESC"
        )
        for columns in self.rows(query, table, most) if self.is_chained else ():
            yield stored_step(Columns(*columns), self.dictionary)
        old = self.old_steps.replace(
            "ORDER BY row", "AND json_extract(input, '$.came') = 'Configured' ORDER BY row DESC"
        )
        for columns in self.rows(old, table, 0, most):
            yield stored_step_4(columns)

    def engines(self, table: str) -> list[int]:
        """The engine versions that wrote the record."""
        steps = self.configured(table, LAST_ROW)
        return sorted({decoder(Configured).decode(step.input).engine for step in steps})

    def rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        try:
            for row in self.connection.execute(query, values):  # noqa: UP028 -- `yield from` would close a cursor that may be closed already
                yield row
        except UNREADABLE as error:
            raise unusable(self.path, error, Use.READ) from error

    def event_rows(self, table: str, after: int, limit: int) -> list[tuple[int, int, str, int, str]]:
        """The next events: row, sequence, type, utc_us, data."""
        query = (
            "SELECT row, sequence, type, utc_us, data FROM event"
            " WHERE table_name = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        )
        return list(self.rows(query, table, after, limit))

    def events(self, table: str, after: int, limit: int) -> list[StoredEvent]:
        query = (
            "SELECT sequence, type, utc_us, data FROM event"
            " WHERE table_name = ? AND sequence > ? ORDER BY sequence LIMIT ?"
        )
        return [StoredEvent(*row) for row in self.rows(query, table, after, limit)]

    def first_sequence(self, table: str) -> int:
        ((first,),) = self.rows("SELECT coalesce(min(sequence), 1) FROM event WHERE table_name = ?", table)
        return int(first)

    def last_sequence(self, table: str) -> int:
        ((last,),) = self.rows("SELECT coalesce(max(sequence), 0) FROM event WHERE table_name = ?", table)
        return int(last)

    def cursor(self, table: str) -> int:
        return sum(row[0] for row in self.rows("SELECT sequence FROM cursor WHERE table_name = ?", table))

    def answer(self, table: str, command: str) -> StoredAnswer | None:
        """The recorded answer to the command with this id, at any time in the past."""
        query = f"SELECT {STEP} FROM step INDEXED BY step_command WHERE table_name = ? AND command = ?"  # noqa: S608 -- ours
        for columns in self.rows(query, table, command) if self.is_chained else ():
            step = stored_step(Columns(*columns), self.dictionary)
            return StoredAnswer(step.input, step.answers)
        old = (
            f"SELECT input, answers FROM {'step_4' if self.is_chained else 'step'} INDEXED BY answered"  # noqa: S608 -- ours
            " WHERE table_name = ? AND json_extract(answers, '$[0].id') = ? AND answers <> '[]'"
        )
        return next((StoredAnswer(*row) for row in self.rows(old, table, command)), None)

    def checkpoints(self, table: str) -> Iterator[Checkpoint]:
        """The newest first."""
        of = "engine, sequence, kept, CAST(seed AS BLOB)" if self.is_chained else "engine, 0, 0, x''"
        query = f"SELECT row, {of}, CAST(state AS BLOB) FROM checkpoint WHERE table_name = ? ORDER BY row DESC"  # noqa: S608 -- ours
        for row, engine, sequence, kept, *texts in self.rows(query, table):
            seed, state = (each.decode(errors="replace") for each in texts)  # a damaged text differs from its digest
            yield Checkpoint(table, row, engine, sequence, kept, seed, state)

    # --- the chain

    def anchors(self, table: str) -> list[ChainAnchor]:
        """The oldest first."""
        query = "SELECT row, sequence, hash, state, reason, utc_us FROM anchor WHERE table_name = ? ORDER BY row"
        found = self.rows(query, table) if self.is_chained else ()
        return [ChainAnchor(*each) for each in found if (table, each[0]) not in self.forged_cuts]

    def begin(self, table: str) -> ChainAnchor:
        """The beginning of the chain: the newest cut, or the beginning of the table."""
        cuts = [each for each in self.anchors(table) if each.reason == "cut"]
        return cuts[-1] if cuts else ChainAnchor(0, 0, genesis(self.word, table))

    def seals(self, table: str, first: int) -> Iterator[ChainAnchor]:
        """The runs of sealed rows, beginning with the run of a row."""
        query = "SELECT row, sequence, hash FROM seal WHERE table_name = ? AND row >= ? ORDER BY row"
        return (ChainAnchor(*row) for row in self.rows(query, table, first))

    def old_columns(self, table: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Sealed rows as they are; at most one more than a run has."""
        return list(self.rows(f"{self.old_steps} LIMIT {RUN + 1}", table, first, last))

    def old_events(self, table: str, after: int, last: int) -> list[tuple[Any, ...]]:
        """The events of sealed rows, as their seal has them."""
        query = (
            "SELECT sequence, row, type, utc_us, data FROM event"
            " WHERE table_name = ? AND sequence > ? AND sequence <= ? ORDER BY sequence"
        )
        return list(self.rows(query, table, after, last))

    def require_kept(self, table: str, last: int) -> None:
        """Raise JournalUnusable if retention has deleted the row after `last`."""
        begin = self.begin(table).row
        if begin > last:
            raise JournalUnusable(
                f"{table}: row {last + 1} is needed, and the rows up to {begin} were deleted; if the daemon deleted"
                " them a moment ago, run the command again"
            )

    def before(self, table: str, row: int) -> ChainAnchor:
        """The hash that the hash of a row, or of its run of sealed rows, follows from; of a deleted row, the cut."""
        places = [self.begin(table), *self.anchors(table)]
        for query in (
            "SELECT row, 0, hash FROM step WHERE table_name = ? AND row < ? ORDER BY row DESC LIMIT 1",
            "SELECT row, sequence, hash FROM seal WHERE table_name = ? AND row < ? ORDER BY row DESC LIMIT 1",
        ):
            places += [ChainAnchor(*each) for each in self.rows(query, table, row)]
        return max((each for each in places if each.row < row), key=lambda each: each.row, default=places[0])
