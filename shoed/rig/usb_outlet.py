"""The connection of a virtual device to the USB bus of a virtual machine, over a unix socket.

Theory of operation: QEMU has `-device usb-redir` with a chardev that listens on a unix socket. A connection to the
socket is the plug; its end is the unplug. If the host ends the connection (the machine is switched off), the outlet
connects again: the device is still in its socket. `connected` is set while the host reads. A host that reads a bulk
endpoint has short pauses between its reads. Bytes that no host reads are lost, as on a real line.
"""

import asyncio
import errno
from contextlib import suppress
from typing import Final, NamedTuple, cast

from shoed.errors import RigError
from shoed.rig.device import Nak, Stall
from shoed.rig.outlets import FLOWING_BYTES, LINGER_S, Attendance, OnBytes
from shoed.rig.usb_descriptions import UsbDescription, usb_port
from shoed.rig.usbredir import UsbRedirDevice

NOT_READ_S: Final = 1.0  # a host that has not read for this time has closed the device
BUFFERED_S: Final = 1.0  # at the end: QEMU buffers interrupt packets, and does not report that the host has them
RETRY_S: Final = 0.1
GREETING_S: Final = 10.0


class UsbPlace(NamedTuple):
    """A device on a bus."""

    path: str  # of the socket of the host
    description: UsbDescription
    serial: str


class UsbOutlet:
    """`at` is the port for the configuration."""

    def __init__(self, place: UsbPlace, on_bytes: OnBytes) -> None:
        self.on_bytes = on_bytes
        self.connected = Attendance()
        self.at = usb_port(place.description, place.serial)
        self._place = place
        self._cable: _Cable | None = None
        self._again: asyncio.Task[None] | None = None

    async def give(self, data: bytes) -> None:
        if self._cable is not None and self.connected.is_set():
            await self._cable.give(data)

    async def pull(self) -> None:
        if self._again is not None:
            self._again.cancel()
        cable, self._cable = self._cable, None
        if cable is not None:
            await cable.cut()

    async def plug(self) -> None:
        """Connect again. While the host is switched off, wait for it."""
        plugged = False
        while not plugged:
            await asyncio.sleep(RETRY_S)
            with suppress(RigError):
                await self.open()
                plugged = True

    async def open(self) -> None:
        cable = _Cable(self, UsbRedirDevice(self._place.description, self._place.serial))
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: cable, self._place.path)
            async with asyncio.timeout(GREETING_S):
                await cable.greeted
        except OSError as error:  # or TimeoutError
            cable.abort()
            reason = error.strerror or "no greeting"
            raise RigError(
                f"{self._place.path}: no USB host answers ({reason}); start QEMU with -device qemu-xhci -chardev"
                f" socket,id=shoe,path={self._place.path},server=on,wait=off -device usb-redir,chardev=shoe"
            ) from error
        self._cable = cable

    def disturb(self, action: Stall | Nak) -> None:
        """Stall the IN endpoint, or answer each of its reads with NAK for a time."""
        if self._cable is not None:
            self._cable.disturb(action)

    async def close(self) -> None:
        if self._cable is not None and self.connected.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    await self._cable.drained()
            await asyncio.sleep(BUFFERED_S)
        await self.pull()

    def switched_off(self, cable: "_Cable") -> None:
        """The host has ended the connection."""
        if cable is self._cable:
            self._again = asyncio.get_running_loop().create_task(self.plug())


class _Cable(asyncio.Protocol):
    """One connection."""

    _transport: asyncio.Transport | None = None

    def __init__(self, outlet: UsbOutlet, device: UsbRedirDevice) -> None:
        self.device = device
        self.greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._outlet = outlet
        self._gone = asyncio.Event()
        self._moved = asyncio.Event()
        self._timers: list[asyncio.TimerHandle] = []
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send(self.device.hello())

    def data_received(self, data: bytes) -> None:
        try:
            self._send(self.device.receive(data))
        except RigError as error:
            if not self.greeted.done():
                self.greeted.set_exception(error)
            self.abort()
            return
        if self.device.greeted and not self.greeted.done():
            self.greeted.set_result(None)
        if heard := self.device.taken_from_host():
            self._outlet.on_bytes(heard)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.greeted.done():
            self.greeted.set_exception(
                error or ConnectionResetError(errno.ECONNRESET, "the host closed the connection")
            )
        for timer in self._timers:
            timer.cancel()
        self._leave()
        self._gone.set()
        self._outlet.switched_off(self)

    async def give(self, data: bytes) -> None:
        """A slow host slows the device."""
        self._send(self.device.say(data))
        while len(self.device.unsent) > FLOWING_BYTES:
            self._moved.clear()
            await self._moved.wait()

    def disturb(self, action: Stall | Nak) -> None:
        match action:
            case Stall(times):
                self._send(self.device.stall(times))
            case Nak(for_ms):
                self._send(self.device.hold(holds=True))
                loop = asyncio.get_running_loop()
                self._timers.append(loop.call_later(for_ms / 1000, lambda: self._send(self.device.hold(holds=False))))

    async def drained(self) -> None:
        while self.device.unsent:
            self._moved.clear()
            await self._moved.wait()

    async def cut(self) -> None:
        self.abort()
        await self._gone.wait()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _send(self, data: bytes) -> None:
        """Send, and note whether the host reads."""
        if data and self._transport is not None:
            self._transport.write(data)
        self._moved.set()
        if self.device.is_read:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None
            self._outlet.connected.set()
        elif self._unread is None and self._outlet.connected.is_set():
            self._unread = asyncio.get_running_loop().call_later(NOT_READ_S, self._leave)

    def _leave(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        self.device.unsent.clear()
        self._moved.set()
        self._outlet.connected.clear()
