"""The queue of received chunks of a link, and the state of the link: open or ended.

`receive` returns every chunk that arrived before the end of the link, and then raises LinkLost. If the consumer is
slow and the queue reaches its limit, the inbox pauses the port. Then the buffers of the line hold further bytes, so
memory stays bounded. An inbox has one consumer, on the thread of the event loop.

A consumer that gives `receive` a function gets each chunk at once: while it waits, the reader of the line calls the
function. Otherwise the chunk would wait for a turn of the event loop.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

from msgspec.structs import replace

from shoed.errors import LinkLost, PortError
from shoed.model.moments import Chunk, Now
from shoed.ports.clock import now
from shoed.ports.loop_delay import GRACE_NS, loop_delay

# Two minutes of a 4800 baud line. Only a consumer that has stopped reaches this limit.
LIMIT_BYTES: Final = 64 * 1024

# Bytes that a function gets at once, about 90 reports. Their Step takes 2 ms, and its row fits a page.
PIECE: Final = 768

# A device order has about ten bytes. A device that does not read this many bytes does not read at all.
UNSENT_BYTES: Final = 4096

# The event loop polls and reads every line between the first and the second run of a callback.
POLLS: Final = 2
NOT_OVER: Final = 1 << 63

Take = Callable[[Chunk], None]


class Inbox:
    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._chunks: deque[Chunk] = deque()
        self._bytes = 0
        self._paused = False
        self._paused_ns = (0, -GRACE_NS)  # start and end of the last pause
        self._loop_delay = loop_delay()
        self._loop_delay.join()
        self._waiter: asyncio.Future[Chunk | None] | None = None
        self._take: Take | None = None  # of the consumer that waits
        self._context = copy_context()  # of the task that opened the link: log lines have its fields
        self.ended: str | None = None  # the reason; None: the link is open

    def heard(self, chunk: Chunk) -> None:
        """Queue bytes that were just read from a line, with their possible delay."""
        self.put(replace(chunk, late_ns=self._late_ns(chunk.at)))

    def put(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self._bytes += len(chunk.data)
        if self._bytes >= LIMIT_BYTES and not self._paused:
            self._paused = True
            self._paused_ns = chunk.at.mono_ns, NOT_OVER
            self._pause()
        if (waiter := self._waiter) is None or waiter.done():
            return
        try:
            waiter.set_result(None if self._take is None else self._context.run(self._taken, self._take))
        except StopIteration as error:  # a future refuses it
            waiter.set_exception(RuntimeError(f"{error!r} in a function that takes a chunk"))
        except BaseException as error:  # noqa: BLE001  # the consumer receives every exception
            waiter.set_exception(error)

    def end(self, reason: str) -> None:
        """The link ended. The first reason counts: later errors are consequences of the first."""
        if self.ended is None:
            self.ended = reason
            self._loop_delay.leave()
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(None)

    async def receive(self, take: Take | None = None) -> Chunk:
        """The next chunk. With `take`: the next piece of a chunk, of at most PIECE bytes, which `take` has got."""
        if self._chunks:
            await asyncio.sleep(0)  # the other tables run between two chunks
        while not self._chunks:
            if self.ended is not None:
                raise LinkLost(self.ended)
            waiter: asyncio.Future[Chunk | None] = asyncio.get_running_loop().create_future()
            self._waiter, self._take = waiter, take
            try:
                taken = await waiter
            except asyncio.CancelledError:
                waiter.result()  # an error of `take` counts more than the cancellation of its caller
                raise
            if taken is not None:
                return taken
        return self._taken(take)

    def _taken(self, take: Take | None) -> Chunk:
        chunk = self._chunks.popleft()
        if take is not None and len(chunk.data) > PIECE:
            self._chunks.appendleft(replace(chunk, data=chunk.data[PIECE:]))
            chunk = replace(chunk, data=chunk.data[:PIECE])
        self._bytes -= len(chunk.data)
        if self._paused and self._bytes <= LIMIT_BYTES // 2 and self.ended is None:
            self._paused = False
            self._resume()
            self._polled(POLLS)
        if take is not None:
            take(chunk)
        return chunk

    def _polled(self, polls: int) -> None:
        """End the pause after the event loop has read the bytes that waited in the line's buffers."""
        if self._paused:
            return
        if polls:
            asyncio.get_running_loop().call_soon(self._polled, polls - 1)
        else:
            self._paused_ns = self._paused_ns[0], now().mono_ns

    def heard_until(self) -> Now:
        """All bytes that arrived before this time have been received."""
        if self._chunks:
            return self._chunks[0].earliest
        at = now()
        return at.before(self._late_ns(at))

    def _late_ns(self, at: Now) -> int:
        late_ns = self._loop_delay.late_ns(at.mono_ns)
        began_ns, ended_ns = self._paused_ns
        return max(late_ns, at.mono_ns - began_ns) if at.mono_ns - ended_ns < GRACE_NS else late_ns

    def check_send(self, data: bytes, unsent: int, peer: str, remedy: str) -> None:
        """LinkLost if the link has ended; PortError if too many bytes wait to be sent."""
        if self.ended is not None:
            raise LinkLost(self.ended)
        if unsent + len(data) > UNSENT_BYTES:
            raise PortError(f"{peer} does not read: {unsent} bytes wait; {remedy}")
