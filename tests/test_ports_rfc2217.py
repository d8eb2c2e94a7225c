"""Device servers with RFC 2217: a real server, made of pyserial's own parts, before a pseudo-terminal."""

import asyncio
import os
import pty
import socket
import threading
import tty
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Never

import pytest
import serial
from serial.rfc2217 import IAC, SE, PortManager

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortError, PortRefused
from shoed.ports.address import Rfc2217Address
from shoed.ports.inbox import UNSENT_BYTES
from shoed.ports.link import open_link
from shoed.ports.rfc2217 import Rfc2217Link, open_rfc2217
from tests.patience import PATIENCE_S

LINE: Final = Line(4800)

pytestmark = pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # pyserial 3.5


class Pty(serial.Serial):
    """A pseudo-terminal has no modem lines, and reports an error for them."""

    cts = dsr = ri = cd = False

    def _update_rts_state(self) -> None:
        pass

    def _update_dtr_state(self) -> None:
        pass


class Server:
    """A server for one client. The device is the other end of a pseudo-terminal."""

    def __init__(self) -> None:
        self.device, node = pty.openpty()
        tty.setraw(node)
        self.port = Pty(os.ttyname(node), timeout=0.02)
        os.close(node)
        self.door = socket.create_server(("127.0.0.1", 0))
        self.address = Rfc2217Address("127.0.0.1", self.door.getsockname()[1])
        self.host: socket.socket | None = None
        self.serving = threading.Thread(target=self.serve, daemon=True)
        self.serving.start()

    def serve(self) -> None:
        with suppress(OSError):  # the socket or the line was closed
            while True:
                self.host, _ = self.door.accept()
                manager = PortManager(self.port, self)  # type: ignore[arg-type]  # whatever has a `write`, as its own example
                self.host.settimeout(0.02)
                with self.host, suppress(ConnectionError):
                    self.carry(self.host, manager)

    def carry(self, host: socket.socket, manager: PortManager) -> None:
        while True:
            with suppress(TimeoutError):
                if not (data := host.recv(1024)):
                    return
                self.port.write(b"".join(manager.filter(data)))
            if data := self.port.read(1024):
                host.sendall(b"".join(manager.escape(data)))

    def write(self, data: bytes) -> None:
        """The bytes of the telnet part for the client."""
        if self.host is not None:
            self.host.sendall(data)

    def hang_up(self) -> None:
        if self.host is not None:
            self.host.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()
        with suppress(OSError):
            self.hang_up()
        self.serving.join(PATIENCE_S)
        self.port.close()
        os.close(self.device)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


async def heard(link: Rfc2217Link, count: int) -> bytes:
    data = b""
    async with asyncio.timeout(PATIENCE_S):
        while len(data) < count:
            data += (await link.receive()).data
    return data


async def received_by_device(server: Server, count: int) -> bytes:
    """The bytes that the device receives."""
    data = b""
    loop = asyncio.get_running_loop()
    while len(data) < count:
        data += await loop.run_in_executor(None, os.read, server.device, 1024)
    return data


async def test_bytes_are_moved_in_both_directions_and_the_line_is_set(server: Server) -> None:
    """The test sends all values of a byte, also those that telnet uses."""
    link = await open_link(server.address, Line(9600))
    assert isinstance(link, Rfc2217Link)
    try:
        os.write(server.device, bytes(range(256)))
        assert await heard(link, 256) == bytes(range(256))
        link.send(b"\xff\x02OP")
        link.send(b"\xff")
        async with asyncio.timeout(PATIENCE_S):
            assert await received_by_device(server, 5) == b"\xff\x02OP\xff"
        assert server.port.baudrate == 9600
    finally:
        await link.close()


async def test_a_server_that_closes_is_a_lost_link(server: Server) -> None:
    """The earlier bytes are delivered first; after the loss nothing can be sent."""
    link = await open_rfc2217(server.address, LINE)
    os.write(server.device, b"last words")
    assert await heard(link, 10) == b"last words"
    server.hang_up()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LinkLost, match="check the device server and the network"):
            await link.receive()
    with pytest.raises(LinkLost):
        link.send(b"x")
    await link.close()


async def test_bytes_that_arrive_directly_before_the_end_are_received(server: Server) -> None:
    """The library itself would discard them."""
    link = await open_rfc2217(server.address, LINE)
    assert server.host is not None
    server.host.sendall(b"last words")
    server.hang_up()
    assert await heard(link, 10) == b"last words"
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LinkLost):
            await link.receive()
    await link.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of pyserial's thread
async def test_a_server_that_violates_the_protocol_is_a_lost_link(server: Server) -> None:
    """The end of an option without its begin ends pyserial's thread. No caller asks `heard_until`."""
    link = await open_rfc2217(server.address, LINE)
    server.write(IAC + SE)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LinkLost):
            await link.receive()
    await link.close()


async def test_a_question_to_the_thread_does_not_hide_the_loss_of_the_link(server: Server) -> None:
    """The thread waits without a limit; questions and the end of the connection wake it up in the same way."""
    link = await open_rfc2217(server.address, LINE)

    async def ask() -> Never:
        while True:
            link.heard_until()
            await asyncio.sleep(0)

    asking = asyncio.create_task(ask())
    server.hang_up()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LinkLost, match="the connection broke"):
            await link.receive()
    asking.cancel()
    await link.close()


async def test_the_thread_answers_each_question_on_an_idle_line(server: Server) -> None:
    """Without an answer, `heard_until` would return the same moment again after a second."""
    link = await open_rfc2217(server.address, LINE)
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(3):
            before = link.answered
            while link.answered == before:
                link.heard_until()
                await asyncio.sleep(0)
    await link.close()


async def test_a_closed_link_leaves_no_thread_and_can_be_opened_again(server: Server) -> None:
    """The test opens and closes the link twice."""
    for _ in range(2):
        link = await open_rfc2217(server.address, LINE)
        async with asyncio.timeout(PATIENCE_S):
            await link.close()
            await link.close()
        with pytest.raises(LinkLost, match="closed"):
            await link.receive()
    assert not [each for each in threading.enumerate() if each.name == "shoed-rfc2217"]


async def test_the_bytes_that_wait_for_a_device_are_bounded(server: Server) -> None:
    """`send` raises PortError above the bound."""
    link = await open_rfc2217(server.address, LINE)
    with pytest.raises(PortError, match="check the device server"):
        link.send(bytes(UNSENT_BYTES + 1))
    await link.close()


async def test_the_refusal_of_a_closed_port_contains_a_remedy(closed_port: int) -> None:
    """The server of the port has stopped."""
    with pytest.raises(PortRefused, match="the server's mode is RFC 2217"):
        await open_rfc2217(Rfc2217Address("127.0.0.1", closed_port), LINE)


async def test_a_server_without_rfc_2217_is_refused() -> None:
    """The server accepts connections, and does not answer: it is a raw TCP server."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        address = Rfc2217Address("127.0.0.1", door.getsockname()[1])
        with pytest.raises(PortRefused, match="write tcp://HOST:PORT"):
            await open_rfc2217(address, LINE)
