"""A second verifier of the journal, written from docs/journal.md alone, with the standard library alone.

It shares no code with shoed: its own msgpack encoder, its own queries, its own walk along the chain.
"""

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

DICTIONARY_1 = "861e960fa5d7b905678ce7f42c1078d196b84b28faaea675369c2651204004d3"


def msgpack(value: Any) -> bytes:  # noqa: ANN401 -- a value of SQLite, or an array
    match value:
        case None:
            return b"\xc0"
        case int():
            return integer(value)
        case str():
            data = value.encode()
            return head(len(data), (0xA0, 32), {8: 0xD9, 16: 0xDA, 32: 0xDB}) + data
        case bytes():
            return head(len(value), (0, 0), {8: 0xC4, 16: 0xC5, 32: 0xC6}) + value
        case list() | tuple():
            return head(len(value), (0x90, 16), {16: 0xDC, 32: 0xDD}) + b"".join(map(msgpack, value))
        case _:
            raise TypeError(value)


def head(length: int, short: tuple[int, int], tags: dict[int, int]) -> bytes:
    tag, limit = short
    if length < limit:
        return bytes((tag | length,))
    bits = next(each for each in tags if length < 1 << each)
    return bytes((tags[bits],)) + length.to_bytes(bits // 8)


def integer(value: int) -> bytes:
    if 0 <= value < 128 or -32 <= value < 0:
        return struct.pack("b" if value < 0 else "B", value)
    if value > 0:
        tag, form = next(
            each for each in zip(b"\xcc\xcd\xce\xcf", "BHIQ", strict=True) if value < 256 ** struct.calcsize(each[1])
        )
    else:
        tag, form = next(
            each
            for each in zip(b"\xd0\xd1\xd2\xd3", "bhiq", strict=True)
            if -value <= 256 ** struct.calcsize(each[1]) // 2
        )
    return bytes((tag,)) + struct.pack(f">{form}", value)


def digest(previous: bytes, value: object) -> bytes:
    return sha256(previous + msgpack(value)).digest()


class ForeignVerifier:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.place: tuple[int, int, bytes] = (0, 0, b"")  # row, sequence, hash
        self.digests: dict[int, bytes | None] = {}  # of checkpoints, by row

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as connection:
            return connection.execute(query, values).fetchall()

    def problems(self) -> Iterator[str]:
        """One line for each contradiction."""
        try:
            ((dictionary,),) = self.ask("SELECT bytes FROM dictionary")
            if sha256(dictionary).hexdigest() != DICTIONARY_1 or self.ask("SELECT number FROM dictionary") != [(1,)]:
                yield "dictionary"
            tables = {
                name
                for source in ("step", "step_4", "event", "checkpoint", "anchor")
                for (name,) in self.ask(f"SELECT table_name FROM {source}")
            }
            for table in sorted(tables):
                yield from self.problems_of(table)
        except (sqlite3.Error, ValueError) as error:
            yield f"the file: {error}"

    def problems_of(self, table: str) -> Iterator[str]:
        ((word,),) = self.ask("SELECT word FROM journal")
        self.place = (0, 0, sha256(f"shoed journal {word} table {table}".encode()).digest())
        self.digests = {}
        yield from self.sealed(table)
        yield from self.anchored(table)
        yield from self.chained(table)
        for checkpoint in self.ask("SELECT * FROM checkpoint WHERE table_name = ?", table):
            if self.digests.get(checkpoint[1]) != digest(b"", checkpoint):
                yield f"{table}: the checkpoint of row {checkpoint[1]}"

    def sealed(self, table: str) -> Iterator[str]:
        """The rows of earlier versions."""
        for run in self.ask("SELECT row, sequence, hash FROM seal WHERE table_name = ? ORDER BY row", table):
            row, sequence, previous = self.place
            steps = self.ask(
                "SELECT table_name, row, utc_us, mono_ns, input, bytes, observations, findings, orders, sent, answers,"
                " sent_to_shuffler, packed, left_behind FROM step_4 WHERE table_name = ? AND row > ? AND row <= ?"
                " ORDER BY row",
                *(table, row, run[0]),
            )
            events = self.ask(
                "SELECT sequence, row, type, utc_us, data FROM event WHERE table_name = ? AND sequence > ?"
                " AND sequence <= ? ORDER BY sequence",
                *(table, sequence, run[1]),
            )
            if digest(previous, [steps, events]) != run[2]:
                yield f"{table}: sealed rows {row + 1}-{run[0]}"
            self.place = (run[0], run[1], run[2])
        if self.ask("SELECT row FROM step_4 WHERE table_name = ? AND row > ?", table, self.place[0]):
            yield f"{table}: rows after the seal"

    def anchored(self, table: str) -> Iterator[str]:
        """The end of the rows of earlier versions."""
        anchors = self.ask("SELECT row, sequence, hash, state, reason, utc_us FROM anchor WHERE table_name = ?", table)
        if bool(anchors) != bool(self.place[0]):
            yield f"{table}: the anchor"
        for row, sequence, hashed, state, reason, utc_us in anchors:
            expected = digest(self.place[2], [table, *self.place[:2], state, utc_us])
            if (row, sequence, hashed, reason) != (*self.place[:2], expected, "seal"):
                yield f"{table}: the anchor of row {row}"
            self.place = (self.place[0], self.place[1], hashed)
            self.digests[row] = state

    def chained(self, table: str) -> Iterator[str]:
        """The rows with a hash, and the numbers of their events."""
        row, sequence, previous = self.place
        events = self.ask(
            "SELECT sequence, type, utc_us, data, row FROM event WHERE table_name = ? AND sequence > ?"
            " ORDER BY sequence",
            *(table, sequence),
        )
        of_row: dict[int, list[list[Any]]] = {}
        for each in events:
            of_row.setdefault(each[-1], []).append(list(each[:-1]))
        for *content, state, hashed in self.ask("SELECT * FROM step WHERE table_name = ? ORDER BY row", table):
            own = of_row.get(content[1], [])
            if content[1] != row + 1 or digest(previous, [*content, state, own]) != hashed:
                yield f"{table}: row {row + 1}"
            row, previous = content[1], hashed
            self.digests[row] = state
        for number, event in enumerate(events, start=sequence + 1):
            if event[0] != number or event[-1] not in self.digests:
                yield f"{table}: event {event[0]}"

    def body(self, table: str, row: int) -> dict[str, Any]:
        """The document of a row."""
        ((dictionary,),) = self.ask("SELECT bytes FROM dictionary WHERE number = 1")
        ((utc_us, mono_ns, data, body),) = self.ask(
            "SELECT utc_us, mono_ns, bytes, body FROM step WHERE table_name = ? AND row = ?", table, row
        )
        preset = dictionary + f"[{utc_us},{mono_ns}]".encode() + (data or b"")[:128].hex(" ").encode()
        assert body[0] == 1
        unpacking = zlib.decompressobj(-12, preset)
        return dict(json.loads(unpacking.decompress(body[1:]) + unpacking.flush()))

    def inputs(self, table: str, row: int) -> list[tuple[int, int, bytes]]:
        """The moments and the bytes of the quiet inputs and of the input of a row."""
        body = self.body(table, row)
        ((utc_us, mono_ns, data),) = self.ask(
            "SELECT utc_us, mono_ns, bytes FROM step WHERE table_name = ? AND row = ?", table, row
        )
        data = zlib.decompress(data) if body.get("packed") else data or b""
        quiet = body.get("quiet", [])
        quiet = [(*part, 0, 0, 0)[:3] for part in quiet]
        length = sum(size for size, _, _ in quiet)
        found = [(utc_us, mono_ns, data[length:])]
        for size, ns, us in reversed(quiet):
            utc_us, mono_ns = utc_us - ns // 1000 - us, mono_ns - ns
            found.append((utc_us, mono_ns, data[length - size : length]))
            length -= size
        return found[::-1]
