"""The host's session with an Angel Eye shoe: its orders, and what holds of it whatever comes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.observations import (
    AnsweredBy,
    AnyObservation,
    FrameRejected,
    LinkClosed,
    OrderAnswered,
    Replied,
    Reported,
    StoodBy,
)
from shoed.session.asking import NOT_ALLOWED
from shoed.step import AnyInput, DeviceOrder, DeviceOrderKind, LinkDown, LinkUp, Ordered, Received, Woken
from shoed.words import OverdrawnCard
from tests.angel_eye_line import (
    ACK,
    CARD,
    CONFIGURED,
    CUT,
    ERROR,
    PORT,
    RESULT,
    START_1,
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
def test_an_order_is_sent_where_orders_are_allowed(
    kind: DeviceOrderKind, card: OverdrawnCard | None, frame: str
) -> None:
    """Byte for byte; and never where they are not."""
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
    """Error 7 is cleared by 00, as any error but an overdraw."""
    host = Host(allow_orders=True)
    host.up()
    order = DeviceOrder(DeviceOrderKind.CLEAR_FAULT, fault=7)
    assert host.take(Ordered(order)).sends == (bytes.fromhex("02 4F 50 45 43 30 30 03 31 38"),)
    (answer,) = host.hear(ACK)
    assert isinstance(answer, OrderAnswered)
    assert (answer.order, answer.accepted) == ("clear-fault 7", True)


@pytest.mark.parametrize(
    ("came", "answered_by"),
    [
        (Received(ACK), AnsweredBy.DEVICE),
        (Received(b"\x1521"), AnsweredBy.DEVICE),
        (LinkDown("lost"), AnsweredBy.NO_ONE),
        (Ordered(DeviceOrder(DeviceOrderKind.UNLOCK)), AnsweredBy.HOST),
    ],
)
def test_an_answer_names_its_source(came: AnyInput, answered_by: AnsweredBy) -> None:
    """The device, no one if the link closes, or the host if nothing was sent."""
    answers = [each for each in asked().take(came, 1100).observations if isinstance(each, OrderAnswered)]
    assert [each.answered_by for each in answers] == [answered_by]


def asked() -> Host:
    host = Host(allow_orders=True)
    host.up()
    host.order(DeviceOrderKind.LOCK, ms=1000)
    return host


def test_an_acknowledge_answers_the_order_that_waits() -> None:
    """Once: after it nothing waits."""
    host = asked()
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
def test_a_refusal_answers_it_with_its_reason(code: str, name: str) -> None:
    """NAK and two digits, or NAK and one byte."""
    for data in (code.encode(), bytes.fromhex(code)):
        assert refusals(asked().hear(b"\x15" + data)) == [name]
    host = asked()
    host.hear(b"\x15" + code.encode())
    assert host.order(DeviceOrderKind.UNLOCK).sends != ()


def test_the_form_of_a_refusal_is_on_record() -> None:
    """Two digits are documented and have no name; one byte has one."""
    forms = [
        each.form
        for data in (b"\x1521", b"\x15\x21", ACK)
        for host in (asked(), connected())
        for each in host.hear(data)
        if isinstance(each, OrderAnswered)
    ]
    assert forms == ["", "", "NAK and one byte", "NAK and one byte", "", ""]


def test_a_reply_is_on_record_and_answers_nothing() -> None:
    """Its text and its frame; the order still waits, and the numbers of the reports go on."""
    host = asked()
    host.hear(report("1", "P"), 1050)
    (reply,) = host.hear(bytes.fromhex("02 30 30 30 35 03 30 36"), 1100)
    assert isinstance(reply, Replied)
    assert (reply.text, reply.frame.raw, reply.frame.form) == ("0005", "02 30 30 30 35 03 30 36", "STX and text")
    assert [each.accepted for each in host.hear(ACK) if isinstance(each, OrderAnswered)] == [True]
    assert kinds(host.hear(report("2", "P"), 1200)) == [StoodBy]


def test_one_order_at_a_time() -> None:
    """A second is refused while the first waits, and names it; the first still gets its answer."""
    host = asked()
    heard = host.order(DeviceOrderKind.UNLOCK, ms=1500)
    assert heard.sends == ()
    (refusal,) = refusals(heard.observations)
    assert "lock" in refusal
    assert "waits" in refusal
    assert [each.accepted for each in host.hear(ACK) if isinstance(each, OrderAnswered)] == [True]


def test_an_order_without_an_answer_is_given_up_in_time() -> None:
    """By a waking that the session asked for; an answer that comes later is nobody's."""
    host = asked()
    assert host.wake_ms == 4000
    assert host.wake(3999) == []
    assert refusals(host.wake(4000)) == ["no answer in time"]
    (late,) = host.hear(ACK, 4100)
    assert isinstance(late, OrderAnswered)
    assert late.order == "not ours"


