"""The only adapter over aiomqtt: one Connection object for one connection to the broker.

    async with connect(settings, client_id, will) as connection:
        await connection.probe(status)  # the first message: detects a missing permission, also under MQTT 3.1.1
        acknowledged = connection.send(message)  # written to the socket now, in the order of the calls
        await acknowledged  # BrokerRefused: the broker refuses this message; BrokerLost: the connection is lost
        await connection.lost()  # waits for the end of the connection and raises the reason

Theory of operation. Each connection has its own aiomqtt client, a clean session and QoS 1. The adapter does not queue
and does not send again. A caller sends at most `connection.room` messages, and sends unacknowledged messages again on
the next connection. The loss of the connection fails every waiting future immediately, with the reason. If an
acknowledgement is late, the adapter ends the connection.

If the body of `connect` ends normally, the adapter sends DISCONNECT, and the broker discards the will. If the body ends
by an exception or a cancellation, the adapter closes the socket without DISCONNECT, and the broker publishes the will.
A cancelled caller that wants to end normally publishes its last message and calls `close()` first.

aiomqtt makes the paho client and connects it to the event loop. The adapter uses the paho client directly for the rest.
The adapter makes the socket itself, because a cancelled connect of aiomqtt would leave a thread and a socket open, and
because aiomqtt reports TLS errors as text only. The adapter has its own callbacks for reason codes, disconnections and
writing, and its own timer for the keepalive. It uses private names in `Connection.__init__`, `_attach`, `_cut`,
`_keep_alive` and `drop`; a test checks these names.
"""

import asyncio
import logging
import math
import os
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from time import monotonic
from typing import Final, NamedTuple

import aiomqtt
from msgspec import Struct
from paho.mqtt.client import Client as Paho
from paho.mqtt.client import ConnectFlags, DisconnectFlags
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from shoed.bus.broker_socket import dial, password, speaks_tls
from shoed.bus.properties import content_type
from shoed.bus.reasons import FAILURE, cut, needs_tls, no_connack, refusal
from shoed.bus.settings import LIMITS, BrokerSettings, BrokerTimeLimits
from shoed.errors import BrokerLost, BrokerRefused, BusError

CLOUDEVENT: Final = "application/cloudevents+json; charset=utf-8"
JSON: Final = "application/json"

# Less than paho's limit of 20; above its limit paho queues messages. With a round trip of 10 ms this still allows 1000
# messages per second; a table deals a card every few seconds.
WINDOW: Final = 10

PING_CHECK_S: Final = 1.0  # the shortest time between two checks of the keepalive

LOG: Final = logging.getLogger("shoed.bus")
LIBRARY_LOG: Final = logging.getLogger("shoed.bus.library")
LIBRARY_LOG.setLevel(logging.CRITICAL)  # our errors contain the same information


class MqttMessage(Struct, frozen=True):
    topic: str
    payload: bytes
    retain: bool = False
    content_type: str | None = None  # MQTT 5 only


class _Pending(NamedTuple):
    acknowledged: asyncio.Future[None]
    topic: str
    deadline: float


@asynccontextmanager
async def connect(
    settings: BrokerSettings, client_id: str, will: MqttMessage | None, limits: BrokerTimeLimits = LIMITS
) -> AsyncIterator["Connection"]:
    """BrokerRefused: a person must change the configuration. BrokerLost: another attempt may succeed."""
    connection = Connection(settings, client_id, will, limits)
    try:
        await connection.open()
        yield connection
        await connection.close()
    finally:
        await connection.drop()


