"""The commands that `shoed status` prints for an open question, for the questions of all scenarios."""

from datetime import UTC, datetime, timedelta

import pytest

from shoed.cli.status import age, answers, decision, size
from shoed.model.commands import Decide
from shoed.model.requests import typed_command, typed_request
from shoed.table.public_question import PublicQuestion
from tests.shown import questions


def test_every_answer_to_every_question_is_a_valid_command() -> None:
    """The choices are those of the question; CARD stands for any card."""
    kinds = set()
    for _, asked in questions():
        kinds.add(asked.question)
        given = list(answers(asked))
        assert given
        for choice, effects in given:
            assert effects
            words = decision("bac-901", asked, choice.replace("CARD", "8S"))
            *pairs, option, role = words[4:]
            assert (words[:4], option) == (["shoed", "tell", "bac-901", "decide"], "--role")
            command = typed_command("decide", pairs)
            assert isinstance(command, Decide)
            assert typed_request("bac-901", command, "ann", role, "1").input.command == command
            assert (command.question, command.revision) == (asked.id, asked.revision)
            assert is_choice(asked, command.choice)
    assert {"face", "card-order", "option", "ruling"} < kinds


def is_choice(asked: PublicQuestion, choice: str | tuple[str, ...]) -> bool:
    if asked.question == "face":
        return choice in ("8S", "foreign-card", "no-card")
    if asked.question == "card-order":
        return sorted(choice) == sorted(asked.choices)
    return choice in asked.choices


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3661, "1 h 1 min"), (86_400, "1 d"), (90_061, "1 d 1 h"), (-5, "0 s")],
)
def test_an_age_has_its_two_largest_units(seconds: int, text: str) -> None:
    """A clock that was set back gives the age 0."""
    assert age((datetime.now(UTC) - timedelta(seconds=seconds, milliseconds=100)).isoformat()) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (2 * 10**12, "2.0 TB")]
)
def test_a_size_has_one_unit(count: int, text: str) -> None:
    """The units are decimal."""
    assert size(count) == text
