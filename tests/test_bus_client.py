"""The adapter over aiomqtt once it is connected: sending, losing the broker and leaving it."""

import asyncio
import socket
import time
from contextlib import suppress
from importlib.metadata import version as installed

import aiomqtt
import paho.mqtt.client
import pytest
from msgspec.structs import replace

from shoed.bus.client import CLOUDEVENT, JSON, WINDOW, Connection, Message, connect
from shoed.bus.settings import BrokerSettings, Version
from shoed.errors import BrokerLost
from shoed.rig.broker import Broker, Kind, running_broker
from tests.brokers import (
    ACCEPTED_5,
    ACCEPTED_311,
    HASTE,
    PATIENCE,
    SOON_S,
    both_versions,
    ears,
    everywhere,
    literal,
    take,
)

pytestmark = pytest.mark.usefixtures("nothing_is_logged_by_asyncio")

# ---------------------------------------------------------------------------------------------- sending


@everywhere
async def test_a_message_arrives_as_it_was_sent(served: BrokerSettings, topic: str) -> None:
    """Payload, QoS 1 and, in MQTT 5, the content type; 3.1.1 has no place for that."""
    async with ears(served, topic) as heard, connect(served, "a", None) as connection:
        await connection.publish(Message(topic, b'{"id": 1}', content_type=CLOUDEVENT))
        message = await anext(heard)
    assert (message.payload, message.qos, message.retain) == (b'{"id": 1}', 1, False)
    assert getattr(message.properties, "ContentType", None) == (CLOUDEVENT if served.version == "5" else None)


@everywhere
async def test_a_retained_message_waits_for_late_joiners(served: BrokerSettings, topic: str) -> None:
    """An empty one takes it away again."""
    async with connect(served, "a", None) as connection:
        await connection.publish(Message(topic, b"kept", retain=True, content_type=JSON))
        async with ears(served, topic) as heard:
            message = await anext(heard)
        assert (message.payload, message.retain) == (b"kept", True)
        await connection.publish(Message(topic, b"", retain=True))
        async with ears(served, topic) as heard:
            await connection.publish(Message(topic, b"news"))
            assert await take(heard, 1) == [b"news"]


@everywhere
async def test_order_is_kept_with_a_full_window(served: BrokerSettings, topic: str) -> None:
    """Messages arrive in the order of the calls though nobody waits in between."""
    async with ears(served, topic) as heard, connect(served, "a", None) as connection:
        under_way: list[asyncio.Future[None]] = []
        for number in range(300):
            while connection.unacknowledged == connection.window:
                await under_way.pop(0)
            under_way.append(connection.send(Message(topic, b"%d" % number)))
        await asyncio.gather(*under_way)
        assert connection.unacknowledged == 0
        assert await take(heard, 300) == [b"%d" % number for number in range(300)]


@pytest.mark.parametrize(("version", "accepted"), [("5", ACCEPTED_5), ("3.1.1", ACCEPTED_311)])
async def test_a_message_is_on_the_line_when_send_returns(version: Version, accepted: bytes) -> None:
    """Nothing waits for a later turn of the loop, and no packet waits for the next one (TCP_NODELAY)."""
    async with literal(accepted, version) as broker, connect(broker.settings, "a", None, HASTE) as connection:
        for number in range(3):
            acknowledged = connection.send(Message("t", b"%d" % number))
            properties = b"\0" if version == "5" else b""
            body = b"\0\1t" + b"\0" + bytes([number + 1]) + properties + b"%d" % number
            assert broker.lines[0].recv(4096) == bytes([0x32, len(body)]) + body  # PUBLISH, QoS 1
            assert not acknowledged.done()


async def test_the_socket_does_not_collect_packets(broker: Broker) -> None:
    """TCP_NODELAY is set: by default the kernel holds a small packet back until the one before is acknowledged."""
    async with connect(broker.settings(), "a", None) as connection:
        line = connection._paho.socket()  # noqa: SLF001
        assert isinstance(line, socket.socket)
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_sending_past_the_window_is_a_defect(broker: Broker, topic: str) -> None:
    """Nothing queues in the client: who does not wait for acknowledgements is told at once."""
    async with connect(broker.settings(), "a", None) as connection:
        under_way = [connection.send(Message(topic, b"")) for _ in range(WINDOW)]
        with pytest.raises(RuntimeError, match="10 messages wait"):
            _ = connection.send(Message(topic, b""))
        await asyncio.gather(*under_way)
        await connection.publish(Message(topic, b""))


