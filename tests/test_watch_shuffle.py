"""An unshuffled set is recognised, and a shuffled set is not: the step of the proof, and the rate itself."""

from itertools import pairwise
from math import isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.model.cards import Card
from shoed.model.findings import NotShuffled
from shoed.watch import WatchSettings
from shoed.watch.counts import FACES
from shoed.watch.shuffle import BEGINNING, BESIDE, FALSE_ALARMS, Stakes, bet, capital, usual_share
from tests.observed import card
from tests.watching import LIMIT_MS, Watching, burnt

DECKS = 8


def found(cards: list[Card]) -> list[NotShuffled]:
    seen = Watching(WatchSettings(LIMIT_MS, DECKS)).hear(*map(burnt, cards))
    return [each for each in seen if isinstance(each, NotShuffled)]


@given(st.integers(1, 10), st.randoms(use_true_random=False), st.data())
def test_the_odds_are_fair_if_the_set_is_shuffled(decks: int, dice: Random, data: st.DataObject) -> None:
    """After any cards, the mean of the capital over all possible next cards is the stake: the step of the proof."""
    shoe = [*range(len(FACES))] * decks
    dice.shuffle(shoe)
    incoming = shoe[: data.draw(st.integers(1, len(shoe) - 1))]
    faces = [incoming.count(face) for face in range(len(FACES))]
    stakes: Stakes = (0.25, 3.0, 1e-3)
    left = len(shoe) - len(incoming)
    after = sum(
        (decks - faces[face]) / left * capital(bet(decks, stakes, faces, incoming[-1], face))
        for face in range(len(FACES))
        if faces[face] < decks
    )
    assert isclose(after, capital(stakes) + 1 / len(shoe))


def test_there_is_no_bet_on_a_certain_or_impossible_card() -> None:
    """All cards are drawn, and one appears too often: this is another finding, and no stake is divided by zero."""
    share = capital(BEGINNING) + 1 / len(FACES)
    for this in (FACES[Card.S9], FACES[Card.H2]):
        assert isclose(capital(bet(1, BEGINNING, [1] * len(FACES), FACES[Card.S8], this)), share)


@pytest.mark.exhaustive
def test_the_false_alarms_are_at_most_as_stated() -> None:
    """The rate is one in a thousand, which can be counted: 20,000 shuffled shoes of four decks, each to its end."""
    dice, shoes, decks, alarms = Random(7), 20_000, 4, 0
    shoe = [*range(len(FACES))] * decks
    for _ in range(shoes):
        shoe.sort(key=lambda _: dice.random())
        stakes, faces, before = BEGINNING, [0] * len(FACES), shoe[0]
        for this in shoe[1:]:
            faces[before] += 1
            stakes = bet(decks, stakes, faces, before, this)
            before = this
            if capital(stakes) >= 1000:
                alarms += 1
                break
    assert 0 < alarms <= shoes / 1000


def test_only_a_card_that_directly_follows_another_is_bet_on() -> None:
    """There is no bet after a card without a face, and none on the card of an overdraw, which is reported late."""
    for between, pairs in (("P2 ?", 0), ("overdraw 9S", 1), ("P2 9S", 2)):
        watching = Watching()
        watching.hear(card("P1", "8S"), card(*between.split()), card("B1", "10S"))
        assert watching.state.shuffle.pairs == pairs


def test_the_finding_states_the_count_and_the_usual_value() -> None:
    """A person needs both to decide."""
    (unshuffled,) = found([*Card] * DECKS)
    assert str(unshuffled) == (
        "after 10 cards, the set does not look shuffled: 9 of 9 cards are neighbours in suit of the card before them,"
        " where shuffling leaves 0.3, and 9 are of its suit, where it leaves 2"
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_finding_is_made_by_the_card_that_makes_the_capital_large_enough(seed: int) -> None:
    """The limit allows one false alarm in many shoes; about every second card is a neighbour of the card before it."""
    dice, stakes, faces = Random(seed), BEGINNING, [0] * len(FACES)
    incoming = [dice.randrange(len(FACES))]
    while capital(stakes) * FALSE_ALARMS < 1:
        before = incoming[-1]
        faces[before] += 1
        incoming.append(dice.choice(BESIDE[before]) if dice.random() < 0.5 else dice.randrange(len(FACES)))
        stakes = bet(DECKS, stakes, faces, before, incoming[-1])
    numbered = list(Card)
    assert [each.cards for each in found([numbered[each] for each in incoming])] == [len(incoming)]


def test_the_usual_share_of_neighbours_is_that_of_shuffled_sets() -> None:
    """It is compared with a count over shuffled shoes."""
    dice, pairs, neighbours = Random(2), 0, 0
    cards = [*Card] * DECKS
    for _ in range(200):
        dice.shuffle(cards)
        pairs += len(cards) - 1
        neighbours += sum(a.suit is b.suit and abs(a.rank - b.rank) == 1 for a, b in pairwise(cards))
    assert abs(neighbours / pairs - usual_share(DECKS)) < 0.002
