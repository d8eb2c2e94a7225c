"""`shoed COMMAND`: what people type. Each command imports only what it needs."""

import argparse
import logging
import os
import sys
from pathlib import Path
from typing import Final

from shoed import VERSION
from shoed.errors import ShoedError, UsageError
from shoed.rig.command import add_arguments as rig_arguments
from shoed.rig.command import add_dealing as dealing_arguments

WRONG: Final = 1
WRONG_USE: Final = 2  # as argparse has it


def main(arguments: list[str] | None = None) -> int:
    # Without standard output or error, as under some supervisors, what is said is for nobody.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- for good
    sys.stderr = sys.stderr or sys.stdout
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

    demo = commands.add_parser("demo", help="a virtual shoe, the daemon and a broker, shown in this terminal")
    dealing_arguments(demo)
    demo.set_defaults(command=demo_command)
    return top


def run_command(arguments: argparse.Namespace) -> int:
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
