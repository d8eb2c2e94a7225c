"""A table's desk: the lines of its devices, and what becomes of those who wait for an answer when it all ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.family import Settings
from shoed.bus.settings import BrokerSettings
from shoed.commands import Answer, Author, OpenBets
from shoed.config import ShoeConfig, ShufflerConfig, TableConfig, describe
from shoed.daemon import Desk
from shoed.engine import ENGINE
from shoed.journal import Store, Writer
from shoed.ports.clock import now
from shoed.session.families import BUILT_IN, Driver
from shoed.step import Configured, Told
from shoed.words import Role
from tests import shuffler
from tests.foreign_shoe import TcpShoe
from tests.observed import fault
from tests.witnesses import PATIENCE_S, Journal

TABLE: Final = TableConfig(
    name="bac-901",
    game="commission",
    decks=8,
    layout=None,
    shoe=ShoeConfig("angel-eye", "any", "tcp://127.0.0.1:1", False, 250, AngelEyeSettings()),  # noqa: FBT003 -- no orders
)
TOLD: Final = Told(OpenBets(), Author("ann", Role.DEALER), "1")
ENDED: Final = "table failed: KeyError: 7"


@asynccontextmanager
async def desk(place: Path, table: TableConfig = TABLE) -> AsyncIterator[tuple[Desk, Journal]]:
    """One without a broker."""
    store = Store(place)
    writer = Writer(store, ENGINE)
    made = Desk(table, "rws", BrokerSettings("127.0.0.1", 1), store, writer)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield made, Journal(store.path)
    finally:
        await writer.close()


@pytest.fixture
def refused() -> Answer:
    return Answer("1", accepted=False, detail=ENDED)


async def test_what_was_not_taken_is_refused_when_the_table_ends(tmp_path: Path, refused: Answer) -> None:
    """It is not on record, and whoever asks later hears the same."""
    async with desk(tmp_path) as (table, journal):
        asking = asyncio.create_task(table.tell(TOLD))
        await asyncio.sleep(0)
        table.ended = ENDED
        table.dismiss(ENDED, taken=False)
        assert await asking == refused
        assert await table.tell(TOLD) == refused
        assert journal.ask("SELECT * FROM step") == []


async def test_what_was_taken_is_answered_by_its_commit(tmp_path: Path) -> None:
    """The table ended meanwhile; what the record will say is what is said, then and later."""
    async with desk(tmp_path) as (table, journal):
        taking = asyncio.create_task(table.hear())
        with journal.locked():
            asking = asyncio.create_task(table.tell(TOLD))
            for _ in range(9):
                await asyncio.sleep(0)
            assert table.waiting["1"].taken
            table.ended = ENDED
            table.dismiss(ENDED, taken=False)
            assert not asking.done()
        answer = await asking
        assert answer.detail != ENDED
        assert await table.tell(TOLD) == answer
        assert table.waiting == {}
        taking.cancel()


async def test_whoever_waits_may_be_cancelled(tmp_path: Path) -> None:
    """One of two: the command is taken all the same, and the other gets its answer."""
    async with desk(tmp_path) as (table, journal):
        one, other = (asyncio.create_task(table.tell(TOLD)) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        taking = asyncio.create_task(table.hear())
        answer = await other
        assert one.cancelled()
        assert journal.ask("SELECT count(*) FROM step") == [(1,)]
        assert await table.tell(TOLD) == answer
        taking.cancel()


async def test_a_journal_that_is_gone_answers_so(tmp_path: Path) -> None:
    """It cannot be read, so nobody knows whether the command is on record."""
    place = tmp_path / "state"
    place.mkdir()
    async with desk(place) as (table, journal):
        await table.writer.flush()
        for file in place.iterdir():
            file.unlink()
        answer = await table.tell(TOLD)
        assert not answer.accepted
        assert f"journal failed: {journal.path}: " in answer.detail


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shufflers that say their observations in JSON are a family of their own."""
    family = FAMILIES["angel-eye"]._replace(name="telling", roles=("shuffler",))
    telling = Driver(family, lambda *_, **__: shuffler.shuffler())
    monkeypatch.setattr("shoed.session.families.BUILT_IN", {**BUILT_IN, "telling": lambda: telling})


@pytest.mark.usefixtures("known")
async def test_a_desk_keeps_a_line_to_each_device(tmp_path: Path) -> None:
    """What comes is that device's, what is sent goes to it and no other, and one that is cut leaves the other."""
    async with TcpShoe() as shoe, TcpShoe() as other:
        telling = ShufflerConfig("telling", "any", other.port, False, Settings())  # noqa: FBT003 -- no orders
        table = replace(TABLE, shoe=replace(TABLE.shoe, port=shoe.port), shuffler=telling)
        async with desk(tmp_path, table) as (made, journal):
            assert made.links == "shoe offline, shuffler offline"
            made.take(Configured(describe(table).decode(), ENGINE, "0"), now())
            running = asyncio.create_task(made.run())
            await shoe.connected()
            await other.connected()
            await other.send(shuffler.says(fault(2, "jam")).data)
            await other.until(lambda: bytes(other.heard) == b"heard 1")
            assert made.links == "shoe online, shuffler online"
            await other.cut()
            await other.mend()
            await other.connected()
            assert not shoe.heard
            running.cancel()
            await asyncio.wait([running])
            await made.writer.flush()
            told = [(event.type, event.data["device"]) for event in journal.events()]
    assert [kind for kind, device in told if device == "shoe"] == ["device.online", "device.offline"]
    assert [kind for kind, device in told if device == "shuffler"] == [
        *("device.online", "device.fault"),
        *("device.offline", "device.online", "device.offline"),
    ]
