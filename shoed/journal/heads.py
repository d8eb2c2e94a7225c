"""Signed heads: the daemon signs the hash of the newest row when a round or a shoe begins or ends.

Theory of operation: the rows of a table are a chain of hashes, so the hash of one row covers all rows before it. A head
is this hash with its place, and the signature of the daemon. The commit of a head moment writes the head into the table
`head`. After the commit the daemon appends the head to `heads.jsonl`, and publishes it as the retained message `head`.
A copy of a head that another program keeps proves that a rewritten chain is not the original one.

`Head.text` are the signed bytes. docs/journal.md defines them, so that any program can verify a head.
"""

import base64
import sqlite3
from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from shoed.journal.incarnations import Outside, newest_word
from shoed.journal.keys import SigningKey, is_announced
from shoed.journal.reader import Reader
from shoed.model.events import (
    RoundAbandoned,
    RoundCompleted,
    RoundCorrected,
    RoundVoided,
    ShoeEmptied,
    ShoeStarted,
)
from shoed.model.moments import rfc3339
from shoed.model.step import LinkDown, Step

# The events after which a head is written. Between them, the rows are in the chain, and the next head covers them.
HEAD_MOMENTS: Final = (RoundCompleted, RoundVoided, RoundAbandoned, RoundCorrected, ShoeStarted, ShoeEmptied)

TEXT: Final = """\
shoed head 1
journal {0.journal}
incarnation {0.incarnation}
table {0.table}
row {0.row}
sequence {0.sequence}
shoe {0.shoe}
round {0.round}
time {0.time}
hash {0.hash}
"""
SIGNED: Final = ("key", "signature", "previous", "announcement")
CHANGE: Final = (  # of the key, if the previous key announced it
    "(SELECT public FROM key AS before WHERE before.number = key.number - 1 AND key.announced IS NOT NULL), announced"
)
HEAD: Final = "INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """The signed hash of the newest row of a table, at the end of a round, or at the start or end of a shoe.

    `row`: the journal row, and `sequence` the last event up to this row. `shoe` and `round`: of the last event with
    them; 0 before the first one. `time`: of the row. `hash`: of the row, in hexadecimal. `journal`: the word of the
    journal file, and `incarnation` the word in the event ids. `key`: the public key (Ed25519), and `signature`, both in
    base64. `previous`: the key that announced this key, and `announcement` its signature, both in base64; absent if the
    change was not announced. [The journal](journal.md#signed-heads) defines the signed bytes.
    """

    journal: str
    incarnation: str
    table: str
    row: int
    sequence: int
    shoe: int
    round: int
    time: str
    hash: str
    key: str
    signature: str
    previous: str = ""
    announcement: str = ""

    @property
    def text(self) -> bytes:
        return TEXT.format(self).encode()

    @property
    def outside(self) -> Outside:
        return Outside(
            *(self.journal, self.incarnation, self.sequence, None, self.shoe, self.round, self.row, self.hash)
        )


def is_head_moment(step: Step) -> bool:
    """Whether a head is written with the Step: after HEAD_MOMENTS, and when a link closes, as at a stop."""
    closes = isinstance(step.input, LinkDown) and bool(step.events)
    return closes or any(isinstance(event.data, HEAD_MOMENTS) for event in step.events)


def is_genuine(head: Head) -> bool:
    """Whether the key of the head signed it. The caller decides whether it trusts the key."""
    from shoed.journal.ed25519 import is_signed  # noqa: PLC0415 -- start-up time and memory: see keys.py

    try:
        key, signature = (base64.b64decode(each, validate=True) for each in (head.key, head.signature))
    except ValueError:
        return False
    return is_signed(key, signature, head.text)


def is_announced_by(head: Head, keys: Collection[str]) -> bool:
    """Whether one of these keys announced the key of the head."""
    try:
        key, previous, announcement = (
            base64.b64decode(each, validate=True) for each in (head.key, head.previous, head.announcement)
        )
    except ValueError:
        return False
    return head.previous in keys and is_announced(head.journal, previous, key, announcement)


class HeadWriter:
    """Writes heads in the present transaction. It keeps nothing, so a commit may be repeated."""

    def __init__(self, connection: sqlite3.Connection, key: SigningKey, journal: str) -> None:
        self.connection = connection
        self.key = key
        self.journal = journal

    def write(self, table: str, row: int, utc_us: int, hashed: bytes) -> Head:
        """Sign the row, after its events are written."""
        incarnation = newest_word(self.connection, table)
        shoe, number, sequence = self.place(table)
        unsigned = Head(
            self.journal, incarnation, table, row, sequence, shoe, number, rfc3339(utc_us), hashed.hex(), "", ""
        )
        signature = self.key.sign(unsigned.text)
        enrolled = self.key.enroll(self.connection, self.journal, utc_us)
        values = (table, row, sequence, shoe, number, utc_us, hashed, incarnation, enrolled, signature)
        self.connection.execute(HEAD, values)
        ((previous, announced),) = self.connection.execute(f"SELECT {CHANGE} FROM key WHERE number = ?", (enrolled,))  # noqa: S608 -- ours
        signed = (in_base64(each or b"") for each in (self.key.public, signature, previous, announced))
        return msgspec.structs.replace(unsigned, **dict(zip(SIGNED, signed, strict=True)))

    def place(self, table: str) -> tuple[int, int, int]:
        """The shoe and the round of the last event that has them, and the last sequence number."""
        ((sequence,),) = self.connection.execute(
            "SELECT coalesce(max(sequence), 0) FROM event WHERE table_name = ?", (table,)
        )
        played = self.connection.execute(
            "SELECT json_extract(data, '$.shoe'), coalesce(json_extract(data, '$.round'), 0) FROM event"
            " WHERE table_name = ? AND json_extract(data, '$.shoe') IS NOT NULL ORDER BY sequence DESC LIMIT 1",
            (table,),
        ).fetchone()
        shoe, number = played or (0, 0)
        return int(shoe), int(number), int(sequence)


def stored_heads(reader: Reader, table: str, after: int = 0) -> Iterator[Head]:
    """The heads of a table after a row, in order."""
    return heads_of(reader, "table_name = ? AND row > ? ORDER BY row", table, after)


def newest_head(reader: Reader, table: str) -> Head | None:
    return next(heads_of(reader, "table_name = ? ORDER BY row DESC LIMIT 1", table), None)


def heads_of(reader: Reader, condition: str, *values: object) -> Iterator[Head]:
    """The heads; `key` is empty if its number is not on record."""
    for journal, incarnation, table, row, sequence, shoe, number, utc_us, hashed, *signed in reader.rows(
        "SELECT word, incarnation, table_name, row, sequence, shoe, round, head.utc_us, hash,"  # noqa: S608 -- ours
        f" public, signature, {CHANGE} FROM journal, head LEFT JOIN key ON key.number = head.key WHERE {condition}",
        *values,
    ):
        parts = (in_base64(each or b"") for each in signed)
        yield Head(journal, incarnation, table, row, sequence, shoe, number, rfc3339(utc_us), hashed.hex(), *parts)


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
