"""What the test of a device needs from the line to it, and its time limits.

A line is a real port, or a virtual device in virtual time. Every call blocks until it is done.
"""

from math import inf
from typing import Final, NamedTuple, Protocol

from shoed.now import Chunk

NS_PER_S: Final = 1_000_000_000


class Limits(NamedTuple):
    answer_s: float = 1.0  # until an answer comes; a longer silence is no answer
    slack_s: float = 0.4  # by which a moment of the page may be missed: adapters and device servers hold bytes back
    patience_s: float = 60.0  # for what a person or a command does
    longest_s: float = inf  # a check that takes longer is left out
    most_reports: int = 50  # that the device is made to say for one clause
    sealed: bool = False  # the line is the secure channel: a frame is said whole
    sees_line: bool = False  # the device itself can see that a host opens the line


class Gone(Exception):
    """The line is lost."""


class Line(Protocol):
    def now_ns(self) -> int: ...

    def send(self, data: bytes) -> None: ...

    def receive(self, until_ns: int) -> Chunk | None:
        """The next bytes; None if there are none until then. Gone, once the line is lost."""

    def cut(self) -> None: ...

    def open(self) -> None:
        """Open the line again; Gone if that fails."""

    def power(self) -> bool:
        """Cut the power of the device and restore it; False: there is no way to do it."""

    def cause(self, count: int) -> bool:
        """Make the device report something so many times; False: there is no command for it."""

    def ask(self, text: str) -> None:
        """Ask a person."""
