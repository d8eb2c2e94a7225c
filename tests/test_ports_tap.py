"""What went over a line lately: kept both ways within bounds, and given away as a capture."""

import asyncio
from pathlib import Path
from random import Random
from typing import Final

from firmware_protocols.angel_eye import AngelEyeSettings, Span
from firmware_protocols.family import Line
from shoed.now import Chunk, Now
from shoed.ports.address import ReplayAddress
from shoed.ports.capture import Direction, parse
from shoed.ports.clock import now
from shoed.ports.kept import Device, text
from shoed.ports.link import Link, keep_open
from shoed.ports.tap import FROM_DEVICE, HALF_BYTES, HALF_US, REMARK, TO_DEVICE, Ring, Tap
from tests.links import PATIENCE_S

DEVICE: Final = Device("angel-eye", "ii-ex", Line(4800), AngelEyeSettings())
HOUR: Final = 2 * HALF_US // 1_000_000


def at(seconds: float) -> Now:
    return Now(1_700_000_000_000_000 + round(seconds * 1e6), 5_000_000_000 + round(seconds * 1e9))


def capture(ring: Ring, seconds: float) -> list[tuple[float, str, bytes]]:
    found = parse(text(ring.kept(), DEVICE, "a note", at(seconds)), "kept")
    return [(record.at_us / 1e6, record.direction.value, record.data) for record in found.records]


def test_both_directions_are_kept_in_the_order_of_the_clock() -> None:
    """What came is kept when it is taken, which may be after something was sent; the times count from the first."""
    ring = Ring()
    ring.put(at(10), FROM_DEVICE, b"\x05")
    ring.put(at(12.5), TO_DEVICE, b"\x02OP")
    ring.put(at(12.25), FROM_DEVICE, b"1D")
    assert capture(ring, 20) == [(0, "<", b"\x05"), (2.25, "<", b"1D"), (2.5, ">", b"\x02OP")]


def test_the_capture_says_what_it_is_of() -> None:
    """Family, firmware, line, when its first record was on the wall's clock, the settings that are not the custom."""
    ring = Ring()
    ring.put(at(10), FROM_DEVICE, b"\x05")
    device = Device("angel-eye", "ii-ex", Line(9600), AngelEyeSettings(bcc_span=Span.WHOLE, copies=1))
    header = parse(text(ring.kept(), device, "a note", at(60)), "kept").header
    assert (header.family, header.firmware, str(header.line), header.note) == (
        "angel-eye",
        "ii-ex",
        "9600 8N1",
        "a note",
    )
    assert header.started is not None
    assert header.started.timestamp() == at(10).utc_us / 1e6
    assert header.others == (("settings", "bcc_span=whole copies=1"),)


def test_what_became_of_the_link_is_a_comment() -> None:
    """People read it, and whoever plays the capture is not misled."""
    ring = Ring()
    ring.put(at(0), REMARK, b"the link is open")
    ring.put(at(1), FROM_DEVICE, b"\x05")
    assert "\n# 0.000000 the link is open\n1.000000 < 05\n" in text(ring.kept(), DEVICE, "a note", at(2))


def test_an_empty_ring_is_an_empty_capture() -> None:
    """Which can be read like any other."""
    assert capture(Ring(), 5) == []


def test_the_last_of_any_traffic_is_kept_and_memory_is_bounded() -> None:
    """Byte by byte or in large pieces: half of the room or more is the latest, without a gap."""
    dice, ring, sent = Random(5), Ring(), bytearray()
    for number in range(60_000):
        data = dice.randbytes(1 if number % 100 else 200)
        sent += data
        ring.put(at(number / 1000), FROM_DEVICE, data)
        assert len(ring.older) + len(ring.newer) < 2 * (HALF_BYTES + 300)
    kept = b"".join(data for _, _, data in capture(ring, 60))
    assert sent.endswith(kept)
    assert len(kept) > HALF_BYTES / 20


def test_nothing_older_than_an_hour_is_given_away() -> None:
    """Also where nothing came since, and where a trickle would fill no half of the ring in a week."""
    ring = Ring()
    ring.put(at(0), FROM_DEVICE, b"old")
    assert capture(ring, HOUR - 1) == [(0, "<", b"old")]
    assert capture(ring, HOUR + 1) == []
    for number in range(1, 50):
        ring.put(at(number * HOUR / 4), FROM_DEVICE, b"new")
    assert len(ring.kept()) < 10 * 20
    assert 2 <= len(capture(ring, 49 * HOUR / 4)) <= 4


class Listener:
    """Answers what it hears, once."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.told: list[str] = []
        self.heard = asyncio.Event()

    async def opened(self, link: Link) -> None:
        self.link = link
        self.told.append("opened")

    async def received(self, chunk: Chunk) -> None:
        self.told.append(chunk.data.hex())
        assert self.link is not None
        self.link.send(b"\x06")
        self.heard.set()

    async def closed(self, reason: str) -> None:
        self.told.append(reason)

    async def refused(self, reason: str) -> None:
        self.told.append(reason)
        self.heard.set()


async def listened(path: Path, ring: Ring) -> list[str]:
    listener = Listener()
    port = asyncio.create_task(keep_open(ReplayAddress(str(path)), Line(4800), Tap(listener, ring), rng=Random(1)))
    async with asyncio.timeout(PATIENCE_S):
        await listener.heard.wait()
    port.cancel()
    await asyncio.gather(port, return_exceptions=True)
    return listener.told


async def test_a_tap_hands_everything_on_and_keeps_it(tmp_path: Path) -> None:
    """What comes, what is sent over the link that it hands on, and that the link opened and closed."""
    path, ring = tmp_path / "one.capture", Ring()
    records = "0.000000 < 05 31\n3600.000000 < 44\n"
    path.write_text(f"shoed-capture 1\nfamily angel-eye\nfirmware ii-ex\nline 4800 8N1\n\n{records}")
    assert await listened(path, ring) == ["opened", "0531", "shoed stopped"]
    kept = text(ring.kept(), DEVICE, "a note", now())
    said = [(record.direction, record.data) for record in parse(kept, "kept").records]
    assert said == [(Direction.FROM_DEVICE, b"\x05\x31"), (Direction.TO_DEVICE, b"\x06")]
    assert kept.index("the link is open") < kept.index("05 31") < kept.index("the link is closed: shoed stopped")


async def test_a_port_that_cannot_be_opened_is_told_as_before(tmp_path: Path) -> None:
    """And leaves nothing: the events of the table say it."""
    ring = Ring()
    (told,) = await listened(tmp_path / "none", ring)
    assert "check the path" in told
    assert ring.kept() == b""
