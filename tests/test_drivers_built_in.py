"""The built-in families: each is complete, and found by its name."""

import pytest

from firmware_protocols import FAMILIES
from shoed.session.families import DRIVERS


def test_every_family_has_its_driver() -> None:
    """Every declared family can be used."""
    assert list(DRIVERS) == list(FAMILIES)
    assert len(DRIVERS) == len(FAMILIES)
    with pytest.raises(KeyError):
        DRIVERS["nowhere"]


@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver_has_its_family_and_both_sessions(name: str) -> None:
    """The host's session and the device's session, if it exists, accept the same settings."""
    driver = DRIVERS[name]
    assert driver.family == FAMILIES[name]
    session = driver.session(driver.family.settings(), allow_orders=False)
    assert isinstance(session.begin(), session.state_type)
    if driver.device is not None:
        assert driver.device(driver.family.settings()) is not None


@pytest.mark.parametrize("name", DRIVERS)
def test_an_unchecked_kind_is_a_frame_of_the_family(name: str) -> None:
    """An unknown name would mean that all frames have a check."""
    driver = DRIVERS[name]
    kinds = {kind.name for kind in driver.family.reports(driver.family.settings()).framing.kinds}
    assert set(driver.unchecked) <= kinds
