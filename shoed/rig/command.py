"""`shoed rig FAMILY`: what a person asks of a virtual device."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shoed.ports.address import TcpAddress
    from shoed.rig.device import Device, Happening

# What is imported inside a function is imported by this command only: others start faster without it.
# ruff: noqa: PLC0415

DEALING: Final = "angel-eye"  # the family that the dealer speaks for
LOOPBACK: Final = "127.0.0.1"
DECKS: Final = range(4, 11)  # as the games have it: eight at most, ten in Fortune Six
CUSTOMARY: Final = 8
SEEDS: Final = 1_000_000  # a seed that we choose has six digits at most: people read it and type it again


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from firmware_protocols import FAMILIES
    from shoed.rig.devices import DEVICES

    families = parser.add_subparsers(metavar="FAMILY", required=True)
    for word, model in DEVICES.items():
        device = families.add_parser(word, help="a device that deals or plays a scenario")
        where = device.add_mutually_exclusive_group(required=True)
        where.add_argument(
            "--listen",
            metavar="tcp://[HOST]:PORT",
            type=listener,
            help="serve any number of hosts, as a device server does; without HOST on loopback, port 0 is any free one",
        )
        where.add_argument("--pty", metavar="PATH", help="serve one host on a serial line that a symlink at PATH names")
        versions = FAMILIES[model.family].firmware
        device.add_argument(
            "--firmware", choices=versions, default=versions[0], help="what it speaks (default: %(default)s)"
        )
        if FAMILIES[model.family].keyed:
            device.add_argument(
                "--key-file", metavar="FILE", help="with the key of the device: it speaks in the secure channel alone"
            )
        if model.answers:
            device.add_argument(
                "--answer",
                metavar="WORD",
                choices=model.answers,
                default="",
                help=f"to every order, instead of the true one: {', '.join(model.answers)}",
            )
            device.add_argument("--no-report", action="store_true", help="do not report what an order changed")
        deals = word == DEALING
        scenario = "play what is written there, and end" + ("; without it the shoe deals until it is stopped" * deals)
        device.add_argument("--scenario", metavar="FILE", required=not deals, help=scenario)
        if deals:
            add_dealing(device)
            device.add_argument(
                "--decks", type=int, choices=DECKS, default=CUSTOMARY, help="in a shoe (default: %(default)s)"
            )
        device.set_defaults(command=rig_command, device=word)


def add_dealing(parser: argparse.ArgumentParser) -> None:
    """What the demo asks, too."""
    parser.add_argument("--seed", metavar="N", type=int, help="the same cards for the same seed (default: any)")
    parser.add_argument("--fast", action="store_true", help="as fast as they are taken, not as fast as people deal")
    parser.add_argument("--rounds", metavar="N", type=positive, help="end after so many rounds (default: never)")


def rig_command(arguments: argparse.Namespace) -> int:
    import asyncio

    from firmware_protocols import FAMILIES
    from shoed.errors import UsageError
    from shoed.rig.device import AS_IT_IS, Manner, happenings
    from shoed.rig.devices import DEVICES
    from shoed.rig.scenario import load
    from shoed.rig.virtual import Plan, serve

    model = DEVICES[arguments.device]
    manner = Manner(arguments.answer, reports=not arguments.no_report) if model.answers else AS_IT_IS
    family, device = FAMILIES[model.family], model.make(arguments.firmware, manner)
    key_file = arguments.key_file if family.keyed else None
    if key_file is not None:
        device = with_key(device, key_file, arguments.firmware)
    if arguments.scenario and "seed" in arguments and (arguments.seed, arguments.rounds) != (None, None):
        raise UsageError("--seed and --rounds are the dealer's; leave them out beside --scenario")
    if arguments.scenario:
        told = happenings(device, load(arguments.scenario, model.make(arguments.firmware)))
        name = f"{family.title}, {arguments.scenario}"
    else:
        seed = chosen(arguments.seed)
        told = dealing(seed, arguments.decks, arguments.rounds)
        name = f"{family.title}, seed {seed}"
    plan = Plan(
        name=name,
        place=arguments.listen or arguments.pty,
        line=family.line,
        fast="fast" in arguments and arguments.fast,
        waits=not arguments.scenario,
        section=model.stands_as,
        single=key_file is not None,
    )
    asyncio.run(serve(plan, device, told, lambda line: print(line, flush=True)))
    return 0


def with_key(device: "Device", key_file: str, firmware: str) -> "Device":
    from firmware_protocols.open_shoe.layout import VERSION_3
    from shoed.errors import UsageError
    from shoed.ports.cipher import Aes, draw
    from shoed.ports.keyed import key_in
    from shoed.rig.secured import SecuredDevice

    if firmware != str(VERSION_3):
        raise UsageError(f"--key-file: version {firmware} has no secure channel; give --firmware {VERSION_3}")
    return SecuredDevice(device, key_in(key_file, "--key-file"), Aes(), draw)


def dealing(seed: int, decks: int, rounds: int | None) -> Iterator["Happening"]:
    from random import Random

    from shoed.rig.dealer import deal, rounds_of
    from shoed.rig.device import Said

    return (Said(*each) for each in rounds_of(deal(Random(seed), decks), rounds))


def chosen(seed: int | None) -> int:
    import random

    return random.SystemRandom().randrange(SEEDS) if seed is None else seed


def positive(text: str) -> int:
    from shoed.settings import shown

    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a count; write a whole number from 1")
    return int(text)


def listener(text: str) -> "TcpAddress":
    """As the address of a device, but the host may be left out and the port may be 0."""
    import re

    from shoed.ports.address import TcpAddress, host_and_port
    from shoed.settings import problems_of, shown

    place = re.fullmatch(r"tcp://(.*):([0-9]+)", text)
    if place is None:
        bare = re.fullmatch(r"(?:[A-Za-z0-9_.-]*:)?[0-9]+", text)
        meant = f"tcp://{text if ':' in text else f':{text}'}" if bare else "tcp://HOST:PORT, or tcp://:PORT"
        raise argparse.ArgumentTypeError(f"{shown(text)} is not an address to listen on; write {meant}")
    host, port = place.groups()
    try:
        return TcpAddress(*host_and_port(f"//{host or LOOPBACK}:{port}", "tcp", least=0))
    except ValueError as error:
        raise argparse.ArgumentTypeError("\n".join(problems_of(error))) from None
