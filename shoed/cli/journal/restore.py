"""`shoed journal restore`: replace the journal of a stopped daemon by a backup."""

from pathlib import Path

from shoed.cli.options import add_state_dir, state_dir_of
from shoed.cli.parser import Parser, path
from shoed.journal.from_backup import restore
from shoed.journal.store import JOURNAL


def add_arguments(parser: Parser) -> None:
    parser.add_argument("backup", type=path, metavar="BACKUP", help="the directory of the backup, or its file")
    add_state_dir(parser)
    parser.set_defaults(command=lambda arguments: run(arguments.backup, state_dir_of(arguments)))


def run(backup: Path, state_dir: Path) -> int:
    restored = restore(backup / JOURNAL if backup.is_dir() else backup, state_dir)
    for name, row, played in restored.tables:
        print(f"{name}: restored up to row {row}; the last round is {played}")
    for name, known in restored.lost.items():
        last = f"{known.shoe}.{known.round}" if known.shoe else "none"
        print(f"{name}: all rows are lost, and the table begins again; the last known round is {last}")
    if restored.set_aside is not None:
        print(f"{restored.set_aside}: the previous journal")
    print("the ids of all new events begin with a new word; start the daemon, then look at: shoed status")
    return 0
