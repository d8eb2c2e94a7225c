"""The desk of a table: the links of its devices, and the answers to commands when the table ends."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from threading import Barrier
from typing import Any, Final

import pytest
from msgspec.structs import replace

from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.family import Settings
from shoed.bus.settings import BrokerSettings
from shoed.engine import ENGINE
from shoed.journal import Reader, Store, Writer, incarnations
from shoed.journal.backup import back_up
from shoed.journal.from_backup import restore
from shoed.journal.incarnations import Outside, TailLoss
from shoed.journal.store import JOURNAL
from shoed.model.commands import Answer, Author, OpenBets
from shoed.model.irregularities import Role
from shoed.model.step import Commanded, Configured
from shoed.ports.clock import now
from shoed.service.config import ShoeConfig, ShufflerConfig, TableConfig, describe
from shoed.service.desk import Desk
from shoed.session.families import BUILT_IN, Driver
from tests import shuffler
from tests.crash import evidence
from tests.foreign_shoe import TcpShoe
from tests.long_record import LongRecord
from tests.observed import fault
from tests.patience import PATIENCE_S
from tests.witnesses import Journal

TABLE: Final = TableConfig(
    name="bac-901",
    game="commission",
    decks=8,
    layout=None,
    shoe=ShoeConfig("angel-eye", "any", "tcp://127.0.0.1:1", False, 250, AngelEyeSettings()),  # noqa: FBT003 -- no orders
)
COMMAND: Final = Commanded(OpenBets(), Author("ann", Role.DEALER), "1")
ENDED: Final = "table failed: KeyError: 7"


@asynccontextmanager
async def desk(place: Path, table: TableConfig = TABLE) -> AsyncIterator[tuple[Desk, Journal]]:
    """A desk without a broker."""
    store = Store(place)
    writer = Writer(store, ENGINE)
    made = Desk(table, "rws", BrokerSettings("127.0.0.1", 1), store, writer)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield made, Journal(store.path)
    finally:
        await writer.close()


async def linked(table: Desk, links: str) -> None:
    """Wait for this state of the links. The desk has no event for it."""
    while table.links != links:  # noqa: ASYNC110 -- the time limit is that of the desk
        await asyncio.sleep(0)


@pytest.fixture
def refused() -> Answer:
    return Answer("1", accepted=False, detail=ENDED)


async def test_a_queued_command_is_refused_when_the_table_ends(tmp_path: Path, refused: Answer) -> None:
    """The command is not on record, and a repeated command gets the same answer."""
    async with desk(tmp_path) as (table, journal):
        asking = asyncio.create_task(table.execute(COMMAND))
        await asyncio.sleep(0)
        table.ended = ENDED
        table.refuse_pending(ENDED, taken=False)
        assert await asking == refused
        assert await table.execute(COMMAND) == refused
        assert journal.ask("SELECT * FROM step") == []


async def test_a_taken_command_is_answered_after_its_commit(tmp_path: Path) -> None:
    """The table ends before the commit; the answer is still the recorded one."""
    async with desk(tmp_path) as (table, journal):
        taking = asyncio.create_task(table.take_commands())
        with journal.locked():
            asking = asyncio.create_task(table.execute(COMMAND))
            await asyncio.sleep(0)
            search = table.pending["1"].search
            assert search is not None
            await search
            for _ in range(9):
                await asyncio.sleep(0)
            assert table.pending["1"].taken
            table.ended = ENDED
            table.refuse_pending(ENDED, taken=False)
            assert not asking.done()
        answer = await asking
        assert answer.detail != ENDED
        assert await table.execute(COMMAND) == answer
        assert table.pending == {}
        taking.cancel()


async def test_a_client_that_waits_may_be_cancelled(tmp_path: Path) -> None:
    """Two clients send one command, and one is cancelled: the other client gets the answer."""
    async with desk(tmp_path) as (table, journal):
        one, other = (asyncio.create_task(table.execute(COMMAND)) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        taking = asyncio.create_task(table.take_commands())
        answer = await other
        assert one.cancelled()
        assert journal.ask("SELECT count(*) FROM step") == [(1,)]
        assert await table.execute(COMMAND) == answer
        taking.cancel()


async def test_a_command_is_refused_if_the_journal_cannot_be_read(tmp_path: Path) -> None:
    """It is not known whether the command is on record."""
    place = tmp_path / "state"
    place.mkdir()
    async with desk(place) as (table, journal):
        await table.writer.flush()
        for file in place.iterdir():
            file.unlink()
        answer = await table.execute(COMMAND)
        assert not answer.accepted
        assert answer.detail.startswith("journal failed: ")
        assert str(journal.path) in answer.detail


@pytest.fixture
def json_shuffler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device family of shufflers that send their observations as JSON."""
    family = FAMILIES["angel-eye"]._replace(name="json-shuffler", roles=("shuffler",))
    driver = Driver(family, lambda *_, **__: shuffler.shuffler())
    monkeypatch.setattr("shoed.session.families.BUILT_IN", {**BUILT_IN, "json-shuffler": lambda: driver})


