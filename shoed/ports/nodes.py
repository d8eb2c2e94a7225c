"""The errors of a node that cannot be opened, each with its remedy.

The kernel makes a node for root only. udev sets the group and the mode a moment later. A refusal in this time is
PortUnready: the port opens the node again, and reports a refusal only if the node is still refused later.
"""

import grp
import os
import pwd
import stat
import time
from pathlib import Path
from typing import Final

from shoed.errors import PortAbsent, PortRefused, PortUnready
from shoed.ports.address import Address, HidrawAddress, SerialAddress, UsbAddress
from shoed.ports.identity import SYS, identity_of, sysfs_value, usb_node

# observed: udev finishes a node within 0.2 s; a machine that starts has many nodes.
NEW_S: Final = 3.0

ROOT: Final = 0


def absent(address: Address) -> PortAbsent:
    return PortAbsent(
        f"{address}: the node does not exist; check the cable and the path (`shoed ports` lists the devices)"
    )


def is_new(node: os.stat_result) -> bool:
    """Whether udev may not have finished: the owner, the mode or the node itself changed a moment ago."""
    return 0 <= time.time() - node.st_ctime < NEW_S


def refusal_of_node(address: Address, node: os.stat_result, problem: str) -> PortRefused:
    """The refusal of a node. While udev may still change the node or its links, it is PortUnready."""
    return (PortUnready if is_new(node) else PortRefused)(f"{address}: {problem}")


def denial(address: Address, path: str) -> PortRefused:
    """The refusal of a node without permission, from its present group and mode."""
    try:
        node = Path(path).stat()
    except PermissionError:
        return PortRefused(
            f"{address}: shoed may not enter the folder of the node; change its mode, or run shoed as another user"
        )
    except OSError:
        return absent(address)
    return refusal_of_node(address, node, f"permission denied: {_remedy(node, path)}")


def node_problem(address: Address) -> tuple[str, str] | None:
    """The problem and the remedy if this user may not open the connected device. The device is not opened."""
    path = _node_of(address)
    access = os.R_OK if isinstance(address, HidrawAddress) else os.R_OK | os.W_OK
    try:
        if path is None or os.access(path, access):
            return None
        return f"permission denied for {path}", _remedy(Path(path).stat(), path)
    except FileNotFoundError:
        return None
    except PermissionError:
        return f"permission denied for {path}", "change the mode of its folder"


def _node_of(address: Address) -> str | None:
    match address:
        case SerialAddress(path=path) | HidrawAddress(path=path):
            return path
        case UsbAddress(vendor=vendor, product=product, serial=serial):
            for folder in (SYS / "bus/usb/devices").glob("*"):
                ids = tuple(int(sysfs_value(folder / name) or "0", 16) for name in ("idVendor", "idProduct"))
                if ids == (vendor, product) and serial in (None, sysfs_value(folder / "serial")):
                    return usb_node(folder)
            return None
        case _:
            return None


def _remedy(node: os.stat_result, path: str) -> str:
    try:
        group = grp.getgrgid(node.st_gid).gr_name
    except KeyError:
        group = str(node.st_gid)
    may_use = node.st_mode & stat.S_IRGRP and node.st_mode & stat.S_IWGRP
    if node.st_gid == ROOT or not may_use:
        if is_built_in(node):
            return (
                f"the group {group} of the built-in port is not a group for devices; run `chgrp dialout {path}` and"
                f" `chmod 660 {path}` at each start of the machine, or use an adapter"
            )
        return (
            f"the group {group} of the node is not a group for devices; install shoed's udev rules, then unplug and"
            " reconnect the device"
        )
    if node.st_gid in {os.getegid(), *os.getgroups()}:
        return (
            f"shoed is a member of the group {group} of the node; allow this kind of device in the service's unit"
            " (DeviceAllow)"
        )
    return (
        f"the node belongs to the group {group}; run `sudo usermod -aG {group} {_user()}` and log in again, or add"
        f" SupplementaryGroups={group} to the service's unit"
    )


def is_built_in(node: os.stat_result) -> bool:
    """Whether the node is of neither a USB nor a HID device. The udev rules of shoed do not apply to it."""
    place = SYS / f"dev/char/{os.major(node.st_rdev)}:{os.minor(node.st_rdev)}"
    return place.exists() and identity_of(node.st_rdev) is None


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "$USER"
