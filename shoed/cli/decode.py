"""`shoed decode`: decode bytes into JSON lines, one line for each observation.

The lines are the observations of the session, in the format of the journal: a card with its frame, a copy, a jump, a
rejected frame with its reason. The source is a file of raw bytes, a capture or a port. shoed writes no bytes to a port.
"""

import argparse
import asyncio
import sys
from io import BufferedReader
from pathlib import Path
from typing import Final

import msgspec

from shoed.cli import ExitStatus
from shoed.cli.options import address_of
from shoed.errors import CaptureError, LinkLost, UsageError
from shoed.model.moments import Now
from shoed.model.observations import LinkClosed, LinkOpened
from shoed.model.step import AnyInput, LinkDown, LinkUp, Received, Woken
from shoed.ports.address import Address, ReplayAddress
from shoed.ports.capture import MAGIC, Direction, stream
from shoed.ports.clock import now
from shoed.ports.link import open_link
from shoed.session import SessionState, drivers
from shoed.session.families import AnyDriver

PIECE: Final = 1 << 16
START: Final = Now(0, 0)
LOOK_S: Final = 0.5  # the interval of checks for overdue moments on a silent line


class Decoder:
    """A session that sends nothing, and prints its observations."""

    def __init__(self, driver: AnyDriver) -> None:
        self.family = driver.family
        self.session = driver.session(driver.family.settings().listening(), allow_orders=False)
        self.state: SessionState = self.session.begin()

    def pass_time(self, until: Now) -> None:
        """Wake the session at each requested time, as on a line."""
        while (due := self.session.wake_at(self.state)) is not None and due <= until.mono_ns:
            self.take(Woken(), Now(due // 1000, due))

    def take(self, incoming: AnyInput, at: Now) -> None:
        self.state, heard = self.session.step(self.state, incoming, at)
        for seen in heard.observations:
            if not isinstance(seen, LinkOpened | LinkClosed):
                sys.stdout.write(f"{msgspec.json.encode(seen).decode()}\n")
        sys.stdout.flush()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--protocol", required=True, metavar="FAMILY", help="the family of the device")
    parser.add_argument(
        "source",
        nargs="?",
        default="-",
        metavar="FILE|-|PORT",
        help="raw bytes, a capture, or a port (default: the standard input)",
    )
    parser.set_defaults(command=decode)


def decode(arguments: argparse.Namespace) -> int:
    decoder, source = Decoder(drivers.named(arguments.protocol)), arguments.source
    if source == "-":
        with open(sys.stdin.fileno(), "rb", closefd=False) as file:
            from_bytes(decoder, file)
    elif "://" in source or source.startswith("replay:"):
        return asyncio.run(from_port(decoder, address_of(source)))
    else:
        from_file(decoder, Path(source))
    return 0


def from_file(decoder: Decoder, path: Path) -> None:
    if path.is_char_device():
        raise UsageError(f"{path}: the file is a device; write serial://{path} to set the speed of the line")
    try:
        file = path.open("rb")
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}; write a file of bytes, a capture, a port, or -") from error
    with file:
        if file.peek(len(MAGIC)).startswith(MAGIC.encode()):
            from_capture(decoder, path)
        else:
            from_bytes(decoder, file)


def from_bytes(decoder: Decoder, file: BufferedReader) -> None:
    """Raw bytes have no times: all bytes have the time 0."""
    decoder.take(LinkUp("-"), START)
    while data := file.read1(PIECE):
        decoder.take(Received(data), START)
    decoder.take(LinkDown("the bytes end"), START)


def from_capture(decoder: Decoder, path: Path) -> None:
    at = START
    with path.open(encoding="utf-8", errors="replace") as lines:
        header, records = stream(lines, str(path))
        if header.family != decoder.family.name:
            raise UsageError(f"{path}: the capture is of {header.family}; write --protocol {header.family}")
        decoder.take(LinkUp(str(path)), START)
        for record in records:
            at = Now(record.at_us, record.at_us * 1000)
            decoder.pass_time(at)
            if record.direction is Direction.FROM_DEVICE:
                decoder.take(Received(record.data), at)
    decoder.take(LinkDown("the capture ends"), at)


async def from_port(decoder: Decoder, address: Address) -> ExitStatus:
    """Decode until the link is lost or the command is stopped."""
    link = await open_link(address, decoder.family.line)
    try:
        decoder.take(LinkUp(str(address)), now())
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    chunk = await link.receive()
            except TimeoutError:  # an incomplete frame, or a silent line
                decoder.take(Woken(), link.heard_until())
            else:
                decoder.take(Received(chunk.data, chunk.late_ns), chunk.at)
    except LinkLost as lost:
        decoder.take(LinkDown(str(lost)), now())
        sys.stderr.write(f"{lost}\n")
        return ExitStatus.GOOD if isinstance(address, ReplayAddress) else ExitStatus.WRONG
    finally:
        await link.close()
