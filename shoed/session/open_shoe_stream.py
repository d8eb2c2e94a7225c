"""Open Shoe's numbering: what a device keeps and says again, and what a host takes, drops and asks for.

Theory of operation: two states that share nothing but messages. A `Store` is the device's: its
reports from the oldest that is not acknowledged, of which the first 32 are on their way. An
`Intake` is the host's: the stream and the number that is due. The host takes that number alone, so
that each report comes out once and in order; whatever else it hears is a copy, or says what to ask
for. Where the numbering breaks, `greet` says that nothing is proven. A number alone does not make a
copy: a device may number its reports again under the same stream. `Intake.checks` has the CRCs of the
reports taken last, and a report with the number of one of these and another CRC is taken as well.
In version 3 a clock counts from a power-up, `boot`: moments are compared by the power-up and then by the
clock. In earlier versions `boot` is always 0.
"""

from enum import Enum, auto
from typing import Final, NamedTuple

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
BOOTS: Final = 0x10000
WINDOW: Final = 32  # as many reports are on their way at once
# A device sends the window from its oldest report on, and a window from a number within that one: RESEND.
REPEATABLE: Final = 2 * WINDOW
REPEAT_NS: Final = 500 * NS_PER_MS  # without an acknowledgement, until the window is said again


def steps(start: int, end: int) -> int:
    """From one number to another, across the end of the numbers."""
    return (end - start) % LAST


def preceding(sequence: int, by: int = 1) -> int:
    return (sequence - FIRST - by) % LAST + FIRST


def earlier(number: int, than: int) -> bool:
    return steps(than, number) >= HALF


def later_boot(boot: int, than: int) -> bool:
    """After power-up 65535 comes power-up 0."""
    return 0 < (boot - than) % BOOTS < HALF


class Moment(NamedTuple):
    """A moment on the clock of a device, which counts from a power-up."""

    boot: int
    clock_us: int

    def goes_back(self, before: "Moment | None") -> bool:
        if before is None:
            return False
        if self.boot == before.boot:
            return self.clock_us < before.clock_us
        return not later_boot(self.boot, before.boot)


def moment(report: Report) -> Moment:
    return Moment(report.boot, report.clock_us)


class Repeat(Enum):
    """How a report relates to what the host has."""

    DUE = auto()  # take it
    COPY = auto()  # taken before: the acknowledgement was lost
    LATER = auto()  # one before it is missing
    STRANGE = auto()  # of a numbering whose HELLO was not heard
    RENUMBERED = auto()  # other bytes under a number that was taken: take it, after a gap


