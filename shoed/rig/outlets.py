"""The connections of a virtual device to hosts: a TCP port, as a device server has, or a pty.

Theory of operation: an outlet passes the bytes of hosts to the device, and the bytes of the device to all hosts that
are connected at that moment. It stores nothing for later: without a host the bytes are lost, as on a real line.
`connected` is set while a host is connected. The memory for a host that does not read is bounded.
"""

import asyncio
import errno
import fcntl
import os
import pty
import select
import socket
import struct
import termios
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, cast

from shoed.errors import RigError
from shoed.ports.address import TcpAddress

READ_BYTES: Final = 4096
LOOPBACK_OF: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # to reach a server on all interfaces

UNSENT_BYTES: Final = 64 * 1024  # two minutes of a 4800 baud line; a host with more unread bytes is stalled
FLOWING_BYTES: Final = 4096  # the number of unsent bytes at which a patient outlet waits
KERNEL_BYTES: Final = 16 * 1024  # the kernel's default is megabytes: a fast shoe would end before a host reads
STALLED_S: Final = 10.0  # a host that reads nothing for this time no longer slows a fast shoe
LINGER_S: Final = 2.0  # at the end, the time for hosts to read the remaining bytes

LOOK_S: Final = 0.02  # polling interval for a pty: the kernel does not report that a host opens it or reads its bytes


class Attendance(asyncio.Event):
    """Set while a host is connected. `left` is set while no host is connected."""

    def __init__(self) -> None:
        super().__init__()
        self.left = asyncio.Event()
        self.left.set()

    def set(self) -> None:
        super().set()
        self.left.clear()

    def clear(self) -> None:
        super().clear()
        self.left.set()


class Outlet(Protocol):
    at: str  # the address, in the form of a configuration
    connected: Attendance

    async def give(self, data: bytes) -> None:
        """Send to all connected hosts; return when the device may continue."""

    async def pull(self) -> None:
        """Disconnect the cable: all hosts are disconnected, and none can connect."""

    async def plug(self) -> None:
        """Connect the cable again, at the same address."""

    async def close(self) -> None:
        """Let the hosts read the remaining bytes, then disconnect the hosts."""


OnBytes = Callable[[bytes], None]


