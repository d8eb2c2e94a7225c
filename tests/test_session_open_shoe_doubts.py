"""Doubts about an Open Shoe device: each begins with its evidence, has its reason, and ends with new evidence."""

from typing import Final

import pytest

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe.messages import (
    Alive,
    FaultChanged,
    Hello,
    OpenShoeNotice,
    OpenShoeReport,
    OpenShoeRole,
)
from shoed.model.observations import (
    AnyObservation,
    Continuity,
    CopyHeard,
    DeviceDoubt,
    DoubtEnded,
    DoubtRaised,
    Evidence,
    Resumed,
    SequenceJumped,
    warning,
)
from shoed.model.step import LinkDown, LinkUp, Received, Woken
from shoed.session import open_shoe_doubts
from shoed.session.open_shoe_stream import Intake
from tests.open_shoe_line import LISTENING, PORT, START, A, Clock, Host
from tests.test_session_open_shoe import greeted, hello, listener, report

B: Final = 0xB
S: Final = 1_000_000
FAULT: Final = FaultChanged(2, raised=True, blocking=True)
VERSION_9: Final = bytes.fromhex(
    "7E 09 20 00 01 A1 B2 C3 D4 00 00 00 00 00 0F 42 40 18 00 00 00 01 E8 48 00 80 BA D6 FE 7F"
)


def doubts(seen: list[AnyObservation]) -> list[str]:
    """`+ reason` for the beginning of a doubt, `- reason` for its end."""
    return [
        f"{'+' if isinstance(each, DoubtRaised) else '-'} {each.reason.value}"
        for each in seen
        if isinstance(each, DoubtRaised | DoubtEnded)
    ]


def heard(host: Host, *frames: bytes) -> list[str]:
    return doubts([each for raw in frames for each in host.hears(raw)])


def woken(host: Host, ms: float) -> list[str]:
    """The doubts at this moment, if the session set a timer for it."""
    host.clock.ms = ms
    due = host.session.wake_at(host.state)
    assert due is not None
    assert due <= host.clock.now.mono_ns
    before = len(host.seen)
    host.take(Woken())
    return doubts(host.seen[before:])


def opened(role: str = "shoe") -> Host:
    host = Host(Clock(), role=role, intake=Intake(A, 1))
    host.take(LinkUp(PORT))
    return host


def detail(host: Host) -> str:
    return next(each.detail for each in reversed(host.seen) if isinstance(each, DoubtRaised))


# --- no HELLO


@pytest.mark.parametrize("role", ["shoe", "shuffler"])
@pytest.mark.parametrize(
    "frame", [b"", report(1, FAULT), build(OpenShoeNotice(1, Alive(A, 1)))], ids=["none", "report", "alive"]
)
def test_a_device_that_does_not_send_hello_is_doubted_after_a_second(frame: bytes, role: str) -> None:
    """Other frames have no effect; HELLO ends the doubt."""
    host = opened(role)
    host.clock.ms = 999
    assert heard(host, frame) == []
    assert woken(host, 1000) == ["+ no-hello"]
    assert detail(host) == open_shoe_doubts.NO_HELLO
    assert woken(host, 2000) == []
    assert heard(host, hello(role=OpenShoeRole(role))) == ["- no-hello"]


def test_a_device_that_sends_no_hello_of_its_new_stream_is_doubted() -> None:
    """Its reports are not accepted, although its earlier HELLO arrived."""
    host = greeted()
    host.hear(report(1, FAULT, of=B))
    assert woken(host, 1000) == ["+ no-hello"]
    assert heard(host, hello(of=B)) == ["- no-hello"]


def test_a_missing_report_is_not_a_missing_hello() -> None:
    """The report is requested again, and the device is known."""
    host = greeted()
    host.hear(report(2, FAULT))
    assert woken(host, 1000) == []


# --- version and role


def test_an_unknown_version_is_doubted_until_a_known_version_arrives() -> None:
    """The doubt is raised once, and replaces the doubt about the missing HELLO: the version explains it."""
    host = opened()
    assert woken(host, 1000) == ["+ no-hello"]
    assert heard(host, VERSION_9) == ["- no-hello", "+ unknown-version"]
    assert "uses version 9 of Open Shoe" in detail(host)
    assert heard(host, VERSION_9) == []
    assert woken(host, 2000) == []
    assert heard(host, hello()) == ["- unknown-version"]


def test_damage_is_not_a_doubt() -> None:
    """A frame with a wrong CRC proves nothing about the device."""
    host = greeted()
    raw = bytearray(report(1, FAULT))
    raw[8] ^= 1
    assert heard(host, bytes(raw)) == []


