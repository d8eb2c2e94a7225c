"""USB devices through pyusb, on a bus that is not there: bytes both ways, stalls, removal, refusals, a clean end."""

import asyncio
import errno
import itertools
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Final

import pytest
from usb.backend import libusb1

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortError, PortRefused
from shoed.ports.address import UsbAddress
from shoed.ports.inbox import LIMIT_BYTES, UNSENT_BYTES
from shoed.ports.link import Link, keep_open, open_link
from shoed.ports.usb import MOST_HANDED
from shoed.ports.usb_device import MOST_STALLS, TRANSFER_MS
from tests.fake_usb import BULK, INTERRUPT, FakeDevice, FakeInterface, FakeUsb, keyboard, unplug
from tests.links import PATIENCE_S, receive
from tests.test_ports_link import Attempts, Listener

ADDRESS: Final = UsbAddress(0x1209, 0x0001)
LINE: Final = Line(115200)

Plug = Callable[..., FakeUsb]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Plug:
    """What is plugged in from now on."""

    def plugged(*devices: FakeDevice) -> FakeUsb:
        bus = FakeUsb(*devices)
        monkeypatch.setattr(libusb1, "get_backend", lambda: bus)
        return bus

    return plugged


async def until_heard(device: FakeDevice, count: int) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        while len(device.told) < count:
            await asyncio.to_thread(device.heard.wait, PATIENCE_S)
            device.heard.clear()
    return bytes(device.told)


def is_let_go(device: FakeDevice) -> bool:
    threads = [each for each in threading.enumerate() if each.name == "shoed-usb"]
    return (device.opened, device.claimed, threads) == (0, set(), [])


async def lost(link: Link) -> str:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await link.receive()
            except LinkLost as loss:
                return str(loss)


# ------------------------------------------------------------------------------------------------- bytes


async def test_packets_come_one_by_one_and_orders_leave_in_order(plug: Plug) -> None:
    """A full packet waits for no other; what the device takes in pieces arrives whole."""
    device = FakeDevice(room=3)
    plug(device)
    link = await open_link(ADDRESS, LINE)
    try:
        for packet in (bytes(range(64)), b"\x7e\x7f"):
            device.says.put(packet)
        chunks = [await link.receive() for _ in range(2)]
        assert [chunk.data for chunk in chunks] == [bytes(range(64)), b"\x7e\x7f"]
        assert chunks[0].at.mono_ns <= chunks[1].at.mono_ns
        link.send(b"first order")
        link.send(b", second")
        assert await until_heard(device, 19) == b"first order, second"
    finally:
        await link.close()
    assert is_let_go(device)


async def test_a_keyboard_is_taken_from_the_kernel_and_given_back(plug: Plug) -> None:
    """Its driver steps aside, it is asked for boot reports; at the end it has its own protocol and its driver."""
    device = FakeDevice(interfaces=[keyboard()])
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.says.put(bytes(8))
    assert await receive(link, 8) == bytes(8)
    with pytest.raises(PortError, match="takes no bytes; set allow_orders = false"):
        link.send(b"x")
    await link.close()
    assert is_let_go(device)
    boot, report = 0, 1
    assert device.calls == [
        ("open", 0), ("detach", 0), ("claim", 0), ("protocol", boot),
        ("protocol", report), ("release", 0), ("attach", 0),
    ]  # fmt: skip


async def test_a_keyboard_without_its_driver_gets_it_back_too(plug: Plug) -> None:
    """A daemon that was killed had sent it away."""
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
async def test_the_interface_is_found_by_its_endpoints(
    interfaces: list[FakeInterface], asked: int | None, claimed: int, plug: Plug
) -> None:
    """The first that sends, bulk before interrupt, or the one that is named; no other is touched."""
    device = FakeDevice(interfaces=interfaces)
    plug(device)
    link = await open_link(UsbAddress(0x1209, 0x0001, interface=asked), LINE)
    assert device.claimed == {claimed}
    device.says.put(b"A")
    assert await receive(link, 1) == b"A"
    await link.close()


