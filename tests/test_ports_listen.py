"""Detection of a family from the bytes of its device; shoed writes no bytes."""

import asyncio
import contextlib
import os
import tty
from collections.abc import Iterator

import pytest

from firmware_protocols import FAMILIES
from shoed.model.moments import Chunk, Now
from shoed.ports.address import SerialAddress, TcpAddress
from shoed.ports.heard import describe
from shoed.ports.listen import listen

CARD = {  # the eight of spades, in literal bytes
    "angel-eye": bytes.fromhex("05 31 44 81 B8 03 34 46"),
    "bee-tek": b"[Game]<Card:8S>\r\n",
}
SHORT_S = 0.2


@pytest.fixture
def lines() -> Iterator[list[tuple[int, str]]]:
    """Two serial lines: the device's end and the node of each."""
    pairs = [os.openpty() for _ in range(2)]
    for _, slave in pairs:
        tty.setraw(slave)
    yield [(device, os.ttyname(slave)) for device, slave in pairs]
    for descriptor in (each for pair in pairs for each in pair):
        os.close(descriptor)


def chunks(*data: bytes) -> list[Chunk]:
    return [Chunk(each, Now(0, 0)) for each in data]


@pytest.mark.parametrize("family", CARD)
def test_the_family_of_the_messages_is_detected(family: str) -> None:
    """The bytes are cut at any place, and mixed with noise. Noise alone has no family."""
    card = CARD[family]
    assert describe(chunks(b"\x00\xff", card[:3], card[3:], b"\xff"), FAMILIES).family == family
    assert describe(chunks(b"\x00\xff", card[:3]), FAMILIES).family is None
    assert describe([], FAMILIES).family is None


async def test_lines_are_read_at_the_same_time_and_nothing_is_written(lines: list[tuple[int, str]]) -> None:
    """One device sends, one is silent. The result contains the line settings."""
    (speaking, first), (silent, second) = lines
    os.set_blocking(speaking, False)  # the os module knows no other way
    loop = asyncio.get_running_loop()

    def speak() -> None:
        os.write(speaking, CARD["bee-tek"])
        again[0] = loop.call_later(SHORT_S / 10, speak)

    again = [loop.call_soon(speak)]
    heard = await listen([SerialAddress(first), SerialAddress(second)], FAMILIES, SHORT_S)
    again[0].cancel()
    assert heard[0].text.startswith("the device uses the protocol bee-tek at ")
    assert heard[1].text.startswith("the device sent nothing; draw a card")
    for device in (speaking, silent):
        os.set_blocking(device, False)
        with pytest.raises(BlockingIOError):
            os.read(device, 1)


async def test_the_result_of_a_port_without_a_family_contains_the_reason() -> None:
    """The port cannot be opened, or its bytes have no family. The loss of a device ends the listening."""

    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request")
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        address = TcpAddress("127.0.0.1", server.sockets[0].getsockname()[1])
        heard = await listen([address, SerialAddress("/dev/no-such-shoe")], FAMILIES, 60)
    known = ", ".join(FAMILIES)
    assert heard[0] == (f"24 bytes were received, but not a message of {known}; check the line settings", True)
    assert "the node does not exist" in heard[1].text
    assert not heard[1].is_open
