"""The commands that `shoed status` prints for an open question, for the questions of all scenarios."""

from datetime import UTC, datetime, timedelta

import pytest

from shoed.cli.status import age, answers, decision, journal_text, size
from shoed.model.commands import Decide
from shoed.model.requests import typed_command, typed_request
from shoed.service.disk import DiskStatus
from shoed.service.status import JournalStatus
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


@pytest.mark.parametrize(
    ("waiting", "committing_s", "shown"),
    [
        (0, None, ""),
        (3, None, ""),
        (3, 1.5, ""),
        (3, 2.5, "; reports that wait for a commit: 3"),
    ],
)
def test_reports_that_wait_are_shown_if_a_commit_is_overdue(
    waiting: int, committing_s: float | None, shown: str
) -> None:
    """A commit takes a part of a second: this is not worth a line."""
    journal = JournalStatus("/s", None, waiting, committing_s, DiskStatus(5, 9, 2))
    assert journal_text(journal) == f"/s; 2 bytes; 5 bytes of 9 bytes are free{shown}"


@pytest.mark.parametrize(("silent_s", "shown"), [(None, "cannot be examined"), (7.2, "has not answered for 7 s")])
def test_a_disk_without_an_answer_is_shown_with_its_time(silent_s: float | None, shown: str) -> None:
    """A disk that refuses an answer has no time."""
    assert journal_text(JournalStatus("/s", None, 0, None, None, silent_s)) == f"/s; the disk {shown}"
