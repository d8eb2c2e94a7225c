"""The limits of a table, compared with arithmetic by hand or by a second computation."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.rules.bets import PlacedBet
from shoed.rules.book import Rule
from shoed.rules.house_rules import DifferentialReading, TableLimits
from shoed.rules.limits import close
from shoed.rules.load import book
from tests.tables import column, largest, noted, refusals, table

BOTH = pytest.mark.parametrize("game", ["commission", "super-six-plus"])
SILENT = pytest.mark.parametrize("game", ["fortune-six", "easy-six", "tournament"])
BANKER_WINS = "2S 3H 4D 6C"  # player 6, banker 9
PLAYER_WINS = "4S 3H 5D 4C"  # player 9, banker 7


@pytest.mark.clause("C 5.1.1", "I 5.1.1", "C 1.5", "I 1.5", "C 3.4", "I 3.4")
@BOTH
def test_the_heavy_side_plays_at_the_light_side_and_the_differential(game: str) -> None:
    """H is 41000, L 5000 and D 10000: the factor of the heavy side is 15000 / 41000 for all its bets."""
    placed = "1 a player 20000; 2 b player 21000; 3 c banker 5000; 3 c tie 90000"
    answer = table(game, PLAYER_WINS, placed, limits={"differential": 10000})
    assert column(answer, "effective") == ["300000/41", "315000/41", "5000", "90000"]
    assert column(answer, "winnings") == [7317, 7682, -5000, -90000]
    assert column(answer, "returned") == [20000, 21000, 0, 0]
    assert column(answer, "remainder") == ["3/41", "38/41", "0", "0"]
    assert noted(answer) == [(0, "pro-rated", "5.1.1"), (1, "pro-rated", "5.1.1")]
    assert answer["house"] == 5000 + 90000 - 7317 - 7682


@pytest.mark.clause("C 5.1.1", "I 5.1.1")
@BOTH
def test_a_pro_rated_bet_loses_its_effective_stake(game: str) -> None:
    """The loss is rounded like a win, and the rest of the stake is returned."""
    placed = "1 a player 20000; 2 b player 21000; 3 c banker 5000"
    down = table(game, BANKER_WINS, placed, limits={"differential": 10000})
    assert column(down, "winnings")[:2] == [-7317, -7682]
    assert column(down, "returned")[:2] == [20000 - 7317, 21000 - 7682]
    half_up = table(game, BANKER_WINS, placed, limits={"differential": 10000}, rounding="half-up")
    assert column(half_up, "winnings")[:2] == [-7317, -7683]
    assert column(half_up, "remainder")[:2] == ["3/41", "-3/41"]


@pytest.mark.clause("C 5.1", "C 5.1.1", "I 5.1", "I 5.1.1")
@BOTH
def test_with_the_reading_box_the_differential_limits_each_box(game: str) -> None:
    """Seat 1's Player box has 30000 and D is 10000: the factor is a third. The other boxes are within the limit."""
    placed = "1 a player 20000; 1 b player 10000 standing; 2 c player 10000; 1 a banker 4000"
    answer = table(game, PLAYER_WINS, placed, limits={"differential": 10000, "reading": "box"})
    assert column(answer, "effective") == ["20000/3", "10000/3", "10000", "4000"]


@pytest.mark.clause("C 1.5", "I 1.5")
@BOTH
def test_a_difference_of_exactly_the_differential_is_allowed(game: str) -> None:
    """One unit more is not."""
    for more, effective in ((0, ["15000"]), (1, ["15000"])):
        placed = f"1 a player {15000 + more}; 2 b banker 5000"
        answer = table(game, PLAYER_WINS, placed, limits={"differential": 10000})
        assert column(answer, "effective")[:1] == effective
        assert len(noted(answer)) == more


@pytest.mark.clause("C 5.1.1", "I 5.1.1")
@BOTH
def test_pro_rata_stops_at_the_minimum(game: str) -> None:
    """400 at the factor 99/404 would be below 100: it plays at 100, and no other bet is reduced."""
    placed = "1 a player 40000; 2 b player 400"
    answer = table(game, PLAYER_WINS, placed, limits={"differential": 10000, "minimum": 100})
    assert column(answer, "effective") == [str(Fraction(40000 * 10000, 40400)), "100"]
    assert noted(answer) == [(0, "pro-rated", "5.1.1"), (1, "at-minimum", "5.1.1")]


