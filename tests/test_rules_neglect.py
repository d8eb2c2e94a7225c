"""Insurance that the dealer did not offer: whose Original Bet may go back, and who says so."""

from typing import Any

import msgspec
import pytest

from shoed.rules.book import Irregularity, Then
from shoed.rules.irregular import Happened, course
from shoed.rules.load import book
from shoed.rules.neglect import Cover, neglected
from shoed.rules.questions import Inquiry
from shoed.words import Event, Stage
from tests.dealing import cards_in
from tests.tables import P7_B3, P9, I, asked, column, refusals, ruled, ruling, table

NEGLECTED = [{"kind": "insurance-neglected", "stage": "after-four"}]


def intended(choice: str, bettor: str, role: str = "pit-manager") -> dict[str, str]:
    return {"question": "intended", "choice": choice, "bettor": bettor, "role": role}


@pytest.mark.clause("I 5.13")
def test_neglected_insurance_that_would_have_won_gives_the_original_bet_back() -> None:
    """To those who had meant to take it, as a Pit Manager or above finds."""
    placed = "1 a player 1000; 2 b player 500; 3 c banker 300; 1 a tie 5"
    decisions = [intended("yes", "a"), intended("no", "b", "shift-manager")]
    answer = table(I, f"{P7_B3} 5H", placed, irregularities=NEGLECTED, decisions=decisions)
    assert column(answer, "winnings") == [0, -500, 300, -5]
    assert column(answer, "returned") == [1000, 0, 300, 0]
    assert column(answer, "clause")[0] == "5.13"
    assert answer["questions"] == []


@pytest.mark.clause("I 5.13")
def test_until_it_is_known_who_had_meant_to_insure_their_bets_are_open() -> None:
    """A Pit Supervisor may not say it."""
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
def test_neglect_that_cost_nothing_changes_nothing(cards: str, fields: dict[str, Any]) -> None:
    """It would have lost, or been returned, or there was no insurance to be had."""
    answer = table(I, cards, "1 a player 1000", irregularities=NEGLECTED, decisions=[intended("yes", "a")], **fields)
    assert answer["questions"] == []
    assert column(answer, "clause") != ["5.13"]
    assert [each["then"] for each in answer["rulings"]] == ["stands"]


@pytest.mark.clause("I 5.3")
def test_an_offer_that_was_not_made_is_not_forgone() -> None:
    """The later one may be taken; and who was insured all the same was not neglected."""
    placed = "1 a player 1000; 1 a player-insurance 1 after-player-third"
    assert table(I, P9, placed, irregularities=NEGLECTED)["refused"] == []
    passed = table(I, P9, placed, irregularities=[{"kind": "face-up", "at": 4}])  # something else went wrong
    assert refusals(passed) == [(1, "forgone", "5.3")]
    taken = table(I, f"{P7_B3} 5H", "1 a player 1000; 1 a player-insurance 1 after-four", irregularities=NEGLECTED)
    assert taken["questions"] == []


NEGLECTED_LATER = [{"kind": "insurance-neglected", "stage": "after-player-third"}]


@pytest.mark.clause("I 3.14", "I 5.13")
@pytest.mark.parametrize(("squeeze", "ruled_by", "returned"), [(True, "3.14", 0), (False, "5.13", 1000)])
def test_what_a_squeeze_waives_is_not_neglected(squeeze: bool, ruled_by: str, returned: int) -> None:  # noqa: FBT001
    """Nothing was due to be offered after Player's third card, so the bet stands."""
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
    """The clause of neglect says that it does not apply there."""
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
def test_who_had_forgone_insurance_was_not_neglected() -> None:
    """An offer after four cards was let pass; who had taken it, or under the milder rule, is still asked about."""
    cards, passed = "5S 4H KD KC 3H 5D", "1 a player 1000"
    fields = {"irregularities": NEGLECTED_LATER, "decisions": [intended("yes", "a")]}
    assert column(table(I, cards, passed, **fields), "returned") == [0]
    assert column(table(I, cards, passed, insurance_forgone="stage", **fields), "returned") == [1000]
    taken = table(I, cards, f"{passed}; 1 a player-insurance 1 after-four", **fields)
    assert column(taken, "clause")[0] == "5.13"


@pytest.mark.clause("I 5.3", "I 5.13")
@pytest.mark.parametrize(("at", "is_asked"), [(0, False), (3, False), (4, True)])
def test_who_had_walked_away_was_not_neglected(at: int, is_asked: bool) -> None:  # noqa: FBT001
    """Whoever left before the stage came had no right to insure; whoever left after it had."""
    gone = {"kind": "walked-away", "bettor": "a", "at": at}
    answer = table(I, f"{P7_B3} 5H", "1 a player 1000; 2 b player 10", irregularities=[*NEGLECTED, gone])
    assert [bettor for _, bettor, _ in asked(answer)] == (["a", "b"] if is_asked else ["b"])


@pytest.mark.clause("I 3.12.2", "I 5.13")
def test_who_had_no_room_under_the_cap_was_not_neglected() -> None:
    """The first insurance used it up, or the bet is too small for any stake at all."""
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
def test_an_offer_too_large_for_the_bet_was_not_the_bettors_to_take(
    stake: int,
    limits: dict[str, int],
    forgone: bool,  # noqa: FBT001
) -> None:
    """At 2:1 a bet of 1 has room for no whole stake, nor one of 1,000 for a stake of 501."""
    placed = f"1 a player {stake}; 1 a player-insurance {stake} after-player-third"
    fields = {"noticed": True, "limits": {"minimums": {"player-insurance": limits["least"]}}} if limits else {}
    answer = table(I, "5S 4H KD KC 3H 5D", placed, **fields)
    assert [code for _, code, _ in refusals(answer)] == ["forgone" if forgone else "over-cap"]


