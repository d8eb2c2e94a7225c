"""The recorder of recent traffic: both directions, bounded memory, and the text of a capture."""

import asyncio
from pathlib import Path
from random import Random
from typing import Final

from firmware_protocols.angel_eye import AngelEyeSettings, Span
from firmware_protocols.family import Line
from shoed.model.moments import Chunk, Now
from shoed.ports.address import ReplayAddress
from shoed.ports.capture import Direction, parse
from shoed.ports.clock import now
from shoed.ports.link import Link, keep_open
from shoed.ports.recent_capture import CapturedDevice, capture_text
from shoed.ports.recorder import FROM_DEVICE, HALF_BYTES, HALF_US, REMARK, TO_DEVICE, PortRecorder, TrafficRing
from tests.patience import PATIENCE_S

DEVICE: Final = CapturedDevice("angel-eye", "ii-ex", Line(4800), AngelEyeSettings())
HOUR: Final = 2 * HALF_US // 1_000_000


def at(seconds: float) -> Now:
    return Now(1_700_000_000_000_000 + round(seconds * 1e6), 5_000_000_000 + round(seconds * 1e9))


def capture(ring: TrafficRing, seconds: float) -> list[tuple[float, str, bytes]]:
    found = parse(capture_text(ring.kept(), DEVICE, "a note", at(seconds)), "kept")
    return [(record.at_us / 1e6, record.direction.value, record.data) for record in found.records]


def test_both_directions_are_recorded_in_order_of_time() -> None:
    """Received bytes may be recorded after later sent bytes. The times of the capture start at the first record."""
    ring = TrafficRing()
    ring.put(at(10), FROM_DEVICE, b"\x05")
    ring.put(at(12.5), TO_DEVICE, b"\x02OP")
    ring.put(at(12.25), FROM_DEVICE, b"1D")
    assert capture(ring, 20) == [(0, "<", b"\x05"), (2.25, "<", b"1D"), (2.5, ">", b"\x02OP")]


def test_the_header_describes_the_device_and_the_settings() -> None:
    """It has the family, the firmware, the line, the start time, and the settings that differ from the defaults."""
    ring = TrafficRing()
    ring.put(at(10), FROM_DEVICE, b"\x05")
    device = CapturedDevice("angel-eye", "ii-ex", Line(9600), AngelEyeSettings(bcc_span=Span.WHOLE, copies=1))
    header = parse(capture_text(ring.kept(), device, "a note", at(60)), "kept").header
    assert (header.family, header.firmware, str(header.line), header.note) == (
        "angel-eye",
        "ii-ex",
        "9600 8N1",
        "a note",
    )
    assert header.started is not None
    assert header.started.timestamp() == at(10).utc_us / 1e6
    assert header.others == (("settings", "bcc_span=whole copies=1"),)


def test_changes_of_the_link_are_comments() -> None:
    """People read the comments, and a replay ignores them."""
    ring = TrafficRing()
    ring.put(at(0), REMARK, b"the link is open")
    ring.put(at(1), FROM_DEVICE, b"\x05")
    assert "\n# 0.000000 the link is open\n1.000000 < 05\n" in capture_text(ring.kept(), DEVICE, "a note", at(2))


def test_an_empty_ring_is_an_empty_capture() -> None:
    """The capture can be parsed."""
    assert capture(TrafficRing(), 5) == []


def test_the_newest_traffic_is_kept_and_memory_is_bounded() -> None:
    """With single bytes or large pieces: at least the newest half of the ring is complete."""
    dice, ring, sent = Random(5), TrafficRing(), bytearray()
    for number in range(60_000):
        data = dice.randbytes(1 if number % 100 else 200)
        sent += data
        ring.put(at(number / 1000), FROM_DEVICE, data)
        assert len(ring.older) + len(ring.newer) < 2 * (HALF_BYTES + 300)
    kept = b"".join(data for _, _, data in capture(ring, 60))
    assert sent.endswith(kept)
    assert len(kept) > HALF_BYTES / 20


def test_nothing_older_than_an_hour_is_in_the_capture() -> None:
    """The limit applies also without new traffic, and to traffic that would need a week to fill half of the ring."""
    ring = TrafficRing()
    ring.put(at(0), FROM_DEVICE, b"old")
    assert capture(ring, HOUR - 1) == [(0, "<", b"old")]
    assert capture(ring, HOUR + 1) == []
    for number in range(1, 50):
        ring.put(at(number * HOUR / 4), FROM_DEVICE, b"new")
    assert len(ring.kept()) < 10 * 20
    assert 2 <= len(capture(ring, 49 * HOUR / 4)) <= 4


class Listener:
    """Answers the first chunk."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.calls: list[str] = []
        self.heard = asyncio.Event()

    async def opened(self, link: Link) -> None:
        self.link = link
        self.calls.append("opened")

    async def room(self) -> None:
        pass

    def received(self, chunk: Chunk) -> None:
        self.calls.append(chunk.data.hex())
        assert self.link is not None
        self.link.send(b"\x06")
        self.heard.set()

    async def closed(self, reason: str) -> None:
        self.calls.append(reason)

    async def refused(self, reason: str) -> None:
        self.calls.append(reason)
        self.heard.set()


async def listened(path: Path, ring: TrafficRing) -> list[str]:
    listener = Listener()
    port = asyncio.create_task(
        keep_open(ReplayAddress(str(path)), Line(4800), PortRecorder(listener, ring), rng=Random(1))
    )
    async with asyncio.timeout(PATIENCE_S):
        await listener.heard.wait()
    port.cancel()
    await asyncio.gather(port, return_exceptions=True)
    return listener.calls


async def test_the_recorder_passes_every_call_on_and_records_the_traffic(tmp_path: Path) -> None:
    """It records received bytes, sent bytes, and the opening and closing of the link."""
    path, ring = tmp_path / "one.capture", TrafficRing()
    records = "0.000000 < 05 31\n3600.000000 < 44\n"
    path.write_text(f"shoed-capture 1\nfamily angel-eye\nfirmware ii-ex\nline 4800 8N1\n\n{records}")
    assert await listened(path, ring) == ["opened", "0531", "shoed stopped"]
    kept = capture_text(ring.kept(), DEVICE, "a note", now())
    recorded = [(record.direction, record.data) for record in parse(kept, "kept").records]
    assert recorded == [(Direction.FROM_DEVICE, b"\x05\x31"), (Direction.TO_DEVICE, b"\x06")]
    assert kept.index("the link is open") < kept.index("05 31") < kept.index("the link is closed: shoed stopped")


async def test_a_refusal_is_passed_on_and_not_recorded(tmp_path: Path) -> None:
    """The events of the table contain the refusal."""
    ring = TrafficRing()
    (reason,) = await listened(tmp_path / "none", ring)
    assert "write the path of a readable capture" in reason
    assert ring.kept() == b""
