"""The hands after an irregularity: cards are reconstructed, ordered, exchanged or kept for the next round."""

from typing import Any

import pytest

from tests.printed import GAMES
from tests.tables import (
    ALL,
    PLAYER_9_BANKER_7,
    PLAYER_STANDS_BANKER_DRAWS,
    C,
    E,
    F,
    I,
    T,
    asked,
    column,
    decide,
    ruled,
    ruling,
    table,
    with_irregularity,
)


@pytest.mark.clause("C 5.8", "C 5.8.1", "C 5.8.2", "I 5.8", "I 5.8.1", "I 5.8.2")
@pytest.mark.parametrize("game", [C, I])
def test_two_exchanged_cards_stay_and_give_options(game: str) -> None:
    """Neither hand has a wrong number of cards, so the round continues, with or without an established outcome."""
    swapped: list[dict[str, Any]] = [{"kind": "wrong-side", "at": at, "reconstructable": False} for at in (3, 4)]
    assert ruled(table(game, PLAYER_9_BANKER_7, ALL, irregularities=swapped)) == [("wrong-side", "continue", "5.8")] * 2
    swapped.append({"kind": "face-up", "at": 4})
    answer = table(game, PLAYER_9_BANKER_7, "1 a player 100", irregularities=swapped)
    assert answer["player"]["cards"] == ["4S", "4C"]
    assert answer["banker"]["cards"] == ["3H", "5D"]
    assert [each["clause"] for each in answer["questions"]] == ["5.8", "5.8"]
    assert answer["questions"][0]["clauses"] == ["5.12.1", "5.12.3"]


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize("kind", ["card-in-excess", "card-exposed"])
def test_a_reconstructed_card_is_used_in_the_round_if_it_is_due(game: str, kind: str) -> None:
    """Dealt to Player, who stands, it is Banker's third card."""
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS + " 5H", ALL, **with_irregularity(kind, at=5, reconstructable=True))
    assert answer["banker"] == {"cards": ["3H", "KC", "5H"], "points": 8}
    assert (answer["carried"], answer["due"], answer["outcome"]) == ([], None, "banker")


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize("kind", ["card-in-excess", "card-exposed"])
def test_a_card_that_is_not_due_opens_the_next_round(game: str, kind: str) -> None:
    """The answer names it, and the round is complete without it."""
    answer = table(game, PLAYER_9_BANKER_7 + " 5H", ALL, **with_irregularity(kind, at=5, reconstructable=True))
    assert (answer["carried"], answer["outcome"], answer["questions"]) == (["5H"], "player", [])


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
def test_a_pit_supervisor_confirms_the_proposed_reconstruction(game: str) -> None:
    """No bet is settled before; the answer shows the proposed hands."""
    cards = PLAYER_STANDS_BANKER_DRAWS + " 5H"
    waiting = table(game, cards, ALL, **with_irregularity("card-in-excess", at=5))
    (question,) = waiting["questions"]
    assert (question["question"], question["proposed"], question["role"]) == (
        "reconstructable",
        "yes",
        "pit-supervisor",
    )
    assert (waiting["outcome"], column(waiting, "pays")) == (None, [None] * 3)
    assert waiting["banker"]["points"] == 8

    for role, heard in (("dealer", False), ("pit-supervisor", True), ("shift-manager", True)):
        answer = table(
            game,
            cards,
            ALL,
            **with_irregularity("card-in-excess", at=5),
            decisions=[decide("reconstructable", "yes", role)],
        )
        assert (answer["outcome"] == "banker") is heard
        assert ("unheard" in answer) is not heard
    refused = [decide("reconstructable", "no", "pit-manager")]
    answer = table(game, cards, ALL, **with_irregularity("card-in-excess", at=5), decisions=refused)
    assert ruling(answer) == ("void", "5.5.3")


