"""The adapter over aiomqtt after the connect: sending, loss of the broker, leaving."""

import asyncio
import socket
import time
from contextlib import suppress
from importlib.metadata import version as installed
from inspect import iscoroutinefunction

import aiomqtt
import paho.mqtt.client
import pytest
from msgspec.structs import replace

from shoed.bus.client import CLOUDEVENT, JSON, WINDOW, Connection, MqttMessage, connect
from shoed.bus.settings import BrokerSettings, MqttVersion
from shoed.errors import BrokerLost
from shoed.rig.broker import Broker, BrokerKind, running_broker
from tests.brokers import (
    ACCEPTED_5,
    ACCEPTED_311,
    CLOSES_SOON,
    PATIENCE,
    both_versions,
    ears,
    everywhere,
    literal,
    take,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("nothing_is_logged_by_asyncio")

# ---------------------------------------------------------------------------------------------- sending


@everywhere
async def test_a_message_arrives_as_it_was_sent(served: BrokerSettings, topic: str) -> None:
    """Payload, QoS 1 and, in MQTT 5, the content type. MQTT 3.1.1 does not have one."""
    async with ears(served, topic) as heard, connect(served, "a", None, PATIENCE) as connection:
        await connection.publish(MqttMessage(topic, b'{"id": 1}', content_type=CLOUDEVENT))
        message = await anext(heard)
    assert (message.payload, message.qos, message.retain) == (b'{"id": 1}', 1, False)
    assert getattr(message.properties, "ContentType", None) == (CLOUDEVENT if served.version == "5" else None)


@everywhere
async def test_a_retained_message_is_sent_to_later_subscribers(served: BrokerSettings, topic: str) -> None:
    """An empty message removes it."""
    async with connect(served, "a", None, PATIENCE) as connection:
        await connection.publish(MqttMessage(topic, b"kept", retain=True, content_type=JSON))
        async with ears(served, topic) as heard:
            message = await anext(heard)
        assert (message.payload, message.retain) == (b"kept", True)
        await connection.publish(MqttMessage(topic, b"", retain=True))
        async with ears(served, topic) as heard:
            await connection.publish(MqttMessage(topic, b"news"))
            assert await take(heard, 1) == [b"news"]


@everywhere
async def test_order_is_kept_with_a_full_window(served: BrokerSettings, topic: str) -> None:
    """Messages arrive in the order of the calls, without a wait between the calls."""
    async with ears(served, topic) as heard, connect(served, "a", None, PATIENCE) as connection:
        under_way: list[asyncio.Future[None]] = []
        for number in range(300):
            while not connection.room:
                await under_way.pop(0)
            under_way.append(connection.send(MqttMessage(topic, b"%d" % number)))
        await asyncio.gather(*under_way)
        assert connection.room == connection.window
        assert await take(heard, 300) == [b"%d" % number for number in range(300)]


@pytest.mark.parametrize(("version", "accepted"), [("5", ACCEPTED_5), ("3.1.1", ACCEPTED_311)])
async def test_a_message_is_written_when_send_returns(version: MqttVersion, accepted: bytes) -> None:
    """It does not wait for a later turn of the event loop, or for the next packet (TCP_NODELAY)."""
    async with literal(accepted, version) as broker, connect(broker.settings, "a", None, CLOSES_SOON) as connection:
        for number in range(3):
            acknowledged = connection.send(MqttMessage("t", b"%d" % number))
            properties = b"\0" if version == "5" else b""
            body = b"\0\1t" + b"\0" + bytes([number + 1]) + properties + b"%d" % number
            assert broker.lines[0].recv(4096) == bytes([0x32, len(body)]) + body  # PUBLISH, QoS 1
            assert not acknowledged.done()


async def test_the_socket_does_not_delay_packets(broker: Broker) -> None:
    """TCP_NODELAY is set. By default, the kernel delays a small packet until the previous packet is acknowledged."""
    async with connect(broker.settings(), "a", None, PATIENCE) as connection:
        line = connection._paho.socket()  # noqa: SLF001
        assert isinstance(line, socket.socket)
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_sending_above_the_window_is_a_defect(broker: Broker, topic: str) -> None:
    """The adapter does not queue, so `send` raises an error."""
    async with connect(broker.settings(), "a", None, PATIENCE) as connection:
        under_way = [connection.send(MqttMessage(topic, b"")) for _ in range(WINDOW)]
        with pytest.raises(RuntimeError, match="10 messages are unacknowledged"):
            _ = connection.send(MqttMessage(topic, b""))
        await asyncio.gather(*under_way)
        await connection.publish(MqttMessage(topic, b""))


async def test_the_broker_may_set_a_smaller_window() -> None:
    """An MQTT 5 broker disconnects a client that exceeds its Receive Maximum."""
    accepted = bytes.fromhex("20 06 00 00 03 21 00 03")
    async with literal(accepted) as broker, connect(broker.settings, "a", None, CLOSES_SOON) as connection:
        assert connection.window == 3


async def test_a_cancelled_publish_counts_until_it_is_acknowledged() -> None:
    """It is written already. Its later acknowledgement is not an error."""
    async with literal(ACCEPTED_5) as broker, connect(broker.settings, "a", None, CLOSES_SOON) as connection:
        task = asyncio.create_task(connection.publish(MqttMessage("t", b"")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connection.room == connection.window - 1
        acknowledged = connection.send(MqttMessage("t", b""))
        broker.lines[0].send(bytes.fromhex("40 02 00 01 40 02 00 02"))
        await acknowledged
        assert connection.room == connection.window


@everywhere
async def test_the_adapter_reads_a_retained_message(served: BrokerSettings, topic: str) -> None:
    """The newest one, directly after the connect, in each of many connections; nothing if it was removed."""
    for number in range(30):
        async with connect(served, "a", None, PATIENCE) as connection:
            before = b"%d" % (number - 1) if number else None
            assert await connection.retained(topic) == before
            await connection.publish(MqttMessage(topic, b"%d" % number, retain=True))
    async with connect(served, "a", None, PATIENCE) as connection:
        assert await connection.retained(f"{topic}-other") is None
        await connection.publish(MqttMessage(topic, b"", retain=True))
        assert await connection.retained(topic) is None


@both_versions
async def test_a_retained_message_that_a_broker_does_not_send_is_waited_for_at_most_once(version: MqttVersion) -> None:
    """A broker without an answer to a subscription ends the wait at its limit: the connection begins again."""
    answer = ACCEPTED_5 if version == "5" else ACCEPTED_311
    async with literal(answer, version) as silent:
        limits = replace(CLOSES_SOON, probe_s=0.05)
        with pytest.raises(BrokerLost, match="does not answer a subscription to state; check whether"):
            async with connect(silent.settings, "a", None, limits) as connection:
                await connection.retained("state")


# ---------------------------------------------------------------------------------------------- loss


async def publish_into_silence(connection: Connection, broker: Broker, size: int = 10) -> list[asyncio.Future[None]]:
    """A full window of messages that the broker does not acknowledge."""
    broker.pause()
    return [connection.send(MqttMessage("t", b"x" * size)) for _ in range(connection.window)]


@everywhere
async def test_a_killed_broker_fails_waiting_futures_at_once(which: tuple[BrokerKind, MqttVersion]) -> None:
    """They do not wait for their time limit, and later messages fail, too."""
    kind, version = which
    async with running_broker(kind) as broker, connect(broker.settings(version), "a", None, PATIENCE) as connection:
        lost = connection.lost()
        waiting = await publish_into_silence(connection, broker)
        broker.kill()
        async with asyncio.timeout(PATIENCE_S):
            results = await asyncio.gather(*waiting, lost, return_exceptions=True)
        assert {type(result) for result in results} == {BrokerLost}
        assert len({id(result) for result in results}) == len(results)  # otherwise the tracebacks would be joined
        assert connection.room == connection.window
        with pytest.raises(BrokerLost, match="closed the connection"):
            await connection.publish(MqttMessage("t", b""))
        with pytest.raises(BrokerLost, match="closed the connection"):
            await connection.lost()


@both_versions
async def test_a_broker_that_stops_reading_is_given_up(version: MqttVersion) -> None:
    """The window bounds the messages, the time limit ends the wait, and the connection is closed."""
    async with running_broker(BrokerKind.MOSQUITTO) as broker:
        settings = broker.settings(version)
        async with connect(settings, "a", None, replace(PATIENCE, puback_s=0.5)) as connection:
            begun = time.monotonic()
            waiting = await publish_into_silence(connection, broker, size=1_000_000)
            assert connection._paho.want_write()  # noqa: SLF001  # the kernel's buffers are full
            with pytest.raises(RuntimeError):
                _ = connection.send(MqttMessage("t", b""))
            async with asyncio.timeout(PATIENCE_S):
                results = await asyncio.gather(*waiting, return_exceptions=True)
            assert time.monotonic() - begun >= 0.5
            assert {str(result) for result in results} == {
                f"{settings.at} has not acknowledged t within 0.5 s; check whether the broker is overloaded"
            }
            assert connection._paho.socket() is None  # noqa: SLF001


async def test_a_stalled_broker_that_continues_in_time_gets_every_message(topic: str) -> None:
    """Some of the messages did not fit into the kernel's buffers."""
    async with (
        running_broker(BrokerKind.MOSQUITTO) as broker,
        connect(broker.settings(), "a", None, PATIENCE) as connection,
    ):
        waiting = await publish_into_silence(connection, broker, size=1_000_000)
        broker.resume()
        await asyncio.gather(*waiting)
        async with ears(broker.settings(), topic) as heard:
            await connection.publish(MqttMessage(topic, b"after"))
            assert await take(heard, 1) == [b"after"]


async def test_an_idle_connection_to_a_silent_broker_is_given_up() -> None:
    """The keepalive detects it, because no acknowledgement is due."""
    limits = replace(PATIENCE, keepalive_s=1)
    async with (
        running_broker(BrokerKind.MOSQUITTO) as broker,
        connect(broker.settings(), "a", None, limits) as connection,
    ):
        broker.pause()
        with pytest.raises(BrokerLost, match="does not answer"):
            await connection.lost()


@both_versions
async def test_a_takeover_is_detected(broker: Broker, version: MqttVersion) -> None:
    """Two shoed use one table. mosquitto 2.0.11 sends no reason to the first; 2.0.21 sends one in MQTT 5."""
    settings = broker.settings(version)
    async with connect(settings, "same", None, PATIENCE) as first, connect(settings, "same", None, PATIENCE):
        with pytest.raises(BrokerLost, match=r"another client (with|uses) the same client id"):
            await first.lost()


async def test_the_reason_contains_a_takeover() -> None:
    """A broker may send a reason with its DISCONNECT."""
    async with literal(ACCEPTED_5) as broker, connect(broker.settings, "a", None, CLOSES_SOON) as connection:
        broker.lines[0].send(bytes.fromhex("E0 02 8E 00"))
        with pytest.raises(BrokerLost, match=r"Session taken over \(0x8E\).*one shoed only"):
            await connection.lost()


async def test_the_reason_string_of_the_broker_is_reported() -> None:
    """The broker sends DISCONNECT with a reason string."""
    async with literal(ACCEPTED_5) as broker, connect(broker.settings, "a", None, CLOSES_SOON) as connection:
        broker.lines[0].send(bytes.fromhex("E0 08 98 06 1F 00 03") + b"bye")
        with pytest.raises(BrokerLost, match=r"Administrative action \(0x98, bye\)"):
            await connection.lost()


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param(b"\xf7\x00", id="no-such-packet"),
        pytest.param(b"\x30\x05\x00\x02\xff\xff!", id="topic-not-utf-8"),  # reaches aiomqtt's reader
        pytest.param(b"\x40\xff\xff\xff\xff\xff", id="endless-length"),
    ],
)
async def test_data_that_are_not_mqtt_end_the_connection(junk: bytes) -> None:
    """Each part of the libraries may raise the error."""
    async with literal(ACCEPTED_311, "3.1.1") as broker, connect(broker.settings, "a", None, CLOSES_SOON) as connection:
        acknowledged = connection.send(MqttMessage("t", b""))
        broker.lines[0].send(junk)
        with pytest.raises(BrokerLost, match="sent data"):
            await connection.lost()
        with pytest.raises(BrokerLost, match="sent data"):
            await acknowledged


async def test_a_loss_ends_the_probe(topic: str) -> None:
    """It does not wait for its own time limit."""
    async with (
        running_broker(BrokerKind.MOSQUITTO) as broker,
        connect(broker.settings("3.1.1"), "a", None, PATIENCE) as connection,
    ):
        broker.pause()
        probe = asyncio.create_task(connection.probe(MqttMessage(topic, b"")))
        await asyncio.sleep(0)
        broker.kill()
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(BrokerLost, match="closed the connection"):
                await probe


async def test_failures_that_are_not_awaited_are_not_logged() -> None:
    """The futures are dropped, cancelled or not awaited."""
    async with (
        running_broker(BrokerKind.MOSQUITTO) as broker,
        connect(broker.settings(), "a", None, PATIENCE) as connection,
    ):
        connection.lost().cancel()
        lost = connection.lost()
        waiting = await publish_into_silence(connection, broker)
        waiting[0].cancel()
        broker.kill()
        await asyncio.wait((lost,))
        assert all(future.done() for future in waiting)
        _ = connection.send(MqttMessage("t", b""))
        _ = connection.lost()


# ---------------------------------------------------------------------------------------------- leaving


@everywhere
async def test_the_will_is_published_after_a_drop_and_not_after_a_close(served: BrokerSettings, topic: str) -> None:
    """An exception or a cancellation drops the connection. A normal end and `close` send DISCONNECT."""
    will = MqttMessage(topic, b"will", content_type=JSON)

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

    async with ears(served, topic) as heard, connect(served, "b", None, PATIENCE) as other:
        for how in ("raise", "cancel", "close", "end"):
            with suppress(ZeroDivisionError, asyncio.CancelledError):
                await leave(how)
            if how in {"raise", "cancel"}:
                message = await anext(heard)
                assert (message.payload, message.qos) == (b"will", 1)
                assert getattr(message.properties, "ContentType", None) == (JSON if served.version == "5" else None)
            else:
                await other.publish(MqttMessage(topic, how.encode()))
                assert await take(heard, 1) == [how.encode()]


@both_versions
async def test_leaving_with_unread_acknowledgements_is_not_a_drop(
    broker: Broker, topic: str, version: MqttVersion
) -> None:
    """Every sent message arrives, and the will is not published, although the last acknowledgements are not read."""
    settings = broker.settings(version)
    async with ears(settings, topic) as heard:
        for _ in range(10):
            async with connect(settings, "a", MqttMessage(topic, b"will"), PATIENCE) as connection:
                waiting = [connection.send(MqttMessage(topic, b"%d" % number)) for number in range(WINDOW)]
            assert all(isinstance(future.exception(), BrokerLost) for future in waiting if future.exception())
            assert await take(heard, WINDOW) == [b"%d" % number for number in range(WINDOW)]


async def test_leaving_a_stuck_broker_needs_no_longer_than_the_limit() -> None:
    """DISCONNECT does not fit into the buffers, or the broker does not read it."""
    for size in (1, 1_000_000):
        async with (
            running_broker(BrokerKind.MOSQUITTO) as broker,
            asyncio.timeout(PATIENCE_S),
            connect(broker.settings(), "a", None, CLOSES_SOON) as connection,
        ):
            await publish_into_silence(connection, broker, size)


# ---------------------------------------------------------------------------------------------- the libraries


async def test_the_private_names_that_we_use_exist() -> None:
    """A new version of aiomqtt or paho without one of them fails this test."""
    client = aiomqtt.Client("127.0.0.1", timeout=1)
    below = getattr(client, "_client", None)
    there = {
        "aiomqtt.Client._client is a paho client": isinstance(below, paho.mqtt.client.Client),
        "aiomqtt.Client._disconnected is a future": isinstance(getattr(client, "_disconnected", None), asyncio.Future),
        "aiomqtt.Client._misc_task is None before the connect": getattr(client, "_misc_task", "absent") is None,
        "aiomqtt.Client._misc_loop runs the keepalive": iscoroutinefunction(getattr(client, "_misc_loop", None)),
        "paho Client has the times of its keepalive": [
            type(getattr(below, name, None)) for name in ("_last_msg_out", "_last_bytes_received", "_ping_t")
        ]
        == [float] * 3,
        "paho Client._create_socket makes the socket": callable(getattr(below, "_create_socket", None)),
        "paho Client._sock_close closes it": callable(getattr(below, "_sock_close", None)),
    }
    gone = [name for name, is_so in there.items() if not is_so]
    versions = f"aiomqtt {installed('aiomqtt')} over paho-mqtt {installed('paho-mqtt')}"
    assert not gone, f"{versions}: changed: {'; '.join(gone)}. See the first lines of shoed/bus/client.py."


async def test_the_private_names_that_we_use_have_their_effect(broker: Broker) -> None:
    """Paho gets its socket from _create_socket, aiomqtt runs _misc_task with it, and _sock_close ends both."""
    async with connect(broker.settings(), "a", None, PATIENCE) as connection:
        client, below = connection._client, connection._paho  # noqa: SLF001
        line, task = below.socket(), client._misc_task  # noqa: SLF001
        assert line is below._create_socket(), "paho made its own socket"  # noqa: SLF001
        assert task is not None, "aiomqtt does not use _misc_task for the keepalive"
        assert getattr(task.get_coro(), "__qualname__", "") == "Connection._keep_alive", (
            "aiomqtt does not use _misc_loop"
        )
        assert not task.done()
        below._sock_close()  # noqa: SLF001
        assert (line.fileno(), below.socket()) == (-1, None), "paho did not close the socket"
        await asyncio.wait((task,))
