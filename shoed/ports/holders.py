"""The programs that have a node open, from /proc.

A process of another user is visible to root only. Without root, the list may therefore be incomplete.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

PROC: Final = Path("/proc")


class Holder(Struct, frozen=True):
    """A process, and the name of its program."""

    pid: int
    program: str

    def __str__(self) -> str:
        return f"{self.program} (process {self.pid})"


def holders(path: str) -> list[Holder]:
    """The other processes that have the character device of this path open."""
    node = Path(path).stat()
    if not stat.S_ISCHR(node.st_mode):
        return []
    numbers = sorted(int(each.name) for each in PROC.iterdir() if each.name.isdecimal())
    return [Holder(pid, _program(pid)) for pid in numbers if pid != os.getpid() and _has_open(pid, node.st_rdev)]


def _has_open(pid: int, device: int) -> bool:
    with suppress(OSError):  # another user's process, or it ended
        for descriptor in (PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                opened = descriptor.stat()
                if stat.S_ISCHR(opened.st_mode) and opened.st_rdev == device:
                    return True
    return False


def _program(pid: int) -> str:
    try:
        return (PROC / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "a program that has ended"
