"""The table in a new incarnation of the journal (`shoed.model.incarnations`)."""

from msgspec.structs import replace

from shoed.model.incarnations import JournalContinued
from shoed.model.moments import Now
from shoed.model.step import Configured
from shoed.table.context import Table
from shoed.table.phase import OPEN
from shoed.table.rounds import start_shoe


def configured(table: Table, entry: Configured, at: Now) -> None:
    words, elsewhere = entry.words or table.state.journal.words, table.state.journal.shoes_elsewhere
    continued = entry.continued
    if continued is not None:
        elsewhere = max(elsewhere, continued.shoe)
    place = replace(table.state.journal, words=words, shoes_elsewhere=elsewhere)
    table.state = replace(table.state, journal=place)
    if continued is None:
        return
    data = JournalContinued(
        incarnation=continued.word,
        previous=continued.previous,
        reason=continued.reason,
        detail=continued.detail,
        kept=continued.kept,
        known=continued.known,
    )
    table.emit(at, data)
    lags = (table.record.shoe, table.record.number) < (continued.shoe, continued.round)
    if table.state.shoe.number and lags:  # the rounds of the present shoe may have been numbered otherwise
        if is_played(table, entry):
            table.state = replace(table.state, journal=replace(table.state.journal, rounds_elsewhere=True))
        else:
            start_shoe(table, at, whole=False)


def is_played(table: Table, entry: Configured) -> bool:
    """Whether a card of the open round was reported since the start of the daemon."""
    return entry.running and table.state.phase in OPEN and table.record.continuity.away is None
