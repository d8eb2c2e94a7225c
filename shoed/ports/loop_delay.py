"""Detection of a standstill of the event loop: bytes read after it may have arrived at any time during it.

A stopped process, or a process without processor time, reads late. The kernel does not record the arrival time of
bytes. Therefore a timer of the event loop ticks every 25 ms. A time of more than LATE_NS between two ticks is a
standstill. During a standstill, and for GRACE_S after it, the arrival time of bytes and the length of a silence are
uncertain.
"""

import asyncio
from time import monotonic_ns
from typing import Final
from weakref import WeakKeyDictionary

BEAT_S: Final = 0.025
LATE_NS: Final = 50_000_000  # two beats; a shorter standstill has no effect on a draw (400 ms) or a code (250 ms)
GRACE_S: Final = 0.05  # after a standstill: the time to read the buffers of the kernel and of the ports' threads
GRACE_NS: Final = int(GRACE_S * 1e9)


class LoopDelay:
    """The standstills of one event loop, while at least one of its links is open."""

    def __init__(self) -> None:
        self._links = 0
        self._seen_ns = 0
        self._stood_ns = (0, 0)  # start and end of the last standstill
        self._due: asyncio.TimerHandle | None = None

    def join(self) -> None:
        self._links += 1
        if self._due is None:
            self._seen_ns = monotonic_ns()
            self._beat()

    def leave(self) -> None:
        self._links -= 1
        if not self._links and self._due is not None:
            self._due.cancel()
            self._due = None

    def late_ns(self, at_ns: int) -> int:
        """For bytes read at this time: the longest possible time since their arrival. 0: they arrived just now."""
        began_ns, ended_ns = self._stood_ns
        if at_ns - self._seen_ns > LATE_NS:
            return at_ns - self._seen_ns
        return at_ns - began_ns if at_ns - ended_ns < GRACE_NS else 0

    def _beat(self) -> None:
        at_ns = monotonic_ns()
        if at_ns - self._seen_ns > LATE_NS:
            self._stood_ns = self._seen_ns, at_ns
        self._seen_ns = at_ns
        self._due = asyncio.get_running_loop().call_later(BEAT_S, self._beat)


_LOOP_DELAYS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, LoopDelay]] = WeakKeyDictionary()


def loop_delay() -> LoopDelay:
    """The LoopDelay of the running event loop."""
    return _LOOP_DELAYS.setdefault(asyncio.get_running_loop(), LoopDelay())
