"""`shoed COMMAND`: what people type. Each command imports only what it needs."""

import argparse
import gc
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shoed import VERSION
from shoed.errors import ShoedError, UsageError
from shoed.rig.command import add_arguments as rig_arguments
from shoed.rig.command import add_dealing as dealing_arguments

if TYPE_CHECKING:
    from shoed.rules.book import RuleBook

WRONG: Final = 1
WRONG_USE: Final = 2  # as argparse has it
DECKS: Final = 8


def main(arguments: list[str] | None = None) -> int:
    # Under some supervisors these are closed: then what is said is for nobody, and nothing is asked.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- for good
    sys.stderr = sys.stderr or sys.stdout
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 -- for good
    parsed = parser().parse_args(arguments)
    try:
        status: int = parsed.command(parsed)
    except ShoedError as error:
        print(error, file=sys.stderr)
        return WRONG_USE if isinstance(error, UsageError) else WRONG
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read us has gone
        sys.stderr.close()
        return WRONG
    except OSError as error:
        print(f"{error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
        return WRONG
    return status


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="shoed", description="Driver and daemon for the card shoes and shufflers of baccarat tables."
    )
    top.add_argument("--version", action="version", version=f"shoed {VERSION}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    run = commands.add_parser("run", help="serve the tables of a configuration")
    run.add_argument("--config", required=True, metavar="FILE")
    run.set_defaults(command=run_command)

    check = commands.add_parser("check", help="say all that is wrong with a configuration")
    check.add_argument("file", metavar="FILE")
    check.set_defaults(command=check_command)

    decode = commands.add_parser("decode", help="bytes of a device to JSON lines, one for each thing that it said")
    decode.add_argument("--protocol", required=True, metavar="FAMILY")
    decode.add_argument(
        "source", nargs="?", default="-", metavar="FILE|-|PORT", help="raw bytes or a capture, or a port to listen on"
    )
    decode.set_defaults(command=decode_command)

    ports = commands.add_parser("ports", help="what is plugged in, and which family it looks like")
    ports.set_defaults(command=ports_command)

    rig = commands.add_parser("rig", help="a virtual device, for trying things out")
    rig_arguments(rig)

    rules_arguments(commands.add_parser("rules", help="the rule books: to read, and to settle rounds by"))

    demo = commands.add_parser("demo", help="a virtual shoe, the daemon and a broker, shown in this terminal")
    dealing_arguments(demo)
    demo.set_defaults(command=demo_command)
    return top


def rules_arguments(rules: argparse.ArgumentParser) -> None:
    tasks = rules.add_subparsers(metavar="TASK", required=True)
    for name, command, explained in (
        ("list", list_command, "the games, one a line"),
        ("show", show_command, "a book on one page, each entry with its clause"),
        ("clauses", clauses_command, "every numbered clause of the document, and where it is kept"),
        ("settle", settle_command, "rounds as JSON lines in, what every bet of each pays out"),
        ("table", table_command, "whole tables with bets and money as JSON lines in, their settlement out"),
    ):
        task = tasks.add_parser(name, help=explained)
        task.set_defaults(command=command)
        if name != "list":
            task.add_argument("game", metavar="GAME")
        if name == "settle":
            task.add_argument("--decks", type=int, metavar="N", default=DECKS, help="(default: %(default)s)")


def list_command(_: argparse.Namespace) -> int:
    from shoed.rules.page import listed

    print(listed())
    return 0


def show_command(arguments: argparse.Namespace) -> int:
    from shoed.rules.page import show

    print(show(book_of(arguments.game)))
    return 0


def clauses_command(arguments: argparse.Namespace) -> int:
    from shoed.rules.page import clauses

    print(clauses(book_of(arguments.game)))
    return 0


def settle_command(arguments: argparse.Namespace) -> int:
    from shoed.audit import settle

    with open(sys.stdin.fileno(), "rb", closefd=False) as source:
        return settle(book_of(arguments.game), arguments.decks, source, sys.stdout.buffer)


def table_command(arguments: argparse.Namespace) -> int:
    from shoed.audit_table import table

    with open(sys.stdin.fileno(), "rb", closefd=False) as source:
        return table(book_of(arguments.game), source, sys.stdout.buffer)


def book_of(game: str) -> "RuleBook":
    from shoed.rules.load import GAMES, book

    if game not in GAMES:
        raise UsageError(f"{game}: no such game; known: {', '.join(GAMES)}")
    return book(game)


def run_command(arguments: argparse.Namespace) -> int:
    gc.disable()  # what start-up makes stays: the daemon collects once it is ready
    from shoed import config, daemon

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    return daemon.run(config.load(arguments.config))


def demo_command(arguments: argparse.Namespace) -> int:
    from shoed import demo

    return demo.run(arguments.rounds, arguments.seed, fast=arguments.fast)


def decode_command(arguments: argparse.Namespace) -> int:
    from shoed.decode import decode

    return decode(arguments.protocol, arguments.source)


def ports_command(_: argparse.Namespace) -> int:
    from firmware_protocols import FAMILIES
    from shoed.ports.discover import discover, families_of

    found = discover()
    for port in found:
        usb = "built in" if port.vendor is None else f"usb {port.vendor:04x}:{port.product or 0:04x}"
        families = ", ".join(FAMILIES if port.vendor is None else families_of(port, FAMILIES))
        print(f"serial://{port.by_id or port.device}")
        print(f"    {port.description} ({usb}, {port.device})")
        print(f"    {'may be: ' + families if families else 'no family is known behind it'}")
    if not found:
        print(
            "no serial port is plugged in: check the cable and the adapter; a device server needs none (tcp://HOST:PORT)"
        )
    return 0


def check_command(arguments: argparse.Namespace) -> int:
    from shoed import config

    loaded = config.load(arguments.file)
    print(f"{arguments.file}: good: {', '.join(table.name for table in loaded.tables)} at {loaded.site}")
    return 0
