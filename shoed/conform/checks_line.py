"""Checks of what a device makes of the bytes, the versions and the orders of a host."""

from typing import Final

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe.codec import HEAD, seal
from firmware_protocols.open_shoe.layout import BODY_MAX
from firmware_protocols.open_shoe.messages import (
    Alive,
    Hello,
    Identify,
    Lock,
    OrderKind,
    Request,
    Resend,
    Result,
)
from shoed.conform.host import Broken, Host, Untried, is_hello
from shoed.conform.line import NS_PER_S
from shoed.conform.watch import DONE, unescaped

UNKNOWN_VERSIONS: Final = (0, 0xEE)
UNKNOWN_ORDER: Final = 0xEE
UNABLE: Final = 2
IDENTIFY: Final = build(Request(1, Identify()))
HALF_A_FRAME: Final = len(IDENTIFY) // 2
STRANGE: Final = (0x7D7E7F11, 0x137D7E7F)  # streams whose every byte is escaped
TORN_S: Final = 0.5
SHORT_GAP_S: Final = 0.05
ALIVE_S: Final = 10.0
QUIET: Final = 0.7  # of the time for an answer
TIMES: Final = 3


def strange(hello: Hello) -> int:
    """Another stream than the present one."""
    return STRANGE[hello.stream == STRANGE[0]]


def answered(host: Host, data: bytes, what: str) -> None:
    host.drain()
    host.send(data)
    if host.wait(host.limits.answer_s, is_hello) is None:
        raise Broken(f"no HELLO came on {what}")


def unanswered(host: Host, data: bytes, what: str) -> None:
    """Nothing is said to it, and the next request is heard."""
    host.drain()
    host.send(data)
    if host.wait(host.limits.answer_s * QUIET, is_hello) is not None:
        raise Broken(f"HELLO came on {what}")
    answered(host, IDENTIFY, f"IDENTIFY, after {what}")


# --- frames


def reads_escapes(host: Host) -> None:
    request = build(Request(1, Resend(strange(host.identify()), 0x1311)))
    answered(host, request, "a RESEND of another stream, in which 7D, 7E, 7F, 11 and 13 are escaped")


def drops_bad_escapes(host: Host) -> None:
    request = build(Request(1, Resend(strange(host.identify()), 0x1311)))
    unanswered(host, request.replace(b"\x7d\x31", b"\x11"), "a frame with a bare 11")
    unanswered(host, request.replace(b"\x7d\x33", b"\x13"), "a frame with a bare 13")
    unanswered(host, IDENTIFY.replace(b"\x80", b"\x7d\xa0"), "a frame in which 80 is escaped")


def skips_junk(host: Host) -> None:
    answered(host, b"\x00\xff\x55\x7f" + IDENTIFY, "IDENTIFY after junk")


def skips_torn_frames(host: Host) -> None:
    answered(host, IDENTIFY[:HALF_A_FRAME] + IDENTIFY, "IDENTIFY that tears a frame")


def gives_up_frames(host: Host) -> None:
    if host.limits.sealed:
        raise Untried("a frame of the secure channel is sent whole")
    host.drain()
    host.send(IDENTIFY[:HALF_A_FRAME])
    host.wait(SHORT_GAP_S)
    answered(host, IDENTIFY[HALF_A_FRAME:], f"IDENTIFY in two halves, {SHORT_GAP_S * 1000:g} ms apart")
    host.send(IDENTIFY[:HALF_A_FRAME])
    host.wait(TORN_S + host.limits.slack_s)
    unanswered(host, IDENTIFY[HALF_A_FRAME:], "the second half of a frame, after a pause of more than 500 ms")


def drops_damage(host: Host) -> None:
    unanswered(host, IDENTIFY[:-2] + bytes((IDENTIFY[-2] ^ 1, IDENTIFY[-1])), "a frame of a wrong CRC")
    unanswered(host, IDENTIFY[:3] + IDENTIFY[-1:], "a frame of three bytes")
    unanswered(host, seal(HEAD.pack(1, 0x80, 0) + bytes(BODY_MAX)), f"a body of more than {BODY_MAX} bytes")


# --- versions


