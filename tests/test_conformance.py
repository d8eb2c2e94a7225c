"""The conformance kit: the built-in families keep every law, and a family that breaks a law is refused by its name."""

import pytest

from shoed.rig.family_kit import CHECKS, Law, laws
from shoed.session.families import DRIVERS
from tests.broken_families import BROKEN, BrokenFamily


@pytest.mark.parametrize("law", [law for driver in DRIVERS.values() for law in laws(driver)], ids=lambda law: law.title)
def test_a_built_in_family_keeps(law: Law) -> None:
    """The same laws hold as for the families of packages."""
    law()


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_family_is_refused_by_the_name_of_its_law(broken: BrokenFamily) -> None:
    """It breaks exactly this law and the laws that depend on it; each failure names the input and the result."""
    refusals = [(law.name, str(refused)) for law in laws(broken.driver) if (refused := law.broken())]
    assert {name for name, _ in refusals} == broken.laws
    assert [text for name, text in refusals if not text.startswith(f"{name}: given ")] == []


def test_every_law_can_be_broken() -> None:
    """Each law is broken by one of the broken families."""
    assert {law for broken in BROKEN.values() for law in broken.laws} == set(CHECKS)


def test_a_law_is_the_same_each_time() -> None:
    """Its random values have a fixed seed."""
    broken = BROKEN["a check that is not compared"].driver
    first, second = ([str(law.broken()) for law in laws(broken)] for _ in range(2))
    assert first == second


def test_a_broken_law_reports_its_input() -> None:
    """The message has the bytes in hex, and the result."""
    messages = {law.name: str(law.broken()) for law in laws(BROKEN["a check that is not compared"].driver)}
    assert messages["codec.flip"].startswith(
        "codec.flip: given 21 43 39 53 2a 43 45 0a: the message is Drawn(card='9S'), not "
    )
