"""`shoed ports`: the list of the ports of this machine, with the device families that fit each port."""

import argparse
import asyncio
import sys

from shoed.errors import DriverError
from shoed.ports.discover import discover, families_of
from shoed.ports.identity import names_its_device
from shoed.ports.listen import listen
from shoed.session import drivers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen", type=int, metavar="SECONDS", help="open each port, and detect the family from the received bytes"
    )
    parser.set_defaults(command=ports)


def ports(arguments: argparse.Namespace) -> int:
    known = {}
    for name in drivers.names():
        try:
            known[name] = drivers.find(name).family
        except DriverError as error:  # an installed package is defective: list the ports without its family
            print(error, file=sys.stderr)
    found = discover(known)
    heard: list[str] = []
    if arguments.listen is not None:
        heard = asyncio.run(listen([port.address for port in found], known, arguments.listen))
    for number, port in enumerate(found):
        usb = "built in" if port.vendor is None else f"usb {port.vendor:04x}:{port.product or 0:04x}"
        families = ", ".join(known if port.vendor is None else families_of(port, known))
        print(port.address)
        print(f"    {port.description} ({usb}, {port.device})")
        print(f"    {'may be: ' + families if families else 'no known family has this adapter'}")
        if not names_its_device(port.address):
            print(
                "    no stable name: install shoed's udev rules, or add the ids of the device to them (docs/install.md)"
            )
        for line in heard[number : number + 1]:
            print(f"    {line}")
    if not found:
        print("no port is connected; check the cable and the adapter; for a device server write tcp://HOST:PORT")
    return 0
