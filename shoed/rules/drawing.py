"""The Table of Play: which card is due, what a hand is worth, how a round ends.

It is the same table in all five documents (C 3.9-3.14, I 3.10-3.17, F 3.7-3.10, E 3.4-3.8, T 3.5-3.9).
Cards are dealt Player, Banker, Player, Banker; a natural ends the round; then Player draws on 0-5,
and Banker by its own total and the value of Player's third card.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from shoed.cards import Card, Rank
from shoed.observations import Outcome, Pair

PLAYER_DRAWS: Final = range(6)  # C 3.12: stands on 6 and 7
BANKER_DRAWS_ALONE: Final = range(6)  # C 3.11: Player took no third card
NATURAL: Final = (8, 9)
INITIAL_CARDS: Final = 4  # C 3.10: two to each hand
INITIAL_HAND: Final = 2
# C 3.12: Banker's two-card total -> the values of Player's third card on which Banker draws.
BANKER_DRAWS_ON: Final = {
    0: range(10),
    1: range(10),
    2: range(10),
    3: (0, 1, 2, 3, 4, 5, 6, 7, 9),
    4: range(2, 8),
    5: range(4, 8),
    6: range(6, 8),
    7: (),
}


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


def value(card: Card) -> int:
    """C 3.2: ace 1, pictures 0; a ten adds nothing to the second digit (C 1.14)."""
    return card.rank if card.rank < Rank.TEN else 0


def points(cards: Sequence[Card]) -> int:
    return sum(map(value, cards)) % 10


def due(hands: Hands) -> Pair | None:
    """The hand that the next card belongs to; None when the round has all its cards."""
    if len(hands) < INITIAL_CARDS:  # C 3.10: first and third card to Player
        return Pair.PLAYER if len(hands.player) == len(hands.banker) else Pair.BANKER
    if len(hands.banker) > INITIAL_HAND:
        return None
    player, banker = points(hands.player[:INITIAL_HAND]), points(hands.banker)
    if player in NATURAL or banker in NATURAL:
        return None
    if len(hands.player) == INITIAL_HAND:
        if player in PLAYER_DRAWS:
            return Pair.PLAYER
        return Pair.BANKER if banker in BANKER_DRAWS_ALONE else None
    return Pair.BANKER if value(hands.player[2]) in BANKER_DRAWS_ON[banker] else None


def outcome(hands: Hands) -> Outcome:
    """Of a round that has all its cards (C 3.13, 3.14)."""
    player, banker = points(hands.player), points(hands.banker)
    if player == banker:
        return Outcome.TIE
    return Outcome.PLAYER if player > banker else Outcome.BANKER


def pairs(hands: Hands) -> tuple[Pair, ...]:
    """C 1.13: the first two cards of a hand are of one rank."""
    return tuple(hand for hand in Pair if hands.of(hand)[0].rank is hands.of(hand)[1].rank)
