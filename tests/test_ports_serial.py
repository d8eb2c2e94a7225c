"""Serial lines, on pseudo-terminals: opened, locked, read, written, lost."""

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
from tests.links import PATIENCE_S, open_descriptors, receive

CUSTOM = Line(4800)
ROOT = Path(__file__).parent.parent


class Device:
    """The far end of a line: a pty's master, raw before anybody opens the other side."""

    def __init__(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave, termios.TCSANOW)
        self.path = os.ttyname(slave)
        os.close(slave)
        os.set_blocking(self.master, False)

    def say(self, data: bytes) -> None:
        assert os.write(self.master, data) == len(data)

    async def say_all(self, data: bytes) -> None:
        """What fits now, and the rest as the line takes it."""
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
            assert "takes no bytes" in str(refusal)  # noqa: PT017  # the loop is what ends here
            return sent
        sent += block
    pytest.fail("a megabyte was accepted for a device that takes no bytes")


async def test_bytes_come_whole_and_with_their_moment(device: Device) -> None:
    """What the device says arrives unchanged, control characters too, stamped on both clocks."""
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
    """What is sent arrives unchanged, in order."""
    link = await open_it(device)
    link.send(b"\x02OPLK02\x03")
    link.send(b"1B\r\n")
    async with asyncio.timeout(PATIENCE_S):
        assert await device.hear(12) == b"\x02OPLK02\x031B\r\n"
    await link.close()


async def test_bytes_that_waited_for_the_opening_are_delivered(device: Device) -> None:
    """Opening flushes nothing: the first report may have come before us."""
    device.say(b"\x051D\x81\xb8\x034F")
    link = await open_it(device)
    assert await receive(link, 8) == b"\x051D\x81\xb8\x034F"
    await link.close()


async def test_a_killed_reader_leaves_the_rest_to_the_next(device: Device) -> None:
    """A daemon killed between two of a shoe's copies finds the others when it comes back."""
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


async def test_the_line_is_set_as_the_address_and_the_family_say(device: Device) -> None:
    """Raw, without echo or flow control, at the address's speed, else the family's; a break flushes nothing."""
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


async def test_a_line_is_ours_alone(device: Device) -> None:
    """A second opener is refused and told how to find the first; after closing it is welcome."""
    link = await open_it(device)
    with pytest.raises(PortRefused, match=f"another program has it open.*fuser -v {device.path}"):
        await open_it(device)
    await link.close()
    await (await open_it(device)).close()


async def test_a_pty_is_not_left_exclusive(device: Device) -> None:
    """A pty keeps TIOCEXCL after its last close, so that a killed daemon's successor would be locked out."""
    tiocgexcl = 0x80045440
    link = await open_it(device)
    other = os.open(device.path, os.O_RDWR | os.O_NOCTTY)
    assert struct.unpack("i", fcntl.ioctl(other, tiocgexcl, bytes(4))) == (0,)
    os.close(other)
    await link.close()


async def test_a_device_that_hangs_up_loses_the_link(device: Device) -> None:
    """The reader is told, so is the sender, and closing what is lost is no error."""
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


async def test_writing_to_a_vanished_device_loses_the_link(device: Device) -> None:
    """A hang-up that a write meets first is a loss too, not an exception of the sender."""
    link = await open_it(device)
    device.vanish()
    link.send(b"x")
    with pytest.raises(LinkLost, match="writing failed"):
        await link.receive()
    await link.close()


async def test_a_device_that_takes_no_bytes_blocks_nobody(device: Device) -> None:
    """Sending never waits, refuses when too much waits, and loses nothing once the device listens again."""
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
    assert nothing_watched  # otherwise the loop would spin on a line that is always ready
    await link.close()


async def test_closing_does_not_wait_for_a_device_that_takes_no_bytes(device: Device) -> None:
    """What cannot be sent is thrown away."""
    link = await open_it(device)
    send_until_refused(link)
    async with asyncio.timeout(PATIENCE_S):
        await link.close()


