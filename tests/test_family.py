"""The declarations that every family has."""

import pytest

from firmware_protocols import FAMILIES
from shoed.errors import DriverError


def test_an_unknown_name_is_not_a_family() -> None:
    """The name of a module beside the families is not a family either."""
    for name in ("page", "open_shoe", ""):
        with pytest.raises(KeyError):
            FAMILIES[name]


@pytest.mark.parametrize("name", ["angel-eye", "bee-tek", "scanner"])
def test_the_settings_of_a_family_with_one_role_never_change(name: str) -> None:
    """Its host sends only orders, so a host that only listens has the same settings."""
    settings = FAMILIES[name].settings()
    assert settings.for_role("shoe") is settings
    assert settings.listening() is settings


def test_an_unusable_driver_is_reported_with_a_remedy() -> None:
    """The problem and the remedy are separate."""
    error = DriverError("the package is broken", "install it again")
    assert (str(error), error.problem, error.remedy) == (
        "the package is broken; install it again",
        "the package is broken",
        "install it again",
    )
