"""A USB device, its bytes on the loop.

libusb blocks, so an open link has two daemon threads: one reads a packet at a time and hands it to the loop, the
other writes what is queued, in order. Both look every 200 ms whether to end. Whichever meets the end of the
device tells why; the device is let go of, by `close`, when both have ended.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Final

from shoed.errors import PortError
from shoed.now import Chunk, Now
from shoed.ports.address import UsbAddress
from shoed.ports.clock import now
from shoed.ports.inbox import Inbox
from shoed.ports.threads import off_loop, tell
from shoed.ports.usb_device import TRANSFER_MS, Device, Gone, open_device

LOG: Final = logging.getLogger("shoed")

# A thread that a driver holds for longer is left to it, with the device.
HANGS_S: Final = 2.0

# Packets on their way to a loop that is busy; the device keeps the rest.
MOST_HANDED: Final = 256


async def open_usb(address: UsbAddress) -> "UsbLink":
    device = await off_loop(lambda: open_device(address), undo=Device.close)
    return UsbLink(str(address), device)


class UsbLink:
    """Made by open_usb."""

    def __init__(self, at: str, device: Device) -> None:
        self._at = at
        self._device = device
        self._loop = asyncio.get_running_loop()
        self._flowing = threading.Event()
        self._flowing.set()
        self._inbox = Inbox(pause=self._flowing.clear, resume=self._flowing.set)
        self._handed = threading.Semaphore(MOST_HANDED)
        self._unsent = bytearray()
        self._queued = threading.Condition()  # guards what is unsent
        self._leaving = threading.Event()
        self._closed = False
        moves = [self._read] if device.sink is None else [self._read, self._write]
        self._threads = [
            threading.Thread(target=self._run, args=(move,), name="shoed-usb", daemon=True) for move in moves
        ]
        for thread in self._threads:
            thread.start()

    async def receive(self) -> Chunk:
        return await self._inbox.receive()

    def heard_until(self) -> Now:
        return self._inbox.heard_until()

    def send(self, data: bytes) -> None:
        if self._device.sink is None:
            raise PortError(f"{self._at}: the device takes no bytes; set allow_orders = false")
        with self._queued:
            self._inbox.check_send(data, len(self._unsent), f"{self._at}: the device", "unplug and reconnect it")
            self._unsent += data
            self._queued.notify()

    async def close(self) -> None:
        """What has not been sent yet is thrown away."""
        if self._closed:
            return
        self._closed = True
        self._inbox.end(f"{self._at}: closed")
        self._leave()
        await off_loop(self._let_go)

    def _put(self, chunk: Chunk) -> None:
        self._handed.release()
        self._inbox.heard(chunk)

    def _leave(self) -> None:
        self._leaving.set()
        with self._queued:
            self._queued.notify()

    def _let_go(self) -> None:
        for thread in self._threads:
            thread.join(HANGS_S)
        if any(thread.is_alive() for thread in self._threads):
            LOG.error("%s: the kernel does not let go of it; pull it, and restart shoed if it stays busy", self._at)
        else:
            self._device.close()

    # --- in threads

    def _run(self, move: Callable[[], None]) -> None:
        reason = "closed"
        try:
            while not self._leaving.is_set():
                move()
        except Gone as gone:
            reason = str(gone)
        finally:
            tell(self._loop, self._inbox.end, f"{self._at}: {reason}")
            self._leave()

    def _read(self) -> None:
        if not self._flowing.wait(TRANSFER_MS / 1000) or not self._handed.acquire(timeout=TRANSFER_MS / 1000):
            return
        if data := self._device.source.read():
            tell(self._loop, self._put, Chunk(data, now()))
        else:
            self._handed.release()

    def _write(self) -> None:
        with self._queued:
            self._queued.wait_for(lambda: self._unsent or self._leaving.is_set())
            data = bytes(self._unsent)
        if data and self._device.sink is not None:
            sent = self._device.sink.write(data)
            with self._queued:
                del self._unsent[:sent]
