"""What the fuzzer is told to look for: it holds for what is there, and is found where it does not."""

from random import Random
from typing import Any, Final

import pytest

from shoed.session.families import Driver
from tests.broken_families import BROKEN
from tests.fuzz.families import Decoder, SessionTarget
from tests.fuzz.targets import TARGETS, Every, Target

FEW: Final = 200
MANY: Final = 4000
READ: Final = ("an exception for what is not known", "no reason for what is rejected")
KEPT: Final = (
    *("a state without bounds", "a state that JSON changes", "a link that closes once only"),
    *("a link that opens unsaid", "a waking for nothing", "a greeting where nothing may be sent"),
    "an order that is none",
)


def tried(target: Target, more: int) -> None:
    """The seeds, and so many of them with something changed and something behind it."""
    dice, seeds = Random(20), target.seeds()
    for seed in seeds:
        target(seed)
    for _ in range(more):
        changed = bytearray(dice.choice(seeds) + dice.randbytes(dice.randrange(60)))
        for _ in range(dice.randrange(4)):
            changed[dice.randrange(len(changed))] = dice.randrange(0x100)
        target(bytes(changed))


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_whatever_comes(name: str) -> None:
    """Every law holds for the seeds and for what is near them."""
    tried(TARGETS[name], FEW)


def test_one_process_can_try_every_target() -> None:
    """Each has its seeds among those of all of them."""
    every = Every()
    assert {seed[0] for seed in every.seeds()} == set(range(len(TARGETS)))
    for seed in every.seeds():
        every(seed)


@pytest.mark.parametrize("fault", READ)
def test_a_decoder_that_breaks_a_law_is_found(fault: str) -> None:
    """Whatever is raised names it."""
    driver: Driver[Any, Any] = BROKEN[fault].driver
    target = Decoder(driver, orders=False)
    with pytest.raises((AssertionError, KeyError)):
        tried(target, FEW)


@pytest.mark.parametrize("fault", KEPT)
def test_a_session_that_breaks_a_law_is_found(fault: str) -> None:
    """In what it says, sends, keeps, or is woken for."""
    driver: Driver[Any, Any] = BROKEN[fault].driver
    target = SessionTarget(driver)
    with pytest.raises((AssertionError, ValueError)):
        tried(target, MANY)
