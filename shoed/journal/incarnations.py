"""The incarnations of a journal file: when a new word begins in the event ids, and why.

Theory of operation: an event id has the word of the incarnation of its sequence number, so an id is never used twice,
also if events that others have received are missing from the file. The first incarnation has the word of the file.
A later one begins after the last event that this file certainly shares with the published events (`kept`):

- `begin` starts one in a file that no daemon uses: after a restore, a salvage or a damage, or if a head is missing.
- `Publisher` compares the retained `state` of the broker with the journal at the first connection of a process. The
  table records the new incarnation as an input (`Configured`), and `record` writes it in the same commit.

A table publishes `journal/continued` with its first Step of an incarnation. Until then the incarnation is `pending`. A
table without a record begins with the newest incarnation, and its first Step records that.
"""

import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from shoed.journal.reader import Reader
from shoed.model.incarnations import Because, Continued, WordSince, word_of
from shoed.model.moments import rfc3339
from shoed.model.step import Configured, Step

SCHEMA: Final = 5  # the first schema with incarnations
REASONS: Final = frozenset(each.value for each in Because)
WORD_BYTES: Final = 4  # as the first word of a file
NEXT_NUMBER: Final = (
    "SELECT max(number) + 1 FROM (SELECT number FROM incarnation UNION ALL SELECT number FROM incarnation_table)"
)

OF_TABLE: Final = (
    "SELECT row, number, word, reason, detail, previous, sequence, known, shoe, round"
    " FROM incarnation_table JOIN incarnation USING (number) WHERE table_name = ? ORDER BY number"
)
NEWEST: Final = (
    "SELECT 0, number, word, reason, detail, NULL, 0, NULL, 0, 0 FROM incarnation"
    " WHERE number > 1 ORDER BY number DESC LIMIT 1"
)
LAST_ROW: Final = (
    "SELECT coalesce(max(row), 0) FROM (SELECT table_name, row FROM step UNION ALL SELECT table_name, row FROM anchor)"
    " WHERE table_name = ?"
)
INCARNATION: Final = "INSERT OR IGNORE INTO incarnation VALUES (?, ?, ?, ?, ?)"
TABLE: Final = "INSERT OR IGNORE INTO incarnation_table VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


NAMING: Final = (
    *("step", "step_4", "event", "anchor", "seal", "head", "checkpoint", "cursor", "loss", "incarnation_table"),
)


class Outside(msgspec.Struct, frozen=True):
    """An event that is known outside the journal: in the retained state, or in a signed head.

    `journal`: the word of the journal file. `word`: the word in the id of the event.
    """

    journal: str
    word: str
    sequence: int
    time: str | None = None  # of the event
    shoe: int = 0
    round: int = 0
    row: int = 0  # of a signed head
    hash: str = ""  # of this row


NOTHING: Final = Outside("", "", 0)

NO_TABLES: Final[Mapping[str, Any]] = MappingProxyType({})


def words(reader: Reader, table: str) -> tuple[WordSince, ...]:
    """The words in the ids of a table, in order."""
    later = (
        WordSince(after, word) for _, number, word, _, _, _, after, *_ in incarnations_of(reader, table) if number > 1
    )
    return (WordSince(0, reader.word), *later)


def pending(reader: Reader, table: str) -> Continued | None:
    """The newest incarnation of the table, if the table has no Step in it."""
    for row, number, word, reason, *rest in incarnations_of(reader, table)[-1:]:
        if reason in REASONS and reader.last_row(table) <= row:
            return Continued(number, word, Because(reason), *rest)
    return None


def incarnations_of(reader: Reader, table: str) -> list[tuple[Any, ...]]:
    """The incarnations of a table, in order.

    A table without a record begins with the newest one: the file may be an earlier copy, and the same table may have
    published events under an earlier word.
    """
    if reader.schema < SCHEMA:
        return []
    return list(reader.rows(OF_TABLE, table)) or ([] if reader.end(table) else list(reader.rows(NEWEST)))


def is_used(reader: Reader) -> bool:
    """Whether ids with the first word may exist: the file has events, or is a copy of another one."""
    return bool(reader.tables or list(reader.rows(NEWEST)))


class TailLoss(IntEnum):
    """What an event outside the journal shows about the journal."""

    NONE = 0  # the journal has this event
    RECORDED = 1  # an incarnation after this loss is on record
    NEW = 2


def loss(reader: Reader, table: str, outside: Outside) -> TailLoss:
    """Whether the journal lacks this event.

    A word that the file does not have is a loss, also if the event is of another journal: then this file is older than
    that journal, or new.
    """
    if reader.schema < SCHEMA or not outside.sequence:
        return TailLoss.NONE
    own = words(reader, table)
    if is_recorded(reader, table, outside):
        return TailLoss.RECORDED
    if outside.word not in {each.word for each in own}:
        return TailLoss.NEW
    if outside.word != word_of(own, outside.sequence):
        return TailLoss.RECORDED
    return TailLoss.NONE if has(reader, table, outside) else TailLoss.NEW


def is_recorded(reader: Reader, table: str, outside: Outside) -> bool:
    """Whether an incarnation after this event is on record, or the newest one is after its word and not published."""
    return any(
        known >= outside.sequence or (is_newest and reader.cursor(table) <= after)
        for after, known, is_newest in reader.rows(
            "SELECT sequence, coalesce(known, 0),"
            " number = (SELECT max(number) FROM incarnation_table WHERE table_name = ?1)"
            " FROM incarnation_table WHERE table_name = ?1 AND previous = ?2",
            table,
            outside.word,
        )
    )


