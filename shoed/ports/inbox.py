"""What a link has received and nobody has taken yet, and whether it still takes bytes the other way.

Bytes that arrived before a link was lost are delivered before the loss is. A consumer that lags
fills the inbox to its limit; then the port is told to pause and the line's own buffers hold the
rest, so memory stays bounded. One consumer, on the loop's thread.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from shoed.errors import LinkLost, PortError
from shoed.now import Chunk, Now
from shoed.ports.clock import now
from shoed.ports.pulse import GRACE_NS, pulse

# Two minutes of a 4800 baud line: only a consumer that stands still gets here.
LIMIT_BYTES: Final = 64 * 1024

# Orders are some ten bytes each: a device that leaves so much untaken does not listen.
UNSENT_BYTES: Final = 4096

# Between the first and the second turn of a callback, the loop looks at every line and reads from it.
POLLS: Final = 2
NOT_OVER: Final = 1 << 63


class Inbox:
    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._chunks: deque[Chunk] = deque()
        self._bytes = 0
        self._paused = False
        self._paused_ns = (0, -GRACE_NS)  # the last pause: from, until
        self._pulse = pulse()
        self._pulse.join()
        self._waiter: asyncio.Future[None] | None = None
        self.ended: str | None = None  # why, once nothing more will come

    def heard(self, chunk: Chunk) -> None:
        """What was read from a line."""
        self.put(replace(chunk, late_ns=self._late_ns(chunk.at)))

    def put(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self._bytes += len(chunk.data)
        if self._bytes >= LIMIT_BYTES and not self._paused:
            self._paused = True
            self._paused_ns = chunk.at.mono_ns, NOT_OVER
            self._pause()
        self._wake()

    def end(self, reason: str) -> None:
        """Nothing more will come. The first reason stands: what follows a loss is its echo."""
        if self.ended is None:
            self.ended = reason
            self._pulse.leave()
            self._wake()

    async def receive(self) -> Chunk:
        while not self._chunks:
            if self.ended is not None:
                raise LinkLost(self.ended)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        chunk = self._chunks.popleft()
        self._bytes -= len(chunk.data)
        if self._paused and self._bytes <= LIMIT_BYTES // 2 and self.ended is None:
            self._paused = False
            self._resume()
            self._polled(POLLS)
        return chunk

    def _polled(self, polls: int) -> None:
        """The pause is over once the loop has read what waited meanwhile, however busy it is."""
        if self._paused:
            return
        if polls:
            asyncio.get_running_loop().call_soon(self._polled, polls - 1)
        else:
            self._paused_ns = self._paused_ns[0], now().mono_ns

    def heard_until(self) -> Now:
        """Whatever came before this moment has been received."""
        if self._chunks:
            return self._chunks[0].earliest
        at = now()
        return at.before(self._late_ns(at))

    def _late_ns(self, at: Now) -> int:
        late_ns = self._pulse.late_ns(at.mono_ns)
        began_ns, ended_ns = self._paused_ns
        return max(late_ns, at.mono_ns - began_ns) if at.mono_ns - ended_ns < GRACE_NS else late_ns

    def check_send(self, data: bytes, unsent: int, peer: str, remedy: str) -> None:
        """Whether bytes may follow those that wait: LinkLost once nothing more will come, PortError if too many do."""
        if self.ended is not None:
            raise LinkLost(self.ended)
        if unsent + len(data) > UNSENT_BYTES:
            raise PortError(f"{peer} takes no bytes, {unsent} wait; {remedy}")

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