@pytest.mark.clause("C 5.7", "I 5.7")
def test_an_exposed_card_that_cannot_be_reconstructed_opens_the_next_round() -> None:
    """The next drawn card takes its place in this round."""
    cards = PLAYER_STANDS_BANKER_DRAWS + " 5H"
    answer = table(C, cards, ALL, **with_irregularity("card-exposed", at=5, reconstructable=False))
    assert (answer["banker"]["cards"], answer["due"], answer["carried"]) == (["3H", "KC"], "banker", ["5H"])
    cards += " 2C"
    answer = table(C, cards, ALL, **with_irregularity("card-exposed", at=5, reconstructable=False))
    assert (answer["banker"]["cards"], answer["carried"]) == (["3H", "KC", "2C"], ["5H"])


@pytest.mark.clause("C 5.8", "C 5.8.1", "C 5.8.2", "I 5.8", "I 5.8.1", "I 5.8.2")
@pytest.mark.parametrize("game", [C, I])
def test_cards_on_the_wrong_side_are_reconstructed(game: str) -> None:
    """They are dealt by the Table of Play in the order in which they left the shoe."""
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS, ALL, **with_irregularity("wrong-side", at=3))
    assert answer["player"] == {"cards": ["2S", "4D"], "points": 6}
    assert answer["banker"] == {"cards": ["3H", "KC"], "points": 3}
    assert answer["due"] == "banker"


@pytest.mark.clause("C 5.10", "C 5.10.1", "I 5.10", "I 5.10.1")
@pytest.mark.parametrize("game", [C, I])
def test_a_pit_supervisor_decides_the_order_of_cards_drawn_together(game: str) -> None:
    """Before the answer they are in no hand; after it every player has the options."""
    cards, together = PLAYER_STANDS_BANKER_DRAWS, with_irregularity("drawn-together", at=3)
    waiting = table(game, cards, ALL, **together)
    assert (waiting["player"]["cards"], waiting["banker"]["cards"], waiting["due"]) == (["2S"], ["3H"], "player")
    question = next(each for each in waiting["questions"] if each["question"] == "card-order")
    assert (question["cards"], question["role"], question["clause"]) == (["4D", "KC"], "pit-supervisor", "5.10")

    for role, order, heard in (
        ("pit-supervisor", ["KC", "4D"], True),
        ("dealer", ["KC", "4D"], False),
        ("pit-supervisor", ["KC", "KC"], False),
        ("pit-supervisor", "yes", False),
        ("pit-supervisor", ["KC", "?"], False),
    ):
        answer = table(game, cards, ALL, **together, decisions=[decide("card-order", order, role)])
        assert (answer["player"]["cards"] == ["2S", "KC"]) is heard
        assert ("unheard" in answer) is not heard
        assert ("option", "a", "5.10.1") in asked(answer)


@pytest.mark.clause("C 5.10.2", "I 5.10.2")
@pytest.mark.parametrize("game", [C, I])
def test_the_set_may_be_replaced_after_cards_drawn_together(game: str) -> None:
    """A Pit Supervisor decides it if the order was unknown, and the round does not wait."""
    known = table(game, PLAYER_9_BANKER_7, ALL, **with_irregularity("drawn-together", at=3, order_known=True))
    assert "set-replaced" not in [question["question"] for question in known["questions"]]
    together = with_irregularity("drawn-together", at=3)
    decisions = [decide("card-order", ["5D", "4C"], "pit-supervisor"), decide("option", "continue", "player")]
    answer = table(game, PLAYER_9_BANKER_7, ALL, **together, decisions=decisions)
    (question,) = answer["questions"]
    assert (question["question"], question["clause"], question["optional"]) == ("set-replaced", "5.10.2", True)
    assert question["role"] == "pit-supervisor"
    assert answer["outcome"] == "player"
    decisions.append(decide("set-replaced", "yes", "pit-supervisor"))
    assert table(game, PLAYER_9_BANKER_7, ALL, **together, decisions=decisions)["questions"] == []


