"""The process: its start, refusals, notifications to systemd, its end, and a failing disk."""

import asyncio
import os
import resource
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from shoed.rig.broker import BrokerKind, running_broker
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe, result
from tests.witnesses import TABLE
from tests.world import World


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


async def refused(world: World, shoe: TcpShoe) -> str:
    """Start a daemon that must refuse: the exit status is 1. Return its message, which has no traceback."""
    daemon = await world.launch(world.configure(shoe))
    assert await daemon.ended() == 1
    message = str(daemon).strip()
    assert message
    assert "Traceback" not in message
    return message


# ---------------------------------------------------------------------------------------------- stopping


async def test_a_stop_publishes_the_status_and_exits_with_0(world: World, shoe: TcpShoe) -> None:
    """After SIGTERM, the committed events are published, and then a retained status with the reason."""
    daemon = await world.serve(shoe)
    await shoe.deal(ROUNDS[0])
    assert await daemon.stop() == 0
    await world.recorder.status("offline")
    await world.all_published()
    last = world.recorder.messages[-1]
    assert (last.topic, last.retain) == (f"{TABLE}/status", True)
    assert last.json["status"] == "offline"
    assert last.json["reason"] not in {"", "connection lost"}
    assert world.recorder.states()[-1]["sequence"] == world.recorder.events()[-1]["sequence"]
    assert "STOPPING=1" in daemon.notified
    await world.recorder.listen(world.broker)
    await world.recorder.until(lambda: world.recorder.messages[-1].json["status"] == "offline")


async def test_a_stop_requires_no_broker(tmp_path: Path, shoe: TcpShoe) -> None:
    """With a frozen broker, and without a broker, SIGTERM ends the daemon with 0."""
    async with running_broker(BrokerKind.MOSQUITTO) as own, World(tmp_path, own) as world:
        daemon = await world.serve(shoe)
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
    """The next process continues the same round and the event numbers, and publishes the missing events."""
    daemon = await world.serve(shoe)
    await shoe.say(*NATURAL[:3])
    await world.recorder.event("card.drawn", index=3)
    assert await daemon.stop() == 0
    await shoe.deserted()
    word = world.journal.word
    await world.start(shoe)
    await shoe.connected()
    await shoe.say(NATURAL[3], result("player"))
    await world.recorder.event("round.confirmed")
    await world.all_published()
    assert world.recorder.of("round.completed")[0]["integrity"] == "complete"
    assert world.journal.word == word


async def test_after_a_kill_the_broker_publishes_the_will(world: World, shoe: TcpShoe) -> None:
    """After kill -9, the broker publishes the retained status offline, with the birth of the connection."""
    daemon = await world.serve(shoe)
    birth = (await world.recorder.status("online"))["birth"]
    await daemon.kill()
    offline = await world.recorder.status("offline")
    assert offline["birth"] == birth
    assert offline["reason"]
    assert world.recorder.messages[-1].retain


# ---------------------------------------------------------------------------------------------- refusing


async def test_one_daemon_at_a_time_locks_a_state_directory(world: World, shoe: TcpShoe) -> None:
    """The second daemon ends with 1 and names the process of the first, which is not affected."""
    daemon = await world.serve(shoe)
    message = await refused(world, shoe)
    assert str(world.state_dir) in message
    assert str(daemon.pid) in message
    await shoe.connected()
    await shoe.deal(ROUNDS[0])
    await world.recorder.event("round.confirmed")
    assert len(world.recorder.statuses()) == 1


async def test_the_database_of_another_program_is_not_changed(world: World, shoe: TcpShoe) -> None:
    """The file is refused with its name."""
    world.state_dir.mkdir()
    with closing(sqlite3.connect(world.journal.path)) as theirs:
        theirs.execute("CREATE TABLE diary (line TEXT)")
        theirs.commit()
    assert str(world.journal.path) in await refused(world, shoe)
    with closing(sqlite3.connect(world.journal.path)) as theirs:
        assert theirs.execute("SELECT name FROM sqlite_schema").fetchall() == [("diary",)]


