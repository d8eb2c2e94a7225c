"""The verification of the chain of hashes: it finds rows that were altered, removed, inserted or exchanged.

Theory of operation: the rows of a table are read once, in order, with their events, and the hash of each row is
computed again. After a row that differs, the verification continues with the stored hash of that row, so that each
change is found once. Rows of schemas 1 to 4 have one hash for each run of rows (`seal.py`). The memory does not depend
on the number of rows. A running daemon may write: the verified rows are those of the first moment, and each part of
them is read in a short transaction of its own. `require_rows` and `verified_events` verify the rows that play or a
publisher is about to use.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from enum import Enum
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import Any, Final

import msgspec

from shoed.errors import JournalUnusable, RowAltered
from shoed.journal.losses import Losses, LossKind, span
from shoed.journal.reader import MALFORMED, ChainAnchor, Reader
from shoed.journal.rows import (
    STEP,
    Checkpoint,
    Columns,
    EventColumns,
    StoredEvent,
    row_hash,
    seal_hash,
    sealed_hash,
)
from shoed.model.printable import printable

HASH: Final = 9  # its place in the columns of a row
PART: Final = 16_384  # rows of one transaction
STEPS: Final = f"SELECT {STEP} FROM step WHERE table_name = ? AND row > ? AND row <= ? ORDER BY row LIMIT ?"  # noqa: S608 -- ours
EVENTS: Final = (
    "SELECT row, sequence, type, utc_us, data, table_name FROM event"
    " WHERE table_name = ? AND sequence > ? AND sequence <= ? ORDER BY sequence"
)
REMEDY: Final = "run: shoed journal verify; keep a copy of the journal as evidence, then restore a backup"

EventOfRow = tuple[int, int, str, int, str, str]  # row, sequence, type, utc_us, data, table_name


class AlterationKind(Enum):
    ALTERED = "altered"
    MISSING = "missing"
    INSERTED = "inserted"
    REORDERED = "reordered"
    LOST = "lost"  # a salvage named it
    UNPROVEN = "not proven"  # an earlier key than the given ones signed it


class Alteration(msgspec.Struct, frozen=True):
    """One change of the journal."""

    table: str
    place: str  # as in `row 17`
    kind: AlterationKind
    detail: str

    def __str__(self) -> str:
        return printable(f"{self.table}: {self.place}: {self.kind.value}: {self.detail}")


class Verification:
    """The verification of one table. The counts and the tip are complete after the last finding.

    `part_rows`: the most rows of one transaction. `rest` is called after each transaction.
    """

    def __init__(
        self, reader: Reader, table: str, part_rows: int = PART, rest: Callable[[], None] = lambda: None
    ) -> None:
        self.reader = reader
        self.table = table
        self.part_rows = part_rows
        self.rest = rest
        with reader.one_moment():
            self.tip = reader.begin(table)
            self.last_row = reader.last_row(table)
            self.last_sequence = reader.last_sequence(table)
            self.cursor = reader.cursor(table)
        self.first_row = self.tip.row + 1
        self.losses = Losses(reader, table)
        self.rows = 0
        self.events = 0
        self.exchanged = 0  # the second one of two rows whose contents are exchanged

    def findings(self) -> Generator[Alteration]:
        try:
            yield from self.row_findings()
            yield from self.in_one_moment(self.checkpoints)
        except (JournalUnusable, *MALFORMED) as error:
            damage = self.reader.damage(error)
            yield self.finding(
                f"the row after row {self.tip.row}",
                AlterationKind.ALTERED,
                f"it cannot be read: {damage.__cause__ or damage}",
            )
            return
        yield from self.ends()

    @property
    def proven_rows(self) -> str:
        """The verified rows, in words."""
        place = span("row", self.first_row, self.tip.row)
        proven = self.rows - self.losses.count(LossKind.UNPROVEN)
        return place if proven == self.tip.row - self.first_row + 1 else f"{proven} of the {place}"

    def row_findings(self) -> Iterator[Alteration]:
        for place, reason in self.losses.named:
            yield self.finding(place, AlterationKind.LOST, reason)
        for place, reason in self.losses.unknown:
            yield self.finding(f"the loss of {place}", AlterationKind.ALTERED, reason)
        yield from self.begin()
        yield from self.sealed_rows()
        yield from self.chained_rows()

    def finding(self, place: str, kind: AlterationKind, detail: str) -> Alteration:
        return Alteration(self.table, place, kind, detail)

    def in_one_moment(self, part: Callable[[], Iterable[Alteration]]) -> Iterator[Alteration]:
        """The findings of a part, after its transaction: the caller may stop at any finding."""
        found: list[Alteration] = []
        try:
            with self.reader.one_moment():
                self.follow_cut()
                found.extend(part())
        finally:
            yield from found  # also those before a row that cannot be read
        self.rest()

    def follow_cut(self) -> None:
        """Continue after the rows that the daemon deleted during the verification."""
        begin = self.reader.begin(self.table)
        if begin.row >= self.tip.row:
            self.tip = begin

    def begin(self) -> Iterator[Alteration]:
        """Nothing is on record before the beginning of the chain, and a cut has no checkpoint."""
        for anchor in self.reader.anchors(self.table):
            if anchor.reason == "cut" and anchor.state is not None:
                detail = "no checkpoint is of a cut, and it has the digest of one"
                yield self.finding(f"the cut of row {anchor.row}", AlterationKind.ALTERED, detail)
        for name, what, column, value in (
            ("step_4", "row", "row", self.tip.row),
            ("step", "row", "row", self.tip.row),
            ("event", "event", "sequence", self.tip.sequence),
        ):
            query = f"SELECT min({column}), max({column}) FROM {name} WHERE table_name = ? AND {column} <= ?"  # noqa: S608 -- ours
            ((first, last),) = self.reader.rows(query, self.table, value)
            if first is not None:
                detail = "before the beginning of the chain"
                yield self.finding(span(what, first, last), AlterationKind.INSERTED, detail)

    # --- rows of schemas 1 to 4

    def sealed_rows(self) -> Iterator[Alteration]:
        for run in list(self.reader.seals(self.table, self.tip.row + 1)):
            yield from self.in_one_moment(lambda: self.sealed_run(run) if run.row > self.tip.row else ())  # noqa: B023 -- called here
        yield from self.in_one_moment(self.end_of_sealed_rows)

    def end_of_sealed_rows(self) -> Iterator[Alteration]:
        begin = self.reader.begin(self.table).row
        anchors = [each for each in self.reader.anchors(self.table) if each.row > begin]
        for (row,) in self.reader.rows(
            "SELECT min(row) FROM step_4 WHERE table_name = ? AND row > ? HAVING min(row) NOTNULL",
            *(self.table, self.tip.row),
        ):
            yield self.finding(f"row {row} of the sealed rows", AlterationKind.INSERTED, "it is after the seal")
        if self.rows and self.tip.row > begin and not anchors:
            yield self.finding(f"the seal of row {self.tip.row}", AlterationKind.MISSING, "the sealed rows remain")
        for anchor in anchors:
            if (inserted := self.seal_of_chained_rows(anchor.row)) is not None:
                yield inserted
                continue
            if anchor.row != self.tip.row:
                place = f"the seal of row {anchor.row}"
                yield self.finding(place, AlterationKind.ALTERED, f"the last sealed row is {self.tip.row}")
            yield from self.seal()
            self.tip = anchor

    def sealed_run(self, run: ChainAnchor) -> Iterator[Alteration]:
        first = self.tip.row + 1
        steps = self.reader.old_columns(self.table, first, run.row)
        if not steps and (inserted := self.seal_of_chained_rows(run.row)) is not None:
            yield inserted
            return
        found: list[EventOfRow] = list(self.reader.rows(EVENTS, self.table, self.tip.sequence, run.sequence))
        events = [(sequence, row, kind, utc_us, data) for row, sequence, kind, utc_us, data, _ in found]  # in the seal
        if seal_hash(self.tip.hash, steps, events) != run.hash and not self.losses.concern(first, run.row):
            place = f"rows {first}-{run.row}, which an earlier version of shoed wrote"
            yield self.finding(place, AlterationKind.ALTERED, "they, their events or their seal differ from the seal")
        for number, following in gaps([first - 1, *(each[1] for each in steps), run.row + 1]):
            yield from self.missing(number, following, f"the seal is of the rows up to {run.row}")
        for number, following in gaps([self.tip.sequence, *(each[0] for each in events), run.sequence + 1]):
            yield from self.missing_events(number, following, f"the seal is of the events up to {run.sequence}")
        yield from (self.misnamed(event) for event in found if event[5] != self.table)
        self.tip = run
        self.rows += len(steps)
        self.events += len(events)

    def seal_of_chained_rows(self, last: int) -> Alteration | None:
        """The finding for a seal after a row that has its own hash."""
        query = "SELECT min(row) FROM step WHERE table_name = ? AND row > ? AND row <= ?"
        ((row,),) = self.reader.rows(query, self.table, self.tip.row, last)
        detail = f"no earlier version wrote row {row}: it has its own hash"
        return None if row is None else self.finding(f"the seal of row {last}", AlterationKind.INSERTED, detail)

    def seal(self) -> Iterator[Alteration]:
        """Compare the anchor of this row, if there is one, with the sealed rows."""
        tip = self.tip
        for anchor in self.reader.anchors(self.table):
            expected = sealed_hash(tip.hash, self.table, tip.row, tip.sequence, anchor.state, anchor.utc_us)
            if anchor.row == tip.row and (anchor.hash, anchor.reason) != (expected, "seal"):
                place = f"the seal of row {tip.row}"
                yield self.finding(place, AlterationKind.ALTERED, "it differs from the sealed rows")

    # --- rows with a hash

    def chained_rows(self) -> Generator[Alteration]:
        before = -1
        while self.tip.row > before:
            before = self.tip.row
            yield from self.in_one_moment(self.part)
        if self.tip.row < self.last_row:
            yield from self.missing(self.tip.row + 1, self.last_row, f"row {self.last_row} is known")
        remaining: Iterator[EventOfRow] = self.reader.rows(EVENTS, self.table, self.tip.sequence, self.last_sequence)
        sequence, last = self.tip.sequence, 0  # the last row with an event
        for event in remaining:
            if event[0] <= self.tip.row:
                yield from self.misplaced(event, sequence, self.tip.row)
            sequence, last = event[1], max(last, event[0])
        if last > self.tip.row:
            yield from self.missing(self.tip.row + 1, last, f"events up to {sequence} remain")

    def part(self) -> Iterator[Alteration]:
        """Verify the next rows, with their events."""
        row, sequence, hashed = self.tip.row, self.tip.sequence, self.tip.hash
        events: Iterator[EventOfRow] = self.reader.rows(EVENTS, self.table, sequence, self.last_sequence)
        event = next(events, None)
        try:
            for columns in self.reader.rows(STEPS, self.table, row, self.last_row, self.part_rows):
                number, own = columns[1], []
                is_next = number == row + 1
                is_named = not is_next and self.losses.has(LossKind.MISSING, row + 1, number - 1)
                if is_named:
                    hashed = self.reader.hash_of(self.table, number - 1, "head", "anchor") or b""  # empty: unknown
                elif not is_next:
                    yield from self.missing(row + 1, number - 1, f"the next row is {number}")
                while event is not None and event[0] <= number:
                    if event[1] != sequence + 1 or event[0] <= row or event[5] != self.table:
                        yield from self.misplaced(event, sequence, row)
                    sequence = event[1]
                    if event[0] == number:
                        own.append(event[1:5])
                    event = next(events, None)
                stored = columns[HASH]
                if (is_next or is_named) and row_hash(hashed, columns[:HASH], own) != stored:
                    if event is not None and event[1] > sequence + 1:
                        yield from self.misplaced(event, sequence, row)
                        sequence = event[1] - 1
                    elif number != self.exchanged and not self.losses.has(LossKind.UNPROVEN, number):
                        yield self.differing(hashed, columns, own) if is_next else self.after_gap(number)
                row, hashed = number, stored
                self.rows += 1
                self.events += len(own)
        finally:
            self.tip = ChainAnchor(row, sequence, hashed)

    def misplaced(self, event: EventOfRow, sequence: int, row: int) -> Iterator[Alteration]:
        """The findings for an event that does not follow the last one, or whose row is not after this one."""
        of, number = event[:2]
        if number > sequence + 1:
            yield from self.missing_events(sequence + 1, number - 1, f"the next event is {number}, of row {of}")
        if of <= row and not self.losses.has(LossKind.MISSING, of):
            detail = f"it names row {of}, which does not exist or precedes the row of the event before it"
            yield self.finding(f"event {number}", AlterationKind.ALTERED, detail)
        if event[5] != self.table:
            yield self.misnamed(event)

    def misnamed(self, event: EventOfRow) -> Alteration:
        """No hash has the key of an event. A condition of SQL cannot find the name: the search itself has set it."""
        return self.finding(f"event {event[1]}", AlterationKind.ALTERED, f"its key names the table {event[5]}")

    def missing(self, first: int, last: int, detail: str) -> Iterator[Alteration]:
        if not self.losses.has(LossKind.MISSING, first, last):
            yield self.finding(span("row", first, last), AlterationKind.MISSING, detail)

    def missing_events(self, first: int, last: int, detail: str) -> Iterator[Alteration]:
        if not self.losses.has(LossKind.EVENTS, first, last):
            yield self.finding(span("event", first, last), AlterationKind.MISSING, detail)

    def after_gap(self, number: int) -> Alteration:
        detail = "the row before it is missing, so nothing proves it, and no salvage named it as not proven"
        return self.finding(f"row {number}", AlterationKind.ALTERED, detail)

    def differing(self, previous: bytes, columns: Sequence[Any], events: Sequence[EventColumns]) -> Alteration:
        """The most likely change of a row that differs from its hash."""
        number, stored, table = columns[1], columns[HASH], self.table
        for following in self.reader.columns(table, number + 1, number + 1):
            others = self.reader.event_columns(table, number + 1)
            first = min((each[0] for each in (*events, *others)), default=0)
            exchanged = (renumbered(others, first), renumbered(events, first + len(others)))
            several = (events, others, *exchanged)  # they may have been moved with their row, or exchanged in place

            def fits(before: bytes, of: Sequence[Any], row: int, hashed: bytes) -> bool:
                moved = (table, row, *of[2:HASH])
                return any(row_hash(before, moved, own) == hashed for own in several)  # noqa: B023 -- called here

            if fits(previous, following, number, following.hash) and not fits(
                following.hash, columns, number + 1, stored
            ):
                return self.finding(
                    f"row {number}",
                    AlterationKind.INSERTED,
                    f"the content of row {number + 1} follows row {number - 1}",
                )
            if fits(previous, following, number, following.hash) or fits(previous, following, number, stored):
                hashes = ((stored, following.hash), (following.hash, stored))  # the second: they are exchanged, too
                if any(fits(before, columns, number + 1, hashed) for before, hashed in hashes):
                    self.exchanged = number + 1
                rows = f"rows {number} and {number + 1}"
                return self.finding(rows, AlterationKind.REORDERED, "their contents are exchanged")
        own = f", its {span('event', events[0][0], events[-1][0])}" if events else ""
        detail = f"the row{own} or the row before it differs from the hash"
        return self.finding(f"row {number}", AlterationKind.ALTERED, detail)

    # --- values that depend on rows

    def checkpoints(self) -> Iterator[Alteration]:
        for checkpoint in self.reader.checkpoints(self.table):
            if self.reader.last_row(self.table) > self.last_row < checkpoint.row:
                continue  # the daemon wrote it after the first moment
            if checkpoint.row > self.last_row:
                detail = f"the checkpoint of row {checkpoint.row} remains"
                yield from self.missing(self.last_row + 1, checkpoint.row, detail)
            elif digest_on_record(self.reader, checkpoint) != checkpoint.digest:
                place = f"the checkpoint of row {checkpoint.row}"
                yield self.finding(place, AlterationKind.ALTERED, "it differs from the digest in its row")

    def ends(self) -> Iterator[Alteration]:
        """The cursor is not after the last event."""
        if self.cursor > self.last_sequence:
            detail = f"the broker has acknowledged the events up to {self.cursor}"
            yield from self.missing_events(self.last_sequence + 1, self.cursor, detail)


def gaps(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last number of each gap."""
    return ((before + 1, after - 1) for before, after in pairwise(numbers) if after > before + 1)