@pytest.mark.clause("F 5.3", "F 1.1.3", "F 5.4")
def test_fortune_six_asks_about_cards_drawn_together_after_the_initial_deal() -> None:
    """A person may treat them as an altered order; the answer has the reading."""
    cards, together = "2S 3H KD KC 2C 5H", with_irregularity("drawn-together", at=5)
    answer = table(F, cards, ALL, **together)
    assert "5.4" in answer["rulings"][0]["reading"]
    for choice, outcome in (("continue", "banker"), ("void", None)):
        decided = table(F, cards, ALL, **together, decisions=[decide("ruling", choice, "pit-manager")])
        assert (decided["outcome"], decided["questions"]) == (outcome, [])
        assert (decided["void"] is None) is (choice == "continue")
        assert (column(decided, "clause") == [None] * 3) is (choice == "void")


@pytest.mark.clause("C 5.12", "C 5.12.2", "I 5.12", "I 5.12.2")
@pytest.mark.parametrize("game", [C, I])
def test_a_known_altered_order_is_reconstructed(game: str) -> None:
    """The given cards are in their intended order."""
    altered = with_irregularity("order-altered", at=3, reconstructable=True, order=["KC", "4D"])
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS, ALL, **altered)
    assert answer["player"]["cards"] == ["2S", "KC"]
    assert asked(answer) == [("option", "a", "5.12"), ("option", "b", "5.12")]


@pytest.mark.parametrize(("order", "there"), [(["KC", "KC"], "4D KC"), (["KC"], "4D"), (["KC", "4D", "3H"], "4D KC")])
def test_an_intended_order_with_other_cards_is_refused(order: list[str], there: str) -> None:
    """It must have exactly the cards that were dealt there."""
    answer = table(C, PLAYER_STANDS_BANKER_DRAWS, ALL, **with_irregularity("order-altered", at=3, order=order))
    assert answer["error"]["code"] == "bad-line"
    assert f"card 3 on are {there};" in answer["error"]["message"]


@pytest.mark.clause("C 5.4.2", "I 5.4.2", "C 5.5.4", "I 5.5.4")
@pytest.mark.parametrize("game", [C, I])
def test_cards_for_the_next_round_have_no_effect_in_this_round(game: str) -> None:
    """An exposed card that cannot be reconstructed neither establishes an outcome nor completes the round."""
    exposed = {"kind": "card-exposed", "at": 3, "reconstructable": False}
    answer = table(game, "AS 2S 3S", ALL, irregularities=[exposed, {"kind": "interruption", "at": 3}])
    assert answer["void"]["clause"] == "5.4.2"
    exposed = {"kind": "card-exposed", "at": 2, "reconstructable": False}
    answer = table(game, "9S 2S KS 4S", ALL, irregularities=[exposed, {"kind": "too-few-cards"}])
    assert answer["void"]["clause"] == "5.5.4"


@pytest.mark.parametrize("game", [C, I])
def test_a_reconstructed_order_may_end_the_round_early(game: str) -> None:
    """The cards that are not due open the next round."""
    altered = with_irregularity("order-altered", at=3, reconstructable=True, order=["6H", "3D", "3C"])
    answer = table(game, "2S 2H 3D 3C 6H", ALL, **altered)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["2S", "6H"], ["2H", "3D"])
    assert answer["carried"] == ["3C"]


# ---------------------------------------------------------------------------------------------- exchanged cards

DEAL = "5S KD 10C 2S 2D 3H"  # 5 against 2; the third cards make 7 against 5
GO_ON = [decide("option", "continue", "player"), decide("ruling", "continue", "dealer")]


def on_the_wrong_side(*ordinals: int) -> list[dict[str, Any]]:
    """They stay there."""
    return [{"kind": "wrong-side", "at": at, "reconstructable": False} for at in ordinals]