async def test_a_broker_may_want_a_smaller_window() -> None:
    """MQTT 5: who ignores the broker's Receive Maximum is thrown out."""
    accepted = bytes.fromhex("20 06 00 00 03 21 00 03")
    async with literal(accepted) as broker, connect(broker.settings, "a", None, HASTE) as connection:
        assert connection.window == 3


async def test_a_cancelled_publish_counts_until_it_is_acknowledged() -> None:
    """It is on the line already; its acknowledgement then finds nobody, and that is no error."""
    async with literal(ACCEPTED_5) as broker, connect(broker.settings, "a", None, HASTE) as connection:
        task = asyncio.create_task(connection.publish(Message("t", b"")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connection.unacknowledged == 1
        acknowledged = connection.send(Message("t", b""))
        broker.lines[0].send(bytes.fromhex("40 02 00 01 40 02 00 02"))
        await acknowledged
        assert connection.unacknowledged == 0


# ---------------------------------------------------------------------------------------------- losing it


async def publish_into_silence(connection: Connection, broker: Broker, size: int = 10) -> list[asyncio.Future[None]]:
    """A full window of messages that nobody acknowledges."""
    broker.pause()
    return [connection.send(Message("t", b"x" * size)) for _ in range(connection.window)]


@everywhere
async def test_a_killed_broker_fails_what_waits_at_once(which: tuple[Kind, Version]) -> None:
    """No acknowledgement is waited for any longer once the line is known to be gone, and nothing is sent after."""
    kind, version = which
    async with running_broker(kind) as broker, connect(broker.settings(version), "a", None, PATIENCE) as connection:
        lost = connection.lost()
        waiting = await publish_into_silence(connection, broker)
        begun = time.monotonic()
        broker.kill()
        results = await asyncio.gather(*waiting, lost, return_exceptions=True)
        assert time.monotonic() - begun < SOON_S
        assert {type(result) for result in results} == {BrokerLost}
        assert len({id(result) for result in results}) == len(results)  # tracebacks do not grow together
        assert connection.unacknowledged == 0
        with pytest.raises(BrokerLost, match="cut the connection"):
            await connection.publish(Message("t", b""))
        with pytest.raises(BrokerLost, match="cut the connection"):
            await connection.lost()


@both_versions
async def test_a_broker_that_stops_reading_is_given_up(version: Version) -> None:
    """Nothing grows beyond the window, the limit ends the wait, and the line is closed for good."""
    async with running_broker(Kind.MOSQUITTO) as broker:
        settings = broker.settings(version)
        async with connect(settings, "a", None, replace(PATIENCE, puback_s=0.5)) as connection:
            await connection.publish(Message("t", b""))
            waiting = await publish_into_silence(connection, broker, size=1_000_000)
            assert connection._paho.want_write()  # noqa: SLF001  # the kernel's buffers are full
            with pytest.raises(RuntimeError):
                _ = connection.send(Message("t", b""))
            begun = time.monotonic()
            results = await asyncio.gather(*waiting, return_exceptions=True)
            assert 0.3 < time.monotonic() - begun < SOON_S + 0.5
            assert {str(result) for result in results} == {
                f"{settings.at} has not acknowledged t within 0.5 s; see whether it is stuck"
            }
            assert connection._paho.socket() is None  # noqa: SLF001


async def test_a_stalled_broker_that_goes_on_in_time_gets_everything(topic: str) -> None:
    """Also what the kernel's buffers had no room for."""
    async with running_broker(Kind.MOSQUITTO) as broker, connect(broker.settings(), "a", None, PATIENCE) as connection:
        waiting = await publish_into_silence(connection, broker, size=1_000_000)
        broker.resume()
        await asyncio.gather(*waiting)
        async with ears(broker.settings(), topic) as heard:
            await connection.publish(Message(topic, b"after"))
            assert await take(heard, 1) == [b"after"]


async def test_an_idle_line_to_a_silent_broker_is_given_up() -> None:
    """The keep-alive finds what no acknowledgement is due for."""
    limits = replace(PATIENCE, keepalive_s=1)
    async with running_broker(Kind.MOSQUITTO) as broker, connect(broker.settings(), "a", None, limits) as connection:
        broker.pause()
        with pytest.raises(BrokerLost, match="fell silent"):
            await connection.lost()


@both_versions
async def test_a_takeover_is_noticed(broker: Broker, version: Version) -> None:
    """Two shoed for one table; mosquitto 2.0.11 hangs up on the first without a reason, whatever the version."""
    settings = broker.settings(version)
    async with connect(settings, "same", None) as first, connect(settings, "same", None):
        with pytest.raises(BrokerLost, match="another client with our client id"):
            await first.lost()


async def test_a_takeover_shows_in_the_reason() -> None:
    """Where the broker gives one."""
    async with literal(ACCEPTED_5) as broker, connect(broker.settings, "a", None, HASTE) as connection:
        broker.lines[0].send(bytes.fromhex("E0 02 8E 00"))
        with pytest.raises(BrokerLost, match=r"Session taken over \(0x8E\).*one shoed only"):
            await connection.lost()


async def test_the_brokers_own_words_are_passed_on() -> None:
    """DISCONNECT with a reason string."""
    async with literal(ACCEPTED_5) as broker, connect(broker.settings, "a", None, HASTE) as connection:
        broker.lines[0].send(bytes.fromhex("E0 08 98 06 1F 00 03") + b"bye")
        with pytest.raises(BrokerLost, match=r"Administrative action \(0x98, bye\)"):
            await connection.lost()


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param(b"\xf7\x00", id="no-such-packet"),
        pytest.param(b"\x30\x05\x00\x02\xff\xff!", id="topic-not-utf-8"),  # gets as far as aiomqtt's reader
        pytest.param(b"\x40\xff\xff\xff\xff\xff", id="endless-length"),
    ],
)
async def test_what_is_no_mqtt_ends_the_connection(junk: bytes) -> None:
    """Whatever part of the libraries chokes on it."""
    async with literal(ACCEPTED_311, "3.1.1") as broker, connect(broker.settings, "a", None, PATIENCE) as connection:
        acknowledged = connection.send(Message("t", b""))
        broker.lines[0].send(junk)
        with pytest.raises(BrokerLost, match="sent what"):
            await connection.lost()
        with pytest.raises(BrokerLost, match="sent what"):
            await acknowledged


