"""A serial line: pyserial opens, sets and locks it; the readers and writers of the event loop move the bytes.

Opening and closing may block in a driver (a UART drains its transmitter when it closes), so both run in a thread. An
open line is one descriptor; the event loop reads it when bytes are available. A hang-up, an error or an end-of-file
ends the link, after the bytes that were read before.

Bytes that wait in the kernel when the line is opened are received like other bytes. A shoe sends each report three
times, so after a kill between two copies, the next daemon still receives the third copy.
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
from shoed.model.moments import Chunk, Now
from shoed.ports.address import SerialAddress
from shoed.ports.clock import now
from shoed.ports.identity import identity_problem
from shoed.ports.inbox import Inbox, Take
from shoed.ports.nodes import absent, denial, refusal_of_node
from shoed.ports.threads import off_loop

READ_BYTES: Final = 4096  # the size of the kernel's line buffer

PTY_MAJORS: Final = range(136, 144)  # Linux: Documentation/admin-guide/devices.txt, "Unix98 PTY slaves"


class _Opener(serial.Serial):
    """pyserial without its flush of the input on opening."""

    def _reset_input_buffer(self) -> None:
        pass


async def open_serial(address: SerialAddress, family_line: Line) -> "SerialLink":
    descriptor = await off_loop(lambda: _open(address, address.line(family_line)), undo=_close)
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

    async def receive(self, take: Take | None = None) -> Chunk:
        return await self._inbox.receive(take)

    def heard_until(self) -> Now:
        return self._inbox.heard_until()

    def send(self, data: bytes) -> None:
        self._inbox.check_send(data, len(self._unsent), f"{self._path}: the device", "check its flow control")
        self._unsent += data
        if len(self._unsent) == len(data):
            self._write()

    async def close(self) -> None:
        """Close the line. Bytes that wait to be sent are discarded."""
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
        # The check is before the opening: pyserial would change the settings of another table's device.
        if problem := identity_problem(address, node.st_rdev):
            raise refusal_of_node(address, node, problem)
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
                raise PortUnready(f"{address}: the node changed during opening; shoed opens it again")
            _set_what_pyserial_leaves(descriptor)
            # pyserial's lock stops only programs that use locks; TIOCEXCL stops every other program. A pty keeps
            # TIOCEXCL after its last close, so a restarted daemon could not open it (observed, Linux 6.18).
            if os.major(node.st_rdev) not in PTY_MAJORS:
                fcntl.ioctl(descriptor, termios.TIOCEXCL)
            return os.dup(descriptor)  # the lock belongs to the open file: it remains after pyserial closes
    except (OSError, ValueError, termios.error) as error:
        raise _refusal(address, line, error) from error


def _set_what_pyserial_leaves(descriptor: int) -> None:
    modes = termios.tcgetattr(descriptor)
    # A break would flush the input. Bytes with parity errors must reach the deframer, which rejects the frame.
    modes[0] &= ~(termios.BRKINT | termios.IGNPAR)
    modes[6][termios.VMIN] = 1  # with 0, a read without bytes looks like an end-of-file
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)


def _close(descriptor: int) -> None:
    try:
        # Without the flush, a device that does not read blocks the close, and the stop of the daemon, for 30 s.
        termios.tcflush(descriptor, termios.TCOFLUSH)
    except termios.error:
        pass  # the line has hung up: there is nothing to flush
    finally:
        os.close(descriptor)


def _refusal(address: SerialAddress, line: Line, error: Exception) -> PortRefused:
    path = address.path
    number = error.errno if isinstance(error, OSError) else None
    if number is None and isinstance(error.__context__, termios.error):
        number = error.__context__.args[0]  # pyserial's own error has the number only in its text
    match number:
        case errno.ENOENT | errno.ENOTDIR:
            return absent(address)
        case errno.EACCES | errno.EPERM:
            return denial(address, path)
        case errno.EBUSY | errno.EAGAIN:
            problem = f"another program uses the line; stop that program (`fuser -v {path}` lists it)"
        case errno.ENOTTY | errno.EISDIR:
            problem = "the path is not a serial line; `shoed ports` lists the serial lines"
        case errno.ENXIO | errno.ENODEV | errno.EIO:
            return PortAbsent(f"{address}: the node exists, but the device does not answer; check the cable")
        case _:
            problem = f"the line cannot be opened at {line}: {error}; check whether the adapter supports this setting"
    return PortRefused(f"{address}: {problem}")
