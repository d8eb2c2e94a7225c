"""The recomputation of a journal: the same observations must produce the same events on any machine.

Two independent checks use only the record. `rehearse` folds the recorded observations and commands through watch and
table, and compares findings, events and answers. `decode_again` folds the recorded bytes through the whole engine, and
compares observations. Both use the recorded settings of each row. `rebuild` returns the state at the end of the record,
for a checkpoint that cannot be used.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import merge
from itertools import groupby, islice, takewhile
from operator import itemgetter
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed import VERSION
from shoed.engine import Engine, EngineState, Plant
from shoed.errors import JournalUnusable, RowAltered
from shoed.journal.reader import LAST_ROW, Reader
from shoed.journal.restore import EngineFor, configured_at, engine_at, require_valid
from shoed.journal.rows import StoredStep, text, unreadable
from shoed.model.commands import Answer
from shoed.model.device_events import DeviceEvent, EventData, LineMissed, LineRejected
from shoed.model.events import CardDrawn, CardSetAside
from shoed.model.moments import Now
from shoed.model.observations import AnsweredBy, AnyObservation, OrderAnswered
from shoed.model.step import AnyInput, Configured, QuietInput, Received, SessionAfterNoise
from shoed.session import SessionState
from shoed.table import TableState
from shoed.typed_json import decoder

DEVICES_SINCE: Final = 5  # the first engine whose device events name the device
COUNTED_SINCE: Final = 6  # the first engine whose `line/missed` counts the lost reports
REJECTIONS_SINCE: Final = 7  # the first engine whose `line/rejected` counts the bytes
MEASURED_SINCE: Final = 8  # the first engine whose cards contain the device's measurements

UNCONFIGURED: Final = Configured("", 0, "")  # before the first start on record

PART: Final = 1_024  # rows of one transaction
EVENTS: Final = (
    "SELECT row, sequence, type, utc_us, data FROM event WHERE table_name = ? AND sequence > ? ORDER BY sequence"
)

RecordedEvents = tuple[tuple[int, str, int, str], ...]  # sequence, type, time, data


class Recorded(msgspec.Struct, frozen=True):
    """One recorded Step."""

    now: Now
    input: AnyInput
    observations: tuple[AnyObservation, ...]
    findings: str
    answers: str
    after_noise: Mapping[str, SessionAfterNoise]
    quiet: tuple[QuietInput, ...] = ()


class Row(msgspec.Struct, frozen=True):
    """The record of one row number: a Step and its events. In a damaged record, one of the two may be missing."""

    number: int
    step: Recorded | None
    events: RecordedEvents


class Difference(msgspec.Struct, frozen=True):
    """A row whose recomputed value differs from the recorded value."""

    row: int
    what: str
    recorded: str
    recomputed: str


def rows(reader: Reader, table: str, last: int = 0, sequence: int = 0, until: int = LAST_ROW) -> Iterator[Row]:
    """The rows after a row and an event, in order. An empty row marks a gap in the row numbers.

    The rows are those of the first moment. A part of them is read in a short transaction of its own: a running daemon
    may write, and delete rows by its retention.
    """
    until = min(until, reader.end(table))
    while last < until:
        with reader.one_moment():
            reader.require_kept(table, last)
            steps = list(islice(reader.step(table, last + 1, until), PART))
            end = steps[-1].row if len(steps) == PART else until
            events = list(takewhile(lambda event: event[0] <= end, reader.rows(EVENTS, table, sequence)))  # noqa: B023 -- read here
        both = merge(((step.row, step) for step in steps), events, key=itemgetter(0))
        for number, parts in groupby(both, itemgetter(0)):
            if number > last + 1:
                yield Row(last + 1, None, ())
            of_row = list(parts)
            step = [part[1] for part in of_row if isinstance(part[1], StoredStep)]
            published = tuple(part[1:] for part in of_row if not isinstance(part[1], StoredStep))
            yield Row(number, recorded_step(table, step[0]) if step else None, published)
            last = number
        sequence = events[-1][1] if events else sequence
        last = end


def recorded_step(table: str, step: StoredStep) -> Recorded:
    try:
        return Recorded(
            now=step.now,
            input=with_bytes(decoder(AnyInput).decode(step.input), step.received),
            observations=decoder(tuple[AnyObservation, ...]).decode(step.observations),
            findings=step.findings,
            answers=step.answers,
            after_noise=decoder(dict[str, SessionAfterNoise]).decode(step.after_noise),
            quiet=step.quiet,
        )
    except msgspec.DecodeError as error:
        raise unreadable(table, step.row, error) from error


def with_bytes(incoming: AnyInput, data: bytes | None) -> AnyInput:
    """The input with its bytes, which the journal stores in another column."""
    return replace(incoming, data=data) if isinstance(incoming, Received) and data is not None else incoming


class Begin(msgspec.Struct, frozen=True):
    """Where a fold begins, and its last row: a state, and the engine of the settings that apply to it."""

    engine: Engine[SessionState]
    state: EngineState[SessionState]
    by: Configured = UNCONFIGURED  # the version that wrote the row
    until: int = LAST_ROW
    by_record: bool = False  # fold watch and table from the recorded observations


def beginning(reader: Reader, table: str, engine_for: EngineFor) -> Begin | None:
    """Where a check begins: at the first row, or after a cut at the first checkpoint that this engine can read."""
    if not reader.begin(table).row:
        return None
    for checkpoint in reversed(list(reader.checkpoints(table))):
        with suppress(ValueError, RowAltered):
            require_valid(reader, checkpoint)
            by = configured_at(reader, table, checkpoint.row)
            engine = engine_for(by.settings)
            return Begin(engine, engine.restore(checkpoint.state), by)
    raise JournalUnusable(
        f"{table}: the first rows were deleted, and this shoed cannot read a checkpoint of the others; use the version"
        " of shoed that wrote the journal"
    )


def under_settings(
    reader: Reader, table: str, engine_for: EngineFor, begin: Begin | None = None
) -> Iterator[tuple[Engine[SessionState], Row]]:
    """Every row after `begin`, with the engine for the settings that applied to it."""
    engine = begin.engine if begin else None
    place = (begin.state.row, begin.state.table.sequence, begin.until) if begin else ()
    for row in rows(reader, table, *place):
        if row.step is not None and isinstance(row.step.input, Configured):
            engine = engine_for(row.step.input.settings)
        if engine is None:
            raise JournalUnusable(f"{table}: row {row.number} has no settings before it; use a complete journal")
        yield engine, row


def rehearse(reader: Reader, table: str, engine_for: EngineFor) -> Iterator[Difference]:
    """Fold the recorded observations and commands; compare the results with the record."""
    begin = beginning(reader, table, engine_for)
    state, by = (begin.state, begin.by) if begin else (None, UNCONFIGURED)
    for engine, row in under_settings(reader, table, engine_for, begin):
        if row.step is None:
            yield Difference(row.number, "events", text(row.events), "no Step is on record")
            continue
        if isinstance(row.step.input, Configured):
            by = row.step.input
        state = begun(reader, table, engine_for, engine, row) or state or engine.begin()
        concluded = engine.conclude(state, row.step.input, row.step.observations, row.step.now, row.number)
        state = replace(
            state,
            row=row.number,
            watch=concluded.watch,
            table=with_recorded_sequence(concluded.table, row, state.table.sequence),
        )
        again = tuple(
            (event.sequence, event.type, event.utc_us, text(as_published(by.engine, event.data)))
            for event in concluded.events
        )
        for what, on_record, recomputed in (
            ("events", text(row.events), text(again)),
            ("findings", row.step.findings, text(concluded.findings)),
            ("answers", row.step.answers, text(concluded.answers)),
        ):
            if recomputed != on_record and not (what == "answers" and same_answers(by, on_record, concluded.answers)):
                yield Difference(row.number, what, on_record, recomputed)


def same_answers(by: Configured, recorded: str, again: Sequence[Answer]) -> bool:
    """Whether the answers are equal. Another version of shoed may give the reason of a refusal in other words."""
    try:
        before = decoder(tuple[Answer, ...]).decode(recorded)
    except msgspec.DecodeError:
        return False
    return by.version != VERSION and list(map(without_reason, before)) == list(map(without_reason, again))


def without_reason(answer: Answer) -> Answer:
    return answer if answer.accepted else replace(answer, detail="")


def as_published(version: int, data: EventData) -> object:
    """The event data with the keys of an engine version."""
    absent = {"device"} if version < DEVICES_SINCE and isinstance(data, DeviceEvent) else set[str]()
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
    begin = beginning(reader, table, engine_for)
    by = begin.by if begin else UNCONFIGURED
    for number, step, _, again in fold_bytes(reader, table, engine_for, begin):
        by = step.input if isinstance(step.input, Configured) else by
        if again != step.observations and not same_observations(by, step.observations, again):
            yield Difference(number, "observations", text(step.observations), text(again))


def same_observations(by: Configured, recorded: Sequence[AnyObservation], again: Sequence[AnyObservation]) -> bool:
    """As `same_answers`: the host's reason for an order that was not sent is the reason of a refusal."""
    return by.version != VERSION and list(map(without_refusal, recorded)) == list(map(without_refusal, again))


