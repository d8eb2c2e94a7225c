"""The link to a USB device: its threads and queues. `usb_device.py` calls libusb.

libusb blocks, so an open link has daemon threads. The reading thread reads one packet at a time and passes it to the
event loop. If the device has an OUT endpoint, a writing thread writes the queued bytes in order. A transfer ends after
at most 200 ms, and the thread checks whether it must end. The thread that detects the loss of the device reports the
reason. `close` waits up to RELEASE_TIMEOUT_S for each thread, and then releases the device. If a thread still runs, the
device stays open and an error is logged.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Final

from shoed.errors import PortError
from shoed.model.moments import Chunk, Now
from shoed.ports.address import UsbAddress
from shoed.ports.clock import now
from shoed.ports.inbox import Inbox
from shoed.ports.threads import Turns, call_on_loop, off_loop
from shoed.ports.usb_device import TRANSFER_MS, UsbDevice, UsbDeviceGone, open_device

LOG: Final = logging.getLogger("shoed")

# A driver can block a thread. After this time `close` leaves the thread and the device as they are.
RELEASE_TIMEOUT_S: Final = 2.0

# Packets that wait for a busy event loop. The device buffers further packets.
QUEUED_PACKETS_MAX: Final = 256


async def open_usb(address: UsbAddress) -> "UsbLink":
    device = await off_loop(lambda: open_device(address), undo=UsbDevice.close)
    return UsbLink(str(address), device)


class UsbLink:
    """Made by open_usb."""

    def __init__(self, at: str, device: UsbDevice) -> None:
        self._at = at
        self._device = device
        self._loop = asyncio.get_running_loop()
        self._flowing = threading.Event()
        self._flowing.set()
        self._inbox = Inbox(pause=self._flowing.clear, resume=self._flowing.set)
        self._handed = threading.Semaphore(QUEUED_PACKETS_MAX)
        self._unsent = bytearray()
        self._queued = threading.Condition()  # guards `_unsent`
        self._leaving = threading.Event()
        self._closed = False
        self._turns = Turns()
        moves = [self._read] if device.sink is None else [self._read, self._write]
        self._threads = [
            threading.Thread(target=self._run, args=(move,), name="shoed-usb", daemon=True) for move in moves
        ]
        for thread in self._threads:
            thread.start()

    async def receive(self) -> Chunk:
        return await self._inbox.receive()

    def heard_until(self) -> Now:
        return self._turns.heard_until(self._inbox.heard_until())

    def send(self, data: bytes) -> None:
        if self._device.sink is None:
            raise PortError(f"{self._at}: the device has no OUT endpoint; set allow_orders = false")
        with self._queued:
            self._inbox.check_send(data, len(self._unsent), f"{self._at}: the device", "unplug and reconnect it")
            self._unsent += data
            self._queued.notify()

    async def close(self) -> None:
        """Release the device. Bytes that wait to be sent are discarded."""
        if self._closed:
            return
        self._closed = True
        self._inbox.end(f"{self._at}: closed")
        self._leave()
        await off_loop(self._release)

    def _put(self, chunk: Chunk) -> None:
        self._handed.release()
        self._inbox.heard(chunk)

    def _leave(self) -> None:
        self._leaving.set()
        with self._queued:
            self._queued.notify()

    def _release(self) -> None:
        for thread in self._threads:
            thread.join(RELEASE_TIMEOUT_S)
        if any(thread.is_alive() for thread in self._threads):
            LOG.error(
                "%s: the kernel does not release the USB device; unplug and reconnect the device. If the device stays "
                "busy, restart shoed",
                self._at,
            )
        else:
            self._device.close()

    # --- in threads

    def _run(self, move: Callable[[], None]) -> None:
        reason = "closed"
        try:
            while not self._leaving.is_set():
                move()
        except UsbDeviceGone as gone:
            reason = str(gone)
        finally:
            call_on_loop(self._loop, self._inbox.end, f"{self._at}: {reason}")
            self._leave()

    def _read(self) -> None:
        self._turns.turn()
        if not self._flowing.wait(TRANSFER_MS / 1000) or not self._handed.acquire(timeout=TRANSFER_MS / 1000):
            return
        if data := self._device.source.read():
            call_on_loop(self._loop, self._put, Chunk(data, now()))
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
