"""`shoed rules table`: the contract's own example, and lines that say too little, too much or nonsense."""

import json
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

from shoed.audit_table import KINDS, Auditor
from shoed.audit_table import table as answer_tables
from shoed.cards import Card
from shoed.rules.bets import Code, Remark
from shoed.rules.book import Then
from shoed.rules.load import book
from shoed.rules.questions import Ask, Choice, Unheard
from shoed.words import Event, Stage
from tests.printed import GAMES
from tests.tables import answered, bets, column, refusals, table

PAGE = (Path(__file__).parent.parent / "docs" / "rules-table.md").read_text()

# As the contract prints it, on one line.
GIVEN = (
    '{"id": 1, "decks": 8, "layout": "bean-9", "rounding": "down", '
    '"limits": {"minimum": 100, "maximum": 50000, "minimums": {"tie": 50}, "differential": 10000, "reading": "side"}, '
    '"noticed": true, "squeeze": false, "insurance": "on", '
    '"bets": [{"seat": 1, "bettor": "a", "standing": false, "bet": "player", "stake": 1000}, '
    '{"seat": 1, "bettor": "a", "bet": "player-insurance", "stage": "after-four", "stake": 300}], '
    '"cards": ["QS","3H","7D","JC","JH"], "irregularities": [], "decisions": []}'
)
TOLD = (
    '{"id": 1, "outcome": "player", "settlement": [{"seat": 1, "bettor": "a", "bet": "player", "stake": 1000, '
    '"effective": "1000", "pays": "1:1", "winnings": 1000, "returned": 1000, "remainder": "0", "clause": "4.1.1"}], '
    '"refused": [{"bet": 1, "code": "over-cap", "clause": "3.12.2", "message": "...", "largest": 250}], '
    '"house": -1000, "void": null, "questions": []}\n'
)
ROUND = ["4S", "3H", "5D", "4C"]


def streamed(game: str, *lines: str) -> tuple[int, list[Any]]:
    sink = BytesIO()
    status = answer_tables(book(game), BytesIO("".join(f"{line}\n" for line in lines).encode()), sink)
    return status, [json.loads(line) for line in sink.getvalue().splitlines()]


def error(game: str, **fields: object) -> tuple[str, str]:
    answer = answered(game, json.dumps({"id": 7, "cards": ROUND, "bets": [], **fields}))
    assert set(answer) == {"id", "error"}
    assert answer["id"] == 7
    return answer["error"]["code"], answer["error"]["message"]


def test_the_example_of_the_contract_byte_for_byte() -> None:
    """But for the message, which is for people."""
    told = Auditor(book("super-six-plus")).answer(GIVEN.encode())
    message = json.loads(told)["refused"][0]["message"]
    assert told.replace(json.dumps(message), '"..."') == TOLD


@pytest.mark.parametrize("game", GAMES)
def test_only_cards_and_bets_are_needed(game: str) -> None:
    """The rest is as the contract says: eight decks, down, not noticed, insurance on, no limits."""
    status, answers = streamed(game, json.dumps({"cards": ROUND, "bets": bets("40 a player 5")}))
    assert (status, answers[0]["id"], column(answers[0], "winnings")) == (0, None, [5])


@pytest.mark.parametrize("game", GAMES)
def test_a_table_without_bets_or_cards_is_no_error(game: str) -> None:
    """A round not begun has no outcome, and nobody has won."""
    assert table(game, "") == {
        "id": 1,
        "outcome": None,
        "settlement": [],
        "refused": [],
        "house": 0,
        "void": None,
        "questions": [],
    }
    assert column(table(game, "", "1 a player 5"), "returned") == [0]


