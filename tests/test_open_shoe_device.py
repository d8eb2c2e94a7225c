"""The Open Shoe session in the device's role, alone: what it says, keeps and answers."""

from typing import Final

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings, build, reports
from firmware_protocols.open_shoe.codec import seal
from firmware_protocols.open_shoe.layout import FACES
from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    Capability,
    Card,
    Challenge,
    Done,
    Empty,
    FaultChanged,
    FromDevice,
    Hello,
    HostSealed,
    Identify,
    Inquire,
    Loaded,
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
    Standing,
    Status,
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


# --- version 3


def started(**more: object) -> Device:
    """Version 3, in its power-up 7, whose clock began just now."""
    device = Device(Clock(), version=3, **more)  # type: ignore[arg-type]  # as the device takes them
    device.restart(boot=7)
    device.open()
    return device


def state_of(device: Device) -> Status:
    """What it says to INQUIRE."""
    (said,) = answer(device, Inquire(), 3)
    assert isinstance(said.said, Status)
    return said.said


def test_its_hello_names_its_power_up_its_clock_and_what_it_can_do() -> None:
    """The page's own, with the bytes of the examples."""
    device = Device(Clock(), version=3)
    device.restart(boot=7)
    device.clock.ms = 500
    hello = (
        "7E 03 01 00 00 A1 B2 C3 D4 01 00 01 00 01 04 41 63 6D 65 02 53 31 04 30 30 34 32 03 31 2E 30 00 07 "
        "00 00 00 00 00 07 A1 20 00 32 00 0D 4D 64 43 9F 7F"
    )
    assert device.open() == bytes.fromhex(hello)


def test_its_alive_names_its_power_up_and_its_clock() -> None:
    """Ten seconds after it was switched on."""
    device = started()
    device.clock.ms = 10_000
    assert heard(device.hear()) == [Notice(3, Alive(A, 1, 7, 10_000_000))]


def test_a_power_up_begins_the_clock_and_the_reports_name_it() -> None:
    """What was kept stays as it was, byte for byte."""
    device = started()
    device.clock.ms = 2000
    kept = device.say(Empty())
    device.restart()
    device.clock.ms = 2600
    (hello,) = heard(device.open())
    assert isinstance(hello.said, Hello)
    assert (hello.said.boot, hello.said.clock_us, hello.said.next, hello.said.oldest) == (8, 600_000, 2, 1)
    assert device.hear() == kept
    (after,) = heard(device.say(Empty()))
    assert isinstance(after, Report)
    assert (after.boot, after.clock_us, after.sequence) == (8, 600_000, 2)


def test_the_power_up_after_the_last_is_0() -> None:
    """The count has 16 bits."""
    device = started()
    device.restart(boot=65535)
    device.restart()
    assert device.state.store.boot == 0


def test_an_earlier_version_names_no_power_up() -> None:
    """Its clock goes on."""
    device = Device(Clock(), version=2)
    device.restart()
    assert (device.state.store.boot, device.state.began_us) == (0, 0)


def test_it_says_its_state_when_it_is_asked() -> None:
    """The exit, the set that is in it, and all faults that stand, at that moment."""
    device = started()
    assert state_of(device) == Status(locked=False, set_id="", faults=())
    device.say(Loaded("No7"))
    device.say(Lock(locked=True))
    for code in (2, 4):
        device.say(FaultChanged(code, raised=True, blocking=code == 4))
    assert state_of(device) == Status(True, "No7", (Standing(2, blocking=False), Standing(4, blocking=True)))  # noqa: FBT003
    device.say(FaultChanged(2, raised=False, blocking=False))
    device.say(Empty())
    assert state_of(device) == Status(True, "", (Standing(4, blocking=True),))  # noqa: FBT003


def test_a_shuffler_has_no_lock_in_its_state() -> None:
    """Its faults are there all the same."""
    device = started(role="shuffler")
    device.say(FaultChanged(5, raised=True, blocking=True))
    assert state_of(device) == Status(None, "", (Standing(5, blocking=True),))


