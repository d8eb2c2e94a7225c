"""The seal of the rows of schemas 1 to 4: their hashes, written by the migration to schema 5.

Theory of operation: one pass over the rows of each table makes a chain with one hash for each run of RUN rows and their
events. The hash of the last run is the anchor of the table: the chain of the new rows begins with it. The hashes of the
runs allow a verification in parts, and a cut between two runs.
"""

import sqlite3
from collections.abc import Iterator
from itertools import chain
from time import time_ns
from typing import Any, Final, NamedTuple

from shoed.journal.rows import RUN, STEP_4, Checkpoint, genesis, seal_hash, sealed_hash

OLD_EVENT: Final = "sequence, row, type, utc_us, data"
TABLES: Final = "SELECT table_name FROM step_4 UNION SELECT table_name FROM event"
STEPS: Final = f"SELECT {STEP_4} FROM step_4 WHERE table_name = ? ORDER BY row"  # noqa: S608 -- ours
EVENTS: Final = f"SELECT {OLD_EVENT} FROM event WHERE table_name = ? ORDER BY sequence"  # noqa: S608 -- ours


class Run(NamedTuple):
    """The end of a run of rows, and the hash up to it."""

    row: int
    sequence: int
    hash: bytes


def seal(connection: sqlite3.Connection) -> None:
    """Seal all rows in the present transaction."""
    (word,) = connection.execute("SELECT word FROM journal").fetchone()
    for (table,) in connection.execute(TABLES).fetchall():
        end = begin = Run(0, 0, genesis(word, table))
        for each in runs(connection, table, begin):
            connection.execute("INSERT INTO seal VALUES (?, ?, ?, ?)", (table, *each))
            end = each
        connection.execute("DELETE FROM checkpoint WHERE table_name = ? AND row <> ?", (table, end.row))
        state = next((each.digest for each in checkpoints(connection, table)), None)
        utc_us = time_ns() // 1000
        hashed = sealed_hash(end.hash, table, end.row, end.sequence, state, utc_us)
        anchor = (table, end.row, end.sequence, hashed, state, "seal", utc_us, None)
        connection.execute("INSERT INTO anchor VALUES (?, ?, ?, ?, ?, ?, ?, ?)", anchor)


def runs(connection: sqlite3.Connection, table: str, end: Run) -> Iterator[Run]:
    """The runs after `end`. An event belongs to the run of its row; the last run has all remaining events."""
    steps = connection.execute(STEPS, (table,))
    events: Iterator[Any] = iter(connection.execute(EVENTS, (table,)))
    row, sequence, hashed = end
    batch = steps.fetchmany(RUN)
    while batch:
        following = steps.fetchmany(RUN)
        row = batch[-1][1]
        own = []
        for event in events:
            if event[1] > row and following:
                events = chain((event,), events)
                break
            own.append(event)
        sequence = own[-1][0] if own else sequence
        hashed = seal_hash(hashed, batch, own)
        yield Run(row, sequence, hashed)
        batch = following


def checkpoints(connection: sqlite3.Connection, table: str) -> Iterator[Checkpoint]:
    found = connection.execute("SELECT * FROM checkpoint WHERE table_name = ?", (table,))
    return (Checkpoint(*each) for each in found)
