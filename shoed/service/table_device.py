"""One device of a table in the daemon: its port, and the inputs that its port makes.

Theory of operation: the port reports each change of its link and each chunk of bytes. Each report is an input of the
table. `heard_until` names a moment: the table has every byte that arrived before it.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from shoed.errors import PortError
from shoed.journal import Writer
from shoed.model.moments import Chunk, Now
from shoed.model.observations import Device
from shoed.model.step import AnyInput, BytesRefused, LinkDown, LinkUp, Received
from shoed.ports.address import parse_address
from shoed.ports.clock import now
from shoed.ports.keyed import Dropped, Keyed, key_in
from shoed.ports.link import Link, keep_open
from shoed.ports.recorder import PortRecorder, TrafficRing
from shoed.service.config import ShoeConfig, ShufflerConfig
from shoed.service.counters import Counters
from shoed.service.limited_log import LimitedLog
from shoed.session import drivers

LOG: Final = logging.getLogger("shoed")


class InputTaker(Protocol):
    """The table of a device; `Desk` is one."""

    writer: Writer
    counters: Counters

    def take(self, incoming: AnyInput, at: Now) -> None: ...


def keyed(config: ShoeConfig | ShufflerConfig, key_file: str, drop: Callable[[Dropped], Awaitable[None]]) -> Keyed:
    """The key of a device, and the receiver of the bytes that its secure channel rejects."""
    torn_after_ms = drivers.find(config.protocol).family.reports(config.settings).torn_after_ms
    return Keyed(key_in(key_file, "key_file"), drop, torn_after_ms)


class TableDevice:
    """One device of a table: a shoe or a shuffler."""

    task: asyncio.Task[None] | None = None  # of `run`

    def __init__(self, table: str, device: Device, config: ShoeConfig | ShufflerConfig, desk: InputTaker) -> None:
        self.name = f"{table}: {device.value}"
        self.device = device
        self.config = config
        self.desk = desk
        self.limited_log = LimitedLog(self.name)
        self.ring = TrafficRing()  # recent bytes of the line
        self.link: Link | None = None
        self.closing_reason = ""  # why the daemon closes the link; "": it does not, or the daemon stops
        self.keyed = None if config.key_file is None else keyed(config, config.key_file, self.rejected)

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self.closing_reason = ""
        self.task = tasks.create_task(self.run())

    async def stop(self, reason: str) -> None:
        """Close the link. The reason is recorded, unless the table is stopped."""
        self.closing_reason = reason
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])
            self.task = None

    async def run(self) -> None:
        family = drivers.find(self.config.protocol).family
        known = {(usb.vendor, usb.product) for usb in family.usb_ids if usb.raw}
        rng = random.Random()  # noqa: S311 -- jitter
        port, recorder = parse_address(self.config.port), PortRecorder(self, self.ring)
        await keep_open(port, family.line, recorder, rng=rng, known=known, keyed=self.keyed)

    async def opened(self, link: Link) -> None:
        self.link = link
        self.limited_log.write(logging.INFO, "opened", f"{self.config.port} is open")
        self.desk.take(LinkUp(self.config.port, device=self.device), now())

    async def room(self) -> None:
        """Return when the writer has room for further Steps."""
        await self.desk.writer.has_room.wait()

    def received(self, chunk: Chunk) -> None:
        self.desk.counters.bytes[self.device] += len(chunk.data)
        self.desk.take(Received(chunk.data, chunk.late_ns, device=self.device), chunk.at)

    async def rejected(self, each: Dropped) -> None:
        """Record bytes that the secure channel rejects."""
        self.desk.take(BytesRefused(each.data, each.reason, each.detail, device=self.device), each.at)
        await asyncio.sleep(0)
        await self.room()

    def is_stuck(self, limit_s: float) -> bool:
        """Whether the thread of the port has made no progress for longer than the limit."""
        return self.link is not None and (now().mono_ns - self.link.heard_until().mono_ns) / 1e9 > limit_s

    def heard_until(self) -> Now:
        """The table has every byte that arrived before this moment."""
        return now() if self.link is None else self.link.heard_until()

    async def closed(self, reason: str) -> None:
        self.link = None
        await self.refused(self.closing_reason or reason)

    async def refused(self, reason: str) -> None:
        self.limited_log.write(logging.WARNING, "offline", reason)
        self.desk.take(LinkDown(reason, device=self.device), now())

    def send(self, data: bytes, link: Link | None) -> None:
        """Send the bytes if the link is still the same; another link may be to another device."""
        try:
            if link is not None and link is self.link:
                link.send(data)
        except PortError as error:  # the session detects the missing answer
            LOG.warning("%s: an order was not sent: %s", self.name, error)
