"""Hands that shuffle too little, and the watch that detects it."""

from random import Random

import pytest

from shoed.model.cards import Card
from shoed.model.findings import NotShuffled
from shoed.rig.shuffling import cut, new_decks, riffled
from shoed.watch import WatchSettings
from tests.watching import LIMIT_MS, Watching, burnt


def found(decks: int, cards: list[Card]) -> list[NotShuffled]:
    seen = Watching(WatchSettings(LIMIT_MS, decks)).hear(*map(burnt, cards))
    return [each for each in seen if isinstance(each, NotShuffled)]


def test_shuffling_loses_no_card() -> None:
    """It adds no card either: a new set, cut and riffled, is the same set in another order."""
    cards = new_decks(8)
    assert sorted(cards, key=str) == sorted([*Card] * 8, key=str)
    for other in (cut(cards, Random(1)), riffled(cards, Random(1))):
        assert other != cards
        assert sorted(other, key=str) == sorted(cards, key=str)


def test_a_riffle_keeps_the_order_of_both_packets() -> None:
    """One deck, riffled once, is two rising sequences."""
    where = {card: at for at, card in enumerate(new_decks(1))}
    mixed = [where[card] for card in riffled(new_decks(1), Random(1))]
    at = {number: position for position, number in enumerate(mixed)}
    assert sum(at[number] > at[number + 1] for number in range(len(mixed) - 1)) == 1


@pytest.mark.parametrize("decks", [4, 8, 10])
@pytest.mark.parametrize(("riffles", "within"), [(0, 15), (1, 80), (2, 150)])
def test_a_new_set_is_recognised(decks: int, riffles: int, within: int) -> None:
    """The set is new, cut anywhere and riffled once or twice: the finding is made once, within this number of cards."""
    dice = Random(3)
    for _ in range(3):
        cards = new_decks(decks)
        for _ in range(riffles):
            cards = riffled(cards, dice)
        (unshuffled,) = found(decks, cut(cards, dice))
        assert unshuffled.cards <= within


def test_an_unshuffled_deck_is_recognised() -> None:
    """The deck is in the middle of a shuffled shoe: the cards before it do not count."""
    cards = new_decks(8)
    rest = cards[52:]
    Random(5).shuffle(rest)
    (unshuffled,) = found(8, rest[:200] + cards[:52] + rest[200:])
    assert 200 < unshuffled.cards <= 216
