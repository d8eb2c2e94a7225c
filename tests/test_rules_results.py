"""The pay of every bet: the rows of the documents, and the decided pays of incomplete rounds."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shoed.model.cards import Card, Rank, Suit
from shoed.model.irregularities import Stage
from shoed.rules.book import Bet, PayRow, Pays, RuleBook, Winner
from shoed.rules.card_states import BOOKS_KEPT, card_states
from shoed.rules.drawing import Hands, due
from shoed.rules.load import book
from shoed.rules.results import established, pair_ranks, pays, rows, verdicts
from tests import printed
from tests.dealing import cards_in, dealt
from tests.printed import GAMES

# Complete rounds, in dealt order.
PLAYER_ON_8 = "8S 3H KS 4H"
FIRST_INSURANCE = ("player-insurance", Stage.AFTER_FOUR)
SECOND_INSURANCE = ("player-insurance", Stage.AFTER_PLAYER_THIRD)
PLAYER_ON_6 = "6S KH KS 2H 3D"
PLAYER_ON_6_BY_THREE = "KS KH 2S AH 4D 2C"
SIX_BEATEN_BY_7 = "6S 7H KS KH"
BANKER_ON_6_BY_TWO = "KS 6H 3S KH 2D"
BANKER_ON_6_BY_THREE = "KS KH 2S 3H 2D 3C"
BANKER_ON_7 = "KS 7H QD KH 2C"
TIE_ON_6 = "6S 6H KS KH"
TIE_ON_8 = "8S 8H KS KH"

# One card of each value.
FACES = [Card.of(rank, Suit.SPADES) for rank in (*tuple(Rank)[:9], Rank.KING)]


def hands(rules: RuleBook, cards: str) -> Hands:
    return dealt(rules, cards_in(cards))


def texts(rules: RuleBook, dealt_hands: Hands) -> dict[str, str | None]:
    return {name: each.text if each else None for name, each in pays(rules, dealt_hands).items()}


def answers(game: str, cards: str) -> dict[str, str | None]:
    return texts(book(game), hands(book(game), cards))


# --- complete rounds


@pytest.mark.clause("C 1.10", "C 3.13", "C 4.1.1", "C 4.1.2", "I 1.11", "I 1.12", "I 3.16", "I 4.1.1")
@pytest.mark.clause("F 3.10", "F 4.1", "E 4.1.1", "T 4.1.1")
@pytest.mark.parametrize(
    ("cards", "commission", "easy_six", "others"),
    [
        (PLAYER_ON_8, ("1:1", "lose"), ("1:1", "lose"), ("1:1", "lose")),
        (PLAYER_ON_6, ("1:1", "lose"), ("1.05:1", "lose"), ("1:1", "lose")),
        (PLAYER_ON_6_BY_THREE, ("1:1", "lose"), ("1.05:1", "lose"), ("1:1", "lose")),
        (BANKER_ON_7, ("lose", "0.95:1"), ("lose", "1:1"), ("lose", "1:1")),
        (BANKER_ON_6_BY_TWO, ("lose", "0.95:1"), ("lose", "1:2"), ("lose", "1:2")),
        (BANKER_ON_6_BY_THREE, ("lose", "0.95:1"), ("lose", "1:2"), ("lose", "1:2")),
        (TIE_ON_6, ("push", "push"), ("push", "push"), ("push", "push")),
    ],
)
def test_player_and_banker_are_paid_by_the_winner_and_by_six(
    cards: str, commission: tuple[str, str], easy_six: tuple[str, str], others: tuple[str, str]
) -> None:
    """Banker on 6 pays 1:2 in I, F, E and T, but not in C; Player on 6 pays 1.05:1 in E."""
    right = dict.fromkeys(GAMES, others) | {"commission": commission, "easy-six": easy_six}
    for game in GAMES:
        paid = answers(game, cards)
        assert (paid["player"], paid["banker"]) == right[game]


@pytest.mark.clause("C 1.19", "C 3.14", "I 1.22", "I 3.17", "F 1.1.8", "F 3.10.1", "E 3.8", "T 3.9")
@pytest.mark.clause("C 4.1.2", "I 4.1.1", "F 4.1", "E 4.1.1", "T 4.1.1")
@pytest.mark.parametrize(("cards", "pay"), [(TIE_ON_8, "8:1"), (TIE_ON_6, "8:1"), (PLAYER_ON_8, "lose")])
def test_a_tie_returns_player_and_banker_and_pays_the_tie(cards: str, pay: str) -> None:
    """A tie on 6 pays more in E."""
    for game in GAMES:
        paid = answers(game, cards)
        assert paid["tie"] == ("10:1" if game == "easy-six" and cards == TIE_ON_6 else pay)
        assert ((paid["player"], paid["banker"]) == ("push", "push")) is (pay != "lose")


@pytest.mark.clause("I 1.21", "I 4.1.1", "F 1.1.1", "F 3.11", "F 4.1")
@pytest.mark.parametrize(
    ("cards", "pay"),
    [
        (BANKER_ON_6_BY_TWO, "12:1"),
        (BANKER_ON_6_BY_THREE, "20:1"),
        (BANKER_ON_7, "lose"),
        (TIE_ON_6, "lose"),
        (PLAYER_ON_6, "lose"),
        (SIX_BEATEN_BY_7, "lose"),
    ],
)
def test_super_six_plus_and_fortune_six_require_a_banker_win_on_six(cards: str, pay: str) -> None:
    """The pay depends on the number of Banker's cards; 6-6 loses."""
    for game in ("super-six-plus", "fortune-six"):
        assert answers(game, cards)[game] == pay


