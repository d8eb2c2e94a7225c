"""The USB descriptions of the virtual devices, as data: vendor bulk, CDC-ACM, FTDI and boot keyboard.

A description has the ids, the interfaces with their endpoints, and the answers to the requests of a kernel driver. The
descriptors (USB 2.0, 9.6) are made from it. Requests for data without an entry in `answers` are stalled. Requests that
set a value have no effect.
"""

from collections.abc import Mapping
from enum import Enum
from struct import pack
from typing import Final, NamedTuple

IN: Final = 0x80
INTERRUPT_TYPE: Final = 3
BULK_TYPE: Final = 2
FULL_SPEED_PACKET: Final = 64

# bmRequestType of a request that returns data
CLASS_IN: Final = 0xA1
VENDOR_IN: Final = 0xC0

TO_ENDPOINT, CLEAR_FEATURE = 0x02, 0x01  # the type and the number of a request that sets a value
DEVICE, CONFIGURATION, STRING, HID_REPORT = 1, 2, 3, 0x22
LONGEST_STRING: Final = 126  # the length of a descriptor is one byte, and a character has two bytes
ENGLISH: Final = pack("<BBH", 4, STRING, 0x0409)


class UsbKind(Enum):
    BULK = "bulk"
    CDC_ACM = "cdc-acm"
    FTDI = "ftdi"
    KEYBOARD = "keyboard"


class UsbEndpoint(NamedTuple):
    address: int
    kind: int
    packet: int = FULL_SPEED_PACKET
    interval_ms: int = 0


class UsbInterface(NamedTuple):
    kind: tuple[int, int, int]  # class, subclass, protocol
    endpoints: tuple[UsbEndpoint, ...]
    extra: bytes = b""  # the descriptors of the class


class UsbDescription(NamedTuple):
    id: tuple[int, int]  # vendor, product
    version: int
    kind: tuple[int, int, int]
    maker: str
    name: str
    interfaces: tuple[UsbInterface, ...]  # numbered from 0
    answers: Mapping[tuple[int, int], bytes]  # by bmRequestType and bRequest
    report_descriptor: bytes = b""  # of a HID device
    has_tty: bool = False  # a kernel driver makes one
    status: bytes = b""  # precedes the data of each IN packet
    source: int = 0x81  # the IN endpoint of the reports; bytes of the host arrive at any OUT endpoint


# HID 1.11, appendix B.1: the report descriptor of a boot keyboard
KEYBOARD_REPORTS: Final = bytes.fromhex(
    "05 01 09 06 a1 01 05 07 19 e0 29 e7 15 00 25 01 75 01 95 08 81 02 95 01 75 08 81 01 95 05 75 01 05 08 19 01"
    "29 05 91 02 95 01 75 03 91 01 95 06 75 08 15 00 25 65 05 07 19 00 29 65 81 00 c0"
)
BULK_PAIR: Final = (UsbEndpoint(0x81, BULK_TYPE), UsbEndpoint(0x02, BULK_TYPE))

