"""Checks of a device's reaction to the bytes, the versions and the orders of a host."""

from typing import Final

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe.codec import HEAD, seal
from firmware_protocols.open_shoe.layout import BODY_MAX
from firmware_protocols.open_shoe.messages import (
    Alive,
    Done,
    Hello,
    Identify,
    Lock,
    OpenShoeRequest,
    OpenShoeResult,
    OrderKind,
    Resend,
)
from shoed.rig.conform.host import Broken, Host, Untried, is_hello
from shoed.rig.conform.line import NS_PER_S

UNKNOWN_VERSIONS: Final = (0, 0xEE)
UNKNOWN_ORDER: Final = 0xEE
IDENTIFY: Final = build(OpenShoeRequest(1, Identify()))
HALF_A_FRAME: Final = len(IDENTIFY) // 2
STRANGE: Final = (0x7D7E7F11, 0x137D7E7F)  # streams with four bytes that are all escaped
TORN_S: Final = 0.5
SHORT_GAP_S: Final = 0.05
ALIVE_S: Final = 10.0
QUIET: Final = 0.7  # of the time for an answer
TIMES: Final = 3


def strange(hello: Hello) -> int:
    """A stream other than the present one."""
    return STRANGE[hello.stream == STRANGE[0]]


def answered(host: Host, data: bytes, description: str) -> None:
    host.drain()
    host.send(data)
    if host.wait(host.limits.answer_s, is_hello) is None:
        raise Broken(f"the device did not answer {description} with HELLO")


def unanswered(host: Host, data: bytes, description: str) -> None:
    """The device does not answer `data` with HELLO, and still answers IDENTIFY."""
    host.drain()
    host.send(data)
    if host.wait(host.limits.answer_s * QUIET, is_hello) is not None:
        raise Broken(f"the device answered {description} with HELLO; the device must drop such bytes")
    answered(host, IDENTIFY, f"IDENTIFY, after {description}")


# --- frames


def reads_escapes(host: Host) -> None:
    request = build(OpenShoeRequest(1, Resend(strange(host.identify()), 0x1311)))
    answered(host, request, "a RESEND of another stream, in which 7D, 7E, 7F, 11 and 13 are escaped")


def drops_bad_escapes(host: Host) -> None:
    request = build(OpenShoeRequest(1, Resend(strange(host.identify()), 0x1311)))
    unanswered(host, request.replace(b"\x7d\x31", b"\x11"), "a frame with an unescaped 11")
    unanswered(host, request.replace(b"\x7d\x33", b"\x13"), "a frame with an unescaped 13")
    unanswered(host, IDENTIFY.replace(b"\x80", b"\x7d\xa0"), "a frame with an escaped 80")


def skips_junk(host: Host) -> None:
    answered(host, b"\x00\xff\x55\x7f" + IDENTIFY, "IDENTIFY after junk")


def skips_torn_frames(host: Host) -> None:
    answered(host, IDENTIFY[:HALF_A_FRAME] + IDENTIFY, "IDENTIFY that tears a frame")


def gives_up_frames(host: Host) -> None:
    first, second = halves(host)
    host.put(first)
    host.wait(SHORT_GAP_S)
    host.put(second)
    if host.wait(host.limits.answer_s, is_hello) is None:
        gap = f"{SHORT_GAP_S * 1000:g} ms apart"
        raise Broken(f"the device did not answer IDENTIFY with HELLO: IDENTIFY was sent in two halves, {gap}")
    first, second = halves(host)
    host.put(first)
    host.wait(TORN_S + host.limits.slack_s)
    unanswered(host, second, "the second half of a frame, after a pause of more than 500 ms")


def halves(host: Host) -> tuple[bytes, bytes]:
    host.drain()
    frame = host.sealed(IDENTIFY)
    return frame[:HALF_A_FRAME], frame[HALF_A_FRAME:]


def drops_damage(host: Host) -> None:
    unanswered(host, IDENTIFY[:-2] + bytes((IDENTIFY[-2] ^ 1, IDENTIFY[-1])), "a frame with a wrong CRC")
    unanswered(host, IDENTIFY[:3] + IDENTIFY[-1:], "a frame of three bytes")
    unanswered(host, seal(HEAD.pack(1, 0x80, 0) + bytes(BODY_MAX)), f"a body of more than {BODY_MAX} bytes")


# --- versions


def understands_versions(host: Host) -> None:
    for version in sorted({1, host.version}):
        answered(host, build(OpenShoeRequest(version, Identify())), f"IDENTIFY of version {version}")


