"""Whether the loop had its turn lately: what is read after a standstill may have come at any moment of it.

A process that is stopped, or starved of its processor, reads late. The kernel gives no moment with the bytes, so
the loop keeps a pulse: a timer that is due every 25 ms. While it is overdue, and for a moment after, nothing that
is read is known to have come just then, and no silence is known.
"""

import asyncio
from time import monotonic_ns
from typing import Final
from weakref import WeakKeyDictionary

BEAT_S: Final = 0.025
LATE_NS: Final = 50_000_000  # two beats: a shorter standstill shortens no draw (400 ms) and ends no code (250 ms)
GRACE_S: Final = 0.05  # after a standstill, until all that the kernel and the threads of ports hold has been read
GRACE_NS: Final = int(GRACE_S * 1e9)


class Pulse:
    """Of one loop, while any link of it is open."""

    def __init__(self) -> None:
        self._links = 0
        self._seen_ns = 0
        self._stood_ns = (0, 0)  # the last standstill: from, until
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
        """How long before this moment bytes may have come that are read at it; 0: they came just then."""
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


_PULSES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Pulse]] = WeakKeyDictionary()


def pulse() -> Pulse:
    """The running loop's."""
    return _PULSES.setdefault(asyncio.get_running_loop(), Pulse())