@pytest.mark.clause("C 5.8", "I 5.8")
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(
    ("places", "player", "banker", "carried"),
    [
        ((1, 2), "KD 10C 2D", "5S 2S", "3H"),
        ((1, 4), "2S 10C 2D", "KD 5S", "3H"),
        ((1, 6), "3H 10C 2D", "KD 2S 5S", ""),
        ((3, 2), "5S KD 2D", "10C 2S 3H", ""),
        ((3, 4), "5S 2S", "KD 10C 2D", "3H"),
        ((3, 6), "5S 3H", "KD 2S", "2D 10C"),
        ((5, 2), "5S 10C KD", "2D 2S", "3H"),
        ((5, 4), "5S 10C 2S", "KD 2D 3H", ""),
        ((5, 6), "5S 10C 3H", "KD 2S 2D", ""),
    ],
)
def test_exchanged_cards_stay_in_their_hands(
    game: str, places: tuple[int, int], player: str, banker: str, carried: str
) -> None:
    """The hands are those of the deal with the two cards exchanged, third cards too."""
    for one, other in (places, places[::-1]):
        answer = table(game, DEAL, ALL, irregularities=on_the_wrong_side(one, other), decisions=GO_ON)
        assert [answer[hand]["cards"] for hand in ("player", "banker")] == [player.split(), banker.split()]
        assert (answer["carried"], answer["due"], answer["questions"]) == (carried.split(), None, [])


@pytest.mark.clause("C 5.8", "I 5.8")
@pytest.mark.parametrize("game", GAMES)
def test_after_an_early_exchange_the_table_of_play_decides_the_next_card(game: str) -> None:
    """The next due card depends on the hands after the exchange."""
    two = table(game, "5S KD", ALL, irregularities=on_the_wrong_side(1, 2), decisions=GO_ON)
    assert (two["player"]["cards"], two["banker"]["cards"], two["due"]) == (["KD"], ["5S"], "player")
    five = table(game, "KS 3H 6D QC 9H", ALL, irregularities=on_the_wrong_side(1, 5), decisions=GO_ON)
    assert five["player"]["cards"] == ["9H", "6D", "KS"]  # Player stood on 6, and draws on 5
    assert (five["banker"]["cards"], five["due"]) == (["3H", "QC"], "banker")


@pytest.mark.clause("C 5.12.1", "I 5.12.1")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize("kind", ["dealing-error", "order-altered"])
def test_other_errors_without_reconstruction_leave_the_cards_unchanged(game: str, kind: str) -> None:
    """Two such errors exchange no cards, and an intended order is not dealt."""
    errors: list[dict[str, Any]] = [{"kind": kind, "at": at, "reconstructable": False} for at in (1, 2)]
    if kind == "order-altered":
        errors[0]["order"] = ["KD", "5S"]
    answer = table(game, DEAL, ALL, irregularities=errors, decisions=GO_ON)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["5S", "10C", "2D"], ["KD", "2S", "3H"])


@pytest.mark.clause("C 5.8", "C 5.4.1", "I 5.8", "I 5.4.1")
@pytest.mark.parametrize("game", [C, I])
def test_two_cards_are_exchanged_only_after_both_are_drawn(game: str) -> None:
    """The interruption precedes the second card, so the outcome is computed without it."""
    first, second = on_the_wrong_side(3, 4)
    for at, then in ((2, ("void", "5.4.2")), (3, ("continue", "5.4.1"))):
        answer = table(game, DEAL, ALL, irregularities=[first, {"kind": "interruption", "at": at}, second])
        assert [(each["then"], each["clause"]) for each in answer["rulings"]][1] == then


