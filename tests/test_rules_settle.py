"""`shoed rules settle`: one answer for each line, and the errors of lines that are not rounds."""

import json
import subprocess
import sys
from collections.abc import Iterable
from io import BytesIO
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoed.cli.rules.settle import RoundSettler, settle
from shoed.errors import UsageError
from shoed.model.cards import Card
from shoed.rules.drawing import Hands, due, points, winner
from shoed.rules.insurance import offers, settle_offer
from shoed.rules.load import book
from shoed.rules.results import established, pays
from tests import printed
from tests.patience import PATIENCE_S
from tests.printed import GAMES

WORTH = {"A": 1, **{str(face): face for face in range(2, 10)}, "10": 0, "J": 0, "Q": 0, "K": 0}
COMMAND = [sys.executable, "-m", "shoed", "rules", "settle"]
ROUND = {"id": 7, "cards": ["QS", "3H", "7D", "JC", "JH"]}
ANSWER = (
    '{"id": 7, "complete": true, "outcome_established": true, "outcome": "player", '
    '"player": {"cards": ["QS", "7D"], "points": 7}, "banker": {"cards": ["3H", "JC", "JH"], "points": 3}, '
    '"pays": {"player": "1:1", "banker": "lose", "tie": "lose", "player-pair": "lose", "banker-pair": "lose", '
    '"super-six-plus": "lose"}, '
    '"insurance": {"after-four": [{"bet": "player-insurance", "odds": "4:1", "pays": "lose"}], '
    '"after-player-third": null}}'
)


def answered(lines: Iterable[object], game: str = "super-six-plus", decks: int = 8) -> tuple[list[str], int]:
    """The written answers, and the exit status."""
    sink = BytesIO()
    data = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
    status = settle(book(game), decks, BytesIO(data), sink)
    return sink.getvalue().decode().splitlines(), status


def answer(line: object, game: str = "super-six-plus", decks: int = 8) -> dict[str, object]:
    (answers,), _ = answered([line], game, decks)
    parsed: dict[str, object] = json.loads(answers)
    return parsed


def raw(line: bytes) -> object:
    return json.loads(RoundSettler(book("commission"), 8).answer(line))


def code(answers: object) -> tuple[object, str]:
    """The id and the code of an error; the error also has a message."""
    match answers:
        case {"id": name, "error": {"code": str(what), "message": str(message)}, **more} if message and not more:
            return name, what
        case _:
            raise AssertionError(answers)


# --- answers


def test_a_complete_round_has_the_published_answer() -> None:
    """All bytes are equal, and keys are in that order."""
    assert answered([ROUND]) == ([ANSWER], 0)


def test_an_empty_list_is_a_round_that_has_not_begun() -> None:
    """All bets are open, and there is no error."""
    answers, status = answered([{"id": 1, "cards": []}])
    assert (json.loads(answers[0]), status) == (
        {
            "id": 1,
            "complete": False,
            "outcome_established": False,
            "outcome": None,
            "player": {"cards": [], "points": 0},
            "banker": {"cards": [], "points": 0},
            "pays": dict.fromkeys(
                ("player", "banker", "tie", "player-pair", "banker-pair", "super-six-plus"),
            ),
            "insurance": {"after-four": None, "after-player-third": None},
        },
        0,
    )


def test_an_incomplete_round_has_the_decided_pays() -> None:
    """Open bets and open offers have no pay yet."""
    answers = answer({"id": 1, "cards": ["2S", "2H", "3D", "2C", "4C"]})
    assert (answers["complete"], answers["outcome_established"], answers["outcome"]) == (False, True, None)
    assert answers["pays"] == {
        "player": None,
        "banker": None,
        "tie": None,
        "player-pair": "lose",
        "banker-pair": "11:1",
        "super-six-plus": "lose",
    }
    assert answers["insurance"] == {
        "after-four": [{"bet": "player-insurance", "odds": "2:1", "pays": None}],
        "after-player-third": [{"bet": "player-insurance", "odds": "8:1", "pays": None}],
    }


@pytest.mark.parametrize("game", GAMES)
def test_only_one_game_answers_with_insurance(game: str) -> None:
    """Each game has its own bets."""
    answers = answer(ROUND, game)
    assert ("insurance" in answers) is (game == "super-six-plus")
    assert isinstance(answers["pays"], dict)
    assert list(answers["pays"]) == [bet.name for bet in book(game).bets]


def test_a_ten_may_be_written_with_a_t() -> None:
    """The answer has 10."""
    assert answer({"cards": ["TS", "10H"]})["player"] == {"cards": ["10S"], "points": 0}


