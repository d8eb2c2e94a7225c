"""Hotplug: a device is opened when its node appears, long before it would be asked for again."""

import asyncio
import os
import random
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.family import Line
from shoed.ports.address import Address, HidrawAddress, SerialAddress, TcpAddress, UsbAddress
from shoed.ports.hotplug import USB, Watch, folders
from shoed.ports.link import keep_open
from tests.links import PATIENCE_S, open_descriptors
from tests.test_ports_link import Listener, Node

LINE: Final = Line(4800)
LONG_S: Final = 3600


@pytest.mark.parametrize(
    ("address", "where"),
    [
        (SerialAddress("/dev/serial/by-id/usb-A"), Path("/dev/serial/by-id")),
        (HidrawAddress("/dev/hidraw0"), Path("/dev")),
        (UsbAddress(0x1209, 1), USB),
        (TcpAddress("127.0.0.1", 1), None),
    ],
)
def test_a_device_is_looked_for_where_its_node_would_be(address: Address, where: Path | None) -> None:
    """What is behind a network leaves no sign on this machine."""
    assert next(iter(folders(address)), None) == where


async def signs(watch: Watch, *changes: Path) -> None:
    """Each of these, once it is there, is a sign."""
    async with asyncio.timeout(PATIENCE_S):
        for path in changes:
            waiting = asyncio.create_task(watch.wait(LONG_S))
            await asyncio.sleep(0)
            path.mkdir() if path.suffix == "" else path.touch()
            assert await waiting


async def test_a_sign_cuts_the_wait_short_wherever_it_comes_from(tmp_path: Path) -> None:
    """A node that is made, one whose permission changes, one that is moved there, and a folder with all above it."""
    node = tmp_path / "serial" / "by-id" / "node.0"
    before = open_descriptors()
    watch = Watch(SerialAddress(str(node)))
    await signs(watch, tmp_path / "serial", tmp_path / "serial" / "by-id", node)
    node.with_suffix(".1").touch()
    for change in (lambda: node.chmod(0o600), lambda: node.with_suffix(".1").rename(node)):
        waiting = asyncio.create_task(watch.wait(LONG_S))
        await asyncio.sleep(0)
        change()
        async with asyncio.timeout(PATIENCE_S):
            assert await waiting
    watch.close()
    watch.close()
    assert open_descriptors() == before


async def test_other_names_in_the_folder_are_no_sign(tmp_path: Path) -> None:
    """A device that comes and goes beside it makes nobody ask for this one."""
    watch = Watch(SerialAddress(str(tmp_path / "node")))
    assert not await watch.wait(0)  # from now on the folder is watched
    waiting = asyncio.create_task(watch.wait(LONG_S))
    for name in ("node.1", "nod", "other"):
        (tmp_path / name).touch()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    (tmp_path / "node").touch()
    async with asyncio.timeout(PATIENCE_S):
        assert await waiting
    watch.close()


async def test_a_node_that_came_before_the_first_watch_is_asked_for_soon(tmp_path: Path) -> None:
    """It gave no sign to anybody: the first wait in a folder is a short one."""
    watch = Watch(SerialAddress(str(tmp_path / "node")))
    async with asyncio.timeout(PATIENCE_S):
        assert not await watch.wait(LONG_S)
    watch.close()


async def test_a_folder_that_goes_and_comes_back_is_watched_again(tmp_path: Path) -> None:
    """Its going is a sign too, and the one above it is watched until then."""
    folder = tmp_path / "by-id"
    folder.mkdir()
    watch = Watch(SerialAddress(str(folder / "node.0")))
    waiting = asyncio.create_task(watch.wait(LONG_S))
    await asyncio.sleep(0)
    folder.rmdir()
    async with asyncio.timeout(PATIENCE_S):
        assert await waiting
    await signs(watch, folder, folder / "node.0")
    watch.close()


async def test_without_a_sign_the_wait_lasts_as_long_as_it_was_to(tmp_path: Path) -> None:
    """And where there is nothing to watch."""
    loop = asyncio.get_running_loop()
    for address in (SerialAddress(str(tmp_path / "node")), TcpAddress("127.0.0.1", 1)):
        watch = Watch(address)
        begun_s = loop.time()
        assert not await watch.wait(0.02)
        assert loop.time() - begun_s >= 0.02
        watch.close()


class Patient(random.Random):
    """It makes every delay an hour long, or more."""

    def uniform(self, a: float, b: float) -> float:
        del a, b
        return LONG_S * 10


async def test_a_device_is_open_at_once_when_it_is_plugged_in(tmp_path: Path) -> None:
    """The poll behind it would come in an hour. While the device is there nothing is watched."""
    node, listener = Node(tmp_path / "ttyUSB0"), Listener()
    before = open_descriptors()
    task = asyncio.create_task(keep_open(node.address, LINE, listener, rng=Patient()))
    assert (await listener.next())[0] == "refused"
    for _ in range(3):
        node.plug()
        assert await listener.next() == ("opened", "")
        assert not [each for each in open_descriptors() - before if "inotify" in each[1]]
        os.write(node.master, b"A")
        assert await listener.next() == ("received", "A")
        node.unplug()
        assert (await listener.next())[0] == "closed"
    task.cancel()
    await asyncio.wait([task])
    assert open_descriptors() == before
