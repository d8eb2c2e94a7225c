"""`shoed rules table`: the published example, and lines with missing, unknown or wrong fields."""

import json
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from shoed.cli.rules.table import KINDS, TableSettler
from shoed.cli.rules.table import table as answer_tables
from shoed.model.cards import Card
from shoed.model.irregularities import IrregularityKind, Stage
from shoed.rules.bets import BetRemark, RefusalCode
from shoed.rules.book import Then
from shoed.rules.load import book
from shoed.rules.questions import Ask, Choice, UnheardReason
from tests.printed import GAMES
from tests.tables import answered, bets, column, refusals, table

PAGE = (Path(__file__).parent.parent / "docs" / "rules-table.md").read_text()

# The published example, on one line.
GIVEN = (
    '{"id": 1, "decks": 8, "layout": "bean-9", "rounding": "down", '
    '"limits": {"minimum": 100, "maximum": 50000, "minimums": {"tie": 50}, "differential": 10000, "reading": "side"}, '
    '"noticed": true, "squeeze": false, "insurance": "on", '
    '"bets": [{"seat": 1, "bettor": "a", "standing": false, "bet": "player", "stake": 1000}, '
    '{"seat": 1, "bettor": "a", "bet": "player-insurance", "stage": "after-four", "stake": 300}], '
    '"cards": ["QS","3H","7D","JC","JH"], "irregularities": [], "decisions": []}'
)
ANSWER = (
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


def test_the_published_example_is_answered_byte_for_byte() -> None:
    """Only the message may differ."""
    answer = TableSettler(book("super-six-plus")).answer(GIVEN.encode())
    message = json.loads(answer)["refused"][0]["message"]
    assert answer.replace(json.dumps(message), '"..."') == ANSWER


@pytest.mark.parametrize("game", GAMES)
def test_only_cards_and_bets_are_required(game: str) -> None:
    """The defaults are eight decks, rounding down, not noticed, insurance on, and no limits."""
    status, answers = streamed(game, json.dumps({"cards": ROUND, "bets": bets("40 a player 5")}))
    assert (status, answers[0]["id"], column(answers[0], "winnings")) == (0, None, [5])


@pytest.mark.parametrize("game", GAMES)
def test_a_table_without_bets_or_cards_is_not_an_error(game: str) -> None:
    """A round that has not begun has no outcome and no winnings."""
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
def test_fields_without_a_rule_in_the_game_are_ignored(game: str) -> None:
    """Insurance and a squeeze in a game without them, and unknown fields."""
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
    ("fields", "code", "expected"),
    [
        ({"cards": ["1S"]}, "bad-card", '"1S"'),
        ({"cards": [5]}, "bad-card", "5 is not a card"),
        ({"cards": [*ROUND, "5H"]}, "excess-card", '"5H" is not due'),
        ({"cards": ["4S", "3H"] + ["KD"] * 2, "decks": 3}, "bad-line", "4 to 8"),
        ({"decks": 9}, "bad-line", "decks: commission is not played with 9 decks; write a whole number from 4 to 8"),
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
        ({"irregularities": [{"kind": "late-bet", "bet": 0}]}, "bad-line", "0 is not a position in bets; write"),
        ({"irregularities": [{"kind": "late-bet"}]}, "bad-line", "irregularities[0].bet: is missing; write"),
        ({"irregularities": [{"kind": "walked-away"}]}, "bad-line", "irregularities[0].bettor: is missing; write"),
        ({"irregularities": [{"kind": "face-up", "at": 5}]}, "bad-line", "card 5"),
        ({"irregularities": [{"kind": "drawn-together", "at": 4}]}, "bad-line", "card 5"),
        ({"irregularities": [{"kind": "drawn-together", "at": 1, "count": 1}]}, "bad-line", "count"),
        ({"irregularities": [{"kind": "wrong-side", "at": 0}]}, "bad-line", "card 0"),
        ({"irregularities": [{"kind": "order-altered", "order": ["?"]}]}, "bad-card", '"?"'),
        ({"decisions": [{"question": "moon", "choice": "yes", "role": "dealer"}]}, "bad-line", "moon"),
        ({"decisions": [{"question": "ruling", "role": "dealer"}]}, "bad-line", "choice"),
    ],
)
def test_an_impossible_line_is_answered_with_an_error(fields: dict[str, Any], code: str, expected: str) -> None:
    """The error has the id, a published code and the problem."""
    found, message = error("commission", **fields)
    assert found == code
    assert expected in message


