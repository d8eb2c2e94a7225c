"""The size of the journal, its growth per day, and the time until the disk is full.

The growth is estimated: the rows of the last days, multiplied by the mean size of a row in the whole file.
"""

import os
from typing import Final

import msgspec

from shoed.journal.files import size_on_disk
from shoed.journal.reader import Reader
from shoed.journal.retention import DAY_US, MB, Keep, RowCut, next_cut, used_bytes
from shoed.journal.scan import named

RECENT_DAYS: Final = 7
FEW_BYTES, FEWEST_BYTES = 1000 * MB, 100 * MB  # free on the disk: a month of one table, and a few days


class TableSize(msgspec.Struct, frozen=True):
    """The record of one table. Times are of the first and of the last row; shoes are 0 without one."""

    table: str
    rows: int
    events: int
    first_us: int
    last_us: int
    first_shoe: int
    last_shoe: int
    rows_a_day: float


class JournalSize(msgspec.Struct, frozen=True):
    """In bytes: the file, the pages in use, the free space of the disk, and the growth per day, or None."""

    file_bytes: int
    used_bytes: int
    free_bytes: int
    growth_bytes: float | None
    tables: tuple[TableSize, ...]
    cut: RowCut | None  # the rows that the retention will delete first

    @property
    def is_disk_full(self) -> bool:
        return self.free_bytes < FEWEST_BYTES

    def days_left(self, keep: Keep) -> float | None:
        """Until the disk is full; None if the journal does not grow so far, or if its growth is not known."""
        if not self.growth_bytes:
            return None
        room = self.free_bytes + self.file_bytes
        limits = [keep.days * self.growth_bytes] if keep.days is not None else []
        limits += [keep.mb * MB] if keep.mb is not None else []
        if limits and min(limits) < room:
            return None
        return max(0, room - self.used_bytes) / self.growth_bytes


def size_of(reader: Reader, keep: Keep, now_us: int) -> JournalSize:
    tables = tuple(table_size(reader, table) for table in reader.tables)
    used, rows = used_bytes(reader), sum(each.rows for each in tables)
    disk = os.statvfs(reader.path)
    is_known = any(each.last_us - each.first_us >= DAY_US for each in tables)
    return JournalSize(
        file_bytes=size_on_disk(reader.path),
        used_bytes=used,
        free_bytes=disk.f_bavail * disk.f_frsize,
        growth_bytes=used / rows * sum(each.rows_a_day for each in tables) if is_known and rows else None,
        tables=tables,
        cut=next_cut(reader, keep, now_us),
    )


def table_size(reader: Reader, table: str) -> TableSize:
    first, last = reader.begin(table).row + 1, reader.last_row(table)
    events = reader.last_sequence(table) - reader.first_sequence(table) + 1
    first_us, last_us = time_of(reader, table, first), time_of(reader, table, last)
    low, high = first, last  # the first row of the last days
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (middle + 1, high) if time_of(reader, table, middle) < last_us - RECENT_DAYS * DAY_US else (low, middle)
        )
    days = max((last_us - time_of(reader, table, low)) / DAY_US, 1)
    return TableSize(
        *(table, last - first + 1, events, first_us, last_us),
        first_shoe=shoe_of(reader, table, "ASC"),
        last_shoe=shoe_of(reader, table, "DESC"),
        rows_a_day=(last - low + 1) / days,
    )


def time_of(reader: Reader, table: str, row: int) -> int:
    """The time of the row, or of the next row if it is missing."""
    found = [
        utc_us
        for name in ("step_4", "step")
        for (utc_us,) in reader.rows(
            f"SELECT utc_us FROM {name} WHERE table_name = ? AND row >= ? ORDER BY row LIMIT 1",  # noqa: S608 -- ours
            *(table, row),
        )
    ]
    return int(found[0]) if found else 0


def shoe_of(reader: Reader, table: str, order: str) -> int:
    """The first or the last shoe with an event."""
    query = (
        f"SELECT {named('shoe')} AS shoe FROM event WHERE table_name = ? AND shoe NOTNULL"  # noqa: S608 -- ours
        f" ORDER BY sequence {order} LIMIT 1"
    )
    return next((int(shoe) for (shoe,) in reader.rows(query, table)), 0)
