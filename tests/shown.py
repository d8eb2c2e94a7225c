"""Every question that the scenarios show, as people see it."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import msgspec

from shoed.table import PublicQuestion
from tests.scenario import Scenario, every
from tests.scenario_table import Sitting


class Shown(NamedTuple):
    written: Scenario
    question: PublicQuestion


@cache
def questions() -> tuple[Shown, ...]:
    """After each step of each scenario, the question that is open at its table."""
    return tuple(played())


def played() -> Iterator[Shown]:
    for written in every():
        sittings = {number: Sitting(written, number) for number in written.tables}
        for step in written.step:
            sitting = sittings[step.table]
            sitting.do(step)
            if sitting.question is not None:
                yield Shown(written, msgspec.convert(sitting.question, PublicQuestion))