TEXT_RIGHT = "write text between double quotes"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"rounding": "up"}, 'rounding: "up" is not allowed; write "down" or "half-up"'),
        ({"noticed": 1}, "noticed: 1 is not allowed; write true or false"),
        ({"noticed": None}, "noticed: null is not allowed; write true or false"),
        ({"decks": True}, "decks: true is not allowed; write a whole number"),
        ({"seats": 0, "layout": 3}, f"layout: 3 is not allowed; {TEXT_RIGHT} or null"),
        ({"bets": {}}, "bets: an object is not allowed; write a list"),
        ({"cards": "8S"}, 'cards: "8S" is not allowed; write a list'),
        (
            {"bets": [5]},
            'bets[0]: 5 is not allowed; write an object, {"seat": ..., "bettor": ..., "bet": ..., "stake": ...}',
        ),
        ({"bets": [{}]}, "bets[0].seat: is missing; write a whole number from 1"),
        ({"bets": bets("0 a player 5")}, "bets[0].seat: 0 is not allowed; write a whole number from 1"),
        ({"bets": bets("1 a player 5; 1 a tie 0")}, "bets[1].stake: 0 is not allowed; write a whole number from 1"),
        ({"bets": [{"seat": 1, "bettor": 2}]}, f"bets[0].bettor: 2 is not allowed; {TEXT_RIGHT}"),
        (
            {"bets": [{"seat": 1, "bettor": "a", "bet": "tie", "stake": 1, "stage": "late"}]},
            'bets[0].stage: "late" is not allowed; write "after-four" or "after-player-third" or null',
        ),
        ({"limits": 5}, "limits: 5 is not allowed; write an object"),
        ({"limits": {"maximum": -1}}, "limits.maximum: -1 is not allowed; write a whole number from 0 or null"),
        ({"limits": {"minimums": []}}, "limits.minimums: a list is not allowed; write an object"),
        (
            {"limits": {"minimums": {"tie": "x"}}},
            'limits.minimums.tie: "x" is not allowed; write a whole number from 0',
        ),
        (
            {"limits": {"minimums": {"a b": 10**100 + 1}}},
            'limits.minimums."a b": the amount is too large; write at most 100 digits',
        ),
        ({"bets": bets(f"1 a tie 1; 1 a tie {10**101}")}, "bets[1].stake: the amount is too large; write at most 100"),
        (
            {"irregularities": [{"kind": "moon"}]},
            'irregularities[0].kind: "moon" is not a kind of irregularity; write "foreign-card" or "deck-count" or ',
        ),
        (
            {"irregularities": [{"kind": "other", "order": [5]}]},
            f"irregularities[0].order[0]: 5 is not allowed; {TEXT_RIGHT}",
        ),
        (
            {"irregularities": [{"kind": "other"}, {"kind": "order-altered", "order": ["4S", "?"]}]},
            'irregularities[1].order[1]: "?" is not a card; write a rank',
        ),
        (
            {"irregularities": [{"kind": "order-altered", "at": 1, "order": ["5D"]}]},
            "irregularities[0].order: the cards from card 1 on are 4S; write the same cards",
        ),
        (
            {"irregularities": [{"kind": "face-up", "at": 5}]},
            "irregularities[0].at: face-up names card 5, and the number of cards is 4; write the ordinal of a card,",
        ),
        (
            {"decisions": [{"question": "foo", "choice": "yes", "role": "dealer"}]},
            'decisions[0].question: "foo" is not allowed; write "option" or "card-order" or "reconstructable" or ',
        ),
        (
            {"decisions": [{"question": "ruling", "choice": ["4S", 5], "role": "dealer"}]},
            f"decisions[0].choice[1]: 5 is not allowed; {TEXT_RIGHT}",
        ),
        (
            {"decisions": [{"question": "ruling", "choice": 5, "role": "dealer"}]},
            f"decisions[0].choice: 5 is not allowed; {TEXT_RIGHT} or a list",
        ),
        ({"cards": [*ROUND[:2], "1S"]}, 'cards[2]: "1S" is not a card; write a rank (A 2-9 10 J Q K) and a suit'),
        (
            {"cards": [*ROUND, "5H"]},
            '"5H" is not due: the round ended with its card 4; remove it or add its irregularity',
        ),
        ({"layout": "round-3"}, 'layout: "round-3" is not a layout of commission; write "bean-9" or "bean-7"'),
        (
            {"cards": ["KS"] * 5, "decks": 4},
            '"KS" occurs 5 times, and 4 decks contain it 4 times; correct the card or the number of decks',
        ),
    ],
)
def test_an_error_names_the_place_the_value_and_the_allowed_values(fields: dict[str, Any], expected: str) -> None:
    """The words are those of the page; no text of a library reaches the user."""
    assert error("commission", **fields)[1].startswith(expected)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"bets": []}', "cards: is missing; write a list"),
        ("[]", 'the line: a list is not allowed; write an object, {"cards": ..., "bets": ...}'),
        ("7", 'the line: 7 is not allowed; write an object, {"cards": ..., "bets": ...}'),
        (
            '{"cards": [], "bets": [], "rounding": "\\ud800"}',
            'rounding: "\\ud800" is not allowed; write "down" or "half-up"',
        ),
    ],
)
def test_a_line_that_is_not_a_table_is_an_error(line: str, expected: str) -> None:
    """The message names the required fields."""
    assert answered("commission", line)["error"] == {"code": "bad-line", "message": expected}


