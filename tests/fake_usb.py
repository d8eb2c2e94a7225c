"""Fake USB devices: a backend for pyusb that raises the errors of libusb, with its asynchronous transfers."""

import ctypes
import errno
import fcntl
import os
import queue
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import usb.backend
import usb.core
from usb.backend import libusb1

BULK: Final = 2
INTERRUPT: Final = 3
IN: Final = 0x80

GET_DESCRIPTOR: Final = 6
SET_PROTOCOL: Final = 0x0B


# <libusb.h>
SUCCESS, NO_DEVICE = 0, -4
COMPLETED, CANCELLED = 0, 3
STATUS: Final = {errno.EIO: 1, errno.EPIPE: 4, errno.ENODEV: 5, errno.EOVERFLOW: 6}


class Node:
    """The node of a device: a pipe that polls writable while `ended` holds an ended transfer, as usbfs does."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.fcntl(self.descriptor, fcntl.F_SETPIPE_SZ, 4096)
        self.show(ended=False)

    def show(self, *, ended: bool) -> None:
        with suppress(BlockingIOError):
            if ended:
                os.read(self.descriptor, 65536)
            else:
                os.write(self.descriptor, bytes(4096))

    def close(self) -> None:
        os.close(self.descriptor)


def failure(number: int) -> usb.core.USBError:
    kind = usb.core.USBTimeoutError if number == errno.ETIMEDOUT else usb.core.USBError
    return kind(os.strerror(number), -1, number)


@dataclass
class FakeInterface:
    number: int
    endpoints: dict[int, int]  # address -> type
    kind: tuple[int, int, int] = (0xFF, 0, 0)
    driver: bool = False  # of the kernel


def open_shoe() -> FakeInterface:
    return FakeInterface(0, {0x81: BULK, 0x02: BULK})


def keyboard() -> FakeInterface:
    return FakeInterface(0, {0x81: INTERRUPT}, (3, 1, 1), driver=True)


class Outgoing(queue.Queue[bytes | int]):
    """Calls `changed` after each packet."""

    changed: Callable[[], None]

    def put(self, *packet: Any) -> None:  # noqa: ANN401
        super().put(*packet)
        self.changed()


@dataclass
class FakeDevice:
    """One device: its next packets, its received bytes, and its state."""

    serial: str = ""
    interfaces: list[FakeInterface] = field(default_factory=lambda: [open_shoe()])
    address: int = 2
    ids: tuple[int, int] = (0x1209, 0x0001)
    configured: int = 1
    refusal: int = 0  # the error of opening
    busy: bool = False  # for other programs
    room: int = 64  # the bytes that it accepts at once
    packet: int = 64
    outgoing: "Outgoing" = field(default_factory=Outgoing)  # packets, and errors by number
    write_errors: "queue.Queue[int]" = field(default_factory=queue.Queue)  # the errors of the next writes
    torn: int = 0  # the bytes that it accepts before each of these errors
    stalls_after: int = -1  # the number of writes before a stall; negative: none
    written: bytearray = field(default_factory=bytearray)
    heard: threading.Event = field(default_factory=threading.Event)
    calls: list[tuple[str, int]] = field(default_factory=list)
    opened: int = 0
    claimed: set[int] = field(default_factory=set)
    gone: bool = False
    hangs: bool = False  # a cancelled transfer does not end
    node: Node | None = None  # while it is open
    waiting: list[Any] = field(default_factory=list)  # the transfers under way
    ended: list[tuple[Any, int]] = field(default_factory=list)  # the transfers that libusb has not reported, by status

    def __post_init__(self) -> None:
        self.handle = id(self)
        self.outgoing.changed = self.advance

    def advance(self) -> None:
        """Move bytes for the transfers that wait."""
        for transfer in list(self.waiting):
            status = self.give(transfer.contents) if transfer.contents.endpoint & IN else self.take(transfer.contents)
            if status is not None:
                self.end(transfer, status)

    def end(self, transfer: Any, status: int) -> None:  # noqa: ANN401 -- a pointer of ctypes
        self.waiting.remove(transfer)
        self.ended.append((transfer, status))
        if self.node is not None:
            self.node.show(ended=True)

    def give(self, transfer: Any) -> int | None:  # noqa: ANN401 -- a structure of ctypes
        """The status of an IN transfer after its packet, or None."""
        if self.gone:
            return STATUS[errno.ENODEV]
        try:
            packet = self.outgoing.get_nowait()
        except queue.Empty:
            return None
        if isinstance(packet, int):
            return STATUS[packet]
        assert len(packet) <= transfer.length
        ctypes.memmove(transfer.buffer, packet, len(packet))
        transfer.actual_length = len(packet)
        return COMPLETED

    def take(self, transfer: Any) -> int | None:  # noqa: ANN401 -- a structure of ctypes
        """The status of an OUT transfer after its bytes, or None."""
        status, room = COMPLETED, self.room
        if not self.stalls_after:
            self.write_errors.put(errno.EPIPE)
        self.stalls_after -= 1
        if not self.write_errors.empty():
            status, room = STATUS[self.write_errors.get()], self.torn
        elif not room:
            return None
        taken = ctypes.string_at(transfer.buffer, min(transfer.length, room))
        transfer.actual_length = len(taken)
        self.written += taken
        self.heard.set()
        return status


class FakeLib:
    """The functions of libusb for asynchronous transfers. It calls back while it handles events."""

    def __init__(self, devices: list[FakeDevice]) -> None:
        self.devices = devices
        self.transfers = 0  # allocated and not freed

    def libusb_alloc_transfer(self, _: int) -> Any:  # noqa: ANN401 -- a pointer of ctypes
        self.transfers += 1
        return ctypes.pointer(libusb1._libusb_transfer())  # noqa: SLF001

    def libusb_free_transfer(self, transfer: Any) -> None:  # noqa: ANN401
        assert not any(transfer in each.waiting for each in self.devices)
        self.transfers -= 1

    def libusb_submit_transfer(self, transfer: Any) -> int:  # noqa: ANN401
        device = self.device_of(transfer)
        assert device.claimed
        if device.gone:
            return NO_DEVICE
        transfer.contents.actual_length = 0
        device.waiting.append(transfer)
        device.advance()
        return SUCCESS

    def libusb_cancel_transfer(self, transfer: Any) -> int:  # noqa: ANN401
        device = self.device_of(transfer)
        if transfer in device.waiting and not device.hangs:
            device.end(transfer, CANCELLED)
        return SUCCESS

    def libusb_handle_events_timeout_completed(self, *_: object) -> int:
        for device in self.devices:
            while device.ended:
                transfer, status = device.ended.pop(0)
                transfer.contents.status = status
                transfer.contents.callback(transfer)
            if device.node is not None and not device.ended:
                device.node.show(ended=False)
        return SUCCESS

    def device_of(self, transfer: Any) -> FakeDevice:  # noqa: ANN401
        return next(each for each in self.devices if each.handle == transfer.contents.dev_handle)


class FakeUsb(usb.backend.IBackend):  # type: ignore[misc]  # pyusb has no types
    def __init__(self, tree: Path, *devices: FakeDevice) -> None:
        super().__init__()
        self.tree = tree  # has the nodes
        self.devices = list(devices)
        self.lib = FakeLib(self.devices)
        self.ctx = ctypes.c_void_p()

    def enumerate_devices(self) -> Iterator[FakeDevice]:
        return iter([device for device in self.devices if not device.gone])

    def get_device_descriptor(self, device: FakeDevice) -> SimpleNamespace:
        ours = {"bus": 1, "address": device.address, "port_number": 1, "port_numbers": (1,), "speed": 2}
        names = (
            "bLength bDescriptorType bcdUSB bDeviceClass bDeviceSubClass bDeviceProtocol bMaxPacketSize0 bcdDevice"
            " iManufacturer iProduct"
        )
        return SimpleNamespace(
            **dict.fromkeys(names.split(), 0),
            **ours,
            idVendor=device.ids[0],
            idProduct=device.ids[1],
            iSerialNumber=3 if device.serial else 0,
            bNumConfigurations=1,
        )

    def get_configuration_descriptor(self, device: FakeDevice, _: int) -> SimpleNamespace:
        names = "bLength bDescriptorType wTotalLength iConfiguration bmAttributes bMaxPower"
        return SimpleNamespace(
            **dict.fromkeys(names.split(), 0),
            bNumInterfaces=len(device.interfaces),
            bConfigurationValue=1,
            extra_descriptors=b"",
        )

    def get_interface_descriptor(self, device: FakeDevice, index: int, alternate: int, _: int) -> SimpleNamespace:
        if alternate:
            raise IndexError
        interface = device.interfaces[index]
        kind = dict(zip(("bInterfaceClass", "bInterfaceSubClass", "bInterfaceProtocol"), interface.kind, strict=True))
        return SimpleNamespace(
            **dict.fromkeys(("bLength", "bDescriptorType", "iInterface"), 0),
            **kind,
            bInterfaceNumber=interface.number,
            bAlternateSetting=0,
            bNumEndpoints=len(interface.endpoints),
            extra_descriptors=b"",
        )

    def get_endpoint_descriptor(self, device: FakeDevice, index: int, interface: int, *_: int) -> SimpleNamespace:
        address, kind = list(device.interfaces[interface].endpoints.items())[index]
        return SimpleNamespace(
            **dict.fromkeys(("bLength", "bDescriptorType", "bInterval", "bRefresh", "bSynchAddress"), 0),
            bEndpointAddress=address,
            bmAttributes=kind,
            wMaxPacketSize=device.packet,
            extra_descriptors=b"",
        )

    def open_device(self, device: FakeDevice) -> FakeDevice:
        self.call(device, "open")
        if device.refusal:
            raise failure(device.refusal)
        device.opened += 1
        path = self.tree / f"dev/bus/usb/001/{device.address:03}"
        path.parent.mkdir(parents=True, exist_ok=True)
        device.node = Node(path)
        return device

    def close_device(self, device: FakeDevice) -> None:
        device.opened -= 1
        if device.node is not None:
            device.node.close()
            device.node = None

    def get_configuration(self, device: FakeDevice) -> int:
        return device.configured

    def set_configuration(self, device: FakeDevice, value: int) -> None:
        self.call(device, "configure", value)
        device.configured = value

    def is_kernel_driver_active(self, device: FakeDevice, number: int) -> bool:
        return next(each.driver for each in device.interfaces if each.number == number)

    def detach_kernel_driver(self, device: FakeDevice, number: int) -> None:
        self.call(device, "detach", number)
        next(each for each in device.interfaces if each.number == number).driver = False

    def attach_kernel_driver(self, device: FakeDevice, number: int) -> None:
        self.call(device, "attach", number)
        assert number not in device.claimed
        next(each for each in device.interfaces if each.number == number).driver = True

    def claim_interface(self, device: FakeDevice, number: int) -> None:
        self.call(device, "claim", number)
        if device.busy:
            raise failure(errno.EBUSY)
        device.claimed.add(number)

    def release_interface(self, device: FakeDevice, number: int) -> None:
        device.claimed.discard(number)
        self.call(device, "release", number)

    def clear_halt(self, device: FakeDevice, endpoint: int) -> None:
        self.call(device, "clear", endpoint)

    def ctrl_transfer(self, device: FakeDevice, *setup: Any) -> int:  # noqa: ANN401 -- the signature of pyusb
        _, request, value, _, data, _ = setup
        if request == SET_PROTOCOL:
            self.call(device, "protocol", value)
            return 0
        assert request == GET_DESCRIPTOR
        text = device.serial.encode("utf-16-le") if value & 0xFF else b"\x09\x04"  # one language: English
        whole = bytes((len(text) + 2, 3)) + text
        data[: len(whole)] = array("B", whole)
        return len(whole)

    def call(self, device: FakeDevice, what: str, number: int = 0) -> None:
        if device.gone:
            raise failure(errno.ENODEV)
        device.calls.append((what, number))


def unplug(device: FakeDevice) -> None:
    device.gone = True
    device.advance()
