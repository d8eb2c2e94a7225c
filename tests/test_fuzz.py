"""The checks of the fuzzer: they pass for the present code, and they fail for broken code."""

from random import Random
from typing import Any, Final

import pytest

from shoed.session.families import Driver
from tests.broken_families import BROKEN
from tests.fuzz.families import Decoder, SessionTarget
from tests.fuzz.targets import TARGETS, Every, Target

FEW: Final = 200
MANY: Final = 4000
READ: Final = ("an exception for unknown bytes", "a rejection without a reason")
KEPT: Final = (
    *("a state without bounds", "a state that JSON changes", "a link that closes only once"),
    *(
        "an opening of the link that is not observed",
        "a waking without a reason",
        "a greeting of a host that only listens",
    ),
    "bytes that are not an order",
)


def tried(target: Target, more: int) -> None:
    """Return the seeds, and this number of variants with changed and appended bytes."""
    dice, seeds = Random(20), target.seeds()
    for seed in seeds:
        target(seed)
    for _ in range(more):
        changed = bytearray(dice.choice(seeds) + dice.randbytes(dice.randrange(60)))
        for _ in range(dice.randrange(4)):
            changed[dice.randrange(len(changed))] = dice.randrange(0x100)
        target(bytes(changed))


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_accepts_any_input(name: str) -> None:
    """Every law holds for the seeds and for inputs close to them."""
    tried(TARGETS[name], FEW)


def test_one_process_can_try_every_target() -> None:
    """Each target has its seeds among those of all targets."""
    every = Every()
    assert {seed[0] for seed in every.seeds()} == set(range(len(TARGETS)))
    for seed in every.seeds():
        every(seed)


@pytest.mark.parametrize("fault", READ)
def test_a_decoder_that_breaks_a_law_is_found(fault: str) -> None:
    """The raised error names the law."""
    driver: Driver[Any, Any] = BROKEN[fault].driver
    target = Decoder(driver, orders=False)
    with pytest.raises((AssertionError, KeyError)):
        tried(target, FEW)


@pytest.mark.parametrize("fault", KEPT)
def test_a_session_that_breaks_a_law_is_found(fault: str) -> None:
    """The defect is in its observations, its sends, its state, or its waking."""
    driver: Driver[Any, Any] = BROKEN[fault].driver
    target = SessionTarget(driver)
    with pytest.raises((AssertionError, ValueError)):
        tried(target, MANY)
