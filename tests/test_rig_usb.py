"""Virtual devices on a USB bus, without a virtual machine: descriptors, transfers, faults of the bus, and the plug."""

import asyncio
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoed.errors import RigError, SettingsError
from shoed.rig.device import Nak, Stall
from shoed.rig.devices import DEVICES
from shoed.rig.scenario import of
from shoed.rig.usb_descriptions import DESCRIPTIONS, UsbKind, configuration_descriptor, device_descriptor
from shoed.rig.usb_outlet import UsbOutlet, UsbPlace
from shoed.rig.usbredir import UsbRedirDevice
from shoed.settings import parse
from tests import usb_host as host
from tests.patience import PATIENCE_S

IN, OUT = 0x81, 0x02
CLEAR_HALT = (0x02, 0x01, 0)


def greeted(kind: UsbKind, serial: str = "OS-1") -> UsbRedirDevice:
    device = UsbRedirDevice(DESCRIPTIONS[kind], serial)
    device.receive(host.hello())
    return device


def answers(device: UsbRedirDevice, data: bytes) -> list[host.FromDevice]:
    return host.packets(device.receive(data))


def test_the_greeting_announces_what_an_xhci_controller_needs() -> None:
    """64-bit ids, 32-bit bulk lengths and the packet sizes of the endpoints; then the device connects."""
    device = UsbRedirDevice(DESCRIPTIONS[UsbKind.BULK], "OS-1")
    kind, length, number = struct.unpack_from("<III", device.hello())
    (capabilities,) = struct.unpack_from("<I", device.hello(), 12 + 64)
    assert (kind, length, number) == (host.HELLO, 68, 0)
    assert all(capabilities >> bit & 1 for bit in (4, 5, 6))
    interfaces, endpoints, connect = answers(device, host.hello())
    assert [each.kind for each in (interfaces, endpoints, connect)] == [
        *(host.INTERFACE_INFO, host.EP_INFO, host.DEVICE_CONNECT),
    ]
    assert interfaces.body[:4] == b"\x01\0\0\0"
    assert (endpoints.body[OUT], endpoints.body[16 + 1]) == (2, 2)  # bulk
    assert struct.unpack_from("<32H", endpoints.body, 96)[17] == 64
    assert connect.body == bytes.fromhex("01 00 00 00  09 12  01 00  00 01")


def test_a_host_without_64_bit_ids_is_refused() -> None:
    """An old QEMU: the error names the remedy."""
    device = UsbRedirDevice(DESCRIPTIONS[UsbKind.BULK], "")
    with pytest.raises(RigError, match="use QEMU 4 or later"):
        device.receive(host.hello(host.QEMU & ~(1 << 5)))


def test_the_greeting_may_arrive_in_parts() -> None:
    """A byte at a time."""
    device = UsbRedirDevice(DESCRIPTIONS[UsbKind.BULK], "")
    parts = b"".join(device.receive(bytes((byte,))) for byte in host.hello())
    assert len(host.packets(parts)) == 3


@pytest.mark.parametrize("kind", UsbKind)
def test_the_descriptors_are_consistent(kind: UsbKind) -> None:
    """The configuration has its declared length, its interfaces, and the endpoint of the reports."""
    described = DESCRIPTIONS[kind]
    whole = configuration_descriptor(described)
    assert struct.unpack_from("<H", whole, 2) == (len(whole),)
    parts, at = [], 0
    while at < len(whole):
        parts.append(whole[at : at + whole[at]])
        at += whole[at]
    assert [part[2] for part in parts if part[1] == 4] == [*range(whole[4])]
    assert described.source in [part[2] for part in parts if part[1] == 5]
    assert struct.unpack_from("<HH", device_descriptor(described, ""), 8) == described.id


@pytest.mark.parametrize(("serial", "number"), [("OS-1", 3), ("", 0)])
def test_the_serial_number_is_a_string_of_the_device(serial: str, number: int) -> None:
    """A device without one has no such string."""
    device = greeted(UsbKind.BULK, serial)
    described, text = answers(device, host.control(1, 0x80, 6, 0x0100) + host.control(2, 0x80, 6, 0x0303))
    assert described.data[16] == number
    assert text.data[2:].decode("utf-16-le") == serial


def test_unknown_requests_stall() -> None:
    """A request for data that the device does not have; one that sets a value has no effect."""
    device = greeted(UsbKind.FTDI)
    read, latency, write = answers(
        device, host.control(1, 0x80, 6, 0x0600) + host.control(2, 0xC0, 0x0A, 0) + host.control(3, 0x40, 3, 0x4138)
    )
    assert (read.status, latency.data, write.status) == (host.STALL, b"\x10", host.OK)


