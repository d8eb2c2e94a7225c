"""USB devices through pyusb with a fake bus: transfers, stalls, removal, refusals, release."""

import asyncio
import errno
import itertools
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from usb.backend import libusb1

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortError, PortRefused
from shoed.ports.address import UsbAddress
from shoed.ports.inbox import LIMIT_BYTES, UNSENT_BYTES
from shoed.ports.link import Link, keep_open, open_link
from shoed.ports.usb_transfer import MOST_STALLS
from tests.fake_usb import BULK, INTERRUPT, NO_DEVICE, FakeDevice, FakeInterface, FakeUsb, keyboard, unplug
from tests.links import receive
from tests.patience import PATIENCE_S
from tests.test_ports_link import Attempts, Listener

ADDRESS: Final = UsbAddress(0x1209, 0x0001)
LINE: Final = Line(115200)

Plug = Callable[..., FakeUsb]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plug:
    """Replace the connected devices."""

    def plugged(*devices: FakeDevice) -> FakeUsb:
        bus = FakeUsb(tmp_path, *devices)
        monkeypatch.setattr(libusb1, "get_backend", lambda: bus)
        return bus

    return plugged


async def until_heard(device: FakeDevice, count: int) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        while len(device.written) < count:
            await asyncio.to_thread(device.heard.wait, PATIENCE_S)
            device.heard.clear()
    return bytes(device.written)


def is_released(device: FakeDevice) -> bool:
    return (device.opened, device.claimed, device.waiting, device.ended) == (0, set(), [], [])


async def lost(link: Link) -> str:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await link.receive()
            except LinkLost as loss:
                return str(loss)


# ------------------------------------------------------------------------------------------------- bytes


async def test_packets_arrive_one_by_one_and_orders_leave_in_order(plug: Plug) -> None:
    """A full packet does not wait for another packet. Bytes that the device accepts in pieces arrive complete."""
    device = FakeDevice(room=3)
    plug(device)
    link = await open_link(ADDRESS, LINE)
    try:
        for packet in (bytes(range(64)), b"\x7e\x7f"):
            device.outgoing.put(packet)
        chunks = [await link.receive() for _ in range(2)]
        assert [chunk.data for chunk in chunks] == [bytes(range(64)), b"\x7e\x7f"]
        assert chunks[0].at.mono_ns <= chunks[1].at.mono_ns
        link.send(b"first order")
        link.send(b", second")
        assert await until_heard(device, 19) == b"first order, second"
    finally:
        await link.close()
    assert is_released(device)


async def test_a_keyboard_is_detached_from_the_kernel_and_attached_again(plug: Plug) -> None:
    """The link sets boot reports. At the end the keyboard has its report protocol and its driver again."""
    device = FakeDevice(interfaces=[keyboard()])
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.outgoing.put(bytes(8))
    assert await receive(link, 8) == bytes(8)
    with pytest.raises(PortError, match="has no OUT endpoint; set allow_orders = false"):
        link.send(b"x")
    await link.close()
    assert is_released(device)
    boot, report = 0, 1
    assert device.calls == [
        ("open", 0), ("detach", 0), ("claim", 0), ("protocol", boot),
        ("protocol", report), ("release", 0), ("attach", 0),
    ]  # fmt: skip


async def test_a_keyboard_without_its_driver_gets_it_again(plug: Plug) -> None:
    """A killed daemon had detached the driver."""
    device = FakeDevice(interfaces=[keyboard()])
    device.interfaces[0].driver = False
    plug(device)
    link = await open_link(ADDRESS, LINE)
    await link.close()
    assert device.interfaces[0].driver


