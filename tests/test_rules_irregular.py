"""What each book demands when something goes wrong, and how the cards then lie."""

from typing import Any

import pytest

from shoed.rules.book import Role
from shoed.rules.load import GAMES
from tests.tables import Answer, asked, column, noted, refusals, ruled, table

C, I, F, E, T = GAMES  # noqa: E741  # as the clauses have them
NAMED = {"C": C, "I": I, "F": F, "E": E, "T": T}
PLAYER_9_BANKER_7 = "4S 3H 5D 4C"
PLAYER_STANDS_BANKER_DRAWS = "2S 3H 4D KC"  # 6 against 3
ALL = "1 a player 100; 2 b banker 200; 2 b tie 10"
SILENT = ("ask", None)


def happened(kind: str, **more: object) -> dict[str, Any]:
    return {"irregularities": [{"kind": kind, **more}]}


def decide(question: str, choice: object, role: str, **more: object) -> dict[str, object]:
    return {"question": question, "choice": choice, "role": role, **more}


def option(bettor: str, choice: str) -> dict[str, object]:
    return decide("option", choice, "player", bettor=bettor)


def ruling(answer: Answer) -> tuple[str, str | None]:
    (only,) = answer["rulings"]
    assert only["silent"] is (only["clause"] is None)
    return only["then"], only["clause"]


# Kind, what is known of it, and what C, I, F, E and T say: what follows, and the clause.
SAID = [
    ("foreign-card", {"at": 3}, "void 5.5.1", "void 5.5.1", "void 5.1", "void 5.1.1", "void 5.1.1"),
    ("deck-count", {}, "void 5.5.2", "void 5.5.2", SILENT, SILENT, SILENT),
    ("not-shuffled", {}, "void 5.5.5", "void 5.5.5", SILENT, SILENT, SILENT),
    (
        "wrong-count",
        {"reconstructable": False},
        *("void 5.5.3", "void 5.5.3", "void 5.2", "void 5.1.2", "void 5.1.2"),
    ),
    ("wrong-count", {"reconstructable": True}, "reconstruct 5.12", "reconstruct 5.12", SILENT, SILENT, SILENT),
    ("drawn-together", {"at": 1}, "order-cards 5.10", "order-cards 5.10", "void 5.3", SILENT, SILENT),
    ("drawn-together", {"at": 4, "count": 2}, "order-cards 5.10", "order-cards 5.10", "void 5.3", SILENT, SILENT),
    ("drawn-together", {"at": 5, "count": 2}, "order-cards 5.10", "order-cards 5.10", SILENT, SILENT, SILENT),
    (
        "drawn-together",
        {"at": 1, "order_known": True},
        *("continue 5.10.1", "continue 5.10.1", ("continue", None), ("continue", None), ("continue", None)),
    ),
    (
        "order-altered",
        {"at": 5, "reconstructable": False},
        "continue 5.12",
        "continue 5.12",
        "void 5.4",
        SILENT,
        SILENT,
    ),
    (
        "order-altered",
        {"at": 5, "reconstructable": False, "of_the_dealing": False},
        *("ask 5.17", "ask 5.18", "void 5.4", SILENT, SILENT),
    ),
    (
        "card-in-excess",
        {"at": 6, "reconstructable": True},
        *("reconstruct-or-carry 5.7", "reconstruct-or-carry 5.7", SILENT, SILENT, SILENT),
    ),
    (
        "card-in-excess",
        {"at": 6, "reconstructable": False},
        *("void 5.5.3", "void 5.5.3", "void 5.2", "void 5.1.2", "void 5.1.2"),
    ),
    (
        "card-exposed",
        {"at": 5, "reconstructable": True},
        *("reconstruct-or-carry 5.7", "reconstruct-or-carry 5.7", SILENT, SILENT, SILENT),
    ),
    ("wrong-side", {"at": 2}, "reconstruct 5.8", "reconstruct 5.8", SILENT, SILENT, SILENT),
    (
        "wrong-side",
        {"at": 2, "reconstructable": False},
        *("void 5.5.3", "void 5.5.3", "void 5.2", "void 5.1.2", "void 5.1.2"),
    ),
    ("face-up", {"at": 2}, "continue 5.9", "continue 5.9", SILENT, SILENT, SILENT),
    ("dealing-error", {"reconstructable": False}, "continue 5.12", "continue 5.12", SILENT, SILENT, SILENT),
    ("dealing-error", {"reconstructable": True}, "reconstruct 5.12", "reconstruct 5.12", SILENT, SILENT, SILENT),
    ("interruption", {"at": 2}, "void 5.4.2", "void 5.4.2", SILENT, SILENT, SILENT),
    ("interruption", {"at": 3}, "continue 5.4.1", "continue 5.4.1", SILENT, SILENT, SILENT),
    ("other", {}, "ask 5.17", "ask 5.18", SILENT, SILENT, SILENT),
]


