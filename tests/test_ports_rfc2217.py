"""A device server that lets its host set the line: a real one, of pyserial's own parts, before a pseudo-terminal."""

import asyncio
import os
import pty
import socket
import threading
import tty
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pytest
import serial
from serial.rfc2217 import PortManager

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortError, PortRefused
from shoed.ports.address import Rfc2217Address
from shoed.ports.inbox import UNSENT_BYTES
from shoed.ports.link import open_link
from shoed.ports.rfc2217 import Rfc2217Link, open_rfc2217

PATIENCE_S: Final = 10.0
LINE: Final = Line(4800)

pytestmark = pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # pyserial 3.5


class Pty(serial.Serial):
    """A pseudo-terminal has no modem lines, and refuses to be asked."""

    cts = dsr = ri = cd = False

    def _update_rts_state(self) -> None:
        pass

    def _update_dtr_state(self) -> None:
        pass


class Server:
    """One host at a time; the device is the other end of a pseudo-terminal."""

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
        with suppress(OSError):  # the door, or the line, was closed
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
        """What the telnet half says to the host."""
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


async def said(server: Server, count: int) -> bytes:
    """What the device hears."""
    data = b""
    loop = asyncio.get_running_loop()
    while len(data) < count:
        data += await loop.run_in_executor(None, os.read, server.device, 1024)
    return data


async def test_bytes_go_both_ways_and_the_line_is_set(server: Server) -> None:
    """All values of a byte, those that telnet takes for its own among them."""
    link = await open_link(server.address, Line(9600))
    assert isinstance(link, Rfc2217Link)
    try:
        os.write(server.device, bytes(range(256)))
        assert await heard(link, 256) == bytes(range(256))
        link.send(b"\xff\x02OP")
        link.send(b"\xff")
        async with asyncio.timeout(PATIENCE_S):
            assert await said(server, 5) == b"\xff\x02OP\xff"
        assert server.port.baudrate == 9600
    finally:
        await link.close()


async def test_a_server_that_hangs_up_is_a_lost_link(server: Server) -> None:
    """What came before it is delivered first; nothing can be sent after it."""
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


async def test_a_closed_link_leaves_no_thread_and_can_be_opened_again(server: Server) -> None:
    """Nothing hangs, twice over."""
    for _ in range(2):
        link = await open_rfc2217(server.address, LINE)
        async with asyncio.timeout(PATIENCE_S):
            await link.close()
            await link.close()
        with pytest.raises(LinkLost, match="closed"):
            await link.receive()
    assert not [each for each in threading.enumerate() if each.name == "shoed-rfc2217"]


async def test_what_a_device_does_not_take_is_bounded(server: Server) -> None:
    """It is said, and not queued for ever."""
    link = await open_rfc2217(server.address, LINE)
    with pytest.raises(PortError, match="check the device server"):
        link.send(bytes(UNSENT_BYTES + 1))
    await link.close()


async def test_where_nothing_listens_it_is_said_what_to_do() -> None:
    """The port of a server that is gone."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        address = Rfc2217Address("127.0.0.1", door.getsockname()[1])
    with pytest.raises(PortRefused, match="the server's mode is RFC 2217"):
        await open_rfc2217(address, LINE)


async def test_a_server_that_speaks_no_rfc_2217_is_refused() -> None:
    """It accepts, and answers nothing: a raw TCP server."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        address = Rfc2217Address("127.0.0.1", door.getsockname()[1])
        with pytest.raises(PortRefused, match="write tcp://HOST:PORT"):
            await open_rfc2217(address, LINE)
