"""A virtual device on a real line: it says what happens to it, answers its host, and takes its time.

Theory of operation: a dealer or a scenario says what happens and when, the device makes the bytes and
answers orders, the transmitter lets each byte out when a real line would have carried it, and the
outlet gives it to whoever listens. The moments are reckoned from the beginning of a burst, so that
late wakings never add up. Nothing happens while nobody listens, unless the cable is out on purpose.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from firmware_protocols.family import Line
from shoed.now import Chunk
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.rig.device import Device, Happening, Pulled
from shoed.rig.outlets import Outlet, PtyOutlet, TcpOutlet

OVERRUN_BYTES: Final = 4096  # so many unsaid: whoever floods the device with orders is not heard meanwhile

# A clock is read a little early or late; a hundredth of a byte decides nothing.
ROUNDING: Final = 0.01


class Burst(NamedTuple):
    """Bytes that follow each other on a line without a gap."""

    start_s: float
    byte_s: float

    @classmethod
    def on(cls, line: Line, start_s: float) -> "Burst":
        return cls(start_s, line.seconds_per_byte)

    def end_s(self, count: int) -> float:
        """When so many bytes are through."""
        return self.start_s + count * self.byte_s

    def through(self, at_s: float) -> int:
        """How many bytes are through at a moment."""
        return int((at_s - self.start_s) / self.byte_s + ROUNDING)


class Transmitter:
    """The device's one way out: answers and reports wait for each other here. Without a line no byte takes time."""

    def __init__(self, line: Line | None) -> None:
        self.line = line
        self.waiting = bytearray()
        self.filled = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    def send(self, data: bytes) -> None:
        if data:
            self.waiting += data
            self.idle.clear()
            self.filled.set()

    async def run(self, outlet: Outlet) -> None:
        while True:
            await self.filled.wait()
            await (self.burst(outlet) if self.line is None else self.paced(outlet, self.line))
            self.filled.clear()
            self.idle.set()

    async def burst(self, outlet: Outlet) -> None:
        while self.waiting:
            await outlet.give(self.taken(len(self.waiting)))

    async def paced(self, outlet: Outlet, line: Line) -> None:
        clock = asyncio.get_running_loop().time
        burst, through = Burst.on(line, clock()), 0
        while self.waiting:
            await asyncio.sleep(burst.end_s(through + 1) - clock())
            data = self.taken(burst.through(clock()) - through)
            through += len(data)
            await outlet.give(data)

    def taken(self, count: int) -> bytes:
        data = bytes(self.waiting[:count])
        del self.waiting[:count]
        return data


