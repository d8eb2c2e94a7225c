"""The shown question: the due slot, the report that caused it, the recorded cards, and the orders of cards."""

import pytest

from shoed.model.commands import ReportIrregularity
from shoed.model.events import Seen, Slot
from shoed.model.irregularities import IrregularityKind
from shoed.model.observations import AnyObservation, Side
from shoed.table.readings import READINGS
from tests.observed import OPENED, PROVEN, TableRun, after, card, cards, closed, together


def dealt_together(faces: str) -> TableRun:
    """These cards are drawn together after two cards, in an unknown order."""
    table = after(*cards("P1 2S, B1 3S"))
    *before, last = (card(place, face) for place, face in zip(("P2", "B2", "P3"), faces.split(), strict=False))
    table.hear_each(before)
    table.step(last, found=[together(faces)])
    return table


def test_a_question_about_the_order_of_cards_shows_the_slot_that_suspended_the_round() -> None:
    """The shown hands end before the cards in question, and the slot follows all recorded cards."""
    asked = dealt_together("AS AH").question
    assert (asked.cards[-1].index, asked.due) == (4, Slot(Side.PLAYER, 3, 5))


def test_an_option_shows_the_slot_that_is_due_now() -> None:
    """The round was suspended at Player's second slot, which now has its card."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert table.question.due == Slot(Side.PLAYER, 2, 3)
    table.answer("wrong-side")
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, at=1, reconstructable=True))
    assert (table.question.question, table.question.due) == ("option", Slot(Side.BANKER, 2, 4))


@pytest.mark.parametrize("away", [(), (closed(), OPENED, PROVEN)])
def test_the_question_states_the_gap_and_the_report(away: tuple[AnyObservation, ...]) -> None:
    """The reader knows that further reports may be missing."""
    asked = after(*cards("P1 2S, B1 3S"), *away, card("B2", "4S")).question
    assert (asked.gap, asked.seen) == (bool(away), Seen(card=card("B2", "4S").card, hand="banker", position=2))


def test_a_reported_card_has_a_time_and_a_row_and_a_missed_card_has_neither() -> None:
    """The face of the missed card is in question."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    table.answer("missed")
    seen = [(each.card is None, each.time is None, each.provenance) for each in table.question.cards]
    assert seen == [(False, False, 1), (False, False, 2), (True, True, None), (False, False, 3)]


def test_an_open_question_in_the_state_names_its_shoe_and_its_round() -> None:
    """A subscriber of the state alone knows the round of each question."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert [(each.shoe, each.round) for each in table.shown.questions] == [(1, 1)]


def test_no_situation_offers_a_reading_twice() -> None:
    """Each reading of a situation is different."""
    for situation, choices in READINGS.items():
        assert len(set(choices)) == len(choices), situation


@pytest.mark.parametrize(("faces", "orders"), [("4S 5S", 2), ("4S 4S", 1), ("AS AH 2D", 6)])
def test_each_order_of_cards_is_shown_once(faces: str, orders: int) -> None:
    """Two equal cards have one order."""
    asked = dealt_together(faces).question
    assert (asked.question, len(asked.consequences)) == ("card-order", orders)


def test_the_orders_of_more_than_four_cards_are_not_shown() -> None:
    """The question names the cards, and each order of them is a valid answer."""
    table = after(*cards("P1 2S, B1 3S, P2 KS, B2 4D, P3 5C"))
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=2, count=4))
    assert len(table.question.consequences) == 24
    table = after(*cards("P1 2S, B1 3S, P2 KS, B2 4D, P3 5C"))
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1, count=5))
    assert (table.question.consequences, len(table.question.choices)) == ((), 5)
    table.answer(("KS", "3S", "2S", "5C", "4D"))
    assert table.question.question != "card-order"
