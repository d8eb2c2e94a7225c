"""Bytes that a stalled host reads late: they prove neither a silence nor the spacing of cards."""

from typing import Protocol

import pytest
from msgspec.structs import replace

from firmware_protocols.scanner import ScannerSettings
from shoed.model.cards import Card
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, CardSeen, CopyHeard, FaultRaised, FrameRejected, WentQuiet
from shoed.model.step import AnyInput, Received
from shoed.session import SessionOutput
from tests.angel_eye_line import CARD, card_report, connected, kinds
from tests.scanner_line import scan
from tests.test_session_bee_tek import FOUR
from tests.test_session_bee_tek import Host as BeeTek
from tests.test_session_scanner import Host as Scanner
from tests.test_watch_spacing import EIGHT, THREE, TWO, together
from tests.watching import UNREAD, watched

MS = 1_000_000


class Host(Protocol):
    def take(self, incoming: AnyInput, ms: float) -> SessionOutput: ...


def late(host: Host, data: bytes, ms: float, late_ms: int) -> list[AnyObservation]:
    return list(host.take(Received(data, late_ms * MS), ms).observations)


def test_the_earliest_moment_applies_to_both_clocks() -> None:
    """UTC and monotonic."""
    assert Now(5_000_000, 7_000 * MS).before(3_000 * MS) == Now(2_000_000, 4_000 * MS)


@pytest.mark.parametrize(("late_ms", "expected"), [(300, [CardSeen]), (299, [FrameRejected])])
def test_bytes_that_may_have_arrived_in_time_complete_their_frame(late_ms: int, expected: list[type]) -> None:
    """The frame starts at 100 ms and times out at 600 ms; the rest may have arrived at 599 ms."""
    host = connected()
    host.hear(CARD[:5], 100)
    assert kinds(late(host, CARD[5:], 899, late_ms)) == expected


def test_an_observation_of_late_bytes_states_the_delay() -> None:
    """The record and the spacing of cards use it."""
    (card,) = late(connected(), CARD, 900, 800)
    assert isinstance(card, CardSeen)
    assert card.late_ns == 800 * MS
    (card,) = connected().hear(CARD, 900)
    assert isinstance(card, CardSeen)
    assert card.late_ns == 0


def test_a_copy_that_is_read_late_is_a_copy() -> None:
    """Its window is two seconds."""
    host = connected()
    host.hear(CARD, 100)
    assert kinds(late(host, CARD, 2600, 500)) == [CopyHeard]
    assert kinds(late(host, CARD, 2600, 499)) != [CopyHeard]


def faces(seen: list[AnyObservation]) -> list[Card | None]:
    return [each.card for each in seen if isinstance(each, CardSeen)]


@pytest.mark.parametrize(
    ("at_ms", "late_ms", "expected"),
    [(1199, 0, []), (1199, 10, []), (1900, 700, [Card.S4]), (1900, 701, [None]), (1500, 500, [None])],
)
def test_an_equal_line_of_a_bee_tek_shoe_may_be_the_same_card(
    at_ms: float, late_ms: int, expected: list[Card | None]
) -> None:
    """Within 200 ms it is the same card; if the interval is unknown, a person decides."""
    host = BeeTek()
    host.hear(FOUR, 1000)
    assert faces(late(host, FOUR, at_ms, late_ms)) == expected


def test_two_equal_late_lines_of_a_bee_tek_shoe_may_be_one_card() -> None:
    """Their interval is unknown."""
    assert faces(late(BeeTek(), FOUR * 2, 1900, 700)) == [Card.S4, None]
    assert faces(late(BeeTek(), FOUR * 2, 1900, 199)) == [Card.S4]


def test_a_late_failed_read_and_its_alarm_may_be_two_cards() -> None:
    """Their interval is unknown."""
    host = BeeTek()
    host.hear(b"[Game]<Game>\r\n", 4000)
    assert kinds(late(host, b"[Game]<Alarm:E3 Card Not Read>\r\n", 4900, 701)) == [FaultRaised, CardSeen]


def test_a_late_read_does_not_split_a_code() -> None:
    """The keys of one card are one code; an equal later code may be the same card."""
    host = Scanner(ScannerSettings(repeat_window_ms=200))
    keys = scan("8S")
    assert host.hear(keys[:16], 100) == []
    assert faces(late(host, keys[16:], 1000, 890)) == [Card.S8]
    assert faces(late(host, keys, 1100, 99)) == [None]
    assert faces(late(host, keys, 2900, 10)) == [Card.S8]
    assert kinds(late(host, keys, 3000, 20)) == [CopyHeard]


def test_a_late_read_proves_no_silence() -> None:
    """The device may have sent its report within the five minutes."""
    assert kinds(late(connected(), CARD, 300_001, 2)) == [CardSeen]
    assert WentQuiet in kinds(connected().hear(card_report("1", "P1", "8S"), 300_001))


def test_late_cards_are_not_found_drawn_together() -> None:
    """The host causes the spacing; the same holds for a card or a fault next to them."""
    heap = [(0.0, EIGHT), (300.0, replace(THREE, late_ns=280 * MS)), (400.0, TWO)]
    assert together(watched(*heap)) == []
    assert together(watched((0, EIGHT), (300, THREE), (400, replace(UNREAD, late_ns=90 * MS)))) == []
    assert together(watched((0, EIGHT), (300, THREE), (400, UNREAD))) != []
    assert together(watched(*heap, (800, THREE), (900, TWO))) != []
