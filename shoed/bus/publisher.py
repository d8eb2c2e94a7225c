"""The publisher of one table: reads the journal from a cursor, and publishes its events in order.

Theory of operation. After every CONNACK the publisher sends the birth: status, state, question, and then the events
that the broker has not acknowledged, in order. After the birth, a commit, an acknowledgement or the end of the
connection sets `news`, which wakes the publisher. A commit while the publisher waits sends its events at once. The
cursor is the sequence number of the last acknowledged event. A later commit writes the cursor. After a crash the
publisher sends the events after the cursor again, with the same id and the same data. The publisher sends the state
directly after the events, and at most one state in STATE_EACH_S: after a crash, the retained state shows how far the
events were published. It sends the newest signed head after the state, when the broker has acknowledged the events that
the head covers.

While the journal cannot record the table, `stand` publishes the status `offline` with the reason, and committed events
are still published. If the journal cannot be read, the publisher stops the table, and continues with it.

`finish` and `complete` end the publisher after the last committed event. Without a connection, `finish` ends it at
once, and the rest waits for the next start; `complete` connects until the broker has everything.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

import msgspec

from shoed.bus.client import Connection, MqttMessage, connect
from shoed.bus.committed_events import CommittedEvents, EventCounts, Prepared, prepared
from shoed.bus.journal_reads import JournalReads
from shoed.bus.messages import Presence, StatusMessage, TableMessages
from shoed.bus.retained import outside_of, outside_of_head
from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerLost, BrokerRefused, BusError, JournalError
from shoed.journal import Store, StoredEvent, Writer
from shoed.journal.heads import Head, newest_head
from shoed.journal.incarnations import Outside, TailLoss, largest_loss
from shoed.model.moments import rfc3339
from shoed.model.step import Step
from shoed.ports.clock import now
from shoed.ports.link import backoff_s
from shoed.table import PublicQuestion, TableState, public_question, public_state

LOG: Final = logging.getLogger("shoed.bus")

STATE_EACH_S: Final = 0.02  # at most one state in this time, for a burst of events
BACKOFF_MOST_S: Final = 5.0  # short enough to find a restarted broker soon, long enough for many tables
SETTLED_S: Final = 5.0  # a shorter connection counts as a failure, so a broker that refuses events gets few attempts


class Born(msgspec.Struct):
    """The last published status of a connection, and the time of its birth."""

    status: tuple[Presence, str]
    birth: str


class Publisher:
    def __init__(  # noqa: PLR0913, PLR0917 -- the parts of a publisher
        self,
        messages: TableMessages,
        broker: BrokerSettings,
        store: Store,
        writer: Writer,
        counts: EventCounts,
        tail_lost: Callable[[TailLoss, Outside], Awaitable[None]],
    ) -> None:
        self.messages = messages
        self.broker = broker
        self.writer = writer
        self.news = asyncio.Event()
        self.offline_reason: str | None = "not connected yet"
        self.births = 0
        self.final_reason: str | None = None  # the reason of the last status; None: the publisher continues
        self.leaving = asyncio.Event()  # end without a connection
        self.standing: tuple[Presence, str] | None = None  # the status while the journal does not record, and after it
        self.is_readable = True  # the journal; otherwise the table is stopped
        self.is_compared = False  # with the retained state of the broker
        self.busy_since: float | None = None  # on the event loop's clock; None: idle
        self.reads = JournalReads(store, self.wake)
        self.events = CommittedEvents(messages.table, self.reads)
        self.under_way: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.acknowledged = 0  # the last acknowledged event
        self.progress = asyncio.Event()  # `acknowledged` has changed
        self.proven = False  # whether the broker publishes our events; under MQTT 3.1.1 only a probe can prove it
        self.counts = counts
        self.tail_lost = tail_lost  # begins an incarnation of the journal, if necessary; sets `messages`
        self.logged_reason = ""  # the last logged reason
        self.stale = True  # the broker does not have the newest state
        self.state_from = 0.0  # on the event loop's clock: the next state is not sent before
        self.question: PublicQuestion | None = None  # the question that the broker has
        self.table: TableState | None = None  # after the last committed Step; None: unknown, because a row was changed
        self.head_due = True  # the broker may not have the newest head
        self.refusal_level = logging.WARNING  # of the log, for the first head that the broker refuses
        self.head: Head | None = None  # to publish
        self.boundary = 0  # earlier events and this one are historical
        self.sent = 0  # the last event that was sent on this connection
        self.idle: Connection | None = None  # the connection, while the task waits for news

    def prepared(self, step: Step) -> Prepared:
        """Make the messages while the disk works, if they can be sent at once."""
        return prepared(step, self.messages, with_messages=self.idle is not None)

    def committed(self, step: Prepared, table: TableState) -> None:
        """Publish the events of a committed Step, and the state after it."""
        self.events.add(step.events)
        self.head_due = self.head_due or step.has_head
        self.table, self.stale = table, True
        if self.idle is not None and self.proven and not self.news.is_set():
            self.send_events(self.idle, step)  # at once: the task would need a turn of the event loop
        self.news.set()

    def continue_at(self, table: TableState) -> None:
        """Publish a state that no Step of this process made."""
        self.table, self.stale = table, True
        self.news.set()

    def stand(self, problem: str | None, remedied: str = "") -> None:
        """Publish the status `offline` with the problem of the journal, or `online` when it is remedied."""
        if problem is not None:
            self.standing = (Presence.OFFLINE, problem)
        elif self.standing is not None:
            self.standing, self.is_readable = (Presence.ONLINE, remedied), True
        self.news.set()

    async def caught_up(self, sequence: int) -> None:
        """Return when the broker has acknowledged every event up to this sequence number."""
        while self.acknowledged < sequence:
            self.progress.clear()
            await self.progress.wait()

    def finish(self, reason: str) -> None:
        """Publish all committed events, then the status `offline` with the first reason, and end."""
        self.complete(reason)
        self.leaving.set()

    def complete(self, reason: str) -> None:
        """As `finish`, and connect again until the broker has the status."""
        self.final_reason = self.final_reason or reason
        self.head_due = True  # of a clean stop
        self.news.set()

    async def run(self) -> None:
        """Connect and publish. After a loss, connect again. Return after the last status."""
        rng = random.Random()  # noqa: S311 -- jitter
        failures, loop = 0, asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self.publish_until_lost()
            except BusError as error:
                self.offline_reason = str(error)
                if self.logged_reason != self.offline_reason:
                    LOG.warning("%s: %s", self.messages.table, error)
                    self.logged_reason = self.offline_reason
            else:
                return
            self.busy_since = None
            failures = 0 if loop.time() - began >= SETTLED_S else failures + 1
            with suppress(TimeoutError):
                async with asyncio.timeout(backoff_s(failures, rng, BACKOFF_MOST_S)):
                    await self.leaving.wait()
                    return  # without a connection, the last status cannot be published

    async def publish_until_lost(self) -> None:
        """Publish on one connection, from the birth to the last status. Raise when the connection is lost."""
        try:
            await self.publish_on_one_connection()
        finally:
            self.busy_since = None  # also after an error, and after the last status

    async def publish_on_one_connection(self) -> None:
        self.begin()
        birth = rfc3339(now().utc_us)
        will = self.status(Presence.OFFLINE, "connection lost", birth)
        async with connect(self.broker, self.messages.client_id, will) as connection:
            try:
                await self.work(connection, birth)
            except BrokerRefused as refusal:  # of one message: the broker still accepts the status
                await connection.publish(self.status(Presence.OFFLINE, str(refusal), birth))
                await connection.close()  # otherwise the will would replace this reason by "connection lost"
                raise
            await connection.publish(self.status(Presence.OFFLINE, self.final_reason or "", birth))

    def status(self, presence: Presence, reason: str, birth: str) -> MqttMessage:
        return self.messages.status(StatusMessage(presence, reason, birth, self.messages.version))

    async def work(self, connection: Connection, birth: str) -> None:
        """Publish the birth, then the events until the end."""
        self.boundary = self.table.sequence if self.table is not None else 0
        reason = "reconnected" if self.births else "started"
        if self.standing is not None and self.standing[0] is Presence.ONLINE:
            self.standing = None
        status = self.standing or (Presence.ONLINE, reason)
        if self.final_reason is not None:  # the rest of an ended table
            status = (Presence.OFFLINE, self.final_reason)
        await connection.probe(self.status(*status, birth))
        born = Born(status, birth)
        if self.is_readable:
            await self.compare(connection, born)
        if self.is_compared and self.table is not None:
            self.question = self.open_question(self.table)
            await connection.publish(self.shown(self.table))
            await connection.publish(self.messages.question(self.question))
        self.head_due = True
        self.births += 1
        self.offline_reason = None
        LOG.info("%s: %s at %s", self.messages.table, reason, self.broker.at)
        ended = connection.lost()
        ended.add_done_callback(self.wake)
        self.events.stored.clear()
        try:
            await self.serve(connection, ended, born)
        finally:
            ended.cancel()
            self.under_way.clear()

    async def compare(self, connection: Connection, born: Born) -> None:
        """Compare the retained state and head with the journal, before the birth replaces them.

        The retained state includes the last event that subscribers have. If the journal does not have this event, no
        further event can have the same word. Only the first connection decides: later ones find the state of this
        process, or of another shoed that publishes the same table. If the journal cannot be read or written, the state
        is kept at the broker for the next connection.
        """
        state = outside_of(await connection.retained(self.messages.state_topic))
        if not self.is_compared:
            head = outside_of_head(await connection.retained(self.messages.head_topic))
            outside = [each for each in (head, state) if each is not None]
            found: list[tuple[TailLoss, Outside]] = []
            while outside and not found and self.is_readable:
                self.reads.ask(partial(largest_loss, table=self.messages.table, outside=outside), found.append)
                self.busy_since = None  # a disk that hangs is not a standstill of the broker
                await self.news.wait()
                self.news.clear()
                self.take_answer()
                if (status := self.new_status(born)) is not None:
                    await connection.publish(status)
            for each in found:
                await self.continue_journal(*each)
            self.is_compared = self.is_readable
            self.begin()
        elif state is not None and state.word not in {each.word for each in self.messages.words}:
            LOG.warning(
                "%s: another shoed published the state of this table (%s-%s-%d); stop that shoed, or give each site"
                " its own name",
                *(self.messages.table, state.word, self.messages.table, state.sequence),
            )

    async def continue_journal(self, loss: TailLoss, outside: Outside) -> None:
        try:
            await self.tail_lost(loss, outside)
        except JournalError as error:
            self.unreadable(error)

    async def serve(self, connection: Connection, ended: asyncio.Future[None], born: Born) -> None:
        """Publish committed events and states until `leave`; raise when the connection is lost."""
        self.sent = self.acknowledged
        self.proven = False
        while True:
            self.news.clear()
            self.reap(ended)
            if connection.room and (status := self.new_status(born)) is not None:
                self.track(connection.send(status))
            if self.proven:
                if self.send_events(connection):
                    continue
            elif events := self.unsent(min(1, connection.room)):
                await self.prove(connection, events[0])
                continue
            wait_s = self.until_state(connection)
            if wait_s is not None and wait_s <= 0:
                await self.publish_state(connection)
            elif self.under_way or wait_s is not None:
                if not self.under_way:
                    self.busy_since = None
                await self.some_news(connection, wait_s)
            elif await self.is_complete(connection):
                return

    async def is_complete(self, connection: Connection) -> bool:
        """After the state, publish the head, or wait for news. Return whether all is published."""
        self.busy_since = None
        if self.reads.present is not None:
            await self.some_news(connection)
        elif self.head_due and self.is_readable:
            self.head_due = False
            self.reads.ask(partial(newest_head, table=self.messages.table), self.keep_head)
        elif self.head is not None and self.head.sequence <= self.sent:  # otherwise it is due after newer events
            self.publish_head(connection, self.head)
        elif self.final_reason is None:
            await self.some_news(connection)
        else:
            return True
        return False

    async def some_news(self, connection: Connection, wait_s: float | None = None) -> None:
        """Wait for news, at most this time."""
        self.idle = connection
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self.news.wait()
        finally:
            self.idle = None

    def send_events(self, connection: Connection, step: Prepared | None = None) -> bool:
        """Send the next events for which the connection has room. Return whether there is one."""
        events = self.unsent(connection.room)
        messages = {} if step is None else step.messages_of(self.messages)
        for event in events:
            self.counts.published()
            acknowledged = connection.send(messages.get(event.sequence) or self.message_of(event))
            self.sent = event.sequence
            self.track(acknowledged)
        return bool(events)

    async def prove(self, connection: Connection, event: StoredEvent) -> None:
        """Publish the first event of a connection, and verify that the broker published it."""
        self.counts.published()
        self.begin()
        await connection.probe(self.message_of(event))
        self.sent = event.sequence
        self.advance(event.sequence)
        self.proven = True

    def message_of(self, event: StoredEvent) -> MqttMessage:
        return self.messages.event(event, historical=event.sequence <= self.boundary)

    def new_status(self, born: Born) -> MqttMessage | None:
        """The status of the journal, if the broker does not have it. The status of a table that ends is the last."""
        if self.standing is None or self.standing == born.status or self.final_reason is not None:
            return None
        born.status = self.standing
        return self.status(*born.status, born.birth)

    def unsent(self, limit: int) -> list[StoredEvent]:
        """The next committed events; empty if there is none, or while the journal is read."""
        if limit <= 0 or self.table is None or self.sent >= self.table.sequence or not self.is_readable:
            return []
        return self.events.after(self.sent, limit, self.table.sequence)

    def take_answer(self) -> None:
        """Process an answer of the journal that has arrived. If the journal cannot be read, the table stops."""
        try:
            self.reads.take()
        except JournalError as error:
            self.unreadable(error)

    def unreadable(self, error: JournalError) -> None:
        """Publish no further event until the table continues."""
        self.is_readable = False
        self.writer.stop(self.messages.table, error)

    def until_state(self, connection: Connection) -> float | None:
        """The seconds until the state is sent; None: the broker has the newest state."""
        if not self.stale or self.table is None or not self.is_readable:
            return None
        if self.table.sequence > self.sent or not connection.room:
            return STATE_EACH_S  # newer events are published first; an acknowledgement is news
        return 0.0 if self.final_reason else self.state_from - asyncio.get_running_loop().time()

    async def publish_state(self, connection: Connection) -> None:
        """Publish the state, and its question if that has changed."""
        state = self.table
        if state is None:
            return
        self.stale = False
        self.state_from = asyncio.get_running_loop().time() + STATE_EACH_S
        acknowledged = connection.send(self.shown(state))
        self.track(acknowledged)
        question = self.open_question(state)
        if question != self.question:
            self.question = question
            if not connection.room:  # a broker with a Receive Maximum of 1
                await asyncio.wait((acknowledged,))
            self.track(connection.send(self.messages.question(question)))

    def keep_head(self, head: Head | None) -> None:
        self.head = head

    def publish_head(self, connection: Connection, head: Head) -> None:
        self.head = None
        settled = asyncio.get_running_loop().create_future()
        self.track(settled)
        connection.send(self.messages.head(head)).add_done_callback(partial(self.settle_head, settled))

    def settle_head(self, settled: asyncio.Future[None], acknowledged: asyncio.Future[None]) -> None:
        """An access list of an earlier version may deny the topic: the events continue."""
        error = acknowledged.exception()
        if isinstance(error, BrokerRefused):
            LOG.log(self.refusal_level, "%s: %s; the events are published", self.messages.table, error)
            self.refusal_level = logging.DEBUG
        elif error is not None:
            settled.set_exception(error)
            settled.exception()  # marks the exception as retrieved, or asyncio would log it
            return
        settled.set_result(None)

    def shown(self, state: TableState) -> MqttMessage:
        return self.messages.state(public_state(self.messages.game, state, insurance=self.messages.insurance))

    def open_question(self, state: TableState) -> PublicQuestion | None:
        table = self.messages
        return public_question(table.game, state, insurance=table.insurance, custom=table.custom)

    def track(self, acknowledged: asyncio.Future[None]) -> None:
        self.begin()
        acknowledged.add_done_callback(self.wake)
        self.under_way.append((self.sent, acknowledged))

    def reap(self, ended: asyncio.Future[None]) -> None:
        """Process the acknowledgements in order. A failed acknowledgement ends the connection."""
        if ended.done():
            ended.result()
        self.take_answer()
        if self.is_readable and not self.is_compared:
            raise BrokerLost(f"{self.broker.at}: shoed connects again, to compare the retained state with the journal")
        reached = 0
        try:
            while self.under_way and self.under_way[0][1].done():
                sequence, acknowledged = self.under_way.popleft()
                acknowledged.result()
                reached = sequence
        finally:
            self.advance(reached)

    def advance(self, sequence: int) -> None:
        """Move the cursor: the broker has acknowledged every event up to this sequence number."""
        before = self.acknowledged
        if sequence > before:
            self.acknowledged = sequence
            self.counts.acknowledged(sequence, sequence - before)
            self.progress.set()
            self.busy_since = asyncio.get_running_loop().time()  # a long backlog with progress is not a standstill
            self.writer.move_cursor(self.messages.table, sequence)

    def wake(self, _: asyncio.Future[None]) -> None:
        self.news.set()

    def begin(self) -> None:
        if self.busy_since is None:
            self.busy_since = asyncio.get_running_loop().time()
