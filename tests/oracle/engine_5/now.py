"""Moments, and bytes with theirs. A moment is always given, never asked for: the ports hold the clock."""

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Now(msgspec.Struct, frozen=True, array_like=True):
    """One moment on two clocks: UTC in microseconds for people, monotonic in nanoseconds for differences."""

    utc_us: int
    mono_ns: int


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """Bytes as they came, and when the last of them could be read."""

    data: bytes
    at: Now


def rfc3339(utc_us: int) -> str:
    """UTC as events and state carry it, with all six decimals."""
    return f"{(EPOCH + timedelta(microseconds=utc_us)).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
