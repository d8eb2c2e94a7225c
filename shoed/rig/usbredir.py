"""The device's end of the usb-redir protocol: a USB device for the virtual machine of QEMU.

Theory of operation: `receive` processes the bytes of the host and returns the answers. A read of the host waits until
`say` gives data. An interrupt endpoint has no reads: after the start of receiving, each packet is sent at once. Both
sides announce capabilities, and the layouts depend on them. This device requires the capabilities that an xHCI
controller needs, so each layout is fixed. One object is one connection: a new connection is a new plug.
"""

from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from struct import Struct, pack
from typing import Final

from shoed.errors import RigError
from shoed.rig.usb_descriptions import CLEAR_FEATURE, IN, INTERRUPT_TYPE, TO_ENDPOINT, UsbDescription, answer


class Packet(IntEnum):
    """The types of usbredirproto.h that this device sends or receives."""

    HELLO = 0
    DEVICE_CONNECT = 1
    RESET = 3
    INTERFACE_INFO = 4
    EP_INFO = 5
    SET_CONFIGURATION = 6
    GET_CONFIGURATION = 7
    CONFIGURATION_STATUS = 8
    SET_ALT_SETTING = 9
    GET_ALT_SETTING = 10
    ALT_SETTING_STATUS = 11
    START_INTERRUPT_RECEIVING = 15
    STOP_INTERRUPT_RECEIVING = 16
    INTERRUPT_RECEIVING_STATUS = 17
    CANCEL_DATA_PACKET = 21
    CONTROL_PACKET = 100
    BULK_PACKET = 101
    INTERRUPT_PACKET = 103


class UsbStatus(IntEnum):
    SUCCESS = 0
    CANCELLED = 1
    STALL = 4


CONNECT_DEVICE_VERSION, EP_INFO_MAX_PACKET_SIZE, IDS_64_BITS, BULK_LENGTH_32_BITS = 1, 4, 5, 6
CAPABILITIES: Final = sum(
    1 << each for each in (CONNECT_DEVICE_VERSION, EP_INFO_MAX_PACKET_SIZE, IDS_64_BITS, BULK_LENGTH_32_BITS)
)
HELLO_HEAD: Final = Struct("<III")  # type, length, id: before the capabilities are known
HEAD: Final = Struct("<IIQ")
HELLO_VERSION_BYTES: Final = 64
CONTROL: Final = Struct("<BBBBHHH")  # endpoint, request, request type, status, value, index, length
BULK: Final = Struct("<BBHIH")  # endpoint, status, length, stream, high half of the length
INTERRUPT: Final = Struct("<BBH")  # endpoint, status, length

FULL_SPEED: Final = 1
CONTROL_TYPE, NO_ENDPOINT = 0, 255
PLACES: Final = 32  # of a table by endpoint: 16 OUT endpoints, then 16 IN endpoints


