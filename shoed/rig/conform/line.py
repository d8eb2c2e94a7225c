"""The line to a tested device, as the checks need it, and its time limits.

A line is a real port, or a virtual device in virtual time. Every call blocks until it is complete.
"""

from math import inf
from typing import Final, NamedTuple, Protocol

from shoed.model.moments import Chunk

NS_PER_S: Final = 1_000_000_000


class ConformTimeLimits(NamedTuple):
    answer_s: float = 1.0  # for an answer; longer silence counts as a missing answer
    slack_s: float = 0.4  # the tolerance of a moment on the page: adapters and device servers delay bytes
    patience_s: float = 60.0  # for an action of a person or a command
    longest_s: float = inf  # a check with a longer duration is omitted
    most_reports: int = 50  # the maximum number of reports to cause for one clause
    sees_line: bool = False  # the device can detect that a host opens the line


class LineGone(Exception):
    """The line is lost."""


class DeviceLine(Protocol):
    def now_ns(self) -> int: ...

    def send(self, data: bytes) -> None: ...

    def receive(self, until_ns: int) -> Chunk | None:
        """The next bytes; None if there are none until this moment. Raises LineGone if the line is lost."""

    def cut(self) -> None: ...

    def open(self) -> None:
        """Open the line again. Raises LineGone if this fails."""

    def power(self) -> bool:
        """Cut the power of the device and restore it. False: this line has no way to cut the power."""

    def cause(self, count: int) -> bool:
        """Make the device report this number of facts. False: there is no command for it."""

    def ask(self, text: str) -> None:
        """Ask a person."""
