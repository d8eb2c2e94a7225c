"""Raw HID reports: one read is one report and one chunk. A pseudo-terminal stands in for the node."""

import asyncio
import os
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortError, PortRefused
from shoed.ports.address import HidrawAddress
from shoed.ports.link import open_link
from tests.links import PATIENCE_S, open_descriptors

LINE = Line(9600)


@pytest.fixture
def node() -> Iterator[tuple[int, HidrawAddress]]:
    """What the device writes to, and its address."""
    device, slave = os.openpty()
    tty.setraw(slave)
    yield device, HidrawAddress(os.ttyname(slave))
    os.close(slave)
    os.close(device)


async def test_each_report_is_a_chunk_and_nothing_is_sent(node: tuple[int, HidrawAddress]) -> None:
    """An order is refused, and the link goes on."""
    device, address = node
    before = open_descriptors()
    link = await open_link(address, LINE)
    async with asyncio.timeout(PATIENCE_S):
        for report in (bytes(8), b"\0\0\x1e\0\0\0\0\0"):
            os.write(device, report)
            assert (await link.receive()).data == report
            with pytest.raises(PortError, match="reports are read, and nothing is sent"):
                link.send(b"x")
        await link.close()
    with pytest.raises(LinkLost, match="closed"):
        link.send(b"x")
    assert open_descriptors() == before


async def test_one_device_is_heard_by_one_table(node: tuple[int, HidrawAddress]) -> None:
    """Two names may lead to one node: the second to open it is refused, until the first lets go of it."""
    _, address = node
    link = await open_link(address, LINE)
    with pytest.raises(PortRefused, match="another table or program has it open"):
        await open_link(address, LINE)
    await link.close()
    await (await open_link(address, LINE)).close()


async def test_a_scanner_that_is_pulled_is_a_lost_link() -> None:
    """The kernel hangs up; what came before is delivered first."""
    device, slave = os.openpty()
    tty.setraw(slave)
    link = await open_link(HidrawAddress(os.ttyname(slave)), LINE)
    os.close(slave)
    os.write(device, b"last report")
    async with asyncio.timeout(PATIENCE_S):
        assert (await link.receive()).data == b"last report"
        os.close(device)
        with pytest.raises(LinkLost, match="check the cable"):
            await link.receive()
        await link.close()


async def test_a_node_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    """None there, a file in its place, a loop of links."""
    file, loop = tmp_path / "file", tmp_path / "loop"
    file.touch()
    loop.symlink_to(loop)
    for path, why in ((tmp_path / "none", "check the cable"), (file, "this is no device"), (loop, "Too many levels")):
        with pytest.raises(PortRefused, match=rf"hidraw://{path}: .*{why}.*"):
            await open_link(HidrawAddress(str(path)), LINE)
