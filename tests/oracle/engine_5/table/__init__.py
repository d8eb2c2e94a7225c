"""A table: its round's state machine, and what it shows of it."""

from tests.oracle.engine_5.table.context import BY_FIRST_CARD, Custom, Table, TableSettings
from tests.oracle.engine_5.table.machine import Watched, fold, wake_at
from tests.oracle.engine_5.table.public import PublicState, public_state
from tests.oracle.engine_5.table.question import PublicQuestion, public_question
from tests.oracle.engine_5.table.state import TableState

__all__ = [
    "BY_FIRST_CARD",
    "Custom",
    "PublicQuestion",
    "PublicState",
    "Table",
    "TableSettings",
    "TableState",
    "Watched",
    "fold",
    "public_question",
    "public_state",
    "wake_at",
]
