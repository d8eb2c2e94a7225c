"""The salvage of a damaged journal: every row that can be read, in a new journal whose gaps are named.

Theory of operation: `pages.py` returns the records of the damaged file, in any order and perhaps more than once. They
are collected in a scratch file, by the shape of each table. Then each table is written in the order of its rows. A row
is proven if its hash follows from the row before it. A missing row breaks the chain: the first row after a gap is not
proven. The rows after it are, because they continue its recorded hash. A signed head with the hash of the last missing
row closes the gap. The table `loss` of the new journal names all rows that are missing or not proven, so that a
verification finds exactly these.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from heapq import merge
from itertools import groupby, islice, product
from operator import itemgetter
from pathlib import Path
from time import time_ns
from typing import Any, Final

import msgspec

from shoed.errors import JournalUnusable
from shoed.journal.files import remove_unfinished
from shoed.journal.incarnations import begin
from shoed.journal.keys import sync_directory
from shoed.journal.losses import Loss, LossKind
from shoed.journal.pages import SqlValue, records
from shoed.journal.rows import Checkpoint, genesis, row_hash, seal_hash
from shoed.journal.salvaged_names import heads_beside, lost_heads, restore_names, write_logged_heads
from shoed.journal.schema import Use, migrate, unusable
from shoed.journal.store import unwritable
from shoed.model.incarnations import Because

MOST_WAYS: Final = 64  # combinations of copies of one row; a row with more is not proven
KINDS: Final[Mapping[str, type]] = {"TEXT": str, "INTEGER": int, "BLOB": bytes}
EVENT_COLUMNS: Final = 6
LAST: Final = 2**63 - 1  # of SQLite
ROWS: Final = frozenset(
    {"step", "step_4", "event", "checkpoint", "cursor", "loss", "dictionary"}
)  # examined one by one; and the dictionary, which is the same in each journal

ENDS: Final = (  # the columns with a row and an event of a table
    ("main.head", "row", "sequence"),
    ("found.checkpoint", "row", "sequence"),
    ("found.loss", "last_row", "last_sequence"),  # of an earlier salvage
    ("found.logged", "row", "sequence"),  # of `heads.jsonl`
    *((f"main.{name}", "row", "sequence") for name in ("anchor", "seal", "incarnation_table")),
)

FoundRecord = tuple[Any, ...]


class Column(msgspec.Struct, frozen=True):
    name: str
    kind: type
    optional: bool


class SalvagedTable(msgspec.Struct):
    """`rows` and `events`: those in the new journal. `has_head`: a head beside the damaged file names the last row."""

    name: str
    rows: int = 0
    events: int = 0
    losses: list[Loss] = []
    has_head: bool = False


class Salvage(msgspec.Struct, frozen=True):
    tables: tuple[SalvagedTable, ...]
    unread_pages: int
    lost_heads: str  # what is lost; empty: none, as far as known


def shapes_of(connection: sqlite3.Connection) -> dict[str, tuple[Column, ...]]:
    """The columns of each table, in the order of its records."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {
        name: tuple(
            Column(column, KINDS[kind], optional=not (required or key))
            for _, column, kind, required, _, key in sorted(
                connection.execute(f"PRAGMA table_info({name})"), key=lambda column: column[5] or len(names) + column[0]
            )
        )
        for name in names
        if not name.startswith("sqlite_")
    }


def fits(record: tuple[SqlValue, ...], shape: tuple[Column, ...]) -> bool:
    return len(record) == len(shape) and all(
        column.optional if value is None else isinstance(value, column.kind)
        for value, column in zip(record, shape, strict=True)
    )