@pytest.mark.parametrize(("role", "other"), [("shoe", "shuffler"), ("shuffler", "shoe")])
def test_the_wrong_role_is_doubted_until_the_right_role_arrives(role: str, other: str) -> None:
    """A device with the wrong role did send HELLO."""
    host = opened(role)
    assert woken(host, 1000) == ["+ no-hello"]
    assert heard(host, hello(role=OpenShoeRole(other))) == ["- no-hello", "+ wrong-role"]
    assert f"the device reports the role {other}" in detail(host)
    assert heard(host, hello(role=OpenShoeRole(other)), report(1, FAULT)) == []
    assert woken(host, 2000) == []
    assert heard(host, hello(role=OpenShoeRole(role))) == ["- wrong-role"]


# --- acknowledgements


def repeating(*, role: str = "shoe", version: int = 1) -> tuple[Host, bytes]:
    host = greeted(role=role)
    raw = report(1, FAULT, version=version)
    host.hear(raw)
    return host, raw


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("role", ["shoe", "shuffler"])
def test_a_device_that_repeats_acknowledged_reports_is_doubted(role: str, version: int) -> None:
    """The doubt begins after a second of copies, and ends after two seconds without a copy."""
    host, raw = repeating(role=role, version=version)
    for ms, expected in ((500, []), (1000, []), (1500, ["+ ignores-acknowledgements"]), (2000, [])):
        host.clock.ms = ms
        assert heard(host, raw) == expected
    assert "repeats report 1, which was acknowledged" in detail(host)
    host.clock.ms = 3999
    host.take(Woken())
    assert doubts(host.seen) == ["+ ignores-acknowledgements"]
    assert woken(host, 4000) == ["- ignores-acknowledgements"]
    host.clock.ms = 4500
    assert heard(host, raw) == []


def test_copies_in_one_chunk_or_with_long_pauses_are_not_a_doubt() -> None:
    """A host that stood still reads many copies at once; a bad line loses another acknowledgement each time."""
    host, raw = repeating()
    host.clock.ms = 500
    assert heard(host, raw * 20) == []
    host.clock.ms = 2600
    assert heard(host, raw) == []
    host.clock.ms = 2700
    assert heard(host, report(2, FAULT)) == []
    for ms in (3200, 3700, 4200):
        host.clock.ms = ms
        assert heard(host, report(2, FAULT)) == []


# --- the clock


def ticking(*clocks_s: float, version: int = 1, role: str = "shoe") -> list[str]:
    """Reports with these clocks, one each second."""
    host = greeted(role=role)
    for number, clock_s in enumerate(clocks_s, start=1):
        host.clock.ms += 1000
        raw = report(number, FAULT, version=version, clock_us=round(clock_s * S))
        host.hear(raw)
        host.hear(hello(upcoming=number + 1, oldest=number, role=OpenShoeRole(role), version=version))
        host.hear(raw)
    return doubts(host.seen)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("role", ["shoe", "shuffler"])
@pytest.mark.parametrize(
    ("clocks_s", "expected"),
    [
        pytest.param((1, 2, 3, 4), [], id="a right clock"),
        pytest.param((1, 2, 2, 2), [], id="reports of one moment"),
        pytest.param((1, 2, 33, 34), [], id="the maximum delay of a line"),
        pytest.param((1, 86_400, 86_401), ["+ clock-jumps", "- clock-jumps"], id="ahead"),
        pytest.param((100, 99.5, 100.5), ["+ clock-jumps", "- clock-jumps"], id="back"),
        pytest.param((1, 100, 200, 300), ["+ clock-jumps"], id="repeated jumps"),
        pytest.param((100, 1, 100), ["+ clock-jumps"], id="back and ahead"),
    ],
)
def test_a_clock_that_jumps_is_doubted_until_it_is_right_again(
    clocks_s: tuple[float, ...], expected: list[str], role: str, version: int
) -> None:
    """The clock is compared with the previous report, and with the time between the two arrivals."""
    assert ticking(*clocks_s, role=role, version=version) == expected