def renumbered(events: Sequence[EventColumns], first: int) -> list[EventColumns]:
    return [(number, *each[1:]) for number, each in enumerate(events, first)]


def digest_on_record(reader: Reader, checkpoint: Checkpoint) -> bytes | None:
    """The digest of the checkpoint in its row; of the last sealed row, in its seal. The digest of a cut is unsigned."""
    for columns in reader.columns(checkpoint.table, checkpoint.row, checkpoint.row):
        return columns.state
    seals = (each for each in reader.anchors(checkpoint.table) if each.reason != "cut")
    return next((each.state for each in seals if each.row == checkpoint.row), None)


# --- before a use


def require_rows(reader: Reader, table: str, first: int, last: int) -> None:
    """Raise RowAltered unless these rows have the hashes of their contents."""
    if not reader.is_chained:
        return
    sealed = max((each.row for each in reader.anchors(table)), default=0)
    row = first
    while row <= min(last, sealed):
        row = require_run(reader, table, row) + 1
    before = reader.before(table, row)
    for columns in reader.columns(table, row, last):
        require_row(before, columns, reader.event_columns(table, columns.row))
        before = ChainAnchor(columns.row, 0, columns.hash)


def require_row(before: ChainAnchor, columns: Columns, events: Sequence[EventColumns]) -> None:
    if columns.row != before.row + 1:
        raise altered(columns.table, f"row {before.row + 1} is missing")
    if row_hash(before.hash, columns[:HASH], events) != columns.hash:
        raise altered(columns.table, f"row {columns.row} or its events differ from the hash of the row")


