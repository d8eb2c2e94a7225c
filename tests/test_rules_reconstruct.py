"""Where the cards lie once something went wrong: put back, put in order, exchanged, set aside."""

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
    happened,
    ruled,
    ruling,
    table,
)


@pytest.mark.clause("C 5.8", "C 5.8.1", "C 5.8.2", "I 5.8", "I 5.8.1", "I 5.8.2")
@pytest.mark.parametrize("game", [C, I])
def test_two_cards_that_changed_places_for_good_stay_and_give_options(game: str) -> None:
    """Neither hand has a wrong number, so the round goes on as it lies, established or not."""
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
def test_a_card_that_is_put_back_serves_the_round_if_it_is_due(game: str, kind: str) -> None:
    """Dealt to Player who stands, it is Banker's third."""
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS + " 5H", ALL, **happened(kind, at=5, reconstructable=True))
    assert answer["banker"] == {"cards": ["3H", "KC", "5H"], "points": 8}
    assert (answer["carried"], answer["due"], answer["outcome"]) == ([], None, "banker")


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize("kind", ["card-in-excess", "card-exposed"])
def test_a_card_that_nobody_draws_opens_the_next_round(game: str, kind: str) -> None:
    """It is named, and the round stands without it."""
    answer = table(game, PLAYER_9_BANKER_7 + " 5H", ALL, **happened(kind, at=5, reconstructable=True))
    assert (answer["carried"], answer["outcome"], answer["questions"]) == (["5H"], "player", [])


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
def test_a_pit_supervisor_confirms_what_is_proposed(game: str) -> None:
    """Until then nothing is settled; the cards are shown as they would lie."""
    cards = PLAYER_STANDS_BANKER_DRAWS + " 5H"
    waiting = table(game, cards, ALL, **happened("card-in-excess", at=5))
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
            game, cards, ALL, **happened("card-in-excess", at=5), decisions=[decide("reconstructable", "yes", role)]
        )
        assert (answer["outcome"] == "banker") is heard
        assert ("unheard" in answer) is not heard
    refused = [decide("reconstructable", "no", "pit-manager")]
    answer = table(game, cards, ALL, **happened("card-in-excess", at=5), decisions=refused)
    assert ruling(answer) == ("void", "5.5.3")


@pytest.mark.clause("C 5.7", "I 5.7")
def test_an_exposed_card_that_cannot_be_put_back_is_left_for_the_next_round() -> None:
    """The next one takes its place, once it is drawn."""
    cards = PLAYER_STANDS_BANKER_DRAWS + " 5H"
    answer = table(C, cards, ALL, **happened("card-exposed", at=5, reconstructable=False))
    assert (answer["banker"]["cards"], answer["due"], answer["carried"]) == (["3H", "KC"], "banker", ["5H"])
    cards += " 2C"
    answer = table(C, cards, ALL, **happened("card-exposed", at=5, reconstructable=False))
    assert (answer["banker"]["cards"], answer["carried"]) == (["3H", "KC", "2C"], ["5H"])


@pytest.mark.clause("C 5.8", "C 5.8.1", "C 5.8.2", "I 5.8", "I 5.8.1", "I 5.8.2")
@pytest.mark.parametrize("game", [C, I])
def test_cards_on_the_wrong_side_are_put_back_and_played_by_the_table(game: str) -> None:
    """In the order in which they left the shoe."""
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS, ALL, **happened("wrong-side", at=3))
    assert answer["player"] == {"cards": ["2S", "4D"], "points": 6}
    assert answer["banker"] == {"cards": ["3H", "KC"], "points": 3}
    assert answer["due"] == "banker"


