"""`shoed journal report`: a shoe or a day as an HTML page, for a browser or a printer."""

from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from shoed import VERSION
from shoed.cli import say
from shoed.cli.journal.checked import RowsRead, examined
from shoed.cli.journal.moments import add_zone, day_of, zone_for
from shoed.cli.journal.opening import add_journal, chosen
from shoed.cli.journal.output import add_output, output
from shoed.cli.journal.page import PageHeader, page
from shoed.cli.journal.reported import PeriodReport, day_report, shoe_report
from shoed.cli.journal.selection import existing_rounds
from shoed.cli.journal.values import number
from shoed.cli.options import state_dir_of
from shoed.cli.parser import Parser
from shoed.errors import JournalError
from shoed.journal import Reader

SECONDS: Final = timedelta(seconds=1)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all)")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--shoe", metavar="N", help="this shoe (default: the last one of each table)")
    part.add_argument("--day", metavar="DATE", help="this day, as 2026-11-19")
    add_zone(parser)
    add_output(parser)
    add_journal(parser)
    parser.set_defaults(command=report)


def report(arguments: Namespace) -> int:
    shoe = None if arguments.shoe is None else number(arguments.shoe, "--shoe")
    zone = zone_for("--day DATE", arguments, has_days=arguments.day is not None)
    day = None if arguments.day is None else day_of("--day", arguments.day, zone)
    with examined(state_dir_of(arguments)) as reader:
        tables = chosen(reader, arguments.tables)
        if day is None:
            wanted = "a shoe" if shoe is None else f"shoe {shoe}"
            several = (shoe_report(reader, each, shoe) for each in tables)
        else:
            wanted = f"an event of {arguments.day} {zone}"
            several = (day_report(reader, each, f"{arguments.day} {zone}", day) for each in tables)
        found = [each for each in several if each is not None]
        if not found:
            raise JournalError(f"the journal does not have {wanted}; {existing_rounds(reader, tables)}")
        with output(arguments) as file:
            for part in page(head(reader, found), found):
                file.write(part.encode())
        return warn(reader, found)


def warn(reader: Reader, found: Sequence[PeriodReport]) -> int:
    """Print the changes of the rows, as the pages also have them. Returns the exit status."""
    read, is_changed = RowsRead(reader), False
    for each in found:
        for event in each.events:
            read.note(each.table, event)
        if reader.is_chained and each.verified is not None and not each.verified.is_good:
            say(f"warning: {each.table}: {each.verified.head or each.verified.chain}; run: shoed journal verify")
            is_changed = True
    return read.warn() or int(is_changed)


def head(reader: Reader, found: Sequence[PeriodReport]) -> PageHeader:
    titles = {each.title for each in found}
    subject = f"{', '.join(each.table for each in found)}: {titles.pop() if len(titles) == 1 else 'last shoes'}"
    made = datetime.now(UTC).isoformat(" ", "seconds").replace("+00:00", "Z")
    return PageHeader(subject, f"journal {reader.word}, {reader.path.absolute()}", f"made by shoed {VERSION} at {made}")
