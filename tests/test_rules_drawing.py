"""The Table of Play of each book, compared with a second copy of the documents' tables that was typed by hand."""

import pytest

from shoed.model.cards import Card, Rank
from shoed.model.observations import Pair, Side
from shoed.rules import load
from shoed.rules.book import RuleBook, Winner
from shoed.rules.drawing import Hands, due, pairs, points, value, winner
from shoed.rules.load import book
from tests import printed
from tests.printed import GAMES

# One card of each value; the ten represents all cards with the value 0.
FACE = [Card.parse(f"{rank}S") for rank in "TA23456789"]


@pytest.fixture(params=GAMES)
def rules(request: pytest.FixtureRequest) -> RuleBook:
    return book(request.param)


def hands(player: str, banker: str) -> Hands:
    return Hands(tuple(map(Card.parse, player.split())), tuple(map(Card.parse, banker.split())))


def of_values(player: tuple[int, ...], banker: tuple[int, ...]) -> Hands:
    return Hands(tuple(FACE[each] for each in player), tuple(FACE[each] for each in banker))


def printed_due(player: tuple[int, ...], banker: tuple[int, ...]) -> Side | None:
    hand = printed.due(player, banker)
    return None if hand is None else Side(hand)


def test_the_five_games_are_listed_first() -> None:
    """Their order is the same everywhere; a further book is listed after them."""
    assert load.GAMES[:5] == load.LISTED_FIRST == GAMES


@pytest.mark.clause("C 1.7", "I 1.7", "F 1.1.2", "F 3.6")
@pytest.mark.clause("C 3.10", "I 3.10", "F 3.7", "F 3.7.1", "F 3.7.2", "F 1.1.3", "E 3.4", "T 3.5")
def test_the_first_four_cards_go_player_banker_player_banker(rules: RuleBook) -> None:
    """C 3.10: the first and third card are Player's, the second and fourth are Banker's, whatever their faces are."""
    dealt, order = Hands(), []
    for text in ("9S", "9H", "9D", "9C"):
        hand = due(rules, dealt)
        assert hand is not None
        order.append(hand)
        dealt = dealt.with_card(hand, Card.parse(text))
    assert order == [Side.PLAYER, Side.BANKER, Side.PLAYER, Side.BANKER]
    assert dealt == hands("9S 9D", "9H 9C")
    assert (dealt.of(Side.PLAYER), dealt.of(Side.BANKER)) == (dealt.player, dealt.banker)
    assert len(dealt) == 4


@pytest.mark.clause("C 1.1", "C 3.11", "C 3.12", "I 1.1", "I 3.13", "I 3.15", "F 3.9", "F 3.9.2", "F 3.9.3", "E 3.5")
@pytest.mark.clause("E 3.6", "T 3.6", "T 3.7")
@pytest.mark.parametrize("player", range(10))
def test_after_four_cards_every_two_totals_have_their_row(rules: RuleBook, player: int) -> None:
    """A natural of either hand precedes Player's rows, and these precede Banker's rows."""
    for banker in range(10):
        assert due(rules, of_values((0, player), (0, banker))) is printed_due((0, player), (0, banker))


@pytest.mark.clause("C 3.12", "I 3.15", "F 3.9.4", "E 3.6", "T 3.7")
@pytest.mark.parametrize("third", range(10))
def test_the_value_of_players_third_card_decides_for_banker(rules: RuleBook, third: int) -> None:
    """The column is that value, never Player's total: all totals on which Player draws have the same result."""
    for banker in range(8):
        drawn = {due(rules, of_values((0, total, third), (0, banker))) for total in range(6)}
        assert drawn == {printed_due((0, 0, third), (0, banker))}


@pytest.mark.clause("C 1.9", "I 1.10", "F 1.1.4", "F 3.9.1", "E 3.6", "T 3.7")
@pytest.mark.parametrize(
    ("player", "banker"),
    [("9S KS", "KH QH"), ("KH QH", "8S KS"), ("4S 4H", "KH QH"), ("2D 3D", "4S 5S"), ("9S KS", "8H KH")],
)
def test_a_natural_on_either_hand_ends_the_round(rules: RuleBook, player: str, banker: str) -> None:
    """C 1.9, 3.12: 8 or 9 on two cards precedes every other row. Neither hand draws, even on 0."""
    assert due(rules, hands(player, banker)) is None


