"""`shoed capture`: record the bytes of a line into a file, or save the recent traffic that the daemon recorded.

Each record is written immediately by one system call. If the capture is killed, the file is valid, and at most the last
record is missing. An existing file is never changed. shoed writes no bytes to the device.
"""

import argparse
import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from shoed.cli.options import add_state_dir, address_of, state_dir_of
from shoed.cli.parser import duration
from shoed.errors import CaptureError, LinkLost, UsageError
from shoed.model.requests import CaptureAnswer, CaptureRequest
from shoed.ports.address import Address, ReplayAddress, Rfc2217Address, SerialAddress
from shoed.ports.capture import CaptureRecord, Direction, Header, header_text, record_text
from shoed.ports.clock import now
from shoed.ports.link import open_link
from shoed.service.command_socket import query
from shoed.session import drivers

MODE: Final = 0o600  # other users may not read the cards
FULL: Final = "free space on the disk, or set --out to a file on another disk"


class File:
    """The file of a capture, or the standard output."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.size = 0  # of the complete records
        if path is not None:
            try:
                self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
            except FileExistsError as error:
                raise exists(path) from error
            except OSError as error:
                raise CaptureError(f"{path}: {error.strerror}; set --out to a file that can be written") from error

    def write(self, text: str) -> None:
        if self.path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        data = text.encode()
        try:
            whole, reason = os.write(self.descriptor, data) == len(data), "no space for a complete record"
        except OSError as error:
            whole, reason = False, str(error.strerror)
        if not whole:
            if not self.size:
                Path(self.path).unlink()
                raise CaptureError(f"{self.path}: {reason}; {FULL}; no file was made")
            os.ftruncate(self.descriptor, self.size)
            raise CaptureError(f"{self.path}: {reason}; {FULL}; the records in the file are complete")
        self.size += len(data)


def exists(path: str) -> CaptureError:
    return CaptureError(f"{path}: the file exists, and is not changed; set --out to another name")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("port", metavar="PORT|save", help="a port to read; save: the recent traffic in the daemon")
    parser.add_argument("table", nargs="?", metavar="TABLE", help="with save: the table of the device")
    parser.add_argument("--protocol", metavar="FAMILY", help="the family of the device at PORT; required with a port")
    parser.add_argument("--firmware", metavar="VERSION", help="(default: the first version of the family)")
    parser.add_argument("--seconds", type=duration, metavar="N", help="stop after N seconds (default: at a signal)")
    parser.add_argument("--device", default="shoe", metavar="DEVICE", help="with save (default: %(default)s)")
    parser.add_argument("--out", metavar="FILE", help="a new file (default: the standard output)")
    add_state_dir(parser)
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    if (arguments.port == "save") != (arguments.table is not None):
        raise UsageError(
            "save requires a TABLE, and a port does not have one; write shoed capture save TABLE, or shoed capture PORT"
        )
    if arguments.table is not None:
        return save(state_dir_of(arguments), arguments.table, arguments.device, arguments.out)
    return capture(arguments.port, arguments.protocol, arguments.firmware, arguments.out, arguments.seconds)


def capture(port: str, protocol: str | None, firmware: str | None, out: str | None, seconds: float | None) -> int:
    """Record until the time limit, a signal or the loss of the line."""
    family, address = drivers.named(protocol).family, address_of(port)
    if firmware not in (None, *family.firmware):
        raise UsageError(
            f"--firmware {firmware}: {family.name} does not have this version; known: {', '.join(family.firmware)}"
        )
    line = address.line(family.line) if isinstance(address, SerialAddress | Rfc2217Address) else family.line
    header = Header(family.name, firmware or family.firmware[0], line, note=f"recorded from {address}")
    if out is not None and Path(out).exists():  # before the port is opened
        raise exists(out)
    return asyncio.run(listen(address, header, out, seconds))


async def listen(address: Address, header: Header, out: str | None, seconds: float | None) -> int:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds) as time_limit:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, time_limit.reschedule, 0)
            link = await open_link(address, header.line)
            try:
                file, began = File(out), now()
                started = datetime.fromtimestamp(began.utc_us / 1_000_000, UTC)
                file.write(header_text(Header(header.family, header.firmware, header.line, started, header.note)))
                while True:
                    chunk = await link.receive()
                    at_us = max(0, chunk.at.mono_ns - began.mono_ns) // 1000
                    file.write(record_text(CaptureRecord(at_us, Direction.FROM_DEVICE, chunk.data)))
            finally:
                await link.close()
    except TimeoutError:
        return 0
    except LinkLost as lost:
        sys.stderr.write(f"{lost}\n")
        return 0 if isinstance(address, ReplayAddress) else 1


def save(state_dir: Path, table: str, device: str, out: str | None) -> int:
    """Write the recent traffic of a device, which the daemon recorded."""
    answer = query(state_dir, CaptureRequest(table, os.urandom(8).hex(), device), CaptureAnswer)
    File(out).write(answer.capture)
    return 0