class TcpOutlet:
    """Several hosts at once. Each host receives the bytes after its connection.

    The device receives the bytes of all hosts. A patient outlet waits for the slowest host. Other outlets never wait;
    they disconnect a host that lags. A single outlet serves the last host that connected, and disconnects the previous
    host.
    """

    def __init__(self, place: TcpAddress, on_bytes: OnBytes, *, patient: bool, single: bool = False) -> None:
        self.single = single
        self.on_bytes = on_bytes
        self.patient = patient
        self.connected = Attendance()
        self.hosts: set[_Host] = set()
        self._socket = _listen(place)
        port: int = self._socket.getsockname()[1]
        self._place = TcpAddress(place.host, port)
        self.at = str(TcpAddress(LOOPBACK_OF.get(place.host, place.host), port))
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(lambda: _Host(self), sock=self._socket)

    async def give(self, data: bytes) -> None:
        for host in tuple(self.hosts):
            host.give(data)
        if self.patient:
            for host in tuple(self.hosts):
                await host.taken()

    def replace_hosts(self) -> None:
        """Disconnect the hosts. A new connection is a new line, and tasks that wait for the end of the old one wake."""
        for host in tuple(self.hosts):
            host.abort()
        self.hosts.clear()
        self.connected.clear()

    async def pull(self) -> None:
        self._release()
        for host in tuple(self.hosts):
            await host.cut()

    async def plug(self) -> None:
        self._socket = _listen(self._place)
        await self.open()

    def _release(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()

    async def close(self) -> None:
        self._release()
        await asyncio.gather(*(host.close() for host in tuple(self.hosts)))


class _Host(asyncio.Protocol):
    _transport: asyncio.Transport

    def __init__(self, outlet: TcpOutlet) -> None:
        self._outlet = outlet
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        self._transport.set_write_buffer_limits(FLOWING_BYTES)
        if self._outlet.single:
            self._outlet.replace_hosts()
        self._outlet.hosts.add(self)
        self._outlet.connected.set()

    def connection_lost(self, _: Exception | None) -> None:
        self._outlet.hosts.discard(self)
        if not self._outlet.hosts:
            self._outlet.connected.clear()
        self._flowing.set()
        self._gone.set()

    def data_received(self, data: bytes) -> None:
        if self in self._outlet.hosts:
            self._outlet.on_bytes(data)

    def abort(self) -> None:
        self._transport.abort()

    def pause_writing(self) -> None:
        self._flowing.clear()

    def resume_writing(self) -> None:
        self._flowing.set()

    def give(self, data: bytes) -> None:
        if self._transport.get_write_buffer_size() + len(data) > UNSENT_BYTES:
            self._transport.abort()
        else:
            self._transport.write(data)

    async def taken(self) -> None:
        try:
            async with asyncio.timeout(STALLED_S):
                await self._flowing.wait()
        except TimeoutError:
            self._transport.abort()

    async def close(self) -> None:
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(LINGER_S):
                self._transport.write_eof()  # the host reads all bytes and the end, and then disconnects
                await self._gone.wait()
        await self.cut()

    async def cut(self) -> None:
        self._transport.abort()
        await self._gone.wait()


def _listen(place: TcpAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    try:
        return socket.create_server((place.host, place.port), family=family)
    except OSError as error:
        # create_server replaces the error of bind by a general one with further words.
        cause = error.__context__ if isinstance(error.__context__, OSError) else error
        raise RigError(f"{TcpAddress(place.host, place.port)}: {_refusal(cause)}") from error


def _refusal(error: OSError) -> str:
    match error:
        case socket.gaierror():
            return f"the host name cannot be resolved: {error.strerror}; write a numeric address of this machine"
        case OSError(errno=errno.EADDRINUSE):
            return "the address is in use; choose another port, or 0 for any free port"
        case OSError(errno=errno.EADDRNOTAVAIL):
            return "this machine does not have this address; write 127.0.0.1, or 0.0.0.0 for all its addresses"
        case OSError(errno=errno.EACCES):
            return "permission denied; choose a port above 1023"
        case _:
            return f"{error.strerror}; choose another address"


class PtyOutlet:
    """A pseudo-terminal for one host, with a symlink to its host side. A slow host slows the device."""

    def __init__(self, path: str, on_bytes: OnBytes) -> None:
        self.on_bytes = on_bytes
        self.connected = Attendance()
        self._link = Path(path).absolute()
        self._unplugged = False
        self.at = f"serial://{self._link}"
        self._master = self._opened()
        self._poll_task: asyncio.Task[None] | None = None

    def _opened(self) -> int:
        master, slave = pty.openpty()
        try:
            tty.setraw(slave)
            self._node = os.ttyname(slave)
            _symlink(self._link, self._node)
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)  # from now on the kernel reports whether a host has the pty open
        os.set_blocking(master, False)
        return master

    async def open(self) -> None:
        self._poll_task = asyncio.create_task(self._watch())

    async def give(self, data: bytes) -> None:
        while data and self.connected.is_set():
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                await asyncio.sleep(LOOK_S)

    async def pull(self) -> None:
        self._unwatch()
        if self.connected.is_set():
            asyncio.get_running_loop().remove_reader(self._master)
            self.connected.clear()
        self._release()
        self._unplugged = True

    async def plug(self) -> None:
        self._master = self._opened()
        self._unplugged = False
        await self.open()

    async def close(self) -> None:
        """Wait until the host has read all bytes: unread bytes are lost when a pty closes."""
        if self._unplugged:
            return
        try:
            self._unwatch()
            if self.connected.is_set():
                asyncio.get_running_loop().remove_reader(self._master)
                with suppress(TimeoutError, OSError):
                    async with asyncio.timeout(LINGER_S):
                        await self._drained()
        finally:
            self._release()

    def _unwatch(self) -> None:
        if self._poll_task is not None:
            self._poll_task.cancel()

    def _release(self) -> None:
        os.close(self._master)
        with suppress(OSError):
            if str(self._link.readlink()) == self._node:  # the symlink still names this pty
                self._link.unlink()

    async def _watch(self) -> None:
        """Poll for a host: the kernel reports the closing of the host side, and not the opening."""
        poll = select.poll()
        poll.register(self._master, 0)
        while True:
            if not self.connected.is_set() and not poll.poll(0):
                self.connected.set()
                asyncio.get_running_loop().add_reader(self._master, self._read)
            await asyncio.sleep(LOOK_S)

    def _read(self) -> None:
        try:
            self.on_bytes(os.read(self._master, READ_BYTES))
        except BlockingIOError:
            pass
        except OSError:  # no host has the pty open
            asyncio.get_running_loop().remove_reader(self._master)
            self.connected.clear()

    async def _drained(self) -> None:
        node = os.open(self._node, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            before = -1
            unread = -1
            while before or unread:  # two zero counts in a row: bytes may be between two kernel buffers
                before = unread
                (unread,) = struct.unpack("i", fcntl.ioctl(node, termios.FIONREAD, bytes(4)))
                await asyncio.sleep(LOOK_S)
        finally:
            os.close(node)


def _symlink(link: Path, node: str) -> None:
    """Create the symlink. Replace an existing symlink only if its target is in /dev/pts/."""
    try:
        if link.is_symlink() and str(link.readlink()).startswith("/dev/pts/"):
            link.unlink()
        link.symlink_to(node)
    except FileExistsError:
        raise RigError(f"{link}: this path exists already; remove it, or choose another path") from None
    except OSError as error:
        raise RigError(f"{link}: {error.strerror}; choose a path in a writable directory") from error
