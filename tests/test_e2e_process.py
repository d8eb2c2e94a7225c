"""The process: how it starts, refuses, tells systemd, and ends; and what a failing disk does to it."""

import asyncio
import os
import resource
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from shoed.rig.broker import Kind, running_broker
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe, result
from tests.witnesses import TABLE
from tests.world import Daemon, World


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


async def refused(world: World, shoe: TcpShoe) -> str:
    """It does not start: exit status 1, and what it says instead, in a line and without a traceback."""
    daemon = await world.launch(world.configure(shoe))
    assert await daemon.ended() == 1
    said = str(daemon).strip()
    assert said
    assert "Traceback" not in said
    return said


# ---------------------------------------------------------------------------------------------- stopping


async def test_a_clean_stop_says_goodbye_and_exits_with_0(world: World, shoe: TcpShoe) -> None:
    """SIGTERM: what is committed is told, then a retained status with the reason is the last word."""
    daemon = await world.serve(shoe)
    await shoe.connected()
    await shoe.deal(ROUNDS[0])
    assert await daemon.stop() == 0
    await world.recorder.status("offline")
    await world.all_told()
    last = world.recorder.messages[-1]
    assert (last.topic, last.retain) == (f"{TABLE}/status", True)
    assert last.json["status"] == "offline"
    assert last.json["reason"] not in {"", "connection lost"}
    assert world.recorder.states()[-1]["sequence"] == world.recorder.events()[-1]["sequence"]
    assert "STOPPING=1" in daemon.told
    await world.recorder.listen(world.broker)
    await world.recorder.until(lambda: world.recorder.messages[-1].json["status"] == "offline")


async def test_a_stop_needs_no_broker(tmp_path: Path, shoe: TcpShoe) -> None:
    """With a broker that is frozen, or not there at all, SIGTERM still ends it with 0."""
    async with running_broker(Kind.MOSQUITTO) as own, World(tmp_path, own) as world:
        daemon = await world.serve(shoe)
        await shoe.connected()
        own.pause()
        await shoe.deal(ROUNDS[0])
        await daemon.looking(lambda: world.journal.count("round.confirmed"))
        assert await daemon.stop() == 0
        own.resume()
        own.kill()
        daemon = await world.start(shoe)
        await shoe.connected()
        assert await daemon.stop() == 0


async def test_a_stop_within_a_hand_is_a_gap_that_the_sequence_may_close(world: World, shoe: TcpShoe) -> None:
    """The next process goes on in the same round, under the next numbers, and tells what was not told."""
    daemon = await world.serve(shoe)
    await shoe.connected()
    await shoe.say(*NATURAL[:3])
    await world.recorder.event("card.drawn", index=3)
    assert await daemon.stop() == 0
    await shoe.deserted()
    word = world.journal.word
    await world.start(shoe)
    await shoe.connected()
    await shoe.say(NATURAL[3], result("player"))
    await world.recorder.event("round.confirmed")
    await world.all_told()
    assert world.recorder.of("round.completed")[0]["integrity"] == "complete"
    assert world.journal.word == word


async def test_a_killed_daemon_leaves_its_will(world: World, shoe: TcpShoe) -> None:
    """By kill -9: the broker says offline in our name, retained, with the birth of that connection."""
    daemon = await world.serve(shoe)
    birth = (await world.recorder.status("online"))["birth"]
    await daemon.kill()
    offline = await world.recorder.status("offline")
    assert offline["birth"] == birth
    assert offline["reason"]
    assert world.recorder.messages[-1].retain


# ---------------------------------------------------------------------------------------------- refusing


async def test_one_daemon_at_a_time_holds_a_state_directory(world: World, shoe: TcpShoe) -> None:
    """The second says who holds it, ends with 1, and does the first no harm."""
    daemon = await world.serve(shoe)
    said = await refused(world, shoe)
    assert str(world.state_dir) in said
    assert str(daemon.pid) in said
    await shoe.connected()
    await shoe.deal(ROUNDS[0])
    await world.recorder.event("round.confirmed")
    assert len(world.recorder.statuses()) == 1


async def test_a_file_that_is_no_journal_is_left_alone(world: World, shoe: TcpShoe) -> None:
    """Not a database, or somebody else's: refused with its name, and unchanged."""
    world.state_dir.mkdir()
    world.journal.path.write_bytes(b"This is a diary.\n" * 400)
    assert str(world.journal.path) in await refused(world, shoe)
    assert world.journal.path.read_bytes() == b"This is a diary.\n" * 400
    world.journal.path.unlink()
    with closing(sqlite3.connect(world.journal.path)) as theirs:
        theirs.execute("CREATE TABLE diary (line TEXT)")
        theirs.commit()
    assert str(world.journal.path) in await refused(world, shoe)
    with closing(sqlite3.connect(world.journal.path)) as theirs:
        assert theirs.execute("SELECT name FROM sqlite_schema").fetchall() == [("diary",)]


async def test_a_journal_of_a_newer_schema_is_refused(world: World, shoe: TcpShoe) -> None:
    """An older daemon never writes into it, and says what to do."""
    daemon = await world.serve(shoe)
    assert await daemon.stop() == 0
    with closing(sqlite3.connect(world.journal.path)) as journal:
        journal.execute("PRAGMA user_version = 99")
    said = await refused(world, shoe)
    assert str(world.journal.path) in said
    assert "99" in said