DESCRIPTIONS: Final[Mapping[UsbKind, UsbDescription]] = {
    UsbKind.BULK: UsbDescription(
        id=(0x1209, 0x0001),  # a test id
        version=0x0100,
        kind=(0, 0, 0),
        maker="shoed",
        name="Virtual device",
        interfaces=(UsbInterface((0xFF, 0, 0), BULK_PAIR),),
        answers={},
    ),
    UsbKind.CDC_ACM: UsbDescription(
        id=(0x1209, 0x0001),
        version=0x0100,
        kind=(2, 0, 0),
        maker="shoed",
        name="Virtual serial device",
        interfaces=(
            # CDC 1.2, 5.2.3: header, call management, ACM (line coding), union of the interfaces 0 and 1
            UsbInterface(
                (2, 2, 1),
                (UsbEndpoint(0x83, INTERRUPT_TYPE, 16, 32),),
                bytes.fromhex("05 24 00 10 01  05 24 01 00 01  04 24 02 02  05 24 06 00 01"),
            ),
            UsbInterface((10, 0, 0), BULK_PAIR),
        ),
        answers={(CLASS_IN, 0x21): bytes.fromhex("80 25 00 00 00 00 08")},  # line coding: 9600 8N1
        has_tty=True,
    ),
    UsbKind.FTDI: UsbDescription(
        id=(0x0403, 0x6001),
        version=0x0600,  # FT232R
        kind=(0, 0, 0),
        maker="FTDI",
        name="FT232R USB UART",
        interfaces=(UsbInterface((0xFF, 0xFF, 0xFF), BULK_PAIR),),
        # Linux, ftdi_sio.h: modem status, latency timer, a word of an empty EEPROM
        answers={(VENDOR_IN, 0x05): b"\x01\x60", (VENDOR_IN, 0x0A): b"\x10", (VENDOR_IN, 0x90): b"\xff\xff"},
        has_tty=True,
        status=b"\x01\x60",
    ),
    UsbKind.KEYBOARD: UsbDescription(
        id=(0x05F9, 0x2206),  # a known scanner
        version=0x0100,
        kind=(0, 0, 0),
        maker="Datalogic",
        name="Gryphon",
        interfaces=(
            UsbInterface(
                (3, 1, 1),
                (UsbEndpoint(0x81, INTERRUPT_TYPE, 8, 10),),
                pack("<BBHBBBH", 9, 0x21, 0x0111, 0, 1, HID_REPORT, len(KEYBOARD_REPORTS)),
            ),
        ),
        answers={(CLASS_IN, 0x01): bytes(8), (CLASS_IN, 0x02): b"\0", (CLASS_IN, 0x03): b"\x01"},
        report_descriptor=KEYBOARD_REPORTS,
    ),
}


def device_descriptor(of: UsbDescription, serial: str) -> bytes:
    return pack(
        "<BBHBBBBHHHBBBB",
        18,
        DEVICE,
        0x0200,
        *of.kind,
        FULL_SPEED_PACKET,
        *of.id,
        of.version,
        1,
        2,
        3 if serial else 0,
        1,
    )


def configuration_descriptor(of: UsbDescription) -> bytes:
    body = b""
    for number, (kind, endpoints, extra) in enumerate(of.interfaces):
        body += pack("<BBBBBBBBB", 9, 4, number, 0, len(endpoints), *kind, 0) + extra
        for each in endpoints:
            body += pack("<BBBBHB", 7, 5, each.address, each.kind, each.packet, each.interval_ms)
    bus_powered, milliamperes = 0x80, 100
    return (
        pack("<BBHBBBBB", 9, CONFIGURATION, 9 + len(body), len(of.interfaces), 1, 0, bus_powered, milliamperes // 2)
        + body
    )


def string_descriptor(text: str) -> bytes:
    data = text.encode("utf-16-le")
    return bytes((2 + len(data), STRING)) + data


def answer(of: UsbDescription, serial: str, request: tuple[int, int], value: int) -> bytes | None:
    """The data of a control request that returns data. None: the request is not supported."""
    match request:
        case (0x80 | 0x81, 0x06):  # GET_DESCRIPTOR
            return _descriptor(of, serial, value >> 8, value & 0xFF)
        case (0x80 | 0x81 | 0x82, 0x00):  # GET_STATUS
            return bytes(2)
        case _:
            return of.answers.get(request)


def _descriptor(of: UsbDescription, serial: str, kind: int, number: int) -> bytes | None:
    strings = (of.maker, of.name, serial)
    if kind == DEVICE:
        return device_descriptor(of, serial)
    if kind == CONFIGURATION:
        return configuration_descriptor(of)
    if kind == STRING and number <= len(strings):
        return string_descriptor(strings[number - 1]) if number else ENGLISH
    return of.report_descriptor or None if kind == HID_REPORT else None


def usb_port(of: UsbDescription, serial: str) -> str:
    """The port for the configuration, with the names that shoed's udev rules make."""
    name = serial or "NAME"  # the rules name a device without a serial number after its USB socket
    if of.report_descriptor:
        return f"hidraw:///dev/shoed/hid-{name}"
    if of.has_tty:
        return f"serial:///dev/shoed/{name}"
    vendor, product = of.id
    return f"usb://{vendor:04x}:{product:04x}" + (f"/{serial}" if serial else "")
