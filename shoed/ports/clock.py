"""The two clocks of the system: UTC for people, monotonic for differences."""

import logging
import time
from typing import Final

from shoed.model.moments import Now

STEP_S: Final = 1.0  # the time service corrects smaller differences slowly

LOG: Final = logging.getLogger("shoed.ports.clock")


def now() -> Now:
    return Now(utc_us=time.time_ns() // 1000, mono_ns=time.monotonic_ns())


class ClockSteps:
    """Logs each step of the wall clock against the monotonic clock. Play and the order of the record need no time."""

    def __init__(self) -> None:
        self.ahead_ns: int | None = None  # of the wall clock before the monotonic clock

    def look(self, at: Now) -> None:
        ahead_ns, before = at.utc_us * 1000 - at.mono_ns, self.ahead_ns
        self.ahead_ns = ahead_ns
        step_s = 0.0 if before is None else (ahead_ns - before) / 1e9
        if abs(step_s) >= STEP_S:
            way = "forward" if step_s > 0 else "back"
            LOG.warning(
                "the clock of the machine was set %s by %.1f s, or the machine was suspended; the order of the events"
                " is their sequence, and play is not affected",
                *(way, abs(step_s)),
            )
