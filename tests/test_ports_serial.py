"""Serial lines on pseudo-terminals: open, lock, read, write, loss."""

import asyncio
import fcntl
import os
import struct
import subprocess
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortAbsent, PortError, PortRefused
from shoed.ports.address import SerialAddress
from shoed.ports.clock import now
from shoed.ports.nodes import denial
from shoed.ports.serial import SerialLink, open_serial
from tests.links import open_descriptors, receive
from tests.patience import PATIENCE_S

CUSTOM = Line(4800)
ROOT = Path(__file__).parent.parent


class Device:
    """The device's end of a line: the master of a pty, in raw mode before the other end is opened."""

    def __init__(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave, termios.TCSANOW)
        self.path = os.ttyname(slave)
        os.close(slave)
        os.set_blocking(self.master, False)

    def say(self, data: bytes) -> None:
        assert os.write(self.master, data) == len(data)

    async def say_all(self, data: bytes) -> None:
        """Write all bytes, as fast as the line accepts them."""
        loop = asyncio.get_running_loop()
        while data:
            await once(lambda wake: loop.add_writer(self.master, wake), lambda: loop.remove_writer(self.master))
            data = data[os.write(self.master, data) :]

    async def hear(self, length: int) -> bytes:
        loop = asyncio.get_running_loop()
        heard = b""
        while len(heard) < length:
            await once(lambda wake: loop.add_reader(self.master, wake), lambda: loop.remove_reader(self.master))
            heard += os.read(self.master, length - len(heard))
        return heard

    def vanish(self) -> None:
        if self.master >= 0:
            os.close(self.master)
            self.master = -1


async def once(watch: Callable[[Callable[[], None]], object], unwatch: Callable[[], object]) -> None:
    ready = asyncio.Event()
    watch(ready.set)
    try:
        await ready.wait()
    finally:
        unwatch()


@pytest.fixture
def device() -> Iterator[Device]:
    device = Device()
    yield device
    device.vanish()


async def open_it(device: Device) -> SerialLink:
    return await open_serial(SerialAddress(device.path), CUSTOM)


def send_until_refused(link: SerialLink) -> bytes:
    sent = b""
    for number in range(1000):
        block = number.to_bytes(2, "big") * 500
        try:
            link.send(block)
        except PortError as refusal:
            assert "does not read" in str(refusal)  # noqa: PT017  # the loop is what ends here
            return sent
        sent += block
    pytest.fail("the link accepted a megabyte for a device that does not read")


async def test_bytes_arrive_unchanged_with_their_time(device: Device) -> None:
    """Control characters arrive unchanged, too. The time has both clocks."""
    link = await open_it(device)
    every_byte = bytes(range(256))
    before = now()
    device.say(every_byte)
    async with asyncio.timeout(PATIENCE_S):
        chunk = await link.receive()
    after = now()
    assert chunk.data == every_byte
    assert before.mono_ns <= chunk.at.mono_ns <= after.mono_ns
    assert before.utc_us <= chunk.at.utc_us <= after.utc_us
    await link.close()


async def test_orders_reach_the_device(device: Device) -> None:
    """The bytes arrive unchanged and in order."""
    link = await open_it(device)
    link.send(b"\x02OPLK02\x03")
    link.send(b"1B\r\n")
    async with asyncio.timeout(PATIENCE_S):
        assert await device.hear(12) == b"\x02OPLK02\x031B\r\n"
    await link.close()


async def test_bytes_that_waited_before_the_opening_are_delivered(device: Device) -> None:
    """Opening does not flush the input: the first report may have arrived earlier."""
    device.say(b"\x051D\x81\xb8\x034F")
    link = await open_it(device)
    assert await receive(link, 8) == b"\x051D\x81\xb8\x034F"
    await link.close()


