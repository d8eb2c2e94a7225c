"""Every situation of `tests/scenarios` through the engine, as bytes of a shoe or as observations; and its replay."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.scenario import EXPECTED_TO_FAIL, PLACE, Scenario, every, read
from tests.scenario_table import play

ALL: Final = every()

COLUMNS: Final = (("commission", "super-six-plus"), ("fortune-six",), ("easy-six", "tournament"))
# The irregularities that the readings list, as the files are named.
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
def test_it_comes_as_it_is_written(written: Scenario) -> None:
    """And what is on record gives the same events once more."""
    for sitting in play(written).sittings.values():
        assert sitting.again() == [event for step in sitting.steps for event in step.events]


@pytest.mark.parametrize("irregularity", IRREGULARITIES)
@pytest.mark.parametrize("games", COLUMNS, ids=",".join)
def test_every_cell_of_the_readings_is_written_down(irregularity: str, games: tuple[str, ...]) -> None:
    """Each irregularity in each column of games that share a document's words."""
    assert [each for each in ALL if each.name.startswith(irregularity) and each.game[0] in games]


# --- and a file that says otherwise fails

TOLD: Final = (PLACE / "dealing-error-c.toml").read_text()


@pytest.mark.parametrize(
    ("written", "otherwise"),
    [
        ('clause=5.12 role=player optional=no"', 'clause=5.12 role=dealer optional=no"'),  # who is asked
        ('"irregularity.noticed kind=dealing-error at=4",', ""),  # an event too many
        ('["question.answered question=option choice=continue bettor=bob"]', "[]"),
        ('refused = "ann has chosen already"\n', ""),  # an answer that is no
        ('refused = "it takes player"', 'refused = "it takes dealer"'),
        ('"question.answered question=option choice=continue", "round.resumed due=P3"', '"round.resumed due=P3"'),
        ('choices=yes,no"', 'choices=no,yes"'),  # the question as it is retained
        ("hands.player=2D,3S:5 ", "hands.player=2D,3S:6 "),  # the state
        ('shoe = "P3 10H, B3 7D,', 'shoe = "P3 10H, B3 6D,'),  # what the shoe said
        ('phase = "settled"', 'phase = "complete"'),
        ('player = "2D,3S,10H:5"', 'player = "2D,3S,10H:6"'),
        ('returned = ["ann 5.12.3"]', "returned = []"),
        ('banker = "0.95:1"', 'banker = "1:1"'),
    ],
)
def test_a_file_that_says_otherwise_fails(written: str, otherwise: str, tmp_path: Path) -> None:
    """Nothing in a file is without effect."""
    assert written in TOLD
    path = tmp_path / "otherwise.toml"
    path.write_text(TOLD.replace(written, otherwise))
    (altered,) = read(path)
    with pytest.raises(AssertionError, match="otherwise"):
        play(altered)


def test_a_key_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    """A slip of the pen would be a check that is never made."""
    path = tmp_path / "slip.toml"
    path.write_text(TOLD.replace("refused =", "refuses =", 1))
    with pytest.raises(ValueError, match=r"slip\.toml: .*refuses"):
        read(path)
