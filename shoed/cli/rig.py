"""`shoed rig FAMILY`: the options of a virtual device."""

import argparse
import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Final

from firmware_protocols import FAMILIES
from shoed.cli.options import add_dealing, seed_of
from shoed.cli.parser import Parser, whole
from shoed.errors import UsageError
from shoed.ports.address import TcpAddress, host_and_port
from shoed.rig.dealer import deal, rounds_of
from shoed.rig.device import DEFAULT_MANNER, DeviceOutput, Manner, RigDevice, TimelineEntry, timeline
from shoed.rig.devices import DEVICES, Model
from shoed.rig.scenario import load
from shoed.rig.usb_descriptions import DESCRIPTIONS, LONGEST_STRING, UsbKind
from shoed.rig.usb_outlet import UsbPlace
from shoed.rig.virtual import RigPlan, serve
from shoed.settings import problems_of, shown

PLAYS: Final = "run a virtual device that plays a scenario"
DEALING: Final = "angel-eye"  # the family of the dealer's reports
LOOPBACK: Final = "127.0.0.1"
DECKS: Final = range(4, 11)  # the games allow at most eight, Fortune Six ten
CUSTOMARY: Final = 8


def add_arguments(parser: Parser) -> None:
    parser.add_commands("FAMILY")
    for word, model in DEVICES.items():
        deals = word == DEALING
        example = f"shoed rig {word} --listen tcp://127.0.0.1:4001"
        device = parser.add_command(
            word,
            "run a virtual device that deals rounds, or plays a scenario" if deals else PLAYS,
            *((example, f"{example} --seed 7 --rounds 20") if deals else (f"{example} --scenario steps.toml",)),
        )
        where = device.add_mutually_exclusive_group(required=True)
        where.add_argument(
            "--listen",
            metavar="tcp://[HOST]:PORT",
            type=listener,
            help="serve hosts like a device server does; without HOST on loopback; port 0 is any free port",
        )
        where.add_argument("--pty", metavar="PATH", help="serve one host on a pseudo-terminal with a symlink at PATH")
        where.add_argument(
            "--usbredir", metavar="SOCKET", help="be a USB device of the QEMU whose usb-redir device listens on SOCKET"
        )
        device.add_argument(
            "--serial", metavar="TEXT", type=usb_serial, help="with --usbredir: the serial number of the USB device"
        )
        kinds = [kind.value for kind in model.usb]
        device.add_argument(
            "--usb",
            metavar="KIND",
            choices=kinds,
            help=f"with --usbredir: one of {', '.join(kinds)} (the first is the default)",
        )
        device.add_argument("--id", metavar="VENDOR:PRODUCT", type=usb_id, help="with --usbredir: other USB ids")
        versions = FAMILIES[model.family].firmware
        device.add_argument(
            "--firmware", choices=versions, default=versions[0], help="its firmware version (default: %(default)s)"
        )
        if FAMILIES[model.family].keyed:
            device.add_argument(
                "--key-file", metavar="FILE", help="the key of the device; it then uses only the secure channel"
            )
        if model.answers:
            device.add_argument(
                "--answer",
                metavar="WORD",
                choices=model.answers,
                default="",
                help=f"the answer to every order, instead of the normal one: {', '.join(model.answers)}",
            )
            device.add_argument("--no-report", action="store_true", help="do not report what an order changed")
        scenario = "play the steps of this file, then end" + ("; without it the shoe deals until it is stopped" * deals)
        device.add_argument("--scenario", metavar="FILE", required=not deals, help=scenario)
        if deals:
            add_dealing(device)
            device.add_argument(
                "--decks", type=whole, choices=DECKS, default=CUSTOMARY, help="decks in a shoe (default: %(default)s)"
            )
        device.set_defaults(command=rig_command, device=word)


