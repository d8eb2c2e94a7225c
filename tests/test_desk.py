"""A table's desk: what becomes of those who wait for an answer when the table ends, or the journal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.bus.settings import BrokerSettings
from shoed.commands import Answer, Author, OpenBets
from shoed.config import ShoeConfig, TableConfig
from shoed.daemon import Desk
from shoed.engine import ENGINE
from shoed.journal import Store, Writer
from shoed.step import Told
from shoed.words import Role
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
async def desk(place: Path) -> AsyncIterator[tuple[Desk, Journal]]:
    """One that takes commands, without a port and without a broker."""
    store = Store(place)
    writer = Writer(store, ENGINE)
    made = Desk(TABLE, "rws", BrokerSettings("127.0.0.1", 1), store, writer)
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
