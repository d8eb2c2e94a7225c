"""`shoed journal verify`: verify the chain of hashes of a journal, and name each change."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from shoed.cli.journal.opening import add_journal, chosen, opened
from shoed.cli.options import state_dir_of
from shoed.cli.parser import Parser
from shoed.errors import JournalUnusable
from shoed.journal import Reader
from shoed.journal.schema import CHAINED
from shoed.journal.verify import Verification, file_findings

SHOWN: Final = 10  # changes of each table
REMEDY: Final = (
    "The journal was changed after it was written, or the disk damaged it. Keep a copy of its files as evidence.\n"
    "Verify a backup, and compare the named rows in both files: shoed journal show TABLE --rows A-B"
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all)")
    add_journal(parser)
    parser.set_defaults(command=run)


def run(arguments: Namespace) -> int:
    return verify(state_dir_of(arguments), arguments.tables)


def verify(place: Path, names: Sequence[str]) -> int:
    """Verify each table, and print the changes. Returns the exit status."""
    is_changed = False
    with opened(place) as reader:
        if reader.schema < CHAINED:
            raise JournalUnusable(
                f"{reader.path}: a journal of schema {reader.schema} has no hashes; the first start of this shoed adds"
                " them; until then, run: shoed journal replay --check"
            )
        tables = chosen(reader, names)
        for change in file_findings(reader):
            print(change)
            is_changed = True
        for name in tables:
            verification = Verification(reader, name)
            found = [str(each) for each in islice(verification.findings(), SHOWN + 1)]
            is_changed = is_changed or bool(found)
            for line in found[:SHOWN] if found else summary(reader, verification):
                print(line)
            if len(found) > SHOWN:
                print(f"{name}: more changes follow")
    if is_changed:
        print(REMEDY)
    return int(is_changed)


def summary(reader: Reader, verification: Verification) -> Iterator[str]:
    name, tip = verification.table, verification.tip
    yield (
        f"{name}: rows {verification.first_row}-{tip.row} and {verification.events} events are unchanged;"
        f" the hash of row {tip.row} is {tip.hash.hex()}"
    )
    for anchor in reader.anchors(name):
        if anchor.reason == "seal":
            yield f"{name}: the rows up to {anchor.row} are of an earlier version; its update sealed them"
