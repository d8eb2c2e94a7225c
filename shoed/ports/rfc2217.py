"""A serial line of a device server with RFC 2217: pyserial in a thread.

pyserial has no descriptor for such a port. Therefore one daemon thread moves the bytes in both directions. It waits
without a time limit for received bytes, for bytes to send, for `close`, or for a question of `heard_until`. An idle
port uses no processor time. TCP keepalive detects a server that does not answer, as over raw TCP.

`heard_until` asks the thread on each call, and returns its last answer. The thread answers if it has passed on all
bytes that pyserial has read, and the kernel has no others. So the watchdog, which calls `heard_until` several times in
each period, also detects a standstill of this thread or of pyserial's thread.
"""

import asyncio
import fcntl
import socket
import sys
import termios
import threading
from typing import Final

import serial
from serial import rfc2217

from firmware_protocols.family import Line
from shoed.errors import PortAbsent, PortRefused
from shoed.model.moments import Chunk, Now
from shoed.ports.address import KEEPALIVE_S, Rfc2217Address
from shoed.ports.clock import now
from shoed.ports.inbox import LIMIT_BYTES, Inbox, Take
from shoed.ports.tcp import set_options
from shoed.ports.threads import call_on_loop, off_loop

READ_BYTES: Final = 4096
RECEIVE_S: Final = 600.0  # the thread of pyserial wakes up after this time; `close` wakes it up earlier
SEND_S: Final = 5.0  # a server that does not read for this time is lost
PAUSE_S: Final = 0.05  # between two looks at a table that is overloaded
STALE_NS: Final = 1_000_000_000  # after an answer of the thread; later bytes may be unread


class _Port(rfc2217.Serial):
    """pyserial without its flush of the input on opening."""

    def reset_input_buffer(self) -> None:
        pass

    def notice_loss(self) -> None:
        set_options(self._socket, KEEPALIVE_S)  # type: ignore[attr-defined]  # pyserial has no public name for it
        self._socket.settimeout(RECEIVE_S)  # type: ignore[attr-defined]  # as above

    def _telnet_read_loop(self) -> None:
        """End a `read` also after an unexpected error: a server may violate the protocol."""
        try:
            super()._telnet_read_loop()  # type: ignore[misc]  # pyserial has no public name for it
        finally:
            self.wake()

    def read(self, size: int = 1) -> bytes:
        """Up to `size` bytes; fewer end with a wake-up. pyserial would discard bytes that arrived before the end."""
        data = bytearray()
        while len(data) < size and (byte := self._read_buffer.get()) is not None:  # type: ignore[attr-defined]  # as above
            data += byte
        return bytes(data)

    def wake(self) -> None:
        """End a `read` without a byte."""
        self._read_buffer.put(None)  # type: ignore[attr-defined]  # as pyserial does at the end of the connection

    def send(self, data: bytes) -> None:
        line = self._socket  # type: ignore[attr-defined]  # as above
        line.settimeout(SEND_S)
        self.write(data)
        line.settimeout(RECEIVE_S)

    @property
    def unread(self) -> int:
        """The number of bytes that the thread of pyserial has not read from the socket."""
        line = self._socket.fileno()  # type: ignore[attr-defined]  # as above
        return int.from_bytes(fcntl.ioctl(line, termios.FIONREAD, bytes(4)), sys.byteorder)


async def open_rfc2217(address: Rfc2217Address, family_line: Line) -> "Rfc2217Link":
    port = await off_loop(lambda: _open(address, address.line(family_line)), undo=lambda opened: opened.close())
    return Rfc2217Link(str(address), port)


def _open(address: Rfc2217Address, line: Line) -> _Port:
    try:
        port = _Port(
            str(Rfc2217Address(address.host, address.port)),  # pyserial takes the line settings as arguments
            baudrate=line.baud,
            bytesize=line.bytesize,
            parity=line.parity.value,
            stopbits=line.stopbits,
        )
        port.notice_loss()
    except (OSError, ValueError) as error:
        raise _refusal(address, error) from error
    return port


