"""The host's session with an Open Shoe of version 3: power-ups, the state of the device, and its capabilities."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.messages import (
    Alive,
    FaultChanged,
    Hello,
    Identify,
    Inquire,
    Inventory,
    OfVendor,
    OpenShoeAcknowledge,
    OpenShoeCapability,
    OpenShoeFailed,
    OpenShoeNotice,
    OpenShoeOrder,
    OpenShoeReport,
    OpenShoeRole,
    OpenShoeStandingFault,
    OpenShoeStatus,
    OrderKind,
    ReportBody,
    Resend,
)
from shoed.model import observations
from shoed.model.observations import (
    AnyObservation,
    DeviceDoubt,
    DeviceStatus,
    DoubtEnded,
    DoubtRaised,
    FaultCleared,
    FaultMeaning,
    FaultStanding,
    FrameRejected,
    Identified,
    Resumed,
    SetDeliverySeen,
    ShuffleEnded,
    ShuffleStarted,
)
from shoed.model.step import DeviceOrderKind, LinkDown, LinkUp, Received, Woken
from shoed.session.open_shoe import OpenShoeState
from shoed.session.open_shoe_doubts import NO_KEY
from shoed.session.open_shoe_stream import Intake
from tests.open_shoe_line import LISTENING, PORT, START, A, Clock, Host
from tests.test_session_open_shoe import COUNTS, answers, asked, evidence, kinds, listener, order, resumed
from tests.test_session_open_shoe_doubts import doubts

B: Final = 0xB
FAULT: Final = FaultChanged(2, raised=True, blocking=True)
CLEAR: Final = FaultChanged(2, raised=False, blocking=False)
NOTHING: Final = OpenShoeStatus(locked=False, set_id="", faults=())
ABLE: Final = OpenShoeCapability.PASSAGE | OpenShoeCapability.LOCK | OpenShoeCapability.CLEAR


def hello(  # noqa: PLR0913 -- the fields of a HELLO
    upcoming: int = 1,
    oldest: int | None = None,
    *,
    boot: int = 7,
    of: int = A,
    role: OpenShoeRole = OpenShoeRole.SHOE,
    able: OpenShoeCapability = ABLE,
) -> bytes:
    first = upcoming if oldest is None else oldest
    return build(OpenShoeNotice(3, Hello(of, role, upcoming, first, "Acme", "S1", "0042", "1.0", boot, 0, 50, able)))


def report(sequence: int, body: ReportBody, *, boot: int = 7, clock_us: int = 1000, of: int = A) -> bytes:
    return build(OpenShoeReport(3, sequence, of, clock_us, body, boot))


def alive(upcoming: int, boot: int = 7) -> bytes:
    return build(OpenShoeNotice(3, Alive(A, upcoming, boot, 5000)))


def opened(*, role: str = "shoe", allow_orders: bool = False) -> Host:
    host = Host(Clock(), role=role, allow_orders=allow_orders, intake=Intake(A, 1))
    host.take(LinkUp(PORT))
    return host


def known(*, role: str = "shoe", allow_orders: bool = False, able: OpenShoeCapability = ABLE) -> Host:
    """A host that received HELLO in power-up 7 and accepted STATUS, report 1."""
    host = opened(role=role, allow_orders=allow_orders)
    host.hear(hello(2, 1, role=OpenShoeRole(role), able=able))
    host.hear(report(1, NOTHING))
    host.seen.clear()
    return host


def wakes_at_ms(host: Host) -> float:
    due = host.session.wake_at(host.state)
    assert due is not None
    return (due - START.mono_ns) / 1e6


def woken(host: Host, ms: float) -> list[theirs.Requested]:
    host.clock.ms = ms
    return asked(host.take(Woken()))


# --- the state of the device


def test_the_state_is_requested_after_the_first_hello_of_a_line() -> None:
    """On each new line, also if no report was missed; not after a repeated HELLO."""
    host = opened()
    assert asked(host.hear(hello())) == [Inquire()]
    assert asked(host.hear(report(1, NOTHING))) == [OpenShoeAcknowledge(A, 1)]
    assert asked(host.hear(hello(2))) == []
    host.take(LinkDown("pulled"))
    host.take(LinkUp(PORT))
    assert asked(host.hear(hello(2))) == [Inquire()]


def test_the_state_is_requested_in_the_version_of_the_device() -> None:
    """The bytes are those of the page."""
    assert opened().hear(hello()) == bytes.fromhex("7E 03 84 00 00 D5 CD C3 AE 7F")


@pytest.mark.parametrize("version", [1, 2])
def test_a_device_of_an_earlier_version_gets_no_inquire(version: int) -> None:
    """Also if the previous device on the line got it."""
    host = opened()
    host.hear(hello())
    old = build(OpenShoeNotice(version, Hello(A, OpenShoeRole.SHOE, 1, 1, "Acme", "S1", "0042", "1.0")))
    assert asked(host.hear(old)) == []
    assert woken(host, 1500) == []


def test_the_state_is_requested_each_second_until_it_arrives() -> None:
    """Other reports do not end the requests."""
    host = opened()
    host.hear(hello())
    assert asked(host.hear(report(1, FAULT))) == [OpenShoeAcknowledge(A, 1)]
    assert (woken(host, 999), wakes_at_ms(host)) == ([], 1000)
    assert woken(host, 1000) == [Inquire()]
    assert wakes_at_ms(host) == 2000
    assert woken(host, 2000) == [Inquire()]
    host.hear(report(2, NOTHING))
    assert wakes_at_ms(host) > 3000
    assert woken(host, 3000) == []


@pytest.mark.parametrize(
    ("frame", "requests"),
    [
        pytest.param(hello(2, 2, boot=8), [Inquire()], id="another power-up"),
        pytest.param(hello(1, 1, of=B), [Inquire()], id="another stream"),
        pytest.param(hello(5, 4), [Resend(A, 4), Inquire()], id="lost reports"),
        pytest.param(hello(3, 2), [Resend(A, 2)], id="nothing new"),
    ],
)
def test_the_state_is_requested_when_a_change_may_have_been_missed(
    frame: bytes, requests: list[theirs.Requested]
) -> None:
    """The rule includes a line that stays open."""
    assert asked(known().hear(frame)) == requests


def test_the_state_is_not_requested_before_hello() -> None:
    """Before HELLO, STATUS would not be accepted; after HELLO the request follows immediately."""
    host = opened()
    host.hear(hello())
    host.hear(report(1, FAULT, boot=8))  # a power-up whose HELLO was lost
    assert woken(host, 1000) == [Identify()]
    assert asked(host.hear(hello(2, 1, boot=8))) == [Resend(A, 1), Inquire()]


def test_a_state_of_an_earlier_power_up_is_not_the_answer() -> None:
    """The device kept it without power, and sends it before the requested STATUS."""
    host = opened()
    host.hear(hello(1))
    host.take(LinkDown("no power"))
    host.take(LinkUp(PORT))
    host.hear(hello(2, 1, boot=8))
    host.hear(report(1, NOTHING, boot=7))
    assert woken(host, 1000) == [Inquire()]
    host.hear(report(2, NOTHING, boot=8))
    assert woken(host, 2000) == []


def test_a_line_that_closes_ends_the_request() -> None:
    """No timer runs after it."""
    host = opened()
    host.hear(hello())
    host.take(LinkDown("pulled"))
    assert host.session.wake_at(host.state) is None


def test_a_listener_requests_nothing_and_accepts_the_state() -> None:
    """The other host requested it."""
    host = listener()
    assert host.hear(hello()) == b""
    assert kinds(host, report(1, NOTHING)) == ["DeviceStatus"]
    host.clock.ms = 5000
    assert host.take(Woken()) == b""


@pytest.mark.parametrize("locked", [True, False, None])
def test_the_state_is_an_observation(locked: bool | None) -> None:  # noqa: FBT001 -- a column
    """It has the names and meanings that a report of each fault has."""
    host = known()
    body = OpenShoeStatus(
        locked,
        "No7",
        (
            OpenShoeStandingFault(3, blocking=True),
            OpenShoeStandingFault(7, blocking=False),
            OpenShoeStandingFault(99, blocking=True),
        ),
    )
    raw = report(2, body)
    offset = len(hello(2, 1)) + len(report(1, NOTHING))
    assert host.hears(raw) == [
        DeviceStatus(
            at=host.clock.now,
            frame=evidence(raw, "2", offset),
            locked=locked,
            set_id="No7",
            faults=(
                FaultStanding(3, "reverse-run", blocking=True, meaning=FaultMeaning.REVERSED),
                FaultStanding(7, "overdraw", blocking=False, meaning=FaultMeaning.OVERDRAW),
                FaultStanding(99, "unnamed", blocking=True),
            ),
        )
    ]


# --- power-ups


def test_a_restart_with_a_memory_loses_nothing_and_identifies_the_device() -> None:
    """The device sends HELLO again; its clock restarted, which is not a doubt."""
    host = known()
    (who,) = host.hears(hello(3, 2, boot=8))
    assert isinstance(who, Identified)
    assert kinds(host, report(2, FAULT, clock_us=3, boot=8)) == ["FaultRaised"]
    assert host.hears(hello(3, 3, boot=8)) == []


def test_the_first_report_shows_a_restart_whose_hello_is_lost() -> None:
    """The report is not accepted before the requested HELLO."""
    host = known()
    raw = report(2, FAULT, boot=8)
    assert asked(host.hear(raw)) == [Identify()]
    assert host.seen == []
    assert asked(host.hear(hello(3, 2, boot=8))) == [Resend(A, 2), Inquire()]
    assert asked(host.hear(raw)) == [OpenShoeAcknowledge(A, 2)]
    assert [type(each).__name__ for each in host.seen] == ["Identified", "FaultRaised"]


def test_alive_of_an_idle_device_shows_its_restart() -> None:
    """ALIVE has the number of the power-up."""
    host = known()
    assert asked(host.hear(alive(2))) == []
    assert asked(host.hear(alive(2, boot=8))) == [Identify()]
    assert asked(host.hear(hello(2, boot=8))) == [Inquire()]


def test_a_report_of_an_earlier_power_up_makes_the_host_request_hello() -> None:
    """A clock that goes back has the same effect. After HELLO the report is accepted, with a doubt."""
    host = known()
    raw = report(2, FAULT, boot=6, clock_us=9000)
    assert asked(host.hear(raw)) == [Identify()]
    assert asked(host.hear(hello(3, 2))) == [Resend(A, 2)]
    assert asked(host.hear(raw)) == [OpenShoeAcknowledge(A, 2)]
    (doubted,) = [each for each in host.seen if isinstance(each, DoubtRaised)]
    assert doubted.reason is DeviceDoubt.CLOCK_JUMPS
    assert doubted.detail == ("the device reports power-up 6 after power-up 7; check that it counts its power-ups")
    assert doubts(host.hears(report(3, CLEAR))) == ["- clock-jumps"]


def test_clocks_of_two_power_ups_are_not_compared() -> None:
    """A lower clock is not a doubt, and a clock that is ahead by days is not a doubt."""
    host = known()
    host.hear(report(2, FAULT, clock_us=10_000_000))
    host.hear(hello(3, boot=8))
    host.hear(report(3, CLEAR, clock_us=5, boot=8))
    host.hear(hello(4, boot=9))
    host.hear(report(4, FAULT, clock_us=900_000_000_000, boot=9))
    assert doubts(host.seen) == []


@pytest.mark.parametrize("boot", [0, 8, 7 + 40_000, 65_535])
def test_a_new_stream_has_a_power_up_of_its_own(boot: int) -> None:
    """A device without a memory draws it at random: it is compared with no earlier power-up."""
    host = known()
    host.hear(hello(1, of=B, boot=boot))
    host.hear(report(1, FAULT, of=B, boot=boot, clock_us=1))
    assert doubts(host.seen) == []
    first = opened()
    first.hear(hello(boot=boot))
    first.hear(report(1, FAULT, boot=boot))
    assert doubts(first.seen) == []


def test_a_listener_records_a_restart() -> None:
    """HELLO shows it: another host requested the HELLO, or the restart caused it."""
    host = listener()
    assert kinds(host, hello(2), report(2, FAULT), hello(3)) == ["Identified", "FaultRaised"]
    assert kinds(host, hello(3, boot=8), report(3, CLEAR, boot=8, clock_us=5)) == ["Identified", "FaultCleared"]
    gap, seen = host.hears(report(4, CLEAR, boot=7, clock_us=9000))
    assert resumed(gap, "4", "4")
    assert isinstance(seen, FaultCleared)


# --- messages of makers


def test_a_report_of_a_maker_is_accepted_without_an_observation() -> None:
    """Its number is acknowledged: no report before or after it is missing."""
    host = known()
    assert asked(host.hear(report(2, OfVendor(0x50, b"\x01\x02")))) == [OpenShoeAcknowledge(A, 2)]
    assert host.hear(build(OpenShoeNotice(3, OfVendor(0x1F, b"\x03")))) == b""
    assert host.seen == []
    assert kinds(host, report(3, FAULT)) == ["FaultRaised"]


# --- sets


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (theirs.Shuffling("A"), (ShuffleStarted, "A", None)),
        (theirs.Shuffled("B"), (ShuffleEnded, "B", "")),
        (OpenShoeFailed(3, "A"), (ShuffleEnded, "A", "jam")),
        (OpenShoeFailed(3, ""), (ShuffleEnded, "", "jam")),
    ],
)
def test_a_shuffle_names_its_set(body: ReportBody, expected: tuple[type, str, str | None]) -> None:
    """A shuffler with two chambers processes two sets."""
    (seen,) = known(role="shuffler").hears(report(2, body))
    assert isinstance(seen, ShuffleStarted | ShuffleEnded)
    assert (type(seen), seen.set_id, getattr(seen, "failed", None)) == expected


def test_two_sets_at_once_are_delivered_each_with_its_counts() -> None:
    """Each delivery has the counts of its set, whatever the order of the reports."""
    host = known(role="shuffler")
    body: list[ReportBody] = [
        theirs.Shuffling("A"),
        theirs.Shuffling("B"),
        theirs.Shuffled("B"),
        Inventory("B", (8,) * 52, 0),
        Inventory("A", COUNTS, 1),
        theirs.Delivered("B"),
        theirs.Shuffled("A"),
        theirs.Delivered("A"),
    ]
    for number, each in enumerate(body, start=2):
        host.hear(report(number, each))
    sets = [each for each in host.seen if isinstance(each, SetDeliverySeen)]
    assert [(each.set_id, each.unread, sum(each.counts.values())) for each in sets] == [("B", 0, 416), ("A", 1, 416)]


# --- a key


@pytest.mark.parametrize(
    "body", [theirs.Unkeyed(), theirs.Sealed(1, bytes(20)), theirs.Response(bytes(16), bytes(16))], ids=str
)
@pytest.mark.parametrize("role", ["shoe", "shuffler"])
def test_a_device_with_a_key_is_doubted_until_it_sends_plain_frames(body: theirs.Noticed, role: str) -> None:
    """The frame is recorded, and the host sends no request because of it; the frame explains the missing HELLO."""
    host = opened(role=role)
    woken(host, 1000)
    assert doubts(host.seen) == ["+ no-hello"]
    host.seen.clear()
    assert host.hear(build(OpenShoeNotice(3, body))) == b""
    refused = host.seen[0]
    assert isinstance(refused, FrameRejected)
    assert refused.detail == NO_KEY
    assert host.seen[1:] == [
        DoubtEnded(at=host.clock.now, reason=DeviceDoubt.NO_HELLO),
        DoubtRaised(at=host.clock.now, reason=DeviceDoubt.KEY_NEEDED, detail=NO_KEY),
    ]
    host.seen.clear()
    assert woken(host, 2000) == [Identify()]
    host.hear(build(OpenShoeNotice(3, body)))
    assert doubts(host.seen) == []
    assert doubts(host.hears(hello(role=OpenShoeRole(role)))) == ["- key-needed"]


def test_a_listener_doubts_a_device_with_a_key_and_a_link_that_closes_ends_it() -> None:
    """The end of a link ends this doubt, as every doubt."""
    host = Host(Clock(), LISTENING)
    host.take(LinkUp(PORT))
    assert doubts(host.hears(build(OpenShoeNotice(3, theirs.Unkeyed())))) == ["+ key-needed"]
    host.take(LinkDown("pulled"))
    assert host.state.doubts == ()


# --- capabilities


def stated(able: OpenShoeCapability) -> Identified:
    (who,) = [each for each in opened().hears(hello(able=able)) if isinstance(each, Identified)]
    return who


@pytest.mark.parametrize("each", list(OpenShoeCapability), ids=str)
def test_a_device_states_its_capabilities(each: OpenShoeCapability) -> None:
    """Each capability has its name."""
    assert each.name is not None
    assert stated(each).capabilities == (observations.Capability[each.name],)


def test_no_capabilities_differ_from_unstated_capabilities() -> None:
    """A device without capabilities states an empty list; an earlier version states nothing, and orders are sent."""
    assert stated(OpenShoeCapability.NONE).capabilities == ()
    old = build(OpenShoeNotice(2, Hello(A, OpenShoeRole.SHOE, 1, 1, "Acme", "S1", "0042", "1.0")))
    (who,) = [each for each in opened().hears(old) if isinstance(each, Identified)]
    assert who.capabilities is None


@pytest.mark.parametrize(
    ("kind", "fault", "needed", "word"),
    [
        (
            DeviceOrderKind.LOCK,
            None,
            OpenShoeCapability.LOCK,
            "no order locks or unlocks the exit of this device; lock or unlock it by hand",
        ),
        (
            DeviceOrderKind.UNLOCK,
            None,
            OpenShoeCapability.LOCK,
            "no order locks or unlocks the exit of this device; lock or unlock it by hand",
        ),
        (
            DeviceOrderKind.CLEAR_FAULT,
            2,
            OpenShoeCapability.CLEAR,
            "no order clears the faults of this device; clear the fault at the device",
        ),
    ],
)
def test_an_order_that_the_device_cannot_execute_is_refused_immediately(
    kind: DeviceOrderKind, fault: int | None, needed: OpenShoeCapability, word: str
) -> None:
    """Nothing is sent; with the required capability, the order is sent."""
    host = known(allow_orders=True, able=~needed & ABLE)
    assert order(host, kind, fault) == b""
    assert [(accepted, detail) for _, accepted, detail in answers(host)] == [(False, word)]
    (request,) = asked(order(known(allow_orders=True, able=needed), kind, fault))
    assert isinstance(request, OpenShoeOrder)


def test_each_power_up_replaces_the_capabilities() -> None:
    """The firmware may be another one; an earlier version states nothing."""
    host = known(allow_orders=True, able=OpenShoeCapability.NONE)
    host.hear(hello(2, boot=8, able=OpenShoeCapability.LOCK))
    assert asked(order(host, DeviceOrderKind.LOCK)) == [OpenShoeOrder(OrderKind.LOCK)]
    host = known(allow_orders=True, able=OpenShoeCapability.NONE)
    host.take(LinkDown("replaced"))
    host.take(LinkUp(PORT))
    host.hear(build(OpenShoeNotice(1, Hello(A, OpenShoeRole.SHOE, 2, 2, "Acme", "S1", "0042", "1.0"))))
    assert asked(order(host, DeviceOrderKind.LOCK)) == [OpenShoeOrder(OrderKind.LOCK)]


# --- states of earlier engines


def test_a_state_of_the_previous_engine_continues() -> None:
    """It has no power-up: the first HELLO of version 3 begins one, and accepted reports are still compared."""
    left = b'{"intake":{"stream":2712847316,"due":3,"checks":[1,2],"clock_us":900000000},"version":2,"away":true}'
    state = msgspec.json.decode(left, type=OpenShoeState)
    host = Host(Clock())
    host.state = replace(state, line=None)
    host.take(LinkUp(PORT))
    assert asked(host.hear(hello(3))) == [Inquire()]
    assert kinds(host, report(3, FAULT, clock_us=5)) == ["FaultRaised"]


@pytest.mark.parametrize(
    "written",
    [
        b'{"saw":"ShuffleStarted","at":[0,0],"frame":{"raw":"","offset":0,"sequence":"1"}}',
        b'{"saw":"ShuffleEnded","at":[0,0],"frame":{"raw":"","offset":0,"sequence":"1"},"failed":"jam"}',
        (
            b'{"saw":"Identified","at":[0,0],"frame":{"raw":"","offset":0,"sequence":""},"vendor":"V","model":"M",'
            b'"serial":"","firmware":"","protocol":"2"}'
        ),
    ],
)
def test_an_observation_of_the_previous_engine_is_read_and_written_unchanged(written: bytes) -> None:
    """Records are compared byte for byte."""
    seen = msgspec.json.decode(written, type=AnyObservation)
    assert msgspec.json.encode(seen) == written


def test_a_late_read_of_a_restart_is_not_a_gap() -> None:
    """The host stood still while the device restarted: HELLO and reports arrive in one chunk."""
    host = known()
    frames = hello(2, boot=8) + report(2, NOTHING, boot=8, clock_us=3) + report(3, FAULT, boot=8, clock_us=4)
    host.take(Received(frames, 2_000_000_000))
    assert [type(each).__name__ for each in host.seen] == ["Identified", "DeviceStatus", "FaultRaised"]
    assert not [each for each in host.seen if isinstance(each, Resumed)]


def test_a_device_that_changes_to_an_earlier_version_gets_no_inquire() -> None:
    """In one chunk, and later: no request of version 3 is built in version 1."""
    host = opened()
    older = build(OpenShoeNotice(1, Alive(A, 1)))
    assert Inquire() not in asked(host.take(Received(hello() + older)))
    assert host.state.version == 1
    host = opened()
    assert Inquire() in asked(host.take(Received(hello())))
    host.take(Received(older))
    assert Inquire() not in woken(host, 10_000)
