"""The identity of the device of a node, from sysfs, and its comparison with an address.

Theory of operation: shoed's udev rules give a device two names in /dev/shoed: one from its serial number, one from its
USB socket. A name may remain after its device is removed, and two devices may have one serial number. Therefore shoed
opens the node first and then checks its device number. While the node is open, no other node has this number. If
sysfs has no entry for the node (a pseudo-terminal, a container without sysfs), the check passes.
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
NAMES: Final = Path("/dev/shoed")  # udev/70-shoed.rules makes these links
BY_ID: Final = Path("/dev/serial/by-id")
HID: Final = "hid-"

# documented: systemd, udev-builtin-path_id.c: usb-0:PORTS:CONFIGURATION.INTERFACE
SOCKET: Final = re.compile(r"-usb(?:v[0-9]+)?-[0-9]+:([0-9.]+:[0-9]+\.[0-9]+)(?:-|$)")
PORTS: Final = re.compile(r"[0-9]+-([0-9.]+:[0-9]+\.[0-9]+)")  # an interface in sysfs: BUS-PORTS:...


Known = Collection[tuple[int, int]]  # vendor and product of the devices that are known to use a protocol


class Identity(Struct, frozen=True):
    """A device as sysfs describes it. A missing value is an empty string."""

    vendor: int
    product: int
    name: str
    serial: str = ""  # in udev's spelling
    interface: str = ""
    socket: str = ""

    @property
    def ids(self) -> str:
        return f"{self.vendor:04x}:{self.product:04x}"

    @property
    def serial_name(self) -> str:
        """The udev name from the serial number; empty without a serial number."""
        suffix = f"-if{self.interface}" if self.interface not in ("", "00") else ""
        return self.serial and self.serial + suffix


def identity_of(device: int, sys: Path = SYS) -> Identity | None:
    """The device of an open node, from its device number. None: sysfs has no entry."""
    return identity_at(sys / f"dev/char/{os.major(device)}:{os.minor(device)}")


def identity_at(folder: Path) -> Identity | None:
    try:
        place = folder.resolve(strict=True)
    except OSError:
        return None
    hid: dict[str, str] = {}
    interface = socket = ""
    for each in (place, *place.parents):
        if not hid and (uevent := sysfs_value(each / "device/uevent")):
            hid = dict(line.partition("=")[::2] for line in uevent.splitlines())
        if number := sysfs_value(each / "bInterfaceNumber"):
            ports = PORTS.fullmatch(each.name)
            interface, socket = number, ports[1] if ports else ""
        if vendor := sysfs_value(each / "idVendor"):
            return Identity(
                int(vendor, 16),
                int(sysfs_value(each / "idProduct") or "0", 16),
                sysfs_value(each / "product") or hid.get("HID_NAME", "USB device"),
                udev_text(sysfs_value(each / "serial")),
                interface,
                socket,
            )
    if "HID_ID" not in hid:
        return None
    _, vendor, product = hid["HID_ID"].split(":")  # bus, vendor, product, in hex
    name, serial = hid.get("HID_NAME", "HID device"), udev_text(hid.get("HID_UNIQ", ""))
    return Identity(int(vendor, 16), int(product, 16), name, serial)


def udev_text(text: str) -> str:
    """A serial number in the spelling of udev's usb_id; empty if it contains a character that udev does not allow."""
    # documented: systemd, udev-builtin-usb_id.c
    if any(not " " <= each <= "\x7f" or each == "," for each in text):
        return ""
    return re.sub(r"[^0-9A-Za-z#+.:=@_-]", "_", re.sub(r"\s+", "_", text.strip()))


def identity_problem(address: SerialAddress | HidrawAddress, device: int, sys: Path = SYS) -> str | None:
    """Why the open node may not be the device of its name in /dev/shoed; None if the identity is certain."""
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
        return f"the node belongs to the device in another USB socket ({found.socket}); unplug and reconnect the device"
    if name != found.serial_name:
        has = f"its serial number is {found.serial}" if found.serial else "it has no serial number"
        return (
            f"the node belongs to another device, {found.name} ({found.ids}): {has}; connect the right device,"
            f" or {_list()}"
        )
    if is_shared(found, "hidraw" if is_hid else "tty", sys):
        return f"several devices have the serial number {found.serial}; {_list()}"
    return None


def unknown_ids_problem(address: HidrawAddress, device: int, known: Known | None, sys: Path = SYS) -> str | None:
    """Why the table may not read the open node. A keyboard and a scanner differ only in their ids."""
    found = identity_of(device, sys)
    if found is None or known is None:
        return None
    if (found.vendor, found.product) in ({address.id} if address.id is not None else known):
        return None
    named = HidrawAddress(address.path, (found.vendor, found.product))
    return (
        f"the device is {found.name} ({found.ids}), which is not known to use this protocol; connect the right"
        f" device, or write {named} if this device is the right one"
    )


def _list() -> str:
    return "write the name that `shoed ports` lists"


# --- names


CHANGING: Final = re.compile(r"/dev/(?:hidraw|ttyUSB|ttyACM)[0-9]+")  # the number depends on the order of connection


def names_its_device(address: Address) -> bool:
    """Whether the address means the same device after a restart."""
    match address:
        case SerialAddress(path=path):
            return not CHANGING.fullmatch(os.path.normpath(path))
        case HidrawAddress(path=path):  # a link that a person made may point to any node
            return Path(os.path.normpath(path)).parent == NAMES
        case _:
            return True


def links_in(folder: Path) -> dict[str, list[str]]:
    """By node: udev's links to its device; the links with a USB socket are last."""
    links: dict[str, list[str]] = {}
    with suppress(OSError):  # without the folder, no such device is connected
        for link in sorted(folder.iterdir(), key=lambda link: (is_by_socket(link.name), link.name)):
            links.setdefault(str(link.resolve()), []).append(str(link))
    return links


def is_by_socket(name: str) -> bool:
    return SOCKET.search(name) is not None


def stable_path(node: str, links: Sequence[Mapping[str, Sequence[str]]], sys: Path = SYS) -> str | None:
    """A name of the node that stays with its device. None: the node has no such name, or two devices have it."""
    names = [name for each in links for name in each.get(node, ())]
    kind = "hidraw" if Path(node).name.startswith("hidraw") else "tty"
    found = identity_at(sys / "class" / kind / Path(node).name)
    if found is not None and is_shared(found, kind, sys):
        names = [name for name in names if is_by_socket(name)]
    return next(iter(names), None)


def is_shared(found: Identity, kind: str, sys: Path = SYS) -> bool:
    """Whether another device has the same name from its serial number."""
    nodes = "hidraw/hidraw*" if kind == "hidraw" else "tty/tty[UA]*"
    alike = (identity_at(folder) for folder in (sys / "class").glob(nodes))
    return bool(found.serial) and sum(each is not None and each.serial_name == found.serial_name for each in alike) > 1


def usb_node(folder: Path) -> str:
    """The node of a USB device, from its folder in sysfs."""
    bus, number = (int(sysfs_value(folder / name) or "0") for name in ("busnum", "devnum"))
    return f"/dev/bus/usb/{bus:03}/{number:03}"


def sysfs_value(file: Path) -> str:
    """The text of a sysfs file; empty if the file does not exist."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
