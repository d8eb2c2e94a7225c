"""Open Shoe's numbering: what a device keeps and says again, and what a host takes, drops and asks for.

Theory of operation: two states that share nothing but messages. A `Store` is the device's: its
reports from the oldest that is not acknowledged, of which the first 32 are on their way. An
`Intake` is the host's: the stream and the number that is due. The host takes that number alone, so
that each report comes out once and in order; whatever else it hears is a copy, or says what to ask
for. Where the numbering breaks, `greet` says that nothing is proven.
"""

from enum import Enum, auto
from typing import Final

import msgspec
from msgspec.structs import replace

from firmware_protocols.open_shoe.messages import (
    FIRST,
    LAST,
    Acknowledge,
    Alive,
    Hello,
    Identify,
    Report,
    Reported,
    Requested,
    Resend,
    following,
)

NS_PER_MS: Final = 1_000_000
HALF: Final = 0x8000
WINDOW: Final = 32  # as many reports are on their way at once
REPEAT_NS: Final = 500 * NS_PER_MS  # without an acknowledgement, until the window is said again


def steps(start: int, end: int) -> int:
    """From one number to another, across the end of the numbers."""
    return (end - start) % LAST


def preceding(sequence: int, by: int = 1) -> int:
    return (sequence - FIRST - by) % LAST + FIRST


class Repeat(Enum):
    """How a report relates to what the host has."""

    DUE = auto()  # take it
    COPY = auto()  # taken before: the acknowledgement was lost
    LATER = auto()  # one before it is missing
    STRANGE = auto()  # of a stream whose HELLO was not heard


class Intake(msgspec.Struct, frozen=True):
    """What the host has of its device. `stream` and `due` are on its disk with what it took."""

    stream: int | None = None
    due: int = FIRST
    greeted: bool = False  # HELLO was heard since the line opened, and no other stream since
    asked_ns: int | None = None  # when HELLO, or the number due, was asked for and has not come


