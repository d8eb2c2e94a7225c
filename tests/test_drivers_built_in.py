"""The families that are built in: each is whole, and asked for by its name."""

import pytest

from firmware_protocols import FAMILIES
from shoed.session.families import DRIVERS


def test_every_family_has_its_driver() -> None:
    """None is declared that cannot be used."""
    assert list(DRIVERS) == list(FAMILIES)
    assert len(DRIVERS) == len(FAMILIES)
    with pytest.raises(KeyError):
        DRIVERS["nowhere"]


@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver_has_its_family_and_both_ends_of_its_line(name: str) -> None:
    """The session is the host's; the device's half, where there is one, is made of the same settings."""
    driver = DRIVERS[name]
    assert driver.family == FAMILIES[name]
    session = driver.session(driver.family.settings(), allow_orders=False)
    assert isinstance(session.begin(), session.state_type)
    if driver.device is not None:
        assert driver.device(driver.family.settings()) is not None


@pytest.mark.parametrize("name", DRIVERS)
def test_what_bears_no_check_is_a_kind_of_the_family(name: str) -> None:
    """A name that no frame has would say that all of them are checked."""
    driver = DRIVERS[name]
    kinds = {kind.name for kind in driver.family.reports(driver.family.settings()).framing.kinds}
    assert set(driver.unchecked) <= kinds
