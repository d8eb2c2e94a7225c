"""The publisher of one table: reads the journal from a cursor, and publishes its events in order.

Theory of operation. After every CONNACK the publisher sends the birth: status, state, question, and then the events
that the broker has not acknowledged, in order. After the birth, a commit, an acknowledgement or the end of the
connection sets `news`, which wakes the publisher. If the last committed Step follows the last sent event, its events
are published from memory; all others are read from the journal. The publisher keeps only unacknowledged events in
memory, so memory stays bounded with a slow broker. The cursor is the sequence number of the last acknowledged event. A
later commit writes the cursor. After a crash the publisher sends the events after the cursor again, with the same id
and the same data. The publisher sends the state after the events, when no new event is committed for STATE_AFTER_S. It
sends the newest signed head after the state, when the broker has acknowledged the events that the head covers.

`finish` and `complete` end the publisher after the last committed event. Without a connection, `finish` ends it at
once, and the rest waits for the next start; `complete` connects until the broker has everything.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from functools import partial
from typing import Final, Protocol

import msgspec

from shoed.bus.client import Connection, MqttMessage, connect
from shoed.bus.messages import Presence, StatusMessage, TableMessages
from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerRefused, BusError, JournalError, RowAltered
from shoed.journal import Reader, Store, StoredEvent, Writer
from shoed.journal.heads import HEAD_MOMENTS, newest_head
from shoed.journal.incarnations import Outside, missing
from shoed.journal.rows import text
from shoed.journal.verify import verified_events
from shoed.model.events import Event
from shoed.model.moments import rfc3339
from shoed.ports.clock import now
from shoed.ports.link import backoff_s
from shoed.table import PublicQuestion, TableState, public_question, public_state

LOG: Final = logging.getLogger("shoed.bus")

STATE_AFTER_S: Final = 0.02  # one state for a burst of events
BACKOFF_MOST_S: Final = 5.0  # short enough to find a restarted broker soon, long enough for many tables
SETTLED_S: Final = 5.0  # a shorter connection counts as a failure, so a broker that refuses events gets few attempts


class RetainedState(msgspec.Struct, frozen=True):
    """The part of a retained state that names its last event."""

    sequence: str
    journal: str | None = None  # absent in the state of an earlier version, as the next two
    incarnation: str | None = None
    time: str | None = None
    shoe: int | None = None
    round: int | None = None


def outside_of(payload: bytes | None) -> Outside | None:
    """The last event of a retained state; None if the state does not name it."""
    with suppress(msgspec.DecodeError, ValueError):
        state = msgspec.json.decode(payload or b"", type=RetainedState)
        if state.journal and state.incarnation:
            return Outside(
                state.journal, state.incarnation, int(state.sequence), state.time, state.shoe or 0, state.round or 0
            )
    return None


class EventCounts(Protocol):
    """Counts the events of a table. It outlives a publisher: a reload may replace the broker."""

    def published(self) -> None:
        """One event was sent; a repetition counts again."""

    def acknowledged(self, sequence: int, count: int) -> None:
        """The broker has acknowledged every event up to this sequence number; `count` of them are new."""


class Publisher:
    def __init__(  # noqa: PLR0913, PLR0917 -- the parts of a publisher
        self,
        messages: TableMessages,
        broker: BrokerSettings,
        store: Store,
        writer: Writer,
        counts: EventCounts,
        tail_lost: Callable[[Outside], Awaitable[None]],
    ) -> None:
        self.messages = messages
        self.broker = broker
        self.store = store
        self.writer = writer
        self.news = asyncio.Event()
        self.offline_reason: str | None = "not connected yet"
        self.births = 0
        self.final_reason: str | None = None  # the reason of the last status; None: the publisher continues
        self.leaving = asyncio.Event()  # end without a connection
        self.is_readable = True  # the journal
        self.busy_since: float | None = None  # on the event loop's clock; None: idle
        self.under_way: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.acknowledged = 0  # the last acknowledged event
        with suppress(JournalError), closing(store.read()) as reader:  # `work` reads it again, and reports the error
            self.acknowledged = reader.cursor(messages.table)
        self.progress = asyncio.Event()  # `acknowledged` has changed
        self.counts = counts
        self.tail_lost = tail_lost  # begins an incarnation of the journal; sets `messages`
        self.logged_reason = ""  # the last logged reason
        self.stale = True  # the broker does not have the newest state
        self.question: PublicQuestion | None = None  # the question that the broker has
        self.newest: tuple[Event, ...] = ()  # of the last committed Step with events
        self.state: TableState | None = None  # after the last committed Step; None: unknown, because a row was changed
        self.on_altered: Callable[[RowAltered], None] | None = None  # receives the error of a row that differs
        self.head_due = True  # the broker may not have the newest head

    def committed(self, events: tuple[Event, ...], state: TableState) -> None:
        self.state = state
        self.newest = events or self.newest
        self.head_due = self.head_due or any(isinstance(event.data, HEAD_MOMENTS) for event in events)
        self.stale = True
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
            except RowAltered as error:  # only the status can still be published
                self.is_readable = False
                if self.on_altered is not None:
                    self.on_altered(error)
                self.finish(f"table failed: {error}")
                continue
            except JournalError as error:  # as above, for all tables
                self.writer.fail(error)
                self.is_readable = False
                self.finish(f"journal failed: {error}")
                continue
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
                if self.is_readable:
                    with closing(self.store.read()) as reader:
                        await self.work(connection, reader, birth)
            except BrokerRefused as refusal:  # of one message: the broker still accepts the status
                await connection.publish(self.status(Presence.OFFLINE, str(refusal), birth))
                await connection.close()  # otherwise the will would replace this reason by "connection lost"
                raise
            await connection.publish(self.status(Presence.OFFLINE, self.final_reason or "", birth))

    def status(self, presence: Presence, reason: str, birth: str) -> MqttMessage:
        return self.messages.status(StatusMessage(presence, reason, birth, self.messages.version))

    async def work(self, connection: Connection, reader: Reader, birth: str) -> None:
        """Publish the birth, then the events until the end."""
        await self.compare(connection, reader)
        self.acknowledged = max(self.acknowledged, reader.cursor(self.messages.table))
        boundary = reader.last_sequence(self.messages.table)
        reason = "reconnected" if self.births else "started"
        presence = Presence.ONLINE if self.final_reason is None else Presence.OFFLINE  # the rest of an ended table
        await connection.probe(self.status(presence, self.final_reason or reason, birth))
        if self.state is not None:
            self.question = self.open_question(self.state)
            await connection.publish(self.shown(self.state))
            await connection.publish(self.messages.question(self.question))
        self.head_due = True
        self.births += 1
        self.offline_reason = None
        LOG.info("%s: %s at %s", self.messages.table, reason, self.broker.at)
        ended = connection.lost()
        ended.add_done_callback(self.wake)
        try:
            await self.serve(connection, reader, boundary, ended)
        finally:
            ended.cancel()
            self.under_way.clear()

    async def compare(self, connection: Connection, reader: Reader) -> None:
        """Compare the retained state with the journal, before the birth replaces it.

        The retained state includes the last event that subscribers have. If the journal does not have this event, no
        further event can have the same word. Only the first connection decides: later ones find the state of this
        process, or of another shoed that publishes the same table.
        """
        payload = await connection.retained(self.messages.state_topic)
        outside = outside_of(payload)
        if outside is None:
            return
        if not self.births:
            if missing(reader, self.messages.table, outside):
                await self.tail_lost(outside)
        elif outside.word not in {each.word for each in self.messages.words}:
            LOG.warning(
                "%s: another shoed published the state of this table (%s-%s-%d); stop that shoed, or give each site"
                " its own name",
                *(self.messages.table, outside.word, self.messages.table, outside.sequence),
            )

    async def serve(self, connection: Connection, reader: Reader, boundary: int, ended: asyncio.Future[None]) -> None:
        """Publish committed events and states until `leave`; raise when the connection is lost."""
        sent = self.acknowledged
        proven = False  # whether the broker publishes our events; under MQTT 3.1.1 only a probe can prove it
        while True:
            self.news.clear()
            if ended.done():
                ended.result()
            self.reap()
            events = self.unsent(reader, sent, connection.window - connection.unacknowledged)
            for event in events:
                message = self.messages.event(event, historical=event.sequence <= boundary)
                self.counts.published()
                if not proven:
                    self.begin()
                    await connection.probe(message)
                    self.advance(event.sequence)
                    proven = True
                else:
                    self.track(event.sequence, connection.send(message))
                sent = event.sequence
            if events:
                continue
            if self.under_way:
                await self.news.wait()
                continue
            self.busy_since = None
            if self.stale:
                await self.publish_state(connection, sent)
            elif self.head_due:
                self.publish_head(connection, reader, sent)
            elif self.final_reason is not None:
                return
            else:
                await self.news.wait()

    def unsent(self, reader: Reader, sent: int, limit: int) -> list[StoredEvent]:
        """The next committed events after `sent`."""
        newest, self.newest = self.newest, ()
        if newest and newest[0].sequence == sent + 1 and len(newest) <= limit:
            return [StoredEvent(each.sequence, each.type, each.utc_us, text(each.data)) for each in newest]
        return verified_events(reader, self.messages.table, sent, limit)

    async def publish_state(self, connection: Connection, sent: int) -> None:
        """Publish the state when there is no news for STATE_AFTER_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0 if self.final_reason else STATE_AFTER_S):
                await self.news.wait()
            return
        state = self.state
        if state is None:
            self.stale = False
        elif state.sequence <= sent:  # otherwise there are newer events, which are published first
            self.stale = False
            acknowledged = connection.send(self.shown(state))
            self.track(sent, acknowledged)
            question = self.open_question(state)
            if question != self.question:
                self.question = question
                if connection.unacknowledged >= connection.window:  # a broker with a Receive Maximum of 1
                    await asyncio.wait((acknowledged,))
                self.track(sent, connection.send(self.messages.question(question)))

    def publish_head(self, connection: Connection, reader: Reader, sent: int) -> None:
        """Publish the newest head. With newer events, it is due again after them."""
        self.head_due = False
        head = newest_head(reader, self.messages.table)
        if head is not None and head.sequence <= sent:
            settled = asyncio.get_running_loop().create_future()
            self.track(sent, settled)
            connection.send(self.messages.head(head)).add_done_callback(partial(self.settle_head, settled))

    def settle_head(self, settled: asyncio.Future[None], acknowledged: asyncio.Future[None]) -> None:
        """An access list of an earlier version may deny the topic: the events continue."""
        error = acknowledged.exception()
        if isinstance(error, BrokerRefused):
            LOG.warning("%s: %s; the events are published", self.messages.table, error)
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

    def track(self, sequence: int, acknowledged: asyncio.Future[None]) -> None:
        self.begin()
        acknowledged.add_done_callback(self.wake)
        self.under_way.append((sequence, acknowledged))

    def reap(self) -> None:
        """Process the acknowledgements in order. A failed acknowledgement ends the connection."""
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