async def test_a_killed_reader_leaves_the_other_bytes_to_the_next_reader(device: Device) -> None:
    """After a kill between two copies of a report, the next daemon receives the other copies."""
    reader = """
import asyncio, os, signal, sys
from firmware_protocols.family import Line
from shoed.ports.address import SerialAddress
from shoed.ports.serial import open_serial

async def main():
    link = await open_serial(SerialAddress(sys.argv[1]), Line(4800))
    print((await link.receive()).data.decode(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
    device.say(b"copy 1")
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", reader, device.path, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE_S):
        heard, _ = await killed.communicate()
    assert heard == b"copy 1\n"
    device.say(b"copy 2")
    link = await open_it(device)
    device.say(b"copy 3")
    assert await receive(link, 12) == b"copy 2copy 3"
    await link.close()


async def test_the_line_has_the_settings_of_the_address_and_the_family(device: Device) -> None:
    """The line is raw, without echo and flow control, with the speed of the address or of the family.

    A break does not flush the input.
    """
    for address, speed in (
        (SerialAddress(device.path), termios.B4800),
        (SerialAddress(device.path, baud=9600), termios.B9600),
    ):
        link = await open_serial(address, CUSTOM)
        iflag, oflag, cflag, lflag, ispeed, ospeed, characters = termios.tcgetattr(device.master)
        assert (ispeed, ospeed) == (speed, speed)
        assert not lflag & (termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        assert not oflag & termios.OPOST
        assert not iflag & (termios.IXON | termios.IXOFF | termios.BRKINT | termios.IGNPAR | termios.ICRNL)
        assert not cflag & termios.CRTSCTS
        assert characters[termios.VMIN] == 1
        await link.close()


async def test_a_line_has_one_user(device: Device) -> None:
    """A second open is refused with the command that finds the first user. After `close` it succeeds."""
    link = await open_it(device)
    with pytest.raises(PortRefused, match=f"another program uses the line.*fuser -v {device.path}"):
        await open_it(device)
    await link.close()
    await (await open_it(device)).close()


async def test_a_pty_is_not_left_exclusive(device: Device) -> None:
    """A pty keeps TIOCEXCL after its last close, which would refuse the daemon after a kill."""
    tiocgexcl = 0x80045440
    link = await open_it(device)
    other = os.open(device.path, os.O_RDWR | os.O_NOCTTY)
    assert struct.unpack("i", fcntl.ioctl(other, tiocgexcl, bytes(4))) == (0,)
    os.close(other)
    await link.close()


async def test_a_hang_up_loses_the_link(device: Device) -> None:
    """`receive` and `send` raise LinkLost; `close` of a lost link is not an error."""
    link = await open_it(device)
    device.vanish()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LinkLost, match=f"{device.path}: the line hung up; check the cable"):
            await link.receive()
    with pytest.raises(LinkLost, match="hung up"):
        link.send(b"x")
    await link.close()
    with pytest.raises(LinkLost, match="hung up"):
        await link.receive()


async def test_writing_to_a_lost_device_loses_the_link(device: Device) -> None:
    """If a write detects the hang-up first, it is a loss too, and not an exception in `send`."""
    link = await open_it(device)
    device.vanish()
    link.send(b"x")
    with pytest.raises(LinkLost, match="writing failed"):
        await link.receive()
    await link.close()


async def test_a_device_that_does_not_read_blocks_no_task(device: Device) -> None:
    """`send` does not wait, refuses bytes above the limit, and loses no accepted bytes."""
    before = open_descriptors()
    link = await open_it(device)
    ((descriptor, _),) = open_descriptors() - before
    sent = send_until_refused(link)
    device.say(b"still reading")
    assert await receive(link, 13) == b"still reading"
    async with asyncio.timeout(PATIENCE_S):
        assert await device.hear(len(sent)) == sent
    link.send(b"and on")
    async with asyncio.timeout(PATIENCE_S):
        assert await device.hear(6) == b"and on"
    nothing_watched = not asyncio.get_running_loop().remove_writer(int(descriptor))
    assert nothing_watched  # otherwise the event loop would spin on a line that is always ready
    await link.close()


async def test_closing_does_not_wait_for_a_device_that_does_not_read(device: Device) -> None:
    """Unsent bytes are discarded."""
    link = await open_it(device)
    send_until_refused(link)
    async with asyncio.timeout(PATIENCE_S):
        await link.close()


async def test_a_slow_consumer_pauses_the_line_and_loses_nothing(device: Device) -> None:
    """The pause bounds the memory. The device's writes block until the consumer continues."""
    link = await open_it(device)
    flood = os.urandom(300_000)
    saying = asyncio.ensure_future(device.say_all(flood))
    done, _ = await asyncio.wait([saying], timeout=0.3)
    assert not done
    assert await receive(link, len(flood)) == flood
    await saying
    await link.close()