@pytest.mark.clause("C 5.1.2", "I 5.1.2", "C 5.2.1", "I 5.2.1")
@BOTH
def test_a_bet_below_the_minimum_is_never_scaled(game: str) -> None:
    """It counts in the total of its side and plays in full."""
    placed = "1 a player 40000; 2 b player 50"
    answer = table(game, PLAYER_WINS, placed, limits={"differential": 10000, "minimum": 100})
    assert column(answer, "effective") == [str(Fraction(40000 * 10000, 40050)), "50"]
    assert noted(answer) == [(0, "pro-rated", "5.1.1"), (1, "not-pro-rated", "5.1.2")]


@pytest.mark.clause("C 5.2.1", "I 5.2.1")
@BOTH
def test_an_unnoticed_bet_below_the_minimum_plays_in_full(game: str) -> None:
    """The player wins or loses it."""
    answer = table(game, PLAYER_WINS, "1 a player 99", limits={"minimum": 100})
    assert column(answer, "winnings") == [99]
    assert noted(answer) == [(0, "below-minimum-plays", "5.2.1")]


@pytest.mark.clause("C 5.2", "I 5.2", "C 3.4", "I 3.4", "C 3.5", "I 3.5")
@BOTH
def test_a_noticed_bet_below_the_minimum_of_its_kind_is_refused(game: str) -> None:
    """Each kind of bet may have its own minimum."""
    placed = "1 a player 99; 1 a tie 50; 1 a player-pair 99; 1 b tie 49"
    answer = table(game, PLAYER_WINS, placed, limits={"minimum": 100, "minimums": {"tie": 50}}, noticed=True)
    assert refusals(answer) == [(0, "below-minimum", "5.2"), (2, "below-minimum", "5.2"), (3, "below-minimum", "5.2")]
    assert column(answer, "bet") == ["tie"]


@pytest.mark.clause("C 5.1", "I 5.1", "C 1.17", "C 1.18", "I 1.19", "I 1.20")
@BOTH
def test_noticed_bets_are_accepted_seated_first_then_in_order_of_time(game: str) -> None:
    """Player is limited to 5000 + 10000: seated a and c are accepted before b, who stands and was first."""
    placed = "1 b player 6000 standing; 1 a player 8000; 2 c player 4000; 3 d banker 5000; 4 e player 1 standing"
    answer = table(game, PLAYER_WINS, placed, limits={"differential": 10000}, noticed=True)
    assert refusals(answer) == [(0, "over-differential", "5.1"), (4, "over-differential", "5.1")]
    assert largest(answer) == {0: 3000, 4: 0}
    assert column(answer, "bettor") == ["b", "a", "c", "d"]
    assert column(answer, "stake") == [3000, 8000, 4000, 5000]
    assert column(answer, "effective") == ["3000", "8000", "4000", "5000"]


@pytest.mark.clause("C 5.1", "I 5.1")
@BOTH
def test_noticed_excess_is_computed_at_the_close(game: str) -> None:
    """The light side counts in full, whenever it was placed."""
    limits = {"differential": 1000}
    first = table(game, PLAYER_WINS, "1 a player 3000; 2 b banker 2000", limits=limits, noticed=True)
    last = table(game, PLAYER_WINS, "2 b banker 2000; 1 a player 3000", limits=limits, noticed=True)
    assert first["refused"] == last["refused"] == []


@pytest.mark.clause("C 5.1", "I 5.1")
@BOTH
def test_noticed_excess_of_a_box_is_refused_in_that_box(game: str) -> None:
    """Each box is limited to the differential, whatever the other boxes hold."""
    placed = "1 a player 700; 1 b player 700 standing; 2 c player 1000; 3 d banker 5000"
    answer = table(game, PLAYER_WINS, placed, limits={"differential": 1000, "reading": "box"}, noticed=True)
    assert largest(answer) == {1: 300, 3: 1000}
    assert column(answer, "stake") == [700, 300, 1000, 1000]


