"""Our one adapter over aiomqtt: one connection to the broker, with one life.

    async with connect(settings, client_id, will) as connection:
        await connection.probe(status)  # the first message: finds out under 3.1.1, too, whether we may publish
        acknowledged = connection.send(message)  # written to the socket now, in the order of the calls
        await acknowledged  # BrokerRefused: this one message is not wanted; BrokerLost: the connection is gone
        await connection.lost()  # waits for the end of the connection and raises why

Theory of operation. Each connection has an aiomqtt client of its own, a clean session and QoS 1. Nothing is sent again
in here and nothing queues in here: a caller keeps at most `connection.window` messages unacknowledged, and sends again
on the next connection what this one did not acknowledge. The loss of the connection fails everything that waits,
at once and with the reason; so does an acknowledgement that does not come in time.

A body that ends normally says DISCONNECT, and the broker forgets the will. A body that ends by an exception or a
cancellation just drops the line, and the broker publishes the will: nobody has said goodbye. Who wants
to say it while being cancelled publishes it and calls `close()` first.

aiomqtt makes the client and joins it to the loop. What it does not do is done at the paho client below it: the
socket is ours (a cancelled connect would leave aiomqtt's thread and socket behind, and TLS errors come out of it as
mere text), and so are the callbacks for reason codes and disconnections, and the writing. The private names this
takes are in `Connection.__init__`, `_attach`, `_cut` and `drop`; a test guards them.
"""

import asyncio
import functools
import logging
import math
import os
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import aiomqtt
from msgspec import Struct
from paho.mqtt.client import Client as Paho
from paho.mqtt.client import ConnectFlags, DisconnectFlags
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from shoed.bus.line import dial, password
from shoed.bus.reasons import FAILURE, cut, no_greeting, refusal
from shoed.bus.settings import LIMITS, BrokerSettings, Limits
from shoed.errors import BrokerLost, BrokerRefused, BusError

CLOUDEVENT: Final = "application/cloudevents+json; charset=utf-8"
JSON: Final = "application/json"

# Below paho's 20 in flight, past which it queues by itself. Over a line with a round trip of 10 ms it still lets 1000
# messages a second through; a table deals a card in some seconds.
WINDOW: Final = 10

LOG: Final = logging.getLogger("shoed.bus")
LIBRARY_LOG: Final = logging.getLogger("shoed.bus.library")
LIBRARY_LOG.setLevel(logging.CRITICAL)  # what the libraries have to report is in our errors already


class Message(Struct, frozen=True):
    topic: str
    payload: bytes
    retain: bool = False
    content_type: str | None = None  # told to an MQTT 5 broker; 3.1.1 has no place for it


class _Pending(NamedTuple):
    acknowledged: asyncio.Future[None]
    topic: str
    deadline: float


@asynccontextmanager
async def connect(
    settings: BrokerSettings, client_id: str, will: Message | None, limits: Limits = LIMITS
) -> AsyncIterator["Connection"]:
    """Raises BrokerRefused if somebody has to change something, BrokerLost if trying again may do."""
    connection = Connection(settings, client_id, will, limits)
    try:
        await connection.open()
        yield connection
        await connection.close()
    finally:
        await connection.drop()


