"""A long journal, made by the engine and the committer from the reports of a dealer; every row can be replayed."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from firmware_protocols.angel_eye import AngelEyeSettings
from shoed import VERSION
from shoed.engine import ENGINE, QUIET_NS
from shoed.journal.commit import Committer, Entry
from shoed.journal.store import Store
from shoed.model.moments import Now
from shoed.model.step import AnyInput, Configured, LinkUp, Received, Woken
from shoed.rig.dealer import Pace, deal
from shoed.service.config import TableConfig, describe
from shoed.service.engines import engine_of
from shoed.session.angel_eye_shoe import AngelEyeShoe

DECKS: Final = 8
SEED: Final = 5
START_US: Final = 1_700_000_000_000_000
PACE: Final = Pace(card=(1.2, 1.5), round=(20.0, 30.0), shoe=(100.0, 200.0))
BYTE_US: Final = 2083  # a serial line with 4800 baud
BATCH: Final = 500  # Steps of a commit
QUIET_US: Final = QUIET_NS / 1000


def line(seed: int = SEED) -> Iterator[tuple[AnyInput, Now]]:
    """The reports of a dealer, each in three copies, and the wakings between them, without end."""
    settings, at_us = AngelEyeSettings(), 0.0
    device = AngelEyeShoe(settings)
    state = device.begin()
    for pause_s, due in deal(Random(seed), DECKS, PACE):
        state, data = device.say(state, due)
        if pause_s * 1e6 > QUIET_US:
            yield Woken(), moment(at_us + QUIET_US)
        at_us += pause_s * 1e6
        size = len(data) // settings.copies
        for begin in range(0, len(data), size):
            yield Received(data[begin : begin + size]), moment(at_us + begin * BYTE_US)


def moment(at_us: float) -> Now:
    return Now(START_US + int(at_us), int(at_us) * 1000)


def record(state_dir: Path, table: TableConfig, rows: int) -> None:
    """Write the rows of a table into a new journal."""
    state_dir.mkdir(parents=True, exist_ok=True)
    store = Store(state_dir)
    connection = store.connect()
    connection.execute("PRAGMA synchronous = OFF")  # the benchmark does not survive a power cut
    committer, engine = Committer(connection, ENGINE), engine_of(table, store.word)
    state, entries = engine.begin(), list[Entry]()
    begin: list[tuple[AnyInput, Now]] = [
        (Configured(describe(table).decode(), ENGINE, VERSION), moment(0)),
        (LinkUp(table.shoe.port), moment(0)),
    ]
    inputs = iter(begin)
    rest = line()
    while state.row < rows:
        incoming, now = next(inputs, None) or next(rest)
        state, step = engine.step(state, incoming, now)
        if step is not None:
            entries.append(Entry(table.name, step, state, None))
        if len(entries) >= BATCH or state.row >= rows:
            committer.commit(entries, {table.name: state.table.sequence})
            entries.clear()
    connection.close()
