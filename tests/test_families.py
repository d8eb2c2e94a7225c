"""The built-in families: found by their names, and imported only when needed."""

import subprocess
import sys

import pytest

from firmware_protocols import FAMILIES
from shoed.model.moments import Now
from shoed.model.step import LinkUp, Woken
from shoed.session.families import DRIVERS


def test_every_family_is_found_by_its_own_name_and_has_a_session() -> None:
    """Both registries have the same names."""
    assert [family.name for family in FAMILIES.values()] == list(FAMILIES)
    assert list(FAMILIES) == list(DRIVERS)
    assert len(FAMILIES) == len(DRIVERS)


def test_a_daemon_imports_only_the_families_of_its_tables() -> None:
    """The start stays short."""
    code = "import shoed.service.daemon, sys; sys.exit('firmware_protocols.open_shoe' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", FAMILIES)
def test_a_listening_host_sends_nothing(name: str) -> None:
    """It sends nothing when the line opens, nor later; the hosts of some families send nothing in any case."""
    settings = FAMILIES[name].settings()
    session = DRIVERS[name].session(settings.listening(), allow_orders=False)
    state, heard = session.step(session.begin(), LinkUp("serial:///dev/shoe"), Now(0, 0))
    assert heard.sends == ()
    _, heard = session.step(state, Woken(), Now(0, 3600 * 10**9))
    assert heard.sends == ()
    assert (settings.listening() == settings) is (name != "open-shoe")


def test_the_settings_follow_the_role_at_the_table() -> None:
    """For a family with one role nothing changes."""
    for name, family in FAMILIES.items():
        settings = family.settings()
        assert settings.for_role("shoe") == settings
        assert (settings.for_role("shuffler") == settings) is (len(family.roles) == 1), name
