"""A second verifier of the journal, written from docs/journal.md alone, with the standard library alone.

It shares no code with shoed: its own msgpack encoder, its own Ed25519, its own queries, its own walk along the chain.
"""

import json
import sqlite3
import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256, sha512
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


# --- Ed25519: RFC 8032, section 5.1

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

Point = tuple[int, int, int, int]  # X, Y, Z and T


def added(one: Point, other: Point) -> Point:
    a, b = (one[1] - one[0]) * (other[1] - other[0]) % P, (one[1] + one[0]) * (other[1] + other[0]) % P
    c, d = 2 * one[3] * other[3] * D % P, 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiplied(point: Point, times: int) -> Point:
    result = (0, 1, 1, 0)
    while times:
        if times & 1:
            result = added(result, point)
        point, times = added(point, point), times >> 1
    return result


def point_of(data: bytes) -> Point | None:
    number = int.from_bytes(data, "little")
    y, is_odd = number % 2**255, number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (is_odd and not x):
        return None
    x = P - x if x % 2 != is_odd else x
    return x, y, 1, x * y % P


BASE = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


@cache
def is_signed(key: bytes, text: bytes, signature: bytes) -> bool:
    if len(key) != 32 or len(signature) != 64 or BASE is None:
        return False
    public, random, number = point_of(key), point_of(signature[:32]), int.from_bytes(signature[32:], "little")
    if public is None or random is None or number >= ORDER:
        return False
    hashed = int.from_bytes(sha512(signature[:32] + key + text).digest(), "little") % ORDER
    one, other = multiplied(BASE, number), added(random, multiplied(public, hashed))
    return all((one[each] * other[2] - other[each] * one[2]) % P == 0 for each in (0, 1))


def signed_text(title: str, **fields: object) -> bytes:
    return "".join([f"shoed {title} 1\n", *(f"{name} {value}\n" for name, value in fields.items())]).encode()


def time_of(utc_us: int) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=utc_us)
    except OverflowError:
        return "out of range"
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"


def in_base64(data: bytes) -> str:
    return b64encode(data).decode()


# --- the journal

HEAD_MOMENTS = {"round.completed", "round.voided", "round.abandoned", "round.corrected", "shoe.started", "shoe.emptied"}
NAMING = ("step", "step_4", "event", "checkpoint", "anchor", "seal", "head", "cursor")
NAMES = " UNION ".join(
    [
        *(f"SELECT table_name FROM {name}" for name in NAMING),
        "SELECT table_name FROM incarnation_table WHERE row > 0 OR sequence > 0",
    ]
)


