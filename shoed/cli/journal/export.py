"""`shoed journal export`: events as JSON lines, CSV or Parquet, in order.

Theory of operation: events are read in short transactions and written as they are read. The output ends with the last
event at the start of the export of its table; the memory does not grow with the journal.
"""

import csv
import io
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import BinaryIO, Final

from shoed.cli.journal import parquet
from shoed.cli.journal.checked import FEW, RowsRead, examined
from shoed.cli.journal.exported import ExportedEvent, encode, exported
from shoed.cli.journal.opening import add_journal, chosen
from shoed.cli.journal.output import add_output, output
from shoed.cli.journal.selection import Selection, add_selection, selected, selection_of, with_place
from shoed.cli.options import state_dir_of
from shoed.cli.parser import Parser
from shoed.errors import UsageError

COLUMNS: Final = ("id", "table", "sequence", "row", "time", "type", "shoe", "round", "data")
BATCH: Final = 2000  # events
PARQUET: Final = "parquet"

Batches = Iterator[Sequence[ExportedEvent]]


def add_arguments(parser: Parser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all)")
    parser.add_argument(
        "--format",
        choices=list(WRITERS),
        default="jsonl",
        help="JSON lines, CSV with a line of names, or Parquet, which needs pyarrow and --out (default: %(default)s)",
    )
    add_output(parser)
    add_selection(parser)
    add_journal(parser)
    parser.set_defaults(command=export)


def export(arguments: Namespace) -> int:
    selection = selection_of(arguments)
    if arguments.format == PARQUET:
        parquet.libraries()  # an error before the file exists
        if arguments.out is None:
            raise UsageError("--format parquet: the file needs a name; add --out FILE")
    with examined(state_dir_of(arguments)) as reader:
        read = RowsRead(reader, FEW)
        tables = with_place(reader, chosen(reader, arguments.tables), selection)
        with output(arguments) as file:
            WRITERS[arguments.format](batches(read, tables, selection), file)
        return read.warn()


def batches(read: RowsRead, tables: Sequence[str], selection: Selection) -> Batches:
    for table in tables:
        events = read.noted(table, selected(read.reader, table, selection))
        found = (exported(read.reader, table, event) for event in events)
        while batch := list(islice(found, BATCH)):
            yield batch


def write_lines(several: Iterable[Sequence[ExportedEvent]], file: BinaryIO) -> None:
    file.writelines(b"".join([encode(each) + b"\n" for each in batch]) for batch in several)


def write_csv(several: Iterable[Sequence[ExportedEvent]], file: BinaryIO) -> None:
    """Write RFC 4180 in UTF-8. An absent shoe or round is an empty field; `data` is JSON."""
    file.write((",".join(COLUMNS) + "\r\n").encode())
    for batch in several:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(cells(each) for each in batch)
        file.write(text.getvalue().encode())


def cells(event: ExportedEvent) -> list[object]:
    return [*(getattr(event, name) for name in COLUMNS[:-1]), bytes(event.data).decode()]


WRITERS: Final[Mapping[str, Callable[[Batches, BinaryIO], None]]] = {
    "jsonl": write_lines,
    "csv": write_csv,
    PARQUET: parquet.write,
}