@pytest.mark.parametrize(
    ("interfaces", "asked", "claimed"),
    [
        ([FakeInterface(4, {0x83: INTERRUPT})], None, 4),
        ([FakeInterface(0, {0x83: INTERRUPT}), FakeInterface(1, {0x01: BULK, 0x81: BULK})], None, 1),
        ([FakeInterface(0, {0x83: INTERRUPT}), FakeInterface(1, {0x01: BULK, 0x81: BULK})], 0, 0),
        ([FakeInterface(0, {0x02: BULK}), FakeInterface(1, {0x81: BULK})], None, 1),
    ],
)
async def test_the_interface_is_selected_by_its_endpoints(
    interfaces: list[FakeInterface], asked: int | None, claimed: int, plug: Plug
) -> None:
    """The first interface with an IN endpoint (bulk before interrupt), or that of the address. No other is claimed."""
    device = FakeDevice(interfaces=interfaces)
    plug(device)
    link = await open_link(UsbAddress(0x1209, 0x0001, interface=asked), LINE)
    assert device.claimed == {claimed}
    device.outgoing.put(b"A")
    assert await receive(link, 1) == b"A"
    await link.close()


async def test_a_device_without_a_configuration_gets_its_first_one(plug: Plug) -> None:
    """The configuration of another device is not changed."""
    for configured, calls in ((0, [("configure", 1)]), (1, [])):
        device = FakeDevice(configured=configured)
        plug(device)
        link = await open_link(ADDRESS, LINE)
        await link.close()
        assert [call for call in device.calls if call[0] == "configure"] == calls


async def test_a_slow_consumer_pauses_the_device(plug: Plug) -> None:
    """The inbox is full, the device keeps the other packets, and all packets arrive in order."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    count = 3 * LIMIT_BYTES // 64
    for number in range(count):
        device.outgoing.put(number.to_bytes(4) * 16)
    async with asyncio.timeout(PATIENCE_S):
        while device.outgoing.qsize() > count - LIMIT_BYTES // 64:
            await asyncio.to_thread(device.heard.wait, 0.01)  # until the inbox is full
    taken = [(await link.receive()).data for _ in range(100)]
    assert device.outgoing.qsize() > 0
    async with asyncio.timeout(PATIENCE_S):
        taken += [(await link.receive()).data for _ in range(count - 100)]
    assert taken == [number.to_bytes(4) * 16 for number in range(count)]
    await link.close()


async def test_a_blocked_event_loop_pauses_the_device(plug: Plug) -> None:
    """The device keeps every packet but one, and all packets arrive in order afterwards."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    await asyncio.sleep(0)
    for number in range(100):  # the event loop does not run
        device.outgoing.put(number.to_bytes(2))
    assert device.outgoing.qsize() >= 99
    assert await receive(link, 200) == b"".join(number.to_bytes(2) for number in range(100))
    await link.close()


# ------------------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("number", [errno.EPIPE, errno.EIO, errno.EOVERFLOW])
async def test_an_endpoint_that_stalls_is_cleared_and_works_again(
    number: int, plug: Plug, caplog: pytest.LogCaptureFixture
) -> None:
    """The log contains each stall, in both directions."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    for _ in range(3):
        for _ in range(MOST_STALLS):
            device.outgoing.put(number)
        device.outgoing.put(b"A")
    assert await receive(link, 3) == b"AAA"
    await link.close()
    assert device.calls.count(("clear", 0x81)) == 3 * MOST_STALLS
    assert f"{3 * MOST_STALLS} stalls so far" in caplog.text


async def test_an_order_that_the_device_has_refused_is_sent_again(plug: Plug, caplog: pytest.LogCaptureFixture) -> None:
    """The endpoint stalls before the first byte, so the device has no byte of it."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    for _ in range(MOST_STALLS):
        device.write_errors.put(errno.EPIPE)
    link.send(b"order")
    assert await until_heard(device, 5) == b"order"
    await link.close()
    assert device.calls.count(("clear", 0x02)) == MOST_STALLS
    assert "the device may have a part" not in caplog.text


@pytest.mark.parametrize(("number", "torn"), [(errno.EPIPE, 2), (errno.EIO, 2), (errno.EIO, 0), (errno.EIO, 5)])
async def test_an_order_in_doubt_is_not_sent_again(
    number: int, torn: int, plug: Plug, caplog: pytest.LogCaptureFixture
) -> None:
    """The device may have executed it, or have a part of it. The log has the order; the next order is sent."""
    device = FakeDevice(torn=torn)
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.write_errors.put(number)
    link.send(b"order")
    link.send(b"NEXT")
    assert await until_heard(device, torn + 4) == b"order"[:torn] + b"NEXT"
    await link.close()
    assert "the device may have a part of these bytes: 6f 72 64 65 72; shoed does not send them again" in caplog.text


