"""A table: its round's state machine, and what it shows of it."""

from shoed.table.context import BY_FIRST_CARD, AfterGap, Custom, Table, TableSettings
from shoed.table.device_orders import ordered
from shoed.table.observe import Watched, doubted, fold, wake_at
from shoed.table.public import PublicState, public_state
from shoed.table.question import PublicQuestion, public_question
from shoed.table.state import TableState

__all__ = [
    "BY_FIRST_CARD",
    "AfterGap",
    "Custom",
    "PublicQuestion",
    "PublicState",
    "Table",
    "TableSettings",
    "TableState",
    "Watched",
    "doubted",
    "fold",
    "ordered",
    "public_question",
    "public_state",
    "wake_at",
]
