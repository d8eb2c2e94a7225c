"""Open lines from outside: bytes that are waited for, and what of a line a process still holds."""

import asyncio
from pathlib import Path

from shoed.ports.link import Link

PATIENCE_S = 5


async def receive(link: Link, length: int) -> bytes:
    """So many bytes at least."""
    data = b""
    async with asyncio.timeout(PATIENCE_S):
        while len(data) < length:
            data += (await link.receive()).data
    return data


def open_descriptors() -> set[tuple[str, str]]:
    links = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return {(link.name, str(link.readlink())) for link in links if link.is_symlink()}
