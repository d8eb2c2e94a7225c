"""Checks of the secure channel: the frames that a device with a key must refuse, and the start of its sessions."""

from collections.abc import Callable
from typing import Final

from firmware_protocols.family import Reason
from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe.channel import (
    CHALLENGE,
    NONCE_BYTES,
    PROOF_BYTES,
    RESPONSE,
    UNKEYED,
    Keys,
    keys_of,
)
from firmware_protocols.open_shoe.codec import HEAD, seal, unwrap
from firmware_protocols.open_shoe.layout import TITLES
from firmware_protocols.open_shoe.messages import (
    Done,
    Identify,
    OpenShoeAcknowledge,
    OpenShoeOrder,
    OpenShoeRequest,
    OrderKind,
)
from shoed.rig.conform.checks_line import QUIET
from shoed.rig.conform.checks_reports import need
from shoed.rig.conform.host import Broken, Host, is_hello
from shoed.rig.conform.keyed_line import KeyedLine
from shoed.rig.conform.line import NS_PER_S

A_SECOND: Final = 1.0


def keyed(host: Host) -> KeyedLine:
    assert host.channel is not None  # noqa: S101 -- without a key, no rule of the channel is tested
    return host.channel


def outside(host: Host, wanted: Callable[[bytes], bool], seconds: float) -> bytes | None:
    """The first wanted body outside the channel."""
    channel = keyed(host)
    until_ns = host.line.now_ns() + round(seconds * NS_PER_S)
    while True:
        for body in channel.outside:
            if wanted(body):
                channel.outside.clear()
                return body
        channel.outside.clear()
        if host.line.now_ns() >= until_ns:
            return None
        host.wait(min((until_ns - host.line.now_ns()) / NS_PER_S, 0.05))


def is_response(body: bytes) -> bool:
    return body.startswith(RESPONSE) and len(body) == HEAD.size + NONCE_BYTES + PROOF_BYTES


def challenged(host: Host, nonce: bytes) -> tuple[bytes, Keys]:
    """The body of the RESPONSE to a nonce, and the keys of the session."""
    channel = keyed(host)
    channel.outside.clear()
    channel.raw(seal(CHALLENGE + nonce))
    body = outside(host, is_response, host.limits.answer_s)
    if body is None:
        raise Broken("the device did not answer CHALLENGE with RESPONSE")
    device_nonce = body[HEAD.size : HEAD.size + NONCE_BYTES]
    return body, keys_of(channel.cipher, channel.key, nonce, device_nonce)


def has_the_key(host: Host) -> None:
    body, keys = challenged(host, keyed(host).draw(NONCE_BYTES))
    need(body.endswith(keys.proof), "the proof in RESPONSE is not the proof of the key and the two nonces")


def seals_all(host: Host) -> None:
    host.identify()
    host.order(OrderKind.UNLOCK)
    unsealed = [each for each in keyed(host).dropped if each.reason is Reason.UNSEALED]
    need(not unsealed, f"a frame arrived outside the channel: {unsealed[0].data.hex(' ').upper() if unsealed else ''}")


def refuses_plain_frames(host: Host) -> None:
    """The device sends no answer, neither sealed nor plain, and executes no order."""
    channel = keyed(host)
    hello = host.identify()
    since = len(channel.dropped)
    for version in (1, 2, 3):
        for body in (Identify(), OpenShoeOrder(OrderKind.LOCK), OpenShoeAcknowledge(hello.stream ^ 1, 1)):
            host.drain()
            channel.raw(build(OpenShoeRequest(version, body)))
            heard = host.wait(host.limits.answer_s * QUIET, is_hello)
            need(heard is None, f"the device answers {TITLES[type(body)]} of version {version} outside the channel")
    need(channel.dropped[since:] == [], "the device answers a frame outside the channel")
    after = host.identify()
    need(after.next == hello.next, "the device executes an order outside the channel")


def answers_again(host: Host) -> None:
    draw = keyed(host).draw
    nonce = draw(NONCE_BYTES)
    first, second = challenged(host, nonce)[0], challenged(host, nonce)[0]
    need(first == second, "two equal CHALLENGEs have different RESPONSEs")
    other = challenged(host, draw(NONCE_BYTES))[0]
    need(other[HEAD.size :][:NONCE_BYTES] != first[HEAD.size :][:NONCE_BYTES], "two RESPONSEs have the same nonce")


def keeps_its_session(host: Host) -> None:
    challenged(host, keyed(host).draw(NONCE_BYTES))
    host.identify()


def greets_in_a_session(host: Host) -> None:
    """The first frame of the session is not a request for HELLO."""
    channel = keyed(host)
    hello = host.identify()
    channel.begin()
    channel.establish()
    host.say(OpenShoeAcknowledge(hello.stream, hello.next))
    need(host.wait(host.limits.answer_s, is_hello) is not None, "a session was established, and no HELLO arrived")


def sends_unkeyed(host: Host) -> None:
    """UNKEYED is sent at most once in a second, whatever frames the device receives."""
    channel = keyed(host)
    channel.reopen_without_session()
    channel.pass_time(A_SECOND + host.limits.slack_s)
    channel.outside.clear()
    for _ in range(2):
        channel.raw(build(OpenShoeRequest(1, Identify())))
        channel.pass_time(host.limits.answer_s * QUIET / 2)
    unkeyed = channel.outside.count(UNKEYED)
    others = [each for each in channel.outside if each != UNKEYED]
    channel.open()
    need(not others, f"without a session, the device sends {[each[:4].hex(' ') for each in others[:2]]}")
    need(unkeyed == 1, f"the device sent UNKEYED {unkeyed} times after two frames within a second")


def opens_nothing_twice(host: Host) -> None:
    """The device opens no repeated frame, no changed frame, and no frame of another session."""
    channel = keyed(host)
    need(host.order(OrderKind.UNLOCK) is not None, "no DONE answered an order")
    again = channel.last
    unopened(host, again, "that was repeated")
    unopened(host, changed(again), "with one changed byte")
    host.reopen()
    host.identify()
    unopened(host, again, "of another session")
    own = [each.detail for each in channel.dropped if each.detail.startswith("SEALED")]
    need(not own, f"the host cannot open a frame of the device: {own[:1]}")


def unopened(host: Host, frame: bytes, what: str) -> None:
    """A device may answer with UNKEYED, and with HELLO in the next session."""
    host.drain()
    keyed(host).raw(frame)
    heard = host.wait(host.limits.answer_s * QUIET, lambda heard: isinstance(heard.message.body, Done))
    need(heard is None, f"the device answered a sealed order {what} with DONE")


def changed(frame: bytes) -> bytes:
    body = unwrap(frame)
    assert isinstance(body, bytes)  # noqa: S101 -- built by this host
    return seal(body[:-1] + bytes((body[-1] ^ 1,)))


def has_version_3_inside(host: Host) -> None:
    host.identify()
    wrong = [each.detail for each in keyed(host).dropped if "contain" in each.detail]
    need(not wrong, "; ".join(wrong[:1]))
