"""The journal file: lock, open, migrate to the newest schema, read.

Theory of operation: one process uses the state directory; it locks a file in it. The process has one writing
connection (`writer.py`) in WAL mode with `synchronous=FULL`: after a commit the data are on the disk. Every reader
opens its own read-only connection.
"""

import fcntl
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from shoed.errors import JournalLocked, JournalUnusable

APPLICATION_ID: Final = 0x53484F45  # "SHOE", set by the first schema: identifies a journal of shoed
SCHEMA_FILES: Final = Path(__file__).with_name("schemas")
SCHEMAS: Final = ("v1.sql", "v2.sql", "v3.sql", "v4.sql")
ANSWERED: Final = 2  # the first schema with answers
SHUFFLED: Final = 3  # the first schema with shufflers
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
        raise JournalUnusable(
            f"{state_dir}: {error.strerror}; allow this user to write the directory, or set another site.state_dir"
        ) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
            raise JournalLocked(
                f"{state_dir}: another shoed uses the directory (process {holder}); stop that process,"
                " or set another site.state_dir"
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(lock)


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
        return connection

    def read(self) -> "Reader":
        return Reader(self.path)


def unusable(path: Path, error: sqlite3.Error) -> JournalUnusable:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        remedy = "keep the file as evidence; move it to another directory, and shoed starts a new journal"
    else:
        remedy = "free space on the disk, stop other programs that use the file, and check its permissions"
    return JournalUnusable(f"{path}: {error}; {remedy}")


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Apply the missing schemas in order. Refuse a file with a newer schema."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if objects and application != APPLICATION_ID:
        raise JournalUnusable(f"{path}: the file is not a journal of shoed; set another site.state_dir")
    if version > len(SCHEMAS):
        raise JournalUnusable(
            f"{path}: a newer shoed wrote the journal (schema {version}; the newest schema of this shoed is"
            f" {len(SCHEMAS)}); install the newer shoed"
        )
    for number, name in enumerate(SCHEMAS[version:], start=version + 1):
        script = (SCHEMA_FILES / name).read_text()
        connection.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;")


class Reader:
    """A read-only connection. It returns committed data only."""

    def __init__(self, path: Path) -> None:
        self.path = path
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
