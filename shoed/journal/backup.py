"""Backup: a copy of the journal in another directory. Each further backup continues the copy.

Theory of operation: a backup is a journal itself, with the same schema and the same rows. It is extended in chunks. A
chunk is read in one short transaction, each of its rows is verified by its hash, and then it is written in one durable
transaction. So the writer of the source never waits, and a further backup that ends at any moment leaves the journal of
an earlier moment. The first backup gets its name when it is complete. Rows that retention deletes from the source stay
in the backup. A backup contains public keys only.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from shoed.errors import JournalError
from shoed.journal.files import remove_unfinished
from shoed.journal.keys import sync_directory
from shoed.journal.losses import Losses, LossKind
from shoed.journal.reader import LAST_ROW, ChainAnchor, Reader
from shoed.journal.rows import Checkpoint, row_hash, seal_hash, sealed_hash
from shoed.journal.scan import newest_starts, whole
from shoed.journal.schema import SCHEMAS, Use, migrate, schema_of, unusable
from shoed.journal.store import JOURNAL, hold, unwritable

CHUNK: Final = 2000  # rows of one transaction
WHOLE: Final = ("journal", "dictionary", "key", "incarnation")  # tables without a column for the table of the site
SMALL: Final = ("seal", "incarnation_table", "loss")  # tables with few rows for each table of the site
LARGE: Final = ("head", "checkpoint")
STEPS: Final = "SELECT * FROM step WHERE table_name = ? AND row > ? ORDER BY row LIMIT ?"
EVENTS: Final = (
    "SELECT sequence, row, type, utc_us, data FROM event WHERE table_name = ? AND sequence > ? ORDER BY sequence"
)


class CopiedTable(msgspec.Struct):
    name: str
    rows: int = 0  # copied by this backup
    last_row: int = 0  # in the backup
    last_round: str = "none"
    gaps: int = 0  # of a salvage, in the backup


class BackupPart(NamedTuple):
    """Verified rows of one table with their events, and the end of the chain after them."""

    end: ChainAnchor
    name: str  # step or step_4
    steps: Sequence[Sequence[object]]
    events: Sequence[Sequence[object]]


def back_up(source: Path, directory: Path) -> list[CopiedTable]:
    """Create or continue the backup of a journal in a directory."""
    target = directory / JOURNAL
    if target.exists() and target.samefile(source):
        raise JournalError(f"{target} is the journal itself; name another directory for the backup")
    with Reader(source) as reader, hold(directory, Use.WRITTEN):
        if reader.verified_schema() < len(SCHEMAS):
            raise JournalError(
                f"{source}: an earlier shoed wrote the journal (schema {reader.schema}); start the daemon once, which"
                " updates the journal, then repeat the backup"
            )
        new, is_first = directory / f"{JOURNAL}.new", not target.exists()
        try:
            remove_unfinished(new)
            if is_first:
                create(reader, new)
            with closing(sqlite3.connect(new if is_first else target, isolation_level=None)) as connection:
                if schema_of(connection, target, Use.WRITTEN) < len(SCHEMAS):
                    raise JournalError(f"{target}: an earlier shoed wrote the backup; name another directory")
                connection.execute("PRAGMA journal_mode = WAL")  # without WAL, SQLite uses a rollback journal
                connection.execute("PRAGMA synchronous = FULL")
                copied = Backup(reader, connection).run()
                connection.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read on any medium
            if is_first:
                new.rename(target)
            sync_directory(directory)
        except sqlite3.Error as error:
            raise unusable(target, error, Use.WRITTEN) from error
        except OSError as error:
            raise unwritable(directory, error) from error
        finally:
            with suppress(OSError):  # the next backup removes it
                remove_unfinished(new)
    with Reader(target) as backup:
        for each in copied:
            each.last_round = last_round(backup, each.name)
            each.gaps = len(Losses(backup, each.name).all)
    return copied


def last_round(reader: Reader, table: str) -> str:
    """The last round as SHOE.ROUND; `none` without a round."""
    started = next(newest_starts(reader, table, whole(reader, table)), None)
    return "none" if started is None else f"{started.shoe}.{started.round}"


def create(reader: Reader, new: Path) -> None:
    """An empty journal with the word of the source."""
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection, new, Use.WRITTEN)
        connection.execute("BEGIN")
        for name in WHOLE:
            connection.execute(f"DELETE FROM {name}")  # noqa: S608 -- ours
            insert(connection, name, reader.rows(f"SELECT * FROM {name}"))  # noqa: S608 -- ours
        connection.execute("COMMIT")


def insert(connection: sqlite3.Connection, table: str, records: Iterable[Sequence[object]]) -> None:
    for record in records:
        marks = ", ".join("?" * len(record))
        connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", record)  # noqa: S608 -- ours


class Backup:
    def __init__(self, reader: Reader, connection: sqlite3.Connection) -> None:
        self.reader = reader
        self.connection = connection

    def run(self) -> list[CopiedTable]:
        (word,) = self.connection.execute("SELECT word FROM journal").fetchone()
        if word != self.reader.word:
            raise JournalError(
                f"the backup is of the journal {word}, and {self.reader.path} is the journal {self.reader.word};"
                " name another directory for this backup"
            )
        self.require_same_words()
        known = {name for (name,) in self.connection.execute("SELECT DISTINCT table_name FROM cursor")}
        return [self.copy_table(name) for name in sorted({*known, *self.reader.tables})]

    def require_same_words(self) -> None:
        """Two restores of one backup may have the same rows, and other words for the next ones."""
        own = dict(self.connection.execute("SELECT number, word FROM incarnation"))
        for number, word in self.reader.rows("SELECT number, word FROM incarnation"):
            if own.get(number, word) != word:
                raise JournalError(
                    f"the journal continues with the word {word} in its ids, and the backup with {own[number]}: an"
                    " older journal was restored; keep this backup, and name another directory"
                )

    def copy_table(self, table: str) -> CopiedTable:
        copied = CopiedTable(table)
        self.losses = Losses(self.reader, table)
        end = self.end(table)
        if end is None:
            end = self.beginning(table)
        else:
            self.compare(table, end)
        for chunk in self.chunks(table, end):
            self.write(table, chunk)
            end = chunk.end
            copied.rows += len(chunk.steps)
        self.connection.execute("BEGIN IMMEDIATE")
        self.write_rest(table, end)  # rows without a new row, such as a moved cursor
        self.connection.execute("COMMIT")
        copied.last_row = end.row
        return copied

    # --- the place to continue

    def end(self, table: str) -> ChainAnchor | None:
        """The end of the chain in the backup; None without a row."""
        (sequence,) = self.connection.execute(
            "SELECT max(coalesce((SELECT max(sequence) FROM event WHERE table_name = ?1), 0),"
            " coalesce((SELECT max(sequence) FROM anchor WHERE table_name = ?1), 0))",
            (table,),
        ).fetchone()
        places = [
            ChainAnchor(row, sequence, hashed)
            for name in ("step", "anchor", "seal")
            for row, hashed in self.connection.execute(
                f"SELECT row, hash FROM {name} WHERE table_name = ? ORDER BY row DESC LIMIT 1",  # noqa: S608 -- ours
                (table,),
            )
        ]
        return max(places, key=lambda each: each.row, default=None)

    def beginning(self, table: str) -> ChainAnchor:
        """The beginning of the chain in the source: a cut, or the beginning of the table."""
        begin = self.reader.begin(table)
        cut = "SELECT * FROM anchor WHERE table_name = ? AND row = ? AND reason = 'cut'"
        insert(self.connection, "anchor", self.reader.rows(cut, table, begin.row))
        return begin

    def compare(self, table: str, end: ChainAnchor) -> None:
        """Raise an error unless the source continues the chain of the backup."""
        last = self.reader.last_row(table)
        if last < end.row:
            raise JournalError(
                f"{table}: the backup has row {end.row}, and the journal ends with row {last}: the journal lost its"
                " last rows, or an older journal was restored; keep this backup, and name another directory"
            )
        hashes = [
            hashed
            for name in ("step", "anchor", "seal")
            for (hashed,) in self.reader.rows(
                f"SELECT hash FROM {name} WHERE table_name = ? AND row = ?",  # noqa: S608 -- ours
                table,
                end.row,
            )
        ]
        if not hashes:
            raise self.cut_beyond(table, end)
        if hashes[0] != end.hash:
            raise JournalError(
                f"{table}: row {end.row} of the journal and of the backup differ: one of them was altered, or they"
                " continued separately; keep both, run: shoed journal verify, and name another directory"
            )

    def cut_beyond(self, table: str, end: ChainAnchor) -> JournalError:
        return JournalError(
            f"{table}: the backup ends with row {end.row}, and the next rows are not in the journal any more:"
            " keep_days or keep_mb deleted them; keep this backup, and name another directory"
        )

    # --- verified rows

    def chunks(self, table: str, end: ChainAnchor) -> Iterator[BackupPart]:
        while (chunk := self.sealed(table, end) or self.chained(table, end)) is not None:
            yield chunk
            end = chunk.end

    def sealed(self, table: str, end: ChainAnchor) -> BackupPart | None:
        """The next run of rows of schemas 1 to 4."""
        with self.reader.one_moment():
            for run in self.reader.seals(table, end.row + 1):
                steps = self.reader.old_columns(table, end.row + 1, run.row)
                events = self.reader.old_events(table, end.sequence, run.sequence)
                anchor = self.reader.before(table, run.row + 1)  # of the last run, otherwise it is the run
                seal = sealed_hash(run.hash, table, run.row, run.sequence, anchor.state, anchor.utc_us)
                is_sealed = anchor.hash in {run.hash, seal}
                is_proven = is_sealed and seal_hash(end.hash, steps, events) == run.hash
                if not is_proven and not self.losses.concern(end.row + 1, run.row):
                    raise self.not_proven(table, f"the rows {end.row + 1} to {run.row}")
                return BackupPart(anchor, "step_4", steps, [(table, *event) for event in events])
        return None

    def chained(self, table: str, end: ChainAnchor) -> BackupPart | None:
        """The next rows with hashes."""
        with self.reader.one_moment():
            steps = list(self.reader.rows(STEPS, table, end.row, CHUNK))
            last = steps[-1][1] if len(steps) == CHUNK else LAST_ROW
            events = list(takewhile(lambda event: event[1] <= last, self.reader.rows(EVENTS, table, end.sequence)))
        of_row: dict[int, list[tuple[object, ...]]] = defaultdict(list)
        for sequence, row, *rest in events:
            of_row[row].append((sequence, *rest))
        row, before = end.row, end.hash
        for step in steps:
            first, row = row + 1, step[1]
            if row != first and not self.losses.has(LossKind.MISSING, first, row - 1):
                raise self.cut_beyond(table, end) if first == end.row + 1 else self.not_proven(table, f"row {first}")
            follows = row_hash(before, step[:-1], of_row[row]) == step[-1]
            if row == first and not follows and not self.losses.has(LossKind.UNPROVEN, row):
                raise self.not_proven(table, f"row {row}")
            before = step[-1]
        for other in of_row.keys() - {step[1] for step in steps}:
            if not self.losses.has(LossKind.MISSING, other):
                raise self.not_proven(table, f"event {of_row[other][0][0]}")
        if not steps:
            return None
        own = [event for event in events if event[1] <= row]
        sequence = own[-1][0] if own else end.sequence
        return BackupPart(ChainAnchor(row, sequence, before), "step", steps, [(table, *event) for event in own])

    def not_proven(self, table: str, what: str) -> JournalError:
        return JournalError(
            f"{table}: {what} of {self.reader.path} cannot be verified: the journal is damaged or was altered; the"
            " backup ends before it; keep the file as evidence, and run: shoed journal verify"
        )

    # --- the backup

    def write(self, table: str, chunk: BackupPart) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        insert(self.connection, chunk.name, chunk.steps)
        insert(self.connection, "event", chunk.events)
        self.write_rest(table, chunk.end)
        self.connection.execute("COMMIT")

    def write_rest(self, table: str, end: ChainAnchor) -> None:
        """The other tables, as far as they concern the rows of the backup."""
        for name in ("key", "incarnation"):
            insert(self.connection, name, self.reader.rows(f"SELECT * FROM {name}"))  # noqa: S608 -- ours
        for name in SMALL:
            query = f"SELECT * FROM {name} WHERE table_name = ? AND row <= ?"  # noqa: S608 -- ours
            insert(self.connection, name, self.reader.rows(query, table, end.row))
        seals = "SELECT * FROM anchor WHERE table_name = ? AND row <= ? AND reason = 'seal'"
        insert(self.connection, "anchor", self.reader.rows(seals, table, end.row))  # a later cut does not concern it
        for name in LARGE:
            (newest,) = self.connection.execute(
                f"SELECT coalesce(max(row), 0) FROM {name} WHERE table_name = ?",  # noqa: S608 -- ours
                (table,),
            ).fetchone()
            query = f"SELECT * FROM {name} WHERE table_name = ? AND row > ? AND row <= ?"  # noqa: S608 -- ours
            records = self.reader.rows(query, table, newest, end.row)
            insert(self.connection, name, records if name == "head" else filter(self.is_confirmed, records))
        self.connection.execute(
            "DELETE FROM checkpoint WHERE table_name = ? AND kept = 0"
            " AND row < (SELECT max(row) FROM checkpoint WHERE table_name = ?)",
            (table, table),
        )
        cursor = min(self.reader.cursor(table), end.sequence)
        self.connection.execute("INSERT OR REPLACE INTO cursor VALUES (?, ?)", (table, cursor))

    def is_confirmed(self, record: Sequence[Any]) -> bool:
        """Whether the row of a checkpoint has its digest."""
        checkpoint = Checkpoint(*record)
        query = "SELECT state FROM step WHERE table_name = ? AND row = ?"
        found = self.connection.execute(query, (checkpoint.table, checkpoint.row)).fetchone()
        return found is not None and found[0] == checkpoint.digest
