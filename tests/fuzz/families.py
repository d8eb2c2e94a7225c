"""A family's decoder and its session under a fuzzer: all laws that hold for any input are checked."""

from collections.abc import Iterator
from typing import Final

import msgspec

from firmware_protocols.family import Codec, Reason
from shoed import wire
from shoed.model.commands import Author, StartShoe
from shoed.model.irregularities import Role
from shoed.model.moments import Chunk, Now
from shoed.model.observations import DeviceDoubt, OrderAnswered
from shoed.model.step import (
    AnyInput,
    Commanded,
    DeviceOrder,
    DeviceOrderKind,
    LinkDown,
    LinkUp,
    Ordered,
    Received,
    Woken,
)
from shoed.rig.family_kit import codec, sessions
from shoed.rig.family_kit.subject import CONFIGURED, FrameOrRejection, Subject
from shoed.rig.golden import PORT
from shoed.session import Session, SessionOutput, SessionState
from shoed.session.families import AnyDriver
from shoed.wire import Frame, LineState
from tests.fuzz.lines import Line
from tests.fuzz.source import Source

START: Final = Now(1_750_000_000_000_000, 1_000_000_000_000)
FLOOD: Final = 1024  # bytes, with the same content repeated
LARGEST_STATE: Final = 16 * 1024  # twice the size of a delivered order; a stored flood would be larger
LONGEST_STEP: Final = 50  # the largest time step, as a power of two in nanoseconds: thirteen days
MOST_OF_A_BYTE: Final = 4  # the most observations of one byte, which may end a frame
MOST_OF_AN_INPUT: Final = 8  # the most observations that do not depend on a byte
COMMAND: Final = Commanded(StartShoe(), Author("", Role.DEALER), "1")


