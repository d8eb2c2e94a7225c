"""Checks of what takes long, many reports or a cut of the power: room, wrapping numbers, a full memory, new streams."""

from functools import partial
from typing import Final, NamedTuple

from firmware_protocols.open_shoe.layout import FAULTS
from firmware_protocols.open_shoe.messages import LAST, Acknowledge, Fault, FaultChanged, Hello, Lock, Report, Role
from shoed.conform.checks_reports import SOME, kept_of, need, numbers, once, run_of
from shoed.conform.host import REPEAT_S, Broken, Heard, Host, NoRoom, Untried, is_hello
from shoed.conform.line import NS_PER_S, Gone
from shoed.session.open_shoe_stream import HALF, WINDOW, preceding, steps

ROOM: Final = 1024
PART: Final = ROOM // 2  # of the numbers, while they are led to their end
CLOCK_S: Final = 1.0  # between two reports whose clocks are compared
CLOCK_WRONG_S: Final = 0.5
MEMORY_FULL: Final = next(each.number for each in FAULTS if each.name is Fault.MEMORY_FULL)


def drained(host: Host) -> set[int]:
    """Acknowledge window by window; the numbers of all that came."""
    while (hello := host.identify()).oldest != hello.next:
        last = kept_of(hello)[:WINDOW][-1]
        came = set(numbers(host.reported()))
        is_last = partial(is_number, last)
        if last not in came and host.wait(REPEAT_S + host.limits.slack_s, is_last) is None:
            raise Broken(f"report {last} does not come")
        host.say(Acknowledge(hello.stream, last))
    return set(numbers(host.reported()))


def is_number(number: int, heard: Heard) -> bool:
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
    need(not missing, f"{sorted(missing)[:4]} never came")


def wraps(host: Host) -> None:
    """No device keeps so many reports: they are heard and acknowledged in parts."""
    hello = host.identify()
    wanted = run_of(hello.next, LAST - hello.next + 1 + SOME)
    host.afford(len(wanted))
    for at in range(0, len(wanted), PART):
        part = wanted[at : at + PART]
        host.heard.clear()
        host.cause(len(part))
        missing = set(part) - drained(host)
        need(not missing, f"{sorted(missing)[:4]} never came")


# --- the clock


def counts_microseconds(host: Host) -> None:
    def one() -> tuple[int, int]:
        since, hello = len(host.heard), host.cause(1)
        for each in host.heard[since:]:
            if each.report is not None and each.report.sequence == preceding(hello.next):
                return each.at_ns, each.report.clock_us
        raise Untried("the report did not come at once")

    first = one()
    host.settle()
    host.wait(CLOCK_S)
    keep_time(first, one(), "the device's clock")


def keep_time(first: tuple[int, int], second: tuple[int, int], what: str) -> None:
    """Each is the moment at which a frame came, in ns, and the clock in it, in microseconds."""
    real_s, said_s = (second[0] - first[0]) / NS_PER_S, (second[1] - first[1]) / 1e6
    need(abs(real_s - said_s) <= CLOCK_WRONG_S, f"{real_s:.2f} s passed, and {said_s:.2f} s by {what}")


# --- the memory is full


class WrittenOver(Untried):
    """Older reports are lost, newer ones are kept."""


class Full(NamedTuple):
    before: Hello  # when it was full
    dropped: Hello  # after room came, and one more report was lost
    opening: list[Report]  # of the new stream
    greeted: bool


def full(host: Host) -> Full:
    """Reports are caused until none is kept any more."""
    first = hello = host.identify()
    if host.limits.most_reports <= ROOM:
        raise Untried(f"the memory holds {ROOM} reports or more; give --most-reports {ROOM * 2}")
    if not host.turns(2):
        raise Untried("it takes a shoe that obeys the orders lock and unlock")
    for _ in range(0, host.limits.most_reports, WINDOW):
        if not all(host.turn() for _ in range(WINDOW)):
            raise Untried("the device locks its exit before its memory is full")
        before, hello = hello, host.identify()
        if hello.oldest != first.oldest:
            raise WrittenOver(f"{first.oldest} is not acknowledged, and the oldest is {hello.oldest}")
        if hello.next == before.next:
            break
    else:
        raise Untried(f"the memory is not full after {host.limits.most_reports} reports; give a higher --most-reports")
    host.say(Acknowledge(hello.stream, run_of(hello.oldest, WINDOW)[-1]))
    host.turn()
    host.turn()
    dropped = host.identify()
    since = len(host.heard)
    host.say(Acknowledge(dropped.stream, preceding(dropped.next)))
    greeting = host.wait(host.limits.answer_s, lambda heard: is_hello(heard) and new_stream(heard, hello))
    host.wait(host.limits.slack_s)
    opening = [each for each in host.reported(since) if each.stream != hello.stream]
    return Full(hello, dropped, opening, greeting is not None)