class ForeignVerifier:
    """`keys`: the public keys to trust; empty: each key on record. `heads`: the file of a witness."""

    def __init__(self, path: Path, keys: Collection[bytes] = (), heads: Path | None = None) -> None:
        self.path = path
        self.keys = keys
        self.heads = heads
        self.trusted: set[bytes] = set()
        self.word = ""
        self.cut = 0  # the last deleted row
        self.place: tuple[int, int, bytes] = (0, 0, b"")  # row, sequence, hash
        self.digests: dict[int, bytes | None] = {}  # of checkpoints, by row
        self.hashes: dict[int, bytes] = {}  # by row

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as connection:
            return connection.execute(query, values).fetchall()

    def problems(self) -> Iterator[str]:
        """One line for each contradiction."""
        try:
            ((dictionary,),) = self.ask("SELECT bytes FROM dictionary")
            if sha256(dictionary).hexdigest() != DICTIONARY_1 or self.ask("SELECT number FROM dictionary") != [(1,)]:
                yield "dictionary"
            ((self.word,),) = self.ask("SELECT word FROM journal")
            if self.ask("SELECT word FROM incarnation WHERE number = 1") != [(self.word,)]:
                yield "the word of the journal"
            yield from self.keys_on_record()
            yield from self.other_journals()
            witnessed = [head for head in self.witnessed() if head["journal"] == self.word]
            names = {name for (name,) in self.ask(NAMES)} | {head["table"] for head in witnessed}
            for table in sorted(names):
                yield from self.problems_of(table)
                yield from self.of_heads(table, [head for head in witnessed if head["table"] == table])
        except (sqlite3.Error, ValueError, KeyError) as error:
            yield f"the file: {error}"

    def problems_of(self, table: str) -> Iterator[str]:
        self.place = (0, 0, sha256(f"shoed journal {self.word} table {table}".encode()).digest())
        self.cut, self.digests, self.hashes = 0, {}, {}
        yield from self.cuts(table)
        yield from self.sealed(table)
        yield from self.anchored(table)
        yield from self.chained(table)
        yield from self.incarnations(table)
        if not self.place[0] and not self.hashes:
            yield f"{table}: no row"
        for checkpoint in self.ask("SELECT * FROM checkpoint WHERE table_name = ?", table):
            if self.digests.get(checkpoint[1]) != digest(b"", checkpoint):
                yield f"{table}: the checkpoint of row {checkpoint[1]}"

    def witnessed(self) -> list[dict[str, Any]]:
        return [] if self.heads is None else [json.loads(line) for line in self.heads.read_text().splitlines() if line]

    def other_journals(self) -> Iterator[str]:
        """The journals of the witness that this one does not name as earlier ones."""
        previous = {word for (word,) in self.ask("SELECT previous FROM incarnation_table")}
        words: dict[str, set[str]] = {}
        for head in self.witnessed():
            words.setdefault(head["journal"], set()).update((head["journal"], head["incarnation"]))
        for journal in words.keys() - {self.word}:
            if words[journal].isdisjoint(previous):
                yield f"the heads of the journal {journal}"

    def keys_on_record(self) -> Iterator[str]:
        """The keys, their announcements, and which of them are trusted."""
        self.trusted, previous = set(self.keys), b""
        keys = self.ask("SELECT number, public, reason, announced FROM key ORDER BY number")
        for expected, (number, public, reason, announced) in enumerate(keys, 1):
            text = signed_text("key", journal=self.word, previous=in_base64(previous), next=in_base64(public))
            is_announced = bool(previous and announced and is_signed(previous, text, announced))
            if number != expected or (previous and not is_announced and (announced or not reason)):
                yield f"key {number}"
            if not self.keys or (is_announced and previous in self.trusted):
                self.trusted.add(public)
            previous = public
        if (keys or self.keys) and not self.ask("SELECT 1 FROM head LIMIT 1"):
            yield "no head"

    def cuts(self, table: str) -> Iterator[str]:
        """The rows that retention deleted: the newest cut is the beginning of the chain."""
        for row, sequence, hashed, state, utc_us, signature in self.ask(
            "SELECT row, sequence, hash, state, utc_us, signature FROM anchor WHERE table_name = ? AND reason = 'cut'"
            " ORDER BY row",
            table,
        ):
            place = {"table": table, "row": row, "sequence": sequence, "time": time_of(utc_us), "hash": hashed.hex()}
            text = signed_text("cut", journal=self.word, **place)
            is_genuine = any(is_signed(key, text, signature or b"") for key in self.trusted)
            if state is not None or not is_genuine:
                yield f"{table}: the cut of row {row}"
            if is_genuine:
                self.cut, self.place, self.hashes = row, (row, sequence, hashed), {row: hashed}
        for name, column, last in (("step", "row", 0), ("step_4", "row", 0), ("event", "sequence", 1)):
            query = f"SELECT 1 FROM {name} WHERE table_name = ? AND {column} <= ? LIMIT 1"
            if self.ask(query, table, self.place[last]):
                yield f"{table}: a {name} before the first row"

    def of_heads(self, table: str, witnessed: list[dict[str, Any]]) -> Iterator[str]:
        """The heads of the journal and of the witness, and the rows that require one."""
        last, signed = 0, set()
        for row, sequence, shoe, number, utc_us, hashed, incarnation, public, signature in self.ask(
            "SELECT row, sequence, shoe, round, head.utc_us, hash, incarnation, public, signature"
            " FROM head LEFT JOIN key ON key.number = head.key WHERE table_name = ? ORDER BY row",
            table,
        ):
            place = {"table": table, "row": row, "sequence": sequence, "shoe": shoe, "round": number}
            head = {"incarnation": incarnation, **place, "time": time_of(utc_us), "hash": hashed.hex()}
            signed.add(row)
            if self.fits(head, public or b"", signature):
                last = row
            else:
                yield f"{table}: the head of row {row}"
        for head in witnessed:
            if head["row"] >= self.cut and not self.fits(head, b64decode(head["key"]), b64decode(head["signature"])):
                yield f"{table}: the witnessed head of row {head['row']}"
        if self.keys:
            yield from self.required(table, signed, last)

    def fits(self, head: dict[str, Any], public: bytes, signature: bytes) -> bool:
        """Whether a trusted key signed the head, and the row has its hash and its incarnation."""
        names = ("incarnation", "table", "row", "sequence", "shoe", "round", "time", "hash")
        text = signed_text("head", journal=self.word, **{name: head[name] for name in names})
        words = self.ask(
            "SELECT word FROM incarnation JOIN incarnation_table USING (number) WHERE table_name = ? AND row < ?"
            " ORDER BY number DESC LIMIT 1",
            *(head["table"], head["row"]),
        )
        return (
            public in self.trusted
            and is_signed(public, text, signature)
            and self.hashes.get(head["row"], b"").hex() == head["hash"]
            and head["incarnation"] == (words[0][0] if words else self.word)
        )

    def required(self, table: str, signed: set[int], last: int) -> Iterator[str]:
        """With a given key: the rows without a head, and the rounds after the last one."""
        ((anchor,),) = self.ask("SELECT coalesce(max(row), 0) FROM anchor WHERE table_name = ?", table)
        events = self.ask("SELECT row, type FROM event WHERE table_name = ? ORDER BY sequence", table)
        with_events = {row for row, _ in events}
        closed = {row for (row,) in self.ask("SELECT row FROM step WHERE table_name = ? AND kind = 'LinkDown'", table)}
        moments = {row for row, kind in events if kind in HEAD_MOMENTS} | (closed & with_events)
        yield from (f"{table}: no head of row {row}" for row in sorted(moments - signed) if row > anchor)
        if sum(kind == "round.started" and row > last for row, kind in events) > 1:
            yield f"{table}: no head after row {last}"

    def sealed(self, table: str) -> Iterator[str]:
        """The rows of earlier versions."""
        query = "SELECT row, sequence, hash FROM seal WHERE table_name = ? AND row > ? ORDER BY row"
        for run in self.ask(query, table, self.cut):
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
        query = (
            "SELECT row, sequence, hash, state, reason, utc_us FROM anchor WHERE table_name = ? AND row > ?"
            " AND reason <> 'cut'"
        )
        anchors = self.ask(query, table, self.cut)
        if bool(anchors) != (self.place[0] > self.cut):
            yield f"{table}: the anchor"
        for row, sequence, hashed, state, reason, utc_us in anchors:
            expected = digest(self.place[2], [table, *self.place[:2], state, utc_us])
            if (row, sequence, hashed, reason) != (*self.place[:2], expected, "seal"):
                yield f"{table}: the anchor of row {row}"
            self.place = (self.place[0], self.place[1], hashed)
            self.digests[row], self.hashes[row] = state, hashed

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
            self.digests[row], self.hashes[row] = state, hashed
        for number, event in enumerate(events, start=sequence + 1):
            if event[0] != number or event[-1] not in self.digests:
                yield f"{table}: event {event[0]}"

    def incarnations(self, table: str) -> Iterator[str]:
        """The rows with settings name the incarnations that begin before them, since the last salvage."""
        later = self.ask(
            "SELECT row, sequence, word FROM incarnation JOIN incarnation_table USING (number) WHERE table_name = ?"
            " AND number > (SELECT coalesce(max(number), 1) FROM incarnation WHERE reason = 'salvaged')",
            table,
        )
        salvages = self.ask("SELECT 1 FROM incarnation WHERE reason = 'salvaged'")
        for row, kind in self.ask("SELECT row, kind FROM step WHERE table_name = ?", table):
            words = []
            if kind == "Configured":
                with suppress(zlib.error, ValueError):  # of an altered row
                    words = self.body(table, row)["input"].get("words", [])
            for before, sequence, word in later:
                is_settled = words or row == before + 1
                if is_settled and ([sequence, word] in words) != (before < row):
                    yield f"{table}: the incarnation {word} in row {row}"
            known = {word for _, _, word in later}
            if not salvages and not known.issuperset(word for _, word in words[1:]):
                yield f"{table}: an incarnation of row {row}"

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
