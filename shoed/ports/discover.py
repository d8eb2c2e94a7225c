"""What is plugged in, and which family of devices each port looks like.

A USB id says which adapter is there, rarely what hangs on it: several families may share one, so a
guess is a tuple of names, and nothing is ever opened on the strength of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from serial.tools import list_ports

from firmware_protocols.family import Family, Settings

BY_ID: Final = Path("/dev/serial/by-id")
TTYS: Final = Path("/sys/class/tty")


@dataclass(frozen=True, slots=True)
class FoundPort:
    device: str  # the node, which changes with the order of plugging
    by_id: str | None  # the stable path, which belongs into a configuration
    vendor: int | None  # USB; None for a built-in port
    product: int | None
    serial_number: str | None
    description: str


def discover() -> tuple[FoundPort, ...]:
    stable = stable_paths(BY_ID)
    return tuple(
        FoundPort(
            device=port.device,
            by_id=stable.get(port.device),
            vendor=port.vid,
            product=port.pid,
            serial_number=port.serial_number,
            description=port.description if port.description != "n/a" else "built-in serial port",
        )
        for port in sorted(list_ports.comports())
        if not is_phantom(TTYS, port.name)
    )


def stable_paths(folder: Path) -> dict[str, str]:
    """The node behind each link that udev keeps for a device, whichever node it has today."""
    try:
        links = sorted(folder.iterdir(), reverse=True)  # of several links to a node the first in the alphabet stays
    except OSError:  # no folder: no such device is plugged in
        return {}
    return {str(link.resolve()): str(link) for link in links}


def is_phantom(ttys: Path, name: str) -> bool:
    """Whether this is one of the built-in ports that the kernel names in advance and that have no UART."""
    try:
        return (ttys / name / "type").read_text(encoding="ascii").strip() == "0"
    except OSError:  # a USB port has no such file
        return False


def families_of(port: FoundPort, families: Mapping[str, Family[Settings]]) -> tuple[str, ...]:
    """The families behind whose declared USB ids such a port may be."""
    return tuple(
        name
        for name, family in families.items()
        if any((known.vendor, known.product) == (port.vendor, port.product) for known in family.usb_ids)
    )
