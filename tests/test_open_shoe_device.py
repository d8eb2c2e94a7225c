"""The Open Shoe session in the device's role, alone: what it says, keeps and answers."""

from typing import Final

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings, build, reports
from firmware_protocols.open_shoe.layout import FACES
from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    Card,
    Done,
    Empty,
    FaultChanged,
    FromDevice,
    Hello,
    Identify,
    Lock,
    Notice,
    Order,
    OrderKind,
    Passage,
    Place,
    Report,
    Request,
    Requested,
    Resend,
    Result,
    Shuffling,
)
from shoed import wire
from shoed.now import Chunk, Now
from shoed.session.open_shoe_device import DeviceState, OpenShoeDevice, Replies
from shoed.session.open_shoe_stream import Store
from shoed.wire import Frame, LineState
from tests.open_shoe_line import MS, START, A, Clock, Device

EIGHT: Final = FACES[7]


def heard(data: bytes) -> list[FromDevice]:
    """What the device says, read as the host reads it."""
    _, found = wire.receive(reports(OpenShoeSettings()), LineState(), Chunk(data, START))
    return [each.message for each in found if isinstance(each, Frame)]


def answer(device: Device, said: Requested, version: int = 1) -> list[FromDevice]:
    return heard(device.hear(build(Request(version, said))))


def kinds(said: list[FromDevice]) -> list[type[object]]:
    return [type(each.said) for each in said]


def ready(**more: object) -> Device:
    device = Device(Clock(), **more)  # type: ignore[arg-type]  # as the device takes them
    device.open()
    return device


# --- what it says


def test_it_greets_whoever_opens_the_line() -> None:
    """The HELLO of the page's examples."""
    hello = (
        "7E 01 01 00 00 A1 B2 C3 D4 01 00 01 00 01 04 41 63 6D 65 02 53 31 04 30 30 34 32 03 31 2E 30 3D 77 C2 F1 7F"
    )
    assert Device(Clock()).open() == bytes.fromhex(hello)


def test_a_card_is_the_bytes_of_the_page() -> None:
    """Its clock is that of its leading edge: 2 s, and it took 125 ms more."""
    role = OpenShoeDevice(OpenShoeSettings())
    card = Card(EIGHT, Place.PLAYER, 1, 125_000)
    frame = "7E 01 20 00 02 A1 B2 C3 D4 00 00 00 00 00 1E 84 80 18 01 01 00 01 E8 48 00 E6 9C D6 17 7F"
    _, out = role.say(DeviceState(Store(A, next=2)), card, Now(0, 2125 * MS))
    assert out == bytes.fromhex(frame)


def test_the_second_version_has_more_to_say_of_a_card() -> None:
    """The page's own, with the quality of its reading."""
    role = OpenShoeDevice(OpenShoeSettings(), version=2)
    card = Card(EIGHT, Place.PLAYER, 1, 125_000, Passage.CLEAN, 97)
    frame = "7E 02 20 00 02 A1 B2 C3 D4 00 00 00 00 00 1E 84 80 18 01 01 00 01 E8 48 00 61 00 00 32 72 5D 23 7F"
    _, out = role.say(DeviceState(Store(A, 2, next=2)), card, Now(0, 2125 * MS))
    assert out == bytes.fromhex(frame)


def test_its_clock_never_goes_back() -> None:
    """A fault that came while the card was passing was told before it."""
    device = ready()
    fault, card = heard(
        device.say(FaultChanged(2, raised=True, blocking=False)) + device.say(Card(EIGHT, Place.DEALT, 0, 50_000))
    )
    assert isinstance(fault, Report)
    assert isinstance(card, Report)
    assert fault.clock_us == card.clock_us


