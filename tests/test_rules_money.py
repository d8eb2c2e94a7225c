"""The acceptance of insurance and the settlement of whole tables, with sums computed by hand."""

from fractions import Fraction

import msgspec
import pytest

from shoed.cli.rules.page import MODULE_OF_RULE
from shoed.model.cards import Card
from shoed.model.irregularities import Stage
from shoed.rules.bets import PlacedBet
from shoed.rules.house_rules import Rounding
from shoed.rules.irregular import course
from shoed.rules.limits import EffectiveBet
from shoed.rules.load import book
from shoed.rules.money import InsuranceTerms, insure
from shoed.rules.questions import Inquiry
from tests.printed import GAMES
from tests.tables import P5_B4, P7_B3, P9, I, column, largest, refusals, table, with_irregularity

P1 = f"{P5_B4} 6C"  # Banker insurance at 7:1
NATURAL = "4S 3H 5D 4C"


@pytest.mark.clause("I 4.1.1", "F 4.1", "E 4.1.1", "T 4.1.1", "C 4.1.1", "C 4.1.2")
@pytest.mark.parametrize(
    ("game", "winnings", "remainder"),
    [
        ("commission", 960, "9/20"),
        (I, 505, "1/2"),
        ("fortune-six", 505, "1/2"),
        ("easy-six", 505, "1/2"),
        ("tournament", 505, "1/2"),
    ],
)
def test_banker_on_six_pays_half_or_a_commission_is_deducted(game: str, winnings: int, remainder: str) -> None:
    """A stake of 1011 is rounded down once; the odds include the commission."""
    answer = table(game, "QS 2H 3D 4C 2C", "1 a banker 1011")  # player 5, banker 6
    assert answer["outcome"] == "banker"
    assert column(answer, "winnings") == [winnings]
    assert column(answer, "remainder") == [remainder]
    assert column(answer, "returned") == [1011]


@pytest.mark.parametrize(
    ("magnitude", "down", "half_up"),
    [("5", 5, 5), ("11/2", 5, 6), ("549/100", 5, 5), ("551/100", 5, 6), ("1/2", 0, 1), ("0", 0, 0)],
)
def test_rounding_acts_on_the_magnitude(magnitude: str, down: int, half_up: int) -> None:
    """Half a unit is rounded up, or everything is rounded down."""
    assert Rounding.DOWN.whole(Fraction(magnitude)) == down
    assert Rounding.HALF_UP.whole(Fraction(magnitude)) == half_up


def test_a_returned_bet_has_no_winnings_and_no_remainder() -> None:
    """A void round returns the whole stake; an open bet returns nothing yet."""
    void = table("easy-six", "QS 2H 6D 3C KC", "1 a player 110", **with_irregularity("foreign-card", at=1))
    assert [column(void, name) for name in ("winnings", "returned", "remainder")] == [[0], [110], ["0"]]
    still_open = table("easy-six", "QS 2H", "1 a player 110")
    assert [column(still_open, name) for name in ("winnings", "returned", "remainder")] == [[0], [0], ["0"]]


def test_a_remainder_is_the_exact_less_the_rounded_magnitude() -> None:
    """It is negative if half a unit was rounded up."""
    answer = table("easy-six", "QS 2H 6D 3C KC", "1 a player 110", rounding="half-up")  # player wins on 6: 1.05
    assert (column(answer, "winnings"), column(answer, "remainder")) == ([116], ["-1/2"])
    assert table("easy-six", "QS 2H 6D 3C KC", "1 a player 110")["settlement"][0]["remainder"] == "1/2"


@pytest.mark.clause("C 3.14", "I 3.17", "F 3.10.1", "E 3.8", "T 3.9")
@pytest.mark.parametrize("game", GAMES)
def test_a_tie_returns_the_stakes_on_both_hands(game: str) -> None:
    """Their winnings are 0; the tie bet is paid."""
    answer = table(game, "3S 4H 4D 3C", "1 a player 100; 2 b banker 200; 2 b tie 10")
    assert answer["outcome"] == "tie"
    assert column(answer, "pays") == ["push", "push", "8:1"]
    assert column(answer, "winnings") == [0, 0, 80]
    assert column(answer, "returned") == [100, 200, 10]
    assert answer["house"] == -80


