"""Insurance that the dealer did not offer: the Original Bets that are returned, and the deciding role."""

from typing import Any

import msgspec
import pytest

from shoed.model.irregularities import IrregularityKind, Stage
from shoed.rules.book import IrregularityRow, Then
from shoed.rules.irregular import Irregularity, course
from shoed.rules.load import book
from shoed.rules.neglected_insurance import InsuranceState, neglected
from shoed.rules.questions import Inquiry
from tests.dealing import cards_in
from tests.tables import P7_B3, P9, I, asked, column, refusals, ruled, ruling, table

NEGLECTED = [{"kind": "insurance-neglected", "stage": "after-four"}]


def intended(choice: str, bettor: str, role: str = "pit-manager") -> dict[str, str]:
    return {"question": "intended", "choice": choice, "bettor": bettor, "role": role}


@pytest.mark.clause("I 5.13")
def test_neglected_insurance_that_would_have_won_returns_the_original_bet() -> None:
    """It is returned to the players who intended to insure, by decision of a Pit Manager or above."""
    placed = "1 a player 1000; 2 b player 500; 3 c banker 300; 1 a tie 5"
    decisions = [intended("yes", "a"), intended("no", "b", "shift-manager")]
    answer = table(I, f"{P7_B3} 5H", placed, irregularities=NEGLECTED, decisions=decisions)
    assert column(answer, "winnings") == [0, -500, 300, -5]
    assert column(answer, "returned") == [1000, 0, 300, 0]
    assert column(answer, "clause")[0] == "5.13"
    assert answer["questions"] == []


@pytest.mark.clause("I 5.13")
def test_bets_are_open_until_the_intention_to_insure_is_decided() -> None:
    """A Pit Supervisor may not decide it."""
    answer = table(
        I,
        f"{P7_B3} 5H",
        "1 a player 1000",
        irregularities=NEGLECTED,
        decisions=[intended("yes", "a", "pit-supervisor")],
    )
    assert asked(answer) == [("intended", "a", "5.13")]
    assert answer["questions"][0]["role"] == "pit-manager"
    assert answer["unheard"] == [{"decision": 0, "code": "role"}]
    assert column(answer, "pays") == [None]


@pytest.mark.clause("I 4.2.2")
@pytest.mark.parametrize(
    ("cards", "fields"), [(f"{P7_B3} JH", {}), (f"{P7_B3} 4H", {}), (f"{P7_B3} 5H", {"insurance": "off"})]
)
def test_neglect_without_loss_has_no_effect(cards: str, fields: dict[str, Any]) -> None:
    """The insurance would have lost or been returned, or the table had none."""
    answer = table(I, cards, "1 a player 1000", irregularities=NEGLECTED, decisions=[intended("yes", "a")], **fields)
    assert answer["questions"] == []
    assert column(answer, "clause") != ["5.13"]
    assert [each["then"] for each in answer["rulings"]] == ["stands"]


@pytest.mark.clause("I 5.3")
def test_an_offer_that_was_not_made_is_not_forgone() -> None:
    """A later offer may be accepted; an insured bettor was not neglected."""
    placed = "1 a player 1000; 1 a player-insurance 1 after-player-third"
    assert table(I, P9, placed, irregularities=NEGLECTED)["refused"] == []
    passed = table(I, P9, placed, irregularities=[{"kind": "face-up", "at": 4}])  # another irregularity
    assert refusals(passed) == [(1, "forgone", "5.3")]
    taken = table(I, f"{P7_B3} 5H", "1 a player 1000; 1 a player-insurance 1 after-four", irregularities=NEGLECTED)
    assert taken["questions"] == []


NEGLECTED_LATER = [{"kind": "insurance-neglected", "stage": "after-player-third"}]


@pytest.mark.clause("I 3.14", "I 5.13")
@pytest.mark.parametrize(("squeeze", "ruled_by", "returned"), [(True, "3.14", 0), (False, "5.13", 1000)])
def test_waived_insurance_is_not_neglected(squeeze: bool, ruled_by: str, returned: int) -> None:  # noqa: FBT001
    """A squeeze waives the offers after Player's third card, so the bet stands."""
    answer = table(
        I,
        "4S 3H KD KC 4H 6D",
        "1 a player 1000",
        squeeze=squeeze,
        irregularities=NEGLECTED_LATER,
        decisions=[intended("yes", "a")],
    )
    assert [each["clause"] for each in answer["rulings"]] == [ruled_by]
    assert [each["then"] for each in answer["rulings"]] == ["stands" if squeeze else "return-original"]
    assert column(answer, "returned") == [returned]


