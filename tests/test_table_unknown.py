"""Cards whose target or situation is a value that the device's document does not name."""

import pytest
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.events import CardSetAside, Seen
from shoed.model.observations import AnyObservation, CardSeen
from tests.observed import CUT, STARTED, TableRun, card, cards, result

NATURAL = cards("P1 8S, B1 3H, P2 JD, B2 4C")


def unknown(face: str, value: str = "target 6") -> CardSeen:
    return replace(card("unknown", face), unknown=value)


def set_aside(table: TableRun, seen: AnyObservation) -> CardSetAside:
    (only,) = (each for each in table.hear(seen) if isinstance(each, CardSetAside))
    return only


@pytest.mark.parametrize("face", ["9C", "?"])
@pytest.mark.parametrize(
    "before", [[], [CUT], [CUT, STARTED], [*NATURAL], [*NATURAL, result("player")], [*NATURAL, CUT, STARTED]]
)
def test_an_unknown_place_is_published_if_no_card_is_due(before: list[AnyObservation], face: str) -> None:
    """The card is set aside before a round, after it and in the next shoe, and a person is asked."""
    table = TableRun()
    table.hear_each(before)
    published = set_aside(table, unknown(face))
    assert (published.reason, published.reported) == ("unknown", Seen(card=published.card, unknown="target 6"))
    assert published.card is (None if face == "?" else Card.C9)
    (asked,) = table.shown.questions
    (evidence,) = table.question.evidence
    assert asked.question == ("reading" if table.phase == "suspended" else "next-round")
    assert "was reported with the unknown target 6, " in evidence


@pytest.mark.parametrize("dealt", range(1, 4))
def test_the_next_card_waits_after_a_card_with_an_unknown_place(dealt: int) -> None:
    """Both cards wait, and the due card is drawn after the other card is put away."""
    table = TableRun()
    table.hear_each(NATURAL[:dealt])
    assert set_aside(table, unknown("9C")).reason == "unknown"
    assert "the shoe reported 9C with the unknown target 6, and " in table.question.text
    assert set_aside(table, NATURAL[dealt]).reason == "not-due"
    table.answer("put-away")
    assert table.question.kind == "order-altered"
    table.answer("yes")
    table.answer("continue")
    drawn = [*table.shown.hands.player.cards, *table.shown.hands.banker.cards]
    assert Card.C9 not in drawn
    assert len(drawn) == dealt + 1


def test_a_card_without_a_face_and_with_an_unknown_place_may_not_exist() -> None:
    """The question is the same as for each card without a slot."""
    table = TableRun()
    table.hear_each(NATURAL[:2])
    table.hear(unknown("?", "situation 4"))
    assert "a card without a face with the unknown situation 4" in table.question.text
    table.answer("due")
    assert (table.question.question, table.question.choices) == ("face", ("foreign-card", "no-card"))


def test_a_card_with_an_unknown_place_may_be_the_previous_card() -> None:
    """The face is the same, and the first choice is that no further card left the shoe."""
    table = TableRun()
    table.hear_each(NATURAL[:2])
    table.hear(unknown("3H"))
    assert table.asks("reading", "same-card", "due", "excess", "put-away", "missed")
    table.answer("same-card")
    assert table.shown.hands.banker.cards == (Card.H3,)
    table.hear_each(NATURAL[2:])
    assert table.shown.phase.value == "complete"


def test_an_overdraw_with_an_unknown_target_keeps_the_value() -> None:
    """The reason is `overdraw` for each target."""
    table = TableRun()
    table.hear_each(NATURAL[:2])
    published = set_aside(table, replace(card("overdraw", "9C"), unknown="target 6"))
    assert (published.reason, published.reported.unknown) == ("overdraw", "target 6")
    assert table.question.seen == published.reported
    assert "the shoe reported 9C as overdrawn" in table.question.text


def test_a_place_without_a_value_is_unknown() -> None:
    """Another device family may have no value to report."""
    table = TableRun()
    table.hear_each(NATURAL[:2])
    assert set_aside(table, unknown("9C", "")).reported == Seen(card=Card.C9)
    assert "the shoe reported 9C with the unknown place" in table.question.text
