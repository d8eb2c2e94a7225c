"""Detect the device family of a port: the decoders of all families read the same bytes. Nothing is written.

A serial line is read with the line settings of each family in turn. Any other port is read once.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortRefused
from shoed.model.moments import Chunk
from shoed.ports.address import Address, SerialAddress
from shoed.ports.discover import KnownFamilies
from shoed.ports.heard import describe
from shoed.ports.link import open_link


class ListenResult(NamedTuple):
    """The result of one port, for people."""

    text: str
    is_open: bool = True


async def listen(addresses: Sequence[Address], families: KnownFamilies, seconds: float) -> list[ListenResult]:
    """Return one result for each port. The ports are read at the same time."""
    return await asyncio.gather(*[_listen(address, families, seconds) for address in addresses])


async def _listen(address: Address, families: KnownFamilies, seconds: float) -> ListenResult:
    lines = sorted({family.line for family in families.values() if family.line is not None}, key=str)
    total = 0
    for line in lines if isinstance(address, SerialAddress) else lines[:1]:
        try:
            chunks = await received(address, line, seconds)
        except PortRefused as refusal:
            return ListenResult(str(refusal), is_open=False)
        if (best := describe(chunks, families).family) is not None:
            at = f" at {line}" if isinstance(address, SerialAddress) else ""
            return ListenResult(f"the device uses the protocol {best}{at}")
        total += sum(len(chunk.data) for chunk in chunks)
    if total:
        known = ", ".join(families)
        return ListenResult(f"{total} bytes were received, but not a message of {known}; check the line settings")
    return ListenResult("the device sent nothing; draw a card, or listen for longer")


async def received(
    address: Address, line: Line, seconds: float, is_enough: Callable[[Sequence[Chunk]], bool] = lambda _: False
) -> list[Chunk]:
    """The bytes received in this time, until they are enough, or until the link is lost."""
    chunks: list[Chunk] = []
    link = await open_link(address, line)
    try:
        async with asyncio.timeout(seconds):
            while not is_enough(chunks):
                chunks.append(await link.receive())
    except (TimeoutError, LinkLost):
        pass
    finally:
        await link.close()
    return chunks
