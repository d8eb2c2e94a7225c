"""USB devices through libusb: find, claim, release. All calls block, so they run in threads.

shoed uses one interface of the active configuration, with its first IN endpoint and its first OUT endpoint (bulk before
interrupt). shoed detaches the kernel's HID driver, and attaches the HID driver again at the end. shoed refuses an
interface that another kernel driver uses: the port must then be the node of that kernel driver. shoed sets a boot
keyboard to boot reports, which have a fixed layout (HID 1.11, 7.2.6), and at the end to its report protocol.
"""

import errno
import logging
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import usb.core
import usb.util
from usb.backend import libusb1

from shoed.errors import PortAbsent, PortRefused
from shoed.ports.address import UsbAddress
from shoed.ports.nodes import denial

Pyusb: TypeAlias = Any  # pyusb has no type annotations

CONTROL_MS: Final = 200  # the time limit of a control transfer

HID: Final = 3
BOOT_KEYBOARD: Final = (HID, 1, 1)  # class, subclass, protocol
TO_INTERFACE: Final = 0x21  # a class request to an interface
SET_PROTOCOL: Final = 0x0B
BOOT: Final = 0
REPORT: Final = 1

# PortRefused reports once that libusb does not start. pyusb would log this error at every attempt.
logging.getLogger("usb").setLevel(logging.CRITICAL)

# One device at a time: pyusb makes one global context at the first call, without a lock; and the comparison of serial
# numbers opens the devices of other tables, so that a node has two descriptors.
_OPENING: Final = threading.Lock()
OPENING_S: Final = 5.0  # a device that hangs while it is opened delays another table for so long


@dataclass(frozen=True, slots=True)
class UsbDevice:
    """A claimed device."""

    device: Pyusb
    interface: Pyusb
    source: Pyusb  # its IN endpoint
    sink: Pyusb  # its OUT endpoint; None if it has none
    descriptor: int  # of the node; it polls writable after the end of a transfer

    def close(self) -> None:
        _give_back(self.device, self.interface)
        usb.util.dispose_resources(self.device)


def open_device(address: UsbAddress) -> UsbDevice:
    if not _OPENING.acquire(timeout=OPENING_S):
        raise PortRefused(f"{address}: another USB device hangs while shoed opens it; unplug and reconnect that device")
    try:
        return _open(address)
    finally:
        _OPENING.release()


