"""systemd reads the unit, and measures its exposure."""

import shutil
from pathlib import Path

import pytest

from tests.systemd_unit import UNIT, exposure, mistakes

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not on this machine")


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    return Path(shutil.copy(UNIT, tmp_path))


@pytest.mark.parametrize(
    ("right", "wrong", "printed"),
    [("WatchdogSec", "WatchdogSecs", "'WatchdogSecs'"), ("Type=notify", "Type=x", "service type, ignoring: x")],
)
def test_a_mistake_in_the_unit_is_found(unit: Path, right: str, wrong: str, printed: str) -> None:
    """Systemd only warns of a key that it does not know. The check fails."""
    assert mistakes(unit) == ""
    unit.write_text(unit.read_text().replace(right, wrong))
    assert printed in mistakes(unit)


def test_a_unit_with_less_protection_is_found(unit: Path) -> None:
    """Without one line of its protection the unit is over its limit of exposure."""
    assert exposure(unit) == ""
    unit.write_text(unit.read_text().replace("CapabilityBoundingSet=\n", ""))
    assert "✗ CapabilityBoundingSet=" in exposure(unit)
