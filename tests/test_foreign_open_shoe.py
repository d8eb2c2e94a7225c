"""Devices written only from the page of Open Shoe, which share no code with us: on bad lines, and at a real daemon."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from struct import pack
from typing import cast

import pytest

from firmware_protocols.open_shoe.layout import CARD_CODES
from firmware_protocols.open_shoe.messages import OpenShoeCard, ReportBody
from shoed.model.observations import Identified, Resumed
from tests import foreign_open_shoe
from tests.foreign_shoe import Shoe
from tests.open_shoe_line import A, Clock, Device, Host, Table, numbered
from tests.patience import PATIENCE_S
from tests.world import World


class ForeignDevice:
    """It replaces our own device on the same line."""

    def __init__(self, clock: Clock, version: int) -> None:
        self.clock = clock
        self.device = foreign_open_shoe.Device("shoe", version)
        self.device.start(self.s, stream=A)

    @property
    def s(self) -> float:
        return self.clock.ms / 1000

    def open(self) -> bytes:
        return self.device.opened(self.s)

    def hear(self, data: bytes = b"") -> bytes:
        return (self.device.hear(data, self.s) if data else b"") + self.device.tick(self.s)

    def say(self, body: ReportBody) -> bytes:
        assert isinstance(body, OpenShoeCard)
        added = pack(">BH", 97, 0) if self.device.version == 2 else b""
        payload = pack(">BBBIB", CARD_CODES[body.card], 0, 0, body.passage_us, 0) + added
        return self.device.report(foreign_open_shoe.CARD, payload, self.s, since_us=body.passage_us)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("every", [0, 40, 300])
@pytest.mark.parametrize("seed", range(4))
def test_each_card_of_a_foreign_device_is_recorded_once_and_in_order(seed: int, every: int, version: int) -> None:
    """The line loses, doubles, flips and swaps bytes; the cable is pulled and the host is killed."""
    clock = Clock()
    device = ForeignDevice(clock, version)
    table = Table(f"foreign {seed}", every, cast("Device", device), Host(clock))
    table.settle(5)
    table.line.every = every
    for number in range(60):
        table.say(numbered(number))
        if number in (20, 40):
            table.kill = number == 20
        if number == 30:
            table.pull(seen=bool(seed % 2))
        if number == 38:
            table.plug()
        table.tick(100)
    table.settle()
    assert table.cards == [*range(60)]
    assert all(each.proven for each in table.host.seen if isinstance(each, Resumed))
    (who,) = {(each.vendor, each.protocol) for each in table.host.seen if isinstance(each, Identified)}
    assert who == (device.device.identity[0], str(version))


class Program:
    """The program in its own process, on a TCP port, with a script line by line."""

    def __init__(self, process: asyncio.subprocess.Process, port: str) -> None:
        self.process = process
        self.port = port

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())

    async def ends(self) -> int:
        """It exits when all its reports are acknowledged."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)


@asynccontextmanager
async def program(role: str, version: int) -> AsyncIterator[Program]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, Path(foreign_open_shoe.__file__), role, "--version", str(version), "--listen", "0"),
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        printed = await asyncio.wait_for(process.stderr.readline(), PATIENCE_S)
        yield Program(process, "tcp://" + printed.decode().split()[-1])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_foreign_shoe_and_shuffler_run_a_table(world: World) -> None:
    """The shoe deals the set that the shuffler counted; the daemon is killed between two cards, and no card is lost."""
    async with program("shoe", 2) as shoe, program("shuffler", 1) as shuffler:
        path = world.configure(cast("Shoe", shoe), protocol="open-shoe")
        of_shuffler = f'\n[table.shuffler]\nprotocol = "open-shoe"\nport = "{shuffler.port}"\n'
        path.write_text(path.read_text() + of_shuffler)
        daemon = await world.launch(path)
        await daemon.ready()
        shuffler.say("recognised A7", "shuffling", "shuffled", "inventory A7", "delivered A7")
        assert await shuffler.ends() == 0
        shoe.say("loaded A7", "card 8S player 1", "pause 400", "card 3H banker 1", "settled", "pause 1000")
        await world.recorder.event("card.drawn", number=2)
        await daemon.kill()
        shoe.say("card JD player 2", "pause 400", "card 4C banker 2")
        await (await world.launch(path)).ready()
        assert await shoe.ends() == 0
        assert await world.daemons[-1].stop() == 0
    events = [row for row in world.journal.events() if not row.type.startswith(("device.", "line."))]
    assert [row.type for row in events] == [
        *("set.recognised", "set.shuffling", "set.shuffled", "set.delivered", "shoe.started", "round.started"),
        *(["card.drawn"] * 4),
        "round.completed",
    ]
