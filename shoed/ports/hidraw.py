"""The raw reports of a HID device. The kernel's driver stays attached. Each read of the node returns one report.

The link opens the node read-only. The kernel buffers 64 reports for each open file. A lock prevents two tables from
reading one device.
"""

import errno
import fcntl
import os
import stat

from shoed.errors import LinkLost, PortAbsent, PortError, PortRefused
from shoed.ports.address import HidrawAddress
from shoed.ports.identity import Known, identity_problem, unknown_ids_problem
from shoed.ports.nodes import absent, denial, refusal_of_node
from shoed.ports.serial import SerialLink
from shoed.ports.threads import off_loop


async def open_hidraw(address: HidrawAddress, known: Known | None) -> "HidrawLink":
    return HidrawLink(address.path, await off_loop(lambda: _open(address, known), undo=os.close))


class HidrawLink(SerialLink):
    """Made by open_hidraw."""

    def send(self, data: bytes) -> None:
        del data
        if self._inbox.ended is not None:
            raise LinkLost(self._inbox.ended)
        raise PortError(f"{self._path}: a hidraw port is read-only; set allow_orders = false")


def _open(address: HidrawAddress, known: Known | None) -> int:
    try:
        descriptor = os.open(address.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refusal(address, error) from error
    refusal = _judged(address, descriptor, known)
    if refusal is not None:
        os.close(descriptor)
        raise refusal
    return descriptor


def _judged(address: HidrawAddress, descriptor: int, known: Known | None) -> PortRefused | None:
    node = os.fstat(descriptor)
    if not stat.S_ISCHR(node.st_mode):
        return PortRefused(f"{address}: the path is not a device; `shoed ports` lists the devices")
    if problem := identity_problem(address, node.st_rdev) or unknown_ids_problem(address, node.st_rdev, known):
        return refusal_of_node(address, node, problem)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return PortRefused(
            f"{address}: another table or program uses the device; stop it (`fuser -v {address.path}` lists it)"
        )
    return None


def _refusal(address: HidrawAddress, error: OSError) -> PortRefused:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return absent(address)
        case errno.EACCES | errno.EPERM:
            return denial(address, address.path)
        case errno.ENXIO | errno.ENODEV | errno.EIO:
            return PortAbsent(f"{address}: the node exists, but the device does not answer; check the cable")
        case _:
            return PortRefused(
                f"{address}: the device cannot be opened: {error.strerror}; read the kernel log (`dmesg`)"
            )
