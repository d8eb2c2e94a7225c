"""No id is used twice: a real daemon, broker and subscriber, with journals that were restored, cut, damaged or deleted.

`tests/losses.py` has the law. The seeds are fixed; a failing trial is repeated by its parameter.
"""

import random
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from shoed.journal.backup import back_up
from shoed.journal.store import JOURNAL
from shoed.rig.broker import Broker, running_broker
from tests.command_clients import shoed
from tests.foreign_shoe import TcpShoe
from tests.long_record import LongRecord
from tests.losses import Site
from tests.mqtt_proxy import Proxy
from tests.test_salvage import pages_of
from tests.world import World

BOTH_VERSIONS = pytest.mark.parametrize("version", ["5", "3.1.1"])
WAL_TRIALS = 6
PAGE_TRIALS = 6


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


def emptied(site: Site, *tables: str) -> None:
    """Lose these tables of the journal, and every trace of their rows."""
    with closing(sqlite3.connect(site.state_dir / "journal.db", isolation_level=None)) as connection:
        for name in tables:
            connection.execute(f"DELETE FROM {name}")  # noqa: S608 -- of this file
        connection.execute("VACUUM")


@pytest.mark.parametrize("heads", [True, False], ids=["heads", "broker"])
@BOTH_VERSIONS
async def test_a_restored_copy_begins_a_new_word(
    tmp_path: Path, world: World, shoe: TcpShoe, version: str, *, heads: bool
) -> None:
    """The broker has a newer state, or the state directory has newer heads. The event names the loss."""
    site = Site(world, shoe, version)
    await site.play(8)
    before = site.last()
    copy = site.copy(tmp_path / "copy")
    await site.play(25)
    known = site.last()
    site.restore(copy)
    if not heads:
        site.forget_heads()
    await site.play(12)
    (continued,) = site.continued()
    assert (continued["previous"], continued["reason"], continued["kept"]) == (before[0], "tail-lost", before[1])
    assert before[1] < continued["known"] <= known[1]
    assert heads or continued["known"] == known[1]
    site.check()
    assert world.recorder.states()[-1]["incarnation"] == continued["incarnation"] == site.last()[0]
    assert world.recorder.states()[-1]["journal"] == before[0]

    await site.play(12)  # a further start changes nothing
    assert len(site.continued()) == 1
    site.check()
    await site.verified()


async def test_a_copy_that_is_restored_twice_begins_two_words(tmp_path: Path, world: World, shoe: TcpShoe) -> None:
    """The copy does not have the first incarnation after it. The state at the broker has it."""
    site = Site(world, shoe)
    await site.play(8)
    copy = site.copy(tmp_path / "copy")
    for restores in range(3):
        await site.play(12)
        assert len(site.continued()) == restores
        site.restore(copy)
        site.forget_heads()
    site.check()
    assert len({each["id"].partition("-")[0] for each in site.events}) == 3
    await site.play(5)
    await site.verified()


async def older_copy(site: Site, place: Path) -> int:
    """Restore an older copy of the journal, without its heads. Return the last event of the copy."""
    await site.play(8)
    _, last = site.last()
    copy = site.copy(place)
    await site.play(25)
    site.restore(copy)
    site.forget_heads()
    return last


async def play_without_a_broker(site: Site) -> None:
    async with Proxy(site.world.broker.host, site.world.broker.port) as proxy:
        away = proxy.port
    daemon = await site.start(port=away)
    await site.deal(12)
    await daemon.looking(lambda: site.world.journal.count("card.drawn", "round.confirmed") > 8)
    await site.end(daemon)