async def test_a_loss_ends_the_probe(topic: str) -> None:
    """It does not wait for its own limit."""
    async with (
        running_broker(Kind.MOSQUITTO) as broker,
        connect(broker.settings("3.1.1"), "a", None, PATIENCE) as connection,
    ):
        broker.pause()
        probe = asyncio.create_task(connection.probe(Message(topic, b"")))
        await asyncio.sleep(0)
        broker.kill()
        async with asyncio.timeout(SOON_S):
            with pytest.raises(BrokerLost, match="cut the connection"):
                await probe


async def test_nobody_has_to_look_at_a_failure() -> None:
    """Futures that are dropped, cancelled or never awaited leave no trace in the log, as after every test here."""
    async with running_broker(Kind.MOSQUITTO) as broker, connect(broker.settings(), "a", None) as connection:
        connection.lost().cancel()
        lost = connection.lost()
        waiting = await publish_into_silence(connection, broker)
        waiting[0].cancel()
        broker.kill()
        await asyncio.wait((lost,))
        assert all(future.done() for future in waiting)
        _ = connection.send(Message("t", b""))
        _ = connection.lost()


# ---------------------------------------------------------------------------------------------- leaving


@everywhere
async def test_the_will_speaks_for_who_drops_out_and_not_for_who_leaves(served: BrokerSettings, topic: str) -> None:
    """A body that raises or is cancelled drops the line; one that ends, or says close(), takes its leave."""
    will = Message(topic, b"will", content_type=JSON)

    async def leave(how: str) -> None:
        async with connect(served, "a", will, PATIENCE) as connection:
            match how:
                case "raise":
                    raise ZeroDivisionError
                case "cancel":
                    raise asyncio.CancelledError
                case "close":
                    await connection.close()
                    await connection.close()
                    await connection.lost()
                    raise ZeroDivisionError
                case _:
                    pass

    async with ears(served, topic) as heard, connect(served, "b", None) as other:
        for how in ("raise", "cancel", "close", "end"):
            with suppress(ZeroDivisionError, asyncio.CancelledError):
                await leave(how)
            if how in {"raise", "cancel"}:
                message = await anext(heard)
                assert (message.payload, message.qos) == (b"will", 1)
                assert getattr(message.properties, "ContentType", None) == (JSON if served.version == "5" else None)
            else:
                await other.publish(Message(topic, how.encode()))
                assert await take(heard, 1) == [how.encode()]


