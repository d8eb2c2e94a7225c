"""A daemon with an Open Shoe and a shuffler on two lines: the delivered set is compared with the dealt cards.

Each device is the session of shoed in the role of the device. Its clock advances by a second with every report.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from itertools import chain

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import (
    Delivered,
    Inventory,
    Loaded,
    OpenShoeFailed,
    Recognised,
    ReportBody,
    Shuffled,
    Shuffling,
)
from shoed.engine import Engine
from shoed.journal.reader import Reader
from shoed.journal.replay import decode_again, rehearse
from shoed.model.moments import Chunk, Now
from shoed.ports.clock import now
from shoed.service.config import recall
from shoed.service.engines import engine_of
from shoed.session import SessionState
from shoed.session.open_shoe_device import OpenShoeDeviceSession
from tests.command_clients import shoed
from tests.foreign_shoe import TcpShoe
from tests.open_shoe_line import MS, A
from tests.test_open_shoe_table import card
from tests.witnesses import TABLE
from tests.world import World

WHOLE = (8,) * 52
ROUND = ("8S", "3H", "JD", "4C")  # a natural


class OpenDevice(TcpShoe):
    def __init__(self, role: str) -> None:
        super().__init__()
        self.role = OpenShoeDeviceSession(OpenShoeSettings().for_role(role), version=2)
        self.state = self.role.begin(A)
        self.ahead_ms = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.append(writer)
        self.news.set()
        while data := await reader.read(4096):
            self.state, out = self.role.hear(self.state, self.at(data))
            writer.write(out)
            self.news.set()
        self.clients.remove(writer)
        writer.close()
        self.news.set()

    def at(self, data: bytes = b"") -> Chunk:
        moment = now()
        return Chunk(data, Now(moment.utc_us, moment.mono_ns + self.ahead_ms * MS))

    async def report(self, *reports: ReportBody) -> None:
        for each in reports:
            self.ahead_ms += 1000
            self.state, out = self.role.say(self.state, each, self.at().at)
            await self.send(out)

    async def acknowledged(self) -> None:
        await self.until(lambda: not self.state.store.kept)


@pytest.fixture
async def devices() -> AsyncIterator[tuple[OpenDevice, OpenDevice]]:
    async with OpenDevice("shoe") as shoe, OpenDevice("shuffler") as shuffler:
        yield shoe, shuffler


def engine_for(settings: str) -> Engine[SessionState]:
    return engine_of(recall(settings), "")


async def start(world: World, shoe: OpenDevice, shuffler: OpenDevice) -> None:
    path = world.configure(shoe, protocol="open-shoe")
    of_shuffler = f'\n[table.shuffler]\nprotocol = "open-shoe"\nport = "{shuffler.port}"\n'
    path.write_text(path.read_text() + of_shuffler)
    daemon = await world.launch(path)
    await daemon.ready()
    await shoe.connected()
    await shuffler.connected()


async def test_the_delivered_set_is_compared_with_the_dealt_cards(
    world: World, devices: tuple[OpenDevice, OpenDevice]
) -> None:
    """A set is delivered while the daemon is off, loaded and dealt. A failed shuffle then suspends the next shoe.

    `shoed status` names the shoe of the question, by its number and its device.
    """
    shoe, shuffler = devices
    await start(world, shoe, shuffler)
    await shuffler.report(Recognised("A7"), Shuffling())
    await shuffler.acknowledged()
    await world.daemons[-1].kill()
    await shuffler.report(Shuffled(), Inventory("A7", WHOLE, 0), Delivered("A7"))
    await start(world, shoe, shuffler)
    await shuffler.acknowledged()
    await shoe.report(Loaded("A7"), *map(card, ROUND))
    await shoe.acknowledged()
    await shuffler.report(OpenShoeFailed(1))
    await shuffler.acknowledged()
    await shoe.report(Loaded("B2"), card("2C"))
    await shoe.acknowledged()
    shown = " ".join((await shoed("status", "--state-dir", world.state_dir)).out.split())
    assert f"question 1, shoe 2 (open-shoe at {shoe.port}): Before round 1: " in shown
    assert await world.daemons[-1].stop() == 0
    types = [row.type for row in world.journal.events() if not row.type.startswith("device.")]
    assert types == [
        *("set.recognised", "set.shuffling", "set.shuffled", "set.delivered", "shoe.started", "round.started"),
        *(["card.drawn"] * 4),
        *("round.completed", "set.failed", "shoe.started"),
        *("irregularity.noticed", "irregularity.ruled", "question.asked"),
        *(
            "round.unconfirmed",
            "round.started",
            "card.set-aside",
            "round.suspended",
            "question.revised",
        ),
    ]
    with closing(Reader(world.journal.path)) as reader:
        replays = [replay(reader, TABLE, engine_for) for replay in (rehearse, decode_again)]
        assert list(chain(*replays)) == []
