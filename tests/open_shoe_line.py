"""Both ends of an Open Shoe, and a very bad line between them.

The tests advance the time. The host's state is written to JSON and read before every input, as a checkpoint
is, so that a kill returns to the state before the commit, or loses the sends of a step.
"""

from random import Random
from typing import Final

import msgspec
from msgspec.structs import replace

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.layout import FACES
from firmware_protocols.open_shoe.messages import OpenShoeCard, OpenShoePlace, ReportBody
from shoed.model.moments import Chunk, Now
from shoed.model.observations import AnyObservation, CardSeen, Resumed, SequenceJumped
from shoed.model.step import AnyInput, Configured, LinkDown, LinkUp, Received, Woken
from shoed.session.open_shoe import OpenShoeSession, OpenShoeState
from shoed.session.open_shoe_device import DeviceState, OpenShoeDeviceSession, OpenShoeIdentity
from shoed.session.open_shoe_stream import DeviceStore, Intake

MS: Final = 1_000_000
START: Final = Now(1_700_000_000_000_000, 5_000 * MS)
PORT: Final = "serial:///dev/shoe"
A: Final = 0xA1B2C3D4  # the stream of the page
ACME: Final = OpenShoeIdentity("Acme", "S1", "0042", "1.0")
LISTENING: Final = OpenShoeSettings().listening()


def numbered(number: int) -> OpenShoeCard:
    """A card with its own passage, which distinguishes it from all other cards."""
    return OpenShoeCard(FACES[number % len(FACES)], OpenShoePlace.DEALT, 0, 50_000 + number)


def number_of(seen: CardSeen) -> int:
    assert seen.edges is not None
    return seen.edges.trailing_us - seen.edges.leading_us - 50_000


class Clock:
    def __init__(self) -> None:
        self.ms = 0.0

    @property
    def now(self) -> Now:
        return Now(START.utc_us + round(self.ms * 1000), START.mono_ns + round(self.ms * MS))


class Device:
    def __init__(self, clock: Clock, *, role: str = "shoe", version: int = 1, first: int = 1, room: int = 1024) -> None:
        self.clock = clock
        self.role = OpenShoeDeviceSession(OpenShoeSettings().for_role(role), version=version, room=room, identity=ACME)
        self.state = DeviceState(DeviceStore(A, version, room, next=first))
        self.since_ns = 0  # the start of its clock

    @property
    def now(self) -> Now:
        now = self.clock.now
        return Now(now.utc_us, now.mono_ns - self.since_ns)

    def open(self) -> bytes:
        self.state, out = self.role.opened(self.state, self.now)
        return out

    def say(self, body: ReportBody) -> bytes:
        self.state, out = self.role.say(self.state, body, self.now)
        return out

    def hear(self, data: bytes = b"") -> bytes:
        self.state, out = self.role.hear(self.state, Chunk(data, self.now))
        return out

    def restart(self, boot: int | None = None) -> None:
        """The device keeps its memory without power; `boot` replaces its count of power-ups."""
        self.state = self.role.powered(self.state, self.now, boot)

    def lose_power(self, stream: int, *, clock_too: bool = False, boot: int = 0) -> None:
        """The device loses its power and its memory."""
        self.state = self.role.powered(self.role.begin(stream), self.now, boot)
        if clock_too:
            self.since_ns = self.clock.now.mono_ns


class Host:
    def __init__(
        self,
        clock: Clock,
        settings: OpenShoeSettings | None = None,
        *,
        role: str = "shoe",
        allow_orders: bool = False,
        intake: Intake | None = None,
    ) -> None:
        self.clock = clock
        settings = (settings or OpenShoeSettings()).for_role(role)
        self.session = OpenShoeSession(settings, allow_orders=allow_orders)
        self.state = replace(self.session.begin(), intake=intake or Intake())
        self.seen: list[AnyObservation] = []

    def take(self, incoming: AnyInput) -> bytes:
        state = msgspec.json.decode(msgspec.json.encode(self.state), type=OpenShoeState)
        self.state, heard = self.session.step(state, incoming, self.clock.now)
        self.seen += heard.observations
        return b"".join(heard.sends)

    def hear(self, data: bytes) -> bytes:
        return self.take(Received(data))

    def hears(self, data: bytes) -> list[AnyObservation]:
        """The observations of these bytes, without the answers."""
        before = len(self.seen)
        self.take(Received(data))
        return self.seen[before:]

    def killed(self, data: bytes, *, committed: bool) -> None:
        """A kill during this input loses the sends; before the commit, it also loses the accepted reports."""
        state, seen = self.state, len(self.seen)
        self.take(Received(data))
        if not committed:
            self.state = state
            del self.seen[seen:]

    def restarted(self) -> bytes:
        self.take(Configured("{}", 3, "1"))
        return self.take(LinkUp(PORT))