class VirtualDevice:
    """`fast`: without any pause. `waits`: nothing happens while the device is locked, as a dealer waits then."""

    def __init__(self, device: Device, line: Line | None, *, fast: bool, waits: bool) -> None:
        self.device = device
        self.fast = fast
        self.waits = waits
        self.transmitter = Transmitter(line)
        self.unlocked = asyncio.Event()
        self.unlocked.set()
        self.giving_up: asyncio.TimerHandle | None = None
        self.out_until_s: float | None = None  # the cable, if it is out

    def heard(self, data: bytes) -> None:
        """Bytes of a host; none of them: time has passed."""
        if len(self.transmitter.waiting) > OVERRUN_BYTES:
            return
        self.transmitter.send(self.device.hear(Chunk(data, now())))
        self.follow()

    def follow(self) -> None:
        """Heed what the device is now: locked, and waiting for its next moment."""
        if self.device.locked:
            self.unlocked.clear()
        else:
            self.unlocked.set()
        if self.giving_up is not None:
            self.giving_up.cancel()
        due = self.device.wake_at()
        if due is not None:
            loop = asyncio.get_running_loop()
            self.giving_up = loop.call_later(max(0.0, (due - now().mono_ns) / 1e9), self.heard, b"")

    async def play(self, happenings: Iterator[Happening], outlet: Outlet) -> None:
        """Let all of it happen, each when it is due."""
        due_s = asyncio.get_running_loop().time()
        for happening in happenings:
            due_s = await self.pause(due_s, self.lasting(happening.pause_s), outlet)
            if isinstance(happening, Pulled):
                await outlet.pull()
                self.out_until_s = due_s + self.lasting(happening.out_s)
            else:
                self.transmitter.send(self.device.say(happening.report, now()))
                self.follow()
                await self.transmitter.idle.wait()
        if self.out_until_s is not None:
            await self.plug_in(self.out_until_s, outlet)

    def lasting(self, seconds: float) -> float:
        return 0.0 if self.fast else seconds

    async def pause(self, from_s: float, pause_s: float, outlet: Outlet) -> float:
        """Wait until a thing is due and somebody is there to hear it, and give the moment that it was due."""
        clock = asyncio.get_running_loop().time
        due_s = from_s + pause_s
        left = False
        while True:
            if self.out_until_s is not None and self.out_until_s <= due_s:
                await self.plug_in(self.out_until_s, outlet)
            elif self.out_until_s is None and (left or not self.attended(outlet)):
                await outlet.attended.wait()
                if self.waits:
                    await self.unlocked.wait()
                self.transmitter.send(self.device.opened(now()))
                due_s = clock() + pause_s  # what did not happen meanwhile is not made up for
                left = False
            elif (left_s := due_s - clock()) > 0 and self.out_until_s is not None:
                await asyncio.sleep(left_s)
            elif left_s > 0:
                left = await self.left(outlet, left_s)
            else:
                return due_s

    async def left(self, outlet: Outlet, within_s: float) -> bool:
        """Whether everybody left, though somebody may be back already: that is a new line, and is greeted."""
        try:
            async with asyncio.timeout(within_s):
                return await outlet.attended.left.wait()
        except TimeoutError:
            return False

    def attended(self, outlet: Outlet) -> bool:
        return outlet.attended.is_set() and (self.unlocked.is_set() or not self.waits)

    async def plug_in(self, at_s: float, outlet: Outlet) -> None:
        await asyncio.sleep(at_s - asyncio.get_running_loop().time())
        self.out_until_s = None
        await outlet.plug()


class Plan(NamedTuple):
    """What a person asked for."""

    name: str  # of the device, and what it does
    place: TcpAddress | str  # of a listener, or the path of a pty's symlink
    line: Line | None  # of its family, where it has one
    fast: bool  # without pauses, and as its hosts take it
    waits: bool
    section: str  # of a table's configuration
    single: bool = False  # a new connection takes the place of the one before


async def serve(plan: Plan, device: Device, happenings: Iterator[Happening], tell: Callable[[str], None]) -> None:
    """Be the device until all has happened or a signal ends it."""
    virtual = VirtualDevice(device, None if plan.fast else plan.line, fast=plan.fast, waits=plan.waits)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    outlet: TcpOutlet | PtyOutlet = (
        TcpOutlet(plan.place, virtual.heard, patient=plan.fast, single=plan.single)
        if isinstance(plan.place, TcpAddress)
        else PtyOutlet(plan.place, virtual.heard)
    )
    try:
        await outlet.open()
        port = outlet.at
        if plan.line is None and isinstance(outlet, PtyOutlet):
            port += "?baud=9600"  # any: a pty has none, but a family without a line of its own wants one named
        tell(f'{plan.name}, at {outlet.at}; in [table.{plan.section}] write: port = "{port}"')
        async with asyncio.TaskGroup() as tasks:
            transmitting = tasks.create_task(virtual.transmitter.run(outlet))
            playing = tasks.create_task(virtual.play(happenings, outlet))
            stopped = tasks.create_task(stop.wait())
            await asyncio.wait((transmitting, playing, stopped), return_when=asyncio.FIRST_COMPLETED)
            for task in (transmitting, playing, stopped):
                task.cancel()
    finally:
        await outlet.close()
