"""A session's knowledge about reports that were missed during an absence: proven, lost or unknown."""

import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from firmware_protocols.family import Line
from firmware_protocols.open_shoe import OpenShoeSettings
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, Continuity, Resumed
from shoed.model.step import LinkDown, LinkUp, Received
from shoed.session.angel_eye import AngelEyeSession, between
from shoed.session.families import DRIVERS
from tests.angel_eye_line import CARD, CONFIGURED, PORT, RESULT, START_1, Host, at, card_report, connected, report
from tests.scanner_line import scan

CYCLE_MS = 9 * 3 * 6 * 10 / 4.8  # nine reports of six bytes in three copies, ten bits each, at 4800 baud
A_LITTLE_MS = 0.01

Known = tuple[Continuity, int, str]  # with the least number of lost reports, and the expected number
PROVEN: Known = (Continuity.PROVEN, 0, "")
UNKNOWN: Known = (Continuity.UNKNOWN, 0, "")


def lost(at_least: int, expected: str) -> Known:
    return Continuity.LOST, at_least, expected


def known(seen: list[AnyObservation]) -> Known:
    (resumed,) = (each for each in seen if isinstance(each, Resumed))
    return resumed.continuity, resumed.missed_at_least, resumed.expected


def back(host: Host, away_ms: float) -> Host:
    """The link closes immediately and opens again after this time."""
    host.down()
    host.up(host.ms + away_ms)
    return host


# --- Angel Eye: nine numbers


@pytest.mark.parametrize(
    ("away_ms", "expected"),
    [(0, PROVEN), (CYCLE_MS - A_LITTLE_MS, PROVEN), (CYCLE_MS, UNKNOWN), (CYCLE_MS + A_LITTLE_MS, UNKNOWN)],
)
def test_the_expected_number_proves_continuity_only_if_nine_reports_cannot_have_passed(
    away_ms: float, expected: Known
) -> None:
    """Nine lost reports lead to the same number, and take 337.5 ms at 4800 baud."""
    assert pytest.approx(337.5) == CYCLE_MS
    assert known(back(connected(CARD), away_ms).hear(RESULT)) == expected


@pytest.mark.parametrize(
    ("settings", "factor"), [({"copies": 1}, 3), ({"line_baud": 9600}, 2), ({"line_baud": 1200}, 0.25)]
)
def test_the_time_of_nine_reports_follows_from_copies_and_speed(settings: dict[str, int], factor: float) -> None:
    """Fewer copies and a faster line shorten it."""
    for away_ms, expected in ((CYCLE_MS / factor - A_LITTLE_MS, PROVEN), (CYCLE_MS / factor, UNKNOWN)):
        host = Host(**settings)  # type: ignore[arg-type]
        host.up()
        host.hear(CARD)
        assert known(back(host, away_ms).hear(RESULT)) == expected


def test_a_serial_port_has_its_own_speed() -> None:
    """The setting is for a device server, which hides the speed of the line."""
    settings = AngelEyeSettings(line_baud=300).on(Line(9600))
    assert AngelEyeSession(settings, allow_orders=False).cycle_ns == pytest.approx(CYCLE_MS / 2 * 1e6)
    assert OpenShoeSettings().on(Line(9600)) == OpenShoeSettings()


def test_the_absence_begins_with_the_last_byte_and_ends_when_the_link_opens() -> None:
    """Silence before the end counts, because the line may have been dead; silence on the open line does not count."""
    host = connected(CARD)
    host.hear(CARD[:1], host.ms + 50)  # the first byte of the second copy
    host.down(host.ms + 200)
    host.up(host.ms + 100)
    assert known(host.hear(RESULT, host.ms + 60_000)) == PROVEN
    host = connected(CARD)
    host.down(host.ms + 240)
    host.up(host.ms + 100)
    assert known(host.hear(RESULT)) == UNKNOWN


def test_absences_add_up_until_a_report_is_accepted() -> None:
    """Two absences of 200 ms are long enough for nine reports; after a report the count restarts."""
    assert known(back(back(connected(CARD), 200), 200).hear(RESULT)) == UNKNOWN
    host = back(connected(CARD), 200)
    assert known(host.hear(RESULT)) == PROVEN
    assert known(back(host, 200).hear(report("3", "P"))) == PROVEN


def test_failed_connections_are_one_absence() -> None:
    """Each failed attempt closes the link again, and adds no time of its own."""
    host = connected(CARD)
    for _ in range(5):
        host.down(host.ms + 60)
    host.up(host.ms + 30)
    assert known(host.hear(RESULT)) == PROVEN


def test_rejected_bytes_may_have_been_reports() -> None:
    """They count for their time on the line: 300 ms of absence and eighteen bytes are long enough for nine reports."""
    for rejected, expected in ((17, PROVEN), (18, UNKNOWN)):
        host = back(connected(CARD), 300)
        host.hear(b"?" * rejected)
        assert known(host.hear(RESULT)) == expected
    host = connected(CARD)
    host.hear(b"?" * 18)
    assert known(back(host, 300).hear(RESULT)) == UNKNOWN


