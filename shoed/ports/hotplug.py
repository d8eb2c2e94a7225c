"""Detection of a connected device: inotify watches the folder in which the node of an address will appear.

The folder itself may not exist (udev removes the by-id folder with its last node). Then the nearest existing parent
is watched. Only the name that leads to the node is a sign; the names of other devices are not. A USB device appears
before udev sets its group and before libusb lists it. Therefore the first attempts after a sign follow quickly. If the
kernel refuses a watch, the wait ends at its time limit.
"""

import asyncio
import os
import struct
from pathlib import Path
from typing import Any, Final

from shoed.ports.address import Address, HidrawAddress, SerialAddress, UsbAddress

USB: Final = Path("/dev/bus/usb")

# <sys/inotify.h>: IN_ATTRIB, IN_MOVED_TO, IN_CREATE, IN_ONLYDIR
SIGNS: Final = 0x04 | 0x80 | 0x100 | 0x0100_0000
LOST: Final = 0x4000 | 0x8000  # IN_Q_OVERFLOW: signs were dropped; IN_IGNORED: the folder was removed
RECORD: Final = struct.Struct("iIII")  # inotify_event: watch, mask, cookie, length of the name; the name follows

READ_BYTES: Final = 4096

# A connected device causes several signs. At the first sign the device is incomplete.
SETTLE_S: Final = 0.01

# A node that appeared between the attempt to open it and the first watch of its folder caused no sign.
UNWATCHED_S: Final = 0.1


def folders(address: Address) -> tuple[Path, ...]:
    """The folders in which the device will appear; none for a network address or a file."""
    match address:
        case SerialAddress(path=path) | HidrawAddress(path=path):
            return (Path(path).parent,)
        case UsbAddress():
            return (USB, *USB.glob("*"))
        case _:
            return ()


class HotplugWait:
    """A wait that a sign of the device ends early. The object has a descriptor from the first wait until `close`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._name = Path(address.path).name if isinstance(address, SerialAddress | HidrawAddress) else ""
        self._libc: Any = None
        self._descriptor = -1
        self._names: dict[int, bytes | None] = {}  # by watch: the name that is a sign; None: every name is a sign

    async def wait(self, at_most_s: float) -> bool:
        """True if a sign ended the wait."""
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
        """Watch the folders that exist now. True if one of these folders had no watch before."""
        wanted = folders(self._address)
        if wanted and self._descriptor < 0:
            import ctypes  # noqa: PLC0415 -- start-up time: only a port that waits needs ctypes

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
        """Read the events since the last call. True if one of them is a sign."""
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
