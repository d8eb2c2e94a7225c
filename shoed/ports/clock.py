"""The one place that asks what time it is."""

import time

from shoed.now import Now


def now() -> Now:
    return Now(utc_us=time.time_ns() // 1000, mono_ns=time.monotonic_ns())
