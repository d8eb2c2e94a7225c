"""`shoed COMMAND`: one module for each command. Only the module of the typed command is imported."""

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from shoed import VERSION
from shoed.cli.parser import Parser
from shoed.errors import NotRunning, ShoedError, UsageError


class ExitStatus(IntEnum):
    """The exit statuses of all commands."""

    GOOD = 0
    WRONG = 1
    WRONG_USE = 2  # as in argparse
    NOT_RUNNING = 3  # as in `systemctl status`
    INTERRUPTED = 130  # as a shell reports SIGINT
    PIPE_CLOSED = 141  # as a shell reports SIGPIPE


MEANINGS: Final[Mapping[ExitStatus, str]] = {
    ExitStatus.GOOD: "The command did what was asked.",
    ExitStatus.WRONG: "The command was refused or failed, or the thing that it examines is wrong.",
    ExitStatus.WRONG_USE: "The command line is wrong. Nothing was done.",
    ExitStatus.NOT_RUNNING: "`status`, `tell`, `log`, `restart` and `capture save`: no daemon runs.",
    ExitStatus.INTERRUPTED: "Ctrl-C ended the command, and Ctrl-C is not the usual end of the command.",
    ExitStatus.PIPE_CLOSED: "The reader of the output closed it, as `head` does. The command prints no error.",
}


class About(NamedTuple):
    purpose: str
    examples: tuple[str, ...]


# The module of each command has `add_arguments(parser)`, which also names the function that runs it.
COMMANDS: Final[Mapping[str, About]] = {
    "run": About("run the daemon for the tables of a configuration", ("shoed run", "shoed run --config shoed.toml")),
    "check": About(
        "list every problem of a configuration, and of the files that it names",
        ("shoed check", "shoed check shoed.toml", "shoed check --as shoed --json shoed.toml"),
    ),
    "status": About(
        "show the tables of the running daemon, and how to answer the open questions",
        ("shoed status", "shoed status bac-901 --watch", "shoed status --json --config shoed.toml"),
    ),
    "tell": About(
        "send a command to a table of the running daemon",
        (
            "shoed tell bac-901 open-bets --role dealer",
            "shoed tell bac-901 decide question=1 choice=continue --role shift-manager",
        ),
    ),
    "ports": About(
        "list the ports and the device families that can use them", ("shoed ports", "shoed ports --listen 10")
    ),
    "decode": About(
        "convert the bytes of a device to JSON lines", ("shoed decode --protocol angel-eye tcp://10.0.0.7:4001",)
    ),
    "capture": About(
        "record the bytes of a device in a file, or save those that the daemon received lately",
        (
            "shoed capture tcp://10.0.0.7:4001 --protocol angel-eye --out one.capture",
            "shoed capture save bac-901 --out one.capture",
        ),
    ),
    "replay": About(
        "play a capture through the daemon, its journal and its broker",
        ("shoed replay one.capture --table bac-901 --config shoed.toml --fast",),
    ),
    "doctor": About(
        "examine the installation, and name the remedy of each problem",
        ("shoed doctor", "shoed doctor --config shoed.toml --listen 10"),
    ),
    "bundle": About("make the archive that support needs, without secrets", ("shoed bundle --output bundle.tar.gz",)),
    "log": About("change the log level of the running daemon", ("shoed log debug",)),
    "restart": About(
        "restart the daemon between two rounds, for example after an update",
        ("shoed restart --between-rounds", "shoed restart --between-rounds --within 30"),
    ),
    "journal": About(
        "verify or show the journal", ("shoed journal replay --check", "shoed journal show bac-901 --round 2.17")
    ),
    "rig": About("run a virtual device", ("shoed rig angel-eye --listen tcp://127.0.0.1:4001",)),
    "conform": About("test an Open Shoe device, clause by clause", ("shoed conform usb://1209:0001",)),
    "rules": About(
        "print the rule books, and settle rounds with them",
        ("shoed rules list", "shoed rules settle commission < rounds.jsonl"),
    ),
    "demo": About(
        "run a virtual shoe, the daemon and a broker, and show the table in this terminal",
        ("shoed demo", "shoed demo --rounds 20 --fast"),
    ),
}


def main(arguments: list[str] | None = None) -> int:
    # Some supervisors close the standard streams: the output then goes to /dev/null, and the input is empty.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- open until the end
    sys.stderr = sys.stderr or sys.stdout
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 -- open until the end
    try:
        status = execute(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()  # at its end, the interpreter would report an error as status 120
    except BrokenPipeError:  # the reader of the output has closed it
        status = ExitStatus.PIPE_CLOSED
        discard(sys.stdout)
    except OSError as error:
        denied = isinstance(error, PermissionError)
        remedy = "run as the user of the daemon, or as root" if denied else "free the disk, or use another file"
        say(f"{error.filename or 'the output'}: {error.strerror}; {remedy}")
        status = ExitStatus.WRONG
        discard(sys.stdout)
    say("")
    return status


def execute(typed: list[str]) -> int:
    """Run the command. An OSError is of its output."""
    try:
        top = top_parser(typed[0] if typed else "")
        command = top.command_of(typed)
        parsed, words = top.parse_known_args(typed)
        if words and "words" not in parsed:
            command.refuse(words)
        parsed.words = words
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # set by shoed/__main__.py
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status: int = parsed.command(parsed)
    except SystemExit as end:  # of argparse: help, version, or wrong use
        return end.code if isinstance(end.code, int) else 0
    except ShoedError as error:
        say(str(error))
        match error:
            case UsageError():
                return ExitStatus.WRONG_USE
            case NotRunning():
                return ExitStatus.NOT_RUNNING
            case _:
                return ExitStatus.WRONG
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    return status


def say(text: str) -> None:
    """Write an error. If the standard error cannot be written, no error of it changes the exit status."""
    try:
        print(text, end="\n" if text else "", file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Discard the rest of a stream that cannot be written, also at the end of the interpreter."""
    with suppress(OSError):
        stream.flush()
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def top_parser(typed: str) -> Parser:
    """Arguments are defined for the typed command only: each definition costs time at every start."""
    top = Parser(
        "shoed",
        purpose="run the driver and daemon for the card shoes and shufflers of baccarat tables",
        examples=("shoed check shoed.toml", "shoed run --config shoed.toml", "shoed COMMAND --help"),
    )
    top.add_argument("--version", action="version", version=f"shoed {VERSION}")
    top.add_commands("COMMAND")
    for name in [typed] if typed in COMMANDS else COMMANDS:
        command = top.add_command(name, COMMANDS[name].purpose, *COMMANDS[name].examples, add_help=name != "tell")
        if name == typed:
            import_module(f"shoed.cli.{name}").add_arguments(command)
    return top
