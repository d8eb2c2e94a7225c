"""The record: every Step, committed before anything that it sends leaves the house."""

from shoed.journal.store import Checkpoint, Reader, Store, StoredAnswer, StoredEvent, StoredStep, hold
from shoed.journal.writer import Writer

__all__ = ["Checkpoint", "Reader", "Store", "StoredAnswer", "StoredEvent", "StoredStep", "Writer", "hold"]
