"""What a salvage knows of a journal besides its rows: its word, its incarnations, its keys and its heads.

Theory of operation: these tables have few pages, so one damaged page may cost a whole table. But the same facts are in
other places. The `Configured` row that begins an incarnation names it, and each head has the word of its row. The lines
of `heads.jsonl` beside the damaged file have the word of the journal, the public keys and the heads. An incarnation
whose word is not found gets a new word, so that no id is used twice.
"""

import base64
import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from shoed.errors import JournalUnusable
from shoed.journal.head_log import NAME, logged_heads
from shoed.journal.heads import Head, is_genuine
from shoed.journal.incarnations import WORD_BYTES, newest_word, record_continued
from shoed.journal.rows import DICTIONARY, Columns, stored_step
from shoed.model.incarnations import WordSince
from shoed.model.step import Configured
from shoed.typed_json import decoder

FIRST: Final = "INSERT OR IGNORE INTO incarnation VALUES (1, ?, 0, 'created', '')"
CONFIGURED: Final = "SELECT DISTINCT * FROM found.step WHERE kind = 'Configured' ORDER BY table_name, row"
WITHOUT_WORD: Final = (
    "SELECT number, table_name, row FROM incarnation_table"
    " WHERE number NOT IN (SELECT number FROM incarnation) ORDER BY number"
)
OF_HEADS: Final = (  # the words of heads that no incarnation of the table has, each with its first row
    "SELECT table_name, incarnation, min(row) FROM head WHERE incarnation <> (SELECT word FROM journal) AND NOT EXISTS"
    " (SELECT 1 FROM incarnation_table JOIN incarnation USING (number)"
    " WHERE incarnation_table.table_name = head.table_name AND word = head.incarnation) GROUP BY 1, 2 ORDER BY 1, 3"
)
HEAD: Final = "INSERT OR IGNORE INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
FIRST_OF_HEADS: Final = (  # the word of the first head, if no later incarnation begins before it
    "SELECT incarnation FROM head WHERE NOT EXISTS (SELECT 1 FROM incarnation_table"
    " WHERE incarnation_table.table_name = head.table_name AND incarnation_table.row < head.row) ORDER BY row LIMIT 1"
)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def heads_beside(place: Path) -> list[Head]:
    """The genuine heads in `heads.jsonl` with a time of the calendar, in the order of writing."""
    with suppress(OSError):  # as without the file
        return [head for head in logged_heads(place) if head.time.endswith("Z") and is_genuine(head)]
    return []


def restore_names(connection: sqlite3.Connection, logged: Sequence[Head]) -> None:
    """Complete the small tables."""
    restore_incarnations(connection)
    proven = heads_of_rows(connection, logged)
    restore_word(connection, proven, logged)
    restore_heads(connection, proven)
    restore_words_of_heads(connection)


def lost_heads(connection: sqlite3.Connection) -> str:
    """Remove the heads whose key was not found: they cannot be verified. Return what is lost."""
    count = connection.execute("DELETE FROM head WHERE key NOT IN (SELECT number FROM key)").rowcount
    if count:
        return f"{count} signed heads are lost: their public key was not found"
    has_key, has_head = (connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in ("key", "head"))  # noqa: S608 -- ours
    return "all signed heads are lost: the key that signed them remains" if has_key and not has_head else ""


def heads_of_rows(connection: sqlite3.Connection, logged: Sequence[Head]) -> list[Head]:
    """The heads of rows that were found. Others may be of a later journal, which adds its heads to the same file."""
    query = "SELECT 1 FROM found.step WHERE table_name = ? AND row = ? AND lower(hex(hash)) = ?"
    return [head for head in logged if connection.execute(query, (head.table, head.row, head.hash)).fetchone()]


def restore_word(connection: sqlite3.Connection, proven: Sequence[Head], logged: Sequence[Head]) -> None:
    """The first word is in `journal`, in the first incarnation, and in heads. A new journal has its own."""
    words = [word for (word,) in connection.execute("SELECT word FROM found.journal")]
    words += [word for (word,) in connection.execute("SELECT word FROM found.incarnation WHERE number = 1")]
    words += [head.journal for head in proven[:1]]
    words += [word for (word,) in connection.execute(FIRST_OF_HEADS)]
    words += [head.journal for head in logged[-1:]]
    if words:
        connection.execute("UPDATE journal SET word = ?", words[:1])
        connection.execute(FIRST, words[:1])
        connection.execute("UPDATE incarnation SET word = ? WHERE number = 1", words[:1])


