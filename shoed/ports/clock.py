"""The two clocks of the system: UTC for people, monotonic for differences."""

import time

from shoed.model.moments import Now


def now() -> Now:
    return Now(utc_us=time.time_ns() // 1000, mono_ns=time.monotonic_ns())
