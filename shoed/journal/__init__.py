"""The record. Every Step is committed before its messages and its device orders are sent."""

from shoed.journal.reader import Reader, StoredAnswer
from shoed.journal.rows import Checkpoint, StoredEvent, StoredStep
from shoed.journal.store import Store, hold
from shoed.journal.writer import Writer

__all__ = ["Checkpoint", "Reader", "Store", "StoredAnswer", "StoredEvent", "StoredStep", "Writer", "hold"]
