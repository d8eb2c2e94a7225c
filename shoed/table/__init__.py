"""A table: its round's state machine, and what it shows of it."""

from shoed.table.machine import TableSettings, fold, wake_at
from shoed.table.public import PublicState, public_state
from shoed.table.state import TableState

__all__ = ["PublicState", "TableSettings", "TableState", "fold", "public_state", "wake_at"]
