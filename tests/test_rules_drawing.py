"""The Table of Play against the document's own words, written out here a second time and by hand."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import perm

import pytest

from shoed.cards import Card, Rank
from shoed.observations import Outcome, Pair
from shoed.rules.drawing import Hands, due, outcome, pairs, points, value

# C 3.12 as printed: by Banker's first two cards, "Banker draws when Player's 3rd card is".
# A row as a row of ticks, third card 0 to 9: D draws, s stands.
BANKER_AFTER_PLAYERS_THIRD = {
    0: "DDDDDDDDDD",
    1: "DDDDDDDDDD",
    2: "DDDDDDDDDD",
    3: "DDDDDDDDsD",
    4: "ssDDDDDDss",
    5: "ssssDDDDss",
    6: "ssssssDDss",
    7: "ssssssssss",
}
# C 3.12, the Player's rows: 0-5 draws, 6-7 stands, 8-9 natural.
PLAYER = "DDDDDDssNN"
# C 3.11: "if Player Hand does not draw a third card, Banker Hand shall stand on 6, 7, 8 or 9
# and draw on 0, 1, 2, 3, 4 or 5".
BANKER_AFTER_PLAYER_STOOD = "DDDDDDssss"

# One card of each value; a ten stands for all that are worth 0.
FACE = [Card.parse(f"{rank}S") for rank in "TA23456789"]
ZEROS = 4 * 8 * 4  # tens, jacks, queens and kings of eight decks
OTHERS = 4 * 8  # of each other value


def expected_due(player: tuple[int, ...], banker: tuple[int, ...]) -> Pair | None:
    """The printed table, read literally, for hands of two cards and more."""
    first_player, first_banker = sum(player[:2]) % 10, sum(banker[:2]) % 10
    if PLAYER[first_player] == "N" or first_banker in (8, 9) or len(banker) == 3:
        return None
    if len(player) == 2 and PLAYER[first_player] == "D":
        return Pair.PLAYER
    row = BANKER_AFTER_PLAYER_STOOD if len(player) == 2 else BANKER_AFTER_PLAYERS_THIRD[first_banker]
    column = first_banker if len(player) == 2 else player[2]
    return Pair.BANKER if row[column] == "D" else None


def hands(player: str, banker: str) -> Hands:
    return Hands(tuple(map(Card.parse, player.split())), tuple(map(Card.parse, banker.split())))


def of_values(player: tuple[int, ...], banker: tuple[int, ...]) -> Hands:
    return Hands(tuple(FACE[each] for each in player), tuple(FACE[each] for each in banker))


Dealt = tuple[tuple[int, ...], tuple[int, ...]]


def onward(player: tuple[int, ...], banker: tuple[int, ...]) -> Iterator[tuple[Dealt, Pair | None]]:
    """These hands and all that can come of them by the printed table, each with the hand that is due a card."""
    hand = expected_due(player, banker)
    yield (player, banker), hand
    if hand is not None:
        for drawn in range(10):
            yield from onward((*player, drawn), banker) if hand is Pair.PLAYER else onward(player, (*banker, drawn))


def ways(dealt: tuple[int, ...]) -> int:
    """In how many ways six cards of eight decks begin with these values; their order makes no difference to it."""
    count, taken = perm(416 - len(dealt), 6 - len(dealt)), Counter[int]()
    for each in dealt:
        count *= (OTHERS if each else ZEROS) - taken[each]
        taken[each] += 1
    return count


def test_the_first_four_cards_go_player_banker_player_banker() -> None:
    """C 3.10: the first and third card to Player, the second and fourth to Banker, whatever they are."""
    dealt, order = Hands(), []
    for text in ("9S", "9H", "9D", "9C"):
        hand = due(dealt)
        assert hand is not None
        order.append(hand)
        dealt = dealt.with_card(hand, Card.parse(text))
    assert order == [Pair.PLAYER, Pair.BANKER, Pair.PLAYER, Pair.BANKER]
    assert dealt == hands("9S 9D", "9H 9C")
    assert (dealt.of(Pair.PLAYER), dealt.of(Pair.BANKER)) == (dealt.player, dealt.banker)
    assert len(dealt) == 4


@pytest.mark.parametrize("player", range(10))
@pytest.mark.parametrize("banker", range(10))
def test_after_four_cards_each_pair_of_totals_has_its_row(player: int, banker: int) -> None:
    """The fifth card, or none: naturals of either hand first, then Player's rows, then Banker's where Player stands."""
    assert due(of_values((0, player), (0, banker))) is expected_due((0, player), (0, banker))


@pytest.mark.parametrize("banker", range(8))
@pytest.mark.parametrize("third", range(10))
def test_after_players_third_card_its_value_decides_for_banker(banker: int, third: int) -> None:
    """The column is the value of the third card, never Player's total: every total Player draws on gives the same."""
    drawn = {due(of_values((0, total, third), (0, banker))) for total in range(6)}
    ticked = BANKER_AFTER_PLAYERS_THIRD[banker][third] == "D"
    assert drawn == {Pair.BANKER if ticked else None}


