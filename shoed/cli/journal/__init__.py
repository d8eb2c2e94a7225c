"""`shoed journal`: one module for each task.

The tasks of reading do not change the journal. The journal may be a copy, or the file of a running daemon.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from shoed.cli import About
from shoed.cli.parser import Parser

# The module of each task has `add_arguments(parser)`, which also names the function that runs it.
TASKS: Final[Mapping[str, About]] = {
    "show": About(
        "print the rows of a table: the received bytes and their results",
        (
            "shoed journal show bac-901",
            "shoed journal show bac-901 --rows 100-120",
            "shoed journal show bac-901 --round 2.17",
        ),
    ),
    "replay": About(
        "recompute the events from the recorded observations and bytes, and print each difference from the journal",
        ("shoed journal replay --check", "shoed journal replay --check bac-901 --state-dir copy"),
    ),
    "witness": About(
        "keep the signed heads of a site in a file, on another machine",
        (
            "shoed journal witness heads.jsonl --config shoed.toml",
            "shoed journal witness heads.jsonl --url mqtt://10.0.0.8 --site rws --key journal.pub",
        ),
    ),
}


def add_arguments(parser: Parser) -> None:
    parser.add_commands("TASK")
    for name, about in TASKS.items():
        task = parser.add_command(name, about.purpose, *about.examples)
        import_module(f"shoed.cli.journal.{name}").add_arguments(task)
