"""Hotplug: a port opens as soon as its node appears, before the next regular attempt."""

import asyncio
import os
import random
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.family import Line
from shoed.ports.address import Address, HidrawAddress, SerialAddress, TcpAddress, UsbAddress
from shoed.ports.hotplug import USB, HotplugWait, folders
from shoed.ports.link import keep_open
from tests.links import open_descriptors
from tests.patience import PATIENCE_S
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
def test_the_watched_folder_is_the_folder_of_the_node(address: Address, where: Path | None) -> None:
    """A network address has no folder."""
    assert next(iter(folders(address)), None) == where


async def signs(watch: HotplugWait, *changes: Path) -> None:
    """Each of these, once it is there, is a sign."""
    async with asyncio.timeout(PATIENCE_S):
        for path in changes:
            waiting = asyncio.create_task(watch.wait(LONG_S))
            await asyncio.sleep(0)
            path.mkdir() if path.suffix == "" else path.touch()
            assert await waiting


async def test_a_sign_ends_the_wait_early(tmp_path: Path) -> None:
    """Signs are a new node, changed permissions, a moved node, and a new parent folder."""
    node = tmp_path / "serial" / "by-id" / "node.0"
    before = open_descriptors()
    watch = HotplugWait(SerialAddress(str(node)))
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


async def test_other_names_in_the_folder_are_not_signs(tmp_path: Path) -> None:
    """Another device in the same folder does not end the wait."""
    watch = HotplugWait(SerialAddress(str(tmp_path / "node")))
    assert not await watch.wait(0)  # the folder is watched after this call
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


async def test_the_first_wait_is_short(tmp_path: Path) -> None:
    """A node that appeared before the first watch caused no sign."""
    watch = HotplugWait(SerialAddress(str(tmp_path / "node")))
    async with asyncio.timeout(PATIENCE_S):
        assert not await watch.wait(LONG_S)
    watch.close()


async def test_a_folder_that_is_removed_and_restored_is_watched_again(tmp_path: Path) -> None:
    """The removal is a sign too. Until the folder returns, its parent is watched."""
    folder = tmp_path / "by-id"
    folder.mkdir()
    watch = HotplugWait(SerialAddress(str(folder / "node.0")))
    waiting = asyncio.create_task(watch.wait(LONG_S))
    await asyncio.sleep(0)
    folder.rmdir()
    async with asyncio.timeout(PATIENCE_S):
        assert await waiting
    await signs(watch, folder, folder / "node.0")
    watch.close()


async def test_without_a_sign_the_wait_has_its_full_length(tmp_path: Path) -> None:
    """The same applies to an address without a folder."""
    loop = asyncio.get_running_loop()
    for address in (SerialAddress(str(tmp_path / "node")), TcpAddress("127.0.0.1", 1)):
        watch = HotplugWait(address)
        begun_s = loop.time()
        assert not await watch.wait(0.02)
        assert loop.time() - begun_s >= 0.02
        watch.close()


class Patient(random.Random):
    """It makes every delay an hour long, or longer."""

    def uniform(self, a: float, b: float) -> float:
        del a, b
        return LONG_S * 10


async def test_a_device_is_opened_as_soon_as_it_is_connected(tmp_path: Path) -> None:
    """The next regular attempt would be an hour later. While the device is open, no folder is watched."""
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
