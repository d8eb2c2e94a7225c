"""The numbering of Open Shoe: the reports that a device keeps and repeats, and the reports that a host accepts.

Theory of operation: two states that exchange only messages. A `DeviceStore` has the reports of the device from the
oldest report that is not acknowledged; the first 32 of them are sent. An `Intake` has the stream of the host and the
due number. The host accepts only the due number, so that it accepts each report once and in order. Any other report is
a copy, or shows which request to send. If the numbering is broken, `greet` returns that nothing is proven. A number
alone does not prove a copy: a device may reuse numbers under the same stream. `Intake.checks` has the CRCs of the last
accepted reports. A report with the number of one of these and another CRC is accepted, too. In version 3 a clock counts
from a power-up, `boot`: moments are compared by the power-up and then by the clock. In earlier versions `boot` is
always 0.
"""

from enum import Enum, auto
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from firmware_protocols.open_shoe.messages import (
    FIRST,
    LAST,
    Alive,
    Hello,
    Identify,
    OpenShoeAcknowledge,
    OpenShoeReport,
    ReportBody,
    Requested,
    Resend,
    following,
)

NS_PER_MS: Final = 1_000_000
HALF: Final = 0x8000
BOOTS: Final = 0x10000
WINDOW: Final = 32  # this many kept reports are sent without an acknowledgement
# A device sends the window from its oldest report on, and on RESEND 32 reports from a number in the window.
REPEATABLE: Final = 2 * WINDOW
REPEAT_NS: Final = 500 * NS_PER_MS  # without an acknowledgement for this time, the device repeats the window


def steps(start: int, end: int) -> int:
    """The number of steps from one number to another, across the end of the numbers."""
    return (end - start) % LAST


def preceding(sequence: int, by: int = 1) -> int:
    return (sequence - FIRST - by) % LAST + FIRST


def earlier(number: int, than: int) -> bool:
    return steps(than, number) >= HALF


def later_boot(boot: int, than: int) -> bool:
    """Whether a power-up is later than another; power-up 0 follows power-up 65535."""
    return 0 < (boot - than) % BOOTS < HALF


class DeviceMoment(NamedTuple):
    """A moment on the clock of a device, which counts from a power-up."""

    boot: int
    clock_us: int

    def goes_back(self, before: "DeviceMoment | None") -> bool:
        if before is None:
            return False
        if self.boot == before.boot:
            return self.clock_us < before.clock_us
        return not later_boot(self.boot, before.boot)


def moment(report: OpenShoeReport) -> DeviceMoment:
    return DeviceMoment(report.boot, report.clock_us)


class OpenShoeRepeat(Enum):
    """How a report relates to the accepted reports."""

    DUE = auto()  # accept it
    COPY = auto()  # accepted before: the acknowledgement was lost
    LATER = auto()  # an earlier report is missing
    STRANGE = auto()  # of a numbering whose HELLO is missing
    RENUMBERED = auto()  # other bytes under an accepted number: accept it, after a gap


class Intake(msgspec.Struct, frozen=True, omit_defaults=True):
    """The accepted reports of a device, as the host stores them with each accepted report."""

    stream: int | None = None
    due: int = FIRST
    greeted: bool = False  # HELLO arrived since the line opened, and no other numbering since
    asked_ns: int | None = None  # the request for HELLO or for the due number that has no answer yet
    checks: tuple[int | None, ...] = ()  # the CRCs of the last accepted reports; None: a listening host missed it
    ahead: int = 0  # this many reports from `due` on were accepted before: they are compared
    clock_us: int = 0  # of the last accepted report
    boot: int | None = None  # of the last accepted report; None: no report of the stream was accepted
    power_up: int | None = None  # in the last HELLO since the line opened
    vouched: bool = False  # no report was accepted since the last HELLO
    gap: bool = False  # that HELLO began a new numbering

    @property
    def end(self) -> int:
        """The number after the last accepted report."""
        return preceding(self.due, by=-self.ahead)

    @property
    def moment(self) -> DeviceMoment | None:
        """The moment of the last accepted report."""
        return None if self.boot is None else DeviceMoment(self.boot, self.clock_us)

    def before(self, number: int) -> tuple[int | None, ...]:
        """The CRCs of the reports before this number."""
        return self.checks[: max(len(self.checks) - steps(number, self.end), 0)]

    def taken(self, report: OpenShoeReport) -> int | None:
        """The CRC of the report that was accepted under the number of this one."""
        at = steps(report.sequence, self.end)
        return self.checks[-at] if 0 < at <= len(self.checks) else None


