"""Open Shoe devices of version 3 that each break one rule of the page, and the clauses that must name it."""

from collections.abc import Callable
from dataclasses import replace as changed
from typing import Final

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe.channel import DeviceEnd
from firmware_protocols.open_shoe.messages import Hello, Inquire, Lock, Report, Status
from shoed.now import Chunk, Now
from shoed.session.open_shoe_device import DeviceState, OpenShoeDevice
from tests.broken_shoes import Defect, Told, frames, requests, stored, without


class CountsNoPowerUps(OpenShoeDevice):
    """It has no count of its power-ups."""

    def powered(self, state: DeviceState, now: Now, boot: int | None = None) -> DeviceState:
        return super().powered(state, now, 0 if boot is not None else None)


class TellsAnOldClock(OpenShoeDevice):
    """HELLO has the clock of the last report."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        state, out = super().hear(state, chunk)
        parts = []
        for raw, message in frames(out):
            said = message.said
            parts.append(
                build(changed(message, said=changed(said, clock_us=state.clock_us)))  # type: ignore[arg-type]
                if isinstance(said, Hello)
                else raw
            )
        return state, b"".join(parts)


class KnowsNoInquire(OpenShoeDevice):
    """Its firmware was begun with version 2."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        if any(isinstance(each, Inquire) for each in requests(chunk.data)):
            chunk = Chunk(b"", chunk.at)
        return super().hear(state, chunk)


class AnswersEachInquire(OpenShoeDevice):
    """It makes a STATUS for each INQUIRE, whatever it keeps."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        kept = state.store.kept
        if kept and isinstance(kept[-1].said, Status) and Inquire() in requests(chunk.data):
            state, first = super().say(state, kept[-1].said, chunk.at)
            state, rest = super().hear(state, chunk)
            return state, first + rest
        return super().hear(state, chunk)


class NeverKnowsItsLock(OpenShoeDevice):
    """STATUS has a constant where the exit's state belongs."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        state, out = super().hear(state, chunk)
        kept = tuple(unlocked(each) for each in state.store.kept)
        parts = [build(unlocked(message)) if isinstance(message, Report) else raw for raw, message in frames(out)]
        return stored(state, kept=kept), b"".join(parts)


def unlocked(report: Report) -> Report:
    return changed(report, said=changed(report.said, locked=False)) if isinstance(report.said, Status) else report


class SaysLockAfterALoss(OpenShoeDevice):
    """It does as version 2 did, once the memory was full."""

    def hear(self, state: DeviceState, chunk: Chunk) -> Told:
        was = state.store.stream
        state, out = super().hear(state, chunk)
        if state.store.stream == was:
            return state, out
        kept = tuple(
            changed(each, said=Lock(state.locked)) if isinstance(each.said, Status) else each
            for each in state.store.kept
        )
        return stored(state, kept=kept), without(out, Report) + b"".join(map(build, kept))


DEFECTS: Final = (
    Defect(CountsNoPowerUps, ("boot.counted",)),
    Defect(TellsAnOldClock, ("clock.sent",)),
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
    """It goes on without the channel, where the host does."""

    def hear(self, body: bytes, now_ns: int) -> tuple[bytes | None, bool]:
        return (body, False) if 0x80 <= body[1] < 0x90 else super().hear(body, now_ns)


class HasOneNonce(DeviceEnd):
    """Its random numbers begin with each power-up."""

    def answer(self, host_nonce: bytes) -> None:
        self.draw = bytes
        super().answer(host_nonce)


class AnswersWithAnotherNonce(DeviceEnd):
    """It keeps nothing of a challenge that it has answered."""

    def answer(self, host_nonce: bytes) -> None:
        self.offered = None
        super().answer(host_nonce)


class EndsItsSession(DeviceEnd):
    """Each challenge ends the session before it."""

    def answer(self, host_nonce: bytes) -> None:
        self.standing = None
        super().answer(host_nonce)


class StormsWithUnkeyed(DeviceEnd):
    """It says UNKEYED to each frame."""

    def unkeyed(self, now_ns: int) -> None:
        self.unkeyed_ns = None
        super().unkeyed(now_ns)


class NeverSaysUnkeyed(DeviceEnd):
    """A host must know by itself that a session is due."""

    def unkeyed(self, now_ns: int) -> None:
        self.unkeyed_ns = now_ns


KEYED_DEFECTS: Final[tuple[tuple[Callable[..., DeviceEnd], tuple[str, ...]], ...]] = (
    (OpensCopies, ("channel.counts",)),
    (OpensPlainFrames, ("channel.refuses", "channel.unkeyed")),
    (HasOneNonce, ("channel.again",)),
    (AnswersWithAnotherNonce, ("channel.again",)),
    (EndsItsSession, ("channel.false-challenge",)),
    (StormsWithUnkeyed, ("channel.unkeyed",)),
    (NeverSaysUnkeyed, ("channel.unkeyed",)),
)
