"""A host that stands still reads late, and nothing else: the daemon under SIGSTOP and SIGCONT while devices deal.

Theory of operation. Two Angel Eyes, on a pty and over TCP, and a scanner draw a card every half second, each with its
own randomness. Meanwhile the daemon's process is stopped at random moments for up to a second. All bytes wait in the
kernel, so what is published must be what the same bytes give without a standstill: each card, whole and in its order,
nothing rejected, nothing in question.

`./dev stalls N` makes N standstills instead of a few.
"""

import asyncio
import os
import random
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import pytest
import pytest_asyncio

from firmware_protocols.angel_eye import Result
from shoed.cards import Card
from shoed.rig.broker import Broker
from tests.foreign_shoe import TcpShoe
from tests.scanner_line import scan
from tests.test_cuts import Rig, rig_on
from tests.world import World

EACH: Final = int(os.environ.get("SHOED_STALLS", "12"))
DRAWN_EVERY_S: Final = (0.5, 0.7)
LONGEST_S: Final = 1.0
BETWEEN_S: Final = 0.4
REPORT_BYTES: Final = 8  # of a keyboard
KEY_S: Final = 0.004
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
    """It says its next report, to the end of a round."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.port = rig.outlet.at

    @property
    def cards(self) -> list[str]:
        return [each.card for each in self.rig.log if each.card is not None]

    @property
    def may_stop(self) -> bool:
        return isinstance(self.rig.log[-1].report, Result)

    async def draw(self) -> None:
        await self.rig.say()


class Scanner:
    """It types as scanners do: a report every few milliseconds."""

    may_stop = True

    def __init__(self, line: TcpShoe, seed: int) -> None:
        self.line = line
        self.port = line.port
        self.deck = random.Random(seed).sample(sorted(map(str, Card)) * 8, 8 * len(Card))
        self.cards: list[str] = []

    async def draw(self) -> None:
        self.cards.append(self.deck[len(self.cards) % len(self.deck)])
        keys = scan(self.cards[-1])
        for begin in range(0, len(keys), REPORT_BYTES):
            await self.line.send(keys[begin : begin + REPORT_BYTES])
            await asyncio.sleep(KEY_S)


async def deal(device: Dealing, stop: asyncio.Event, rng: random.Random) -> None:
    while True:
        await device.draw()
        if stop.is_set() and device.may_stop:
            return
        await asyncio.sleep(rng.uniform(*DRAWN_EVERY_S))


async def stand_still(pid: int, rng: random.Random) -> None:
    for _ in range(EACH):
        await asyncio.sleep(rng.uniform(0, BETWEEN_S))
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(rng.uniform(0, LONGEST_S))
        finally:
            os.kill(pid, signal.SIGCONT)


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
    """What each device has dealt, and the events of each table."""

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
        TcpShoe() as scanner,
    ):
        devices: dict[str, Dealing] = {"pty": AngelEye(pty), "tcp": AngelEye(tcp), "scanner": Scanner(scanner, 3)}
        daemon = await world.launch(configured(world, devices))
        await daemon.ready()
        await scanner.connected()
        await pty.outlet.attended.wait()
        await tcp.outlet.attended.wait()
        async with asyncio.TaskGroup() as tasks:
            for device in devices.values():
                tasks.create_task(deal(device, stop, rng))
            await stand_still(daemon.pid, rng)
            stop.set()
        for name, device in devices.items():
            await until_published(world, TABLES[name], len(device.cards))
        return Dealt(
            {name: device.cards for name, device in devices.items()},
            {name: world.recorder.events(table) for name, table in TABLES.items()},
        )


async def until_published(world: World, table: str, cards: int) -> None:
    def there() -> bool:
        return len([each for each in world.recorder.events(table) if each["type"].startswith("shoed.card.")]) >= cards

    await world.recorder.until(there)
    await world.all_told(table)


@pytest.mark.parametrize("name", TABLES)
def test_every_card_is_published_once_and_in_order(dealt: Dealt, name: str) -> None:
    """No frame is torn, no code is split, no card is taken for a copy."""
    assert [each["card"] for each in dealt.of(name, "card.drawn", "card.set-aside")] == dealt.cards[name]
    assert dealt.of(name, "line.rejected") == []


@pytest.mark.parametrize("name", TABLES)
def test_a_standstill_raises_no_question(dealt: Dealt, name: str) -> None:
    """Cards that were read together were not drawn together."""
    assert dealt.of(name, "round.completed")
    assert dealt.of(name, "question.asked", "round.suspended", "line.missed") == []
