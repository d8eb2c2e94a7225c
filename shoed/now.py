"""Moments, and bytes with theirs. A moment is always given, never asked for: the ports hold the clock."""

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Now(msgspec.Struct, frozen=True, array_like=True):
    """One moment on two clocks: UTC in microseconds for people, monotonic in nanoseconds for differences."""

    utc_us: int
    mono_ns: int

    def before(self, duration_ns: int) -> "Now":
        """The moment so much earlier."""
        return Now(self.utc_us - duration_ns // 1000, self.mono_ns - duration_ns) if duration_ns else self


class ReadAt(msgspec.Struct, frozen=True, array_like=True):
    """A moment at which bytes were read, and how long before it they may have come."""

    at: Now
    late_ns: int = 0


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """Bytes as they came, and when they were read."""

    data: bytes
    at: Now
    late_ns: int = 0  # how long before `at` they may have come: the host stood still

    @property
    def earliest(self) -> Now:
        return self.at.before(self.late_ns)


def rfc3339(utc_us: int) -> str:
    """UTC as events and state carry it, with all six decimals."""
    return f"{(EPOCH + timedelta(microseconds=utc_us)).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
