"""Journals of seeded play for the commands that read a journal, and their events by raw SQL.

Theory of operation: an Angel Eye shoe reports legal rounds. Between its reports, lines fail, noise arrives, the daemon
restarts, people give notices, and people answer the open question. The engine folds each input, and the writer commits
its Steps. A seed determines everything.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.engine import ENGINE, Engine
from shoed.journal import Store, Writer
from shoed.model.cards import Card
from shoed.model.commands import (
    AnyCommand,
    Author,
    CorrectCard,
    Decide,
    OpenBets,
    ReportIrregularity,
    StartShoe,
    VoidRound,
)
from shoed.model.irregularities import IrregularityKind, Role
from shoed.model.moments import Now
from shoed.model.step import AnyInput, Commanded, Configured, LinkDown, LinkUp, Received, Woken
from shoed.session import SessionState
from shoed.session.families import DRIVERS
from shoed.table import TableSettings, public_question
from shoed.watch import WatchSettings
from tests.angel_eye_line import PORT, START, Reporter
from tests.patience import PATIENCE_S

GAME: Final = "commission"
CONFIGURED: Final = Configured("{}", ENGINE, "0.0")
PEOPLE: Final = (Author("ann <b>", Role.SHIFT_MANAGER), Author("bo", Role.PIT_SUPERVISOR), Author("cy", None))
NOTICES: Final = (IrregularityKind.CARD_EXPOSED, IrregularityKind.OTHER, IrregularityKind.FOREIGN_CARD)
DAY_S: Final = 86_400


class Player:
    """A table of the journal, in play."""

    def __init__(self, writer: Writer, table: str, dice: Random) -> None:
        session = DRIVERS["angel-eye"].session(AngelEyeSettings(), allow_orders=False)
        settings = TableSettings(GAME, PORT, id_prefix=f"{writer.store.read().word}-{table}")
        self.engine: Engine[SessionState] = Engine(session, WatchSettings(250), settings)
        self.state = self.engine.begin()
        self.writer, self.table, self.dice = writer, table, dice
        self.shoe, self.ms, self.commands = Reporter(), 0, 0

    def take(self, incoming: AnyInput, after_ms: int = 900) -> None:
        self.ms += after_ms
        now = Now(START.utc_us + self.ms * 1000, START.mono_ns + self.ms * 1_000_000)
        self.state, step = self.engine.step(self.state, incoming, now)
        if step is not None:
            self.writer.submit(self.table, step, self.state, None)

    def command(self, command: AnyCommand, author: Author = PEOPLE[0]) -> None:
        self.commands += 1
        self.take(Commanded(command, author, f"{self.table}-{self.commands}"))

    def answer(self) -> None:
        asked = public_question(GAME, self.state.table)
        if asked is not None and asked.choices:
            bettor = "bob" if asked.bettor is not None else None
            self.command(Decide(question=asked.id, choice=self.dice.choice(asked.choices), bettor=bettor))

    def disturb(self) -> None:
        dice = self.dice
        match dice.randrange(9):
            case 0:
                self.take(Received(dice.randbytes(9)))
                self.take(Woken(), 500)
            case 1:
                self.take(LinkDown("the cable is <disconnected>"))
                self.take(LinkUp(PORT), dice.choice((50, 90_000)))
            case 2:
                self.take(CONFIGURED)
                self.take(LinkUp(PORT), 20)
            case 3:
                self.take(Received(self.shoe.say("E", 0x41)))
                self.take(Received(self.shoe.say("E", 0x40)))
            case 4:
                self.command(VoidRound(), dice.choice(PEOPLE))
            case 5:
                self.command(CorrectCard(index=dice.randint(1, 5), card=dice.choice(list(Card))), dice.choice(PEOPLE))
            case _:
                notice = ReportIrregularity(kind=dice.choice(NOTICES), at=dice.choice((None, 1, 4)))
                self.command(notice, dice.choice(PEOPLE))

    def round(self, trouble: float) -> None:
        if self.dice.random() < trouble:
            self.command(OpenBets(), PEOPLE[1])
        for report in self.shoe.round(self.dice):
            self.take(Received(report))
            if self.dice.random() < trouble:
                self.disturb()
            for _ in range(2):
                self.answer()
        self.ms += 20_000

    def play(self, shoes: int, rounds: int, trouble: float) -> None:
        self.take(CONFIGURED)
        self.take(LinkUp(PORT))
        for number in range(shoes):
            for _ in range(rounds):
                self.round(trouble)
            if number < shoes - 1:
                self.take(Received(self.shoe.say("C")))
                self.command(StartShoe())
                self.ms += DAY_S * 400


class Play(NamedTuple):
    """`trouble`: the probability of a disturbance after each report."""

    tables: tuple[str, ...] = ("t1",)
    shoes: int = 2
    rounds: int = 12
    trouble: float = 0.1


def record(folder: Path, play: Play = Play(), seed: int = 1) -> Path:  # noqa: B008 -- immutable
    """A journal with this play, in the directory."""

    def played(writer: Writer) -> None:
        for number, table in enumerate(play.tables):
            Player(writer, table, Random(f"{seed} {number}")).play(play.shoes, play.rounds, play.trouble)

    return written(folder, played)


def written(folder: Path, play: Callable[[Writer], None]) -> Path:
    """A journal with the Steps that the function submits, in the directory."""
    folder.mkdir(parents=True, exist_ok=True)

    async def write() -> None:
        writer = Writer(Store(folder), ENGINE)
        play(writer)
        await asyncio.wait_for(writer.close(), PATIENCE_S)

    asyncio.run(write())
    return folder


class Raw(NamedTuple):
    """An event by raw SQL."""

    table: str
    sequence: int
    row: int
    type: str
    utc_us: int
    data: Any


def raw(folder: Path, table: str | None = None) -> list[Raw]:
    """The events of a table, or of all tables."""
    query = "SELECT table_name, sequence, row, type, utc_us, data FROM event ORDER BY table_name, sequence"
    with closing(sqlite3.connect(f"file:{folder}/journal.db?mode=ro", uri=True)) as connection:
        found: Iterator[Any] = connection.execute(query)
        rows = [Raw._make((*row[:5], msgspec.json.decode(row[5]))) for row in found]
    return [row for row in rows if table in (None, row.table)]
