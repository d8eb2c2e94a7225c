"""The start of a table after a change of the engine: from a seed, in a time that does not depend on the record."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import pytest

from shoed import VERSION
from shoed.engine import ENGINE, EngineState
from shoed.journal import Store, Writer, restore, seeds
from shoed.journal.restore import Restored
from shoed.journal.rows import text
from shoed.model.step import Configured, LinkDown, LinkUp, Received
from shoed.session import SessionState
from shoed.table import TableSeed, public_state
from shoed.table.seed import DeviceSeed
from tests.angel_eye_line import CONFIGURED, PORT, Inputs, at, card_report
from tests.patience import PATIENCE_S
from tests.test_journal_replay import decoded, engine_for, old, record, rehearsed
from tests.test_seed import shoes

__all__ = ["old"]  # a fixture

LATER_MS: Final = 3_600_000


@pytest.fixture
def another_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No state on record is readable, and no record is short."""
    monkeypatch.setattr(restore, "READABLE", frozenset())
    monkeypatch.setattr(seeds, "SMALL", 0)


def restored(store: Store) -> Restored:
    with closing(store.read()) as reader:
        return restore.restore(reader, "t", engine_for("{}"), engine_for)


def forget(store: Store, table: str) -> None:
    """As a journal of an earlier version, which has no such values."""
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 -- of this file
        connection.commit()


def shown(state: EngineState[SessionState] | None) -> object:
    assert state is not None
    return public_state("commission", state.table)


async def goes_on(store: Store, found: Restored) -> None:
    """The next process records the seed. Its table continues the numbers, and the replay has no difference."""
    state, plant, engine = found.state, found.plant, engine_for("{}")
    assert state is not None
    assert plant is not None
    writer = Writer(store, ENGINE)
    incoming: Inputs = [
        (Configured("{}", ENGINE, VERSION, begun=text(plant)), at(LATER_MS)),
        (LinkUp(PORT), at(LATER_MS + 1)),
        *((Received(card_report(str(n), "P1", "8S")), at(LATER_MS + n * 1000)) for n in (1, 2)),
        (LinkDown("cut"), at(LATER_MS + 9000)),
    ]
    for each, now in incoming:
        state, step = engine.step(state, each, now)
        if step is not None:
            writer.submit("t", step, state, None)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    with closing(store.read()) as reader:
        sequences = [sequence for (sequence,) in reader.rows("SELECT sequence FROM event ORDER BY sequence")]
    assert sequences == list(range(1, len(sequences) + 1))
    assert rehearsed(store) == decoded(store) == []


@pytest.mark.usefixtures("another_engine")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("source", ["kept", "events"])
async def test_a_table_begins_at_the_last_shoe(tmp_path: Path, source: str, seed: int) -> None:
    """Its state is the one before the stop, within a round. Only the rows of the last shoe are folded."""
    store, before = await record(tmp_path, shoes(seed)[:-3])
    if source == "events":
        forget(store, "checkpoint")
    found = restored(store)
    assert shown(found.state) == shown(before)
    assert found.plant is not None
    assert found.plant.lost == ("" if source == "kept" else seeds.NO_LAST)
    with closing(store.read()) as reader:
        ((begin,),) = reader.rows("SELECT max(row) FROM event WHERE type = 'shoe.started'")
    assert found.plant.row == begin > 1
    assert any("not known" in each for each in found.problems)
    await goes_on(store, found)


@pytest.mark.usefixtures("another_engine")
async def test_a_long_shoe_begins_at_its_last_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers continue. The shoe is partial, because the counts of its faces are not known."""
    store, before = await record(tmp_path, shoes(1)[:78])
    monkeypatch.setattr(seeds, "MOST", 12)
    found = restored(store)
    assert found.plant is not None
    assert found.plant.lost == f"{seeds.NO_COUNTS}; {seeds.NO_LAST}"
    assert found.state is not None
    state, expected = found.state.table, before.table
    assert (state.sequence, state.shoe.number, state.record.number, state.phase) == (
        *(expected.sequence, expected.shoe.number, expected.record.number, expected.phase),
    )
    assert [each.face for each in state.record.cards] == [each.face for each in expected.record.cards]
    assert not state.shoe.whole
    assert found.state.watch.missed
    await goes_on(store, found)


@pytest.mark.usefixtures("another_engine")
async def test_a_record_without_events_in_its_last_rows_has_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next event continues the sequence, and the next shoe and round their numbers."""
    store, before = await record(tmp_path, shoes(1)[:-3])
    monkeypatch.setattr(seeds, "MOST", -1)
    found = restored(store)
    assert found.plant is not None
    assert found.plant.lost == f"{seeds.NO_COUNTS}; {seeds.NO_LAST}; {seeds.NO_ROUND}"
    assert found.state is not None
    assert (found.state.row, found.state.table.sequence) == (before.row, before.table.sequence)
    assert found.state.table.shoe.number == before.table.shoe.number
    assert found.state.table.record.number == before.table.record.number


