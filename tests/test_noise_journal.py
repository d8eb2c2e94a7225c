"""A noisy line on record: bytes that were not kept leave no gap in a replay."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from firmware_protocols.family import Reason
from shoed.engine import ENGINE
from shoed.journal import Store, Writer
from shoed.journal.replay import decode_again, rebuild, rehearse
from shoed.journal.restore import restore
from shoed.model.noise_budget import LIMIT_BYTES
from shoed.model.observations import Device
from shoed.model.step import BytesRefused, LinkDown, LinkUp
from tests.angel_eye_line import PORT, card_report
from tests.patience import PATIENCE_S
from tests.test_noise import HOUR_MS, JUNK, Line, engine, noise


@pytest.mark.parametrize("noisy", Device)
async def test_a_noisy_record_can_be_replayed(tmp_path: Path, noisy: Device) -> None:
    """The source is the observations, and the bytes if they are kept; the last state equals the checkpoint."""
    line = Line()
    line.say(noise(LIMIT_BYTES // 2) + JUNK * LIMIT_BYTES, noisy)
    line.say(card_report("1", "P1", "8S"))
    for each in range(LIMIT_BYTES // 200):
        line.take(BytesRefused(each.to_bytes(100, "big"), Reason.NOT_AUTHENTIC, "a copy", device=noisy))
    line.take(LinkDown("gone", device=noisy))
    line.take(LinkUp(PORT, device=noisy))
    line.say(JUNK * LIMIT_BYTES, noisy)
    line.wait(line.ms + HOUR_MS)
    line.say(card_report("2", "B1", "3H") + b"\x05" * 5000, noisy)
    line.wait(line.ms + 20_000)
    store = Store(tmp_path)
    writer = Writer(store, ENGINE)
    for step, state in line.steps:
        writer.submit("t", step, state, None)
        await asyncio.sleep(0)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    with closing(store.read()) as reader:
        assert list(rehearse(reader, "t", engine)) == []
        assert list(decode_again(reader, "t", engine)) == []
        again = rebuild(reader, "t", engine)
        assert again == restore(reader, "t", line.engine, engine).state == line.state
        ((stored,),) = reader.rows("SELECT sum(length(bytes)) FROM step")
    assert stored < LIMIT_BYTES // 2 + LIMIT_BYTES // 20