@pytest.mark.parametrize(
    ("player", "banker"),
    [("9S KS", "KH QH"), ("KH QH", "8S KS"), ("4S 4H", "KH QH"), ("2D 3D", "4S 5S"), ("9S KS", "8H KH")],
)
def test_a_natural_on_either_hand_ends_the_round(player: str, banker: str) -> None:
    """8 or 9 on two cards outranks every other row: nobody draws, not even a hand of 0 (C 1.9, 3.12)."""
    assert due(hands(player, banker)) is None


def test_an_eight_on_three_cards_is_no_natural() -> None:
    """Player drawing to 9 takes nothing from Banker's row."""
    assert due(hands("2S 3S 4S", "KH 5H")) is Pair.BANKER


@pytest.mark.parametrize("third", ["10S", "JS", "QS", "KS"])
def test_a_third_card_worth_nothing_is_a_third_card(third: str) -> None:
    """Banker on 3 draws against it and Banker on 4 stands, where a Player without a third card would have it draw."""
    assert due(hands(f"KS 5S {third}", "KH 3H")) is Pair.BANKER
    assert due(hands(f"KS 5S {third}", "KH 4H")) is None


def test_every_card_has_the_value_of_the_document() -> None:
    """C 3.2: ace 1, 2 to 9 their face, a ten nothing to the second digit, picture cards 0; the suit does not matter."""
    worth = dict(zip(Rank, (1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0), strict=True))
    assert all(value(card) == worth[card.rank] for card in Card)


def test_points_are_the_second_digit() -> None:
    """C 1.14."""
    assert points(()) == 0
    assert points(hands("9S 9H 9D", "").player) == 7
    assert points(hands("10S 10H", "").player) == 0
    assert points(hands("AS 2H 3D", "").player) == 6


@pytest.mark.parametrize(
    ("player", "banker", "expected"),
    [
        ("10S 10H", "KH KD", (Pair.PLAYER, Pair.BANKER)),
        ("10S KH", "QH JD", ()),
        ("8S 8H", "8D 7D", (Pair.PLAYER,)),
        ("AS 2S AH", "5D 5C", (Pair.BANKER,)),
        ("AS 2S 2H", "3D 4C 4D", ()),
        ("8S 8S", "2D 4C", (Pair.PLAYER,)),
    ],
)
def test_a_pair_is_the_first_two_cards_of_one_rank(player: str, banker: str, expected: tuple[Pair, ...]) -> None:
    """C 1.13: rank alone, so ten and king are none; a third card makes no pair."""
    assert pairs(hands(player, banker)) == expected


@pytest.mark.parametrize(
    ("player", "banker", "expected"),
    [("9S KS", "8S KS", Outcome.PLAYER), ("KS KD", "AS KS", Outcome.BANKER), ("2S 2D 4H", "KS 8S", Outcome.TIE)],
)
def test_the_higher_total_wins_and_equal_totals_tie(player: str, banker: str, expected: Outcome) -> None:
    """C 3.13 and 3.14; three cards count no more than two."""
    assert outcome(hands(player, banker)) is expected


def test_all_value_paths_end_where_the_printed_table_ends_them_and_eight_decks_come_out_exactly() -> None:
    """Each of the 339,400 ways a round can go by value has its cards where they are printed, and none after the last.

    The wins of eight decks are the known counts, to the last card.
    """
    paths, wins = 0, Counter[Outcome]()
    for first, second, third, fourth in product(range(10), repeat=4):
        for (player, banker), hand in onward((first, third), (second, fourth)):
            dealt = of_values(player, banker)
            assert due(dealt) is hand
            if hand is None:
                paths += 1
                wins[outcome(dealt)] += ways((*player, *banker))
    assert paths == 339_400
    assert wins == {
        Outcome.BANKER: 2_292_252_566_437_888,
        Outcome.PLAYER: 2_230_518_282_592_256,
        Outcome.TIE: 475_627_426_473_216,
    }
    assert wins.total() == perm(416, 6) == 4_998_398_275_503_360