def test_an_open_bet_is_not_settled() -> None:
    """In an incomplete round only decided bets have won or lost."""
    answer = table(I, P7_B3, "1 a player 100; 1 a player-pair 50")
    assert answer["outcome"] is None
    assert column(answer, "pays") == [None, "lose"]
    assert column(answer, "winnings") == [0, -50]
    assert column(answer, "clause") == [None, "1.15"]


# ---------------------------------------------------------------------------------------------- insurance


@pytest.mark.clause("I 3.11", "I 4.1.2", "I 4.2.1", "I 3.17")
@pytest.mark.parametrize(
    ("third", "pays", "winnings", "returned", "clause"),
    [("JH", "lose", -250, 0, "4.1.2"), ("5H", "4:1", 1000, 250, "4.1.2"), ("4H", "push", 0, 250, "3.17")],
)
def test_insurance_pays_when_its_hand_loses(third: str, pays: str, winnings: int, returned: int, clause: str) -> None:
    """It loses if the hand wins, and is returned on a tie."""
    answer = table(I, f"{P7_B3} {third}", "1 a player 1000; 1 a player-insurance 250 after-four")
    row = answer["settlement"][1]
    assert (row["pays"], row["winnings"], row["returned"], row["clause"]) == (pays, winnings, returned, clause)
    assert row["stage"] == "after-four"


@pytest.mark.clause("I 3.17", "I 4.2.1", "I 4.1.2")
def test_on_nine_against_nine_only_insurance_placed_on_nine_is_paid() -> None:
    """Insurance placed after four cards is returned."""
    placed = "1 a player 1000; 1 a player-insurance 100 after-four; 1 a player-insurance 100 after-player-third"
    nine = table(I, f"{P9} 5H", placed)
    assert column(nine, "pays") == ["push", "push", "8:1"]
    assert column(nine, "winnings") == [0, 0, 800]
    less = table(I, f"{P9} 4H", placed)
    assert column(less, "pays") == ["1:1", "lose", "lose"]


@pytest.mark.clause("I 4.1.2", "I 3.12")
def test_the_row_of_one_against_one_is_real() -> None:
    """Banker insurance at 6:1."""
    answer = table(I, "KS KH 3D AD 8C 9C", "1 a banker 600; 1 a banker-insurance 100 after-player-third")
    assert (answer["outcome"], column(answer, "winnings")) == ("player", [-600, 600])


@pytest.mark.clause("I 3.12.1")
@pytest.mark.parametrize(
    ("cards", "bet", "stage"),
    [
        (f"{P5_B4} KC", "player-insurance", "after-player-third"),  # the totals are in a row; Banker stands
        (NATURAL, "player-insurance", "after-four"),
        (P7_B3, "player-insurance", "after-player-third"),  # Player drew none
        ("QS 3H 7D", "player-insurance", "after-four"),
    ],
)
def test_insurance_is_not_offered_if_no_card_can_change_the_result(cards: str, bet: str, stage: str) -> None:
    """It is not offered before its stage either."""
    answer = table(I, cards, f"1 a player 1000; 1 a {bet} 1 {stage}")
    assert refusals(answer) == [(1, "no-offer", "3.12.1")]


@pytest.mark.clause("I 4.1.2")
@pytest.mark.parametrize(
    ("cards", "bet", "stage"),
    [
        ("2S 3H 3D 2D", "player-insurance", "after-four"),  # P5 v B5
        (P7_B3, "banker-insurance", "after-four"),  # P7 v B3 insures Player alone
        ("2S 2H 3D 3D 8C", "banker-insurance", "after-player-third"),  # P3 v B5: the row is B4
        ("2S 2H 3D 2D 9C", "banker-insurance", "after-player-third"),  # P4
    ],
)
def test_a_gap_in_the_rows_is_not_filled(cards: str, bet: str, stage: str) -> None:
    """No insurance is offered between the printed rows."""
    answer = table(I, cards, f"1 a player 1000; 1 a banker 1000; 1 a {bet} 1 {stage}")
    assert [code for _, code, _ in refusals(answer)] == ["no-offer"]