@pytest.mark.clause("C 5.5.3", "I 5.5.3", "F 5.2", "E 5.1.2", "T 5.1.2")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.5.3"), (I, "5.5.3"), (F, "5.2"), (E, "5.1.2"), (T, "5.1.2")])
@pytest.mark.parametrize(
    "irregularities",
    [
        [{"kind": "wrong-side", "at": 2}, *on_the_wrong_side(3)],
        [{**on_the_wrong_side(2)[0], "noticed_late": True}, *on_the_wrong_side(3)],
        on_the_wrong_side(1, 3),
        on_the_wrong_side(1, 2, 4),
    ],
    ids=["one was put back", "one was noticed late", "both are Player's", "two for one"],
)
def test_unpaired_cards_on_the_wrong_side_leave_a_wrong_number(
    game: str, clause: str, irregularities: list[dict[str, Any]]
) -> None:
    """The round is void, whatever the ruling on the other card is."""
    answer = table(game, "8C AS 5C 3S", ALL, irregularities=irregularities, decisions=GO_ON)
    assert (answer["void"]["kind"], answer["void"]["clause"]) == ("wrong-side", clause)


@pytest.mark.clause("C 5.5.3", "I 5.5.3", "F 5.2", "E 5.1.2", "T 5.1.2")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.5.3"), (I, "5.5.3"), (F, "5.2"), (E, "5.1.2"), (T, "5.1.2")])
def test_a_card_that_was_not_due_has_no_right_side(game: str, clause: str) -> None:
    """After a natural it makes one card too many in either hand."""
    answer = table(game, PLAYER_9_BANKER_7 + " 5H", ALL, irregularities=on_the_wrong_side(5))
    assert (answer["void"]["kind"], answer["void"]["clause"]) == ("wrong-side", clause)


# ---------------------------------------------------------------------------------------------- several irregularities


@pytest.mark.clause("C 5.12.2", "I 5.12.2")
@pytest.mark.parametrize("game", [C, I])
def test_a_second_altered_order_applies_to_the_reconstructed_cards(game: str) -> None:
    """No card is duplicated or lost."""
    altered = [
        {"kind": "order-altered", "at": 4, "order": ["8S", "4C"], "reconstructable": True},
        {"kind": "order-altered", "at": 5, "order": ["8S"], "reconstructable": True},  # the reported order
    ]
    answer = table(game, "6H QC 5D 4C 8S", ALL, irregularities=altered, decisions=GO_ON)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["6H", "5D"], ["QC", "8S"])
    assert answer["carried"] == ["4C"]


@pytest.mark.clause("C 5.10", "C 5.12.2", "I 5.10", "I 5.12.2")
@pytest.mark.parametrize("game", [C, I])
def test_an_altered_order_applies_to_cards_with_a_decided_order(game: str) -> None:
    """2D and 2S were drawn together and ordered; then the fifth and the sixth card change places."""
    irregularities = [
        {"kind": "drawn-together", "at": 4},
        {"kind": "order-altered", "at": 5, "order": ["3H", "2D"], "reconstructable": True},
    ]
    decided = [*GO_ON, decide("card-order", ["2D", "2S"], "pit-supervisor")]
    answer = table(game, DEAL, ALL, irregularities=irregularities, decisions=decided)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["5S", "10C", "3H"], ["KD", "2D", "2S"])


@pytest.mark.clause("C 5.12.2", "I 5.12.2")
@pytest.mark.parametrize("game", [C, I])
def test_equal_cards_are_different_cards(game: str) -> None:
    """After two reconstructions each king keeps its own place, and the four is not lost."""
    altered = [
        {"kind": "order-altered", "at": 4, "order": ["4H", "KC"], "reconstructable": True},
        {"kind": "order-altered", "at": 3, "order": ["KC", "4H", "KC"], "reconstructable": True},
    ]
    answer = table(game, "2S 3H KC KC 4H", ALL, irregularities=altered, decisions=GO_ON)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["2S", "KC", "4H"], ["3H", "KC"])


