"""What a host that stood still read late: no silence is judged by it, and no spacing of cards."""

from typing import Protocol

import pytest
from msgspec.structs import replace

from firmware_protocols.scanner import ScannerSettings
from shoed.now import Now
from shoed.observations import AnyObservation, CardSeen, CopyHeard, FaultRaised, FrameRejected, WentQuiet
from shoed.session import Heard
from shoed.step import AnyInput, Received
from tests.angel_eye_line import CARD, card_report, connected, kinds
from tests.scanner_line import scan
from tests.test_session_bee_tek import FOUR
from tests.test_session_bee_tek import Host as BeeTek
from tests.test_session_scanner import Host as Scanner
from tests.test_watch_spacing import EIGHT, THREE, TWO, together
from tests.watching import UNREAD, watched

MS = 1_000_000


class Host(Protocol):
    def take(self, came: AnyInput, ms: float) -> Heard: ...


def late(host: Host, data: bytes, ms: float, late_ms: int) -> list[AnyObservation]:
    return list(host.take(Received(data, late_ms * MS), ms).observations)


def test_the_earliest_moment_is_on_both_clocks() -> None:
    """UTC and monotonic."""
    assert Now(5_000_000, 7_000 * MS).before(3_000 * MS) == Now(2_000_000, 4_000 * MS)


@pytest.mark.parametrize(("late_ms", "expected"), [(300, [CardSeen]), (299, [FrameRejected])])
def test_bytes_that_may_have_come_in_time_end_their_frame(late_ms: int, expected: list[type]) -> None:
    """Begun at 100 ms, it is broken off at 600: the rest that was read at 899 ms may have come at 599."""
    host = connected()
    host.hear(CARD[:5], 100)
    assert kinds(late(host, CARD[5:], 899, late_ms)) == expected


def test_what_was_read_late_says_how_late() -> None:
    """For the record, and for whoever judges the spacing of cards."""
    (card,) = late(connected(), CARD, 900, 800)
    assert isinstance(card, CardSeen)
    assert card.late_ns == 800 * MS
    (card,) = connected().hear(CARD, 900)
    assert isinstance(card, CardSeen)
    assert card.late_ns == 0


def test_a_copy_that_was_read_late_is_a_copy() -> None:
    """Its window is two seconds."""
    host = connected()
    host.hear(CARD, 100)
    assert kinds(late(host, CARD, 2600, 500)) == [CopyHeard]
    assert kinds(late(host, CARD, 2600, 499)) != [CopyHeard]


def test_a_line_of_a_bee_tek_shoe_that_was_read_late_is_a_copy() -> None:
    """Its window is 200 ms, for a card told again and for the alarm of a failed read."""
    host = BeeTek()
    host.hear(FOUR, 1000)
    assert kinds(late(host, FOUR, 1900, 700)) == [CopyHeard]
    assert kinds(late(host, FOUR, 2900, 700)) == [CardSeen]
    host.hear(b"[Game]<Game>\r\n", 4000)
    assert kinds(late(host, b"[Game]<Alarm:E3 Card Not Read>\r\n", 4900, 700)) == [FaultRaised]


def test_a_code_is_not_split_by_a_late_reading() -> None:
    """The keys of one card are one code, and a card that is read twice is one card."""
    host = Scanner(ScannerSettings(repeat_window_ms=200))
    keys = scan("8S")
    assert host.hear(keys[:16], 100) == []
    assert kinds(late(host, keys[16:], 1000, 890)) == [CardSeen]
    assert kinds(late(host, keys, 1900, 890)) == [CopyHeard]
    assert kinds(late(host, keys, 2900, 10)) == [CardSeen]


def test_a_late_reading_proves_no_silence() -> None:
    """The line may have spoken before it was quiet for five minutes."""
    assert kinds(late(connected(), CARD, 300_001, 2)) == [CardSeen]
    assert WentQuiet in kinds(connected().hear(card_report("1", "P1", "8S"), 300_001))


def test_cards_that_were_read_late_were_not_drawn_together() -> None:
    """Nor is a card beside them, or a fault: their spacing is the host's."""
    heap = [(0.0, EIGHT), (300.0, replace(THREE, late_ns=280 * MS)), (400.0, TWO)]
    assert together(watched(*heap)) == []
    assert together(watched((0, EIGHT), (300, THREE), (400, replace(UNREAD, late_ns=90 * MS)))) == []
    assert together(watched((0, EIGHT), (300, THREE), (400, UNREAD))) != []
    assert together(watched(*heap, (800, THREE), (900, TWO))) != []
