"""An Open Shoe that cannot be relied on: each doubt begins with its evidence, has its reason, and ends with it."""

from typing import Final

import pytest

from firmware_protocols.open_shoe import build
from firmware_protocols.open_shoe.messages import Alive, FaultChanged, Notice, Role
from shoed.observations import (
    AnyObservation,
    Continuity,
    CopyHeard,
    DeviceDoubt,
    DeviceDoubted,
    DeviceTrusted,
    Evidence,
    Resumed,
    SequenceJumped,
    warning,
)
from shoed.session import open_shoe_doubts
from shoed.session.open_shoe_stream import Intake
from shoed.step import LinkDown, LinkUp, Received, Woken
from tests.open_shoe_line import LISTENING, PORT, START, A, Clock, Host
from tests.test_session_open_shoe import greeted, hello, listener, report

B: Final = 0xB
S: Final = 1_000_000
FAULT: Final = FaultChanged(2, raised=True, blocking=True)
VERSION_9: Final = bytes.fromhex(
    "7E 09 20 00 01 A1 B2 C3 D4 00 00 00 00 00 0F 42 40 18 00 00 00 01 E8 48 00 80 BA D6 FE 7F"
)


def doubts(seen: list[AnyObservation]) -> list[str]:
    """`+ reason` where one begins, `- reason` where it ends."""
    return [
        f"{'+' if isinstance(each, DeviceDoubted) else '-'} {each.reason.value}"
        for each in seen
        if isinstance(each, DeviceDoubted | DeviceTrusted)
    ]


def heard(host: Host, *said: bytes) -> list[str]:
    return doubts([each for raw in said for each in host.hears(raw)])


def woken(host: Host, ms: float) -> list[str]:
    """What the host doubts at this moment, if it wants to be woken then."""
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
    return next(each.detail for each in reversed(host.seen) if isinstance(each, DeviceDoubted))


# --- no HELLO


@pytest.mark.parametrize("role", ["shoe", "shuffler"])
@pytest.mark.parametrize(
    "said", [b"", report(1, FAULT), build(Notice(1, Alive(A, 1)))], ids=["none", "report", "alive"]
)
def test_a_device_that_does_not_say_hello_is_doubted_after_a_second(said: bytes, role: str) -> None:
    """Whatever else it says; HELLO ends the doubt."""
    host = opened(role)
    host.clock.ms = 999
    assert heard(host, said) == []
    assert woken(host, 1000) == ["+ no-hello"]
    assert detail(host) == open_shoe_doubts.NO_HELLO
    assert woken(host, 2000) == []
    assert heard(host, hello(role=Role(role))) == ["- no-hello"]


def test_a_device_that_does_not_say_which_stream_it_began_is_doubted() -> None:
    """Its reports are not accepted, though it was greeted before."""
    host = greeted()
    host.hear(report(1, FAULT, of=B))
    assert woken(host, 1000) == ["+ no-hello"]
    assert heard(host, hello(of=B)) == ["- no-hello"]


def test_a_missing_report_is_no_missing_hello() -> None:
    """It is asked for again, and the device is known."""
    host = greeted()
    host.hear(report(2, FAULT))
    assert woken(host, 1000) == []


# --- version and role


def test_an_unknown_version_is_doubted_until_a_known_one_is_heard() -> None:
    """Once, and instead of a missing HELLO: the version explains it."""
    host = opened()
    assert woken(host, 1000) == ["+ no-hello"]
    assert heard(host, VERSION_9) == ["- no-hello", "+ unknown-version"]
    assert "speaks version 9 of Open Shoe" in detail(host)
    assert heard(host, VERSION_9) == []
    assert woken(host, 2000) == []
    assert heard(host, hello()) == ["- unknown-version"]


def test_damage_is_no_doubt() -> None:
    """A frame of a wrong CRC says nothing of the device."""
    host = greeted()
    raw = bytearray(report(1, FAULT))
    raw[8] ^= 1
    assert heard(host, bytes(raw)) == []


@pytest.mark.parametrize(("role", "other"), [("shoe", "shuffler"), ("shuffler", "shoe")])
def test_the_wrong_role_is_doubted_until_the_right_one_is_heard(role: str, other: str) -> None:
    """A device of the wrong role did say HELLO."""
    host = opened(role)
    assert woken(host, 1000) == ["+ no-hello"]
    assert heard(host, hello(role=Role(other))) == ["- no-hello", "+ wrong-role"]
    assert f"says that it is a {other}" in detail(host)
    assert heard(host, hello(role=Role(other)), report(1, FAULT)) == []
    assert woken(host, 2000) == []
    assert heard(host, hello(role=Role(role))) == ["- wrong-role"]


# --- acknowledgements


