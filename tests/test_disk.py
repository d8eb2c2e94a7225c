"""The measurement of the disk."""

import asyncio
import threading
from pathlib import Path

from shoed.service.disk import Disk
from tests.patience import PATIENCE_S


async def test_clients_that_measure_at_once_get_their_answers(tmp_path: Path) -> None:
    """A client that is faster begins the next measurement; the others keep the result of theirs.

    The size is that of the journal and its logs; other files have names that begin in the same way.
    """
    for name, size in (("journal.db", 3), ("journal.db-wal", 2), ("journal.db.new", 7), ("journal.pub", 9)):
        (tmp_path / name).write_bytes(bytes(size))
    disk = Disk(tmp_path)

    async def measure_again_and_again() -> None:
        for _ in range(9):
            found = await disk.measure()
            assert found is not None
            assert found.journal_bytes == 5

    await asyncio.gather(*(measure_again_and_again() for _ in range(9)))


async def test_a_disk_that_cannot_be_measured_has_no_result(tmp_path: Path) -> None:
    """The state directory is absent."""
    assert await Disk(tmp_path / "absent").measure() is None


class Hanging(type(Path())):  # type: ignore[misc]  # PosixPath of this Python
    """A directory on a disk that does not answer."""

    answers = threading.Event()

    def __fspath__(self) -> str:
        self.answers.wait()
        return str(self)


async def test_a_disk_that_hangs_has_the_time_since_its_last_answer(tmp_path: Path) -> None:
    """The answer ends this time."""
    disk = Disk(Hanging(tmp_path))
    assert await disk.measure() is None
    first = disk.silent_s
    assert first is not None
    assert await disk.measure() is None
    assert first < (disk.silent_s or 0)
    Hanging.answers.set()
    async with asyncio.timeout(PATIENCE_S):
        while await disk.measure() is None:
            pass
    assert disk.silent_s is None
