"""The families that are built in: found by their names, and imported where one is meant."""

import subprocess
import sys

import pytest

from firmware_protocols import FAMILIES
from shoed.now import Now
from shoed.session.families import DRIVERS
from shoed.step import LinkUp, Woken


def test_every_family_is_found_by_its_own_name_and_has_a_session() -> None:
    """The two registries name the same ones."""
    assert [family.name for family in FAMILIES.values()] == list(FAMILIES)
    assert list(FAMILIES) == list(DRIVERS)
    assert len(FAMILIES) == len(DRIVERS)


def test_a_daemon_imports_no_family_that_no_table_has() -> None:
    """A start has no time for it."""
    asked = "import shoed.daemon, sys; sys.exit('firmware_protocols.open_shoe' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0


@pytest.mark.parametrize("name", FAMILIES)
def test_a_listening_host_says_nothing_whatever_the_family(name: str) -> None:
    """Not when the line opens, nor ever after; a family whose host says nothing anyway has nothing to set."""
    settings = FAMILIES[name].settings()
    session = DRIVERS[name].session(settings.listening(), allow_orders=False)
    state, heard = session.step(session.begin(), LinkUp("serial:///dev/shoe"), Now(0, 0))
    assert heard.sends == ()
    _, heard = session.step(state, Woken(), Now(0, 3600 * 10**9))
    assert heard.sends == ()
    assert (settings.listening() == settings) is (name != "open-shoe")


def test_a_device_stands_where_its_table_has_it() -> None:
    """Of a family of one role nothing changes."""
    for name, family in FAMILIES.items():
        settings = family.settings()
        assert settings.standing("shoe") == settings
        assert (settings.standing("shuffler") == settings) is (len(family.roles) == 1), name
