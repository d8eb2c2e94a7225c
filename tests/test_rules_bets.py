"""The bets that a bettor may place: their kinds, seats and phases."""

import msgspec
import pytest

from shoed.rules.bets import (
    LATE_CODES,
    BettingPhase,
    Change,
    PlacedBet,
    RefusalCode,
    apply_change,
    refuse_late,
    seats_of,
)
from shoed.rules.book import BetAction, Ground, Rule
from shoed.rules.load import book
from tests.printed import GAMES
from tests.tables import column, noted, refusals, table

CLAUSES_OF_LATE_CHANGES = {
    "commission": ("5.6", "5.6", "5.6"),
    "super-six-plus": ("5.6", "5.6", "5.6"),
    "fortune-six": ("5.6", "5.6", "5.7"),
    "easy-six": ("5.2", "5.2", "5.3"),
    "tournament": ("5.2", "5.2", "5.3"),
}
OPENS = dict(zip(GAMES, ("3.3", "3.3", "3.1", "3.1", "3.1"), strict=True))
CLOSES = dict(zip(GAMES, ("3.8", "3.8", "3.2", "3.2", "3.2"), strict=True))
SIDE_BETS = {
    "commission": "tie player-pair banker-pair",
    "super-six-plus": "tie player-pair banker-pair super-six-plus",
    "fortune-six": "tie player-pair banker-pair fortune-six",
    "easy-six": "tie player-pair banker-pair easy-six",
}
BANKER_WINS = "2S 3H 4D 6C"  # player 6, banker 9


@pytest.mark.clause("C 3.3", "I 3.3", "F 3.1", "E 3.1", "T 3.1")
@pytest.mark.parametrize("game", GAMES)
def test_bets_before_the_announcement_are_refused(game: str) -> None:
    """The clause is that of the announcement."""
    bet = PlacedBet(1, "a", "player", 100)
    layout, refused = apply_change(book(game), BettingPhase.BEFORE, (), Change(0, BetAction.BET, bet))
    assert layout == ()
    assert refused is not None
    assert (refused.code, refused.clause) == (RefusalCode.TOO_EARLY, OPENS[game])


@pytest.mark.clause("C 3.3", "I 3.3", "F 3.1", "E 3.1", "T 3.1")
@pytest.mark.parametrize("game", GAMES)
def test_open_bets_may_be_placed_increased_and_withdrawn(game: str) -> None:
    """A bettor may change bets until the close."""
    rules, small, large = book(game), PlacedBet(1, "a", "player", 100), PlacedBet(1, "a", "player", 300)
    placed, refused = apply_change(rules, BettingPhase.OPEN, (), Change(0, BetAction.BET, small))
    assert (placed, refused) == ((small,), None)
    increased, refused = apply_change(rules, BettingPhase.OPEN, placed, Change(0, BetAction.INCREASE, large))
    assert (increased, refused) == ((large,), None)
    withdrawn, refused = apply_change(rules, BettingPhase.OPEN, increased, Change(0, BetAction.WITHDRAWAL))
    assert (withdrawn, refused) == ((), None)


@pytest.mark.clause("C 3.8", "C 5.6", "I 3.8", "I 5.6", "F 3.2", "F 5.6", "F 5.7", "E 3.2", "E 5.2", "E 5.3")
@pytest.mark.clause("T 3.2", "T 5.2", "T 5.3")
@pytest.mark.parametrize("action", BetAction)
@pytest.mark.parametrize("game", GAMES)
def test_the_layout_does_not_change_after_the_close(game: str, action: BetAction) -> None:
    """A late bet, increase or withdrawal has no effect, by the document's own clause."""
    layout = (PlacedBet(1, "a", "player", 100),)
    change = {
        BetAction.BET: Change(1, BetAction.BET, PlacedBet(2, "b", "banker", 100)),
        BetAction.INCREASE: Change(0, BetAction.INCREASE, PlacedBet(1, "a", "player", 500)),
        BetAction.WITHDRAWAL: Change(0, BetAction.WITHDRAWAL),
    }[action]
    after, refused = apply_change(book(game), BettingPhase.CLOSED, layout, change)
    assert after == layout
    assert refused is not None
    clause = CLAUSES_OF_LATE_CHANGES[game][list(BetAction).index(action)]
    assert (refused.code, refused.clause) == (LATE_CODES[action], clause)
    assert f"({CLOSES[game]})" in refused.message
    assert refused.largest == (None if action is BetAction.BET else 100)


def test_a_close_without_a_clause_is_not_cited() -> None:
    """The message still states the refusal."""
    rules = book("commission")
    silent = {**rules.rules, Rule.BETS_CLOSE_WHEN_ANNOUNCED: Ground("", reading="ours")}
    assert (
        refuse_late(msgspec.structs.replace(rules, rules=silent), BetAction.BET, 0).message
        == "no more bets: the bet is refused"
    )


