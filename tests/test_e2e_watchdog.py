"""The proof of the watchdog: one thread of a real daemon stops, and the daemon reports it or continues.

The signal WATCHDOG=1 states that every part makes progress. Each test stops one thread of the process alone.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Final

import pytest

from shoed.rig.broker import BrokerKind, running_broker
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe, report
from tests.freeze import frozen
from tests.test_ports_rfc2217 import Server
from tests.world import Daemon, World

PERIOD: Final = {"WATCHDOG_USEC": "300000"}
MAIN, LOG, JOURNAL, PORT = range(4)  # the threads, in the order of their start

pytestmark = pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # pyserial 3.5


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


async def proves_progress(daemon: Daemon, times: int = 4) -> None:
    """Wait for further signals of the watchdog."""
    before = daemon.notified.count("WATCHDOG=1")
    await daemon.until(lambda: daemon.notified.count("WATCHDOG=1") >= before + times)


async def test_the_thread_of_the_journal_is_a_part(world: World, shoe: TcpShoe) -> None:
    """It is missed also while nothing is committed. Afterwards the daemon continues, and no report is lost."""
    daemon = await world.start(shoe, settings=PERIOD)
    await world.recorder.event("device.online")
    await shoe.connected()
    async with frozen(daemon.pid, JOURNAL, 3):
        await daemon.stuck("journal")
        await shoe.deal(ROUNDS[0])
        await daemon.stuck("journal")
    await proves_progress(daemon)
    await world.recorder.event("round.confirmed")


async def test_the_main_thread_sends_the_signal_itself(world: World, shoe: TcpShoe) -> None:
    """While it stops, systemd receives nothing."""
    daemon = await world.start(shoe, settings=PERIOD)
    await world.recorder.event("device.online")
    async with frozen(daemon.pid, MAIN, 3):
        world.read_notifications()
        count = len(daemon.notified)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await daemon.until(lambda: len(daemon.notified) > count)
    await proves_progress(daemon)


async def test_no_part_waits_for_the_thread_of_the_log(world: World, shoe: TcpShoe) -> None:
    """Its lines wait; the tables and the watchdog continue."""
    daemon = await world.start(shoe, settings=PERIOD)
    await world.recorder.event("device.online")
    await shoe.connected()
    await shoe.say(NATURAL[0])
    async with frozen(daemon.pid, LOG, 3):
        shoe.lose(2)
        await shoe.say(NATURAL[3])
        await world.recorder.event("line.missed")
        await proves_progress(daemon)
        assert "reports may be missing" not in str(daemon)
    await daemon.looking(lambda: "reports may be missing" in str(daemon))


@pytest.mark.parametrize("number", [PORT, PORT + 1])
async def test_the_threads_of_a_device_server_are_a_part(world: World, shoe: TcpShoe, number: int) -> None:
    """Without that of pyserial or our own, reports would stay unread. The other table continues."""
    server = Server()
    daemon = await world.launch(world.configure(SimpleNamespace(port=str(server.address)), shoe), PERIOD)
    await daemon.ready()
    await world.recorder.event("device.online")
    await world.recorder.event("device.online", "bac-902")
    await shoe.connected()
    async with frozen(daemon.pid, number, 5):
        os.write(server.device, report("1", NATURAL[0]))
        await daemon.stuck("bac-901 port")
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed", "bac-902")
    await world.recorder.event("card.drawn")
    await proves_progress(daemon)
    server.close()


async def test_a_device_that_does_not_open_is_not_a_standstill(world: World, shoe: TcpShoe) -> None:
    """The server does not speak RFC 2217, and the thread that opens the port hangs: this table waits alone."""
    silent = SimpleNamespace(port=shoe.port.replace("tcp", "rfc2217"))
    async with TcpShoe() as other:
        daemon = await world.launch(world.configure(silent, other), PERIOD)
        await daemon.ready()
        await shoe.connected()
        await world.recorder.event("device.online", "bac-902")
        await other.connected()
        async with frozen(daemon.pid, PORT, 5):  # pyserial has started its own thread
            await proves_progress(daemon, 8)
            await other.deal(ROUNDS[0])
            await world.recorder.event("round.confirmed", "bac-902")


async def test_an_absent_broker_is_not_a_standstill(world: World, shoe: TcpShoe) -> None:
    """The events wait in the journal."""
    async with running_broker(BrokerKind.MOSQUITTO) as absent:
        absent.kill()
        daemon = await world.launch(world.configure(shoe, port=absent.port), PERIOD)
        await daemon.ready()
        await shoe.connected()
        await shoe.deal(ROUNDS[0])
        await daemon.looking(lambda: world.journal.count("round.confirmed"))
        await proves_progress(daemon)