def test_a_state_that_is_kept_as_the_newest_report_is_not_made_again() -> None:
    """Nobody acknowledges: however often it is asked, its memory does not fill."""
    device = started()
    assert kinds(answer(device, Inquire(), 3)) == [Status]
    assert answer(device, Inquire(), 3) == []
    device.say(Empty())
    assert kinds(answer(device, Inquire(), 3)) == [Status]
    assert answer(device, Acknowledge(A, 3), 3) == []
    assert kinds(answer(device, Inquire(), 3)) == [Status]


def test_a_state_names_so_many_faults_at_most() -> None:
    """The page allows 32."""
    device = started()
    for code in range(40):
        device.say(FaultChanged(code, raised=True, blocking=False))
    answer(device, Acknowledge(A, 40), 3)
    assert len(state_of(device).faults) == 32


@pytest.mark.parametrize("version", [1, 2])
def test_an_earlier_version_has_no_state_to_say(version: int) -> None:
    """It does not know the request."""
    assert Device(Clock(), version=version).hear(build(Request(3, Inquire()))) == b""


@pytest.mark.parametrize("role", ["shoe", "shuffler"])
def test_a_full_memory_of_version_3_ends_with_the_whole_state(role: str) -> None:
    """In the place of LOCK and of the faults; the clock goes on, because the power does."""
    device = started(role=role, room=5)
    for _ in range(5):
        device.say(Empty())
    device.say(FaultChanged(2, raised=True, blocking=True))
    device.clock.ms = 3000
    hello, *reports = answer(device, Acknowledge(A, 5), 3)
    assert isinstance(hello.said, Hello)
    assert (hello.said.boot, hello.said.clock_us) == (7, 3_000_000)
    assert [each.said for each in reports] == [
        FaultChanged(8, raised=True, blocking=False),
        FaultChanged(8, raised=False, blocking=False),
        Status(False if role == "shoe" else None, "", (Standing(2, blocking=True),)),
    ]
    assert {(each.boot, each.clock_us) for each in reports if isinstance(each, Report)} == {(7, 3_000_000)}
    assert answer(device, Inquire(), 3) == []


@pytest.mark.parametrize("start", [33, 40])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_request_from_outside_the_window_is_answered_by_hello(version: int, start: int) -> None:
    """Though the report is kept."""
    device = Device(Clock(), version=version)
    for _ in range(40):
        device.say(Empty())
    assert kinds(answer(device, Resend(A, start), version)) == [Hello]
    sent = answer(device, Resend(A, 32), version)
    assert [each.sequence for each in sent if isinstance(each, Report)] == [*range(32, 41)]


@pytest.mark.parametrize(
    "body",
    ["01 83 0000 04 00", "03 83 0000 00 00", "03 83 0000 01", "03 83 0000 01 00 00", "03 80 0000 00", "03 84 0000 00"],
)
def test_a_request_that_is_none_of_the_page_is_dropped(body: str) -> None:
    """Another order, too few bytes, and bytes too many: no answer, and nothing changes."""
    device = started()
    assert device.hear(seal(bytes.fromhex(body))) == b""
    assert not device.state.locked


@pytest.mark.parametrize("order", [Order(OrderKind.LOCK), Order(OrderKind.UNLOCK), Order(OrderKind.CLEAR, 2)], ids=str)
def test_an_order_that_it_cannot_obey_is_answered_so(order: Order) -> None:
    """It states no such capability; the fault stands."""
    device = started()
    device.role.capabilities = Capability.PASSAGE
    device.say(FaultChanged(2, raised=True, blocking=True))
    assert [each.said for each in answer(device, order, 3)] == [Done(order.order, order.number, Result.UNABLE)]
    assert [each.code for each in device.state.faults] == [2]


@pytest.mark.parametrize("said", [Challenge(bytes(16)), HostSealed(1, bytes(12))], ids=["challenge", "sealed"])
def test_a_device_without_a_key_does_not_answer_the_secure_channel(said: Requested) -> None:
    """A host with a key finds that the device has none."""
    assert answer(ready(version=3), said, 3) == []
