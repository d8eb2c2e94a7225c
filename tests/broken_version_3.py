"""Open Shoe devices of version 3 that each violate one rule of the page, and the clauses that must detect it."""

from collections.abc import Callable
from dataclasses import replace as changed
from typing import Final

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe.channel import DeviceEnd
from firmware_protocols.open_shoe.messages import Hello, Inquire, Lock, OpenShoeReport, OpenShoeStatus
from shoed.model.moments import Chunk, Now
from shoed.session.open_shoe_device import DeviceState, OpenShoeDeviceSession
from tests.broken_shoes import Defect, StepResult, frames, requests, stored, without


class CountsNoPowerUps(OpenShoeDeviceSession):
    """It does not count its power-ups."""

    def powered(self, state: DeviceState, now: Now, boot: int | None = None) -> DeviceState:
        return super().powered(state, now, 0 if boot is not None else None)


class SendsAnOldClock(OpenShoeDeviceSession):
    """HELLO has the clock of the last report."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        state, out = super().hear(state, chunk)
        parts = []
        for raw, message in frames(out):
            body = message.body
            parts.append(
                build(changed(message, body=changed(body, clock_us=state.clock_us)))  # type: ignore[arg-type]
                if isinstance(body, Hello)
                else raw
            )
        return state, b"".join(parts)


class KnowsNoInquire(OpenShoeDeviceSession):
    """Its firmware is from version 2."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        if any(isinstance(each, Inquire) for each in requests(chunk.data)):
            chunk = Chunk(b"", chunk.at)
        return super().hear(state, chunk)


class AnswersEachInquire(OpenShoeDeviceSession):
    """It makes a STATUS for each INQUIRE, whatever reports it keeps."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        kept = state.store.kept
        if kept and isinstance(kept[-1].body, OpenShoeStatus) and Inquire() in requests(chunk.data):
            state, first = super().say(state, kept[-1].body, chunk.at)
            state, rest = super().hear(state, chunk)
            return state, first + rest
        return super().hear(state, chunk)


class NeverKnowsItsLock(OpenShoeDeviceSession):
    """STATUS has a constant instead of the state of the exit."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        state, out = super().hear(state, chunk)
        kept = tuple(unlocked(each) for each in state.store.kept)
        parts = [
            build(unlocked(message)) if isinstance(message, OpenShoeReport) else raw for raw, message in frames(out)
        ]
        return stored(state, kept=kept), b"".join(parts)


def unlocked(report: OpenShoeReport) -> OpenShoeReport:
    return (
        changed(report, body=changed(report.body, locked=False)) if isinstance(report.body, OpenShoeStatus) else report
    )


class SaysLockAfterALoss(OpenShoeDeviceSession):
    """After a full memory, it reports as version 2 does."""

    def hear(self, state: DeviceState, chunk: Chunk) -> StepResult:
        was = state.store.stream
        state, out = super().hear(state, chunk)
        if state.store.stream == was:
            return state, out
        kept = tuple(
            changed(each, body=Lock(state.locked)) if isinstance(each.body, OpenShoeStatus) else each
            for each in state.store.kept
        )
        return stored(state, kept=kept), without(out, OpenShoeReport) + b"".join(map(build, kept))


DEFECTS: Final = (
    Defect(CountsNoPowerUps, ("boot.counted",)),
    Defect(SendsAnOldClock, ("clock.sent",)),
    Defect(KnowsNoInquire, ("status.asked",), ("status.once",)),
    Defect(AnswersEachInquire, ("status.once",)),
    Defect(NeverKnowsItsLock, ("status.asked",)),
    Defect(SaysLockAfterALoss, ("status.full",), ("repeat.same",)),
)

# --- with a key


class OpensCopies(DeviceEnd):
    """It does not compare counters."""

    def hear(self, body: bytes, now_ns: int) -> tuple[bytes | None, bool]:
        for session in (self.offered, self.standing):
            if session is not None:
                session.theirs.counter = 0
        return super().hear(body, now_ns)


class OpensPlainFrames(DeviceEnd):
    """It accepts plain frames of a host."""

    def hear(self, body: bytes, now_ns: int) -> tuple[bytes | None, bool]:
        return (body, False) if 0x80 <= body[1] < 0x90 else super().hear(body, now_ns)


class HasOneNonce(DeviceEnd):
    """Its random numbers restart at each power-up."""

    def answer(self, host_nonce: bytes) -> None:
        self.draw = bytes
        super().answer(host_nonce)


class AnswersWithAnotherNonce(DeviceEnd):
    """It stores nothing of an answered challenge."""

    def answer(self, host_nonce: bytes) -> None:
        self.offered = None
        super().answer(host_nonce)


class EndsItsSession(DeviceEnd):
    """Each challenge ends the previous session."""

    def answer(self, host_nonce: bytes) -> None:
        self.standing = None
        super().answer(host_nonce)


class StormsWithUnkeyed(DeviceEnd):
    """It answers each frame with UNKEYED."""

    def unkeyed(self, now_ns: int) -> None:
        self.unkeyed_ns = None
        super().unkeyed(now_ns)


class NeverSendsUnkeyed(DeviceEnd):
    """It never sends UNKEYED, so that the host is not informed about a lost session."""

    def unkeyed(self, now_ns: int) -> None:
        self.unkeyed_ns = now_ns


KEYED_DEFECTS: Final[tuple[tuple[Callable[..., DeviceEnd], tuple[str, ...]], ...]] = (
    (OpensCopies, ("channel.counts",)),
    (OpensPlainFrames, ("channel.refuses", "channel.unkeyed")),
    (HasOneNonce, ("channel.again",)),
    (AnswersWithAnotherNonce, ("channel.again",)),
    (EndsItsSession, ("channel.false-challenge",)),
    (StormsWithUnkeyed, ("channel.unkeyed",)),
    (NeverSendsUnkeyed, ("channel.unkeyed",)),
)
