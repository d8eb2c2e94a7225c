"""Which family a device is of, by what it says: every family's decoder over the same bytes. Nothing is written.

A serial line is heard at one family's setting after the other; any other port has but one.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from firmware_protocols.family import Family, Line, Settings
from shoed import wire
from shoed.errors import LinkLost, PortRefused
from shoed.now import Chunk
from shoed.ports.address import Address, SerialAddress
from shoed.ports.link import open_link
from shoed.wire import Frame, LineState

Families = Mapping[str, Family[Settings]]


async def listen(addresses: Sequence[Address], families: Families, seconds: float) -> list[str]:
    """What was heard on each, in words; all are heard at the same time."""
    return await asyncio.gather(*[_listen(address, families, seconds) for address in addresses])


async def _listen(address: Address, families: Families, seconds: float) -> str:
    lines = sorted({family.line for family in families.values() if family.line is not None}, key=str)
    heard = 0
    for line in lines if isinstance(address, SerialAddress) else lines[:1]:
        try:
            chunks = await hear(address, line, seconds)
        except PortRefused as refusal:
            return str(refusal)
        if (best := recognise(chunks, families)) is not None:
            at = f" at {line}" if isinstance(address, SerialAddress) else ""
            return f"it speaks {best}{at}"
        heard += sum(len(chunk.data) for chunk in chunks)
    if heard:
        return f"{heard} bytes came, and none of them is a message of {', '.join(families)}"
    return "it said nothing: draw a card, or listen for longer"


async def hear(address: Address, line: Line, seconds: float) -> list[Chunk]:
    """All that comes in this time, or until the device is gone."""
    chunks: list[Chunk] = []
    link = await open_link(address, line)
    try:
        async with asyncio.timeout(seconds):
            while True:
                chunks.append(await link.receive())
    except (TimeoutError, LinkLost):
        return chunks
    finally:
        await link.close()


def recognise(chunks: Iterable[Chunk], families: Families) -> str | None:
    """The family of whose messages the most bytes are; None if no message of any came."""
    spoken = {name: _spoken(chunks, family) for name, family in families.items()}
    best = max(spoken, key=spoken.__getitem__, default=None)
    return best if best is not None and spoken[best] else None


def _spoken(chunks: Iterable[Chunk], family: Family[Settings]) -> int:
    """The bytes that are in whole messages."""
    reports = family.reports(family.settings())
    state, spoken = LineState(), 0
    for chunk in chunks:
        state, found = wire.receive(reports, state, chunk)
        spoken += sum(len(each.raw) for each in found if isinstance(each, Frame))
    return spoken
