"""The record, folded again: the same observations give the same events, on any machine.

Two checks that share nothing but the record: `rehearse` folds the recorded observations and commands
through watch and table and compares findings, events and answers; `decode_again` folds the recorded
bytes through the whole engine and compares the observations. Both work under the settings that were
in force, which are on record too. `rebuild` gives the state at the end of the record, for a
checkpoint of no use.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from shoed.device_events import EventData, LineMissed, LineRejected, OfDevice
from shoed.engine import Engine, EngineState
from shoed.errors import JournalUnusable
from shoed.events import CardDrawn, CardSetAside
from shoed.journal.store import Reader, unpacked
from shoed.journal.writer import text
from shoed.now import Now
from shoed.observations import AnyObservation
from shoed.session import SessionState
from shoed.step import AnyInput, Configured, Left, Received
from shoed.table import TableState

EngineFor = Callable[[str], Engine[SessionState]]  # the settings that were in force, as JSON
STEP_COLUMNS: Final = 10  # of a step; an event has five
DEVICES_SINCE: Final = 5  # the first engine whose events say which device told them
COUNTED_SINCE: Final = 6  # the first engine whose `line/missed` says how many reports are lost
REJECTIONS_SINCE: Final = 7  # the first engine whose `line/rejected` says how many bytes
MEASURED_SINCE: Final = 8  # the first engine whose cards have what the device measured

Events = tuple[tuple[int, str, int, str], ...]  # sequence, type, time, data


class Recorded(msgspec.Struct, frozen=True):
    """One Step as it is on record."""

    now: Now
    came: AnyInput
    observations: tuple[AnyObservation, ...]
    findings: str
    answers: str
    left: Mapping[str, Left]


class Row(msgspec.Struct, frozen=True):
    """What stands under one row number: a Step, its events, or, where somebody took one away, half of it."""

    number: int
    step: Recorded | None
    events: Events


class Difference(msgspec.Struct, frozen=True):
    """A row that does not come out as it is on record."""

    row: int
    what: str
    recorded: str
    again: str


def rows(reader: Reader, table: str) -> Iterator[Row]:
    """From the first to the last; where numbers are missing in between, the first of them is a row of nothing."""
    steps = reader.rows(
        "SELECT row, utc_us, mono_ns, input, bytes, observations, findings,"  # noqa: S608 -- ours
        f" {reader.answers}, {reader.packed} FROM step WHERE table_name = ? ORDER BY row",
        table,
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
        yield Row(number, recorded(table, number, step[0]) if step else None, told)
        last = number


def recorded(table: str, number: int, columns: tuple[Any, ...]) -> Recorded:
    utc_us, mono_ns, came, data, observations, findings, answers, packed, left = columns
    try:
        return Recorded(
            now=Now(utc_us, mono_ns),
            came=whole(msgspec.json.decode(came, type=AnyInput), unpacked(data, packed)),
            observations=msgspec.json.decode(observations, type=tuple[AnyObservation, ...]),
            findings=findings,
            answers=answers,
            left=msgspec.json.decode(left, type=dict[str, Left]),
        )
    except (msgspec.DecodeError, zlib.error) as error:
        raise JournalUnusable(f"{table}: row {number} cannot be read: {error}; this shoed did not write it") from error


def whole(came: AnyInput, data: bytes | None) -> AnyInput:
    """With its bytes, which stand in a column of their own."""
    return replace(came, data=data) if isinstance(came, Received) and data is not None else came


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
    """Fold the recorded observations and commands; compare what follows from them."""
    state: EngineState[SessionState] | None = None
    version = 0  # of the engine that made the row
    for engine, row in under_settings(reader, table, engine_for):
        if row.step is None:
            yield Difference(row.number, "events", text(row.events), "no Step is on record")
            continue
        if isinstance(row.step.came, Configured):
            version = row.step.came.engine
        state = state or engine.begin()
        concluded = engine.conclude(state, row.step.came, row.step.observations, row.step.now, row.number)
        state = replace(state, row=row.number, watch=concluded.watch, table=counted(concluded.table, row))
        again = tuple(
            (event.sequence, event.type, event.utc_us, text(as_told(version, event.data))) for event in concluded.events
        )
        for what, on_record, anew in (
            ("events", text(row.events), text(again)),
            ("findings", row.step.findings, text(concluded.findings)),
            ("answers", row.step.answers, text(concluded.answers)),
        ):
            if anew != on_record:
                yield Difference(row.number, what, on_record, anew)


def as_told(version: int, data: EventData) -> object:
    """The event as this engine told it."""
    absent = {"device"} if version < DEVICES_SINCE and isinstance(data, OfDevice) else set[str]()
    if version < COUNTED_SINCE and isinstance(data, LineMissed) and data.at_least is None:
        absent.add("at_least")
    if version < REJECTIONS_SINCE and isinstance(data, LineRejected):
        absent |= {"size", "unkept"}
    if version < MEASURED_SINCE and isinstance(data, CardDrawn | CardSetAside):
        absent.add("measured")
    if not absent:
        return data
    return {key: value for key, value in msgspec.to_builtins(data).items() if key not in absent}


def decode_again(reader: Reader, table: str, engine_for: EngineFor) -> Iterator[Difference]:
    """Fold the recorded bytes; compare the observations."""
    for number, step, _, again in folded(reader, table, engine_for):
        if again != step.observations:
            yield Difference(number, "observations", text(step.observations), text(again))


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
        state = engine.suited(state or engine.begin())  # the table may have got a device of another family
        before = replace(state, row=row.number - 1)
        state, step = engine.step(before, row.step.came, row.step.now)
        again = () if step is None else step.observations
        if row.step.left:  # nobody can decode what is not kept
            again = row.step.observations
            concluded = engine.conclude(before, row.step.came, again, row.step.now, row.number)
            state = replace(state, row=row.number, watch=concluded.watch, table=concluded.table)
            state = engine.resumed(state, row.step.left)
        state = replace(state, table=counted(state.table, row))
        yield row.number, row.step, state, again


def counted(table: TableState, row: Row) -> TableState:
    """An engine of another version may tell more or less of a row: the numbers go on behind what was told."""
    return replace(table, sequence=row.events[-1][0]) if row.events else table
