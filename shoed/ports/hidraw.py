"""The raw reports of a HID device whose driver the kernel keeps: each read of its node is one report, and one chunk.

The node is opened for reading alone. The kernel keeps 64 reports for each who has it open.
"""

import errno
import os
import stat

from shoed.errors import LinkLost, PortError, PortRefused
from shoed.ports.address import HidrawAddress
from shoed.ports.serial import SerialLink, denial
from shoed.ports.threads import off_loop


async def open_hidraw(address: HidrawAddress) -> "HidrawLink":
    return HidrawLink(address.path, await off_loop(lambda: _open(address), undo=os.close))


class HidrawLink(SerialLink):
    """Made by open_hidraw."""

    def send(self, data: bytes) -> None:
        del data
        if self._inbox.ended is not None:
            raise LinkLost(self._inbox.ended)
        raise PortError(f"{self._path}: reports are read, and nothing is sent; set allow_orders = false")


def _open(address: HidrawAddress) -> int:
    try:
        descriptor = os.open(address.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise PortRefused(f"{address}: {_refusal(address.path, error)}") from error
    if not stat.S_ISCHR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PortRefused(f"{address}: this is no device; `shoed ports` lists those that are")
    return descriptor


def _refusal(path: str, error: OSError) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "there is no such node; check the cable and the path, `shoed ports` lists what is there"
        case errno.EACCES | errno.EPERM:
            return denial(path)
        case _:
            return f"it cannot be opened: {error.strerror}; check the cable"