@pytest.mark.clause("C 5.6", "I 5.6", "F 5.6", "F 5.7", "E 5.2", "E 5.3", "T 5.2", "T 5.3")
@pytest.mark.parametrize("game", GAMES)
def test_late_changes_do_not_change_the_settlement(game: str) -> None:
    """A late bet has no row, a late increase does not play, and a bet withdrawn late plays."""
    answer = table(
        game,
        BANKER_WINS,
        "1 a player 100; 2 b banker 200; 3 c banker 300; 4 d player 400",
        irregularities=[
            {"kind": "late-bet", "bet": 0},
            {"kind": "late-increase", "bet": 1},
            {"kind": "late-withdrawal", "bet": 3},
        ],
    )
    bet, increase, withdrawal = CLAUSES_OF_LATE_CHANGES[game]
    assert refusals(answer) == [
        (0, "late-bet", bet),
        (1, "late-increase", increase),
        (3, "late-withdrawal", withdrawal),
    ]
    assert column(answer, "bettor") == ["b", "c", "d"]
    assert column(answer, "winnings")[2] == -400


@pytest.mark.clause("C 5.6", "I 5.6")
@pytest.mark.parametrize("game", ["commission", "super-six-plus"])
@pytest.mark.parametrize("kind", ["late-increase", "late-withdrawal"])
def test_a_refused_late_change_names_the_stake_that_plays(game: str, kind: str) -> None:
    """It is the stake after the limits. A bet that was refused for another reason has no such stake."""
    irregularities = [{"kind": kind, "bet": at} for at in (0, 1)]
    limits = {"minimum": 100, "maximum": 500}
    placed = "1 a player 600; 2 b player 50"
    answer = table(game, BANKER_WINS, placed, irregularities=irregularities, limits=limits, noticed=True)
    acts = [each for each in answer["refused"] if each["code"] == kind]
    assert [each.get("largest") for each in acts] == [500, None]
    assert column(answer, "stake") == [500]


@pytest.mark.clause("C 3.3", "I 3.3", "F 3.1", "E 3.1", "T 3.1")
@pytest.mark.parametrize("game", GAMES)
def test_an_early_bet_at_a_table_is_refused(game: str) -> None:
    """It has no row, and the clause is that of the announcement."""
    answer = table(game, BANKER_WINS, "1 a player 100", irregularities=[{"kind": "early-bet", "bet": 0}])
    assert (refusals(answer), answer["settlement"]) == ([(0, "too-early", OPENS[game])], [])


@pytest.mark.clause(
    "C 3.7", "I 3.7", "F 3.5", "E 3.3", "F 2.2.1", "F 2.2.2", "F 2.2.3", "F 2.2.4", "F 2.2.5", "E 2.1.3"
)
@pytest.mark.parametrize("game", SIDE_BETS)
def test_any_combination_of_bets_is_accepted(game: str) -> None:
    """Side bets require no hand, and one bettor may bet on both hands."""
    for side in SIDE_BETS[game].split():
        assert table(game, BANKER_WINS, f"1 a {side} 100")["refused"] == []
    assert table(game, BANKER_WINS, "1 a player 100; 1 a banker 100")["refused"] == []


@pytest.mark.clause("C 3.7", "I 3.7", "F 3.5", "E 3.3", "T 3.3", "T 2.1.3")
@pytest.mark.parametrize(
    ("game", "bet", "clause"),
    [
        ("commission", "super-six-plus", "3.7"),
        ("commission", "player-insurance", "3.7"),
        ("super-six-plus", "fortune-six", "3.7"),
        ("fortune-six", "easy-six", "3.5"),
        ("easy-six", "fortune-six", "3.3"),
        ("tournament", "super-six-plus", "3.3"),
        ("fortune-six", "dragon", "3.5"),
    ],
)
def test_a_bet_that_the_game_does_not_offer_is_refused(game: str, bet: str, clause: str) -> None:
    """The clause is the one that lists the bets; the other bets play."""
    answer = table(game, BANKER_WINS, f"1 a {bet} 100; 1 a player 100")
    assert refusals(answer) == [(0, "not-offered", clause)]
    assert column(answer, "bet") == ["player"]


@pytest.mark.clause("T 3.3")
def test_a_tournament_player_bets_on_one_hand_only() -> None:
    """The first bet decides the hand, at any seat; more bets on it are accepted."""
    answer = table("tournament", BANKER_WINS, "1 a player 100; 2 a banker 100; 3 a player 50; 2 b banker 100")
    assert refusals(answer) == [(1, "both-hands", "3.3")]
    assert column(answer, "winnings") == [-100, -50, 100]


@pytest.mark.clause("T 3.4")
def test_a_tournament_side_bet_requires_a_bet_on_a_hand() -> None:
    """It is refused alone, before the hand, and with the hand of another bettor."""
    answer = table("tournament", BANKER_WINS, "1 a tie 10; 1 a player 100; 1 a banker-pair 10; 1 b player-pair 10")
    assert refusals(answer) == [(0, "no-hand", "3.4"), (3, "no-hand", "3.4")]
    assert column(answer, "bet") == ["player", "banker-pair"]


LAST_SEATS = {
    "commission": {"bean-9": 9, "bean-7": 7, "mini-7": 7, "big-12": 12},
    "super-six-plus": {"bean-9": 9, "bean-8": 8, "bean-7": 7, "mini-7": 7, "mini-6": 6, "mini-5": 5},
    "easy-six": {"bean-9": 9, "bean-7": 7, "mini-7": 7},
    "tournament": {"bean-9": 9, "bean-7": 7, "mini-7": 7, "big-12": 12},
}


