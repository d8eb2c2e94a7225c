"""Missed reports through session, watch and table: each loss is published."""

import msgspec
import pytest

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.journal.replay import as_published
from shoed.model.device_events import LineMissed
from shoed.model.observations import AnyObservation, Continuity, Resumed
from shoed.model.step import LinkDown, LinkUp
from tests.angel_eye_line import card_report, report
from tests.played import PORT, Played

# Player 8S KS, Banker 3H 4H, and the shoe's result: numbers 1 to 5.
ROUND = (
    card_report("1", "P1", "8S"),
    card_report("2", "B1", "3H"),
    card_report("3", "P2", "KS"),
    card_report("4", "B2", "4H"),
    report("5", "G", 0x10),
)


def missed(played: Played) -> list[LineMissed]:
    return [event.data for event in played.events if isinstance(event.data, LineMissed)]


def test_reports_lost_between_two_rounds_are_published() -> None:
    """The line is down after a round, and at least the numbers 6 and 7 are missing."""
    played = Played("angel-eye", AngelEyeSettings())
    played.hear(*ROUND)
    played.take(LinkDown("the cable is out"))
    played.take(LinkUp(PORT))
    played.hear(card_report("8", "P1", "QS"))
    assert [(each.expected, each.seen) for each in missed(played)] == [("6", "8")]


def test_the_minimum_number_of_lost_reports_is_published() -> None:
    """Whole cycles of the sequence number may be lost as well, and their count is unknown."""
    played = Played("angel-eye", AngelEyeSettings())
    played.hear(*ROUND[:2])
    played.hear(card_report("6", "P1", "QS"))
    assert missed(played) == [LineMissed(expected="3", seen="6", at_least=3)]
    played.take(LinkDown("the cable is out"))
    played.take(LinkUp(PORT), after_ms=600_000)
    played.hear(report("5", "P"))
    assert missed(played)[1:] == [LineMissed(expected="7", seen="5", at_least=7)]


def test_an_unknown_sequence_number_publishes_a_loss_without_a_count() -> None:
    """No known Angel Eye firmware uses this number."""
    played = Played("angel-eye", AngelEyeSettings())
    played.hear(*ROUND[:2], report("A", "P"))
    assert missed(played) == [LineMissed(expected="3", seen="A", at_least=None)]


@pytest.mark.parametrize(
    ("recorded", "continuity"),
    [
        ('"proven":true', Continuity.PROVEN),
        ('"proven":false', Continuity.UNKNOWN),
        ('"proven":false,"expected":"3"', Continuity.LOST),
    ],
)
def test_an_old_record_of_an_absence_is_read_and_written_in_the_new_format(
    recorded: str, continuity: Continuity
) -> None:
    """Before engine 5 a record had one of two values, and an expected number meant a loss."""
    frame = '"frame":{"raw":"05","offset":0,"sequence":"1"}'
    old = msgspec.json.decode(f'{{"saw":"Resumed","at":[0,0],{frame},{recorded}}}', type=AnyObservation)
    assert isinstance(old, Resumed)
    assert (old.continuity, old.missed_at_least, old.proven) == (continuity, 0, continuity is Continuity.PROVEN)
    assert b'"proven":' not in msgspec.json.encode(old)
    assert msgspec.json.decode(msgspec.json.encode(old), type=AnyObservation) == old


def test_an_old_event_of_lost_reports_is_replayed_as_it_was_published() -> None:
    """An engine before 6 published no count; a newer engine publishes the count or null."""
    published = LineMissed(expected="2", seen="4")
    assert as_published(5, published) == {"device": "shoe", "expected": "2", "seen": "4"}
    assert as_published(4, published) == {"expected": "2", "seen": "4"}
    assert as_published(6, published) is published
