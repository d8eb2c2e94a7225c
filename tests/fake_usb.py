"""Fake USB devices: a backend for pyusb that raises the errors of libusb."""

import errno
import os
import queue
import threading
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

import usb.backend
import usb.core

BULK: Final = 2
INTERRUPT: Final = 3
IN: Final = 0x80

GET_DESCRIPTOR: Final = 6
SET_PROTOCOL: Final = 0x0B


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
    outgoing: "queue.Queue[bytes | int]" = field(default_factory=queue.Queue)  # packets, and errors by number
    write_errors: "queue.Queue[int]" = field(default_factory=queue.Queue)  # the errors of the next writes
    written: bytearray = field(default_factory=bytearray)
    heard: threading.Event = field(default_factory=threading.Event)
    calls: list[tuple[str, int]] = field(default_factory=list)
    opened: int = 0
    claimed: set[int] = field(default_factory=set)
    gone: bool = False
    hangs: threading.Event | None = None  # a read ends when this is set


class FakeUsb(usb.backend.IBackend):  # type: ignore[misc]  # pyusb has no types
    def __init__(self, *devices: FakeDevice) -> None:
        super().__init__()
        self.devices = list(devices)

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
        return device

    def close_device(self, device: FakeDevice) -> None:
        device.opened -= 1

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

    def bulk_read(self, device: FakeDevice, _: int, interface: int, into: "array[int]", timeout: int) -> int:
        assert interface in device.claimed
        try:
            packet = device.outgoing.get(timeout=timeout / 1000)
        except queue.Empty:
            packet = errno.ETIMEDOUT
        if device.hangs is not None:
            device.hangs.wait()
        if device.gone:
            raise failure(errno.ENODEV)
        if isinstance(packet, int):
            raise failure(packet)
        assert len(packet) <= len(into)
        into[: len(packet)] = array("B", packet)
        return len(packet)

    def bulk_write(self, device: FakeDevice, _: int, interface: int, data: "array[int]", timeout: int) -> int:
        del timeout
        assert interface in device.claimed
        if device.gone:
            raise failure(errno.ENODEV)
        if not device.write_errors.empty():
            raise failure(device.write_errors.get())
        if not device.room:
            raise failure(errno.ETIMEDOUT)
        taken = bytes(data[: device.room])
        device.written += taken
        device.heard.set()
        return len(taken)

    intr_read = bulk_read
    intr_write = bulk_write

    def call(self, device: FakeDevice, what: str, number: int = 0) -> None:
        if device.gone:
            raise failure(errno.ENODEV)
        device.calls.append((what, number))


def unplug(device: FakeDevice) -> None:
    device.gone = True
    device.outgoing.put(errno.ENODEV)
