"""The adapter over aiomqtt during the connect: URL, address, password, answer, and permissions."""

import asyncio
import base64
import hashlib
import logging
import re
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shoed.bus.client import MqttMessage, connect
from shoed.bus.settings import FORMS, BrokerSettings, MqttVersion, parse_url
from shoed.errors import BrokerLost, BrokerRefused
from shoed.rig.broker import Broker, BrokerKind, running_broker
from shoed.settings import SeveralProblems
from tests.brokers import (
    ACCEPTED_5,
    CLOSES_SOON,
    PATIENCE,
    SHORT_S,
    both_versions,
    cancel_at_every_await,
    ears,
    everywhere,
    literal,
    needs_nats,
    refused,
    take,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("nothing_is_logged_by_asyncio")

HTTP = b"HTTP/1.1 400 Bad Request\r\n" + b"Server: example\r\nContent-Type: text/html\r\nContent-Length: 0\r\n" * 2

# ---------------------------------------------------------------------------------------------- the URL


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
    """Host, port or the default port, and TLS. `at` is the same place."""
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
def test_the_refusal_of_a_url_contains_a_remedy(url: str, remedy: str) -> None:
    """The form is PROBLEM; REMEDY, without the password of the URL."""
    with pytest.raises(ValueError, match="; ") as refusal:
        parse_url(url)
    assert remedy in str(refusal.value).partition("; ")[2]
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["http://me:secret@a", "mqtt://me:secret@a/topic", "mqtt://me:secret@a:x", "mqtt:me:secret@a"]
)
def test_an_error_about_a_url_does_not_contain_its_password(url: str) -> None:
    """The errors are written to logs."""
    with pytest.raises(ValueError, match="; ") as refusal:
        parse_url(url)
    assert "secret" not in str(refusal.value)


def test_all_problems_of_a_url_are_reported_together() -> None:
    """The user, the host and the rest are checked separately."""
    with pytest.raises(SeveralProblems) as refusal:
        parse_url("http://me:secret@:0/topic")
    assert list(refusal.value.problems) == [
        f'"http://:0/topic" does not begin with mqtt:// or mqtts://; {FORMS}',
        "the url contains a user or a password; remove them, and set user and password_file",
        f'"http://:0/topic" does not contain a host and a port; {FORMS}',
        f'"http://:0/topic" has text after the port; {FORMS}',
    ]


@given(st.text() | st.text().map("mqtt://".__add__))
def test_no_url_raises_another_exception(text: str) -> None:
    """The result is a place, or a ValueError."""
    with suppress(ValueError):
        host, port, _ = parse_url(text)
        assert host
        assert 1 <= port <= 65535


# ---------------------------------------------------------------------------------------------- the connect


@dataclass
class Guarded:
    """A mosquitto with users and an access list. The password of a user is the name of the user."""

    broker: Broker
    folder: Path

    def settings(self, version: MqttVersion, user: str = "shoe") -> BrokerSettings:
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
        BrokerKind.MOSQUITTO, lines=[f"acl_file {access}", f"password_file {users}", "allow_anonymous false"]
    ) as running:
        yield Guarded(running, folder)


def hashed(password: str) -> str:
    """In the format of mosquitto_passwd."""
    salt = b"twelve bytes"
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 101)
    return f"$7$101${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


@both_versions
async def test_a_wrong_password_is_refused_and_a_changed_one_is_used(
    guarded: Guarded, version: MqttVersion, tmp_path: Path
) -> None:
    """The file is read at every connect, without its last line end."""
    file = tmp_path / "password"
    settings = replace(guarded.settings(version), password_file=str(file))
    file.write_text("wrong")
    error = await refused(settings)
    assert isinstance(error, BrokerRefused)
    assert "password_file" in str(error)
    for content in ("shoe", "shoe\n", "shoe\r\n"):
        file.write_bytes(content.encode())
        async with connect(settings, "a", None, PATIENCE):
            pass