async def test_an_order_that_fails_after_its_first_packet_is_not_continued(plug: Plug) -> None:
    """The device has accepted a packet, and then stalls: the rest would be a broken frame."""
    device = FakeDevice(room=3, stalls_after=1)
    plug(device)
    link = await open_link(ADDRESS, LINE)
    link.send(b"order")
    link.send(b"NEX")
    assert await until_heard(device, 6) == b"ordNEX"
    await link.close()


async def test_an_endpoint_that_does_not_recover_is_a_lost_link(plug: Plug) -> None:
    """It is cleared MOST_STALLS times in a row."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.outgoing.put(b"last words")
    for _ in range(MOST_STALLS + 1):
        device.outgoing.put(errno.EPIPE)
    assert await receive(link, 10) == b"last words"
    assert f"endpoint 0x81 fails repeatedly (Broken pipe; cleared {MOST_STALLS} times in a row)" in await lost(link)
    await link.close()
    assert is_released(device)


async def test_a_disconnected_device_is_a_lost_link(plug: Plug) -> None:
    """The earlier bytes are delivered first. After the loss nothing can be sent, and `close` is not an error."""
    device = FakeDevice(interfaces=[keyboard()])
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.outgoing.put(b"last words")
    unplug(device)
    assert await lost(link) == "usb://1209:0001: the device is disconnected; check the cable"
    await link.close()


async def test_a_device_that_is_disconnected_during_a_write_is_a_lost_link(plug: Plug) -> None:
    """Either thread may detect the loss."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.write_errors.put(errno.ENODEV)
    link.send(b"order")
    assert await lost(link) == "usb://1209:0001: the device is disconnected; check the cable"
    with pytest.raises(LinkLost):
        link.send(b"another")
    await link.close()
    assert is_released(device)


async def test_the_bytes_that_wait_for_a_device_are_bounded(plug: Plug) -> None:
    """`send` raises PortError above the bound, and `close` does not wait for the bytes."""
    device = FakeDevice(room=0)
    plug(device)
    link = await open_link(ADDRESS, LINE)
    link.send(bytes(UNSENT_BYTES))
    with pytest.raises(PortError, match="does not read"):
        link.send(b"x")
    await link.close()
    assert is_released(device)


# ------------------------------------------------------------------------------------------------- refusals


def pair() -> list[FakeDevice]:
    return [FakeDevice("A7", address=2), FakeDevice("B8", address=3), FakeDevice("", address=4)]


@pytest.mark.parametrize(
    ("devices", "serial", "interface", "why"),
    [
        ([], None, None, "no device with these ids is connected; check the cable (`shoed ports` lists the devices)"),
        ([FakeDevice(ids=(0x1209, 2))], None, None, "no device with these ids is connected"),
        ([FakeDevice(refusal=errno.EACCES)], None, None, "the node does not exist"),
        ([FakeDevice("A7", refusal=errno.EACCES)], "A7", None, "the node does not exist"),
        ([FakeDevice(refusal=errno.ENODEV)], None, None, "the device was disconnected during opening; check the cable"),
        ([FakeDevice(refusal=errno.ENOMEM)], None, None, "Cannot allocate memory; unplug and reconnect the device"),
        ([FakeDevice(busy=True)], None, None, "stop it (`fuser -v /dev/bus/usb/001/002` lists the program)"),
        ([FakeDevice(busy=True, interfaces=[keyboard()])], None, None, "or a kernel driver uses the device"),
        (pair(), None, None, "as in usb://1209:0001/NUMBER; connected: A7, B8, a device without one"),
        (pair(), "C9", None, "check the number; connected: A7, B8, a device without one"),
        ([FakeDevice("A7"), FakeDevice("A7", address=3)], "A7", None, "2 devices have this serial number"),
        ([FakeDevice()], None, 1, "add ?interface=N with one of 0"),
        ([FakeDevice(interfaces=[FakeInterface(0, {0x02: BULK})])], None, None, "the interface has no IN endpoint"),
        ([FakeDevice(interfaces=[FakeInterface(0, {0x81: BULK}, driver=True)])], None, None, "write the address of"),
    ],
)  # fmt: skip
async def test_the_refusal_of_a_device_contains_the_reason_and_a_remedy(
    devices: list[FakeDevice], serial: str | None, interface: int | None, why: str, plug: Plug
) -> None:
    """The device is not changed."""
    plug(*devices)
    drivers = [[each.driver for each in device.interfaces] for device in devices]
    with pytest.raises(PortRefused, match=r"^usb://1209:0001.*: .+; .+") as refusal:
        await open_link(UsbAddress(0x1209, 0x0001, serial, interface), LINE)
    assert why in str(refusal.value)
    assert all(is_released(device) for device in devices)
    assert [[each.driver for each in device.interfaces] for device in devices] == drivers


