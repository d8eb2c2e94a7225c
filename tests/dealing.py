"""Hands dealt by the Table of Play of a book, for the tests of the rules."""

from collections.abc import Iterable

from shoed.model.cards import Card
from shoed.rules.book import RuleBook
from shoed.rules.drawing import Hands, due


def cards_in(text: str) -> tuple[Card, ...]:
    return tuple(map(Card.parse, text.split()))


def dealt(rules: RuleBook, cards: Iterable[Card]) -> Hands:
    """Each card in its due hand, up to the last card of the round."""
    hands = Hands()
    for card in cards:
        if (hand := due(rules, hands)) is None:
            break
        hands = hands.with_card(hand, card)
    return hands