@both_versions
async def test_leaving_with_acknowledgements_unread_is_no_dropping_out(
    broker: Broker, topic: str, version: Version
) -> None:
    """Everything sent arrives and the will stays silent, though the last acknowledgements find nobody."""
    settings = broker.settings(version)
    async with ears(settings, topic) as heard:
        for _ in range(10):
            async with connect(settings, "a", Message(topic, b"will"), PATIENCE) as connection:
                waiting = [connection.send(Message(topic, b"%d" % number)) for number in range(WINDOW)]
            assert all(isinstance(future.exception(), BrokerLost) for future in waiting if future.exception())
            assert await take(heard, WINDOW) == [b"%d" % number for number in range(WINDOW)]


async def test_leaving_a_stuck_broker_takes_no_longer_than_its_limit() -> None:
    """Neither where DISCONNECT finds no room on the line, nor where nobody reads it."""
    for size in (1, 1_000_000):
        async with running_broker(Kind.MOSQUITTO) as broker:
            begun = 0.0
            async with connect(broker.settings(), "a", None, HASTE) as connection:
                await publish_into_silence(connection, broker, size)
                begun = time.monotonic()
            assert time.monotonic() - begun < HASTE.close_s + SOON_S


# ---------------------------------------------------------------------------------------------- the libraries below


async def test_the_private_names_we_use_are_there() -> None:
    """The price of closing aiomqtt's holes from outside; a new version that lacks one is to be met here."""
    client = aiomqtt.Client("127.0.0.1", timeout=1)
    below = getattr(client, "_client", None)
    there = {
        "aiomqtt.Client._client is a paho client": isinstance(below, paho.mqtt.client.Client),
        "aiomqtt.Client._disconnected is a future": isinstance(getattr(client, "_disconnected", None), asyncio.Future),
        "aiomqtt.Client._misc_task is None before the connect": getattr(client, "_misc_task", "absent") is None,
        "paho Client._create_socket makes the socket": callable(getattr(below, "_create_socket", None)),
        "paho Client._sock_close closes it": callable(getattr(below, "_sock_close", None)),
    }
    gone = [name for name, is_so in there.items() if not is_so]
    versions = f"aiomqtt {installed('aiomqtt')} over paho-mqtt {installed('paho-mqtt')}"
    assert not gone, f"{versions}: no longer so: {'; '.join(gone)}. See the head of shoed/bus/client.py."


async def test_the_private_names_we_use_do_what_we_use_them_for(broker: Broker) -> None:
    """Paho asks _create_socket for its socket, aiomqtt runs _misc_task with it, _sock_close ends both."""
    async with connect(broker.settings(), "a", None) as connection:
        client, below = connection._client, connection._paho  # noqa: SLF001
        line, task = below.socket(), client._misc_task  # noqa: SLF001
        assert line is below._create_socket(), "paho made a socket of its own"  # noqa: SLF001
        assert task is not None, "aiomqtt keeps the line alive elsewhere than in _misc_task"
        assert not task.done()
        below._sock_close()  # noqa: SLF001
        assert (line.fileno(), below.socket()) == (-1, None), "paho did not close the socket"
        await asyncio.wait((task,))
