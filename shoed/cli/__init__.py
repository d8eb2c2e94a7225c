"""`shoed COMMAND`: one module for each command. Only the module of the typed command is imported."""

import argparse
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final, TypedDict

from shoed import VERSION
from shoed.errors import NotRunning, ShoedError, UsageError

WRONG: Final = 1
WRONG_USE: Final = 2  # as in argparse
NOT_RUNNING: Final = 3  # as in `systemctl status`
INTERRUPTED: Final = 130

# The module of each command has `add_arguments(parser)`, which also names the function that runs it.
COMMANDS: Final[Mapping[str, str]] = {
    "run": "run the daemon for the tables of a configuration",
    "check": "list every problem of a configuration",
    "decode": "convert the bytes of a device to JSON lines",
    "capture": "record the bytes of a device in a file",
    "replay": "play a capture through the daemon, its journal and its broker",
    "ports": "list the ports and the device families that can use them",
    "status": "show the tables of the running daemon, and the open questions",
    "tell": "send a command to a table of the running daemon",
    "doctor": "examine the installation, and name the remedy of each problem",
    "bundle": "make the archive that support needs, without secrets",
    "log": "change the log level of the running daemon",
    "restart": "restart the daemon between two rounds, for example after an update",
    "journal": "verify or show the journal",
    "rig": "run a virtual device",
    "conform": "test an Open Shoe device, clause by clause",
    "rules": "print the rule books, and settle rounds with them",
    "demo": "run a virtual shoe, the daemon and a broker, and show the table in this terminal",
}


def main(arguments: list[str] | None = None) -> int:
    # Some supervisors close the standard streams: the output then goes to /dev/null, and the input is empty.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- open until the end
    sys.stderr = sys.stderr or sys.stdout
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 -- open until the end
    typed = sys.argv[1:] if arguments is None else arguments
    top = parser(typed[0] if typed else "")
    parsed, words = top.parse_known_args(typed)
    if words and "words" not in parsed:
        top.error(f"unrecognized arguments: {' '.join(words)}")
    parsed.words = words
    try:
        status: int = parsed.command(parsed)
    except ShoedError as error:
        print(error, file=sys.stderr)
        match error:
            case UsageError():
                return WRONG_USE
            case NotRunning():
                return NOT_RUNNING
            case _:
                return WRONG
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has closed it
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # the interpreter flushes the rest of the output at its end
        return WRONG
    except OSError as error:
        print(f"{error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        return WRONG
    return status


class About(TypedDict):
    """The purpose of a command, in the list of commands and in its own help."""

    help: str
    description: str


def about(purpose: str) -> About:
    return About(help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")


def parser(typed: str) -> argparse.ArgumentParser:
    """Arguments are defined for the typed command only: each definition costs time at every start."""
    top = argparse.ArgumentParser(
        prog="shoed", description="Driver and daemon for the card shoes and shufflers of baccarat tables."
    )
    top.add_argument("--version", action="version", version=f"shoed {VERSION}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name in [typed] if typed in COMMANDS else COMMANDS:
        command = commands.add_parser(name, add_help=name != "tell", **about(COMMANDS[name]))
        if name == typed:
            import_module(f"shoed.cli.{name}").add_arguments(command)
    return top
