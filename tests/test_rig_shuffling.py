"""Hands that shuffle too little, and the watch that recognises it."""

from random import Random

import pytest

from shoed.cards import Card
from shoed.findings import NotShuffled
from shoed.rig.shuffling import cut, new_decks, riffled
from shoed.watch import WatchSettings
from tests.watching import LIMIT_MS, Watching, burnt


def found(decks: int, cards: list[Card]) -> list[NotShuffled]:
    seen = Watching(WatchSettings(LIMIT_MS, decks)).hear(*map(burnt, cards))
    return [each for each in seen if isinstance(each, NotShuffled)]


def test_no_card_is_lost_in_shuffling() -> None:
    """Nor added: a new set, cut and riffled, is the same set in another order."""
    cards = new_decks(8)
    assert sorted(cards, key=str) == sorted([*Card] * 8, key=str)
    for other in (cut(cards, Random(1)), riffled(cards, Random(1))):
        assert other != cards
        assert sorted(other, key=str) == sorted(cards, key=str)


def test_a_riffle_keeps_the_order_of_either_packet() -> None:
    """One deck, riffled once, is two rising sequences."""
    where = {card: at for at, card in enumerate(new_decks(1))}
    mixed = [where[card] for card in riffled(new_decks(1), Random(1))]
    at = {number: position for position, number in enumerate(mixed)}
    assert sum(at[number] > at[number + 1] for number in range(len(mixed) - 1)) == 1


@pytest.mark.parametrize("decks", [4, 8, 10])
@pytest.mark.parametrize(("riffles", "within"), [(0, 15), (1, 80), (2, 150)])
def test_a_new_set_is_recognised(decks: int, riffles: int, within: int) -> None:
    """Fresh from the box, cut anywhere, riffled once or twice: within so many cards, and told once."""
    dice = Random(3)
    for _ in range(3):
        cards = new_decks(decks)
        for _ in range(riffles):
            cards = riffled(cards, dice)
        (told,) = found(decks, cut(cards, dice))
        assert told.cards <= within


def test_a_deck_that_was_left_out_of_the_shuffle_is_recognised() -> None:
    """In the middle of a shuffled shoe: what came before it does not count for it."""
    cards = new_decks(8)
    rest = cards[52:]
    Random(5).shuffle(rest)
    (told,) = found(8, rest[:200] + cards[:52] + rest[200:])
    assert 200 < told.cards <= 216
