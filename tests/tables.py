"""Rounds for tests of the rules, in the input format of `shoed rules table`."""

import json
from typing import Any

from shoed.cli.rules.table import TableSettler
from shoed.rules.load import book
from tests.printed import GAMES

Answer = dict[str, Any]

C, I, F, E, T = GAMES  # noqa: E741  # the letters of the clauses
PLAYER_9_BANKER_7 = "4S 3H 5D 4C"
PLAYER_STANDS_BANKER_DRAWS = "2S 3H 4D KC"  # 6 against 3
ALL = "1 a player 100; 2 b banker 200; 2 b tie 10"
P7_B3 = "QS 3H 7D JC"  # Player insurance at 4:1; Banker draws
P5_B4 = "2S 2H 3D 2D"  # Player insurance at 2:1; Player draws
P9 = f"{P5_B4} 4C"  # Player insurance on nine at 8:1


def bets(text: str) -> list[dict[str, object]]:
    """Bets separated by `;`: `seat bettor bet stake`, then `standing`, `behalf` or a stage if they apply."""
    return [_bet(each.split()) for each in text.split(";") if each.strip()]


def _bet(words: list[str]) -> dict[str, object]:
    seat, bettor, bet, stake, *more = words
    given: dict[str, object] = {"seat": int(seat), "bettor": bettor, "bet": bet, "stake": int(stake)}
    for word in more:
        given |= {word: True} if word in ("standing", "behalf") else {"stage": word}
    return given


def table(game: str, cards: str, placed: str = "", **fields: object) -> Answer:
    """The answer for one round."""
    line = {"id": 1, "cards": cards.split(), "bets": bets(placed), **fields}
    return answered(game, json.dumps(line))


def answered(game: str, line: str) -> Answer:
    answer = json.loads(TableSettler(book(game)).answer(line.encode()))
    assert isinstance(answer, dict)
    return answer


def refusals(answer: Answer) -> list[tuple[int, str, str]]:
    return [(each["bet"], each["code"], each["clause"]) for each in answer["refused"]]


def largest(answer: Answer) -> dict[int, int]:
    return {each["bet"]: each["largest"] for each in answer["refused"] if "largest" in each}


def column(answer: Answer, name: str) -> list[Any]:
    return [row[name] for row in answer["settlement"]]


def asked(answer: Answer) -> list[tuple[str, str | None, str | None]]:
    """Each open question with its bettor and its clause."""
    return [(each["question"], each.get("bettor"), each["clause"]) for each in answer["questions"]]


def ruled(answer: Answer) -> list[tuple[str, str, str | None]]:
    return [(each["kind"], each["then"], each["clause"]) for each in answer["rulings"]]


def noted(answer: Answer) -> list[tuple[int, str, str]]:
    return [(each["bet"], each["remark"], each["clause"]) for each in answer.get("notes", [])]


def ruling(answer: Answer) -> tuple[str, str | None]:
    """The only ruling."""
    (only,) = answer["rulings"]
    assert only["clause"] is None or not only["silent"]
    return only["then"], only["clause"]


def with_irregularity(kind: str, **more: object) -> dict[str, Any]:
    return {"irregularities": [{"kind": kind, **more}]}


def decide(question: str, choice: object, role: str, **more: object) -> dict[str, object]:
    return {"question": question, "choice": choice, "role": role, **more}


def option(bettor: str, choice: str, **more: object) -> dict[str, object]:
    return decide("option", choice, "player", bettor=bettor, **more)
