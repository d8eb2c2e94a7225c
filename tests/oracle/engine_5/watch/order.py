"""The order in which a shuffler delivered the cards, against that in which they come.

Theory of operation: each card is held against the next one of the order. One that differs is told, once;
then as many cards in a row as cannot be in that order by chance say where in it we are. A gap in the
record loses the place without anybody's fault.
"""

from string import ascii_letters
from typing import Final

import msgspec
from msgspec.structs import replace

from tests.oracle.engine_5.cards import Card
from tests.oracle.engine_5.findings import OrderAltered
from tests.oracle.engine_5.observations import CardSeen, Place

# By chance some six cards in a row are at one of 520 places once in 38 million: each would be a false alarm.
SURE: Final = 6

LETTERS: Final = dict(zip(Card, ascii_letters, strict=True))  # so short, because it is in every checkpoint
CARDS: Final = {letter: card for card, letter in LETTERS.items()}


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    cards: str = ""  # of this shoe, from its first; empty: nobody told it
    next: int = 0
    lost: bool = False
    recent: str = ""  # while lost, the last cards


def lose(order: Order) -> Order:
    return replace(order, lost=True, recent="") if order.cards else order


def card(order: Order, seen: CardSeen) -> tuple[Order, OrderAltered | None]:
    if order.next >= len(order.cards) and not order.lost:
        return order, None  # none was told, or it is over: a card too many is another finding
    letter = "" if seen.card is None else LETTERS[seen.card]
    after = replace(order, next=order.next + 1)
    if order.lost:
        return find(replace(after, recent=(order.recent + letter)[-SURE:] if letter else "")), None
    expected = order.cards[order.next]
    if letter in ("", expected):
        return after, None
    after = replace(after, lost=True, recent=letter)
    if seen.place is Place.OVERDRAW:  # told late: others may have been told before it
        return after, None
    evidence = f"card {order.next + 1} of the order that the shuffler delivered is {CARDS[expected]}, not {seen.card}"
    return after, OrderAltered(at=seen.at, card=seen.card, expected=CARDS[expected], evidence=evidence)


def find(order: Order) -> Order:
    """Find the place nearest to where it would be if every card had come."""
    if len(order.recent) < SURE:
        return order
    places = [at + SURE for at in range(len(order.cards)) if order.cards.startswith(order.recent, at)]
    if not places:
        return order
    return replace(order, next=min(places, key=lambda at: abs(at - order.next)), lost=False, recent="")
