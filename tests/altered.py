"""Changes of a journal, as a person with a database program and the format's documentation makes them."""

import sqlite3
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from shoed.journal import Store
from shoed.journal.rows import DICTIONARY, STEP, Columns, genesis, pack, row_hash, unpack


def doctor(store: Store, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute(statement, values).rowcount == 1
        connection.commit()


def rewrite(store: Store, row: int, old: str = "", new: str = "", table: str = "t", **columns: Any) -> None:  # noqa: ANN401 -- of several types
    """Replace a text in the body of a row, and columns; the hash remains."""
    with closing(sqlite3.connect(store.path)) as connection:
        ((dictionary,),) = connection.execute("SELECT bytes FROM dictionary WHERE number = ?", (DICTIONARY,))
        query = f"SELECT {STEP} FROM step WHERE table_name = ? AND row = ?"  # noqa: S608 -- ours
        before = Columns(*connection.execute(query, (table, row)).fetchone())
    body = unpack(before, dictionary).decode()
    assert old in body
    after = before._replace(**columns)
    packed = pack(body.replace(old, new).encode(), dictionary, after.utc_us, after.mono_ns, after.data)
    statement = "UPDATE step SET utc_us = ?, bytes = ?, body = ? WHERE table_name = ? AND row = ?"
    doctor(store, statement, after.utc_us, after.data, packed, table, row)


def body_of(store: Store, row: int, table: str = "t") -> dict[str, object]:
    with closing(store.read()) as reader:
        (columns,) = reader.columns(table, row, row)
        return msgspec.json.decode(unpack(columns, reader.dictionary), type=dict[str, object])


def rehash(file: Path) -> None:
    """Compute all hashes again: the rows are then those of a journal that was written so."""
    with closing(sqlite3.connect(file)) as connection:
        ((word,),) = connection.execute("SELECT word FROM journal")
        query = "SELECT table_name, row, sequence, type, utc_us, data FROM event ORDER BY table_name, sequence"
        events = {key: [each[2:] for each in own] for key, own in groupby(connection.execute(query), itemgetter(0, 1))}
        hashes: dict[str, bytes] = {}
        for columns in connection.execute(f"SELECT {STEP} FROM step ORDER BY table_name, row").fetchall():  # noqa: S608 -- ours
            table, row = columns[:2]
            previous = hashes.get(table) or genesis(word, table)
            hashes[table] = row_hash(previous, columns[:-1], events.get((table, row), []))
            connection.execute("UPDATE step SET hash = ? WHERE table_name = ? AND row = ?", (hashes[table], table, row))
        connection.commit()