@pytest.mark.usefixtures("json_shuffler")
async def test_a_desk_has_a_link_to_each_device(tmp_path: Path) -> None:
    """Observations and sent bytes belong to one device; the end of one link does not affect the other link."""
    async with TcpShoe() as shoe, TcpShoe() as other:
        of_shuffler = ShufflerConfig("json-shuffler", "any", other.port, False, Settings())  # noqa: FBT003 -- no orders
        table = replace(TABLE, shoe=replace(TABLE.shoe, port=shoe.port), shuffler=of_shuffler)
        async with desk(tmp_path, table) as (made, journal):
            assert made.links == "shoe offline, shuffler offline"
            made.take(Configured(describe(table).decode(), ENGINE, "0"), now())
            running = asyncio.create_task(made.run())
            await shoe.connected()
            await other.connected()
            await other.send(shuffler.says(fault(2, "jam")).data)
            await other.until(lambda: bytes(other.heard) == b"heard 1")
            await linked(made, "shoe online, shuffler online")
            await other.cut()
            await linked(made, "shoe online, shuffler offline")
            await other.plug_in()
            await linked(made, "shoe online, shuffler online")
            assert not shoe.heard
            running.cancel()
            await asyncio.wait([running])
            await made.writer.flush()
            published = [(event.type, event.data["device"]) for event in journal.events()]
    assert [kind for kind, device in published if device == "shoe"] == ["device.online", "device.offline"]
    assert [kind for kind, device in published if device == "shuffler"] == [
        *("device.online", "device.fault"),
        *("device.offline", "device.online", "device.offline"),
    ]


# --- incarnations


async def test_a_table_that_is_added_to_a_restored_journal_names_its_new_word(tmp_path: Path) -> None:
    """Its first ids may be used: it may have been added before the restore, too. A further start changes nothing."""
    with LongRecord(tmp_path / "original", ("bac-902",)) as record:
        record.deal(1)
    back_up(tmp_path / "original" / JOURNAL, tmp_path / "backup")
    restore(tmp_path / "backup" / JOURNAL, tmp_path / "state")
    async with desk(tmp_path / "state") as (table, journal):
        table.configure()
        await table.writer.flush()
        first, *_ = journal.events()
        assert (first.type, first.data["reason"], first.data["kept"]) == ("journal.continued", "restored", 0)
        assert first.data["incarnation"] != table.store.word
        published = [table.publisher.messages.event_id(event.sequence) for event in journal.events()]
    assert published[0] == f"{first.data['incarnation']}-bac-901-1"
    assert [event.id for event in evidence.read(tmp_path / "state").events["bac-901"]] == published
    async with desk(tmp_path / "state") as (table, _):
        assert table.continued is None
        assert table.publisher.messages.event_id(1) == published[0]


class MeetingReader(Reader):
    """Two threads read the number of the next incarnation at the same time."""

    meeting: Barrier

    def rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        if "max(number)" in query:
            self.meeting.wait(PATIENCE_S)
        return super().rows(query, *values)


class MeetingStore(Store):
    meeting = Barrier(2)

    def read(self) -> Reader:
        reader = MeetingReader(self.path)
        reader.meeting = self.meeting
        return reader


async def test_tables_that_begin_an_incarnation_at_the_same_time_share_its_word(tmp_path: Path) -> None:
    """Otherwise a table publishes ids with a word that the file does not have."""
    store = MeetingStore(tmp_path)
    writer = Writer(store, ENGINE)
    tables = [
        Desk(replace(TABLE, name=name), "rws", BrokerSettings("127.0.0.1", 1), store, writer)
        for name in ("bac-901", "bac-902")
    ]
    lost = Outside(store.word, store.word, 9)
    await asyncio.gather(*(table.continue_journal(TailLoss.NEW, lost) for table in tables))
    await writer.close()
    with closing(Reader(store.path)) as reader:
        assert [table.words for table in tables] == [incarnations.words(reader, table.name) for table in tables]