@pytest.mark.parametrize("name", [None, 0, -1, 2**70, "a", 'é"\\\n', 1.5, True, [1, {"a": None}]])
def test_the_id_is_returned_unchanged(name: object) -> None:
    """It may be any JSON value; without an id the answer has null."""
    assert answer({"id": name, "cards": []})["id"] == name
    assert answer({"id": name, "cards": ["9Z"]})["id"] == name
    assert answer({"cards": []})["id"] is None


@given(st.sampled_from(GAMES), st.lists(st.sampled_from(tuple(Card)), min_size=6, max_size=6), st.integers(0, 6))
def test_an_answer_agrees_with_the_rules(game: str, cards: list[Card], count: int) -> None:
    """The rules compute the same values from the hands."""
    rules, dealt, order = book(game), Hands(), []
    for card in cards[:count]:
        hand = due(rules, dealt)
        if hand is not None:
            dealt = dealt.with_card(hand, card)
            order.append(str(card))
    complete = due(rules, dealt) is None
    right: dict[str, object] = {
        "id": "x",
        "complete": complete,
        "outcome_established": established(rules, dealt),
        "outcome": winner(rules, dealt).value if complete else None,
        "player": {"cards": [str(each) for each in dealt.player], "points": points(rules, dealt.player)},
        "banker": {"cards": [str(each) for each in dealt.banker], "points": points(rules, dealt.banker)},
        "pays": {name: each.text if each else None for name, each in pays(rules, dealt).items()},
    }
    if game == "super-six-plus":
        right["insurance"] = {
            stage.value: None
            if found is None
            else [
                {"bet": each.bet, "odds": each.odds.text, "pays": paid.text if paid else None}
                for each in found
                for paid in [settle_offer(rules, each, dealt)]
            ]
            for stage, found in offers(rules, dealt).items()
        }
    answers = answer({"id": "x", "cards": order}, game)
    assert answers == right
    assert list(answers) == list(right)


def test_ten_thousand_rounds_pay_as_printed() -> None:
    """The rounds are from shuffled shoes, and the expected pays from tables typed by hand."""
    rng, shoe = Random(1), [str(card) for card in Card] * 8
    rounds = [in_hands(rng.sample(shoe, 6)) for _ in range(10_000)]
    lines = [{"id": number, "cards": order} for number, (order, _, _) in enumerate(rounds)]
    for game in GAMES:
        answers, status = answered(lines, game)
        assert status == 0
        for line, (_, player, banker) in zip(map(json.loads, answers), rounds, strict=True):
            result = printed.result(worth(player), worth(banker))
            assert (line["complete"], line["outcome"]) == (True, result.winner)
            assert (line["player"]["cards"], line["banker"]["cards"]) == (player, banker)
            assert line["pays"] == printed.pays(game, result) | {
                "player-pair": printed.pair_pays(game, player[0][:-1], player[1][:-1]),
                "banker-pair": printed.pair_pays(game, banker[0][:-1], banker[1][:-1]),
            }


def in_hands(cards: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """The cards of one round by the printed table: in dealt order, and by hand."""
    order: list[str] = []
    hands: dict[str, list[str]] = {"player": [], "banker": []}
    for card in cards:
        hand = printed.due(worth(hands["player"]), worth(hands["banker"]))
        if hand is not None:
            order.append(card)
            hands[hand].append(card)
    return order, hands["player"], hands["banker"]


def worth(cards: Iterable[str]) -> list[int]:
    return [WORTH[card[:-1]] for card in cards]


# --- errors


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"x",
        b'{"id": 7',
        b'{"id": 7, "cards": []} 1',
        b'{"id": NaN, "cards": []}',
        b'{"id": "\xff", "cards": []}',
        b'{"cards": [], "note": "\xff"}',
        b"[" * 100_000,
        b'{"id": 7, "cards": [],}',
    ],
)
def test_a_line_that_is_not_json_is_an_error(line: bytes) -> None:
    """An empty line is answered too."""
    assert code(raw(line)) == (None, "bad-json")


def test_an_error_of_json_names_its_line() -> None:
    """The number counts lines of the input; a line without text is called empty."""
    sink = BytesIO()
    lines = [json.dumps(ROUND).encode(), b"x", b"", b" \r", b'{"cards": [,]}', b'{"cards": ["\xff"]}']
    assert settle(book("commission"), 8, BytesIO(b"\n".join(lines)), sink) == 1
    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [each["error"]["message"] for each in answers[1:]] == [
        "line 2 is not JSON: expecting value at column 1; write one JSON object on each line",
        "line 3 is empty; write one JSON object on each line",
        "line 4 is empty; write one JSON object on each line",
        "line 5 is not JSON: expecting value at column 12; write one JSON object on each line",
        "line 6 is not UTF-8: byte 0xFF at position 13; write one JSON object on each line",
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"[]", None),
        (b"7", None),
        (b"null", None),
        (b'{"id": 7}', 7),
        (b'{"id": 7, "cards": null}', 7),
        (b'{"id": 7, "cards": "QS"}', 7),
        (b'{"id": 7, "cards": {}}', 7),
        (b'{"id": 7, "card": ["QS"]}', 7),
    ],
)
def test_json_without_a_list_of_cards_is_a_bad_line(line: bytes, name: object) -> None:
    """The answer has the id of the line, if it has one."""
    assert code(raw(line)) == (name, "bad-line")


