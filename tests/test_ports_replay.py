"""Replayed captures: the chunks, their arrival, and their times."""

import asyncio
import os
from pathlib import Path

import pytest

from shoed.errors import LinkLost, PortRefused
from shoed.model.moments import Chunk
from shoed.ports.address import ReplayAddress, Speed
from shoed.ports.clock import now
from shoed.ports.replay import ReplayLink, open_replay
from tests.patience import PATIENCE_S

HEADER = "shoed-capture 1\nfamily angel-eye\nfirmware ii-ex\nline 4800 8N1\n\n"


def capture(folder: Path, records: str) -> str:
    path = folder / "one.capture"
    path.write_text(HEADER + records, encoding="utf-8")
    return str(path)


async def play(link: ReplayLink) -> tuple[list[Chunk], str]:
    """All chunks to the end, and the reason of the end."""
    chunks = []
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                chunks.append(await link.receive())
            except LinkLost as end:
                return chunks, str(end)


async def test_fast_replay_does_not_wait_and_keeps_the_spacing(tmp_path: Path) -> None:
    """An hour of recording takes no time, and the times of its chunks are an hour apart on both clocks."""
    path = capture(tmp_path, "0.000001 < 05\n0.250000 > 06\n0.250000 < 31 44\n3600.000000 < 46\n")
    before = now()
    link = await open_replay(ReplayAddress(path, Speed.FAST))
    after = now()
    chunks, end = await play(link)
    await link.close()
    assert [chunk.data for chunk in chunks] == [b"\x05", b"\x31\x44", b"\x46"]
    assert [chunk.at.utc_us - chunks[0].at.utc_us for chunk in chunks] == [0, 249_999, 3_599_999_999]
    assert [chunk.at.mono_ns - chunks[0].at.mono_ns for chunk in chunks] == [0, 249_999_000, 3_599_999_999_000]
    assert before.mono_ns <= chunks[0].at.mono_ns - 1000 <= after.mono_ns
    assert end == "capture ended"


async def test_in_real_time_a_chunk_arrives_at_its_recorded_offset(tmp_path: Path) -> None:
    """It does not arrive earlier, and its time is the time of its arrival."""
    path = capture(tmp_path, "0.000000 < 05\n0.150000 < 31\n")
    before = now()
    link = await open_replay(ReplayAddress(path))
    chunks, _ = await play(link)
    await link.close()
    assert [chunk.data for chunk in chunks] == [b"\x05", b"\x31"]
    assert chunks[1].at.mono_ns - before.mono_ns >= 150_000_000
    assert chunks[1].at.mono_ns <= now().mono_ns


async def test_a_long_capture_is_read_as_it_is_consumed(tmp_path: Path) -> None:
    """A slow consumer does not cause the whole file to be read into memory, and receives every chunk."""
    records = "".join(f"{number}.000000 < {'%02X' % (number % 256)} {'00 ' * 499}\n" for number in range(400))
    link = await open_replay(ReplayAddress(capture(tmp_path, records + "damage\n"), Speed.FAST))
    for _ in range(1000):  # the error at the end is not reached: no task receives
        await asyncio.sleep(0)
    link.send(b"an order is discarded")
    chunks, end = await play(link)
    assert [chunk.data[0] for chunk in chunks] == [number % 256 for number in range(400)]
    assert ".capture:406: " in end
    await link.close()


async def test_closing_during_the_replay_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk whose time has not been reached is not delivered later."""
    loop = asyncio.get_running_loop()
    link = await open_replay(ReplayAddress(capture(tmp_path, "9.000000 < 05\n")))
    await link.close()
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + 10)
    for _ in range(3):
        await asyncio.sleep(0)
    chunks, end = await play(link)
    assert (chunks, end) == ([], "the replay was closed")
    with pytest.raises(LinkLost, match="closed"):
        link.send(b"x")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("none", "write the path of a readable"), ("", "write the path of a capture"), ("pipe", "write the")],
)
async def test_a_path_that_is_not_a_file_is_refused(name: str, remedy: str, tmp_path: Path) -> None:
    """An absent file, a folder, and a pipe that would block are refused immediately."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PortRefused, match=f"^replay:{tmp_path}.*; {remedy}"):
        await open_replay(ReplayAddress(str(tmp_path / name)))


async def test_a_file_that_is_not_a_capture_is_refused_with_its_line(tmp_path: Path) -> None:
    """Bytes of another kind do not raise another exception."""
    path = tmp_path / "one.capture"
    for content in (b"", b"\xff\xfe\x00", b"GIF89a"):
        path.write_bytes(content)
        with pytest.raises(PortRefused, match=f"^{path}:1: .*the first line must be shoed-capture 1"):
            await open_replay(ReplayAddress(str(path)))