@pytest.mark.clause(
    "C 5.5", "C 5.5.1", "C 5.5.2", "C 5.5.3", "C 5.5.5", "C 5.4", "C 5.4.1", "C 5.4.2", "C 5.7", "C 5.8"
)
@pytest.mark.clause(
    "I 5.5", "I 5.5.1", "I 5.5.2", "I 5.5.3", "I 5.5.5", "I 5.4", "I 5.4.1", "I 5.4.2", "I 5.7", "I 5.8"
)
@pytest.mark.clause(
    "C 5.9", "C 5.10", "C 5.10.1", "C 5.12", "C 5.17", "I 5.9", "I 5.10", "I 5.10.1", "I 5.12", "I 5.18"
)
@pytest.mark.clause(
    "F 5.1", "F 5.1.1", "F 5.2", "F 5.3", "F 5.4", "E 5.1", "E 5.1.1", "E 5.1.2", "T 5.1", "T 5.1.1", "T 5.1.2"
)
@pytest.mark.parametrize("of", range(5), ids=GAMES)
@pytest.mark.parametrize("said", SAID, ids=lambda said: f"{said[0]} {said[1]}")
def test_each_document_says_its_own_of_each_event(said: tuple[Any, ...], of: int) -> None:
    """And where it says nothing the round waits for a person, and the answer says that the document is silent."""
    kind, known, *each = said
    cards = "2S 3H KD KC 2C 5H"  # P 2, B 3, third 2, third 5
    answer = table(GAMES[of], cards, ALL, **happened(kind, **known))
    expected = each[of] if isinstance(each[of], tuple) else tuple(each[of].split())
    assert ruling(answer) == expected
    assert (answer["void"] is not None) is (expected[0] == "void")
    if expected[0] == "ask":
        (question,) = answer["questions"]
        assert (question["question"], question["choices"]) == ("ruling", ["continue", "void"])
        assert question["role"] == ("shift-manager" if expected[1] else None)
        assert column(answer, "pays") == [None] * 3
        assert answer["outcome"] is None


# ---------------------------------------------------------------------------------------------- void


@pytest.mark.clause("C 5.15", "C 1.20", "I 5.16", "I 1.23", "F 5.1.1", "E 5.1", "T 5.1")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.15"), (I, "5.16"), (F, "5.1"), (E, "5.1.1"), (T, "5.1.1")])
def test_a_void_round_returns_every_stake_and_has_no_result(game: str, clause: str) -> None:
    """By the clause that says so, or by the one that makes it void."""
    answer = table(game, PLAYER_9_BANKER_7, ALL.replace("2 b tie 10", "2 b tie 10"), **happened("foreign-card", at=4))
    assert (answer["outcome"], answer["house"]) == (None, 0)
    assert column(answer, "returned") == [100, 200, 10]
    assert column(answer, "winnings") == [0, 0, 0]
    assert column(answer, "clause") == [clause] * 3
    assert answer["void"]["returns"] == (clause if game in (C, I) else None)


@pytest.mark.clause("I 5.16")
def test_a_void_round_returns_insurance_too() -> None:
    """All that the player laid down in the round."""
    placed = "1 a player 1000; 1 a player-insurance 100 after-four"
    for void in (happened("not-shuffled"), happened("foreign-card", at=2)):
        answer = table(I, "QS 3H 7D JC JH", placed, **void)
        assert (column(answer, "returned"), answer["refused"]) == ([1000, 100], [])


@pytest.mark.clause("C 5.5.1", "I 5.5.1", "F 5.1.1", "E 5.1.1", "T 5.1.1")
@pytest.mark.parametrize("game", GAMES)
def test_a_foreign_card_need_not_be_one(game: str) -> None:
    """Whatever lies there, the cards before it are shown as they lay."""
    answer = table(game, "4S 3H joker 4C", "1 a player 100", **happened("foreign-card", at=3))
    assert answer["player"] == {"cards": ["4S"], "points": 4}
    assert answer["banker"] == {"cards": ["3H"], "points": 3}