def drops_unknown_versions(host: Host) -> None:
    for version in UNKNOWN_VERSIONS:
        unanswered(host, seal(HEAD.pack(version, 0x80, 0)), f"IDENTIFY of version {version}")


# --- notices


def sends_hello(host: Host) -> None:
    answered(host, IDENTIFY, "IDENTIFY")


def keeps_no_notices(host: Host) -> None:
    hello = host.identify()
    if host.wait(host.limits.answer_s * QUIET, is_hello) is not None:
        raise Broken("the device repeated HELLO without a request")
    again = host.identify()
    if again.next != hello.next and not host.reported():
        raise Broken(f"next went from {hello.next} to {again.next}, and no report arrived")


def counts_reports(host: Host) -> None:
    hello = host.cause(2)
    highest = host.reported()[-1].sequence if host.reported() else None
    if highest is None or hello.next != highest % 0xFFFF + 1:
        raise Broken(f"HELLO has next {hello.next}, and the last received report is {highest}")


def names_the_oldest(host: Host) -> None:
    before = host.identify()
    hello = host.cause(2)
    if hello.oldest != before.next:
        raise Broken(f"HELLO has oldest {hello.oldest}, and {before.next} is the first that is not acknowledged")


def greets(host: Host) -> None:
    if host.channel is not None:
        raise Untried("with a key, UNKEYED replaces this HELLO; see channel.unkeyed")
    host.reopen()
    if host.wait(host.limits.answer_s, is_hello) is None:
        if host.limits.sees_line:
            raise Broken("the line was opened, and no HELLO arrived")
        raise Untried("no HELLO arrived; use --sees-line if the device can detect that a host opens the line")


def is_alive(host: Host) -> None:
    for _ in range(TIMES):
        since_ns = host.line.now_ns()
        heard = host.wait(ALIVE_S + host.limits.slack_s + host.limits.answer_s, lambda _: True)
        if heard is None:
            raise Broken(f"no frame arrived for {(host.line.now_ns() - since_ns) / NS_PER_S:.1f} s")
        if isinstance(heard.message.body, Alive):
            return
    raise Untried("the device sent other messages; repeat the test with an idle device")


# --- orders


def answers_orders(host: Host) -> None:
    for kind, number in ((OrderKind.UNLOCK, 0), (OrderKind.CLEAR, 1)):
        if host.order(kind, number) is None:
            raise Broken(f"the device did not answer the order {kind.value} with DONE")


def obeys_twice(host: Host) -> None:
    first, second = host.order(OrderKind.UNLOCK), host.order(OrderKind.UNLOCK)
    if first is None:
        raise Untried("no DONE arrived")
    if second is None:
        raise Broken("the device did not answer the second of two equal orders with DONE")
    if first.result is OpenShoeResult.DONE and second.result is not OpenShoeResult.DONE:
        raise Broken(f"DONE of the second of two equal orders has the result {second.result.value}")
    host.wait(host.limits.slack_s)
    if any(isinstance(each.body, Lock) and each.body.locked for each in host.reported()):
        raise Broken("an exit that was unlocked twice is locked")


def reports_orders(host: Host) -> None:
    for kind in (OrderKind.UNLOCK, OrderKind.LOCK, OrderKind.UNLOCK):
        done = host.order(kind)
        if done is None or done.result is not OpenShoeResult.DONE:
            raise Untried(f"the device does not execute the order {kind.value}")
    host.wait(host.limits.answer_s)
    locks = [each.body.locked for each in host.reported() if isinstance(each.body, Lock)]
    if True not in locks or locks[-1]:
        raise Broken("the exit was locked and unlocked, and the device did not report both")


def drops_unknown_orders(host: Host) -> None:
    host.send(seal(HEAD.pack(1, 0x83, 0) + bytes((UNKNOWN_ORDER, 0))))
    host.wait(host.limits.answer_s * QUIET)
    for body in (each.message.body for each in host.heard):
        if isinstance(body, Done) and (body.order, body.result) != (UNKNOWN_ORDER, OpenShoeResult.UNABLE):
            raise Broken(f"DONE has the order {body.order}, and the result {body.result.value}")
    host.identify()


def drops_unreadable_requests(host: Host) -> None:
    unanswered(host, seal(HEAD.pack(1, 0x80, 0) + bytes(1)), "IDENTIFY with one byte too many")
    other = strange(host.identify()).to_bytes(4, "big")
    unanswered(host, seal(HEAD.pack(1, 0x82, 0) + other + bytes(1)), "RESEND with one byte too few")
    unanswered(host, seal(HEAD.pack(1, 0x81, 0) + other + bytes((0, 1, 0))), "ACK with one byte too many")
