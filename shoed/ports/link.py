"""Links: an address opened, and kept open for ever.

`keep_open` is the life of one device's port as its table sees it: refused, opened, received ...,
closed, again and again. A device that is away is a state; nothing about it ends the daemon.
"""

import asyncio
import contextlib
import random
from typing import Final, Never, Protocol, assert_never

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortRefused
from shoed.now import Chunk, Now
from shoed.ports.address import (
    Address,
    HidrawAddress,
    ReplayAddress,
    Rfc2217Address,
    SerialAddress,
    TcpAddress,
    UsbAddress,
)
from shoed.ports.hotplug import Watch
from shoed.ports.serial import open_serial
from shoed.ports.tcp import open_tcp

# A node that returns is open within 2 s, also where nothing tells of it: the longest wait, and half a second for udev
# and for opening.
BACKOFF_LEAST_S: Final = 0.1
BACKOFF_MOST_S: Final = 1.5

# A link that lived shorter was hardly there: a device server that accepts and closes at once is still asked slowly.
SETTLED_S: Final = 5.0

# Whoever cancels a port may have cancelled its listener too, and that one need not take the farewell.
FAREWELL_S: Final = 1.0


class Link(Protocol):
    """An open line to a device. One task receives."""

    async def receive(self) -> Chunk:
        """The next bytes; LinkLost once the line is gone and all that came before is delivered."""

    def heard_until(self) -> Now:
        """Whatever came before this moment has been received."""

    def send(self, data: bytes) -> None:
        """Queue bytes without waiting; LinkLost when the line is gone, PortError when the peer takes none."""

    async def close(self) -> None:
        """Let go of the line. Only the first call does anything."""


class Events(Protocol):
    """What becomes of a port. `closed` follows each `opened` exactly once, also when the port is cancelled."""

    async def opened(self, link: Link) -> None: ...

    async def received(self, chunk: Chunk) -> None: ...

    async def closed(self, reason: str) -> None: ...

    async def refused(self, reason: str) -> None:
        """It cannot be opened. Told once, and again when the reason is another."""


async def open_link(address: Address, custom: Line | None) -> Link:
    """The device's line; PortRefused says why not and what to do. `custom` is the family's."""
    match address:
        case SerialAddress():
            return await open_serial(address, _line(address, custom))
        case TcpAddress():
            return await open_tcp(address)
        case Rfc2217Address():
            from shoed.ports.rfc2217 import open_rfc2217  # noqa: PLC0415 -- for who has such a server

            return await open_rfc2217(address, _line(address, custom))
        case UsbAddress():
            from shoed.ports.usb import open_usb  # noqa: PLC0415 -- and ctypes with it, for who has such a device

            return await open_usb(address)
        case HidrawAddress():
            from shoed.ports.hidraw import open_hidraw  # noqa: PLC0415 -- for who has a scanner there

            return await open_hidraw(address)
        case ReplayAddress():
            from shoed.ports.replay import open_replay  # noqa: PLC0415 -- 3 ms of every start, for who plays captures

            return await open_replay(address)
        case _:
            assert_never(address)


def _line(address: SerialAddress | Rfc2217Address, custom: Line | None) -> Line:
    try:
        return address.line(custom)
    except ValueError as error:
        raise PortRefused(f"{address}: {error}") from error


def backoff_s(failures: int, rng: random.Random, most_s: float = BACKOFF_MOST_S) -> float:
    """How long to wait after so many failures in a row: doubling, capped, and never in step with other ports."""
    return min(most_s, BACKOFF_LEAST_S * 2.0 ** min(failures, 16)) * rng.uniform(0.5, 1.0)


async def keep_open(address: Address, custom: Line | None, events: Events, *, rng: random.Random) -> Never:
    """Open, report, read, and open again, until cancelled. A capture that has ended is not played again."""
    loop = asyncio.get_running_loop()
    failures = 0
    told: str | None = None
    with contextlib.closing(Watch(address)) as watch:
        while True:
            try:
                link = await open_link(address, custom)
            except PortRefused as refusal:
                if told != str(refusal):
                    told = str(refusal)
                    await events.refused(told)
            else:
                told = None
                watch.close()
                opened_s = loop.time()
                await _live(link, events)
                if isinstance(address, ReplayAddress):
                    await loop.create_future()
                if loop.time() - opened_s >= SETTLED_S:
                    failures = 0
            plugged = await watch.wait(backoff_s(failures, rng))
            failures = 0 if plugged else failures + 1


async def _live(link: Link, events: Events) -> None:
    """One link's whole life. Whatever ends it, the line is let go of and the end is told."""
    reason = "shoed stopped"
    try:
        try:
            await events.opened(link)
            while True:
                await events.received(await link.receive())
        except LinkLost as loss:
            reason = str(loss)
        finally:
            await link.close()
    except BaseException:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await events.closed(reason)
        raise
    await events.closed(reason)
