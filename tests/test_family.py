"""What every family declares, whoever asks for it."""

import pytest

from firmware_protocols import FAMILIES
from shoed.errors import DriverError


def test_a_name_of_nobody_is_no_family() -> None:
    """Neither is that of a module which stands beside them."""
    for name in ("page", "open_shoe", ""):
        with pytest.raises(KeyError):
            FAMILIES[name]


@pytest.mark.parametrize("name", ["angel-eye", "bee-tek", "scanner"])
def test_a_family_of_one_role_is_set_as_it_is_whatever_it_stands_as(name: str) -> None:
    """And its host says nothing but orders, so that one which only listens is no other."""
    settings = FAMILIES[name].settings()
    assert settings.standing("shoe") is settings
    assert settings.listening() is settings


def test_a_driver_that_is_no_good_is_told_with_what_to_do() -> None:
    """Problem and remedy can be told apart."""
    error = DriverError("the package is broken", "install it anew")
    assert (str(error), error.problem, error.remedy) == (
        "the package is broken; install it anew",
        "the package is broken",
        "install it anew",
    )
