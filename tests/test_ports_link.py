"""`keep_open` reopens a lost link, reports each change once, and releases everything after a cancellation."""

import asyncio
import contextlib
import itertools
import os
import random
import socket
import struct
import termios
import threading
import tty
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.family import Line
from shoed.errors import CommitFailed, LinkLost, PortRefused
from shoed.model.moments import Chunk
from shoed.ports import link as link_module
from shoed.ports.address import Address, ReplayAddress, Rfc2217Address, SerialAddress, Speed, TcpAddress
from shoed.ports.link import BACKOFF_MOST_S, SETTLED_S, SLOWEST_S, Link, backoff_s, keep_open, open_link
from tests.links import open_descriptors
from tests.patience import PATIENCE_S

CUSTOM: Final = Line(4800)
CAPTURE: Final = "shoed-capture 1\nfamily angel-eye\nfirmware ii-ex\nline 4800 8N1\n\n"

Call = tuple[str, str]


class Listener:
    """Records the calls of a port, and returns them one by one."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.link: Link | None = None
        self._queue: asyncio.Queue[Call] = asyncio.Queue()

    async def opened(self, link: Link) -> None:
        self.link = link
        self.record("opened", "")

    async def room(self) -> None:
        pass

    def received(self, chunk: Chunk) -> None:
        self.record("received", chunk.data.decode())

    async def closed(self, reason: str) -> None:
        self.record("closed", reason)

    async def refused(self, reason: str) -> None:
        self.record("refused", reason)

    def record(self, what: str, detail: str) -> None:
        self.calls.append((what, detail))
        self._queue.put_nowait((what, detail))

    async def next(self) -> Call:
        async with asyncio.timeout(PATIENCE_S):
            return await self._queue.get()

    def count(self, what: str) -> int:
        return sum(call == what for call, _ in self.calls)


class Attempts(random.Random):
    """A seeded generator that counts the delays that were drawn from it."""

    def __init__(self) -> None:
        super().__init__(1)
        self.seen = 0
        self._more = asyncio.Event()

    def uniform(self, a: float, b: float) -> float:
        self.seen += 1
        self._more.set()
        return super().uniform(a, b)

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.seen < count:
                self._more.clear()
                await self._more.wait()


class Factor(random.Random):
    """It multiplies every delay by the same factor."""

    factor = 0.0

    def uniform(self, a: float, b: float) -> float:
        del a, b
        return self.factor


@contextlib.asynccontextmanager
async def kept_open(
    address: Address, listener: Listener, rng: random.Random | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    task: asyncio.Task[None] = asyncio.create_task(keep_open(address, CUSTOM, listener, rng=rng or random.Random(1)))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


class Node:
    """A serial node that appears and disappears: a link to a pty's slave, as udev makes and removes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.master = -1

    @property
    def address(self) -> SerialAddress:
        return SerialAddress(str(self.path))

    def plug(self) -> None:
        self.master, slave = os.openpty()
        tty.setraw(slave, termios.TCSANOW)
        self.path.symlink_to(os.ttyname(slave))
        os.close(slave)

    def unplug(self) -> None:
        self.path.unlink(missing_ok=True)
        if self.master >= 0:
            os.close(self.master)
            self.master = -1


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "ttyUSB0")
    yield node
    node.unplug()


@pytest.mark.parametrize("address", [SerialAddress("/dev/ttyS0"), Rfc2217Address("host", 4001)])
async def test_a_line_without_a_speed_is_not_opened(address: Address) -> None:
    """Neither the family nor the address contains the speed. The refusal has the option to add."""
    with pytest.raises(PortRefused, match=rf"^{address}: the speed is not known, .*; add \?baud=9600$"):
        await open_link(address, None)


