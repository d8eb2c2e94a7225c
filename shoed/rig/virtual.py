"""A virtual device on a real line: it plays actions, answers its host and keeps the timing of the line.

Theory of operation: a dealer or a scenario defines the actions and their times. The device makes the bytes and answers
orders. The transmitter releases each byte at the time at which a real line would have transmitted it. The outlet sends
the bytes to the connected hosts. All times are computed from the beginning of a burst, so delays do not accumulate.
While no host is connected the timeline stops, unless a scenario has disconnected the cable.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, cast

from firmware_protocols.family import Line
from shoed.model.moments import Chunk, Now
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.rig.device import Disturbed, Pulled, RigDevice, TimelineEntry
from shoed.rig.outlets import OnBytes, Outlet, PtyOutlet, TcpOutlet
from shoed.rig.usb_outlet import UsbOutlet, UsbPlace

OVERRUN_BYTES: Final = 4096  # unsent bytes: with more, the device ignores its hosts, to survive a flood of orders

# The clock is read slightly early or late. A hundredth of a byte makes no difference.
ROUNDING: Final = 0.01


class Burst(NamedTuple):
    """Consecutive bytes on a line, without a gap."""

    start_s: float
    byte_s: float

    @classmethod
    def on(cls, line: Line, start_s: float) -> "Burst":
        return cls(start_s, line.seconds_per_byte)

    def end_s(self, count: int) -> float:
        """When this number of bytes is transmitted."""
        return self.start_s + count * self.byte_s

    def through(self, at_s: float) -> int:
        """The number of bytes that are transmitted at a moment."""
        return int((at_s - self.start_s) / self.byte_s + ROUNDING)


class Transmitter:
    """The only way to the outlet: answers and reports wait for each other. Without a line, bytes take no time."""

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
    """`fast`: play without pauses. `waits`: stop the timeline while the device is locked, as a dealer does."""

    def __init__(self, device: RigDevice, line: Line | None, *, fast: bool, waits: bool) -> None:
        self.device = device
        self.fast = fast
        self.waits = waits
        self.transmitter = Transmitter(line)
        self.unlocked = asyncio.Event()
        self.unlocked.set()
        self.giving_up: asyncio.TimerHandle | None = None
        self.out_until_s: float | None = None  # when the cable is connected again; None: it is connected
        self.passed_ns = 0  # the last moment that was passed to the device

    def heard(self, data: bytes) -> None:
        """Process the bytes of a host; no bytes: time has passed."""
        if len(self.transmitter.waiting) > OVERRUN_BYTES:
            return
        at = now()
        self.passed_ns = at.mono_ns
        self.transmitter.send(self.device.hear(Chunk(data, at)))
        self.follow()

    def follow(self) -> None:
        """Follow the device's state: its lock and its next deadline."""
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

    async def play(self, timeline: Iterator[TimelineEntry], outlet: Outlet) -> None:
        """Play the timeline, each entry at its time."""
        due_s = asyncio.get_running_loop().time()
        for entry in timeline:
            due_s = await self.pause(due_s, self.lasting(entry.pause_s), outlet)
            if isinstance(entry, Pulled):
                await outlet.pull()
                self.out_until_s = due_s + self.lasting(entry.out_s)
            elif isinstance(entry, Disturbed):
                cast("UsbOutlet", outlet).disturb(entry.action)  # a scenario for other outlets has no such step
            else:
                at = now() if self.fast else self.due(due_s)
                self.passed_ns = at.mono_ns
                self.transmitter.send(self.device.say(entry.report, at))
                self.follow()
                await self.transmitter.idle.wait()
        if self.out_until_s is not None:
            await self.plug_in(self.out_until_s, outlet)

    def due(self, due_s: float) -> Now:
        """The moment at which a report is due. On a busy machine this process reads its clock later."""
        read = now()
        return read.before(max(0, read.mono_ns - max(int(due_s * 1e9), self.passed_ns)))

    def lasting(self, seconds: float) -> float:
        return 0.0 if self.fast else seconds

    async def pause(self, from_s: float, pause_s: float, outlet: Outlet) -> float:
        """Wait until an entry is due and a host is connected; return the moment at which the entry was due."""
        clock = asyncio.get_running_loop().time
        due_s = from_s + pause_s
        left = False
        while True:
            if self.out_until_s is not None and self.out_until_s <= due_s:
                await self.plug_in(self.out_until_s, outlet)
            elif self.out_until_s is None and (left or not self.connected(outlet)):
                await outlet.connected.wait()
                if self.waits:
                    await self.unlocked.wait()
                self.transmitter.send(self.device.opened(now()))
                due_s = clock() + pause_s  # the time without a host is not made up for
                left = False
            elif (left_s := due_s - clock()) > 0 and self.out_until_s is not None:
                await asyncio.sleep(left_s)
            elif left_s > 0:
                left = await self.left(outlet, left_s)
            else:
                return due_s

    async def left(self, outlet: Outlet, within_s: float) -> bool:
        """Whether all hosts disconnected. A host may already be back: that is a new line, with a new greeting."""
        try:
            async with asyncio.timeout(within_s):
                return await outlet.connected.left.wait()
        except TimeoutError:
            return False

    def connected(self, outlet: Outlet) -> bool:
        return outlet.connected.is_set() and (self.unlocked.is_set() or not self.waits)

    async def plug_in(self, at_s: float, outlet: Outlet) -> None:
        await asyncio.sleep(at_s - asyncio.get_running_loop().time())
        self.out_until_s = None
        await outlet.plug()


class RigPlan(NamedTuple):
    """The options of a virtual device."""

    name: str  # of the device and of its scenario or seed
    place: TcpAddress | str | UsbPlace  # the address of a listener, the path of a symlink to a pty, or a USB bus
    line: Line | None  # the line of the family, if it has one
    fast: bool  # without pauses, at the speed of the hosts
    waits: bool
    section: str  # the section of the table in a configuration
    single: bool = False  # a new connection replaces the previous one


def outlet_of(plan: RigPlan, on_bytes: OnBytes) -> TcpOutlet | PtyOutlet | UsbOutlet:
    match plan.place:
        case TcpAddress():
            return TcpOutlet(plan.place, on_bytes, patient=plan.fast, single=plan.single)
        case UsbPlace():
            return UsbOutlet(plan.place, on_bytes)
        case path:
            return PtyOutlet(path, on_bytes)


async def serve(
    plan: RigPlan, device: RigDevice, timeline: Iterator[TimelineEntry], report: Callable[[str], None]
) -> None:
    """Play the device until the timeline ends or a signal stops it."""
    virtual = VirtualDevice(device, None if plan.fast else plan.line, fast=plan.fast, waits=plan.waits)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    outlet = outlet_of(plan, virtual.heard)
    try:
        await outlet.open()
        port = outlet.at
        if plan.line is None and isinstance(outlet, PtyOutlet):
            port += "?baud=9600"  # a pty has no speed, but the port of a family without a declared line must name one
        report(f'{plan.name}, at {outlet.at}; in [table.{plan.section}] write: port = "{port}"')
        async with asyncio.TaskGroup() as tasks:
            transmitting = tasks.create_task(virtual.transmitter.run(outlet))
            playing = tasks.create_task(virtual.play(timeline, outlet))
            stopped = tasks.create_task(stop.wait())
            await asyncio.wait((transmitting, playing, stopped), return_when=asyncio.FIRST_COMPLETED)
            for task in (transmitting, playing, stopped):
                task.cancel()
    finally:
        await outlet.close()
