"""The record, folded again: the same observations give the same events, on any machine.

Two checks that share nothing but the record: `rehearse` folds the recorded observations through
watch and table and compares the events; `decode_again` folds the recorded bytes through the whole
engine and compares the observations. Both work under the settings that were in force, which are
on record too. `rebuild` gives the state at the end of the record, for a checkpoint of no use.
"""

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Final

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
STEP_COLUMNS: Final = 6  # of a step; an event has five

Told = tuple[tuple[int, str, int, str], ...]  # sequence, type, time, data


class Recorded(msgspec.Struct, frozen=True):
    """One Step as it is on record."""

    now: Now
    came: AnyInput
    observations: tuple[AnyObservation, ...]


class Row(msgspec.Struct, frozen=True):
    """What stands under one row number: a Step, what was told of it, or, where somebody took one away, half of it."""

    number: int
    step: Recorded | None
    told: Told


class Difference(msgspec.Struct, frozen=True):
    """A row that does not come out as it is on record."""

    row: int
    recorded: str
    again: str


def rows(reader: Reader, table: str) -> Iterator[Row]:
    """From the first to the last; where numbers are missing in between, the first of them is a row of nothing."""
    steps = reader.rows(
        "SELECT row, utc_us, mono_ns, input, bytes, observations FROM step WHERE table_name = ? ORDER BY row", table
    )
    events = reader.rows(
        "SELECT row, sequence, type, utc_us, data FROM event WHERE table_name = ? ORDER BY row, sequence", table
    )
    last = 0
    for number, parts in groupby(merge(steps, events, key=itemgetter(0)), itemgetter(0)):
        if number > last + 1:
            yield Row(last + 1, None, ())
        both = list(parts)
        step = [part[1:] for part in both if len(part) == STEP_COLUMNS]
        told = tuple(part[1:] for part in both if len(part) != STEP_COLUMNS)
        yield Row(number, recorded(*step[0]) if step else None, told)
        last = number


def recorded(utc_us: int, mono_ns: int, came: str, data: bytes | None, observations: str) -> Recorded:
    return Recorded(
        now=Now(utc_us, mono_ns),
        came=msgspec.json.decode(came, type=AnyInput) if data is None else Received(data),
        observations=msgspec.json.decode(observations, type=tuple[AnyObservation, ...]),
    )


def under_settings(reader: Reader, table: str, engine_for: EngineFor) -> Iterator[tuple[Engine[SessionState], Row]]:
    """Every row, with the engine that was in force."""
    engine: Engine[SessionState] | None = None
    for row in rows(reader, table):
        if row.step is not None and isinstance(row.step.came, Configured):
            engine = engine_for(row.step.came.settings)
        if engine is None:
            raise JournalUnusable(f"{table}: row {row.number} stands before any settings; the record is not whole")
        yield engine, row


def rehearse(reader: Reader, table: str, engine_for: EngineFor) -> Iterator[Difference]:
    """Fold the recorded observations; compare the events."""
    state: EngineState[SessionState] | None = None
    for engine, row in under_settings(reader, table, engine_for):
        if row.step is None:
            yield Difference(row.number, text(row.told), "no Step is on record")
            continue
        state = state or engine.begin()
        concluded = engine.conclude(state, row.step.observations, row.step.now, row.number)
        state = replace(state, row=row.number, watch=concluded.watch, table=concluded.table)
        again = tuple((event.sequence, event.type, event.utc_us, text(event.data)) for event in concluded.events)
        if again != row.told:
            yield Difference(row.number, text(row.told), text(again))


def decode_again(reader: Reader, table: str, engine_for: EngineFor) -> Iterator[Difference]:
    """Fold the recorded bytes; compare the observations."""
    for number, step, _, again in folded(reader, table, engine_for):
        if again != step.observations:
            yield Difference(number, text(step.observations), text(again))


def rebuild(reader: Reader, table: str, engine_for: EngineFor) -> EngineState[SessionState] | None:
    """The state at the end of the record."""
    state = None
    for _, _, state, _ in folded(reader, table, engine_for):  # noqa: B007 -- the last one is wanted
        pass
    return state


def folded(
    reader: Reader, table: str, engine_for: EngineFor
) -> Iterator[tuple[int, Recorded, EngineState[SessionState], tuple[AnyObservation, ...]]]:
    state: EngineState[SessionState] | None = None
    for engine, row in under_settings(reader, table, engine_for):
        if row.step is None:
            continue
        state = state or engine.begin()
        if not isinstance(state.session, engine.session.state_type):  # the table got a shoe of another family
            state = replace(state, session=engine.session.begin())
        state, step = engine.step(replace(state, row=row.number - 1), row.step.came, row.step.now)
        yield row.number, row.step, state, () if step is None else step.observations