@pytest.mark.clause("I 4.2.2", "I 5.13")
def test_a_squeeze_at_a_table_without_insurance_waives_nothing() -> None:
    """The ruling cites the clause of neglect, which does not apply there."""
    answer = table(
        I,
        "4S 3H KD KC 4H 6D",
        "1 a player 1000",
        squeeze=True,
        insurance="off",
        irregularities=NEGLECTED_LATER,
    )
    assert [(each["then"], each["clause"]) for each in answer["rulings"]] == [("stands", "5.13")]


@pytest.mark.clause("I 5.3", "I 5.13")
def test_a_bettor_who_had_forgone_insurance_was_not_neglected() -> None:
    """A bettor who accepted the first offer, or plays by the milder rule, was neglected."""
    cards, passed = "5S 4H KD KC 3H 5D", "1 a player 1000"
    fields = {"irregularities": NEGLECTED_LATER, "decisions": [intended("yes", "a")]}
    assert column(table(I, cards, passed, **fields), "returned") == [0]
    assert column(table(I, cards, passed, insurance_forgone="stage", **fields), "returned") == [1000]
    taken = table(I, cards, f"{passed}; 1 a player-insurance 1 after-four", **fields)
    assert column(taken, "clause")[0] == "5.13"


@pytest.mark.clause("I 5.3", "I 5.13")
@pytest.mark.parametrize(("at", "is_asked"), [(0, False), (3, False), (4, True)])
def test_a_bettor_who_had_walked_away_was_not_neglected(at: int, is_asked: bool) -> None:  # noqa: FBT001
    """A bettor who left before the stage had no right to insure; one who left after it had."""
    left = {"kind": "walked-away", "bettor": "a", "at": at}
    answer = table(I, f"{P7_B3} 5H", "1 a player 1000; 2 b player 10", irregularities=[*NEGLECTED, left])
    assert [bettor for _, bettor, _ in asked(answer)] == (["a", "b"] if is_asked else ["b"])


@pytest.mark.clause("I 3.12.2", "I 5.13")
def test_a_bettor_without_room_under_the_cap_was_not_neglected() -> None:
    """The first insurance used the cap, or the bet is too small for any stake."""
    cards = "5S 4H KD KC 3H 5D"  # 5 against 4 at 2:1, then 8 against 4 at 7:1, and Banker wins
    fields = {"irregularities": NEGLECTED_LATER, "decisions": [intended("yes", "a")]}
    insured = "1 a player 1000; 1 a player-insurance {} after-four"
    assert column(table(I, cards, insured.format(496), **fields), "clause")[0] == "5.13"  # room for 8: one unit
    answer = table(I, cards, insured.format(497), **fields)
    assert column(answer, "clause")[0] != "5.13"
    assert [(each["then"], each["clause"]) for each in answer["rulings"]] == [("stands", "5.13")]
    assert table(I, cards, "1 a player 1", irregularities=NEGLECTED_LATER)["questions"] == []


@pytest.mark.clause("I 5.3")
@pytest.mark.parametrize(("stake", "limits", "forgone"), [(2, {}, True), (1, {}, False), (1000, {"least": 501}, False)])
def test_an_offer_without_room_under_the_cap_is_not_forgone(
    stake: int,
    limits: dict[str, int],
    forgone: bool,  # noqa: FBT001
) -> None:
    """At 2:1 a bet of 1 has no room for a stake of 1, and a bet of 1000 none for a stake of 501."""
    placed = f"1 a player {stake}; 1 a player-insurance {stake} after-player-third"
    fields = {"noticed": True, "limits": {"minimums": {"player-insurance": limits["least"]}}} if limits else {}
    answer = table(I, "5S 4H KD KC 3H 5D", placed, **fields)
    assert [code for _, code, _ in refusals(answer)] == ["forgone" if forgone else "over-cap"]


@pytest.mark.clause("I 5.3", "I 3.12.2")
def test_a_bettor_whose_only_insurance_is_over_the_cap_forgoes_insurance() -> None:
    """The refusal named the largest stake, and the next card was drawn."""
    placed = "1 a player 1000; 1 a player-insurance 501 after-four; 1 a player-insurance 1 after-player-third"
    assert refusals(table(I, "5S 4H KD KC 3H 5D", placed)) == [(1, "over-cap", "3.12.2"), (2, "forgone", "5.3")]