def test_a_read_waits_for_data() -> None:
    """The device answers when it has something; each answer has at most one packet."""
    device = greeted(UsbKind.BULK)
    assert answers(device, host.bulk(1, IN, 64)) == []
    (first,) = host.packets(device.say(bytes(range(70))))
    assert (first.number, first.data) == (1, bytes(range(64)))
    (second,) = answers(device, host.bulk(2, IN, 64))
    assert (second.number, second.data) == (2, bytes(range(64, 70)))


def test_a_cancelled_read_takes_no_data() -> None:
    """The data wait for the next read."""
    device = greeted(UsbKind.BULK)
    device.receive(host.bulk(1, IN, 64))
    (cancelled,) = answers(device, host.packet(host.CANCEL, 1))
    assert (cancelled.number, cancelled.status) == (1, host.CANCELLED)
    assert device.say(b"later") == b""
    assert answers(device, host.bulk(2, IN, 64))[0].data == b"later"


def test_the_bytes_of_the_host_arrive() -> None:
    """A write is answered with its length."""
    device = greeted(UsbKind.BULK)
    (done,) = answers(device, host.bulk(1, OUT, 5, b"order"))
    assert (done.status, struct.unpack_from("<H", done.body, 2)) == (host.OK, (5,))
    assert device.taken_from_host() == b"order"
    assert device.taken_from_host() == b""


def test_an_ftdi_adapter_has_its_status_before_the_data() -> None:
    """Two bytes in each packet, so 62 bytes of data."""
    device = greeted(UsbKind.FTDI)
    device.say(bytes(100))
    first, second = answers(device, host.bulk(1, IN, 512) + host.bulk(2, IN, 512))
    assert (first.data, second.data) == (b"\x01\x60" + bytes(62), b"\x01\x60" + bytes(38))


def test_a_stall_lasts_until_it_is_cleared() -> None:
    """With `stall = 2`, the second clear-halt makes the endpoint work; the data are not lost."""
    device = greeted(UsbKind.BULK)
    device.receive(host.bulk(1, IN, 64))
    (stalled,) = host.packets(device.stall(2))
    device.say(b"A")
    statuses = [stalled.status]
    for number in (2, 3):
        clear = host.control(10 + number, *CLEAR_HALT, index=IN)
        statuses += [
            each.status for each in answers(device, clear + host.bulk(number, IN, 64)) if each.kind == host.BULK
        ]
    assert statuses == [host.STALL, host.STALL, host.OK]


def test_a_device_that_answers_nak_keeps_its_data() -> None:
    """They are sent when it no longer holds them."""
    device = greeted(UsbKind.BULK)
    device.hold(holds=True)
    device.say(b"A")
    assert answers(device, host.bulk(1, IN, 64)) == []
    assert host.packets(device.hold(holds=False))[0].data == b"A"


def test_a_keyboard_sends_each_report_alone() -> None:
    """From the start of receiving. A stall is a packet without data, and the reports follow the clear-halt."""
    device = greeted(UsbKind.KEYBOARD)
    device.say(bytes(8) + b"\1" * 8)
    start = host.packet(host.START_INTERRUPT, 1, bytes((IN,)))
    started = answers(device, start)
    assert [each.data for each in started if each.kind == host.INTERRUPT] == [bytes(8), b"\1" * 8]
    (stalled,) = host.packets(device.stall(1))
    assert (stalled.kind, stalled.status, stalled.data) == (host.INTERRUPT, host.STALL, b"")
    assert device.say(b"\2" * 8) == b""
    again = answers(device, host.control(2, *CLEAR_HALT, index=IN))
    assert again[-1].data == b"\2" * 8
    device.receive(host.packet(host.STOP_INTERRUPT, 3, bytes((IN,))))
    assert not device.is_read


# ---------------------------------------------------------------------------------------------- the plug


