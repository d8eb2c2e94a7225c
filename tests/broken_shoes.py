"""Open Shoe devices that each break one rule of the page, as firmware does, and the clauses that must name it."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from firmware_protocols.open_shoe import OpenShoeSettings, build, orders, reports
from firmware_protocols.open_shoe.codec import seal
from firmware_protocols.open_shoe.layout import VERSIONS
from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    Hello,
    Notice,
    Report,
    Requested,
    Resend,
    following,
)
from shoed import wire
from shoed.conform.watch import unescaped
from shoed.now import Chunk, Now
from shoed.session.open_shoe_device import DeviceState, OpenShoeDevice, Replies
from shoed.session.open_shoe_stream import NS_PER_MS, WINDOW, Store, steps
from shoed.wire import Frame, LineState

NOWHEN: Final = Now(0, 0)
Told = tuple[DeviceState, bytes]


def requests(data: bytes) -> list[Requested]:
    _, found = wire.receive(orders(OpenShoeSettings()), LineState(), Chunk(data, NOWHEN))
    return [each.message.said for each in found if isinstance(each, Frame)]


def frames(out: bytes) -> Iterator[tuple[bytes, Report | Notice]]:
    _, found = wire.receive(reports(OpenShoeSettings()), LineState(), Chunk(out, NOWHEN))
    yield from ((each.raw, each.message) for each in found if isinstance(each, Frame))


def without(out: bytes, kind: type) -> bytes:
    return b"".join(raw for raw, message in frames(out) if not isinstance(message.said, kind))


def stored(state: DeviceState, **changes: object) -> DeviceState:
    return replace(state, store=replace(state.store, **changes))


class ForgetsToResend(OpenShoeDevice):
    """It has no timer for what it has sent."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        state, out = super().hear(stored(state, repeat_ns=None), chunk)
        return stored(state, repeat_ns=None), out


class RenumbersCopies(OpenShoeDevice):
    """It numbers frames as they are sent, not reports as they are made."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        store = state.store
        if store.repeat_ns is not None and chunk.at.mono_ns >= store.repeat_ns:
            kept, number = [], store.next
            for each in store.kept:
                kept.append(Report(each.version, number, each.stream, each.clock_us, each.said))
                number = following(number)
            state = stored(state, kept=tuple(kept), next=number)
        return super().hear(state, chunk)


class StampsCopies(OpenShoeDevice):
    """Its clock is read when a frame is built."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        store = state.store
        if store.repeat_ns is not None and chunk.at.mono_ns >= store.repeat_ns:
            clock_us = chunk.at.mono_ns // 1000
            kept = (Report(each.version, each.sequence, each.stream, clock_us, each.said) for each in store.kept)
            state = replace(stored(state, kept=tuple(kept)), clock_us=clock_us)
        return super().hear(state, chunk)


class IgnoresTheWindow(OpenShoeDevice):
    """It sends each report when it is made."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        before = state.store.next
        state, out = super().hear(state, chunk)
        return state, out + unsent(state.store, before)


def unsent(store: Store, before: int) -> bytes:
    made = store.kept[-steps(before, store.next) :] if steps(before, store.next) else ()
    return b"".join(map(build, made)) if len(store.kept) > WINDOW else b""


class StopsAtTheWindow(OpenShoeDevice):
    """What did not fit into the window waits for the next repeat."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        state, out = super().hear(state, chunk)
        return state, without(out, object) if fits(state, chunk) else out


def fits(state: DeviceState, chunk: Chunk) -> bool:
    """Whether reports are kept, and some were acknowledged."""
    said = requests(chunk.data)
    kept = state.store.stream if state.store.kept else None
    return any(isinstance(each, Acknowledge) and each.stream == kept for each in said)


class AcceptsAnyAcknowledgement(OpenShoeDevice):
    """It takes `upto` as the newest number, and compares it with nothing."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        for said in requests(chunk.data):
            if isinstance(said, Acknowledge) and said.stream == state.store.stream:
                ahead = steps(state.store.oldest, said.upto)
                if len(state.store.kept) <= ahead < 1 << 15:
                    state = stored(state, kept=(), repeat_ns=None)
        return super().hear(state, chunk)


class AcknowledgesOneByOne(OpenShoeDevice):
    """An ACK counts only if it is of the oldest report."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        if any(isinstance(said, Acknowledge) and said.upto != state.store.oldest for said in requests(chunk.data)):
            return super().hear(state, Chunk(b"", chunk.at))
        return super().hear(state, chunk)


class ForgetsOverACut(OpenShoeDevice):
    """It clears its memory when a host connects."""

    def opened(self, state: DeviceState, now: Now) -> Told:
        return super().opened(stored(state, kept=(), repeat_ns=None), now)


class ChangesItsStream(OpenShoeDevice):
    """It begins a stream after twenty reports, and says HELLO only when it is asked."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        store = state.store
        if not store.kept and 20 < store.next < 1000 and b"\x83" in chunk.data:
            state = replace(state, store=Store(store.stream + 1, store.version, store.room, next=1000))
        return super().hear(state, chunk)


class StartsOver(OpenShoeDevice):
    """It begins a stream where nothing is kept after twenty reports, and says so to no one."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        kept = state.store.kept
        state, out = super().hear(state, chunk)
        store = state.store
        if kept and not store.kept and store.next > 20 and store.stream == self.first:
            state = replace(state, store=Store(store.stream + 1, store.version, store.room))
        return state, out

    def begin(self, stream_id: int) -> DeviceState:
        self.first = self.first or stream_id
        return super().begin(stream_id)

    first = 0


