"""A fuzzer's bytes, consumed one decision at a time."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Source:
    """True while bytes remain. After the end every decision is empty: no bytes, or 0."""

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
        """Return bytes that are preceded by their length."""
        return self.take(self.byte())

    def among(self, several: Sequence[T]) -> T:
        return several[self.byte() % len(several)]