def later(now: Now, source: Source) -> Now:
    passed_ns = 1 << source.byte() % LONGEST_STEP
    return Now(now.utc_us + passed_ns // 1000, now.mono_ns + passed_ns)


class Decoder:
    """One direction of a family: each byte has exactly one place, in a declared message or in a rejection."""

    def __init__(self, driver: AnyDriver, *, orders: bool) -> None:
        self.driver = driver
        self.line = Line(driver)
        self.orders = orders

    def seeds(self) -> list[bytes]:
        return self.line.seeds(b"", lambda piece: piece + b"\0")

    def __call__(self, data: bytes) -> None:
        source = Source(data)
        settings = self.line.settings(source)
        family = self.driver.family
        direction = (family.orders if self.orders else family.reports)(settings)
        subject = Subject(self.driver)
        state, now, incoming, out = LineState(), START, b"", b""
        while source:
            piece = self.line.piece_of(source, direction, settings)
            now = later(now, source)
            incoming += piece
            state, found = wire.receive(direction, state, Chunk(piece, now))
            out += self.judged(subject, direction, found)
            longest = max(2 + kind.body_max + kind.trailer for kind in direction.framing.kinds)
            assert len(state.pending) <= longest, f"{len(state.pending)} bytes are pending"
            assert out + state.pending == incoming, "not every byte has exactly one place"
        _, rest = wire.end(direction, state, now)
        assert out + self.judged(subject, direction, rest) == incoming, "bytes are pending after the end of the link"

    def judged(self, subject: Subject, direction: Codec[object], found: tuple[FrameOrRejection, ...]) -> bytes:
        for each in found:
            codec.judge(subject, direction, each, (object,) if self.orders else self.driver.family.messages)
        return b"".join(each.raw for each in found)


class Sitting:
    """A session with any inputs in any order."""

    def __init__(self, driver: AnyDriver, line: Line, source: Source) -> None:
        self.subject = Subject(driver)
        self.driver = driver
        self.line = line
        self.source = source
        self.settings = line.settings(source)
        self.allowed = bool(source.byte() % 2)
        self.session: Session[SessionState] = driver.session(self.settings, allow_orders=self.allowed)
        self.reports = driver.family.reports(self.settings)
        self.now = START
        self.state = self.session.begin()

    def happen(self) -> None:
        for incoming in self.next():
            before, encoded = self.state, msgspec.json.encode(self.state)
            self.state, heard = self.session.step(before, incoming, self.now)
            self.check(incoming, heard)
            assert msgspec.json.encode(before) == encoded, "the step changed its input state"

    def next(self) -> Iterator[AnyInput]:
        match self.source.byte() % 13:
            case 0 | 1 | 2 | 3:
                yield Received(self.line.piece_of(self.source, self.reports, self.settings))
            case 12:
                data = self.line.piece_of(self.source, self.reports, self.settings)
                yield Received((data * (1 + self.source.byte()))[:FLOOD])
            case 4:
                self.now = later(self.now, self.source)
            case 5:
                yield LinkUp(PORT)
            case 6:
                yield LinkDown("gone")
            case 7:
                yield CONFIGURED
            case 8:  # a daemon after a reboot, which restarts the clock
                self.state = self.subject.restored(self.session, self.state)
                self.now = Now(self.now.utc_us, self.source.byte())
                yield CONFIGURED
            case 9:
                yield Ordered(DeviceOrder(self.source.among(tuple(DeviceOrderKind)), self.source.byte()))
            case 10:
                yield COMMAND
            case _:
                yield from self.wake()

    def wake(self) -> Iterator[AnyInput]:
        due = self.session.wake_at(self.state)
        if due is None:
            return
        passed_ns = max(0, due - self.now.mono_ns)
        self.now = Now(self.now.utc_us + passed_ns // 1000, self.now.mono_ns + passed_ns)
        yield Woken()
        named = self.session.wake_at(self.state)
        assert named is None or named > self.now.mono_ns, "after a waking the session named a moment that has passed"

    def check(self, incoming: AnyInput, heard: SessionOutput) -> None:
        size = len(msgspec.json.encode(self.state))
        assert size <= LARGEST_STATE, f"the state has {size} bytes"
        sessions.check_link(self.subject, incoming, heard)
        bytes_come = len(incoming.data) if isinstance(incoming, Received) else 0
        counted = len(Reason) + len(DeviceDoubt)  # one for each reason of rejections and doubts
        most = MOST_OF_AN_INPUT + counted + MOST_OF_A_BYTE * bytes_come
        assert len(heard.observations) <= most, f"{len(heard.observations)} observations of {bytes_come} bytes"
        msgspec.json.encode(heard.observations)  # the journal must encode them
        listens = self.settings == self.settings.listening()
        assert not (heard.sends and listens) or self.allowed, "the session sent bytes although orders are not allowed"
        orders = self.driver.family.orders(self.settings)
        for sent in heard.sends:
            found = self.subject.hear(orders, [sent])
            assert found, "the session sent no bytes"
            assert all(isinstance(each, Frame) for each in found), f"the session sent unreadable bytes: {sent.hex(' ')}"
        if isinstance(incoming, Ordered) and not heard.sends:
            assert any(isinstance(seen, OrderAnswered) for seen in heard.observations), "the order has no answer"


class SessionTarget:
    def __init__(self, driver: AnyDriver) -> None:
        self.driver = driver
        self.line = Line(driver)

    def seeds(self) -> list[bytes]:
        played = self.line.seeds(b"\0\5", lambda piece: b"\0" + piece + b"\4\x17")
        flooded = self.line.seeds(b"\0\5", lambda piece: (b"\x0c" + piece + b"\xff") * 12, captured=False)
        ordered = self.line.seeds(b"\1\5", lambda piece: b"\x09\0\0\0" + piece, captured=False)
        return [*played, *flooded, *ordered]

    def __call__(self, data: bytes) -> None:
        source = Source(data)
        sitting = Sitting(self.driver, self.line, source)
        while source:
            sitting.happen()
        sitting.subject.restored(sitting.session, sitting.state)
