"""`heads.jsonl`: the signed heads of the daemon, beside the journal.

Theory of operation: after a commit, the thread of the journal appends each new head as one line of JSON, in the form of
the retained message `head`. The file is not a part of the journal: a damaged or older journal is recognised by heads
that it lacks. At LONGEST bytes the file becomes `heads.jsonl.1`, and the new file begins with the newest head of each
table and word. A line is not synced to the disk: after a power cut the file may lack heads that the journal has.
"""

import errno
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Final

import msgspec

from shoed.journal.heads import Head
from shoed.typed_json import decoder

NAME: Final = "heads.jsonl"
LONGEST: Final = 1_000_000  # some 2,000 rounds

LOG: Final = logging.getLogger("shoed.journal")

encode: Final = msgspec.json.Encoder().encode
decode: Final = decoder(Head).decode


class HeadLog:
    def __init__(self, state_dir: Path, longest: int = LONGEST) -> None:
        self.path = state_dir / NAME
        self.longest = longest
        self.problem = ""  # the last logged problem

    def append(self, heads: Sequence[Head]) -> None:
        """Append heads that are committed. A problem of the file is logged, and does not stop the tables."""
        if not heads:
            return
        try:
            lines = b"".join([encode(head) + b"\n" for head in heads])
            with self.path.open("ab+", buffering=0) as file:
                end = file.tell()
                if end and (file.seek(end - 1), file.read(1))[1] != b"\n":
                    lines = b"\n" + lines  # a power cut left a part of a line
                write_whole(file, lines, end)
            if end + len(lines) > self.longest:
                self.rotate()
        except OSError as error:
            if self.problem != str(error):
                self.problem = str(error)
                LOG.warning("%s: the heads are not written: %s; check the state directory", self.path, error.strerror)

    def rotate(self) -> None:
        newest = newest_heads(self.path.parent)
        trial = self.path.with_name(f"{NAME}.new")
        trial.write_bytes(b"".join([encode(head) + b"\n" for heads in newest.values() for head in heads]))
        self.path.rename(earlier(self.path))
        trial.rename(self.path)


def write_whole(file: FileIO, lines: bytes, end: int) -> None:
    """Append all lines or nothing: a disk that becomes full takes a part of them."""
    if file.write(lines) < len(lines):
        file.truncate(end)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def earlier(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def logged_heads(state_dir: Path) -> Iterator[Head]:
    """The heads in the order of writing. Lines that are not heads are logged; signatures are not verified."""
    path = state_dir / NAME
    for each in (earlier(path), path):
        damaged = 0
        with suppress(FileNotFoundError), each.open("rb") as file:
            for line in file:
                try:
                    yield decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    damaged += 1
        if damaged:
            LOG.warning(
                "%s: %d lines are not signed heads, and are left out; a power cut can damage a line", each, damaged
            )


def newest_heads(state_dir: Path) -> dict[str, list[Head]]:
    """By table: the newest head of each word, in the order of writing."""
    newest: dict[tuple[str, str], Head] = {}
    for head in logged_heads(state_dir):
        newest.pop((head.table, head.incarnation), None)
        newest[head.table, head.incarnation] = head
    found: dict[str, list[Head]] = {}
    for head in newest.values():
        found.setdefault(head.table, []).append(head)
    return found
