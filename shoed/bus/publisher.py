"""One table's publisher: reads the journal by cursor and tells the broker, in order.

Theory of operation. After every CONNACK comes the birth: status, state, question, then what the
broker has not yet acknowledged, in order. From then on `news` wakes the publisher: a commit, an
acknowledgement, the end of the connection. It keeps no event in memory but those under way, so a
slow broker costs nothing but time. The cursor follows the acknowledgements and rides on a later
commit; what it lags behind is told again after a crash, under the same id and with the same data.
The state goes out when the events are out and nothing new came for a moment.
"""

import asyncio
import logging
import random
from collections import deque
from contextlib import closing, suppress
from typing import Final

import msgspec

from shoed.bus.client import Connection, Message, connect
from shoed.bus.messages import Presence, Status, Voice
from shoed.bus.settings import BrokerSettings
from shoed.errors import BrokerRefused, BusError, JournalError
from shoed.journal import Reader, Store, Writer
from shoed.now import rfc3339
from shoed.ports.clock import now
from shoed.ports.link import backoff_s
from shoed.table import PublicQuestion, TableState, public_question, public_state

LOG: Final = logging.getLogger("shoed.bus")

STATE_AFTER_S: Final = 0.02  # off the way of the events: a burst of them gives one state
BACKOFF_MOST_S: Final = 5.0  # a broker's restart is noticed soon enough, and not stormed by many tables
SETTLED_S: Final = 5.0  # a connection that lived shorter was hardly one: a broker that takes no event is not stormed


class Checkpointed(msgspec.Struct):
    """The part of a checkpoint that the world sees."""

    table: TableState


