"""`shoed journal backup`: copy the journal to another directory, or continue an earlier copy."""

from pathlib import Path

from shoed.cli.journal.opening import add_journal, file_of
from shoed.cli.options import state_dir_of
from shoed.cli.parser import Parser, path
from shoed.journal.backup import back_up
from shoed.journal.store import JOURNAL


def add_arguments(parser: Parser) -> None:
    parser.add_argument("directory", type=path, metavar="DEST", help="the directory of the backup, new or earlier")
    add_journal(parser)
    parser.set_defaults(command=lambda arguments: run(file_of(state_dir_of(arguments)), arguments.directory))


def run(source: Path, directory: Path) -> int:
    tables = back_up(source, directory)
    for table in tables:
        print(
            f"{table.name}: {table.rows} rows copied, up to row {table.last_row}; the last round is {table.last_round}"
        )
    path = directory / JOURNAL
    gaps = sum(table.gaps for table in tables)
    salvaged = f"; gaps that a salvage named: {gaps} (shoed journal verify lists them)" if gaps else ""
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB; every row was verified{salvaged}")
    return 0
