"""Backup, restore, salvage, retention and migration after a kill or a fault of the disk at seeded calls.

`./dev crash --kind operations` runs more of these trials. Its harness reports each defect that is planted.
"""

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.crash.forks import Finished, Forks
from tests.crash.injuries import READ, Trial, injury, ward
from tests.crash.operations import FILE, OPERATIONS, PAGE, Backup

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None and not os.environ.get("HIL_REQUIRED"), reason="a C compiler (cc) is not installed"
)

SEED: Final = 1
TRIALS: Final = 3


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_injured_operation_leaves_no_half_result_and_can_be_repeated(name: str, tmp_path: Path) -> None:
    """Seeded trials of kills and faults."""
    with ward(name, tmp_path.resolve() / "ward") as injured:
        for number in range(TRIALS):
            trial = injury(injured, SEED, number)
            assert injured.run(trial) == [], trial


def test_a_read_that_fails_once_does_not_replace_the_journal(tmp_path: Path) -> None:
    """At the start. SQLite reports it as damage, and the second attempt succeeds; or the error names the directory."""
    with ward("migration of schema 4", tmp_path.resolve() / "ward") as injured:
        for after in (0, 2, 20):
            assert injured.run(Trial("migration of schema 4", READ, after)) == []


class Careless(Backup):
    """A backup that writes its file under its last name from the beginning, and stays silent about an error."""

    def run(self, place: Path, forks: Forks) -> Finished:
        finished = super().run(place, forks)
        if finished.status:
            (place / "copy").mkdir(exist_ok=True)
            (place / "copy" / FILE).write_bytes((place / "state" / FILE).read_bytes()[:PAGE])
            (place / "copy" / "backup.tmp").touch()
        return Finished(finished.status, "")


def test_each_defect_of_an_operation_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not complete, a failure without a message, a further run that fails, and a file that stays."""
    monkeypatch.setitem(OPERATIONS, "backup", Careless(continued=False))
    with ward("backup", tmp_path.resolve() / "ward") as careless:
        found = careless.run(Trial("backup", "EIO", 40))
    for defect in ("the backup: ", "the error is not one line", "repeated: status 1", "litter: ['copy/backup.tmp'"):
        assert [each for each in found if each.startswith(defect)], found