async def test_a_word_that_cannot_be_recorded_is_not_published(tmp_path: Path, world: World, shoe: TcpShoe) -> None:
    """The table ends with the Step of the new word. The next start publishes the backlog."""
    site = Site(world, shoe)
    await older_copy(site, tmp_path / "copy")
    await play_without_a_broker(site)
    with closing(sqlite3.connect(world.journal.path)) as journal:
        ((last,),) = journal.execute("SELECT max(row) FROM step")
        journal.execute(
            f"CREATE TRIGGER no BEFORE INSERT ON step WHEN new.row > {last + 1} BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        journal.commit()
    daemon = await site.start()
    await world.recorder.until(lambda: "table failed: " in world.recorder.statuses()[-1]["reason"])
    assert await daemon.stop() == 1
    daemon.log.write_text("")  # the traceback is expected
    await shoe.deserted()
    with closing(sqlite3.connect(world.journal.path)) as journal:
        journal.execute("DROP TRIGGER no")
    known = {word for (word,) in world.journal.ask("SELECT word FROM incarnation")}
    assert {each["id"].partition("-")[0] for each in site.events} <= known
    await site.play(5)
    site.check()
    await site.verified()


async def test_events_before_the_first_connection_have_the_new_word(
    tmp_path: Path, world: World, shoe: TcpShoe
) -> None:
    """A restored journal is continued by two processes without a broker. None of their events has a used id."""
    site = Site(world, shoe)
    kept = await older_copy(site, tmp_path / "copy")
    for _ in range(2):
        await play_without_a_broker(site)
    await site.play(5)
    site.check()
    (continued,) = site.continued()
    assert continued["kept"] == kept
    await site.verified()


async def test_a_table_that_was_added_after_the_backup_begins_a_new_word(tmp_path: Path, shoe: TcpShoe) -> None:
    """The backup has no trace of the table, and no head or retained state names its events."""
    with LongRecord(tmp_path / "original", ("bac-902",)) as record:
        record.deal(1)
    back_up(tmp_path / "original" / JOURNAL, tmp_path / "backup")
    async with running_broker() as broker, World(tmp_path, broker) as world:
        site = Site(world, shoe)
        shutil.copytree(tmp_path / "original", site.state_dir)
        await site.play(8)
        site.remove()
        site.forget_heads()
        await broker.stop()
        await broker.start()
        await world.recorder.listen(broker)
        restored = await shoed("journal", "restore", tmp_path / "backup", "--state-dir", site.state_dir)
        assert (restored.status, restored.err) == (0, "")
        await site.play(8)
        site.check()
        (continued,) = site.continued()
        assert (continued["previous"], continued["reason"], continued["kept"]) == (None, "restored", 0)
        await site.verified()


async def test_a_table_that_lost_all_rows_plays_after_a_salvage_and_a_restore(
    tmp_path: Path, world: World, shoe: TcpShoe
) -> None:
    """Only its signed heads remain. The event names the last one, and new heads are signed at the same rows."""
    site = Site(world, shoe)
    await site.play(25)
    emptied(site, "step", "event", "checkpoint")
    *_, (known, shoes) = world.journal.ask("SELECT sequence, shoe FROM head ORDER BY row")
    damaged = site.copy(tmp_path / "damaged")
    salvaged = await shoed("journal", "salvage", damaged, tmp_path / "salvaged")
    assert "bac-901: 0 rows and 0 events found; " in salvaged.out
    restored = await shoed("journal", "restore", tmp_path / "salvaged", "--state-dir", site.state_dir)
    assert (restored.status, restored.err) == (0, "")
    assert "bac-901: all rows are lost, and the table begins again; the last known round is " in restored.out
    await site.play(25)
    await site.play(12)
    site.check()
    (continued,) = site.continued()
    assert (continued["reason"], continued["kept"], continued["known"]) == ("salvaged", 0, known)
    assert world.recorder.of("round.started")[-1]["shoe"] > shoes
    assert world.journal.ask("SELECT count(*) > 1 FROM head")[0][0]


@pytest.mark.parametrize("lost", ["incarnation_table", "incarnation"])
async def test_a_salvage_that_lost_its_words_uses_no_id_twice(
    tmp_path: Path, world: World, shoe: TcpShoe, lost: str
) -> None:
    """The copy was restored, and its events have a second word. All of them are published again after the salvage."""
    site = Site(world, shoe)
    await site.play(8)
    copy = site.copy(tmp_path / "copy")
    await site.play(25)
    site.restore(copy)
    await site.play(12)
    emptied(site, lost, "cursor")
    salvaged = await shoed("journal", "salvage", site.copy(tmp_path / "damaged"), tmp_path / "salvaged")
    assert (salvaged.status, salvaged.err) == (0, "")
    restored = await shoed("journal", "restore", tmp_path / "salvaged", "--state-dir", site.state_dir)
    assert (restored.status, restored.err) == (0, "")
    await site.play(12)
    site.check()
    assert [each["reason"] for each in site.continued()] == ["tail-lost", "salvaged"]


async def test_a_table_plays_after_a_gap_that_the_broker_may_not_have(
    tmp_path: Path, world: World, shoe: TcpShoe
) -> None:
    """A row lost one of its events, and the cursor is lost. The events up to the gap are not published again."""
    site = Site(world, shoe)
    await site.play(25)
    with closing(sqlite3.connect(site.state_dir / "journal.db", isolation_level=None)) as connection:
        query = "SELECT row, min(sequence) FROM event GROUP BY row HAVING count(*) > 1 ORDER BY row LIMIT 1 OFFSET 1"
        ((row, sequence),) = connection.execute(query)
        connection.execute("DELETE FROM event WHERE sequence = ?", (sequence,))
    emptied(site, "cursor")
    salvaged = await shoed("journal", "salvage", site.copy(tmp_path / "damaged"), tmp_path / "salvaged")
    assert f"    row {row}: not proven" in salvaged.out
    restored = await shoed("journal", "restore", tmp_path / "salvaged", "--state-dir", site.state_dir)
    assert (restored.status, restored.err) == (0, "")
    count = len(world.recorder.of("round.confirmed"))
    await site.play(12)
    assert len(world.recorder.of("round.confirmed")) > count
    site.check()
    (continued,) = site.continued()
    assert continued["reason"] == "salvaged"


@pytest.mark.parametrize("heads", [True, False], ids=["heads", "broker"])
async def test_a_copy_that_is_older_than_a_later_journal_begins_a_new_word(
    tmp_path: Path, world: World, shoe: TcpShoe, *, heads: bool
) -> None:
    """The newest evidence is of the later journal. Neither a round nor an id has two contents."""
    site = Site(world, shoe)
    await site.play(8)
    copy = site.copy(tmp_path / "copy")
    await site.play(25)
    site.remove()
    await site.play(8)
    later = site.last()
    site.restore(copy)
    if not heads:
        site.forget_heads()
    await site.play(25, after=2)
    site.check()
    _, continued = site.continued()
    assert (continued["previous"], continued["reason"], continued["known"]) == (later[0], "tail-lost", later[1])
    assert site.rounds_are_unique()
    await site.play(8)
    assert len(site.continued()) == 2, "a clean restart begins no word"
    site.check()
    await site.verified()


async def test_a_new_journal_beside_a_broker_that_knows_another_continues_the_numbers_of_shoes(
    world: World, shoe: TcpShoe
) -> None:
    """The complete state directory was deleted. The first event names the loss."""
    site = Site(world, shoe)
    await site.play(25)
    known = site.last()
    site.remove()
    site.forget_heads()
    await site.play(8, after=1)
    site.check()
    (continued,) = site.continued()
    assert f"bac-901: the ids of the next events have a new word, damaged: {continued['detail']}" in str(
        world.daemons[-1]
    )
    assert (continued["reason"], continued["previous"], continued["known"]) == ("damaged", *known)
    assert world.recorder.of("round.started")[-1]["shoe"] == 2
    assert site.rounds_are_unique()
    await site.play(8)
    assert len(site.continued()) == 1
    await site.verified()


async def test_a_deleted_journal_continues_the_numbers_of_shoes(world: World, shoe: TcpShoe) -> None:
    """The heads name the last shoe. The first event names the loss."""
    site = Site(world, shoe)
    await site.play(25)
    site.remove()
    await site.play(8)
    site.check()
    (continued,) = site.continued()
    assert (continued["reason"], continued["kept"]) == ("damaged", 0)
    assert world.recorder.of("round.started")[-1]["shoe"] == 2
    await site.verified()


@pytest.mark.parametrize("damage", ["no database", "first page", "cut", "unreadable schema", "text", "exchanged"])
async def test_a_journal_that_cannot_be_opened_is_set_aside(world: World, shoe: TcpShoe, damage: str) -> None:
    """The table plays on with a new journal, under a new word. The file is kept as it was."""
    site = Site(world, shoe)
    await site.play(25)
    path = site.state_dir / "journal.db"
    with closing(sqlite3.connect(path)) as connection:  # a reader that ended with the daemon may have left a log
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    of_checkpoints, of_events = (pages_of(path, name)[-1] for name in ("checkpoint", "event"))
    match damage:
        case "no database":
            data = bytearray(random.Random(1).randbytes(len(data)))
        case "first page":
            data[:100] = bytes(100)
        case "cut":
            del data[4096 + 100 :]
        case "text":  # also the message of SQLite is not text then
            data[data.index(b"CREATE TABLE step")] ^= 128
        case "exchanged":  # a misdirected write: rows of a table have the columns of another one
            first, second = (slice(4096 * (page - 1), 4096 * page) for page in (of_checkpoints, of_events))
            data[first], data[second] = data[second], data[first]
        case _:
            data[100:4096] = bytes(3996)
    path.write_bytes(data)
    await site.play(8)
    site.check()
    (continued,) = site.continued()
    (aside,) = site.state_dir.glob("journal-damaged-*.db")
    assert aside.read_bytes() == data
    assert str(aside) in continued["detail"]
    assert f"shoed journal salvage {aside}" in str(world.daemons[-1])
    assert world.recorder.of("round.started")[-1]["shoe"] == 2
    await site.verified()


@pytest.mark.parametrize("seed", range(WAL_TRIALS))
async def test_a_damaged_log_of_sqlite_never_gives_an_id_two_contents(world: World, shoe: TcpShoe, seed: int) -> None:
    """The daemon was killed; its write-ahead log is cut, or a byte of it is changed. A loss is named."""
    site, rng = Site(world, shoe), random.Random(seed)
    await site.play(10)
    await site.play(10, kill=True)
    known = site.last()
    log = site.state_dir / "journal.db-wal"
    data = bytearray(log.read_bytes())
    at = rng.randrange(len(data))
    if rng.random() < 0.5:
        del data[at:]
    else:
        data[at] ^= 1 << rng.randrange(8)
    log.write_bytes(data)
    if rng.random() < 0.5:
        site.forget_heads()
    await site.play(10)
    site.check()
    assert site.continued() or site.last()[1] > known[1]
    await site.verified()


@pytest.mark.parametrize("seed", range(PAGE_TRIALS))
async def test_flipped_bits_in_the_file_never_reach_a_subscriber(world: World, shoe: TcpShoe, seed: int) -> None:
    """The damage is found by SQLite or by a hash, or it is harmless. The table plays on."""
    site, rng = Site(world, shoe), random.Random(seed)
    async with Proxy(world.broker.host, world.broker.port) as proxy:
        daemon = await site.start(port=proxy.port)
        await site.deal(10)
        await site.fence()
    await site.deal(15)  # the events wait for the broker
    await daemon.looking(lambda: world.journal.count("card.drawn", "round.confirmed") >= 20)
    await site.end(daemon)
    path = site.state_dir / "journal.db"
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    await site.play(10)
    site.check()


async def test_two_daemons_with_copies_of_one_journal_use_different_words(
    tmp_path: Path, world: World, shoe: TcpShoe, broker: Broker
) -> None:
    """The second one begins a new word; the first one names the other, and keeps its word."""
    site = Site(world, shoe)
    await site.play(8)
    copy = site.copy(tmp_path / "copy")
    first = await site.start()
    await site.deal(12)
    await site.fence()
    (tmp_path / "other").mkdir()
    async with World(tmp_path / "other", broker) as other, TcpShoe() as second_shoe:
        other.site = world.site
        other.state_dir.mkdir(parents=True)
        second = Site(other, second_shoe)
        second.restore(copy)
        await second.start()
        await other.daemons[-1].looking(lambda: "another shoed has a copy of the journal" in str(other.daemons[-1]))
        await first.looking(lambda: "another shoed published the state of this table" in str(first))
        assert await other.daemons[-1].stop() == 0
    await site.deal(5)
    await site.fence()
    await site.end(first)
    site.check()


async def test_without_a_retained_state_no_loss_is_claimed(tmp_path: Path, shoe: TcpShoe) -> None:
    """A broker that kept nothing has no evidence."""
    async with running_broker() as broker, World(tmp_path, broker) as world:
        site = Site(world, shoe)
        await site.play(8)
        await broker.stop()
        await broker.start()
        await world.recorder.listen(broker)
        await site.play(8)
        assert site.continued() == []
        site.check()
