"""The ends of the secure channel of Open Shoe on a line: bytes with their moments, framed and checked by `shoed.wire`.

Theory of operation: the frames that the other end sealed in its session become plain frames, each with the moment of
its last byte on the line. All other bytes become `Dropped`, with the reason. Noise is dropped here, too, because a
reader of plain frames could take two pieces of noise for one frame.
"""

from firmware_protocols.family import Codec, Malformed
from firmware_protocols.open_shoe.channel import DeviceEnd, HostEnd
from firmware_protocols.open_shoe.codec import seal, unwrap
from firmware_protocols.open_shoe.layout import FRAMING
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.ports.keyed import TORN_AFTER_MS, Dropped
from shoed.wire import Frame, LineState, Rejected


class Bodies:
    """The frames of one direction, in the order of the line."""

    def __init__(self, torn_after_ms: int = TORN_AFTER_MS) -> None:
        self.direction = Codec(FRAMING, torn_after_ms, unwrap)
        self.line = LineState()

    def take(self, chunk: Chunk) -> tuple[Frame[bytes] | Rejected, ...]:
        self.line, found = wire.receive(self.direction, self.line, chunk)
        return found

    def end(self, at: Now) -> tuple[Rejected, ...]:
        self.line, found = wire.end(self.direction, self.line, at)
        return found


def bodies_in(data: bytes) -> list[bytes]:
    """The bodies of the whole plain frames in these bytes."""
    return [each.message for each in Bodies().take(Chunk(data, Now(0, 0))) if isinstance(each, Frame)]


def dropped(rejected: Rejected) -> Dropped:
    return Dropped(rejected.raw, rejected.at, rejected.reason, rejected.detail)


class HostChannel:
    """The end of the host."""

    def __init__(self, end: HostEnd, torn_after_ms: int = TORN_AFTER_MS) -> None:
        self.end = end
        self.bodies = Bodies(torn_after_ms)

    def hear(self, chunk: Chunk) -> list[Chunk | Dropped]:
        """The plain frames of the device, and the dropped bytes, in the order of the line."""
        results: list[Chunk | Dropped] = []
        plain = b""
        for each in self.bodies.take(chunk):
            heard = dropped(each) if isinstance(each, Rejected) else self.heard(each)
            if isinstance(heard, bytes):
                plain += heard
                continue
            if plain:
                results.append(Chunk(plain, chunk.at, chunk.late_ns))
            results.append(heard)
            plain = b""
        return [*results, Chunk(plain, chunk.at, chunk.late_ns)] if plain else results

    def heard(self, frame: Frame[bytes]) -> bytes | Dropped:
        """The plain frame; empty if the frame is a message of the channel itself."""
        heard = self.end.hear(frame.message, frame.at.mono_ns)
        if isinstance(heard, Malformed):
            return Dropped(frame.raw, frame.at, heard.reason, heard.detail)
        return b"" if heard is None else seal(heard)

    def say(self, data: bytes, at: Now) -> bytes:
        """Seal the plain frames of the host."""
        for body in bodies_in(data):
            self.end.say(body, at.mono_ns)
        return self.end.data_to_send()

    def say_parts(self, data: bytes, at: Now) -> bytes:
        """Seal the whole frames, and return all other bytes unchanged. Only the test of a device uses it."""
        parts, out = Bodies(), b""
        for each in parts.take(Chunk(data, at)):
            if isinstance(each, Frame):
                self.end.say(each.message, at.mono_ns)
                out += self.end.data_to_send()
            else:
                out += each.raw
        return out + parts.line.pending

    def close(self, at: Now) -> list[Dropped]:
        return [dropped(each) for each in self.bodies.end(at)]


class DeviceChannel:
    """The end of the device."""

    def __init__(self, end: DeviceEnd) -> None:
        self.end = end
        self.bodies = Bodies()

    def hear(self, chunk: Chunk) -> list[tuple[bytes, bool]]:
        """The plain frames of the host, and for each frame whether it establishes a session."""
        found = []
        for each in self.bodies.take(chunk):
            if isinstance(each, Frame):
                body, begins = self.end.hear(each.message, chunk.at.mono_ns)
                if body is not None or begins:
                    found.append((b"" if body is None else seal(body), begins))
        self.end.pass_time(chunk.at.mono_ns)
        return found

    def say(self, data: bytes, at: Now) -> None:
        for body in bodies_in(data):
            self.end.say(body, at.mono_ns)
