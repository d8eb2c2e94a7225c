"""One device of a table in the daemon: its port, and all that comes by it.

Theory of operation: the port says what becomes of its link, and each of that is an input of the table. Bytes are taken
in pieces, and between two of them the other tables have their turn. Bytes that are not taken yet hold back the moment
until which everything was heard.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, Protocol

from shoed import drivers
from shoed.brief import Brief
from shoed.config import ShoeConfig, ShufflerConfig
from shoed.errors import PortError
from shoed.journal import Writer
from shoed.now import Chunk, Now
from shoed.observations import Device
from shoed.ports.address import parse_address
from shoed.ports.clock import now
from shoed.ports.keyed import Dropped, Keyed, key_in
from shoed.ports.link import Link, keep_open
from shoed.ports.tap import Ring, Tap
from shoed.step import AnyInput, BytesRefused, LinkDown, LinkUp, Received

LOG: Final = logging.getLogger("shoed")

PIECE: Final = 768  # bytes of one Step at the most: some 90 reports, which take 2 ms, and a row that fits its page


class Desk(Protocol):
    """The table's place in the daemon."""

    writer: Writer

    def take(self, came: AnyInput, at: Now) -> None: ...


def keyed(config: ShoeConfig | ShufflerConfig, key_file: str, dropped: Callable[[Dropped], Awaitable[None]]) -> Keyed:
    torn_after_ms = drivers.find(config.protocol).family.reports(config.settings).torn_after_ms
    return Keyed(key_in(key_file, "key_file"), dropped, torn_after_ms)


class Ear:
    """One device of a table: its port, and all that comes by it."""

    def __init__(self, table: str, device: Device, config: ShoeConfig | ShufflerConfig, desk: Desk) -> None:
        self.name = f"{table}: {device.value}"
        self.device = device
        self.config = config
        self.desk = desk
        self.brief = Brief(self.name)
        self.ring = Ring()  # what went over its line lately
        self.link: Link | None = None
        self.hearing_since: float | None = None  # bytes that wait to be taken
        self.taking: Chunk | None = None
        self.keyed = None if config.key_file is None else keyed(config, config.key_file, self.dropped)

    async def run(self) -> None:
        family = drivers.find(self.config.protocol).family
        known = {(usb.vendor, usb.product) for usb in family.usb_ids if usb.raw}
        rng = random.Random()  # noqa: S311 -- jitter
        port, tap = parse_address(self.config.port), Tap(self, self.ring)
        await keep_open(port, family.line, tap, rng=rng, known=known, keyed=self.keyed)

    async def opened(self, link: Link) -> None:
        self.link = link
        self.brief.say(logging.INFO, "opened", f"{self.config.port} is open")
        self.desk.take(LinkUp(self.config.port, device=self.device), now())

    async def received(self, chunk: Chunk) -> None:
        self.taking = chunk
        for begin in range(0, len(chunk.data), PIECE):
            self.hearing_since = monotonic()  # a flood takes its time, and each piece of it is progress
            self.desk.take(Received(chunk.data[begin : begin + PIECE], chunk.late_ns, device=self.device), chunk.at)
            await asyncio.sleep(0)  # the other tables' turn: noise leaves no row for which to wait
            await self.desk.writer.has_room.wait()
        self.hearing_since = None
        self.taking = None

    async def dropped(self, each: Dropped) -> None:
        """What the device did not say in its secure channel."""
        self.taking = Chunk(each.data, each.at)
        try:
            self.desk.take(BytesRefused(each.data, each.reason, each.detail, device=self.device), each.at)
            await asyncio.sleep(0)
            await self.desk.writer.has_room.wait()
        finally:
            self.taking = None

    def heard_until(self) -> Now:
        """Whatever came before this moment has been taken."""
        if self.taking is not None:
            return self.taking.earliest
        return now() if self.link is None else self.link.heard_until()

    async def closed(self, reason: str) -> None:
        self.link = None
        await self.refused(reason)

    async def refused(self, reason: str) -> None:
        self.brief.say(logging.WARNING, "offline", reason)
        self.desk.take(LinkDown(reason, device=self.device), now())

    def send(self, data: bytes, link: Link | None) -> None:
        """To the device at once, if it is still the same line."""
        try:
            if link is not None and link is self.link:
                link.send(data)
        except PortError as error:  # the session hears of it by the answer that does not come
            LOG.warning("%s: an order was not sent: %s", self.name, error)
