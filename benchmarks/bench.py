"""The common part of all benchmarks: floor and subject interleaved, the best of five, a ratio compared with its bar."""

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

TIMES: Final = 5


def interleaved(floor: Callable[[], float], subject: Callable[[], float]) -> tuple[float, float]:
    """Return the best time of each. The runs are interleaved, so a noisy machine affects both."""
    pairs = [(floor(), subject()) for _ in range(TIMES)]
    return min(first for first, _ in pairs), min(second for _, second in pairs)


def report(name: str, subject: float, floor: float, bar: float, *, unit: str) -> None:
    ratio = subject / floor
    verdict = "ok" if ratio <= bar else "over"
    sys.stdout.write(
        f"{name:<58} {subject:9.3f} {unit:<3} against {floor:9.3f} {unit:<3}"
        f"  ratio {ratio:8.4f}  bar {bar:6.3f}  {verdict}\n"
    )
    sys.stdout.flush()


class Threads:
    """The threads of a process: their wake-ups and their processor time."""

    def __init__(self, pid: int) -> None:
        self.tasks = Path(f"/proc/{pid}/task")

    def wake_ups(self) -> dict[str, int]:
        """The number of waits that have ended, by thread."""
        found = {}
        for task in self.tasks.iterdir():
            with suppress(OSError, TypeError):  # the thread has ended
                (count,) = re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.MULTILINE)
                found[task.name] = int(count)
        return found

    def processor_s(self) -> float:
        return sum(int((task / "schedstat").read_text().split()[0]) for task in self.tasks.iterdir()) / 1e9
