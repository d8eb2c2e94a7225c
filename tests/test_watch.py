"""The watch as a whole: every observation goes through it, unread cards are told, and honest play is quiet."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.cards import Card
from shoed.findings import TooMany, TooOften, Unread
from shoed.observations import AnyObservation, FaultMeaning, FaultRaised
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


def test_a_code_that_is_no_card_s_is_told_with_it() -> None:
    """Foreign, or not to be read: the code is the evidence."""
    (found,) = Watching().hear(card("P1", "?"))
    assert found == Unread(
        at=at(1000),
        meaning=None,
        code="00",
        evidence="the shoe reported a card with the code 00, which is no card's",
    )


@pytest.mark.parametrize(
    ("fault", "meaning", "evidence"),
    [
        (UNREAD, FaultMeaning.UNREAD, "the device said fault 1, cannot-read"),
        (BAD_CODE, FaultMeaning.BAD_CODE, "the device said fault 6, card-code"),
    ],
)
def test_a_fault_that_says_so_is_an_unread_card(fault: FaultRaised, meaning: FaultMeaning, evidence: str) -> None:
    """What the device said of it goes with it."""
    assert Watching().hear(fault) == [Unread(at=at(1000), meaning=meaning, code="", evidence=evidence)]


@pytest.mark.parametrize("fault", [SLOW, OVERDRAWN, BUTTON])
def test_any_other_fault_is_the_table_s(fault: FaultRaised) -> None:
    """It says nothing of a card by itself."""
    assert Watching().hear(fault) == []


@pytest.mark.parametrize("decks", [4, 8, 10])
def test_an_honest_shoe_is_quiet(decks: int) -> None:
    """Every card of it, at a dealer's pace."""
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
def test_no_card_comes_too_often_that_did_not_come_so_often(came: list[tuple[AnyObservation, float]]) -> None:
    """Whatever comes in whatever order: a count is never higher than what was told, and every pass through JSON is."""
    watching = Watching(WatchSettings(LIMIT_MS, decks=1))
    told: list[Card | None] = []
    for each, later in came:
        found = watching.hear(each, every_ms=later)
        told += [getattr(each, "card", None)] if hasattr(each, "place") else []
        assert all(found.times <= told.count(found.card) for found in found if isinstance(found, TooOften))
        assert not [each for each in found if isinstance(each, TooMany) and each.cards > len(told)]
