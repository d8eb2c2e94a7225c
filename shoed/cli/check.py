"""`shoed check`: list every problem of a configuration, and of the files that it names.

The files are tried with the rights of the daemon's user: of `--as`, or of the systemd unit's user if root runs the
command. Without either, they are tried with the rights of the present user.
"""

import argparse
import os
import pwd
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from shoed.cli import ExitStatus
from shoed.cli.options import CONFIG, add_config
from shoed.errors import Problem, SettingsError, UsageError
from shoed.service.as_user import UNIT_USER, User, as_user, chosen_user
from shoed.service.config import load
from shoed.service.secret_files import Purpose
from shoed.typed_json import decoder


class Findings(msgspec.Struct, frozen=True):
    """The problems of a configuration, and its tables if it has none."""

    site: str | None = None
    tables: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


class ReportedProblem(msgspec.Struct, frozen=True):
    """A problem or a warning. `line`: null if the file cannot be read."""

    file: str
    line: int | None
    key: str
    problem: str
    remedy: str


class CheckReport(msgspec.Struct, frozen=True):
    """`tried_as`: the user whose rights were tried. Without problems, `good` is true, and `site` is not null."""

    file: str
    good: bool
    tried_as: str
    site: str | None
    tables: tuple[str, ...]
    problems: tuple[ReportedProblem, ...]
    warnings: tuple[ReportedProblem, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="the configuration, in place of --config")
    add_config(parser)
    parser.add_argument(
        "--as",
        dest="user",
        metavar="USER",
        help=f"try all files and ports with the rights of USER (default: {UNIT_USER}, for root; else yourself)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(command=check)


def check(arguments: argparse.Namespace) -> int:
    file = file_of(arguments)
    user = chosen_user(arguments.user)
    if user is None:
        purpose = Purpose.CHECK if os.geteuid() else Purpose.SERVE  # root without the user of the unit runs the daemon
        found, tried_as = findings(file, purpose), name_of(os.geteuid())
    else:
        found, tried_as = findings_of(file, user), user.name
    if arguments.json:
        report = CheckReport(
            file=file,
            good=not found.problems,
            tried_as=tried_as,
            site=found.site,
            tables=found.tables,
            problems=tuple(ReportedProblem(*each) for each in found.problems),
            warnings=tuple(ReportedProblem(*each) for each in found.warnings),
        )
        print(msgspec.json.encode(report).decode())
    else:
        show(file, found, tried_as)
    return ExitStatus.WRONG if found.problems else ExitStatus.GOOD


def file_of(arguments: argparse.Namespace) -> str:
    if arguments.file is None:
        return str(arguments.config)
    if arguments.config not in (CONFIG, arguments.file):
        raise UsageError(f"{arguments.file} and --config {arguments.config} are two files; write one of them")
    return str(arguments.file)


def findings(file: str, purpose: Purpose) -> Findings:
    try:
        loaded = load(file, purpose)
    except SettingsError as error:
        return Findings(problems=error.problems)
    return Findings(loaded.site, tuple(table.name for table in loaded.tables), warnings=loaded.warnings)


def findings_of(file: str, user: User) -> Findings:
    """The findings with the rights of the user. The daemon of the unit names the file by its full path."""
    findings(file, Purpose.SERVE)  # imports all modules: the user may not be allowed to read them
    place = str(Path(file).absolute())
    found = as_user(user, lambda: msgspec.json.encode(findings(place, Purpose.SERVE)))
    return decoder(Findings).decode(found.replace(msgspec.json.encode(place), msgspec.json.encode(file)))


def name_of(uid: int) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def show(file: str, found: Findings, tried_as: str) -> None:
    for problem in found.problems:
        print(problem, file=sys.stderr)
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if not found.problems:
        absent = f" (there is no user {UNIT_USER})" if tried_as == "root" else ""
        print(f"{file}: good: {', '.join(found.tables)} at {found.site}; tried as {tried_as}{absent}")
