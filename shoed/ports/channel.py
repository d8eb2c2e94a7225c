"""The ends of the secure channel of Open Shoe on a line: bytes with their moments, framed and checked by `shoed.wire`.

Theory of operation: what the other end said in its session comes out as plain frames, each with the moment of its last
byte on the line. All else comes out as `Dropped`, with the reason: noise, too, because two pieces of noise must never
meet as a frame where plain frames are read.
"""

from firmware_protocols.family import Direction, Malformed
from firmware_protocols.open_shoe.channel import DeviceEnd, HostEnd
from firmware_protocols.open_shoe.codec import seal, unwrap
from firmware_protocols.open_shoe.layout import FRAMING
from shoed import wire
from shoed.now import Chunk, Now
from shoed.ports.keyed import TORN_AFTER_MS, Dropped
from shoed.wire import Frame, LineState, Rejected


class Bodies:
    """The frames of one direction, as they come."""

    def __init__(self, torn_after_ms: int = TORN_AFTER_MS) -> None:
        self.direction = Direction(FRAMING, torn_after_ms, unwrap)
        self.line = LineState()

    def take(self, chunk: Chunk) -> tuple[Frame[bytes] | Rejected, ...]:
        self.line, found = wire.receive(self.direction, self.line, chunk)
        return found

    def end(self, at: Now) -> tuple[Rejected, ...]:
        self.line, found = wire.end(self.direction, self.line, at)
        return found


def bodies_in(data: bytes) -> list[bytes]:
    """Those of plain frames that are whole."""
    return [each.message for each in Bodies().take(Chunk(data, Now(0, 0))) if isinstance(each, Frame)]


def dropped(rejected: Rejected) -> Dropped:
    return Dropped(rejected.raw, rejected.at, rejected.reason, rejected.detail)


class HostChannel:
    """The host's end."""

    def __init__(self, end: HostEnd, torn_after_ms: int = TORN_AFTER_MS) -> None:
        self.end = end
        self.bodies = Bodies(torn_after_ms)

    def hear(self, chunk: Chunk) -> list[Chunk | Dropped]:
        """Plain frames of the device, and what is dropped, in the order of the line."""
        results: list[Chunk | Dropped] = []
        said = b""
        for each in self.bodies.take(chunk):
            heard = dropped(each) if isinstance(each, Rejected) else self.heard(each)
            if isinstance(heard, bytes):
                said += heard
                continue
            if said:
                results.append(Chunk(said, chunk.at, chunk.late_ns))
            results.append(heard)
            said = b""
        return [*results, Chunk(said, chunk.at, chunk.late_ns)] if said else results

    def heard(self, frame: Frame[bytes]) -> bytes | Dropped:
        """The plain frame; empty, if the frame was of the channel itself."""
        heard = self.end.hear(frame.message, frame.at.mono_ns)
        if isinstance(heard, Malformed):
            return Dropped(frame.raw, frame.at, heard.reason, heard.detail)
        return b"" if heard is None else seal(heard)

    def say(self, data: bytes, at: Now) -> bytes:
        """Plain frames of the host, as they go out."""
        for body in bodies_in(data):
            self.end.say(body, at.mono_ns)
        return self.end.data_to_send()

    def say_parts(self, data: bytes, at: Now) -> bytes:
        """The same, and what is not a whole frame as it is: for who tests a device."""
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
    """The device's end."""

    def __init__(self, end: DeviceEnd) -> None:
        self.end = end
        self.bodies = Bodies()

    def hear(self, chunk: Chunk) -> list[tuple[bytes, bool]]:
        """The plain frames of the host, each with whether a session begins with it."""
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
