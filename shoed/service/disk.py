"""The disk of the state directory: its free space, and the size of the journal.

Theory of operation: a disk that hangs must stop neither the event loop nor the end of the process. Each measurement is
made in a daemon thread. While a measurement has no result, no second one begins.
"""

import asyncio
import os
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec

from shoed.journal.files import size_on_disk
from shoed.journal.store import JOURNAL
from shoed.ports.threads import off_loop

DISK_S: Final = 1.0  # the time limit of an answer


class DiskStatus(msgspec.Struct, frozen=True):
    """In bytes: the free space for the daemon, the size of the file system, and the size of the journal's files."""

    free_bytes: int
    total_bytes: int
    journal_bytes: int


class Disk:
    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self.measuring: asyncio.Task[DiskStatus] | None = None
        self.began = 0.0  # monotonic, the last measurement

    @property
    def silent_s(self) -> float | None:
        """The age of a measurement that has no result after its time limit."""
        age = monotonic() - self.began
        return round(age, 3) if self.measuring and not self.measuring.done() and age >= DISK_S else None

    async def measure(self) -> DiskStatus | None:
        """None: the disk does not answer, or refuses to."""
        if self.measuring is None or self.measuring.done():
            self.began = monotonic()
            self.measuring = asyncio.create_task(off_loop(lambda: disk_of(self.state_dir)))
        measuring = self.measuring  # during the wait, another client may begin the next measurement
        await asyncio.wait([measuring], timeout=DISK_S)
        return measuring.result() if measuring.done() and measuring.exception() is None else None


def disk_of(state_dir: Path) -> DiskStatus:
    system = os.statvfs(state_dir)
    return DiskStatus(
        free_bytes=system.f_bavail * system.f_frsize,
        total_bytes=system.f_blocks * system.f_frsize,
        journal_bytes=size_on_disk(state_dir / JOURNAL),
    )
