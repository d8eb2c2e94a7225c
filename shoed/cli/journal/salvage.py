"""`shoed journal salvage`: write the readable rows of a damaged journal to a new journal, and name the gaps."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from shoed.cli.parser import Parser, path
from shoed.errors import JournalError
from shoed.journal import Reader, hold
from shoed.journal.backup import last_round
from shoed.journal.head_log import NAME
from shoed.journal.losses import NOT_PROVEN, REASONS, Losses, LossKind
from shoed.journal.salvage import SalvagedTable, salvage
from shoed.journal.schema import Use, absent, require_file
from shoed.journal.store import JOURNAL

SHOWN: Final = 20  # gaps of each table; `verify` prints all of them


def add_arguments(parser: Parser) -> None:
    parser.add_argument("damaged", type=path, metavar="DAMAGED", help="the damaged file, or the directory with it")
    parser.add_argument("directory", type=path, metavar="DEST", help="a new directory for the new journal")
    parser.set_defaults(command=lambda arguments: run(arguments.damaged, arguments.directory))


def run(damaged: Path, directory: Path) -> int:
    file, target = damaged / JOURNAL if damaged.is_dir() else damaged, directory / JOURNAL
    if not file.exists():
        raise absent(file, "name the damaged file, or the directory with it")
    require_file(file)
    try:
        file.open("rb").close()
    except OSError as error:
        raise JournalError(
            f"{file}: {error.strerror}; name a file that can be read, or run as the user of the daemon"
        ) from error
    if directory.exists() and directory.samefile(file.parent):
        raise JournalError(f"{directory} is the directory of the damaged file; name a new directory")
    with ExitStack() as held:
        if file.name == JOURNAL and (file.parent / "lock").exists():  # perhaps the journal of a running daemon
            held.enter_context(hold(file.parent, Use.READ))
        held.enter_context(hold(directory, Use.WRITTEN))
        if target.exists():
            raise JournalError(f"{target} exists; name a new directory")
        found = salvage(file, target)
    with Reader(target) as reader:
        for table in found.tables:
            print("\n".join(lines(table, last_round(reader, table.name))))
            for events in Losses(reader, table.name).events_without_rows:
                print(f"    {events}: {NOT_PROVEN}")
    if found.unread_pages:
        print(f"{file}: the disk could not read {found.unread_pages} pages; the last rows may be missing, too")
    if found.lost_heads:
        print(found.lost_heads)
    print(f"{target} is the new journal: read it with --state-dir {directory}, and keep {file} as evidence")
    return int(found.unread_pages > 0 or found.lost_heads != "" or any(table.losses for table in found.tables))


def lines(table: SalvagedTable, last_round: str) -> Iterator[str]:
    missing, unproven, events = (
        sum(loss.last - loss.first + 1 for loss in table.losses if loss.kind is kind)
        for kind in (LossKind.MISSING, LossKind.UNPROVEN, LossKind.EVENTS)
    )
    yield (
        f"{table.name}: {table.rows} rows and {table.events} events found; {missing} rows and {events} events lost;"
        f" rows that are not proven: {unproven}; the last round is {last_round}"
    )
    if not table.has_head:
        yield f"{table.name}: rows may be missing at the end: no head of the table in {NAME} beside the file names it"
    for loss in table.losses[:SHOWN]:
        yield f"    {loss}: {REASONS[loss.kind]}"
    if len(table.losses) > SHOWN:
        yield f"    and {len(table.losses) - SHOWN} further gaps; shoed journal verify prints all of them"