@pytest.mark.clause("C 5.10", "C 5.10.1", "I 5.10", "I 5.10.1")
@pytest.mark.parametrize("game", [C, I])
def test_a_pit_supervisor_puts_cards_that_came_together_in_order(game: str) -> None:
    """Until then they lie nowhere; afterwards every player has the options, whatever is established."""
    cards, together = PLAYER_STANDS_BANKER_DRAWS, happened("drawn-together", at=3)
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
def test_the_set_may_be_replaced_after_cards_came_together(game: str) -> None:
    """A Pit Supervisor may say so where their order could not be told, and nothing waits for it."""
    known = table(game, PLAYER_9_BANKER_7, ALL, **happened("drawn-together", at=3, order_known=True))
    assert "set-replaced" not in [question["question"] for question in known["questions"]]
    together = happened("drawn-together", at=3)
    decisions = [decide("card-order", ["5D", "4C"], "pit-supervisor"), decide("option", "continue", "player")]
    answer = table(game, PLAYER_9_BANKER_7, ALL, **together, decisions=decisions)
    (question,) = answer["questions"]
    assert (question["question"], question["clause"], question["optional"]) == ("set-replaced", "5.10.2", True)
    assert question["role"] == "pit-supervisor"
    assert answer["outcome"] == "player"
    decisions.append(decide("set-replaced", "yes", "pit-supervisor"))
    assert table(game, PLAYER_9_BANKER_7, ALL, **together, decisions=decisions)["questions"] == []


@pytest.mark.clause("F 5.3", "F 1.1.3", "F 5.4")
def test_cards_that_came_together_after_the_initial_deal_are_a_persons_business_in_f() -> None:
    """Who may hold it for an altered order; the answer names the reading."""
    cards, together = "2S 3H KD KC 2C 5H", happened("drawn-together", at=5)
    answer = table(F, cards, ALL, **together)
    assert "5.4" in answer["rulings"][0]["reading"]
    for choice, outcome in (("continue", "banker"), ("void", None)):
        decided = table(F, cards, ALL, **together, decisions=[decide("ruling", choice, "pit-manager")])
        assert (decided["outcome"], decided["questions"]) == (outcome, [])
        assert (decided["void"] is None) is (choice == "continue")
        assert (column(decided, "clause") == [None] * 3) is (choice == "void")


@pytest.mark.clause("C 5.12", "C 5.12.2", "I 5.12", "I 5.12.2")
@pytest.mark.parametrize("game", [C, I])
def test_an_altered_order_that_is_known_is_put_right(game: str) -> None:
    """The cards from there on as they were meant to come."""
    altered = happened("order-altered", at=3, reconstructable=True, order=["KC", "4D"])
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS, ALL, **altered)
    assert answer["player"]["cards"] == ["2S", "KC"]
    assert asked(answer) == [("option", "a", "5.12"), ("option", "b", "5.12")]


@pytest.mark.parametrize(("order", "there"), [(["KC", "KC"], "4D KC"), (["KC"], "4D"), (["KC", "4D", "3H"], "4D KC")])
def test_an_order_that_invents_a_card_is_refused(order: list[str], there: str) -> None:
    """It puts the cards that came in order, and no others."""
    answer = table(C, PLAYER_STANDS_BANKER_DRAWS, ALL, **happened("order-altered", at=3, order=order))
    assert answer["error"]["code"] == "bad-line"
    assert f"card 3 on, {there};" in answer["error"]["message"]


@pytest.mark.clause("C 5.4.2", "I 5.4.2", "C 5.5.4", "I 5.5.4")
@pytest.mark.parametrize("game", [C, I])
def test_cards_set_aside_establish_nothing_and_complete_nothing(game: str) -> None:
    """An exposed card that cannot be put back serves the next round: neither outcome nor end hangs on it."""
    exposed = {"kind": "card-exposed", "at": 3, "reconstructable": False}
    answer = table(game, "AS 2S 3S", ALL, irregularities=[exposed, {"kind": "interruption", "at": 3}])
    assert answer["void"]["clause"] == "5.4.2"
    exposed = {"kind": "card-exposed", "at": 2, "reconstructable": False}
    answer = table(game, "9S 2S KS 4S", ALL, irregularities=[exposed, {"kind": "too-few-cards"}])
    assert answer["void"]["clause"] == "5.5.4"


