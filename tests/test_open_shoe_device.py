"""The Open Shoe session in the role of the device: its messages, kept reports and answers."""

from typing import Final

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings, build, reports
from firmware_protocols.open_shoe.codec import seal
from firmware_protocols.open_shoe.layout import FACES
from firmware_protocols.open_shoe.messages import (
    Alive,
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
    OpenShoeAcknowledge,
    OpenShoeCapability,
    OpenShoeCard,
    OpenShoeNotice,
    OpenShoeOrder,
    OpenShoePassage,
    OpenShoePlace,
    OpenShoeReport,
    OpenShoeRequest,
    OpenShoeResult,
    OpenShoeStandingFault,
    OpenShoeStatus,
    OrderKind,
    Requested,
    Resend,
    Shuffling,
)
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.session.open_shoe_device import DeviceState, OpenShoeDeviceSession, OpenShoeReplies
from shoed.session.open_shoe_stream import DeviceStore
from shoed.wire import Frame, LineState
from tests.open_shoe_line import MS, START, A, Clock, Device

EIGHT: Final = FACES[7]


def heard(data: bytes) -> list[FromDevice]:
    """The messages of the device, read as the host reads them."""
    _, found = wire.receive(reports(OpenShoeSettings()), LineState(), Chunk(data, START))
    return [each.message for each in found if isinstance(each, Frame)]


def answer(device: Device, body: Requested, version: int = 1) -> list[FromDevice]:
    return heard(device.hear(build(OpenShoeRequest(version, body))))


def kinds(messages: list[FromDevice]) -> list[type[object]]:
    return [type(each.body) for each in messages]


def ready(**more: object) -> Device:
    device = Device(Clock(), **more)  # type: ignore[arg-type]  # the parameters of the device
    device.open()
    return device


# --- messages


def test_the_device_sends_hello_on_a_new_line() -> None:
    """HELLO has the bytes of the examples on the page."""
    hello = (
        "7E 01 01 00 00 A1 B2 C3 D4 01 00 01 00 01 04 41 63 6D 65 02 53 31 04 30 30 34 32 03 31 2E 30 3D 77 C2 F1 7F"
    )
    assert Device(Clock()).open() == bytes.fromhex(hello)


def test_a_card_is_the_bytes_of_the_page() -> None:
    """Its clock is the moment of its leading edge, 2 s; its passage takes 125 ms."""
    role = OpenShoeDeviceSession(OpenShoeSettings())
    card = OpenShoeCard(EIGHT, OpenShoePlace.PLAYER, 1, 125_000)
    frame = "7E 01 20 00 02 A1 B2 C3 D4 00 00 00 00 00 1E 84 80 18 01 01 00 01 E8 48 00 E6 9C D6 17 7F"
    _, out = role.say(DeviceState(DeviceStore(A, next=2)), card, Now(0, 2125 * MS))
    assert out == bytes.fromhex(frame)


def test_a_card_of_version_2_is_the_bytes_of_the_page() -> None:
    """The example has the quality of the reading."""
    role = OpenShoeDeviceSession(OpenShoeSettings(), version=2)
    card = OpenShoeCard(EIGHT, OpenShoePlace.PLAYER, 1, 125_000, OpenShoePassage.CLEAN, 97)
    frame = "7E 02 20 00 02 A1 B2 C3 D4 00 00 00 00 00 1E 84 80 18 01 01 00 01 E8 48 00 61 00 00 32 72 5D 23 7F"
    _, out = role.say(DeviceState(DeviceStore(A, 2, next=2)), card, Now(0, 2125 * MS))
    assert out == bytes.fromhex(frame)


def test_the_clock_never_goes_back() -> None:
    """A fault during the passage of a card was reported before the card."""
    device = ready()
    fault, card = heard(
        device.say(FaultChanged(2, raised=True, blocking=False))
        + device.say(OpenShoeCard(EIGHT, OpenShoePlace.DEALT, 0, 50_000))
    )
    assert isinstance(fault, OpenShoeReport)
    assert isinstance(card, OpenShoeReport)
    assert fault.clock_us == card.clock_us