def test_an_idle_device_says_that_it_is_alive_every_ten_seconds() -> None:
    """And wants to be woken for it; whatever else it says puts that off."""
    device = ready()
    device.clock.ms = 4000
    device.hear(build(Request(1, Identify())))
    assert device.role.wake_at(device.state) == START.mono_ns + 14_000 * MS
    device.clock.ms = 13_999
    assert device.hear() == b""
    device.clock.ms = 14_000
    assert heard(device.hear()) == [Notice(1, Alive(A, 1))]
    assert device.role.wake_at(device.state) == START.mono_ns + 24_000 * MS
    device.clock.ms = 24_000
    assert kinds(answer(device, Identify())) == [Hello]


def test_what_is_not_acknowledged_is_said_again_every_half_second() -> None:
    """The same bytes, its clock included; and it wants to be woken for it."""
    device = ready()
    said = device.say(Empty())
    for ms in (500, 1000, 1500):
        assert device.role.wake_at(device.state) == START.mono_ns + ms * MS
        device.clock.ms = ms
        assert device.hear() == said
    assert answer(device, Acknowledge(A, 1)) == []
    device.clock.ms = 2000
    assert device.hear() == b""


# --- what it answers


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(Identify(), id="who is there"),
        pytest.param(Acknowledge(0xB, 1), id="an acknowledgement of another stream"),
        pytest.param(Resend(0xB, 1), id="a request of another stream"),
        pytest.param(Resend(A, 2), id="a request for what is not kept"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_hello_is_the_answer_to_what_does_not_fit(said: Requested, version: int) -> None:
    """In the device's own version, and it understands those of both."""
    device = ready(version=2)
    device.say(Empty())
    (hello,) = answer(device, said, version)
    assert hello.version == 2
    assert isinstance(hello.said, Hello)
    assert (hello.said.stream, hello.said.next, hello.said.oldest) == (A, 2, 1)


def test_a_request_is_answered_by_the_window() -> None:
    """From the number on that was asked for."""
    device = ready()
    for _ in range(40):
        device.say(Empty())
    sent = answer(device, Resend(A, 3))
    assert [each.sequence for each in sent if isinstance(each, Report)] == [*range(3, 35)]


def test_noise_and_torn_requests_are_answered_with_nothing() -> None:
    """The page says so: a damaged frame is dropped."""
    device = ready()
    identify = build(Request(1, Identify()))
    assert device.hear(b"\x00abc" + identify[:5]) == b""
    assert device.role.wake_at(device.state) == START.mono_ns + 500 * MS
    device.clock.ms = 500
    assert device.hear() == b""
    assert device.hear(identify[:6] + b"\x55" + identify[7:]) == b""
    assert kinds(heard(device.hear(identify))) == [Hello]


def test_a_request_that_came_in_pieces_is_one() -> None:
    """But not over a line that was opened anew in between."""
    device, identify = ready(), build(Request(1, Identify()))
    assert device.hear(identify[:5]) == b""
    assert kinds(heard(device.hear(identify[5:]))) == [Hello]
    device.hear(identify[:5])
    device.open()
    assert device.hear(identify[5:]) == b""


# --- orders


def test_an_order_to_lock_is_done_and_reported() -> None:
    """Once; done again it is done already, and nothing is reported."""
    device = ready()
    assert [each.said for each in answer(device, Order(OrderKind.LOCK))] == [
        Done(OrderKind.LOCK, 0, Result.DONE),
        Lock(locked=True),
    ]
    assert device.state.locked
    assert kinds(answer(device, Order(OrderKind.LOCK))) == [Done]
    assert kinds(answer(device, Order(OrderKind.UNLOCK))) == [Done, Lock]
    assert not device.state.locked


def test_a_lock_by_key_is_its_state_too() -> None:
    """So that an order to lock has nothing left to do."""
    device = ready()
    device.say(Lock(locked=True))
    assert kinds(answer(device, Order(OrderKind.LOCK))) == [Done]


def test_a_fault_is_cleared_by_its_number() -> None:
    """One that does not stand is cleared already."""
    device = ready()
    for code in (2, 6, 2):
        device.say(FaultChanged(code, raised=True, blocking=True))
    assert [each.code for each in device.state.faults] == [6, 2]
    assert [each.said for each in answer(device, Order(OrderKind.CLEAR, 2))] == [
        Done(OrderKind.CLEAR, 2, Result.DONE),
        FaultChanged(2, raised=False, blocking=False),
    ]
    assert [each.code for each in device.state.faults] == [6]
    assert [each.said for each in answer(device, Order(OrderKind.CLEAR, 2))] == [Done(OrderKind.CLEAR, 2, Result.DONE)]


@pytest.mark.parametrize(
    ("replies", "said", "locked"),
    [
        (Replies(silent=True), [Lock(locked=True)], True),
        (Replies(reports=False), [Done(OrderKind.LOCK, 0, Result.DONE)], True),
        (Replies(silent=True, reports=False), [], True),
        (Replies(result=Result.DONE), [Done(OrderKind.LOCK, 0, Result.DONE), Lock(locked=True)], True),
        (Replies(result=Result.FAILED), [Done(OrderKind.LOCK, 0, Result.FAILED)], False),
    ],
)
def test_a_device_answers_orders_as_it_is_set(replies: Replies, said: list[object], locked: bool) -> None:  # noqa: FBT001
    """An order with another result than the true one changes nothing."""
    device = ready()
    device.role.replies = replies
    assert [each.said for each in answer(device, Order(OrderKind.LOCK))] == said
    assert device.state.locked is locked


@pytest.mark.parametrize("code", [4, 5])
def test_no_order_shuts_a_lid_or_a_door(code: int) -> None:
    """Not now: its cause still stands."""
    device = ready(role="shuffler")
    device.say(FaultChanged(code, raised=True, blocking=True))
    assert [each.said for each in answer(device, Order(OrderKind.CLEAR, code))] == [
        Done(OrderKind.CLEAR, code, Result.NOT_NOW)
    ]


@pytest.mark.parametrize("kind", [OrderKind.LOCK, OrderKind.UNLOCK])
def test_a_shuffler_has_nothing_to_lock(kind: OrderKind) -> None:
    """It is unable."""
    device = ready(role="shuffler")
    assert [each.said for each in answer(device, Order(kind))] == [Done(kind, 0, Result.UNABLE)]


# --- its memory


def test_a_full_memory_ends_the_stream_with_its_last_acknowledgement() -> None:
    """HELLO of another stream, fault 8, and how the device stands by now; what follows is numbered behind them."""
    device = ready(room=5)
    for _ in range(5):
        device.say(Empty())
    device.say(Lock(locked=True))
    device.say(FaultChanged(2, raised=True, blocking=True))
    assert answer(device, Acknowledge(A, 4)) == []
    hello, *reports = answer(device, Acknowledge(A, 5))
    assert isinstance(hello.said, Hello)
    assert (hello.said.next, hello.said.oldest) == (1, 1)
    assert hello.said.stream != A
    assert [each.said for each in reports] == [
        FaultChanged(8, raised=True, blocking=False),
        FaultChanged(8, raised=False, blocking=False),
        Lock(locked=True),
        FaultChanged(2, raised=True, blocking=True),
    ]
    (after,) = heard(device.say(Empty()))
    assert isinstance(after, Report)
    assert (after.sequence, after.stream) == (5, hello.said.stream)


def test_a_shuffler_with_a_full_memory_has_no_lock_to_tell_of() -> None:
    """A new stream, fault 8, and the faults that stand."""
    device = ready(role="shuffler", room=2)
    for _ in range(2):
        device.say(Shuffling())
    device.say(FaultChanged(5, raised=True, blocking=True))
    _, *reports = answer(device, Acknowledge(A, 2))
    assert [each.said for each in reports] == [
        FaultChanged(8, raised=True, blocking=False),
        FaultChanged(8, raised=False, blocking=False),
    ]
    assert device.state.store.full, "there is no room for the third"
