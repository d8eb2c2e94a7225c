"""A device server's raw TCP port, or anything else that gives a device's bytes over TCP.

TCP alone never notices a peer that vanished while nothing is sent, and a shoe's host sends nothing
for hours: keepalive probes do, within about the address's `keepalive_s`. They see the device
server, not the cable behind it.
"""

import asyncio
import errno
import socket
from typing import Final, cast

from shoed.errors import PortAbsent
from shoed.now import Chunk, Now
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.ports.inbox import Inbox
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
        connection.setblocking(False)  # noqa: FBT003  # the socket module knows no other way
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
    # It stands in for TCP_KEEPCNT and holds for unacknowledged orders too. Half a second less than named, because the
    # kernel looks only when a probe is due, and at the very moment could just miss it.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, keepalive_s * 1000 - 500)


class TcpLink(asyncio.Protocol):
    """Made by open_tcp."""

    _transport: asyncio.Transport
    _inbox: Inbox

    def __init__(self, address: TcpAddress) -> None:
        self._address = address
        self._gone = asyncio.Event()

    async def receive(self) -> Chunk:
        return await self._inbox.receive()

    def heard_until(self) -> Now:
        return self._inbox.heard_until()

    def send(self, data: bytes) -> None:
        unsent = self._transport.get_write_buffer_size()
        self._inbox.check_send(data, unsent, f"{self._address}: the peer", "check the device server")
        self._transport.write(data)

    async def close(self) -> None:
        """What has not been sent yet is thrown away."""
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
                "the device server closed the connection; "
                "check its power and cable, then whether another program is its only client"
            )
        case OSError(errno=errno.ETIMEDOUT):
            return f"nothing answered for {address.keepalive_s} s; check the device server's power and the network"
        case OSError(strerror=text):
            return f"the connection broke: {text}; check the device server and the network"
        case _:
            return f"the connection broke: {error}; check the device server and the network"


def _refusal(address: TcpAddress, error: OSError) -> str:
    match error:
        case socket.gaierror():
            return f"the host's name is not known: {error.strerror}; check the name, or write its address in numbers"
        case TimeoutError():
            return f"no answer within {CONNECT_S:g} s; check the address, and the device server's power and network"
        case ConnectionRefusedError():
            return (
                f"nothing listens on port {address.port}; check the port, and that the server's mode is raw TCP server"
            )
        case _:
            return f"{error.strerror}; check the address and the network"