class Connection:
    def __init__(self, settings: BrokerSettings, client_id: str, will: Message | None, limits: Limits) -> None:
        self.window = WINDOW  # or what the broker allows, if that is less: known from the greeting on
        self._settings = settings
        self._at = settings.at
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._greeted: asyncio.Future[None] = self._loop.create_future()
        self._pending: dict[int, _Pending] = {}  # by packet identifier, oldest first
        self._overdue_timer: asyncio.TimerHandle | None = None
        self._why: BusError | None = None  # the end of the connection, whoever brought it about
        self._closed = False  # we did, in good order
        self._watchers: set[asyncio.Future[None]] = set()
        self._hung_up = asyncio.Event()  # paho has let go of the socket
        self._sending = False  # send() is about to write by itself
        self._writer: int | None = None  # the descriptor, while the loop waits until more can be written
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
            timeout=math.inf,  # the limits are ours
            max_queued_incoming_messages=WINDOW,
        )
        # An exception in aiomqtt's reader ends up here, and would be lost.
        self._client._disconnected.add_done_callback(self._on_broken)  # noqa: SLF001
        self._paho = self._client._client  # noqa: SLF001
        self._paho.on_connect = self._on_connect
        self._paho.on_disconnect = self._on_disconnect
        self._paho.on_publish = self._on_publish
        self._paho.on_socket_register_write = lambda _paho, _userdata, line: self._on_register_write(line.fileno())
        self._paho.on_socket_unregister_write = lambda _paho, _userdata, _line: self._on_unregister_write()

    # ------------------------------------------------------------------------------------------ for callers

    @property
    def unacknowledged(self) -> int:
        return len(self._pending)

    def send(self, message: Message) -> asyncio.Future[None]:
        """Write the message to the socket now; the future is done at its acknowledgement.

        Whoever loses interest may cancel or forget the future. The message counts until it is acknowledged.
        """
        future: asyncio.Future[None] = self._loop.create_future()
        if self._why is not None:
            _fail(future, self._why)
            return future
        if len(self._pending) >= self.window:
            raise RuntimeError(f"{len(self._pending)} messages wait for acknowledgement already: await one first")
        self._sending = True
        try:
            properties = self._properties(PacketTypes.PUBLISH, message)
            info = self._paho.publish(message.topic, message.payload, 1, message.retain, properties)
        finally:
            self._sending = False
        self._pending[info.mid] = _Pending(future, message.topic, self._loop.time() + self._limits.puback_s)
        if info.rc is not MQTTErrorCode.MQTT_ERR_SUCCESS:
            self._break(f"does not take messages ({info.rc.name}); connect again")
            return future
        self._paho.loop_write()
        line = self._paho.socket()
        if line is not None and self._paho.want_write():  # the kernel's buffer is full
            self._on_register_write(line.fileno())
        if self._overdue_timer is None:
            self._watch_oldest()
        return future

    async def publish(self, message: Message) -> None:
        await self.send(message)

    async def probe(self, message: Message) -> None:
        """Publish a message that may be seen twice, as the status may, and make sure that it was taken.

        Under MQTT 5 the broker says so. Under 3.1.1 it acknowledges what it throws away, so we listen for our
        own message: if it does not come back, we may not write there, or not read, and the broker does not say
        which (mosquitto grants every subscription and then keeps silent). Both is a refusal: better than a table
        whose events go nowhere. Only where the broker refuses to let us listen we have to go on in the dark.
        """
        if self._settings.version == "5":
            await self.publish(message)
            return
        try:
            async with asyncio.timeout(self._limits.probe_s):
                await self._unless_lost(self._echo(message))
        except TimeoutError:
            raise BrokerRefused(
                f"{self._at} acknowledges {message.topic} but does not give it back; allow {self._who} to "
                f'write and to read it in the broker\'s access list, or set version = "5", which tells more'
            ) from None

    def lost(self) -> asyncio.Future[None]:
        """A future of the caller's own that ends with the connection: with the reason, or without one after close()."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._watchers.add(future)
        future.add_done_callback(self._watchers.discard)
        self._tell_watchers()
        return future

    async def close(self) -> None:
        """Say DISCONNECT, so that the broker forgets the will, and wait until it has heard it.

        Without waiting, acknowledgements that nobody reads any more could make the kernel reset the line before the
        broker has read to its end. Closing what is gone already does nothing.
        """
        line = self._paho.socket()
        if self._why is not None or line is None:
            return
        self._closed = True
        self._end(BrokerLost(f"the connection to {self._at} is closed"))
        with socket.socket(fileno=os.dup(line.fileno())) as rest:  # paho closes its own with its last byte
            rest.settimeout(0)
            self._paho.disconnect()
            self._paho.loop_write()
            try:
                async with asyncio.timeout(self._limits.close_s):
                    await self._hung_up.wait()
                    rest.shutdown(socket.SHUT_WR)
                    while await self._loop.sock_recv(rest, 4096):
                        pass
            except OSError:  # also the time-out: it has had its chance
                pass

    # ------------------------------------------------------------------------------------------ for connect()

    async def open(self) -> None:
        try:
            async with asyncio.timeout(self._limits.connect_s):
                self._attach(await dial(self._settings, self._limits.connect_s))
                await self._greeted
        except TimeoutError:
            raise BrokerLost(
                f"{self._at} does not answer within {self._limits.connect_s:g} s; "
                "see whether an MQTT broker runs there and nothing on the way drops packets"
            ) from None

    async def drop(self) -> None:
        """Let go at once; after close() there is nothing left to let go of."""
        self._end(BrokerLost(f"the connection to {self._at} was dropped by us"))
        self._cut()
        task = self._client._misc_task  # noqa: SLF001
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    # ------------------------------------------------------------------------------------------ the parts

    def _attach(self, line: socket.socket) -> None:
        """Give paho the socket instead of letting it make one: then its connect() blocks nowhere."""
        self._paho._create_socket = lambda: line  # type: ignore[method-assign]  # noqa: SLF001
        if self._settings.version == "5":
            self._paho.connect(self._settings.host, self._settings.port, self._limits.keepalive_s, clean_start=True)
        else:
            self._paho.connect(self._settings.host, self._settings.port, self._limits.keepalive_s)

    def _cut(self) -> None:
        """Close the socket. Not from within a callback of paho's: it holds a lock there."""
        self._paho._sock_close()  # noqa: SLF001

    def _end(self, why: BusError) -> None:
        """The first reason is the reason; whatever waits fails with it."""
        if self._why is not None:
            return
        self._why = why
        _fail(self._greeted, why)
        for pending in self._pending.values():
            _fail(pending.acknowledged, why)
        self._pending.clear()
        if self._overdue_timer is not None:
            self._overdue_timer.cancel()
        self._tell_watchers()

    def _tell_watchers(self) -> None:
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
        """One timer for all: acknowledgements are due in the order of sending."""
        self._overdue_timer = None
        oldest = next(iter(self._pending.values()), None)
        if oldest is None:
            return
        if oldest.deadline <= self._loop.time():
            self._break(
                f"has not acknowledged {oldest.topic} within {self._limits.puback_s:g} s; see whether it is stuck"
            )
        else:
            self._overdue_timer = self._loop.call_at(oldest.deadline, self._watch_oldest)

    async def _unless_lost(self, doing: Coroutine[None, None, None]) -> None:
        """What aiomqtt would wait for to the end of its time, though the loss is known."""
        task, lost = asyncio.create_task(doing), self.lost()
        try:
            await asyncio.wait((task, lost), return_when=asyncio.FIRST_COMPLETED)
            return lost.result() if lost.done() else task.result()
        finally:
            task.cancel()
            lost.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _echo(self, message: Message) -> None:
        (granted,) = await self._client.subscribe(message.topic, qos=1)
        await self.publish(message)
        if granted >= FAILURE:
            LOG.warning(
                "%s does not let %s read %s, so under MQTT 3.1.1 nobody can tell whether what we publish is taken; "
                'allow reading, or set version = "5"',
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
            self._end(BrokerRefused(f"{self._at} takes no QoS 1 or keeps no messages; use a broker that does both"))
        elif not self._greeted.done():
            self.window = min(WINDOW, getattr(properties, "ReceiveMaximum", WINDOW))
            self._greeted.set_result(None)

    def _on_disconnect(
        self, _paho: Paho, _userdata: object, flags: DisconnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        self._hung_up.set()
        if flags.is_disconnect_packet_from_server:
            self._end(BrokerLost(str(refusal(f"{self._at} ended the connection", reason, properties))))
        elif self._greeted.done():
            self._end(cut(self._at, reason))
        else:
            self._end(no_greeting(self._at, reason))

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

    # aiomqtt's own two come a turn of the loop late: a message would wait for that, and a writer that is added after
    # paho has taken it back spins. So the common write goes straight to the socket, in 30 us instead of 55, and the
    # loop watches it only where the kernel's buffer is full, or where paho writes something by itself.

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
            self._break(f"sent what the MQTT library cannot read ({fault!r}); see the broker's log")

    # ------------------------------------------------------------------------------------------ words and properties

    @property
    def _who(self) -> str:
        return f"user {self._settings.user}" if self._settings.user else "a client without a user"

    def _properties(self, packet: int, message: Message) -> Properties | None:
        return _content_type(packet, message.content_type) if self._settings.version == "5" else None


@functools.cache
def _content_type(packet: int, text: str | None) -> Properties | None:
    """Made once for each type: it takes paho longer than the rest of a publish."""
    if text is None:
        return None
    properties = Properties(packet)  # type: ignore[no-untyped-call]
    properties.ContentType = text
    return properties


def _fail(future: asyncio.Future[None], why: BusError) -> None:
    """Whoever waits hears of it; nobody has to wait."""
    if not future.done():
        future.set_exception(type(why)(*why.args))  # one for each who is told: it collects the traceback of its raising
        future.exception()  # marks it as seen, or asyncio would log it
