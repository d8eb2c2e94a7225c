"""A family's decoder and its session under a fuzzer: every law that holds for any input is tried at each."""

from collections.abc import Iterator
from typing import Final

import msgspec

from firmware_protocols.family import Direction, Reason
from shoed import wire
from shoed.commands import Author, StartShoe
from shoed.now import Chunk, Now
from shoed.observations import DeviceDoubt, OrderAnswered
from shoed.rig.conformance import codec, sessions
from shoed.rig.conformance.subject import CONFIGURED, Result, Subject
from shoed.rig.golden import PORT
from shoed.session import Heard, Session, SessionState
from shoed.session.families import AnyDriver
from shoed.step import AnyInput, DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered, Received, Told, Woken
from shoed.wire import Frame, LineState
from shoed.words import Role
from tests.fuzz.lines import Line
from tests.fuzz.source import Source

START: Final = Now(1_750_000_000_000_000, 1_000_000_000_000)
FLOOD: Final = 1024  # bytes, of the same over and over
LARGEST_STATE: Final = 16 * 1024  # twice what the order of a delivered set takes; floods that were kept would be more
LONGEST_STEP: Final = 50  # the power of two, in nanoseconds, that time goes on at once: thirteen days
MOST_OF_A_BYTE: Final = 4  # observations that one byte can give: it ends a frame, and several things follow from it
MOST_OF_AN_INPUT: Final = 8  # that follow from no byte
TOLD: Final = Told(StartShoe(), Author("", Role.DEALER), "1")


def later(now: Now, source: Source) -> Now:
    passed_ns = 1 << source.byte() % LONGEST_STEP
    return Now(now.utc_us + passed_ns // 1000, now.mono_ns + passed_ns)


class Decoder:
    """One direction of a family: each byte comes out once, as what is declared or with its reason."""

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
        state, now, came, out = LineState(), START, b"", b""
        while source:
            piece = self.line.said(source, direction, settings)
            now = later(now, source)
            came += piece
            state, found = wire.receive(direction, state, Chunk(piece, now))
            out += self.judged(subject, direction, found)
            longest = max(2 + kind.body_max + kind.trailer for kind in direction.framing.kinds)
            assert len(state.pending) <= longest, f"{len(state.pending)} bytes are kept"
            assert out + state.pending == came, "not every byte came out once"
        _, rest = wire.end(direction, state, now)
        assert out + self.judged(subject, direction, rest) == came, "the end of the link kept something"

    def judged(self, subject: Subject, direction: Direction[object], found: tuple[Result, ...]) -> bytes:
        for each in found:
            codec.judge(subject, direction, each, (object,) if self.orders else self.driver.family.messages)
        return b"".join(each.raw for each in found)


class Sitting:
    """A session, in the middle of whatever can happen to it."""

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
        for came in self.next():
            before, encoded = self.state, msgspec.json.encode(self.state)
            self.state, heard = self.session.step(before, came, self.now)
            self.check(came, heard)
            assert msgspec.json.encode(before) == encoded, "the state that was given has changed"

    def next(self) -> Iterator[AnyInput]:
        match self.source.byte() % 13:
            case 0 | 1 | 2 | 3:
                yield Received(self.line.said(self.source, self.reports, self.settings))
            case 12:
                said = self.line.said(self.source, self.reports, self.settings)
                yield Received((said * (1 + self.source.byte()))[:FLOOD])
            case 4:
                self.now = later(self.now, self.source)
            case 5:
                yield LinkUp(PORT)
            case 6:
                yield LinkDown("gone")
            case 7:
                yield CONFIGURED
            case 8:  # a daemon of another boot, whose clock begins anew
                self.state = self.subject.restored(self.session, self.state)
                self.now = Now(self.now.utc_us, self.source.byte())
                yield CONFIGURED
            case 9:
                yield Ordered(DeviceOrder(self.source.among(tuple(DeviceOrderKind)), self.source.byte()))
            case 10:
                yield TOLD
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
        assert named is None or named > self.now.mono_ns, "woken, it named a moment that is over"

    def check(self, came: AnyInput, heard: Heard) -> None:
        size = len(msgspec.json.encode(self.state))
        assert size <= LARGEST_STATE, f"the state has {size} bytes"
        sessions.tell_of_link(self.subject, came, heard)
        bytes_come = len(came.data) if isinstance(came, Received) else 0
        counted = len(Reason) + len(DeviceDoubt)  # each reason of rejections and doubts, at once
        most = MOST_OF_AN_INPUT + counted + MOST_OF_A_BYTE * bytes_come
        assert len(heard.observations) <= most, f"{len(heard.observations)} observations of {bytes_come} bytes"
        msgspec.json.encode(heard.observations)  # as the journal has to
        listens = self.settings == self.settings.listening()
        assert not (heard.sends and listens) or self.allowed, "it sent where orders are not allowed"
        orders = self.driver.family.orders(self.settings)
        for sent in heard.sends:
            found = self.subject.hear(orders, [sent])
            assert found, "it sent nothing"
            assert all(isinstance(each, Frame) for each in found), f"it sent what no device reads: {sent.hex(' ')}"
        if isinstance(came, Ordered) and not heard.sends:
            assert any(isinstance(seen, OrderAnswered) for seen in heard.observations), "an order without an answer"


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
