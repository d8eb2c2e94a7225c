"""What is plugged in, and which family of devices each port looks like.

A USB id says which adapter or device is there, rarely what hangs on it: several families may share one, so a
guess is a tuple of names, and nothing is ever opened on the strength of it. What is listed is every serial line,
every HID device, and of the other USB devices those whose ids a family declares and that have no serial line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from serial.tools import list_ports

from firmware_protocols.family import Family, Settings
from shoed.ports.address import HidrawAddress, SerialAddress, UsbAddress
from shoed.ports.identity import BY_ID, NAMES, SYS, fact, identity_at, links_in, stable_path

Families = Mapping[str, Family[Settings]]


@dataclass(frozen=True, slots=True)
class FoundPort:
    address: SerialAddress | UsbAddress | HidrawAddress  # as it belongs into a configuration
    device: str  # the node, which changes with the order of plugging
    vendor: int | None  # USB; None for a built-in port
    product: int | None
    description: str


def discover(families: Families, sys: Path = SYS, names: Path = NAMES) -> tuple[FoundPort, ...]:
    return (*_serial_lines(sys, names), *_usb_devices(families, sys), *_hid_devices(sys, names))


def _serial_lines(sys: Path, names: Path) -> Iterator[FoundPort]:
    links = (links_in(BY_ID), links_in(names))
    for port in sorted(list_ports.comports()):
        if not is_phantom(sys / "class/tty", port.name):
            description = port.description if port.description != "n/a" else "built-in serial port"
            address = SerialAddress(stable_path(port.device, links, sys) or port.device)
            yield FoundPort(address, port.device, port.vid, port.pid, description)


def is_phantom(ttys: Path, name: str) -> bool:
    """Whether this is one of the built-in ports that the kernel names in advance and that have no UART."""
    return fact(ttys / name / "type") == "0"  # a USB port has no such file


def _usb_devices(families: Families, sys: Path) -> Iterator[FoundPort]:
    known = {(usb.vendor, usb.product) for family in families.values() for usb in family.usb_ids}
    for folder in sorted((sys / "bus/usb/devices").glob("*")):
        vendor, product = (int(fact(folder / name) or "0", 16) for name in ("idVendor", "idProduct"))
        if (vendor, product) in known and not any(folder.glob("*:*/tty*")):
            address = UsbAddress(vendor, product, fact(folder / "serial") or None)
            bus, number = (int(fact(folder / name) or "0") for name in ("busnum", "devnum"))
            description = fact(folder / "product") or "USB device"
            yield FoundPort(address, f"/dev/bus/usb/{bus:03}/{number:03}", vendor, product, description)


def _hid_devices(sys: Path, names: Path) -> Iterator[FoundPort]:
    links = links_in(names)
    for folder in sorted((sys / "class/hidraw").glob("hidraw*")):
        node = f"/dev/{folder.name}"
        found = identity_at(folder)
        vendor, product, name = (found.vendor, found.product, found.name) if found else (0, 0, "HID device")
        yield FoundPort(HidrawAddress(stable_path(node, (links,), sys) or node), node, vendor, product, name)


def families_of(port: FoundPort, families: Families) -> tuple[str, ...]:
    """The families behind whose declared USB ids such a port may be."""
    return tuple(
        name
        for name, family in families.items()
        if any((known.vendor, known.product) == (port.vendor, port.product) for known in family.usb_ids)
    )
