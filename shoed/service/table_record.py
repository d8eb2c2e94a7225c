"""The recording of a table: it stops when the journal fails, and it continues by itself.

Theory of operation: the writer reports that it cannot record the Steps of the table. Then the table has its last
committed state, takes no input, closes its links, and refuses commands; its status is offline, with the reason. When
the disk works again, the state is restored from the journal, as after a restart: a commit that SQLite reported as
failed may be in the file. The first Steps record the settings and the end of each link, with the times of the stop.
After their commit the table opens its links, and the rules of continuity apply.
"""

import asyncio
import logging
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, Never

import msgspec
from msgspec.structs import replace

from shoed.engine import EngineState
from shoed.errors import CommitFailed, JournalDamaged, JournalError, JournalUnusable, TableUnrecorded
from shoed.journal.verify import verified_events
from shoed.model.moments import rfc3339
from shoed.model.step import LinkDown
from shoed.ports.clock import now
from shoed.ports.threads import off_loop
from shoed.session import SessionState

if TYPE_CHECKING:
    from shoed.service.desk import Desk

LOG: Final = logging.getLogger("shoed")

CLOSED: Final = "the journal cannot be written"
GAP: Final = "the journal could not be written from {since} to {until}"
AGAIN: Final = "journal available again; it could not be written from {since} to {until}"
HANGS: Final = "journal waits: a commit has begun at {since} and is not complete; check the disk"


class StoppedBy(msgspec.Struct, frozen=True):
    """The error, and the time of the first Step that is not recorded."""

    error: str
    since_us: int

    @property
    def reason(self) -> str:
        return f"journal failed: {self.error}"


def stopped_by(error: JournalError, before: StoppedBy | None) -> StoppedBy:
    """A stopped table keeps the error of its commit, if it cannot be read either."""
    if before is None:
        return StoppedBy(str(error), now().utc_us)
    return before if isinstance(error, JournalUnusable) else StoppedBy(str(error), before.since_us)


class TableRecord:
    def __init__(self, desk: "Desk") -> None:
        self.desk = desk
        self.stopped: StoppedBy | None = None
        self.end: TableUnrecorded | None = None
        self.offline_since_us: int | None = None  # the table has published a stop or a hang
        self.is_going = asyncio.Event()
        self.is_going.set()
        self.is_available = False
        self.news = asyncio.Event()

    @property
    def reason(self) -> str | None:
        """Why the table is not recorded at present; None: it is, or it has ended."""
        if self.stopped is not None:
            return self.stopped.reason
        since_us = self.hanging_since_us
        return None if since_us is None else HANGS.format(since=rfc3339(since_us))

    @property
    def error(self) -> JournalError | None:
        """The reason why the last Steps were not recorded; None: they were."""
        return self.end if self.stopped is None else CommitFailed(self.stopped.error)

    @property
    def failure(self) -> str | None:
        """Why the journal fails for this table."""
        if isinstance(self.end, JournalDamaged):
            return self.ended
        return None if self.stopped is None else self.stopped.reason

    @property
    def ended(self) -> str:
        """The reason of a table that cannot be recorded any more."""
        return f"{'journal' if isinstance(self.end, JournalDamaged) else 'table'} failed: {self.end}"

    @property
    def hanging_since_us(self) -> int | None:
        since = self.desk.writer.hanging_since
        return None if since is None else now().utc_us - round((monotonic() - since) * 1e6)

    # --- calls of the writer

    def journal_failed(self, error: JournalError) -> None:
        desk = self.desk
        if isinstance(error, TableUnrecorded):
            desk.is_usable = False
            self.end = error
        else:
            self.stopped = stopped_by(error, self.stopped)
            self.is_going.clear()
            desk.refuse_pending(self.stopped.reason, taken=True)
            LOG.error("%s: the table stops, and then continues by itself: %s", desk.name, error)
        desk.state = replace(desk.state, table=desk.committed)
        self.journal_changed()
        self.news.set()
        if desk.stepped is not None:  # a reload that waits for the end of the round
            desk.stepped()

    def journal_available(self) -> None:
        self.is_available = True
        self.news.set()

    def journal_changed(self) -> None:
        """Publish the reason, or that the journal is available again."""
        publisher, reason = self.desk.publisher, self.reason
        if reason is not None:
            if self.offline_since_us is None:
                self.offline_since_us = self.hanging_since_us if self.stopped is None else self.stopped.since_us
            publisher.stand(reason)
        elif self.offline_since_us is not None:
            since, until = rfc3339(self.offline_since_us), rfc3339(now().utc_us)
            self.offline_since_us = None
            publisher.stand(None, AGAIN.format(since=since, until=until))

    # --- the task

    async def run(self) -> Never:
        """Close the links at a stop, and resume; raise the error that ends the table."""
        while True:
            await self.news.wait()
            self.news.clear()
            if self.end is not None:
                raise self.end
            if self.stopped is not None:
                await asyncio.gather(*(each.stop(CLOSED) for each in self.desk.devices.values()))
            if self.stopped is not None and self.is_available:
                self.is_available = False
                await self.resume(self.stopped)

    async def resume(self, stopped: StoppedBy) -> None:
        desk, writer = self.desk, self.desk.writer
        try:
            state = await off_loop(partial(self.read, desk.publisher.acknowledged))
        except JournalError as error:
            writer.stop(desk.name, error)
            return
        writer.resume(desk.name)
        desk.state, desk.committed = desk.engine.fitted(state), state.table
        desk.publisher.messages = desk.messages()
        desk.publisher.continue_at(state.table)
        at = now()
        gap = GAP.format(since=rfc3339(stopped.since_us), until=rfc3339(at.utc_us))
        desk.fold(desk.configured(running=True), at)
        for device in desk.devices:
            desk.fold(LinkDown(gap, device=device), at)
        await writer.flush()
        if desk.name in writer.stops:
            return
        LOG.warning("%s: the table continues: %s", desk.name, gap)
        self.stopped = desk.continued = None
        self.journal_changed()
        self.is_going.set()
        for each in desk.devices.values():
            each.start(desk.tasks)

    def read(self, acknowledged: int) -> EngineState[SessionState]:
        """In a thread: the state of the record. The events that wait for the broker must be readable."""
        self.desk.read_words()
        state = self.desk.restored(self.desk.store)
        with self.desk.store.read() as reader:
            verified_events(reader, self.desk.name, acknowledged, min(acknowledged + 1, state.table.sequence))
        return state
