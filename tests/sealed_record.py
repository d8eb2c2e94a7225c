"""A journal with rows of schema 4 under a seal, and rows of schema 5 after them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from shoed.journal.schema import CHAINED, SCHEMA_FILES, SCHEMAS
from tests.long_record import LongRecord

TABLE: Final = "bac-901"
STEP: Final = "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def sealed_record(folder: Path, rows: int) -> LongRecord:
    """The rows of schema 4 have an event each; the first start of this shoed seals them."""
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        for name in SCHEMAS[: CHAINED - 1]:
            connection.executescript((SCHEMA_FILES / name).read_text())
        connection.execute(f"PRAGMA user_version = {CHAINED - 1}")
        for row in range(1, rows + 1):
            utc_us = 1_600_000_000_000_000 + row * 1_000_000
            connection.execute(
                STEP,
                (TABLE, row, utc_us, row, f'{{"came":"Woken","n":{row}}}', None, *("[]",) * 3, b"", "[]", b"", 0, "{}"),
            )
            data = f'{{"shoe":1,"round":{row // 10 + 1},"n":{row}}}'
            connection.execute(
                "INSERT INTO event VALUES (?, ?, ?, 'card.drawn', ?, ?)", (TABLE, row, row, utc_us, data)
            )
        connection.commit()
    return LongRecord(folder, (TABLE,), after=(rows, rows))
