"""A USB device in an emulated kernel: a program for umockdev's preload.

Unmodified pyusb and libusb use the device through /sys, /dev, netlink and the ioctls of usbfs. umockdev provides the
tree and the uevents. It passes the ioctls over its socket (one request of three words in each direction), and this
program answers them like Linux's drivers/usb/core/devio.c. `test_ports_usb_kernel.py` runs each of CASES.
"""

import asyncio
import ctypes
import errno
import os
import random
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from firmware_protocols.family import Line
from shoed.errors import PortRefused
from shoed.ports.address import UsbAddress
from shoed.ports.link import keep_open, open_link
from tests.fake_usb import Node
from tests.links import receive
from tests.patience import PATIENCE_S
from tests.test_ports_link import Listener

ADDRESS: Final = UsbAddress(0x1209, 0x0001)
LINE: Final = Line(115200)
SYSFS: Final = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1"

# <linux/usbdevice_fs.h>
CLAIM, RELEASE, CLEAR_HALT = 0x8004550F, 0x80045510, 0x80045515
SUBMIT, REAP, DISCARD = 0x8038550A, 0x4008550D, 0x550B
CAPABILITIES, DRIVER, PASS_ON = 0x8004551A, 0x41045508, 0xC0105512
CONNECT: Final = 0x5517
URB: Final = struct.Struct("BBiIQii4xiIIQ")  # type endpoint status flags buffer length actual ... usercontext
CONTROL: Final = 2
IN: Final = 0x80
SETUP_BYTES: Final = 8
GET_DESCRIPTOR: Final = b"\x80\x06"
EIGHT_OF_SPADES: Final = bytes.fromhex("05 31 44 81 B8 03 34 46")  # from an Angel Eye
SERIAL: Final = "A7"
NO_PERMISSIONS: Final = 65534
NO_PACKET_SIZE_LIMIT_AND_REAP_AFTER_DISCONNECT: Final = 0x14

# umockdev's requests and answers
IOCTL, READ_MEMORY, WRITE_MEMORY, DONE = 1, 5, 6, 3
MINUS_ONE: Final = (1 << 64) - 1
WORDS: Final = struct.Struct("3Q")

DEVICE: Final = bytes.fromhex("12 01 0002 000000 40 0912 0100 0001 00 00 03 01")
SHOE: Final = bytes.fromhex(
    "09 02 2000 01 01 00 80 32  09 04 00 00 02 ff 00 00 00  07 05 81 02 4000 00  07 05 02 02 4000 00"
)
KEYBOARD: Final = bytes.fromhex("09 02 1900 01 01 00 80 32  09 04 00 00 01 03 01 01 00  07 05 81 03 0800 0a")


@dataclass
class Urb:
    address: int
    endpoint: int
    buffer: int
    length: int