def has(reader: Reader, table: str, outside: Outside) -> bool:
    """Whether the journal has this event and this row with the same content."""
    for (hashed,) in reader.rows("SELECT hash FROM step WHERE table_name = ? AND row = ?", table, outside.row):
        if hashed.hex() != outside.hash:
            return False
    (event, *_) = reader.events(table, outside.sequence - 1, 1) or (None,)
    if event is None or event.sequence != outside.sequence:
        return False
    return outside.time is None or outside.time == rfc3339(event.utc_us)


def largest_loss(reader: Reader, table: str, outside: Sequence[Outside]) -> tuple[TailLoss, Outside]:
    """The largest loss that these events show. The last one of several, with the last round of all."""
    largest, index = max((loss(reader, table, each), index) for index, each in enumerate(outside))
    return largest, with_last_round(outside[index], outside)


def with_last_round(known: Outside, others: Iterable[Outside]) -> Outside:
    shoe, number = max((each.shoe, each.round) for each in (known, *others))
    return replace(known, shoe=shoe, round=number)


def kept(reader: Reader, table: str) -> int:
    """The last event that this file certainly shares with the published events, if the tail is lost.

    The broker acknowledged the events up to the cursor. The process that wrote the event of the cursor wrote the events
    up to the next start, too. A file that was replaced or cut has no further event before the next start.
    """
    cursor = reader.cursor(table)
    start = (
        "SELECT min(row) FROM step WHERE table_name = ?1 AND kind = 'Configured' AND row >"
        " coalesce((SELECT row FROM event WHERE table_name = ?1 AND sequence = ?2), 0)"
    )
    ((last,),) = reader.rows(
        "SELECT coalesce(max(sequence), 0) FROM event"  # noqa: S608 -- ours
        f" WHERE table_name = ?1 AND row < coalesce(({start}), row + 1)",
        table,
        cursor,
    )
    return max(int(last), cursor)


def next_one(reader: Reader) -> tuple[int, str]:
    """The number and the word of the next incarnation."""
    ((number,),) = reader.rows(NEXT_NUMBER)
    return number, secrets.token_hex(WORD_BYTES)


def begin(  # noqa: PLR0913, PLR0917 -- the parts of an incarnation
    connection: sqlite3.Connection,
    reason: Because,
    detail: str,
    utc_us: int,
    outside: Mapping[str, Outside] = NO_TABLES,
    shared: Mapping[str, int] = NO_TABLES,
) -> None:
    """Begin an incarnation of all tables, in a file that no daemon uses. The caller commits.

    By table: `outside` is the last event that is known outside the journal, and `shared` the last event that keeps its
    word; by default the last one of the file.
    """
    ask = connection.execute
    is_new = reason is Because.DAMAGED  # the first word of a new journal is unused
    if is_new:
        number = 1
        ask(
            "UPDATE incarnation SET utc_us = ?, reason = ?, detail = ? WHERE number = 1", (utc_us, reason.value, detail)
        )
    else:
        ((number,),) = ask(NEXT_NUMBER)
        ask(INCARNATION, (number, secrets.token_hex(WORD_BYTES), utc_us, reason.value, detail))
    for table in sorted(named_tables(connection) | outside.keys()):
        found = outside.get(table, NOTHING)
        ((row,),) = ask(LAST_ROW, (table,))
        ((last,),) = ask("SELECT coalesce(max(sequence), 0) FROM event WHERE table_name = ?", (table,))
        previous = found.word or (None if is_new else newest_word(connection, table))
        ask(
            TABLE,
            (number, table, row, shared.get(table, last), previous, found.sequence or None, found.shoe, found.round),
        )


def named_tables(connection: sqlite3.Connection) -> set[str]:
    """The tables that have a row or an event, or of which anything remains; by one look into the key for each."""
    found = set[str]()
    for source in NAMING:
        query = f"SELECT min(table_name) FROM {source} WHERE table_name > ?"  # noqa: S608 -- ours
        ((name,),) = connection.execute(query, ("",))
        while name is not None:
            found.add(name)
            ((name,),) = connection.execute(query, (name,))
    return found


def newest_word(connection: sqlite3.Connection, table: str) -> str:
    ((word,),) = connection.execute(
        "SELECT coalesce((SELECT word FROM incarnation_table JOIN incarnation USING (number)"
        " WHERE table_name = ? AND number > 1 ORDER BY number DESC LIMIT 1), (SELECT word FROM journal))",
        (table,),
    )
    return str(word)


def record(connection: sqlite3.Connection, table: str, step: Step) -> None:
    """Write the incarnation that begins with this Step, in the transaction of the Step."""
    if isinstance(step.input, Configured):
        record_continued(connection, table, step.row, step.now.utc_us, step.input.continued)


def record_continued(connection: sqlite3.Connection, table: str, row: int, utc_us: int, new: Continued | None) -> None:
    if new is None:
        return
    connection.execute(INCARNATION, (new.number, new.word, utc_us, new.reason.value, new.detail))
    place = (row - 1, new.kept, new.previous, new.known, new.shoe, new.round)
    connection.execute(TABLE, (new.number, table, *place))
