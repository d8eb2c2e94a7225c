"""The list of connected ports, with the device families that fit each port.

A USB id identifies the adapter, and rarely the device connected to the adapter. Several families may declare one id.
Therefore `families_of` returns several names, and shoed never opens a port because of this result. The list contains
every serial line, every HID device, and the other USB devices whose ids a family declares and that have no serial line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from serial.tools import list_ports

from firmware_protocols.family import Family, Settings
from shoed.ports.address import HidrawAddress, SerialAddress, UsbAddress
from shoed.ports.identity import BY_ID, NAMES, SYS, identity_at, links_in, stable_path, sysfs_value, usb_node

KnownFamilies = Mapping[str, Family[Settings]]


@dataclass(frozen=True, slots=True)
class FoundPort:
    address: SerialAddress | UsbAddress | HidrawAddress  # for the configuration
    device: str  # the node; its number depends on the order of connection
    vendor: int | None  # USB; None for a built-in port
    product: int | None
    description: str


def discover(families: KnownFamilies, sys: Path = SYS, names: Path = NAMES) -> tuple[FoundPort, ...]:
    return (*_serial_lines(sys, names), *_usb_devices(families, sys), *_hid_devices(sys, names))


def _serial_lines(sys: Path, names: Path) -> Iterator[FoundPort]:
    links = (links_in(BY_ID), links_in(names))
    for port in sorted(list_ports.comports()):
        if not is_phantom(sys / "class/tty", port.name):
            description = port.description if port.description != "n/a" else "built-in serial port"
            address = SerialAddress(stable_path(port.device, links, sys) or port.device)
            yield FoundPort(address, port.device, port.vid, port.pid, description)


def is_phantom(ttys: Path, name: str) -> bool:
    """Whether this is a built-in port without a UART. The kernel makes nodes for such ports in advance."""
    return sysfs_value(ttys / name / "type") == "0"  # a USB port does not have this file


def _usb_devices(families: KnownFamilies, sys: Path) -> Iterator[FoundPort]:
    known = {(usb.vendor, usb.product) for family in families.values() for usb in family.usb_ids}
    for folder in sorted((sys / "bus/usb/devices").glob("*")):
        vendor, product = (int(sysfs_value(folder / name) or "0", 16) for name in ("idVendor", "idProduct"))
        if (vendor, product) in known and not any(folder.glob("*:*/tty*")):
            address = UsbAddress(vendor, product, sysfs_value(folder / "serial") or None)
            description = sysfs_value(folder / "product") or "USB device"
            yield FoundPort(address, usb_node(folder), vendor, product, description)


def _hid_devices(sys: Path, names: Path) -> Iterator[FoundPort]:
    links = links_in(names)
    for folder in sorted((sys / "class/hidraw").glob("hidraw*")):
        node = f"/dev/{folder.name}"
        found = identity_at(folder)
        vendor, product, name = (found.vendor, found.product, found.name) if found else (0, 0, "HID device")
        yield FoundPort(HidrawAddress(stable_path(node, (links,), sys) or node), node, vendor, product, name)


def families_of(port: FoundPort, families: KnownFamilies) -> tuple[str, ...]:
    """The families that declare the USB ids of the port."""
    return tuple(
        name
        for name, family in families.items()
        if any((known.vendor, known.product) == (port.vendor, port.product) for known in family.usb_ids)
    )
