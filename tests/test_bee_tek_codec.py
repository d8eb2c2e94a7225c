"""Bee-Tek lines: the literal text of the protocol page, and its damage on the line."""

import re
from pathlib import Path
from typing import Final, get_args

import pytest

from docs import bee_tek_page
from firmware_protocols import bee_tek
from firmware_protocols.bee_tek import (
    FAMILY,
    Alarm,
    BeeTekFace,
    BeeTekNoFace,
    BeeTekReport,
    BeeTekSettings,
    BeeTekSuit,
    BurnCard,
    Caution,
    FailedRead,
    GameCard,
    ManualBurn,
    Mode,
    orders,
    reports,
)
from firmware_protocols.family import Line, Malformed, Reason, declared
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.wire import Frame, LineState, Rejected

AT: Final = Now(1_700_000_000_000_000, 5_000_000_000)
SHOE: Final = reports(BeeTekSettings())

CASES: Final[list[tuple[str, BeeTekReport]]] = [
    ("[Game]<Card:4S>", GameCard(BeeTekFace(4, BeeTekSuit.SPADES))),
    ("[Game]<Card:10H>", GameCard(BeeTekFace(10, BeeTekSuit.HEARTS))),
    ("[Game]<Card:TH>", GameCard(BeeTekFace(10, BeeTekSuit.HEARTS))),
    ("[Game]<Card:1X>", GameCard(BeeTekNoFace("1X"))),
    ("[Manual Burn Cards]<Card:QD>", BurnCard(BeeTekFace(12, BeeTekSuit.DIAMONDS))),
    ("[Manual Burn Cards]<Card:??>", BurnCard(BeeTekNoFace("??"))),
    ("[Game]<Game>", FailedRead()),
    ("[Manual Burn Cards]<Game>", FailedRead(Mode.MANUAL_BURN)),
    ("[Manual Burn Cards]<Alarm:E3 Card Not Read>", Alarm("E3 Card Not Read", 3, Mode.MANUAL_BURN)),
    ("[Manual Burn Cards]<Alarm:Jam>", Alarm("Jam", None, Mode.MANUAL_BURN)),
    ("[Game]<Alarm:E3 Card Not Read>", Alarm("E3 Card Not Read", 3)),
    ("[Game]<Alarm:E12>", Alarm("E12", 12)),
    ("[GameAlarm]<Alarm:Door>", Alarm("Door", None)),
    ("[GameAlarm]<Alarm:E3x>", Alarm("E3x", None)),
    ("<W0x01>", Caution(1)),
    ("<W0x1f>", Caution(31)),
]
UNKNOWN: Final = [
    *("[Result]<Banker>", "[Game]", "Hello", "x[Game]<Card:4S>", "[Game]<Card:4S>x", "<Card:4S>", "4S"),
    *(
        "[game]<Card:4S>",
        "[Game]<Card:>",
        "[Game]<Card:4S><Card:5S>",
        "[Game] <Card:4S>",
        "[ Game]<Card:4S>",
        "   ",
        "<W0x1>",
        "<W0x001>",
    ),
]

every_case = pytest.mark.parametrize(("text", "message"), CASES, ids=[text for text, _ in CASES])


def line(text: str) -> bytes:
    return text.encode() + b"\r\n"


def hear(*pieces: bytes) -> list[Frame[BeeTekReport] | Rejected]:
    """Return all results of these pieces, with the link closed after them."""
    state, heard = LineState(), list[Frame[BeeTekReport] | Rejected]()
    for piece in pieces:
        state, found = wire.receive(SHOE, state, Chunk(piece, AT))
        heard += found
    return heard + list(wire.end(SHOE, state, AT)[1])


def outcome(heard: list[Frame[BeeTekReport] | Rejected]) -> list[tuple[bytes, object]]:
    """Return the bytes of each result, with its message or its reason."""
    return [(each.raw, each.message if isinstance(each, Frame) else each.reason) for each in heard]


def test_every_message_has_a_literal_case() -> None:
    """The cases have every kind of line."""
    assert {type(message) for _, message in CASES} == set(get_args(BeeTekReport))


@every_case
def test_a_line_gives_its_message(text: str, message: BeeTekReport) -> None:
    """The result is the message, with its bytes, its offset and its time."""
    assert hear(line(text)) == [Frame(line(text), 0, AT, message)]