@dataclass
class Kernel:
    """One device, and its open files."""

    configuration: bytes = SHOE
    driver: str = ""
    outgoing: deque[bytes | int] = field(default_factory=deque)  # packets, and the errors of transfers
    written: bytearray = field(default_factory=bytearray)
    write_errors: deque[tuple[int, int]] = field(default_factory=deque)  # of the next writes: the error, accepted bytes
    calls: list[str] = field(default_factory=list)
    busy: bool = False
    gone: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)
    waiting: deque[Urb] = field(default_factory=deque)
    finished: deque[tuple[Urb, int, bytes]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.umockdev = ctypes.CDLL("libumockdev.so.0")
        self.umockdev.umockdev_testbed_new.restype = ctypes.c_void_p
        self.umockdev.umockdev_testbed_get_root_dir.restype = ctypes.c_char_p
        self.testbed = ctypes.c_void_p(self.umockdev.umockdev_testbed_new())
        self.root = Path(self.umockdev.umockdev_testbed_get_root_dir(self.testbed).decode())
        self.door: socket.socket | None = None
        self.node: Node | None = None

    # --- the plug

    def plug(self) -> None:
        self.gone = False
        described = (
            f"P: {SYSFS.removeprefix('/sys')}\nN: bus/usb/001/002\nE: DEVNAME=/dev/bus/usb/001/002\n"
            "E: DEVTYPE=usb_device\nE: SUBSYSTEM=usb\nE: BUSNUM=001\nE: DEVNUM=002\nE: MAJOR=189\nE: MINOR=1\n"
            "A: busnum=1\\n\nA: devnum=2\\n\nA: speed=12\\n\nA: bConfigurationValue=1\\n\n"
            f"H: descriptors={(DEVICE + self.configuration).hex().upper()}\n\n"
        )
        node = self.root / "ioctl/dev/bus/usb/001/002"
        node.parent.mkdir(parents=True, exist_ok=True)
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(node))
        self.door.listen()
        threading.Thread(target=self.serve, args=(self.door,), daemon=True).start()
        assert self.umockdev.umockdev_testbed_add_from_string(self.testbed, described.encode(), None)
        self.node = Node(self.root / "dev/bus/usb/001/002")  # in place of umockdev's file, which always polls ready
        self.umockdev.umockdev_testbed_uevent(self.testbed, SYSFS.encode(), b"add")

    def unplug(self) -> None:
        with self.changed:
            self.gone = True
            while self.waiting:
                self.finish(self.waiting.popleft(), -errno.ESHUTDOWN, b"")
        assert self.door is not None
        self.door.close()
        (self.root / "ioctl/dev/bus/usb/001/002").unlink()
        self.umockdev.umockdev_testbed_uevent(self.testbed, SYSFS.encode(), b"remove")
        self.umockdev.umockdev_testbed_remove_device(self.testbed, SYSFS.encode())

    def say(self, *packets: bytes | int) -> None:
        with self.changed:
            self.outgoing.extend(packets)
            self.match()

    async def heard(self, count: int) -> bytes:
        def wait() -> None:
            with self.changed:
                assert self.changed.wait_for(lambda: len(self.written) >= count, PATIENCE_S)

        await asyncio.to_thread(wait)
        return bytes(self.written)

    # --- usbfs

    def serve(self, door: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = door.accept()
                threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client: socket.socket) -> None:
        with client, suppress(OSError, struct.error):
            while True:
                what, request, argument = WORDS.unpack(client.recv(WORDS.size, socket.MSG_WAITALL))
                result = self.ioctl(client, request, argument) if what == IOCTL else -errno.ENOTTY
                client.sendall(WORDS.pack(DONE, 0 if result >= 0 else MINUS_ONE, -result))

    def ioctl(self, client: socket.socket, request: int, argument: int) -> int:
        """0, or the negative number of the error."""
        answers: dict[int, Callable[[socket.socket, int], int]] = {
            CAPABILITIES: self.capabilities,
            CLAIM: self.claim,
            RELEASE: lambda *_: self.note("release"),
            CLEAR_HALT: lambda *_: self.note("clear"),
            DRIVER: self.name_driver,
            PASS_ON: self.pass_on,
            SUBMIT: self.submit,
            REAP: self.reap,
            DISCARD: self.discard,
        }
        if self.gone and request != REAP:
            return -errno.ENODEV
        answer = answers.get(request)
        return -errno.ENOTTY if answer is None else answer(client, argument)

    def capabilities(self, client: socket.socket, argument: int) -> int:
        write(client, argument, struct.pack("I", NO_PACKET_SIZE_LIMIT_AND_REAP_AFTER_DISCONNECT))
        return 0

    def note(self, what: str) -> int:
        self.calls.append(what)
        return 0

    def claim(self, *_: object) -> int:
        self.note("claim")
        return -errno.EBUSY if self.busy or self.driver else 0

    def name_driver(self, client: socket.socket, argument: int) -> int:
        if not self.driver:
            return -errno.ENODATA
        write(client, argument + 4, self.driver.encode() + b"\0")
        return 0

    def pass_on(self, client: socket.socket, argument: int) -> int:
        _, passed = struct.unpack("ii", read(client, argument, 8))
        self.driver = "usbhid" if passed == CONNECT else ""
        return self.note("attach" if passed == CONNECT else "detach")

    def submit(self, client: socket.socket, address: int) -> int:
        kind, endpoint, _, _, buffer, length, *_ = URB.unpack(read(client, address, URB.size))
        urb = Urb(address, endpoint, buffer, length)
        with self.changed:
            if self.gone:  # since the last check
                return -errno.ENODEV
            if kind == CONTROL:
                setup = read(client, buffer, SETUP_BYTES)
                text = {0: b"\x09\x04", 3: SERIAL.encode("utf-16-le")}.get(setup[2], b"")  # 0: in English
                if setup[:2] == GET_DESCRIPTOR:
                    urb = Urb(address, IN, buffer + SETUP_BYTES, length)
                    self.finish(urb, 0, bytes((2 + len(text), 3)) + text)
                else:
                    self.calls.append(f"control {setup[:4].hex()}")
                    self.finish(urb, 0, b"")
            elif endpoint & IN:
                self.waiting.append(urb)
                self.match()
            else:
                error, accepted = self.write_errors.popleft() if self.write_errors else (0, length)
                self.written += read(client, buffer, length)[:accepted]
                self.finish(urb, -error, bytes(accepted))
            self.changed.notify_all()
        return 0

    def match(self) -> None:
        """Give the outgoing packets to the waiting transfers."""
        while self.waiting and self.outgoing:
            packet, urb = self.outgoing.popleft(), self.waiting.popleft()
            if isinstance(packet, int):
                self.finish(urb, -packet, b"")
            else:
                self.finish(urb, 0, packet)

    def finish(self, urb: Urb, status: int, data: bytes) -> None:
        self.finished.append((urb, status, data))
        if self.node is not None:
            self.node.show(ended=True)

    def reap(self, client: socket.socket, argument: int) -> int:
        with self.changed:
            if not self.finished:
                if self.node is not None:
                    self.node.show(ended=False)
                return -errno.ENODEV if self.gone else -errno.EAGAIN
            urb, status, data = self.finished.popleft()
        if urb.endpoint & IN:
            write(client, urb.buffer, data)
        write(client, urb.address + 4, struct.pack("i", status))
        write(client, urb.address + 28, struct.pack("i", len(data)))
        write(client, argument, struct.pack("Q", urb.address))
        return 0

    def discard(self, _: socket.socket, address: int) -> int:
        with self.changed:
            for urb in self.waiting:
                if urb.address == address:
                    self.waiting.remove(urb)
                    self.finish(urb, -errno.ENOENT, b"")
                    return 0
        return -errno.EINVAL