@contextlib.asynccontextmanager
async def serving(handle: Callable[[asyncio.StreamWriter], None]) -> AsyncIterator[TcpAddress]:
    """A device server on loopback that does one thing with each connection."""
    writers: list[asyncio.StreamWriter] = []

    def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        handle(writer)

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    try:
        yield TcpAddress("127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        await server.wait_closed()


def join_port_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "shoed-port":
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


# ------------------------------------------------------------------------------------------------- losing and finding


async def test_a_node_that_returns_is_opened_again(node: Node) -> None:
    """Start without the device, connect, disconnect, long absence, connect: each state is reported once."""
    listener, attempts = Listener(), Attempts()
    async with kept_open(node.address, listener, attempts):
        assert (await listener.next())[0] == "refused"
        node.plug()
        assert await listener.next() == ("opened", "")
        os.write(node.master, b"hello")
        assert await listener.next() == ("received", "hello")
        node.unplug()
        assert await listener.next() == ("closed", f"{node.path}: the line hung up; check the cable and the device")
        await attempts.reach(attempts.seen + 3)  # long enough for the longest delay
        node.plug()
        assert await listener.next() == ("opened", "")
        os.write(node.master, b"again")
        assert await listener.next() == ("received", "again")
    assert [call for call, _ in listener.calls] == [
        "refused", "opened", "received", "closed", "opened", "received", "closed",
    ]  # fmt: skip


async def test_a_refusal_is_reported_when_its_reason_changes(node: Node) -> None:
    """The table receives each reason once, however often the opening fails."""
    listener, attempts = Listener(), Attempts()
    async with kept_open(node.address, listener, attempts):
        await attempts.reach(2)
        node.path.write_text("not a serial line", encoding="ascii")
        await attempts.reach(5)
    assert [call for call, _ in listener.calls] == ["refused", "refused"]
    assert "the node does not exist" in listener.calls[0][1]
    assert "the path is not a serial line" in listener.calls[1][1]


async def test_a_refusal_after_a_loss_is_reported_if_it_has_another_cause(node: Node) -> None:
    """An absent node after a loss is the same absence. A file in its place is a new reason, and so is its removal."""
    listener, attempts = Listener(), Attempts()
    node.plug()
    async with kept_open(node.address, listener, attempts):
        assert await listener.next() == ("opened", "")
        node.unplug()
        assert (await listener.next())[0] == "closed"
        await attempts.reach(attempts.seen + 2)
        node.path.write_text("not a serial line", encoding="ascii")
        what, why = await listener.next()
        assert (what, "the path is not a serial line" in why) == ("refused", True)
        node.path.unlink()
        what, why = await listener.next()
        assert (what, "the node does not exist" in why) == ("refused", True)
    assert [call for call, _ in listener.calls] == ["opened", "closed", "refused", "refused"]


async def test_a_server_that_closes_at_once_is_reported_once_and_tried_more_and_more_slowly() -> None:
    """One `opened` and one `closed`, however often the server closes. Each delay is about twice the previous delay."""
    listener, attempts = Listener(), Attempts()
    started_s = asyncio.get_running_loop().time()
    async with serving(lambda writer: writer.close()) as address, kept_open(address, listener, attempts):
        await attempts.reach(5)
    least_s = (0.1 + 0.2 + 0.4 + 0.8) / 2  # the four delays in between, each at its minimum
    assert asyncio.get_running_loop().time() - started_s >= least_s
    assert [call for call, _ in listener.calls] == ["opened", "closed"]
    assert "closed the connection" in listener.calls[1][1]


async def test_another_reason_of_a_repeated_close_is_reported_once() -> None:
    """Close, close, reset, reset: the end of the first link and the end of the third link are reported."""

    def reset(writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    ends = iter([asyncio.StreamWriter.close, asyncio.StreamWriter.close, reset, reset, reset])

    def end(writer: asyncio.StreamWriter) -> None:
        next(ends)(writer)

    listener, attempts = Listener(), Attempts()
    async with serving(end) as address, kept_open(address, listener, attempts):
        await attempts.reach(4)
    assert [call for call, _ in listener.calls] == ["opened", "closed", "refused"]
    assert "closed the connection" in listener.calls[1][1]
    assert "Connection reset by peer" in listener.calls[2][1]


class SkippingClock:
    """The event loop's clock, which the test can advance."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self.real = loop.time
        self.ahead_s = 0.0
        monkeypatch.setattr(loop, "time", lambda: self.real() + self.ahead_s)

    def advance(self, seconds: float) -> None:
        self.ahead_s += seconds


@pytest.mark.parametrize("talks", [True, False], ids=["a-byte", "time"])
async def test_a_link_on_trial_is_reported_when_it_is_proven(monkeypatch: pytest.MonkeyPatch, *, talks: bool) -> None:
    """The proof is its first byte, or SETTLED_S: a device may be silent for hours."""
    clock = SkippingClock(monkeypatch)
    writers: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    listener = Listener()
    async with serving(writers.put_nowait) as address, kept_open(address, listener):
        assert await listener.next() == ("opened", "")
        (await writers.get()).close()
        assert (await listener.next())[0] == "closed"
        again = await writers.get()
        for _ in range(30):  # until the daemon's end has detected the connection
            await asyncio.sleep(0)
        if talks:
            again.write(b"A")
        else:
            clock.advance(SETTLED_S)
        assert await listener.next() == ("opened", "")
        if not talks:
            again.write(b"A")
        assert await listener.next() == ("received", "A")
    assert [call for call, _ in listener.calls] == ["opened", "closed", "opened", "received", "closed"]


async def test_the_delays_start_again_after_a_stable_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that lasted SETTLED_S resets the delay before the next attempt."""
    clock = SkippingClock(monkeypatch)
    writers: list[asyncio.StreamWriter] = []
    listener, delays = Listener(), Factor()

    def greet(writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(b"A")

    async with serving(greet) as address, kept_open(address, listener, delays):
        for _ in range(9):
            assert await listener.next() == ("opened", "")
            assert await listener.next() == ("received", "A")
            writers.pop().close()
            assert (await listener.next())[0] == "closed"
        assert await listener.next() == ("opened", "")
        assert await listener.next() == ("received", "A")
        clock.advance(SETTLED_S)
        delays.factor = 5.0  # the first delay is half a second; the tenth one would be longer than PATIENCE_S
        writers.pop().close()
        assert (await listener.next())[0] == "closed"
        assert await listener.next() == ("opened", "")


async def test_each_connection_of_a_device_is_reported_at_once(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hotplug sign ends the trial, also after many connections without a byte. The trial would take an hour."""
    monkeypatch.setattr(link_module, "SETTLED_S", 3600.0)
    listener = Listener()
    async with kept_open(node.address, listener, Attempts()):
        assert (await listener.next())[0] == "refused"
        for _ in range(6):
            node.plug()
            assert await listener.next() == ("opened", "")
            node.unplug()
            assert (await listener.next())[0] == "closed"


async def test_one_port_does_not_wait_for_another(node: Node) -> None:
    """The absence of a device does not delay another device."""
    away, here = Listener(), Listener()
    node.plug()
    async with kept_open(SerialAddress("/dev/no-such-shoe"), away), kept_open(node.address, here):
        assert await here.next() == ("opened", "")
        for number in range(3):
            os.write(node.master, b"%d" % number)
            assert await here.next() == ("received", str(number))
        assert (await away.next())[0] == "refused"
    assert len(away.calls) == 1


# ------------------------------------------------------------------------------------------------- captures


async def test_a_capture_is_played_once(tmp_path: Path) -> None:
    """The end of the capture closes the link with its own reason. The capture is not opened again."""
    path = tmp_path / "one.capture"
    path.write_text(CAPTURE + "0.000000 < 41\n0.010000 > 42\n0.020000 < 43\n", encoding="utf-8")
    listener, attempts = Listener(), Attempts()
    async with kept_open(ReplayAddress(str(path)), listener, attempts) as task:
        for call in (("opened", ""), ("received", "A"), ("received", "C"), ("closed", "capture ended")):
            assert await listener.next() == call
        done, _ = await asyncio.wait([task], timeout=0.3)
        assert not done
    assert listener.count("opened") == 1
    assert attempts.seen == 0


async def test_an_error_of_a_capture_contains_its_line(tmp_path: Path) -> None:
    """An error in the header is a refusal; an error after the first records ends the link. Both have FILE:LINE."""
    path = tmp_path / "one.capture"
    path.write_text("shoed-capture 2\n", encoding="utf-8")
    listener = Listener()
    async with kept_open(ReplayAddress(str(path), Speed.FAST), listener):
        what, why = await listener.next()
        assert (what, why.startswith(f"{path}:1: ")) == ("refused", True)
        path.write_text(CAPTURE + "0.000000 < 41\n0.010000 < 4\n", encoding="utf-8")
        assert await listener.next() == ("opened", "")
        assert await listener.next() == ("received", "A")
        what, why = await listener.next()
        assert (what, why.startswith(f"{path}:7: ")) == ("closed", True)


# ------------------------------------------------------------------------------------------ cancellation and errors


@pytest.mark.parametrize("kind", ["serial", "tcp", "replay", "absent", "closed-port"])
async def test_cancelled_at_any_step_nothing_remains(kind: str, node: Node, tmp_path: Path, closed_port: int) -> None:
    """No descriptor and no thread remains, and each `opened` has its `closed`."""
    capture = tmp_path / "one.capture"
    capture.write_text(CAPTURE + "0.000000 < 41\n0.000100 < 42\n", encoding="utf-8")
    node.plug()
    before = open_descriptors()
    async with serving(lambda writer: writer.write(b"A")) as served:
        addresses: dict[str, Address] = {
            "serial": node.address,
            "tcp": served,
            "replay": ReplayAddress(str(capture)),
            "absent": SerialAddress("/dev/no-such-shoe"),
            "closed-port": TcpAddress("127.0.0.1", closed_port),
        }
        for reported_first, steps in itertools.product((False, True), range(30)):
            listener = Listener()
            task = asyncio.create_task(keep_open(addresses[kind], CUSTOM, listener, rng=random.Random(steps)))
            if reported_first:
                await listener.next()
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            assert listener.count("closed") == listener.count("opened")
            join_port_threads()
    assert open_descriptors() == before


class Stuck(Listener):
    """Blocks in one of its calls."""

    def __init__(self, stuck_in: str) -> None:
        super().__init__()
        self.stuck_in = stuck_in

    async def opened(self, link: Link) -> None:
        await super().opened(link)
        await self.stick("opened")

    async def room(self) -> None:
        if self.count("received"):
            self.record("room", "")
            await self.stick("room")

    async def closed(self, reason: str) -> None:
        await super().closed(reason)
        await self.stick("closed")

    async def refused(self, reason: str) -> None:
        await super().refused(reason)
        await self.stick("refused")

    async def stick(self, what: str) -> None:
        if what == self.stuck_in:
            await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("stuck_in", ["opened", "room", "closed", "refused"])
async def test_a_blocked_listener_can_be_cancelled(stuck_in: str, node: Node) -> None:
    """A table with backpressure does not keep the port open: the port closes its line after the cancellation."""
    before = open_descriptors()
    listener = Stuck(stuck_in)
    if stuck_in != "refused":
        node.plug()
        os.write(node.master, b"A")
    async with kept_open(node.address, listener) as task:
        while True:
            what, _ = await listener.next()
            if what == stuck_in:
                break
            if what == "received" and stuck_in == "closed":
                node.unplug()
        task.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait([task])
        assert task.cancelled()
    assert listener.count("closed") == listener.count("opened")
    node.unplug()
    join_port_threads()
    assert open_descriptors() <= before


async def test_a_blocked_farewell_is_given_up(node: Node) -> None:
    """The cancellation of a port does not wait longer than FAREWELL_S for its listener."""

    class Gone(Listener):
        async def closed(self, reason: str) -> None:
            await super().closed(reason)
            await asyncio.get_running_loop().create_future()

    node.plug()
    listener = Gone()
    async with kept_open(node.address, listener) as task:
        assert await listener.next() == ("opened", "")
        task.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait([task])
        assert task.cancelled()
    assert listener.calls[-1] == ("closed", "shoed stopped")


async def test_an_error_of_the_listener_ends_the_port_and_is_raised(node: Node) -> None:
    """The port closes the line and reports its end once; then the daemon handles the error."""

    class Failing(Listener):
        def received(self, chunk: Chunk) -> None:
            raise CommitFailed(f"the disk is full; {chunk.data.decode()} is not recorded")

    node.plug()
    before = open_descriptors()
    listener = Failing()
    os.write(node.master, b"A")
    async with kept_open(node.address, listener) as task:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait([task])
        assert isinstance(task.exception(), CommitFailed)
    assert [call for call, _ in listener.calls] == ["opened", "closed"]
    join_port_threads()
    assert open_descriptors() == before


async def test_a_line_lost_while_the_listener_sends_is_a_loss_and_not_an_error(node: Node) -> None:
    """`send` raises LinkLost in `opened`, and the port handles it as a loss of the line."""

    class Eager(Listener):
        async def opened(self, link: Link) -> None:
            await super().opened(link)
            if self.count("opened") == 1:
                node.unplug()
                link.send(b"order")
                link.send(b"another")

    node.plug()
    listener = Eager()
    async with kept_open(node.address, listener):
        assert await listener.next() == ("opened", "")
        assert (await listener.next())[0] == "closed"
        node.plug()
        assert await listener.next() == ("opened", "")


# ------------------------------------------------------------------------------------------------- the delays


def test_the_delays_double_up_to_a_limit_and_are_random() -> None:
    """A delay is within its limit, never zero, different for two ports, and repeatable from the seed."""
    one, two, again = random.Random(1), random.Random(2), random.Random(1)
    delays = [backoff_s(failures, one) for failures in range(60)]
    assert delays != [backoff_s(failures, two) for failures in range(60)]
    assert delays == [backoff_s(failures, again) for failures in range(60)]
    for failures, delay in enumerate(delays):
        most = min(0.1 * 2**failures, BACKOFF_MOST_S)
        assert most / 2 <= delay <= most
    assert BACKOFF_MOST_S <= 1.5
    assert backoff_s(10**9, one) <= BACKOFF_MOST_S
    assert SLOWEST_S / 2 <= backoff_s(10**9, one, SLOWEST_S) <= SLOWEST_S == 30


async def test_open_link_opens_each_kind_of_address(node: Node, tmp_path: Path) -> None:
    """A closed link of any kind is a lost link."""
    path = tmp_path / "one.capture"
    path.write_text(CAPTURE + "0.000000 < 41\n", encoding="utf-8")
    node.plug()
    os.write(node.master, b"A")
    async with serving(lambda writer: writer.write(b"A")) as served:
        for address in (node.address, served, ReplayAddress(str(path))):
            link = await open_link(address, CUSTOM)
            async with asyncio.timeout(PATIENCE_S):
                assert (await link.receive()).data == b"A"
            await link.close()
            with pytest.raises(LinkLost):
                link.send(b"x")