@pytest.mark.parametrize("keep", [0.1, 0.3, 0.5, 0.7])
async def test_a_damaged_journal_is_refused_in_words(world: World, shoe: TcpShoe, keep: float) -> None:
    """From some place on its pages are rubbish: nothing is guessed from it, and the message names the file."""
    daemon = await world.serve(shoe)
    await shoe.connected()
    await shoe.deal(*ROUNDS)
    await world.recorder.event("round.confirmed", round=len(ROUNDS))
    assert await daemon.stop() == 0
    whole = world.journal.path.read_bytes()
    good = max(4096, int(len(whole) * keep))
    world.journal.path.write_bytes(whole[:good] + b"\xa5" * (len(whole) - good))
    assert str(world.journal.path) in await refused(world, shoe)


async def test_a_state_directory_that_cannot_be_written_is_refused(world: World, shoe: TcpShoe) -> None:
    """Its line and its name are in the message, and nothing was told to anybody."""
    world.state_dir.write_text("a file")
    assert f': site.state_dir: "{world.state_dir}" cannot be used' in await refused(world, shoe)
    assert world.recorder.messages == []


async def test_a_wrong_configuration_is_refused_with_its_lines(world: World, shoe: TcpShoe) -> None:
    """FILE:LINE: key: problem; what would be right, and exit status 1."""
    path = world.configure(shoe)
    path.write_text(path.read_text().replace("protocol =", "protocl ="))
    daemon = await world.launch(path)
    assert await daemon.ended() == 1
    assert f"{path}:13: " in str(daemon)


# ---------------------------------------------------------------------------------------------- a failing disk


def fill_disk(daemon: Daemon, journal: Path) -> None:
    """From now on no file of the daemon's may grow: what the kernel says is that of a limit, not of a full disk."""
    size = max(path.stat().st_size for path in journal.parent.iterdir())
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (size, size))


async def test_a_commit_that_fails_ends_all_and_says_so(world: World, shoe: TcpShoe) -> None:
    """The disk takes no more: status offline names the journal, exit status 1, and nothing unrecorded was told."""
    async with TcpShoe() as other:
        daemon = await world.serve(shoe, other)
        await shoe.connected()
        await other.connected()
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        fill_disk(daemon, world.journal.path)
        for _ in range(200):  # what is left of the write-ahead log's last page takes a few
            await shoe.deal(*ROUNDS)
        assert await daemon.ended() == 1
        for table in (TABLE, "bac-902"):
            offline = await world.recorder.status("offline", table)
            assert "journal failed" in offline["reason"]
            await world.all_told(table)


async def test_after_the_disk_is_free_again_it_goes_on(world: World, shoe: TcpShoe) -> None:
    """The next start serves the same journal; the numbers go on without a gap."""
    daemon = await world.serve(shoe)
    await shoe.connected()
    fill_disk(daemon, world.journal.path)
    for _ in range(200):
        await shoe.deal(*ROUNDS)
    assert await daemon.ended() == 1
    word = world.journal.word
    await shoe.deserted()
    await world.start(shoe)
    await shoe.connected()
    await shoe.deal(ROUNDS[0])
    await world.recorder.until(lambda: world.recorder.of("round.confirmed"))
    await world.all_told()
    assert world.journal.word == word


async def test_a_disk_that_is_full_at_the_start_is_refused_in_words(world: World, shoe: TcpShoe) -> None:
    """No journal can be begun: exit status 1 and a message."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        daemon = await world.launch(world.configure(shoe))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert await daemon.ended() == 1
    assert str(world.state_dir) in str(daemon)


# ---------------------------------------------------------------------------------------------- systemd


async def test_the_watchdog_is_fed_while_all_is_well_and_only_then(world: World, shoe: TcpShoe) -> None:
    """Fed with neither shoe nor news; not fed while the journal cannot commit; fed again afterwards."""
    daemon = await world.start(shoe, settings={"WATCHDOG_USEC": "300000"})
    await shoe.connected()
    await daemon.until(lambda: daemon.told.count("WATCHDOG=1") >= 4)
    with world.journal.locked():
        await shoe.say(NATURAL[0])
        await daemon.until(lambda: any("stuck" in line and "journal" in line for line in daemon.told))
        fed = daemon.told.count("WATCHDOG=1")
        warned = len(daemon.told)
        await daemon.until(lambda: len(daemon.told) > warned + 2)
        assert daemon.told.count("WATCHDOG=1") == fed
    await daemon.until(lambda: daemon.told.count("WATCHDOG=1") > fed)
    await world.recorder.event("card.drawn")


async def test_a_watchdog_meant_for_another_process_is_not_fed_faster(world: World, shoe: TcpShoe) -> None:
    """WATCHDOG_PID names somebody else: the short time is not ours."""
    daemon = await world.start(shoe, settings={"WATCHDOG_USEC": "100000", "WATCHDOG_PID": str(os.getpid())})
    await world.recorder.event("device.online")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await daemon.until(lambda: daemon.told.count("WATCHDOG=1") > 1)


async def test_ready_is_said_once_and_before_device_and_broker(tmp_path: Path) -> None:
    """Start-up waits for neither: no broker listens and no shoe is there."""
    async with running_broker(Kind.MOSQUITTO) as own, World(tmp_path, own) as world, TcpShoe() as shoe:
        own.kill()
        await shoe.cut()
        daemon = await world.start(shoe)
        assert daemon.told.count("READY=1") == 1
        assert await daemon.stop() == 0
