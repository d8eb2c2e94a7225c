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
        "show a round from its result to the received bytes, the rounds of a shoe, or the rows of a table",
        (
            "shoed journal show bac-901",
            "shoed journal show bac-901 --round 2.17",
            "shoed journal show bac-901 --shoe 2",
            "shoed journal show bac-901 --rows 100-120",
        ),
    ),
    "query": About(
        "select events by table, shoe, round, time, card, irregularity, person or type",
        (
            "shoed journal query bac-901 --round 2.17",
            "shoed journal query --irregularity card-exposed --from 2026-11-19",
            "shoed journal query --role shift-manager --json",
        ),
    ),
    "stats": About(
        "count rounds, outcomes, cards, irregularities, decisions, faults and downtime",
        (
            "shoed journal stats",
            "shoed journal stats bac-901 --by shoe",
            "shoed journal stats --by day --zone +08:00 --from 2026-11-01 --json",
        ),
    ),
    "report": About(
        "write a page about a shoe or a day, for a browser or a printer",
        (
            "shoed journal report bac-901 --shoe 2 --out shoe-2.html",
            "shoed journal report --day 2026-11-19 --zone +08:00 --out day.html",
        ),
    ),
    "export": About(
        "write events as JSON lines, CSV or Parquet",
        (
            "shoed journal export --format csv --out events.csv",
            "shoed journal export bac-901 --from 2026-11-19 --to 2026-11-19",
        ),
    ),
    "replay": About(
        "recompute the events from the recorded observations and bytes, and print each difference from the journal",
        ("shoed journal replay --check", "shoed journal replay --check bac-901 --state-dir copy"),
    ),
    "verify": About(
        "find the first row of each table that was altered, removed, inserted or exchanged",
        (
            "shoed journal verify",
            "shoed journal verify bac-901 --state-dir copy",
            "shoed journal verify --key journal.pub --heads heads.jsonl",
        ),
    ),
    "status": About(
        "print the size of the journal, its growth per day, and the rows that keep_days and keep_mb will delete",
        ("shoed journal status", "shoed journal status --state-dir /mnt/backup/shoed"),
    ),
    "backup": About(
        "copy the journal to another directory, or continue an earlier copy; the daemon may run",
        ("shoed journal backup /mnt/backup/shoed", "shoed journal backup /mnt/backup/shoed --config shoed.toml"),
    ),
    "restore": About(
        "replace the journal of a stopped daemon by a backup",
        ("shoed journal restore /mnt/backup/shoed --state-dir /var/lib/shoed",),
    ),
    "salvage": About(
        "write every readable row of a damaged journal to a new journal, and name the gaps",
        ("shoed journal salvage /var/lib/shoed/journal-damaged-20261119T220000Z.db /root/salvaged",),
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
