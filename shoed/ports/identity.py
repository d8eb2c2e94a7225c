"""Which device is behind a node, as far as sysfs can tell, and whether it is the one that an address names.

Theory of operation: udev's rules give a device two names in /dev/shoed, one by its serial number and one by its
socket. A name may outlive its device, and two devices may share a serial number. So a node is opened first and judged
then, by its number, which no other node has while it is open. Where sysfs knows nothing of a node (a pseudo-terminal,
a container without sysfs), nothing is doubted.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoed.ports.address import Address, HidrawAddress, SerialAddress

SYS: Final = Path("/sys")
NAMES: Final = Path("/dev/shoed")  # as udev/70-shoed.rules has it
BY_ID: Final = Path("/dev/serial/by-id")
HID: Final = "hid-"

# documented: systemd, udev-builtin-path_id.c: usb-0:PORTS:CONFIGURATION.INTERFACE
SOCKET: Final = re.compile(r"-usb(?:v[0-9]+)?-[0-9]+:([0-9.]+:[0-9]+\.[0-9]+)(?:-|$)")
PORTS: Final = re.compile(r"[0-9]+-([0-9.]+:[0-9]+\.[0-9]+)")  # of an interface in sysfs, behind its bus


Known = Collection[tuple[int, int]]  # vendor and product, of all that a protocol is known to speak


class Identity(Struct, frozen=True):
    """A device as the kernel shows it; what it does not show is empty."""

    vendor: int
    product: int
    name: str
    serial: str = ""  # as udev writes it
    interface: str = ""
    socket: str = ""

    @property
    def ids(self) -> str:
        return f"{self.vendor:04x}:{self.product:04x}"

    @property
    def serial_name(self) -> str:
        """Its name by its serial number; empty without one."""
        behind = f"-if{self.interface}" if self.interface not in ("", "00") else ""
        return self.serial and self.serial + behind


def identity_of(device: int, sys: Path = SYS) -> Identity | None:
    """Of an open node, by its device number. None: sysfs does not know it."""
    return identity_at(sys / f"dev/char/{os.major(device)}:{os.minor(device)}")


def identity_at(folder: Path) -> Identity | None:
    try:
        place = folder.resolve(strict=True)
    except OSError:
        return None
    hid: dict[str, str] = {}
    interface = socket = ""
    for each in (place, *place.parents):
        if not hid and (said := fact(each / "device/uevent")):
            hid = dict(line.partition("=")[::2] for line in said.splitlines())
        if number := fact(each / "bInterfaceNumber"):
            ports = PORTS.fullmatch(each.name)
            interface, socket = number, ports[1] if ports else ""
        if vendor := fact(each / "idVendor"):
            return Identity(
                int(vendor, 16),
                int(fact(each / "idProduct") or "0", 16),
                fact(each / "product") or hid.get("HID_NAME", "USB device"),
                udev_text(fact(each / "serial")),
                interface,
                socket,
            )
    if "HID_ID" not in hid:
        return None
    _, vendor, product = hid["HID_ID"].split(":")  # bus, vendor, product, in hex
    name, serial = hid.get("HID_NAME", "HID device"), udev_text(hid.get("HID_UNIQ", ""))
    return Identity(int(vendor, 16), int(product, 16), name, serial)


def udev_text(text: str) -> str:
    """A text as udev's usb_id writes it into names: no serial number where a character of it is not allowed."""
    # documented: systemd, udev-builtin-usb_id.c
    if any(not " " <= each <= "\x7f" or each == "," for each in text):
        return ""
    return re.sub(r"[^0-9A-Za-z#+.:=@_-]", "_", re.sub(r"\s+", "_", text.strip()))


def doubt(address: SerialAddress | HidrawAddress, device: int, sys: Path = SYS) -> str | None:
    """Why the open node may be another device than its name in /dev/shoed says; None where there is no doubt."""
    path = Path(address.path)
    found = identity_of(device, sys)
    if found is None or path.parent != NAMES:
        return None
    is_hid = isinstance(address, HidrawAddress)
    name = path.name.removeprefix(HID) if is_hid else path.name
    place = SOCKET.search(name)
    if place is not None:
        if found.socket in ("", place[1]):
            return None
        return f"the node is the device in another socket ({found.socket}); unplug and reconnect the device"
    if name != found.serial_name:
        has = f"its serial number is {found.serial}" if found.serial else "it has no serial number"
        return f"the node is another device, {found.name} ({found.ids}): {has}; connect the right device, or {_list()}"
    if is_shared(found, "hidraw" if is_hid else "tty", sys):
        return f"several devices have the serial number {found.serial}; {_list()}"
    return None


def stranger(address: HidrawAddress, device: int, known: Known | None, sys: Path = SYS) -> str | None:
    """Why the open node is no device for this table: a keyboard says no more of itself than a scanner does."""
    found = identity_of(device, sys)
    if found is None or known is None:
        return None
    if (found.vendor, found.product) in ({address.id} if address.id is not None else known):
        return None
    named = HidrawAddress(address.path, (found.vendor, found.product))
    return (
        f"the device is {found.name} ({found.ids}), which is not known to speak this protocol; connect the right"
        f" device, or write {named} if it is the right one"
    )


def _list() -> str:
    return "write the name that `shoed ports` lists"


# --- names


CHANGING: Final = re.compile(r"/dev/(?:hidraw|ttyUSB|ttyACM)[0-9]+")  # by the order of plugging


def names_its_device(address: Address) -> bool:
    """Whether an address leads to the same device tomorrow."""
    match address:
        case SerialAddress(path=path):
            return not CHANGING.fullmatch(os.path.normpath(path))
        case HidrawAddress(path=path):  # a link that a person made may lead to any node
            return Path(os.path.normpath(path)).parent == NAMES
        case _:
            return True


def links_in(folder: Path) -> dict[str, list[str]]:
    """By node: the links that udev keeps for its device, those by a socket last."""
    links: dict[str, list[str]] = {}
    with suppress(OSError):  # no folder: no such device is plugged in
        for link in sorted(folder.iterdir(), key=lambda link: (is_by_socket(link.name), link.name)):
            links.setdefault(str(link.resolve()), []).append(str(link))
    return links


def is_by_socket(name: str) -> bool:
    return SOCKET.search(name) is not None


def stable_path(node: str, links: Sequence[Mapping[str, Sequence[str]]], sys: Path = SYS) -> str | None:
    """The name of a node that stays its device's; None: it has none. One that two devices share is none."""
    names = [name for each in links for name in each.get(node, ())]
    kind = "hidraw" if Path(node).name.startswith("hidraw") else "tty"
    found = identity_at(sys / "class" / kind / Path(node).name)
    if found is not None and is_shared(found, kind, sys):
        names = [name for name in names if is_by_socket(name)]
    return next(iter(names), None)


def is_shared(found: Identity, kind: str, sys: Path = SYS) -> bool:
    """Whether another device has the same name by its serial number."""
    nodes = "hidraw/hidraw*" if kind == "hidraw" else "tty/tty[UA]*"
    alike = (identity_at(folder) for folder in (sys / "class").glob(nodes))
    return bool(found.serial) and sum(each is not None and each.serial_name == found.serial_name for each in alike) > 1


def fact(file: Path) -> str:
    """Empty where the kernel has none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