async def test_the_refusal_without_libusb_contains_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libusb is not a Python package, so pip does not install it."""
    monkeypatch.setattr(libusb1, "get_backend", lambda: None)
    with pytest.raises(PortRefused, match=r"sudo apt-get install -y libusb-1\.0-0"):
        await open_link(ADDRESS, LINE)


async def test_a_serial_number_selects_one_of_two_devices(plug: Plug) -> None:
    """The other device is released."""
    other, meant, _ = devices = pair()
    plug(*devices)
    link = await open_link(UsbAddress(0x1209, 0x0001, "B8"), LINE)
    assert (other.opened, other.claimed, meant.claimed) == (0, set(), {0})
    await link.close()
    assert is_released(meant)


# ------------------------------------------------------------------------------------------------- the loop and the end


async def test_a_device_that_hangs_during_opening_blocks_no_task(plug: Plug) -> None:
    """The event loop continues; here the loop itself ends the hang."""
    goes_on = threading.Event()

    class Hanging(FakeDevice):
        @property
        def refusal(self) -> int:
            assert goes_on.wait(PATIENCE_S)
            return 0

        @refusal.setter
        def refusal(self, _: int) -> None: ...

    device = Hanging()
    plug(device)
    opening = asyncio.create_task(open_link(ADDRESS, LINE))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not opening.done()
    goes_on.set()
    link = await opening
    await link.close()
    assert is_released(device)


async def test_close_ends_a_read_at_once(plug: Plug) -> None:
    """A read has no time limit. A second `close` has no effect, and the device can be opened again."""
    device = FakeDevice()
    bus = plug(device)
    for _ in range(2):
        link = await open_link(ADDRESS, LINE)
        await asyncio.sleep(0)
        assert device.waiting
        await link.close()
        assert is_released(device)
        assert bus.lib.transfers == 0
        await link.close()
        with pytest.raises(LinkLost, match="closed"):
            await link.receive()


async def test_an_idle_link_does_not_wake_the_event_loop(plug: Plug) -> None:
    """The next event of the loop is the packet."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    await asyncio.sleep(0)
    waits: list[float | None] = []
    before: list[int] = []
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]  # noqa: SLF001
    select = selector.select

    def counted(timeout: float | None) -> object:
        waits.append(timeout)
        return select(timeout)

    def send() -> None:
        before.append(len(waits))
        device.outgoing.put(b"A")

    selector.select = counted
    threading.Timer(0.2, send).start()
    assert await receive(link, 1) == b"A"
    selector.select = select
    (count,) = before
    assert [each for each in waits[:count] if each != 0] == waits[count - 1 : count]
    await link.close()


