"""The committed events of a table, in order: the newest ones from memory, all others from the journal."""

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final

from shoed.bus.journal_reads import JournalReads
from shoed.journal import StoredEvent
from shoed.journal.rows import text
from shoed.journal.verify import verified_events
from shoed.model.events import Event

FRESH: Final = 256  # events in memory, for a broker that is slower than the table
READ_AHEAD: Final = 256  # events of one read of the journal


class CommittedEvents:
    """Bounded in memory. A read of the journal runs in a thread, so a disk that hangs delays no status."""

    def __init__(self, table: str, reads: JournalReads) -> None:
        self.table = table
        self.reads = reads
        self.fresh: deque[Event] = deque(maxlen=FRESH)  # the newest events
        self.stored: deque[StoredEvent] = deque()  # events that were read from the journal

    def add(self, events: Sequence[Event]) -> None:
        self.fresh.extend(events)

    def after(self, sent: int, limit: int) -> list[StoredEvent]:
        """The next events; empty if there is none, or while the journal is read."""
        while self.fresh and self.fresh[0].sequence <= sent:
            self.fresh.popleft()
        if self.fresh and self.fresh[0].sequence == sent + 1:
            newest = [self.fresh.popleft() for _ in range(min(limit, len(self.fresh)))]
            return [StoredEvent(each.sequence, each.type, each.utc_us, text(each.data)) for each in newest]
        if not self.stored or self.stored[0].sequence != sent + 1:
            self.stored.clear()
            self.reads.ask(partial(verified_events, table=self.table, after=sent, limit=READ_AHEAD), self.stored.extend)
        return [self.stored.popleft() for _ in range(min(limit, len(self.stored)))]
