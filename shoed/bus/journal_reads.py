"""Reads of the journal in a thread, for the publisher: meanwhile it can publish a status."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from shoed.journal import Reader, Store
from shoed.ports.threads import off_loop

T = TypeVar("T")


class JournalReads:
    """One read at a time. `arrived` is called when its answer can be taken."""

    def __init__(self, store: Store, arrived: Callable[[asyncio.Future[None]], None]) -> None:
        self.store = store
        self.arrived = arrived
        self.present: asyncio.Task[None] | None = None

    def ask(self, question: Callable[[Reader], T], received: Callable[[T], None]) -> None:
        """Read the journal, unless an earlier answer is due."""

        def answer() -> T:
            with self.store.read() as reader:
                return question(reader)

        async def receive() -> None:
            received(await off_loop(answer))

        if self.present is None:
            self.present = asyncio.create_task(receive())
            self.present.add_done_callback(self.arrived)

    def take(self) -> None:
        """Process an answer that has arrived; raise its JournalError."""
        if self.present is not None and self.present.done():
            present, self.present = self.present, None
            present.result()
