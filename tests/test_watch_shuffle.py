"""A set that is not shuffled is recognised, and a shuffled one is not: the proof's one step, and the rate itself."""

from itertools import pairwise
from math import isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.cards import Card
from shoed.findings import NotShuffled
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
    """Whatever has come, over all cards that may come next the capital stays what was staked: the proof's one step."""
    shoe = [*range(len(FACES))] * decks
    dice.shuffle(shoe)
    came = shoe[: data.draw(st.integers(1, len(shoe) - 1))]
    faces = [came.count(face) for face in range(len(FACES))]
    stakes: Stakes = (0.25, 3.0, 1e-3)
    left = len(shoe) - len(came)
    after = sum(
        (decks - faces[face]) / left * capital(bet(decks, stakes, faces, came[-1], face))
        for face in range(len(FACES))
        if faces[face] < decks
    )
    assert isclose(after, capital(stakes) + 1 / len(shoe))


def test_nobody_bets_on_what_is_certain_or_cannot_be() -> None:
    """All cards are out, and one comes too often: another finding, and no stake is divided by nothing."""
    share = capital(BEGINNING) + 1 / len(FACES)
    for this in (FACES[Card.S9], FACES[Card.H2]):
        assert isclose(capital(bet(1, BEGINNING, [1] * len(FACES), FACES[Card.S8], this)), share)


@pytest.mark.exhaustive
def test_the_false_alarms_are_no_more_than_stated() -> None:
    """At one in a thousand, which can be counted: 20,000 shuffled shoes of four decks, each to its end."""
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


def test_only_a_card_that_is_known_to_follow_another_is_bet_on() -> None:
    """Not behind one without a face, and not the card of an overdraw, which is told late."""
    for between, pairs in (("P2 ?", 0), ("overdraw 9S", 1), ("P2 9S", 2)):
        watching = Watching()
        watching.hear(card("P1", "8S"), card(*between.split()), card("B1", "10S"))
        assert watching.state.shuffle.pairs == pairs


def test_the_finding_says_what_was_counted_and_what_is_usual() -> None:
    """For the person who decides."""
    (told,) = found([*Card] * DECKS)
    assert str(told) == (
        "after 10 cards this set does not look shuffled: 9 of 9 cards are neighbours in suit of the card before them,"
        " where shuffling leaves 0.3, and 9 are of its suit, where it leaves 2"
    )


@pytest.mark.parametrize("seed", range(20))
def test_it_is_found_with_the_card_that_makes_the_capital_large_enough(seed: int) -> None:
    """As large as one false alarm in so many shoes allows; about every second card is a neighbour of the one before."""
    dice, stakes, faces = Random(seed), BEGINNING, [0] * len(FACES)
    came = [dice.randrange(len(FACES))]
    while capital(stakes) * FALSE_ALARMS < 1:
        before = came[-1]
        faces[before] += 1
        came.append(dice.choice(BESIDE[before]) if dice.random() < 0.5 else dice.randrange(len(FACES)))
        stakes = bet(DECKS, stakes, faces, before, came[-1])
    numbered = list(Card)
    assert [each.cards for each in found([numbered[each] for each in came])] == [len(came)]


def test_the_usual_share_of_neighbours_is_what_shuffling_leaves() -> None:
    """Against a count over shuffled shoes."""
    dice, pairs, neighbours = Random(2), 0, 0
    cards = [*Card] * DECKS
    for _ in range(200):
        dice.shuffle(cards)
        pairs += len(cards) - 1
        neighbours += sum(a.suit is b.suit and abs(a.rank - b.rank) == 1 for a, b in pairwise(cards))
    assert abs(neighbours / pairs - usual_share(DECKS)) < 0.002