def opened(intake: Intake, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    return replace(intake, greeted=False, asked_ns=now_ns), (Identify(),)


def greet(intake: Intake, hello: Hello, now_ns: int) -> tuple[Intake, tuple[Requested, ...], bool]:
    """Process a HELLO. Returns the requests to send, and whether HELLO proves that no report was lost.

    Accepted reports that the device still keeps are compared again: their numbers alone prove nothing.
    """
    known, end = hello.stream == intake.stream, intake.end
    kept, taken = steps(hello.oldest, hello.next), steps(hello.oldest, end)
    proven = known and taken <= kept
    back = known and not proven and earlier(hello.next, end)
    if back and intake.greeted:
        return *_identify(intake, now_ns), True  # the device reuses numbers, or this HELLO is old
    missing = hello.oldest != hello.next
    asked_ns = now_ns if missing else None
    after = Intake(
        hello.stream, hello.oldest, greeted=True, asked_ns=asked_ns, power_up=hello.boot, vouched=True, gap=back
    )
    if proven:
        after = replace(after, checks=intake.checks, ahead=taken, clock_us=intake.clock_us, boot=intake.boot)
    elif back:  # the reports from `next` on do not exist yet: they are new
        after = replace(after, checks=intake.before(hello.next), ahead=kept)
    return after, (Resend(hello.stream, hello.oldest),) if missing else (), proven


def weigh(intake: Intake, stream: int, sequence: int) -> OpenShoeRepeat:
    if not intake.greeted or stream != intake.stream:
        return OpenShoeRepeat.STRANGE
    if sequence == intake.due:
        return OpenShoeRepeat.DUE
    return OpenShoeRepeat.COPY if earlier(sequence, intake.due) else OpenShoeRepeat.LATER


def judge(intake: Intake, report: OpenShoeReport) -> OpenShoeRepeat:
    """How a report relates to the accepted reports, by its number, its CRC and its moment."""
    verdict = weigh(intake, report.stream, report.sequence)
    if (
        verdict is not OpenShoeRepeat.STRANGE
        and intake.power_up is not None
        and later_boot(report.boot, intake.power_up)
    ):
        return OpenShoeRepeat.STRANGE  # the HELLO of that power-up was lost
    compared = verdict is OpenShoeRepeat.COPY or (verdict is OpenShoeRepeat.DUE and intake.ahead > 0)
    if compared and intake.taken(report) == report.check:
        return OpenShoeRepeat.COPY
    if compared and verdict is OpenShoeRepeat.DUE:
        return OpenShoeRepeat.DUE if intake.gap else OpenShoeRepeat.RENUMBERED
    if verdict is OpenShoeRepeat.COPY:
        return OpenShoeRepeat.RENUMBERED if intake.vouched else OpenShoeRepeat.STRANGE
    if verdict is not OpenShoeRepeat.STRANGE and moment(report).goes_back(intake.moment) and not intake.vouched:
        return OpenShoeRepeat.STRANGE  # the clock goes back: the device may reuse numbers, too
    return verdict


def receive(
    intake: Intake, report: OpenShoeReport, now_ns: int
) -> tuple[Intake, tuple[Requested, ...], OpenShoeRepeat]:
    """Accept a report or not. The requests leave after the commit, as all sends do."""
    verdict = judge(intake, report)
    if verdict in (OpenShoeRepeat.DUE, OpenShoeRepeat.RENUMBERED):
        return _take(intake, report), (OpenShoeAcknowledge(report.stream, report.sequence),), verdict
    if verdict is OpenShoeRepeat.COPY:
        if report.sequence == intake.due:
            intake = replace(intake, due=following(intake.due), ahead=intake.ahead - 1, asked_ns=None)
        return intake, (OpenShoeAcknowledge(report.stream, report.sequence),), verdict
    if verdict is OpenShoeRepeat.STRANGE and intake.greeted:
        return *_identify(intake, now_ns), verdict
    return *_missing(intake, now_ns), verdict


def overhear(intake: Intake, report: OpenShoeReport) -> tuple[Intake, OpenShoeRepeat]:
    """The decision of a host that only listens. This host cannot request reports, and accepts all except copies."""
    verdict = weigh(replace(intake, greeted=True), report.stream, report.sequence)
    if verdict is OpenShoeRepeat.COPY:
        known = intake.taken(report)
        # The other host may have requested a report that this host missed: the gap is on record.
        missed = known is None and steps(report.sequence, intake.due) <= REPEATABLE
        if known == report.check or missed:
            return intake, verdict
    if verdict is OpenShoeRepeat.COPY or (
        verdict is not OpenShoeRepeat.STRANGE and moment(report).goes_back(intake.moment)
    ):
        verdict = OpenShoeRepeat.RENUMBERED
    return _take(intake, report), verdict


def overhear_hello(intake: Intake, hello: Hello) -> tuple[Intake, bool]:
    """Process a HELLO at a host that only listens. Returns whether HELLO begins a new numbering of the same stream."""
    back = hello.stream == intake.stream and earlier(hello.next, intake.due)
    if back:
        intake = Intake(hello.stream, hello.next, checks=intake.before(hello.next))
    return replace(intake, greeted=True, power_up=hello.boot), back


def alive(intake: Intake, message: Alive, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    """Compare `next` of an idle device: reports before `next` may be missing, or the device may reuse numbers."""
    verdict = weigh(intake, message.stream, message.next)
    if intake.greeted and (
        verdict in (OpenShoeRepeat.COPY, OpenShoeRepeat.STRANGE) or intake.power_up not in (None, message.boot)
    ):
        return _identify(intake, now_ns)
    return (intake, ()) if verdict is OpenShoeRepeat.DUE else _missing(intake, now_ns)


def wake_at(intake: Intake, resend_ms: int) -> int | None:
    return None if intake.asked_ns is None else intake.asked_ns + resend_ms * NS_PER_MS


def wake(intake: Intake, now_ns: int, resend_ms: int) -> tuple[Intake, tuple[Requested, ...]]:
    """Repeat the request that has no answer."""
    due_ns = wake_at(intake, resend_ms)
    return (intake, ()) if due_ns is None or now_ns < due_ns else _ask(intake, now_ns)


def _take(intake: Intake, report: OpenShoeReport) -> Intake:
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
    """Request HELLO, and accept no report until HELLO arrives."""
    return replace(intake, greeted=False, asked_ns=now_ns), (Identify(),)


def _missing(intake: Intake, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    """Request the due number, or HELLO, unless a request is already waiting for its answer."""
    return _ask(intake, now_ns) if intake.asked_ns is None else (intake, ())


def _ask(intake: Intake, now_ns: int) -> tuple[Intake, tuple[Requested, ...]]:
    wanted: Requested = Identify()
    if intake.greeted and intake.stream is not None:
        wanted = Resend(intake.stream, intake.due)
    return replace(intake, asked_ns=now_ns), (wanted,)


class DeviceStore(msgspec.Struct, frozen=True):
    """The reports that a device keeps."""

    stream: int
    version: int = 1
    room: int = 1024  # reports
    next: int = FIRST
    kept: tuple[OpenShoeReport, ...] = ()
    repeat_ns: int | None = None  # when the device repeats the window
    full: bool = False  # reports were dropped: the stream ends when the kept ones are acknowledged
    boot: int = 0  # the present power-up; always 0 before version 3

    @property
    def oldest(self) -> int:
        return preceding(self.next, by=len(self.kept))

    @property
    def ended(self) -> bool:
        """Whether the device must begin a new stream that first reports the loss."""
        return self.full and not self.kept


def keep(
    store: DeviceStore, message: ReportBody, clock_us: int, now_ns: int
) -> tuple[DeviceStore, tuple[OpenShoeReport, ...]]:
    """Number a report and keep it. Returns the reports to send now."""
    if store.full or len(store.kept) >= store.room:
        return replace(store, full=True), ()
    report = OpenShoeReport(store.version, store.next, store.stream, clock_us, message, store.boot)
    sent = len(store.kept) < WINDOW
    store = replace(store, next=following(store.next), kept=(*store.kept, report))
    repeat_ns = now_ns + REPEAT_NS if store.repeat_ns is None else store.repeat_ns
    return (replace(store, repeat_ns=repeat_ns), (report,)) if sent else (store, ())


def drop_acknowledged(
    store: DeviceStore, message: OpenShoeAcknowledge, now_ns: int
) -> tuple[DeviceStore, tuple[OpenShoeReport, ...]] | None:
    """Delete the acknowledged reports. Returns the reports that enter the window; None: another stream, send HELLO."""
    if message.stream != store.stream:
        return None
    done = steps(store.oldest, message.upto) + 1
    if done > len(store.kept) or message.upto < FIRST:
        return store, ()
    kept = store.kept[done:]
    store = replace(store, kept=kept, repeat_ns=now_ns + REPEAT_NS if kept else None)
    return store, kept[max(WINDOW - done, 0) : WINDOW]


def repeat_reports(
    store: DeviceStore, message: Resend, now_ns: int
) -> tuple[DeviceStore, tuple[OpenShoeReport, ...]] | None:
    """The reports from a number in the window on. None: the number is not in the window, send HELLO."""
    start = steps(store.oldest, message.start)
    if message.stream != store.stream or start >= min(WINDOW, len(store.kept)) or message.start < FIRST:
        return None
    return replace(store, repeat_ns=now_ns + REPEAT_NS), store.kept[start : start + WINDOW]


def repeat(store: DeviceStore, now_ns: int) -> tuple[DeviceStore, tuple[OpenShoeReport, ...]]:
    """Repeat the window, if no report was acknowledged in time."""
    if store.repeat_ns is None or now_ns < store.repeat_ns:
        return store, ()
    return replace(store, repeat_ns=now_ns + REPEAT_NS), store.kept[:WINDOW]