class Worn:
    """A line that loses, doubles, flips and swaps one byte in `every`, and cuts chunks anywhere."""

    def __init__(self, dice: Random, every: float) -> None:
        self.dice = dice
        self.every = every

    def carry(self, data: bytes) -> list[bytes]:
        carried = bytearray()
        for byte in data:
            carried += self.worn(byte) if self.every and self.dice.random() < 1 / self.every else bytes((byte,))
        for at in range(len(carried) - 1):
            if self.every and self.dice.random() < 0.1 / self.every:
                carried[at], carried[at + 1] = carried[at + 1], carried[at]
        cuts = sorted(self.dice.randrange(len(carried) + 1) for _ in range(self.dice.randrange(4)))
        ends = zip([0, *cuts], [*cuts, len(carried)], strict=True)
        return [bytes(carried[start:end]) for start, end in ends if end > start]

    def worn(self, byte: int) -> bytes:
        return bytes(self.dice.choice(((), (byte ^ 1 << self.dice.randrange(8),), (byte, byte))))


class Table:
    """A device, a host, and a line: bytes on the line arrive with the next tick."""

    def __init__(self, seed: str, every: float, device: Device, host: Host) -> None:
        self.dice = Random(seed)
        self.line = Worn(self.dice, every)
        self.clock, self.device, self.host = device.clock, device, host
        self.up, self.down = b"", b""
        self.plugged = True
        self.kill: bool | None = None  # whether the next bytes kill the host before or after the commit
        self.connect()

    def connect(self) -> None:
        self.up += self.device.open()
        self.down += self.host.take(LinkUp(PORT))

    def pull(self, *, seen: bool) -> None:
        """Pull the cable: the host detects it, or the cut is beyond a device server."""
        self.plugged = False
        if seen:
            self.host.take(LinkDown("the cable was pulled"))
            self.up, self.down = b"", b""

    def plug(self) -> None:
        self.plugged = True
        if self.host.state.line is None:
            self.down += self.host.take(LinkUp(PORT))

    def say(self, body: ReportBody) -> None:
        self.up += self.device.say(body)

    def tick(self, ms: float = 20) -> None:
        self.clock.ms += ms
        up, down, self.up, self.down = self.up, self.down, b"", b""
        if self.plugged:
            for part in self.line.carry(up):
                self.arrived(part)
            for part in self.line.carry(down):
                self.up += self.device.hear(part)
        self.up += self.device.hear()
        due = self.host.session.wake_at(self.host.state)
        if due is not None and self.clock.now.mono_ns >= due:
            self.down += self.host.take(Woken())

    def arrived(self, part: bytes) -> None:
        if self.kill is None:
            self.down += self.host.hear(part)
            return
        self.host.killed(part, committed=self.kill)
        self.down = self.host.restarted()
        self.kill = None

    def settle(self, ticks: int = 2000) -> None:
        self.line.every = 0
        self.plug()
        for _ in range(ticks):
            self.tick()

    @property
    def cards(self) -> list[int]:
        return [number_of(each) for each in self.host.seen if isinstance(each, CardSeen)]


def unproven(seen: list[AnyObservation]) -> list[AnyObservation]:
    """The observations that record a loss."""
    return [
        each for each in seen if isinstance(each, SequenceJumped) or (isinstance(each, Resumed) and not each.proven)
    ]


def losses_on_record(seen: list[AnyObservation], last: int = -1) -> bool:
    """Cards are in order and unique, and between two cards with a gap there is an observation of the loss."""
    recorded = False
    for each in seen:
        if isinstance(each, CardSeen):
            number = number_of(each)
            if number <= last or (number > last + 1 and not recorded):
                return False
            last, recorded = number, False
        else:
            recorded = recorded or bool(unproven([each]))
    return True