def _open(address: UsbAddress) -> UsbDevice:
    backend = libusb1.get_backend()
    if backend is None:
        raise PortRefused(
            f"{address}: libusb is missing or does not start; install it (sudo apt-get install -y libusb-1.0-0), and"
            " allow AF_NETLINK in the service's unit"
        )
    try:
        found = usb.core.find(find_all=True, backend=backend, idVendor=address.vendor, idProduct=address.product)
        device = _choice(address, list(found))
    except usb.core.USBError as error:
        raise PortRefused(
            f"{address}: libusb cannot list the devices: {error.strerror}; unplug and reconnect the device"
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
    """The device of the address. The other devices are released."""
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
    there = ", ".join(number or "a device without one" for number in numbers if number is not None)
    if not found:
        raise PortAbsent(
            f"{address}: no device with these ids is connected; check the cable (`shoed ports` lists the devices)"
        )
    if wanted:
        problem = f"{len(wanted)} devices have this serial number; unplug all but one"
    elif address.serial is None:
        named = UsbAddress(address.vendor, address.product, "NUMBER", address.interface)
        problem = (
            f"{len(found)} devices with these ids are connected; add a serial number, as in {named}; connected: {there}"
        )
    elif None in numbers:
        raise denial(address, node_of(found[numbers.index(None)]))
    else:
        raise PortAbsent(
            f"{address}: no device with these ids has this serial number; check the number; connected: {there}"
        )
    raise PortRefused(f"{address}: {problem}")


def _serial_number(device: Pyusb) -> str | None:
    """Empty: the device has no serial number. None: the device cannot be opened."""
    try:
        device.get_active_configuration()  # opens the device; get_string would hide the reason of a failure
    except usb.core.USBError as error:
        if error.errno is not None:
            return None
    try:
        return usb.util.get_string(device, device.iSerialNumber) or ""
    except (usb.core.USBError, ValueError):
        return ""


def _claim(address: UsbAddress, device: Pyusb) -> UsbDevice:
    interface = _interface(address, device)
    _detach_driver(address, device, interface)
    try:
        usb.util.claim_interface(device, interface.bInterfaceNumber)
        _ask_for(device, interface, BOOT)
    except usb.core.USBError:
        _give_back(device, interface)
        raise
    source, sink = (_endpoint(interface, way) for way in (usb.util.ENDPOINT_IN, usb.util.ENDPOINT_OUT))
    return UsbDevice(device, interface, source, sink, _descriptor(address, node_of(device)))


def _descriptor(address: UsbAddress, node: str) -> int:
    """The descriptor that libusb has of an open device."""
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of this listing, or of another thread
            if str(entry.readlink()).endswith(node):
                return int(entry.name)
    raise PortAbsent(f"{address}: the device was disconnected during opening; check the cable")


def _interface(address: UsbAddress, device: Pyusb) -> Pyusb:
    try:
        configuration = device.get_active_configuration()
    except usb.core.USBError as error:
        if error.errno is not None:  # an error of the system; without a number: no configuration is active
            raise
        device.set_configuration()
        configuration = device.get_active_configuration()
    interfaces = [each for each in configuration if each.bAlternateSetting == 0]
    numbers = ", ".join(str(each.bInterfaceNumber) for each in interfaces)
    wanted = [each for each in interfaces if address.interface in (None, each.bInterfaceNumber)]
    sending = [each for each in wanted if _endpoint(each, usb.util.ENDPOINT_IN) is not None]
    if not sending:
        raise PortRefused(f"{address}: the interface has no IN endpoint; add ?interface=N with one of {numbers}")
    return min(sending, key=lambda each: not _is_bulk(_endpoint(each, usb.util.ENDPOINT_IN)))


def _endpoint(interface: Pyusb, way: int) -> Pyusb:
    """The first endpoint of a direction, bulk before interrupt; None if the interface has neither."""
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


def _detach_driver(address: UsbAddress, device: Pyusb, interface: Pyusb) -> None:
    number = interface.bInterfaceNumber
    if not device.is_kernel_driver_active(number):
        return
    if interface.bInterfaceClass != HID:
        raise PortRefused(
            f"{address}: a kernel driver uses interface {number}; write the address of the driver's node"
            " (`shoed ports`), or select another interface with ?interface=N"
        )
    device.detach_kernel_driver(number)


def _give_back(device: Pyusb, interface: Pyusb) -> None:
    """Release the interface. Attach the HID driver, also if an earlier daemon detached it and was killed."""
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
            device.ctrl_transfer(TO_INTERFACE, SET_PROTOCOL, protocol, interface.bInterfaceNumber, None, CONTROL_MS)
        except usb.core.USBError as error:
            if error.errno not in (errno.EPIPE, errno.ETIMEDOUT):  # the device has one protocol only
                raise


def _refusal(address: UsbAddress, device: Pyusb, error: OSError) -> PortRefused:
    node = node_of(device)
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return denial(address, node)
        case errno.ENODEV | errno.ENOENT:
            return PortAbsent(f"{address}: the device was disconnected during opening; check the cable")
        case errno.EBUSY:
            problem = "another program or a kernel driver uses the device; stop it"
            return PortRefused(f"{address}: {problem} (`fuser -v {node}` lists the program)")
        case _:
            return PortRefused(
                f"{address}: the device cannot be opened: {error.strerror}; unplug and reconnect the device"
            )


def node_of(device: Pyusb) -> str:
    return f"/dev/bus/usb/{device.bus:03}/{device.address:03}"