def read(client: socket.socket, address: int, count: int) -> bytes:
    client.sendall(WORDS.pack(READ_MEMORY, address, count))
    return client.recv(count, socket.MSG_WAITALL)


def write(client: socket.socket, address: int, data: bytes) -> None:
    if data:
        client.sendall(WORDS.pack(WRITE_MEMORY, address, len(data)) + data)


# ------------------------------------------------------------------------------------------------- cases


async def bytes_both_ways(kernel: Kernel) -> None:
    """Packets, a silence between them, and an order."""
    kernel.plug()
    link = await open_link(ADDRESS, LINE)
    kernel.say(bytes(range(64)), b"\x7e\x7f")
    assert await receive(link, 66) == bytes(range(64)) + b"\x7e\x7f"
    link.send(b"order")
    assert await kernel.heard(5) == b"order"
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            await link.receive()
    kernel.say(b"later")
    assert await receive(link, 5) == b"later"
    await link.close()
    assert kernel.calls == ["claim", "release"]


async def a_stall(kernel: Kernel) -> None:
    """The stall is cleared, and the device works again."""
    kernel.plug()
    link = await open_link(ADDRESS, LINE)
    kernel.say(errno.EPIPE, b"A")
    assert await receive(link, 1) == b"A"
    await link.close()
    assert kernel.calls == ["claim", "clear", "release"]


async def orders_that_fail(kernel: Kernel) -> None:
    """An order is sent again only if the device has stalled before its first byte."""
    kernel.plug()
    link = await open_link(ADDRESS, LINE)
    kernel.write_errors.extend([(errno.EPIPE, 0), (0, 5), (errno.EPIPE, 2), (errno.EPROTO, 0), (errno.EPROTO, 6)])
    for order in (b"FIRST", b"second", b"third.", b"fourth", b"LAST"):
        link.send(order)
    assert await kernel.heard(17) == b"FIRST" + b"se" + b"fourth" + b"LAST"
    await link.close()
    assert kernel.calls == ["claim", *["clear"] * 4, "release"]


