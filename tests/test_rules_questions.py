"""The questions of a round, the roles that may answer them, and the effect of a player's choice on the bets."""

import pytest

from shoed.model.irregularities import Role
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
    option,
    ruling,
    table,
    with_irregularity,
)


@pytest.mark.clause("C 5.12.1", "C 5.12.2", "C 5.12.3", "I 5.12.1", "I 5.12.2", "I 5.12.3")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize(("reconstructable", "goes_on"), [(False, "5.12.1"), (True, "5.12.2")])
def test_every_player_continues_or_takes_back_all_bets_of_the_round(
    game: str,
    reconstructable: bool,  # noqa: FBT001
    goes_on: str,
) -> None:
    """Each player decides alone."""
    error = with_irregularity("dealing-error", at=2, reconstructable=reconstructable)
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
def test_one_decision_may_apply_to_all_players() -> None:
    """A player who walked away is not asked; the bet is settled."""
    error = [{"kind": "dealing-error", "at": 1, "reconstructable": False}, {"kind": "walked-away", "bettor": "b"}]
    answer = table(C, PLAYER_9_BANKER_7, ALL, irregularities=error, decisions=[decide("option", "return", "player")])
    assert column(answer, "winnings") == [0, -200, -10]


@pytest.mark.clause("C 5.12", "I 5.12")
def test_a_player_is_asked_after_each_error_until_the_bets_are_back() -> None:
    """A second error is a new question; a player without bets is not asked."""
    errors = [{"kind": "dealing-error", "at": at, "reconstructable": False} for at in (1, 2)]
    decisions = [
        decide("option", "continue", "player", irregularity=0, bettor="a"),
        decide("option", "return", "player", irregularity=0, bettor="b"),
    ]
    answer = table(C, PLAYER_9_BANKER_7, ALL, irregularities=errors, decisions=decisions)
    assert [(each["irregularity"], each["bettor"]) for each in answer["questions"]] == [(1, "a")]


GATED = [  # the last value: options even with an established outcome
    ("card-in-excess", {"reconstructable": True}, "5.7.1", False),
    ("card-exposed", {"reconstructable": True}, "5.7.1", False),
    ("face-up", {}, "5.9", False),
    ("wrong-side", {"reconstructable": True}, "5.8", False),
    ("drawn-together", {"order_known": True}, "5.10.1", True),
]


@pytest.mark.clause("C 5.7.1", "C 5.8", "C 5.9", "C 5.10.1", "I 5.7.1", "I 5.8", "I 5.9", "I 5.10.1")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize(("kind", "known", "clause", "always"), GATED)
def test_an_established_outcome_ends_the_options(
    game: str,
    kind: str,
    known: dict[str, bool],
    clause: str,
    always: bool,  # noqa: FBT001
) -> None:
    """Cards drawn together give options in any case."""
    cards = PLAYER_STANDS_BANKER_DRAWS + " 2C"
    before = table(game, cards, ALL, **with_irregularity(kind, at=1, **known))
    assert {each["clause"] for each in before["questions"] if each["question"] == "option"} == {clause}
    after = table(game, cards, ALL, **with_irregularity(kind, at=4, **known))
    assert ("option" in {each["question"] for each in after["questions"]}) is always


@pytest.mark.clause("C 5.12", "C 5.3", "I 5.12", "I 5.3.1")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize(("left", "there"), [(0, False), (1, False), (2, True), (4, True)])
def test_players_who_were_there_when_the_error_was_noticed_have_options(game: str, left: int, *, there: bool) -> None:
    """A player who walked away later has them too; the house settles the bets of one who left before."""
    irregularities = [
        {"kind": "dealing-error", "at": 2, "reconstructable": True},
        {"kind": "walked-away", "bettor": "b", "at": left},
    ]
    answer = table(game, PLAYER_9_BANKER_7, ALL, irregularities=irregularities)
    assert [bettor for _, bettor, _ in asked(answer)] == (["a", "b"] if there else ["a"])
    assert {each["bettor"]: each["undecided"] for each in answer["bettors"]} == {"a": True, "b": there}


def test_a_player_who_took_the_bets_back_is_not_undecided() -> None:
    """An earlier question was left open."""
    errors = [{"kind": "dealing-error", "at": at, "reconstructable": False} for at in (1, 2)]
    answer = table(C, PLAYER_9_BANKER_7, ALL, irregularities=errors, decisions=[option("a", "return", irregularity=1)])
    assert [(each["bettor"], each["took_back"], each["undecided"]) for each in answer["bettors"]] == [
        ("a", True, False),
        ("b", False, True),
    ]