def _refusal(address: Rfc2217Address, error: Exception) -> PortRefused:
    match error.__context__:
        case ConnectionRefusedError():
            problem = "the server refuses connections; check the port, and that the server's mode is RFC 2217 (Telnet)"
        case socket.gaierror() as unknown:
            problem = f"the name of the host is not known: {unknown.strerror}; check the name, or write its IP address"
        case TimeoutError():
            problem = "the server does not answer; check the address, and the device server's power and network"
        case OSError(strerror=text):
            problem = f"{text}; check the address and the network"
        case _:
            return PortRefused(
                f"{address}: {error}; check that the server's mode is RFC 2217, or set it to raw TCP and write"
                " tcp://HOST:PORT"
            )
    return PortAbsent(f"{address}: {problem}")


class Rfc2217Link:
    """Made by open_rfc2217."""

    def __init__(self, at: str, port: _Port) -> None:
        self._at = at
        self._port = port
        self._loop = asyncio.get_running_loop()
        self._flowing = True
        self._inbox = Inbox(pause=self._pause, resume=self._resume)
        self._unsent = bytearray()
        self._sending = threading.Lock()
        self._leaving = threading.Event()
        self.answered = now()  # the thread has passed on all bytes that arrived before this moment
        self._is_woken = False  # the thread has not processed the last wake-up
        self._moving = threading.Thread(target=self._move, name="shoed-rfc2217", daemon=True)
        self._moving.start()

    async def receive(self, take: Take | None = None) -> Chunk:
        return await self._inbox.receive(take)

    def heard_until(self) -> Now:
        at, answered = self._inbox.heard_until(), self.answered
        self._wake()
        return at if at.mono_ns - answered.mono_ns < STALE_NS else answered

    def send(self, data: bytes) -> None:
        with self._sending:
            self._inbox.check_send(data, len(self._unsent), f"{self._at}: the server", "check the device server")
            self._unsent += data
        self._wake()

    async def close(self) -> None:
        """Close the connection. Bytes that wait to be sent are discarded."""
        self._inbox.end(f"{self._at}: closed")
        self._leaving.set()
        self._wake()
        await off_loop(self._moving.join)

    def _wake(self) -> None:
        """Wake the thread up, unless the last wake-up still waits for it."""
        if not self._is_woken:
            self._is_woken = True
            self._port.wake()

    def _pause(self) -> None:
        self._flowing = False

    def _resume(self) -> None:
        self._flowing = True

    def _move(self) -> None:
        reason = f"{self._at}: closed"
        try:
            while not self._leaving.is_set():
                has_read, at = self._read(), now()
                if has_read or not (self._port.unread or self._port.in_waiting):
                    self.answered = at
                self._write()
        except (serial.SerialException, OSError) as error:
            reason = f"{self._at}: the connection broke: {error}; check the device server and the network"
        finally:
            call_on_loop(self._loop, self._inbox.end, reason)
            self._port.close()

    def _read(self) -> bool:
        """Whether bytes were received."""
        if not self._flowing:
            if self._port.in_waiting > LIMIT_BYTES:  # pyserial's buffer has no bound
                raise serial.SerialException(f"shoed is overloaded, {LIMIT_BYTES} received bytes wait")
            self._leaving.wait(PAUSE_S)
            return False
        wanted, data = 1, self._port.read(1)
        if data:
            wanted += min(READ_BYTES, self._port.in_waiting)
            data += self._port.read(wanted - 1)
            call_on_loop(self._loop, self._inbox.heard, Chunk(data, now()))
        if len(data) < wanted:  # by `wake`, or by pyserial at the end of the connection
            if not self._is_woken:
                raise serial.SerialException("the server closed it")
            self._is_woken = False
        return bool(data)

    def _write(self) -> None:
        with self._sending:
            data = bytes(self._unsent)
        if data:
            self._port.send(data)
            with self._sending:
                del self._unsent[: len(data)]