@pytest.mark.clause("C 5.5.4", "I 5.5.4", "F 5.5", "E 5.1.3", "T 5.1.3")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.5.4"), (I, "5.5.4"), (F, "5.5"), (E, "5.1.3"), (T, "5.1.3")])
def test_too_few_cards_void_a_round_that_lacks_one(game: str, clause: str) -> None:
    """A natural on the last four cards stands."""
    lacks = table(game, PLAYER_STANDS_BANKER_DRAWS, ALL, **happened("too-few-cards"))
    assert ruling(lacks) == ("void", clause)
    natural = table(game, PLAYER_9_BANKER_7, ALL, **happened("too-few-cards"))
    assert ruling(natural) == ("stands", clause)
    assert (natural["void"], natural["outcome"]) == (None, "player")


@pytest.mark.clause("C 5.5.2", "I 5.5.2")
@pytest.mark.parametrize("game", [C, I])
def test_a_shortage_found_between_rounds_voids_nothing(game: str) -> None:
    """It is recorded, and the next round waits for a person."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **happened("deck-count", between_rounds=True))
    assert ruling(answer) == ("stands", "5.5.2")
    assert (answer["outcome"], asked(answer)) == ("player", [("next-round", None, "5.5.2")])
    gone_on = table(
        game,
        PLAYER_9_BANKER_7,
        ALL,
        **happened("deck-count", between_rounds=True),
        decisions=[decide("next-round", "go-on", "dealer")],
    )
    assert gone_on["questions"] == []


@pytest.mark.parametrize(
    ("game", "kind", "clause"),
    [
        (E, "deck-count", None),  # it has no row of it
        (E, "drawn-together", None),  # its one row is a reading
        (C, "interruption", None),  # its two rows are of a round
        (C, "foreign-card", "5.5.1"),
        (F, "foreign-card", "5.1"),
    ],
)
def test_between_rounds_only_a_clause_that_says_one_thing_is_cited(game: str, kind: str, clause: str | None) -> None:
    """Where there is none, or several that hang on the round, the answer says that the document is silent."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **happened(kind, at=1, between_rounds=True))
    assert ruling(answer) == ("stands", clause)
    assert asked(answer) == [("next-round", None, clause)]


@pytest.mark.parametrize(("game", "clause"), [(C, "5.7"), (E, "5.1.2")])
def test_a_question_cites_what_hangs_on_its_answer(game: str, clause: str | None) -> None:
    """Whether the card can be put back is asked where the document only says what follows if it cannot."""
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS + " 5H", ALL, **happened("card-in-excess", at=5))
    assert ruling(answer) == ("ask", clause)
    assert asked(answer) == [("reconstructable", None, clause)]