async def test_a_device_without_a_configuration_gets_its_first(plug: Plug) -> None:
    """And one that has a configuration is left alone."""
    for configured, calls in ((0, [("configure", 1)]), (1, [])):
        device = FakeDevice(configured=configured)
        plug(device)
        link = await open_link(ADDRESS, LINE)
        await link.close()
        assert [call for call in device.calls if call[0] == "configure"] == calls


async def test_a_consumer_that_lags_holds_the_device_up(plug: Plug) -> None:
    """The inbox is full, the device keeps the rest, and all of it comes in order in the end."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    count = 3 * LIMIT_BYTES // 64
    for number in range(count):
        device.says.put(number.to_bytes(4) * 16)
    async with asyncio.timeout(PATIENCE_S):
        while device.says.qsize() > count - LIMIT_BYTES // 64:
            await asyncio.to_thread(device.heard.wait, 0.01)  # until the inbox has its fill
    taken = [(await link.receive()).data for _ in range(100)]
    assert device.says.qsize() > 0
    async with asyncio.timeout(PATIENCE_S):
        taken += [(await link.receive()).data for _ in range(count - 100)]
    assert taken == [number.to_bytes(4) * 16 for number in range(count)]
    await link.close()


async def test_a_loop_that_stands_still_holds_the_device_up(plug: Plug) -> None:
    """So many packets wait for it, and no more; all come in order once it goes on."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    for number in range(2 * MOST_HANDED):
        device.says.put(number.to_bytes(2))
    while device.says.qsize() > MOST_HANDED:
        device.heard.wait(0.01)  # and with it the loop
    device.heard.wait(0.05)
    assert device.says.qsize() == MOST_HANDED
    assert await receive(link, 4 * MOST_HANDED) == b"".join(number.to_bytes(2) for number in range(2 * MOST_HANDED))
    await link.close()


# ------------------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("number", [errno.EPIPE, errno.EIO, errno.EOVERFLOW])
async def test_an_endpoint_that_stalls_is_cleared_and_goes_on(
    number: int, plug: Plug, caplog: pytest.LogCaptureFixture
) -> None:
    """Both ways, as often as it recovers; each is in the log."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    for _ in range(3):
        for _ in range(MOST_STALLS):
            device.says.put(number)
        device.says.put(b"A")
    assert await receive(link, 3) == b"AAA"
    for _ in range(MOST_STALLS):
        device.objects.put(number)
    link.send(b"order")
    assert await until_heard(device, 5) == b"order"
    await link.close()
    assert device.calls.count(("clear", 0x81)) == 3 * MOST_STALLS
    assert device.calls.count(("clear", 0x02)) == MOST_STALLS
    assert f"{3 * MOST_STALLS} stalls so far" in caplog.text


async def test_an_endpoint_that_does_not_recover_is_a_lost_link(plug: Plug) -> None:
    """It is cleared a few times in a row, no more."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.says.put(b"last words")
    for _ in range(MOST_STALLS + 1):
        device.says.put(errno.EPIPE)
    assert await receive(link, 10) == b"last words"
    assert f"endpoint 0x81 fails again and again (Broken pipe; cleared {MOST_STALLS} times in a row)" in await lost(
        link
    )
    await link.close()
    assert is_let_go(device)


async def test_a_device_that_is_pulled_is_a_lost_link(plug: Plug) -> None:
    """What came before is delivered first; nothing can be sent after it, and letting go of it is no error."""
    device = FakeDevice(interfaces=[keyboard()])
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.says.put(b"last words")
    unplug(device)
    assert await lost(link) == "usb://1209:0001: the device is gone; check the cable"
    await link.close()


