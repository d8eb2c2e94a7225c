"""Golden captures over every kind of line: the bytes of the device leave the port completely and in order.

No other property depends on the line, because the division into chunks changes nothing.
"""

import asyncio
import os
import tty
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from usb.backend import libusb1

from firmware_protocols import FAMILIES
from firmware_protocols.family import Line
from shoed.ports.address import Address, parse_address
from shoed.ports.capture import Direction
from shoed.ports.link import open_link
from shoed.rig import golden
from tests.fake_usb import FakeDevice, FakeUsb
from tests.links import receive
from tests.test_ports_rfc2217 import Server
from tests.world import shoe_on

ANY: Final = Line(9600)  # the line of a converter, if the device itself has no serial line

pytestmark = pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # pyserial 3.5


class Far(NamedTuple):
    """The device's end of a line."""

    address: Address
    say: Callable[[bytes], Awaitable[None]]


@asynccontextmanager
async def serial(place: Path) -> AsyncIterator[Far]:
    async with shoe_on("pty", place) as shoe:
        yield Far(parse_address(shoe.port), shoe.send)


@asynccontextmanager
async def tcp(place: Path) -> AsyncIterator[Far]:
    async with shoe_on("tcp", place) as shoe:

        async def say(data: bytes) -> None:
            await shoe.connected()
            await shoe.send(data)

        yield Far(parse_address(shoe.port), say)


@asynccontextmanager
async def rfc2217(_: Path) -> AsyncIterator[Far]:
    server = Server()

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(server.device, data) :]

    try:
        yield Far(server.address, lambda data: asyncio.to_thread(write, data))
    finally:
        server.close()


@asynccontextmanager
async def usb(place: Path) -> AsyncIterator[Far]:
    """A simulated bus below pyusb; the device sends packets of the size of its endpoint."""
    device = FakeDevice()

    async def say(data: bytes) -> None:
        for at in range(0, len(data), device.packet):
            device.outgoing.put(data[at : at + device.packet])

    bus = FakeUsb(place, device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(libusb1, "get_backend", lambda: bus)
        yield Far(parse_address("usb://1209:0001"), say)


@asynccontextmanager
async def hidraw(_: Path) -> AsyncIterator[Far]:
    """A pseudo-terminal replaces the node."""
    device, node = os.openpty()
    tty.setraw(node)

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(device, data) :]

    try:
        yield Far(parse_address(f"hidraw://{os.ttyname(node)}"), lambda data: asyncio.to_thread(write, data))
    finally:
        os.close(node)
        os.close(device)


# docs/devices.md names these lines; each key is the scheme of an address.
LINES: Final[Mapping[str, Callable[[Path], AbstractAsyncContextManager[Far]]]] = {
    "serial": serial,
    "tcp": tcp,
    "rfc2217": rfc2217,
    "usb": usb,
    "hidraw": hidraw,
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scheme", LINES)
async def test_every_byte_is_received(scheme: str, family: str, tmp_path: Path) -> None:
    """The test sends the bytes of all captures, one after the other, over this kind of line."""
    captures = [capture for path in golden.captures() if (capture := golden.load(path)).header.family == family]
    records = [record.data for each in captures for record in each.records if record.direction is Direction.FROM_DEVICE]
    async with LINES[scheme](tmp_path) as far:
        link = await open_link(far.address, FAMILIES[family].line or ANY)
        try:
            heard, _ = await asyncio.gather(receive(link, len(b"".join(records))), far.say(b"".join(records)))
        finally:
            await link.close()
    assert heard == b"".join(records)
