"""The verification of the rows that a command reads, and the error of contents that cannot be read.

Theory of operation: a command notes the rows of its events, in parts of neighbouring rows. At its end, the rows of each
part are verified by their hashes; this costs about 4 us for each row. A command that would take much longer because of
this notes at most a number of rows, and otherwise prints that it has verified nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from shoed.cli import say
from shoed.cli.journal.opening import opened
from shoed.errors import JournalDamaged, JournalError, JournalUnusable, RowAltered
from shoed.journal import Reader
from shoed.journal.losses import REASONS, Losses, span
from shoed.journal.reader import MALFORMED, ChainAnchor
from shoed.journal.scan import EventRow, Extent, from_row, whole
from shoed.journal.verify import AlterationKind, Verification, require_run

NEAR: Final = 256  # rows between two rows of one part
SHOWN: Final = 10  # changes
FIRST: Final = 3  # changes of each table, in an error
FEW: Final = 10_000  # rows
REMEDY: Final = (
    "the output has these rows as they are: the journal was changed, or the disk damaged it; keep a copy of its files"
    " as evidence, and run: shoed journal verify"
)
UNVERIFIED: Final = "the hashes of the rows were not verified, because they are many; run: shoed journal verify"


class RowPart(msgspec.Struct):
    """Rows of a table, and the first and the last event that was read of them."""

    table: str
    first: int
    last: int
    events: Extent | None = None


class RowsRead:
    """The rows that a command has read. With more than `most`, none of them is verified."""

    def __init__(self, reader: Reader, most: int | None = None) -> None:
        self.reader = reader
        self.most = most
        self.parts: list[RowPart] = []
        self.is_complete = True

    def noted(self, table: str, events: Iterable[EventRow]) -> Iterator[EventRow]:
        """The same events, in order."""
        for event in events:
            self.note(table, event)
            yield event

    def note(self, table: str, event: EventRow) -> None:
        if not self.is_complete:
            return
        part = self.parts[-1] if self.parts else None
        if (
            part is not None
            and part.events is not None
            and part.table == table
            and part.events.last < event.sequence
            and part.first <= event.row <= part.last + NEAR
        ):
            part.last, part.events = max(part.last, event.row), Extent(part.events.first, event.sequence)
        else:
            self.parts.append(RowPart(table, event.row, event.row, Extent(event.sequence, event.sequence)))
        if self.most is not None and sum(each.last - each.first + NEAR for each in self.parts) > self.most:
            self.is_complete, self.parts = False, []

    def warn(self) -> int:
        """Print the changes of the rows. Returns the exit status."""
        if not self.reader.is_chained:
            return 0
        if not self.is_complete:
            say(UNVERIFIED)
        found = dict.fromkeys(missing_events(self.reader))
        found |= dict.fromkeys(change for part in self.parts for change in changes(self.reader, part))
        for change in islice(found, SHOWN):
            say(f"warning: {change}")
        if len(found) > SHOWN:
            say("warning: more changes follow")
        if found:
            say(f"warning: {REMEDY}")
        return int(bool(found))


def missing_events(reader: Reader) -> list[str]:
    """The events that the reads did not find, without those that have a reason. A search reads parts of parts."""
    found = [each for each in reader.not_found if not Losses(reader, each.table).explain(each)]
    return [
        f"{each.table}: {span('event', each.first, each.last)}: {each.count} of them cannot be found"
        for each in found
        if not any(other != each and other.is_within(each) for other in found)
    ]


def changes(reader: Reader, part: RowPart) -> list[str]:
    """The changes of these rows, without those that a running daemon has deleted since."""
    while True:
        begin = reader.begin(part.table).row
        found = list(islice(changes_of(reader, remaining(reader, part)), SHOWN + 1))
        if not found or reader.begin(part.table).row == begin:
            return found


def remaining(reader: Reader, part: RowPart) -> RowPart:
    """The rows after a cut that deleted the first event of the part, too."""
    begin = reader.begin(part.table).row
    if part.events is None or part.first > begin or reader.first_sequence(part.table) <= part.events.first:
        return part
    return RowPart(part.table, begin + 1, part.last)


def changes_of(reader: Reader, part: RowPart) -> Iterator[str]:
    """The changes of these rows, and the losses that a salvage named among them."""
    table, first = part.table, part.first
    if first <= reader.begin(table).row:
        yield f"{table}: {named(part)}row {first}, which precedes the record"
        return
    sealed = max((each.row for each in reader.anchors(table)), default=0)
    try:
        while first <= min(part.last, sealed):
            first = require_run(reader, table, first) + 1
    except RowAltered as error:
        yield str(error)
        first = sealed + 1
    if first > part.last:
        return
    verification = Verification(reader, table)
    for loss in verification.losses.among(first, part.last):
        yield f"{table}: {loss}: {REASONS[loss.kind]}"
    before, span = reader.before(table, first), whole(reader, table)
    try:
        begin = from_row(reader, table, span, first)
        end = from_row(reader, table, Extent(begin, span.last), part.last + 1)
        verification.tip = ChainAnchor(before.row, begin - 1, before.hash)
        verification.last_row, verification.last_sequence = part.last, end - 1
        with closing(verification.chained_rows()) as findings:  # in a transaction
            found = [str(each) for each in islice(findings, SHOWN + 1)]
        yield from found
    except JournalUnusable as error:
        yield f"{table}: the row after row {verification.tip.row} cannot be read: {error}"
        return
    if first == part.first and part.events is not None and not begin <= part.events.first <= part.events.last < end:
        yield f"{table}: {named(part)}row {first}, which does not have it"


def named(part: RowPart) -> str:
    return "" if part.events is None else f"event {part.events.first} names "


@contextmanager
def examined(place: Path) -> Iterator[Reader]:
    """An opened reader. Contents that cannot be read are an error that names the changed rows."""
    with opened(place) as reader:
        try:
            yield reader
        except JournalUnusable as error:
            found = changed_rows(reader)
            if not found and not isinstance(error, JournalDamaged):
                raise
            raise unreadable(reader.path, str(error.__cause__ or error), found) from error
        except JournalError:  # such as a round that was not found
            for each in missing_events(reader):
                say(f"warning: {each}; run: shoed journal verify")
            raise
        except MALFORMED as error:
            raise unreadable(reader.path, f"{type(error).__name__}: {error}", changed_rows(reader)) from error


def unreadable(path: Path, what: str, found: Sequence[str]) -> JournalUnusable:
    changed = f"; the journal was changed, or the disk damaged it: {'; '.join(found)}" if found else ""
    return JournalUnusable(
        f"{path}: the contents cannot be read: {what}{changed}; keep a copy of the files of the journal as evidence,"
        " and run: shoed journal verify; if it finds no change, use the version of shoed that wrote the journal"
    )


def changed_rows(reader: Reader) -> list[str]:
    """The first changes of each table that the hashes prove: any of them may be the unreadable one."""
    found: list[str] = []
    with suppress(JournalUnusable, *MALFORMED):
        for table in reader.tables if reader.is_chained else ():
            with closing(Verification(reader, table).findings()) as findings:
                changes = (str(each) for each in findings if each.kind is not AlterationKind.LOST)
                found += islice(changes, FIRST)
    return found