class Connection:
    def __init__(
        self, settings: BrokerSettings, client_id: str, will: MqttMessage | None, limits: BrokerTimeLimits
    ) -> None:
        self.window = WINDOW  # after CONNACK: the broker's Receive Maximum, if that is less
        self._settings = settings
        self._at = settings.at
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._accepted: asyncio.Future[None] = self._loop.create_future()  # by CONNACK
        self._pending: dict[int, _Pending] = {}  # by packet identifier, oldest first
        self._overdue_timer: asyncio.TimerHandle | None = None
        self._why: BusError | None = None  # the reason of the end of the connection
        self._is_unanswered = False  # the broker closed the connection without a CONNACK
        self._closed = False  # by close()
        self._watchers: set[asyncio.Future[None]] = set()
        self._hung_up = asyncio.Event()  # paho has closed the socket
        self._sending = False  # send() writes to the socket itself
        self._writer: int | None = None  # the descriptor, while the event loop waits until it is writable
        new = settings.version == "5"
        self._client = aiomqtt.Client(
            settings.host,
            settings.port,
            username=settings.user,
            password=password(settings),
            logger=LIBRARY_LOG,
            identifier=client_id,
            protocol=aiomqtt.ProtocolVersion.V5 if new else aiomqtt.ProtocolVersion.V311,
            will=None
            if will is None
            else aiomqtt.Will(
                will.topic, will.payload, 1, will.retain, self._properties(PacketTypes.WILLMESSAGE, will)
            ),
            clean_session=None if new else True,
            timeout=math.inf,  # `limits` has the time limits
            max_queued_incoming_messages=WINDOW,
        )
        # aiomqtt sets this future to an exception of its reader, and does not report it elsewhere.
        self._client._disconnected.add_done_callback(self._on_broken)  # noqa: SLF001
        self._client._misc_loop = self._keep_alive  # type: ignore[method-assign]  # noqa: SLF001
        self._paho = self._client._client  # noqa: SLF001
        self._paho.on_connect = self._on_connect
        self._paho.on_disconnect = self._on_disconnect
        self._paho.on_publish = self._on_publish
        self._paho.on_socket_register_write = lambda _paho, _userdata, line: self._on_register_write(line.fileno())
        self._paho.on_socket_unregister_write = lambda _paho, _userdata, _line: self._on_unregister_write()

    # ------------------------------------------------------------------------------------------ for callers

    @property
    def room(self) -> int:
        """The number of messages that can be sent now."""
        return self.window - len(self._pending)

    def send(self, message: MqttMessage) -> asyncio.Future[None]:
        """Write the message to the socket now. The future is done when the broker acknowledges the message.

        The caller may cancel or drop the future. The message counts as unacknowledged until its acknowledgement.
        """
        future: asyncio.Future[None] = self._loop.create_future()
        if self._why is not None:
            _fail(future, self._why)
            return future
        if len(self._pending) >= self.window:
            raise RuntimeError(f"{len(self._pending)} messages are unacknowledged: await an acknowledgement first")
        self._sending = True
        try:
            properties = self._properties(PacketTypes.PUBLISH, message)
            info = self._paho.publish(message.topic, message.payload, 1, message.retain, properties)
        finally:
            self._sending = False
        self._pending[info.mid] = _Pending(future, message.topic, self._loop.time() + self._limits.puback_s)
        if info.rc is not MQTTErrorCode.MQTT_ERR_SUCCESS:
            self._break(f"does not accept messages ({info.rc.name}); shoed connects again")
            return future
        self._paho.loop_write()
        line = self._paho.socket()
        if line is not None and self._paho.want_write():  # the kernel's buffer is full
            self._on_register_write(line.fileno())
        if self._overdue_timer is None:
            self._watch_oldest()
        return future

    async def publish(self, message: MqttMessage) -> None:
        await self.send(message)

    async def probe(self, message: MqttMessage) -> None:
        """Publish a message, and verify that the broker published it. Subscribers may receive the message twice.

        Under MQTT 5 the acknowledgement is the proof. Under MQTT 3.1.1 a broker acknowledges messages that it discards.
        Therefore `probe` subscribes to the topic and waits for its own message. If the message does not return, shoed
        has no permission to write, or no permission to read; the broker does not report which (mosquitto accepts every
        subscription and sends no messages for it). Both cases raise BrokerRefused: otherwise the events of a table
        would be lost. If the broker refuses the subscription, `probe` logs a warning and continues without a proof.
        """
        if self._settings.version == "5":
            await self.publish(message)
            return
        try:
            async with asyncio.timeout(self._limits.probe_s):
                await self._unless_lost(self._echo(message))
        except TimeoutError:
            raise BrokerRefused(
                f"{self._at} acknowledges {message.topic}, but does not publish it; allow {self._who} to write and to"
                f' read this topic in the broker\'s access list, or set version = "5" to get the reason'
            ) from None

    async def retained(self, topic: str) -> bytes | None:
        """The retained message of a topic; None without one, or without the permission to read.

        A broker sends the message before its answer to the next packet of the client, here to UNSUBSCRIBE.
        """
        found: list[bytes] = []
        try:
            async with asyncio.timeout(self._limits.probe_s):
                await self._unless_lost(self._read_retained(topic, found))
        except TimeoutError:
            raise BrokerLost(
                f"{self._at} does not answer a subscription to {topic}; check whether the broker is overloaded"
            ) from None
        return found[-1] if found else None

    def lost(self) -> asyncio.Future[None]:
        """A new future that ends with the connection: with the reason as its exception, or with None after close()."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._watchers.add(future)
        future.add_done_callback(self._watchers.discard)
        self._notify_watchers()
        return future

    async def close(self) -> None:
        """Send DISCONNECT, and wait until the broker has read it. The broker then discards the will.

        Without the wait, unread acknowledgements could make the kernel reset the connection before the broker has read
        DISCONNECT. On a lost connection `close` has no effect.
        """
        line = self._paho.socket()
        if self._why is not None or line is None:
            return
        self._closed = True
        self._end(BrokerLost(f"the connection to {self._at} is closed"))
        with socket.socket(fileno=os.dup(line.fileno())) as rest:  # paho closes its descriptor after the last byte
            rest.settimeout(0)
            self._paho.disconnect()
            self._paho.loop_write()
            try:
                async with asyncio.timeout(self._limits.close_s):
                    await self._hung_up.wait()
                    rest.shutdown(socket.SHUT_WR)
                    while await self._loop.sock_recv(rest, 4096):
                        pass
            except OSError:  # also TimeoutError
                pass

    # ------------------------------------------------------------------------------------------ for connect()

    async def open(self) -> None:
        try:
            async with asyncio.timeout(self._limits.connect_s):
                self._attach(await dial(self._settings, self._limits.connect_s))
                await self._accepted
        except TimeoutError:
            raise BrokerLost(
                f"{self._at} does not answer within {self._limits.connect_s:g} s; "
                "check that an MQTT broker runs there, and that no firewall drops packets"
            ) from None
        except BusError:
            is_plain = self._is_unanswered and not self._settings.tls
            if is_plain and await speaks_tls(self._settings, self._limits.probe_s):
                raise needs_tls(self._settings) from None
            raise

    async def drop(self) -> None:
        """Close the socket without DISCONNECT. After close() this has no effect."""
        self._end(BrokerLost(f"shoed closed the connection to {self._at}"))
        self._cut()
        task = self._client._misc_task  # noqa: SLF001
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    # ------------------------------------------------------------------------------------------ the parts

    def _attach(self, line: socket.socket) -> None:
        """Give paho a connected socket, so that paho's connect() does not block."""
        self._paho._create_socket = lambda: line  # type: ignore[method-assign]  # noqa: SLF001
        if self._settings.version == "5":
            self._paho.connect(self._settings.host, self._settings.port, self._limits.keepalive_s, clean_start=True)
        else:
            self._paho.connect(self._settings.host, self._settings.port, self._limits.keepalive_s)

    def _cut(self) -> None:
        """Close the socket. A callback of paho must not call this: paho holds a lock during a callback."""
        self._paho._sock_close()  # noqa: SLF001

    def _end(self, why: BusError) -> None:
        """End the connection. The first reason counts; every waiting future fails with it."""
        if self._why is not None:
            return
        self._why = why
        _fail(self._accepted, why)
        for pending in self._pending.values():
            _fail(pending.acknowledged, why)
        self._pending.clear()
        if self._overdue_timer is not None:
            self._overdue_timer.cancel()
        self._notify_watchers()

    def _notify_watchers(self) -> None:
        if self._why is None:
            return
        for future in self._watchers:
            if not self._closed:
                _fail(future, self._why)
            elif not future.done():
                future.set_result(None)

    def _break(self, what: str) -> None:
        self._end(BrokerLost(f"{self._at} {what}"))
        self._cut()

    def _watch_oldest(self) -> None:
        """Start one timer for the oldest message. Acknowledgements are due in the order of sending."""
        self._overdue_timer = None
        oldest = next(iter(self._pending.values()), None)
        if oldest is None:
            return
        if oldest.deadline <= self._loop.time():
            self._break(
                f"has not acknowledged {oldest.topic} within {self._limits.puback_s:g} s; check whether the broker is"
                " overloaded"
            )
        else:
            self._overdue_timer = self._loop.call_at(oldest.deadline, self._watch_oldest)

    async def _keep_alive(self) -> None:
        """Call paho when a ping or its answer is due. aiomqtt's loop would wake the daemon every second."""
        below = self._paho
        while below.loop_misc() is MQTTErrorCode.MQTT_ERR_SUCCESS:
            earliest = min(below._last_msg_out, below._last_bytes_received, below._ping_t or math.inf)  # noqa: SLF001
            await asyncio.sleep(max(PING_CHECK_S, earliest + self._limits.keepalive_s - monotonic()))

    async def _unless_lost(self, doing: Coroutine[None, None, None]) -> None:
        """Run a coroutine to its end. If the connection is lost first, cancel the coroutine and raise the reason.

        aiomqtt itself would wait until its timeout.
        """
        task, lost = asyncio.create_task(doing), self.lost()
        try:
            await asyncio.wait((task, lost), return_when=asyncio.FIRST_COMPLETED)
            return lost.result() if lost.done() else task.result()
        finally:
            task.cancel()
            lost.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _read_retained(self, topic: str, found: list[bytes]) -> None:
        (granted,) = await self._client.subscribe(topic, qos=1)
        if granted >= FAILURE:
            LOG.warning(
                "%s does not allow %s to read %s, so shoed cannot compare the journal with its published messages;"
                " allow reading in the broker's access list",
                *(self._at, self._who, topic),
            )
            return
        await self._client.unsubscribe(topic)
        messages = self._client.messages
        received = [await anext(messages) for _ in range(len(messages))]
        found += [each.payload for each in received if each.retain and isinstance(each.payload, bytes)]

    async def _echo(self, message: MqttMessage) -> None:
        (granted,) = await self._client.subscribe(message.topic, qos=1)
        await self.publish(message)
        if granted >= FAILURE:
            LOG.warning(
                "%s does not allow %s to read %s, so under MQTT 3.1.1 shoed cannot verify that its messages are "
                'published; allow reading in the broker\'s access list, or set version = "5"',
                self._at,
                self._who,
                message.topic,
            )
            return
        async for echo in self._client.messages:
            if echo.payload == message.payload and not echo.retain:
                break
        await self._client.unsubscribe(message.topic)

    # ------------------------------------------------------------------------------------------ what paho calls

    def _on_connect(
        self, _paho: Paho, _userdata: object, _flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._end(refusal(f"{self._at} refused the connection", reason, properties))
        elif getattr(properties, "MaximumQoS", 2) == 0 or not getattr(properties, "RetainAvailable", 1):
            self._end(
                BrokerRefused(
                    f"{self._at} does not support QoS 1 and retained messages; enable both, or use another broker"
                )
            )
        elif not self._accepted.done():
            self.window = min(WINDOW, getattr(properties, "ReceiveMaximum", WINDOW))
            self._accepted.set_result(None)

    def _on_disconnect(
        self, _paho: Paho, _userdata: object, flags: DisconnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        self._hung_up.set()
        if flags.is_disconnect_packet_from_server:
            self._end(BrokerLost(str(refusal(f"{self._at} ended the connection", reason, properties))))
        elif self._accepted.done():
            self._end(cut(self._at, reason))
        else:
            self._is_unanswered = self._why is None
            self._end(no_connack(self._at, reason))

    def _on_publish(
        self, _paho: Paho, _userdata: object, mid: int, reason: ReasonCode, properties: Properties | None
    ) -> None:
        pending = self._pending.pop(mid, None)
        if pending is None or pending.acknowledged.done():
            return
        if reason.is_failure:
            _fail(pending.acknowledged, refusal(f"{self._at} refused a message to {pending.topic}", reason, properties))
        else:
            pending.acknowledged.set_result(None)

    # aiomqtt's two callbacks run one turn of the event loop late. A message would wait for that turn, and a writer
    # added after paho's unregister would spin. So send() writes directly to the socket, in 30 us (55 us through the
    # event loop). The event loop watches the socket only if the kernel's buffer is full, or if paho itself writes.

    def _on_register_write(self, descriptor: int) -> None:
        if not self._sending:
            self._writer = descriptor
            self._loop.add_writer(descriptor, self._paho.loop_write)

    def _on_unregister_write(self) -> None:
        if self._writer is not None:
            self._loop.remove_writer(self._writer)
            self._writer = None

    def _on_broken(self, broken: asyncio.Future[None]) -> None:
        if not broken.cancelled() and (fault := broken.exception()) is not None:
            self._break(f"sent data that the MQTT library cannot read ({fault!r}); check the broker's log")

    # ------------------------------------------------------------------------------------------ words and properties

    @property
    def _who(self) -> str:
        return f"user {self._settings.user}" if self._settings.user else "a client without a user"

    def _properties(self, packet: int, message: MqttMessage) -> Properties | None:
        return content_type(packet, message.content_type) if self._settings.version == "5" else None


def _fail(future: asyncio.Future[None], why: BusError) -> None:
    """Fail a future. Without a waiting task, asyncio logs no error."""
    if not future.done():
        future.set_exception(type(why)(*why.args))  # a copy for each future: an exception collects tracebacks
        future.exception()  # marks the exception as retrieved, or asyncio would log it