def test_an_error_of_json_has_the_number_of_its_line() -> None:
    """Empty lines count too."""
    good = json.dumps({"cards": ROUND, "bets": []})
    _, answers = streamed("commission", "x", good, "", '{"id": NaN}', "[" * 100_000)
    assert [each["error"]["message"] for each in answers if "error" in each] == [
        "line 1 is not JSON: expecting value at column 1; write one JSON object on each line",
        "line 3 is empty; write one JSON object on each line",
        "line 4 is not JSON: NaN is not a number; write one JSON object on each line",
        "line 5 is nested too deeply; write one JSON object on each line",
    ]


KINDS_OF_NONSENSE: Final[tuple[object, ...]] = (None, True, -1, 0, 1.5, "", "x", [], [None], ["x"], {}, {"x": 1})


@pytest.mark.parametrize("nonsense", KINDS_OF_NONSENSE, ids=repr)
def test_every_unreadable_line_has_a_message_with_a_remedy(nonsense: object) -> None:
    """Any value in any place is answered with `PLACE: problem; remedy`, and the place has the value."""
    random = Random(0)
    for _ in range(200):
        line = a_line(random)
        fields = [(line, key) for key in line]
        fields += [(each, key) for key in ("bets", "irregularities", "decisions") for each in line[key] for key in each]
        fields += [(line["limits"], key) for key in line["limits"]]
        holder, key = random.choice(fields)
        holder[key] = nonsense
        answer = answered("super-six-plus", json.dumps(line))
        if answer.get("error", {}).get("code") == "bad-line":
            message = answer["error"]["message"]
            assert "; " in message
            assert "$" not in message
            assert "`" not in message


def test_an_insurance_bet_requires_its_stage() -> None:
    """Both stages are possible."""
    code, message = error("super-six-plus", bets=bets("1 a player-insurance 5"))
    assert (code, message) == (
        "bad-line",
        'bets[0].stage: is missing for player-insurance; write "after-four" or "after-player-third"',
    )


def test_more_cards_of_a_face_than_there_are_decks_are_an_error() -> None:
    """A reported excess in the deck or a foreign card explains it."""
    cards = "KS KS KS KS KS KS"
    assert table("commission", cards, decks=5)["error"]["code"] == "too-many-of-a-card"
    assert table("commission", "KS KS KS KS 2S 3S", decks=4)["outcome"] == "banker"
    for kind in ("deck-count", "foreign-card"):
        answer = table("commission", cards, decks=5, irregularities=[{"kind": kind}])
        assert answer["void"]["kind"] == kind


def test_a_line_that_is_not_json_does_not_end_the_answers() -> None:
    """Each line has one answer, in order; the exit status reports the error."""
    good = json.dumps({"id": "x", "cards": ROUND, "bets": []})
    status, answers = streamed("commission", good, "{", "[]", '{"id": NaN}', '"\\ud800"', good)
    assert status == 1
    codes = [each.get("error", {}).get("code") for each in answers]
    assert codes == [None, "bad-json", "bad-line", "bad-json", "bad-line", None]
    assert streamed("commission", good)[0] == 0


