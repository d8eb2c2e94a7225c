"""A witness: a file of the signed heads that another machine received, each verified.

Theory of operation: each head is one line of JSON, with the time of its receipt, and synced to the disk. A head is
compared with the newest accepted head of its table in the same incarnation of the same journal. A row has one hash, and
the last event of a later row is not an earlier event. A head that breaks these rules, or is of another key, is written
with its `problem`: the journal was rewritten. A head with a wrong signature is of another sender, and is not written.
Without a given key, the first key of each table is accepted, and each other key is a problem.
"""

import fcntl
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec
from msgspec.structs import asdict

from shoed.errors import WitnessError
from shoed.journal.heads import Head, is_announced_by, is_genuine
from shoed.typed_json import decoder

BEGIN: Final = b'{"journal":'
LONGEST: Final = 4096  # bytes of a message; a longer one is not a head


class WitnessedHead(Head, frozen=True, omit_defaults=True):
    """A head, the time of its receipt, and its problem."""

    received: str = ""
    problem: str = ""


class Judgement(msgspec.Struct, frozen=True):
    """The result for a message. `note`: for a person, if there is something to say."""

    note: str = ""
    is_problem: bool = False


HeadPlace = tuple[str, str, str]  # journal, incarnation, table

SEEN: Final = Judgement()
REWRITTEN: Final = "the journal was rewritten, or a copy of it is in use: the witness has this row"
SENDER: Final = "search for another sender on the broker"

encode: Final = msgspec.json.Encoder().encode


class Witness:
    """The file of the witness. One process writes it."""

    def __init__(self, path: Path, keys: Collection[str] = ()) -> None:
        self.path = path
        self.keys = keys  # the accepted public keys in base64; empty: the first key of each table
        self.newest: dict[HeadPlace, Head] = {}
        self.first_keys: dict[str, str] = {}  # by table
        self.announced: set[str] = set()  # keys that an accepted key announced
        self.payloads: dict[str, bytes] = {}  # by table: the last message

    def __enter__(self) -> Self:
        self.file = self.path.open("ab+")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise WitnessError(f"{self.path}: another witness writes the file; name another file") from None
        try:
            require_heads(self.path)
        except WitnessError:
            self.file.close()
            raise
        for head in witnessed(self.path):
            if not head.problem:
                self.accept(head)
        end = self.file.seek(0, os.SEEK_END)
        if end and os.pread(self.file.fileno(), 1, end - 1) != b"\n":
            self.file.write(b"\n")  # a power cut left a part of a line
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    def take(self, table: str, payload: bytes, received: str) -> Judgement:
        """Judge and record the payload of the topic of a table. The broker repeats the last one at each connection."""
        if not payload or self.payloads.get(table) == payload:
            return SEEN
        self.payloads[table] = payload
        try:
            head = decoder(Head).decode(payload[:LONGEST])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Judgement(f"{table}: a message is not a head; {SENDER}", is_problem=True)
        if head.table != table:
            return Judgement(f"{table}: the head is of the table {head.table}; {SENDER}", is_problem=True)
        if not is_genuine(head):
            return Judgement(
                f"{table}: row {head.row}: the signature is wrong; verify the journal, and {SENDER}", is_problem=True
            )
        if (problem := self.problem(head)) is None:
            return SEEN
        line = WitnessedHead(**asdict(head), received=received, problem=problem)
        self.file.write(encode(line) + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        if problem:
            return Judgement(f"{table}: row {head.row}: {problem}", is_problem=True)
        return Judgement(self.accept(head))

    def problem(self, head: Head) -> str | None:
        """The problem of a genuine head, or an empty text. None: the file has the head."""
        if not self.accepts(head):
            return (
                f"another key signed the head: {head.key}; compare it with journal.pub, and with the table `key` of the"
                " journal; then give the new file with --key"
            )
        last = self.newest.get(place(head))
        if last is None or (head.row > last.row and head.sequence >= last.sequence):
            return ""
        for earlier in witnessed(self.path):
            if place(earlier) == place(head) and earlier.row == head.row and not earlier.problem:
                return None if earlier.text == head.text else f"{REWRITTEN}, with the hash {earlier.hash}"
        return f"{REWRITTEN.replace('this row', f'row {last.row}')}, with the sequence {last.sequence}"

    def accepts(self, head: Head) -> bool:
        """Whether the key of the head is accepted, or an accepted key announced it."""
        accepted = self.accepted(head)
        return head.key in accepted or is_announced_by(head, accepted)

    def accepted(self, head: Head) -> set[str]:
        return {*self.announced, *(self.keys or {self.first_keys.get(head.table, head.key)})}

    def accept(self, head: Head) -> str:
        """Continue from this head. Return what is new."""
        earlier = [each for each in self.newest if each[2] == head.table]
        note = ""
        if not earlier:
            trust = "" if self.keys else "; the witness accepts this key: compare it with journal.pub"
            note = f"the first head, of the journal {head.journal} and the key {head.key}{trust}"
        elif place(head) not in earlier:
            kind = "incarnation" if any(each[0] == head.journal for each in earlier) else "journal"
            note = f"another {kind} begins: {head.journal} {head.incarnation}"
        elif head.key not in self.accepted(head):
            note = f"another key signs the heads, and the key before announced it: {head.key}"
        self.first_keys.setdefault(head.table, head.key)
        if head.previous:
            self.announced.add(head.key)
        self.newest[place(head)] = head
        return note and f"{head.table}: row {head.row}: {note}"


def place(head: Head) -> HeadPlace:
    return head.journal, head.incarnation, head.table


def require_heads(path: Path) -> None:
    """Raise an error for a line that does not begin as a head. A power cut leaves the beginning of a line, or zeros."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            begin = line.strip(b"\0\n")[: len(BEGIN)]
            if not BEGIN.startswith(begin):
                raise WitnessError(
                    f"{path}:{number}: this line is not a signed head, and the file is not changed; name a new file, or"
                    " the file of a witness"
                )


def witnessed(path: Path) -> Iterator[WitnessedHead]:
    """The heads of a file of a witness or of the daemon. Lines that are not heads are left out."""
    return (head for _, head in lines_of(path) if head is not None)


def lines_of(path: Path) -> Iterator[tuple[int, WitnessedHead | None]]:
    """The number of each line with content, and its head; None for a line that is not a head."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            head = None
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                head = decoder(WitnessedHead).decode(line)
            if head is not None or line.strip():
                yield number, head
