"""Failed commits: they are repeated, then the tables stop, and they resume when the disk works again."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from shoed.errors import CommitFailed, JournalError, JournalReplaced, StepRefused
from shoed.journal import Store, Writer, recording
from shoed.model.step import LinkDown, LinkUp, Step
from tests.angel_eye_line import at
from tests.patience import PATIENCE_S
from tests.test_journal import ROOT, StateAfter, listing, part_of_a_frame, rows, urgent

AWAY: Final = "ALTER TABLE event RENAME TO away"  # no event can be written
BACK: Final = "ALTER TABLE away RENAME TO event"


class Table:
    """A table of the writer. With `resumes`, it resumes when the disk is available."""

    def __init__(self, writer: Writer, name: str, *, resumes: bool = True) -> None:
        self.writer = writer
        self.name = name
        self.resumes = resumes
        self.confirmed: list[int] = []
        self.errors: list[JournalError] = []
        self.resumed = 0
        self.hangs: list[bool] = []
        self.news = asyncio.Event()
        writer.tables[name] = self

    def submit(self, step: Step) -> None:
        self.writer.submit(self.name, step, StateAfter(step.row), partial(self.confirmed.append, step.row))

    def journal_failed(self, error: JournalError) -> None:
        self.errors.append(error)
        self.news.set()

    def journal_available(self) -> None:
        self.resumed += 1
        if self.resumes:
            self.writer.resume(self.name)
        self.news.set()

    def journal_changed(self) -> None:
        self.hangs.append(self.writer.hanging_since is not None)
        self.news.set()

    async def until(self, predicate: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not predicate():
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def writing(store: Store) -> AsyncIterator[Writer]:
    writer = Writer(store, 7)
    try:
        yield writer
    finally:
        await asyncio.wait_for(writer.close(), PATIENCE_S)


def doctor(store: Store, statement: str) -> None:
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("PRAGMA busy_timeout = 5000")
        other.execute(statement)


class Flaky(Store):
    """A journal whose connection refuses the first writes of a Step."""

    refusals = 1

    def connect(self) -> sqlite3.Connection:
        connection = super().connect()

        def perhaps() -> int:
            if self.refusals:
                self.refusals -= 1
                raise OSError
            return 0

        connection.create_function("perhaps", 0, perhaps)
        connection.execute("CREATE TEMP TRIGGER flaky BEFORE INSERT ON main.step BEGIN SELECT perhaps(); END")
        return connection


async def test_a_failed_commit_is_repeated_once(tmp_path: Path) -> None:
    """The Steps of all tables are committed, and no table hears of the failure."""
    store = Flaky(tmp_path)
    async with writing(store) as writer:
        tables = [Table(writer, name) for name in ("a", "b")]
        for table in tables:
            table.submit(urgent(1))
        await writer.flush()
        assert [(table.confirmed, table.errors) for table in tables] == [([1], []), ([1], [])]
    assert rows(store, "SELECT table_name FROM step ORDER BY 1") == [("a",), ("b",)]


async def test_after_two_failures_the_table_stops_and_its_steps_are_dropped(tmp_path: Path) -> None:
    """Also the Steps that it submitted before it heard of the failure. The error names the file and a remedy."""
    store = Flaky(tmp_path)
    store.refusals = 2
    async with writing(store) as writer:
        table = Table(writer, "t", resumes=False)
        table.submit(urgent(1))
        await asyncio.to_thread(until_empty, writer)
        for row in (2, 3):
            table.submit(urgent(row))
        await writer.flush()
        assert table.confirmed == []
        (error,) = table.errors
        assert isinstance(error, CommitFailed)
        assert str(error).startswith(f"{store.path}: the commit failed, and the table stops: ")
        assert str(error).endswith("its free space, its permissions and the kernel's log")
        assert writer.stops == {"t": error}
        assert writer.waiting == 0
        assert writer.has_room.is_set()
    assert rows(store, "SELECT * FROM step") == []


def until_empty(writer: Writer) -> None:
    while writer.queue:
        pass


async def test_a_stopped_table_resumes_when_the_disk_works(tmp_path: Path) -> None:
    """While the table of events is absent, each attempt fails. Afterwards the table continues."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        table = Table(writer, "t")
        table.submit(urgent(1))
        await writer.flush()
        doctor(store, AWAY)
        table.submit(urgent(2))
        await table.until(lambda: table.resumed)
        table.submit(urgent(2))
        await table.until(lambda: len(table.errors) == 2)
        doctor(store, BACK)
        await table.until(lambda: table.resumed == 2)
        table.submit(urgent(2))
        await writer.flush()
        assert table.confirmed == [1, 2]
        assert writer.stops == {}
    assert rows(store, "SELECT row FROM step ORDER BY row") == [(1,), (2,)]


