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
    for table in back_up(source, directory):
        print(
            f"{table.name}: {table.rows} rows copied, up to row {table.last_row}; the last round is {table.last_round}"
        )
    path = directory / JOURNAL
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB; every row was verified")
    return 0
