"""`shoed COMMAND`: what people type. Each command imports only what it needs."""

import argparse
import gc
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shoed import VERSION
from shoed.errors import DriverError, ShoedError, UsageError

if TYPE_CHECKING:
    from shoed.rules.book import RuleBook

WRONG: Final = 1
WRONG_USE: Final = 2  # as argparse has it
CONFIG: Final = "/etc/shoed/shoed.toml"  # as the unit has it
DECKS: Final = 8


def main(arguments: list[str] | None = None) -> int:
    # Under some supervisors these are closed: then what is said is for nobody, and nothing is asked.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- for good
    sys.stderr = sys.stderr or sys.stdout
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 -- for good
    typed = sys.argv[1:] if arguments is None else arguments
    top = parser(typed)
    parsed, words = top.parse_known_args(typed)
    if words and "words" not in parsed:
        top.error(f"unrecognized arguments: {' '.join(words)}")
    parsed.words = words
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


def parser(typed: Sequence[str]) -> argparse.ArgumentParser:
    """Of the command that is typed; of all of them where none is. Each takes its time, at every start."""
    top = argparse.ArgumentParser(
        prog="shoed", description="Driver and daemon for the card shoes and shufflers of baccarat tables."
    )
    top.add_argument("--version", action="version", version=f"shoed {VERSION}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    every = (
        ("run", run_arguments, "serve the tables of a configuration"),
        ("check", check_arguments, "say all that is wrong with a configuration"),
        ("decode", decode_arguments, "bytes of a device to JSON lines, one for each thing that it said"),
        ("capture", capture_arguments, "what goes over a line, into a file"),
        ("replay", playing_arguments, "a capture, played through the daemon, its journal and its broker"),
        ("ports", ports_arguments, "what is plugged in, and which family it looks like"),
        ("tell", tell_arguments, "tell a table what no shoe sees, or what was decided"),
        ("journal", journal_arguments, "the record: folded again, or shown"),
        ("rig", rig_arguments, "a virtual device, for trying things out"),
        ("conform", conform_arguments, "test an Open Shoe device, clause by clause"),
        ("rules", rules_arguments, "the rule books: to read, and to settle rounds by"),
        ("demo", demo_arguments, "a virtual shoe, the daemon and a broker, shown in this terminal"),
    )
    for name, add_arguments, explained in [each for each in every if each[0] in typed[:1]] or every:
        add_arguments(commands.add_parser(name, add_help=name != "tell", help=explained))
    return top


def run_arguments(run: argparse.ArgumentParser) -> None:
    run.add_argument("--config", required=True, metavar="FILE")
    run.set_defaults(command=run_command)


def check_arguments(check: argparse.ArgumentParser) -> None:
    check.add_argument("file", metavar="FILE")
    check.set_defaults(command=check_command)


def decode_arguments(decode: argparse.ArgumentParser) -> None:
    decode.add_argument("--protocol", required=True, metavar="FAMILY")
    decode.add_argument(
        "source", nargs="?", default="-", metavar="FILE|-|PORT", help="raw bytes or a capture, or a port to listen on"
    )
    decode.set_defaults(command=decode_command)


def capture_arguments(capture: argparse.ArgumentParser) -> None:
    capture.add_argument("port", metavar="PORT|save", help="a port to listen on; save: what the daemon heard lately")
    capture.add_argument("table", nargs="?", metavar="TABLE", help="with save: whose device")
    capture.add_argument("--protocol", metavar="FAMILY", help="what is behind PORT; with a port it is needed")
    capture.add_argument("--firmware", metavar="VERSION", help="(default: the first that is known)")
    capture.add_argument("--seconds", type=float, metavar="N", help="(default: until a signal)")
    capture.add_argument("--device", default="shoe", metavar="DEVICE", help="with save (default: %(default)s)")
    capture.add_argument("--out", metavar="FILE", help="a new file (default: the standard output)")
    place_arguments(capture)
    capture.set_defaults(command=capture_command)


def playing_arguments(playing: argparse.ArgumentParser) -> None:
    playing.add_argument("file", metavar="FILE")
    playing.add_argument("--config", required=True, metavar="CONFIG")
    playing.add_argument("--table", required=True, metavar="NAME", help="whose shoe it is")
    playing.add_argument("--fast", action="store_true", help="as fast as it goes; else in real time")
    playing.set_defaults(command=playing_command)


def ports_arguments(ports: argparse.ArgumentParser) -> None:
    ports.add_argument(
        "--listen", type=int, metavar="SECONDS", help="and open each, to hear by what it says which family it is"
    )
    ports.set_defaults(command=ports_command)


def rig_arguments(rig: argparse.ArgumentParser) -> None:
    from shoed.rig.command import add_arguments

    add_arguments(rig)


def conform_arguments(conform: argparse.ArgumentParser) -> None:
    from shoed.conform.command import add_arguments

    add_arguments(conform)


def demo_arguments(demo: argparse.ArgumentParser) -> None:
    from shoed.rig.command import add_dealing

    add_dealing(demo)
    demo.set_defaults(command=demo_command)


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


def tell_arguments(tell: argparse.ArgumentParser) -> None:
    # Its words, and with them --help, follow from the commands that there are; options may stand anywhere.
    tell.add_argument("--role", metavar="ROLE")
    tell.add_argument("--author", metavar="NAME")
    tell.add_argument("--id", metavar="ID")
    tell.add_argument("--json", action="store_true")
    tell.add_argument("-h", "--help", action="store_true")
    place_arguments(tell)
    tell.set_defaults(command=tell_command, words=())


