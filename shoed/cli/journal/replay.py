"""`shoed journal replay`: recompute a journal from its record, while a daemon may write."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from shoed.cli.journal.opening import chosen, opened
from shoed.cli.options import add_state_dir, state_dir_of
from shoed.cli.parser import Parser
from shoed.engine import ENGINE, Engine
from shoed.errors import JournalUnusable
from shoed.journal.replay import decode_again, rehearse
from shoed.service.config import recall
from shoed.service.engines import engine_of
from shoed.session import SessionState

SHOWN: Final = 10  # differences of each check; later ones are usually consequences of the first


def add_arguments(parser: Parser) -> None:
    parser.add_argument("--check", action="store_true", help="has no further effect: every replay is a check")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all)")
    add_state_dir(parser)
    parser.set_defaults(command=lambda arguments: check(state_dir_of(arguments), arguments.tables))


def engine_for(word: str, settings: str) -> Engine[SessionState]:
    try:
        return engine_of(recall(settings), word)
    except (KeyError, TypeError, msgspec.DecodeError) as error:
        raise JournalUnusable(
            f"{settings}: this shoed cannot read the settings ({error}); use the version that wrote the journal"
        ) from error


def check(state_dir: Path, names: Sequence[str]) -> int:
    """Recompute each table, and print the differences. Returns the exit status."""
    wrong = False
    with opened(state_dir) as reader:
        for name in chosen(reader, names):
            rows, events = reader.counts(name)  # at first: the rows that a running daemon adds are not counted
            found = [
                difference
                for way in (rehearse, decode_again)
                for difference in islice(way(reader, name, partial(engine_for, reader.word)), SHOWN)
            ]
            wrong = wrong or bool(found)
            verdict = "these differ when recomputed:" if found else "recomputed without a difference"
            print(f"{name}: {rows} rows and {events} events on record; {verdict}")
            for difference in found:
                print(f"{name}: row {difference.row}: {difference.what}")
                print(f"    recorded:   {difference.recorded}")
                print(f"    recomputed: {difference.recomputed}")
            others = [engine for engine in reader.engines(name) if engine != ENGINE]
            if found and others:
                print(f"{name}: engine {', '.join(map(str, others))} wrote rows; this shoed has engine {ENGINE}")
    return int(wrong)
