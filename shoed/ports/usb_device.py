"""A USB device found, claimed and let go of again, and its endpoints: all of it blocks, and belongs into a thread.

Of the active configuration one interface is used, with its first endpoint that sends (bulk before interrupt) and the
first of the same kind that takes. A HID driver that the kernel has put there steps aside and comes back at the end;
any other makes a node of its own, and that one is to be used. A boot keyboard is asked for boot reports, whose layout
is fixed (HID 1.11, 7.2.6), and gets its own protocol back.
"""

import errno
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

import usb.core
import usb.util
from usb.backend import libusb1

from shoed.errors import PortAbsent, PortRefused
from shoed.ports.address import UsbAddress
from shoed.ports.nodes import denial

LOG: Final = logging.getLogger("shoed")

T = TypeVar("T")
Pyusb: TypeAlias = Any  # its values have no types

# How long one transfer may take: so long does a thread outlive its link, and an endpoint that stalls goes unseen.
TRANSFER_MS: Final = 200

# A device that stalls more often than this without a byte in between does not recover.
MOST_STALLS: Final = 3

# What an endpoint may go on after, once its halt is cleared: a stall, a broken transfer, more bytes than a packet has.
RECOVERABLE: Final = {errno.EPIPE, errno.EIO, errno.EOVERFLOW}

PACKET: Final = 0x7FF  # the bits of wMaxPacketSize that are its size

HID: Final = 3
BOOT_KEYBOARD: Final = (HID, 1, 1)  # class, subclass, protocol
TO_INTERFACE: Final = 0x21  # a class request to an interface
SET_PROTOCOL: Final = 0x0B
BOOT: Final = 0
REPORT: Final = 1

# Whatever keeps libusb from starting is said once, by our refusal, not at every attempt.
logging.getLogger("usb").setLevel(logging.CRITICAL)

_LOADING: Final = threading.Lock()  # pyusb makes its one context when first asked, and does not expect two who ask


class Gone(Exception):
    """The device is not usable any more; the text says why and what to do."""


class Endpoint:
    """One way of a device's bytes, with its stalls."""

    def __init__(self, at: str, device: Pyusb, endpoint: Pyusb) -> None:
        self._at = at
        self._device = device
        self._endpoint = endpoint
        # One packet at a time: a longer transfer would wait for a short packet, which a device need not send.
        self._packet: int = endpoint.wMaxPacketSize & PACKET
        self._in_a_row = 0
        self.stalls = 0

    def read(self) -> bytes:
        """One packet; none if none came in time, or if the endpoint had to be cleared."""
        return bytes(self._transfer(lambda: self._endpoint.read(self._packet, TRANSFER_MS)) or b"")

    def write(self, data: bytes) -> int:
        """How many of the bytes it took in time."""
        return int(self._transfer(lambda: self._endpoint.write(data, TRANSFER_MS)) or 0)

    def _transfer(self, transfer: Callable[[], T]) -> T | None:
        try:
            try:
                done = transfer()
            except usb.core.USBTimeoutError:
                done = None
            except usb.core.USBError as error:
                if error.errno not in RECOVERABLE or self._in_a_row == MOST_STALLS:
                    raise
                self._in_a_row += 1
                self._device.clear_halt(self._endpoint)
                return None
        except usb.core.USBError as error:
            raise Gone(self._loss(error)) from error
        if done is not None and self._in_a_row:  # one that goes on stalling is the reason of a lost link
            self.stalls += self._in_a_row
            LOG.warning("%s: an endpoint stalled, was cleared, and goes on: %d stalls so far", self._at, self.stalls)
        self._in_a_row = 0
        return done

    def _loss(self, error: OSError) -> str:
        if error.errno in RECOVERABLE:
            return (
                f"endpoint {self._endpoint.bEndpointAddress:#04x} fails again and again ({error.strerror}; cleared"
                f" {MOST_STALLS} times in a row); unplug and reconnect it, with another cable"
            )
        if error.errno == errno.ENODEV:
            return "the device is gone; check the cable"
        return f"it cannot be used any more: {error.strerror}; unplug and reconnect it"


@dataclass(frozen=True, slots=True)
class Device:
    """A device that is ours."""

    device: Pyusb
    interface: Pyusb
    source: Endpoint
    sink: Endpoint | None

    def close(self) -> None:
        _give_back(self.device, self.interface)
        usb.util.dispose_resources(self.device)


def open_device(address: UsbAddress) -> Device:
    with _LOADING:
        backend = libusb1.get_backend()
    if backend is None:
        raise PortRefused(
            f"{address}: libusb is not there, or does not start; install it (sudo apt-get install -y libusb-1.0-0), and"
            " leave AF_NETLINK to a service that is fenced in"
        )
    try:
        found = usb.core.find(find_all=True, backend=backend, idVendor=address.vendor, idProduct=address.product)
        device = _choice(address, list(found))
    except usb.core.USBError as error:
        raise PortRefused(
            f"{address}: the devices cannot be listed: {error.strerror}; unplug and reconnect it"
        ) from error
    claimed = None
    try:
        claimed = _claim(address, device)
    except usb.core.USBError as error:
        raise _refusal(address, device, error) from error
    finally:
        if claimed is None:
            usb.util.dispose_resources(device)
    return claimed