@pytest.mark.clause("E 4.1.1")
@pytest.mark.parametrize(
    ("cards", "pay"),
    [
        (BANKER_ON_6_BY_TWO, "6:1"),
        (BANKER_ON_6_BY_THREE, "6:1"),
        (PLAYER_ON_6, "6:1"),
        (PLAYER_ON_6_BY_THREE, "6:1"),
        (TIE_ON_6, "6:1"),
        (TIE_ON_8, "lose"),
        (SIX_BEATEN_BY_7, "lose"),
    ],
)
def test_easy_six_wins_when_the_winning_or_tied_total_is_six(cards: str, pay: str) -> None:
    """A 6 that loses the round loses."""
    assert answers("easy-six", cards)["easy-six"] == pay


@pytest.mark.clause("C 1.13", "C 3.10", "I 1.15", "I 3.10", "F 1.1.5", "F 3.8", "F 3.8.1", "F 3.8.2", "E 3.4", "T 3.5")
@pytest.mark.clause("C 4.1.2", "I 4.1.1", "F 4.1", "E 4.1.1", "T 4.1.1")
@pytest.mark.parametrize(
    ("cards", "player", "banker"),
    [
        ("6S KH 6D KD", "sixes", "pair"),
        ("KS 6H 10S 6C", "lose", "sixes"),
        ("8S KH 8S QD", "pair", "lose"),
        ("2S 3H KS 4H 2D", "lose", "lose"),
    ],
)
def test_a_pair_is_paid_by_the_first_two_cards_of_its_hand(cards: str, player: str, banker: str) -> None:
    """Only the rank counts, not suit, value or third card. E pays more for sixes."""
    for game in GAMES:
        odds = {"lose": "lose", "pair": "11:1", "sixes": "13:1" if game == "easy-six" else "11:1"}
        paid = answers(game, cards)
        assert (paid["player-pair"], paid["banker-pair"]) == (odds[player], odds[banker])


def test_every_pay_has_its_clause() -> None:
    """Bets are in the book's order."""
    rules = book("super-six-plus")
    assert {name: row.clause for name, row in rows(rules, hands(rules, BANKER_ON_6_BY_TWO)).items() if row} == {
        "player": "3.16",
        "banker": "4.1.1",
        "tie": "1.22",
        "player-pair": "1.15",
        "banker-pair": "1.15",
        "super-six-plus": "4.1.1",
    }


# --- incomplete rounds


