"""Links: an address opened, and kept open for ever.

`keep_open` is the life of one device's port as its table sees it: refused, opened, received ...,
closed, again and again. A device that is away is a state; nothing about it ends the daemon.

One absence is one message. What says no more than that nothing is there (PortAbsent) does not follow a loss, and a
node at which udev is still at work (PortUnready) is no reason at all. A link that ended soon without a byte puts the
next one on trial: it is told as open after a byte or after SETTLED_S, and its end is told if the reason is another.
"""

import asyncio
import contextlib
import random
from typing import Final, Never, Protocol, assert_never

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortAbsent, PortRefused, PortUnready, PortUnsecured
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
from shoed.ports.identity import Known
from shoed.ports.keyed import Keyed
from shoed.ports.serial import open_serial
from shoed.ports.tcp import open_tcp

# A node that returns is open within 2 s, also where nothing tells of it: the longest wait, and half a second for udev
# and for opening.
BACKOFF_LEAST_S: Final = 0.1
BACKOFF_MOST_S: Final = 1.5

# A link that lived shorter was hardly there. A device that stalls, or a server that accepts and closes, is asked ever
# more slowly, down to this; a sign of hotplug or a link that lives longer begins again.
SETTLED_S: Final = 5.0
SLOWEST_S: Final = 30.0

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


async def open_link(address: Address, custom: Line | None, known: Known | None = None) -> Link:
    """The device's line; PortRefused says why not and what to do. `custom` is the family's.

    `known` are the ids of the HID devices that speak its protocol; None: whatever a person names is opened.
    """
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

            return await open_hidraw(address, known)
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


async def keep_open(  # noqa: PLR0913 -- what a port is made of
    address: Address,
    custom: Line | None,
    events: Events,
    *,
    rng: random.Random,
    known: Known | None = None,
    keyed: Keyed | None = None,
) -> Never:
    """Open, report, read, and open again, until cancelled. A capture that has ended is not played again."""
    loop = asyncio.get_running_loop()
    port = _Port(events)
    failures = brief = 0  # in a row: refusals, and links that hardly lived
    with contextlib.closing(Watch(address)) as watch:
        while True:
            try:
                link = await open_link(address, custom, known)
                if keyed is not None:
                    from shoed.ports.secure import secured  # noqa: PLC0415 -- 15 ms, for who has such a device

                    link = await secured(link, address, keyed, port.refused)
            except PortUnsecured as refusal:
                await port.refused(refusal)
                wait_s = backoff_s(brief, rng, SLOWEST_S)
                brief += 1
            except PortRefused as refusal:
                await port.refused(refusal)
                wait_s = backoff_s(failures, rng)
                failures += 1
            else:
                watch.close()
                opened_s = loop.time()
                await port.live(link)
                if isinstance(address, ReplayAddress):
                    await loop.create_future()
                failures = 0
                if loop.time() - opened_s >= SETTLED_S:
                    brief, port.on_trial = 0, False
                wait_s = backoff_s(brief, rng, SLOWEST_S)
                brief += 1
            if await watch.wait(wait_s):
                failures, brief, port.on_trial = 0, 0, False


class _Port:
    """What the listener of a port was told."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.on_trial = False  # the last link ended soon, without a byte
        self.reason: str | None = None  # told last, of a port that is not open
        self.is_lost = False  # that reason is the end of a link

    async def refused(self, refusal: PortRefused) -> None:
        if isinstance(refusal, PortUnready) or (isinstance(refusal, PortAbsent) and self.is_lost):
            return
        self.is_lost = False
        await self._not_open(str(refusal))

    async def _not_open(self, reason: str) -> None:
        if self.reason != reason:
            self.reason = reason
            await self.events.refused(reason)

    async def live(self, link: Link) -> None:
        """One link's whole life. Whatever ends it, the line is let go of and the end is told."""
        reason, is_open, is_heard = "shoed stopped", False, False
        try:
            try:
                first = await _first(link) if self.on_trial else None
                is_open = True
                await self.events.opened(link)
                while True:
                    chunk = first or await link.receive()
                    first, is_heard = None, True
                    await self.events.received(chunk)
            except LinkLost as loss:
                reason = str(loss)
            finally:
                await link.close()
        except BaseException:
            if is_open:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(FAREWELL_S):
                        await self.events.closed(reason)
            raise
        self.on_trial = not is_heard
        self.is_lost = True
        if not is_open:
            await self._not_open(reason)
            return
        self.reason = reason
        await self.events.closed(reason)


async def _first(link: Link) -> Chunk | None:
    """The first bytes of a link on trial; None: it has lived long enough without."""
    try:
        async with asyncio.timeout(SETTLED_S):
            return await link.receive()
    except TimeoutError:
        return None