class UsbRedirDevice:
    def __init__(self, description: UsbDescription, serial: str) -> None:
        self._description = description
        self._serial = serial
        self._endpoints = {each.address: each for part in description.interfaces for each in part.endpoints}
        self._source = self._endpoints[description.source]
        self._rest = b""
        self.greeted = False
        self._reads: deque[tuple[int, int]] = deque()  # the id and the length of each waiting read
        self._stalls = 0
        self._halted = self._stall_sent = False
        self.receiving = False  # an interrupt endpoint: the host has started to receive
        self.unsent = bytearray()
        self._heard = bytearray()  # the bytes of the host
        self.holds = False  # the device answers each read with NAK

    @property
    def is_read(self) -> bool:
        """Whether a read of the host waits."""
        return self.receiving or bool(self._reads)

    def hello(self) -> bytes:
        version = b"shoed rig".ljust(HELLO_VERSION_BYTES, b"\0")
        body = version + pack("<I", CAPABILITIES)
        return HELLO_HEAD.pack(Packet.HELLO, len(body), 0) + body

    def receive(self, data: bytes) -> bytes:
        self._rest += data
        out = b""
        for kind, number, body in self._packets():
            out += self._hear(kind, number, body)
        return out + self._move()

    def say(self, data: bytes) -> bytes:
        self.unsent += data
        return self._move()

    def hold(self, *, holds: bool) -> bytes:
        self.holds = holds
        return self._move()

    def stall(self, times: int) -> bytes:
        """Halt the IN endpoint. It is halted again after each of the next clear-halts, `times` in all."""
        self._stalls, self._halted, self._stall_sent = times, True, False
        return self._move()

    def taken_from_host(self) -> bytes:
        data = bytes(self._heard)
        self._heard.clear()
        return data

    # --- packets

    def _packets(self) -> Iterator[tuple[int, int, bytes]]:
        while True:
            head = HEAD if self.greeted else HELLO_HEAD
            if len(self._rest) < head.size:
                return
            kind, length, number = head.unpack_from(self._rest)
            if len(self._rest) < head.size + length:
                return
            body, self._rest = self._rest[head.size : head.size + length], self._rest[head.size + length :]
            yield kind, number, body

    def _hear(self, kind: int, number: int, body: bytes) -> bytes:  # noqa: C901 -- one case for each type
        match kind:
            case Packet.HELLO:
                return self._greet(body)
            case Packet.RESET:
                self._reads.clear()
                self._halted, self._stalls, self.receiving = False, 0, False
            case Packet.SET_CONFIGURATION | Packet.GET_CONFIGURATION:
                selected = body or b"\x01"
                return _packet(Packet.CONFIGURATION_STATUS, number, bytes((UsbStatus.SUCCESS, *selected)))
            case Packet.SET_ALT_SETTING | Packet.GET_ALT_SETTING:
                selected = body.ljust(2, b"\0")
                return _packet(Packet.ALT_SETTING_STATUS, number, bytes((UsbStatus.SUCCESS, *selected)))
            case Packet.START_INTERRUPT_RECEIVING | Packet.STOP_INTERRUPT_RECEIVING:
                if body[0] == self._source.address:
                    self.receiving, self._stall_sent = kind == Packet.START_INTERRUPT_RECEIVING, False
                return _packet(Packet.INTERRUPT_RECEIVING_STATUS, number, bytes((UsbStatus.SUCCESS, body[0])))
            case Packet.CONTROL_PACKET:
                return self._control(number, body)
            case Packet.BULK_PACKET:
                return self._bulk(number, body)
            case Packet.INTERRUPT_PACKET:  # of an OUT endpoint
                self._heard += body[INTERRUPT.size :]
                return _packet(kind, number, INTERRUPT.pack(body[0], UsbStatus.SUCCESS, len(body) - INTERRUPT.size))
            case Packet.CANCEL_DATA_PACKET:
                return self._cancel(number)
            case _:
                pass  # the filter of the host
        return b""

    def _greet(self, body: bytes) -> bytes:
        """Connect the device, after the capabilities of the host are known."""
        theirs = int.from_bytes(body[HELLO_VERSION_BYTES:][:4], "little")
        if CAPABILITIES & ~theirs:
            raise RigError("the USB host lacks capabilities of the usb-redir protocol; use QEMU 4 or later")
        self.greeted = True
        of = self._description
        kinds = tuple(bytes(each.kind[part] for each in of.interfaces).ljust(PLACES, b"\0") for part in range(3))
        numbers = bytes(range(len(of.interfaces))).ljust(PLACES, b"\0")
        interfaces = pack("<I", len(of.interfaces)) + numbers + b"".join(kinds)
        device = pack("<BBBBHHH", FULL_SPEED, *of.kind, *of.id, of.version)
        return (
            _packet(Packet.INTERFACE_INFO, 0, interfaces)
            + _packet(Packet.EP_INFO, 0, self._endpoint_table())
            + _packet(Packet.DEVICE_CONNECT, 0, device)
        )

    def _endpoint_table(self) -> bytes:
        kinds, intervals, interfaces = bytearray((NO_ENDPOINT,) * PLACES), bytearray(PLACES), bytearray(PLACES)
        sizes = [0] * PLACES
        kinds[0] = kinds[PLACES // 2] = CONTROL_TYPE
        for number, part in enumerate(self._description.interfaces):
            for each in part.endpoints:
                place = (each.address & 0x0F) + (PLACES // 2 if each.address & IN else 0)
                kinds[place], intervals[place], interfaces[place] = each.kind, each.interval_ms, number
                sizes[place] = each.packet
        return bytes(kinds + intervals + interfaces) + pack(f"<{PLACES}H", *sizes)

    # --- transfers

    def _control(self, number: int, body: bytes) -> bytes:
        endpoint, request, kind, _, value, index, length = CONTROL.unpack_from(body)
        data: bytes | None = b""
        if kind & IN:
            data = answer(self._description, self._serial, (kind, request), value)
        elif (kind, request, index) == (TO_ENDPOINT, CLEAR_FEATURE, self._source.address):
            # an endpoint has this feature only: the halt
            self._stalls -= 1
            self._halted, self._stall_sent = self._stalls > 0, False
        status = UsbStatus.STALL if data is None else UsbStatus.SUCCESS
        data = (data or b"")[:length]
        count = len(data) if kind & IN else length
        return _packet(
            Packet.CONTROL_PACKET, number, CONTROL.pack(endpoint, request, kind, status, value, index, count) + data
        )

    def _bulk(self, number: int, body: bytes) -> bytes:
        endpoint, _, low, _, high = BULK.unpack_from(body)
        if endpoint & IN:
            self._reads.append((number, low | high << 16))
            return b""
        data = body[BULK.size :]
        self._heard += data
        return self._bulk_done(number, endpoint, UsbStatus.SUCCESS, len(data))

    def _bulk_done(self, number: int, endpoint: int, status: UsbStatus, count: int, data: bytes = b"") -> bytes:
        return _packet(Packet.BULK_PACKET, number, BULK.pack(endpoint, status, count & 0xFFFF, 0, count >> 16) + data)

    def _cancel(self, number: int) -> bytes:
        for read in self._reads:
            if read[0] == number:
                self._reads.remove(read)
                return self._bulk_done(number, self._source.address, UsbStatus.CANCELLED, 0)
        return b""

    def _move(self) -> bytes:
        """Answer the waiting reads."""
        return self._interrupts() if self._source.kind == INTERRUPT_TYPE else self._bulk_reads()

    def _bulk_reads(self) -> bytes:
        out, at = b"", self._source.address
        while self._reads and self._halted:
            out += self._bulk_done(self._reads.popleft()[0], at, UsbStatus.STALL, 0)
        while self._reads and self.unsent and not self.holds:
            number, length = self._reads.popleft()
            data = self._taken(min(length, self._source.packet))
            out += self._bulk_done(number, at, UsbStatus.SUCCESS, len(data), data)
        return out

    def _interrupts(self) -> bytes:
        out, at = b"", self._source.address
        if self.receiving and self._halted and not self._stall_sent:
            # observed in QEMU 7.2: a status packet does not end the read of the guest; a packet without data does
            self._stall_sent = True
            return _packet(Packet.INTERRUPT_PACKET, 0, INTERRUPT.pack(at, UsbStatus.STALL, 0))
        while self.receiving and not self._halted and self.unsent and not self.holds:
            data = self._taken(self._source.packet)
            out += _packet(Packet.INTERRUPT_PACKET, 0, INTERRUPT.pack(at, UsbStatus.SUCCESS, len(data)) + data)
        return out

    def _taken(self, count: int) -> bytes:
        status = self._description.status
        data = bytes(self.unsent[: count - len(status)])
        del self.unsent[: len(data)]
        return status + data


def _packet(kind: int, number: int, body: bytes) -> bytes:
    return HEAD.pack(kind, len(body), number) + body
