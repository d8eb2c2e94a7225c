"""A stopped host only reads late: the daemon under SIGSTOP and SIGCONT while devices deal.

Theory of operation. Two Angel Eyes, on a pty and over TCP, and a scanner draw a card every 700 ms, each with its own
randomness. The daemon's process is stopped at random times for up to 1.5 s. All bytes wait in the kernel. So the
daemon must publish the same events as without a standstill: every card, complete and in order, without a rejection or
a question.

`./dev stalls N` makes N standstills in place of a few.
"""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import pytest
import pytest_asyncio

from firmware_protocols.angel_eye import AngelEyeResult
from firmware_protocols.family import Line
from shoed.model.cards import Card
from shoed.ports.address import TcpAddress
from shoed.rig.broker import Broker
from shoed.rig.outlets import TcpOutlet
from shoed.rig.virtual import Transmitter
from tests.command_clients import shoed
from tests.scanner_line import scan
from tests.test_cuts import BAUD, Rig, rig_on
from tests.world import Daemon, World

pytestmark = pytest.mark.slow
EACH: Final = int(os.environ.get("SHOED_STALLS", "12"))
DRAWN_EVERY_S: Final = (0.6, 0.8)
LONGEST_S: Final = 1.5
BETWEEN_S: Final = 0.4
TORN_AFTER_MS: Final = 900  # this process may stop, too, in the middle of a frame
TABLES: Final = {"pty": "bac-901", "tcp": "bac-902", "scanner": "bac-903"}


class Dealing(Protocol):
    """A device, and the cards that it has dealt."""

    @property
    def port(self) -> str: ...

    @property
    def cards(self) -> list[str]: ...

    @property
    def may_stop(self) -> bool: ...

    async def draw(self) -> None: ...


class AngelEye:
    """It sends its next report, up to the end of a round."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.port = rig.outlet.at

    @property
    def cards(self) -> list[str]:
        return [each.card for each in self.rig.log if each.card is not None]

    @property
    def may_stop(self) -> bool:
        return isinstance(self.rig.log[-1].report, AngelEyeResult)

    async def draw(self) -> None:
        await self.rig.say()


class Scanner:
    """It types a code, byte by byte."""

    may_stop = True

    def __init__(self, outlet: TcpOutlet, transmitter: Transmitter, seed: int) -> None:
        self.port = outlet.at
        self.transmitter = transmitter
        deck = random.Random(seed).sample(sorted(map(str, Card)) * 8, 8 * len(Card))
        self.deck = [card for card, _ in groupby(deck)]  # two equal codes that are read late would cause a question
        self.cards: list[str] = []

    async def draw(self) -> None:
        self.cards.append(self.deck[len(self.cards) % len(self.deck)])
        self.transmitter.send(scan(self.cards[-1]))
        await self.transmitter.idle.wait()


@asynccontextmanager
async def scanning(seed: int) -> AsyncIterator[tuple[Scanner, TcpOutlet]]:
    outlet, transmitter = TcpOutlet(TcpAddress("127.0.0.1", 0), lambda _: None, patient=False), Transmitter(Line(BAUD))
    await outlet.open()
    transmitting = asyncio.create_task(transmitter.run(outlet))
    try:
        yield Scanner(outlet, transmitter, seed), outlet
    finally:
        transmitting.cancel()
        await outlet.close()


async def deal(device: Dealing, stop: asyncio.Event, rng: random.Random) -> None:
    while not (stop.is_set() and device.may_stop):
        await device.draw()
        next_due = asyncio.Event()  # the pause begins after the draw: a draw may take long on a busy machine
        asyncio.get_running_loop().call_later(rng.uniform(*DRAWN_EVERY_S), next_due.set)
        await next_due.wait()


async def stand_still(daemon: Daemon, rng: random.Random) -> None:
    """Stop and continue the daemon until it ends."""
    for _ in range(EACH):
        ended = asyncio.ensure_future(daemon.process.wait())
        await asyncio.wait((ended,), timeout=rng.uniform(0, BETWEEN_S))
        daemon.process.send_signal(signal.SIGSTOP)
        await asyncio.wait((ended,), timeout=rng.uniform(0, LONGEST_S))
        daemon.process.send_signal(signal.SIGCONT)
        ended.cancel()


def configured(world: World, devices: Mapping[str, Dealing]) -> Path:
    path = world.place / "c.toml"
    tables = "".join(
        f"""
        [[table]]
        name = "{TABLES[name]}"
        game = "commission"
        [table.shoe]
        protocol = "{"scanner" if name == "scanner" else "angel-eye"}"
        port = "{device.port}"
        torn_after_ms = {TORN_AFTER_MS}
        """
        for name, device in devices.items()
    )
    path.write_text(f"""
        [site]
        name = "{world.site}"
        state_dir = "{world.state_dir}"
        [mqtt]
        url = "mqtt://{world.broker.host}:{world.broker.port}"
        {tables}
    """)
    return path


class Dealt(NamedTuple):
    """The dealt cards of each device, and the events of each table."""

    cards: dict[str, list[str]]
    events: dict[str, list[Any]]

    def of(self, name: str, *kinds: str) -> list[Any]:
        return [each["data"] for each in self.events[name] if each["type"].removeprefix("shoed.") in kinds]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def dealt(tmp_path_factory: pytest.TempPathFactory, broker: Broker) -> Dealt:
    rng, stop = random.Random(1), asyncio.Event()
    place = tmp_path_factory.mktemp("stalls")
    async with (
        World(place, broker) as world,
        rig_on("pty", place, 1) as pty,
        rig_on("tcp", place, 2) as tcp,
        scanning(3) as (scanner, outlet),
    ):
        devices: dict[str, Dealing] = {"pty": AngelEye(pty), "tcp": AngelEye(tcp), "scanner": scanner}
        daemon = await world.launch(configured(world, devices))
        await daemon.ready()
        for each in (pty.outlet, tcp.outlet, outlet):
            await each.connected.wait()
        async with asyncio.TaskGroup() as tasks:
            for device in devices.values():
                tasks.create_task(deal(device, stop, rng))
            await stand_still(daemon, rng)
            stop.set()
        for name, device in devices.items():
            await until_published(world, TABLES[name], len(device.cards))
        await daemon.stop()
        finished = await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)
        assert (finished.status, finished.err) == (0, ""), finished
        assert world.journal.read_late()
        return Dealt(
            {name: device.cards for name, device in devices.items()},
            {name: world.recorder.events(table) for name, table in TABLES.items()},
        )


async def until_published(world: World, table: str, cards: int) -> None:
    def there() -> bool:
        return len([each for each in world.recorder.events(table) if each["type"].startswith("shoed.card.")]) >= cards

    await world.recorder.until(there)
    await world.all_published(table)


@pytest.mark.parametrize("name", TABLES)
def test_every_card_is_published_once_and_in_order(dealt: Dealt, name: str) -> None:
    """No frame is torn, no code is split, and no card is counted as a copy."""
    assert [each["card"] for each in dealt.of(name, "card.drawn", "card.set-aside")] == dealt.cards[name]
    assert dealt.of(name, "line.rejected") == []


@pytest.mark.parametrize("name", TABLES)
def test_a_standstill_causes_no_question(dealt: Dealt, name: str) -> None:
    """Cards that are read together were not drawn together."""
    assert dealt.of(name, "round.completed")
    assert dealt.of(name, "question.asked", "round.suspended", "line.missed") == []