async def test_a_journal_of_a_newer_schema_is_refused(world: World, shoe: TcpShoe) -> None:
    """An older daemon does not write to it; the message has the schema."""
    daemon = await world.serve(shoe)
    assert await daemon.stop() == 0
    with closing(sqlite3.connect(world.journal.path)) as journal:
        journal.execute("PRAGMA user_version = 99")
    message = await refused(world, shoe)
    assert str(world.journal.path) in message
    assert "99" in message


async def test_a_state_directory_that_cannot_be_written_is_refused(world: World, shoe: TcpShoe) -> None:
    """The message has the line and the name, and nothing is published."""
    world.state_dir.write_text("a file")
    assert f': site.state_dir: "{world.state_dir}" cannot be used' in await refused(world, shoe)
    assert world.recorder.messages == []


async def test_a_wrong_configuration_is_refused_with_its_lines(world: World, shoe: TcpShoe) -> None:
    """The message is FILE:LINE: key: problem; remedy. The exit status is 1."""
    path = world.configure(shoe)
    path.write_text(path.read_text().replace("protocol =", "protocl ="))
    daemon = await world.launch(path)
    assert await daemon.ended() == 1
    assert f"{path}:13: " in str(daemon)


# ---------------------------------------------------------------------------------------------- a failing disk


async def test_after_a_full_disk_the_next_start_continues(world: World, shoe: TcpShoe) -> None:
    """The exit status is 1, the journal is the same, and the event numbers continue without a gap.

    If the last commit before the stop has a part of a round, the table asks about the cards of the gap.
    """
    daemon = await world.serve(shoe)
    world.fill_disk(daemon)
    for _ in range(200):  # the last page of the write-ahead log has room for some rounds
        await shoe.deal(*ROUNDS)
    assert "journal failed" in (await world.recorder.status("offline"))["reason"]
    assert await daemon.stop() == 1
    word = world.journal.word
    await shoe.deserted()
    await world.start(shoe)
    await shoe.connected()
    await shoe.deal(ROUNDS[0])
    await world.recorder.until(lambda: world.recorder.of("round.confirmed") or world.recorder.of("question.asked"))
    await world.all_published()
    assert world.journal.word == word


async def test_a_full_disk_at_the_first_start_is_an_error_with_a_message(world: World, shoe: TcpShoe) -> None:
    """The journal cannot be created: the exit status is 1."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        daemon = await world.launch(world.configure(shoe))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert await daemon.ended() == 1
    assert str(world.state_dir) in str(daemon)


# ---------------------------------------------------------------------------------------------- systemd


async def test_the_watchdog_signal_is_sent_without_any_input(world: World, shoe: TcpShoe) -> None:
    """It is also sent while the journal waits for the disk: systemd must not end this daemon."""
    daemon = await world.start(shoe, settings={"WATCHDOG_USEC": "300000"})
    await shoe.connected()
    await daemon.until(lambda: daemon.notified.count("WATCHDOG=1") >= 4)
    with world.journal.locked():
        await shoe.say(NATURAL[0])
        await daemon.until(lambda: any("journal waits: a commit has begun at" in line for line in daemon.notified))
        count = daemon.notified.count("WATCHDOG=1")
        await daemon.until(lambda: daemon.notified.count("WATCHDOG=1") >= count + 4)
    await world.recorder.event("card.drawn")


async def test_a_watchdog_period_of_another_process_is_ignored(world: World, shoe: TcpShoe) -> None:
    """WATCHDOG_PID names another process: the default period applies."""
    daemon = await world.start(shoe, settings={"WATCHDOG_USEC": "100000", "WATCHDOG_PID": str(os.getpid())})
    await world.recorder.event("device.online")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await daemon.until(lambda: daemon.notified.count("WATCHDOG=1") > 1)


async def test_ready_is_sent_once_without_device_and_broker(tmp_path: Path) -> None:
    """The start waits neither for the broker nor for the shoe."""
    async with running_broker(BrokerKind.MOSQUITTO) as own, World(tmp_path, own) as world, TcpShoe() as shoe:
        own.kill()
        await shoe.cut()
        daemon = await world.start(shoe)
        assert daemon.notified.count("READY=1") == 1
        assert await daemon.stop() == 0
