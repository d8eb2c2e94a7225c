"""The shared part of all sessions: the link opens and closes, the line goes quiet, and bytes become frames."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, Generic, TypeVar, assert_never

import msgspec
from msgspec.structs import replace

from firmware_protocols.family import Codec, Reason
from shoed import wire
from shoed.model.moments import Chunk, Now, ReadAt
from shoed.model.observations import (
    AnyObservation,
    DeviceDoubt,
    DoubtEnded,
    DoubtRaised,
    FrameRejected,
    HeardAgain,
    LinkClosed,
    LinkOpened,
    Reported,
    WentQuiet,
)
from shoed.model.step import (
    AnyInput,
    BytesRefused,
    Commanded,
    Configured,
    DeviceOrder,
    LinkDown,
    LinkUp,
    Ordered,
    Received,
    Woken,
)
from shoed.session import SessionOutput, SessionState
from shoed.session.rejections import RejectionWindow, counts, reject
from shoed.wire import Frame, LineState, Rejected

STRANGE_BYTES: Final = 128  # a damaged report and its copies have fewer bytes
STRANGE_NS: Final = 1_000_000_000
CHECK: Final = "check that this port has the configured device, then check the speed and the cable"


class Strange(msgspec.Struct, frozen=True):
    """Consecutive bytes without any valid frame."""

    since_ns: int
    size: int = 0
    doubted: bool = False


class LinkState(SessionState, frozen=True):
    """Base class of the state of a session that has a link."""

    line: LineState | None = None  # None: the link is closed
    heard: Now | None = None  # the last bytes, or the opening of the link if no bytes followed
    quiet: bool = False
    away: bool = False  # no report was accepted since an absence of the link or the daemon
    rejections: RejectionWindow | None = None
    strange: Strange | None = None  # since the last valid frame; None: no such bytes


S = TypeVar("S", bound=LinkState)
M = TypeVar("M")


def quiet_at(state: LinkState, quiet_after_s: int) -> int | None:
    """When an open line without bytes counts as quiet; None: it is closed, or already quiet."""
    if state.line is None or state.heard is None or state.quiet:
        return None
    return state.heard.mono_ns + quiet_after_s * 1_000_000_000


def wake_at(direction: Codec[object], state: LinkState, quiet_after_s: int, *others: int | None) -> int | None:
    torn_at = None if state.line is None else wire.wake_at(direction, state.line)
    counted_at = None if state.rejections is None else state.rejections.due
    moments = (torn_at, quiet_at(state, quiet_after_s), counted_at, *others)
    return min((moment for moment in moments if moment is not None), default=None)


def is_soon(window_ms: int, before: ReadAt, after: ReadAt) -> bool | None:
    """Whether the two times are closer than the window; None: unknown, because one of them was read too late."""
    elapsed_ns, window_ns = after.at.mono_ns - before.at.mono_ns, window_ms * 1_000_000
    if elapsed_ns < 0 or elapsed_ns - after.late_ns >= window_ns:  # less than 0: the clock of another boot
        return False
    return True if elapsed_ns + before.late_ns < window_ns else None


class SessionStep(ABC, Generic[S, M]):
    """One step in progress: the state and the observations so far."""

    def __init__(self, reports: Codec[M], quiet_after_s: int, state: S) -> None:
        self.reports = reports
        self.quiet_after_s = quiet_after_s
        self.state = state
        self.observations: list[AnyObservation] = []
        self.only_counted: dict[str, int] = {}  # rejected bytes that have no observation of their own, by reason
        self.late_ns = 0  # the bytes of this step arrived at most this long before they were read

    @abstractmethod
    def handle(self, frame: Frame[M]) -> None: ...

    @abstractmethod
    def order(self, order: DeviceOrder, now: Now) -> None: ...

    def saw(self, observation: AnyObservation) -> None:
        if self.late_ns and isinstance(observation, Reported):
            observation = replace(observation, late_ns=self.late_ns)
        self.observations.append(observation)

    def outcome(self, *sends: bytes) -> SessionOutput:
        """Return the result of this step."""
        return SessionOutput(tuple(self.observations), sends, self.only_counted)

    def take(self, incoming: AnyInput, now: Now) -> None:
        match incoming:
            case Configured():
                if self.state.line is not None:  # the daemon ended without closing the link
                    self.close("the daemon was away", now)
            case LinkUp(port=port):
                self.state = replace(self.state, line=LineState(), heard=now, quiet=False)
                self.saw(LinkOpened(at=now, port=port))
            case LinkDown(reason=reason):
                self.close(reason, now)
            case Received(data=data, late_ns=late_ns):
                chunk = Chunk(data, now, late_ns)
                self.late_ns = late_ns
                self.expire(chunk.earliest)
                self.receive(chunk)
            case BytesRefused(data=data, reason=reason, detail=detail):
                self.refused(data, now, reason, detail)
            case Woken():
                self.expire(now)
            case Ordered(order=order):
                self.order(order, now)
            case Commanded():
                pass  # commands are the table's task
            case _:
                assert_never(incoming)

    def close(self, reason: str, now: Now) -> None:
        self.give_up(now)
        self.state = replace(self.state, line=None, quiet=False, away=True, strange=None)
        self.saw(LinkClosed(at=now, reason=reason))

    def give_up(self, now: Now) -> None:
        """End everything that waits for more bytes of a link that closes."""
        if self.state.line is not None:
            _, rest = wire.end(self.reports, self.state.line, now)
            self.frames(rest)
        self.observe_counts(now)

    def receive(self, chunk: Chunk) -> None:
        if self.state.line is None:
            return  # late bytes of a link that is closed
        if self.state.quiet:
            self.saw(HeardAgain(at=chunk.at))
        line, found = wire.receive(self.reports, self.state.line, chunk)
        self.state = replace(self.state, line=line, heard=chunk.at, quiet=False)
        self.frames(found)

    def refused(self, data: bytes, now: Now, reason: Reason, detail: str) -> None:
        """Record bytes that the device did not send. They prove nothing, not even that the device is connected."""
        if (line := self.state.line) is not None and data:
            self.reject(data, line.offset + len(line.pending), now, reason, detail)

    def expire(self, now: Now) -> None:
        """Handle all deadlines that have passed: counted rejections, a torn frame, a quiet line."""
        if self.state.line is None:
            return
        if (counted := self.state.rejections) is not None and counted.due is not None and now.mono_ns >= counted.due:
            self.observe_counts(now)
        line, found = wire.expire(self.reports, self.state.line, now)
        if line is not self.state.line:
            self.state = replace(self.state, line=line)
        self.frames(found)
        heard, due = self.state.heard, quiet_at(self.state, self.quiet_after_s)
        if heard is not None and due is not None and now.mono_ns >= due:
            self.state = replace(self.state, quiet=True)
            self.saw(WentQuiet(at=now, since=heard))

    def frames(self, found: Sequence[Frame[M] | Rejected]) -> None:
        for each in found:
            match each:
                case Rejected(raw=raw, offset=offset, at=at, reason=reason, detail=detail):
                    heard = None if at == self.state.heard else self.state.heard
                    self.reject(raw, offset, at, reason, detail, heard)
                    self.not_understood(at, len(raw))
                case Frame():
                    self.understood(each.at)
                    self.handle(each)
                case _:
                    assert_never(each)

    def reject(  # noqa: PLR0913, PLR0917 -- the parts of a rejection
        self, raw: bytes, offset: int, at: Now, reason: Reason, detail: str, heard: Now | None = None
    ) -> None:
        """Observe the rejection, or count it on a noisy line."""
        rejected = FrameRejected(
            at=at, raw=raw.hex(" "), offset=offset, reason=reason.value, detail=detail, heard=heard
        )
        rejections, observed = reject(self.state.rejections, rejected)
        self.state = replace(self.state, rejections=rejections)
        if observed is None:
            self.only_counted[reason.value] = self.only_counted.get(reason.value, 0) + len(raw)
        else:
            self.saw(observed)

    def not_understood(self, at: Now, size: int) -> None:
        """Count bytes without a valid frame. Many of them mean a wrong device, a wrong speed or a bad cable."""
        strange = self.state.strange or Strange(at.mono_ns)
        strange = replace(strange, size=strange.size + size)
        lasts = at.mono_ns - strange.since_ns >= STRANGE_NS and strange.size >= STRANGE_BYTES
        if lasts and not strange.doubted:
            strange = replace(strange, doubted=True)
            detail = f"none of the last {strange.size} bytes is part of a valid frame; {CHECK}"
            self.saw(DoubtRaised(at=at, reason=DeviceDoubt.NOT_UNDERSTOOD, detail=detail))
        self.state = replace(self.state, strange=strange)

    def understood(self, at: Now) -> None:
        if self.state.strange is not None:
            if self.state.strange.doubted:
                self.saw(DoubtEnded(at=at, reason=DeviceDoubt.NOT_UNDERSTOOD))
            self.state = replace(self.state, strange=None)

    @property
    def noisy(self) -> bool:
        """Whether further rejections are only counted."""
        return self.state.rejections is not None and bool(self.state.rejections.counted)

    def observe_counts(self, now: Now) -> None:
        if self.state.rejections is not None and self.state.rejections.counted:
            rejections, observed = counts(self.state.rejections, now)
            self.state = replace(self.state, rejections=rejections)
            for each in observed:
                self.saw(each)