@pytest.mark.parametrize("game", [C, I])
def test_an_altered_order_that_is_put_back_may_end_the_round_early(game: str) -> None:
    """What the round has no use for then serves the next one."""
    altered = happened("order-altered", at=3, reconstructable=True, order=["6H", "3D", "3C"])
    answer = table(game, "2S 2H 3D 3C 6H", ALL, **altered)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["2S", "6H"], ["2H", "3D"])
    assert answer["carried"] == ["3C"]


# ---------------------------------------------------------------------------------------------- changed places

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
def test_cards_that_changed_places_are_exchanged(
    game: str, places: tuple[int, int], player: str, banker: str, carried: str
) -> None:
    """For good, whoever says go on: the hands are those of the deal with the two exchanged, third cards too."""
    for one, other in (places, places[::-1]):
        answer = table(game, DEAL, ALL, irregularities=on_the_wrong_side(one, other), decisions=GO_ON)
        assert [answer[hand]["cards"] for hand in ("player", "banker")] == [player.split(), banker.split()]
        assert (answer["carried"], answer["due"], answer["questions"]) == (carried.split(), None, [])


@pytest.mark.clause("C 5.8", "I 5.8")
@pytest.mark.parametrize("game", GAMES)
def test_cards_that_changed_places_early_leave_the_rest_to_the_table_of_play(game: str) -> None:
    """What is due next follows from the hands as they lie."""
    two = table(game, "5S KD", ALL, irregularities=on_the_wrong_side(1, 2), decisions=GO_ON)
    assert (two["player"]["cards"], two["banker"]["cards"], two["due"]) == (["KD"], ["5S"], "player")
    five = table(game, "KS 3H 6D QC 9H", ALL, irregularities=on_the_wrong_side(1, 5), decisions=GO_ON)
    assert five["player"]["cards"] == ["9H", "6D", "KS"]  # Player stood on 6, and draws with 5
    assert (five["banker"]["cards"], five["due"]) == (["3H", "QC"], "banker")


@pytest.mark.clause("C 5.12.1", "I 5.12.1")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize("kind", ["dealing-error", "order-altered"])
def test_other_errors_that_cannot_be_put_right_leave_the_cards_where_they_lie(game: str, kind: str) -> None:
    """Two of them exchange nothing, and an order that was meant is not laid."""
    errors: list[dict[str, Any]] = [{"kind": kind, "at": at, "reconstructable": False} for at in (1, 2)]
    if kind == "order-altered":
        errors[0]["order"] = ["KD", "5S"]
    answer = table(game, DEAL, ALL, irregularities=errors, decisions=GO_ON)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["5S", "10C", "2D"], ["KD", "2S", "3H"])


@pytest.mark.clause("C 5.8", "C 5.4.1", "I 5.8", "I 5.4.1")
@pytest.mark.parametrize("game", [C, I])
def test_before_both_were_drawn_nothing_has_changed_places(game: str) -> None:
    """When the line failed the second card was still in the shoe: what it establishes is reckoned without it."""
    first, second = on_the_wrong_side(3, 4)
    for at, then in ((2, ("void", "5.4.2")), (3, ("continue", "5.4.1"))):
        answer = table(game, DEAL, ALL, irregularities=[first, {"kind": "interruption", "at": at}, second])
        assert [(each["then"], each["clause"]) for each in answer["rulings"]][1] == then


