"""What every bet gets: the documents' rows one by one, and what is known of a round that is not finished."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shoed.cards import Card, Rank, Suit
from shoed.rules.book import Bet, PayRow, Pays, RuleBook, Winner
from shoed.rules.drawing import Hands, due
from shoed.rules.load import book
from shoed.rules.results import established, pays, rows, verdicts
from shoed.rules.standing import BOOKS_KEPT, board
from shoed.words import Stage
from tests import printed
from tests.dealing import cards_in, dealt
from tests.printed import GAMES

# Rounds in dealt order, to their end.
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


def told(rules: RuleBook, laid: Hands) -> dict[str, str | None]:
    return {name: each.text if each else None for name, each in pays(rules, laid).items()}


def answers(game: str, cards: str) -> dict[str, str | None]:
    return told(book(game), hands(book(game), cards))


# --- finished rounds, by the pay tables


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
    """Half for Banker on 6 in I, F, E and T, never in C; a little more for Player on 6 in E."""
    right = dict.fromkeys(GAMES, others) | {"commission": commission, "easy-six": easy_six}
    for game in GAMES:
        paid = answers(game, cards)
        assert (paid["player"], paid["banker"]) == right[game]


@pytest.mark.clause("C 1.19", "C 3.14", "I 1.22", "I 3.17", "F 1.1.8", "F 3.10.1", "E 3.8", "T 3.9")
@pytest.mark.clause("C 4.1.2", "I 4.1.1", "F 4.1", "E 4.1.1", "T 4.1.1")
@pytest.mark.parametrize(("cards", "pay"), [(TIE_ON_8, "8:1"), (TIE_ON_6, "8:1"), (PLAYER_ON_8, "lose")])
def test_a_tie_returns_player_and_banker_and_pays_the_tie(cards: str, pay: str) -> None:
    """In every game; E pays a tie on 6 better."""
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
def test_super_six_plus_and_fortune_six_need_banker_to_win_on_six(cards: str, pay: str) -> None:
    """By the number of Banker's cards; 6-6 is lost."""
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
    """A 6 that is beaten loses."""
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
    """One rank: neither suit nor value nor a third card matters. E pays sixes better."""
    for game in GAMES:
        odds = {"lose": "lose", "pair": "11:1", "sixes": "13:1" if game == "easy-six" else "11:1"}
        paid = answers(game, cards)
        assert (paid["player-pair"], paid["banker-pair"]) == (odds[player], odds[banker])


def test_every_answer_names_the_clause_that_it_comes_from() -> None:
    """By bet, in the book's order."""
    rules = book("super-six-plus")
    assert {name: row.clause for name, row in rows(rules, hands(rules, BANKER_ON_6_BY_TWO)).items() if row} == {
        "player": "3.16",
        "banker": "4.1.1",
        "tie": "1.22",
        "player-pair": "1.15",
        "banker-pair": "1.15",
        "super-six-plus": "4.1.1",
    }


# --- unfinished rounds


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
def test_a_bet_is_decided_as_soon_as_nothing_can_change_it(cards: str, decided: dict[str, str]) -> None:
    """Pairs with a hand's second card, Super Six Plus where Banker can no longer win on 6; the rest is open."""
    paid = answers("super-six-plus", cards)
    assert paid == dict.fromkeys(paid) | decided


@pytest.mark.clause("C 5.4.1", "C 5.4.2", "I 5.4.1", "I 5.4.2")
@pytest.mark.parametrize("game", GAMES)
def test_an_outcome_is_established_from_the_third_card_on(game: str) -> None:
    """To the letter: then the bet on a Player pair has won or lost, and nothing has before."""
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
        ("2S 2H 3D 2C 4C 5D", {"player", SECOND_INSURANCE}, True),  # 9-9, and the row of nine was on offer
        ("2S 2H 3D 2C 4C 5D", {"player", FIRST_INSURANCE}, False),  # that row is for who placed it on the nine
        ("2S 2H 3D 2C 4C", {"player", FIRST_INSURANCE, SECOND_INSURANCE}, False),
    ],
)
def test_only_bets_that_stand_on_the_layout_may_be_asked_for(
    cards: str, placed: set[str | tuple[str, Stage]], *, is_established: bool
) -> None:
    """A bet that can still only push or lose is not lost, and one that is returned has neither won nor lost."""
    rules = book("super-six-plus")
    stands = {(bet, None) if isinstance(bet, str) else bet for bet in placed}
    assert established(rules, hands(rules, cards), stands) is is_established


