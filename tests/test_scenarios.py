"""Every scenario of `tests/scenarios` through the engine, as bytes of a shoe or as observations, and its replay."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.scenario import EXPECTED_TO_FAIL, PLACE, Scenario, every, read
from tests.scenario_table import play

ALL: Final = every()

COLUMNS: Final = (("commission", "super-six-plus"), ("fortune-six",), ("easy-six", "tournament"))
# Every irregularity. The names of their scenario files start with these words.
IRREGULARITIES: Final = (
    *("foreign-card", "deck-count", "not-shuffled", "wrong-count", "too-few-cards"),
    *("together-unknown", "together-known", "order-altered", "excess", "exposed", "wrong-side", "face-up"),
    *("dealing-error", "insurance-neglected", "interruption", "late", "other", "noticed-late"),
)


def params() -> list[Any]:
    return [pytest.param(each, id=each.name, marks=expected(each.name)) for each in ALL]


def expected(name: str) -> tuple[pytest.MarkDecorator, ...]:
    reason = EXPECTED_TO_FAIL.get(name)
    return () if reason is None else (pytest.mark.xfail(strict=True, reason=reason),)


@pytest.mark.parametrize("written", params())
def test_a_scenario_has_the_expected_output(written: Scenario) -> None:
    """A replay of the record gives the same events."""
    for sitting in play(written).sittings.values():
        assert sitting.replay() == [event for step in sitting.steps for event in step.events]


@pytest.mark.parametrize("irregularity", IRREGULARITIES)
@pytest.mark.parametrize("games", COLUMNS, ids=",".join)
def test_every_irregularity_has_a_scenario_in_every_document(irregularity: str, games: tuple[str, ...]) -> None:
    """The games of one column have the same words in their documents."""
    assert [each for each in ALL if each.name.startswith(irregularity) and each.game[0] in games]


# --- a wrong scenario fails

CORRECT: Final = (PLACE / "dealing-error-c.toml").read_text()


@pytest.mark.parametrize(
    ("correct", "wrong"),
    [
        ('clause=5.12 role=player optional=no"', 'clause=5.12 role=dealer optional=no"'),  # the role of the question
        ('"irregularity.noticed kind=dealing-error at=4",', ""),  # an event that is not expected
        ('["question.answered question=option choice=continue bettor=bob"]', "[]"),
        ('refused = "ann has chosen already"\n', ""),  # a refusal
        ('refused = "the required role is player"', 'refused = "the required role is dealer"'),
        ('"question.answered question=option choice=continue", "round.resumed due=P3"', '"round.resumed due=P3"'),
        ('choices=yes,no"', 'choices=no,yes"'),  # the retained question
        ("hands.player=2D,3S:5 ", "hands.player=2D,3S:6 "),  # the retained state
        ('shoe = "P3 10H, B3 7D,', 'shoe = "P3 10H, B3 6D,'),  # a report of the shoe
        ('phase = "settled"', 'phase = "complete"'),
        ('player = "2D,3S,10H:5"', 'player = "2D,3S,10H:6"'),
        ('returned = ["ann 5.12.3"]', "returned = []"),
        ('banker = "0.95:1"', 'banker = "1:1"'),
    ],
)
def test_a_wrong_scenario_fails(correct: str, wrong: str, tmp_path: Path) -> None:
    """Every line of a scenario is compared."""
    assert correct in CORRECT
    path = tmp_path / "altered.toml"
    path.write_text(CORRECT.replace(correct, wrong))
    (altered,) = read(path)
    with pytest.raises(AssertionError, match="altered"):
        play(altered)


def test_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    """A misspelt key would be a comparison that is never made."""
    path = tmp_path / "misspelt.toml"
    path.write_text(CORRECT.replace("refused =", "refuses =", 1))
    with pytest.raises(ValueError, match=r"misspelt\.toml: .*refuses"):
        read(path)
