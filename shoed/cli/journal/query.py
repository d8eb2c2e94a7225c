"""`shoed journal query`: select events, for a person or as JSON lines."""

import sys
from argparse import Namespace

from shoed.cli.journal.checked import FEW, RowsRead, examined
from shoed.cli.journal.exported import encode, exported
from shoed.cli.journal.opening import add_journal, chosen
from shoed.cli.journal.selection import (
    add_filters,
    add_selection,
    existing_rounds,
    selected,
    selection_of,
    with_place,
)
from shoed.cli.journal.wording import in_words
from shoed.cli.options import state_dir_of
from shoed.cli.parser import Parser
from shoed.errors import JournalError
from shoed.journal.scan import EventRow
from shoed.model.moments import rfc3339


def add_arguments(parser: Parser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all)")
    add_selection(parser)
    add_filters(parser)
    parser.add_argument("--json", action="store_true", help="print JSON: one event on each line")
    add_journal(parser)
    parser.set_defaults(command=query)


def query(arguments: Namespace) -> int:
    selection, found = selection_of(arguments), False
    with examined(state_dir_of(arguments)) as reader:
        read = RowsRead(reader, FEW)
        tables = with_place(reader, chosen(reader, arguments.tables), selection)
        for table in tables:
            for event in read.noted(table, selected(reader, table, selection)):
                found = True
                if arguments.json:
                    sys.stdout.buffer.write(encode(exported(reader, table, event)) + b"\n")
                else:
                    print(line(table, event))
        if not found:
            raise JournalError(f"no event has all selected values; the journal has {existing_rounds(reader, tables)}")
        return read.warn()


def line(table: str, event: EventRow) -> str:
    data = event.data
    shoe, played = data.get("shoe"), data.get("round")
    place = "" if shoe is None else f"{shoe}" if played is None else f"{shoe}.{played}"
    words = in_words(event.type, data)
    return f"{rfc3339(event.utc_us)}  {table} {event.sequence:<6} {place:<7} {event.type:<22} {words}".rstrip()
