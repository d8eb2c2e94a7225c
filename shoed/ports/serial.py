"""A serial line: pyserial opens, sets and locks it; the bytes go by the loop's own readers and writers.

Opening and closing may block in a driver (a UART drains its transmitter when it closes), so both
have a thread. In between there is one descriptor, read when the kernel says that it can be. A
hang-up, an error or end-of-file loses the link; what was read before is delivered first.

Bytes that wait in the kernel when the line is opened are delivered like any others: a shoe sends
each report three times, and a daemon that was killed between two copies finds the third there.
"""

import asyncio
import errno
import fcntl
import os
import termios
from pathlib import Path
from typing import Final

import serial

from firmware_protocols.family import Line
from shoed.errors import PortAbsent, PortRefused, PortUnready
from shoed.now import Chunk, Now
from shoed.ports.address import SerialAddress
from shoed.ports.clock import now
from shoed.ports.identity import doubt
from shoed.ports.inbox import Inbox
from shoed.ports.nodes import absent, denial, doubted
from shoed.ports.threads import off_loop

READ_BYTES: Final = 4096  # the kernel's own line buffer

PTY_MAJORS: Final = range(136, 144)  # Linux: Documentation/admin-guide/devices.txt, "Unix98 PTY slaves"


class _Opener(serial.Serial):
    """pyserial, but it leaves alone what waits in the input."""

    def _reset_input_buffer(self) -> None:
        pass


async def open_serial(address: SerialAddress, custom: Line) -> "SerialLink":
    descriptor = await off_loop(lambda: _open(address, address.line(custom)), undo=_close)
    return SerialLink(address.path, descriptor)


class SerialLink:
    """Made by open_serial."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._inbox = Inbox(pause=self._stop_reading, resume=self._start_reading)
        self._unsent = bytearray()
        self._closed = False
        self._start_reading()

    async def receive(self) -> Chunk:
        return await self._inbox.receive()

    def heard_until(self) -> Now:
        return self._inbox.heard_until()

    def send(self, data: bytes) -> None:
        self._inbox.check_send(data, len(self._unsent), f"{self._path}: the device", "check its flow control")
        self._unsent += data
        if len(self._unsent) == len(data):
            self._write()

    async def close(self) -> None:
        """What has not been sent yet is thrown away."""
        if self._closed:
            return
        self._closed = True
        self._end(f"{self._path}: closed")
        await off_loop(lambda: _close(self._descriptor))

    def _start_reading(self) -> None:
        self._loop.add_reader(self._descriptor, self._read)

    def _stop_reading(self) -> None:
        self._loop.remove_reader(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(f"{self._path}: reading failed: {error.strerror}; check the cable and the device")
            return
        if data:
            self._inbox.heard(Chunk(data, now()))
        else:
            self._end(f"{self._path}: the line hung up; check the cable and the device")

    def _write(self) -> None:
        try:
            sent = os.write(self._descriptor, self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._end(f"{self._path}: writing failed: {error.strerror}; check the cable and the device")
            return
        del self._unsent[:sent]
        if self._unsent:
            self._loop.add_writer(self._descriptor, self._write)
        else:
            self._loop.remove_writer(self._descriptor)

    def _end(self, reason: str) -> None:
        self._stop_reading()
        self._loop.remove_writer(self._descriptor)
        self._inbox.end(reason)


def _open(address: SerialAddress, line: Line) -> int:
    try:
        node = Path(address.path).stat()
        if problem := doubt(address, node.st_rdev):  # before another table's device is set
            raise doubted(address, node, problem)
        with _Opener(
            address.path,
            baudrate=line.baud,
            bytesize=line.bytesize,
            parity=line.parity.value,
            stopbits=line.stopbits,
            exclusive=True,
        ) as opener:
            descriptor = opener.fileno()
            if os.fstat(descriptor).st_rdev != node.st_rdev:
                raise PortUnready(f"{address}: the node changed while it was opened; it is opened again")
            _set_what_pyserial_leaves(descriptor)
            # pyserial locks against those who ask for the lock; TIOCEXCL keeps everybody else out. A pty would keep
            # it after its last close, so that a killed daemon could not come back (observed, Linux 6.18).
            if os.major(node.st_rdev) not in PTY_MAJORS:
                fcntl.ioctl(descriptor, termios.TIOCEXCL)
            return os.dup(descriptor)  # the lock is the open file's: it stays when pyserial lets go
    except (OSError, ValueError, termios.error) as error:
        raise _refusal(address, line, error) from error


def _set_what_pyserial_leaves(descriptor: int) -> None:
    modes = termios.tcgetattr(descriptor)
    modes[0] &= ~(termios.BRKINT | termios.IGNPAR)  # a break would flush the input; damage is for the deframer to see
    modes[6][termios.VMIN] = 1  # with 0 "nothing yet" reads like end-of-file
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)


def _close(descriptor: int) -> None:
    try:
        # Otherwise a line whose other end takes no bytes keeps the port, and the stopping daemon, for half a minute.
        termios.tcflush(descriptor, termios.TCOFLUSH)
    except termios.error:
        pass  # it has hung up: nothing is left to flush
    finally:
        os.close(descriptor)


def _refusal(address: SerialAddress, line: Line, error: Exception) -> PortRefused:
    path = address.path
    number = error.errno if isinstance(error, OSError) else None
    if number is None and isinstance(error.__context__, termios.error):
        number = error.__context__.args[0]  # pyserial keeps it in the text only
    match number:
        case errno.ENOENT | errno.ENOTDIR:
            return absent(address)
        case errno.EACCES | errno.EPERM:
            return denial(address, path)
        case errno.EBUSY | errno.EAGAIN:
            problem = f"another program has it open; stop that one (`fuser -v {path}` names it)"
        case errno.ENOTTY | errno.EISDIR:
            problem = "this is no serial line; `shoed ports` lists those that are"
        case errno.ENXIO | errno.ENODEV | errno.EIO:
            return PortAbsent(f"{address}: the node is there and no device is behind it; check the cable")
        case _:
            problem = f"it cannot be opened at {line}: {error}; check that the line can be set so"
    return PortRefused(f"{address}: {problem}")