def place_arguments(of: argparse.ArgumentParser) -> None:
    place = of.add_mutually_exclusive_group()
    place.add_argument("--config", default=CONFIG, metavar="FILE", help="(default: %(default)s)")
    place.add_argument("--state-dir", type=Path, metavar="DIR", help="(default: as the configuration has it)")


def journal_arguments(journal: argparse.ArgumentParser) -> None:
    tasks = journal.add_subparsers(metavar="TASK", required=True)
    replay = tasks.add_parser("replay", help="fold the record again, from its observations and from its bytes")
    replay.add_argument("--check", action="store_true", required=True, help="and say where it comes out otherwise")
    replay.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all)")
    place_arguments(replay)
    replay.set_defaults(command=replay_command)
    show = tasks.add_parser("show", help="the bytes that came, and what followed from them")
    show.add_argument("table", metavar="TABLE")
    part = show.add_mutually_exclusive_group()
    part.add_argument("--rows", metavar="A-B", help="a card names its row as its provenance")
    part.add_argument("--round", metavar="SHOE.ROUND")
    place_arguments(show)
    show.set_defaults(command=show_rows_command)


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
    from shoed import config, daemon, log

    log.begin()
    loaded = config.load(arguments.config, config.Purpose.RUN)
    for warning in loaded.warnings:
        logging.getLogger("shoed").warning("%s", warning)
    return daemon.run(loaded)


def demo_command(arguments: argparse.Namespace) -> int:
    from shoed import demo

    return demo.run(arguments.rounds, arguments.seed, fast=arguments.fast)


def state_dir_of(arguments: argparse.Namespace) -> Path:
    if arguments.state_dir is not None:
        return Path(arguments.state_dir)
    from shoed import config

    return Path(config.load(arguments.config).state_dir)


def tell_command(arguments: argparse.Namespace) -> int:
    import msgspec

    from shoed import telling
    from shoed.ports.tell import ask

    table, word = (*arguments.words[:2], None, None)[:2]
    if arguments.help:
        from shoed import telling_page

        print(telling_page.help_on(word) if word else telling_page.overview())
        return 0
    for each in arguments.words:
        if each.startswith("-"):
            raise UsageError(f"{each}: no such option; shoed tell --help lists them")
    if word is None:
        raise UsageError("tell which table what? shoed tell --help lists the commands")
    command = telling.typed(word, arguments.words[2:])
    sender = arguments.id or os.urandom(8).hex()
    request = telling.request(table, command, arguments.author or login(), arguments.role, sender)
    answer = ask(state_dir_of(arguments), request)
    if arguments.json:
        print(msgspec.json.encode(answer).decode())
    elif answer.detail:
        print(answer.detail, file=sys.stdout if answer.accepted else sys.stderr)
    return 0 if answer.accepted else WRONG


def login() -> str:
    """Who sits there, also behind sudo."""
    import pwd

    try:
        return os.getlogin()
    except OSError:  # no terminal
        return pwd.getpwuid(os.getuid()).pw_name


def replay_command(arguments: argparse.Namespace) -> int:
    from shoed import record

    return record.check(state_dir_of(arguments), arguments.tables)


def show_rows_command(arguments: argparse.Namespace) -> int:
    from shoed import record

    return record.show(state_dir_of(arguments), arguments.table, arguments.rows, arguments.round)


def decode_command(arguments: argparse.Namespace) -> int:
    from shoed.decode import decode

    return decode(arguments.protocol, arguments.source)


def playing_command(arguments: argparse.Namespace) -> int:
    from shoed import config, playing

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    loaded = config.load(arguments.config, config.Purpose.RUN)
    return playing.play(loaded, arguments.table, arguments.file, fast=arguments.fast)


def capture_command(arguments: argparse.Namespace) -> int:
    from shoed import capturing

    if (arguments.port == "save") != (arguments.table is not None):
        raise UsageError("a port has no table, and save wants one; shoed capture --help says how")
    if arguments.table is not None:
        return capturing.save(state_dir_of(arguments), arguments.table, arguments.device, arguments.out)
    return capturing.capture(arguments.port, arguments.protocol, arguments.firmware, arguments.out, arguments.seconds)


def ports_command(arguments: argparse.Namespace) -> int:
    from shoed import drivers
    from shoed.ports.discover import discover, families_of
    from shoed.ports.identity import names_its_device

    known = {}
    for name in drivers.names():
        try:
            known[name] = drivers.find(name).family
        except DriverError as error:  # somebody else's package: the ports are there without it
            print(error, file=sys.stderr)

    found = discover(known)
    heard: list[str] = []
    if arguments.listen is not None:
        import asyncio

        from shoed.ports.listen import listen

        heard = asyncio.run(listen([port.address for port in found], known, arguments.listen))
    for number, port in enumerate(found):
        usb = "built in" if port.vendor is None else f"usb {port.vendor:04x}:{port.product or 0:04x}"
        families = ", ".join(known if port.vendor is None else families_of(port, known))
        print(port.address)
        print(f"    {port.description} ({usb}, {port.device})")
        print(f"    {'may be: ' + families if families else 'no family is known behind it'}")
        if not names_its_device(port.address):
            print("    it has no name of its own: install shoed's udev rules, or add its ids to them (docs/install.md)")
        for said in heard[number : number + 1]:
            print(f"    {said}")
    if not found:
        print("no port is plugged in: check the cable and the adapter; a device server needs none (tcp://HOST:PORT)")
    return 0


def check_command(arguments: argparse.Namespace) -> int:
    from shoed import config

    loaded = config.load(arguments.file, config.Purpose.CHECK)
    for warning in loaded.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(f"{arguments.file}: good: {', '.join(table.name for table in loaded.tables)} at {loaded.site}")
    return 0