@pytest.mark.clause("C 2.1.1", "I 2.1.1", "E 2.1.1", "E 2.1.2", "T 2.1.1", "T 2.1.2")
@pytest.mark.parametrize(("game", "layout"), [(game, layout) for game in LAST_SEATS for layout in LAST_SEATS[game]])
def test_a_layout_has_its_number_of_seats(game: str, layout: str) -> None:
    """The last box accepts bets, and a box after it does not exist."""
    last = LAST_SEATS[game][layout]
    answer = table(game, BANKER_WINS, f"{last} a player 100; {last + 1} b player 100", layout=layout)
    assert refusals(answer) == [(1, "no-such-seat", "2.1.1")]
    assert column(answer, "seat") == [last]


@pytest.mark.clause("F 2.2")
def test_fortune_six_has_the_seats_of_its_table() -> None:
    """Its diagrams have no names: the table gives a number, or accepts any seat."""
    placed = "19 a player 100; 20 b player 100"
    assert refusals(table("fortune-six", BANKER_WINS, placed, seats=19)) == [(1, "no-such-seat", "2.2")]
    assert table("fortune-six", BANKER_WINS, placed)["refused"] == []
    assert table("fortune-six", BANKER_WINS, placed, layout="bean-9")["refused"] == []


def test_a_layout_that_the_game_does_not_have_is_an_error() -> None:
    """Its seats are unknown; without a layout any seat is accepted."""
    with pytest.raises(ValueError, match='"bean-9" or "bean-7" or "mini-7"'):
        seats_of(book("easy-six"), "big-12", None)
    assert seats_of(book("easy-six"), None, 3) is None


@pytest.mark.clause("C 5.16", "I 5.17")
@pytest.mark.parametrize(("game", "clause"), [("commission", "5.16"), ("super-six-plus", "5.17")])
def test_a_bet_placed_on_behalf_belongs_to_the_bettor(game: str, clause: str) -> None:
    """It plays like any other bet, and a note cites the responsibility of the player."""
    answer = table(game, BANKER_WINS, "1 a player 100 behalf")
    assert noted(answer) == [(0, "on-behalf", clause)]
    assert column(answer, "winnings") == [-100]


@pytest.mark.clause("C 5.13", "I 5.14")
@pytest.mark.parametrize(("game", "clause"), [("commission", "5.13"), ("super-six-plus", "5.14")])
def test_a_misplaced_bet_plays_where_it_is(game: str, clause: str) -> None:
    """A note cites the clause."""
    answer = table(game, BANKER_WINS, "1 a player 100", irregularities=[{"kind": "misplaced-bet", "bet": 0}])
    assert noted(answer) == [(0, "lies-as-it-lies", clause)]
    assert column(answer, "winnings") == [-100]


@pytest.mark.clause("C 5.3", "I 5.3.1")
@pytest.mark.parametrize(("game", "clause"), [("commission", "5.3"), ("super-six-plus", "5.3.1")])
def test_the_bets_of_a_player_who_walked_away_are_settled(game: str, clause: str) -> None:
    """They are settled like any other bets, with a note."""
    answer = table(game, BANKER_WINS, "1 a player 100", irregularities=[{"kind": "walked-away", "bettor": "a"}])
    assert noted(answer) == [(0, "walked-away", clause)]
    assert column(answer, "winnings") == [-100]


@pytest.mark.parametrize("game", ["fortune-six", "easy-six", "tournament"])
def test_a_silent_document_gives_no_note(game: str) -> None:
    """Bets on behalf, misplaced bets and bets of a player who left play without a note."""
    irregularities = [{"kind": "misplaced-bet", "bet": 0}, {"kind": "walked-away", "bettor": "a"}]
    answer = table(game, BANKER_WINS, "1 a player 100 behalf", irregularities=irregularities)
    assert noted(answer) == []
    assert column(answer, "winnings") == [-100]


@pytest.mark.parametrize("game", ["commission", "super-six-plus"])
def test_only_bets_that_play_have_notes(game: str) -> None:
    """Notes are in the order of the bets; a refused bet has its refusal alone."""
    irregularities = [
        {"kind": "walked-away", "bettor": "a"},
        {"kind": "misplaced-bet", "bet": 2},
        {"kind": "misplaced-bet", "bet": 3},
        {"kind": "late-bet", "bet": 3},
    ]
    placed = "1 a player 100; 2 b player 50 behalf; 3 c player 100; 4 d player 100; 5 a dragon 100"
    answer = table(game, BANKER_WINS, placed, irregularities=irregularities, limits={"minimum": 100}, noticed=True)
    assert [(bet, remark) for bet, remark, _ in noted(answer)] == [(0, "walked-away"), (2, "lies-as-it-lies")]
    assert [(bet, code) for bet, code, _ in refusals(answer)] == [
        (1, "below-minimum"),
        (3, "late-bet"),
        (4, "not-offered"),
    ]
