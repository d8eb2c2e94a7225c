"""A link that reads a capture in place of a device. `shoed replay` and the address replay:FILE use this link.

At real speed, a chunk arrives at its recorded offset and has the time of its arrival. At fast speed, the chunks arrive
without waiting, and the time of a chunk is the time of opening plus the recorded offset. At both speeds, the times keep
the recorded spacing. Bytes sent to a capture are discarded.
"""

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from shoed.errors import CaptureError, LinkLost, PortRefused
from shoed.model.moments import Chunk, Now
from shoed.ports.address import ReplayAddress, Speed
from shoed.ports.capture import CaptureRecord, Direction, stream
from shoed.ports.clock import now
from shoed.ports.inbox import Inbox, Take
from shoed.ports.threads import off_loop

ENDED: Final = "capture ended"


async def open_replay(address: ReplayAddress) -> "ReplayLink":
    file, records = await off_loop(lambda: open_capture(address), undo=lambda opened: opened[0].close())
    return ReplayLink(file, records, address.speed)


def open_capture(address: ReplayAddress) -> tuple[TextIO, Iterator[CaptureRecord]]:
    """The file and its records. A file that is not a capture is refused."""
    file = _open(address)
    try:
        _, records = stream(file, address.path)
    except CaptureError as wrong:
        file.close()
        raise PortRefused(str(wrong)) from wrong
    return file, records


def _open(address: ReplayAddress) -> TextIO:
    try:
        if not stat.S_ISREG(Path(address.path).stat().st_mode):
            raise PortRefused(f"{address}: the path is not a regular file; write the path of a capture")
        # An invalid byte becomes U+FFFD. The parser rejects this character with its line number.
        return Path(address.path).open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise PortRefused(f"{address}: {error.strerror}; write the path of a readable capture") from error


class ReplayLink:
    """Made by open_replay."""

    def __init__(self, file: TextIO, records: Iterator[CaptureRecord], speed: Speed) -> None:
        self._file = file
        self._records = (record for record in records if record.direction is Direction.FROM_DEVICE)
        self._speed = speed
        self._loop = asyncio.get_running_loop()
        self._opened = now()
        self._opened_s = self._loop.time()
        self._inbox = Inbox(pause=self._pause, resume=self._resume)
        self._paused = False
        self._due: asyncio.Handle | None = None
        self._cue()

    async def receive(self, take: Take | None = None) -> Chunk:
        return await self._inbox.receive(take)

    def heard_until(self) -> Now:
        return self._inbox.heard_until()

    def send(self, data: bytes) -> None:
        del data
        if self._inbox.ended is not None:
            raise LinkLost(self._inbox.ended)

    async def close(self) -> None:
        self._inbox.end("the replay was closed")
        if self._due is not None:
            self._due.cancel()
        self._file.close()

    def _cue(self) -> None:
        """Schedule the next record."""
        try:
            record = next(self._records, None)
        except CaptureError as wrong:
            self._inbox.end(str(wrong))
            return
        if record is None:
            self._inbox.end(ENDED)
        elif self._speed is Speed.FAST:
            at = Now(self._opened.utc_us + record.at_us, self._opened.mono_ns + record.at_us * 1000)
            self._due = self._loop.call_soon(self._play, record, at)
        else:
            self._due = self._loop.call_at(self._opened_s + record.at_us / 1_000_000, self._play, record)

    def _play(self, record: CaptureRecord, at: Now | None = None) -> None:
        self._inbox.put(Chunk(record.data, at or now()))
        if not self._paused:
            self._cue()

    def _pause(self) -> None:
        self._paused = True

    def _resume(self) -> None:
        self._paused = False
        self._cue()
