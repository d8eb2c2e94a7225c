"""Reading of events in chunks, for a reader that never disturbs the writer.

Theory of operation: every query is one short read transaction over at most CHUNK events of one table; its rows are
fetched before the next query. No transaction stays open while a caller works or waits, so the WAL does not grow because
of a reader, and memory is bounded. Events are only appended: a read up to a fixed sequence is of one moment. The
sequence numbers have no gap: events that a read does not find are noted at the reader.

Rounds are found without an index. The numbers of `shoe.started` and `round.started` increase with the sequence, and so
do the rows: a search by halves needs about 25 looks in ten million events.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from shoed.journal.reader import MissingEvents, Reader
from shoed.typed_json import decoder

CHUNK: Final = 4096
LAST: Final = 2**63 - 1  # of SQLite

NEXT_KEY: Final = (  # after the last event of a table, if it has the next number, and does not begin its own table
    "SELECT 1 FROM (SELECT table_name AS name, sequence FROM event WHERE (table_name, sequence) > (?1, ?2)"
    " ORDER BY table_name, sequence LIMIT 1) WHERE sequence = ?2 + 1"
    " AND sequence > 1 + coalesce((SELECT max(sequence) FROM anchor WHERE table_name = name AND reason = 'cut'), 0)"
)

Data = dict[str, Any]  # of an event, as JSON has it: journals of earlier versions may lack keys

decode: Final = decoder(Data).decode


class EventRow(msgspec.Struct, frozen=True, dict=True):
    """One recorded event, with its row."""

    sequence: int
    row: int
    type: str
    utc_us: int
    text: str  # the data, as JSON

    @cached_property
    def data(self) -> Data:
        return decode(self.text)


class Extent(NamedTuple):
    """A part of the events of a table, from the first to the last sequence."""

    first: int
    last: int


class Start(NamedTuple):
    """The start of a round; of a shoe, with the round 0."""

    shoe: int
    round: int
    sequence: int

    @property
    def name(self) -> str:
        return f"{self.shoe}.{self.round}"


class EventFilter(NamedTuple):
    """A condition of SQL for an event, with its values."""

    sql: str = "TRUE"
    values: tuple[object, ...] = ()

    def __and__(self, other: "EventFilter") -> "EventFilter":
        return EventFilter(f"({self.sql}) AND ({other.sql})", (*self.values, *other.values))

    def __or__(self, other: "EventFilter") -> "EventFilter":
        return EventFilter(f"({self.sql}) OR ({other.sql})", (*self.values, *other.values))


ALL: Final = EventFilter()


def whole(reader: Reader, table: str) -> Extent:
    """All events at this moment. An empty span has its last sequence before the first one."""
    span = Extent(reader.first_sequence(table), reader.last_sequence(table))
    if reader.is_chained and span.first > (due := reader.begin(table).sequence + 1):
        note_missing(reader, table, Extent(due, span.first - 1), 0)
    if reader.is_chained and list(reader.rows(NEXT_KEY, table, span.last)):
        note_missing(reader, table, Extent(span.last + 1, span.last + 1), 0)
    return span


def events(reader: Reader, table: str, span: Extent, which: EventFilter = ALL) -> Iterator[EventRow]:
    """The events of the span in order."""
    query = (
        "SELECT sequence, row, type, utc_us, data FROM event"  # noqa: S608 -- conditions are ours, their values are bound
        f" WHERE table_name = ? AND sequence BETWEEN ? AND ? AND ({which.sql}) ORDER BY sequence"
    )
    for part in parts(reader, table, span):
        found = [EventRow(*row) for row in reader.rows(query, table, *part, *which.values)]
        note_missing(reader, table, part, len(found) if which is ALL else None)
        yield from found


def parts(reader: Reader, table: str, span: Extent) -> Iterator[Extent]:
    """The chunks of the span. A gap in the sequence, which only a damaged journal has, is not searched in chunks."""
    following = "SELECT min(sequence) FROM event WHERE table_name = ? AND sequence >= ?"
    first = span.first
    while first <= span.last:
        last = min(first + CHUNK - 1, span.last)
        yield Extent(first, last)
        if last == span.last:
            return
        ((found,),) = reader.rows(following, table, last + 1)
        first = span.last + 1 if found is None else found
        if first > last + 1:
            note_missing(reader, table, Extent(last + 1, min(first - 1, span.last)), 0)


def note_missing(reader: Reader, table: str, part: Extent, found: int | None = None) -> None:
    """Note the events of the part that SQLite does not find. None as the number found: they are counted."""
    if found is None:
        query = "SELECT count(*) FROM event WHERE table_name = ? AND sequence BETWEEN ? AND ?"
        ((found,),) = reader.rows(query, table, *part)
    if missing := part.last - part.first + 1 - found:
        reader.not_found[MissingEvents(table, *part, missing)] = None


def event_at(reader: Reader, table: str, sequence: int) -> EventRow | None:
    return next(events(reader, table, Extent(sequence, sequence)), None)


def named(key: str) -> str:
    """A value of the data in SQL. Damaged data have no value: they do not prevent the search for other events."""
    return f"CASE WHEN json_valid(data) THEN json_extract(data, '$.{key}') END"


def of_round(shoe: int, number: int | None = None) -> EventFilter:
    """The events that name a shoe, or a round."""
    of_shoe = EventFilter(f"{named('shoe')} = ?", (shoe,))
    return of_shoe if number is None else of_shoe & EventFilter(f"{named('round')} = ?", (number,))


OF_ROUND: Final = EventFilter("type = 'round.started'")
OF_START: Final = EventFilter("type IN ('shoe.started', 'round.started')")
OF_NO_SHOE: Final = EventFilter(f"{named('shoe')} IS NULL")


# --- search by halves


def start_from(reader: Reader, table: str, span: Extent, which: EventFilter = OF_START) -> Start | None:
    """The first start of a shoe or a round in the span."""
    return next(map(start_of_event, events(reader, table, span, which)), None)


def start_of_event(event: EventRow) -> Start:
    return Start(event.data["shoe"], event.data.get("round", 0), event.sequence)


def start_of(reader: Reader, table: str, span: Extent, shoe: int, number: int) -> Start | None:
    """The first start in the span that is not before this round."""

    def is_there(sequence: int) -> int | None:
        found = start_from(reader, table, Extent(sequence, span.last))
        return None if found is None or found[:2] >= (shoe, number) else found.sequence + 1

    return start_from(reader, table, Extent(halved(span, is_there), span.last))


def halved(span: Extent, look: Callable[[int], int | None]) -> int:
    """The first sequence for which `look` is None. For an earlier one `look` returns a later one, to continue there."""
    low, high = span.first, span.last + 1
    while low < high:
        middle = (low + high) // 2
        onward = look(middle)
        if onward is None:
            high = middle
        else:
            low = onward
    return low


def from_row(reader: Reader, table: str, span: Extent, row: int) -> int:
    """The sequence of the first event that is not before this row."""

    def look(sequence: int) -> int | None:
        found = event_at(reader, table, sequence) or next(events(reader, table, Extent(sequence, span.last)), None)
        return None if found is None or found.row >= row else found.sequence + 1

    return halved(span, look)


def round_span(reader: Reader, table: str, span: Extent, shoe: int, number: int) -> Extent | None:
    """The events from the start of a round to the next start."""
    began = start_of(reader, table, span, shoe, number)
    if began is None or began[:2] != (shoe, number):
        return None
    after = start_from(reader, table, Extent(began.sequence + 1, span.last))
    return Extent(began.sequence, span.last if after is None else after.sequence - 1)


def shoe_span(reader: Reader, table: str, span: Extent, shoe: int) -> Extent | None:
    """The events from the start of a shoe to the start of the next shoe. The first shoe begins with the record."""
    began = start_of(reader, table, span, shoe, 0)
    if began is None or began.shoe != shoe:
        return None
    after = start_of(reader, table, Extent(began.sequence, span.last), shoe + 1, 0)
    first = began.sequence if began.round == 0 else span.first
    return Extent(first, span.last if after is None else after.sequence - 1)


def newest_starts(reader: Reader, table: str, span: Extent, which: EventFilter = OF_START) -> Iterator[Start]:
    """The starts of the span, the newest first."""
    before = "SELECT max(sequence) FROM event WHERE table_name = ? AND sequence <= ?"
    last: int | None = span.last
    while last is not None and last >= span.first:
        part = Extent(max(span.first, last - CHUNK + 1), last)
        found = list(events(reader, table, part, which))
        yield from map(start_of_event, reversed(found))
        ((last,),) = reader.rows(before, table, part.first - 1)