def test_a_nine_on_three_cards_is_not_a_natural(rules: RuleBook) -> None:
    """Banker still draws by its row."""
    assert due(rules, hands("2S 3S 4S", "KH 5H")) is Side.BANKER


@pytest.mark.parametrize("third", ["10S", "JS", "QS", "KS"])
def test_a_third_card_with_the_value_0_is_a_third_card(rules: RuleBook, third: str) -> None:
    """Banker on 3 draws and Banker on 4 stands; without a third card of Player both draw. A ten counts as 0."""
    assert due(rules, hands(f"KS 5S {third}", "KH 3H")) is Side.BANKER
    assert due(rules, hands(f"KS 5S {third}", "KH 4H")) is None


@pytest.mark.clause(
    "C 3.2", "C 3.2.1", "C 3.2.2", "C 3.2.3", "I 3.2", "I 3.2.1", "I 3.2.2", "I 3.2.3", "F 3.3", "F 3.3.1"
)
@pytest.mark.clause("F 3.3.2", "E 3.7", "T 3.8")
def test_every_card_has_the_value_of_the_document(rules: RuleBook) -> None:
    """C 3.2: ace 1, 2 to 9 their face value, picture cards 0. A ten is 10 in C and I, 0 in F, E and T."""
    ten = 10 if rules.letter in ("C", "I") else 0
    worth = dict(zip(Rank, (1, 2, 3, 4, 5, 6, 7, 8, 9, ten, 0, 0, 0), strict=True))
    assert all(value(rules, card) == worth[card.rank] for card in Card)


@pytest.mark.clause("C 1.14", "I 1.16", "F 1.1.6", "F 3.4", "F 3.4.1", "F 3.4.2", "E 3.7", "T 3.8")
def test_points_are_the_last_digit(rules: RuleBook) -> None:
    """C 1.14: the total of all cards, without tens."""
    assert points(rules, ()) == 0
    assert points(rules, hands("9S 9H 9D", "").player) == 7
    assert points(rules, hands("10S 10H", "").player) == 0
    assert points(rules, hands("AS 2H 3D", "").player) == 6


@pytest.mark.clause("C 1.13", "I 1.15", "F 1.1.5")
@pytest.mark.parametrize(
    ("player", "banker", "expected"),
    [
        ("10S 10H", "KH KD", (Pair.PLAYER, Pair.BANKER)),
        ("10S KH", "QH JD", ()),
        ("8S 8H", "8D 7D", (Pair.PLAYER,)),
        ("AS 2S AH", "5D 5C", (Pair.BANKER,)),
        ("AS 2S 2H", "3D 4C 4D", ()),
        ("8S 8S", "2D 4C", (Pair.PLAYER,)),
        ("8S 8S", "2D", (Pair.PLAYER,)),
        ("8S", "", ()),
    ],
)
def test_a_pair_is_the_first_two_cards_of_one_rank(player: str, banker: str, expected: tuple[Pair, ...]) -> None:
    """C 1.13: only the rank counts, so ten and king are not a pair. A third card makes no pair."""
    assert pairs(hands(player, banker)) == expected


@pytest.mark.clause("C 1.19", "C 3.13", "C 3.14", "I 1.22", "I 3.16", "I 3.17", "F 1.1.8", "F 3.10")
@pytest.mark.clause("F 3.10.1", "E 3.7", "T 3.8")
@pytest.mark.parametrize(
    ("player", "banker", "expected"),
    [("9S KS", "8S KS", Winner.PLAYER), ("KS KD", "AS KS", Winner.BANKER), ("2S 2D 4H", "KS 8S", Winner.TIE)],
)
def test_the_higher_total_wins_and_equal_totals_tie(
    rules: RuleBook, player: str, banker: str, expected: Winner
) -> None:
    """C 3.13 and 3.14: the number of cards has no effect."""
    assert winner(rules, hands(player, banker)) is expected
