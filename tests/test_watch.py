"""The watch as a whole: it processes every observation, finds unread cards, and finds nothing in normal play."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.model.cards import Card
from shoed.model.findings import TooMany, TooOften, Unread
from shoed.model.observations import AnyObservation, FaultMeaning, FaultRaised
from shoed.watch import WatchSettings
from tests.observed import (
    AGAIN,
    CLASHED,
    CLEARED,
    COPY,
    CUT,
    JUMPED,
    OPENED,
    PRESET,
    PROVEN,
    QUIET,
    STARTED,
    STOOD_BY,
    UNPROVEN,
    card,
    closed,
    lock,
    rejected,
    result,
)
from tests.watching import BAD_CODE, BUTTON, LIMIT_MS, OVERDRAWN, REVERSED, SLOW, UNREAD, Watching, at, burnt


def test_a_code_that_names_no_card_is_reported_with_the_finding() -> None:
    """The card is foreign or unreadable: the code is the evidence."""
    (found,) = Watching().hear(card("P1", "?"))
    assert found == Unread(
        at=at(1000),
        meaning=None,
        code="00",
        evidence="the shoe reported a card with the code 00, which is not the code of a card",
    )


@pytest.mark.parametrize(
    ("fault", "meaning", "evidence"),
    [
        (UNREAD, FaultMeaning.UNREAD, "the device reported fault 1, cannot-read"),
        (BAD_CODE, FaultMeaning.BAD_CODE, "the device reported fault 6, card-code"),
    ],
)
def test_a_fault_may_mean_an_unread_card(fault: FaultRaised, meaning: FaultMeaning, evidence: str) -> None:
    """The evidence has the words of the device."""
    assert Watching().hear(fault) == [Unread(at=at(1000), meaning=meaning, code="", evidence=evidence)]


@pytest.mark.parametrize("fault", [SLOW, OVERDRAWN, BUTTON])
def test_any_other_fault_concerns_the_table(fault: FaultRaised) -> None:
    """It does not concern a card by itself."""
    assert Watching().hear(fault) == []


@pytest.mark.parametrize("decks", [4, 8, 10])
def test_a_normal_shoe_has_no_findings(decks: int) -> None:
    """Every card is dealt at the speed of a dealer."""
    shoe = [*Card] * decks
    Random(decks).shuffle(shoe)
    assert Watching(WatchSettings(LIMIT_MS, decks)).hear(OPENED, *map(burnt, shoe), every_ms=350) == []


anything: st.SearchStrategy[AnyObservation] = st.sampled_from(
    [
        *(AGAIN, CLASHED, CLEARED, COPY, CUT, JUMPED, OPENED, PRESET, PROVEN, QUIET, STARTED, STOOD_BY, UNPROVEN),
        *(closed(), lock(locked=True), rejected(), result("tie"), UNREAD, SLOW, REVERSED, OVERDRAWN),
        *(card("overdraw", "8S"), card("P1", "?"), card("B1", "8S"), card("P2", "9S")),
    ]
)


@given(st.lists(st.tuples(anything, st.sampled_from((0.0, 20.0, 600.0))), max_size=60))
def test_no_card_counts_more_often_than_it_was_reported(incoming: list[tuple[AnyObservation, float]]) -> None:
    """Observations have any order; the state passes through JSON after each of them."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    reported: list[Card | None] = []
    for each, later in incoming:
        found = watching.hear(each, every_ms=later)
        reported += [getattr(each, "card", None)] if hasattr(each, "place") else []
        assert all(found.times <= reported.count(found.card) for found in found if isinstance(found, TooOften))
        assert not [each for each in found if isinstance(each, TooMany) and each.cards > len(reported)]
