"""The state of a table from a seed: a start after a change of the engine, if no checkpoint is readable.

Theory of operation: a kept checkpoint has a seed, which every later engine reads. A journal of schemas 1 to 4 has none:
its seed is made from the published events, at the last start of a shoe or before the last round, where no question was
open. From there the recorded bytes are folded by the sessions, and the recorded observations by watch and table. The
time depends on the rows after the seed, not on the length of the record. A seed that has less than the state is stated
in `lost`. The first row of the new process has the seed, so that a replay begins at the same place.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.engine import Plant, Seed
from shoed.errors import JournalUnusable
from shoed.journal.reader import LAST_ROW, Reader
from shoed.journal.verify import digest_on_record
from shoed.model.moments import Now
from shoed.model.observations import Device
from shoed.table import TableSeed
from shoed.table.asking import OTHERS
from shoed.table.seed import DeviceSeed
from shoed.table.state import LinkStatus
from shoed.typed_json import decoder
from shoed.watch import Counts

SMALL: Final = 2_000  # rows: a record of this size is folded from its beginning
MOST: Final = 50_000  # rows after a seed: folded within some seconds
LOOK: Final = 20_000  # events: a question is older than these very rarely
NO_COUNTS: Final = "the counts of the faces of the shoe are not known, and the shoe is partial"
NO_LAST: Final = "the last result is not known"
NO_SETS: Final = "the sets that the shuffler delivered earlier are not known"
OPEN: Final = "questions that were open are closed without an answer: {}"
NO_ROUND: Final = "an open round or question is not known"

AFTERWARDS: Final = ("question.answered", "question.lapsed", "question.revised")


class SeedEvent(msgspec.Struct, frozen=True):
    """An event of the record."""

    sequence: int
    row: int
    type: str
    data: str


class SeedFields(msgspec.Struct, frozen=True):
    """The fields of events that a seed needs."""

    id: str | None = None
    bettor: str | None = None
    shoe: int | None = None
    round: int | None = None
    shoe_integrity: str = "partial"


def plant_of(reader: Reader, table: str, last: int) -> Plant | None:
    """The best seed of a record; None: the record is small and is folded from its beginning."""
    if last <= SMALL and (not reader.is_chained or not reader.begin(table).row):
        return None
    with suppress(JournalUnusable):  # damaged pages: the events are another source
        for checkpoint in reader.checkpoints(table):
            if last - checkpoint.row > MOST:
                break
            if checkpoint.seed and checkpoint.kept and digest_on_record(reader, checkpoint) == checkpoint.digest:
                seed = decoder(Seed).decode(checkpoint.seed)
                return Plant(checkpoint.row, now_of(reader, table, checkpoint.row), seed)
    return published_plant(reader, table, last)


def published_plant(reader: Reader, table: str, last: int) -> Plant:
    """A seed from the events: at the last start of a shoe without an open question, or before the last round."""
    found: Plant | None = None
    known = set[str]()  # questions that were closed or revised later
    closed = set[str]()  # of these, the questions that were asked before the present event
    row = LAST_ROW  # of the event after the present one
    for event in newest(reader, table, LAST_ROW):
        fields = decoder(SeedFields).decode(event.data)
        if last - event.row > MOST:
            break
        if event.type == "shoe.started" and row > event.row and not closed | asked_before(reader, table, event, known):
            seed = table_seed(reader, table, event.sequence, fields.shoe or 0, 0)
            return Plant(event.row, now_of(reader, table, event.row), whole_seed(seed, fields), unknown(seed, NO_LAST))
        if event.type == "round.started" and found is None and event.row > 1:
            found = before_round(reader, table, event, fields, closed | asked_before(reader, table, event, known))
        if fields.id is not None and event.type == "question.asked":
            closed.discard(fields.id)
            known.add(fields.id)
        elif fields.id is not None and event.type in AFTERWARDS:
            closed.add(fields.id)
            known.add(fields.id)
        row = event.row
    return found or at_the_end(reader, table, last)


def asked_before(reader: Reader, table: str, event: SeedEvent, known: set[str]) -> set[str]:
    """The questions that were asked before the event, and that no event closes."""
    asked, closed = set[str](), set(known)
    for each in islice(newest(reader, table, event.sequence - 1), LOOK):
        if each.type == "question.asked" or each.type in AFTERWARDS:
            fields = decoder(SeedFields).decode(each.data)
            if fields.id is not None and each.type == "question.asked" and fields.id not in closed:
                asked.add(fields.id)
            elif fields.id is not None and closes(each.type, fields.bettor):
                closed.add(fields.id)
    return asked


def closes(kind: str, bettor: str | None) -> bool:
    """Whether this event ends a question. The answer of one bettor leaves the question open for the others."""
    return kind == "question.lapsed" or (kind == "question.answered" and bettor in (None, OTHERS))


def whole_seed(seed: TableSeed, fields: SeedFields) -> Seed:
    whole = fields.shoe_integrity == "complete"
    return Seed(replace(seed, whole=whole), Counts(whole=whole))


def before_round(reader: Reader, table: str, event: SeedEvent, fields: SeedFields, was_open: set[str]) -> Plant:
    """The state before the row that began a round."""
    row = event.row - 1
    ((sequence,),) = reader.rows(
        "SELECT coalesce(max(sequence), 0) FROM event WHERE table_name = ? AND sequence < ? AND row < ?",
        *(table, event.sequence, event.row),
    )
    seed = table_seed(reader, table, int(sequence), fields.shoe or 0, max(0, (fields.round or 0) - 1))
    asked = (OPEN.format(", ".join(sorted(was_open))),) if was_open else ()
    lost = unknown(seed, NO_COUNTS, NO_LAST, *asked)
    return Plant(row, now_of(reader, table, row), Seed(seed, missed=True), lost)


def at_the_end(reader: Reader, table: str, last: int) -> Plant:
    """No round began in the last rows: only the numbers are known."""
    numbers = SeedFields()
    for event in newest(reader, table, LAST_ROW):
        numbers = decoder(SeedFields).decode(event.data)
        if numbers.shoe is not None:
            break
    seed = table_seed(reader, table, reader.last_sequence(table), numbers.shoe or 0, numbers.round or 0)
    lost = unknown(seed, NO_COUNTS, NO_LAST, NO_ROUND)
    return Plant(last, now_of(reader, table, last), Seed(seed, missed=True), lost)


def unknown(seed: TableSeed, *facts: str) -> str:
    """What a seed of events does not have."""
    return "; ".join([*facts, *([NO_SETS] if Device.SHUFFLER.value in seed.devices else [])])


def table_seed(reader: Reader, table: str, sequence: int, shoe: int, number: int) -> TableSeed:
    ((questions,),) = reader.rows(
        "SELECT coalesce(max(CAST(json_extract(data, '$.id') AS INTEGER)), 0) FROM event"
        " WHERE table_name = ? AND type = 'question.asked'",
        table,
    )
    links = {device.value: link_at(reader, table, sequence, device) for device in Device}
    return TableSeed(
        sequence=sequence,
        questions=int(questions),
        shoe=shoe,
        round=number,
        devices={device: link for device, link in links.items() if link is not None},
    )


def link_at(reader: Reader, table: str, sequence: int, device: Device) -> DeviceSeed | None:
    """The last published state of a link; None without one."""
    query = (
        "SELECT type, coalesce(json_extract(data, '$.reason'), '') FROM event WHERE table_name = ? AND sequence <= ?"
        " AND type IN ('device.online', 'device.offline') AND coalesce(json_extract(data, '$.device'), 'shoe') = ?"
        " ORDER BY sequence DESC LIMIT 1"
    )
    for kind, reason in reader.rows(query, table, sequence, device.value):
        return DeviceSeed(LinkStatus.ONLINE if kind == "device.online" else LinkStatus.OFFLINE, reason)
    return None


def newest(reader: Reader, table: str, most: int) -> Iterator[SeedEvent]:
    """The events up to a sequence number, the newest first."""
    query = "SELECT sequence, row, type, data FROM event WHERE table_name = ? AND sequence <= ? ORDER BY sequence DESC"
    for sequence, row, kind, data in reader.rows(query, table, most):
        yield SeedEvent(sequence, row, kind, data)


def now_of(reader: Reader, table: str, row: int) -> Now:
    return next((step.now for step in reader.step(table, row, row)), Now(0, 0))