@pytest.mark.parametrize("game", [game for game in GAMES if game != "super-six-plus"])
def test_fields_that_the_game_has_no_rule_for_are_ignored(game: str) -> None:
    """Insurance and a squeeze where there is none, and what nobody has heard of."""
    answer = table(
        game, "4S 3H 5D 4C", "1 a player 5", squeeze=True, insurance="off", insurance_forgone="stage", moon=1
    )
    assert column(answer, "winnings") == [5]
    nonsense: dict[str, object] = dict.fromkeys(("squeeze", "insurance", "insurance_forgone"), "?")
    if game == "fortune-six":
        nonsense |= dict.fromkeys(("layout", "limits", "noticed", "outcome_basis"), 0)
    else:
        nonsense["seats"] = "?"
    assert table(game, "4S 3H 5D 4C", "1 a player 5", **nonsense) == answer
    staged = table(game, "4S 3H 5D 4C", "1 a player 5 after-four")
    assert staged == answer
    insured = table(game, "QS 3H 7D JC JH", "1 a player 5; 1 a player-insurance 1 after-four")
    assert [code for _, code, _ in refusals(insured)] == ["not-offered"]


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"cards": ["1S"]}, "bad-card", '"1S"'),
        ({"cards": [5]}, "bad-card", "5 is not a card"),
        ({"cards": [*ROUND, "5H"]}, "excess-card", '"5H" is not due'),
        ({"cards": ["4S", "3H"] + ["KD"] * 2, "decks": 3}, "bad-line", "4 to 8"),
        ({"decks": 9}, "bad-line", "4 to 8"),
        ({"layout": "round-3"}, "bad-line", '"bean-9" or "bean-7"'),
        ({"rounding": "up"}, "bad-line", "rounding"),
        ({"noticed": 1}, "bad-line", "noticed"),
        ({"limits": {"differential": -1}}, "bad-line", "differential"),
        ({"limits": {"reading": "both"}}, "bad-line", "reading"),
        ({"limits": {"minimums": {"tie": "x"}}}, "bad-line", "minimums"),
        ({"bets": bets("0 a player 5")}, "bad-line", "seat"),
        ({"bets": bets("1 a player 0")}, "bad-line", "stake"),
        ({"bets": [{"seat": 1, "bettor": "a", "bet": "player", "stake": 1.5}]}, "bad-line", "stake"),
        ({"bets": [{"seat": 1, "bettor": "a", "bet": "player", "stake": True}]}, "bad-line", "stake"),
        ({"bets": [{"seat": 1, "bet": "player", "stake": 5}]}, "bad-line", "bettor"),
        ({"bets": {}}, "bad-line", "bets"),
        ({"irregularities": [{"kind": "moon"}]}, "bad-line", "moon"),
        ({"irregularities": [{"kind": "set-replaced"}]}, "bad-line", "set-replaced"),
        ({"irregularities": [{"kind": "late-bet", "bet": 0}]}, "bad-line", "which bet"),
        ({"irregularities": [{"kind": "late-bet"}]}, "bad-line", "which bet"),
        ({"irregularities": [{"kind": "walked-away"}]}, "bad-line", "which bettor"),
        ({"irregularities": [{"kind": "face-up", "at": 5}]}, "bad-line", "card 5"),
        ({"irregularities": [{"kind": "drawn-together", "at": 4}]}, "bad-line", "card 5"),
        ({"irregularities": [{"kind": "drawn-together", "at": 1, "count": 1}]}, "bad-line", "count"),
        ({"irregularities": [{"kind": "wrong-side", "at": 0}]}, "bad-line", "card 0"),
        ({"irregularities": [{"kind": "order-altered", "order": ["?"]}]}, "bad-card", '"?"'),
        ({"decisions": [{"question": "moon", "choice": "yes", "role": "dealer"}]}, "bad-line", "moon"),
        ({"decisions": [{"question": "ruling", "role": "dealer"}]}, "bad-line", "choice"),
    ],
)
def test_a_line_that_cannot_be_is_an_error_of_that_line(fields: dict[str, Any], code: str, says: str) -> None:
    """With its id, a code of the contract and what is wrong."""
    found, message = error("commission", **fields)
    assert found == code
    assert says in message


def test_an_insurance_bet_needs_its_stage() -> None:
    """It could be at either."""
    code, message = error("super-six-plus", bets=bets("1 a player-insurance 5"))
    assert (code, "after-four or after-player-third" in message) == ("bad-line", True)


def test_more_cards_of_a_face_than_there_are_decks_are_an_error() -> None:
    """Unless that is what is told: a shoe with a card too many, or one that belongs to no set."""
    cards = "KS KS KS KS KS KS"
    assert table("commission", cards, decks=5)["error"]["code"] == "too-many-of-a-card"
    assert table("commission", "KS KS KS KS 2S 3S", decks=4)["outcome"] == "banker"
    for kind in ("deck-count", "foreign-card"):
        answer = table("commission", cards, decks=5, irregularities=[{"kind": kind}])
        assert answer["void"]["kind"] == kind


def test_what_is_not_json_is_an_error_and_the_rest_is_still_answered() -> None:
    """One answer for each line, in order; the exit status tells that something was wrong."""
    good = json.dumps({"id": "x", "cards": ROUND, "bets": []})
    status, answers = streamed("commission", good, "{", "[]", '{"id": NaN}', '"\\ud800"', good)
    assert status == 1
    codes = [each.get("error", {}).get("code") for each in answers]
    assert codes == [None, "bad-json", "bad-line", "bad-json", "bad-line", None]
    assert streamed("commission", good)[0] == 0


