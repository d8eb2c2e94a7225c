"""The Table of Play: which card is due, what a hand is worth, who wins.

It is the same table in all five documents (C 3.10-3.14, I 3.10-3.17, F 3.7-3.10, E 3.4-3.8, T 3.5-3.9),
and each book brings its own. Cards are dealt Player, Banker, Player, Banker; a natural ends the
round; then Player draws by its own total, and Banker by its own and the value of Player's third card.

The table knows cards by their values alone. `Hands` are of cards; `due_of` and `points_of` are
what they come down to, for whoever reckons with values.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from shoed.cards import Card
from shoed.observations import Pair
from shoed.rules.book import Play, RuleBook, Winner

INITIAL_CARDS: Final = 4  # C 3.10: two to each hand
INITIAL_HAND: Final = 2
FULL_HAND: Final = 3
TEN: Final = 10  # C 1.14: points are the second digit

Values = tuple[int, ...]


class Hands(msgspec.Struct, frozen=True):
    player: tuple[Card, ...] = ()
    banker: tuple[Card, ...] = ()

    def of(self, hand: Pair) -> tuple[Card, ...]:
        return self.player if hand is Pair.PLAYER else self.banker

    def with_card(self, hand: Pair, card: Card) -> "Hands":
        if hand is Pair.PLAYER:
            return Hands((*self.player, card), self.banker)
        return Hands(self.player, (*self.banker, card))

    def __len__(self) -> int:
        return len(self.player) + len(self.banker)


def value(book: RuleBook, card: Card) -> int:
    """As the document has it: a ten is 10 in C and I (3.2.2), 0 in F, E and T. The points agree."""
    return book.values[card.rank]


def values(book: RuleBook, cards: Sequence[Card]) -> Values:
    return tuple([value(book, card) for card in cards])


def points(book: RuleBook, cards: Sequence[Card]) -> int:
    return points_of(values(book, cards))


def points_of(hand: Values) -> int:
    return sum(hand) % TEN


def due(book: RuleBook, hands: Hands) -> Pair | None:
    """The hand that the next card belongs to; None when the round has all its cards."""
    return due_of(book.play, values(book, hands.player), values(book, hands.banker))


def due_of(play: Play, player: Values, banker: Values) -> Pair | None:
    if len(player) + len(banker) < INITIAL_CARDS:  # C 3.10: first and third card to Player
        return Pair.PLAYER if len(player) == len(banker) else Pair.BANKER
    if len(banker) == FULL_HAND:
        return None
    players, bankers = points_of(player[:INITIAL_HAND]), points_of(banker)
    if players in play.natural or bankers in play.natural:  # C 3.12: of either hand, and before every other row
        return None
    if len(player) == INITIAL_HAND:
        if players in play.player:
            return Pair.PLAYER
        return Pair.BANKER if bankers in play.banker_alone else None  # C 3.11
    # C 3.12: the column is what Player's third card is worth, never Player's total. A book that lacks a row is refused.
    return Pair.BANKER if player[INITIAL_HAND] % TEN in play.banker.get(bankers, ()) else None


def winner(book: RuleBook, hands: Hands) -> Winner:
    """Of a round that has all its cards (C 3.13, 3.14)."""
    return higher(points(book, hands.player), points(book, hands.banker))


def higher(player: int, banker: int) -> Winner:
    if player > banker:
        return Winner.PLAYER
    return Winner.BANKER if player < banker else Winner.TIE


def pairs(hands: Hands) -> tuple[Pair, ...]:
    """C 1.13: the first two cards of a hand are of one rank; suit and value do not matter."""
    return tuple(hand for hand in Pair if is_pair(hands.of(hand)[:INITIAL_HAND]))


def is_pair(cards: Sequence[Card]) -> bool:
    return len(cards) == INITIAL_HAND and cards[0].rank is cards[1].rank