async def test_a_consumer_that_lags_stops_the_line_and_loses_nothing(device: Device) -> None:
    """Memory is bounded by pausing the reader; the device feels it, and goes on when we do."""
    link = await open_it(device)
    flood = os.urandom(300_000)
    saying = asyncio.ensure_future(device.say_all(flood))
    done, _ = await asyncio.wait([saying], timeout=0.3)
    assert not done
    assert await receive(link, len(flood)) == flood
    await saying
    await link.close()


async def test_open_and_close_leave_nothing_behind(device: Device) -> None:
    """Neither a descriptor nor a thread; closing twice is closing once."""
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
        ("/dev/no-such-shoe", "there is no such node; check the cable and the path, `shoed ports` lists what is there"),
        ("/dev/null/shoe", "there is no such node"),
        ("/dev/null", "this is no serial line; `shoed ports` lists those that are"),
        ("/dev", "this is no serial line"),
        (__file__, "this is no serial line"),
    ],
)
async def test_what_cannot_be_opened_says_why_and_what_to_do(path: str, remedy: str) -> None:
    """The refusal names the address; nothing stays open."""
    before = open_descriptors()
    with pytest.raises(PortRefused) as refusal:
        await open_serial(SerialAddress(path), CUSTOM)
    assert str(refusal.value).startswith(f"serial://{path}: ")
    assert remedy in str(refusal.value)
    assert open_descriptors() == before


OLD_S: Final = 60
OURS: Final = 65534  # nobody, and its group
ROOT_GROUP: Final = 0


def refusal_of(path: str, ahead_s: int = OLD_S) -> str:
    """As a user that may nothing hears it, and so long after the node last changed."""
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
        (0o060, 61234, "it belongs to group 61234: join it"),
        (0o000, 5, "install shoed's udev rules, then unplug and reconnect the device"),
        (0o060, ROOT_GROUP, "install shoed's udev rules, then unplug and reconnect the device"),
    ],
    ids=["group", "a-group-without-a-name", "nobody", "root-alone"],
)
def test_a_denied_line_says_who_may(device: Device, mode: int, group: int, remedy: str) -> None:
    """The group is named with the way into it; root's is none to join, and where none may, the rules are at fault."""
    os.chown(device.path, -1, group)
    Path(device.path).chmod(mode)
    refused = refusal_of(device.path)
    assert refused.startswith(f"PortRefused serial://{device.path}: permission denied")
    assert remedy in refused
    assert group != ROOT_GROUP or "usermod" not in refused


def test_a_node_at_which_udev_is_still_at_work_is_not_ready(device: Device) -> None:
    """It is made for root alone, and gets its group and its mode a moment later: its age says that it is new."""
    Path(device.path).chmod(0)
    for ahead_s, kind in ((0, "PortUnready"), (OLD_S, "PortRefused"), (-OLD_S, "PortRefused")):
        assert refusal_of(device.path, ahead_s).startswith(f"{kind} serial://{device.path}: permission denied")


def test_a_node_that_went_while_it_was_denied_is_absent(tmp_path: Path) -> None:
    """And a folder that may not be entered is no removed node."""
    address = SerialAddress(str(tmp_path / "none"))
    refusal = denial(address, address.path)
    assert isinstance(refusal, PortAbsent)
    assert "there is no such node" in str(refusal)


def test_a_folder_that_may_not_be_entered_is_named(tmp_path: Path) -> None:
    """Only that is said of the folder."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    assert "the folder of the node may not be entered" in refusal_of(str(folder / "node"))
    folder.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a node to a group")
def test_who_is_in_the_group_and_denied_is_not_told_to_join_it(device: Device) -> None:
    """Here its owner is denied what its group may do; a service's unit may allow fewer kinds of device, too."""
    os.chown(device.path, OURS, OURS)
    Path(device.path).chmod(0o060)
    refused = refusal_of(device.path)
    assert "allow this kind of device in the service's unit (DeviceAllow)" in refused
    assert "usermod" not in refused