def test_bytes_after_the_time_come_too_late() -> None:
    """Also if the waking itself is late: the order is given up first."""
    answers = [each for each in asked().hear(ACK, 4000) if isinstance(each, OrderAnswered)]
    assert [(each.accepted, each.order == "not ours") for each in answers] == [(False, False), (True, True)]


@pytest.mark.parametrize("end", [LinkDown("the cable is out"), CONFIGURED])
def test_a_link_that_closes_ends_the_wait(end: AnyInput) -> None:
    """The order is answered before the link is told to be closed; none can be given until it is open again."""
    host = asked()
    seen = list(host.take(end).observations)
    assert kinds(seen) == [OrderAnswered, LinkClosed]
    assert refusals(seen) == ["the link closed"]
    assert refusals(host.order(DeviceOrderKind.LOCK).observations) == [
        "the link is closed; connect the device, then repeat the order"
    ]
    host.up()
    assert host.order(DeviceOrderKind.LOCK).sends != ()


def test_answers_that_nobody_asked_for_are_on_record() -> None:
    """Another host owns the shoe and gives it orders."""
    answers = connected().hear(ACK + b"\x1521")
    assert [(each.order, each.accepted, each.detail) for each in answers if isinstance(each, OrderAnswered)] == [
        ("not ours", True, ""),
        ("not ours", False, "busy"),
    ]


# --- properties

pieces = st.sampled_from(
    [CARD, RESULT, CUT, ERROR, START_1, ACK, b"\x15FF", CARD[:5], CARD[5:], b"x", b""]
) | st.binary(max_size=12)
inputs: st.SearchStrategy[AnyInput] = st.one_of(
    st.builds(Received, pieces),
    st.builds(Received, pieces),
    st.just(LinkUp(PORT)),
    st.just(LinkDown("lost")),
    st.just(CONFIGURED),
    st.just(Woken()),
    st.builds(
        Ordered, st.sampled_from([DeviceOrder(DeviceOrderKind.LOCK), DeviceOrder(DeviceOrderKind.CLEAR_FAULT, 1)])
    ),
)
moments = st.sampled_from([0.0, 0.001, 17.0, 499.0, 500.0, 1999.0, 3000.0, 300_000.0])


@given(came=st.lists(st.tuples(inputs, moments), max_size=40), allowed=st.booleans())
def test_a_waking_at_its_moment_is_enough(came: list[tuple[AnyInput, float]], *, allowed: bool) -> None:
    """Whatever comes, nothing raises; and after a waking at the moment that was asked for, the next one lies ahead."""
    host = Host(allow_orders=allowed)
    for each, later in came:
        host.take(each, host.ms + later)
        moment = host.wake_ms
        if moment is not None:
            state, _ = host.session.step(host.state, Woken(), at(max(moment, host.ms)))
            following = host.session.wake_at(state)
            assert following is None or following > at(max(moment, host.ms)).mono_ns


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_random_bytes_raise_nothing_and_all_come_out(data: list[bytes]) -> None:
    """Each byte is in a report, an answer or a rejection, once the link is closed."""
    host = connected()
    seen = [each for chunk in data for each in host.hear(chunk, host.ms + 1)] + host.down(host.ms + 1)
    in_frames = [each.frame.raw for each in seen if isinstance(each, Reported | Replied)]
    rejected = [each.raw for each in seen if isinstance(each, FrameRejected)]
    answered = sum(len(ACK) if each.accepted else len(b"\x1521") for each in seen if isinstance(each, OrderAnswered))
    assert sum(len(bytes.fromhex(raw)) for raw in in_frames + rejected) + answered == sum(map(len, data))


@given(st.binary(min_size=1, max_size=60), st.data())
def test_how_the_bytes_are_cut_makes_no_difference(junk: bytes, data: st.DataObject) -> None:
    """The same observations of the same moment, whether in one chunk or in many."""
    line = CARD * 3 + junk + RESULT * 3 + junk[:7] + CUT
    cuts = sorted(data.draw(st.lists(st.integers(0, len(line)), max_size=12)))
    whole, cut = connected(), connected()
    expected = whole.hear(line)
    seen = [
        each for start, end in zip([0, *cuts], [*cuts, len(line)], strict=True) for each in cut.hear(line[start:end])
    ]
    assert seen == expected
    assert cut.state == whole.state