def rig_command(arguments: argparse.Namespace) -> int:

    model = DEVICES[arguments.device]
    manner = Manner(arguments.answer, reports=not arguments.no_report) if model.answers else DEFAULT_MANNER
    family, device = FAMILIES[model.family], model.make(arguments.firmware, manner)
    key_file = arguments.key_file if family.keyed else None
    if key_file is not None:
        device = with_key(device, key_file, arguments.firmware)
    on_usb = arguments.usbredir is not None
    place = usb_place(arguments, model) if on_usb else arguments.listen or arguments.pty
    if not on_usb and (arguments.serial, arguments.usb, arguments.id) != (None, None, None):
        raise UsageError("--serial, --usb and --id are for --usbredir; remove them")
    if arguments.scenario and "seed" in arguments and (arguments.seed, arguments.rounds) != (None, None):
        raise UsageError("--seed and --rounds have no effect with --scenario; remove them")
    if arguments.scenario:
        entries = timeline(device, load(arguments.scenario, model.make(arguments.firmware), on_usb=on_usb))
        name = f"{family.title}, {arguments.scenario}"
    else:
        seed = seed_of(arguments)
        entries = dealing(seed, arguments.decks, arguments.rounds)
        name = f"{family.title}, seed {seed}"
    plan = RigPlan(
        name=name,
        place=place,
        line=family.line,
        fast="fast" in arguments and arguments.fast,
        waits=not arguments.scenario,
        section=model.role,
        single=key_file is not None,
    )
    asyncio.run(serve(plan, device, entries, lambda line: print(line, flush=True)))
    return 0


def usb_place(arguments: argparse.Namespace, model: Model) -> UsbPlace:
    description = DESCRIPTIONS[UsbKind(arguments.usb) if arguments.usb else model.usb[0]]
    if arguments.id is not None:
        description = description._replace(id=arguments.id)
    return UsbPlace(arguments.usbredir, description, arguments.serial or "")


def usb_serial(text: str) -> str:
    if not text.isascii() or not text.isprintable() or not 0 < len(text) <= LONGEST_STRING:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not 1 to {LONGEST_STRING} printable ASCII characters")
    return text


def usb_id(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9a-fA-F]{4}):([0-9a-fA-F]{4})", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a USB id; write it as in 1209:0001")
    vendor, product = found.groups()
    return int(vendor, 16), int(product, 16)


def with_key(device: RigDevice, key_file: str, firmware: str) -> RigDevice:
    from firmware_protocols.open_shoe.layout import VERSION_3
    from shoed.ports.cipher import Aes, draw  # an extra library, only for devices with a key
    from shoed.ports.keyed import key_in
    from shoed.rig.secured import SecuredDevice

    if firmware != str(VERSION_3):
        raise UsageError(f"--key-file: version {firmware} has no secure channel; give --firmware {VERSION_3}")
    return SecuredDevice(device, key_in(key_file, "--key-file"), Aes(), draw)


def dealing(seed: int, decks: int, rounds: int | None) -> Iterator[TimelineEntry]:

    return (DeviceOutput(*each) for each in rounds_of(deal(Random(seed), decks), rounds))


def listener(text: str) -> TcpAddress:
    """Parse an address like that of a device, but without a required host and with port 0 allowed."""
    try:
        return listening_place(text)
    except ValueError as error:
        problem = "\n".join(problems_of(error))
    meant = f"tcp://{text if ':' in text else f':{text}'}"
    with suppress(ValueError):
        listening_place(meant)
        problem = f"{shown(text)} is not an address to listen on; write {meant}"
    raise argparse.ArgumentTypeError(problem)


def listening_place(text: str) -> TcpAddress:
    place = re.fullmatch(r"tcp://(.*):([0-9]+)", text)
    if place is None:
        raise ValueError(f"{shown(text)} is not an address to listen on; write tcp://HOST:PORT, or tcp://:PORT")
    host, port = place.groups()
    return TcpAddress(*host_and_port(f"//{host or LOOPBACK}:{port}", "tcp", least=0))
