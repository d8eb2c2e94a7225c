"""The committed events of a table, in order: the newest ones from memory, all others from the journal.

Theory of operation: `prepared` makes the messages of a Step while the disk works. They are valid while the table has
the same words and settings: otherwise `messages_of` returns none. They are valid on a later connection, too: the Step
is committed after its birth, so its events are not historical.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Protocol

import msgspec

from shoed.bus.client import MqttMessage
from shoed.bus.journal_reads import JournalReads
from shoed.bus.messages import TableMessages
from shoed.journal import StoredEvent
from shoed.journal.heads import is_head_moment
from shoed.journal.rows import event_columns
from shoed.journal.verify import verified_events
from shoed.model.step import Step

FRESH: Final = 256  # events in memory, for a broker that is slower than the table
READ_AHEAD: Final = 256  # events of one read of the journal


class Prepared(msgspec.Struct, frozen=True):
    """The events of a Step whose commit is under way."""

    events: Sequence[StoredEvent]
    messages: Mapping[int, MqttMessage]  # by sequence
    by: TableMessages  # it made the messages
    has_head: bool

    def messages_of(self, present: TableMessages) -> Mapping[int, MqttMessage]:
        return self.messages if self.by is present else {}


def prepared(step: Step, by: TableMessages, *, with_messages: bool) -> Prepared:
    stored = [StoredEvent(*event_columns(event)) for event in step.events]
    messages = {each.sequence: by.event(each) for each in stored} if with_messages else {}
    return Prepared(stored, messages, by, is_head_moment(step))


class EventCounts(Protocol):
    """Counts the events of a table. It outlives a publisher: a reload may replace the broker."""

    def published(self) -> None:
        """One event was sent; a repetition counts again."""

    def acknowledged(self, sequence: int, count: int) -> None:
        """The broker has acknowledged every event up to this sequence number; `count` of them are new."""


class CommittedEvents:
    """Bounded in memory. A read of the journal runs in a thread, so a disk that hangs delays no status."""

    def __init__(self, table: str, reads: JournalReads) -> None:
        self.table = table
        self.reads = reads
        self.fresh: deque[StoredEvent] = deque(maxlen=FRESH)  # the newest events
        self.stored: deque[StoredEvent] = deque()  # events that were read from the journal

    def add(self, events: Sequence[StoredEvent]) -> None:
        self.fresh.extend(events)

    def after(self, sent: int, limit: int, newest: int) -> list[StoredEvent]:
        """The next events; empty if there is none, or while the journal is read."""
        while self.fresh and self.fresh[0].sequence <= sent:
            self.fresh.popleft()
        if self.fresh and self.fresh[0].sequence == sent + 1:
            return [self.fresh.popleft() for _ in range(min(limit, len(self.fresh)))]
        if not self.stored or self.stored[0].sequence != sent + 1:
            self.stored.clear()
            last = min(newest, sent + READ_AHEAD)
            self.reads.ask(partial(verified_events, table=self.table, after=sent, last=last), self.stored.extend)
        return [self.stored.popleft() for _ in range(min(limit, len(self.stored)))]