def salvage(damaged: Path, target: Path) -> Salvage:
    """Write the readable rows of a damaged journal to a new file."""
    scratch, new = target.with_name("salvage.tmp"), target.with_name(f"{target.name}.new")
    try:
        for file in (scratch, new):
            remove_unfinished(file)
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            migrate(connection, new, Use.WRITTEN)
            connection.execute("ATTACH ? AS found", (str(scratch),))
            connection.execute("PRAGMA found.journal_mode = OFF")
            connection.execute("BEGIN")
            unread = collect(connection, damaged)
            copy_small_tables(connection)
            logged = heads_beside(damaged.parent)
            restore_names(connection, logged)
            write_logged_heads(connection, logged)
            tables = tuple(write_table(connection, name) for name in names_of(connection))
            if not tables:
                raise JournalUnusable(
                    f"{damaged}: no record of a journal was found in the file, and no head of one beside it; no"
                    " journal was written; restore a backup"
                )
            heads = lost_heads(connection)
            begin(connection, Because.SALVAGED, f"the damaged file {damaged}", time_ns() // 1000)
            connection.execute("COMMIT")
        scratch.unlink()
        new.rename(target)
        sync_directory(target.parent)
    except sqlite3.Error as error:
        raise unusable(target, error, Use.WRITTEN) from error
    except OSError as error:
        raise unwritable(Path(error.filename or target.parent), error) from error
    finally:
        with suppress(OSError):  # the next salvage removes them
            for file in (scratch, new):
                remove_unfinished(file)
    return Salvage(tables, unread, heads)


def cursors_of(damaged: Path) -> list[FoundRecord]:
    """The last acknowledged events. Without them, a daemon publishes all events again, with the same ids."""
    uri = f"{damaged.absolute().as_uri()}?mode=ro&immutable=1"  # the log stays as it is
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute("SELECT table_name, sequence FROM cursor").fetchall()
    return []


def collect(connection: sqlite3.Connection, damaged: Path) -> int:
    """Write all records of the damaged file to the scratch file. Return the number of pages that cannot be read."""
    shapes = shapes_of(connection)
    for name in shapes:
        connection.execute(f"CREATE TABLE found.{name} AS SELECT * FROM main.{name} LIMIT 0")  # noqa: S608 -- ours
    unread: list[int] = []
    found = ((name, record) for record in records(damaged, unread) for name in shapes if fits(record, shapes[name]))
    for name, record in found:
        insert(connection, f"found.{name} ({', '.join(column.name for column in shapes[name])})", record)
    connection.execute("CREATE TABLE found.cursor_read (table_name, sequence)")
    for cursor in cursors_of(damaged):
        insert(connection, "found.cursor_read", cursor)
    for name in ("step", "event"):
        connection.execute(f"CREATE INDEX found.{name}_row ON {name} (table_name, row)")
    return len(unread)


def insert(connection: sqlite3.Connection, table: str, record: FoundRecord) -> None:
    marks = ", ".join("?" * len(record))
    connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", record)  # noqa: S608 -- ours


def copy_small_tables(connection: sqlite3.Connection) -> None:
    """The tables without a row for each Step. Of two copies with one key, the first is kept."""
    for name in shapes_of(connection):
        (found,) = connection.execute(f"SELECT count(*) FROM found.{name}").fetchone()  # noqa: S608 -- ours
        if found and name not in ROWS:
            connection.execute(f"DELETE FROM main.{name}")  # noqa: S608 -- ours; a new journal has its own word
            connection.execute(f"INSERT OR IGNORE INTO main.{name} SELECT DISTINCT * FROM found.{name}")  # noqa: S608 -- ours


def names_of(connection: sqlite3.Connection) -> list[str]:
    """The tables of which anything was found."""
    names = ("found.step", "found.step_4", "found.event", "found.cursor_read", *(name for name, *_ in ENDS))
    query = " UNION ".join(f"SELECT table_name FROM {name}" for name in names)  # noqa: S608 -- ours
    return [name for (name,) in connection.execute(f"{query} ORDER BY 1")]


class Copies(msgspec.Struct, frozen=True):
    """The copies of one row that were found: of its Step, and of each of its events."""

    row: int
    steps: tuple[FoundRecord, ...]
    events: tuple[tuple[FoundRecord, ...], ...]

    @property
    def ways(self) -> Iterator[tuple[FoundRecord, tuple[FoundRecord, ...]]]:
        """Each combination of copies. Nearly every row has one."""
        return islice(((step, events) for step in self.steps for events in product(*self.events)), MOST_WAYS)


def copies_of(connection: sqlite3.Connection, source: str, table: str, after: int, last: int) -> Iterator[Copies]:
    """The copies of the rows after a row, to another one. `source`: step or step_4."""
    part = "WHERE table_name = ? AND row > ? AND row <= ? ORDER BY row"
    steps = connection.execute(f"SELECT DISTINCT row, * FROM found.{source} {part}", (table, after, last))  # noqa: S608 -- ours
    events = connection.execute(f"SELECT DISTINCT row, * FROM found.event {part}, sequence", (table, after, last))  # noqa: S608 -- ours
    for row, parts in groupby(merge(steps, events, key=itemgetter(0)), itemgetter(0)):
        found = [part[1:] for part in parts]
        of_row = [record for record in found if len(record) != EVENT_COLUMNS]
        published = [record for record in found if len(record) == EVENT_COLUMNS]
        by_sequence = groupby(published, itemgetter(1))
        yield Copies(row, tuple(of_row), tuple(tuple(several) for _, several in by_sequence))


class Chain:
    """One table, row by row: the proof of each row, and the gaps."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self.connection = connection
        self.table = table
        self.result = SalvagedTable(table)
        ((word,),) = connection.execute("SELECT word FROM journal").fetchall()
        self.row = self.sequence = 0  # the last ones
        self.gap: Loss | None = None  # the last one of events
        self.before: bytes | None = genesis(word, table)
        self.hashes = {  # of rows that anchors and heads name
            row: hashed
            for name in ("head", "anchor")
            for row, hashed in connection.execute(f"SELECT row, hash FROM {name} WHERE table_name = ?", (table,))  # noqa: S608 -- ours
        }

    def begin(self, first: int) -> None:
        """Begin at the cut before the first row."""
        query = (
            "SELECT row, sequence, hash FROM anchor WHERE table_name = ? AND row < ? AND reason = 'cut'"
            " ORDER BY row DESC LIMIT 1"
        )
        for anchor in self.connection.execute(query, (self.table, first)):
            self.row, self.sequence, self.before = anchor

    def take_run(self, last: int, hashed: bytes) -> None:
        """The rows of earlier versions up to a seal, whose hash covers all of them."""
        run = list(copies_of(self.connection, "step_4", self.table, self.row, last))
        steps = [copies.steps[-1] for copies in run if copies.steps]
        events = [several[-1][1:] for copies in run for several in copies.events]
        is_proven = self.before is not None and seal_hash(self.before, steps, events) == hashed
        for copies in run:
            self.skip_to(copies.row)
            if not is_proven:
                self.lose(copies.row, LossKind.UNPROVEN if copies.steps else LossKind.MISSING)
            self.write(copies.steps[-1:], [several[-1] for several in copies.events], "step_4")
            self.row = copies.row
        self.skip_to(last + 1)
        self.row, self.before = last, self.hashes.get(last, hashed)  # the last run has an anchor

    def take(self, copies: Copies) -> None:
        """The next row that was found."""
        self.skip_to(copies.row)
        proven = next(((step, events) for step, events in copies.ways if self.follows(step, events)), None)
        if proven is None:
            self.lose(copies.row, LossKind.UNPROVEN if copies.steps else LossKind.MISSING)
        steps, events = copies.steps[-1:], [several[-1] for several in copies.events]
        if proven is not None:
            steps, events = (proven[0],), list(proven[1])
        self.write(steps, events, "step")
        self.row = copies.row
        self.before = steps[0][-1] if steps else self.hashes.get(copies.row)

    def follows(self, step: FoundRecord, events: tuple[FoundRecord, ...]) -> bool:
        columns = [(sequence, kind, utc_us, data) for _, sequence, _, kind, utc_us, data in events]
        return self.before is not None and row_hash(self.before, step[:-1], columns) == step[-1]

    def write(self, steps: Sequence[FoundRecord], events: Sequence[FoundRecord], target: str) -> None:
        for name, several in ((target, steps), ("event", events)):
            for record in several:
                insert(self.connection, f"main.{name}", record)
        self.result.rows += len(steps)
        self.result.events += len(events)
        for event in events:
            self.reach(event[2], event[1])

    def skip_to(self, row: int) -> None:
        """Name the missing rows before a row."""
        if row > self.row + 1:
            self.lose(self.row + 1, LossKind.MISSING, row - 1)
            self.before = self.hashes.get(row - 1)

    def reach(self, row: int, sequence: int) -> None:
        """Name the missing sequence numbers before an event."""
        if sequence > self.sequence + 1:
            if self.gap is not None and self.gap.row == row:
                # `loss` has one gap of events for each row: the events between two gaps are not proven either.
                query = "DELETE FROM main.event WHERE table_name = ? AND sequence BETWEEN ? AND ?"
                between = self.connection.execute(query, (self.table, self.gap.first, sequence - 1))
                self.result.events -= between.rowcount
                self.gap.last_sequence = sequence - 1
            else:
                self.gap = Loss(row, row, LossKind.EVENTS, self.sequence + 1, sequence - 1)
                self.result.losses.append(self.gap)
        self.sequence = max(sequence, self.sequence)

    def one(self, query: str) -> int | None:
        found = self.connection.execute(query, (self.table,)).fetchone()
        return None if found is None else found[0]

    def lose(self, row: int, kind: LossKind, last: int | None = None) -> None:
        losses = self.result.losses
        if losses and (losses[-1].last_row, losses[-1].kind) == (row - 1, kind):
            losses[-1].last_row = last or row
        else:
            losses.append(Loss(row, last or row, kind))

    @property
    def unpublishable(self) -> int:
        """The last event of the last gap. Events are published in order and from proven rows, so none is before it."""
        last_row = max((loss.last_row for loss in self.result.losses), default=0)
        query = "SELECT max(sequence) FROM main.event WHERE table_name = ? AND row <= ?"
        ((before,),) = self.connection.execute(query, (self.table, last_row))
        return max([before or 0, *(loss.last_sequence or 0 for loss in self.result.losses)])

    def finish(self) -> None:
        """Name the missing rows and events at the end, and write what depends on the rows."""
        self.result.has_head = self.one("SELECT 1 FROM found.logged WHERE table_name = ?") is not None
        cursor = self.one("SELECT sequence FROM found.cursor_read WHERE table_name = ?") or 0
        known = [
            [self.one(f"SELECT max({column}) FROM {name} WHERE table_name = ?") or 0 for column in columns]  # noqa: S608 -- ours
            for name, *columns in ENDS
        ]
        sequence = self.sequence
        self.skip_to(max(row for row, _ in known) + 1)
        self.reach(self.row, max(cursor, *(last for _, last in known)) + 1)
        insert(self.connection, "main.cursor", (self.table, min(max(cursor, self.unpublishable), sequence)))
        for loss in self.result.losses:
            span = (loss.row, loss.last_row, loss.kind.value, loss.sequence, loss.last_sequence)
            insert(self.connection, "main.loss", (self.table, *span))
        query = "SELECT DISTINCT * FROM found.checkpoint WHERE table_name = ?"
        for record in self.connection.execute(query, (self.table,)).fetchall():
            digest = Checkpoint(*record).digest
            self.connection.execute(
                "INSERT OR IGNORE INTO main.checkpoint SELECT ?, ?, ?, ?, ?, ?, ? FROM main.step"
                " WHERE table_name = ? AND row = ? AND state = ?",
                (*record, self.table, record[1], digest),
            )


def write_table(connection: sqlite3.Connection, table: str) -> SalvagedTable:
    chain = Chain(connection, table)
    query = (
        "SELECT coalesce(min(row), 1) FROM (SELECT table_name, row FROM found.step UNION ALL"
        " SELECT table_name, row FROM found.step_4) WHERE table_name = ?"
    )
    (first,) = connection.execute(query, (table,)).fetchone()
    chain.begin(first)
    query = "SELECT row, hash FROM seal WHERE table_name = ? AND row > ? ORDER BY row"
    for last, hashed in connection.execute(query, (table, chain.row)).fetchall():
        chain.take_run(last, hashed)
    for copies in copies_of(connection, "step", table, chain.row, LAST):
        chain.take(copies)
    chain.finish()
    return chain.result
