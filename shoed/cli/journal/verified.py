"""The state of the chain of hashes for the rows of a report, in words.

Theory of operation: the rows are verified in parts, each in short transactions, up to the first signed head that is not
before the last row. The head then covers these rows. `shoed journal verify` verifies the whole journal.
"""

from typing import Final

import msgspec

from shoed.errors import RowAltered
from shoed.journal import Reader
from shoed.journal.heads import heads_of, is_genuine
from shoed.journal.losses import REASONS, Losses, span
from shoed.journal.scan import Extent
from shoed.journal.verify import altered, require_rows

CHUNK: Final = 256  # rows


class Verified(msgspec.Struct, frozen=True):
    """Two statements: about the hashes of the rows, and about the signed head."""

    chain: str
    head: str
    is_good: bool


def verified(reader: Reader, table: str, rows: Extent) -> Verified:
    found = compared(reader, table, rows)
    if not found.is_good:
        reader.require_kept(table, rows.first - 1)  # a running daemon may have deleted the rows
    return found


def compared(reader: Reader, table: str, rows: Extent) -> Verified:
    if not reader.is_chained:
        return Verified("the rows have no hashes: an earlier version of shoed wrote the journal", "", is_good=False)
    head = next(heads_of(reader, "table_name = ? AND row >= ? ORDER BY row LIMIT 1", table, rows.last), None)
    last = rows.last if head is None else head.row
    for loss in Losses(reader, table).among(rows.first, last):
        return Verified(f"{loss}: {REASONS[loss.kind]}; shoed journal verify lists the gaps", "", is_good=False)
    try:
        first: int | None = rows.first
        while first is not None and first <= last:
            require_rows(reader, table, first, min(first + CHUNK - 1, last))
            first = reader.next_row(table, first + CHUNK)
        if (end := reader.before(table, last + 1).row) < last:
            raise altered(table, f"row {end + 1} is missing")
    except RowAltered as error:
        return Verified(str(error), "", is_good=False)
    hashed = reader.before(table, last + 1).hash.hex()
    own = span("row", rows.first, last)
    chain = f"{own}: the recorded hashes are those of the contents and the events; row {last} has the hash {hashed}"
    if head is None:
        ((newest,),) = reader.rows("SELECT max(row) FROM head WHERE table_name = ?", table)
        before = "the table has none" if newest is None else f"the newest one is of row {newest}"
        return Verified(chain, f"no signed head covers row {last}; {before}", is_good=True)
    if head.hash != hashed or not is_genuine(head):
        return Verified(chain, f"the head of row {head.row} is not genuine", is_good=False)
    return Verified(chain, f"row {head.row}, signed at {head.time} with the key {head.key}", is_good=True)
