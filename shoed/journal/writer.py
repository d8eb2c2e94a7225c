"""The only writer of the journal: a queue for a thread that commits all waiting Steps of all tables together.

Theory of operation: `submit` queues a Step with the state after it. The thread (`recording.py`) takes the queued Steps,
writes them in one transaction, and then the writer runs their callbacks on the event loop. The move of a cursor waits
for the end of a round, at most RIDE_S while the disk works.

A commit that fails is repeated (`attempts.py`). A table whose Steps still cannot be written stops: its Steps are
dropped, and `stops` has the reason. When the disk accepts commits again, the table receives `journal_available`; it
calls `resume` and continues.

A commit that takes longer than HANG_S is a hang: `hanging_since` has its beginning. A timer detects it, and exists only
while something waits for a commit.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

import msgspec

from shoed.errors import CommitFailed, JournalError
from shoed.journal.commit import Entry
from shoed.journal.keys import SigningKey
from shoed.journal.recording import BatchResult, CursorMove, Deletion, Flush, Halt, HasMore, Recording, Resume, weight
from shoed.journal.retention import RowCut
from shoed.journal.store import Store
from shoed.model.step import Step
from shoed.ports.clock import ClockSteps
from shoed.ports.threads import call_on_loop

ROOM: Final = 1024  # Steps and observations that wait for the disk before a table waits: bounds the memory
HANG_S: Final = 2.0  # a commit that takes longer is reported
CLOSE_S: Final = 5.0

LOG: Final = logging.getLogger("shoed.journal")


class RecordedTable(Protocol):
    """A table whose Steps are recorded."""

    def journal_failed(self, error: JournalError) -> None:
        """The Steps that wait are dropped, until `resume`. After TableUnrecorded, the table ends."""

    def journal_available(self) -> None:
        """The disk accepts commits again: the stopped table may resume."""

    def journal_changed(self) -> None:
        """A hang has begun or ended."""


class Writer:
    def __init__(self, store: Store, engine: int, key: SigningKey | None = None) -> None:
        self.store = store
        self.key = key
        self.loop = asyncio.get_running_loop()
        self.tables: dict[str, RecordedTable] = {}
        self.stops: dict[str, JournalError] = {}  # by the name of the table: why its Steps are not recorded
        self.has_room = asyncio.Event()
        self.has_room.set()
        self.waiting = 0
        self.clock = ClockSteps()
        self.hanging_since: float | None = None  # monotonic: the beginning of a commit that takes longer than HANG_S
        self.timer: asyncio.TimerHandle | None = None  # detects a hang
        self.beating_since: float | None = None  # monotonic, for the watchdog: the thread has not answered since
        self.on_commit: Callable[[float], None] | None = None  # receives the duration of each commit in seconds
        self.on_change: Callable[[], None] | None = None  # called when a stop or a hang begins or ends
        self.recording = Recording(store, engine, key, partial(call_on_loop, self.loop, self.recorded))
        self.queue = self.recording.queue
        self.thread = threading.Thread(target=self.recording.run, name="journal", daemon=True)
        self.thread.start()

    def submit(self, table: str, step: Step, state: msgspec.Struct, done: Callable[[], None] | None) -> None:
        """Queue a Step. `done` runs on the event loop after its commit. The order of calls is the order of commits."""
        self.queue.put(Entry(table, step, state, done))
        self.clock.look(step.now)
        self.waiting += weight(step)
        if self.waiting >= ROOM:
            self.has_room.clear()
        if self.timer is None:
            self.timer = self.loop.call_later(HANG_S, self.look)

    def move_cursor(self, table: str, sequence: int) -> None:
        self.queue.put(CursorMove(table, sequence))

    async def flush(self, *, last: bool = False) -> None:
        """Return when all submitted Steps are committed or dropped."""
        flushed: asyncio.Future[None] = self.loop.create_future()

        def done() -> None:
            if not flushed.done():
                flushed.set_result(None)

        self.queue.put(Flush(done, last))
        await flushed

    async def delete(self, cut: RowCut) -> bool:
        """Delete the first rows before a cut. Return whether further rows precede it."""
        deleted: asyncio.Future[bool] = self.loop.create_future()

        def done(result: HasMore) -> None:
            if deleted.cancelled():
                return
            if isinstance(result, JournalError):
                deleted.set_exception(result)
            else:
                deleted.set_result(result)

        self.queue.put(Deletion(cut, done))
        return await deleted

    def beat(self) -> None:
        """Request an answer of the thread, unless the last one is due. It follows all earlier commits."""
        if self.beating_since is None:
            self.beating_since = time.monotonic()
            self.queue.put(Flush(self.beaten, last=False))

    def beaten(self) -> None:
        self.beating_since = None

    def is_stuck(self, limit_s: float) -> bool:
        """Whether the thread does not answer. A thread that waits for the disk is not stuck."""
        since = self.beating_since
        return since is not None and self.committing_s is None and time.monotonic() - since > limit_s

    @property
    def committing_s(self) -> float | None:
        """The age of the present commit."""
        since = self.recording.committing_since
        return None if since is None else round(time.monotonic() - since, 3)

    async def close(self) -> None:
        """End the thread. A thread that the disk blocks is left after CLOSE_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self.flush(last=True)
        if self.timer is not None:
            self.timer.cancel()
        await asyncio.to_thread(self.thread.join, CLOSE_S)

    def abandon(self) -> None:
        """End the thread before its first commit: the journal is damaged."""
        self.queue.put(Flush(lambda: None, last=True))
        self.thread.join(CLOSE_S)

    def recorded(self, result: BatchResult) -> None:
        for item in result.items:
            if isinstance(item, (Entry, Flush)) and item.done is not None:
                try:
                    item.done()
                except Exception:  # the border of a table: the other tables have their results
                    LOG.exception("the effects of a committed Step were not sent; report this log")
        self.waiting -= result.weight
        if self.waiting < ROOM:
            self.has_room.set()
        if self.on_commit is not None and result.seconds is not None:
            self.on_commit(result.seconds)
        for table, error in result.failures.items():
            self.stopped(table, error)
        if (since := self.hanging_since) is not None:
            self.after_hang(result, time.monotonic() - since)
        if result.is_available:
            for table in [each for each in self.stops if each in self.tables]:
                self.tables[table].journal_available()

    # --- stops

    def stop(self, table: str, error: JournalError) -> None:
        """Record no further Step of the table, until the disk works: its record cannot be read."""
        self.queue.put(Halt(table))
        self.stopped(table, error)

    def stopped(self, table: str, error: JournalError) -> None:
        self.stops[table] = error
        if table in self.tables:
            self.tables[table].journal_failed(error)
        if self.on_change is not None:
            self.on_change()

    def resume(self, table: str) -> None:
        """Record the following Steps of the table. The disk may refuse them again."""
        self.stops.pop(table, None)
        self.queue.put(Resume(table))
        if self.on_change is not None:
            self.on_change()

    def forget(self, table: str) -> None:
        """The table is removed. Another table of this name may be added later."""
        self.tables.pop(table, None)
        if table in self.stops:
            self.resume(table)

    # --- hangs

    def after_hang(self, result: BatchResult, seconds: float) -> None:
        """After a failed commit, the hang continues for the tables whose Steps wait for the next one."""
        if result.seconds is None and not result.is_available:
            return
        has_failed = any(isinstance(error, CommitFailed) for error in result.failures.values())
        end = "the commit has failed" if has_failed else "the disk accepts commits"
        LOG.warning("%s: %s after %.1f s", self.store.path, end, seconds)
        if not has_failed:
            self.hanging_since = None
            self.changed()

    def look(self) -> None:
        """Look for a hang, and look again while something waits."""
        self.timer = None
        age = self.committing_s
        if age is None and not self.waiting:
            return
        if age is None or age < HANG_S:
            self.timer = self.loop.call_later(HANG_S - (age or 0), self.look)
        elif self.hanging_since is None:
            self.hanging_since = time.monotonic() - age
            LOG.warning("%s: a commit is not complete after %.0f s; check the disk", self.store.path, age)
            self.changed()

    def changed(self) -> None:
        for table in list(self.tables.values()):
            table.journal_changed()
        if self.on_change is not None:
            self.on_change()