def restore_incarnations(connection: sqlite3.Connection) -> None:
    """Each `Configured` row has the words of its table, and the incarnation that begins with it."""
    lists: dict[str, tuple[WordSince, ...]] = {}
    ((dictionary,),) = connection.execute("SELECT bytes FROM dictionary WHERE number = ?", (DICTIONARY,))
    for record in connection.execute(CONFIGURED).fetchall():
        columns = Columns(*record)
        with suppress(JournalUnusable, msgspec.DecodeError):  # a damaged record
            configured = decoder(Configured).decode(stored_step(columns, dictionary).input)
            record_continued(connection, columns.table, columns.row, columns.utc_us, configured.continued)
            lists[columns.table] = configured.words
    for table, words in lists.items():
        for each in words[1:]:
            query = "SELECT coalesce(max(row), 0) FROM found.event WHERE table_name = ? AND sequence <= ?"
            ((row,),) = connection.execute(query, (table, each.after))
            add_word(connection, table, each.word, row, each.after)
    for number, table, row in connection.execute(WITHOUT_WORD).fetchall():
        query = "SELECT incarnation FROM head WHERE table_name = ? AND row > ? ORDER BY row LIMIT 1"
        (word,) = connection.execute(query, (table, row)).fetchone() or (secrets.token_hex(WORD_BYTES),)
        add_incarnation(connection, number, word)


def restore_words_of_heads(connection: sqlite3.Connection) -> None:
    """Begin an incarnation that only heads name, after the last head before them."""
    for table, word, first in connection.execute(OF_HEADS).fetchall():
        query = "SELECT row, sequence FROM head WHERE table_name = ? AND row < ? ORDER BY row DESC LIMIT 1"
        add_word(connection, table, word, *(connection.execute(query, (table, first)).fetchone() or (0, 0)))


def add_word(connection: sqlite3.Connection, table: str, word: str, row: int, sequence: int) -> None:
    """Begin an incarnation of a table after a row, unless it is on record. The numbers ascend with the rows."""
    query = "SELECT number, row FROM incarnation_table WHERE table_name = ?"
    begun = connection.execute(query, (table,)).fetchall()
    words = dict(connection.execute("SELECT number, word FROM incarnation"))
    low = max([number for number, before in begun if before <= row], default=1)
    high = min([number for number, after in begun if after > row], default=low + len(words) + 2)
    free = [number for number in range(low + 1, high) if words.get(number, word) == word]
    if word not in {words.get(number) for number, _ in begun} and free:
        number = next((each for each in free if words.get(each) == word), free[0])
        add_incarnation(connection, number, word)
        values = (number, table, row, sequence, None, None, 0, 0)
        connection.execute("INSERT INTO incarnation_table VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)


def add_incarnation(connection: sqlite3.Connection, number: int, word: str) -> None:
    values = (number, word, 0, "salvaged", "the reason of this incarnation was lost")
    connection.execute("INSERT OR IGNORE INTO incarnation VALUES (?, ?, ?, ?, ?)", values)


def restore_heads(connection: sqlite3.Connection, heads: Sequence[Head]) -> None:
    """The logged heads of rows that were found, with their keys."""
    ((word,),) = connection.execute("SELECT word FROM journal")
    for head in (each for each in heads if each.journal == word):
        place, hashed, utc_us = (head.table, head.row), bytes.fromhex(head.hash), utc_us_of(head)
        values = (head.sequence, head.shoe, head.round, utc_us, hashed, head.incarnation, key_of(connection, head))
        connection.execute(HEAD, (*place, *values, base64.b64decode(head.signature)))


def utc_us_of(head: Head) -> int:
    return (datetime.fromisoformat(head.time) - EPOCH) // timedelta(microseconds=1)


def key_of(connection: sqlite3.Connection, head: Head) -> int:
    """The number of the key of a head. A lost key has the number in the same head of the journal, or the next one."""
    public = base64.b64decode(head.key)
    query = (
        "SELECT number FROM key WHERE public = ?1"
        " UNION ALL SELECT key FROM head WHERE table_name = ?2 AND row = ?3"
        " UNION ALL SELECT coalesce(max(number), 0) + 1 FROM key LIMIT 1"
    )
    ((number,),) = connection.execute(query, (public, head.table, head.row))
    announced = base64.b64decode(head.announcement) or None
    values = (number, public, 0, f"a salvage found the key in {NAME}", announced)
    connection.execute("INSERT OR IGNORE INTO key VALUES (?, ?, ?, ?, ?)", values)
    return int(number)


def write_logged_heads(connection: sqlite3.Connection, logged: Sequence[Head]) -> None:
    """The newest logged head of each table, of its newest incarnation; of a table without a row, the newest of all."""
    connection.execute("CREATE TABLE found.logged (table_name, row, sequence)")
    ((word,),) = connection.execute("SELECT word FROM journal")
    present = {name for (name,) in connection.execute("SELECT DISTINCT table_name FROM found.step")}
    words = {table: newest_word(connection, table) for table in present}
    newest = {
        head.table: head
        for head in logged
        if head.journal == word and words.get(head.table, head.incarnation) == head.incarnation
    }
    for head in newest.values():
        connection.execute("INSERT INTO found.logged VALUES (?, ?, ?)", (head.table, head.row, head.sequence))