async def test_a_device_that_is_pulled_while_it_is_told_something_is_a_lost_link(plug: Plug) -> None:
    """Whichever end meets it first."""
    device = FakeDevice()
    plug(device)
    link = await open_link(ADDRESS, LINE)
    device.objects.put(errno.ENODEV)
    link.send(b"order")
    assert await lost(link) == "usb://1209:0001: the device is gone; check the cable"
    with pytest.raises(LinkLost):
        link.send(b"another")
    await link.close()
    assert is_let_go(device)


async def test_what_a_device_does_not_take_is_bounded(plug: Plug) -> None:
    """It is said, and not queued for ever; nor does it hold up the end."""
    device = FakeDevice(room=0)
    plug(device)
    link = await open_link(ADDRESS, LINE)
    link.send(bytes(UNSENT_BYTES))
    with pytest.raises(PortError, match="takes no bytes"):
        link.send(b"x")
    await link.close()
    assert is_let_go(device)


# ------------------------------------------------------------------------------------------------- refusals


def pair() -> list[FakeDevice]:
    return [FakeDevice("A7", address=2), FakeDevice("B8", address=3), FakeDevice("", address=4)]


@pytest.mark.parametrize(
    ("devices", "serial", "interface", "why"),
    [
        ([], None, None, "no such device is plugged in; check the cable, `shoed ports` lists what is there"),
        ([FakeDevice(ids=(0x1209, 2))], None, None, "no such device is plugged in"),
        ([FakeDevice(refusal=errno.EACCES)], None, None, "there is no such node"),
        ([FakeDevice("A7", refusal=errno.EACCES)], "A7", None, "there is no such node"),
        ([FakeDevice(refusal=errno.ENODEV)], None, None, "it went away while it was opened; check the cable"),
        ([FakeDevice(refusal=errno.ENOMEM)], None, None, "Cannot allocate memory; unplug and reconnect it"),
        ([FakeDevice(busy=True)], None, None, "stop that one (`fuser -v /dev/bus/usb/001/002` names it)"),
        ([FakeDevice(busy=True, interfaces=[keyboard()])], None, None, "another program has it open"),
        (pair(), None, None, "as in usb://1209:0001/NUMBER; there are: A7, B8, one without"),
        (pair(), "C9", None, "no device of these ids has this serial number; there are: A7, B8, one without"),
        ([FakeDevice("A7"), FakeDevice("A7", address=3)], "A7", None, "2 devices have this serial number"),
        ([FakeDevice()], None, 1, "name its interface with ?interface=N, of 0"),
        ([FakeDevice(interfaces=[FakeInterface(0, {0x02: BULK})])], None, None, "nothing there sends bytes"),
        ([FakeDevice(interfaces=[FakeInterface(0, {0x81: BULK}, driver=True)])], None, None, "use the node that it"),
    ],
)  # fmt: skip
async def test_a_device_that_cannot_be_had_says_why_and_what_to_do(
    devices: list[FakeDevice], serial: str | None, interface: int | None, why: str, plug: Plug
) -> None:
    """And it is left as it was."""
    plug(*devices)
    drivers = [[each.driver for each in device.interfaces] for device in devices]
    with pytest.raises(PortRefused, match=r"^usb://1209:0001.*: .+; .+") as refusal:
        await open_link(UsbAddress(0x1209, 0x0001, serial, interface), LINE)
    assert why in str(refusal.value)
    assert all(is_let_go(device) for device in devices)
    assert [[each.driver for each in device.interfaces] for device in devices] == drivers