@pytest.mark.clause("C 5.4.1", "C 5.12.3", "I 5.4.1", "I 5.12.3")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize(("choice", "then"), [("continue", "continue"), ("return", "void")])
def test_bets_that_were_taken_back_establish_no_outcome(game: str, choice: str, then: str) -> None:
    """With placed bets as the basis: the pair is decided, but its bettor has taken it back."""
    irregularities = [{"kind": "dealing-error", "at": 2, "reconstructable": False}, {"kind": "interruption", "at": 4}]
    decisions = [option("a", choice), option("b", "continue")]
    placed = "1 a player-pair 100; 2 b player 100"
    answer = table(
        game,
        PLAYER_STANDS_BANKER_DRAWS,
        placed,
        irregularities=irregularities,
        decisions=decisions,
        outcome_basis="placed",
    )
    assert [each["then"] for each in answer["rulings"]] == ["continue", then]


@pytest.mark.clause("C 5.17", "I 5.18")
@pytest.mark.parametrize("game", [C, I])
@pytest.mark.parametrize("role", Role)
def test_the_shift_manager_decides_cases_without_a_rule(game: str, role: Role) -> None:
    """A lower role may not decide."""
    answer = table(
        game, PLAYER_9_BANKER_7, ALL, **with_irregularity("other"), decisions=[decide("ruling", "void", role.value)]
    )
    assert (answer["void"] is not None) is (role is Role.SHIFT_MANAGER)


@pytest.mark.parametrize("game", [F, E, T])
def test_any_role_of_the_house_may_decide_where_the_document_is_silent(game: str) -> None:
    """A player and an unknown role may not."""
    for role, heard in (("dealer", True), ("player", False), ("waiter", False)):
        answer = table(
            game,
            PLAYER_9_BANKER_7,
            ALL,
            **with_irregularity("face-up", at=1),
            decisions=[decide("ruling", "continue", role)],
        )
        assert (answer["outcome"] == "player") is heard


def test_a_decision_without_effect_is_named() -> None:
    """No question asked for it, or the choice is not one of the question."""
    nothing = table(C, PLAYER_9_BANKER_7, ALL, decisions=[decide("ruling", "void", "shift-manager")])
    assert nothing["unheard"] == [{"decision": 0, "code": "not-asked"}]
    wrong = table(
        C, PLAYER_9_BANKER_7, ALL, **with_irregularity("other"), decisions=[decide("ruling", "return", "shift-manager")]
    )
    assert wrong["unheard"] == [{"decision": 0, "code": "choice"}]
    assert asked(wrong) == [("ruling", None, "5.17")]


@pytest.mark.parametrize(
    ("game", "kind"), [("fortune-six", "card-exposed"), ("tournament", "order-altered"), ("easy-six", "dealing-error")]
)
def test_a_question_without_consequence_is_not_asked(game: str, kind: str) -> None:
    """The document is silent for both answers: the ruling is asked at once."""
    answer = table(game, "AS 2S 3S 4S", **with_irregularity(kind, at=3))
    (ruling,) = answer["rulings"]
    assert (ruling["clause"], ruling["silent"]) == (None, True)
    assert [question["question"] for question in answer["questions"]] == ["ruling"]


@pytest.mark.clause("C 5.17", "I 5.18")
@pytest.mark.parametrize(("game", "clause"), [(C, "5.17"), (I, "5.18")])
def test_a_ruling_of_the_shift_manager_is_asked_once(game: str, clause: str) -> None:
    """Dealing did not alter the order: the same person also judges the reconstruction."""
    answer = table(game, PLAYER_9_BANKER_7, ALL, **with_irregularity("order-altered", at=3, of_the_dealing=False))
    assert asked(answer) == [("ruling", None, clause)]


@pytest.mark.clause("C 5.7", "I 5.7")
@pytest.mark.parametrize("game", [C, I])
def test_the_reconstruction_of_an_exposed_card_is_asked(game: str) -> None:
    """One row of the book covers both answers, but the place of the card depends on them."""
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS + " 5H", ALL, **with_irregularity("card-exposed", at=5))
    assert asked(answer) == [("reconstructable", None, "5.7")]


@pytest.mark.parametrize(("game", "clause"), [(C, "5.7"), (E, "5.1.2")])
def test_a_question_cites_the_clause_that_depends_on_its_answer(game: str, clause: str | None) -> None:
    """The document may name only the consequence of an impossible reconstruction."""
    answer = table(game, PLAYER_STANDS_BANKER_DRAWS + " 5H", ALL, **with_irregularity("card-in-excess", at=5))
    assert ruling(answer) == ("ask", clause)
    assert asked(answer) == [("reconstructable", None, clause)]
