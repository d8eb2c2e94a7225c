"""The write-ahead log of a journal: whether commits in it are lost at a start, and the end of a failed commit.

Theory of operation: SQLite reads the log up to the first frame with a wrong checksum, and drops the rest without an
error. A commit is the last frame of its transaction. If a frame that SQLite drops is a commit, and a later frame of the
same log follows it, the commit was complete: it is lost. The last frame alone proves nothing: a killed process may have
written it in part. A log that was cut at a commit cannot be recognised here; the heads and the broker can.

A commit whose sync failed has written all its frames. The next attempt begins at the same place and may be shorter: the
rest of the longer one would look like such later frames. Therefore each failed commit is cut off.
"""

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

HEADER: Final = 32
FRAME: Final = struct.Struct(">6I")  # page, size of the database after a commit or 0, two salts, two checksums
# Of the `-shm`, in the order of the machine: the page size, the last valid frame.
INDEX: Final = struct.Struct("=14xHI")
SALTS: Final = struct.Struct(">16x2I8x")
PAGE_SIZE: Final = slice(16, 18)  # in the first page of the database
PAGE_SIZES: Final = frozenset(2**power for power in range(9, 17))


class LogFrame(msgspec.Struct, frozen=True):
    number: int  # from 1
    is_commit: bool


def lost_commits(path: Path) -> int:
    """The number of complete commits that SQLite drops when it opens the database."""
    found = list(frames(path))
    if not found:
        return 0
    with closing(sqlite3.connect(path)) as connection:
        (_, read, _) = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return sum(each.is_commit for each in found[:-1] if each.number > max(read, 0))


def cut_off(path: Path) -> None:
    """Remove the frames after the last commit. The caller has SQLite's lock of the writer."""
    log = path.with_name(f"{path.name}-wal")
    with path.with_name(f"{path.name}-shm").open("rb") as index:
        size, last = INDEX.unpack(index.read(INDEX.size))
    end = HEADER + last * (FRAME.size + page_size(size))
    if log.stat().st_size > end:
        os.truncate(log, end)


def page_size(written: int) -> int:
    """The size of a page that SQLite has written in two bytes."""
    return 65536 if written == 1 else written


def frames(path: Path) -> Iterator[LogFrame]:
    """The frames of the present log. Frames of an earlier log, which SQLite overwrites, have other salts."""
    log = path.with_name(f"{path.name}-wal")
    try:
        with path.open("rb") as database:
            size = int.from_bytes(database.read(18)[PAGE_SIZE]) or 4096
        with log.open("rb") as file:
            yield from of_log(file.fileno(), page_size(size))
    except FileNotFoundError:
        return


def of_log(log: int, size: int) -> Iterator[LogFrame]:
    """The headers only: a log may have some hundred megabytes."""
    if size not in PAGE_SIZES:
        return
    places = range(HEADER, os.fstat(log).st_size - FRAME.size + 1, FRAME.size + size)
    if not places:
        return

    def head(place: int) -> tuple[int, ...]:
        return FRAME.unpack(os.pread(log, FRAME.size, place))

    present, first = SALTS.unpack(os.pread(log, HEADER, 0)), head(HEADER)[2:4]
    is_new = present[0] == (first[0] + 1) % 2**32  # the log was begun again, and has no frame yet
    if not is_new and all(head(place)[2:4] != present for place in places):
        present = first  # the header of the log is damaged
    for number, place in enumerate(places, start=1):
        found = head(place)
        if found[2:4] == present:
            yield LogFrame(number, found[1] > 0)