def opened(intake: Intake, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    return replace(intake, greeted=False, asked_ns=now_ns), (Identify(),)


def greet(intake: Intake, hello: Hello, now_ns: int) -> tuple[Intake, tuple[Requested, ...], bool]:
    """Take a HELLO in: what to ask for, and whether it proves that nothing was missed."""
    known = hello.stream == intake.stream
    proven = known and steps(hello.oldest, intake.due) <= steps(hello.oldest, hello.next)
    if known and not proven and steps(hello.next, intake.due) < HALF:
        return intake, (), True  # what it says was so before: numbers never go back within a stream
    due = intake.due if proven else hello.oldest
    missing = due != hello.next
    intake = Intake(hello.stream, due, greeted=True, asked_ns=now_ns if missing else None)
    return intake, (Resend(hello.stream, due),) if missing else (), proven


def weigh(intake: Intake, stream: int, sequence: int) -> Repeat:
    if not intake.greeted or stream != intake.stream:
        return Repeat.STRANGE
    ahead = steps(intake.due, sequence)
    if ahead == 0:
        return Repeat.DUE
    return Repeat.LATER if ahead < HALF else Repeat.COPY


def receive(intake: Intake, report: Report, now_ns: int) -> tuple[Intake, tuple[Requested, ...], Repeat]:
    """Take a report in, or not. What is to be said of it leaves after the commit, as everything does."""
    verdict = weigh(intake, report.stream, report.sequence)
    if verdict is Repeat.DUE:
        intake = replace(intake, due=following(report.sequence), asked_ns=None)
        return intake, (Acknowledge(report.stream, report.sequence),), verdict
    if verdict is Repeat.COPY:
        return intake, (Acknowledge(report.stream, preceding(intake.due)),), verdict
    return *_missing(intake, report.stream, now_ns), verdict


def overhear(intake: Intake, report: Report) -> tuple[Intake, Repeat]:
    """What a host that only listens makes of a report: it takes all but copies, because it can ask for nothing."""
    verdict = weigh(replace(intake, greeted=True), report.stream, report.sequence)
    if verdict is Repeat.COPY:
        return intake, verdict
    return Intake(report.stream, following(report.sequence), intake.greeted), verdict


def alive(intake: Intake, said: Alive, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    """An idle device counts, too: what it says to come next may already be missing."""
    if weigh(intake, said.stream, said.next) in (Repeat.LATER, Repeat.STRANGE):
        return _missing(intake, said.stream, now_ns)
    return intake, ()


def wake_at(intake: Intake, resend_ms: int) -> int | None:
    return None if intake.asked_ns is None else intake.asked_ns + resend_ms * NS_PER_MS


def wake(intake: Intake, now_ns: int, resend_ms: int) -> tuple[Intake, tuple[Requested, ...]]:
    """Ask again for what has not come."""
    due_ns = wake_at(intake, resend_ms)
    return (intake, ()) if due_ns is None or now_ns < due_ns else _ask(intake, now_ns)


def _missing(intake: Intake, stream: int, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    """Ask at once for what was not asked for yet: the number due, or whose stream it is."""
    if intake.greeted and stream != intake.stream:
        intake = replace(intake, greeted=False, asked_ns=None)
    return _ask(intake, now_ns) if intake.asked_ns is None else (intake, ())


def _ask(intake: Intake, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    wanted: Requested = Identify()
    if intake.greeted and intake.stream is not None:
        wanted = Resend(intake.stream, intake.due)
    return replace(intake, asked_ns=now_ns), (wanted,)


class Store(msgspec.Struct, frozen=True):
    """What a device keeps."""

    stream: int
    version: int = 1
    room: int = 1024  # reports
    next: int = FIRST
    kept: tuple[Report, ...] = ()
    repeat_ns: int | None = None  # when the window is said again
    full: bool = False  # reports were dropped: the stream ends when the kept ones are acknowledged

    @property
    def oldest(self) -> int:
        return preceding(self.next, by=len(self.kept))

    @property
    def ended(self) -> bool:
        """Whether the device must begin a new stream, and say first that reports were lost."""
        return self.full and not self.kept


def keep(store: Store, said: Reported, clock_us: int, now_ns: int) -> tuple[Store, tuple[Report, ...]]:
    """Number a report and keep it; what of it goes out now."""
    if store.full or len(store.kept) >= store.room:
        return replace(store, full=True), ()
    report = Report(store.version, store.next, store.stream, clock_us, said)
    sent = len(store.kept) < WINDOW
    store = replace(store, next=following(store.next), kept=(*store.kept, report))
    repeat_ns = now_ns + REPEAT_NS if store.repeat_ns is None else store.repeat_ns
    return (replace(store, repeat_ns=repeat_ns), (report,)) if sent else (store, ())


def forget(store: Store, said: Acknowledge, now_ns: int) -> tuple[Store, tuple[Report, ...]] | None:
    """Drop what is acknowledged; what comes into the window by it goes out. None: of another stream, say HELLO."""
    if said.stream != store.stream:
        return None
    done = steps(store.oldest, said.upto) + 1
    if done > len(store.kept) or said.upto < FIRST:
        return store, ()
    kept = store.kept[done:]
    store = replace(store, kept=kept, repeat_ns=now_ns + REPEAT_NS if kept else None)
    return store, kept[max(WINDOW - done, 0) : WINDOW]


def again(store: Store, said: Resend, now_ns: int) -> tuple[Store, tuple[Report, ...]] | None:
    """The window from a number on. None: that number is not kept, say HELLO."""
    start = steps(store.oldest, said.start)
    if said.stream != store.stream or start >= len(store.kept) or said.start < FIRST:
        return None
    return replace(store, repeat_ns=now_ns + REPEAT_NS), store.kept[start : start + WINDOW]


def repeat(store: Store, now_ns: int) -> tuple[Store, tuple[Report, ...]]:
    """Say the window again, if nobody has acknowledged anything in time."""
    if store.repeat_ns is None or now_ns < store.repeat_ns:
        return store, ()
    return replace(store, repeat_ns=now_ns + REPEAT_NS), store.kept[:WINDOW]