async def a_keyboard(kernel: Kernel) -> None:
    """Its driver is detached, and attached again."""
    kernel.configuration, kernel.driver = KEYBOARD, "usbhid"
    kernel.plug()
    link = await open_link(ADDRESS, LINE)
    kernel.say(bytes(8))
    assert await receive(link, 8) == bytes(8)
    await link.close()
    assert kernel.calls == ["detach", "claim", "control 210b0000", "control 210b0100", "release", "attach"]
    assert kernel.driver == "usbhid"


async def a_program_that_uses_it(kernel: Kernel) -> None:
    """Another process has claimed the interface."""
    kernel.busy = True
    kernel.plug()
    try:
        await open_link(ADDRESS, LINE)
    except PortRefused as refusal:
        assert "another program or a kernel driver uses the device" in str(refusal)  # noqa: PT017 -- pytest is not here
    else:
        raise AssertionError("the device was opened")


async def a_node_that_is_denied(kernel: Kernel) -> None:
    """The remedy depends on the group; here the group has no permission either."""
    kernel.plug()
    await (await open_link(ADDRESS, LINE)).close()  # imports the modules while the node is permitted
    kernel.root.chmod(0o755)
    (kernel.root / "dev/bus/usb/001/002").chmod(0)
    (kernel.root / "ioctl/dev/bus/usb/001/002").chmod(0o777)  # the socket of umockdev
    if os.geteuid() == 0:
        os.seteuid(NO_PERMISSIONS)
    try:
        await open_link(ADDRESS, LINE)
    except PortRefused as refusal:
        assert "install shoed's udev rules, then unplug and reconnect the device" in str(refusal)  # noqa: PT017 -- pytest is not here
    else:
        raise AssertionError("the device was opened")


async def a_serial_number(kernel: Kernel) -> None:
    """Pyusb reads the serial number from the device."""
    kernel.plug()
    link = await open_link(UsbAddress(0x1209, 0x0001, SERIAL), LINE)
    await link.close()
    try:
        await open_link(UsbAddress(0x1209, 0x0001, "B8"), LINE)
    except PortRefused as refusal:
        assert f"connected: {SERIAL}" in str(refusal)  # noqa: PT017 -- pytest is not here
    else:
        raise AssertionError("the device was opened")
    assert kernel.calls == ["claim", "release"]


async def a_program_that_is_killed(kernel: Kernel) -> None:
    """`shoed decode` reads from the shoe. After a kill, the next process can open the device."""
    kernel.plug()
    for _ in range(2):
        command = (sys.executable, "-m", "shoed", "decode", "--protocol", "angel-eye", str(ADDRESS))
        program = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        kernel.say(EIGHT_OF_SPADES)
        assert program.stdout is not None
        assert b'"card":"8S"' in await program.stdout.readline()
        program.kill()
        await program.wait()
        kernel.waiting.clear()  # Linux does this with the transfers of an ended process
    assert kernel.calls == ["claim", "claim"]


async def a_device_that_is_disconnected(kernel: Kernel) -> None:
    """Twice: the earlier bytes are delivered, the loss is reported, and the device is opened again at once."""
    listener = Listener()
    task = asyncio.create_task(keep_open(ADDRESS, LINE, listener, rng=random.Random(1)))
    assert (await listener.next())[0] == "refused"
    for _ in range(2):
        begun_s = time.monotonic()
        kernel.plug()
        assert await listener.next() == ("opened", "")
        sys.stdout.write(f"plug to open: {(time.monotonic() - begun_s) * 1000:.0f} ms\n")
        kernel.say(b"last words")
        assert await listener.next() == ("received", "last words")
        kernel.unplug()
        assert await listener.next() == ("closed", "usb://1209:0001: the device is disconnected; check the cable")
    task.cancel()
    await asyncio.wait([task])


Case = Callable[[Kernel], Awaitable[None]]
CASES: Final[dict[str, Case]] = {
    "bytes both ways": bytes_both_ways,
    "a stall": a_stall,
    "orders that fail": orders_that_fail,
    "a keyboard": a_keyboard,
    "a program that uses it": a_program_that_uses_it,
    "a node that is denied": a_node_that_is_denied,
    "a serial number": a_serial_number,
    "a program that is killed": a_program_that_is_killed,
    "a device that is disconnected": a_device_that_is_disconnected,
}


async def main(name: str) -> None:
    async with asyncio.timeout(3 * PATIENCE_S):
        await CASES[name](Kernel())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