def understands_versions(host: Host) -> None:
    for version in sorted({1, host.version}):
        answered(host, build(Request(version, Identify())), f"IDENTIFY of version {version}")


def drops_unknown_versions(host: Host) -> None:
    for version in UNKNOWN_VERSIONS:
        unanswered(host, seal(HEAD.pack(version, 0x80, 0)), f"IDENTIFY of version {version}")


# --- notices


def says_hello(host: Host) -> None:
    answered(host, IDENTIFY, "IDENTIFY")


def keeps_no_notices(host: Host) -> None:
    hello = host.identify()
    if host.wait(host.limits.answer_s * QUIET, is_hello) is not None:
        raise Broken("HELLO was said again, and nothing asked for it")
    again = host.identify()
    if again.next != hello.next and not host.reported():
        raise Broken(f"next went from {hello.next} to {again.next}, and no report came")


def counts_on(host: Host) -> None:
    hello = host.cause(2)
    highest = host.reported()[-1].sequence if host.reported() else None
    if highest is None or hello.next != highest % 0xFFFF + 1:
        raise Broken(f"HELLO has next {hello.next}, and the last report that came is {highest}")


def names_the_oldest(host: Host) -> None:
    before = host.identify()
    hello = host.cause(2)
    if hello.oldest != before.next:
        raise Broken(f"HELLO has oldest {hello.oldest}, and {before.next} is the first that is not acknowledged")


def greets(host: Host) -> None:
    host.reopen()
    if host.wait(host.limits.answer_s, is_hello) is None:
        if host.limits.sees_line:
            raise Broken("the line was opened, and no HELLO came")
        raise Untried("no HELLO came; give --sees-line if the device itself can see that a host opens the line")


def is_alive(host: Host) -> None:
    for _ in range(TIMES):
        since_ns = host.line.now_ns()
        heard = host.wait(ALIVE_S + host.limits.slack_s + host.limits.answer_s, lambda _: True)
        if heard is None:
            raise Broken(f"nothing came for {(host.line.now_ns() - since_ns) / NS_PER_S:.1f} s")
        if isinstance(heard.message.said, Alive):
            return
    raise Untried("the device had other things to say; try it on an idle device")


# --- orders


def answers_orders(host: Host) -> None:
    for kind, number in ((OrderKind.UNLOCK, 0), (OrderKind.CLEAR, 1)):
        if host.order(kind, number) is None:
            raise Broken(f"no DONE came on the order {kind.value}")


def obeys_twice(host: Host) -> None:
    first, second = host.order(OrderKind.UNLOCK), host.order(OrderKind.UNLOCK)
    if first is None:
        raise Untried("no DONE came")
    if second is None:
        raise Broken("no DONE came on the second of two equal orders")
    if first.result is Result.DONE and second.result is not Result.DONE:
        raise Broken(f"the second of two equal orders is answered {second.result.value}")
    host.wait(host.limits.slack_s)
    if any(isinstance(each.said, Lock) and each.said.locked for each in host.reported()):
        raise Broken("an exit that was unlocked twice is locked")


def reports_orders(host: Host) -> None:
    for kind in (OrderKind.UNLOCK, OrderKind.LOCK, OrderKind.UNLOCK):
        done = host.order(kind)
        if done is None or done.result is not Result.DONE:
            raise Untried(f"the device does not obey the order {kind.value}")
    host.wait(host.limits.answer_s)
    said = [each.said.locked for each in host.reported() if isinstance(each.said, Lock)]
    if True not in said or said[-1]:
        raise Broken("the exit was locked and unlocked, and not both were reported")


def drops_unknown_orders(host: Host) -> None:
    host.send(seal(HEAD.pack(1, 0x83, 0) + bytes((UNKNOWN_ORDER, 0))))
    host.wait(host.limits.answer_s * QUIET)
    for body in map(unescaped, host.rejected):
        if body[1] == DONE and body[4] == UNKNOWN_ORDER and body[6] != UNABLE:
            raise Broken(f"DONE has result {body[6]}")
    if any(type(each.message.said).__name__ == "Done" for each in host.heard):
        raise Broken("DONE of another order came")
    host.identify()
