"""The gaps that a salvage named in a journal: rows and events that are missing, and rows that are not proven."""

from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from functools import cached_property
from typing import Final

import msgspec

from shoed.errors import JournalDamaged, JournalUnusable
from shoed.journal.reader import MALFORMED, MissingEvents, Reader
from shoed.journal.rows import row_hash
from shoed.model.incarnations import Because


class LossKind(Enum):
    MISSING = "missing"
    UNPROVEN = "unproven"  # the row was found, and does not follow from the row before it
    EVENTS = "events"  # missing before the first event of a row


KINDS: Final = frozenset(each.value for each in LossKind)
REASONS: Final = {
    LossKind.MISSING: "missing: not found by the salvage",
    LossKind.UNPROVEN: "not proven: the hash does not follow from the row before",
    LossKind.EVENTS: "missing: not found by the salvage",
}


NOT_PROVEN: Final = "not proven: found without a row"
WITHOUT_ROWS: Final = (
    "SELECT min(event.sequence), max(event.sequence) FROM loss JOIN event USING (table_name)"  # noqa: S608 -- ours
    f" WHERE table_name = ? AND kind = '{LossKind.MISSING.value}' AND event.row BETWEEN loss.row AND loss.last_row"
    " GROUP BY loss.row ORDER BY loss.row"
)
SALVAGED: Final = (
    "SELECT max(row) FROM incarnation_table JOIN incarnation USING (number)"  # noqa: S608 -- ours
    f" WHERE reason = '{Because.SALVAGED.value}' AND table_name = ?"
)


class Loss(msgspec.Struct):
    """A gap of one table. `sequence` and `last_sequence`: of missing events."""

    row: int
    last_row: int
    kind: LossKind
    sequence: int | None = None
    last_sequence: int | None = None

    @property
    def first(self) -> int:
        return self.row if self.sequence is None else self.sequence

    @property
    def last(self) -> int:
        return self.last_row if self.last_sequence is None else self.last_sequence

    def __str__(self) -> str:
        return span("row" if self.sequence is None else "event", self.first, self.last)


def span(what: str, first: int, last: int) -> str:
    """As in `row 5` and `rows 5-7`."""
    return f"{what} {first}" if first == last else f"{what}s {first}-{last}"


def counted(count: int, what: str) -> str:
    """As in `1 event` and `2 events`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def known_tables(reader: Reader) -> list[str]:
    """The tables with a row or an event, and those of which a salvage did not find any."""
    lost = reader.rows("SELECT DISTINCT table_name FROM loss") if reader.is_chained else ()
    try:
        names = reader.tables
    except JournalDamaged:  # of a page between the rows of two tables
        names = [name for (name,) in reader.rows("SELECT table_name FROM head UNION SELECT table_name FROM cursor")]
    return sorted({*names, *(name for (name,) in lost)})


class Losses:
    """The gaps of one table."""

    def __init__(self, reader: Reader, table: str) -> None:
        self.reader = reader
        self.table = table
        query = "SELECT row, last_row, kind, sequence, last_sequence FROM loss WHERE table_name = ? ORDER BY row"
        found = reader.rows(query, table) if reader.is_chained else ()
        self.all: list[Loss] = []
        self.unknown: list[tuple[str, str]] = []  # the place of an entry that no salvage writes, and the reason
        for row, last_row, kind, *events in found:
            if kind not in KINDS:
                self.unknown.append((f"row {row}", f"no salvage writes the kind {kind!r}"))
            # If the table has continued after the last salvage, that salvage wrote no entry about its rows.
            elif (last := self.salvaged) is not None and last < min(row, reader.last_row(table)):
                self.unknown.append((f"row {row}", f"the last salvage ended with row {last}"))
            elif detail := self.contradiction(loss := Loss(row, last_row, LossKind(kind), *events)):
                self.unknown.append((str(loss), detail))
            else:
                self.all.append(loss)

    @cached_property
    def events_without_rows(self) -> list[str]:
        """The events of missing rows: no hash proves them."""
        found = self.reader.rows(WITHOUT_ROWS, self.table) if self.all else ()
        return [span("event", first, last) for first, last in found]

    @property
    def named(self) -> Iterator[tuple[str, str]]:
        """The place of each gap, and what is known about it."""
        yield from ((str(loss), REASONS[loss.kind]) for loss in self.all)
        yield from ((events, NOT_PROVEN) for events in self.events_without_rows)

    @cached_property
    def salvaged(self) -> int | None:
        """The last row that a salvage wrote."""
        ((row,),) = self.reader.rows(SALVAGED, self.table)
        return None if row is None else int(row)

    def concern(self, first: int, last: int) -> bool:
        """Whether one of these rows is named."""
        return any(self.among(first, last))

    def among(self, first: int, last: int) -> Iterator[Loss]:
        """The gaps with one of these rows."""
        return (loss for loss in self.all if loss.row <= last and loss.last_row >= first)

    def contradiction(self, loss: Loss) -> str:
        """The first row or event that the salvage did not find, and is present; or a row that is proven."""
        if loss.kind is LossKind.UNPROVEN:
            return next((f"the hash of row {row} follows from the row before it" for row in self.proven(loss)), "")
        is_row = loss.kind is LossKind.MISSING
        number, sources = ("row", ("step", "step_4")) if is_row else ("sequence", ("event",))
        for name in sources:
            query = f"SELECT min({number}) FROM {name} WHERE table_name = ? AND {number} BETWEEN ? AND ?"  # noqa: S608 -- ours
            for (found,) in self.reader.rows(query, self.table, loss.first, loss.last):
                if found is not None:
                    return f"{name} {found} is present"
        return ""

    def proven(self, loss: Loss) -> Iterator[int]:
        """The rows of a gap whose hash follows from the row before them, as far as they can be read."""
        with suppress(JournalUnusable, *MALFORMED):
            for columns in self.reader.columns(self.table, loss.row, loss.last_row):
                before, events = self.reader.before(self.table, columns.row), self.reader.event_columns(*columns[:2])
                if before.row == columns.row - 1 and row_hash(before.hash, columns[:-1], events) == columns.hash:
                    yield columns.row

    def count(self, kind: LossKind) -> int:
        return sum(loss.last - loss.first + 1 for loss in self.all if loss.kind is kind)

    def explain(self, missing: MissingEvents) -> bool:
        """Whether a salvage named as many of these events, or retention has deleted the first of them meanwhile."""
        overlaps = (
            min(loss.last, missing.last) - max(loss.first, missing.first) + 1
            for loss in self.all
            if loss.kind is LossKind.EVENTS
        )
        named = sum(each for each in overlaps if each > 0)
        return named >= missing.count or self.reader.begin(self.table).sequence >= missing.first

    def has(self, kind: LossKind, first: int, last: int | None = None) -> bool:
        """Whether all these rows or events are named."""
        at = first
        for loss in self.all:
            if loss.kind is kind and loss.first <= at <= loss.last:
                at = loss.last + 1
        return at > (first if last is None else last)
