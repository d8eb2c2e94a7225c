"""`shoed doctor`: examine the installation, and print each result with its remedy (docs/doctor.md)."""

import argparse
import asyncio
import sys
from typing import Final

import msgspec

from shoed.cli import ExitStatus
from shoed.cli.options import add_state_dir
from shoed.cli.parser import duration
from shoed.service.doctor.catalogue import CheckResult, Level
from shoed.service.doctor.examine import Report, examine

LISTEN_S: Final = 3.0
WIDTH: Final = max(len(level.value) for level in Level)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_state_dir(parser)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--listen",
        type=duration,
        default=LISTEN_S,
        metavar="SECONDS",
        help="listen on each port for this time, if no daemon runs (default: %(default)g)",
    )
    parser.set_defaults(command=doctor)


def doctor(arguments: argparse.Namespace) -> int:
    if sys.stderr.isatty():
        sys.stderr.write(f"if no daemon runs, doctor listens for {arguments.listen:g} s: draw a card\n")
    file = None if arguments.state_dir is not None else arguments.config
    report = asyncio.run(examine(file, arguments.state_dir, arguments.listen))
    print(msgspec.json.encode(report).decode() if arguments.json else text(report))
    return ExitStatus.WRONG if report.level is Level.PROBLEM else ExitStatus.GOOD


def text(report: Report) -> str:
    lines = [line for each in report.results for line in result_lines(each)]
    counts = {level: sum(each.level is level for each in report.results) for level in Level}
    summary = ", ".join(f"{level.value}: {count}" for level, count in counts.items() if count)
    return "\n".join((*lines, f"shoed {report.version}: {summary}"))


def result_lines(found: CheckResult) -> list[str]:
    where = f"{found.where}: " if found.where else ""
    lines = [f"{found.level.value:{WIDTH}}  {found.check.value}: {where}{found.text}"]
    return [*lines, f"{'':{WIDTH}}  remedy: {found.remedy}"] if found.remedy else lines
