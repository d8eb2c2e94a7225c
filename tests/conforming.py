"""A device and the host that tests it, connected in virtual time; a byte arrives immediately."""

from collections.abc import Callable
from itertools import cycle
from random import Random
from typing import Final, cast

from msgspec.structs import replace

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.channel import DeviceEnd
from firmware_protocols.open_shoe.messages import FaultChanged, OpenShoeRole, ReportBody
from shoed.model.moments import Chunk, Now
from shoed.ports.channel import DeviceChannel
from shoed.ports.cipher import Aes
from shoed.rig.conform.checks import ClauseResult, ClauseVerdict, run
from shoed.rig.conform.host import Host
from shoed.rig.conform.line import ConformTimeLimits, DeviceLine
from shoed.rig.device import Action
from shoed.rig.open_shoe import VirtualOpenShoe as RigDevice
from shoed.session.open_shoe_device import DeviceState, OpenShoeDeviceSession, OpenShoeIdentity
from shoed.session.open_shoe_stream import BOOTS

STREAM: Final = 0xA1B2C3D4
FAULT: Final = 1
WAY_NS: Final = 1_000_000  # the delay of a request
NEXT_STREAM: Final = 0x01000193  # the difference between the ids of two streams


class VirtualLine:
    def __init__(
        self, role: OpenShoeDeviceSession, *, first: int = 1, power: bool = True, command: bool = False
    ) -> None:
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

    def deliver(self, out: bytes) -> None:
        if self.is_open:
            self.coming += out

    def now_ns(self) -> int:
        return self.at_ns

    def send(self, data: bytes) -> None:
        self.at_ns += WAY_NS
        self.state, out = self.role.hear(self.state, Chunk(data, self.now))
        self.deliver(out)

    def receive(self, until_ns: int) -> Chunk | None:
        while not self.coming and (due_ns := self.role.wake_at(self.state)) <= until_ns:
            self.at_ns = max(self.at_ns, due_ns)
            self.state, out = self.role.hear(self.state, Chunk(b"", self.now))
            self.deliver(out)
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
        self.deliver(out)

    def power(self) -> bool:
        if self.has_power:
            self.coming = b""
            boot = (self.state.store.boot + NEXT_STREAM) % BOOTS
            renewed = self.role.begin((self.state.store.stream + NEXT_STREAM) % (1 << 32))
            self.state = self.role.powered(renewed, self.now, boot)
            self.state, out = self.role.opened(self.state, self.now)
            self.deliver(out)
        return self.has_power

    def cause(self, count: int) -> bool:
        if self.command:
            for _ in range(count):
                raised = not self.state.faults
                self.state, out = self.role.say(self.state, FaultChanged(FAULT, raised, blocking=False), self.now)
                self.deliver(out)
        return self.command

    def ask(self, text: str) -> None:
        self.asked.append(text)


KEY: Final = bytes(range(16))


class KeyedDeviceLine(VirtualLine):
    """The device has a key: it sends and receives all frames in the secure channel."""

    def __init__(self, role: OpenShoeDeviceSession, end: type[DeviceEnd] = DeviceEnd) -> None:
        self.end = end(Aes(), KEY, Random(1).randbytes)
        self.channel = DeviceChannel(self.end)
        super().__init__(role)

    def deliver(self, out: bytes) -> None:
        self.channel.say(out, self.now)
        super().deliver(self.end.data_to_send())

    def send(self, data: bytes) -> None:
        self.at_ns += WAY_NS
        for plain, begins in self.channel.hear(Chunk(data, self.now)):
            if begins:
                self.state, out = self.role.opened(self.state, self.now)
                self.deliver(out)
            self.state, out = self.role.hear(self.state, Chunk(plain, self.now))
            self.deliver(out)
        self.deliver(b"")

    def open(self) -> None:
        self.is_open = True
        self.end.opened(self.at_ns)
        self.deliver(b"")

    def power(self) -> bool:
        super().power()
        self.coming = b""
        self.open()
        return self.has_power


class RigLine(VirtualLine):
    """The virtual device of the rig, with a cycle of these actions."""

    def __init__(self, device: RigDevice, deeds: tuple[Action, ...]) -> None:
        self.rig = device
        self.happening = (output.report for deed in cycle(deeds) for output in device.perform(deed))
        super().__init__(device.role)

    def cause(self, count: int) -> bool:
        for _ in range(count):
            self.rig.state = self.state
            body = cast("ReportBody", next(self.happening))
            self.state, out = self.role.say(self.state, body, self.now)
            self.deliver(out)
        return True


def start_at(state: DeviceState, first: int) -> DeviceState:
    return replace(state, store=replace(state.store, next=first))


Made = Callable[..., OpenShoeDeviceSession]


def device(
    kind: Made = OpenShoeDeviceSession, role: OpenShoeRole = OpenShoeRole.SHOE, version: int = 1, room: int = 1024
) -> OpenShoeDeviceSession:
    identity = OpenShoeIdentity("Acme", "S1", "0042", "1.0")
    return kind(OpenShoeSettings(role=role), version=version, room=room, identity=identity)


WHOLE: Final = ConformTimeLimits(most_reports=2100)  # enough for a device with room for 1024 reports


def results(line: DeviceLine, limits: ConformTimeLimits = WHOLE, *only: str) -> dict[str, ClauseResult]:
    return {each.clause.name: each for each in run(Host(line, limits), only)}


def failed(outcomes: dict[str, ClauseResult]) -> dict[str, str]:
    return {name: each.detail for name, each in outcomes.items() if each.verdict is ClauseVerdict.FAILED}