def test_a_bet_that_has_won_at_odds_still_open_has_conclusively_won() -> None:
    """Such a bet stands in no book: one that wins on every result, and on each at other odds."""
    always = [
        PayRow(Pays(f"{number}:1", Fraction(number)), "1", winner=winner) for number, winner in enumerate(Winner, 1)
    ]
    rules = replace(book("commission"), bets=(Bet("always", "1", tuple(always)),))
    assert established(rules, Hands())
    assert told(rules, Hands()) == {"always": None}


GAME = st.sampled_from(GAMES)
COPIES = {game: replace(book(game)) for game in GAMES}
SIX = st.lists(st.sampled_from(tuple(Card)), min_size=6, max_size=6)


def onward(rules: RuleBook, laid: Hands) -> Iterator[Hands]:
    """All ends that a round can come to by value."""
    hand = due(rules, laid)
    if hand is None:
        yield laid
    else:
        for card in FACES:
            yield from onward(rules, laid.with_card(hand, card))


@given(GAME, SIX, st.integers(4, 6))
def test_what_is_decided_never_changes_and_what_is_open_can_come_out_in_two_ways(
    game: str, cards: list[Card], count: int
) -> None:
    """After the initial deal of any round; before it each place is walked through with all that follows elsewhere."""
    rules = book(game)
    laid = dealt(rules, cards[:count])
    ends = [told(rules, end) for end in onward(rules, laid)]
    for name, pay in told(rules, laid).items():
        possible = {end[name] for end in ends}
        assert possible == {pay} if pay is not None else len(possible) > 1
        kinds = {"lose" if each == "lose" else "push" if each == "push" else "win" for each in possible}
        assert established(rules, laid, {(name, None)}) is (kinds in ({"lose"}, {"win"}))


@given(GAME, SIX, st.integers(0, 6))
def test_what_is_decided_early_is_what_the_end_pays(game: str, cards: list[Card], count: int) -> None:
    """From the first card on, whatever comes."""
    rules = book(game)
    early, end = (told(rules, dealt(rules, cards[:some])) for some in (count, 6))
    assert None not in end.values()
    assert {name: pay for name, pay in early.items() if pay} == {name: end[name] for name, pay in early.items() if pay}


@given(GAME, SIX, st.integers(0, 6), st.lists(st.sampled_from(Suit), min_size=6, max_size=6), SIX)
def test_settling_depends_on_nothing_but_the_ranks_and_the_book(
    game: str, cards: list[Card], count: int, suits: list[Suit], before: list[Card]
) -> None:
    """Not on suits, not on which of a hand's first two cards came first, not on what was asked before."""
    rules = book(game)
    right = told(rules, dealt(rules, cards[:count]))
    recoloured = [Card.of(card.rank, suit) for card, suit in zip(cards, suits, strict=True)]
    told(rules, dealt(rules, before))
    assert told(rules, dealt(rules, recoloured[:count])) == right
    if count >= 4:
        swapped = [cards[at] for at in (2, 3, 0, 1, 4, 5)]
        assert told(rules, dealt(rules, swapped[:count])) == right
    assert told(COPIES[game], dealt(rules, cards[:count])) == right


@given(GAME, SIX)
def test_a_whole_round_of_cards_pays_as_printed(game: str, cards: list[Card]) -> None:
    """By the tables typed by hand, with faces instead of values."""
    rules = book(game)
    laid = dealt(rules, cards)
    worth = [tuple(min(card.rank, 10) % 10 for card in hand) for hand in (laid.player, laid.banker)]
    pairs = {f"{name}-pair": hand[:2] for name, hand in (("player", laid.player), ("banker", laid.banker))}
    right = {name: printed.pair_pays(game, *(str(card)[:-1] for card in pair)) for name, pair in pairs.items()}
    assert told(rules, laid) == right | printed.pays(game, printed.result(*worth))


def test_many_books_can_be_asked_in_turn() -> None:
    """Each keeps its own answers; those of books long ago are made again."""
    first = book("commission")
    for _ in range(2 * BOOKS_KEPT):
        other = replace(first)
        assert verdicts(other).book is other
    assert board(first) is board(first)


def test_what_is_made_of_a_few_books_is_made_once() -> None:
    """Tables of several games ask in turn."""
    books = [book(game) for game in GAMES]
    made = [verdicts(each) for each in books]
    assert all(verdicts(each) is one for each, one in zip(books, made, strict=True))


def test_a_standing_is_made_once() -> None:
    """Whoever comes to the same cards' worth finds the same one, so that settling only looks up."""
    start = board(book("commission")).at((), ())
    assert start.after(1) is start.after(1)
