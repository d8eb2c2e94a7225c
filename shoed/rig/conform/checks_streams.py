"""Checks that need a long time, many reports or a power cut: memory size, wrap of the numbers, full memory, streams."""

from functools import partial
from typing import Final, NamedTuple

from firmware_protocols.open_shoe.layout import FAULTS
from firmware_protocols.open_shoe.messages import (
    LAST,
    FaultChanged,
    Hello,
    Lock,
    OpenShoeAcknowledge,
    OpenShoeFault,
    OpenShoeReport,
    OpenShoeRole,
)
from shoed.rig.conform.checks_reports import SOME, kept_of, need, numbers, once, run_of
from shoed.rig.conform.host import REPEAT_S, Broken, HeardFrame, Host, NoRoom, Untried, is_hello
from shoed.rig.conform.line import NS_PER_S, LineGone
from shoed.session.open_shoe_stream import HALF, WINDOW, preceding, steps

ROOM: Final = 1024
PART: Final = ROOM // 2  # reports per part, on the way to the end of the numbers
CLOCK_S: Final = 1.0  # between two reports whose clocks are compared
CLOCK_WRONG_S: Final = 0.5
MEMORY_FULL: Final = next(each.number for each in FAULTS if each.name is OpenShoeFault.MEMORY_FULL)


def drained(host: Host) -> set[int]:
    """Acknowledge window by window. Return the numbers of all received reports."""
    while (hello := host.identify()).oldest != hello.next:
        last = kept_of(hello)[:WINDOW][-1]
        incoming = set(numbers(host.reported()))
        is_last = partial(is_number, last)
        if last not in incoming and host.wait(REPEAT_S + host.limits.slack_s, is_last) is None:
            raise Broken(f"report {last} does not arrive")
        host.say(OpenShoeAcknowledge(hello.stream, last))
    return set(numbers(host.reported()))


def is_number(number: int, heard: HeardFrame) -> bool:
    return heard.report is not None and heard.report.sequence == number


def has_room(host: Host) -> None:
    before = host.identify()
    try:
        hello = host.cause(ROOM)
    except NoRoom as full:
        raise Broken(str(full)) from full
    need(
        (hello.stream, hello.oldest) == (before.stream, before.next),
        f"{ROOM} reports are not acknowledged, and {hello.oldest} to {preceding(hello.next)} are kept",
    )
    missing = set(kept_of(hello)) - drained(host)
    need(not missing, f"{sorted(missing)[:4]} did not arrive")


def wraps(host: Host) -> None:
    """No device keeps so many reports. Therefore the host receives and acknowledges the reports in parts."""
    hello = host.identify()
    wanted = run_of(hello.next, LAST - hello.next + 1 + SOME)
    host.afford(len(wanted))
    for at in range(0, len(wanted), PART):
        part = wanted[at : at + PART]
        host.heard.clear()
        host.cause(len(part))
        missing = set(part) - drained(host)
        need(not missing, f"{sorted(missing)[:4]} did not arrive")


# --- the clock


def counts_microseconds(host: Host) -> None:
    def one() -> tuple[int, int]:
        since, hello = len(host.heard), host.cause(1)
        for each in host.heard[since:]:
            if each.report is not None and each.report.sequence == preceding(hello.next):
                return each.at_ns, each.report.clock_us
        raise Untried("the report did not arrive immediately")

    first = one()
    host.settle()
    host.wait(CLOCK_S)
    keep_time(first, one(), "the clock of the device")


def keep_time(first: tuple[int, int], second: tuple[int, int], what: str) -> None:
    """Compare the arrivals of two frames, in ns, with the clocks in them, in microseconds."""
    real_s, clock_s = (second[0] - first[0]) / NS_PER_S, (second[1] - first[1]) / 1e6
    need(abs(real_s - clock_s) <= CLOCK_WRONG_S, f"{real_s:.2f} s passed, and {clock_s:.2f} s by {what}")


# --- the memory is full


class WrittenOver(Untried):
    """Older reports were lost, and newer reports are kept."""


class Full(NamedTuple):
    before: Hello  # with a full memory
    dropped: Hello  # after room became free, and one more report was lost
    opening: list[OpenShoeReport]  # of the new stream
    greeted: bool


def full(host: Host) -> Full:
    """Cause reports until the device keeps no further report."""
    first = hello = host.identify()
    if host.limits.most_reports <= ROOM:
        raise Untried(f"the memory has room for {ROOM} reports or more; use --most-reports {ROOM * 2}")
    if not host.turns(2):
        raise Untried("this check needs a shoe that executes the orders lock and unlock")
    for _ in range(0, host.limits.most_reports, WINDOW):
        if not all(host.turn() for _ in range(WINDOW)):
            raise Untried("the device locks its exit before its memory is full")
        before, hello = hello, host.identify()
        if hello.oldest != first.oldest:
            raise WrittenOver(f"{first.oldest} is not acknowledged, and the oldest is {hello.oldest}")
        if hello.next == before.next:
            break
    else:
        raise Untried(f"the memory is not full after {host.limits.most_reports} reports; use a higher --most-reports")
    host.say(OpenShoeAcknowledge(hello.stream, run_of(hello.oldest, WINDOW)[-1]))
    host.turn()
    host.turn()
    dropped = host.identify()
    since = len(host.heard)
    host.say(OpenShoeAcknowledge(dropped.stream, preceding(dropped.next)))
    greeting = host.wait(host.limits.answer_s, lambda heard: is_hello(heard) and new_stream(heard, hello))
    host.wait(host.limits.slack_s)
    opening = [each for each in host.reported(since) if each.stream != hello.stream]
    return Full(hello, dropped, opening, greeting is not None)