def require_run(reader: Reader, table: str, row: int) -> int:
    """Verify the run of a sealed row, once for each reader. Return the last row of the run."""
    for run in reader.seals(table, row):
        if (table, run.row) not in reader.verified_runs:
            verification = Verification(reader, table)
            verification.tip = reader.before(table, row)
            for finding in chain(verification.sealed_run(run), verification.seal()):
                raise altered(table, finding.place)
            reader.verified_runs.add((table, run.row))
        return run.row
    raise altered(table, f"the seal of row {row} is missing")


def altered(table: str, what: str) -> RowAltered:
    return RowAltered(f"{table}: {what}: the journal was changed; {REMEDY}")


def verified_events(reader: Reader, table: str, after: int, last: int) -> list[StoredEvent]:
    """The events after a sequence number, up to the last one. None is missing, unless a salvage named the gap.

    Raise RowAltered unless their rows have the hashes of their contents.
    """
    events = reader.event_rows(table, after, max(0, last - after))
    for first, before in gaps([after, *(each[1] for each in events), last + 1]):
        if not Losses(reader, table).has(LossKind.EVENTS, first, before):
            raise altered(table, f"{span('event', first, before)} cannot be found")
    sealed = max((each.row for each in reader.anchors(table)), default=0)
    for row, own in groupby(events, itemgetter(0)):
        if row <= sealed:
            require_run(reader, table, row)
            continue
        (_, sequence, *_), *_ = own
        for columns in reader.columns(table, row, row):
            require_row(reader.before(table, row), columns, reader.event_columns_near(table, row, sequence))
            break
        else:
            raise altered(table, f"event {sequence} names row {row}, which does not exist")
    return [StoredEvent(*event[1:]) for event in events]
