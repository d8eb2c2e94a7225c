"""PROTOCOL.md of Open Shoe: its tables are the declared tables, and its frames have the messages that it states."""

import re
from pathlib import Path
from typing import Final

import pytest

from docs import open_shoe_page
from firmware_protocols import open_shoe
from firmware_protocols.open_shoe import OpenShoeSettings, build, orders, reports
from firmware_protocols.open_shoe.layout import FRAME
from firmware_protocols.open_shoe.messages import (
    Alive,
    CardOrder,
    Done,
    FaultChanged,
    Hello,
    Identify,
    Inquire,
    Loaded,
    OfVendor,
    OpenShoeAcknowledge,
    OpenShoeCapability,
    OpenShoeCard,
    OpenShoeCutCard,
    OpenShoeFace,
    OpenShoeMessage,
    OpenShoeNotice,
    OpenShoeOrder,
    OpenShoePassage,
    OpenShoePlace,
    OpenShoeReport,
    OpenShoeRequest,
    OpenShoeResult,
    OpenShoeRole,
    OpenShoeStandingFault,
    OpenShoeStatus,
    OpenShoeSuit,
    OrderKind,
    Resend,
    Shuffling,
)

TEXT: Final = Path(open_shoe.__file__).with_name("PROTOCOL.md").read_text()
STREAM: Final = 0xA1B2C3D4
EIGHT: Final = OpenShoeFace(OpenShoeSuit.SPADES, 8)
ACE: Final = OpenShoeCard(OpenShoeFace(OpenShoeSuit.SPADES, 1), OpenShoePlace.DEALT, 0, 125_000, OpenShoePassage.DOUBLE)

ABILITIES: Final = OpenShoeCapability.PASSAGE | OpenShoeCapability.LOCK | OpenShoeCapability.CLEAR

# The messages of the table, row by row.
MESSAGES: Final[list[OpenShoeMessage]] = [
    OpenShoeRequest(1, Identify()),
    OpenShoeNotice(1, Hello(STREAM, OpenShoeRole.SHOE, 1, 1, "Acme", "S1", "0042", "1.0")),
    OpenShoeReport(1, 1, STREAM, 1_000_000, Loaded("No7")),
    OpenShoeReport(1, 2, STREAM, 2_000_000, OpenShoeCard(EIGHT, OpenShoePlace.PLAYER, 1, 125_000)),
    OpenShoeReport(1, 3, STREAM, 3_000_000, ACE),
    OpenShoeRequest(1, OpenShoeAcknowledge(STREAM, 2)),
    OpenShoeRequest(1, Resend(STREAM, 3)),
    OpenShoeNotice(1, Alive(STREAM, 4)),
    OpenShoeReport(1, 65535, STREAM, 4_000_000, OpenShoeCutCard()),
    OpenShoeReport(1, 1, STREAM, 5_000_000, FaultChanged(2, raised=True, blocking=True)),
    OpenShoeRequest(1, OpenShoeOrder(OrderKind.CLEAR, 2)),
    OpenShoeNotice(1, Done(OrderKind.CLEAR, 2, OpenShoeResult.DONE)),
    OpenShoeReport(2, 2, STREAM, 2_000_000, OpenShoeCard(EIGHT, OpenShoePlace.PLAYER, 1, 125_000, quality=97)),
    OpenShoeReport(
        2,
        3,
        STREAM,
        3_000_000,
        OpenShoeCard(None, OpenShoePlace.DEALT, 0, 125_000, OpenShoePassage.FOREIGN, None, 0xBEEF),
    ),
    OpenShoeReport(
        2, 1, 0xB1B2C3D4, 6_000_000, CardOrder("A7", 1, (EIGHT, None, OpenShoeFace(OpenShoeSuit.HEARTS, 10)))
    ),
    OpenShoeNotice(3, Hello(STREAM, OpenShoeRole.SHOE, 1, 1, "Acme", "S1", "0042", "1.0", 7, 500_000, 50, ABILITIES)),
    OpenShoeReport(
        3,
        1,
        STREAM,
        600_000,
        OpenShoeStatus(locked=False, set_id="No7", faults=(OpenShoeStandingFault(6, blocking=False),)),
        7,
    ),
    OpenShoeReport(3, 2, STREAM, 2_000_000, OpenShoeCard(EIGHT, OpenShoePlace.PLAYER, 1, 125_000, quality=97), 7),
    OpenShoeNotice(3, Alive(STREAM, 3, 7, 12_000_000)),
    OpenShoeRequest(3, Inquire()),
    OpenShoeReport(3, 1, 0xB1B2C3D4, 6_000_000, Shuffling("A7"), 1),
    OpenShoeReport(3, 3, STREAM, 3_000_000, OfVendor(0x50, bytes((1, 2))), 7),
]
ROWS: Final = [bytes.fromhex(row) for row in re.findall(r"^\| `(7E [0-9A-F ]+ 7F)` \|", TEXT, re.MULTILINE)]


def test_the_page_shows_the_declared_tables() -> None:
    """PROTOCOL.md contains each table of the data once, unchanged."""
    blocks = re.findall(r"<!-- generated: ([\w-]+) -->\n(.*?)\n<!-- end -->", TEXT, re.DOTALL)
    assert dict(blocks) == open_shoe_page.tables()
    assert len(blocks) == len(open_shoe_page.tables())


@pytest.mark.parametrize(
    ("raw", "message"), [pytest.param(*row, id=row[0].hex(" ")) for row in zip(ROWS, MESSAGES, strict=True)]
)
def test_every_frame_of_the_page_has_its_message(raw: bytes, message: OpenShoeMessage) -> None:
    """A vendor who copies the examples byte by byte implements our protocol."""
    direction = orders if isinstance(message, OpenShoeRequest) else reports
    assert direction(OpenShoeSettings()).read(raw) == message
    assert build(message) == raw


def test_the_frames_explained_byte_by_byte_are_in_the_table() -> None:
    """Each frame that the page explains field by field is in the table, with its CRC."""
    apart = [
        bytes.fromhex(each) for each in re.findall(r"on the line +(7E[0-9A-F\s]+7F)\n", TEXT)
    ]  # on one line or two
    assert apart == [ROWS[0], ROWS[4]]
    checks = [bytes.fromhex(each) for each in re.findall(r"^    CRC +([0-9A-F ]+)$", TEXT, re.MULTILINE)]
    assert [raw[-5:-1] for raw in apart] == checks


def test_the_limits_of_the_page_are_those_of_the_deframer() -> None:
    """A body of 512 bytes, each of them escaped, is still one frame."""
    assert "A body has at most 512 bytes before escaping" in TEXT
    assert FRAME.body_max == 2 * 512
