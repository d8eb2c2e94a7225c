"""The thread of the writer: it commits the queued items, and tries a disk that failed again.

Theory of operation: `run` gathers a batch, commits it, and reports the result. The moves of all cursors are written
together: with a Step that has a checkpoint (the end of a round, of a shoe or of a link), at a flush, or after RIDE_S;
while the disk fails, when it is tried again. A table whose Steps cannot be written is halted: its Steps are dropped
until `Resume`. A disk that failed is tried with a new connection, a file of some size, and a commit that changes
nothing. The old connection is closed after the new one is open: SQLite therefore does not search the write-ahead log
for a commit that failed.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import msgspec

from shoed.errors import CommitFailed, JournalDamaged, JournalError, JournalReplaced, StepRefused
from shoed.journal.attempts import Attempts, is_of_disk
from shoed.journal.commit import Committer, Entry, is_checkpoint_moment
from shoed.journal.files import OpenFiles, prove_room
from shoed.journal.head_log import HeadLog
from shoed.journal.keys import SigningKey
from shoed.journal.retention import RowCut
from shoed.journal.schema import Use, is_damage, remedy_of, unusable
from shoed.journal.store import Store
from shoed.model.step import Step
from shoed.ports.thread_queue import ThreadQueue

RIDE_S: Final = 5.0  # the longest time that the move of a cursor is in memory only: a crash repeats its events
BUSY_S: Final = 20.0  # the wait for another program that locks the file, before the commit fails
AGAIN_S: Final = 1.0  # the wait before a disk that failed is tried again; it doubles up to AGAIN_MOST_S
AGAIN_MOST_S: Final = 5.0
PROOF: Final = "BEGIN IMMEDIATE; UPDATE journal SET word = word; COMMIT"  # it writes a page, and changes nothing

UNAVAILABLE: Final = (sqlite3.Error, OSError, JournalError)

LOG: Final = logging.getLogger("shoed.journal")


class CursorMove(msgspec.Struct):
    table: str
    sequence: int


class Flush(msgspec.Struct):
    done: Callable[[], None]
    last: bool


class Halt(msgspec.Struct):
    """Drop the Steps of the table that follow, and try the disk."""

    table: str


class Resume(msgspec.Struct):
    """Record the Steps of the table that follow."""

    table: str


HasMore = bool | JournalError  # whether further rows precede the cut, or why they cannot be deleted


class Deletion(msgspec.Struct):
    """Delete the next old rows."""

    cut: RowCut
    done: Callable[[HasMore], None]


Item = Entry | Flush | Halt | Resume | Deletion


class BatchResult(msgspec.Struct):
    """The result of a batch."""

    items: list[Item]  # without those that are dropped
    weight: int  # of all Steps of the batch
    seconds: float | None  # the duration of the commit; None: nothing was written
    failures: Mapping[str, JournalError]  # of each table that stops
    is_available: bool = False  # the disk accepts commits again after a failure


class Recording:
    """The state of the thread. The event loop reads `committing_since`."""

    connection: sqlite3.Connection | None = None
    attempts: Attempts

    def __init__(
        self, store: Store, engine: int, key: SigningKey | None, recorded: Callable[[BatchResult], None]
    ) -> None:
        self.store = store
        self.engine = engine
        self.key = key
        self.head_log = HeadLog(store.path.parent)
        self.recorded = recorded
        self.files = OpenFiles(store.path)
        self.queue: ThreadQueue[Item | CursorMove] = ThreadQueue()
        self.committing_since: float | None = None  # monotonic: the thread waits for the disk
        self.halted: set[str] = set()  # the tables whose Steps are dropped
        self.cursors: dict[str, int] = {}  # not written yet
        self.moved_at: float | None = None  # monotonic: the first move that is not written
        self.begins: dict[str, int] = {}  # by table: the first event of this process; 0 once a cursor includes it
        self.again_at: float | None = None  # monotonic: the disk is tried again
        self.again_s = AGAIN_S

    def run(self) -> None:
        last = False
        while not last:
            batch = self.gather()
            last = any(isinstance(item, Flush) and item.last for item in batch)
            if batch or self.due_cursors():
                self.recorded(self.record(batch))
                self.log_heads()
            for item in batch:
                if isinstance(item, Deletion):
                    self.delete(item)
            if self.again_at is not None and time.monotonic() >= self.again_at:
                self.try_again()
        if self.connection is not None:
            with suppress(*UNAVAILABLE):
                self.attempts.committer.sign_ends()
                self.log_heads()
            with suppress(sqlite3.Error):  # the disk may refuse the last checkpoint of the log
                self.connection.close()

    def log_heads(self) -> None:
        if self.connection is not None:
            self.head_log.append(self.attempts.committer.taken_heads())

    def gather(self) -> list[Item]:
        """The queued items, without the moves of cursors. There may be none."""
        batch: list[Item] = []
        due_at = self.again_at
        if due_at is None and self.moved_at is not None:
            due_at = self.moved_at + RIDE_S
        item = self.queue.get(None if due_at is None else due_at - time.monotonic())
        while item is not None:
            if isinstance(item, CursorMove):
                self.cursors[item.table] = item.sequence
                self.moved_at = self.moved_at or time.monotonic()
            else:
                batch.append(item)
            item = self.queue.get(0)
        return batch

    def due_cursors(self, items: Sequence[Item] = ()) -> Mapping[str, int]:
        """The cursors that the commit of these items writes: all of them, or none."""
        if self.moved_at is None:
            return {}
        is_due = self.again_at is None and time.monotonic() >= self.moved_at + RIDE_S
        for item in items:
            if isinstance(item, Entry):
                is_due = is_due or is_checkpoint_moment(item.step) or self.reaches_process
            elif isinstance(item, Flush):
                is_due = is_due or item.last or self.again_at is None
        return self.cursors if is_due else {}

    @property
    def reaches_process(self) -> bool:
        """Whether a cursor first includes an event of this process: if the tail is lost, its events keep their ids."""
        return any(0 < self.begins.get(table, 0) <= sequence for table, sequence in self.cursors.items())

    def record(self, batch: list[Item]) -> BatchResult:
        items: list[Item] = []
        entries: list[Entry] = []
        total = 0
        for item in batch:
            match item:
                case Entry(table=table, step=step):
                    total += weight(step)
                    if table in self.halted:
                        continue
                    entries.append(item)
                case Halt(table=table):
                    self.halted.add(table)
                    self.delay()
                case Resume(table=table):
                    self.halted.discard(table)
                case Flush() | Deletion():
                    pass
            items.append(item)
        cursors = self.due_cursors(items)
        if not entries and not cursors:
            return BatchResult(items, total, None, {})
        self.committing_since = began = time.monotonic()
        failures = self.commit(entries, cursors)
        self.committing_since = None
        if not entries and self.cursors:  # the commit has failed, and no table stops
            return BatchResult(items, total, None, {})
        if failures:
            items = [item for item in items if not isinstance(item, Entry) or item.table not in failures]
        return BatchResult(items, total, time.monotonic() - began, failures)

    def commit(self, entries: list[Entry], cursors: Mapping[str, int]) -> dict[str, JournalError]:
        """Commit the Steps and the cursors. Return the error of each table that stops."""
        errors: dict[str, Exception] = {}
        try:
            if self.connection is None:
                self.connect()
        except UNAVAILABLE as error:
            errors = dict.fromkeys([*(entry.table for entry in entries), *cursors], error)
        else:
            errors = self.attempts.commit(entries, cursors)
        for entry in entries:
            if entry.table not in self.begins and entry.step.events:
                self.begins[entry.table] = entry.step.events[0].sequence
        if cursors:
            self.keep_cursors(errors)
        return self.failures(entries, errors) if errors else {}

    def failures(self, entries: list[Entry], errors: Mapping[str, Exception]) -> dict[str, JournalError]:
        """Halt the tables whose Steps are not written. Return their errors."""
        if any(is_of_disk(error) and not is_damage(error) for error in errors.values()):
            self.delay()
        failures = {entry.table: errors[entry.table] for entry in entries if entry.table in errors}
        self.halted |= failures.keys()
        return {table: self.failure(table, error) for table, error in failures.items()}

    def keep_cursors(self, errors: Mapping[str, Exception]) -> None:
        """Keep the cursors that were not written, for a later commit."""
        for table in self.cursors.keys() - errors.keys():
            if self.begins.get(table, 0) <= self.cursors[table]:
                self.begins[table] = 0
        self.cursors = {table: sequence for table, sequence in self.cursors.items() if table in errors}
        self.moved_at = time.monotonic() if self.cursors else None

    def failure(self, table: str, error: Exception) -> JournalError:
        if isinstance(error, JournalReplaced):
            return error
        path = self.store.path
        if is_damage(error):
            return JournalDamaged(f"{path}: {error}; {remedy_of(path, error)}")
        if is_of_disk(error):
            return CommitFailed(f"{path}: the commit failed, and the table stops: {error}; {remedy_of(path, error)}")
        LOG.error("%s: a Step cannot be recorded; report this log", table, exc_info=error)
        return StepRefused(f"{path}: a Step cannot be recorded: {type(error).__name__}: {error}")

    def delete(self, item: Deletion) -> None:
        """Delete old rows, after the result of the batch: no Step waits for it. An error stops no table."""
        result: HasMore
        self.committing_since = time.monotonic()
        try:
            if self.connection is None or self.again_at is not None:
                raise CommitFailed(f"{self.store.path}: the disk does not accept commits")
            self.files.check()
            result = self.attempts.committer.delete(item.cut)
        except JournalError as error:
            result = error
        except UNAVAILABLE as error:
            result = (
                unusable(self.store.path, error, Use.READ)  # play does not need these rows
                if isinstance(error, sqlite3.Error) and is_damage(error)
                else CommitFailed(f"{self.store.path}: {error}; {remedy_of(self.store.path, error)}")
            )
        self.committing_since = None
        self.recorded(BatchResult([Flush(partial(item.done, result), last=False)], 0, None, {}))

    def connect(self) -> None:
        """Open the file, and replace the connection."""
        self.files.check()
        connection, old = self.store.connect(), self.connection
        connection.execute(f"PRAGMA busy_timeout = {BUSY_S * 1000:.0f}")
        self.connection, self.attempts = connection, Attempts(Committer(connection, self.engine, self.key), self.files)
        if old is not None:
            old.close()

    def delay(self) -> None:
        """Try the disk again later."""
        if self.again_at is None:
            self.again_at = time.monotonic() + self.again_s
            self.again_s = min(2 * self.again_s, AGAIN_MOST_S)

    def try_again(self) -> None:
        self.again_at = None
        self.committing_since = time.monotonic()
        try:
            prove_room(self.store.path.parent)
            self.connect()
            if self.connection is not None:
                self.connection.executescript(PROOF)
            errors = self.attempts.commit((), self.cursors)
        except UNAVAILABLE as error:
            LOG.debug("%s: the disk still fails: %s", self.store.path, error)
            self.delay()
        else:
            self.again_s = AGAIN_S
            self.keep_cursors(errors)
            self.recorded(BatchResult([], 0, None, {}, is_available=True))
        finally:
            self.committing_since = None


def weight(step: Step) -> int:
    return 1 + len(step.observations)
