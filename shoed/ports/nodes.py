"""A node that cannot be opened: why not, and who is to act on it.

The kernel makes a node for root alone; udev gives it its group and mode a moment later. A refusal in that moment
says nothing (PortUnready): the node is asked again, and the refusal stands if it is still refused then.
"""

import grp
import os
import stat
import time
from pathlib import Path
from typing import Final

from shoed.errors import PortAbsent, PortRefused, PortUnready
from shoed.ports.address import Address

# observed: udev is done with a node within 0.2 s; a machine that starts has many nodes to see to.
NEW_S: Final = 3.0

ROOT: Final = 0


def absent(address: Address) -> PortAbsent:
    return PortAbsent(
        f"{address}: there is no such node; check the cable and the path, `shoed ports` lists what is there"
    )


def is_new(node: os.stat_result) -> bool:
    """Whether udev may still be at work: the owner, the mode or the node itself changed a moment ago."""
    return 0 <= time.time() - node.st_ctime < NEW_S


def doubted(address: Address, node: os.stat_result, problem: str) -> PortRefused:
    """A name of udev's that is out of date for a moment is no other device."""
    return (PortUnready if is_new(node) else PortRefused)(f"{address}: {problem}")


def denial(address: Address, path: str) -> PortRefused:
    """Why a node was denied, by what is there now."""
    try:
        node = Path(path).stat()
    except PermissionError:
        return PortRefused(
            f"{address}: the folder of the node may not be entered; give the permission, or run shoed as another user"
        )
    except OSError:
        return absent(address)
    return doubted(address, node, f"permission denied, and {_remedy(node)}")


def _remedy(node: os.stat_result) -> str:
    try:
        group = grp.getgrgid(node.st_gid).gr_name
    except KeyError:
        group = str(node.st_gid)
    may_use = node.st_mode & stat.S_IRGRP and node.st_mode & stat.S_IWGRP
    if node.st_gid == ROOT or not may_use:
        return f"its group {group} is not for devices; install shoed's udev rules, then unplug and reconnect the device"
    if node.st_gid in {os.getegid(), *os.getgroups()}:
        return f"shoed is in its group {group}; allow this kind of device in the service's unit (DeviceAllow)"
    return (
        f"it belongs to group {group}: join it with `sudo usermod -aG {group} $USER` and log in again, or give the"
        f" service SupplementaryGroups={group}"
    )
