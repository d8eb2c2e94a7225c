"""Open Shoe devices that each violate one rule of the page, as firmware may, and the clauses that must detect it."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from firmware_protocols.open_shoe import OpenShoeSettings, build, orders, reports
from firmware_protocols.open_shoe.codec import seal
from firmware_protocols.open_shoe.layout import VERSIONS
from firmware_protocols.open_shoe.messages import (
    Alive,
    Hello,
    OpenShoeAcknowledge,
    OpenShoeNotice,
    OpenShoeReport,
    Requested,
    Resend,
    following,
)
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.rig.conform.watch import unescaped
from shoed.session.open_shoe_device import DeviceState, OpenShoeDeviceSession, OpenShoeReplies
from shoed.session.open_shoe_stream import NS_PER_MS, WINDOW, DeviceStore, steps
from shoed.wire import Frame, LineState

NOWHEN: Final = Now(0, 0)
StepResult = tuple[DeviceState, bytes]


def requests(data: bytes) -> list[Requested]:
    _, found = wire.receive(orders(OpenShoeSettings()), LineState(), Chunk(data, NOWHEN))
    return [each.message.body for each in found if isinstance(each, Frame)]


def frames(out: bytes) -> Iterator[tuple[bytes, OpenShoeReport | OpenShoeNotice]]:
    _, found = wire.receive(reports(OpenShoeSettings()), LineState(), Chunk(out, NOWHEN))
    yield from ((each.raw, each.message) for each in found if isinstance(each, Frame))


def without(out: bytes, kind: type) -> bytes:
    return b"".join(raw for raw, message in frames(out) if not isinstance(message.body, kind))


def stored(state: DeviceState, **changes: object) -> DeviceState:
    return replace(state, store=replace(state.store, **changes))


class ForgetsToResend(OpenShoeDeviceSession):
    """It has no timer for sent reports."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        state, out = super().hear(stored(state, repeat_ns=None), chunk)
        return stored(state, repeat_ns=None), out


class RenumbersCopies(OpenShoeDeviceSession):
    """It numbers frames when they are sent, not reports when they are made."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        store = state.store
        if store.repeat_ns is not None and chunk.at.mono_ns >= store.repeat_ns:
            kept, number = [], store.next
            for each in store.kept:
                kept.append(OpenShoeReport(each.version, number, each.stream, each.clock_us, each.body))
                number = following(number)
            state = stored(state, kept=tuple(kept), next=number)
        return super().hear(state, chunk)


class StampsCopies(OpenShoeDeviceSession):
    """It reads the clock when it builds a frame."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        store = state.store
        if store.repeat_ns is not None and chunk.at.mono_ns >= store.repeat_ns:
            clock_us = chunk.at.mono_ns // 1000
            kept = (
                OpenShoeReport(each.version, each.sequence, each.stream, clock_us, each.body) for each in store.kept
            )
            state = replace(stored(state, kept=tuple(kept)), clock_us=clock_us)
        return super().hear(state, chunk)


class IgnoresTheWindow(OpenShoeDeviceSession):
    """It sends each report immediately."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        before = state.store.next
        state, out = super().hear(state, chunk)
        return state, out + unsent(state.store, before)


def unsent(store: DeviceStore, before: int) -> bytes:
    made = store.kept[-steps(before, store.next) :] if steps(before, store.next) else ()
    return b"".join(map(build, made)) if len(store.kept) > WINDOW else b""


class StopsAtTheWindow(OpenShoeDeviceSession):
    """A report outside the window waits for the next repetition."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        state, out = super().hear(state, chunk)
        return state, without(out, object) if fits(state, chunk) else out


def fits(state: DeviceState, chunk: Chunk) -> bool:
    """Whether reports are kept, and some were acknowledged."""
    received = requests(chunk.data)
    kept = state.store.stream if state.store.kept else None
    return any(isinstance(each, OpenShoeAcknowledge) and each.stream == kept for each in received)


class AcceptsAnyAcknowledgement(OpenShoeDeviceSession):
    """It uses `upto` as the newest number, without a comparison."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        for body in requests(chunk.data):
            if isinstance(body, OpenShoeAcknowledge) and body.stream == state.store.stream:
                ahead = steps(state.store.oldest, body.upto)
                if len(state.store.kept) <= ahead < 1 << 15:
                    state = stored(state, kept=(), repeat_ns=None)
        return super().hear(state, chunk)


class AcknowledgesOneByOne(OpenShoeDeviceSession):
    """It ignores an ACK of any report but the oldest."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        if any(
            isinstance(body, OpenShoeAcknowledge) and body.upto != state.store.oldest for body in requests(chunk.data)
        ):
            return super().hear(state, Chunk(b"", chunk.at))
        return super().hear(state, chunk)


class ForgetsOverACut(OpenShoeDeviceSession):
    """It clears its memory when a host connects."""

    def opened(self, state: DeviceState, now: Now) -> StepResult:
        return super().opened(stored(state, kept=(), repeat_ns=None), now)


