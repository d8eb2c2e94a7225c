"""Open lines: received bytes, and the open descriptors of a process."""

import asyncio
from pathlib import Path

from shoed.ports.link import Link
from tests.patience import PATIENCE_S


async def receive(link: Link, length: int) -> bytes:
    """At least the given number of bytes."""
    data = b""
    async with asyncio.timeout(PATIENCE_S):
        while len(data) < length:
            data += (await link.receive()).data
    return data


def open_descriptors() -> set[tuple[str, str]]:
    links = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    described = {(link.name, str(link.readlink())) for link in links if link.is_symlink()}
    return {each for each in described if not each[1].endswith("/schedstat")}  # LoopDelay has it while a link is open
