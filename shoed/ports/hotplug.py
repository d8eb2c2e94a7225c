"""Waking when something is plugged in: inotify on the folder in which the node of an address would appear.

A folder may come and go with its last node (udev's by-id folder does): then the nearest one above it is watched.
A USB device appears in the kernel before udev has given it its group and libusb has heard of it, so what follows
a sign is asked for quickly again. Where the kernel gives no watch, the poll that stands behind it is left.
"""

import asyncio
import os
from pathlib import Path
from typing import Any, Final

from shoed.ports.address import Address, HidrawAddress, SerialAddress, UsbAddress

USB: Final = Path("/dev/bus/usb")

# <sys/inotify.h>: another permission, a name that came by moving or by creating, of folders alone
SIGNS: Final = 0x04 | 0x80 | 0x100 | 0x0100_0000

READ_BYTES: Final = 4096

# One plug is several signs; whoever ran at the first would find half a device.
SETTLE_S: Final = 0.01


def folders(address: Address) -> tuple[Path, ...]:
    """Where the device would appear; nowhere on this machine if it is behind a network, or a file."""
    match address:
        case SerialAddress(path=path) | HidrawAddress(path=path):
            return (Path(path).parent,)
        case UsbAddress():
            return (USB, *USB.glob("*"))
        case _:
            return ()


class Watch:
    """A wait that a sign of the device cuts short. It holds a descriptor from the first wait until it is closed."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._libc: Any = None
        self._descriptor = -1

    async def wait(self, at_most_s: float) -> bool:
        """Whether there was a sign."""
        self._look()
        if self._descriptor < 0:
            await asyncio.sleep(at_most_s)
            return False
        loop = asyncio.get_running_loop()
        sign = asyncio.Event()
        loop.add_reader(self._descriptor, sign.set)
        try:
            async with asyncio.timeout(at_most_s):
                await sign.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(self._descriptor)
        await asyncio.sleep(SETTLE_S)
        os.read(self._descriptor, READ_BYTES)
        return True

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _look(self) -> None:
        """Watch what there is to watch by now; a folder that is watched already stays so."""
        wanted = folders(self._address)
        if wanted and self._descriptor < 0:
            import ctypes  # noqa: PLC0415 -- for who waits for a device: a start has little time to spare

            self._libc = ctypes.CDLL(None)
            self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in wanted:
            for there in (folder, *folder.parents):
                if self._libc.inotify_add_watch(self._descriptor, os.fsencode(there), SIGNS) >= 0:
                    break
