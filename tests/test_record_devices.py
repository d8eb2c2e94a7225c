"""The record of a table with a shoe and a shuffler: it comes out again, and shows which was which."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import pytest

from shoed.engine import ENGINE, Engine, EngineState
from shoed.journal import Store, Writer
from shoed.journal.replay import decode_again, rebuild, rehearse
from shoed.record import told as shown
from shoed.session import SessionState
from shoed.step import Configured, LinkUp, Ordered, Received
from tests.angel_eye_line import CONFIGURED, Came, at
from tests.angel_eye_line import PORT as SHOE_PORT
from tests.shuffler import UP, says
from tests.test_engine_devices import FAULT, LOCK, engine, traffic

PATIENCE_S: Final = 30


def engine_for(settings: str) -> Engine[SessionState]:
    return engine(shuffled=msgspec.json.decode(settings, type=dict[str, bool]).get("shuffled", True))


async def record(folder: Path, came: Came) -> tuple[Store, EngineState[SessionState]]:
    store = Store(folder)
    writer, joined = Writer(store, ENGINE), engine()
    state = joined.begin()
    for each, now in came:
        joined = engine_for(each.settings) if isinstance(each, Configured) else joined
        state, step = joined.step(joined.suited(state), each, now)
        if step is not None:
            writer.submit("t", step, state, None)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    return store, state


@pytest.mark.parametrize("seed", range(3))
async def test_the_record_of_two_devices_gives_the_same_again(tmp_path: Path, seed: int) -> None:
    """From observations and from bytes; also where the table had no shuffler at first, and has none at last."""
    none = Configured('{"shuffled":false}', ENGINE, "0.0")
    came: Came = [(none, at(-2000)), (LinkUp(SHOE_PORT), at(-1000)), *traffic(seed), (none, at(900_000))]
    store, state = await record(tmp_path, came)
    with closing(store.read()) as reader:
        assert list(rehearse(reader, "t", engine_for)) == list(decode_again(reader, "t", engine_for)) == []
        assert rebuild(reader, "t", engine_for) == state


async def test_bytes_are_shown_with_the_device_that_they_came_from_and_left_for(tmp_path: Path) -> None:
    """Where it is the shoe, nothing is said of it."""
    came: Came = [(CONFIGURED, at(0)), (LinkUp(SHOE_PORT), at(1)), (UP, at(2)), (Ordered(LOCK), at(3))]
    came += [(Received(b"\x05"), at(4)), (says(FAULT), at(5))]
    store, _ = await record(tmp_path, came)
    with closing(store.read()) as reader:
        lines = [line.strip() for step in reader.step("t", 4, 9) for line in shown(reader, "t", step)]
    assert "sent: 02 4f 50 4c 4b 30 32 03 31 42" in lines
    assert "came: 05" in lines
    assert f"came from the shuffler: {says(FAULT).data.hex(' ')}" in lines
    assert f"sent to the shuffler: {b'heard 1'.hex(' ')}" in lines
