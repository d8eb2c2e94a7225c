"""Cases on two crossed serial adapters: `HIL_SERIAL=A,B`. A virtual shoe sends on A, and a daemon reads B."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.hil.bridge import bridge
from tests.hil.devices import deal, scenario
from tests.witnesses import TABLE
from tests.world import World

pytestmark = pytest.mark.slow

ROUND = ["8S", "4D", "QH", "2C"]


class Adapters(NamedTuple):
    sending: str
    receiving: str

    @property
    def port(self) -> str:
        return f"serial://{self.receiving}?baud=4800"


@pytest.fixture
def adapters() -> Adapters:
    names = os.environ.get("HIL_SERIAL", "").split(",")
    if len(names) != 2:
        pytest.skip("HIL_SERIAL is not set; write the nodes of two crossed adapters, as in HIL_SERIAL=A,B")
    return Adapters(*names)


@asynccontextmanager
async def shoe(adapters: Adapters, file: Path) -> AsyncIterator[None]:
    """A virtual Angel Eye shoe on the first adapter plays the scenario."""
    command = (sys.executable, "-m", "shoed", "rig", "angel-eye", "--listen=tcp://127.0.0.1:0", f"--scenario={file}")
    rig = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert rig.stdout is not None
    found = re.search(rb'"tcp://127.0.0.1:([0-9]+)"', await rig.stdout.readline())
    assert found is not None
    bridging = asyncio.create_task(bridge(adapters.sending, int(found[1])))
    try:
        yield
    finally:
        bridging.cancel()
        await asyncio.wait([bridging])
        rig.kill()
        await rig.wait()


async def test_a_round_over_a_real_line(world: World, adapters: Adapters, tmp_path: Path) -> None:
    """All cards arrive in order, and no byte is rejected."""
    daemon = await world.launch(world.configure(adapters))
    await daemon.ready()
    await world.recorder.event("device.online")
    async with shoe(adapters, written(tmp_path, "load = ''", deal(*ROUND))):
        await world.recorder.event("round.completed")
    assert drawn(world) == ROUND
    assert world.journal.count("line.rejected") == 0


async def test_a_standstill_of_the_daemon_loses_no_card(world: World, adapters: Adapters, tmp_path: Path) -> None:
    """The kernel keeps the bytes of a stopped daemon: the cards of this time follow, in order."""
    daemon = await world.launch(world.configure(adapters))
    await daemon.ready()
    await world.recorder.event("device.online")
    steps = ("load = ''", deal(*ROUND[:2]), deal(*ROUND[2:], after_ms=1500))
    async with shoe(adapters, written(tmp_path, *steps)):
        await world.recorder.event("card.drawn", card=ROUND[1])
        daemon.process.send_signal(signal.SIGSTOP)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(4):
                await daemon.process.wait()
        daemon.process.send_signal(signal.SIGCONT)
        await world.recorder.event("round.completed")
    assert drawn(world) == ROUND


def written(place: Path, *steps: str) -> Path:
    file = place / "scenario.toml"
    file.write_text(scenario(*steps))
    return file


def drawn(world: World) -> list[str]:
    return [row.data["card"] for row in world.journal.events(TABLE) if row.type == "card.drawn"]