def test_an_idle_device_sends_alive_every_ten_seconds() -> None:
    """The session sets a timer for it; any other frame restarts the ten seconds."""
    device = ready()
    device.clock.ms = 4000
    device.hear(build(OpenShoeRequest(1, Identify())))
    assert device.role.wake_at(device.state) == START.mono_ns + 14_000 * MS
    device.clock.ms = 13_999
    assert device.hear() == b""
    device.clock.ms = 14_000
    assert heard(device.hear()) == [OpenShoeNotice(1, Alive(A, 1))]
    assert device.role.wake_at(device.state) == START.mono_ns + 24_000 * MS
    device.clock.ms = 24_000
    assert kinds(answer(device, Identify())) == [Hello]


def test_a_report_that_is_not_acknowledged_is_repeated_every_half_second() -> None:
    """The bytes are the same, the clock included; the session sets a timer for it."""
    device = ready()
    sent = device.say(Empty())
    for ms in (500, 1000, 1500):
        assert device.role.wake_at(device.state) == START.mono_ns + ms * MS
        device.clock.ms = ms
        assert device.hear() == sent
    assert answer(device, OpenShoeAcknowledge(A, 1)) == []
    device.clock.ms = 2000
    assert device.hear() == b""


# --- answers


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(Identify(), id="IDENTIFY"),
        pytest.param(OpenShoeAcknowledge(0xB, 1), id="ACK of another stream"),
        pytest.param(Resend(0xB, 1), id="RESEND of another stream"),
        pytest.param(Resend(A, 2), id="RESEND of a report that is not kept"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_hello_answers_a_request_that_does_not_fit(request_body: Requested, version: int) -> None:
    """HELLO has the version of the device, which accepts requests of both versions."""
    device = ready(version=2)
    device.say(Empty())
    (hello,) = answer(device, request_body, version)
    assert hello.version == 2
    assert isinstance(hello.body, Hello)
    assert (hello.body.stream, hello.body.next, hello.body.oldest) == (A, 2, 1)


def test_resend_is_answered_by_the_window() -> None:
    """The answer begins at the requested number."""
    device = ready()
    for _ in range(40):
        device.say(Empty())
    sent = answer(device, Resend(A, 3))
    assert [each.sequence for each in sent if isinstance(each, OpenShoeReport)] == [*range(3, 35)]


def test_noise_and_torn_requests_have_no_answer() -> None:
    """The page requires it: a damaged frame is dropped."""
    device = ready()
    identify = build(OpenShoeRequest(1, Identify()))
    assert device.hear(b"\x00abc" + identify[:5]) == b""
    assert device.role.wake_at(device.state) == START.mono_ns + 500 * MS
    device.clock.ms = 500
    assert device.hear() == b""
    assert device.hear(identify[:6] + b"\x55" + identify[7:]) == b""
    assert kinds(heard(device.hear(identify))) == [Hello]


def test_a_request_may_arrive_in_pieces() -> None:
    """A new line between two pieces drops the first piece."""
    device, identify = ready(), build(OpenShoeRequest(1, Identify()))
    assert device.hear(identify[:5]) == b""
    assert kinds(heard(device.hear(identify[5:]))) == [Hello]
    device.hear(identify[:5])
    device.open()
    assert device.hear(identify[5:]) == b""


# --- orders


def test_an_order_to_lock_is_done_and_reported() -> None:
    """The report is sent once; a second order is done already, and nothing is reported."""
    device = ready()
    assert [each.body for each in answer(device, OpenShoeOrder(OrderKind.LOCK))] == [
        Done(OrderKind.LOCK, 0, OpenShoeResult.DONE),
        Lock(locked=True),
    ]
    assert device.state.locked
    assert kinds(answer(device, OpenShoeOrder(OrderKind.LOCK))) == [Done]
    assert kinds(answer(device, OpenShoeOrder(OrderKind.UNLOCK))) == [Done, Lock]
    assert not device.state.locked


def test_a_lock_by_key_changes_the_state() -> None:
    """An order to lock then changes nothing."""
    device = ready()
    device.say(Lock(locked=True))
    assert kinds(answer(device, OpenShoeOrder(OrderKind.LOCK))) == [Done]


def test_a_fault_is_cleared_by_its_number() -> None:
    """A fault that is not active is cleared already."""
    device = ready()
    for code in (2, 6, 2):
        device.say(FaultChanged(code, raised=True, blocking=True))
    assert [each.code for each in device.state.faults] == [6, 2]
    assert [each.body for each in answer(device, OpenShoeOrder(OrderKind.CLEAR, 2))] == [
        Done(OrderKind.CLEAR, 2, OpenShoeResult.DONE),
        FaultChanged(2, raised=False, blocking=False),
    ]
    assert [each.code for each in device.state.faults] == [6]
    assert [each.body for each in answer(device, OpenShoeOrder(OrderKind.CLEAR, 2))] == [
        Done(OrderKind.CLEAR, 2, OpenShoeResult.DONE)
    ]


@pytest.mark.parametrize(
    ("replies", "bodies", "locked"),
    [
        (OpenShoeReplies(silent=True), [Lock(locked=True)], True),
        (OpenShoeReplies(reports=False), [Done(OrderKind.LOCK, 0, OpenShoeResult.DONE)], True),
        (OpenShoeReplies(silent=True, reports=False), [], True),
        (
            OpenShoeReplies(result=OpenShoeResult.DONE),
            [Done(OrderKind.LOCK, 0, OpenShoeResult.DONE), Lock(locked=True)],
            True,
        ),
        (OpenShoeReplies(result=OpenShoeResult.FAILED), [Done(OrderKind.LOCK, 0, OpenShoeResult.FAILED)], False),
    ],
)
def test_a_device_answers_orders_by_its_settings(replies: OpenShoeReplies, bodies: list[object], locked: bool) -> None:  # noqa: FBT001
    """An order with a false result changes nothing."""
    device = ready()
    device.role.replies = replies
    assert [each.body for each in answer(device, OpenShoeOrder(OrderKind.LOCK))] == bodies
    assert device.state.locked is locked


@pytest.mark.parametrize("code", [4, 5])
def test_no_order_closes_a_lid_or_a_door(code: int) -> None:
    """The result is `not-now`: the cause of the fault is still present."""
    device = ready(role="shuffler")
    device.say(FaultChanged(code, raised=True, blocking=True))
    assert [each.body for each in answer(device, OpenShoeOrder(OrderKind.CLEAR, code))] == [
        Done(OrderKind.CLEAR, code, OpenShoeResult.NOT_NOW)
    ]


@pytest.mark.parametrize("kind", [OrderKind.LOCK, OrderKind.UNLOCK])
def test_a_shuffler_has_no_lock(kind: OrderKind) -> None:
    """The result is `unable`."""
    device = ready(role="shuffler")
    assert [each.body for each in answer(device, OpenShoeOrder(kind))] == [Done(kind, 0, OpenShoeResult.UNABLE)]


# --- its memory


def test_a_full_memory_ends_the_stream_with_its_last_acknowledgement() -> None:
    """HELLO of another stream, fault 8, and the present state of the device; the next report has the next number."""
    device = ready(room=5)
    for _ in range(5):
        device.say(Empty())
    device.say(Lock(locked=True))
    device.say(FaultChanged(2, raised=True, blocking=True))
    assert answer(device, OpenShoeAcknowledge(A, 4)) == []
    hello, *reports = answer(device, OpenShoeAcknowledge(A, 5))
    assert isinstance(hello.body, Hello)
    assert (hello.body.next, hello.body.oldest) == (1, 1)
    assert hello.body.stream != A
    assert [each.body for each in reports] == [
        FaultChanged(8, raised=True, blocking=False),
        FaultChanged(8, raised=False, blocking=False),
        Lock(locked=True),
        FaultChanged(2, raised=True, blocking=True),
    ]
    (after,) = heard(device.say(Empty()))
    assert isinstance(after, OpenShoeReport)
    assert (after.sequence, after.stream) == (5, hello.body.stream)


def test_a_shuffler_with_a_full_memory_reports_no_lock() -> None:
    """A new stream, fault 8, and the active faults."""
    device = ready(role="shuffler", room=2)
    for _ in range(2):
        device.say(Shuffling())
    device.say(FaultChanged(5, raised=True, blocking=True))
    _, *reports = answer(device, OpenShoeAcknowledge(A, 2))
    assert [each.body for each in reports] == [
        FaultChanged(8, raised=True, blocking=False),
        FaultChanged(8, raised=False, blocking=False),
    ]
    assert device.state.store.full, "the third report has room"


# --- version 3


def started(**more: object) -> Device:
    """Version 3 in power-up 7, with a new clock."""
    device = Device(Clock(), version=3, **more)  # type: ignore[arg-type]  # the parameters of the device
    device.restart(boot=7)
    device.open()
    return device


def state_of(device: Device) -> OpenShoeStatus:
    """The STATUS that answers INQUIRE."""
    (message,) = answer(device, Inquire(), 3)
    assert isinstance(message.body, OpenShoeStatus)
    return message.body


def test_hello_has_the_power_up_the_clock_and_the_capabilities() -> None:
    """The bytes are those of the examples on the page."""
    device = Device(Clock(), version=3)
    device.restart(boot=7)
    device.clock.ms = 500
    hello = (
        "7E 03 01 00 00 A1 B2 C3 D4 01 00 01 00 01 04 41 63 6D 65 02 53 31 04 30 30 34 32 03 31 2E 30 00 07 "
        "00 00 00 00 00 07 A1 20 00 32 00 0D 4D 64 43 9F 7F"
    )
    assert device.open() == bytes.fromhex(hello)


def test_alive_has_the_power_up_and_the_clock() -> None:
    """The device was switched on ten seconds ago."""
    device = started()
    device.clock.ms = 10_000
    assert heard(device.hear()) == [OpenShoeNotice(3, Alive(A, 1, 7, 10_000_000))]


def test_a_power_up_restarts_the_clock_and_is_in_each_report() -> None:
    """Kept reports stay unchanged, byte for byte."""
    device = started()
    device.clock.ms = 2000
    kept = device.say(Empty())
    device.restart()
    device.clock.ms = 2600
    (hello,) = heard(device.open())
    assert isinstance(hello.body, Hello)
    assert (hello.body.boot, hello.body.clock_us, hello.body.next, hello.body.oldest) == (8, 600_000, 2, 1)
    assert device.hear() == kept
    (after,) = heard(device.say(Empty()))
    assert isinstance(after, OpenShoeReport)
    assert (after.boot, after.clock_us, after.sequence) == (8, 600_000, 2)


def test_power_up_0_follows_power_up_65535() -> None:
    """The count has 16 bits."""
    device = started()
    device.restart(boot=65535)
    device.restart()
    assert device.state.store.boot == 0


def test_an_earlier_version_has_no_power_up() -> None:
    """Its clock continues."""
    device = Device(Clock(), version=2)
    device.restart()
    assert (device.state.store.boot, device.state.began_us) == (0, 0)


def test_inquire_is_answered_by_the_state() -> None:
    """STATUS has the exit, the set in the device, and all active faults at that moment."""
    device = started()
    assert state_of(device) == OpenShoeStatus(locked=False, set_id="", faults=())
    device.say(Loaded("No7"))
    device.say(Lock(locked=True))
    for code in (2, 4):
        device.say(FaultChanged(code, raised=True, blocking=code == 4))
    assert state_of(device) == OpenShoeStatus(
        True,  # noqa: FBT003
        "No7",
        (OpenShoeStandingFault(2, blocking=False), OpenShoeStandingFault(4, blocking=True)),
    )
    device.say(FaultChanged(2, raised=False, blocking=False))
    device.say(Empty())
    assert state_of(device) == OpenShoeStatus(True, "", (OpenShoeStandingFault(4, blocking=True),))  # noqa: FBT003


def test_the_state_of_a_shuffler_has_no_lock() -> None:
    """It has the faults."""
    device = started(role="shuffler")
    device.say(FaultChanged(5, raised=True, blocking=True))
    assert state_of(device) == OpenShoeStatus(None, "", (OpenShoeStandingFault(5, blocking=True),))


def test_a_state_that_is_the_newest_kept_report_is_not_repeated() -> None:
    """Without acknowledgements, any number of INQUIREs does not fill the memory."""
    device = started()
    assert kinds(answer(device, Inquire(), 3)) == [OpenShoeStatus]
    assert answer(device, Inquire(), 3) == []
    device.say(Empty())
    assert kinds(answer(device, Inquire(), 3)) == [OpenShoeStatus]
    assert answer(device, OpenShoeAcknowledge(A, 3), 3) == []
    assert kinds(answer(device, Inquire(), 3)) == [OpenShoeStatus]


def test_a_state_has_a_maximum_number_of_faults() -> None:
    """The page allows 32."""
    device = started()
    for code in range(40):
        device.say(FaultChanged(code, raised=True, blocking=False))
    answer(device, OpenShoeAcknowledge(A, 40), 3)
    assert len(state_of(device).faults) == 32


@pytest.mark.parametrize("version", [1, 2])
def test_an_earlier_version_has_no_state(version: int) -> None:
    """It does not know the request."""
    assert Device(Clock(), version=version).hear(build(OpenShoeRequest(3, Inquire()))) == b""


@pytest.mark.parametrize("role", ["shoe", "shuffler"])
def test_a_full_memory_of_version_3_ends_with_the_whole_state(role: str) -> None:
    """STATUS replaces LOCK and the faults; the clock continues, because the power was not lost."""
    device = started(role=role, room=5)
    for _ in range(5):
        device.say(Empty())
    device.say(FaultChanged(2, raised=True, blocking=True))
    device.clock.ms = 3000
    hello, *reports = answer(device, OpenShoeAcknowledge(A, 5), 3)
    assert isinstance(hello.body, Hello)
    assert (hello.body.boot, hello.body.clock_us) == (7, 3_000_000)
    assert [each.body for each in reports] == [
        FaultChanged(8, raised=True, blocking=False),
        FaultChanged(8, raised=False, blocking=False),
        OpenShoeStatus(False if role == "shoe" else None, "", (OpenShoeStandingFault(2, blocking=True),)),
    ]
    assert {(each.boot, each.clock_us) for each in reports if isinstance(each, OpenShoeReport)} == {(7, 3_000_000)}
    assert answer(device, Inquire(), 3) == []


@pytest.mark.parametrize("start", [33, 40])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_resend_outside_the_window_is_answered_by_hello(version: int, start: int) -> None:
    """The rule includes a report that is kept."""
    device = Device(Clock(), version=version)
    for _ in range(40):
        device.say(Empty())
    assert kinds(answer(device, Resend(A, start), version)) == [Hello]
    sent = answer(device, Resend(A, 32), version)
    assert [each.sequence for each in sent if isinstance(each, OpenShoeReport)] == [*range(32, 41)]


@pytest.mark.parametrize(
    "body",
    ["01 83 0000 04 00", "03 83 0000 00 00", "03 83 0000 01", "03 83 0000 01 00 00", "03 80 0000 00", "03 84 0000 00"],
)
def test_an_undefined_request_is_dropped(body: str) -> None:
    """Another order, too few bytes, and too many bytes: no answer, and no change."""
    device = started()
    assert device.hear(seal(bytes.fromhex(body))) == b""
    assert not device.state.locked


@pytest.mark.parametrize(
    "order",
    [OpenShoeOrder(OrderKind.LOCK), OpenShoeOrder(OrderKind.UNLOCK), OpenShoeOrder(OrderKind.CLEAR, 2)],
    ids=str,
)
def test_an_order_that_the_device_cannot_execute_is_answered(order: OpenShoeOrder) -> None:
    """The device has no such capability; the fault stays active."""
    device = started()
    device.role.capabilities = OpenShoeCapability.PASSAGE
    device.say(FaultChanged(2, raised=True, blocking=True))
    assert [each.body for each in answer(device, order, 3)] == [Done(order.order, order.number, OpenShoeResult.UNABLE)]
    assert [each.code for each in device.state.faults] == [2]


@pytest.mark.parametrize("body", [Challenge(bytes(16)), HostSealed(1, bytes(12))], ids=["challenge", "sealed"])
def test_a_device_without_a_key_does_not_answer_the_secure_channel(body: Requested) -> None:
    """A host with a key detects that the device has none."""
    assert answer(ready(version=3), body, 3) == []