async def test_a_transfer_that_the_kernel_keeps_is_left_after_a_limit(
    plug: Plug, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of the link is reported, and the log contains a remedy."""
    monkeypatch.setattr("shoed.ports.usb.RELEASE_TIMEOUT_S", 0.01)
    device = FakeDevice(hangs=True)
    bus = plug(device)
    link = await open_link(ADDRESS, LINE)
    await asyncio.sleep(0)
    await link.close()
    assert "usb://1209:0001: the kernel does not release the USB device; unplug and reconnect the device" in caplog.text
    assert device.claimed == {0}
    bus.close_device(device)


async def test_libusb_may_report_the_end_of_a_transfer_in_another_thread(plug: Plug) -> None:
    """A thread that opens another device handles the events of all devices."""
    device = FakeDevice()
    bus = plug(device)
    link = await open_link(ADDRESS, LINE)
    await asyncio.sleep(0)
    device.outgoing.put(b"A")
    thread = threading.Thread(target=bus.lib.libusb_handle_events_timeout_completed)
    thread.start()
    thread.join()
    assert await receive(link, 1) == b"A"
    await link.close()
    assert is_released(device)


def test_pyusb_has_the_private_names_that_we_use() -> None:
    """A new version of pyusb without one of them fails this test."""
    fields = {name for name, _ in libusb1._libusb_transfer._fields_}  # noqa: SLF001
    assert {"dev_handle", "endpoint", "type", "status", "length", "actual_length", "callback", "buffer"} <= fields
    assert libusb1._libusb_errno[NO_DEVICE] == errno.ENODEV  # noqa: SLF001
    assert libusb1._libusb_transfer_cb_fn_p  # noqa: SLF001


def test_a_start_without_a_usb_device_does_not_import_libusb() -> None:
    """The import would delay every start."""
    asked = "import sys, shoed.service.daemon; print({'usb', 'ctypes', 'shoed.ports.usb'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True).stdout == b"set()\n"


@pytest.mark.parametrize("present", [True, False])
async def test_cancelled_at_any_step_nothing_remains(
    present: bool,  # noqa: FBT001
    plug: Plug,
) -> None:
    """The device is released, and each `opened` has its `closed`."""
    device = FakeDevice(interfaces=[keyboard()])
    plug(*[device] if present else [])
    for heard_first, steps in itertools.product((False, True), range(25)):
        listener = Listener()
        device.outgoing.put(b"A")
        task = asyncio.create_task(keep_open(ADDRESS, LINE, listener, rng=random.Random(steps)))
        if heard_first:
            await listener.next()
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert listener.count("closed") == listener.count("opened")
        assert is_released(device)
        assert device.interfaces[0].driver


async def test_an_endless_stall_is_reported_once(plug: Plug, caplog: pytest.LogCaptureFixture) -> None:
    """The number of attempts makes no difference. The log contains no stall."""
    device = FakeDevice()
    for _ in range(5 * (MOST_STALLS + 1)):
        device.outgoing.put(errno.EPIPE)
    plug(device)
    listener, attempts = Listener(), Attempts()
    task = asyncio.create_task(keep_open(ADDRESS, LINE, listener, rng=attempts))
    await attempts.reach(4)
    task.cancel()
    await asyncio.wait([task])
    assert [call for call, _ in listener.calls] == ["opened", "closed"]
    assert "fails repeatedly" in listener.calls[1][1]
    assert caplog.text == ""


async def test_a_device_that_returns_is_opened_again(plug: Plug) -> None:
    """The device was disconnected, and connected with another number of the bus."""
    device = FakeDevice()
    bus = plug(device)
    listener = Listener()
    task = asyncio.create_task(keep_open(ADDRESS, LINE, listener, rng=random.Random(1)))
    assert await listener.next() == ("opened", "")
    unplug(device)
    assert (await listener.next())[0] == "closed"
    bus.devices.append(FakeDevice(address=3))
    bus.devices[-1].outgoing.put(b"again")
    assert await listener.next() == ("opened", "")
    assert await listener.next() == ("received", "again")
    task.cancel()
    await asyncio.wait([task])
    assert is_released(bus.devices[-1])


async def test_a_defect_of_a_transfer_is_the_reason_of_the_loss(plug: Plug, caplog: pytest.LogCaptureFixture) -> None:
    """No transfer has a time limit, and the library reports that one has passed."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    await asyncio.sleep(0)
    device.end(device.waiting[0], 2)
    assert "the link failed (KeyError: 2); shoed opens it again" in await lost(link)
    assert "the link ends by a defect of shoed" in caplog.text
    await link.close()
