"""A commit: the waiting Steps of all tables in one transaction, with checkpoints and the cursors of the publishers.

Theory of operation: the committer holds the end of each table's chain: the hash of the last row, from which the hash of
the next row follows. Some Steps get a checkpoint: the first one of the process, the last one of a round, the first one
of a shoe, one that closes a link (a stop closes all links), and at least one of CHECKPOINT_ROWS rows. The row has the
digest of its checkpoint. A new checkpoint replaces the previous one, unless that one is kept.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from shoed.engine import EngineState, seed_of
from shoed.errors import JournalError
from shoed.journal import incarnations
from shoed.journal.heads import Head, HeadWriter, is_head_moment
from shoed.journal.keys import SigningKey
from shoed.journal.retention import RowCut, delete_batch
from shoed.journal.rows import DICTIONARY, Checkpoint, event_columns, genesis, row_hash, step_columns, text
from shoed.model.events import ShoeStarted
from shoed.model.step import LinkDown, Step
from shoed.table import is_settled

CHECKPOINT_ROWS: Final = 256  # a restart after a kill folds at most these rows

STEP: Final = "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
EVENT: Final = "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)"
REPLACED: Final = "DELETE FROM checkpoint WHERE table_name = ? AND kept = 0"
CHECKPOINT: Final = "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?)"  # a person may have added one
CURSOR: Final = "INSERT OR REPLACE INTO cursor VALUES (?, ?)"
LAST_HASH: Final = "SELECT hash FROM step WHERE table_name = ? ORDER BY row DESC LIMIT 1"
LAST_ANCHOR: Final = "SELECT hash, sequence FROM anchor WHERE table_name = ? ORDER BY row DESC LIMIT 1"
LAST_SEQUENCE: Final = "SELECT max(sequence) FROM event WHERE table_name = ?"

UNSIGNED_END: Final = (
    "SELECT row, utc_us, hash FROM step WHERE table_name = ?1"
    " AND row = (SELECT max(row) FROM step WHERE table_name = ?1)"
    " AND NOT EXISTS (SELECT 1 FROM head WHERE table_name = ?1 AND head.row = step.row)"
)


class Entry(msgspec.Struct):
    """A Step that waits for its commit, with the state after it. `done` runs on the event loop after the commit."""

    table: str
    step: Step
    state: msgspec.Struct
    done: Callable[[], None] | None


class Tip(msgspec.Struct, frozen=True):
    """The end of the chain of a table."""

    hash: bytes
    sequence: int  # of the last event
    unchecked: int = CHECKPOINT_ROWS  # rows since the last checkpoint of this process


class Committer:
    """All that a commit writes. A commit that fails leaves no trace, in the file and here: it may be repeated."""

    def __init__(self, connection: sqlite3.Connection, engine: int, key: SigningKey | None = None) -> None:
        self.connection = connection
        self.engine = engine
        ((self.word,),) = connection.execute("SELECT word FROM journal")
        ((self.dictionary,),) = connection.execute("SELECT bytes FROM dictionary WHERE number = ?", (DICTIONARY,))
        self.tips: dict[str, Tip] = {}
        self.head_writer = None if key is None else HeadWriter(connection, key, self.word)
        self.new_heads: list[Head] = []  # of the present commit
        self.heads: list[Head] = []  # committed, until `taken_heads`

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: after an error, the file and the ends of the chains are those before it."""
        self.new_heads = []
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # the connection may be lost
                self.connection.execute("ROLLBACK")
            self.tips.clear()
            raise
        self.heads += self.new_heads

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No other program writes within the context."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            self.connection.execute("ROLLBACK")

    def commit(self, entries: Sequence[Entry], cursors: Mapping[str, int]) -> None:
        last = {entry.table: entry for entry in entries}
        due = {entry.table for entry in entries if is_checkpoint_moment(entry.step)}
        with self.transaction():
            for entry in entries:
                self.append(entry, is_due=entry is last[entry.table] and entry.table in due)
            for cursor in cursors.items():  # mostly none; executemany would prepare its statement in any case
                self.connection.execute(CURSOR, cursor)

    def append(self, entry: Entry, *, is_due: bool) -> None:
        """Write the row of a Step, its events, and perhaps a checkpoint."""
        table, step = entry.table, entry.step
        tip = self.tips.get(table) or self.stored_tip(table)
        sequence = step.events[-1].sequence if step.events else tip.sequence
        begins_shoe, checkpoint = any(isinstance(event.data, ShoeStarted) for event in step.events), None
        if is_due or begins_shoe or tip.unchecked >= CHECKPOINT_ROWS:
            seed = seed_text(entry.state)
            kept = int(begins_shoe and bool(seed))  # another engine can begin there
            checkpoint = Checkpoint(table, step.row, self.engine, sequence, kept, seed, text(entry.state))
        events = [event_columns(event) for event in step.events]
        columns = (*step_columns(table, step, self.dictionary), checkpoint and checkpoint.digest)
        hashed = row_hash(tip.hash, columns, events)
        self.connection.execute(STEP, (*columns, hashed))
        incarnations.record(self.connection, table, step)
        for number, *rest in events:
            self.connection.execute(EVENT, (table, number, step.row, *rest))
        if checkpoint is not None:
            self.connection.execute(REPLACED, (table,))
            self.connection.execute(CHECKPOINT, msgspec.structs.astuple(checkpoint))
        if self.head_writer is not None and is_head_moment(step):
            self.new_heads.append(self.head_writer.write(table, step.row, step.now.utc_us, hashed))
        self.tips[table] = Tip(hashed, sequence, 1 if checkpoint else tip.unchecked + 1)

    def sign_ends(self) -> None:
        """Write a head for the last row of each table of this process, at a clean stop."""
        if self.head_writer is None:
            return
        with self.transaction():
            for table in self.tips:
                for row, utc_us, hashed in self.connection.execute(UNSIGNED_END, (table,)).fetchall():
                    self.new_heads.append(self.head_writer.write(table, row, utc_us, hashed))

    def delete(self, cut: RowCut) -> bool:
        """Delete the first rows before a cut. Return whether further rows precede it."""
        if self.head_writer is None:
            raise JournalError("without a key, no cut can be signed, and no row is deleted")
        with self.transaction():
            return delete_batch(self.connection, cut, self.head_writer.key)

    def taken_heads(self) -> list[Head]:
        """The heads that were committed since the last call."""
        heads, self.heads = self.heads, []
        return heads

    def stored_tip(self, table: str) -> Tip:
        """The end of the chain in the file. Its first row in this process gets a checkpoint."""
        anchor = self.connection.execute(LAST_ANCHOR, (table,)).fetchone() or (genesis(self.word, table), 0)
        (hashed,) = self.connection.execute(LAST_HASH, (table,)).fetchone() or anchor[:1]
        ((sequence,),) = self.connection.execute(LAST_SEQUENCE, (table,))
        return Tip(hashed, anchor[1] if sequence is None else sequence)


def is_checkpoint_moment(step: Step) -> bool:
    return isinstance(step.input, LinkDown) or is_head_moment(step)


def seed_text(state: msgspec.Struct) -> str:
    """The seed of a state; empty while a round or a question is open."""
    return text(seed_of(state)) if isinstance(state, EngineState) and is_settled(state.table) else ""
