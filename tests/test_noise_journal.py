"""A noisy line on record: what was not kept leaves no hole in what is folded again."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from firmware_protocols.family import Reason
from shoed.engine import ENGINE
from shoed.journal import Store, Writer
from shoed.journal.replay import decode_again, rebuild, rehearse
from shoed.kept import BOUND
from shoed.observations import Device
from shoed.step import BytesRefused, LinkDown, LinkUp
from tests.angel_eye_line import PORT, card_report
from tests.test_noise import HOUR_MS, JUNK, Line, engine, noise


@pytest.mark.parametrize("noisy", Device)
async def test_a_noisy_record_comes_out_again(tmp_path: Path, noisy: Device) -> None:
    """From the observations, and from the bytes where they are kept; the last state is that of the checkpoint."""
    line = Line()
    line.say(noise(BOUND // 2) + JUNK * BOUND, noisy)
    line.say(card_report("1", "P1", "8S"))
    for each in range(BOUND // 200):
        line.take(BytesRefused(each.to_bytes(100, "big"), Reason.NOT_AUTHENTIC, "a copy", device=noisy))
    line.take(LinkDown("gone", device=noisy))
    line.take(LinkUp(PORT, device=noisy))
    line.say(JUNK * BOUND, noisy)
    line.wait(line.ms + HOUR_MS)
    line.say(card_report("2", "B1", "3H") + b"\x05" * 5000, noisy)
    line.wait(line.ms + 20_000)
    store = Store(tmp_path)
    writer = Writer(store, ENGINE)
    for step, state in line.steps:
        writer.submit("t", step, state, None)
        await asyncio.sleep(0)
    await asyncio.wait_for(writer.close(), 20)
    with closing(store.read()) as reader:
        assert list(rehearse(reader, "t", engine)) == []
        assert list(decode_again(reader, "t", engine)) == []
        again = rebuild(reader, "t", engine)
        checkpoint = reader.checkpoint("t")
        assert checkpoint is not None
        assert again == line.engine.restore(checkpoint.state) == line.state
        ((stored,),) = reader.rows("SELECT sum(length(bytes)) FROM step")
    assert stored < BOUND // 2 + BOUND // 20