async def test_open_and_close_leave_no_descriptor_and_no_thread(device: Device) -> None:
    """A second `close` has no effect."""
    before = open_descriptors()
    link = await open_it(device)
    assert len(open_descriptors() - before) == 1
    await link.close()
    await link.close()
    assert open_descriptors() == before
    for thread in threading.enumerate():
        if thread.name == "shoed-port":
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        (
            "/dev/no-such-shoe",
            "the node does not exist; check the cable and the path (`shoed ports` lists the devices)",
        ),
        ("/dev/null/shoe", "the node does not exist"),
        ("/dev/null", "the path is not a serial line; `shoed ports` lists the serial lines"),
        ("/dev", "the path is not a serial line"),
        (__file__, "the path is not a serial line"),
    ],
)
async def test_the_refusal_of_a_line_contains_the_reason_and_a_remedy(path: str, remedy: str) -> None:
    """It contains the address, and no descriptor stays open."""
    before = open_descriptors()
    with pytest.raises(PortRefused) as refusal:
        await open_serial(SerialAddress(path), CUSTOM)
    assert str(refusal.value).startswith(f"serial://{path}: ")
    assert remedy in str(refusal.value)
    assert open_descriptors() == before


OLD_S: Final = 60
OURS: Final = 65534  # a user without permissions, and its group
ROOT_GROUP: Final = 0


def refusal_of(path: str, ahead_s: int = OLD_S) -> str:
    """The refusal for a user without permissions, a given time after the last change of the node."""
    opener = f"""
import asyncio, os, sys, time
from firmware_protocols.family import Line
from shoed.ports.address import SerialAddress
from shoed.ports.serial import open_serial
clock = time.time
time.time = lambda: clock() + {ahead_s}
if os.geteuid() == 0:  # root is denied nothing
    os.setgroups([])
    os.setgid({OURS})
    os.setuid({OURS})
try:
    asyncio.run(open_serial(SerialAddress(sys.argv[1]), Line(4800)))
except Exception as refusal:
    print(type(refusal).__name__, refusal)
"""
    command = [sys.executable, "-c", opener, path]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a node to a group")
@pytest.mark.parametrize(
    ("mode", "group", "remedy"),
    [
        (0o060, 5, "sudo usermod -aG "),
        (0o060, 61234, "the node belongs to the group 61234; run"),
        (0o000, 5, "install shoed's udev rules, then unplug and reconnect the device"),
        (0o060, ROOT_GROUP, "install shoed's udev rules, then unplug and reconnect the device"),
    ],
    ids=["group", "a-group-without-a-name", "a-mode-without-permission", "root-alone"],
)
def test_the_refusal_of_a_denied_line_contains_the_group(device: Device, mode: int, group: int, remedy: str) -> None:
    """The remedy is to join the group. For root's group, or a group without permission, it is to install the rules."""
    os.chown(device.path, -1, group)
    Path(device.path).chmod(mode)
    refused = refusal_of(device.path)
    assert refused.startswith(f"PortRefused serial://{device.path}: permission denied")
    assert remedy in refused
    assert group != ROOT_GROUP or "usermod" not in refused


def test_a_new_node_is_not_ready(device: Device) -> None:
    """The kernel makes it for root only, and udev sets its group and mode a moment later."""
    Path(device.path).chmod(0)
    for ahead_s, kind in ((0, "PortUnready"), (OLD_S, "PortRefused"), (-OLD_S, "PortRefused")):
        assert refusal_of(device.path, ahead_s).startswith(f"{kind} serial://{device.path}: permission denied")


def test_a_node_that_is_removed_during_the_refusal_is_absent(tmp_path: Path) -> None:
    """A folder without permission is not a removed node."""
    address = SerialAddress(str(tmp_path / "none"))
    refusal = denial(address, address.path)
    assert isinstance(refusal, PortAbsent)
    assert "the node does not exist" in str(refusal)


def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    """The refusal does not report the node as absent."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    assert "shoed may not enter the folder of the node" in refusal_of(str(folder / "node"))
    folder.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a node to a group")
def test_a_denied_member_of_the_group_is_not_advised_to_join_it(device: Device) -> None:
    """Here the mode denies the owner access that its group has. A service's unit may have the same effect."""
    os.chown(device.path, OURS, OURS)
    Path(device.path).chmod(0o060)
    refused = refusal_of(device.path)
    assert "allow this kind of device in the service's unit (DeviceAllow)" in refused
    assert "usermod" not in refused
