"""`shoed ports`: the list of the ports of this machine, with the device families that fit each port."""

import argparse
import asyncio
import sys

import msgspec

from shoed.cli import ExitStatus
from shoed.cli.parser import duration
from shoed.errors import DriverError
from shoed.ports.discover import FoundPort, KnownFamilies, discover, families_of
from shoed.ports.identity import names_its_device
from shoed.ports.listen import ListenResult, listen
from shoed.session import drivers


class ListedPort(msgspec.Struct, frozen=True):
    """A port, as in `--json`. `address` is for the configuration; `stable`: it means the same device after a restart.

    `device`: the node. `usb`: the ids of vendor and product; null for a built-in port. `families`: the families that
    use such a port. `opened`: whether the port could be opened. `heard`: the result in words. Both are null without
    `--listen`.
    """

    address: str
    stable: bool
    device: str
    usb: str | None
    description: str
    families: tuple[str, ...]
    opened: bool | None
    heard: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen", type=duration, metavar="SECONDS", help="open each port, and detect the family from received bytes"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    parser.set_defaults(command=ports)


def ports(arguments: argparse.Namespace) -> int:
    known = {}
    for name in drivers.names():
        try:
            known[name] = drivers.find(name).family
        except DriverError as error:  # an installed package is defective: list the ports without its family
            print(error, file=sys.stderr)
    found = discover(known)
    heard: list[ListenResult] = []
    if arguments.listen is not None:
        heard = asyncio.run(listen([port.address for port in found], known, arguments.listen))
    listed = [listed_port(port, known, *heard[at : at + 1]) for at, port in enumerate(found)]
    if arguments.json:
        print(msgspec.json.encode(listed).decode())
    for each in [] if arguments.json else listed:
        show(each)
    if not found:
        print(
            "no port is connected; check the cable and the adapter; for a device server write tcp://HOST:PORT",
            file=sys.stderr,
        )
    return ExitStatus.WRONG if not found or any(each.opened is False for each in listed) else ExitStatus.GOOD


def listed_port(port: FoundPort, known: KnownFamilies, heard: ListenResult | None = None) -> ListedPort:
    return ListedPort(
        address=str(port.address),
        stable=names_its_device(port.address),
        device=port.device,
        usb=None if port.vendor is None else f"{port.vendor:04x}:{port.product or 0:04x}",
        description=port.description,
        families=tuple(known) if port.vendor is None else families_of(port, known),
        opened=None if heard is None else heard.is_open,
        heard=None if heard is None else heard.text,
    )


def show(port: ListedPort) -> None:
    print(port.address)
    print(f"    {port.description} ({'built in' if port.usb is None else f'usb {port.usb}'}, {port.device})")
    families = ", ".join(port.families)
    print(f"    {'may be: ' + families if families else 'no known family has this adapter'}")
    if not port.stable and port.usb is None:
        print("    no stable name: the number of the node may change at the next start")
    elif not port.stable:
        print("    no stable name: install shoed's udev rules, or add the ids of the device to them (docs/install.md)")
    if port.heard is not None:
        print(f"    {port.heard}")