def test_the_jump_of_a_clock_has_its_size() -> None:
    """The detail has the size and the direction of the jump."""
    ahead = greeted()
    ahead.hear(report(1, FAULT, clock_us=0) + report(2, FAULT, clock_us=100 * S))
    assert detail(ahead) == "the clock of the device jumped ahead by 100 s; check the clock of the device"
    back = greeted()
    back.hear(report(1, FAULT, clock_us=100 * S) + hello(upcoming=2, oldest=2) + report(2, FAULT, clock_us=S // 2))
    assert detail(back) == "the clock of the device went back by 99.5 s; check the clock of the device"


def test_reports_that_waited_at_the_device_are_not_a_jump() -> None:
    """They arrive together and were made minutes apart: the line was closed or quiet, or the host read late."""
    kept = [report(number, FAULT, clock_us=number * 100 * S) for number in range(1, 5)]
    closed = greeted()
    closed.take(LinkDown("pulled"))
    closed.take(LinkUp(PORT))
    assert heard(closed, hello(upcoming=4, oldest=1), *kept) == []
    quiet = greeted()
    quiet.clock.ms = 30_000
    quiet.take(Woken())
    assert heard(quiet, *kept) == []
    late = greeted()
    for raw in kept:
        late.take(Received(raw, 400 * 1_000_000_000))
    assert doubts(late.seen) == []


@pytest.mark.parametrize("began", ["another stream", "reused numbers"])
def test_the_clock_of_another_numbering_is_another_clock(began: str) -> None:
    """The device restarted: another observation records that."""
    host = greeted()
    of = B if began == "another stream" else A
    assert heard(host, report(1, FAULT), hello(of=of), hello(of=of), report(1, FAULT, of=of, clock_us=5)) == []
    assert heard(host, report(2, FAULT, of=of, clock_us=6)) == []


def test_a_listener_raises_only_the_doubts_that_it_can_prove() -> None:
    """It requests no HELLO and acknowledges nothing. It cannot know which reports waited at the device."""
    host = listener()
    host.clock.ms = 5000
    raw = report(1, FAULT)
    assert heard(host, *[raw] * 9, report(2, FAULT, clock_us=900 * S)) == []
    assert heard(host, VERSION_9) == ["+ unknown-version"]
    wrong = Host(Clock(), LISTENING)
    wrong.take(LinkUp(PORT))
    assert heard(wrong, hello(role=OpenShoeRole.SHUFFLER)) == ["+ wrong-role"]


def test_a_link_that_closes_ends_every_doubt() -> None:
    """The next device on the line may be another one: its evidence is collected from the start."""
    host, raw = repeating()
    host.hear(VERSION_9)
    for ms in (500, 1000, 1500):
        host.clock.ms = ms
        host.hear(raw)
    assert doubts(host.seen) == ["+ unknown-version", "- unknown-version", "+ ignores-acknowledgements"]
    host.take(LinkDown("pulled"))
    assert (host.state.doubts, host.state.repeated, host.state.ticked) == ((), None, None)
    assert host.session.wake_at(host.state) is None
    host.take(LinkUp(PORT))
    assert heard(host, hello(upcoming=2, oldest=1), raw) == []
    assert heard(host, VERSION_9) == ["+ unknown-version"]
    assert host.state.doubts == (DeviceDoubt.UNKNOWN_VERSION,)


# --- the log


FRAME: Final = Evidence("05", 0, "9")


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (Resumed(at=START, frame=FRAME, expected="7"), "reports may be missing before report 9: report 7 was expected"),
        (Resumed(at=START, frame=FRAME), "reports may be missing before report 9: continuity is not proven"),
        (
            SequenceJumped(at=START, frame=FRAME, expected="7"),
            "reports may be missing before report 9: report 7 was expected",
        ),
        (Resumed(at=START, frame=FRAME, continuity=Continuity.PROVEN), ""),
        (CopyHeard(at=START, frame=FRAME), ""),
        (DoubtRaised(at=START, reason=DeviceDoubt.WRONG_ROLE, detail="a shuffler"), "wrong-role: a shuffler"),
        (DoubtEnded(at=START, reason=DeviceDoubt.WRONG_ROLE), "wrong-role: the doubt has ended"),
    ],
)
def test_the_log_names_losses_and_doubts(seen: AnyObservation, line: str) -> None:
    """Proven continuity causes no line in the log."""
    assert warning(seen) == line


def test_the_first_report_of_a_device_shows_no_doubt_about_its_power_up() -> None:
    """There is no earlier power-up; the number of a power-up may be random."""
    host = Host(Clock())
    host.take(LinkUp(PORT))
    names = ("Acme", "S1", "0042", "1.0")
    frames = [
        build(OpenShoeNotice(3, Hello(A, OpenShoeRole.SHOE, 1, 1, *names, 46137))),
        build(OpenShoeReport(3, 1, A, 5, FAULT, 46137)),
    ]
    assert heard(host, *frames) == []