def _choice(address: UsbAddress, found: list[Pyusb]) -> Pyusb:
    """The device that is meant; all others are let go of."""
    if len(found) == 1 and address.serial is None:
        return found[0]
    numbers = [_serial_number(device) for device in found]
    wanted = [device for device, number in zip(found, numbers, strict=True) if number and number == address.serial]
    chosen = wanted[0] if len(wanted) == 1 else None
    for device in found:
        if device is not chosen:
            usb.util.dispose_resources(device)
    if chosen is not None:
        return chosen
    there = ", ".join(number or "one without" for number in numbers if number is not None)
    if not found:
        raise PortAbsent(f"{address}: no such device is plugged in; check the cable, `shoed ports` lists what is there")
    if wanted:
        problem = f"{len(wanted)} devices have this serial number; leave one plugged in"
    elif address.serial is None:
        named = UsbAddress(address.vendor, address.product, "NUMBER", address.interface)
        problem = f"{len(found)} such devices are plugged in; add a serial number, as in {named}; there are: {there}"
    elif None in numbers:
        raise denial(address, _node(found[numbers.index(None)]))
    else:
        raise PortAbsent(f"{address}: no device of these ids has this serial number; there are: {there}")
    raise PortRefused(f"{address}: {problem}")


def _serial_number(device: Pyusb) -> str | None:
    """Empty if it has none; None if it may not be asked."""
    try:
        device.get_active_configuration()  # opens it: asked for a text, pyusb hides why it cannot
    except usb.core.USBError as error:
        if error.errno is not None:
            return None
    try:
        return usb.util.get_string(device, device.iSerialNumber) or ""
    except (usb.core.USBError, ValueError):
        return ""


def _claim(address: UsbAddress, device: Pyusb) -> Device:
    interface = _interface(address, device)
    _send_driver_away(address, device, interface)
    try:
        usb.util.claim_interface(device, interface.bInterfaceNumber)
        _ask_for(device, interface, BOOT)
    except usb.core.USBError:
        _give_back(device, interface)
        raise
    at = str(address)
    source = Endpoint(at, device, _endpoint(interface, usb.util.ENDPOINT_IN))
    sink = _endpoint(interface, usb.util.ENDPOINT_OUT)
    return Device(device, interface, source, None if sink is None else Endpoint(at, device, sink))


def _interface(address: UsbAddress, device: Pyusb) -> Pyusb:
    try:
        configuration = device.get_active_configuration()
    except usb.core.USBError as error:
        if error.errno is not None:  # with a number it is the system's; pyusb alone says that none is set
            raise
        device.set_configuration()
        configuration = device.get_active_configuration()
    interfaces = [each for each in configuration if each.bAlternateSetting == 0]
    numbers = ", ".join(str(each.bInterfaceNumber) for each in interfaces)
    wanted = [each for each in interfaces if address.interface in (None, each.bInterfaceNumber)]
    sending = [each for each in wanted if _endpoint(each, usb.util.ENDPOINT_IN) is not None]
    if not sending:
        raise PortRefused(f"{address}: nothing there sends bytes; name its interface with ?interface=N, of {numbers}")
    return min(sending, key=lambda each: not _is_bulk(_endpoint(each, usb.util.ENDPOINT_IN)))


def _endpoint(interface: Pyusb, way: int) -> Pyusb:
    """The first of a direction, bulk before interrupt; None if it has neither."""
    kinds = (usb.util.ENDPOINT_TYPE_BULK, usb.util.ENDPOINT_TYPE_INTR)
    fitting = [
        each
        for each in interface
        if usb.util.endpoint_direction(each.bEndpointAddress) == way
        and usb.util.endpoint_type(each.bmAttributes) in kinds
    ]
    return min(fitting, key=lambda each: not _is_bulk(each), default=None)


def _is_bulk(endpoint: Pyusb) -> bool:
    return bool(usb.util.endpoint_type(endpoint.bmAttributes) == usb.util.ENDPOINT_TYPE_BULK)


def _send_driver_away(address: UsbAddress, device: Pyusb, interface: Pyusb) -> None:
    number = interface.bInterfaceNumber
    if not device.is_kernel_driver_active(number):
        return
    if interface.bInterfaceClass != HID:
        raise PortRefused(
            f"{address}: a driver of the kernel serves interface {number}; use the node that it makes"
            " (`shoed ports`), or name another with ?interface=N"
        )
    device.detach_kernel_driver(number)


def _give_back(device: Pyusb, interface: Pyusb) -> None:
    """To the kernel's driver, if it is a HID: also where a daemon before us sent that away and was killed."""
    with suppress(usb.core.USBError):
        _ask_for(device, interface, REPORT)
    with suppress(usb.core.USBError):
        usb.util.release_interface(device, interface.bInterfaceNumber)
    if interface.bInterfaceClass == HID:
        with suppress(usb.core.USBError):
            device.attach_kernel_driver(interface.bInterfaceNumber)


def _ask_for(device: Pyusb, interface: Pyusb, protocol: int) -> None:
    kind = (interface.bInterfaceClass, interface.bInterfaceSubClass, interface.bInterfaceProtocol)
    if kind == BOOT_KEYBOARD:
        try:
            device.ctrl_transfer(TO_INTERFACE, SET_PROTOCOL, protocol, interface.bInterfaceNumber, None, TRANSFER_MS)
        except usb.core.USBError as error:
            if error.errno not in (errno.EPIPE, errno.ETIMEDOUT):  # it knows one protocol only
                raise


def _refusal(address: UsbAddress, device: Pyusb, error: OSError) -> PortRefused:
    node = _node(device)
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return denial(address, node)
        case errno.ENODEV | errno.ENOENT:
            return PortAbsent(f"{address}: it went away while it was opened; check the cable")
        case errno.EBUSY:
            problem = "another program has it open, or a driver of the kernel; stop that one"
            return PortRefused(f"{address}: {problem} (`fuser -v {node}` names it)")
        case _:
            return PortRefused(f"{address}: it cannot be opened: {error.strerror}; unplug and reconnect it")


def _node(device: Pyusb) -> str:
    return f"/dev/bus/usb/{device.bus:03}/{device.address:03}"
