"""The host's session of an Angel Eye shoe: orders, and properties that hold for any input."""

from collections.abc import Sequence

import pytest

from shoed.model.irregularities import OverdrawnCard
from shoed.model.observations import (
    AnsweredBy,
    AnyObservation,
    LinkClosed,
    OrderAnswered,
    Replied,
    StoodBy,
)
from shoed.model.step import AnyInput, DeviceOrder, DeviceOrderKind, LinkDown, Ordered, Received
from shoed.session.device_orders import NOT_ALLOWED
from tests.angel_eye_line import (
    ACK,
    CONFIGURED,
    Host,
    at,
    connected,
    kinds,
    report,
)

# --- orders


@pytest.mark.parametrize(
    ("kind", "card", "frame"),
    [
        (DeviceOrderKind.LOCK, None, "02 4F 50 4C 4B 30 32 03 31 42"),
        (DeviceOrderKind.UNLOCK, None, "02 4F 50 4C 4B 30 31 03 31 38"),
        (DeviceOrderKind.CLEAR_FAULT, None, "02 4F 50 45 43 30 30 03 31 38"),
        (DeviceOrderKind.CLEAR_FAULT, OverdrawnCard.USE, "02 4F 50 45 43 30 31 03 31 39"),
        (DeviceOrderKind.CLEAR_FAULT, OverdrawnCard.DISCARD, "02 4F 50 45 43 30 32 03 31 41"),
        (DeviceOrderKind.CONFIRM, None, "02 4F 50 47 50 30 30 03 30 39"),
    ],
)
def test_an_order_is_sent_only_if_orders_are_allowed(
    kind: DeviceOrderKind, card: OverdrawnCard | None, frame: str
) -> None:
    """The bytes are exactly those of the order."""
    host = Host(allow_orders=True)
    host.up()
    heard = host.order(kind, card)
    assert (heard.sends, heard.observations) == ((bytes.fromhex(frame),), ())
    host = Host()
    host.up()
    heard = host.order(kind, card)
    assert heard.sends == ()
    assert refusals(heard.observations) == [NOT_ALLOWED]


def refusals(seen: Sequence[AnyObservation]) -> list[str]:
    return [each.detail for each in seen if isinstance(each, OrderAnswered) and not each.accepted]


def test_the_number_of_an_order_is_not_the_code_of_the_fault() -> None:
    """00 clears error 7 and any other error except an overdraw."""
    host = Host(allow_orders=True)
    host.up()
    order = DeviceOrder(DeviceOrderKind.CLEAR_FAULT, fault=7)
    assert host.take(Ordered(order)).sends == (bytes.fromhex("02 4F 50 45 43 30 30 03 31 38"),)
    (answer,) = host.hear(ACK)
    assert isinstance(answer, OrderAnswered)
    assert (answer.order, answer.accepted) == ("clear-fault 7", True)


@pytest.mark.parametrize(
    ("incoming", "answered_by"),
    [
        (Received(ACK), AnsweredBy.DEVICE),
        (Received(b"\x1521"), AnsweredBy.DEVICE),
        (LinkDown("lost"), AnsweredBy.NO_ONE),
        (Ordered(DeviceOrder(DeviceOrderKind.UNLOCK)), AnsweredBy.HOST),
    ],
)
def test_an_answer_names_its_source(incoming: AnyInput, answered_by: AnsweredBy) -> None:
    """The source is the device, the host if nothing was sent, or none if the link closes."""
    answers = [each for each in ordered().take(incoming, 1100).observations if isinstance(each, OrderAnswered)]
    assert [each.answered_by for each in answers] == [answered_by]


def ordered() -> Host:
    host = Host(allow_orders=True)
    host.up()
    host.order(DeviceOrderKind.LOCK, ms=1000)
    return host


