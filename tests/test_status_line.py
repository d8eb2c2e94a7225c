"""The status of the daemon in one line."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from shoed.bus.settings import BrokerSettings
from shoed.engine import ENGINE
from shoed.journal import Store, Writer
from shoed.model.step import LinkUp, Received
from shoed.ports.clock import now
from shoed.service.desk import Desk
from shoed.service.status_line import LONGEST, status_line
from tests.foreign_shoe import NATURAL, report
from tests.test_desk import TABLE


class Desks:
    """Tables on one journal, without a broker."""

    def __init__(self, place: Path) -> None:
        self.store = Store(place)
        self.writer = Writer(self.store, ENGINE)

    async def make(self, number: int, *bodies: str) -> Desk:
        """A table whose shoe has sent these reports; without a report, its shoe is offline."""
        table = replace(TABLE, name=f"bac-{number}")
        desk = Desk(table, "rws", BrokerSettings("127.0.0.1", 1), self.store, self.writer)
        desk.configure()
        if bodies:
            desk.take(LinkUp(table.shoe.port), now())
            desk.publisher.offline_reason, desk.publisher.acknowledged = None, desk.state.table.sequence
        for sequence, body in enumerate(bodies, start=1):
            desk.take(Received(report(str(sequence), body)), now())
        await self.writer.flush()
        return desk


@pytest.fixture
async def desks(tmp_path: Path) -> AsyncIterator[Desks]:
    desks = Desks(tmp_path)
    yield desks
    await desks.writer.close()


def waiting_of(*desks: Desk) -> int:
    return sum(desk.committed.sequence - desk.publisher.acknowledged for desk in desks)


async def test_the_status_names_the_round_and_the_person_that_a_table_waits_for(desks: Desks) -> None:
    """Tables that need a person are first."""
    well, waits = await desks.make(901, NATURAL[0]), await desks.make(902, *NATURAL[:2], NATURAL[3])
    assert status_line([well, waits]) == (
        "2 tables; bac-902: round 1 waits for an answer of a pit supervisor, shoe online;"
        f" bac-901: round 1, shoe online; broker online, {waiting_of(well, waits)} waiting"
    )


async def test_the_status_has_the_reason_of_a_failure(desks: Desks) -> None:
    """Of a table, of the broker, and of a reload that waits."""
    well, failed = await desks.make(901, *NATURAL), await desks.make(902)
    failed.ended = "table failed: KeyError: 7"
    assert status_line([well, failed], "reload: bac-901 waits for the shoe's result of round 1") == (
        "2 tables; bac-902: table failed: KeyError: 7; bac-901: between rounds, shoe online;"
        " reload: bac-901 waits for the shoe's result of round 1;"
        f" broker offline for 1 of 2 tables (not connected yet), {waiting_of(well)} waiting"
    )


async def test_the_status_of_many_tables_has_a_bounded_length(desks: Desks) -> None:
    """Further tables are counted."""
    many = [await desks.make(number, NATURAL[0]) for number in range(100, 160)]
    line = status_line([*many, await desks.make(160)], "reload: " + "x" * 999)
    assert LONGEST - 40 < len(line) <= LONGEST
    assert line.startswith("61 tables; bac-160: between rounds, shoe offline; bac-100: round 1, shoe online; bac-101")
    shown = line.count("bac-")
    assert f"; {61 - shown} more; reload: x" in line
    assert "; broker offline for 1 of 61 tables (not connected yet), " in line