@pytest.mark.clause("I 3.12.2")
def test_the_cap_applies_to_both_stages_together() -> None:
    """300 at 2:1 leaves 400 of 1000: 50 at 8:1 is accepted, 51 is not."""
    placed = "1 a player 1000; 1 a player-insurance 300 after-four; 1 a player-insurance {} after-player-third"
    assert table(I, P9, placed.format(50))["refused"] == []
    answer = table(I, P9, placed.format(51))
    assert refusals(answer) == [(2, "over-cap", "3.12.2")]
    assert largest(answer) == {2: 50}
    assert column(answer, "bet") == ["player", "player-insurance"]


@pytest.mark.clause("I 3.12.2")
def test_the_cap_applies_to_several_insurance_bets_of_one_stage() -> None:
    """They are accepted in order of time."""
    placed = "1 a player 1000; 1 a player-insurance 200 after-four; 1 a player-insurance 60 after-four"
    assert largest(table(I, P7_B3, placed)) == {2: 50}


@pytest.mark.clause("I 3.12.2")
def test_the_cap_is_the_effective_original_bet() -> None:
    """300000/41 at 4:1 leaves room for 1829."""
    placed = "1 a player 20000; 2 b player 21000; 3 c banker 5000; 1 a player-insurance 1830 after-four"
    assert largest(table(I, P7_B3, placed, limits={"differential": 10000})) == {3: 1829}


@pytest.mark.clause("I 3.12.2")
def test_a_bettor_on_both_hands_has_two_caps() -> None:
    """Player insurance does not use the cap of Banker insurance."""
    placed = (
        "1 a player 1000; 1 a banker 1000; 1 a player-insurance 500 after-four;"
        "1 a banker-insurance 142 after-player-third; 1 a banker-insurance 1 after-player-third"
    )
    answer = table(I, P1, placed)
    assert refusals(answer) == [(4, "over-cap", "3.12.2")]
    assert largest(answer) == {4: 0}


@pytest.mark.clause("I 3.11", "I 1.12")
def test_insurance_requires_an_own_original_bet_on_the_hand() -> None:
    """A bet of a neighbour, on the other hand, or a side bet is not sufficient."""
    placed = (
        "1 a player 1000; 2 b banker 1000; 3 c tie 10; 2 b player-insurance 1 after-four;"
        "3 c player-insurance 1 after-four; 4 d player-insurance 1 after-four"
    )
    answer = table(I, P7_B3, placed)
    assert refusals(answer) == [(at, "no-original-bet", "3.11") for at in (3, 4, 5)]


@pytest.mark.clause("I 5.3")
def test_a_bettor_who_does_not_accept_an_offer_forgoes_insurance() -> None:
    """A standing player too. It does not apply to a bettor without the offer, or under the milder house rule."""
    placed = (
        "1 a player 1000; 1 b player 1000 standing; 2 c banker 1000; 2 c player 100; 1 a player-insurance 1 after-four;"
        "1 a player-insurance 1 after-player-third; 1 b player-insurance 1 after-player-third"
    )
    answer = table(I, P9, placed)
    assert refusals(answer) == [(6, "forgone", "5.3")]
    assert table(I, P9, placed, insurance_forgone="stage")["refused"] == []
    other = table(I, P1, "2 c banker 1000; 2 c banker-insurance 1 after-player-third")
    assert other["refused"] == []
    both = table(I, P1, "2 c banker 1000; 2 c player 10; 2 c banker-insurance 1 after-player-third")
    assert refusals(both) == [(2, "forgone", "5.3")]