@pytest.mark.clause("C 3.6", "I 3.6", "C 3.5", "I 3.5")
@BOTH
def test_the_rest_of_a_box_is_open_to_other_players(game: str) -> None:
    """A box is a seat and a bet: the excess of one is refused, and the next box has its own maximum."""
    placed = "1 a player 300; 1 b player 150 standing; 1 c player 100 standing; 1 b banker 500; 2 b player 400"
    answer = table(game, PLAYER_WINS, placed, limits={"maximum": 500}, noticed=True)
    assert refusals(answer) == [(2, "over-maximum", "3.6")]
    assert largest(answer) == {2: 50}
    assert column(answer, "stake") == [300, 150, 50, 500, 400]


@pytest.mark.clause("C 3.6", "I 3.6")
@BOTH
def test_unnoticed_excess_over_the_maximum_plays(game: str) -> None:
    """It is not scaled."""
    answer = table(game, PLAYER_WINS, "1 a player 900", limits={"maximum": 500})
    assert (answer["refused"], column(answer, "winnings")) == ([], [900])


@BOTH
def test_a_bet_over_two_limits_is_named_once(game: str) -> None:
    """The refusal has the stake that was accepted in the end."""
    limits = {"maximum": 500, "differential": 200}
    answer = table(game, PLAYER_WINS, "1 a player 900; 2 b banker 100", limits=limits, noticed=True)
    assert refusals(answer) == [(0, "over-differential", "5.1")]
    assert largest(answer) == {0: 300}


@pytest.mark.clause("C 5.2", "C 3.6", "I 5.2", "I 3.6")
@BOTH
def test_a_bet_below_the_minimum_uses_no_room_in_its_box(game: str) -> None:
    """It is refused first. A bet that is reduced to the rest of a box is not refused as too small."""
    limits = {"minimum": 100, "maximum": 500}
    answer = table(game, PLAYER_WINS, "1 a player 50; 1 b player 500", limits=limits, noticed=True)
    assert refusals(answer) == [(0, "below-minimum", "5.2")]
    assert column(answer, "stake") == [500]
    cut = table(game, PLAYER_WINS, "1 a player 450; 1 b player 100", limits=limits, noticed=True)
    assert (refusals(cut), column(cut, "stake")) == ([(1, "over-maximum", "3.6")], [450, 50])
    assert noted(cut) == []  # it was noticed: 5.2.1 does not apply


@pytest.mark.clause("C 5.2.1", "I 5.2.1", "C 5.1.1", "I 5.1.1")
@BOTH
def test_a_bet_of_exactly_the_minimum_is_not_below_it(game: str) -> None:
    """A bet that plays for exactly the minimum has no note; pro rata stops at the bet itself."""
    assert noted(table(game, PLAYER_WINS, "1 a player 100", limits={"minimum": 100})) == []
    assert table(game, PLAYER_WINS, "1 a player 100", limits={"minimum": 100}, noticed=True)["refused"] == []
    beside = table(
        game, PLAYER_WINS, "1 a player 40000; 2 b player 100", limits={"minimum": 100, "differential": 10000}
    )
    assert (column(beside, "effective")[1], noted(beside)[1]) == ("100", (1, "at-minimum", "5.1.1"))
    half = table(game, PLAYER_WINS, "1 a player 200; 2 b player 200", limits={"minimum": 100, "differential": 200})
    assert column(half, "effective") == ["100", "100"]
    assert noted(half) == [(0, "pro-rated", "5.1.1"), (1, "pro-rated", "5.1.1")]


@SILENT
def test_a_game_without_limits_ignores_them(game: str) -> None:
    """Its document does not mention them."""
    limits = {"minimum": 1000, "maximum": 10, "differential": 1}
    for noticed in (False, True):
        answer = table(game, PLAYER_WINS, "1 a player 500", limits=limits, noticed=noticed)
        assert (answer["refused"], column(answer, "effective"), noted(answer)) == ([], ["500"], [])


Stakes = st.lists(st.tuples(st.sampled_from(["player", "banker"]), st.integers(1, 10**6), st.booleans()), max_size=9)


