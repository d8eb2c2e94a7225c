"""The link to a USB device: its tasks and queues. `usb_device.py` opens the device, `usb_transfer.py` moves the bytes.

The reading task waits for one packet at a time. If the device has an OUT endpoint, a writing task writes the queued
messages in order. A message that fails is discarded and logged; the session detects the missing answer. No transfer has
a time limit, so an idle link uses no processor time; `close` cancels the transfers. The task that detects the loss of
the device reports the reason. `close` waits up to RELEASE_TIMEOUT_S for the transfers, and then releases the device. If
a transfer is still under way, the device stays open and an error is logged.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from shoed.errors import PortError
from shoed.model.moments import Chunk, Now
from shoed.ports.address import UsbAddress
from shoed.ports.clock import now
from shoed.ports.inbox import UNSENT_BYTES, Inbox, Take
from shoed.ports.threads import off_loop
from shoed.ports.usb_device import UsbDevice, open_device
from shoed.ports.usb_transfer import Endpoint, Events, UsbDeviceGone

LOG: Final = logging.getLogger("shoed")

# The kernel can keep a transfer. After this time `close` leaves the transfer and the device as they are.
RELEASE_TIMEOUT_S: Final = 2.0

PACKET: Final = 0x7FF  # the bits of wMaxPacketSize that contain the size


async def open_usb(address: UsbAddress) -> "UsbLink":
    device = await off_loop(lambda: open_device(address), undo=UsbDevice.close)
    return UsbLink(str(address), device)


class UsbLink:
    """Made by open_usb."""

    def __init__(self, at: str, device: UsbDevice) -> None:
        self._at = at
        self._device = device
        self._events = Events(device)
        # One packet at a time: a longer transfer would wait for a short packet, which a device need not send.
        packet: int = device.source.wMaxPacketSize & PACKET
        self._source = Endpoint(at, device, device.source, self._events, packet)
        self._sink = None if device.sink is None else Endpoint(at, device, device.sink, self._events, UNSENT_BYTES)
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._inbox = Inbox(pause=self._flowing.clear, resume=self._flowing.set)
        self._unsent: deque[bytes] = deque()
        self._queued = asyncio.Event()
        self._is_leaving = False
        self._releasing: asyncio.Task[None] | None = None
        moves = [self._read] if self._sink is None else [self._read, self._write]
        self._moving = [asyncio.create_task(self._run(move)) for move in moves]

    async def receive(self, take: Take | None = None) -> Chunk:
        return await self._inbox.receive(take)

    def heard_until(self) -> Now:
        return self._inbox.heard_until()

    def send(self, data: bytes) -> None:
        if self._sink is None:
            raise PortError(f"{self._at}: the device has no OUT endpoint; set allow_orders = false")
        unsent = sum(map(len, self._unsent))
        self._inbox.check_send(data, unsent, f"{self._at}: the device", "unplug and reconnect it")
        self._unsent.append(data)
        self._queued.set()

    async def close(self) -> None:
        """Release the device. Bytes that wait to be sent are discarded."""
        if self._releasing is None:
            self._inbox.end(f"{self._at}: closed")
            self._leave()
            self._releasing = asyncio.create_task(self._release())
        await asyncio.shield(self._releasing)

    def _leave(self) -> None:
        self._is_leaving = True
        self._flowing.set()
        self._queued.set()
        for endpoint in self._endpoints:
            endpoint.cancel()

    @property
    def _endpoints(self) -> list[Endpoint]:
        return [self._source] if self._sink is None else [self._source, self._sink]

    async def _release(self) -> None:
        _, hanging = await asyncio.wait(self._moving, timeout=RELEASE_TIMEOUT_S)
        self._events.unwatch()
        if hanging:
            LOG.error(
                "%s: the kernel does not release the USB device; unplug and reconnect the device. If the device stays "
                "busy, restart shoed",
                self._at,
            )
            return
        for endpoint in self._endpoints:
            endpoint.free()
        await off_loop(self._device.close)

    # --- tasks

    async def _run(self, move: Callable[[], Awaitable[None]]) -> None:
        reason = "closed"
        try:
            while not self._is_leaving:
                await move()
        except UsbDeviceGone as gone:
            reason = str(gone)
        except Exception as error:  # the border of a task
            LOG.exception("%s: the link ends by a defect of shoed; report this log", self._at)
            reason = f"the link failed ({type(error).__name__}: {error}); shoed opens it again; report the log"
        finally:
            self._inbox.end(f"{self._at}: {reason}")
            self._leave()

    async def _read(self) -> None:
        await self._flowing.wait()
        if data := await self._source.read():
            self._inbox.heard(Chunk(data, now()))

    async def _write(self) -> None:
        await self._queued.wait()
        if self._unsent and self._sink is not None:
            is_sent = await self._sink.write(self._unsent[0])
            data = self._unsent.popleft()
            if not is_sent:
                LOG.warning(
                    "%s: a transfer to the device failed, and the device may have a part of these bytes: %s; shoed does"
                    " not send them again; if this repeats, replace the cable",
                    self._at,
                    data.hex(" "),
                )
        if not self._unsent and not self._is_leaving:
            self._queued.clear()
