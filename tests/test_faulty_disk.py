"""The faulty disk of the tests: each fault reaches SQLite, and a power cut loses what no sync has made durable."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from sqlite3 import connect
from typing import Final

import pytest

from tests.crash.disk import Call, FaultyDisk, File, Mode
from tests.crash.power import Snapshot, restore
from tests.patience import PATIENCE_S

# Commits one row for each line of stdin, as the journal does, and prints the result.
WRITER: Final = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA synchronous = FULL")
connection.execute("CREATE TABLE IF NOT EXISTS row (number INTEGER PRIMARY KEY, text TEXT)")
print("ready", flush=True)
for line in sys.stdin:
    try:
        connection.execute("INSERT INTO row VALUES (?, ?)", (int(line), "x" * 3000))
    except sqlite3.Error as error:
        print(error, flush=True)
    else:
        print("ok", flush=True)
"""


class Writing:
    """A process that writes a journal on the faulty disk."""

    def __init__(self, disk: FaultyDisk) -> None:
        self.path = disk.directory / "journal.db"
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **disk.environment},
        )
        self.answer("ready")

    def answer(self, expected: str) -> None:
        assert self.process.stdout is not None
        found = self.process.stdout.readline().strip()
        assert found == expected

    def ask(self, number: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()

    def commit(self, number: int, expected: str = "ok") -> None:
        self.ask(number)
        self.answer(expected)

    def kill(self) -> None:
        self.process.kill()
        self.ended()

    def ended(self) -> int:
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode

    def rows(self) -> list[int]:
        """The committed rows, after the end of the process."""
        with closing(connect(self.path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return [number for (number,) in connection.execute("SELECT number FROM row ORDER BY number")]


@pytest.fixture
def disk(tmp_path: Path) -> FaultyDisk:
    directory = tmp_path / "state"
    directory.mkdir()
    return FaultyDisk(directory, tmp_path)


@pytest.fixture
def writing(disk: FaultyDisk) -> Iterator[Writing]:
    process = Writing(disk)
    try:
        process.commit(1)
        yield process
    finally:
        disk.heal()
        process.kill()


@pytest.mark.parametrize(
    ("error", "calls", "message"),
    [
        (errno.ENOSPC, Call.WRITE, "database or disk is full"),
        (errno.EIO, Call.WRITE, "disk I/O error"),
        (errno.EIO, Call.SYNC, "disk I/O error"),
        (errno.EROFS, Call.WRITE, "disk I/O error"),
    ],
)
def test_a_commit_fails_with_the_error_of_the_disk(
    disk: FaultyDisk, writing: Writing, error: int, calls: Call, message: str
) -> None:
    """After the fault the same process commits again."""
    disk.fail(error, calls, File.WAL)
    writing.commit(2, message)
    writing.commit(3, message)
    assert disk.injected >= 2
    disk.heal()
    writing.commit(4)
    writing.kill()
    assert writing.rows() == [1, 4]


def test_a_single_error_occurs_once_after_the_given_number_of_calls(disk: FaultyDisk, writing: Writing) -> None:
    """The first sync of the WAL passes."""
    disk.fail(errno.EIO, Call.SYNC, File.WAL, after=1, times=1)
    writing.commit(2)
    writing.commit(3, "disk I/O error")
    writing.commit(4)
    assert disk.injected == 1


def test_a_full_disk_refuses_growth_only(disk: FaultyDisk, writing: Writing) -> None:
    """Space that a file already has can still be written: the part of the WAL that a checkpoint has released."""
    for number in range(2, 9):
        writing.commit(number)
    with closing(connect(writing.path)) as other:
        assert other.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0
    disk.fill()
    writing.commit(9)
    for number in range(10, 99):
        writing.ask(number)
        assert writing.process.stdout is not None
        if writing.process.stdout.readline() != "ok\n":
            break
    else:
        pytest.fail("the disk is not full")
    assert disk.injected


def test_a_hang_ends_with_the_fault(disk: FaultyDisk, writing: Writing) -> None:
    """The commit waits, and then succeeds."""
    disk.hang()
    writing.ask(2)
    until = time.monotonic() + PATIENCE_S
    while not disk.injected:
        assert time.monotonic() < until
    assert writing.process.poll() is None
    disk.heal()
    writing.answer("ok")


@pytest.mark.parametrize("mode", [Mode.TEAR, Mode.KILL_BEFORE, Mode.KILL_AFTER])
def test_the_process_is_killed_in_a_call(disk: FaultyDisk, writing: Writing, mode: Mode) -> None:
    """A torn write leaves a part of its bytes. SQLite keeps all committed rows, and drops the part."""
    disk.begin(mode, Call.WRITE, File.WAL, after=1, times=1, value=60)
    writing.ask(2)
    assert writing.ended() == -signal.SIGKILL
    assert writing.rows() == [1]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_power_cut_keeps_every_synced_commit(disk: FaultyDisk, share: float, seed: int) -> None:
    """Also if later writes reach the disk in parts and in another order. A checkpoint is among the writes."""
    disk.logged = True
    before = Snapshot(disk.directory)
    writing = Writing(disk)
    for number in range(1, 6):
        writing.commit(number)
    with closing(connect(writing.path)) as other:  # without the library: its checkpoint is not in the log
        assert other.execute("SELECT count(*) FROM row").fetchone() == (5,)
    disk.begin(Mode.KILL_BEFORE, Call.SYNC, File.WAL)
    writing.ask(6)
    assert writing.ended() == -signal.SIGKILL
    restore(disk.directory, before.cut(disk.log.read_bytes(), Random(seed), share))
    assert set(range(1, 6)) <= set(writing.rows()) <= set(range(1, 7))
    assert (6 in writing.rows()) == (share == 1.0) or 0 < share < 1


def test_a_disk_that_lies_loses_commits_at_the_power_cut(disk: FaultyDisk) -> None:
    """The commits after the lie are lost; without a power cut they are present."""
    disk.logged = True
    before = Snapshot(disk.directory)
    writing = Writing(disk)
    writing.commit(1)
    disk.begin(Mode.LIE, Call.SYNC)
    writing.commit(2)
    writing.commit(3)
    writing.kill()
    log = disk.log.read_bytes()
    after_cut = before.cut(log, Random(1), 0.0)
    assert writing.rows() == [1, 2, 3]
    restore(disk.directory, after_cut)
    assert writing.rows() == [1]


def test_a_lost_write_is_reported_as_written(disk: FaultyDisk, writing: Writing) -> None:
    """The commit succeeds; the next reader of the WAL does not find it."""
    disk.begin(Mode.LOSE, Call.WRITE, File.WAL, times=1)
    writing.commit(2)
    writing.kill()
    assert writing.rows() == [1]


def test_names_reach_the_disk_in_order_and_with_a_sync_of_the_directory(disk: FaultyDisk, tmp_path: Path) -> None:
    """A file that replaces another one: before the sync of the directory, either of them may be present."""
    script = tmp_path / "replace.py"
    script.write_text("""
import os, sys
os.chdir("/")
new, old = sys.argv[1] + "/new", sys.argv[1] + "/old"
with open(new, "w") as file:
    file.write("after")
    file.flush()
    os.fsync(file.fileno())
os.replace(new, old)
if sys.argv[2] == "sync":
    directory = os.open(sys.argv[1], os.O_RDONLY)
    os.fsync(directory)
""")
    found = {}
    for how in ("sync", "none"):
        (disk.directory / "old").write_text("before")
        disk.logged = True
        before = Snapshot(disk.directory)
        subprocess.run(
            [sys.executable, script, disk.directory, how], env={**os.environ, **disk.environment}, check=True
        )
        cuts = [before.cut(disk.log.read_bytes(), Random(seed), 0.5) for seed in range(20)]
        found[how] = {cut[disk.directory / "old"] for cut in cuts}
        restore(disk.directory, {})
    assert found == {"sync": {b"after"}, "none": {b"before", b"after"}}


def test_files_outside_the_directory_are_not_touched(disk: FaultyDisk, tmp_path: Path) -> None:
    """A process writes elsewhere while every call below the directory would fail."""
    disk.fail(errno.EIO, files=File.OTHER | File.DB | File.WAL)
    outside = tmp_path / "state-of-another"
    outside.mkdir()
    environment = {**os.environ, **disk.environment}
    command = [sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('x')"]
    subprocess.run([*command, str(outside / "file")], env=environment, check=True)
    assert not disk.injected
    failed = subprocess.run(
        [*command, str(disk.directory / "file")], env=environment, capture_output=True, text=True, check=False
    )
    assert "Input/output error" in failed.stderr
    assert disk.injected