def test_amounts_have_no_bounds_that_money_has() -> None:
    """A stake of thirty digits is settled to the unit; thousands of digits are refused."""
    assert error("commission", bets=bets(f"1 a player {10**101}"))[0] == "bad-line"
    assert error("commission", limits={"differential": 10**4000})[0] == "bad-line"
    stake = 10**30 + 1
    answer = answered(
        "commission", json.dumps({"cards": ["QS", "2H", "3D", "4C", "2C"], "bets": bets(f"1 a banker {stake}")})
    )
    assert column(answer, "winnings") == [stake * 95 // 100]
    assert column(answer, "effective") == [str(stake)]


def test_the_names_of_bettors_are_anybodys() -> None:
    """They come back as they went in."""
    given = [{"seat": 1, "bettor": '林 "a"\n', "bet": "player", "stake": 5}]
    assert column(answered("commission", json.dumps({"cards": ROUND, "bets": given})), "bettor") == ['林 "a"\n']


def test_what_is_told_of_an_irregular_round() -> None:
    """How the cards lie, what is due, what each bettor gets, what the book says and who decides."""
    happened = [{"kind": "late-bet", "bet": 1}, {"kind": "face-up", "at": 4}]
    answer = table("commission", "2S 3H 4D KC", "1 a player 100; 2 b player 5", irregularities=happened)
    assert answer["player"] == {"cards": ["2S", "4D"], "points": 6}
    assert answer["banker"] == {"cards": ["3H", "KC"], "points": 3}
    assert (answer["due"], answer["carried"]) == ("banker", [])
    assert answer["rulings"] == [
        {"irregularity": 1, "kind": "face-up", "then": "continue", "clause": "5.9", "decides": None, "silent": False}
    ]
    assert answer["bettors"] == [{"bettor": "a", "winnings": 0, "returned": 0, "took_back": False, "undecided": False}]


WORDS = sorted({*KINDS, *(each.value for words in (Ask, Choice, Code, Remark, Unheard, Then) for each in words)})


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_on_the_page(word: str) -> None:
    """The vocabulary is closed, and `docs/rules-table.md` has all of it."""
    assert f"`{word}`" in PAGE


def test_every_event_of_the_books_can_be_told() -> None:
    """But for the two that are answers to others."""
    assert set(Event) - set(KINDS.values()) == {Event.SET_REPLACED, Event.NOTICED_LATE}


def test_a_decision_names_an_irregularity_by_its_position_in_the_list() -> None:
    """What people did with their bets counts too, and has no questions."""
    happened = [{"kind": "walked-away", "bettor": "z"}, {"kind": "other"}]
    for position, outcome in ((0, None), (1, "player"), (2, None)):
        answer = table(
            "commission",
            "4S 3H 5D 4C",
            "1 a player 5",
            irregularities=happened,
            decisions=[{"question": "ruling", "choice": "continue", "role": "shift-manager", "irregularity": position}],
        )
        assert answer["outcome"] == outcome
        assert answer["rulings"][0]["irregularity"] == 1


def test_a_late_bet_is_gone_whatever_else_is_said_of_it() -> None:
    """It is refused once."""
    happened = [{"kind": "late-bet", "bet": 0}, {"kind": "late-increase", "bet": 0}]
    answer = table("commission", "4S 3H 5D 4C", "1 a player 5", irregularities=happened)
    assert refusals(answer) == [(0, "late-bet", "5.6")]


def a_line(random: Random) -> dict[str, Any]:
    """Everything that may be said, in any combination."""
    cards = [card.value for card in random.choices(list(Card), k=random.randint(0, 7))]
    placed = [
        {
            "seat": random.randint(1, 10),
            "bettor": random.choice("abc"),
            "bet": random.choice(
                sorted({bet.name for game in GAMES for bet in book(game).bets} | {"player-insurance"})
            ),
            "stake": random.randint(1, 5000),
            "stage": random.choice(list(Stage)).value,
            "standing": random.random() < 0.3,
        }
        for _ in range(random.randint(0, 6))
    ]
    happened = [
        {
            "kind": random.choice([*KINDS]),
            "at": random.randint(0, len(cards) + 1),
            "noticed_at": random.randint(0, 7),
            "count": random.randint(2, 3),
            "reconstructable": random.choice([None, True, False]),
            "order_known": random.random() < 0.3,
            "noticed_late": random.random() < 0.2,
            "between_rounds": random.random() < 0.1,
            "order": random.sample(cards, min(len(cards), 2)),
            "bet": random.randint(0, 6),
            "bettor": random.choice("abcd"),
        }
        for _ in range(random.randint(0, 3))
    ]
    decisions = [
        {
            "question": random.choice(list(Ask)).value,
            "choice": random.choice([*(choice.value for choice in Choice), cards[1::-1], "?"]),
            "role": random.choice(["player", "dealer", "pit-supervisor", "pit-manager", "shift-manager"]),
        }
        for _ in range(random.randint(0, 4))
    ]
    limits = {"minimum": random.randint(0, 500), "differential": random.randint(0, 2000)}
    return {
        "cards": cards,
        "bets": placed,
        "irregularities": happened,
        "decisions": decisions,
        "noticed": random.random() < 0.5,
        "limits": limits | {"reading": random.choice(["side", "box"])},
    }


@pytest.mark.parametrize("game", GAMES)
def test_whatever_happens_every_line_has_an_answer_and_the_money_is_right(game: str) -> None:
    """Nobody wins what the house does not pay, a void returns everything, and what is open moves no money."""
    random = Random(game)
    settled = 0
    for _ in range(800):
        answer = answered(game, json.dumps(a_line(random)))
        if "error" in answer:
            continue
        settled += 1
        assert '""' not in json.dumps(answer)  # what no clause says is null
        assert answer["house"] == -sum(column(answer, "winnings"))
        for row in answer["settlement"]:
            assert 0 <= row["returned"] <= row["stake"]
            if answer["void"] is not None:
                assert (row["returned"], row["winnings"]) == (row["stake"], 0)
            elif row["clause"] is None:
                assert (row["pays"], row["returned"], row["winnings"]) == (None, 0, 0)
    assert settled > 100
