"""The key for a port, and the bytes that the port drops. This module does not need the cipher."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from firmware_protocols.family import Reason
from shoed.errors import UsageError
from shoed.model.moments import Now
from shoed.ports.key_file import read_key

TORN_AFTER_MS: Final = 500


class Dropped(msgspec.Struct, frozen=True):
    """Bytes on the line that the other end did not seal in the secure channel."""

    data: bytes
    at: Now
    reason: Reason
    detail: str


class Keyed:
    """The key, and the receiver of dropped bytes. Its `repr` shows nothing of the key."""

    __slots__ = ("dropped", "key", "torn_after_ms")

    def __init__(
        self, key: bytes, dropped: Callable[[Dropped], Awaitable[None]], torn_after_ms: int = TORN_AFTER_MS
    ) -> None:
        self.key = key
        self.dropped = dropped
        self.torn_after_ms = torn_after_ms


def key_in(path: str, where: str) -> bytes:
    """The key in a file; `where` names the option or setting in an error message."""
    try:
        return read_key(path)
    except ValueError as error:
        raise UsageError(f"{where}: {'; '.join(error.args)}") from error
