"""Detection of a standstill of the event loop: bytes read after it may have arrived at any time during it.

A stopped process, or a process without processor time, reads late. The kernel does not record the arrival time of
bytes. But waiting bytes end the wait of the event loop's selector at once. So bytes are late only if the event loop is
busy between two waits, or if the kernel does not continue its thread. Therefore `LoopDelay` measures each wait; no
timer is necessary.

- A brief wait: its bytes may have arrived at any time since the end of the previous wait.
- A long wait: its bytes arrived at its end, or earlier by the time that the thread was ready but did not run. The
  kernel counts this time (proc(5), schedstat).
- A disturbed wait: its bytes may have arrived at any time since its begin. The process was stopped (SIGCONT), the
  thread's memory was on the disk (a major fault), or the wait did not end at its time limit.

A standstill is a delay of more than LATE_NS. During a standstill, and for GRACE_S after it, the arrival time of bytes
and the length of a silence are uncertain. On a kernel without schedstat, a timer makes every wait brief.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from resource import RUSAGE_THREAD, getrusage
from selectors import SelectorKey
from time import monotonic_ns
from typing import Any, Final
from weakref import WeakKeyDictionary

BRIEF_NS: Final = 25_000_000
READ_AGAIN_NS: Final = 1_000_000  # a reading of schedstat may be used again within this time: its error is not longer
LATE_NS: Final = 50_000_000  # a shorter standstill has no effect on a draw (400 ms) or a code (250 ms)
GRACE_S: Final = 0.05  # after a standstill: the time to read the buffers of the kernel and of the ports' threads
GRACE_NS: Final = int(GRACE_S * 1e9)

SCHEDSTAT: Final = "/proc/thread-self/schedstat"
SCHEDSTAT_BYTES: Final = 64

Ready = list[tuple[SelectorKey, int]]


class LoopDelay:
    """The standstills of one event loop, while at least one of its links is open."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._links = 0
        self._selector: Any = loop._selector  # type: ignore[attr-defined]  # noqa: SLF001 -- asyncio reports no wait; a test checks the name
        self._select: Callable[[float | None], Ready] = self._selector.select
        self._ended_ns = 0  # the end of the last wait
        self._earliest_ns = 0  # bytes that the last wait reported arrived after this time
        self._stood_ns = (0, 0)  # start and end of the last standstill
        self._continued = False  # SIGCONT arrived
        self._previous_handler: Any = None
        self._schedstat = -1
        self._read = 0, 0  # the time and the result of the last reading of schedstat
        self._beat_timer: asyncio.TimerHandle | None = None

    def join(self) -> None:
        self._links += 1
        if self._links > 1:
            return
        self._ended_ns = self._earliest_ns = monotonic_ns()
        self._selector.select = self._wait
        try:
            self._schedstat = os.open(SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._beat()
        if threading.current_thread() is threading.main_thread():  # Python refuses signal handlers in other threads
            self._previous_handler = signal.signal(signal.SIGCONT, self._note_continued)

    def leave(self) -> None:
        self._links -= 1
        if self._links:
            return
        self._selector.select = self._select
        if self._schedstat >= 0:
            os.close(self._schedstat)
            self._schedstat = -1
        if self._beat_timer is not None:
            self._beat_timer.cancel()
        if self._previous_handler is not None:
            signal.signal(signal.SIGCONT, self._previous_handler)
            self._previous_handler = None

    def late_ns(self, at_ns: int) -> int:
        """For bytes read at this time: the longest possible time since their arrival. 0: they arrived just now."""
        if at_ns - self._earliest_ns > LATE_NS:
            return at_ns - self._earliest_ns
        began_ns, ended_ns = self._stood_ns
        return at_ns - began_ns if at_ns - ended_ns < GRACE_NS else 0

    def _wait(self, timeout: float | None) -> Ready:
        began_ns, previous_ns = monotonic_ns(), self._ended_ns
        may_be_long = timeout is None or timeout * 1e9 >= BRIEF_NS
        if may_be_long and began_ns - self._read[0] > READ_AGAIN_NS:
            self._read = began_ns, self._ready_ns()
        ready_ns, faults = self._read[1], self._faults() if may_be_long else 0
        self._continued = False
        ready = self._select(timeout)
        self._ended_ns = monotonic_ns()
        if self._ended_ns - began_ns < BRIEF_NS or not may_be_long:
            self._earliest_ns = previous_ns
        else:
            self._read = self._ended_ns, self._ready_ns()
            delayed_ns, faulted = self._read[1] - ready_ns, self._faults() - faults
            limit_ns = self._ended_ns if timeout is None else began_ns + int(timeout * 1e9) + delayed_ns + LATE_NS
            is_disturbed = self._continued or faulted or self._ended_ns > limit_ns
            self._earliest_ns = began_ns if is_disturbed else self._ended_ns - delayed_ns
        if self._ended_ns - self._earliest_ns > LATE_NS:
            self._stood_ns = self._earliest_ns, self._ended_ns
        return ready

    def _ready_ns(self) -> int:
        """The nanoseconds that this thread was ready but did not run."""
        return int(os.pread(self._schedstat, SCHEDSTAT_BYTES, 0).split()[1]) if self._schedstat >= 0 else 0

    def _faults(self) -> int:
        """The number of major faults of this thread."""
        return getrusage(RUSAGE_THREAD).ru_majflt

    def _note_continued(self, *_: object) -> None:
        self._continued = True

    def _beat(self) -> None:
        self._beat_timer = asyncio.get_running_loop().call_later(BRIEF_NS / 1e9, self._beat)


_LOOP_DELAYS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, LoopDelay]] = WeakKeyDictionary()


def loop_delay() -> LoopDelay:
    """The LoopDelay of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _LOOP_DELAYS:
        _LOOP_DELAYS[loop] = LoopDelay(loop)
    return _LOOP_DELAYS[loop]