async def test_a_table_with_a_fault_of_its_own_ends_alone(tmp_path: Path) -> None:
    """A row of this number exists already: a defect. The Steps of the other tables are in the same batch."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        tables = [Table(writer, name) for name in ("a", "b", "c")]
        tables[1].submit(urgent(1))
        await writer.flush()
        for table in tables:
            table.submit(urgent(1))
        await writer.flush()
        assert [table.confirmed for table in tables] == [[1], [1], [1]]
        assert [len(table.errors) for table in tables] == [0, 1, 0]
        assert isinstance(tables[1].errors[0], StepRefused)
        tables[2].submit(urgent(2))
        await writer.flush()
        assert tables[2].confirmed == [1, 2]
        assert list(writer.stops) == ["b"]
        assert tables[1].resumed == 0
    assert rows(store, "SELECT table_name, row FROM step ORDER BY 1, 2") == [("a", 1), ("b", 1), ("c", 1), ("c", 2)]


@pytest.mark.parametrize("refused", ["step", "event", "checkpoint", "cursor"])
async def test_a_commit_is_one_transaction(tmp_path: Path, refused: str) -> None:
    """If one part of a table cannot be written, no part is written."""
    store = Store(tmp_path)
    doctor(store, f"CREATE TRIGGER no BEFORE INSERT ON {refused} BEGIN SELECT RAISE(ABORT, 'not today'); END")
    async with writing(store) as writer:
        table = Table(writer, "t")
        writer.move_cursor("t", 1)
        table.submit(replace(urgent(1), input=LinkDown("p")))  # the cursor is written with it
        await table.until(lambda: table.errors)
        assert table.confirmed == []
        assert isinstance(table.errors[0], StepRefused)
        for name in ("step", "event", "checkpoint", "cursor"):
            assert rows(store, f"SELECT * FROM {name}") == []  # noqa: S608 -- from the line above


async def test_a_step_that_cannot_be_encoded_ends_its_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The cause is a value, not the disk: a reason that is not text. The log has the traceback."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        table, other = Table(writer, "t"), Table(writer, "other")
        table.submit(Step(row=1, now=at(1), input=LinkUp("\udcff"), events=urgent(1).events))
        other.submit(urgent(1))
        await writer.flush()
        assert (table.confirmed, other.confirmed) == ([], [1])
        assert isinstance(table.errors[0], StepRefused)
    assert "UnicodeEncodeError" in caplog.text


async def test_a_cursor_that_cannot_be_written_stops_no_table(tmp_path: Path) -> None:
    """It is written when the disk works again."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        table = Table(writer, "t")
        table.submit(urgent(1))
        await writer.flush()
        doctor(store, "ALTER TABLE cursor RENAME TO away")
        writer.move_cursor("t", 1)
        await writer.flush()
        doctor(store, "ALTER TABLE away RENAME TO cursor")
        table.submit(urgent(2))
        await writer.flush()
        assert (table.confirmed, table.errors) == ([1, 2], [])
    assert rows(store, "SELECT * FROM cursor") == [("t", 1)]