def new_stream(heard: HeardFrame, before: Hello) -> bool:
    return heard.hello is not None and heard.hello.stream != before.stream


def full_keeps(host: Host) -> None:
    try:
        once(host, full)
    except WrittenOver as lost:
        raise Broken(str(lost)) from lost


def full_drops(host: Host) -> None:
    found = once(host, full)
    need(found.dropped.next == found.before.next, "the device numbered a report after it had dropped one")


def full_begins_a_stream(host: Host) -> None:
    found = once(host, full)
    need(found.greeted, "all reports are acknowledged, and no HELLO of another stream arrived")
    faults = [(each.sequence, fault_of(each)) for each in found.opening[:2]]
    need(faults == [(1, (MEMORY_FULL, True)), (2, (MEMORY_FULL, False))], "the new stream does not begin with FAULT 8")


def fault_of(report: OpenShoeReport) -> tuple[int, bool] | None:
    body = report.body
    return (body.code, body.raised) if isinstance(body, FaultChanged) else None


def full_reports_state(host: Host) -> None:
    found = once(host, full)
    if host.role is not OpenShoeRole.SHOE:
        raise Untried("a shuffler has no exit")
    locks = [each.body.locked for each in found.opening[2:] if isinstance(each.body, Lock)]
    need(locks[:1] == [not host.lock_next], "LOCK does not follow, or has another state of the exit")


# --- the power


class Cycle(NamedTuple):
    before: Hello
    raw: dict[int, bytes]  # of the kept reports
    clock_us: int
    asked: bool  # HELLO arrived only on IDENTIFY
    after: Hello
    incoming: list[HeardFrame]


def power_cycle(host: Host) -> Cycle:
    before = host.cause(2)
    host.drain()
    raw = {each.report.sequence: each.raw for each in host.heard if each.report}
    clock_us = max((each.clock_us for each in host.reported()), default=0)
    cut_the_power(host)
    since = len(host.heard)
    greeting = hello_after_power_up(host)
    after = host.identify() if greeting is None else greeting
    host.wait(REPEAT_S + host.limits.slack_s)
    return Cycle(before, raw, clock_us, greeting is None, after, host.heard[since:])


def cut_the_power(host: Host) -> None:
    if not host.line.power():
        raise Untried("the power cannot be cut; use --power COMMAND, or run the test at a terminal")
    host.watch.power_cut()


def hello_after_power_up(host: Host) -> Hello | None:
    """Wait for HELLO after the power-up, also over a new connection. None: no HELLO arrived in time."""
    until_ns = host.line.now_ns() + round(host.limits.patience_s * NS_PER_S)
    while (left_ns := until_ns - host.line.now_ns()) > 0:
        try:
            heard = host.wait(left_ns / NS_PER_S, is_hello)
        except LineGone:
            host.watch.opened()
            host.line.cut()
            host.open_by(until_ns)
        else:
            return heard and heard.hello
    return None


def greets_at_power_up(host: Host) -> None:
    need(not once(host, power_cycle).asked, "the power was cut, and HELLO arrived only on IDENTIFY")


def loses_with_a_new_stream(host: Host) -> None:
    found = once(host, power_cycle)
    before, after = found.before, found.after
    if after.stream != before.stream:
        return
    lost = f"stream {after.stream:08X} continues after the power was cut"
    oldest = f"{lost}: {before.oldest} was not acknowledged, and {after.oldest} is the oldest"
    need(after.oldest == before.oldest, oldest)
    need(steps(before.next, after.next) < HALF, f"{lost}: next was {before.next}, and is {after.next}")
    for each in found.incoming:
        if each.report and each.report.sequence in found.raw:
            need(found.raw[each.report.sequence] == each.raw, f"{lost}: {each.report.sequence} is another report now")


def continues_its_stream(host: Host) -> None:
    found = once(host, power_cycle)
    if found.after.stream != found.before.stream:
        raise Untried("the device began a new stream: it has no memory that survives")
    hello = host.cause(1)
    late = [each.clock_us for each in host.reported() if each.sequence == preceding(hello.next)]
    need(not late or late[-1] >= found.clock_us, "the clock went back")


def draws_its_ids(host: Host) -> None:
    found = once(host, power_cycle)
    if found.after.stream == found.before.stream:
        raise Untried("the device continues its stream after the power was cut")
    cut_the_power(host)
    again = hello_after_power_up(host) or host.identify()
    ids = (found.before.stream, found.after.stream, again.stream)
    need(len(set(ids)) == len(ids), "two streams have the same id")