@pytest.mark.parametrize(
    ("cards", "decided"),
    [
        ("", {}),
        ("6S", {}),
        ("6S 2H", {}),
        ("6S 2H KS", {"player-pair": "lose", "super-six-plus": "lose"}),
        ("5S 2H 5D", {"player-pair": "11:1"}),
        ("9S 2H KS", {"player-pair": "lose", "super-six-plus": "lose"}),
        ("5S 2H KD 2D", {"player-pair": "lose", "banker-pair": "11:1"}),
        ("2S 2H 3D 2C 4C", {"player-pair": "lose", "banker-pair": "11:1", "super-six-plus": "lose"}),
        ("KS 2H 2D AC KC", {"player-pair": "lose", "banker-pair": "lose"}),
    ],
)
def test_a_bet_is_decided_as_soon_as_no_card_can_change_it(cards: str, decided: dict[str, str]) -> None:
    """A pair at a hand's second card; Super Six Plus when Banker can no longer win on 6; the others are open."""
    paid = answers("super-six-plus", cards)
    assert paid == dict.fromkeys(paid) | decided


@pytest.mark.clause("C 5.4.1", "C 5.4.2", "I 5.4.1", "I 5.4.2")
@pytest.mark.parametrize("game", GAMES)
def test_an_outcome_is_established_from_the_third_card_on(game: str) -> None:
    """Read literally: the Player pair has won or lost then, and no bet has before."""
    rules = book(game)
    for cards in product("A67K", repeat=4):
        whole = [Card.parse(f"{rank}S") for rank in cards]
        assert [established(rules, dealt(rules, whole[:count])) for count in range(5)] == [False] * 3 + [True] * 2


@pytest.mark.parametrize(
    ("cards", "placed", "is_established"),
    [
        ("6S 2H KS", {"player", "banker", "tie", "banker-pair"}, False),
        ("6S 2H KS", {"player", "super-six-plus"}, True),
        ("6S 2H KS", {"player", "player-pair"}, True),
        ("6S 2H KS", set(), False),
        ("2S 2H 3D 2C 4C", {"banker"}, False),  # Player has 9: Banker can still push
        ("KS 2H QS AC KC", {"player"}, False),  # Player has 0, and Banker draws
        (TIE_ON_8, {"player", "banker"}, False),
        (TIE_ON_8, {"player", "tie"}, True),
        (PLAYER_ON_8, {"banker"}, True),
        ("6S 2H KS 3H AD", {"player", FIRST_INSURANCE}, False),  # 6-6: both returned
        ("6S 2H KS 3H 2D", {FIRST_INSURANCE}, True),  # Banker 7: it won
        ("2S 2H 3D 2C 4C 5D", {"player", SECOND_INSURANCE}, True),  # 9-9: the row of nine was offered
        ("2S 2H 3D 2C 4C 5D", {"player", FIRST_INSURANCE}, False),  # placed before Player had 9
        ("2S 2H 3D 2C 4C", {"player", FIRST_INSURANCE, SECOND_INSURANCE}, False),
    ],
)
def test_an_established_outcome_may_depend_on_placed_bets_only(
    cards: str, placed: set[str | tuple[str, Stage]], *, is_established: bool
) -> None:
    """A bet that can push or lose has not lost, and a returned bet has neither won nor lost."""
    rules = book("super-six-plus")
    stands = {(bet, None) if isinstance(bet, str) else bet for bet in placed}
    assert established(rules, hands(rules, cards), stands) is is_established


def test_a_bet_that_has_won_at_open_odds_is_conclusive() -> None:
    """No book has such a bet: it wins on every result, at different odds."""
    always = [
        PayRow(Pays(f"{number}:1", Fraction(number)), "1", winner=winner) for number, winner in enumerate(Winner, 1)
    ]
    rules = replace(book("commission"), bets=(Bet("always", "1", tuple(always)),))
    assert established(rules, Hands())
    assert texts(rules, Hands()) == {"always": None}


GAME = st.sampled_from(GAMES)
COPIES = {game: replace(book(game)) for game in GAMES}
SIX = st.lists(st.sampled_from(tuple(Card)), min_size=6, max_size=6)


def continuations(rules: RuleBook, dealt_hands: Hands) -> Iterator[Hands]:
    """All ends of the round, by values."""
    hand = due(rules, dealt_hands)
    if hand is None:
        yield dealt_hands
    else:
        for card in FACES:
            yield from continuations(rules, dealt_hands.with_card(hand, card))


