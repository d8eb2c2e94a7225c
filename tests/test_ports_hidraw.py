"""Raw HID reports: each read is one report and one chunk. A pseudo-terminal replaces the node."""

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
from tests.links import open_descriptors
from tests.patience import PATIENCE_S

LINE = Line(9600)


@pytest.fixture
def node() -> Iterator[tuple[int, HidrawAddress]]:
    """The descriptor of the device's side, and the address."""
    device, slave = os.openpty()
    tty.setraw(slave)
    yield device, HidrawAddress(os.ttyname(slave))
    os.close(slave)
    os.close(device)


async def test_each_report_is_a_chunk_and_sending_is_refused(node: tuple[int, HidrawAddress]) -> None:
    """After a refused order the link still works."""
    device, address = node
    before = open_descriptors()
    link = await open_link(address, LINE)
    async with asyncio.timeout(PATIENCE_S):
        for report in (bytes(8), b"\0\0\x1e\0\0\0\0\0"):
            os.write(device, report)
            assert (await link.receive()).data == report
            with pytest.raises(PortError, match="a hidraw port is read-only"):
                link.send(b"x")
        await link.close()
    with pytest.raises(LinkLost, match="closed"):
        link.send(b"x")
    assert open_descriptors() == before


async def test_only_one_table_can_open_a_device(node: tuple[int, HidrawAddress]) -> None:
    """Two names may lead to one node. The second open is refused until the first link is closed."""
    _, address = node
    link = await open_link(address, LINE)
    with pytest.raises(PortRefused, match="another table or program uses the device"):
        await open_link(address, LINE)
    await link.close()
    await (await open_link(address, LINE)).close()


async def test_a_disconnected_scanner_is_a_lost_link() -> None:
    """The kernel hangs up; the earlier bytes are delivered first."""
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


async def test_the_refusal_of_a_node_contains_the_reason(tmp_path: Path) -> None:
    """The node does not exist, is a regular file, or is a loop of links."""
    file, loop = tmp_path / "file", tmp_path / "loop"
    file.touch()
    loop.symlink_to(loop)
    for path, why in ((tmp_path / "none", "check the cable"), (file, "is not a device"), (loop, "Too many levels")):
        with pytest.raises(PortRefused, match=rf"hidraw://{path}: .*{why}.*"):
            await open_link(HidrawAddress(str(path)), LINE)
