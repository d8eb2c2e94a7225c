"""The journal file: lock, open, migrate to the newest schema, read.

Theory of operation: one process uses the state directory; it locks a file in it. The process has one writing
connection (`writer.py`) in WAL mode with `synchronous=FULL`: after a commit the data are on the disk. Every reader
opens its own read-only connection.
"""

import errno
import fcntl
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from shoed.errors import JournalLocked, JournalUnusable

APPLICATION_ID: Final = 0x53484F45  # "SHOE", set by the first schema: identifies a journal of shoed
SQLITE_VERSION: Final = sqlite3.sqlite_version
SCHEMA_FILES: Final = Path(__file__).with_name("schemas")
SCHEMAS: Final = ("v1.sql", "v2.sql", "v3.sql", "v4.sql")
ANSWERED: Final = 2  # the first schema with answers
SHUFFLED: Final = 3  # the first schema with shufflers
STEPS: Final = 10_000  # of SQLite's machine, between two looks at the clock
MOST_DAMAGES: Final = 3
CACHE_KB: Final = 512  # of the writer: eight tables write to 60 pages; further pages cost memory and save no time
PACKED: Final = 4  # the first schema with compressed bytes, and with bytes that are not kept


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


def unpacked(data: bytes | None, packed: int) -> bytes | None:
    return zlib.decompress(data) if packed and data is not None else data


class StoredEvent(msgspec.Struct, frozen=True):
    sequence: int
    type: str
    utc_us: int
    data: str  # JSON


@contextmanager
def hold(state_dir: Path) -> Iterator[None]:
    """Lock the state directory for one shoed. The kernel releases the lock at the end of the process."""
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unwritable(state_dir, error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
            raise JournalLocked(
                f"{state_dir}: another shoed uses the directory (process {holder}); stop that process,"
                " or set another site.state_dir"
            ) from None
        try:
            os.ftruncate(lock, os.pwrite(lock, f"{os.getpid()}\n".encode(), 0))
        except OSError as error:
            raise unwritable(state_dir, error) from error
        yield
    finally:
        os.close(lock)


def unwritable(state_dir: Path, error: OSError) -> JournalUnusable:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            remedy = "the state directory needs free space for the journal: free space on its disk"
        case errno.EROFS:
            remedy = "the file system is read-only: check the disk and the kernel's log, then mount it for writing"
        case _:
            remedy = "allow this user to write the directory"
    return JournalUnusable(f"{state_dir}: {error.strerror}; {remedy}, or set another site.state_dir")


class Store:
    """The file of one journal. Only the writer uses `connect`; every reader uses `read`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "journal.db"
        try:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
                migrate(connection, self.path)
                (self.word,) = connection.execute("SELECT word FROM journal").fetchone()
            self.connect().close()
        except sqlite3.Error as error:
            raise unusable(self.path, error) from error

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

    def read(self) -> "Reader":
        return Reader(self.path)


def unusable(path: Path, error: sqlite3.Error) -> JournalUnusable:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            remedy = "keep the file as evidence; move it to another directory, and shoed starts a new journal"
        case sqlite3.SQLITE_FULL:
            remedy = f"free space on the disk of {path.parent}, or set another site.state_dir"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            remedy = "stop the other program that locks the file"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            remedy = f"allow this user to read and write the files in {path.parent}, or run as the user of the daemon"
        case _:
            remedy = f"check the disk of {path.parent}: its free space, its permissions and the kernel's log"
    return JournalUnusable(f"{path}: {error}; {remedy}")


def absent(path: Path) -> JournalUnusable:
    return JournalUnusable(
        f"there is no journal at {path}; give the configuration of the daemon with --config, or its state directory"
        " with --state-dir; the first start of the daemon makes the journal"
    )


def schema_of(connection: sqlite3.Connection, path: Path) -> int:
    """The schema of the file. Refuse a file of another program, and a newer schema."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if objects and application != APPLICATION_ID:
        raise JournalUnusable(f"{path}: the file is not a journal of shoed; set another site.state_dir")
    if version > len(SCHEMAS):
        raise JournalUnusable(
            f"{path}: a newer shoed wrote the journal (schema {version}, and the newest schema of this shoed is"
            f" {len(SCHEMAS)}); install the newer shoed"
        )
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Apply the missing schemas in order."""
    version = schema_of(connection, path)
    for number, name in enumerate(SCHEMAS[version:], start=version + 1):
        script = (SCHEMA_FILES / name).read_text()
        connection.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;")


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
        query = "SELECT table_name FROM step UNION SELECT table_name FROM event ORDER BY 1"
        return [name for (name,) in self.rows(query)]

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

    def events_of_row(self, table: str, row: int) -> list[StoredEvent]:
        query = "SELECT sequence, type, utc_us, data FROM event WHERE table_name = ? AND row = ? ORDER BY sequence"
        return [StoredEvent(*each) for each in self.rows(query, table, row)]

    def rows_of_round(self, table: str, shoe: int, number: int) -> tuple[int, int] | None:
        """The first and the last row with an event of the round."""
        query = (
            "SELECT min(row), max(row) FROM event WHERE table_name = ?"
            " AND json_extract(data, '$.shoe') = ? AND json_extract(data, '$.round') = ?"
        )
        ((first, last),) = self.rows(query, table, shoe, number)
        return None if first is None else (first, last)

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

    def last_round(self, table: str) -> str:
        """The last round as SHOE.ROUND; `none` without a round."""
        query = (
            "SELECT json_extract(data, '$.shoe') || '.' || json_extract(data, '$.round') AS played FROM event"
            " WHERE table_name = ? AND played IS NOT NULL ORDER BY sequence DESC LIMIT 1"
        )
        return next((str(played) for (played,) in self.rows(query, table)), "none")

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
