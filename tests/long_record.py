"""A journal of many shoes, dealt by the real engine through the real committer, on a clock of the test."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final, Self

from msgspec.structs import replace

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed import VERSION
from shoed.engine import ENGINE, EngineState
from shoed.journal import Store
from shoed.journal.commit import Committer, Entry
from shoed.model.moments import Now
from shoed.model.step import AnyInput, Configured, LinkUp, Received
from shoed.service.config import ShoeConfig, TableConfig, describe
from shoed.service.engines import engine_of
from shoed.session import SessionState
from tests.angel_eye_line import START, Reporter

DAY_S: Final = 86_400
ROUND_S: Final = 40
PORT: Final = "tcp://127.0.0.1:4001"


def config_of(table: str) -> TableConfig:
    shoe = ShoeConfig("angel-eye", "any", PORT, allow_orders=False, min_draw_gap_ms=0, settings=AngelEyeSettings())
    return TableConfig(table, "commission", 8, None, shoe)


class Dealer:
    """A table that deals whole shoes. Its clock is `second`, from START."""

    def __init__(self, store: Store, committer: Committer, table: str) -> None:
        self.committer = committer
        self.table = table
        self.config = config_of(table)
        self.engine = engine_of(self.config, store.word)
        self.state: EngineState[SessionState] = self.engine.begin()
        self.shoe = Reporter()
        self.dice = Random(table)
        self.second = 0.0
        self.began = False

    def take(self, *inputs: AnyInput) -> None:
        entries = []
        for each in inputs:
            self.second += 1
            now = Now(START.utc_us + round(self.second * 1e6), START.mono_ns + round(self.second * 1e9))
            self.state, step = self.engine.step(self.state, each, now)
            if step is not None:
                entries.append(Entry(self.table, step, self.state, None))
        self.committer.commit(entries, {})

    def settings(self) -> None:
        """As at a start of the daemon, or once a day."""
        settings = describe(self.config).decode()
        self.take(Configured(settings, ENGINE, VERSION, running=self.began))
        if not self.began:
            self.take(LinkUp(PORT))
        self.began = True

    def deal(self, rounds: int) -> None:
        """A shoe: its cut card was drawn in the previous one."""
        self.take(Received(self.shoe.say("C")), Received(self.shoe.say("S")))
        for _ in range(rounds):
            self.second += ROUND_S
            self.take(*(Received(report) for report in self.shoe.round(self.dice)))


class LongRecord:
    """A journal that grows by whole shoes."""

    def __init__(self, folder: Path, tables: Sequence[str] = ("bac-901",), after: tuple[int, int] = (0, 0)) -> None:
        """`after`: the last row and the last event of an earlier record."""
        folder.mkdir(exist_ok=True)
        self.store = Store(folder)
        self.connection = self.store.connect()
        self.committer = Committer(self.connection, ENGINE)
        self.dealers = [Dealer(self.store, self.committer, table) for table in tables]
        for dealer in self.dealers:
            table = replace(dealer.state.table, sequence=after[1])
            dealer.state = replace(dealer.state, row=after[0], table=table)
        self.shoes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def deal(self, shoes: int, *, rounds: int = 3, each_s: float = DAY_S) -> None:
        """Further shoes of each table, one each day; every event is acknowledged."""
        for number in range(self.shoes, self.shoes + shoes):
            for dealer in self.dealers:
                dealer.second = max(dealer.second, number * each_s)
                dealer.settings()
                dealer.deal(rounds)
        self.shoes += shoes
        self.acknowledge()

    def acknowledge(self) -> None:
        self.committer.commit([], {dealer.table: dealer.state.table.sequence for dealer in self.dealers})
