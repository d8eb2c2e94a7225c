"""Defects found by the explorer, with the shortest known inputs."""

from typing import Final

from shoed.model.cards import Card
from shoed.model.commands import ReportIrregularity
from shoed.model.irregularities import IrregularityKind as Kind
from tests.observed import after, card, cards, together

ENDS: Final = {"round.resumed", "round.completed", "round.voided", "round.abandoned", "round.overtaken"}


def test_the_next_round_publishes_the_end_of_a_suspension() -> None:
    """A card was reported after a complete round, and the next round begins before the answer."""
    table = after(*cards("P1 4S,B1 3H,P2 2D,B2 4D,P3 9D"))
    assert table.events[-1].type == "question.asked"
    waits = len(table.events)
    table.hear_each(cards("P1 9D"))
    types = [event.type for event in table.events[waits:]]
    assert ENDS & set(types[: types.index("round.started")])


def test_an_altered_order_may_name_a_card_in_excess() -> None:
    """The order of two cards was altered, and the second card was in excess: the question has both consequences."""
    table = after(*cards("P1 4S,B1 3H,P2 2D,B2 KD,P3 9D"))
    table.answer("yes")
    table.tell(ReportIrregularity(kind=Kind.ORDER_ALTERED, at=4, order=(Card.D9, Card.DK)))
    assert table.asks("reconstructable", "yes", "no")


def test_a_card_may_be_drawn_together_with_both_its_neighbours() -> None:
    """The order of the first two cards is decided; then the second and the third card are drawn together."""
    table = after(*cards("P1 4S"))
    table.step(card("B1", "3H"), found=(together("4S 3H"),))
    for choice in (("3H", "4S"), "return", "yes"):
        table.answer(choice)
    table.step(card("P2", "KC"), found=(together("3H KC"),))
    assert table.question.question == "card-order"
