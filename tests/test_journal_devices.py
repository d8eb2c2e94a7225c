"""A journal with a shoe and a shuffler can be recomputed, and `journal show` prints the bytes of both devices."""

import asyncio
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from shoed.cli.journal.shown_rows import row_lines, steps
from shoed.engine import ENGINE, Engine, EngineState
from shoed.journal import Store, Writer
from shoed.journal.replay import decode_again, rebuild, rehearse
from shoed.model.step import Configured, LinkUp, Ordered, Received
from shoed.session import SessionState
from tests.angel_eye_line import CONFIGURED, Inputs, at
from tests.angel_eye_line import PORT as SHOE_PORT
from tests.patience import PATIENCE_S
from tests.shuffler import UP, says
from tests.test_engine_devices import FAULT, LOCK, engine, traffic


def engine_for(settings: str) -> Engine[SessionState]:
    return engine(shuffled=msgspec.json.decode(settings, type=dict[str, bool]).get("shuffled", True))


async def record(folder: Path, incoming: Inputs) -> tuple[Store, EngineState[SessionState]]:
    store = Store(folder)
    writer, joined = Writer(store, ENGINE), engine()
    state = joined.begin()
    for each, now in incoming:
        joined = engine_for(each.settings) if isinstance(each, Configured) else joined
        state, step = joined.step(joined.fitted(state), each, now)
        if step is not None:
            writer.submit("t", step, state, None)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    return store, state


@pytest.mark.parametrize("seed", range(3))
async def test_the_journal_of_two_devices_is_recomputed_without_a_difference(tmp_path: Path, seed: int) -> None:
    """Recomputation gives no difference, also if a shuffler is added and removed during the record."""
    without_shuffler = Configured('{"shuffled":false}', ENGINE, "0.0")
    incoming: Inputs = [(without_shuffler, at(-2000)), (LinkUp(SHOE_PORT), at(-1000))]
    incoming += [*traffic(seed), (without_shuffler, at(900_000))]
    store, state = await record(tmp_path, incoming)
    with closing(store.read()) as reader:
        assert list(rehearse(reader, "t", engine_for)) == list(decode_again(reader, "t", engine_for)) == []
        assert rebuild(reader, "t", engine_for) == state


async def test_bytes_are_shown_with_the_device_that_sent_or_received_them(tmp_path: Path) -> None:
    """The lines of a shoe do not name it."""
    incoming: Inputs = [(CONFIGURED, at(0)), (LinkUp(SHOE_PORT), at(1)), (UP, at(2)), (Ordered(LOCK), at(3))]
    incoming += [(Received(b"\x05"), at(4)), (says(FAULT), at(5))]
    store, _ = await record(tmp_path, incoming)
    with closing(store.read()) as reader:
        lines = [line.strip() for step, events in steps(reader, "t", 4, 9) for line in row_lines("t", step, events)]
    assert "sent: 02 4f 50 4c 4b 30 32 03 31 42" in lines
    assert "received: 05" in lines
    assert f"received from the shuffler: {says(FAULT).data.hex(' ')}" in lines
    assert f"sent to the shuffler: {b'heard 1'.hex(' ')}" in lines
