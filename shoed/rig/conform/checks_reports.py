"""Checks of the reports that a device keeps, sends and repeats, and of its numbers and streams.

An experiment that needs reports, time or the power is made once, and several clauses use its result.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe.codec import CHECK, HEAD, seal
from firmware_protocols.open_shoe.messages import (
    FIRST,
    LAST,
    Hello,
    Identify,
    OpenShoeAcknowledge,
    OpenShoeReport,
    OpenShoeRequest,
    Resend,
)
from shoed.rig.conform.host import REPEAT_S, Broken, HeardFrame, Host, Untried, is_hello
from shoed.rig.conform.line import NS_PER_S
from shoed.rig.conform.watch import unescaped
from shoed.session.open_shoe_stream import HALF, WINDOW, preceding, steps

T = TypeVar("T")

SOME: Final = 3
MORE_THAN_A_WINDOW: Final = WINDOW + 8
ROUNDS: Final = 4  # repetitions to examine
EARLY_S: Final = 0.1  # the tolerance of an early repetition
FLOOD: Final = 250  # requests
PIECE: Final = 20  # requests of a flood in one write
ACK_TYPE: Final = 0x81
RESEND_TYPE: Final = 0x82
STAMP_AT: Final = HEAD.size  # in a body


def once(host: Host, experiment: Callable[[Host], T]) -> T:
    """The result of the experiment, which is made once. A failed experiment fails again."""
    if experiment not in host.known:
        try:
            host.known[experiment] = experiment(host), host.evidence()
        except (Broken, Untried) as error:
            host.known[experiment] = error, host.evidence()
    found, trace = host.known[experiment]
    host.trace.clear()
    host.trace.extend(trace)
    if isinstance(found, Exception):
        raise found
    return found  # type: ignore[return-value]  # the result of this experiment


def need(right: bool, detail: str) -> None:  # noqa: FBT001 -- the signature of assert
    if not right:
        raise Broken(detail)


def numbers(reports: Sequence[OpenShoeReport]) -> list[int]:
    return [each.sequence for each in reports]


def run_of(start: int, count: int) -> list[int]:
    return [(start - FIRST + each) % LAST + FIRST for each in range(count)]


def kept_of(hello: Hello) -> list[int]:
    return run_of(hello.oldest, steps(hello.oldest, hello.next))


def still_kept(host: Host, before: Hello, what: str) -> Hello:
    """The device still keeps all reports that it kept before."""
    hello = host.identify()
    need(hello.stream == before.stream, f"{what}: stream {before.stream:08X} was replaced by {hello.stream:08X}")
    need(
        hello.oldest == before.oldest,
        f"{what}: the oldest report was {before.oldest}, and is {hello.oldest} without an acknowledgement",
    )
    return hello


# --- repetitions


class Withheld(NamedTuple):
    """The frames received without any acknowledgement."""

    first: Hello
    kept: list[int]
    hello: Hello  # at the end
    heard: list[HeardFrame]
    listened_s: float


def withheld(host: Host) -> Withheld:
    first = host.cause(SOME)
    listened_s = REPEAT_S * ROUNDS + host.limits.slack_s
    host.wait(listened_s)
    heard = list(host.heard)
    return Withheld(first, kept_of(first), host.identify(), heard, listened_s)


def rounds_of(found: Withheld) -> list[int]:
    """The moments at which the oldest report was sent."""
    return [each.at_ns for each in found.heard if each.report and each.report.sequence == found.kept[0]]


def repeats(host: Host) -> None:
    found = once(host, withheld)
    at = rounds_of(found)
    need(len(at) > 1, f"report {found.kept[0]} was not repeated within {found.listened_s:g} s")
    for before, after in pairwise(at):
        gap_s = (after - before) / NS_PER_S
        latest_s = REPEAT_S + host.limits.slack_s
        need(REPEAT_S - EARLY_S <= gap_s <= latest_s, f"{gap_s * 1000:.0f} ms between two transmissions")
    again = [each.report.sequence for each in found.heard if each.report and at[-2] <= each.at_ns < at[-1]]
    need(again[: len(found.kept)] == found.kept, f"{found.kept} are kept, and the device repeated {again}")


def repeats_for_ever(host: Host) -> None:
    at = rounds_of(once(host, withheld))
    need(len(at) >= ROUNDS, f"{len(at)} transmissions within {REPEAT_S * ROUNDS + host.limits.slack_s:g} s")


def repeats_the_same(host: Host) -> None:
    """Find a copy under another number: it has the content of a kept report."""
    found = once(host, withheld)
    contents: dict[bytes, int] = {}
    for each in found.heard:
        if each.report is not None:
            content, number = unescaped(each.raw)[STAMP_AT : -CHECK.size], each.report.sequence
            if number in found.kept:
                contents.setdefault(content, number)
            else:
                need(content not in contents, f"report {contents.get(content)} was repeated as {number}")


def counts_from_the_acknowledgement(host: Host) -> None:
    hello = host.cause(2)
    last = preceding(hello.next)

    def is_last(heard: HeardFrame) -> bool:
        return heard.report is not None and heard.report.sequence == last

    since_ns = host.line.now_ns()
    while (heard := host.wait(REPEAT_S + host.limits.slack_s, is_last)) is not None:
        if heard.at_ns > since_ns + EARLY_S * NS_PER_S:  # not its first transmission
            break
    if heard is None:
        raise Untried("the device repeats no report")
    host.wait(REPEAT_S / 2)
    since_ns = host.line.now_ns()
    host.say(OpenShoeAcknowledge(hello.stream, hello.oldest))
    again = host.wait(REPEAT_S * 2 + host.limits.slack_s, is_last)
    if again is None:
        raise Broken(f"report {last} was not repeated")
    gap_s = (again.at_ns - since_ns) / NS_PER_S
    latest_s = REPEAT_S + host.limits.slack_s
    need(REPEAT_S - EARLY_S <= gap_s <= latest_s, f"repeated {gap_s * 1000:.0f} ms after an acknowledgement")


# --- the window


class Window(NamedTuple):
    hello: Hello
    before: list[int]  # numbers received before any acknowledgement
    after: list[int]  # numbers received after the oldest report was acknowledged


def window(host: Host) -> Window:
    hello = host.cause(MORE_THAN_A_WINDOW)
    host.wait(host.limits.slack_s)
    before = numbers(host.reported())
    since = len(host.heard)
    host.say(OpenShoeAcknowledge(hello.stream, hello.oldest))
    host.wait(REPEAT_S - EARLY_S)  # ends before a repetition
    return Window(hello, before, numbers(host.reported(since)))


def window_is_kept(host: Host) -> None:
    found = once(host, window)
    allowed = run_of(found.hello.oldest, WINDOW)
    beyond = sorted(set(found.before) - set(allowed))
    need(not beyond, f"{found.hello.oldest} is not acknowledged, and the device sent {beyond[:4]}")
    missing = [each for each in allowed if each not in found.before]
    need(not missing, f"the device did not send {missing[:4]}, and keeps fewer than {WINDOW} older reports")


def window_moves(host: Host) -> None:
    found = once(host, window)
    allowed = run_of(found.hello.oldest, WINDOW + 1)
    need(
        allowed[-1] in found.after, f"{found.hello.oldest} was acknowledged, and the device did not send {allowed[-1]}"
    )
    beyond = sorted(set(found.after) - set(allowed))
    need(not beyond, f"one report was acknowledged, and the device sent {beyond[:4]}")


# --- ACK and RESEND


def forgets(host: Host) -> None:
    hello = host.cause(SOME)
    host.say(OpenShoeAcknowledge(hello.stream, preceding(hello.next, by=2)))
    after = host.identify()
    need(after.oldest == preceding(hello.next), f"{preceding(hello.next, by=2)} is acknowledged, oldest {after.oldest}")


def strange_acknowledgements(host: Host) -> None:
    hello = host.cause(2)
    for number in (hello.next, run_of(hello.next, 101)[-1], preceding(hello.oldest)):
        host.drain()
        host.send(build(OpenShoeRequest(host.version, OpenShoeAcknowledge(hello.stream, number))))
        if host.wait(host.limits.slack_s, is_hello):
            raise Broken(f"the device answered ACK {number} with HELLO")
        still_kept(host, hello, f"ACK {number}, and {hello.oldest} to {preceding(hello.next)} are kept")


def zero(host: Host) -> None:
    hello = host.cause(2)
    for kind in (ACK_TYPE, RESEND_TYPE):
        host.send(seal(HEAD.pack(host.version, kind, 0) + hello.stream.to_bytes(4, "big") + bytes(2)))
        still_kept(host, hello, f"{'ACK' if kind == ACK_TYPE else 'RESEND'} 0")


def keeps_over_another_acknowledgement(host: Host) -> None:
    hello = host.cause(2)
    host.drain()
    host.send(build(OpenShoeRequest(host.version, OpenShoeAcknowledge(hello.stream ^ 1, preceding(hello.next)))))
    need(host.wait(host.limits.answer_s, is_hello) is not None, "no HELLO answered an ACK of another stream")
    still_kept(host, hello, "ACK of another stream")


def resends_no_other_stream(host: Host) -> None:
    hello = host.cause(1)
    host.drain()
    host.say(Resend(hello.stream ^ 1, hello.oldest))
    need(host.wait(host.limits.answer_s, is_hello) is not None, "no HELLO answered a RESEND of another stream")
    still_kept(host, hello, "RESEND of another stream")


def resends(host: Host) -> None:
    """Send RESEND right after a repetition, so that the next repetition does not count as the answer."""
    hello = host.cause(SOME)
    wanted = kept_of(hello)[1:]
    host.drain()
    host.wait(REPEAT_S * 2, lambda heard: heard.report is not None and heard.report.sequence == wanted[-1])
    since = len(host.heard)
    host.say(Resend(hello.stream, wanted[0]))
    host.wait(min(host.limits.slack_s, REPEAT_S - EARLY_S))
    incoming = numbers(host.reported(since))
    need(incoming[: len(wanted)] == wanted, f"{wanted} are kept, and RESEND {wanted[0]} returned {incoming}")


def answers_resend_outside_window(host: Host) -> None:
    hello = host.cause(1)
    for number in (hello.next, preceding(hello.oldest)):
        host.drain()
        host.say(Resend(hello.stream, number))
        need(
            host.wait(host.limits.answer_s, is_hello) is not None,
            f"the device did not answer RESEND {number} with HELLO",
        )


# --- kept


def keeps(host: Host) -> None:
    found = once(host, withheld)
    need(
        (found.hello.stream, found.hello.oldest) == (found.first.stream, found.first.oldest),
        f"report {found.first.oldest} is not acknowledged, and the oldest is {found.hello.oldest}",
    )


def keeps_over_a_cut(host: Host) -> None:
    hello = host.cause(2)
    host.reopen()
    since = len(host.heard)
    after = still_kept(host, hello, "the line was cut")
    host.say(Resend(hello.stream, hello.oldest))
    host.wait(REPEAT_S + host.limits.slack_s)
    missing = set(kept_of(hello)) - set(numbers(host.reported(since)))
    need(not missing, f"{sorted(missing)} did not arrive after the line was cut")
    need(steps(hello.next, after.next) < HALF, f"next was {hello.next}, and is {after.next}")


def keeps_in_a_flood(host: Host) -> None:
    hello = host.cause(2)
    flood = (
        OpenShoeRequest(1, Identify()),
        OpenShoeRequest(1, OpenShoeAcknowledge(hello.stream ^ 1, hello.oldest)),
        OpenShoeRequest(1, Resend(hello.stream, hello.oldest)),
    )
    for _ in range(FLOOD // PIECE):
        host.send(b"".join(build(flood[each % len(flood)]) for each in range(PIECE)) + bytes(PIECE))
        host.wait(0.02)
    while host.wait(host.limits.answer_s, is_hello):
        pass
    still_kept(host, hello, f"{FLOOD} requests at once")