async def test_without_libusb_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is not among what pyusb needs of Python."""
    monkeypatch.setattr(libusb1, "get_backend", lambda: None)
    with pytest.raises(PortRefused, match=r"sudo apt-get install -y libusb-1\.0-0"):
        await open_link(ADDRESS, LINE)


async def test_a_serial_number_tells_two_devices_apart(plug: Plug) -> None:
    """The other one is let go of."""
    other, meant, _ = devices = pair()
    plug(*devices)
    link = await open_link(UsbAddress(0x1209, 0x0001, "B8"), LINE)
    assert (other.opened, other.claimed, meant.claimed) == (0, set(), {0})
    await link.close()
    assert is_let_go(meant)


# ------------------------------------------------------------------------------------------------- the loop and the end


async def test_a_device_that_hangs_while_it_is_opened_holds_nobody_up(plug: Plug) -> None:
    """The loop goes on, and is the one to set it free."""
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
    assert is_let_go(device)


async def test_no_thread_outlives_its_link_by_more_than_a_read(plug: Plug) -> None:
    """Closing twice is closing once, and the device can be opened again."""
    device = FakeDevice()
    plug(device)
    loop = asyncio.get_running_loop()
    for _ in range(2):
        link = await open_link(ADDRESS, LINE)
        begun_s = loop.time()
        await link.close()
        assert loop.time() - begun_s < 3 * TRANSFER_MS / 1000
        assert is_let_go(device)
        await link.close()
        with pytest.raises(LinkLost, match="closed"):
            await link.receive()


async def test_a_read_that_never_returns_is_left_to_itself(
    plug: Plug, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of the link is told all the same, and the log says what to do."""
    monkeypatch.setattr("shoed.ports.usb.HANGS_S", 0.01)
    device = FakeDevice(hangs=threading.Event())
    plug(device)
    link = await open_link(ADDRESS, LINE)
    await link.close()
    assert "usb://1209:0001: the kernel does not let go of it; pull it" in caplog.text
    assert device.claimed == {0}
    assert device.hangs is not None
    device.hangs.set()
    for thread in threading.enumerate():
        if thread.name == "shoed-usb":
            thread.join(PATIENCE_S)


def test_who_has_no_usb_device_does_not_pay_for_it() -> None:
    """A start has little time to spare."""
    asked = "import sys, shoed.daemon; print({'usb', 'ctypes', 'shoed.ports.usb'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True).stdout == b"set()\n"


@pytest.mark.parametrize("present", [True, False])
async def test_cancelled_anywhere_nothing_stays(present: bool, plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """Whatever step it had reached, the device is let go of, and each opening was told its end."""
    monkeypatch.setattr("shoed.ports.usb_device.TRANSFER_MS", 5)
    device = FakeDevice(interfaces=[keyboard()])
    plug(*[device] if present else [])
    for told_first, steps in itertools.product((False, True), range(25)):
        listener = Listener()
        device.says.put(b"A")
        task = asyncio.create_task(keep_open(ADDRESS, LINE, listener, rng=random.Random(steps)))
        if told_first:
            await listener.next()
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert listener.count("closed") == listener.count("opened")
        assert is_let_go(device)
        assert device.interfaces[0].driver


async def test_an_endless_stall_is_told_once(plug: Plug, caplog: pytest.LogCaptureFixture) -> None:
    """However often the device is opened again; nothing of it is in the log."""
    device = FakeDevice()
    for _ in range(5 * (MOST_STALLS + 1)):
        device.says.put(errno.EPIPE)
    plug(device)
    listener, attempts = Listener(), Attempts()
    task = asyncio.create_task(keep_open(ADDRESS, LINE, listener, rng=attempts))
    await attempts.reach(4)
    task.cancel()
    await asyncio.wait([task])
    assert [told for told, _ in listener.told] == ["opened", "closed"]
    assert "fails again and again" in listener.told[1][1]
    assert caplog.text == ""


async def test_a_device_that_returns_is_opened_again(plug: Plug) -> None:
    """Pulled and plugged in under another number of the bus."""
    device = FakeDevice()
    bus = plug(device)
    listener = Listener()
    task = asyncio.create_task(keep_open(ADDRESS, LINE, listener, rng=random.Random(1)))
    assert await listener.next() == ("opened", "")
    unplug(device)
    assert (await listener.next())[0] == "closed"
    bus.devices.append(FakeDevice(address=3))
    bus.devices[-1].says.put(b"again")
    assert await listener.next() == ("opened", "")
    assert await listener.next() == ("received", "again")
    task.cancel()
    await asyncio.wait([task])
    assert is_let_go(bus.devices[-1])