@every_case
def test_a_flipped_bit_makes_at_most_one_line(text: str, message: BeeTekReport) -> None:
    """Without a check it may give a different message, but never the same one, and no byte is lost."""
    raw = line(text)
    for at in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[at] ^= 1 << bit
            heard = hear(bytes(flipped))
            assert b"".join(each.raw for each in heard) == flipped
            frames = [each.message for each in heard if isinstance(each, Frame)]
            assert len(frames) <= 1
            # Hex digits may have either case.
            assert message not in frames or (text[0] == "<" and raw[at : at + 1].isalpha())


@every_case
def test_the_next_line_is_read_unless_it_is_joined_to_the_damaged_line(text: str, message: BeeTekReport) -> None:
    """A flipped bit costs one line. A flipped bit in an LF may cost two lines, which are rejected as one."""
    raw = line(text)
    for at in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[at] ^= 1 << bit
            last = hear(bytes(flipped) + raw)[-1]
            if at == len(raw) - 1 and flipped[at] >= 0x20:
                assert outcome([last]) == [(bytes(flipped) + raw, Reason.MALFORMED)]
            else:
                assert last == Frame(raw, len(raw), AT, message)


@every_case
@pytest.mark.parametrize(("before", "after"), [(" ", " "), (" ", ""), ("", " "), ("   ", "  ")])
def test_blanks_around_a_line_have_no_meaning(before: str, after: str, text: str, message: BeeTekReport) -> None:
    """Some public programs expect them, and others strip them; the bytes are kept with them."""
    raw = line(before + text + after)
    assert hear(raw) == hear(*(bytes((byte,)) for byte in raw)) == [Frame(raw, 0, AT, message)]


def test_every_card_has_its_text() -> None:
    """The text is the rank and then the suit: 52 faces, and the ten in both forms."""
    heard = [
        hear(line(f"[Game]<Card:{rank}{suit}>"))[0] for rank in ("A", *"23456789", "10", "T", *"JQK") for suit in "SHDC"
    ]
    cards = [each.message.card for each in heard if isinstance(each, Frame) and isinstance(each.message, GameCard)]
    ranks = (*range(1, 11), 10, 11, 12, 13)
    suits = (BeeTekSuit.SPADES, BeeTekSuit.HEARTS, BeeTekSuit.DIAMONDS, BeeTekSuit.CLUBS)
    assert cards == [BeeTekFace(rank, suit) for rank in ranks for suit in suits]


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_line_is_kept_complete(text: str) -> None:
    """It is recorded with all its bytes, and no part of it is used."""
    assert outcome(hear(line(text))) == [(line(text), Reason.UNKNOWN_COMMAND)]


def test_the_detail_shows_an_unknown_line() -> None:
    """The detail has its text."""
    result = SHOE.read(line("[Result]<Banker>"))
    assert isinstance(result, Malformed)
    assert "'[Result]<Banker>'" in result.detail


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"[Game]<Game>\n", [Reason.MALFORMED]),
        (b"[Game]\r<Game>\r\n", [Reason.MALFORMED]),
        (b"[Game]<Alarm:\xe9>\r\n", [Reason.MALFORMED]),
        (b"[Game]<Ga\x00me>\r\n", [Reason.TORN, Reason.UNKNOWN_COMMAND]),
        (b"[Game]<Game>", [Reason.TORN]),
        (b"\r\n", [Reason.JUNK]),
        (b"x" * 124 + b"\r\n", [Reason.UNKNOWN_COMMAND]),
        (b"x" * 125 + b"\r\n", [Reason.OVER_LONG, Reason.JUNK]),
    ],
)
def test_bytes_that_are_not_a_line_are_rejected_with_a_reason(raw: bytes, expected: list[Reason]) -> None:
    """Every byte of them is kept."""
    heard = hear(raw)
    assert [each.reason for each in heard if isinstance(each, Rejected)] == expected
    assert b"".join(each.raw for each in heard) == raw


def test_no_order_is_known() -> None:
    """Any bytes of a host to the shoe are rejected."""
    result = orders(BeeTekSettings()).read(line("[Lock]"))
    assert isinstance(result, Malformed)
    assert result.reason is Reason.UNKNOWN_COMMAND


def test_the_family_is_declared() -> None:
    """9600 8N1, one role, and one setting with choices."""
    assert (FAMILY.name, FAMILY.line, FAMILY.roles) == ("bee-tek", Line(9600), ("shoe",))
    assert [it.default for it in declared(FAMILY.settings).values() if it.choices] == [ManualBurn.BURNT]


def test_the_page_shows_the_declared_tables() -> None:
    """PROTOCOL.md contains each table of the data once, without a difference."""
    text = Path(bee_tek.__file__).with_name("PROTOCOL.md").read_text()
    blocks = re.findall(r"<!-- generated: ([\w-]+) -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert dict(blocks) == bee_tek_page.tables()
