"""Links: `open_link` opens an address; `keep_open` opens it again after each loss, until it is cancelled.

`keep_open` calls the listener of a port in this order: refused, opened, received ..., closed, and again. It calls
`room` before it waits for bytes. The absence of a device is a normal state; it does not end the daemon.

One absence causes one message. After a loss, a PortAbsent is not reported, because it adds no information. A
PortUnready is never reported, because udev still prepares the node. If a link ends within SETTLED_S without a byte,
the next link is on trial: `keep_open` reports it as open after its first byte or after SETTLED_S. If it ends
before, `keep_open` reports its end only if the reason is a new one.
"""

import asyncio
import contextlib
import random
from collections.abc import Mapping
from importlib import import_module
from typing import Final, Never, Protocol, assert_never

from firmware_protocols.family import Line
from shoed.errors import LinkLost, PortAbsent, PortRefused, PortUnready, PortUnsecured
from shoed.model.moments import Chunk, Now
from shoed.ports.address import (
    Address,
    HidrawAddress,
    ReplayAddress,
    Rfc2217Address,
    SerialAddress,
    TcpAddress,
    UsbAddress,
)
from shoed.ports.hotplug import HotplugWait
from shoed.ports.identity import Known
from shoed.ports.inbox import Take
from shoed.ports.keyed import Keyed
from shoed.ports.serial import open_serial
from shoed.ports.tcp import open_tcp

# A node that returns is open within 2 s, also without a hotplug sign: the longest wait, and half a second for udev and
# for opening.
BACKOFF_LEAST_S: Final = 0.1
BACKOFF_MOST_S: Final = 1.5

# A link that ends sooner counts as a failure. The waits grow up to SLOWEST_S for a device that stalls, and for a server
# that accepts and closes. A hotplug sign or a longer link resets the waits.
SETTLED_S: Final = 5.0
SLOWEST_S: Final = 30.0

# A cancelled port waits this long for `closed` of its listener. The listener may be cancelled too.
FAREWELL_S: Final = 1.0


class Link(Protocol):
    """An open line to a device. One task receives."""

    async def receive(self, take: Take | None = None) -> Chunk:
        """The next bytes; LinkLost after the line is lost and all earlier bytes are returned.

        `take` gets them in pieces, before this returns: bytes that arrive before a cancellation are not lost.
        """

    def heard_until(self) -> Now:
        """All bytes that arrived before this time have been received."""

    def send(self, data: bytes) -> None:
        """Queue bytes without waiting; LinkLost if the line is lost, PortError if the peer does not read."""

    async def close(self) -> None:
        """Close the line. Further calls have no effect."""


class PortListener(Protocol):
    """Receives the state of a port. Each `opened` has exactly one `closed`, also if the port is cancelled."""

    async def opened(self, link: Link) -> None: ...

    async def room(self) -> None:
        """Return when further bytes can be received."""

    def received(self, chunk: Chunk) -> None: ...

    async def closed(self, reason: str) -> None: ...

    async def refused(self, reason: str) -> None:
        """The port cannot be opened. Called once for each new reason."""


# The modules of ports that few sites have. The start of the other sites is shorter without them.
LATE: Final[Mapping[type, str]] = {
    Rfc2217Address: "shoed.ports.rfc2217",
    UsbAddress: "shoed.ports.usb",
    HidrawAddress: "shoed.ports.hidraw",
    ReplayAddress: "shoed.ports.replay",
}
SECURE: Final = "shoed.ports.secure"


def load_port(address: Address, *, is_keyed: bool) -> None:
    """Import the modules of a port, before an update replaces their files."""
    if (name := LATE.get(type(address))) is not None:
        import_module(name)
    if is_keyed:
        import_module(SECURE)


async def open_link(address: Address, family_line: Line | None, known: Known | None = None) -> Link:
    """The device's line; PortRefused with the reason and a remedy if the line cannot be opened.

    `known` has the ids of the HID devices that use the protocol; with None, `open_link` opens every HID device.
    """
    match address:
        case SerialAddress():
            return await open_serial(address, _line(address, family_line))
        case TcpAddress():
            return await open_tcp(address)
        case Rfc2217Address():
            from shoed.ports.rfc2217 import open_rfc2217  # noqa: PLC0415 -- start-up time: few sites have such a server

            return await open_rfc2217(address, _line(address, family_line))
        case UsbAddress():
            from shoed.ports.usb import open_usb  # noqa: PLC0415 -- start-up time: it imports ctypes

            return await open_usb(address)
        case HidrawAddress():
            from shoed.ports.hidraw import open_hidraw  # noqa: PLC0415 -- start-up time: few tables have a scanner

            return await open_hidraw(address, known)
        case ReplayAddress():
            from shoed.ports.replay import open_replay  # noqa: PLC0415 -- start-up time: the import costs 3 ms

            return await open_replay(address)
        case _:
            assert_never(address)


def _line(address: SerialAddress | Rfc2217Address, family_line: Line | None) -> Line:
    try:
        return address.line(family_line)
    except ValueError as error:
        raise PortRefused(f"{address}: {error}") from error


def backoff_s(failures: int, rng: random.Random, most_s: float = BACKOFF_MOST_S) -> float:
    """The wait after consecutive failures: doubled for each failure, bounded, and random to separate the ports."""
    return min(most_s, BACKOFF_LEAST_S * 2.0 ** min(failures, 16)) * rng.uniform(0.7, 1.0)


async def keep_open(  # noqa: PLR0913 -- the parts of a port
    address: Address,
    family_line: Line | None,
    events: PortListener,
    *,
    rng: random.Random,
    known: Known | None = None,
    keyed: Keyed | None = None,
) -> Never:
    """Open, report, read, and open again, until cancelled. A capture is played once."""
    loop = asyncio.get_running_loop()
    load_port(address, is_keyed=keyed is not None)
    port = _Port(events)
    failures = brief = 0  # consecutive refusals, and consecutive links shorter than SETTLED_S
    with contextlib.closing(HotplugWait(address)) as watch:
        while True:
            try:
                link = await open_link(address, family_line, known)
                if keyed is not None:
                    from shoed.ports.secure import secured  # noqa: PLC0415 -- start-up time: the import costs 15 ms

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
    """The state of a port as reported to its listener."""

    def __init__(self, events: PortListener) -> None:
        self.events = events
        self.on_trial = False  # the last link ended within SETTLED_S, without a byte
        self.reason: str | None = None  # the last reported reason of a closed port
        self.is_lost = False  # `reason` is the end of a link

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
        """Receive from one link until it ends or the task is cancelled; then close the line and report the end."""
        reason, is_open, is_heard = "shoed stopped", False, False
        try:
            try:
                first = await _first(link) if self.on_trial else []
                is_open = True
                await self.events.opened(link)
                for chunk in first:
                    is_heard = True
                    self.events.received(chunk)
                while True:
                    await self.events.room()
                    await link.receive(self.events.received)
                    is_heard = True
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


async def _first(link: Link) -> list[Chunk]:
    """The first bytes of a link on trial; empty if the link lasted SETTLED_S without a byte."""
    first: list[Chunk] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SETTLED_S):
            await link.receive(first.append)
    return first