class ChangesItsStream(OpenShoeDeviceSession):
    """It begins a stream after twenty reports, and sends HELLO only on IDENTIFY."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        store = state.store
        if not store.kept and 20 < store.next < 1000 and b"\x83" in chunk.data:
            state = replace(state, store=DeviceStore(store.stream + 1, store.version, store.room, next=1000))
        return super().hear(state, chunk)


class StartsOver(OpenShoeDeviceSession):
    """After twenty reports it begins a stream when no report is kept, without HELLO."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        kept = state.store.kept
        state, out = super().hear(state, chunk)
        store = state.store
        if kept and not store.kept and store.next > 20 and store.stream == self.first:
            state = replace(state, store=DeviceStore(store.stream + 1, store.version, store.room))
        return state, out

    def begin(self, stream_id: int) -> DeviceState:
        self.first = self.first or stream_id
        return super().begin(stream_id)

    first = 0


class NeverSendsHello(OpenShoeDeviceSession):
    """Its author relied on a host that knows it."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        state, out = super().hear(state, chunk)
        return state, without(out, Hello)

    def opened(self, state: DeviceState, now: Now) -> StepResult:
        state, _ = super().opened(state, now)
        return state, b""


class AnswersEveryVersion(OpenShoeDeviceSession):
    """It does not check the version."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        body = unescaped(chunk.data)[:-4]
        if body and body[0] not in VERSIONS and seal(body) == chunk.data:
            chunk = Chunk(seal(b"\x01" + body[1:]), chunk.at)
        return super().hear(state, chunk)


class SendsABadCrc(OpenShoeDeviceSession):
    """Each fifth report has the CRC of the previous frame, when it is first sent."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        known = {each.sequence for each in state.store.kept}
        state, out = super().hear(state, chunk)
        return state, b"".join(damaged(*each, known) for each in frames(out))


def damaged(raw: bytes, message: OpenShoeReport | OpenShoeNotice, known: set[int]) -> bytes:
    new = isinstance(message, OpenShoeReport) and message.sequence % 5 == 0 and message.sequence not in known
    return raw[:2] + bytes((raw[2] ^ 1,)) + raw[3:] if new else raw


class RepeatsItsNumbers(OpenShoeDeviceSession):
    """The id of its stream is a constant of its firmware."""

    def begin(self, stream_id: int) -> DeviceState:
        return super().begin(stream_id and 0xC0FFEE00)


class IgnoresResend(OpenShoeDeviceSession):
    """It repeats reports only by its own timer."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        kept = {(each.stream, each.sequence) for each in state.store.kept}
        if any(isinstance(body, Resend) and (body.stream, body.start) in kept for body in requests(chunk.data)):
            chunk = Chunk(b"", chunk.at)
        return super().hear(state, chunk)


class DropsOtherStreams(OpenShoeDeviceSession):
    """It ignores every request that it does not know."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        received = requests(chunk.data)
        if any(
            isinstance(each, OpenShoeAcknowledge | Resend) and each.stream != state.store.stream for each in received
        ):
            chunk = Chunk(b"", chunk.at)
        return super().hear(state, chunk)


class IsSeldomAlive(OpenShoeDeviceSession):
    """Its ALIVE interval is 20 s instead of 10 s."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        sent_ns = state.sent_ns
        state, out = super().hear(state, chunk)
        alive = out and all(isinstance(message.body, Alive) for _, message in frames(out))
        if alive and chunk.at.mono_ns - self.spoke_ns < 20_000 * NS_PER_MS:
            return state, b""
        self.spoke_ns = chunk.at.mono_ns if out else max(self.spoke_ns, sent_ns)
        return state, out

    spoke_ns = 0


class SwallowsWhatIsTorn(OpenShoeDeviceSession):
    """A second 7E is an ordinary byte: the frame after a torn frame is lost."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        first, _, rest = chunk.data.partition(b"\x7e")
        torn, again, _ = rest.partition(b"\x7e")
        data = first if again and b"\x7f" not in torn else chunk.data
        return super().hear(state, Chunk(data, chunk.at))


class WritesOver(OpenShoeDeviceSession):
    """A ring: a new report replaces the oldest report."""

    def begin(self, stream_id: int) -> DeviceState:
        self.room = 1200
        return super().begin(stream_id)

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        store = state.store
        if len(store.kept) >= store.room:
            state = stored(state, kept=store.kept[1:], full=False)
        return super().hear(state, chunk)


class Silent(OpenShoeDeviceSession):
    """It executes orders without an answer."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        self.replies = OpenShoeReplies(silent=True)
        return super().hear(state, chunk)


class HasLittleRoom(OpenShoeDeviceSession):
    """It has room for half of the required reports."""

    def begin(self, stream_id: int) -> DeviceState:
        self.room = 208
        return super().begin(stream_id)


class Defect(NamedTuple):
    device: Callable[..., OpenShoeDeviceSession]
    breaks: tuple[str, ...]  # the clauses that detect the defect
    follow: tuple[str, ...] = ()  # other clauses that fail as a consequence


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
    Defect(NeverSendsHello, ("hello.identify",)),
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
