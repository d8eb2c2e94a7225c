"""A fuzzer's bytes, spent one decision at a time."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Source:
    """True while anything is left; what is asked for beyond the end is nothing: no bytes, or 0."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        self.at += count
        return taken

    def byte(self) -> int:
        return next(iter(self.take(1)), 0)

    def piece(self) -> bytes:
        """Bytes behind their length."""
        return self.take(self.byte())

    def among(self, several: Sequence[T]) -> T:
        return several[self.byte() % len(several)]