class Intake(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the host has of its device; it is on its disk with what it took."""

    stream: int | None = None
    due: int = FIRST
    greeted: bool = False  # HELLO was heard since the line opened, and no other numbering since
    asked_ns: int | None = None  # when HELLO, or the number due, was asked for and has not come
    checks: tuple[int | None, ...] = ()  # CRCs of the reports taken last; None: a listener missed it
    ahead: int = 0  # so many reports from `due` on were taken before: they are compared
    clock_us: int = 0  # of the report taken last
    boot: int | None = None  # and its power-up; None: no report of the stream was taken
    power_up: int | None = None  # by the last HELLO since the line opened
    vouched: bool = False  # nothing was taken since the last HELLO
    gap: bool = False  # that HELLO began a new numbering

    @property
    def end(self) -> int:
        """The number after that of the report taken last."""
        return preceding(self.due, by=-self.ahead)

    @property
    def moment(self) -> Moment | None:
        """Of the report taken last."""
        return None if self.boot is None else Moment(self.boot, self.clock_us)

    def before(self, number: int) -> tuple[int | None, ...]:
        """The CRCs of the reports before this number."""
        return self.checks[: max(len(self.checks) - steps(number, self.end), 0)]

    def taken(self, report: Report) -> int | None:
        """The CRC of the report that was taken under the number of this one."""
        at = steps(report.sequence, self.end)
        return self.checks[-at] if 0 < at <= len(self.checks) else None


def opened(intake: Intake, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    return replace(intake, greeted=False, asked_ns=now_ns), (Identify(),)


def greet(intake: Intake, hello: Hello, now_ns: int) -> tuple[Intake, tuple[Requested, ...], bool]:
    """Take a HELLO in: what to ask for, and whether it proves that nothing was missed.

    What the device keeps and the host has taken is compared once more: its numbers alone prove nothing.
    """
    known, end = hello.stream == intake.stream, intake.end
    kept, taken = steps(hello.oldest, hello.next), steps(hello.oldest, end)
    proven = known and taken <= kept
    back = known and not proven and earlier(hello.next, end)
    if back and intake.greeted:
        return *_identify(intake, now_ns), True  # the device began again, or it says what was so before
    missing = hello.oldest != hello.next
    asked_ns = now_ns if missing else None
    after = Intake(
        hello.stream, hello.oldest, greeted=True, asked_ns=asked_ns, power_up=hello.boot, vouched=True, gap=back
    )
    if proven:
        after = replace(after, checks=intake.checks, ahead=taken, clock_us=intake.clock_us, boot=intake.boot)
    elif back:  # `next` on does not exist yet: a report of these is new
        after = replace(after, checks=intake.before(hello.next), ahead=kept)
    return after, (Resend(hello.stream, hello.oldest),) if missing else (), proven


def weigh(intake: Intake, stream: int, sequence: int) -> Repeat:
    if not intake.greeted or stream != intake.stream:
        return Repeat.STRANGE
    if sequence == intake.due:
        return Repeat.DUE
    return Repeat.COPY if earlier(sequence, intake.due) else Repeat.LATER


def judge(intake: Intake, report: Report) -> Repeat:
    """What a report is, by its number, its CRC and its moment."""
    verdict = weigh(intake, report.stream, report.sequence)
    if verdict is not Repeat.STRANGE and intake.power_up is not None and later_boot(report.boot, intake.power_up):
        return Repeat.STRANGE  # the HELLO of that power-up was lost
    compared = verdict is Repeat.COPY or (verdict is Repeat.DUE and intake.ahead > 0)
    if compared and intake.taken(report) == report.check:
        return Repeat.COPY
    if compared and verdict is Repeat.DUE:
        return Repeat.DUE if intake.gap else Repeat.RENUMBERED
    if verdict is Repeat.COPY:
        return Repeat.RENUMBERED if intake.vouched else Repeat.STRANGE
    if verdict is not Repeat.STRANGE and moment(report).goes_back(intake.moment) and not intake.vouched:
        return Repeat.STRANGE  # a clock that goes back: the numbers may have begun again, too
    return verdict


def receive(intake: Intake, report: Report, now_ns: int) -> tuple[Intake, tuple[Requested, ...], Repeat]:
    """Take a report in, or not. What is to be said of it leaves after the commit, as everything does."""
    verdict = judge(intake, report)
    if verdict in (Repeat.DUE, Repeat.RENUMBERED):
        return _take(intake, report), (Acknowledge(report.stream, report.sequence),), verdict
    if verdict is Repeat.COPY:
        if report.sequence == intake.due:
            intake = replace(intake, due=following(intake.due), ahead=intake.ahead - 1, asked_ns=None)
        return intake, (Acknowledge(report.stream, report.sequence),), verdict
    if verdict is Repeat.STRANGE and intake.greeted:
        return *_identify(intake, now_ns), verdict
    return *_missing(intake, now_ns), verdict


def overhear(intake: Intake, report: Report) -> tuple[Intake, Repeat]:
    """What a host that only listens makes of a report: it takes all but copies, because it can ask for nothing."""
    verdict = weigh(replace(intake, greeted=True), report.stream, report.sequence)
    if verdict is Repeat.COPY:
        known = intake.taken(report)
        # The other host may have asked again for what this one missed: the gap is on record.
        missed = known is None and steps(report.sequence, intake.due) <= REPEATABLE
        if known == report.check or missed:
            return intake, verdict
    if verdict is Repeat.COPY or (verdict is not Repeat.STRANGE and moment(report).goes_back(intake.moment)):
        verdict = Repeat.RENUMBERED
    return _take(intake, report), verdict


def overhear_hello(intake: Intake, hello: Hello) -> tuple[Intake, bool]:
    """What a host that only listens makes of a HELLO, and whether it begins a new numbering of the same stream."""
    back = hello.stream == intake.stream and earlier(hello.next, intake.due)
    if back:
        intake = Intake(hello.stream, hello.next, checks=intake.before(hello.next))
    return replace(intake, greeted=True, power_up=hello.boot), back


def alive(intake: Intake, said: Alive, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    """An idle device counts, too: what it says to come next may already be missing, or may have been before."""
    verdict = weigh(intake, said.stream, said.next)
    if intake.greeted and (verdict in (Repeat.COPY, Repeat.STRANGE) or intake.power_up not in (None, said.boot)):
        return _identify(intake, now_ns)
    return (intake, ()) if verdict is Repeat.DUE else _missing(intake, now_ns)


def wake_at(intake: Intake, resend_ms: int) -> int | None:
    return None if intake.asked_ns is None else intake.asked_ns + resend_ms * NS_PER_MS


def wake(intake: Intake, now_ns: int, resend_ms: int) -> tuple[Intake, tuple[Requested, ...]]:
    """Ask again for what has not come."""
    due_ns = wake_at(intake, resend_ms)
    return (intake, ()) if due_ns is None or now_ns < due_ns else _ask(intake, now_ns)


def _take(intake: Intake, report: Report) -> Intake:
    checks = intake.before(report.sequence) if report.stream == intake.stream else ()
    if report.stream == intake.stream and not earlier(report.sequence, intake.end):
        missed = min(steps(intake.end, report.sequence), REPEATABLE)
        checks = (*intake.checks, *(None,) * missed)
    checks = (*checks, report.check)[-REPEATABLE:]
    due = following(report.sequence)
    return Intake(
        report.stream,
        due,
        intake.greeted,
        checks=checks,
        clock_us=report.clock_us,
        boot=report.boot,
        power_up=intake.power_up,
    )


def _identify(intake: Intake, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    """Ask whose numbering it is, and take nothing until HELLO says so."""
    return replace(intake, greeted=False, asked_ns=now_ns), (Identify(),)


def _missing(intake: Intake, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    """Ask at once for what was not asked for yet: the number due, or HELLO."""
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
    boot: int = 0  # the present power-up; always 0 before version 3

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
    report = Report(store.version, store.next, store.stream, clock_us, said, store.boot)
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
    """The reports from a number in the window on. None: that number is not in the window, say HELLO."""
    start = steps(store.oldest, said.start)
    if said.stream != store.stream or start >= min(WINDOW, len(store.kept)) or said.start < FIRST:
        return None
    return replace(store, repeat_ns=now_ns + REPEAT_NS), store.kept[start : start + WINDOW]


def repeat(store: Store, now_ns: int) -> tuple[Store, tuple[Report, ...]]:
    """Say the window again, if nobody has acknowledged anything in time."""
    if store.repeat_ns is None or now_ns < store.repeat_ns:
        return store, ()
    return replace(store, repeat_ns=now_ns + REPEAT_NS), store.kept[:WINDOW]
