"""The device that was written only from the page, at the other end of the line of a conform test."""

from firmware_protocols.open_shoe.messages import OpenShoeRole
from shoed.model.moments import Chunk, Now
from tests.foreign_open_shoe import Device

NS: int = 1_000_000_000


class ForeignLine:
    def __init__(self, role: OpenShoeRole, version: int) -> None:
        self.device = Device(role.value, version, room=1024)
        self.at_ns = NS
        self.coming = self.device.start(self.s)
        self.is_open = True
        self.raised = False

    @property
    def s(self) -> float:
        return self.at_ns / NS

    def deliver(self, out: bytes) -> None:
        self.coming += out if self.is_open else b""

    def now_ns(self) -> int:
        return self.at_ns

    def send(self, data: bytes) -> None:
        self.at_ns += NS // 1000
        self.deliver(self.device.hear(data, self.s))

    def receive(self, until_ns: int) -> Chunk | None:
        while not self.coming and self.device.due * NS <= until_ns:
            self.at_ns = max(self.at_ns, round(self.device.due * NS) + 1)
            self.deliver(self.device.tick(self.s))
        if not self.coming:
            self.at_ns = max(self.at_ns, until_ns)
            return None
        data, self.coming = self.coming, b""
        return Chunk(data, Now(self.at_ns // 1000, self.at_ns))

    def cut(self) -> None:
        self.is_open, self.coming = False, b""

    def open(self) -> None:
        self.is_open = True
        self.deliver(self.device.opened(self.s))

    def power(self) -> bool:
        self.coming = b""
        self.deliver(self.device.start(self.s))
        return True

    def cause(self, count: int) -> bool:
        """A shuffler has no exit: it reports a fault instead."""
        for _ in range(count if self.device.role == "shuffler" else 0):
            self.raised = not self.raised
            self.deliver(self.device.say("fault unreadable" if self.raised else "clear unreadable", self.s))
        return self.device.role == "shuffler"

    def ask(self, text: str) -> None:
        pass