async def test_a_hang_is_not_over_while_the_disk_refuses_the_cursors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program locks the file. A flush does not try it, and the table resumes when the lock is released."""
    monkeypatch.setattr(recording, "BUSY_S", 0.2)
    monkeypatch.setattr("shoed.journal.writer.HANG_S", 0.1)
    store = Store(tmp_path)
    async with writing(store) as writer:
        table = Table(writer, "t")
        table.submit(urgent(1))
        await writer.flush()
        with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writer.move_cursor("t", 1)
            table.submit(urgent(2))
            await table.until(lambda: table.errors)
            await writer.flush()
            assert table.hangs == [True]
        await table.until(lambda: table.resumed)
        assert table.hangs == [True, False]
        await writer.flush()
        assert rows(store, "SELECT * FROM cursor") == [("t", 1)]


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("is_replaced", [False, True])
async def test_a_file_that_is_deleted_or_replaced_is_noticed(tmp_path: Path, suffix: str, is_replaced: bool) -> None:  # noqa: FBT001
    """No Step is committed to a file that the next start does not find. If the file returns, the table continues."""
    store, kept = Store(tmp_path), tmp_path / "kept"
    file = tmp_path / f"journal.db{suffix}"
    async with writing(store) as writer:
        table = Table(writer, "t")
        table.submit(urgent(1))
        await writer.flush()
        file.rename(kept)
        if is_replaced:
            file.write_bytes(kept.read_bytes())
        table.submit(urgent(2))
        await writer.flush()
        (error,) = table.errors
        assert isinstance(error, JournalReplaced)
        assert str(error).startswith(f"{file}: the file was deleted or replaced while shoed used it; ")
        kept.rename(file)
        await table.until(lambda: table.resumed)
        table.submit(urgent(2))
        await writer.flush()
        assert table.confirmed == [1, 2]
    assert rows(store, "SELECT row FROM step ORDER BY row") == [(1,), (2,)]


async def test_a_missing_file_at_the_start_is_reported(tmp_path: Path) -> None:
    """The writer does not make a new file."""
    store = Store(tmp_path)
    for name in listing(tmp_path):
        (tmp_path / name).unlink()
    async with writing(store) as writer:
        table = Table(writer, "t", resumes=False)
        table.submit(urgent(1))
        await writer.flush()
        assert isinstance(table.errors[0], JournalReplaced)
    assert "journal.db" not in listing(tmp_path)


async def test_a_table_that_is_removed_leaves_no_stop(tmp_path: Path) -> None:
    """A later table of its name is recorded."""
    store = Flaky(tmp_path)
    store.refusals = 2
    async with writing(store) as writer:
        Table(writer, "t", resumes=False).submit(urgent(1))
        await writer.flush()
        assert list(writer.stops) == ["t"]
        writer.forget("t")
        table = Table(writer, "t")
        table.submit(urgent(1))
        await writer.flush()
        assert (table.confirmed, table.errors, writer.stops) == ([1], [], {})


# --- a hang


async def test_a_commit_that_hangs_is_reported_and_continues(tmp_path: Path) -> None:
    """Another program locks the file. The report follows by a timer, and the thread is not stuck."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        table = Table(writer, "t")
        changes: list[bool] = []
        writer.on_change = lambda: changes.append(writer.hanging_since is not None)
        with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            table.submit(urgent(1))
            await table.until(lambda: table.hangs)
            writer.beat()
            assert (writer.committing_s or 0) >= 2.0
            assert not writer.is_stuck(0)
            assert table.confirmed == []
        await table.until(lambda: len(table.hangs) == 2)
        assert (table.hangs, changes, table.confirmed, table.errors) == ([True, False], [True, False], [1], [])


async def test_a_hang_lasts_until_the_disk_accepts_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit of one table fails. Until then the other one is not reported as recorded again."""
    monkeypatch.setattr(recording, "BUSY_S", 2.5)  # more than HANG_S
    store = Store(tmp_path)
    async with writing(store) as writer:
        table, other = Table(writer, "t"), Table(writer, "u")
        with closing(sqlite3.connect(store.path, isolation_level=None)) as lock:
            lock.execute("BEGIN IMMEDIATE")
            table.submit(urgent(1))
            await other.until(lambda: other.hangs)
            other.submit(urgent(1))
            await table.until(lambda: table.errors)
            assert other.hangs == [True]
        await other.until(lambda: other.confirmed or other.resumed)
        await other.until(lambda: len(other.hangs) == 2)
        assert other.hangs == [True, False]


async def test_nothing_looks_for_a_hang_while_nothing_waits(tmp_path: Path) -> None:
    """The last timer ends after the last commit: an idle table does not wake the process."""
    async with writing(Store(tmp_path)) as writer:
        table = Table(writer, "t")
        table.submit(urgent(1))
        table.submit(part_of_a_frame(2))
        await writer.flush()
        assert is_looking(writer)
        writer.look()
        assert not is_looking(writer)
        table.submit(urgent(3, 2))
        assert is_looking(writer)


def is_looking(writer: Writer) -> bool:
    return writer.timer is not None


FULL_DISK: Final = """
import asyncio, resource, sys
from pathlib import Path
from shoed.journal import Store, Writer, recording
from tests.test_journal import urgent
from tests.test_journal_faults import Table

async def main():
    store = Store(Path(sys.argv[1]))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    writer, row = Writer(store, 7), 0
    table = Table(writer, "t")
    while not table.errors:
        row += 1
        table.submit(urgent(row))
        if row % 20 == 0:
            await writer.flush()
    stopped = list(table.confirmed)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await table.until(lambda: table.resumed)
    for row in range(len(stopped) + 1, len(stopped) + 10):
        table.submit(urgent(row))
    await writer.close()
    print(len(stopped), row, table.confirmed == list(range(1, row + 1)), type(table.errors[0]).__name__)

asyncio.run(main())
"""


def test_a_full_disk_loses_no_committed_step(tmp_path: Path) -> None:
    """Exactly the Steps whose callback ran are in the journal. With space again, the table continues."""
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert child.returncode == 0, child.stderr
    stopped, last, in_order, failure = child.stdout.split()
    assert (in_order, failure) == ("True", "CommitFailed")
    assert int(stopped) > 0
    store = Store(tmp_path)
    for query in ("SELECT count(*), max(row) FROM step", "SELECT count(*), max(sequence) FROM event"):
        assert rows(store, query) == [(int(last), int(last))]
