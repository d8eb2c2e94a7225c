"""`shoed decode`: bytes to JSON lines, one line for each thing that the device said.

What comes out are the session's observations, in the words that the journal uses: a card with
its frame, a copy, a jump, a rejected frame with its reason. A file is raw bytes or a capture; a
port is read as it comes and never written to.
"""

import asyncio
import sys
from io import BufferedReader
from pathlib import Path
from typing import Final

import msgspec

from shoed import drivers
from shoed.errors import CaptureError, LinkLost, UsageError
from shoed.now import Now
from shoed.observations import LinkClosed, LinkOpened
from shoed.ports.address import Address, parse_address
from shoed.ports.capture import MAGIC, Direction, stream
from shoed.ports.clock import now
from shoed.ports.link import open_link
from shoed.session import SessionState
from shoed.session.families import AnyDriver
from shoed.step import AnyInput, LinkDown, LinkUp, Received, Woken

PIECE: Final = 1 << 16
START: Final = Now(0, 0)
LOOK_S: Final = 0.5  # how often to look whether something is overdue on a silent line


class Decoder:
    """One session that only listens, and prints what it observes."""

    def __init__(self, driver: AnyDriver) -> None:
        self.family = driver.family
        self.session = driver.session(driver.family.settings().listening(), allow_orders=False)
        self.state: SessionState = self.session.begin()

    def pass_time(self, until: Now) -> None:
        """Wake the session at each moment that it names, as on a line."""
        while (due := self.session.wake_at(self.state)) is not None and due <= until.mono_ns:
            self.take(Woken(), Now(due // 1000, due))

    def take(self, came: AnyInput, at: Now) -> None:
        self.state, heard = self.session.step(self.state, came, at)
        for seen in heard.observations:
            if not isinstance(seen, LinkOpened | LinkClosed):
                sys.stdout.write(f"{msgspec.json.encode(seen).decode()}\n")
        sys.stdout.flush()


def decode(protocol: str, source: str) -> int:
    decoder = Decoder(drivers.asked(protocol))
    if source == "-":
        with open(sys.stdin.fileno(), "rb", closefd=False) as file:
            from_bytes(decoder, file)
    elif "://" in source or source.startswith("replay:"):
        asyncio.run(from_port(decoder, address_of(source)))
    else:
        from_file(decoder, Path(source))
    return 0


def address_of(text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        raise UsageError(str(error)) from error


def from_file(decoder: Decoder, path: Path) -> None:
    if path.is_char_device():
        raise UsageError(f"{path}: a device; write serial://{path}, so that its speed is set")
    try:
        file = path.open("rb")
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}; give a file of bytes, a capture, a port, or -") from error
    with file:
        if file.peek(len(MAGIC)).startswith(MAGIC.encode()):
            from_capture(decoder, path)
        else:
            from_bytes(decoder, file)


def from_bytes(decoder: Decoder, file: BufferedReader) -> None:
    """Raw bytes have no times: all of them count as come at once."""
    decoder.take(LinkUp("-"), START)
    while data := file.read1(PIECE):
        decoder.take(Received(data), START)
    decoder.take(LinkDown("the bytes end"), START)


def from_capture(decoder: Decoder, path: Path) -> None:
    at = START
    with path.open(encoding="utf-8", errors="replace") as lines:
        header, records = stream(lines, str(path))
        if header.family != decoder.family.name:
            raise UsageError(f"{path}: a capture of {header.family}; decode it with --protocol {header.family}")
        decoder.take(LinkUp(str(path)), START)
        for record in records:
            at = Now(record.at_us, record.at_us * 1000)
            decoder.pass_time(at)
            if record.direction is Direction.FROM_DEVICE:
                decoder.take(Received(record.data), at)
    decoder.take(LinkDown("the capture ends"), at)


async def from_port(decoder: Decoder, address: Address) -> None:
    """Until the link is lost or somebody says stop."""
    link = await open_link(address, decoder.family.line)
    try:
        decoder.take(LinkUp(str(address)), now())
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    chunk = await link.receive()
            except TimeoutError:  # a torn frame, or a line gone quiet
                decoder.take(Woken(), link.heard_until())
            else:
                decoder.take(Received(chunk.data, chunk.late_ns), chunk.at)
    except LinkLost as lost:
        decoder.take(LinkDown(str(lost)), now())
        sys.stderr.write(f"{lost}\n")
    finally:
        await link.close()
