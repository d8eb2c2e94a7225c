"""Insurance offers and pays, compared with the printed pay table."""

import pytest

from shoed.model.irregularities import Stage
from shoed.rules.book import RuleBook
from shoed.rules.drawing import Hands, due
from shoed.rules.insurance import offers, settle_offer
from shoed.rules.load import book
from tests.dealing import cards_in, dealt
from tests.printed import GAMES

RULES = book("super-six-plus")


def hands(cards: str, rules: RuleBook = RULES) -> Hands:
    """The hands after these cards, which are all due."""
    dealt_hands = dealt(rules, cards_in(cards))
    assert len(dealt_hands) == len(cards.split())
    return dealt_hands


def offered(cards: str, stage: str) -> list[tuple[str, str]] | None:
    found = offers(RULES, hands(cards))[Stage(stage)]
    return None if found is None else [(each.bet, each.odds.text) for each in found]


def paid(cards: str, stage: str) -> list[str | None]:
    dealt_hands = hands(cards)
    settled = [settle_offer(RULES, each, dealt_hands) for each in offers(RULES, dealt_hands)[Stage(stage)] or ()]
    return [each.text if each else None for each in settled]


FOUR, THIRD = "after-four", "after-player-third"


@pytest.mark.clause("I 3.12", "I 1.9")
@pytest.mark.parametrize("cards", ["", "5S", "5S 4H", "5S 4H KS"])
def test_insurance_is_not_offered_before_four_cards(cards: str) -> None:
    """The round has not reached the stage."""
    assert (offered(cards, FOUR), offered(cards, THIRD)) == (None, None)


@pytest.mark.clause("I 4.1.2", "I 3.12.1")
@pytest.mark.parametrize(
    ("player", "banker", "right"),
    [
        (0, 5, [("banker-insurance", "2:1")]),
        (4, 5, [("banker-insurance", "2:1")]),
        (5, 5, []),
        (5, 6, [("banker-insurance", "3:1")]),
        (0, 7, [("banker-insurance", "4:1")]),
        (6, 7, []),
        (5, 4, [("player-insurance", "2:1")]),
        (5, 3, []),
        (6, 0, [("player-insurance", "3:1")]),
        (6, 5, [("player-insurance", "3:1")]),
        (6, 6, []),
        (7, 5, [("player-insurance", "4:1")]),
        (7, 6, []),
        (4, 4, []),
        (8, 5, []),
        (5, 8, []),
        (0, 9, []),
    ],
)
def test_after_four_cards_the_printed_rows_are_offered(player: int, banker: int, right: list[tuple[str, str]]) -> None:
    """Gaps in the table are real, and a natural ends all offers."""
    face = "KA23456789"
    assert offered(f"{face[player]}S {face[banker]}H KS KH", FOUR) == right
    assert offered(f"{face[player]}S {face[banker]}H KS KH", THIRD) is None


@pytest.mark.clause("I 4.1.2", "I 3.12.1")
@pytest.mark.parametrize(
    ("cards", "right"),
    [
        ("KS AH KC KH AS", [("banker-insurance", "6:1")]),  # Player 1, Banker 1
        ("KS 2H KC KH AS", [("banker-insurance", "7:1")]),
        ("5S 6H KC KH 6S", [("banker-insurance", "7:1")]),  # Player has 1 with a third card 6, and Banker on 6 draws
        ("KS KH KC QH AS", []),  # Player 1, Banker 0: a gap
        ("KS 3H KC KH 2S", [("banker-insurance", "4:1")]),
        ("KS 2H KC KH 2S", []),
        ("KS 4H KC KH 3S", [("banker-insurance", "1.5:1")]),
        ("KS 3H KC KH 3S", []),
        ("KS 4H KC KH 5S", [("player-insurance", "2:1")]),
        ("KS 5H KC KH 5S", []),
        ("KS 5H KC KH 6S", [("player-insurance", "3:1")]),
        ("KS 6H KC KH 7S", [("player-insurance", "4:1")]),
        ("2S 6H KC KH 6S", [("player-insurance", "7:1")]),
        ("2S 6H KC KH 7S", [("player-insurance", "8:1")]),
        ("KS KH KC QH 4S", []),
    ],
)
def test_after_players_third_card_the_printed_rows_are_offered(cards: str, right: list[tuple[str, str]]) -> None:
    """The row of 1 against 1 is one of them."""
    assert due(RULES, hands(cards)) is not None
    assert offered(cards, THIRD) == right


