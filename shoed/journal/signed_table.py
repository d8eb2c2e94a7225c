"""One table of the journal, as the comparison of its signed heads requires it: its gaps, and the word of each row."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

from shoed.journal.heads import Head
from shoed.journal.losses import Loss, Losses, LossKind
from shoed.journal.reader import Reader

WORDS: Final = (
    "SELECT row, word, reason FROM incarnation JOIN incarnation_table USING (number)"
    " WHERE table_name = ? ORDER BY number DESC"
)


def is_lost(losses: Losses, head: Head, found: bytes | None) -> bool:
    """Whether a salvage named the row of the head: it did not find the row, or not as it was signed."""
    if found is None:
        return losses.has(LossKind.MISSING, head.row)
    return found.hex() != head.hash and losses.has(LossKind.UNPROVEN, head.row)


def after(gap: Loss) -> int:
    """The first row after a gap: its hash is the beginning of the chain there."""
    return gap.last_row + (gap.kind is LossKind.MISSING)


class SignedTable:
    """What the comparison of a head requires of its table."""

    def __init__(self, reader: Reader, table: str) -> None:
        self.begin, self.begin_sequence, *_ = msgspec.structs.astuple(reader.begin(table))
        self.losses = Losses(reader, table)
        self.words = list(reader.rows(WORDS, table))  # the incarnations, the newest first
        self.first_word = reader.word
        self.known = {self.first_word, *(word for _, word, _ in self.words)}
        self.salvaged = self.losses.salvaged or 0
        self.gaps = [each for each in self.losses.all if each.kind is not LossKind.EVENTS and each.row > self.begin]

    def parts(self, end: int) -> Iterator[tuple[int, int]]:
        """The first and the last row of each part between two gaps. A head proves no row before its part."""
        first = self.begin + 1
        for gap in self.gaps:
            yield first, gap.row - 1
            first = after(gap)
        yield first, end

    def part(self, row: int) -> int | None:
        """The number of the part with this row; None: it is in a gap."""
        number = bisect_right(self.gaps, row, key=after)
        return None if number < len(self.gaps) and self.gaps[number].row <= row else number

    def incarnation(self, row: int) -> tuple[str, str]:
        """The word of a row, and why it begins."""
        return next(((word, reason) for after, word, reason in self.words if after < row), (self.first_word, ""))
