"""Waking when something is plugged in: inotify on the folder in which the node of an address would appear.

A folder may come and go with its last node (udev's by-id folder does): then the nearest one above it is watched.
Only the name that leads to the node is a sign: other devices in the folder are not. A USB device appears in the
kernel before udev has given it its group and libusb has heard of it, so what follows a sign is asked for quickly
again. Where the kernel gives no watch, the poll remains.
"""

import asyncio
import os
import struct
from pathlib import Path
from typing import Any, Final

from shoed.ports.address import Address, HidrawAddress, SerialAddress, UsbAddress

USB: Final = Path("/dev/bus/usb")

# <sys/inotify.h>: another permission, a name that came by moving or by creating, of folders alone
SIGNS: Final = 0x04 | 0x80 | 0x100 | 0x0100_0000
LOST: Final = 0x4000 | 0x8000  # signs were dropped; the folder itself is gone
RECORD: Final = struct.Struct("iIII")  # inotify_event: watch, mask, cookie, length of the name behind it

READ_BYTES: Final = 4096

# One plug is several signs; whoever ran at the first would find half a device.
SETTLE_S: Final = 0.01

# A node that came between an attempt to open it and the first watch of its folder has given no sign.
UNWATCHED_S: Final = 0.1


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
        self._name = Path(address.path).name if isinstance(address, SerialAddress | HidrawAddress) else ""
        self._libc: Any = None
        self._descriptor = -1
        self._names: dict[int, bytes | None] = {}  # by watch: the name that is a sign; None: each is

    async def wait(self, at_most_s: float) -> bool:
        """Whether there was a sign."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + (min(at_most_s, UNWATCHED_S) if self._look() else at_most_s)
        if self._descriptor < 0:
            await asyncio.sleep(at_most_s)
            return False
        sign = asyncio.Event()
        loop.add_reader(self._descriptor, sign.set)
        try:
            async with asyncio.timeout_at(until_s):
                while not self._is_sign():
                    sign.clear()
                    await sign.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(self._descriptor)
        await asyncio.sleep(SETTLE_S)
        self._is_sign()
        return True

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._names.clear()

    def _look(self) -> bool:
        """Watch what there is to watch by now, and whether a folder of it was not watched before."""
        wanted = folders(self._address)
        if wanted and self._descriptor < 0:
            import ctypes  # noqa: PLC0415 -- for who waits for a device: a start has little time to spare

            self._libc = ctypes.CDLL(None)
            self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        before = set(self._names)
        for folder in wanted:
            node = folder / self._name
            for there in (folder, *folder.parents):
                watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(there), SIGNS)
                if watch >= 0:
                    below = node.relative_to(there).parts
                    self._names[watch] = os.fsencode(below[0]) if below else None
                    break
        return not before >= set(self._names)

    def _is_sign(self) -> bool:
        """Whether one is among what was noticed since; it is taken away."""
        try:
            noticed = os.read(self._descriptor, READ_BYTES)
        except BlockingIOError:
            return False
        found = False
        while noticed:
            watch, mask, _, length = RECORD.unpack_from(noticed)
            name, noticed = noticed[RECORD.size :][:length].rstrip(b"\0"), noticed[RECORD.size + length :]
            found = found or bool(mask & LOST) or self._names.get(watch) in (None, name)
            if mask & LOST:
                self._names.pop(watch, None)
        return found