@pytest.mark.clause("I 5.3")
def test_a_bettor_who_walks_away_forgoes_insurance() -> None:
    """Insurance that was placed before plays."""
    placed = "1 a player 1000; 1 a player-insurance 1 after-four; 1 a player-insurance 1 after-player-third"
    for cards_drawn, refused in ((0, [1, 2]), (4, [2])):
        walked_away = [{"kind": "walked-away", "bettor": "a", "at": cards_drawn}]
        answer = table(I, P9, placed, irregularities=walked_away)
        assert refusals(answer) == [(position, "forgone", "5.3") for position in refused]


@pytest.mark.clause("I 3.14")
def test_a_squeeze_waives_insurance_after_players_third_card() -> None:
    """It applies to all bettors; insurance after four cards is not affected."""
    placed = "1 a player 1000; 1 a player-insurance 1 after-four; 1 a player-insurance 1 after-player-third"
    assert refusals(table(I, P9, placed, squeeze=True)) == [(2, "waived", "3.14")]


@pytest.mark.clause("I 4.2.2")
def test_a_table_may_have_no_insurance() -> None:
    """Insurance of both stages is refused."""
    placed = "1 a player 1000; 1 a player-insurance 1 after-four; 1 a player-insurance 1 after-player-third"
    assert refusals(table(I, P9, placed, insurance="off")) == [
        (1, "insurance-off", "4.2.2"),
        (2, "insurance-off", "4.2.2"),
    ]


@pytest.mark.clause("I 5.2")
def test_insurance_has_its_own_minimum() -> None:
    """The minimum of other bets does not apply to insurance."""
    placed = "1 a player 1000; 1 a player-insurance 5 after-four"
    assert table(I, P7_B3, placed, limits={"minimum": 100}, noticed=True)["refused"] == []
    limits = {"minimum": 100, "minimums": {"player-insurance": 10}}
    assert refusals(table(I, P7_B3, placed, limits=limits, noticed=True)) == [(1, "below-minimum", "5.2")]


@pytest.mark.clause("I 5.2.1")
def test_unnoticed_insurance_below_its_minimum_is_accepted() -> None:
    """An offer with room for a smaller stake alone was then available to the bettor."""
    limits = {"minimums": {"player-insurance": 10}}
    placed = "1 a player 1000; 1 a player-insurance 5 after-four"
    assert table(I, P7_B3, placed, limits=limits)["refused"] == []
    small = "1 a player 8; 1 a player-insurance 1 after-player-third"  # at 2:1, then at 8:1
    for noticed, refused in ((False, ["forgone"]), (True, ["below-minimum"])):
        answer = table(I, P9, small, limits=limits, noticed=noticed)
        assert [code for _, code, _ in refusals(answer)] == refused


@pytest.mark.clause("I 2.1.1")
def test_insurance_requires_an_existing_seat() -> None:
    """At a table without a layout any seat is accepted."""
    placed = "5 a player 1000; 6 a player-insurance 250 after-four"
    answer = table(I, P7_B3, placed, layout="mini-5")
    assert (refusals(answer), column(answer, "bet")) == ([(1, "no-such-seat", "2.1.1")], ["player"])
    assert table(I, P7_B3, placed)["refused"] == []


@pytest.mark.clause("I 3.12.1", "I 4.1.2")
@pytest.mark.parametrize(
    ("cards", "stage", "clause", "text"),
    [
        ("QS 3H 7D", "after-four", "3.12.1", "insurance after four is not offered before those cards are drawn"),
        (
            P5_B4,
            "after-player-third",
            "3.12.1",
            "insurance after player third is not offered before those cards are drawn",
        ),
        (P7_B3, "after-player-third", "3.12.1", "insurance after player third is not offered, because no card is due"),
        (NATURAL, "after-four", "3.12.1", "insurance after four is not offered, because no card is due"),
        ("2S 3H 3D 2D", "after-four", "4.1.2", "no row for player-insurance after four"),  # 5 against 5
    ],
)
def test_a_refusal_of_insurance_states_its_reason(cards: str, stage: str, clause: str, text: str) -> None:
    """The stage is ahead, no card is due, or the table has no row for these points."""
    (refusal,) = table(I, cards, f"1 a player 1000; 1 a player-insurance 1 {stage}")["refused"]
    assert refusal["clause"] == clause
    assert text in refusal["message"]