@pytest.mark.parametrize("card", ["", "S", "1S", "8", "8s", "8SS", "11H", "AZ", " 8S", "10", "ß", 88, None, ["8S"], {}])
def test_a_value_that_is_not_a_card_is_an_error(card: object) -> None:
    """It may be anywhere in the list, also after the last card of the round."""
    for cards in ([card], ["9S", "9H", "KD", "KC", card], [card, "9S"]):
        assert code(answer({"id": 7, "cards": cards}, "commission")) == (7, "bad-card")


@pytest.mark.parametrize(
    "cards", ["9S 9H KD KC 2S", "QS 3H 7D JC JH 2S", "2S 3H 2D 4H 5C 6C 7C", "2S 2H 4D 4H 3C 3D 5S"]
)
def test_a_card_after_the_last_due_card_is_in_excess(cards: str) -> None:
    """The Table of Play decides the last due card."""
    assert code(answer({"id": 7, "cards": cards.split()}, "commission")) == (7, "excess-card")
    assert answer({"id": 7, "cards": cards.split()[:4]})["id"] == 7


@pytest.mark.parametrize(("decks", "error"), [(4, True), (5, False), (8, False)])
def test_a_card_occurs_once_in_each_deck(decks: int, *, error: bool) -> None:
    """TS and 10S are the same card."""
    cards = ["10S", "TS", "10S", "TS", "10S"]
    answers = answer({"id": 7, "cards": cards}, "commission", decks)
    assert ("error" in answers) is error
    assert not error or code(answers) == (7, "too-many-of-a-card")


def test_a_bad_line_does_not_change_other_answers() -> None:
    """Each line is answered in its place; the exit status reports the error."""
    answers, status = answered([ROUND, {"id": 8}, ROUND, {"id": 9, "cards": ["x"]}, ROUND])
    assert status == 1
    assert (answers[0], answers[2], answers[4]) == (ANSWER, ANSWER, ANSWER)
    assert [code(json.loads(answers[at])) for at in (1, 3)] == [(8, "bad-line"), (9, "bad-card")]


@pytest.mark.parametrize("game", GAMES)
def test_the_number_of_decks_is_in_the_range_of_the_game(game: str) -> None:
    """Four to eight; Fortune Six has up to ten."""
    fewest, most = printed.DECKS[game]
    for decks in (fewest, most):
        assert answered([], game, decks) == ([], 0)
    for decks in (fewest - 1, most + 1, 0, -8):
        with pytest.raises(
            UsageError, match=f"--decks {decks}: {game} has {fewest} to {most} decks; write a number in this range"
        ):
            answered([], game, decks)


# --- as a command


def run(*arguments: str, lines: bytes = b"") -> tuple[bytes, bytes, int]:
    ended = subprocess.run([*COMMAND, *arguments], input=lines, capture_output=True, timeout=PATIENCE_S, check=False)
    return ended.stdout, ended.stderr, ended.returncode


def test_the_command_answers_and_ends() -> None:
    """The last line needs no line end, and Windows line ends are accepted."""
    line = json.dumps(ROUND).encode()
    right = ANSWER.encode() + b"\n"
    assert run("super-six-plus", lines=line + b"\r\n" + line) == (right * 2, b"", 0)
    assert run("super-six-plus") == (b"", b"", 0)
    assert run("super-six-plus", lines=b"x\n" + line + b"\n")[2] == 1


@pytest.mark.parametrize(
    "arguments", [["commission", "--decks", "9"], ["fortune-six", "--decks", "11"], ["comission"], []]
)
def test_wrong_use_has_exit_status_2(arguments: list[str]) -> None:
    """The message is written before a line is read."""
    answers, error, status = run(*arguments, lines=json.dumps(ROUND).encode())
    assert (answers, status) == (b"", 2)
    assert error


def test_a_line_is_answered_while_the_input_is_open() -> None:
    """A program may wait for each answer."""
    with subprocess.Popen([*COMMAND, "super-six-plus"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for _ in range(3):
            child.stdin.write(json.dumps(ROUND).encode() + b"\n")
            child.stdin.flush()
            assert child.stdout.readline().decode() == ANSWER + "\n"
        child.stdin.close()
        assert child.wait(PATIENCE_S) == 0
