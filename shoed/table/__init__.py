"""The table room: it turns observations, findings and commands into events, and keeps the state of the round."""

from shoed.table.assess import Standing
from shoed.table.context import BY_FIRST_CARD, AfterGap, Custom, Table, TableSettings
from shoed.table.device_orders import ordered
from shoed.table.observe import Watched, fold, fold_findings, wake_at
from shoed.table.public_question import PublicQuestion, public_question
from shoed.table.public_state import PublicState, public_state
from shoed.table.seed import TableSeed, is_settled, seed_of, state_of
from shoed.table.state import TableState, same_but_heard

__all__ = [
    "BY_FIRST_CARD",
    "AfterGap",
    "Custom",
    "PublicQuestion",
    "PublicState",
    "Standing",
    "Table",
    "TableSeed",
    "TableSettings",
    "TableState",
    "Watched",
    "fold",
    "fold_findings",
    "is_settled",
    "ordered",
    "public_question",
    "public_state",
    "same_but_heard",
    "seed_of",
    "state_of",
    "wake_at",
]
