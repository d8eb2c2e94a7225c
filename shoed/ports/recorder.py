"""A recorder of the recent traffic of a device's line, in both directions: a ring in memory.

Theory of operation: the recorder appends each record as packed bytes. The ring has two halves. When the newer half is
full, or has lasted for half an hour, the recorder drops the older half and starts a new one. A chunk costs half a
microsecond, and the memory is bounded by the two halves, also for a line that delivers single bytes.
"""

import struct
from typing import Final

from shoed.model.moments import Chunk, Now
from shoed.ports.clock import now
from shoed.ports.inbox import Take
from shoed.ports.link import Link, PortListener

HALF_BYTES: Final = 64 * 1024  # for an Angel Eye read byte by byte: 200 reports, each transmitted three times
HALF_US: Final = 30 * 60 * 1_000_000  # a person notices a dispute within an hour; older traffic is not published

HEAD: Final = struct.Struct("<QBI")
FROM_DEVICE, TO_DEVICE, REMARK = range(3)


class TrafficRing:
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
        """A copy of the records. `shoed.ports.recent_capture` reads it."""
        return bytes(self.older + self.newer)


class RecordedLink:
    """A link that records the bytes that it sends."""

    def __init__(self, link: Link, ring: TrafficRing) -> None:
        self.link = link
        self.ring = ring

    async def receive(self, take: Take | None = None) -> Chunk:
        return await self.link.receive(take)

    def heard_until(self) -> Now:
        return self.link.heard_until()

    def send(self, data: bytes) -> None:
        self.link.send(data)
        self.ring.put(now(), TO_DEVICE, data)

    async def close(self) -> None:
        await self.link.close()


class PortRecorder:
    """Records the traffic of a port, and passes each call to another listener."""

    def __init__(self, events: PortListener, ring: TrafficRing) -> None:
        self.events = events
        self.ring = ring

    async def opened(self, link: Link) -> None:
        self.remark("the link is open")
        await self.events.opened(RecordedLink(link, self.ring))

    async def room(self) -> None:
        await self.events.room()

    def received(self, chunk: Chunk) -> None:
        self.ring.put(chunk.at, FROM_DEVICE, chunk.data)
        self.events.received(chunk)

    async def closed(self, reason: str) -> None:
        self.remark(f"the link is closed: {reason}")
        await self.events.closed(reason)

    async def refused(self, reason: str) -> None:
        await self.events.refused(reason)

    def remark(self, text: str) -> None:
        self.ring.put(now(), REMARK, " ".join(text.split()).encode())
