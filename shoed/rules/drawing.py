"""The Table of Play: the due card, the points of a hand, and the winner.

All five documents have the same table (C 3.10-3.14, I 3.10-3.17, F 3.7-3.10, E 3.4-3.8, T 3.5-3.9); each book contains
its own copy. Cards are dealt Player, Banker, Player, Banker. A natural ends the round. Then Player draws by its total,
and Banker by its total and the value of Player's third card.

The table depends on values of cards alone. `due` and `points` work on cards, `due_of` and `points_of` on values.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from shoed.model.cards import Card
from shoed.model.observations import Pair, Side
from shoed.rules.book import Play, RuleBook, Winner

INITIAL_CARDS: Final = 4  # C 3.10: two to each hand
INITIAL_HAND: Final = 2
FULL_HAND: Final = 3
TEN: Final = 10  # C 1.14: points are the second digit

Values = tuple[int, ...]


class Hands(msgspec.Struct, frozen=True):
    player: tuple[Card, ...] = ()
    banker: tuple[Card, ...] = ()

    def of(self, side: Side) -> tuple[Card, ...]:
        return self.player if side is Side.PLAYER else self.banker

    def with_card(self, side: Side, card: Card) -> "Hands":
        if side is Side.PLAYER:
            return Hands((*self.player, card), self.banker)
        return Hands(self.player, (*self.banker, card))

    def __len__(self) -> int:
        return len(self.player) + len(self.banker)


def value(book: RuleBook, card: Card) -> int:
    """The value in the document: a ten is 10 in C and I (3.2.2), and 0 in F, E and T. The points are the same."""
    return book.values[card.rank]


def values(book: RuleBook, cards: Sequence[Card]) -> Values:
    return tuple([value(book, card) for card in cards])


def points(book: RuleBook, cards: Sequence[Card]) -> int:
    return points_of(values(book, cards))


def points_of(side: Values) -> int:
    return sum(side) % TEN


def due(book: RuleBook, hands: Hands) -> Side | None:
    """The hand of the next card; None if the round has all its cards."""
    return due_of(book.play, values(book, hands.player), values(book, hands.banker))


def due_of(play: Play, player: Values, banker: Values) -> Side | None:
    if len(player) + len(banker) < INITIAL_CARDS:  # C 3.10: the first and the third card are Player's
        return Side.PLAYER if len(player) == len(banker) else Side.BANKER
    if len(banker) == FULL_HAND:
        return None
    players, bankers = points_of(player[:INITIAL_HAND]), points_of(banker)
    if players in play.natural or bankers in play.natural:  # C 3.12: a natural of either hand precedes all other rows
        return None
    if len(player) == INITIAL_HAND:
        if players in play.player:
            return Side.PLAYER
        return Side.BANKER if bankers in play.banker_alone else None  # C 3.11
    # C 3.12: the column is the value of Player's third card, never Player's total. A book without a row is refused.
    return Side.BANKER if player[INITIAL_HAND] % TEN in play.banker.get(bankers, ()) else None


def winner(book: RuleBook, hands: Hands) -> Winner:
    """The result of a round with all its cards (C 3.13, 3.14)."""
    return higher(points(book, hands.player), points(book, hands.banker))


def higher(player: int, banker: int) -> Winner:
    if player > banker:
        return Winner.PLAYER
    return Winner.BANKER if player < banker else Winner.TIE


def pairs(hands: Hands) -> tuple[Pair, ...]:
    """C 1.13: the first two cards of a hand have the same rank. Suit and value have no effect."""
    return tuple(Pair(side.value) for side in Side if is_pair(hands.of(side)[:INITIAL_HAND]))


def is_pair(cards: Sequence[Card]) -> bool:
    return len(cards) == INITIAL_HAND and cards[0].rank is cards[1].rank
