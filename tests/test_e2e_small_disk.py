"""A real file system without space, and a real one that is read-only. Only root can mount it."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from tests.command_clients import shoed
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.test_e2e_faults import continued, reason
from tests.world import World

SIZE: Final = "size=3m"


def unmount(place: Path) -> None:
    subprocess.run(["/bin/umount", str(place)], check=True)


def mount(*words: str) -> None:
    done = subprocess.run(["/bin/mount", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this test mounts a file system, which requires root: {done.stderr.strip()}")


@pytest.fixture
async def small_disk(world: World) -> AsyncIterator[Path]:
    """The state directory is a file system of its own."""
    world.state_dir.mkdir()
    mount("-t", "tmpfs", "-o", SIZE, "shoed", str(world.state_dir))
    try:
        yield world.state_dir
    finally:
        for daemon in world.daemons:
            if daemon.process.returncode is None:
                await daemon.kill()
        unmount(world.state_dir)


def fill(place: Path) -> None:
    """Write until there is no space. The daemon writes at the same time, so a count of free pages is not enough."""
    page = bytes(os.statvfs(place).f_frsize)
    with (place / "other").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(page):
            pass


async def test_a_full_file_system_stops_the_table_until_it_has_space(world: World, small_disk: Path) -> None:
    """Every published card is on record. The process continues, and the table continues by itself."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        await asyncio.to_thread(fill, small_disk)
        for _ in range(99):  # the write-ahead log has room for some rounds
            await shoe.deal(*ROUNDS)
        why = await reason(world, "offline", "journal failed: ")
        assert f"database or disk is full; free space on the disk of {small_disk}" in why
        await shoe.deserted()
        (small_disk / "other").unlink()
        await continued(world, shoe)
        await world.all_published()
        assert await daemon.stop() == 0


async def test_a_full_file_system_at_the_start_is_reported(world: World, small_disk: Path) -> None:
    """A first start needs space for the journal. The exit status is 1, and the message has the path and the remedy."""
    async with TcpShoe() as shoe:
        await asyncio.to_thread(fill, small_disk)
        daemon = await world.launch(world.configure(shoe))
        assert await daemon.ended() == 1
        assert str(small_disk) in str(daemon)
        assert "free space" in str(daemon)
        (small_disk / "other").unlink()
        await world.serve(shoe)


async def test_a_read_only_file_system_at_the_start_is_reported(world: World, small_disk: Path) -> None:
    """The exit status is 1, and the message has the path and the remedy."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        assert await daemon.stop() == 0
        mount("-o", "remount,ro", str(small_disk))
        daemon = await world.launch(world.configure(shoe))
        assert await daemon.ended() == 1
        assert str(small_disk) in str(daemon)
        assert "Read-only file system" in str(daemon)
        checked = await shoed("check", world.place / "c.toml")
        assert (checked.status, "Read-only file system" in checked.err) == (1, True)
        mount("-o", "remount,rw", str(small_disk))
        await shoe.deserted()
        await world.start(shoe)
        await shoe.connected()
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        await world.all_published()


async def test_a_second_daemon_of_a_state_directory_is_refused(world: World) -> None:
    """The message has the number of the first process, which continues. The second one publishes nothing."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        second = await world.launch(world.configure(shoe))
        assert await second.ended() == 1
        assert f"another shoed uses the directory (process {daemon.pid})" in str(second)
        assert world.recorder.statuses()[-1]["reason"] == "started"
        assert len(world.recorder.statuses()) == 1
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
