"""Options and the opened journal that the tasks of `shoed journal` share.

The path of a journal is that of the daemon's state directory, of a directory with a copy, or of one file.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shoed.cli import say
from shoed.cli.options import add_config
from shoed.cli.parser import Parser, path
from shoed.errors import NoSuchTable, UsageError
from shoed.journal import Reader
from shoed.journal.growth import shoe_of
from shoed.journal.keys import read_public
from shoed.journal.store import JOURNAL


def add_journal(parser: Parser) -> None:
    place = parser.add_mutually_exclusive_group()
    add_config(place)
    place.add_argument(
        "--state-dir",
        type=path,
        metavar="DIR",
        help="the state directory, or the file of a journal, in place of --config",
    )


def file_of(place: Path) -> Path:
    return place if place.exists() and not place.is_dir() else place / JOURNAL


@contextmanager
def opened(place: Path) -> Iterator[Reader]:
    """A reader without a transaction: each of its queries reads the record of its own moment."""
    with Reader(file_of(place)) as reader:
        yield reader


def chosen(reader: Reader, names: Sequence[str], known: Sequence[str] = ()) -> Sequence[str]:
    """The named tables, each once; without a name all `known` tables. A deleted beginning of a record is reported."""
    known = known or reader.tables
    for name in names:
        if name not in known:
            raise NoSuchTable(name, known)
    found = list(dict.fromkeys(names or known))
    for name in found:
        if row := reader.begin(name).row:
            shoe = shoe_of(reader, name, "ASC")
            say(f"{name}: the record begins with row {row + 1}, in shoe {shoe}; earlier rows were deleted")
    return found


def add_public_keys(parser: Parser) -> None:
    parser.add_argument(
        "--key",
        type=path,
        action="append",
        default=[],
        metavar="FILE",
        help="trust only this public key, a copy of journal.pub; may be repeated",
    )


def public_keys_of(arguments: argparse.Namespace) -> list[bytes]:
    try:
        return [read_public(path) for path in arguments.key]
    except ValueError as error:
        raise UsageError("--key: " + "; ".join(error.args)) from error
