"""The record, folded again: the same observations give the same events, on any machine.

Two checks that share nothing but the record: `rehearse` folds the recorded observations through
watch and table and compares the events; `decode_again` folds the recorded bytes through the whole
engine and compares the observations. Both work under the settings that were in force, which are
on record too. `rebuild` gives the state at the end of the record, for a checkpoint of no use.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from shoed.engine import Engine, EngineState
from shoed.errors import JournalUnusable
from shoed.journal.store import Reader
from shoed.journal.writer import text
from shoed.now import Now
from shoed.observations import AnyObservation
from shoed.session import SessionState
from shoed.step import AnyInput, Configured, Received

EngineFor = Callable[[str], Engine[SessionState]]  # the settings that were in force, as JSON
Told = tuple[tuple[int, str, int, str], ...]  # sequence, type, time, data


class Recorded(msgspec.Struct, frozen=True):
    """One row of the record."""

    row: int
    now: Now
    came: AnyInput
    observations: tuple[AnyObservation, ...]
    told: Told


class Difference(msgspec.Struct, frozen=True):
    """A row that does not come out as it is on record."""

    row: int
    recorded: str
    again: str


def recorded(reader: Reader, table: str) -> Iterator[Recorded]:
    steps = reader.rows(
        "SELECT row, utc_us, mono_ns, input, bytes, observations FROM step WHERE table_name = ? ORDER BY row", table
    )
    events = reader.rows(
        "SELECT row, sequence, type, utc_us, data FROM event WHERE table_name = ? ORDER BY sequence", table
    )
    told = ((row, tuple(each[1:] for each in group)) for row, group in groupby(events, itemgetter(0)))
    upcoming = next(told, None)
    for row, utc_us, mono_ns, came, data, observations in steps:
        here: Told = ()
        if upcoming is not None and upcoming[0] == row:
            here, upcoming = upcoming[1], next(told, None)
        yield Recorded(
            row=row,
            now=Now(utc_us, mono_ns),
            came=msgspec.json.decode(came, type=AnyInput) if data is None else Received(data),
            observations=msgspec.json.decode(observations, type=tuple[AnyObservation, ...]),
            told=here,
        )


def under_settings(
    reader: Reader, table: str, engine_for: EngineFor
) -> Iterator[tuple[Engine[SessionState], Recorded]]:
    """Every row, with the engine that was in force."""
    engine: Engine[SessionState] | None = None
    for row in recorded(reader, table):
        if isinstance(row.came, Configured):
            engine = engine_for(row.came.settings)
        if engine is None:
            raise JournalUnusable(f"{table}: row {row.row} stands before any settings; the record is not whole")
        yield engine, row


def rehearse(reader: Reader, table: str, engine_for: EngineFor) -> Iterator[Difference]:
    state: EngineState[SessionState] | None = None
    for engine, row in under_settings(reader, table, engine_for):
        state = state or engine.begin()
        concluded = engine.conclude(state, row.observations, row.now, row.row)
        state = replace(state, row=row.row, watch=concluded.watch, table=concluded.table)
        again = tuple((event.sequence, event.type, event.utc_us, text(event.data)) for event in concluded.events)
        if again != row.told:
            yield Difference(row.row, text(row.told), text(again))


def decode_again(reader: Reader, table: str, engine_for: EngineFor) -> Iterator[Difference]:
    for _, row, again in folded(reader, table, engine_for):
        if again != row.observations:
            yield Difference(row.row, text(row.observations), text(again))


def rebuild(reader: Reader, table: str, engine_for: EngineFor) -> EngineState[SessionState] | None:
    state = None
    for state, _, _ in folded(reader, table, engine_for):  # noqa: B007 -- the last one is wanted
        pass
    return state


def folded(
    reader: Reader, table: str, engine_for: EngineFor
) -> Iterator[tuple[EngineState[SessionState], Recorded, tuple[AnyObservation, ...]]]:
    state: EngineState[SessionState] | None = None
    for engine, row in under_settings(reader, table, engine_for):
        state = state or engine.begin()
        if not isinstance(state.session, engine.session.state_type):  # the table got a shoe of another family
            state = replace(state, session=engine.session.begin())
        # A Step that nobody waited for may be lost with the power; its row number was used again.
        state, step = engine.step(replace(state, row=row.row - 1), row.came, row.now)
        yield state, row, () if step is None else step.observations