def test_very_large_amounts_are_exact() -> None:
    """A stake of thirty digits is settled to the unit; thousands of digits are refused."""
    assert error("commission", bets=bets(f"1 a player {10**101}"))[0] == "bad-line"
    assert error("commission", limits={"differential": 10**4000})[0] == "bad-line"
    stake = 10**30 + 1
    answer = answered(
        "commission", json.dumps({"cards": ["QS", "2H", "3D", "4C", "2C"], "bets": bets(f"1 a banker {stake}")})
    )
    assert column(answer, "winnings") == [stake * 95 // 100]
    assert column(answer, "effective") == [str(stake)]


def test_names_of_bettors_are_returned_unchanged() -> None:
    """They may be any text."""
    given = [{"seat": 1, "bettor": '林 "a"\n', "bet": "player", "stake": 5}]
    assert column(answered("commission", json.dumps({"cards": ROUND, "bets": given})), "bettor") == ['林 "a"\n']


def test_the_answer_of_an_irregular_round() -> None:
    """It has the hands, the due card, the sums of each bettor, the rulings and the deciding role."""
    irregularities = [{"kind": "late-bet", "bet": 1}, {"kind": "face-up", "at": 4}]
    answer = table("commission", "2S 3H 4D KC", "1 a player 100; 2 b player 5", irregularities=irregularities)
    assert answer["player"] == {"cards": ["2S", "4D"], "points": 6}
    assert answer["banker"] == {"cards": ["3H", "KC"], "points": 3}
    assert (answer["due"], answer["carried"]) == ("banker", [])
    assert answer["rulings"] == [
        {"irregularity": 1, "kind": "face-up", "then": "continue", "clause": "5.9", "decides": None, "silent": False}
    ]
    assert answer["bettors"] == [{"bettor": "a", "winnings": 0, "returned": 0, "took_back": False, "undecided": False}]


WORDS = sorted(
    {*KINDS, *(each.value for words in (Ask, Choice, RefusalCode, BetRemark, UnheardReason, Then) for each in words)}
)


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_on_the_page(word: str) -> None:
    """The vocabulary is closed, and `docs/rules-table.md` has all of it."""
    assert f"`{word}`" in PAGE


def test_every_kind_of_the_books_is_an_input() -> None:
    """The two kinds that follow from others are not."""
    assert set(IrregularityKind) - set(KINDS.values()) == {IrregularityKind.SET_REPLACED, IrregularityKind.NOTICED_LATE}


def test_a_decision_names_an_irregularity_by_its_position_in_the_list() -> None:
    """Irregularities of bets count too, and have no questions."""
    irregularities = [{"kind": "walked-away", "bettor": "z"}, {"kind": "other"}]
    for position, outcome in ((0, None), (1, "player"), (2, None)):
        answer = table(
            "commission",
            "4S 3H 5D 4C",
            "1 a player 5",
            irregularities=irregularities,
            decisions=[{"question": "ruling", "choice": "continue", "role": "shift-manager", "irregularity": position}],
        )
        assert answer["outcome"] == outcome
        assert answer["rulings"][0]["irregularity"] == 1


def test_a_late_bet_is_refused_once() -> None:
    """A second irregularity of the same bet has no effect."""
    irregularities = [{"kind": "late-bet", "bet": 0}, {"kind": "late-increase", "bet": 0}]
    answer = table("commission", "4S 3H 5D 4C", "1 a player 5", irregularities=irregularities)
    assert refusals(answer) == [(0, "late-bet", "5.6")]


def a_line(random: Random) -> dict[str, Any]:
    """A line with any combination of fields."""
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
    irregularities = [
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
        "irregularities": irregularities,
        "decisions": decisions,
        "noticed": random.random() < 0.5,
        "limits": limits | {"reading": random.choice(["side", "box"])},
    }


@pytest.mark.parametrize("game", GAMES)
def test_every_random_line_has_an_answer_with_correct_money(game: str) -> None:
    """The house pays all wins, a void returns every stake, and an open bet moves no money."""
    random = Random(game)
    settled = 0
    for _ in range(800):
        answer = answered(game, json.dumps(a_line(random)))
        if "error" in answer:
            continue
        settled += 1
        assert '""' not in json.dumps(answer)  # without a clause the value is null
        assert answer["house"] == -sum(column(answer, "winnings"))
        for row in answer["settlement"]:
            assert 0 <= row["returned"] <= row["stake"]
            if answer["void"] is not None:
                assert (row["returned"], row["winnings"]) == (row["stake"], 0)
            elif row["clause"] is None:
                assert (row["pays"], row["returned"], row["winnings"]) == (None, 0, 0)
    assert settled > 100