class Bus:
    """A host that listens on a unix socket."""

    def __init__(self) -> None:
        self.plugs: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    async def plugged(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Wait for a device, and greet it."""
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await self.plugs.get()
            await reader.readexactly(12 + 68)
            writer.write(host.hello())
            for _ in range(3):
                await next_packet(reader)
        return reader, writer


async def next_packet(reader: asyncio.StreamReader) -> host.FromDevice:
    async with asyncio.timeout(PATIENCE_S):
        head = await reader.readexactly(16)
        return host.packets(head + await reader.readexactly(struct.unpack_from("<I", head, 4)[0]))[0]


@asynccontextmanager
async def bus(path: Path) -> AsyncIterator[Bus]:
    found = Bus()
    server = await asyncio.start_unix_server(lambda *pair: found.plugs.put_nowait(pair), path)
    try:
        yield found
    finally:
        server.close()


async def test_a_pull_closes_the_socket_and_a_plug_opens_it(tmp_path: Path) -> None:
    """Bytes of the host arrive; a host is connected while it reads."""
    heard = bytearray()
    async with bus(tmp_path / "usb") as found:
        outlet = UsbOutlet(UsbPlace(str(tmp_path / "usb"), DESCRIPTIONS[UsbKind.BULK], "OS-1"), heard.extend)
        opening = asyncio.create_task(outlet.open())
        reader, writer = await found.plugged()
        await opening
        assert not outlet.connected.is_set()
        writer.write(host.bulk(1, OUT, 5, b"order") + host.bulk(2, IN, 64))
        assert (await next_packet(reader)).number == 1
        await outlet.connected.wait()
        assert heard == b"order"
        await outlet.give(b"report")
        assert (await next_packet(reader)).data == b"report"
        await outlet.pull()
        assert await reader.read() == b""
        assert not outlet.connected.is_set()
        writer.close()
        plugging = asyncio.create_task(outlet.plug())
        _, writer = await found.plugged()
        await plugging
        await outlet.close()
        writer.close()


async def test_a_device_stays_in_its_socket_when_the_host_restarts(tmp_path: Path) -> None:
    """The host ends the connection, as in a power cut: the device connects again."""
    async with bus(tmp_path / "usb") as found:
        outlet = UsbOutlet(UsbPlace(str(tmp_path / "usb"), DESCRIPTIONS[UsbKind.BULK], ""), lambda _: None)
        opening = asyncio.create_task(outlet.open())
        _, writer = await found.plugged()
        await opening
        writer.close()
        _, writer = await found.plugged()
        await outlet.close()
        writer.close()


async def test_a_disturbance_reaches_the_bus(tmp_path: Path) -> None:
    """A stall ends the waiting read; NAK delays a report, and the report is not lost."""
    async with bus(tmp_path / "usb") as found:
        outlet = UsbOutlet(UsbPlace(str(tmp_path / "usb"), DESCRIPTIONS[UsbKind.BULK], ""), lambda _: None)
        opening = asyncio.create_task(outlet.open())
        reader, writer = await found.plugged()
        await opening
        writer.write(host.bulk(1, IN, 64))
        await outlet.connected.wait()
        outlet.disturb(Stall(1))
        assert (await next_packet(reader)).status == host.STALL
        writer.write(host.control(2, *CLEAR_HALT, index=IN) + host.bulk(3, IN, 64))
        assert (await next_packet(reader)).kind == host.CONTROL
        outlet.disturb(Nak(1))
        await outlet.give(b"late")
        assert (await next_packet(reader)).data == b"late"
        await outlet.close()
        writer.close()


async def test_a_missing_host_is_named(tmp_path: Path) -> None:
    """The error has the path, the reason and the options of QEMU."""
    outlet = UsbOutlet(UsbPlace(str(tmp_path / "none"), DESCRIPTIONS[UsbKind.BULK], ""), lambda _: None)
    with pytest.raises(RigError, match=r"none: no USB host answers \(No such file or directory\); start QEMU with"):
        await outlet.open()
    await outlet.close()


# ---------------------------------------------------------------------------------------------- the command


@pytest.mark.parametrize("step", ["stall = 1", "nak_ms = 100"])
def test_a_disturbance_needs_a_usb_bus(step: str) -> None:
    """On a pty or a TCP port, the step is refused with its line."""
    text = f"[[step]]\n{step}\n".encode()
    with pytest.raises(SettingsError, match=r"one.toml:2: .* is for a USB bus; run the device with --usbredir"):
        of(parse("one.toml", text), DEVICES["open-shoe"].make())
    assert len(of(parse("one.toml", text), DEVICES["open-shoe"].make(), on_usb=True)) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--pty=tty", "--serial=A"), "--serial, --usb and --id are for --usbredir"),
        (("--usbredir=none", "--serial="), '"" is not 1 to 126 printable ASCII characters'),
        (("--usbredir=none", "--id=12:34"), "is not a USB id; write it as in 1209:0001"),
        (("--usbredir=none", "--usb=keyboard"), '"keyboard" is not a valid value; write one of ftdi, cdc-acm'),
    ],
)
async def test_wrong_options_are_refused(words: tuple[str, ...], problem: str) -> None:
    """The exit status is 2, and the message has the remedy."""
    done = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "shoed", "rig", "angel-eye", *words),
        cwd=Path(__file__).parent.parent,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await done.communicate()
    assert done.returncode == 2
    assert problem in errors.decode()
