"""PROTOCOL.md of Open Shoe: its tables are the declared ones, and its frames are what it says they are."""

import re
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols import open_shoe
from firmware_protocols.open_shoe import OpenShoeSettings, build, orders, page, reports
from firmware_protocols.open_shoe.layout import FRAME
from firmware_protocols.open_shoe.messages import (
    Acknowledge,
    Alive,
    Capability,
    Card,
    CardOrder,
    CuttingCard,
    Done,
    Face,
    FaultChanged,
    Hello,
    Identify,
    Inquire,
    Loaded,
    Message,
    Notice,
    OfVendor,
    Order,
    OrderKind,
    Passage,
    Place,
    Report,
    Request,
    Resend,
    Result,
    Role,
    Shuffling,
    Standing,
    Status,
    Suit,
)

TEXT: Final = Path(open_shoe.__file__).with_name("PROTOCOL.md").read_text()
STREAM: Final = 0xA1B2C3D4
EIGHT: Final = Face(Suit.SPADES, 8)
ACE: Final = Card(Face(Suit.SPADES, 1), Place.DEALT, 0, 125_000, Passage.DOUBLE)

ABILITIES: Final = Capability.PASSAGE | Capability.LOCK | Capability.CLEAR

# What the page says in words, row by row.
SAID: Final[list[Message]] = [
    Request(1, Identify()),
    Notice(1, Hello(STREAM, Role.SHOE, 1, 1, "Acme", "S1", "0042", "1.0")),
    Report(1, 1, STREAM, 1_000_000, Loaded("No7")),
    Report(1, 2, STREAM, 2_000_000, Card(EIGHT, Place.PLAYER, 1, 125_000)),
    Report(1, 3, STREAM, 3_000_000, ACE),
    Request(1, Acknowledge(STREAM, 2)),
    Request(1, Resend(STREAM, 3)),
    Notice(1, Alive(STREAM, 4)),
    Report(1, 65535, STREAM, 4_000_000, CuttingCard()),
    Report(1, 1, STREAM, 5_000_000, FaultChanged(2, raised=True, blocking=True)),
    Request(1, Order(OrderKind.CLEAR, 2)),
    Notice(1, Done(OrderKind.CLEAR, 2, Result.DONE)),
    Report(2, 2, STREAM, 2_000_000, Card(EIGHT, Place.PLAYER, 1, 125_000, quality=97)),
    Report(2, 3, STREAM, 3_000_000, Card(None, Place.DEALT, 0, 125_000, Passage.FOREIGN, None, 0xBEEF)),
    Report(2, 1, 0xB1B2C3D4, 6_000_000, CardOrder("A7", 1, (EIGHT, None, Face(Suit.HEARTS, 10)))),
    Notice(3, Hello(STREAM, Role.SHOE, 1, 1, "Acme", "S1", "0042", "1.0", 7, 500_000, 50, ABILITIES)),
    Report(3, 1, STREAM, 600_000, Status(locked=False, set_id="No7", faults=(Standing(6, blocking=False),)), 7),
    Report(3, 2, STREAM, 2_000_000, Card(EIGHT, Place.PLAYER, 1, 125_000, quality=97), 7),
    Notice(3, Alive(STREAM, 3, 7, 12_000_000)),
    Request(3, Inquire()),
    Report(3, 1, 0xB1B2C3D4, 6_000_000, Shuffling("A7"), 1),
    Report(3, 3, STREAM, 3_000_000, OfVendor(0x50, bytes((1, 2))), 7),
]
ROWS: Final = [bytes.fromhex(row) for row in re.findall(r"^\| `(7E [0-9A-F ]+ 7F)` \|", TEXT, re.MULTILINE)]


def test_the_page_shows_the_declared_tables() -> None:
    """PROTOCOL.md holds each table of the data once, as it is."""
    blocks = re.findall(r"<!-- generated: ([\w-]+) -->\n(.*?)\n<!-- end -->", TEXT, re.DOTALL)
    assert dict(blocks) == page.tables()
    assert len(blocks) == len(page.tables())


@pytest.mark.parametrize(
    ("raw", "said"), [pytest.param(*row, id=row[0].hex(" ")) for row in zip(ROWS, SAID, strict=True)]
)
def test_every_frame_of_the_page_says_what_the_page_says(raw: bytes, said: Message) -> None:
    """A stranger who follows the examples byte by byte speaks our protocol."""
    direction = orders if isinstance(said, Request) else reports
    assert direction(OpenShoeSettings()).read(raw) == said
    assert build(said) == raw


def test_the_frames_that_are_taken_apart_are_those_of_the_table() -> None:
    """What is explained by hand, field by field, is a frame of the table, and its CRC stands in it."""
    apart = [
        bytes.fromhex(each) for each in re.findall(r"on the line +(7E[0-9A-F\s]+7F)\n", TEXT)
    ]  # over one line or two
    assert apart == [ROWS[0], ROWS[4]]
    checks = [bytes.fromhex(each) for each in re.findall(r"^    CRC +([0-9A-F ]+)$", TEXT, re.MULTILINE)]
    assert [raw[-5:-1] for raw in apart] == checks


def test_the_bounds_of_the_page_are_those_of_the_deframer() -> None:
    """A body of 512 bytes, each of them escaped, is still one frame."""
    assert "A body has at most 512 bytes before escaping" in TEXT
    assert FRAME.body_max == 2 * 512