def test_an_acknowledge_answers_the_pending_order() -> None:
    """It answers once: after it no order is pending."""
    host = ordered()
    (answer,) = host.hear(ACK, 1100)
    assert isinstance(answer, OrderAnswered)
    assert (answer.at, answer.accepted, answer.detail) == (at(1100), True, "")
    assert "lock" in answer.order
    assert host.order(DeviceOrderKind.UNLOCK, ms=1200).sends != ()


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("01", "01: overrun, framing or parity"),
        ("02", "02: BCC"),
        ("03", "03: no ETX"),
        ("11", "11: format or length"),
        ("12", "12: address"),
        ("13", "13: command"),
        ("14", "14: type"),
        ("21", "21: busy"),
        ("22", "22: writing"),
        ("FF", "FF: other"),
    ],
)
def test_a_refusal_answers_the_order_with_its_reason(code: str, name: str) -> None:
    """The form is NAK and two digits, or NAK and one byte."""
    for data in (code.encode(), bytes.fromhex(code)):
        assert refusals(ordered().hear(b"\x15" + data)) == [name]
    host = ordered()
    host.hear(b"\x15" + code.encode())
    assert host.order(DeviceOrderKind.UNLOCK).sends != ()


def test_the_form_of_a_refusal_is_on_record() -> None:
    """Two digits are documented and have no form name; one byte has a form name."""
    forms = [
        each.form
        for data in (b"\x1521", b"\x15\x21", ACK)
        for host in (ordered(), connected())
        for each in host.hear(data)
        if isinstance(each, OrderAnswered)
    ]
    assert forms == ["", "", "NAK and one byte", "NAK and one byte", "", ""]


def test_a_reply_is_on_record_and_answers_nothing() -> None:
    """Its text and its frame are recorded; the order stays pending, and the numbers of the reports continue."""
    host = ordered()
    host.hear(report("1", "P"), 1050)
    (reply,) = host.hear(bytes.fromhex("02 30 30 30 35 03 30 36"), 1100)
    assert isinstance(reply, Replied)
    assert (reply.text, reply.frame.raw, reply.frame.form) == ("0005", "02 30 30 30 35 03 30 36", "STX and text")
    assert [each.accepted for each in host.hear(ACK) if isinstance(each, OrderAnswered)] == [True]
    assert kinds(host.hear(report("2", "P"), 1200)) == [StoodBy]


def test_one_order_at_a_time() -> None:
    """A second order is refused while the first is pending, and names it; the first still gets its answer."""
    host = ordered()
    heard = host.order(DeviceOrderKind.UNLOCK, ms=1500)
    assert heard.sends == ()
    (refusal,) = refusals(heard.observations)
    assert "lock" in refusal
    assert "waits" in refusal
    assert [each.accepted for each in host.hear(ACK) if isinstance(each, OrderAnswered)] == [True]


def test_an_order_without_an_answer_times_out() -> None:
    """The session names the moment of the waking; a later answer belongs to no order."""
    host = ordered()
    assert host.wake_ms == 4000
    assert host.wake(3999) == []
    assert refusals(host.wake(4000)) == ["no answer in time"]
    (late,) = host.hear(ACK, 4100)
    assert isinstance(late, OrderAnswered)
    assert late.order == "not ours"


def test_an_answer_after_the_timeout_is_too_late() -> None:
    """The waking itself may be late: the order is given up first."""
    answers = [each for each in ordered().hear(ACK, 4000) if isinstance(each, OrderAnswered)]
    assert [(each.accepted, each.order == "not ours") for each in answers] == [(False, False), (True, True)]


@pytest.mark.parametrize("end", [LinkDown("the cable is disconnected"), CONFIGURED])
def test_a_link_that_closes_ends_the_wait(end: AnyInput) -> None:
    """The order ends before the link closes; no order is accepted until the link is open again."""
    host = ordered()
    seen = list(host.take(end).observations)
    assert kinds(seen) == [OrderAnswered, LinkClosed]
    assert refusals(seen) == ["the link closed"]
    assert refusals(host.order(DeviceOrderKind.LOCK).observations) == [
        "the link is closed; connect the device, then repeat the order"
    ]
    host.up()
    assert host.order(DeviceOrderKind.LOCK).sends != ()


def test_answers_without_an_order_are_on_record() -> None:
    """Another host owns the shoe and sends it orders."""
    answers = connected().hear(ACK + b"\x1521")
    assert [(each.order, each.accepted, each.detail) for each in answers if isinstance(each, OrderAnswered)] == [
        ("not ours", True, ""),
        ("not ours", False, "busy"),
    ]
