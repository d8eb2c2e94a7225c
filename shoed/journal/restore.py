"""The start of a table: the state of the newest valid checkpoint, with the rows after it.

Theory of operation: a checkpoint is valid if its row has the hash of its content and the digest of the checkpoint, and
if this engine can read it. Otherwise the previous one is tried. Without a valid checkpoint, the state is made from a
seed (`seeds.py`), or from the whole record if it is short. The rows after the checkpoint or the seed are verified and
folded; after a clean stop there are none. Play never continues from a value that differs from its hash, nor in a file
that has anything after the last row or the last event: a later commit would fail, or an event would not be published.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from shoed.engine import ENGINE, READABLE, Engine, EngineState, Plant
from shoed.errors import JournalUnusable, RowAltered
from shoed.journal.losses import Losses, LossKind
from shoed.journal.reader import LAST_ROW, Reader
from shoed.journal.rows import Checkpoint
from shoed.journal.verify import Verification, altered, digest_on_record, require_rows
from shoed.model.step import Configured
from shoed.session import SessionState
from shoed.typed_json import decoder

ENDS: Final = (
    ("the signed head of row", "SELECT max(row) FROM head WHERE table_name = ?", "row"),
    ("the incarnation after row", "SELECT max(row) FROM incarnation_table WHERE table_name = ?", "row"),
    ("the incarnation after event", "SELECT max(sequence) FROM incarnation_table WHERE table_name = ?", "event"),
    ("the cursor at event", "SELECT max(sequence) FROM cursor WHERE table_name = ?", "event"),
)

EngineFor = Callable[[str], Engine[SessionState]]  # the argument: the recorded settings, as JSON


class Restored(msgspec.Struct, frozen=True):
    state: EngineState[SessionState] | None  # None: the table has no record
    problems: tuple[str, ...] = ()  # the checkpoints that were not used, with the reasons
    plant: Plant | None = None  # the seed from which the state was made


def restore(reader: Reader, table: str, engine: Engine[SessionState], engine_for: EngineFor) -> Restored:
    """The state after the last row, for an engine. Raise RowAltered if a row that is needed differs from its hash."""
    require_sealed(reader, table)
    restored = at_the_end(reader, table, engine, engine_for)
    state = restored.state
    require_end(reader, table, *((state.row, state.table.sequence) if state else (0, 0)))
    return restored


def require_sealed(reader: Reader, table: str) -> None:
    """Raise RowAltered if a row of an earlier version is after the sealed rows: it has no hash, and would be folded."""
    sealed = max((each.row for each in reader.anchors(table)), default=0)
    query = "SELECT max(row) FROM step_4 WHERE table_name = ?"
    for (row,) in reader.rows(query, table) if reader.is_chained else ():
        if row is not None and row > sealed:
            raise altered(table, f"row {row} of the sealed rows is after the seal")


def require_end(reader: Reader, table: str, row: int, sequence: int) -> None:
    """Raise RowAltered unless the file ends with this row and this event."""
    if not reader.is_chained:
        return
    last = max(reader.last_sequence(table), reader.begin(table).sequence)
    if last < sequence and not Losses(reader, table).has(LossKind.EVENTS, last + 1, sequence):
        raise altered(table, f"event {last + 1} is missing")
    if last > sequence:
        raise altered(table, f"event {last} is after the last event, {sequence}")
    for what, query, unit in ENDS:
        end = row if unit == "row" else sequence
        for (found,) in reader.rows(query, table):
            if found is not None and found > end:
                raise altered(table, f"{what} {found} is after the last {unit}, {end}")


def at_the_end(reader: Reader, table: str, engine: Engine[SessionState], engine_for: EngineFor) -> Restored:
    """The state after the last row."""
    problems: list[str] = []
    last = reader.last_row(table)
    for checkpoint in readable(reader, table, problems):
        try:
            require_valid(reader, checkpoint)
            if checkpoint.row == last:
                with suppress(msgspec.ValidationError):  # the state of another device family
                    return Restored(engine.restore(checkpoint.state), tuple(problems))
            before = engine_at(reader, table, checkpoint.row, engine_for, engine)
            state = before.restore(checkpoint.state)
        except (ValueError, RowAltered) as error:
            problems.append(f"the checkpoint of row {checkpoint.row} is not used: {error}")
            continue
        from shoed.journal.replay import Begin, rebuild  # noqa: PLC0415 -- start-up time: not after a clean stop

        require_rows(reader, table, checkpoint.row + 1, LAST_ROW)
        return Restored(rebuild(reader, table, engine_for, Begin(before, state)), tuple(problems))
    if not last:
        return Restored(None)
    from shoed.journal.replay import planted, rebuild  # noqa: PLC0415 -- as above
    from shoed.journal.seeds import plant_of  # noqa: PLC0415 -- as above

    plant = plant_of(reader, table, last)
    if plant is not None:
        require_rows(reader, table, max(1, plant.row), LAST_ROW)
        problems.append(f"the state begins with the seed of row {plant.row}; not known: {plant.lost or 'nothing'}")
        begin = planted(engine_at(reader, table, plant.row, engine_for, engine), plant)
        return Restored(rebuild(reader, table, engine_for, begin), tuple(problems), plant)
    for finding in Verification(reader, table).row_findings():
        raise altered(table, finding.place)
    return Restored(rebuild(reader, table, engine_for), tuple(problems))


def readable(reader: Reader, table: str, problems: list[str]) -> Iterator[Checkpoint]:
    """The checkpoints up to one that this engine or SQLite cannot read."""
    try:
        for checkpoint in reader.checkpoints(table):
            if checkpoint.engine not in READABLE:  # the earlier ones are of this engine or of earlier engines
                problems.append(of_another_engine(checkpoint))
                return
            yield checkpoint
    except JournalUnusable as error:
        problems.append(f"the checkpoints of the table cannot be read: {error}")


def of_another_engine(checkpoint: Checkpoint) -> str:
    return f"engine {checkpoint.engine} wrote the checkpoint, and this shoed has engine {ENGINE}"


def require_valid(reader: Reader, checkpoint: Checkpoint) -> None:
    """Raise a ValueError or a RowAltered unless the checkpoint may be used."""
    if checkpoint.engine not in READABLE:
        raise ValueError(of_another_engine(checkpoint))
    if reader.is_chained and digest_on_record(reader, checkpoint) != checkpoint.digest:
        raise ValueError("it differs from the digest in its row")
    require_rows(reader, checkpoint.table, checkpoint.row, checkpoint.row)


def configured_at(reader: Reader, table: str, row: int) -> Configured:
    """The settings that applied to the row."""
    for step in reader.configured(table, row):
        require_rows(reader, table, step.row, step.row)
        return decoder(Configured).decode(step.input)
    raise JournalUnusable(f"{table}: row {row} has no settings before it; use a complete journal")


def engine_at(
    reader: Reader, table: str, row: int, engine_for: EngineFor, present: Engine[SessionState]
) -> Engine[SessionState]:
    """The engine of the settings that applied to the row; the present engine if the record begins after them."""
    try:
        configured = configured_at(reader, table, row)
    except JournalUnusable:
        return present
    return engine_for(configured.settings)