@pytest.mark.clause("I 5.3", "I 3.12.2")
def test_who_wanted_more_than_the_cap_and_took_nothing_has_let_the_offer_pass() -> None:
    """The largest stake was told, and the next card came."""
    placed = "1 a player 1000; 1 a player-insurance 501 after-four; 1 a player-insurance 1 after-player-third"
    assert refusals(table(I, "5S 4H KD KC 3H 5D", placed)) == [(1, "over-cap", "3.12.2"), (2, "forgone", "5.3")]


@pytest.mark.clause("I 5.12.3", "I 5.13")
def test_who_took_the_bets_back_is_not_asked_about_insurance() -> None:
    """There is no Original Bet left to return."""
    error = {"kind": "dealing-error", "at": 4, "reconstructable": False}
    decision = {"question": "option", "choice": "return", "role": "player"}
    answer = table(I, f"{P7_B3} 5H", "1 a player 1000", irregularities=[error, *NEGLECTED], decisions=[decision])
    assert answer["questions"] == []
    assert column(answer, "clause") == ["5.12.3"]


@pytest.mark.clause("I 5.13")
@pytest.mark.parametrize("answers", [("yes", "no"), ("no", "yes")])
def test_one_neglected_insurance_that_was_meant_to_be_taken_is_enough(answers: tuple[str, str]) -> None:
    """Both would have won; the other answer takes nothing back."""
    decisions = [intended(choice, "a") | {"irregularity": at} for at, choice in enumerate(answers)]
    cards = "5S 4D 10C KH 3D 5C"  # 5 against 4, then 8 against 4, and Banker wins with 9
    answer = table(I, cards, "1 a player 1000", irregularities=[*NEGLECTED, *NEGLECTED_LATER], decisions=decisions)
    assert (answer["questions"], column(answer, "returned"), column(answer, "clause")) == ([], [1000], ["5.13"])
    neither = [intended("no", "a")]
    answer = table(I, cards, "1 a player 1000", irregularities=[*NEGLECTED, *NEGLECTED_LATER], decisions=neither)
    assert column(answer, "returned") == [0]


@pytest.mark.clause("I 5.13")
def test_while_a_card_is_due_nobody_knows_whether_neglected_insurance_would_have_won() -> None:
    """The ruling waits for the cards, and nobody is asked what was intended."""
    answer = table(I, P7_B3, "1 a player 1000", irregularities=NEGLECTED, decisions=[intended("yes", "a")])
    assert (ruling(answer), answer["questions"]) == (("ask", "5.13"), [])
    assert answer["rulings"][0]["decides"] == "pit-manager"
    assert ruling(table(I, f"{P7_B3} 5H", "1 a player 1000", irregularities=NEGLECTED)) == ("return-original", "5.13")


@pytest.mark.clause("I 4.2.2", "I 5.13")
def test_at_a_table_without_insurance_neglect_waits_for_no_card() -> None:
    """Whatever comes, nothing could have been taken."""
    answer = table(I, P7_B3, "1 a player 1000", irregularities=NEGLECTED, insurance="off")
    assert ruling(answer) == ("stands", "5.13")


def test_a_book_by_which_nothing_follows_from_neglect_asks_nobody() -> None:
    """Though the insurance would have won."""
    rules = book(I)
    kept = [row for row in rules.irregularities if row.event is not Event.INSURANCE_NEGLECTED]
    stands = Irregularity(Event.INSURANCE_NEGLECTED, Then.STANDS, "5.13", {})
    milder = msgspec.structs.replace(rules, irregularities=(*kept, stands))
    inquiry = Inquiry([])
    found = course(milder, cards_in(f"{P7_B3} 5H"), [], inquiry)
    cover = Cover(on=True, passed=[("a", Stage.AFTER_FOUR, "player-insurance")], waived={})
    happened = [Happened(Event.INSURANCE_NEGLECTED, 4, 4)]
    assert [each.then for each in neglected(milder, found, happened, cover, inquiry).rulings] == [Then.STANDS]
    assert inquiry.open == []


@pytest.mark.clause("I 5.13", "I 5.16")
def test_of_a_void_round_nobody_is_asked_about_insurance() -> None:
    """Every stake goes back as it is."""
    both = [*NEGLECTED, {"kind": "not-shuffled"}]
    answer = table(I, f"{P7_B3} 5H", "1 a player 1000", irregularities=both)
    assert (ruled(answer), answer["questions"]) == ([("not-shuffled", "void", "5.5.5")], [])


@pytest.mark.clause("I 5.13")
def test_rulings_stand_in_the_order_of_what_happened() -> None:
    """That on insurance too, though it is found last."""
    error = {"kind": "dealing-error", "at": 4, "reconstructable": False}
    both = [*NEGLECTED, error]
    answer = table(I, f"{P7_B3} 5H", "1 a player 1000", irregularities=both)
    assert [(each["irregularity"], each["kind"]) for each in answer["rulings"]] == [
        (0, "insurance-neglected"),
        (1, "dealing-error"),
    ]