@given(Stakes, st.integers(0, 10**5), st.integers(0, 500), st.sampled_from(DifferentialReading))
def test_pro_rata_stays_within_its_bounds(
    stakes: list[tuple[str, int, bool]], differential: int, minimum: int, reading: DifferentialReading
) -> None:
    """A bet plays for at most its stake, for at least the minimum or its stake, and a light side in full."""
    bets = {at: PlacedBet(at % 3 + 1, str(at), bet, stake, stood) for at, (bet, stake, stood) in enumerate(stakes)}
    limits = TableLimits(minimum=minimum, differential=differential, reading=reading)
    held, refused = close(book("commission"), bets, limits, noticed=False)
    assert refused == []
    for at, bet in bets.items():
        assert min(minimum, bet.stake) <= held[at].effective <= bet.stake
    sides = {side: sum(bet.stake for bet in bets.values() if bet.bet == side) for side in ("player", "banker")}
    light = min(sides, key=lambda side: sides[side])
    if reading is DifferentialReading.SIDE:
        assert all(held[at].effective == bet.stake for at, bet in bets.items() if bet.bet == light)
        if minimum == 0:
            played = {
                side: sum((held[at].effective for at in bets if bets[at].bet == side), Fraction()) for side in sides
            }
            assert abs(played["player"] - played["banker"]) <= differential


@given(Stakes, st.integers(0, 10**5), st.sampled_from(DifferentialReading))
def test_noticed_bets_end_within_the_differential(
    stakes: list[tuple[str, int, bool]], differential: int, reading: DifferentialReading
) -> None:
    """The refused part is exactly the excess, to the unit."""
    bets = {at: PlacedBet(at % 3 + 1, str(at), bet, stake, stood) for at, (bet, stake, stood) in enumerate(stakes)}
    held, _ = close(book("commission"), bets, TableLimits(differential=differential, reading=reading), noticed=True)
    groups: dict[tuple[int, str], list[int]] = {}
    for at, bet in bets.items():
        groups.setdefault((bet.seat if reading is DifferentialReading.BOX else 0, bet.bet), []).append(at)
    placed = {key: sum(bets[at].stake for at in group) for key, group in groups.items()}
    for (seat, side), group in groups.items():
        other = (
            placed.get((seat, "banker" if side == "player" else "player"), 0)
            if reading is DifferentialReading.SIDE
            else 0
        )
        accepted = sum(held[at].placed.stake for at in group if at in held)
        assert accepted == min(placed[seat, side], other + differential)


def test_a_book_without_a_minimum_ignores_it() -> None:
    """Pro rata may leave less than one unit of a bet."""
    rules = book("commission")
    without = msgspec.structs.replace(
        rules, rules={each: why for each, why in rules.rules.items() if each is not Rule.MINIMUM}
    )
    bets = {0: PlacedBet(1, "a", "player", 1), 1: PlacedBet(2, "b", "player", 3)}
    held, _ = close(without, bets, TableLimits(minimum=100, differential=1), noticed=False)
    assert [each.effective for each in held.values()] == [Fraction(1, 4), Fraction(3, 4)]


LIMIT_RULES = [rule for rule in list(Rule)[list(Rule).index(Rule.MINIMUM) :] if rule in book("commission").rules][:10]


@pytest.mark.parametrize("rule", LIMIT_RULES, ids=lambda rule: rule.value)
def test_every_rule_of_limits_in_a_book_has_an_effect(rule: Rule) -> None:
    """Without it, an effective stake, a refusal or a note changes."""
    rules = book("commission")
    without = msgspec.structs.replace(rules, rules={each: why for each, why in rules.rules.items() if each is not rule})
    bets = {
        0: PlacedBet(1, "a", "player", 4000, standing=True),
        1: PlacedBet(1, "b", "player", 4000),
        2: PlacedBet(2, "c", "player", 110),
        3: PlacedBet(3, "d", "player", 50),
        4: PlacedBet(4, "e", "banker", 1000),
        5: PlacedBet(5, "f", "tie", 50),
    }
    limits = TableLimits(minimum=100, maximum=6000, differential=2000)
    changed = [
        close(rules, bets, limits, noticed=noticed) != close(without, bets, limits, noticed=noticed)
        for noticed in (False, True)
    ]
    assert len(LIMIT_RULES) == 10
    assert any(changed)