def without_refusal(seen: AnyObservation) -> AnyObservation:
    is_refusal = isinstance(seen, OrderAnswered) and seen.answered_by is AnsweredBy.HOST
    return replace(seen, detail="") if is_refusal else seen


def rebuild(
    reader: Reader, table: str, engine_for: EngineFor, begin: Begin | None = None
) -> EngineState[SessionState] | None:
    """The state at the end of the record."""
    state = begin.state if begin else None
    for _, _, state, _ in fold_bytes(reader, table, engine_for, begin):  # noqa: B007 -- the function returns the last state
        pass
    return state


def planted(engine: Engine[SessionState], plant: Plant, until: int = LAST_ROW) -> Begin:
    """The begin of a fold from a seed. Watch and table are folded from the recorded observations."""
    return Begin(engine, engine.begin_at(plant), until=until, by_record=True)


def begun(
    reader: Reader, table: str, engine_for: EngineFor, engine: Engine[SessionState], row: Row
) -> EngineState[SessionState] | None:
    """The state before a row whose process began with a seed."""
    if row.step is None or not isinstance(row.step.input, Configured) or not row.step.input.begun:
        return None
    plant = decoder(Plant).decode(row.step.input.begun)
    begin = planted(engine_at(reader, table, plant.row, engine_for, engine), plant, row.number - 1)
    return rebuild(reader, table, engine_for, begin)


