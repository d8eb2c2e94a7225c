"""What went over a device's line lately, both ways: a ring in memory, and a tap that fills it.

Theory of operation: a record is a few packed bytes behind the ones before it. Two halves of a size take turns:
where the newer one is full, or has lasted long enough, the older one is forgotten whole. That costs half a
microsecond a chunk, and never more memory than both of them, however small the pieces are in which a line
hands out its bytes.
"""

import struct
from typing import Final

from shoed.now import Chunk, Now
from shoed.ports.clock import now
from shoed.ports.link import Events, Link

HALF_BYTES: Final = 64 * 1024  # of an Angel Eye that is heard byte by byte: 200 reports, each three times
HALF_US: Final = 30 * 60 * 1_000_000  # in an hour a dispute has been noticed, and nothing older is given away

HEAD: Final = struct.Struct("<QBI")
FROM_DEVICE, TO_DEVICE, REMARK = range(3)


class Ring:
    def __init__(self) -> None:
        self.older = bytearray()
        self.newer = bytearray()
        self.newer_since_us = 0

    def put(self, at: Now, kind: int, data: bytes) -> None:
        at_us = at.mono_ns // 1000
        if len(self.newer) >= HALF_BYTES or at_us - self.newer_since_us >= HALF_US:
            self.older, self.newer, self.newer_since_us = self.newer, bytearray(), at_us
        self.newer += HEAD.pack(at_us, kind, len(data)) + data

    def kept(self) -> bytes:
        """As it is now; `shoed.ports.kept` reads it."""
        return bytes(self.older + self.newer)


class TappedLink:
    """A link whose bytes are kept on their way to the device."""

    def __init__(self, link: Link, ring: Ring) -> None:
        self.link = link
        self.ring = ring

    async def receive(self) -> Chunk:
        return await self.link.receive()

    def heard_until(self) -> Now:
        return self.link.heard_until()

    def send(self, data: bytes) -> None:
        self.link.send(data)
        self.ring.put(now(), TO_DEVICE, data)

    async def close(self) -> None:
        await self.link.close()


class Tap:
    """Hands on what a port tells, and keeps it."""

    def __init__(self, events: Events, ring: Ring) -> None:
        self.events = events
        self.ring = ring

    async def opened(self, link: Link) -> None:
        self.remark("the link is open")
        await self.events.opened(TappedLink(link, self.ring))

    async def received(self, chunk: Chunk) -> None:
        self.ring.put(chunk.at, FROM_DEVICE, chunk.data)
        await self.events.received(chunk)

    async def closed(self, reason: str) -> None:
        self.remark(f"the link is closed: {reason}")
        await self.events.closed(reason)

    async def refused(self, reason: str) -> None:
        await self.events.refused(reason)

    def remark(self, text: str) -> None:
        self.ring.put(now(), REMARK, " ".join(text.split()).encode())