@pytest.mark.clause("I 5.12.3", "I 5.13")
def test_a_bettor_who_took_the_bets_back_is_not_asked_about_insurance() -> None:
    """The bettor has no Original Bet in the round."""
    error = {"kind": "dealing-error", "at": 4, "reconstructable": False}
    decision = {"question": "option", "choice": "return", "role": "player"}
    answer = table(I, f"{P7_B3} 5H", "1 a player 1000", irregularities=[error, *NEGLECTED], decisions=[decision])
    assert answer["questions"] == []
    assert column(answer, "clause") == ["5.12.3"]


@pytest.mark.clause("I 5.13")
@pytest.mark.parametrize("answers", [("yes", "no"), ("no", "yes")])
def test_one_intended_insurance_is_sufficient(answers: tuple[str, str]) -> None:
    """Both would have won; the other answer has no effect."""
    decisions = [intended(choice, "a") | {"irregularity": at} for at, choice in enumerate(answers)]
    cards = "5S 4D 10C KH 3D 5C"  # 5 against 4, then 8 against 4, and Banker wins with 9
    answer = table(I, cards, "1 a player 1000", irregularities=[*NEGLECTED, *NEGLECTED_LATER], decisions=decisions)
    assert (answer["questions"], column(answer, "returned"), column(answer, "clause")) == ([], [1000], ["5.13"])
    neither = [intended("no", "a")]
    answer = table(I, cards, "1 a player 1000", irregularities=[*NEGLECTED, *NEGLECTED_LATER], decisions=neither)
    assert column(answer, "returned") == [0]


@pytest.mark.clause("I 5.13")
def test_the_ruling_on_neglected_insurance_waits_for_due_cards() -> None:
    """The question about the intention is not asked before."""
    answer = table(I, P7_B3, "1 a player 1000", irregularities=NEGLECTED, decisions=[intended("yes", "a")])
    assert (ruling(answer), answer["questions"]) == (("ask", "5.13"), [])
    assert answer["rulings"][0]["decides"] == "pit-manager"
    assert ruling(table(I, f"{P7_B3} 5H", "1 a player 1000", irregularities=NEGLECTED)) == ("return-original", "5.13")


@pytest.mark.clause("I 4.2.2", "I 5.13")
def test_neglect_at_a_table_without_insurance_waits_for_no_card() -> None:
    """The next cards cannot change the ruling."""
    answer = table(I, P7_B3, "1 a player 1000", irregularities=NEGLECTED, insurance="off")
    assert ruling(answer) == ("stands", "5.13")


def test_a_book_in_which_neglect_has_no_effect_asks_no_question() -> None:
    """The insurance would have won."""
    rules = book(I)
    kept = [row for row in rules.irregularities if row.kind is not IrregularityKind.INSURANCE_NEGLECTED]
    stands = IrregularityRow(IrregularityKind.INSURANCE_NEGLECTED, Then.STANDS, "5.13", {})
    milder = msgspec.structs.replace(rules, irregularities=(*kept, stands))
    inquiry = Inquiry([])
    found = course(milder, cards_in(f"{P7_B3} 5H"), [], inquiry)
    cover = InsuranceState(on=True, passed=[("a", Stage.AFTER_FOUR, "player-insurance")], waived={})
    irregularities = [Irregularity(IrregularityKind.INSURANCE_NEGLECTED, 4, 4)]
    assert [each.then for each in neglected(milder, found, irregularities, cover, inquiry).rulings] == [Then.STANDS]
    assert inquiry.open == []


@pytest.mark.clause("I 5.13", "I 5.16")
def test_a_void_round_asks_no_question_about_insurance() -> None:
    """Every stake is returned."""
    both = [*NEGLECTED, {"kind": "not-shuffled"}]
    answer = table(I, f"{P7_B3} 5H", "1 a player 1000", irregularities=both)
    assert (ruled(answer), answer["questions"]) == ([("not-shuffled", "void", "5.5.5")], [])


@pytest.mark.clause("I 5.13")
def test_rulings_are_in_the_order_of_the_irregularities() -> None:
    """The ruling on insurance is found last and keeps its place."""
    error = {"kind": "dealing-error", "at": 4, "reconstructable": False}
    both = [*NEGLECTED, error]
    answer = table(I, f"{P7_B3} 5H", "1 a player 1000", irregularities=both)
    assert [(each["irregularity"], each["kind"]) for each in answer["rulings"]] == [
        (0, "insurance-neglected"),
        (1, "dealing-error"),
    ]
