"""The question as it is shown: the slot that is due, the report behind it, the cards on record, the orders."""

import pytest

from shoed.commands import Notice
from shoed.events import Seen, Slot
from shoed.observations import AnyObservation, Pair
from shoed.table.readings import READINGS
from shoed.words import Event
from tests.observed import OPENED, PROVEN, Sitting, after, card, cards, closed, together


def dealt_together(faces: str) -> Sitting:
    """Behind two cards, these came at once and nobody knows in which order."""
    table = after(*cards("P1 2S, B1 3S"))
    *before, last = (card(place, face) for place, face in zip(("P2", "B2", "P3"), faces.split(), strict=False))
    table.hear_each(before)
    table.step(last, found=[together(faces)])
    return table


def test_while_it_is_asked_where_cards_lie_the_slot_is_shown_for_which_the_round_stopped() -> None:
    """The hands that are shown end before the doubt; the slot is the one behind the cards that are there."""
    asked = dealt_together("AS AH").question
    assert (asked.cards[-1].index, asked.due) == (4, Slot(Pair.PLAYER, 3, 5))


def test_where_only_a_choice_is_open_the_slot_is_shown_that_is_due_now() -> None:
    """The round stopped for Player's second card, and has it by now."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert table.question.due == Slot(Pair.PLAYER, 2, 3)
    table.answer("wrong-side")
    table.tell(Notice(kind=Event.DEALING_ERROR, at=1, reconstructable=True))
    assert (table.question.question, table.question.due) == ("option", Slot(Pair.BANKER, 2, 4))


@pytest.mark.parametrize("away", [(), (closed(), OPENED, PROVEN)])
def test_the_question_says_whether_the_line_was_away_and_what_was_reported(away: tuple[AnyObservation, ...]) -> None:
    """So that who answers knows that more may have been missed."""
    asked = after(*cards("P1 2S, B1 3S"), *away, card("B2", "4S")).question
    assert (asked.gap, asked.seen) == (bool(away), Seen(card=card("B2", "4S").card, hand="banker", position=2))


def test_a_card_on_record_has_its_time_and_its_row_and_one_that_nobody_saw_has_neither() -> None:
    """The face of the missed card is asked."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    table.answer("missed")
    seen = [(each.card is None, each.time is None, each.provenance) for each in table.question.cards]
    assert seen == [(False, False, 1), (False, False, 2), (True, True, None), (False, False, 3)]


def test_an_open_question_in_the_state_names_its_shoe_and_its_round() -> None:
    """A subscriber who knows the state alone can say which round waits."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert [(each.shoe, each.round) for each in table.shown.questions] == [(1, 1)]


def test_no_situation_offers_a_reading_twice() -> None:
    """A person chooses among different readings, and a reading that is missing cannot be chosen."""
    for situation, choices in READINGS.items():
        assert len(set(choices)) == len(choices), situation


@pytest.mark.parametrize(("faces", "orders"), [("4S 5S", 2), ("4S 4S", 1), ("AS AH 2D", 6)])
def test_each_order_of_cards_is_shown_once(faces: str, orders: int) -> None:
    """Two of one face may lie either way: that is one account of the round."""
    asked = dealt_together(faces).question
    assert (asked.question, len(asked.consequences)) == ("card-order", orders)


def test_the_orders_of_more_than_four_cards_are_not_shown() -> None:
    """They are more than anybody reads; the cards are named, and any order of them is an answer."""
    table = after(*cards("P1 2S, B1 3S, P2 KS, B2 4D, P3 5C"))
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=2, count=4))
    assert len(table.question.consequences) == 24
    table = after(*cards("P1 2S, B1 3S, P2 KS, B2 4D, P3 5C"))
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1, count=5))
    assert (table.question.consequences, len(table.question.choices)) == ((), 5)
    table.answer(("KS", "3S", "2S", "5C", "4D"))
    assert table.question.question != "card-order"
