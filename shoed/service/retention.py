"""The retention task of the daemon: it deletes the old rows of the journal while the tables play.

Theory of operation: the task deletes FIRST_S after READY, and then every hour. The policy is in `journal/retention.py`.
A reader in another thread finds the next rows, and the writer of the journal deletes them in batches, with a pause
after each batch. A cut requires recorded settings: a table records them again in each shoe, between two rounds.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final, Protocol

from shoed.errors import JournalDamaged, JournalError
from shoed.journal import Store, Writer
from shoed.journal.retention import Keep, RowCut, next_cut
from shoed.ports.clock import now
from shoed.ports.threads import off_loop
from shoed.table.state import TableState

FIRST_S: Final = 10.0
EVERY_S: Final = 3600.0
LOOK_S: Final = 60.0  # between two looks for a new shoe
PAUSE_S: Final = 0.1  # after a batch, which takes some milliseconds: a commit waits for one batch at most

LOG: Final = logging.getLogger("shoed.journal")


class CutTable(Protocol):
    """A desk."""

    name: str
    committed: TableState

    @property
    def is_served(self) -> bool: ...

    @property
    def unfinished(self) -> str | None: ...

    def configure(self, *, running: bool = False) -> None: ...


class Retention:
    def __init__(self, store: Store, writer: Writer, keep: Keep, tables: Callable[[], Sequence[CutTable]]) -> None:
        self.store = store
        self.writer = writer
        self.keep = keep
        self.tables = tables
        self.recorded: dict[str, int] = {}  # by table: the shoe of its last settings

    async def run(self) -> None:
        await asyncio.sleep(FIRST_S)
        due = monotonic()
        while True:
            try:
                self.record_settings()
                if monotonic() >= due:
                    due = monotonic() + EVERY_S
                    await self.delete()
            except JournalDamaged as error:
                self.store.report(f"old rows cannot be read or deleted, and play continues: {error}")
            except JournalError as error:
                LOG.warning("old rows of the journal are not deleted now: %s", error)
            except Exception:  # the border of a task
                LOG.exception("old rows of the journal are not deleted; report this log")
            await asyncio.sleep(LOOK_S)

    def record_settings(self) -> None:
        """A replay can begin only at recorded settings."""
        for table in self.tables():
            shoe = table.committed.shoe.number
            recorded = self.recorded.setdefault(table.name, shoe)
            if shoe != recorded and table.is_served and table.unfinished is None:
                self.recorded[table.name] = shoe
                table.configure(running=True)

    async def delete(self) -> None:
        """Delete all rows that the configuration does not keep."""
        while (cut := await off_loop(self.find)) is not None:
            while await self.writer.delete(cut):  # noqa: ASYNC110 -- no event: the pause is for other commits
                await asyncio.sleep(PAUSE_S)
            LOG.info("%s: the journal begins with row %d: older rows were deleted", cut.table, cut.row)

    def find(self) -> RowCut | None:
        with self.store.read() as reader:
            return next_cut(reader, self.keep, now().utc_us)