@pytest.mark.parametrize(
    ("last", "then", "at_least"),
    [("3", "6", 2), ("9", "2", 1), ("8", "1", 1), ("5", "4", 7), ("1", "9", 7), ("9", "9", 8)],
)
@pytest.mark.parametrize("away_ms", [0, 60_000])
def test_a_jump_proves_a_loss_however_short_the_absence(last: str, then: str, at_least: int, away_ms: float) -> None:
    """The observation has the expected number and the least number of missed reports: 1 follows 9."""
    host = back(connected(card_report(last, "P1", "8S") * 3), away_ms)
    expected = str(int(last) % 9 + 1)
    assert known(host.hear(card_report(then, "P1", "8S"))) == lost(at_least, expected)


def test_the_same_number_with_different_bytes_proves_nothing() -> None:
    """On an open line it is a warning, not a loss; after an absence it does not prove a loss either."""
    assert known(back(connected(CARD), 0).hear(card_report("1", "P1", "9S"))) == UNKNOWN


@pytest.mark.parametrize("then", ["A", "0"])
def test_a_number_of_another_numbering_proves_nothing(then: str) -> None:
    """No known Angel Eye uses it."""
    assert known(back(connected(CARD), 0).hear(report(then, "P"))) == UNKNOWN


def test_a_start_of_communication_proves_no_loss() -> None:
    """The shoe itself was away, and may restart at 1. With the expected number and in time it is a normal report."""
    assert known(back(connected(card_report("5", "P1", "8S")), 0).hear(START_1)) == UNKNOWN
    assert known(back(connected(card_report("9", "P1", "8S")), 0).hear(START_1)) == PROVEN


def test_after_a_start_of_communication_the_expected_number_proves_nothing() -> None:
    """Some emulators do not advance on it, so the next report has this number with and without a loss."""
    assert known(back(connected(START_1), 0).hear(RESULT)) == UNKNOWN


# --- clocks


@pytest.mark.parametrize(
    ("mono_ms", "utc_ms", "ms"),
    [
        (100, 100, 100),
        (100, 90, 100),
        (100, 5_000, 5_000),  # the machine slept, or the clock of another boot is higher than that of the last boot
        (-3_000, 200, 200),  # another boot: only UTC measures
        (-3_000, 0, None),
        (-3_000, -1, None),
        (100, -1, None),  # the clock was set, or no clock survived the reboot
        (0, 0, 0),
    ],
)
def test_the_longest_time_of_two_clocks_counts(mono_ms: int, utc_ms: int, ms: int | None) -> None:
    """If the clocks differ, the longer time counts; a clock that ran backwards measures nothing."""
    before = at(0)
    after = Now(before.utc_us + utc_ms * 1000, before.mono_ns + mono_ms * 1_000_000)
    assert between(before, after) == (None if ms is None else ms * 1_000_000)


@pytest.mark.parametrize(("utc_ms", "expected"), [(200, PROVEN), (400, UNKNOWN), (0, UNKNOWN), (-400, UNKNOWN)])
def test_after_another_boot_only_utc_measures_the_absence(utc_ms: int, expected: Known) -> None:
    """The monotonic clock restarts with each boot. An unmeasured absence stays unknown in later absences."""
    host = connected(CARD)
    last = at(host.ms)
    booted = Now(last.utc_us + utc_ms * 1000, 5_000_000_000)
    state, _ = host.session.step(host.state, CONFIGURED, booted)
    state, _ = host.session.step(state, LinkUp(PORT), booted)
    _, heard = host.session.step(state, Received(RESULT), booted)
    assert known(list(heard.observations)) == expected
    state, _ = host.session.step(state, LinkDown("the cable is disconnected"), booted)
    state, _ = host.session.step(state, LinkUp(PORT), booted)
    _, heard = host.session.step(state, Received(RESULT), booted)
    assert known(list(heard.observations)) == expected


# --- the other families


@pytest.mark.parametrize(
    ("family", "first", "then"),
    [("bee-tek", b"[Game]<Card:4S>\r\n", b"[Game]<Card:9H>\r\n"), ("scanner", scan("4S"), scan("9H"))],
)
def test_without_numbers_continuity_is_never_known(family: str, first: bytes, then: bytes) -> None:
    """Even a very short absence leaves it unknown."""
    driver = DRIVERS[family]
    session = driver.session(driver.family.settings(), allow_orders=False)
    state, ms, seen = session.begin(), 0, list[AnyObservation]()
    for incoming in (
        LinkUp(PORT),
        Received(first),
        LinkDown("the cable is disconnected"),
        LinkUp(PORT),
        Received(then),
    ):
        ms += 1000
        state, heard = session.step(state, incoming, at(ms))
        seen += heard.observations
    assert known(seen) == UNKNOWN