@pytest.mark.clause("C 5.5.3", "I 5.5.3", "F 5.2", "E 5.1.2", "T 5.1.2")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.5.3"), (I, "5.5.3"), (F, "5.2"), (E, "5.1.2"), (T, "5.1.2")])
@pytest.mark.parametrize(
    "happened",
    [
        [{"kind": "wrong-side", "at": 2}, *on_the_wrong_side(3)],
        [{**on_the_wrong_side(2)[0], "noticed_late": True}, *on_the_wrong_side(3)],
        on_the_wrong_side(1, 3),
        on_the_wrong_side(1, 2, 4),
    ],
    ids=["one was put back", "one was noticed late", "both are Player's", "two for one"],
)
def test_cards_on_the_wrong_side_that_do_not_pair_leave_a_wrong_number(
    game: str, clause: str, happened: list[dict[str, Any]]
) -> None:
    """So the round is void, whatever becomes of the other card."""
    answer = table(game, "8C AS 5C 3S", ALL, irregularities=happened, decisions=GO_ON)
    assert (answer["void"]["kind"], answer["void"]["clause"]) == ("wrong-side", clause)


@pytest.mark.clause("C 5.5.3", "I 5.5.3", "F 5.2", "E 5.1.2", "T 5.1.2")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.5.3"), (I, "5.5.3"), (F, "5.2"), (E, "5.1.2"), (T, "5.1.2")])
def test_a_card_that_nobody_was_due_lies_on_no_right_side(game: str, clause: str) -> None:
    """After a natural either hand has one too many with it."""
    answer = table(game, PLAYER_9_BANKER_7 + " 5H", ALL, irregularities=on_the_wrong_side(5))
    assert (answer["void"]["kind"], answer["void"]["clause"]) == ("wrong-side", clause)


# ---------------------------------------------------------------------------------------------- one after the other


@pytest.mark.clause("C 5.12.2", "I 5.12.2")
@pytest.mark.parametrize("game", [C, I])
def test_a_second_altered_order_is_put_right_where_the_cards_lie_now(game: str) -> None:
    """It says what was wrong with the cards that came; none of them is there twice, and none is lost."""
    altered = [
        {"kind": "order-altered", "at": 4, "order": ["8S", "4C"], "reconstructable": True},
        {"kind": "order-altered", "at": 5, "order": ["8S"], "reconstructable": True},  # as it came
    ]
    answer = table(game, "6H QC 5D 4C 8S", ALL, irregularities=altered, decisions=GO_ON)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["6H", "5D"], ["QC", "8S"])
    assert answer["carried"] == ["4C"]


@pytest.mark.clause("C 5.10", "C 5.12.2", "I 5.10", "I 5.12.2")
@pytest.mark.parametrize("game", [C, I])
def test_an_order_that_was_told_is_altered_as_a_whole(game: str) -> None:
    """2D and 2S came together and were ordered; then the fifth and the sixth card change places."""
    happened = [
        {"kind": "drawn-together", "at": 4},
        {"kind": "order-altered", "at": 5, "order": ["3H", "2D"], "reconstructable": True},
    ]
    told = [*GO_ON, decide("card-order", ["2D", "2S"], "pit-supervisor")]
    answer = table(game, DEAL, ALL, irregularities=happened, decisions=told)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["5S", "10C", "3H"], ["KD", "2D", "2S"])


@pytest.mark.clause("C 5.12.2", "I 5.12.2")
@pytest.mark.parametrize("game", [C, I])
def test_equal_cards_are_two_cards(game: str) -> None:
    """Put in order twice, none of the kings is laid in the place of the other, and the four is not lost."""
    altered = [
        {"kind": "order-altered", "at": 4, "order": ["4H", "KC"], "reconstructable": True},
        {"kind": "order-altered", "at": 3, "order": ["KC", "4H", "KC"], "reconstructable": True},
    ]
    answer = table(game, "2S 3H KC KC 4H", ALL, irregularities=altered, decisions=GO_ON)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["2S", "KC", "4H"], ["3H", "KC"])


