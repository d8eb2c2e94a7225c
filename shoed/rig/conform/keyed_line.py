"""The line to a device with a key: it seals the bytes of a check and opens the bytes of the device.

Theory of operation: the checks use it instead of the plain line, and it uses the plain line. The checks of the secure
channel also need the plain line: `raw` sends bytes unchanged, and `outside` has each body that was not sealed.
"""

from typing import Final

from firmware_protocols.open_shoe.channel import OF_DEVICE, WRONG_PROOF, Cipher, HostEnd, RandomBytes
from shoed.model.moments import Chunk, Now
from shoed.ports.channel import Bodies, HostChannel
from shoed.ports.keyed import Dropped
from shoed.rig.conform.line import NS_PER_S, DeviceLine, LineGone
from shoed.wire import Frame

SESSION_S: Final = 3.0  # until a session is established
ANOTHER_KEY: Final = "the key of the device is not the key in key_file; store the same key in both"
NO_RESPONSE: Final = "the device does not answer CHALLENGE; check that it has a key, and both directions of the line"


class KeyedLine:
    def __init__(self, line: DeviceLine, key: bytes, cipher: Cipher, draw: RandomBytes) -> None:
        self.line = line
        self.key = key
        self.cipher = cipher
        self.draw = draw
        self.outside: list[bytes] = []  # bodies that were not sealed
        self.dropped: list[Dropped] = []
        self.last = b""  # the last frame of the host
        self.begin()

    def begin(self) -> None:
        self.bodies = Bodies()
        self.channel = HostChannel(HostEnd(self.cipher, self.key, self.draw, self.line.now_ns()))
        self.sent()

    def sent(self) -> None:
        if data := self.channel.end.data_to_send():
            self.line.send(data)

    def establish(self) -> None:
        """Wait until a session is established."""
        until_ns = self.line.now_ns() + round(SESSION_S * NS_PER_S)
        while not self.channel.end.is_open:
            if self.line.now_ns() >= until_ns:
                wrong = any(WRONG_PROOF in each.detail for each in self.dropped)
                raise LineGone(ANOTHER_KEY if wrong else NO_RESPONSE)
            self.plain_chunks(until_ns)

    # --- the line that the checks see

    def now_ns(self) -> int:
        return self.line.now_ns()

    def send(self, data: bytes) -> None:
        self.last = self.sealed(data)
        self.line.send(self.last)

    def sealed(self, data: bytes) -> bytes:
        return self.channel.say_parts(data, self.at())

    def at(self) -> Now:
        return Now(self.now_ns() // 1000, self.now_ns())

    def receive(self, until_ns: int) -> Chunk | None:
        while True:
            plain = self.plain_chunks(until_ns)
            if plain:
                return Chunk(b"".join(each.data for each in plain), plain[-1].at)
            if self.now_ns() >= until_ns:
                return None

    def plain_chunks(self, until_ns: int) -> list[Chunk]:
        """The bytes that the device sent inside the channel, up to this moment."""
        end = self.channel.end
        chunk = self.line.receive(min(until_ns, max(end.wake_at(), self.now_ns())))
        found: list[Chunk | Dropped] = []
        if chunk is not None:
            self.listen(chunk)
            found = self.channel.hear(chunk)
        end.pass_time(self.now_ns())
        self.sent()
        self.dropped += [each for each in found if isinstance(each, Dropped)]
        return [each for each in found if isinstance(each, Chunk)]

    def listen(self, chunk: Chunk) -> None:
        for each in self.bodies.take(chunk):
            if isinstance(each, Frame) and not each.message.startswith(OF_DEVICE):
                self.outside.append(each.message)

    def cut(self) -> None:
        self.line.cut()

    def open(self) -> None:
        self.line.open()
        self.begin()
        self.establish()

    def power(self) -> bool:
        return self.line.power()

    def cause(self, count: int) -> bool:
        return self.line.cause(count)

    def ask(self, text: str) -> None:
        self.line.ask(text)

    # --- below the channel

    def reopen_without_session(self) -> None:
        """Cut and open the line. The host begins no session until `open`."""
        self.line.cut()
        self.line.open()
        self.bodies = Bodies()

    def pass_time(self, seconds: float) -> None:
        """Let time pass. Frames of the device are only added to `outside`."""
        until_ns = self.now_ns() + round(seconds * NS_PER_S)
        while self.now_ns() < until_ns:
            if (chunk := self.line.receive(until_ns)) is not None:
                self.listen(chunk)

    def raw(self, data: bytes) -> None:
        """Send bytes unchanged."""
        self.line.send(data)
