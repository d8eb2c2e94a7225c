"""What the port of a device with a key is given, and what it drops. Nothing here needs the cipher."""

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from firmware_protocols.family import Reason
from shoed.errors import UsageError
from shoed.now import Now
from shoed.ports.key_file import read_key

TORN_AFTER_MS: Final = 500


class Dropped(msgspec.Struct, frozen=True):
    """Bytes of a line that the other end did not say in the secure channel."""

    data: bytes
    at: Now
    reason: Reason
    detail: str


class Keyed:
    """The key, and who is told about bytes that are dropped. Its text shows nothing of the key."""

    __slots__ = ("dropped", "key", "torn_after_ms")

    def __init__(
        self, key: bytes, dropped: Callable[[Dropped], Awaitable[None]], torn_after_ms: int = TORN_AFTER_MS
    ) -> None:
        self.key = key
        self.dropped = dropped
        self.torn_after_ms = torn_after_ms


def key_in(path: str, where: str) -> bytes:
    """The key in a file that a person named."""
    try:
        return read_key(path)
    except ValueError as error:
        raise UsageError(f"{where}: {'; '.join(error.args)}") from error
