"""Each question that the scenarios ask, as the display shows it."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import msgspec

from shoed.table import PublicQuestion
from tests.scenario import Scenario, every
from tests.scenario_table import ScenarioTable


class Shown(NamedTuple):
    written: Scenario
    question: PublicQuestion


@cache
def questions() -> tuple[Shown, ...]:
    """The open question of the table after each step of each scenario."""
    return tuple(played())


def played() -> Iterator[Shown]:
    for written in every():
        sittings = {number: ScenarioTable(written, number) for number in written.tables}
        for step in written.step:
            sitting = sittings[step.table]
            sitting.do(step)
            if sitting.question is not None:
                yield Shown(written, msgspec.convert(sitting.question, PublicQuestion))
