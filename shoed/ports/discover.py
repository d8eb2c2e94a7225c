"""What is plugged in, and which family of devices each port looks like.

A USB id says which adapter or device is there, rarely what hangs on it: several families may share one, so a
guess is a tuple of names, and nothing is ever opened on the strength of it. What is listed is every serial line,
every HID device, and of the other USB devices those whose ids a family declares and that have no serial line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from serial.tools import list_ports

from firmware_protocols.family import Family, Settings
from shoed.ports.address import HidrawAddress, SerialAddress, UsbAddress

BY_ID: Final = Path("/dev/serial/by-id")
SYS: Final = Path("/sys")

Families = Mapping[str, Family[Settings]]


@dataclass(frozen=True, slots=True)
class FoundPort:
    address: SerialAddress | UsbAddress | HidrawAddress  # as it belongs into a configuration
    device: str  # the node, which changes with the order of plugging
    vendor: int | None  # USB; None for a built-in port
    product: int | None
    description: str


def discover(families: Families, sys: Path = SYS) -> tuple[FoundPort, ...]:
    return (*_serial_lines(sys), *_usb_devices(families, sys), *_hid_devices(sys))


def _serial_lines(sys: Path) -> Iterator[FoundPort]:
    stable = stable_paths(BY_ID)
    for port in sorted(list_ports.comports()):
        if not is_phantom(sys / "class/tty", port.name):
            description = port.description if port.description != "n/a" else "built-in serial port"
            address = SerialAddress(stable.get(port.device, port.device))
            yield FoundPort(address, port.device, port.vid, port.pid, description)


def stable_paths(folder: Path) -> dict[str, str]:
    """The node behind each link that udev keeps for a device, whichever node it has today."""
    try:
        links = sorted(folder.iterdir(), reverse=True)  # of several links to a node the first in the alphabet stays
    except OSError:  # no folder: no such device is plugged in
        return {}
    return {str(link.resolve()): str(link) for link in links}


def is_phantom(ttys: Path, name: str) -> bool:
    """Whether this is one of the built-in ports that the kernel names in advance and that have no UART."""
    return _fact(ttys / name / "type") == "0"  # a USB port has no such file


def _usb_devices(families: Families, sys: Path) -> Iterator[FoundPort]:
    known = {(usb.vendor, usb.product) for family in families.values() for usb in family.usb_ids}
    for folder in sorted((sys / "bus/usb/devices").glob("*")):
        vendor, product = (int(_fact(folder / name) or "0", 16) for name in ("idVendor", "idProduct"))
        if (vendor, product) in known and not any(folder.glob("*:*/tty*")):
            address = UsbAddress(vendor, product, _fact(folder / "serial") or None)
            bus, number = (int(_fact(folder / name) or "0") for name in ("busnum", "devnum"))
            description = _fact(folder / "product") or "USB device"
            yield FoundPort(address, f"/dev/bus/usb/{bus:03}/{number:03}", vendor, product, description)


def _hid_devices(sys: Path) -> Iterator[FoundPort]:
    for folder in sorted((sys / "class/hidraw").glob("hidraw*")):
        facts = dict(line.partition("=")[::2] for line in _fact(folder / "device/uevent").splitlines())
        _, vendor, product = (facts.get("HID_ID") or "0:0:0").split(":")  # bus, vendor, product, in hex
        node = f"/dev/{folder.name}"
        name = facts.get("HID_NAME") or "HID device"
        yield FoundPort(HidrawAddress(node), node, int(vendor, 16), int(product, 16), name)


def _fact(file: Path) -> str:
    """Empty where the kernel has none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def families_of(port: FoundPort, families: Families) -> tuple[str, ...]:
    """The families behind whose declared USB ids such a port may be."""
    return tuple(
        name
        for name, family in families.items()
        if any((known.vendor, known.product) == (port.vendor, port.product) for known in family.usb_ids)
    )