def new_stream(heard: Heard, before: Hello) -> bool:
    return heard.hello is not None and heard.hello.stream != before.stream


def full_keeps(host: Host) -> None:
    try:
        once(host, full)
    except WrittenOver as lost:
        raise Broken(str(lost)) from lost


def full_drops(host: Host) -> None:
    found = once(host, full)
    need(found.dropped.next == found.before.next, "a report was numbered after one was lost")


def full_begins_a_stream(host: Host) -> None:
    found = once(host, full)
    need(found.greeted, "all is acknowledged, and no HELLO of another stream came")
    said = [(each.sequence, fault_of(each)) for each in found.opening[:2]]
    need(said == [(1, (MEMORY_FULL, True)), (2, (MEMORY_FULL, False))], "FAULT 8 does not open the new stream")


def fault_of(report: Report) -> tuple[int, bool] | None:
    said = report.said
    return (said.code, said.raised) if isinstance(said, FaultChanged) else None


def full_says_how_it_stands(host: Host) -> None:
    found = once(host, full)
    if host.role is not Role.SHOE:
        raise Untried("a shuffler has no exit")
    said = [each.said.locked for each in found.opening[2:] if isinstance(each.said, Lock)]
    need(said[:1] == [not host.lock_next], "LOCK does not follow, or is not as the exit stands")


# --- the power


class Cycle(NamedTuple):
    before: Hello
    raw: dict[int, bytes]  # of the reports that were kept
    clock_us: int
    asked: bool  # HELLO came only on IDENTIFY
    after: Hello
    came: list[Heard]


def power_cycle(host: Host) -> Cycle:
    before = host.cause(2)
    host.drain()
    raw = {each.report.sequence: each.raw for each in host.heard if each.report}
    clock_us = max((each.clock_us for each in host.reported()), default=0)
    cut_the_power(host)
    since = len(host.heard)
    greeting = greeting_of(host)
    after = host.identify() if greeting is None else greeting
    host.wait(REPEAT_S + host.limits.slack_s)
    return Cycle(before, raw, clock_us, greeting is None, after, host.heard[since:])


def cut_the_power(host: Host) -> None:
    if not host.line.power():
        raise Untried("there is no way to cut the power; give --power COMMAND, or start it at a terminal")
    host.watch.power_cut()


def greeting_of(host: Host) -> Hello | None:
    """The HELLO after power-up; the line may be lost meanwhile."""
    until_ns = host.line.now_ns() + round(host.limits.patience_s * NS_PER_S)
    while (left_ns := until_ns - host.line.now_ns()) > 0:
        try:
            heard = host.wait(left_ns / NS_PER_S, is_hello)
        except Gone:
            host.watch.opened()
            host.line.cut()
            host.open_by(until_ns)
        else:
            return heard and heard.hello
    return None


def greets_at_power_up(host: Host) -> None:
    need(not once(host, power_cycle).asked, "the power was cut, and HELLO came only when it was asked for")


def loses_with_a_new_stream(host: Host) -> None:
    found = once(host, power_cycle)
    before, after = found.before, found.after
    if after.stream != before.stream:
        return
    lost = f"stream {after.stream:08X} goes on after the power was cut"
    oldest = f"{lost}: {before.oldest} was not acknowledged, and {after.oldest} is the oldest"
    need(after.oldest == before.oldest, oldest)
    need(steps(before.next, after.next) < HALF, f"{lost}: next was {before.next}, and is {after.next}")
    for each in found.came:
        if each.report and each.report.sequence in found.raw:
            need(found.raw[each.report.sequence] == each.raw, f"{lost}: {each.report.sequence} is another report now")


def goes_on(host: Host) -> None:
    found = once(host, power_cycle)
    if found.after.stream != found.before.stream:
        raise Untried("the device began a new stream: it has no memory that survives")
    hello = host.cause(1)
    late = [each.clock_us for each in host.reported() if each.sequence == preceding(hello.next)]
    need(not late or late[-1] >= found.clock_us, "the clock went back")


def draws_its_ids(host: Host) -> None:
    found = once(host, power_cycle)
    if found.after.stream == found.before.stream:
        raise Untried("the device goes on with its stream after the power was cut")
    cut_the_power(host)
    again = greeting_of(host) or host.identify()
    ids = (found.before.stream, found.after.stream, again.stream)
    need(len(set(ids)) == len(ids), "two streams have one id")
