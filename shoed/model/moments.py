"""Moments, and bytes with their moments. Only the ports read the clock; every other room receives moments."""

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Now(msgspec.Struct, frozen=True, array_like=True):
    """One moment on two clocks: UTC in microseconds for people, monotonic in nanoseconds for differences."""

    utc_us: int
    mono_ns: int

    def before(self, duration_ns: int) -> "Now":
        """The moment that is earlier by a duration."""
        return Now(self.utc_us - duration_ns // 1000, self.mono_ns - duration_ns) if duration_ns else self


class ReadAt(msgspec.Struct, frozen=True, array_like=True):
    """The moment of reading bytes. The bytes arrived at most `late_ns` earlier."""

    at: Now
    late_ns: int = 0


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """Bytes of a line, and the moment of reading them."""

    data: bytes
    at: Now
    late_ns: int = 0  # the longest time between arrival and `at`: the host was busy

    @property
    def earliest(self) -> Now:
        return self.at.before(self.late_ns)


def rfc3339(utc_us: int) -> str:
    """UTC as in events and state, with six decimals. A changed journal may have a time that no calendar has."""
    try:
        moment = EPOCH + timedelta(microseconds=utc_us)
    except OverflowError:
        return f"{utc_us} us"
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