@pytest.mark.clause("C 5.11", "I 5.11")
@pytest.mark.parametrize("kind", ["card-in-excess", "deck-count", "wrong-count", "insurance-neglected", "other"])
@pytest.mark.parametrize("game", GAMES)
def test_what_is_noticed_once_the_next_round_has_begun_changes_nothing(game: str, kind: str) -> None:
    """In C and I by their clause, elsewhere as we read it; it is recorded."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **happened(kind, noticed_late=True))
    assert ruling(answer) == ("stands", "5.11" if game in (C, I) else None)
    assert "reading" in answer["rulings"][0] or game in (C, I)
    assert (answer["outcome"], answer["questions"]) == ("player", [])


# ---------------------------------------------------------------------------------------------- an outcome established


@pytest.mark.clause("C 5.4.1", "C 5.4.2", "I 5.4.1", "I 5.4.2")
@pytest.mark.parametrize("game", [C, I])
def test_an_outcome_is_established_from_the_third_card_on(game: str) -> None:
    """A pair is won or lost then; a table may count only what lies on the layout."""
    cards = PLAYER_STANDS_BANKER_DRAWS
    assert ruling(table(game, cards, ALL, **happened("interruption", at=0))) == ("void", "5.4.2")
    assert ruling(table(game, cards, ALL, **happened("interruption", at=3))) == ("continue", "5.4.1")
    placed = table(game, cards, ALL, **happened("interruption", at=4), outcome_basis="placed")
    assert ruling(placed) == ("void", "5.4.2")
    with_pair = table(
        game, cards, ALL + "; 3 c player-pair 5", **happened("interruption", at=4), outcome_basis="placed"
    )
    assert ruling(with_pair) == ("continue", "5.4.1")
    assert with_pair["due"] == "banker"


# ---------------------------------------------------------------------------------------------- options


@pytest.mark.clause("C 5.12.1", "C 5.12.2", "C 5.12.3", "I 5.12.1", "I 5.12.2", "I 5.12.3")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize(("reconstructable", "goes_on"), [(False, "5.12.1"), (True, "5.12.2")])
def test_every_player_goes_on_or_takes_all_bets_of_the_round_back(
    game: str,
    reconstructable: bool,  # noqa: FBT001
    goes_on: str,
) -> None:
    """Each for themselves."""
    error = happened("dealing-error", at=2, reconstructable=reconstructable)
    answer = table(game, PLAYER_9_BANKER_7, ALL, **error)
    assert asked(answer) == [("option", "a", "5.12"), ("option", "b", "5.12")]
    assert [each["clauses"] for each in answer["questions"]] == [[goes_on, "5.12.3"]] * 2
    assert {each["role"] for each in answer["questions"]} == {"player"}
    assert column(answer, "pays") == [None] * 3

    decided = table(game, PLAYER_9_BANKER_7, ALL, **error, decisions=[option("a", "continue"), option("b", "return")])
    assert decided["questions"] == []
    assert column(decided, "winnings") == [100, 0, 0]
    assert column(decided, "returned") == [100, 200, 10]
    assert column(decided, "clause")[1:] == ["5.12.3", "5.12.3"]
    assert [(each["bettor"], each["took_back"]) for each in decided["bettors"]] == [("a", False), ("b", True)]


@pytest.mark.clause("C 5.12", "I 5.12")
def test_one_decision_may_be_everybodys_and_a_player_who_left_is_not_asked() -> None:
    """Who walked away has nothing to say; the bet is settled."""
    error = [{"kind": "dealing-error", "at": 1, "reconstructable": False}, {"kind": "walked-away", "bettor": "b"}]
    answer = table(C, PLAYER_9_BANKER_7, ALL, irregularities=error, decisions=[decide("option", "return", "player")])
    assert column(answer, "winnings") == [0, -200, -10]


@pytest.mark.clause("C 5.12", "I 5.12")
def test_a_player_is_asked_after_each_error_until_the_bets_are_back() -> None:
    """A second error is a new question; who has nothing on the table any more is not asked."""
    errors = [{"kind": "dealing-error", "at": at, "reconstructable": False} for at in (1, 2)]
    decisions = [
        decide("option", "continue", "player", irregularity=0, bettor="a"),
        decide("option", "return", "player", irregularity=0, bettor="b"),
    ]
    answer = table(C, PLAYER_9_BANKER_7, ALL, irregularities=errors, decisions=decisions)
    assert [(each["irregularity"], each["bettor"]) for each in answer["questions"]] == [(1, "a")]


GATED = [  # by what an established outcome gates the options
    ("card-in-excess", {"reconstructable": True}, "5.7.1", False),
    ("card-exposed", {"reconstructable": True}, "5.7.1", False),
    ("face-up", {}, "5.9", False),
    ("wrong-side", {"reconstructable": True}, "5.8", False),
    ("drawn-together", {"order_known": True}, "5.10.1", True),
]


@pytest.mark.clause("C 5.7.1", "C 5.8", "C 5.9", "C 5.10.1", "I 5.7.1", "I 5.8", "I 5.9", "I 5.10.1")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize(("kind", "known", "clause", "always"), GATED)
def test_an_established_outcome_gates_the_options(
    game: str,
    kind: str,
    known: dict[str, bool],
    clause: str,
    always: bool,  # noqa: FBT001
) -> None:
    """None are given then, but for cards that came together."""
    cards = PLAYER_STANDS_BANKER_DRAWS + " 2C"
    before = table(game, cards, ALL, **happened(kind, at=1, **known))
    assert {each["clause"] for each in before["questions"] if each["question"] == "option"} == {clause}
    after = table(game, cards, ALL, **happened(kind, at=4, **known))
    assert ("option" in {each["question"] for each in after["questions"]}) is always


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


# ---------------------------------------------------------------------------------------------- how the cards lie


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
def test_a_card_in_excess_serves_the_round_if_it_is_due(game: str) -> None:
    """Dealt to Player who stands, it is Banker's third."""
    answer = table(
        game, PLAYER_STANDS_BANKER_DRAWS + " 5H", ALL, **happened("card-in-excess", at=5, reconstructable=True)
    )
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
    """The next one takes its place."""
    cards = PLAYER_STANDS_BANKER_DRAWS + " 5H 2C"
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
    assert answer["error"]["message"].endswith(f"card 3 on, {there}")


