"""The host's end of the usb-redir protocol, for tests without QEMU. It shares no code with the rig."""

import struct
from typing import Final, NamedTuple

# usbredirproto.h
HELLO, DEVICE_CONNECT, RESET, INTERFACE_INFO, EP_INFO = 0, 1, 3, 4, 5
SET_CONFIGURATION, CONFIGURATION_STATUS = 6, 8
START_INTERRUPT, STOP_INTERRUPT, INTERRUPT_STATUS, CANCEL = 15, 16, 17, 21
CONTROL, BULK, INTERRUPT = 100, 101, 103
OK, CANCELLED, STALL = 0, 1, 4
QEMU: Final = 0b11111111  # the capabilities that QEMU announces


class FromDevice(NamedTuple):
    """A packet of the device."""

    kind: int
    number: int
    body: bytes

    @property
    def status(self) -> int:
        return self.body[{BULK: 1, INTERRUPT: 1, CONTROL: 3}.get(self.kind, 0)]

    @property
    def data(self) -> bytes:
        return self.body[{BULK: 10, INTERRUPT: 4, CONTROL: 10}[self.kind] :]


def hello(capabilities: int = QEMU) -> bytes:
    return struct.pack("<III", HELLO, 68, 0) + b"a host".ljust(64, b"\0") + struct.pack("<I", capabilities)


def packet(kind: int, number: int, body: bytes = b"") -> bytes:
    return struct.pack("<IIQ", kind, len(body), number) + body


def control(number: int, kind: int, request: int, value: int, index: int = 0) -> bytes:
    endpoint = kind & 0x80
    return packet(CONTROL, number, struct.pack("<BBBBHHH", endpoint, request, kind, 0, value, index, 255))


def bulk(number: int, endpoint: int, length: int, data: bytes = b"") -> bytes:
    return packet(BULK, number, struct.pack("<BBHIH", endpoint, 0, length, 0, 0) + data)


def packets(data: bytes) -> list[FromDevice]:
    """The packets of the device after its greeting."""
    found = []
    while data:
        kind, length, number = struct.unpack_from("<IIQ", data)
        found.append(FromDevice(kind, number, data[16:][:length]))
        data = data[16 + length :]
    return found
