"""Hands that shuffle, and not always enough: new decks, a cut, a riffle.

The riffle is that of Gilbert, Shannon and Reeds: the set is cut in two by as many tosses of a coin as it has
cards, and each next card falls from a packet by chance, in proportion to what is left in it.
"""

from random import Random

from shoed.cards import Card, Rank, Suit


def new_decks(decks: int) -> list[Card]:
    """As they lie in the box, stacked: two suits from the ace up, two from the king down (observed)."""
    up, down = [*Rank], [*reversed(Rank)]
    order = [(Suit.SPADES, up), (Suit.DIAMONDS, up), (Suit.CLUBS, down), (Suit.HEARTS, down)]
    return [Card.of(rank, suit) for suit, ranks in order for rank in ranks] * decks


def cut(cards: list[Card], dice: Random) -> list[Card]:
    at = dice.randrange(len(cards))
    return cards[at:] + cards[:at]


def riffled(cards: list[Card], dice: Random) -> list[Card]:
    at = dice.getrandbits(len(cards)).bit_count()
    left, right = cards[:at][::-1], cards[at:][::-1]
    mixed = []
    while left or right:
        packet = left if dice.random() * (len(left) + len(right)) < len(left) else right
        mixed.append(packet.pop())
    return mixed
