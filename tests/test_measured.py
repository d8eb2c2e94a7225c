"""The measurements of a device in the events of a card: immediately, and when the card gets its place later."""

from typing import Final

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from shoed.journal.replay import as_published
from shoed.model.commands import SettleRound
from shoed.model.device_events import EventData
from shoed.model.events import CardDrawn, CardSetAside, Measured
from shoed.model.observations import CardSeen, DrawTime, Edges
from shoed.table.intake import measured
from tests.observed import NATURAL, START, TableRun, after, card, result

FOUND: Final = Measured("2023-11-14T22:13:20.000005Z", 3, 97, None, 120_000)


def exact(place: str, face: str) -> CardSeen:
    drawn, edges = DrawTime(START.utc_us + 5, 2001), Edges(7_000_000, 7_120_000)
    return replace(card(place, face), drawn=drawn, edges=edges, quality=97)


def of_cards(events: list[EventData]) -> list[CardDrawn | CardSetAside]:
    return [each for each in events if isinstance(each, CardDrawn | CardSetAside)]


def test_a_card_has_its_measurements() -> None:
    """The moment is in UTC, with a bound that is rounded up to milliseconds."""
    (drawn,) = of_cards(TableRun().hear(exact("P1", "8S")))
    assert isinstance(drawn, CardDrawn)
    assert drawn.measured == FOUND
    (aside,) = of_cards(TableRun().hear(exact("burn", "8S")))
    assert isinstance(aside, CardSetAside)
    assert aside.measured == FOUND


def test_a_device_without_measurements_adds_no_key() -> None:
    """Its events are unchanged."""
    for place in ("P1", "burn"):
        (found,) = of_cards(TableRun().hear(card(place, "8S")))
        assert found.measured is UNSET


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"quality": 0}, Measured(quality=0)),
        ({"code": "foreign 8S beef"}, Measured(code="foreign 8S beef")),
        ({"edges": Edges(5, 5)}, None),
        ({"edges": Edges(5, 9)}, Measured(passage_us=4)),
        ({"drawn": DrawTime(0, 1000)}, Measured("1970-01-01T00:00:00.000000Z", 1)),
        ({"drawn": DrawTime(0, 1001)}, Measured("1970-01-01T00:00:00.000000Z", 2)),
    ],
)
def test_a_missing_measurement_is_null(given: dict[str, object], expected: Measured | None) -> None:
    """A passage of 0 was not measured, and a moment always has its bound."""
    assert measured(replace(card("P1", "8S"), **given)) == expected


def test_a_card_that_was_set_aside_keeps_its_measurements() -> None:
    """The round waits until a person decides about the card."""
    table = after(*NATURAL[:3])
    (aside,) = of_cards(table.hear(exact("overdraw", "5D")))
    assert (type(aside), aside.measured) == (CardSetAside, FOUND)
    (drawn,) = of_cards(table.answer("due"))
    assert (type(drawn), drawn.measured) == (CardDrawn, FOUND)


def test_a_card_that_opens_the_next_round_keeps_its_measurements() -> None:
    """The card was left over, or was drawn after the bets were paid."""
    table = after(*NATURAL, result("player"))
    table.tell(SettleRound())
    table.hear(exact("B3", "5D"))
    table.answer("carried")
    first, second = of_cards(table.hear(card("B1", "9C")))
    assert (first.measured, second.measured) == (FOUND, UNSET)
    table = after(*NATURAL)
    table.hear(exact("B3", "5D"))
    table.answer("yes")
    first, second = of_cards(table.hear(card("B1", "9C")))
    assert (first.measured, second.measured) == (FOUND, UNSET)


def test_a_record_of_an_earlier_engine_has_no_measurements() -> None:
    """The comparison of its events omits them."""
    (drawn,) = of_cards(TableRun().hear(exact("P1", "8S")))
    older = as_published(7, drawn)
    assert isinstance(older, dict)
    assert "measured" not in older
    assert as_published(8, drawn) is drawn
