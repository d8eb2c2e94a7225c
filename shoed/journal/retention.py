"""Retention: which rows of the journal are old enough to be deleted, and their deletion.

Theory of operation: the start of a shoe without an open question has a checkpoint, from which replay can begin. A table
is cut before the settings that apply at such a start; the daemon records the settings in each shoe. The rows before it
are deleted in batches, each in its own transaction of the only writer. The same transaction writes a signed row in the
table `anchor`: the hash of the last deleted row, from which the rest of the chain is verified. So the record is
complete after every batch. The file does not shrink: SQLite uses the freed pages for new rows.

A cut never reaches an event that the broker has not acknowledged, nor the last KEPT_SHOES shoes. The age of a row
depends on the clock, and the clock may be wrong. Therefore a cut by age leaves rows of more different days than the
configuration keeps: a clock that jumps ahead adds one day only.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import takewhile
from time import time_ns
from typing import Final

import msgspec

from shoed.journal.keys import SigningKey
from shoed.journal.reader import Reader
from shoed.journal.seal import Run
from shoed.model.moments import rfc3339

KEPT_SHOES: Final = 2  # the present shoe and the one before it, from which a damaged checkpoint is recomputed
BATCH: Final = 512  # rows of one transaction: about 1 ms and one sync, and 500 bytes on the disk for each row
DAY_US: Final = 86_400_000_000
MB: Final = 1_000_000

TEXT: Final = """\
shoed cut 1
journal {journal}
table {table}
row {row}
sequence {sequence}
time {time}
hash {hash}
"""


class Keep(msgspec.Struct, frozen=True):
    """How much of the journal is kept. None: no limit."""

    days: int | None = None
    mb: int | None = None

    @property
    def is_limited(self) -> bool:
        return self.days is not None or self.mb is not None


class CutPoint(msgspec.Struct, frozen=True):
    """A row before which a table can be cut: the settings that apply at the start of a shoe.

    `sequence`: the last event up to the start of the shoe. `utc_us`: the time of the start.
    """

    row: int
    sequence: int
    utc_us: int


class RowCut(msgspec.Struct, frozen=True):
    """The rows of a table to delete: all before `row`."""

    table: str
    row: int


# --- which rows


def possible(points: Sequence[CutPoint], acknowledged: int) -> list[CutPoint]:
    """The points before which every row may be deleted, the oldest first."""
    return [point for point in points[: 1 - KEPT_SHOES] if point.sequence <= acknowledged]


def by_age(points: Sequence[CutPoint], acknowledged: int, keep_days: int, now_us: int) -> CutPoint | None:
    """The newest point before which every row is older than the kept days."""
    old = [
        point
        for place, point in enumerate(possible(points, acknowledged))
        if point.utc_us <= now_us - keep_days * DAY_US and days_of(points[place:]) > keep_days
    ]
    return old[-1] if old else None


def days_of(points: Sequence[CutPoint]) -> int:
    return len({point.utc_us // DAY_US for point in points})


def next_cut(reader: Reader, keep: Keep, now_us: int) -> RowCut | None:
    """The next rows to delete. After the deletion, there may be further ones."""
    oldest: dict[str, CutPoint] = {}
    for table in reader.tables:
        points, acknowledged = list(cut_points(reader, table)), reader.cursor(table)
        if keep.days is not None and (point := by_age(points, acknowledged, keep.days, now_us)):
            return RowCut(table, point.row)
        for point in possible(points, acknowledged)[:1]:
            oldest[table] = point
    if keep.mb is None or not oldest or used_bytes(reader) <= keep.mb * MB:
        return None
    table = min(oldest, key=lambda name: oldest[name].utc_us)
    return RowCut(table, oldest[table].row)


def cut_points(reader: Reader, table: str) -> Iterator[CutPoint]:
    """The places before which a table can be cut. Its rows begin with the settings of the first kept shoe."""
    query = (
        "SELECT (SELECT max(row) FROM step INDEXED BY step_configured WHERE table_name = ?1"
        " AND kind = 'Configured' AND row <= checkpoint.row) AS settings, sequence, utc_us"
        " FROM checkpoint JOIN step USING (table_name, row) WHERE table_name = ?1 AND kept = 1"
        " AND settings > (SELECT min(row) FROM (SELECT table_name, row FROM step UNION ALL"
        " SELECT table_name, row FROM step_4) WHERE table_name = ?1) ORDER BY checkpoint.row"
    )
    return (CutPoint(*point) for point in reader.rows(query, table))


def used_bytes(reader: Reader) -> int:
    """The pages of the file with content. The other pages are free for new rows."""
    ((pages, free, size),) = reader.rows(
        "SELECT page_count, freelist_count, page_size"
        " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
    )
    return int((pages - free) * size)


# --- the deletion


def delete_batch(connection: sqlite3.Connection, cut: RowCut, key: SigningKey) -> bool:
    """Delete the first rows before the cut, in the present transaction. Return whether further rows precede it."""
    ((word,),) = connection.execute("SELECT word FROM journal")
    end = batch_end(connection, cut)
    if end is None:
        return False
    row, sequence, hashed = end
    utc_us = time_ns() // 1000
    key.enroll(connection, word, utc_us)
    for name in ("step", "step_4", "checkpoint", "head", "seal", "anchor"):
        connection.execute(f"DELETE FROM {name} WHERE table_name = ? AND row <= ?", (cut.table, row))  # noqa: S608 -- ours
    connection.execute("DELETE FROM loss WHERE table_name = ? AND last_row <= ?", (cut.table, row))
    connection.execute("DELETE FROM event WHERE table_name = ? AND sequence <= ?", (cut.table, sequence))
    anchor = (cut.table, row, sequence, hashed, None, "cut", utc_us, key.sign(cut_text(word, cut.table, end, utc_us)))
    connection.execute("INSERT INTO anchor VALUES (?, ?, ?, ?, ?, ?, ?, ?)", anchor)
    return row < cut.row - 1


def cut_text(journal: str, table: str, end: Run, utc_us: int) -> bytes:
    """The signed bytes of a cut."""
    return TEXT.format(
        journal=journal, table=table, row=end.row, sequence=end.sequence, time=rfc3339(utc_us), hash=end.hash.hex()
    ).encode()


def batch_end(connection: sqlite3.Connection, cut: RowCut) -> Run | None:
    """The last row of the batch, its last event and its hash."""
    seals = connection.execute(
        "SELECT row, sequence, hash FROM seal WHERE table_name = ? AND row < ? ORDER BY row LIMIT 1",
        (cut.table, cut.row),
    )
    for row, sequence, hashed in seals:
        anchor = connection.execute(
            "SELECT hash FROM anchor WHERE table_name = ? AND row = ?", (cut.table, row)
        ).fetchone()  # the chain after the last sealed row begins with it
        return Run(row, sequence, anchor[0] if anchor else hashed)
    rows = connection.execute(
        "SELECT row, hash FROM step WHERE table_name = ? AND row < ? ORDER BY row LIMIT ?", (cut.table, cut.row, BATCH)
    ).fetchall()
    if not rows:
        return None
    row, hashed = rows[-1]
    ((sequence,),) = connection.execute(
        "SELECT coalesce(max(sequence), 0) FROM anchor WHERE table_name = ?", (cut.table,)
    )
    events = connection.execute("SELECT sequence, row FROM event WHERE table_name = ? ORDER BY sequence", (cut.table,))
    for sequence, _ in takewhile(lambda event: event[1] <= row, events):  # noqa: B007 -- the last one
        pass
    return Run(row, sequence, hashed)
