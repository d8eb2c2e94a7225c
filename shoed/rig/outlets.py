"""Where a virtual device's line comes out: a TCP port, as a device server has it, or a pty.

Theory of operation: an outlet tells the device what hosts say, and gives hosts what the device says,
to all of them that listen at that moment. It keeps nothing for later: what nobody hears is gone, as on
a real line. `attended` says whether anybody listens. A host that takes nothing costs bounded memory.
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
LOOPBACK_OF: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # who listens everywhere is reached here, too

UNSENT_BYTES: Final = 64 * 1024  # two minutes of a 4800 baud line: whoever lags so far does not listen
FLOWING_BYTES: Final = 4096  # unsent ones at which a patient outlet waits
KERNEL_BYTES: Final = 16 * 1024  # the kernel would take megabytes, and a fast shoe be done before anybody read
STALLED_S: Final = 10.0  # a host that takes nothing for so long no longer sets the pace of a fast shoe
LINGER_S: Final = 2.0  # at the end, for hosts to take what they have not read yet

LOOK_S: Final = 0.02  # between two looks at a pty that the kernel says nothing about: opened, read, drained


class Attendance(asyncio.Event):
    """Set while somebody listens; `left` is set while nobody does, and wakes who waits for that."""

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
    at: str  # as a configuration writes it
    attended: Attendance

    async def give(self, data: bytes) -> None:
        """To everybody who listens; returns when the device may go on."""

    async def pull(self) -> None:
        """The cable comes out: whoever listens is cut off, and nobody gets in."""

    async def plug(self) -> None:
        """It goes back in, at the same place."""

    async def close(self) -> None:
        """Let hosts take what was given, then hang up."""


Heard = Callable[[bytes], None]


class TcpOutlet:
    """Several hosts at once; each hears what is sent after it connected, and all of them are heard.

    A patient outlet waits for the slowest host; another never waits, and hangs up on one that lags. A single one serves
    the host that connected last, and hangs up on the one before.
    """

    def __init__(self, place: TcpAddress, heard: Heard, *, patient: bool, single: bool = False) -> None:
        self.single = single
        self.heard = heard
        self.patient = patient
        self.attended = Attendance()
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
        """A new connection is a new line: whoever waits for the end of the old one is woken."""
        for host in tuple(self.hosts):
            host.abort()
        self.hosts.clear()
        self.attended.clear()

    async def pull(self) -> None:
        self._shut()
        for host in tuple(self.hosts):
            await host.cut()

    async def plug(self) -> None:
        self._socket = _listen(self._place)
        await self.open()

    def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()

    async def close(self) -> None:
        self._shut()
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
        self._outlet.attended.set()

    def connection_lost(self, _: Exception | None) -> None:
        self._outlet.hosts.discard(self)
        if not self._outlet.hosts:
            self._outlet.attended.clear()
        self._flowing.set()
        self._gone.set()

    def data_received(self, data: bytes) -> None:
        if self in self._outlet.hosts:
            self._outlet.heard(data)

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
                self._transport.write_eof()  # the host hears all, then the end, and hangs up itself
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
        raise RigError(f"{TcpAddress(place.host, place.port)}: {_refusal(error)}") from error


def _refusal(error: OSError) -> str:
    match error:
        case socket.gaierror():
            return f"the host's name is not known: {error.strerror}; write an address of this machine in numbers"
        case OSError(errno=errno.EADDRINUSE):
            return "the address is in use; choose another port, or 0 for any free one"
        case OSError(errno=errno.EADDRNOTAVAIL):
            return "this machine has no such address; write 127.0.0.1, or 0.0.0.0 for all it has"
        case OSError(errno=errno.EACCES):
            return "permission denied; choose a port above 1023"
        case _:
            return f"{error.strerror}; choose another address"


class PtyOutlet:
    """A pseudo-terminal, whose far end a symlink names. One host; it sets the pace where it reads more slowly."""

    def __init__(self, path: str, heard: Heard) -> None:
        self.heard = heard
        self.attended = Attendance()
        self._link = Path(path).absolute()
        self._out = False
        self.at = f"serial://{self._link}"
        self._master = self._opened()
        self._watching: asyncio.Task[None] | None = None

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
            os.close(slave)  # from here on the kernel says whether anybody has it open
        os.set_blocking(master, False)
        return master

    async def open(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def give(self, data: bytes) -> None:
        while data and self.attended.is_set():
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                await asyncio.sleep(LOOK_S)

    async def pull(self) -> None:
        self._unwatch()
        if self.attended.is_set():
            asyncio.get_running_loop().remove_reader(self._master)
            self.attended.clear()
        self._shut()
        self._out = True

    async def plug(self) -> None:
        self._master = self._opened()
        self._out = False
        await self.open()

    async def close(self) -> None:
        """What the host has not read when a pty closes is lost: wait for it."""
        if self._out:
            return
        try:
            self._unwatch()
            if self.attended.is_set():
                asyncio.get_running_loop().remove_reader(self._master)
                with suppress(TimeoutError, OSError):
                    async with asyncio.timeout(LINGER_S):
                        await self._drained()
        finally:
            self._shut()

    def _unwatch(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    def _shut(self) -> None:
        os.close(self._master)
        with suppress(OSError):
            if str(self._link.readlink()) == self._node:  # still ours
                self._link.unlink()

    async def _watch(self) -> None:
        """The kernel reports a far end that closes, and not one that opens."""
        poll = select.poll()
        poll.register(self._master, 0)
        while True:
            if not self.attended.is_set() and not poll.poll(0):
                self.attended.set()
                asyncio.get_running_loop().add_reader(self._master, self._read)
            await asyncio.sleep(LOOK_S)

    def _read(self) -> None:
        try:
            self.heard(os.read(self._master, READ_BYTES))
        except BlockingIOError:
            pass
        except OSError:  # nobody has the far end open any more
            asyncio.get_running_loop().remove_reader(self._master)
            self.attended.clear()

    async def _drained(self) -> None:
        node = os.open(self._node, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            before = -1
            unread = -1
            while before or unread:  # twice: the kernel moves bytes from one buffer to the next, and once is in between
                before = unread
                (unread,) = struct.unpack("i", fcntl.ioctl(node, termios.FIONREAD, bytes(4)))
                await asyncio.sleep(LOOK_S)
        finally:
            os.close(node)


def _symlink(link: Path, node: str) -> None:
    """Name the node; only the link of a pty that somebody left behind is replaced."""
    try:
        if link.is_symlink() and str(link.readlink()).startswith("/dev/pts/"):
            link.unlink()
        link.symlink_to(node)
    except FileExistsError:
        raise RigError(f"{link}: something is there already; remove it, or choose another path") from None
    except OSError as error:
        raise RigError(f"{link}: {error.strerror}; choose a path in a directory that you may write") from error