@pytest.mark.clause("I 3.12.1", "I 5.18")
def test_insurance_without_any_possible_offer_is_refused_during_a_question() -> None:
    """Insurance waits for cards of unknown order, not for a ruling. A stage that is ahead waits for both."""
    other = [{"kind": "other"}]
    placed = "1 a player 1000; 1 a player-insurance 1 after-four"
    assert refusals(table(I, "2S 3H 3D 2D", placed, irregularities=other)) == [(1, "no-offer", "4.1.2")]
    assert table(I, "QS 3H 7D", placed, irregularities=other)["refused"] == []


@pytest.mark.clause("I 3.14", "I 4.2.2", "I 5.3")
@pytest.mark.parametrize(
    ("terms", "passed"),
    [
        (InsuranceTerms(), 1),
        (InsuranceTerms(squeeze=True), 0),
        (InsuranceTerms(on=False), 0),
        (InsuranceTerms(left={"a": 4}), 0),
        (InsuranceTerms(left={"a": 5}), 1),
    ],
)
def test_only_an_available_offer_is_forgone(terms: InsuranceTerms, passed: int) -> None:
    """Player drew without an offer after four cards. The offer on 9 requires insurance and a present bettor."""
    rules = book(I)
    held = {0: EffectiveBet(PlacedBet(1, "a", "player", 1000), Fraction(1000))}
    found = course(rules, [*map(Card.parse, ["2S", "3H", "2D", "KD", "5C"])], [], Inquiry([]))  # 4 against 3, then 9
    assert len(insure(rules, {}, found, held, terms).passed) == passed


def test_a_book_without_minimums_accepts_small_insurance() -> None:
    """A minimum has no effect, noticed or not."""
    rules, bet = book(I), PlacedBet(1, "a", "player-insurance", 5, stage=Stage.AFTER_FOUR)
    held = {0: EffectiveBet(PlacedBet(1, "a", "player", 1000), Fraction(1000))}
    found = course(rules, [*map(Card.parse, P7_B3.split())], [], Inquiry([]))
    terms = InsuranceTerms(minimums={"player-insurance": 10})
    assert [refusal.clause for refusal in insure(rules, {1: bet}, found, held, terms).refused] == ["5.2"]
    unlimited = {rule: ground for rule, ground in rules.rules.items() if MODULE_OF_RULE[rule.value] != "rules/limits"}
    free = insure(msgspec.structs.replace(rules, rules=unlimited), {1: bet}, found, held, terms)
    assert (list(free.insured), free.refused) == ([1], ())


@pytest.mark.clause("I 5.10", "I 3.11")
def test_insurance_waits_for_the_order_of_the_cards() -> None:
    """Its offer depends on the answer; insurance without any possible offer is refused at once."""
    together = [{"kind": "drawn-together", "at": 3}]  # Player 5, Banker 4, or Player 0 and Banker a natural
    placed = "1 a player 1000; 1 a player-insurance 100 after-four; 2 b player-insurance 100 after-four"
    waiting = table(I, "KS 4H 5D KC 3H 5S", placed, irregularities=together)
    assert refusals(waiting) == [(2, "no-original-bet", "3.11")]
    assert column(waiting, "pays") == [None, None]
    for order, refused in (
        (["5D", "KC"], [(2, "no-original-bet", "3.11")]),
        (["KC", "5D"], [(1, "no-offer", "3.12.1"), (2, "no-offer", "3.12.1")]),
    ):
        decision = {"question": "card-order", "choice": order, "role": "pit-supervisor"}
        answer = table(I, "KS 4H 5D KC 3H 5S", placed, irregularities=together, decisions=[decision])
        assert refusals(answer) == refused
    void = table(I, "KS 4H 5D KC", placed, irregularities=[*together, {"kind": "not-shuffled"}])
    assert column(void, "returned") == [1000, 100]