def test_a_seed_of_events_states_that_the_sets_of_a_shuffler_are_not_known() -> None:
    """A table without a shuffler has no sets."""
    assert seeds.unknown(TableSeed(devices={"shoe": DeviceSeed()}), seeds.NO_LAST) == seeds.NO_LAST
    with_shuffler = TableSeed(devices={"shoe": DeviceSeed(), "shuffler": DeviceSeed()})
    assert seeds.unknown(with_shuffler, seeds.NO_LAST) == f"{seeds.NO_LAST}; {seeds.NO_SETS}"


@pytest.mark.usefixtures("another_engine")
async def test_a_journal_of_version_1_begins_with_a_seed(old: Path) -> None:
    """Its events have the numbers of the open round, and its rows the cards."""
    store = Store(old)
    found = restored(store)
    assert found.plant is not None
    assert found.state is not None
    state = public_state("commission", found.state.table)
    assert (state.sequence, state.phase.value, state.shoe, state.round) == ("11", "dealing", 1, 2)


async def test_a_short_record_is_folded_from_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost, and there is no seed."""
    monkeypatch.setattr(restore, "READABLE", frozenset())
    store, before = await record(tmp_path, shoes(1)[:200])
    found = restored(store)
    assert (found.state, found.plant) == (before, None)


@pytest.mark.usefixtures("another_engine")
async def test_an_altered_seed_is_not_used(tmp_path: Path) -> None:
    """A seed has a digest in its row, as the state has."""
    store, before = await record(tmp_path, shoes(1)[:-3])
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE checkpoint SET seed = replace(seed, '\"sequence\":', '\"sequence\":9')")
        connection.commit()
    found = restored(store)
    assert found.plant is not None
    assert found.plant.lost == seeds.NO_LAST  # from the events
    assert shown(found.state) == shown(before)


def events(store: Store, *written: tuple[str, str]) -> None:
    """Write events, each in its own row."""
    with closing(sqlite3.connect(store.path)) as connection:
        for number, (kind, data) in enumerate(written, 1):
            connection.execute("INSERT INTO event VALUES ('t', ?, ?, ?, 0, ?)", (number, number, kind, data))
        connection.commit()


START: Final = ("shoe.started", '{"shoe":%d,"shoe_integrity":"complete"}')
ASKED, ANSWERED = ("question.asked", '{"id":"7"}'), ("question.answered", '{"id":"7"}')
BY_BOB, BY_OTHERS = (("question.answered", f'{{"id":"7","bettor":"{each}"}}') for each in ("bob", "others"))
REVISED: Final = ("question.revised", '{"id":"7"}')


@pytest.mark.parametrize(
    ("written", "row"),
    [
        (((START[0], START[1] % 1), (START[0], START[1] % 2)), 2),
        (((START[0], START[1] % 1), ASKED, (START[0], START[1] % 2), ANSWERED), 1),
        (((START[0], START[1] % 1), ASKED, (START[0], START[1] % 2)), 1),
        (((START[0], START[1] % 1), ASKED, ANSWERED, (START[0], START[1] % 2)), 4),
        (((START[0], START[1] % 1), ASKED, REVISED, (START[0], START[1] % 2)), 1),
        (((START[0], START[1] % 1), ASKED, BY_BOB, (START[0], START[1] % 2)), 1),
        (((START[0], START[1] % 1), ASKED, BY_BOB, BY_OTHERS, (START[0], START[1] % 2)), 5),
    ],
)
def test_a_seed_is_where_no_question_was_open(tmp_path: Path, written: tuple[tuple[str, str], ...], row: int) -> None:
    """The question is known by the event that asks or closes it. One bettor does not close it for the others."""
    store = Store(tmp_path)
    events(store, *written)
    with closing(store.read()) as reader:
        plant = seeds.published_plant(reader, "t", len(written))
    assert (plant.row, plant.seed.table.sequence) == (row, row)
    assert plant.seed.table.questions == (7 if ASKED in written else 0)


def test_a_seed_goes_through_json(tmp_path: Path) -> None:
    """The first row of the next process has it as text."""
    store = Store(tmp_path)
    events(store, (START[0], START[1] % 3), ("device.online", '{"device":"shoe"}'))
    with closing(store.read()) as reader:
        plant = seeds.published_plant(reader, "t", 2)
    assert plant.seed.table.shoe == 3
    assert msgspec.json.decode(text(plant), type=type(plant)) == plant
    assert CONFIGURED.begun == ""
