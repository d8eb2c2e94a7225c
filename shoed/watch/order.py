"""Compares the drawn cards with the order in which the shuffler delivered them.

Theory of operation: each card is compared with the next card of the order. A difference raises one finding. After
it the place in the order is unknown. A run of cards that is too long for a coincidence finds the place again. A
gap in the record also makes the place unknown, without a finding.
"""

from string import ascii_letters
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.model.cards import Card
from shoed.model.findings import OrderAltered
from shoed.model.observations import CardSeen, Place

# Six random cards in a row match one of 520 places once in 38 million cases. Each match would be a false alarm.
SURE: Final = 6

LETTERS: Final = dict(
    zip(Card, ascii_letters, strict=True)
)  # one letter per card, because every checkpoint holds the order
CARDS: Final = {letter: card for card, letter in LETTERS.items()}


class ExpectedOrder(msgspec.Struct, frozen=True, omit_defaults=True):
    cards: str = ""  # the cards of this shoe, from the first; empty: the order is unknown
    next: int = 0
    lost: bool = False
    recent: str = ""  # the last cards while the place is unknown


def lose(order: ExpectedOrder) -> ExpectedOrder:
    return replace(order, lost=True, recent="") if order.cards else order


def card(order: ExpectedOrder, seen: CardSeen) -> tuple[ExpectedOrder, OrderAltered | None]:
    if order.next >= len(order.cards) and not order.lost:
        return order, None  # no order is known, or all its cards are drawn; `counts` finds a card too many
    letter = "" if seen.card is None else LETTERS[seen.card]
    after = replace(order, next=order.next + 1)
    if order.lost:
        return find(replace(after, recent=(order.recent + letter)[-SURE:] if letter else "")), None
    expected = order.cards[order.next]
    if letter in ("", expected):
        return after, None
    after = replace(after, lost=True, recent=letter)
    if seen.place is Place.OVERDRAW:  # reported late: other cards may have been reported before it
        return after, None
    evidence = f"card {order.next + 1} of the order that the shuffler delivered is {CARDS[expected]}, not {seen.card}"
    return after, OrderAltered(at=seen.at, card=seen.card, expected=CARDS[expected], evidence=evidence)


def find(order: ExpectedOrder) -> ExpectedOrder:
    """Find the place of the recent cards that is nearest to the place without any missed card."""
    if len(order.recent) < SURE:
        return order
    places = [at + SURE for at in range(len(order.cards)) if order.cards.startswith(order.recent, at)]
    if not places:
        return order
    return replace(order, next=min(places, key=lambda at: abs(at - order.next)), lost=False, recent="")