@given(GAME, SIX, st.integers(4, 6))
def test_a_decided_pay_never_changes_and_an_open_one_has_two_continuations(
    game: str, cards: list[Card], count: int
) -> None:
    """It holds after any initial deal; the exhaustive walk covers the states before it."""
    rules = book(game)
    dealt_hands = dealt(rules, cards[:count])
    ends = [texts(rules, end) for end in continuations(rules, dealt_hands)]
    for name, pay in texts(rules, dealt_hands).items():
        possible = {end[name] for end in ends}
        assert possible == {pay} if pay is not None else len(possible) > 1
        kinds = {"lose" if each == "lose" else "push" if each == "push" else "win" for each in possible}
        assert established(rules, dealt_hands, {(name, None)}) is (kinds in ({"lose"}, {"win"}))


@given(GAME, SIX, st.integers(0, 6))
def test_an_early_decided_pay_is_the_final_pay(game: str, cards: list[Card], count: int) -> None:
    """It holds from the first card on."""
    rules = book(game)
    early, end = (texts(rules, dealt(rules, cards[:some])) for some in (count, 6))
    assert None not in end.values()
    assert {name: pay for name, pay in early.items() if pay} == {name: end[name] for name, pay in early.items() if pay}


@given(GAME, SIX, st.integers(0, 6), st.lists(st.sampled_from(Suit), min_size=6, max_size=6), SIX)
def test_pays_depend_on_ranks_and_the_book_alone(
    game: str, cards: list[Card], count: int, suits: list[Suit], before: list[Card]
) -> None:
    """Suits, the order of a hand's first two cards and earlier calls have no effect."""
    rules = book(game)
    right = texts(rules, dealt(rules, cards[:count]))
    recoloured = [Card.of(card.rank, suit) for card, suit in zip(cards, suits, strict=True)]
    texts(rules, dealt(rules, before))
    assert texts(rules, dealt(rules, recoloured[:count])) == right
    if count >= 4:
        swapped = [cards[at] for at in (2, 3, 0, 1, 4, 5)]
        assert texts(rules, dealt(rules, swapped[:count])) == right
    assert texts(COPIES[game], dealt(rules, cards[:count])) == right


@given(GAME, SIX)
def test_a_whole_round_of_cards_pays_as_printed(game: str, cards: list[Card]) -> None:
    """The expected pays are from tables typed by hand, with faces instead of values."""
    rules = book(game)
    dealt_hands = dealt(rules, cards)
    worth = [tuple(min(card.rank, 10) % 10 for card in hand) for hand in (dealt_hands.player, dealt_hands.banker)]
    pairs = {
        f"{name}-pair": hand[:2] for name, hand in (("player", dealt_hands.player), ("banker", dealt_hands.banker))
    }
    right = {name: printed.pair_pays(game, *(str(card)[:-1] for card in pair)) for name, pair in pairs.items()}
    assert texts(rules, dealt_hands) == right | printed.pays(game, printed.result(*worth))


def test_many_books_can_be_used_in_turn() -> None:
    """Each keeps its own verdicts; those of books that the cache dropped are computed again."""
    first = book("commission")
    for _ in range(2 * BOOKS_KEPT):
        other = replace(first)
        assert verdicts(other).book is other
    assert card_states(first) is card_states(first)


def test_the_cache_keeps_the_verdicts_of_several_books() -> None:
    """Tables of several games use their books in turn."""
    books = [book(game) for game in GAMES]
    made = [verdicts(each) for each in books]
    assert all(verdicts(each) is one for each, one in zip(books, made, strict=True))


def test_a_card_state_is_computed_once() -> None:
    """Equal values of cards lead to the same object, so that settlement only looks it up."""
    start = card_states(book("commission")).at((), ())
    assert start.after(1) is start.after(1)


@pytest.mark.parametrize("game", GAMES)
def test_combinations_that_pay_alike_share_one_verdict(game: str) -> None:
    """A daemon that runs for months needs all 20,000 combinations after four cards: less than 100 are in memory."""
    rules = book(game)
    made, states = verdicts(rules), card_states(rules).after_four
    pairs = [pair_ranks((Rank.ACE, Rank.TWO)), *(pair_ranks((rank, rank)) for rank in Rank)]
    found = {made.on(state, player, banker) for state in states for player in pairs for banker in pairs}
    assert len(found) == len({tuple(each.bets.items()) for each in found}) < 100