@pytest.mark.clause("C 5.17", "I 5.18")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize("role", Role)
def test_what_the_rules_do_not_cover_is_the_shift_managers(game: str, role: Role) -> None:
    """Nobody below may decide it."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **happened("other"), decisions=[decide("ruling", "void", role.value)])
    assert (answer["void"] is not None) is (role is Role.SHIFT_MANAGER)


@pytest.mark.parametrize("game", [F, E, T])
def test_where_a_document_is_silent_any_person_of_the_house_may_decide(game: str) -> None:
    """No player, and nobody unknown."""
    for role, heard in (("dealer", True), ("player", False), ("waiter", False)):
        answer = table(
            game, PLAYER_9_BANKER_7, ALL, **happened("face-up", at=1), decisions=[decide("ruling", "continue", role)]
        )
        assert (answer["outcome"] == "player") is heard


def test_a_decision_that_answers_nothing_is_named() -> None:
    """Nothing asked for it, or it is no answer to what was asked."""
    nothing = table(C, PLAYER_9_BANKER_7, ALL, decisions=[decide("ruling", "void", "shift-manager")])
    assert nothing["unheard"] == [{"decision": 0, "code": "not-asked"}]
    wrong = table(
        C, PLAYER_9_BANKER_7, ALL, **happened("other"), decisions=[decide("ruling", "return", "shift-manager")]
    )
    assert wrong["unheard"] == [{"decision": 0, "code": "choice"}]
    assert asked(wrong) == [("ruling", None, "5.17")]


def test_several_irregularities_are_taken_in_order_and_a_void_ends_them_all() -> None:
    """Each has its ruling; no question is left of a round that is void."""
    both = [{"kind": "dealing-error", "at": 1, "reconstructable": False}, {"kind": "not-shuffled"}]
    answer = table(C, PLAYER_9_BANKER_7, ALL, irregularities=both)
    assert ruled(answer) == [("dealing-error", "continue", "5.12"), ("not-shuffled", "void", "5.5.5")]
    assert (answer["void"]["irregularity"], answer["questions"], answer["due"]) == (1, [], None)


def test_insurance_neglected_where_there_is_none_is_nothing() -> None:
    """A game without insurance has nothing to offer."""
    answer = table(F, PLAYER_9_BANKER_7, ALL, **happened("insurance-neglected"))
    assert (ruling(answer), answer["questions"], noted(answer), refusals(answer)) == (("stands", None), [], [], [])


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


@pytest.mark.parametrize(
    ("game", "kind"), [("fortune-six", "card-exposed"), ("tournament", "order-altered"), ("easy-six", "dealing-error")]
)
def test_nothing_is_asked_on_which_nothing_hangs(game: str, kind: str) -> None:
    """Where the document is silent either way, the ruling is asked for at once, and said to be a person's."""
    answer = table(game, "AS 2S 3S 4S", **happened(kind, at=3))
    (ruling,) = answer["rulings"]
    assert (ruling["clause"], ruling["silent"]) == (None, True)
    assert [question["question"] for question in answer["questions"]] == ["ruling"]


def test_only_bets_that_stand_establish_an_outcome_where_the_table_says_so() -> None:
    """A bet that was refused stands nowhere (C 5.4.1)."""
    line = {"outcome_basis": "placed", "noticed": True, "limits": {"minimum": 100}}
    answer = table(C, "AS 2S 3S 4S", "1 a player 1000; 1 a player-pair 10", **line, **happened("interruption", at=4))
    assert answer["void"]["clause"] == "5.4.2"


@pytest.mark.clause("I 5.4.1")
@pytest.mark.parametrize(
    ("insured", "void"),
    [
        ("1 a player-insurance 100 after-player-third", None),  # on 9: it pays on the tie, and has won
        ("1 a player-insurance 100 after-four", "5.4.2"),  # placed on 5: it goes back on the tie
        ("2 b player-insurance 100 after-player-third", "5.4.2"),  # refused: b has no bet to insure
    ],
)
def test_insurance_establishes_an_outcome_for_who_placed_it(insured: str, void: str | None) -> None:
    """At the stage at which it was placed, and if it was taken."""
    answer = table(
        I,
        "2S 2H 3D 2C 4C 5D",  # 5 against 4, then 9 against 9
        f"1 a player 1000; {insured}",
        outcome_basis="placed",
        insurance_forgone="stage",
        **happened("interruption", at=6),
    )
    assert (answer["void"] and answer["void"]["clause"]) == void
