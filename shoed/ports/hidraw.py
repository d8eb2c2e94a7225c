"""The raw reports of a HID device whose driver the kernel keeps: each read of its node is one report, and one chunk.

The node is opened for reading alone. The kernel keeps 64 reports for each who has it open; a lock keeps two tables
from hearing one device.
"""

import errno
import fcntl
import os
import stat

from shoed.errors import LinkLost, PortAbsent, PortError, PortRefused
from shoed.ports.address import HidrawAddress
from shoed.ports.identity import Known, doubt, stranger
from shoed.ports.nodes import absent, denial, doubted
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
        raise PortError(f"{self._path}: reports are read, and nothing is sent; set allow_orders = false")


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
        return PortRefused(f"{address}: this is no device; `shoed ports` lists those that are")
    if problem := doubt(address, node.st_rdev) or stranger(address, node.st_rdev, known):
        return doubted(address, node, problem)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return PortRefused(
            f"{address}: another table or program has it open; stop that one (`fuser -v {address.path}` names it)"
        )
    return None


def _refusal(address: HidrawAddress, error: OSError) -> PortRefused:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return absent(address)
        case errno.EACCES | errno.EPERM:
            return denial(address, address.path)
        case errno.ENXIO | errno.ENODEV | errno.EIO:
            return PortAbsent(f"{address}: the node is there and no device is behind it; check the cable")
        case _:
            return PortRefused(f"{address}: it cannot be opened: {error.strerror}; check the cable")
