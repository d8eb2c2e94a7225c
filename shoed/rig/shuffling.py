"""A shuffle by hand, which may be insufficient: new decks, a cut, a riffle.

The riffle is the model of Gilbert, Shannon and Reeds. A coin is tossed once for each card; the number of heads is the
size of the first packet. Each next card falls from a packet at random, in proportion to the cards left in it.
"""

from random import Random

from shoed.model.cards import Card, Rank, Suit


def new_decks(decks: int) -> list[Card]:
    """New decks in the order of the box: two suits from the ace up, two from the king down (observed)."""
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