@pytest.mark.parametrize("content", [None, b"\xff"])
async def test_the_error_names_a_password_file_that_cannot_be_read(
    broker: Broker, tmp_path: Path, content: bytes | None
) -> None:
    """The file does not exist, or is not text."""
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    error = await refused(replace(broker.settings(), user="shoe", password_file=str(file)))
    assert isinstance(error, BrokerRefused)
    assert str(file) in str(error)
    assert "password_file" in str(error)


@needs_nats
async def test_the_error_of_a_broker_with_another_version_names_the_setting(nats: Broker) -> None:
    """NATS supports MQTT 3.1.1 only."""
    error = await refused(replace(nats.settings(), version="5"))
    assert isinstance(error, BrokerRefused)
    assert "set version in [mqtt]" in str(error)


@pytest.mark.parametrize(
    ("version", "answer", "kind", "text"),
    [
        pytest.param("5", "20 03 00 88 00", BrokerLost, "Server unavailable", id="unavailable-5"),
        pytest.param("5", "20 03 00 8A 00", BrokerRefused, "Banned.*remove the ban", id="banned-5"),
        pytest.param(
            "5", "20 05 00 00 02 25 00", BrokerRefused, "does not support QoS 1 and retained", id="retains-nothing-5"
        ),
        pytest.param("5", "20 05 00 00 02 24 00", BrokerRefused, "does not support QoS 1", id="qos-0-only-5"),
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
async def test_the_answer_of_the_broker_decides_between_refused_and_lost(
    version: MqttVersion, answer: str, kind: type[Exception], text: str
) -> None:
    """BrokerRefused: a person must change something. BrokerLost: shoed tries again."""
    async with literal(bytes.fromhex(answer), version) as broker:
        error = await refused(broker.settings, replace(PATIENCE, probe_s=SHORT_S))
    assert type(error) is kind
    assert re.search(text, str(error))


async def test_a_closed_port_is_reported_at_once(broker: Broker, closed_port: int) -> None:
    """The error contains the address and the reason."""
    error = await refused(replace(broker.settings(), port=closed_port))
    assert isinstance(error, BrokerLost)
    assert f"mqtt://127.0.0.1:{closed_port} cannot be reached (127.0.0.1: Connect call failed" in str(error)


async def test_an_unknown_host_name_is_reported(broker: Broker) -> None:
    """A name with an empty label cannot be resolved, so the test asks no server."""
    error = await refused(replace(broker.settings(), host="no..where"))
    assert isinstance(error, BrokerLost)
    assert "cannot be found" in str(error)


async def test_every_address_of_a_name_is_tried(broker: Broker) -> None:
    """In many places `localhost` is ::1 first, where this broker does not listen."""
    async with connect(replace(broker.settings(), host="localhost"), "a", None, PATIENCE):
        pass


async def test_a_broker_that_closes_the_connection_is_a_loss_at_once() -> None:
    """No time limit has to pass. The second connection tries TLS."""
    async with literal(b"") as broker:
        connecting = asyncio.create_task(refused(broker.settings))
        for number in range(2):
            await broker.greeted.wait()
            broker.greeted.clear()
            broker.lines[number].shutdown(socket.SHUT_RDWR)
        async with asyncio.timeout(PATIENCE_S):
            error = await connecting
    assert isinstance(error, BrokerLost)
    assert "closed the connection without an answer" in str(error)


@pytest.mark.parametrize("tls", [False, True])
async def test_a_broker_that_does_not_answer_is_given_up(*, tls: bool) -> None:
    """The waits for CONNACK and for the TLS handshake have a time limit."""
    async with literal(b"") as broker:
        error = await refused(replace(broker.settings, tls=tls), replace(PATIENCE, connect_s=SHORT_S, probe_s=SHORT_S))
    assert isinstance(error, BrokerLost)
    assert "0.3 s" in str(error) or "in time" in str(error)


@both_versions
async def test_a_cancellation_at_any_await_leaves_nothing_open(
    broker: Broker, topic: str, version: MqttVersion
) -> None:
    """No socket, no task and no thread remains."""
    await cancel_at_every_await(broker.settings(version), topic)


# ---------------------------------------------------------------------------------------------- permissions


async def test_only_the_denied_message_is_refused(guarded: Guarded) -> None:
    """In MQTT 5 the acknowledgement contains the refusal. The messages before and after it are accepted."""
    async with connect(guarded.settings("5"), "a", None, PATIENCE) as connection:
        topics = ("open/1", "readonly/1", "open/2")
        async with asyncio.timeout(PATIENCE_S):
            first, denied, last = await asyncio.gather(
                *(connection.publish(MqttMessage(topic, b"")) for topic in topics), return_exceptions=True
            )
        assert (first, last) == (None, None)
        assert isinstance(denied, BrokerRefused)
        assert "readonly/1" in str(denied)
        assert "Not authorized (0x87)" in str(denied)
        assert "access list" in str(denied)
        await connection.probe(MqttMessage("open/1", b""))
        with pytest.raises(BrokerRefused, match="readonly/1"):
            await connection.probe(MqttMessage("readonly/1", b""))


async def test_an_exceeded_quota_is_a_loss() -> None:
    """No setting has to be changed, so shoed tries again."""
    async with literal(ACCEPTED_5) as broker, connect(broker.settings, "a", None, CLOSES_SOON) as connection:
        acknowledged = connection.send(MqttMessage("t", b""))
        broker.lines[0].send(bytes.fromhex("40 04 00 01 97 00"))
        with pytest.raises(BrokerLost, match=r"Quota exceeded \(0x97\)"):
            await acknowledged


@everywhere
async def test_the_probe_publishes_a_permitted_message(served: BrokerSettings, topic: str) -> None:
    """Every subscriber receives it once, also on a topic with a retained message."""
    status = MqttMessage(topic, b"online", retain=True)
    async with connect(served, "a", None, PATIENCE) as connection:
        await connection.publish(status)
        async with ears(served, topic) as heard:
            assert await take(heard, 1) == [b"online"]
            await connection.probe(status)
            await connection.publish(MqttMessage(topic, b"next"))
            assert await take(heard, 2) == [b"online", b"next"]


async def test_the_probe_detects_a_denial_under_mqtt_311(guarded: Guarded) -> None:
    """The broker acknowledges messages that it discards. An older retained message is not taken for an echo."""
    status = MqttMessage("readonly/status", b"online", retain=True)
    async with connect(guarded.settings("3.1.1", "admin"), "b", None, PATIENCE) as admin:
        await admin.publish(status)
    async with connect(guarded.settings("3.1.1"), "a", None, replace(PATIENCE, probe_s=SHORT_S)) as connection:
        await connection.publish(status)
        with pytest.raises(BrokerRefused, match=r"readonly/status.*user shoe.*access list"):
            await connection.probe(status)


async def test_the_probe_refuses_a_topic_without_read_permission(guarded: Guarded) -> None:
    """Mosquitto accepts the subscription and sends nothing, as for a denied message: both look the same."""
    async with connect(guarded.settings("3.1.1"), "a", None, replace(PATIENCE, probe_s=SHORT_S)) as connection:
        with pytest.raises(BrokerRefused, match=r"write and to read.*version = \"5\""):
            await connection.probe(MqttMessage("writeonly/status", b"online"))


@needs_nats
async def test_the_probe_continues_if_the_broker_refuses_the_subscription(caplog: pytest.LogCaptureFixture) -> None:
    """The refusal is not about publishing: `probe` logs a warning, and the message is sent."""
    users = (
        'authorization { users: [ { user: "all", password: "all" }, '
        '{ user: "shoe", password: "shoe", permissions: { publish: ">", subscribe: { deny: "test.>" } } } ] }'
    )
    async with running_broker(BrokerKind.NATS, lines=[users]) as broker:
        settings = broker.settings()
        password = broker.directory / "password"
        password.write_text("shoe")
        async with ears(replace(settings, user="all"), "test/status") as heard:
            async with connect(
                replace(settings, user="shoe", password_file=str(password)), "a", None, PATIENCE
            ) as connection:
                await connection.probe(MqttMessage("test/status", b"online"))
            assert await take(heard, 1) == [b"online"]
    (warning,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert "does not allow user shoe to read test/status" in warning.getMessage()
