"""The rulings of each book on irregularities: void rounds, options, and decisions of persons."""

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
    noted,
    refusals,
    ruled,
    ruling,
    table,
    with_irregularity,
)

SILENT = ("ask", None)

# Kind, known facts, and the consequence with its clause in C, I, F, E and T.
PROVISIONS = [
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
@pytest.mark.parametrize("provisions", PROVISIONS, ids=lambda provisions: f"{provisions[0]} {provisions[1]}")
def test_each_document_has_its_own_provision_for_each_kind(provisions: tuple[Any, ...], of: int) -> None:
    """Without a provision the round waits for a person, and the answer reports the silence of the document."""
    kind, known, *each = provisions
    cards = "2S 3H KD KC 2C 5H"  # P 2, B 3, third 2, third 5
    answer = table(GAMES[of], cards, ALL, **with_irregularity(kind, **known))
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
    """The clause is the one that returns stakes, or the one that voids the round."""
    answer = table(
        game, PLAYER_9_BANKER_7, ALL.replace("2 b tie 10", "2 b tie 10"), **with_irregularity("foreign-card", at=4)
    )
    assert (answer["outcome"], answer["house"]) == (None, 0)
    assert column(answer, "returned") == [100, 200, 10]
    assert column(answer, "winnings") == [0, 0, 0]
    assert column(answer, "clause") == [clause] * 3
    assert answer["void"]["returns"] == (clause if game in (C, I) else None)


@pytest.mark.clause("I 5.16")
def test_a_void_round_returns_insurance_too() -> None:
    """All stakes of the round are returned."""
    placed = "1 a player 1000; 1 a player-insurance 100 after-four"
    for void in (with_irregularity("not-shuffled"), with_irregularity("foreign-card", at=2)):
        answer = table(I, "QS 3H 7D JC JH", placed, **void)
        assert (column(answer, "returned"), answer["refused"]) == ([1000, 100], [])


@pytest.mark.clause("C 5.5.1", "I 5.5.1", "F 5.1.1", "E 5.1.1", "T 5.1.1")
@pytest.mark.parametrize("game", GAMES)
def test_a_foreign_card_may_be_any_text(game: str) -> None:
    """The answer shows the cards before it."""
    answer = table(game, "4S 3H joker 4C", "1 a player 100", **with_irregularity("foreign-card", at=3))
    assert answer["player"] == {"cards": ["4S"], "points": 4}
    assert answer["banker"] == {"cards": ["3H"], "points": 3}


@pytest.mark.clause("C 5.5.4", "I 5.5.4", "F 5.5", "E 5.1.3", "T 5.1.3")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.5.4"), (I, "5.5.4"), (F, "5.5"), (E, "5.1.3"), (T, "5.1.3")])
def test_too_few_cards_void_an_incomplete_round(game: str, clause: str) -> None:
    """A natural on the last four cards is complete."""
    lacks = table(game, PLAYER_STANDS_BANKER_DRAWS, ALL, **with_irregularity("too-few-cards"))
    assert ruling(lacks) == ("void", clause)
    natural = table(game, PLAYER_9_BANKER_7, ALL, **with_irregularity("too-few-cards"))
    assert ruling(natural) == ("stands", clause)
    assert (natural["void"], natural["outcome"]) == (None, "player")


@pytest.mark.clause("C 5.5.2", "I 5.5.2")
@pytest.mark.parametrize("game", [C, I])
def test_a_shortage_found_between_rounds_voids_no_round(game: str) -> None:
    """It is recorded, and the next round waits for a person."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **with_irregularity("deck-count", between_rounds=True))
    assert ruling(answer) == ("stands", "5.5.2")
    assert (answer["outcome"], asked(answer)) == ("player", [("next-round", None, "5.5.2")])
    gone_on = table(
        game,
        PLAYER_9_BANKER_7,
        ALL,
        **with_irregularity("deck-count", between_rounds=True),
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
def test_between_rounds_only_an_unambiguous_clause_is_cited(game: str, kind: str, clause: str | None) -> None:
    """Without a row, or with rows that depend on the round, the answer cites no clause."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **with_irregularity(kind, at=1, between_rounds=True))
    assert ruling(answer) == ("stands", clause)
    assert asked(answer) == [("next-round", None, clause)]


@pytest.mark.clause("C 5.11", "I 5.11")
@pytest.mark.parametrize("kind", ["card-in-excess", "deck-count", "wrong-count", "insurance-neglected", "other"])
@pytest.mark.parametrize("game", GAMES)
def test_an_irregularity_noticed_after_the_next_round_began_has_no_effect(game: str, kind: str) -> None:
    """C and I have a clause, the other games a reading; it is recorded."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **with_irregularity(kind, noticed_late=True))
    assert ruling(answer) == ("stands", "5.11" if game in (C, I) else None)
    assert "reading" in answer["rulings"][0] or game in (C, I)
    assert (answer["outcome"], answer["questions"]) == ("player", [])


# ---------------------------------------------------------------------------------------------- an outcome established


@pytest.mark.clause("C 5.4.1", "C 5.4.2", "I 5.4.1", "I 5.4.2")
@pytest.mark.parametrize("game", [C, I])
def test_an_outcome_is_established_from_the_third_card_on(game: str) -> None:
    """The Player pair has won or lost then; a table may count only placed bets."""
    cards = PLAYER_STANDS_BANKER_DRAWS
    assert ruling(table(game, cards, ALL, **with_irregularity("interruption", at=0))) == ("void", "5.4.2")
    assert ruling(table(game, cards, ALL, **with_irregularity("interruption", at=3))) == ("continue", "5.4.1")
    placed = table(game, cards, ALL, **with_irregularity("interruption", at=4), outcome_basis="placed")
    assert ruling(placed) == ("void", "5.4.2")
    with_pair = table(
        game, cards, ALL + "; 3 c player-pair 5", **with_irregularity("interruption", at=4), outcome_basis="placed"
    )
    assert ruling(with_pair) == ("continue", "5.4.1")
    assert with_pair["due"] == "banker"


def test_a_void_among_several_irregularities_ends_all_questions() -> None:
    """Each irregularity has its ruling, in order."""
    both = [{"kind": "dealing-error", "at": 1, "reconstructable": False}, {"kind": "not-shuffled"}]
    answer = table(C, PLAYER_9_BANKER_7, ALL, irregularities=both)
    assert ruled(answer) == [("dealing-error", "continue", "5.12"), ("not-shuffled", "void", "5.5.5")]
    assert (answer["void"]["irregularity"], answer["questions"], answer["due"]) == (1, [], None)


def test_neglected_insurance_has_no_effect_in_a_game_without_insurance() -> None:
    """The document is silent."""
    answer = table(F, PLAYER_9_BANKER_7, ALL, **with_irregularity("insurance-neglected"))
    assert (ruling(answer), answer["questions"], noted(answer), refusals(answer)) == (("stands", None), [], [], [])


def test_a_table_may_count_only_placed_bets_for_an_established_outcome() -> None:
    """C 5.4.1: a refused bet is not placed."""
    line = {"outcome_basis": "placed", "noticed": True, "limits": {"minimum": 100}}
    answer = table(
        C, "AS 2S 3S 4S", "1 a player 1000; 1 a player-pair 10", **line, **with_irregularity("interruption", at=4)
    )
    assert answer["void"]["clause"] == "5.4.2"


@pytest.mark.clause("I 5.4.1")
@pytest.mark.parametrize(
    ("insured", "void"),
    [
        ("1 a player-insurance 100 after-player-third", None),  # on 9: it pays on the tie, and has won
        ("1 a player-insurance 100 after-four", "5.4.2"),  # placed on 5: returned on the tie
        ("2 b player-insurance 100 after-player-third", "5.4.2"),  # refused: b has no bet to insure
    ],
)
def test_placed_insurance_may_establish_an_outcome(insured: str, void: str | None) -> None:
    """It counts at its stage, and only if it was accepted."""
    answer = table(
        I,
        "2S 2H 3D 2C 4C 5D",  # 5 against 4, then 9 against 9
        f"1 a player 1000; {insured}",
        outcome_basis="placed",
        insurance_forgone="stage",
        **with_irregularity("interruption", at=6),
    )
    assert (answer["void"] and answer["void"]["clause"]) == void


# ---------------------------------------------------------------------------------------------- several, and when


@pytest.mark.clause("C 5.5.3", "I 5.5.3", "F 5.2", "E 5.1.2", "T 5.1.2")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.5.3"), (I, "5.5.3"), (F, "5.2"), (E, "5.1.2"), (T, "5.1.2")])
@pytest.mark.parametrize("kind", ["wrong-count", "card-in-excess", "wrong-side"])
def test_a_wrong_number_of_cards_has_effect_until_the_next_round(game: str, clause: str, kind: str) -> None:
    """Found between rounds it voids the round, unless the cards can be reconstructed."""
    cards = "5S KD 10C 2S 2D 3H"
    found = table(game, cards, ALL, **with_irregularity(kind, at=6, between_rounds=True, reconstructable=False))
    assert (found["void"]["clause"], found["questions"]) == (clause, [])
    back = table(game, cards, ALL, **with_irregularity(kind, at=6, between_rounds=True, reconstructable=True))
    assert (back["outcome"], [each["question"] for each in back["questions"]]) == ("player", ["next-round"])


@pytest.mark.clause("C 5.12", "I 5.12")
@pytest.mark.parametrize("game", [C, I])
def test_an_error_between_rounds_gives_no_options(game: str) -> None:
    """The numbers of cards are right, and the round is over."""
    error = with_irregularity("dealing-error", at=2, between_rounds=True, reconstructable=False)
    answer = table(game, PLAYER_9_BANKER_7, ALL, **error)
    assert [each["question"] for each in answer["questions"]] == ["next-round"]


@pytest.mark.parametrize("game", GAMES)
def test_the_reconstruction_of_a_wrong_number_is_asked_between_rounds_too(game: str) -> None:
    """The void depends on the answer."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **with_irregularity("wrong-count", between_rounds=True))
    assert [each["question"] for each in answer["questions"]] == ["reconstructable"]


@pytest.mark.clause("C 5.11", "I 5.11")
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("when", ["noticed_late", "between_rounds"])
def test_a_foreign_card_found_after_the_round_leaves_the_cards_unchanged(game: str, when: str) -> None:
    """All cards were played, so each must be a card of the game."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **with_irregularity("foreign-card", at=2, **{when: True}))
    assert (answer["outcome"], answer["banker"]["cards"]) == ("player", ["3H", "4C"])
    unknown = table(
        game, PLAYER_9_BANKER_7.replace("3H", "joker"), ALL, **with_irregularity("foreign-card", at=2, **{when: True})
    )
    assert unknown["error"]["code"] == "bad-card"


@pytest.mark.clause("C 5.10.2", "I 5.10.2")
@pytest.mark.parametrize("game", [C, I])
def test_a_void_keeps_questions_about_the_set_and_the_next_round(game: str) -> None:
    """All questions about the round are closed."""
    irregularities = [
        {"kind": "drawn-together", "at": 3},
        {"kind": "deck-count", "between_rounds": True},
        {"kind": "wrong-count", "between_rounds": True, "reconstructable": False},
    ]
    answer = table(game, PLAYER_9_BANKER_7, ALL, irregularities=irregularities)
    assert answer["void"]["kind"] == "wrong-count"
    assert [each["question"] for each in answer["questions"]] == ["set-replaced", "next-round"]


@pytest.mark.clause("C 5.5", "I 5.5", "F 5.1", "E 5.1", "T 5.1")
@pytest.mark.parametrize("game", GAMES)
def test_the_first_void_is_the_void_of_the_round(game: str) -> None:
    """Later irregularities have their own rulings."""
    irregularities = [{"kind": "wrong-count", "reconstructable": False}, {"kind": "foreign-card", "at": 4}]
    answer = table(game, PLAYER_9_BANKER_7, ALL, irregularities=irregularities)
    assert [each["then"] for each in answer["rulings"]] == ["void", "void"]
    assert (answer["void"]["irregularity"], answer["void"]["kind"]) == (0, "wrong-count")


@pytest.mark.clause("C 5.5.1", "I 5.5.1", "F 5.1.1", "E 5.1.1", "T 5.1.1")
@pytest.mark.parametrize("game", GAMES)
def test_a_void_round_may_have_any_number_of_cards(game: str) -> None:
    """One card more than the Table of Play deals is not an error."""
    answer = table(game, PLAYER_9_BANKER_7 + " 5H", ALL, **with_irregularity("foreign-card", at=1))
    assert (answer["void"]["kind"], answer["carried"]) == ("foreign-card", ["5H"])