class Publisher:
    def __init__(self, voice: Voice, broker: BrokerSettings, store: Store, writer: Writer) -> None:
        self.voice = voice
        self.broker = broker
        self.store = store
        self.writer = writer
        self.news = asyncio.Event()
        self.trouble: str | None = "not connected yet"
        self.births = 0
        self.farewell: str | None = None  # once set: why we say goodbye
        self.leaving = asyncio.Event()
        self.busy_since: float | None = None  # on the loop's clock; None: nothing to do
        self.under_way: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.acknowledged: int | None = None  # the last event that the broker has; None: not looked up yet
        self.progress = asyncio.Event()  # `acknowledged` is another one
        self.complaint = ""  # the last trouble that was logged
        self.stale = True  # the state that the broker has is not ours
        self.question: PublicQuestion | None = None  # as the broker has it

    def committed(self) -> None:
        self.stale = True
        self.news.set()

    async def caught_up(self, sequence: int) -> None:
        """Return when the broker has every event up to this one."""
        while (self.acknowledged or 0) < sequence:
            self.progress.clear()
            await self.progress.wait()

    def leave(self, reason: str) -> None:
        """Say goodbye once all that is committed is told."""
        self.farewell = self.farewell or reason
        self.leaving.set()
        self.news.set()

    async def run(self) -> None:
        """Connect, be born, publish; again and again, until it has said goodbye."""
        rng = random.Random()  # noqa: S311 -- jitter
        failures, loop = 0, asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self.live()
            except BusError as error:
                self.trouble = str(error)
                if self.complaint != self.trouble:
                    LOG.warning("%s: %s", self.voice.table, error)
                    self.complaint = self.trouble
            except JournalError as error:  # nothing more can be told, but that
                self.writer.fail(error)
                self.leave(f"journal failed: {error}")
                continue
            else:
                return
            self.busy_since = None
            failures = 0 if loop.time() - began >= SETTLED_S else failures + 1
            with suppress(TimeoutError):
                async with asyncio.timeout(backoff_s(failures, rng, BACKOFF_MOST_S)):
                    await self.leaving.wait()
                    return  # nobody hears a goodbye

    async def live(self) -> None:
        """One connection, from birth to farewell or loss."""
        self.begin()
        birth = rfc3339(now().utc_us)
        will = self.status(Presence.OFFLINE, "connection lost", birth)
        async with connect(self.broker, self.voice.client_id, will) as connection:
            try:
                if self.farewell is None:
                    with closing(self.store.read()) as reader:
                        await self.work(connection, reader, birth)
            except BrokerRefused as refusal:  # of one message: the broker still takes this one
                await connection.publish(self.status(Presence.OFFLINE, str(refusal), birth))
                await connection.close()  # or the will would say that the connection was lost
                raise
            await connection.publish(self.status(Presence.OFFLINE, self.farewell or "", birth))

    def status(self, presence: Presence, reason: str, birth: str) -> Message:
        return self.voice.status(Status(presence, reason, birth, self.voice.version))

    async def work(self, connection: Connection, reader: Reader, birth: str) -> None:
        """Be born, and tell until it is time to go."""
        if self.acknowledged is None:
            self.acknowledged = reader.cursor(self.voice.table)
            self.progress.set()
        boundary = reader.last_sequence(self.voice.table)
        reason = "reconnected" if self.births else "started"
        await connection.probe(self.status(Presence.ONLINE, reason, birth))
        state = self.state(reader)
        self.question = public_question(
            self.voice.game, state, insurance=self.voice.insurance, custom=self.voice.custom
        )
        await connection.publish(self.shown(state))
        await connection.publish(self.voice.question(self.question))
        self.births += 1
        self.trouble = None
        LOG.info("%s: %s at %s", self.voice.table, reason, self.broker.at)
        ended = connection.lost()
        ended.add_done_callback(self.wake)
        try:
            await self.serve(connection, reader, boundary, ended)
        finally:
            ended.cancel()
            self.under_way.clear()

    async def serve(self, connection: Connection, reader: Reader, boundary: int, ended: asyncio.Future[None]) -> None:
        """Tell what is committed until it is time to go; raises when the connection is gone."""
        sent = self.acknowledged or 0
        proven = False  # that it takes events: under 3.1.1 only their echo says so
        while True:
            self.news.clear()
            if ended.done():
                ended.result()
            self.reap()
            events = reader.events(self.voice.table, sent, connection.window - connection.unacknowledged)
            for event in events:
                message = self.voice.event(event, historical=event.sequence <= boundary)
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
                try:
                    async with asyncio.timeout(0 if self.farewell else STATE_AFTER_S):
                        await self.news.wait()
                except TimeoutError:
                    self.tell_state(connection, reader, sent)
            elif self.farewell is not None:
                return
            else:
                await self.news.wait()

    def tell_state(self, connection: Connection, reader: Reader, sent: int) -> None:
        state = self.state(reader)
        if state.sequence <= sent:  # else a commit came in between, and its events go first
            self.stale = False
            self.track(sent, connection.send(self.shown(state)))
            question = public_question(self.voice.game, state, insurance=self.voice.insurance, custom=self.voice.custom)
            if question != self.question:
                self.question = question
                self.track(sent, connection.send(self.voice.question(question)))

    def shown(self, state: TableState) -> Message:
        return self.voice.state(public_state(self.voice.game, state, insurance=self.voice.insurance))

    def state(self, reader: Reader) -> TableState:
        checkpoint = reader.checkpoint(self.voice.table)
        return msgspec.json.decode(checkpoint.state, type=Checkpointed).table if checkpoint else TableState()

    def track(self, sequence: int, acknowledged: asyncio.Future[None]) -> None:
        self.begin()
        acknowledged.add_done_callback(self.wake)
        self.under_way.append((sequence, acknowledged))

    def reap(self) -> None:
        """Take the acknowledgements, in order; one that failed ends the connection."""
        reached = 0
        try:
            while self.under_way and self.under_way[0][1].done():
                sequence, acknowledged = self.under_way.popleft()
                acknowledged.result()
                reached = sequence
        finally:
            self.advance(reached)

    def advance(self, sequence: int) -> None:
        """The broker has every event up to here."""
        if sequence > (self.acknowledged or 0):
            self.acknowledged = sequence
            self.progress.set()
            self.busy_since = asyncio.get_running_loop().time()  # a long backlog that moves is no standstill
            self.writer.move_cursor(self.voice.table, sequence)

    def wake(self, _: asyncio.Future[None]) -> None:
        self.news.set()

    def begin(self) -> None:
        if self.busy_since is None:
            self.busy_since = asyncio.get_running_loop().time()