@pytest.mark.parametrize(
    ("cards", "totals"), [("KS 4H 5C KH AS", (6, 4)), ("5S 5H KC KH 3S", (8, 5)), ("AS 6H KC KH AD", (2, 6))]
)
def test_insurance_is_not_offered_if_banker_stands(cards: str, totals: tuple[int, int]) -> None:
    """A row has both totals, but no card can change the result."""
    found = [each for each in RULES.offers if each.stage is Stage.AFTER_PLAYER_THIRD]
    assert any(totals[0] in each.player and totals[1] in each.banker for each in found)
    assert due(RULES, hands(cards)) is None
    assert offered(cards, THIRD) == []


@pytest.mark.clause("I 3.11", "I 3.17", "I 4.2.1")
@pytest.mark.parametrize(
    ("cards", "stage", "right"),
    [
        ("6S 2H KS KH", FOUR, [None]),
        ("6S 2H KS KH 5D", FOUR, ["3:1"]),  # Banker 7 beats the insured 6
        ("6S 2H KS KH 3D", FOUR, ["lose"]),
        ("6S 2H KS KH 4D", FOUR, ["push"]),
        ("KS 7H KC KH", FOUR, [None]),
        ("KS 7H KC KH 8D", FOUR, ["4:1"]),
        ("KS 7H KC KH 2D", FOUR, ["lose"]),
        ("KS 7H KC KH 7D", FOUR, ["push"]),
        ("KS AH KC KH AS", THIRD, [None]),
        ("KS AH KC KH AS 9D", THIRD, ["6:1"]),  # Banker fell to 0
        ("KS AH KC KH AS KD", THIRD, ["push"]),
        ("KS AH KC KH AS 2D", THIRD, ["lose"]),
        ("KS 4H KC KH 5S AD", THIRD, ["push"]),
        ("KS 4H KC KH 5S 2D", THIRD, ["2:1"]),
    ],
)
def test_insurance_pays_when_the_insured_hand_loses(cards: str, stage: str, right: list[str | None]) -> None:
    """It loses if the hand wins, and is returned on a tie."""
    assert paid(cards, stage) == right


@pytest.mark.clause("I 3.17", "I 4.2.1")
@pytest.mark.parametrize(("banker_third", "right"), [("5D", "8:1"), ("4D", "lose"), ("6D", "lose")])
def test_a_player_on_nine_is_insured_against_a_tie(banker_third: str, right: str) -> None:
    """Player cannot lose: the bet pays 8:1 if Banker has 9 too, and loses otherwise."""
    before = "5S 4H KC KH 4S"
    assert offered(before, THIRD) == [("player-insurance", "8:1")]
    assert paid(before, THIRD) == [None]
    assert paid(f"{before} {banker_third}", THIRD) == [right]


@pytest.mark.clause("I 3.17", "I 4.2.1")
def test_insurance_placed_after_four_cards_is_returned_at_nine_against_nine() -> None:
    """Player had 5, not 9, when the bet was placed."""
    assert offered("5S 4H KC KH 4S 5D", FOUR) == [("player-insurance", "2:1")]
    assert paid("5S 4H KC KH 4S 5D", FOUR) == ["push"]


@pytest.mark.parametrize("game", GAMES)
def test_one_game_has_insurance(game: str) -> None:
    """The other games have the stages, without offers."""
    rules = book(game)
    dealt_hands = hands("5S 4H KC KH 4S", rules)
    stages = offers(rules, dealt_hands)
    assert [len(stages[stage] or ()) for stage in Stage] == ([1, 1] if game == "super-six-plus" else [0, 0])
