"""Cards by a book's own Table of Play: how the tests of the rules lay out a round."""

from collections.abc import Iterable

from shoed.cards import Card
from shoed.rules.book import RuleBook
from shoed.rules.drawing import Hands, due


def cards_in(text: str) -> tuple[Card, ...]:
    return tuple(map(Card.parse, text.split()))


def dealt(rules: RuleBook, cards: Iterable[Card]) -> Hands:
    """Each card to the hand that it is due to, as many as the round takes."""
    laid = Hands()
    for card in cards:
        if (hand := due(rules, laid)) is None:
            break
        laid = laid.with_card(hand, card)
    return laid