def repeating(*, role: str = "shoe", version: int = 1) -> tuple[Host, bytes]:
    host = greeted(role=role)
    raw = report(1, FAULT, version=version)
    host.hear(raw)
    return host, raw


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("role", ["shoe", "shuffler"])
def test_a_device_that_repeats_what_was_acknowledged_is_doubted(role: str, version: int) -> None:
    """After a second of repeats, until none came for two."""
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


def test_copies_that_come_together_or_seldom_are_no_doubt() -> None:
    """A host that stood still reads many at once; a worn line loses another acknowledgement each time."""
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
    """Reports with these clocks, one a second."""
    host = greeted(role=role)
    for number, clock_s in enumerate(clocks_s, start=1):
        host.clock.ms += 1000
        raw = report(number, FAULT, version=version, clock_us=round(clock_s * S))
        host.hear(raw)
        host.hear(hello(upcoming=number + 1, oldest=number, role=Role(role), version=version))
        host.hear(raw)
    return doubts(host.seen)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("role", ["shoe", "shuffler"])
@pytest.mark.parametrize(
    ("clocks_s", "expected"),
    [
        pytest.param((1, 2, 3, 4), [], id="as it should be"),
        pytest.param((1, 2, 2, 2), [], id="reports of one moment"),
        pytest.param((1, 2, 33, 34), [], id="as late as a line may be"),
        pytest.param((1, 86_400, 86_401), ["+ clock-jumps", "- clock-jumps"], id="ahead"),
        pytest.param((100, 99.5, 100.5), ["+ clock-jumps", "- clock-jumps"], id="back"),
        pytest.param((1, 100, 200, 300), ["+ clock-jumps"], id="again and again"),
        pytest.param((100, 1, 100), ["+ clock-jumps"], id="back and ahead"),
    ],
)
def test_a_clock_that_jumps_is_doubted_until_it_goes_on(
    clocks_s: tuple[float, ...], expected: list[str], role: str, version: int
) -> None:
    """Compared with the report before, and with the time between the two."""
    assert ticking(*clocks_s, role=role, version=version) == expected


def test_the_jump_of_a_clock_is_named() -> None:
    """By how much, and which way."""
    ahead = greeted()
    ahead.hear(report(1, FAULT, clock_us=0) + report(2, FAULT, clock_us=100 * S))
    assert detail(ahead) == "the clock of the device jumped ahead by 100 s; check the clock of the device"
    back = greeted()
    back.hear(report(1, FAULT, clock_us=100 * S) + hello(upcoming=2, oldest=2) + report(2, FAULT, clock_us=S // 2))
    assert detail(back) == "the clock of the device went back by 99.5 s; check the clock of the device"


def test_reports_that_waited_at_the_device_are_no_jump() -> None:
    """They arrive together, and were made minutes apart: kept while the line was closed, quiet, or read late."""
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


@pytest.mark.parametrize("began", ["another stream", "numbers again"])
def test_the_clock_of_another_numbering_is_another_clock(began: str) -> None:
    """The device restarted: that is on record as such."""
    host = greeted()
    of = B if began == "another stream" else A
    assert heard(host, report(1, FAULT), hello(of=of), hello(of=of), report(1, FAULT, of=of, clock_us=5)) == []
    assert heard(host, report(2, FAULT, of=of, clock_us=6)) == []


def test_a_listener_doubts_what_it_can_see() -> None:
    """It asks for no HELLO and acknowledges nothing; of a clock it cannot know which reports waited."""
    host = listener()
    host.clock.ms = 5000
    raw = report(1, FAULT)
    assert heard(host, *[raw] * 9, report(2, FAULT, clock_us=900 * S)) == []
    assert heard(host, VERSION_9) == ["+ unknown-version"]
    wrong = Host(Clock(), LISTENING)
    wrong.take(LinkUp(PORT))
    assert heard(wrong, hello(role=Role.SHUFFLER)) == ["+ wrong-role"]


def test_a_link_that_closes_ends_every_doubt() -> None:
    """The next device on the line is another one, perhaps: its evidence is collected from the start."""
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
        (Resumed(at=START, frame=FRAME, expected="7"), "reports may be missing before report 9: report 7 was due"),
        (Resumed(at=START, frame=FRAME), "reports may be missing before report 9: nothing proves the opposite"),
        (
            SequenceJumped(at=START, frame=FRAME, expected="7"),
            "reports may be missing before report 9: report 7 was due",
        ),
        (Resumed(at=START, frame=FRAME, continuity=Continuity.PROVEN), ""),
        (CopyHeard(at=START, frame=FRAME), ""),
        (DeviceDoubted(at=START, reason=DeviceDoubt.WRONG_ROLE, detail="a shuffler"), "wrong-role: a shuffler"),
        (DeviceTrusted(at=START, reason=DeviceDoubt.WRONG_ROLE), "wrong-role: this has ended"),
    ],
)
def test_the_log_names_losses_and_doubts(seen: AnyObservation, line: str) -> None:
    """What proves that nothing is missing is no line of it."""
    assert warning(seen) == line
