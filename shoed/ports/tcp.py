"""A raw TCP port of a device server, or of any program that sends the device's bytes.

Without traffic, TCP does not detect a lost peer, and a shoe's host sends nothing for hours. Therefore the kernel sends
keepalive probes. They detect a lost device server within about `keepalive_s` of the address. They do not check the
cable between the device server and the device.
"""

import asyncio
import errno
import socket
from typing import Final, cast

from shoed.errors import PortAbsent
from shoed.model.moments import Chunk, Now
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.ports.inbox import Inbox, Take
from shoed.ports.threads import off_loop

CONNECT_S: Final = 2.0  # for each address of the host: a device server on the same network answers in milliseconds


async def open_tcp(address: TcpAddress) -> "TcpLink":
    try:
        async with asyncio.timeout(CONNECT_S):
            found = await off_loop(lambda: socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        failure: OSError = OSError(errno.EADDRNOTAVAIL, "the name has no address")
        for family, _, _, _, place in found:
            try:
                return await _connect(address, family, place)
            except OSError as error:  # a time-out too
                failure = error
        raise failure
    except OSError as error:
        raise PortAbsent(f"{address}: {_refusal(address, error)}") from error


async def _connect(address: TcpAddress, family: int, place: tuple[str | int, ...] | tuple[int, bytes]) -> "TcpLink":
    loop = asyncio.get_running_loop()
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)  # noqa: FBT003  # its only parameter
        set_options(connection, address.keepalive_s)
        async with asyncio.timeout(CONNECT_S):
            await loop.sock_connect(connection, place)
        _, link = await loop.create_connection(lambda: TcpLink(address), sock=connection)
    except BaseException:
        connection.close()
        raise
    return link


def set_options(connection: socket.socket, keepalive_s: int) -> None:
    probe_s = max(1, keepalive_s // 4)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, probe_s)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, probe_s)
    # It replaces TCP_KEEPCNT, and covers unacknowledged orders too. It is half a second shorter than `keepalive_s`: the
    # kernel checks the limit only when a probe is due, and would miss a limit that ends at the same time.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, keepalive_s * 1000 - 500)


class TcpLink(asyncio.Protocol):
    """Made by open_tcp."""

    _transport: asyncio.Transport
    _inbox: Inbox

    def __init__(self, address: TcpAddress) -> None:
        self._address = address
        self._gone = asyncio.Event()

    async def receive(self, take: Take | None = None) -> Chunk:
        return await self._inbox.receive(take)

    def heard_until(self) -> Now:
        return self._inbox.heard_until()

    def send(self, data: bytes) -> None:
        unsent = self._transport.get_write_buffer_size()
        self._inbox.check_send(data, unsent, f"{self._address}: the peer", "check the device server")
        self._transport.write(data)

    async def close(self) -> None:
        """Close the connection. Bytes that wait to be sent are discarded."""
        self._inbox.end(f"{self._address}: closed")
        self._transport.abort()
        await self._gone.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._inbox = Inbox(pause=self._transport.pause_reading, resume=self._transport.resume_reading)

    def data_received(self, data: bytes) -> None:
        self._inbox.heard(Chunk(data, now()))

    def connection_lost(self, exc: Exception | None) -> None:
        self._inbox.end(f"{self._address}: {_loss(self._address, exc)}")
        self._gone.set()


def _loss(address: TcpAddress, error: Exception | None) -> str:
    match error:
        case None:
            return (
                "the device server closed the connection; check its power and cable, then whether another program is"
                " connected to it"
            )
        case OSError(errno=errno.ETIMEDOUT):
            return (
                f"the device server did not answer for {address.keepalive_s} s; check the device server's power and the"
                " network"
            )
        case OSError(strerror=text):
            return f"the connection broke: {text}; check the device server and the network"
        case _:
            return f"the connection broke: {error}; check the device server and the network"


def _refusal(address: TcpAddress, error: OSError) -> str:
    match error:
        case socket.gaierror():
            return f"the name of the host is not known: {error.strerror}; check the name, or write its IP address"
        case TimeoutError():
            return (
                f"the server does not answer within {CONNECT_S:g} s; check the address, and the device server's power"
                " and network"
            )
        case ConnectionRefusedError():
            return (
                f"the server refuses connections to port {address.port}; check the port, and that the server's mode is"
                " raw TCP server"
            )
        case _:
            return f"{error.strerror}; check the address and the network"
