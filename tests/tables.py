"""Whole tables for tests, through the same lines that an auditor writes."""

import json
from typing import Any

from shoed.audit_table import Auditor
from shoed.rules.load import book

Answer = dict[str, Any]


def bets(text: str) -> list[dict[str, object]]:
    """`seat bettor bet stake`, then `standing`, `behalf` or a stage where it applies; one bet each, `;` between."""
    return [_bet(each.split()) for each in text.split(";") if each.strip()]


def _bet(words: list[str]) -> dict[str, object]:
    seat, bettor, bet, stake, *more = words
    given: dict[str, object] = {"seat": int(seat), "bettor": bettor, "bet": bet, "stake": int(stake)}
    for word in more:
        given |= {word: True} if word in ("standing", "behalf") else {"stage": word}
    return given


def table(game: str, cards: str, placed: str = "", **fields: object) -> Answer:
    """The answer to one round."""
    line = {"id": 1, "cards": cards.split(), "bets": bets(placed), **fields}
    return answered(game, json.dumps(line))


def answered(game: str, line: str) -> Answer:
    answer = json.loads(Auditor(book(game)).answer(line.encode()))
    assert isinstance(answer, dict)
    return answer


def refusals(answer: Answer) -> list[tuple[int, str, str]]:
    return [(each["bet"], each["code"], each["clause"]) for each in answer["refused"]]


def largest(answer: Answer) -> dict[int, int]:
    return {each["bet"]: each["largest"] for each in answer["refused"] if "largest" in each}


def column(answer: Answer, name: str) -> list[Any]:
    return [row[name] for row in answer["settlement"]]


def asked(answer: Answer) -> list[tuple[str, str | None, str | None]]:
    """Each open question, the bettor that it is for, and its clause."""
    return [(each["question"], each.get("bettor"), each["clause"]) for each in answer["questions"]]


def ruled(answer: Answer) -> list[tuple[str, str, str | None]]:
    return [(each["kind"], each["then"], each["clause"]) for each in answer["rulings"]]


def noted(answer: Answer) -> list[tuple[int, str, str]]:
    return [(each["bet"], each["remark"], each["clause"]) for each in answer.get("notes", [])]
