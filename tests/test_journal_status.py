"""`shoed journal status`: the growth, the free space and the limits, in words."""

from pathlib import Path

import pytest

from shoed.cli import main
from shoed.cli.journal.status import growth, retention
from shoed.journal.growth import JournalSize
from shoed.journal.retention import MB, Keep
from tests.recorded import Play, record


def sized(free_mb: float, growth_mb: float | None, used_mb: float = 20) -> JournalSize:
    return JournalSize(int(used_mb * MB), int(used_mb * MB), int(free_mb * MB), growth_mb and growth_mb * MB, (), None)


@pytest.mark.parametrize(
    ("size", "text", "is_full"),
    [
        (sized(300, 10), "growth: 10.0 MB a day (estimated); 300.0 MB are free on the disk: full in 30 days", False),
        (
            sized(99.9, 10),
            (
                "growth: 10.0 MB a day (estimated); 99.9 MB are free on the disk: free space on it, or move the state"
                " directory"
            ),
            True,
        ),
        (sized(300, None), "growth: not known on the first day of a record; 300.0 MB are free on the disk", False),
        (
            sized(300, 0.01),
            "growth: 0.0 MB a day (estimated); 300.0 MB are free on the disk: full in more than 3650 days",
            False,
        ),
    ],
)
def test_the_growth_has_a_remedy_on_a_full_disk_only(size: JournalSize, text: str, *, is_full: bool) -> None:
    """The free space that doctor reports as a problem is full. A day of play is necessary for an estimate."""
    assert growth(size, Keep()) == text
    assert size.is_disk_full == is_full


def test_a_journal_over_its_limit_is_reported() -> None:
    """A limit that is not reached, or rows that will be deleted, need no words."""
    assert retention(sized(300, 1), Keep(mb=20)) == "kept: at most 20 MB"
    assert retention(sized(300, 1, used_mb=20.1), Keep(mb=20)) == (
        "kept: at most 20 MB; 20.1 MB are in use, and no further row can be deleted now (docs/backup.md)"
    )
    assert retention(sized(300, 1), None).startswith("kept: not known; ")


def test_the_growth_of_the_first_day_is_not_estimated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Some rounds are not a day of play."""
    assert main(["journal", "status", "--state-dir", str(record(tmp_path, Play(shoes=1, rounds=2)))]) == 0
    assert "growth: not known on the first day of a record; " in capsys.readouterr().out