class NeverSaysHello(OpenShoeDevice):
    """It was written for a host that knows it."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        state, out = super().hear(state, chunk)
        return state, without(out, Hello)

    def opened(self, state: DeviceState, now: Now) -> Told:
        state, _ = super().opened(state, now)
        return state, b""


class AnswersEveryVersion(OpenShoeDevice):
    """It does not look at the first byte."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        body = unescaped(chunk.data)[:-4]
        if body and body[0] not in VERSIONS and seal(body) == chunk.data:
            chunk = Chunk(seal(b"\x01" + body[1:]), chunk.at)
        return super().hear(state, chunk)


class SendsABadCrc(OpenShoeDevice):
    """The CRC of each fifth report is of the frame before it, the first time that it is sent."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        known = {each.sequence for each in state.store.kept}
        state, out = super().hear(state, chunk)
        return state, b"".join(damaged(*each, known) for each in frames(out))


def damaged(raw: bytes, message: Report | Notice, known: set[int]) -> bytes:
    new = isinstance(message, Report) and message.sequence % 5 == 0 and message.sequence not in known
    return raw[:2] + bytes((raw[2] ^ 1,)) + raw[3:] if new else raw


class RepeatsItsNumbers(OpenShoeDevice):
    """The id of its stream is a constant of its firmware."""

    def begin(self, stream_id: int) -> DeviceState:
        return super().begin(stream_id and 0xC0FFEE00)


class IgnoresResend(OpenShoeDevice):
    """It relies on its own timer."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        kept = {(each.stream, each.sequence) for each in state.store.kept}
        if any(isinstance(said, Resend) and (said.stream, said.start) in kept for said in requests(chunk.data)):
            chunk = Chunk(b"", chunk.at)
        return super().hear(state, chunk)


class DropsOtherStreams(OpenShoeDevice):
    """It takes what it does not understand for noise."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        said = requests(chunk.data)
        if any(isinstance(each, Acknowledge | Resend) and each.stream != state.store.stream for each in said):
            chunk = Chunk(b"", chunk.at)
        return super().hear(state, chunk)


class IsSeldomAlive(OpenShoeDevice):
    """It takes 10 s for a half of what is allowed."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        said_ns = state.said_ns
        state, out = super().hear(state, chunk)
        alive = out and all(isinstance(message.said, Alive) for _, message in frames(out))
        if alive and chunk.at.mono_ns - self.spoke_ns < 20_000 * NS_PER_MS:
            return state, b""
        self.spoke_ns = chunk.at.mono_ns if out else max(self.spoke_ns, said_ns)
        return state, out

    spoke_ns = 0


class SwallowsWhatIsTorn(OpenShoeDevice):
    """A second 7E is a byte like any other: the frame after a torn one is lost."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        first, _, rest = chunk.data.partition(b"\x7e")
        torn, again, _ = rest.partition(b"\x7e")
        data = first if again and b"\x7f" not in torn else chunk.data
        return super().hear(state, Chunk(data, chunk.at))


class WritesOver(OpenShoeDevice):
    """A ring: what is new takes the place of what is oldest."""

    def begin(self, stream_id: int) -> DeviceState:
        self.room = 1200
        return super().begin(stream_id)

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        store = state.store
        if len(store.kept) >= store.room:
            state = stored(state, kept=store.kept[1:], full=False)
        return super().hear(state, chunk)


class Silent(OpenShoeDevice):
    """It obeys, and does not answer."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        self.replies = Replies(silent=True)
        return super().hear(state, chunk)


class HasLittleRoom(OpenShoeDevice):
    """It has room for half a shoe."""

    def begin(self, stream_id: int) -> DeviceState:
        self.room = 208
        return super().begin(stream_id)


class Defect(NamedTuple):
    device: Callable[..., OpenShoeDevice]
    breaks: tuple[str, ...]  # the clauses that name the defect
    follow: tuple[str, ...] = ()  # other clauses that fail because of it


DEFECTS: Final = (
    Defect(ForgetsToResend, ("repeat.due", "repeat.for-ever")),
    Defect(
        RenumbersCopies,
        ("repeat.same",),
        (
            *("repeat.due", "repeat.for-ever", "number.unbroken", "clock.forward", "resend.from"),
            *("keep.until-acknowledged", "keep.in-a-flood", "keep.room", "full.kept", "ack.unknown"),
        ),
    ),
    Defect(StampsCopies, ("repeat.same",)),
    Defect(IgnoresTheWindow, ("window.size",)),
    Defect(StopsAtTheWindow, ("window.moves",)),
    Defect(AcceptsAnyAcknowledgement, ("ack.unknown",)),
    Defect(AcknowledgesOneByOne, ("ack.forgets",)),
    Defect(ForgetsOverACut, ("keep.over-a-cut",)),
    Defect(ChangesItsStream, ("hello.stream",)),
    Defect(StartsOver, ("hello.stream",)),
    Defect(NeverSaysHello, ("hello.identify",)),
    Defect(AnswersEveryVersion, ("version.unknown",)),
    Defect(SendsABadCrc, ("frame.crc",), ("window.size",)),
    Defect(RepeatsItsNumbers, ("stream.lost",), ("number.unbroken", "repeat.same")),
    Defect(IgnoresResend, ("resend.from",)),
    Defect(DropsOtherStreams, ("ack.other-stream", "resend.other-stream"), ("frame.escapes-read",)),
    Defect(IsSeldomAlive, ("alive.due",)),
    Defect(SwallowsWhatIsTorn, ("frame.torn",)),
    Defect(WritesOver, ("full.kept",)),
    Defect(Silent, ("order.done",)),
    Defect(HasLittleRoom, ("keep.room",)),
)
