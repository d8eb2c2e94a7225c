"""A device and the host that tests it, joined in virtual time; a byte takes no time."""

from collections.abc import Callable
from itertools import cycle
from random import Random
from typing import Final, cast

from msgspec.structs import replace

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.channel import DeviceEnd
from firmware_protocols.open_shoe.messages import FaultChanged, Reported, Role
from shoed.conform.checks import Outcome, Verdict, run
from shoed.conform.host import Host
from shoed.conform.line import Limits, Line
from shoed.now import Chunk, Now
from shoed.ports.channel import DeviceChannel
from shoed.ports.cipher import Aes
from shoed.rig.device import Deed
from shoed.rig.open_shoe import OpenShoeDevice as RigDevice
from shoed.session.open_shoe_device import DeviceState, Identity, OpenShoeDevice
from shoed.session.open_shoe_stream import BOOTS

STREAM: Final = 0xA1B2C3D4
FAULT: Final = 1
WAY_NS: Final = 1_000_000  # of what a host says
AFRESH: Final = 0x01000193  # from one stream's id to the next


class VirtualLine:
    def __init__(self, role: OpenShoeDevice, *, first: int = 1, power: bool = True, command: bool = False) -> None:
        self.role = role
        self.has_power = power
        self.command = command
        self.at_ns = 10**9
        self.state = role.begin(STREAM)
        self.state = start_at(self.state, first)
        self.coming = b""
        self.asked: list[str] = []
        self.is_open = False
        self.open()

    @property
    def now(self) -> Now:
        return Now(self.at_ns // 1000, self.at_ns)

    def said(self, out: bytes) -> None:
        if self.is_open:
            self.coming += out

    def now_ns(self) -> int:
        return self.at_ns

    def send(self, data: bytes) -> None:
        self.at_ns += WAY_NS
        self.state, out = self.role.hear(self.state, Chunk(data, self.now))
        self.said(out)

    def receive(self, until_ns: int) -> Chunk | None:
        while not self.coming and (due_ns := self.role.wake_at(self.state)) <= until_ns:
            self.at_ns = max(self.at_ns, due_ns)
            self.state, out = self.role.hear(self.state, Chunk(b"", self.now))
            self.said(out)
        if not self.coming:
            self.at_ns = max(self.at_ns, until_ns)
            return None
        data, self.coming = self.coming, b""
        return Chunk(data, self.now)

    def cut(self) -> None:
        self.is_open, self.coming = False, b""

    def open(self) -> None:
        self.is_open = True
        self.state, out = self.role.opened(self.state, self.now)
        self.said(out)

    def power(self) -> bool:
        if self.has_power:
            self.coming = b""
            boot = (self.state.store.boot + AFRESH) % BOOTS
            anew = self.role.begin((self.state.store.stream + AFRESH) % (1 << 32))
            self.state = self.role.powered(anew, self.now, boot)
            self.state, out = self.role.opened(self.state, self.now)
            self.said(out)
        return self.has_power

    def cause(self, count: int) -> bool:
        if self.command:
            for _ in range(count):
                raised = not self.state.faults
                self.state, out = self.role.say(self.state, FaultChanged(FAULT, raised, blocking=False), self.now)
                self.said(out)
        return self.command

    def ask(self, text: str) -> None:
        self.asked.append(text)


KEY: Final = bytes(range(16))


class KeyedDeviceLine(VirtualLine):
    """The device has a key: all that it says and hears is in the secure channel."""

    def __init__(self, role: OpenShoeDevice, end: type[DeviceEnd] = DeviceEnd) -> None:
        self.end = end(Aes(), KEY, Random(1).randbytes)
        self.channel = DeviceChannel(self.end)
        super().__init__(role)

    def said(self, out: bytes) -> None:
        self.channel.say(out, self.now)
        super().said(self.end.data_to_send())

    def send(self, data: bytes) -> None:
        self.at_ns += WAY_NS
        for plain, begins in self.channel.hear(Chunk(data, self.now)):
            if begins:
                self.state, out = self.role.opened(self.state, self.now)
                self.said(out)
            self.state, out = self.role.hear(self.state, Chunk(plain, self.now))
            self.said(out)
        self.said(b"")

    def open(self) -> None:
        self.is_open = True
        self.end.opened(self.at_ns)
        self.said(b"")

    def power(self) -> bool:
        super().power()
        self.coming = b""
        self.open()
        return self.has_power


class RigLine(VirtualLine):
    """The virtual device of the rig, to which these deeds happen again and again."""

    def __init__(self, device: RigDevice, deeds: tuple[Deed, ...]) -> None:
        self.rig = device
        self.happening = (said.report for deed in cycle(deeds) for said in device.does(deed))
        super().__init__(device.role)

    def cause(self, count: int) -> bool:
        for _ in range(count):
            self.rig.state = self.state
            said = cast("Reported", next(self.happening))
            self.state, out = self.role.say(self.state, said, self.now)
            self.said(out)
        return True


def start_at(state: DeviceState, first: int) -> DeviceState:
    return replace(state, store=replace(state.store, next=first))


Made = Callable[..., OpenShoeDevice]


def device(kind: Made = OpenShoeDevice, role: Role = Role.SHOE, version: int = 1, room: int = 1024) -> OpenShoeDevice:
    identity = Identity("Acme", "S1", "0042", "1.0")
    return kind(OpenShoeSettings(role=role), version=version, room=room, identity=identity)


WHOLE: Final = Limits(most_reports=2100)  # all that a device of 1024 reports allows


def results(line: Line, limits: Limits = WHOLE, *only: str) -> dict[str, Outcome]:
    return {each.clause.name: each for each in run(Host(line, limits), only)}


def failed(outcomes: dict[str, Outcome]) -> dict[str, str]:
    return {name: each.detail for name, each in outcomes.items() if each.verdict is Verdict.FAILED}