@pytest.mark.clause("C 5.10", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
def test_hands_have_the_cards_of_known_order(game: str) -> None:
    """They end before the first cards drawn together whose order is undecided."""
    irregularities = [{"kind": "drawn-together", "at": at} for at in (3, 5)]
    waiting = table(game, DEAL, ALL, irregularities=irregularities)
    assert (waiting["player"]["cards"], waiting["banker"]["cards"]) == (["5S"], ["KD"])
    first = table(
        game, DEAL, ALL, irregularities=irregularities, decisions=[decide("card-order", ["2S", "10C"], "pit-manager")]
    )
    assert (first["player"]["cards"], first["banker"]["cards"]) == (["5S", "2S"], ["KD", "10C"])


@pytest.mark.clause("C 5.9", "C 5.10", "I 5.9", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
def test_cards_of_unknown_order_establish_no_outcome(game: str) -> None:
    """The options after a face-up card wait for the order, for this card and for one before it."""
    together = {"kind": "drawn-together", "at": 3}
    before = table(game, DEAL, ALL, irregularities=[together, {"kind": "face-up", "at": 2}])
    assert ("option", "a", "5.9") in asked(before)
    among = table(game, DEAL, ALL, irregularities=[together, {"kind": "face-up", "at": 4}])
    assert ("option", "a", "5.9") not in asked(among)


@pytest.mark.clause("C 5.4.1", "C 5.5.4", "C 5.10", "I 5.4.1", "I 5.5.4", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize(
    ("irregularity", "then"), [({"kind": "interruption"}, "continue"), ({"kind": "too-few-cards"}, "stands")]
)
def test_a_void_waits_for_the_order_that_it_depends_on(game: str, irregularity: dict[str, Any], then: str) -> None:
    """The last two of four cards were drawn together: a natural would complete the round and decide the pairs."""
    both = [{"kind": "drawn-together", "at": 3}, irregularity]
    waiting = table(game, PLAYER_9_BANKER_7, ALL, irregularities=both)
    assert (waiting["void"], ruled(waiting)[1]) == (None, (irregularity["kind"], "ask", "5.10"))
    assert waiting["rulings"][1]["decides"] == "pit-supervisor"
    decided = [*GO_ON, decide("card-order", ["5D", "4C"], "pit-supervisor")]
    answer = table(game, PLAYER_9_BANKER_7, ALL, irregularities=both, decisions=decided)
    assert (answer["outcome"], answer["rulings"][1]["then"]) == ("player", then)


@pytest.mark.clause("C 5.4.1", "C 5.10", "I 5.4.1", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
def test_an_outcome_established_before_waits_for_no_order(game: str) -> None:
    """The third cards were drawn together, but the pairs are decided."""
    both = [{"kind": "drawn-together", "at": 5}, {"kind": "interruption", "at": 6}]
    assert ruled(table(game, DEAL, ALL, irregularities=both))[1] == ("interruption", "continue", "5.4.1")


@pytest.mark.clause("C 5.7", "C 5.10", "I 5.7", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
def test_a_card_for_the_next_round_is_shown_after_the_order_before_it(game: str) -> None:
    """Until the answer it is unknown which cards the round draws."""
    both = [{"kind": "drawn-together", "at": 3}, {"kind": "card-exposed", "at": 5, "reconstructable": False}]
    decided = decide("card-order", ["10C", "2S"], "pit-supervisor")
    assert table(game, DEAL, ALL, irregularities=both)["carried"] == []
    assert table(game, DEAL, ALL, irregularities=both, decisions=[decided])["carried"] == ["2D"]


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
def test_cards_for_the_next_round_are_in_the_order_of_the_draw(game: str) -> None:
    """A card set aside early precedes a later card that was not due."""
    exposed = with_irregularity("card-exposed", at=2, reconstructable=False)
    answer = table(game, "10S 8D 4S 2C 4H 5D", ALL, **exposed, decisions=GO_ON)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["10S", "2C"], ["4S", "4H"])
    assert answer["carried"] == ["8D", "5D"]
