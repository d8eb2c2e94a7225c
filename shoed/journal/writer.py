"""The only writer of the journal: a thread that commits all waiting Steps of all tables together.

Theory of operation: `submit` queues a Step with the state after it. The thread takes the queued Steps, writes them in
one transaction, and then runs their callbacks on the event loop. A Step without a result (more bytes of a frame, a
copy) and a move of a cursor wait for the next commit, at most RIDE_S. A failed commit is final: its Steps are never
published, and `failed` has the error.
"""

import asyncio
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from typing import Final

import msgspec

from shoed.errors import CommitFailed, JournalError
from shoed.journal.commit import Committer, Entry
from shoed.journal.head_log import HeadLog
from shoed.journal.keys import SigningKey
from shoed.journal.store import Store
from shoed.model.step import Step

RIDE_S: Final = 1.0  # the longest time that a Step without a result is in memory only
RIDERS: Final = 256  # the highest number of such Steps in memory
ROOM: Final = 1024  # Steps and observations that wait for the disk before a table waits: bounds the memory

CLOSE_S: Final = 5.0
BUSY_S: Final = 20.0  # the wait for another program that locks the file, before the commit fails
REMEDY: Final = "free space on the disk, repair it, or end the program that locks the journal"

LOG: Final = logging.getLogger("shoed.journal")


class CursorMove(msgspec.Struct):
    table: str
    sequence: int


class Flush(msgspec.Struct):
    done: Callable[[], None]
    last: bool


Item = Entry | CursorMove | Flush


class Writer:
    def __init__(self, store: Store, engine: int, key: SigningKey | None = None) -> None:
        self.store = store
        self.engine = engine
        self.key = key
        self.head_log = HeadLog(store.path.parent)
        self.loop = asyncio.get_running_loop()
        self.failed: asyncio.Future[JournalError | None] = self.loop.create_future()
        self.has_room = asyncio.Event()
        self.has_room.set()
        self.waiting = 0
        self.committing_since: float | None = None  # monotonic
        self.beating_since: float | None = None  # monotonic, for the watchdog: the thread has not answered since
        self.on_commit: Callable[[float], None] | None = None  # receives the duration of each commit in seconds
        self.queue: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.run, name="journal", daemon=True)
        self.thread.start()

    # --- on the loop

    def submit(self, table: str, step: Step, state: msgspec.Struct, done: Callable[[], None] | None) -> None:
        """Queue a Step. `done` runs on the event loop after its commit. The order of calls is the order of commits."""
        self.check()
        self.waiting += weight(step)
        if self.waiting >= ROOM:
            self.has_room.clear()
        self.queue.put(Entry(table, step, state, done))

    def move_cursor(self, table: str, sequence: int) -> None:
        self.queue.put(CursorMove(table, sequence))

    async def flush(self, *, last: bool = False) -> None:
        """Return when all submitted Steps are committed; raise if the journal failed."""
        flushed: asyncio.Future[JournalError | None] = self.loop.create_future()
        self.queue.put(Flush(partial(flushed.set_result, None), last))
        await asyncio.wait([flushed, self.failed], return_when=asyncio.FIRST_COMPLETED)
        self.check()

    def beat(self) -> None:
        """Request an answer of the thread, unless the last one is due. It follows all earlier commits."""
        if self.beating_since is None:
            self.beating_since = time.monotonic()
            self.queue.put(Flush(self.beaten, last=False))

    def beaten(self) -> None:
        self.beating_since = None

    @property
    def committing_s(self) -> float | None:
        """The age of the present commit."""
        since = self.committing_since
        return None if since is None else round(time.monotonic() - since, 3)

    def check(self) -> None:
        failure = self.failed.result() if self.failed.done() else None
        if failure is not None:
            raise failure

    async def close(self) -> None:
        """End the thread, also after a failure. A thread that the disk blocks is left after CLOSE_S."""
        if self.failed.done():
            self.queue.put(Flush(lambda: None, last=True))
        else:
            await self.flush(last=True)
        await asyncio.to_thread(self.thread.join, CLOSE_S)

    def committed(self, batch: list[Item], seconds: float | None) -> None:
        if self.on_commit is not None and seconds is not None:
            self.on_commit(seconds)
        self.waiting -= sum(weight(item.step) for item in batch if isinstance(item, Entry))
        if self.waiting < ROOM:
            self.has_room.set()
        for item in batch:
            if not isinstance(item, CursorMove) and item.done is not None:
                try:
                    item.done()
                except Exception:  # the border of a table: the other tables have their results
                    LOG.exception("the effects of a committed Step were not sent; report this log")

    def fail(self, error: JournalError) -> None:
        """The journal cannot be used any more. The first error counts."""
        if not self.failed.done():
            self.failed.set_result(error)
        self.has_room.set()

    # --- in the thread

    def run(self) -> None:
        try:
            with closing(self.store.connect()) as connection:
                connection.execute(f"PRAGMA busy_timeout = {BUSY_S * 1000:.0f}")
                self.serve(Committer(connection, self.engine, self.key))
        except sqlite3.Error as error:
            self.loop.call_soon_threadsafe(self.fail, self.failure(error, REMEDY))
        except Exception as error:  # the border of the thread: every error must end the recording
            LOG.exception("a Step cannot be recorded; restart shoed, and report this log")
            self.loop.call_soon_threadsafe(
                self.fail, self.failure(error, "restart shoed, and report this defect with the log")
            )

    def failure(self, error: Exception, remedy: str) -> CommitFailed:
        return CommitFailed(f"{self.store.path}: the commit failed, and shoed publishes no events: {error}; {remedy}")

    def serve(self, committer: Committer) -> None:
        last = False
        while not last:
            batch = self.gather()
            self.committing_since = began = time.monotonic()
            writes = not all(isinstance(item, Flush) for item in batch)
            if writes:
                entries = [item for item in batch if isinstance(item, Entry)]
                cursors = {item.table: item.sequence for item in batch if isinstance(item, CursorMove)}
                committer.commit(entries, cursors)
            self.committing_since = None
            self.loop.call_soon_threadsafe(self.committed, batch, time.monotonic() - began if writes else None)
            last = any(isinstance(item, Flush) and item.last for item in batch)
            if last:
                committer.sign_ends()
            self.head_log.append(committer.taken_heads())

    def gather(self) -> list[Item]:
        """The queued items, as soon as one of them is urgent, or after RIDE_S."""
        batch = [self.queue.get()]
        until = time.monotonic() + RIDE_S
        urgent = is_urgent(batch[0])
        with suppress(queue.Empty):
            while True:
                item = self.queue.get(timeout=0 if urgent else max(0, until - time.monotonic()))
                urgent = urgent or is_urgent(item) or len(batch) >= RIDERS
                batch.append(item)
        return batch


def weight(step: Step) -> int:
    return 1 + len(step.observations)


def is_urgent(item: Item) -> bool:
    return isinstance(item, Flush) or (isinstance(item, Entry) and item.step.urgent)
