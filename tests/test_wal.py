"""Commits that SQLite drops from a damaged write-ahead log are counted; a killed process is not a damage."""

import errno
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from shoed.journal.wal import frames, lost_commits
from tests.crash.disk import Call, FaultyDisk, File
from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).resolve().parent.parent

# Commits one row of two tables; then, at a line of stdin, many rows of both, and ends.
WRITER: Final = """
import os, sys
from pathlib import Path
import msgspec
from shoed.journal import Store
from shoed.journal.attempts import Attempts
from shoed.journal.commit import Committer, Entry
from shoed.journal.files import OpenFiles
from tests.test_journal import urgent

store = Store(Path(sys.argv[1]))
attempts = Attempts(Committer(store.connect(), 1), OpenFiles(store.path))

def commit(rows):
    return attempts.commit([Entry(table, urgent(row), msgspec.Struct(), None) for table, row in rows], {})

print(sorted(commit([("t1", 1), ("t2", 1)])), flush=True)
sys.stdin.readline()
print(sorted(commit([*(("t1", row) for row in range(2, 200)), *(("t2", row) for row in range(2, 100))])), flush=True)
os._exit(0)
"""
HEADER: Final = 32
FRAME: Final = 24
PAGE: Final = 4096
COMMITS: Final = 30
SEEDS: Final = 40


def written(place: Path, commits: int = COMMITS, *, again: bool = False) -> Path:
    """A copy of a database with a log, as a killed process leaves it. With `again`, the log was begun again."""
    path = place / "live.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)")
        if again:
            for _ in range(commits * 2):
                connection.execute("INSERT INTO t (b) VALUES (randomblob(5000))")
            connection.execute("PRAGMA wal_checkpoint(FULL)")
        for _ in range(commits):
            connection.execute("INSERT INTO t (b) VALUES (randomblob(5000))")
        copy = place / "journal.db"
        shutil.copy(path, copy)
        shutil.copy(f"{path}-wal", f"{copy}-wal")
    return copy


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((number,),) = connection.execute("SELECT count(*) FROM t")
    return int(number)


@pytest.mark.parametrize("again", [False, True])
def test_a_complete_log_has_no_lost_commits(tmp_path: Path, *, again: bool) -> None:
    """Also if frames of an earlier log follow."""
    path = written(tmp_path, again=again)
    assert lost_commits(path) == 0
    assert rows(path) == COMMITS * (3 if again else 1)


def test_failed_commits_are_not_lost_ones(tmp_path: Path) -> None:
    """Two tables are committed together, and then alone: a shorter attempt leaves nothing of a longer one."""
    (state := tmp_path / "state").mkdir()
    disk = FaultyDisk(state, tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **disk.environment},
        cwd=ROOT,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "[]\n"
        disk.fail(errno.EIO, Call.SYNC, File.WAL)
        assert writer.communicate("\n", PATIENCE_S)[0] == "['t1', 't2']\n"
    assert lost_commits(state / "journal.db") == 0
    with closing(sqlite3.connect(state / "journal.db")) as connection:
        assert connection.execute("SELECT table_name, max(row) FROM step GROUP BY 1").fetchall() == [
            ("t1", 1),
            ("t2", 1),
        ]


def test_a_database_without_a_log_has_no_lost_commits(tmp_path: Path) -> None:
    """A missing database, an empty log, and the header of a log alone."""
    assert lost_commits(tmp_path / "journal.db") == 0
    path = written(tmp_path)
    log_of(path).write_bytes(log_of(path).read_bytes()[:HEADER])
    assert lost_commits(path) == 0
    log_of(path).write_bytes(b"")
    assert lost_commits(path) == 0


def test_a_write_that_a_kill_ended_is_not_a_lost_commit(tmp_path: Path) -> None:
    """The log ends within its last frame, at every part of that frame."""
    for number, kept in enumerate((1, FRAME - 1, FRAME, FRAME + 1, FRAME + PAGE // 2, FRAME + PAGE - 1)):
        place = tmp_path / str(number)
        place.mkdir()
        path = written(place)
        data = log_of(path).read_bytes()
        log_of(path).write_bytes(data[: len(data) - FRAME - PAGE + kept])
        assert lost_commits(path) == 0
        assert rows(path) == COMMITS - 1


def test_the_last_frame_over_an_earlier_log_is_not_a_lost_commit(tmp_path: Path) -> None:
    """The kill left a new header of the frame before the old page."""
    path = written(tmp_path, again=True)
    data = bytearray(log_of(path).read_bytes())
    salts = data[16:24]
    frames = [at for at in range(HEADER, len(data), FRAME + PAGE) if data[at + 8 : at + 16] == salts]
    data[frames[-1] + FRAME : frames[-1] + FRAME + PAGE] = bytes(PAGE)
    log_of(path).write_bytes(data)
    assert lost_commits(path) == 0


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_flipped_bit_is_found_if_a_later_commit_is_dropped(tmp_path: Path, seed: int) -> None:
    """The counted commits are the rows that SQLite drops, less the last one."""
    rng = random.Random(seed)
    path = written(tmp_path)
    data = bytearray(log_of(path).read_bytes())
    last = len(data) - (FRAME + PAGE)
    at = rng.choice((rng.randrange(HEADER), rng.randrange(HEADER, last), rng.randrange(last, len(data))))
    data[at] ^= 1 << rng.randrange(8)
    log_of(path).write_bytes(data)
    counted = lost_commits(path)
    try:
        dropped = COMMITS - rows(path)
    except sqlite3.Error:  # the table itself was in the log
        dropped = COMMITS + 1
    assert counted in ({0} if dropped == 0 else {dropped - 1, dropped})
    assert (counted > 0) or dropped <= 1


def test_the_size_of_the_log_is_not_the_size_of_the_memory(tmp_path: Path) -> None:
    """A retention or a long read lets the log grow. Only the headers of its frames are read."""
    path = written(tmp_path)
    with log_of(path).open("r+b") as log:
        log.truncate(2**26)
    tracemalloc.start()
    try:
        assert lost_commits(path) == 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("size", [2, 24, 513])
def test_a_database_with_an_impossible_page_size_has_no_log(tmp_path: Path, size: int) -> None:
    """SQLite refuses this file: it is damaged, whatever the log has."""
    path = written(tmp_path)
    data = bytearray(path.read_bytes())
    data[16:18] = size.to_bytes(2)
    path.write_bytes(data)
    assert list(frames(path)) == []