@pytest.mark.clause("C 5.10", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
def test_cards_lie_as_far_as_their_order_is_known(game: str) -> None:
    """However often cards came together, up to the first of them that nobody has put in order."""
    happened = [{"kind": "drawn-together", "at": at} for at in (3, 5)]
    waiting = table(game, DEAL, ALL, irregularities=happened)
    assert (waiting["player"]["cards"], waiting["banker"]["cards"]) == (["5S"], ["KD"])
    first = table(
        game, DEAL, ALL, irregularities=happened, decisions=[decide("card-order", ["2S", "10C"], "pit-manager")]
    )
    assert (first["player"]["cards"], first["banker"]["cards"]) == (["5S", "2S"], ["KD", "10C"])


@pytest.mark.clause("C 5.9", "C 5.10", "I 5.9", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
def test_cards_whose_order_nobody_has_told_establish_nothing(game: str) -> None:
    """Nor can anybody say that nothing is: whether a card face up gives options waits, and one before them does."""
    together = {"kind": "drawn-together", "at": 3}
    before = table(game, DEAL, ALL, irregularities=[together, {"kind": "face-up", "at": 2}])
    assert ("option", "a", "5.9") in asked(before)
    among = table(game, DEAL, ALL, irregularities=[together, {"kind": "face-up", "at": 4}])
    assert ("option", "a", "5.9") not in asked(among)


@pytest.mark.clause("C 5.4.1", "C 5.5.4", "C 5.10", "I 5.4.1", "I 5.5.4", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize(
    ("happened", "then"), [({"kind": "interruption"}, "continue"), ({"kind": "too-few-cards"}, "stands")]
)
def test_nothing_is_void_before_the_order_is_told_on_which_it_hangs(
    game: str, happened: dict[str, Any], then: str
) -> None:
    """The last two of the four cards came together: with a natural the round needs no other, and pairs are decided."""
    both = [{"kind": "drawn-together", "at": 3}, happened]
    waiting = table(game, PLAYER_9_BANKER_7, ALL, irregularities=both)
    assert (waiting["void"], ruled(waiting)[1]) == (None, (happened["kind"], "ask", "5.10"))
    assert waiting["rulings"][1]["decides"] == "pit-supervisor"
    told = [*GO_ON, decide("card-order", ["5D", "4C"], "pit-supervisor")]
    answer = table(game, PLAYER_9_BANKER_7, ALL, irregularities=both, decisions=told)
    assert (answer["outcome"], answer["rulings"][1]["then"]) == ("player", then)


@pytest.mark.clause("C 5.4.1", "C 5.10", "I 5.4.1", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
def test_what_the_cards_before_have_established_waits_for_no_order(game: str) -> None:
    """The third cards came together, but the pairs are decided."""
    both = [{"kind": "drawn-together", "at": 5}, {"kind": "interruption", "at": 6}]
    assert ruled(table(game, DEAL, ALL, irregularities=both))[1] == ("interruption", "continue", "5.4.1")


@pytest.mark.clause("C 5.7", "C 5.10", "I 5.7", "I 5.10")
@pytest.mark.parametrize("game", [C, I])
def test_a_card_set_aside_is_shown_once_the_order_before_it_is_told(game: str) -> None:
    """Until then nobody knows what the round draws."""
    both = [{"kind": "drawn-together", "at": 3}, {"kind": "card-exposed", "at": 5, "reconstructable": False}]
    told = decide("card-order", ["10C", "2S"], "pit-supervisor")
    assert table(game, DEAL, ALL, irregularities=both)["carried"] == []
    assert table(game, DEAL, ALL, irregularities=both, decisions=[told])["carried"] == ["2D"]


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
def test_what_is_left_for_the_next_round_is_in_the_order_in_which_it_was_drawn(game: str) -> None:
    """A card set aside early comes before one that the round had no use for."""
    exposed = happened("card-exposed", at=2, reconstructable=False)
    answer = table(game, "10S 8D 4S 2C 4H 5D", ALL, **exposed, decisions=GO_ON)
    assert (answer["player"]["cards"], answer["banker"]["cards"]) == (["10S", "2C"], ["4S", "4H"])
    assert answer["carried"] == ["8D", "5D"]
