"""The conformance kit: our own families keep every law, and a family that breaks one is refused by its name."""

import pytest

from shoed.rig.conformance import CHECKS, Law, laws
from shoed.session.families import DRIVERS
from tests.broken_families import BROKEN, BrokenFamily


@pytest.mark.parametrize("law", [law for driver in DRIVERS.values() for law in laws(driver)], ids=lambda law: law.title)
def test_a_built_in_family_keeps(law: Law) -> None:
    """Whatever is asked of other packages' families."""
    law()


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_family_is_refused_by_the_name_of_its_law(broken: BrokenFamily) -> None:
    """By that law, by those that cannot be tried then, and by no other; each says what was given and what came."""
    refusals = [(law.name, str(refused)) for law in laws(broken.driver) if (refused := law.broken())]
    assert {name for name, _ in refusals} == broken.laws
    assert [said for name, said in refusals if not said.startswith(f"{name}: given ")] == []


def test_no_law_is_kept_whatever_a_family_does() -> None:
    """Each is broken by one of the broken families."""
    assert {law for broken in BROKEN.values() for law in broken.laws} == set(CHECKS)


def test_a_law_is_the_same_each_time() -> None:
    """What is random in it comes from one seed."""
    broken = BROKEN["a check that is not compared"].driver
    first, second = ([str(law.broken()) for law in laws(broken)] for _ in range(2))
    assert first == second


def test_a_broken_law_tells_what_was_given() -> None:
    """The bytes, as hex, and what came of them."""
    said = {law.name: str(law.broken()) for law in laws(BROKEN["a check that is not compared"].driver)}
    assert said["codec.flip"].startswith(
        "codec.flip: given 21 43 39 53 2a 43 45 0a: it says Drawn(card='9S'), and was "
    )
