"""A virtual Angel Eye shoe: the device's half of the session, a dealer, and a line that takes its time.

Theory of operation: the dealer says what is drawn and when, the session's device role makes the bytes
and answers orders, the transmitter lets each byte out when a real line would have carried it, and the
outlet gives it to whoever listens. The moments are reckoned from the beginning of a burst, so that
late wakings never add up. Nothing is dealt while nobody listens, or while the shoe is locked.
"""

import asyncio
import random
import signal
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from firmware_protocols.angel_eye import FAMILY, AngelEyeSettings, Result
from firmware_protocols.family import Line
from shoed.now import Chunk
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.rig.dealer import Dealt, deal
from shoed.rig.outlets import Outlet, PtyOutlet, TcpOutlet
from shoed.session.angel_eye_shoe import AngelEyeShoe

OVERRUN_BYTES: Final = 4096  # so many unsaid: whoever floods the shoe with orders is not heard meanwhile

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
    """The shoe's one way out: answers and reports wait for each other here. Without a line nothing takes time."""

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


class VirtualShoe:
    def __init__(self, role: AngelEyeShoe, line: Line | None) -> None:
        self.role = role
        self.state = role.begin()
        self.transmitter = Transmitter(line)
        self.unlocked = asyncio.Event()
        self.unlocked.set()
        self.giving_up: asyncio.TimerHandle | None = None

    def heard(self, data: bytes) -> None:
        """Bytes of a host; none of them: time has passed."""
        if len(self.transmitter.waiting) > OVERRUN_BYTES:
            return
        chunk = Chunk(data, now())
        self.state, answer = self.role.hear(self.state, chunk)
        self.transmitter.send(answer)
        if self.state.locked:
            self.unlocked.clear()
        else:
            self.unlocked.set()
        if self.giving_up is not None:
            self.giving_up.cancel()
        due = self.role.wake_at(self.state)
        if due is not None:
            loop = asyncio.get_running_loop()
            self.giving_up = loop.call_later((due - chunk.at.mono_ns) / 1e9, self.heard, b"")

    async def deal(self, dealt: Iterator[Dealt], outlet: Outlet, rounds: int | None) -> None:
        """Say what is dealt when it is due; returns after so many rounds."""
        due_s = asyncio.get_running_loop().time()
        for pause_s, report in dealt:
            due_s = await self.pause(due_s, pause_s if self.transmitter.line else 0, outlet)
            self.state, said = self.role.say(self.state, report)
            self.transmitter.send(said)
            await self.transmitter.idle.wait()
            if isinstance(report, Result) and rounds is not None:
                rounds -= 1
                if not rounds:
                    return

    async def pause(self, from_s: float, pause_s: float, outlet: Outlet) -> float:
        """Wait until a report is due and somebody is there to hear it, and give the moment that it was due."""
        clock = asyncio.get_running_loop().time
        due_s = from_s + pause_s
        while True:
            if not (outlet.attended.is_set() and self.unlocked.is_set()):
                await outlet.attended.wait()
                await self.unlocked.wait()
                due_s = clock() + pause_s  # what was not dealt meanwhile is not made up for
            elif (left_s := due_s - clock()) > 0:
                await asyncio.sleep(left_s)
            else:
                return due_s


class Plan(NamedTuple):
    """What a person asked for."""

    place: TcpAddress | str  # of a listener, or the path of a pty's symlink
    seed: int
    decks: int
    rounds: int | None
    fast: bool


async def serve(plan: Plan, tell: Callable[[str], None]) -> None:
    """Be the shoe until its rounds are dealt or a signal ends it."""
    shoe = VirtualShoe(AngelEyeShoe(AngelEyeSettings()), None if plan.fast else FAMILY.line)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    outlet: TcpOutlet | PtyOutlet = (
        TcpOutlet(plan.place, shoe.heard, patient=plan.fast)
        if isinstance(plan.place, TcpAddress)
        else PtyOutlet(plan.place, shoe.heard)
    )
    try:
        await outlet.open()
        tell(f'{FAMILY.title}, seed {plan.seed}, at {outlet.at}; in [table.shoe] write: port = "{outlet.at}"')
        dealt = deal(random.Random(plan.seed), plan.decks)
        async with asyncio.TaskGroup() as tasks:
            transmitting = tasks.create_task(shoe.transmitter.run(outlet))
            dealing = tasks.create_task(shoe.deal(dealt, outlet, plan.rounds))
            stopped = tasks.create_task(stop.wait())
            await asyncio.wait((transmitting, dealing, stopped), return_when=asyncio.FIRST_COMPLETED)
            for task in (transmitting, dealing, stopped):
                task.cancel()
    finally:
        await outlet.close()
