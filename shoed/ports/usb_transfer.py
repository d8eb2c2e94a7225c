"""Asynchronous transfers of a USB device on the event loop.

Theory of operation: libusb submits a transfer to the kernel without a time limit. The node of the device polls writable
after the end of a transfer. Then the event loop lets libusb handle its events, and libusb calls `Endpoint._notice`. A
thread that opens another device may handle the same event first, so `_notice` passes the end on to the event loop. A
transfer ends when the device moves its bytes, when an endpoint stalls, when the device is disconnected, or by `cancel`.
The event loop watches the node only while a transfer is under way, because the node of a disconnected device always
polls ready.

A device must not execute an order twice, or read a frame that continues after a gap. Therefore a write that fails is
repeated only if the device has certainly accepted no byte of it: the endpoint stalled before the first byte.

pyusb declares the types and functions of libusb, but makes no asynchronous transfers of these kinds. Therefore this
module uses private names of pyusb; a test checks these names.
"""

import asyncio
import ctypes
import errno
import logging
import os
from typing import Final

import usb.core
import usb.util
from usb.backend import libusb1

from shoed.ports.threads import call_on_loop, off_loop
from shoed.ports.usb_device import Pyusb, UsbDevice

LOG: Final = logging.getLogger("shoed")

# A device that stalls more often than this without a byte in between does not recover.
MOST_STALLS: Final = 3

# An endpoint may work again after a clear-halt: stall, broken transfer, more bytes than a packet.
RECOVERABLE: Final = {errno.EPIPE, errno.EIO, errno.EOVERFLOW}

# <libusb.h>: enum libusb_transfer_status, without the time limit, which no transfer has
STATUS: Final = {0: 0, 1: errno.EIO, 3: errno.ECANCELED, 4: errno.EPIPE, 5: errno.ENODEV, 6: errno.EOVERFLOW}


class UsbDeviceGone(Exception):
    """The device cannot be used any more. The text contains the reason and the remedy."""


class Timeval(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("microseconds", ctypes.c_long))


NOW: Final = Timeval(0, 0)

_UNDER_WAY: Final[set["Endpoint"]] = set()  # libusb has pointers to these, also after the end of the event loop


class Events:
    """The events of one open device, while one of its transfers is under way."""

    def __init__(self, device: UsbDevice) -> None:
        self.backend: Pyusb = device.device._ctx.backend  # noqa: SLF001
        self.handle: Pyusb = device.device._ctx.handle.handle  # noqa: SLF001
        self.loop = asyncio.get_running_loop()
        self.under_way = 0
        self._node = device.descriptor
        self._is_watched = False

    def watch(self) -> None:
        if not self._is_watched:
            self._is_watched = True
            self.loop.add_writer(self._node, self._handle)

    def unwatch(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self.loop.remove_writer(self._node)

    def _handle(self) -> None:
        if self.under_way:
            self.backend.lib.libusb_handle_events_timeout_completed(self.backend.ctx, ctypes.byref(NOW), None)
        else:
            self.unwatch()


class Endpoint:
    """One direction of a device's bytes, with one transfer at a time. An endpoint clears and counts its stalls."""

    def __init__(self, at: str, device: UsbDevice, endpoint: Pyusb, events: Events, size: int) -> None:
        self._at = at
        self._device = device.device
        self._endpoint = endpoint
        self._events = events
        self._ended: asyncio.Future[None] | None = None  # the end of the transfer that is under way
        self._is_cancelled = False
        self._in_a_row = 0
        self.stalls = 0
        self._buffer = ctypes.create_string_buffer(size)
        self._transfer = events.backend.lib.libusb_alloc_transfer(0)
        fields = self._transfer.contents
        fields.dev_handle = events.handle
        fields.endpoint = endpoint.bEndpointAddress
        fields.type = usb.util.endpoint_type(endpoint.bmAttributes)
        fields.buffer = ctypes.addressof(self._buffer)
        fields.callback = self._callback = libusb1._libusb_transfer_cb_fn_p(self._notice)  # noqa: SLF001

    async def read(self) -> bytes:
        """One packet; empty if the endpoint had to be cleared, or after `cancel`."""
        moved, fault = await self._move(len(self._buffer))
        return b"" if fault else self._buffer.raw[:moved]

    async def write(self, data: bytes) -> bool:
        """Write each byte once. False: a transfer failed, and it is not known which bytes the device has."""
        sent = 0
        while sent < len(data) and not self._is_cancelled:
            part = data[sent:][: len(self._buffer)]
            ctypes.memmove(self._buffer, part, len(part))
            moved, fault = await self._move(len(part))
            sent += moved
            if fault and (sent or fault != errno.EPIPE):
                return False
        return True

    def cancel(self) -> None:
        """End the transfer that is under way, and every later one."""
        self._is_cancelled = True
        if self._ended is not None:
            self._events.backend.lib.libusb_cancel_transfer(self._transfer)

    def free(self) -> None:
        if self._ended is None:
            self._events.backend.lib.libusb_free_transfer(self._transfer)

    async def _move(self, length: int) -> tuple[int, int]:
        """The number of moved bytes, and of the error after which the endpoint was cleared; (0, 0) after `cancel`."""
        if self._is_cancelled:
            return 0, 0
        fault = await self._run(length)
        if fault == errno.ECANCELED:
            return 0, 0
        moved = int(self._transfer.contents.actual_length)
        if fault:
            await self._clear(fault)
            return moved, fault
        # The endpoint works again, so the stalls are logged. A permanent stall raises UsbDeviceGone instead.
        if self._in_a_row:
            self.stalls += self._in_a_row
            LOG.warning(
                "%s: an endpoint stalled, was cleared, and works again (%d stalls so far);"
                " if the number grows, replace the cable",
                self._at,
                self.stalls,
            )
        self._in_a_row = 0
        return moved, 0

    async def _run(self, length: int) -> int:
        """The number of the error of one transfer; 0: none."""
        self._transfer.contents.length = length
        code = self._events.backend.lib.libusb_submit_transfer(self._transfer)
        if code:
            return libusb1._libusb_errno[code] or errno.EIO  # noqa: SLF001
        self._ended = self._events.loop.create_future()
        _UNDER_WAY.add(self)
        self._events.under_way += 1
        self._events.watch()
        await asyncio.shield(self._ended)
        return STATUS[self._transfer.contents.status]

    def _notice(self, _: object) -> None:
        """Called by libusb, in any thread."""
        call_on_loop(self._events.loop, Endpoint._end, self)

    def _end(self) -> None:
        _UNDER_WAY.discard(self)
        self._events.under_way -= 1
        if self._ended is not None:
            self._ended.set_result(None)
            self._ended = None

    async def _clear(self, fault: int) -> None:
        if fault not in RECOVERABLE or self._in_a_row == MOST_STALLS:
            raise UsbDeviceGone(self._loss(fault))
        self._in_a_row += 1
        try:
            await off_loop(lambda: self._device.clear_halt(self._endpoint))
        except usb.core.USBError as error:
            raise UsbDeviceGone(self._loss(error.errno or errno.EIO)) from error

    def _loss(self, fault: int) -> str:
        if fault in RECOVERABLE:
            return (
                f"endpoint {self._endpoint.bEndpointAddress:#04x} fails repeatedly ({os.strerror(fault)}; cleared"
                f" {MOST_STALLS} times in a row); unplug and reconnect the device, with another cable"
            )
        if fault == errno.ENODEV:
            return "the device is disconnected; check the cable"
        return f"the device cannot be used any more: {os.strerror(fault)}; unplug and reconnect it"
