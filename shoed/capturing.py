"""`shoed capture`: what goes over a line, into a file; or what went over one lately, as the daemon kept it.

A record is written as soon as it is there, by one call: whatever ends the capture, the file is one that can
be read, and lacks at most the last record. A file that is there already is never touched. Nothing is written
to the device.
"""

import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from shoed import drivers
from shoed.decode import address_of
from shoed.errors import CaptureError, LinkLost, UsageError
from shoed.ports.address import Address, ReplayAddress, Rfc2217Address, SerialAddress
from shoed.ports.capture import Direction, Header, Record, header_text, record_text
from shoed.ports.clock import now
from shoed.ports.link import open_link
from shoed.ports.tell import ask_for_capture
from shoed.telling import Save

MODE: Final = 0o600  # cards are nobody else's business


class File:
    """A capture on its way to the disk, or to the standard output."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.size = 0  # of all that is whole
        if path is not None:
            try:
                self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
            except FileExistsError as error:
                raise taken(path) from error
            except OSError as error:
                raise CaptureError(f"{path}: {error.strerror}; give --out a file that can be written") from error

    def write(self, text: str) -> None:
        if self.path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        data = text.encode()
        try:
            whole, reason = os.write(self.descriptor, data) == len(data), "no room for a whole record"
        except OSError as error:
            whole, reason = False, str(error.strerror)
        if not whole:
            os.ftruncate(self.descriptor, self.size)
            raise CaptureError(f"{self.path}: {reason}; free the disk: the capture is whole up to here")
        self.size += len(data)


def taken(path: str) -> CaptureError:
    return CaptureError(f"{path}: is there already, and is left alone; give --out another name")


def capture(port: str, protocol: str | None, firmware: str | None, out: str | None, seconds: float | None) -> int:
    """Listen until the time is over, a signal comes or the line is lost."""
    family, address = drivers.asked(protocol).family, address_of(port)
    if firmware not in (None, *family.firmware):
        raise UsageError(
            f"--firmware {firmware}: {family.name} has no such version; known: {', '.join(family.firmware)}"
        )
    line = address.line(family.line) if isinstance(address, SerialAddress | Rfc2217Address) else family.line
    header = Header(family.name, firmware or family.firmware[0], line, note=f"heard on {address}")
    if out is not None and Path(out).exists():  # before the device is disturbed
        raise taken(out)
    return asyncio.run(listen(address, header, out, seconds))


async def listen(address: Address, header: Header, out: str | None, seconds: float | None) -> int:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds) as patience:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, patience.reschedule, 0)
            link = await open_link(address, header.line)
            try:
                file, began = File(out), now()
                started = datetime.fromtimestamp(began.utc_us / 1_000_000, UTC)
                file.write(header_text(Header(header.family, header.firmware, header.line, started, header.note)))
                while True:
                    chunk = await link.receive()
                    at_us = max(0, chunk.at.mono_ns - began.mono_ns) // 1000
                    file.write(record_text(Record(at_us, Direction.FROM_DEVICE, chunk.data)))
            finally:
                await link.close()
    except TimeoutError:
        return 0
    except LinkLost as lost:
        sys.stderr.write(f"{lost}\n")
        return 0 if isinstance(address, ReplayAddress) else 1


def save(state_dir: Path, table: str, device: str, out: str | None) -> int:
    """Ask the daemon for what it kept of a device, and write it."""
    answer = ask_for_capture(state_dir, Save(table, os.urandom(8).hex(), device))
    if not answer.accepted:
        sys.stderr.write(f"{answer.detail}\n")
        return 1
    File(out).write(answer.capture)
    return 0