def fold_bytes(
    reader: Reader, table: str, engine_for: EngineFor, begin: Begin | None = None
) -> Iterator[tuple[int, Recorded, EngineState[SessionState], tuple[AnyObservation, ...]]]:
    """Every row after `begin`, the state after it, and the observations of its bytes and of its input."""
    state, before, by_record = (begin.state, begin.engine, begin.by_record) if begin else (None, None, False)
    for engine, row in under_settings(reader, table, engine_for, begin):
        if row.step is None:
            continue
        state = begun(reader, table, engine_for, engine, row) or state or engine.begin()
        state, again = folded_quiet(before or engine, state, row.step)  # they arrived before new settings
        before = engine
        state = replace(engine.fitted(state), row=row.number - 1)  # new settings may have a device of another family
        after, step = engine.made(state, row.step.input, row.step.now)
        again += step.observations
        if row.step.after_noise or by_record:  # the bytes of this row are not recorded
            again = row.step.observations
            concluded = engine.conclude(state, row.step.input, again, row.step.now, row.number)
            after = replace(after, watch=concluded.watch, table=concluded.table)
            after = engine.resumed(after, row.step.after_noise)
        state = replace(after, table=with_recorded_sequence(after.table, row, state.table.sequence))
        yield row.number, row.step, state, again


def folded_quiet(
    engine: Engine[SessionState], state: EngineState[SessionState], step: Recorded
) -> tuple[EngineState[SessionState], tuple[AnyObservation, ...]]:
    """The state after the quiet inputs of a row, and the observations of those that would have made a Step."""
    again: tuple[AnyObservation, ...] = ()
    for each in step.quiet:
        state, made = engine.step(state, each.input, each.now)
        again += () if made is None else made.observations
    return state, again


def with_recorded_sequence(table: TableState, row: Row, before: int) -> TableState:
    """The table with the recorded last sequence number. Another engine may have published more or fewer events."""
    return replace(table, sequence=row.events[-1][0] if row.events else before)
