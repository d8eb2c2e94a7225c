"""A wall clock that is set while a process runs: the control of `clock.c`."""

from mmap import mmap
from pathlib import Path
from typing import Final

from tests.crash.disk import preloaded

SOURCE: Final = Path(__file__).with_name("clock.c")


class SteppedClock:
    """The wall clock of a process. The monotonic clock does not change."""

    def __init__(self, place: Path) -> None:
        control = place / "clock.control"
        control.write_bytes(bytes(8))
        with control.open("r+b") as file:
            self._added = memoryview(mmap(file.fileno(), 8)).cast("q")
        self.environment: Final = {**preloaded(SOURCE), "CLOCK_CONTROL": str(control)}

    def step(self, seconds: float) -> None:
        self._added[0] += round(seconds * 1e9)
