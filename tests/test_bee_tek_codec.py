"""Bee-Tek lines: the literal text of the page, and what can become of it on the way."""

import re
from pathlib import Path
from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocols import bee_tek
from firmware_protocols.bee_tek import (
    FAMILY,
    Alarm,
    BeeTekSettings,
    BurnCard,
    Caution,
    Face,
    FailedRead,
    GameCard,
    ManualBurn,
    Mode,
    NoFace,
    Report,
    Suit,
    orders,
    page,
    reports,
)
from firmware_protocols.family import Line, Malformed, Reason, declared
from shoed import wire
from shoed.now import Chunk, Now
from shoed.wire import Frame, LineState, Rejected

AT: Final = Now(1_700_000_000_000_000, 5_000_000_000)
SHOE: Final = reports(BeeTekSettings())

CASES: Final[list[tuple[str, Report]]] = [
    ("[Game]<Card:4S>", GameCard(Face(4, Suit.SPADES))),
    ("[Game]<Card:10H>", GameCard(Face(10, Suit.HEARTS))),
    ("[Game]<Card:TH>", GameCard(Face(10, Suit.HEARTS))),
    ("[Game]<Card:1X>", GameCard(NoFace("1X"))),
    ("[Manual Burn Cards]<Card:QD>", BurnCard(Face(12, Suit.DIAMONDS))),
    ("[Manual Burn Cards]<Card:??>", BurnCard(NoFace("??"))),
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
# Nothing in it is printable, and a CR or an LF alone is as lost as anything.
JUNK: Final = b"\xff\r\n\x00\x8d\n"

every_case = pytest.mark.parametrize(("text", "message"), CASES, ids=[text for text, _ in CASES])


def line(text: str) -> bytes:
    return text.encode() + b"\r\n"


def hear(*pieces: bytes) -> list[Frame[Report] | Rejected]:
    """All that comes of these pieces, the link closed after them."""
    state, heard = LineState(), list[Frame[Report] | Rejected]()
    for piece in pieces:
        state, found = wire.receive(SHOE, state, Chunk(piece, AT))
        heard += found
    return heard + list(wire.end(SHOE, state, AT)[1])


def outcome(heard: list[Frame[Report] | Rejected]) -> list[tuple[bytes, object]]:
    """The bytes of each result, with its message or its reason."""
    return [(each.raw, each.message if isinstance(each, Frame) else each.reason) for each in heard]


def test_every_message_has_a_literal_case() -> None:
    """No kind of line goes untried."""
    assert {type(message) for _, message in CASES} == set(get_args(Report))


@every_case
def test_a_line_says_its_message(text: str, message: Report) -> None:
    """A whole line is its message, with its bytes, its place and its time."""
    assert hear(line(text)) == [Frame(line(text), 0, AT, message)]


@every_case
def test_a_line_may_come_in_pieces(text: str, message: Report) -> None:
    """Byte by byte, or cut in two anywhere, it is the same line."""
    raw = line(text)
    expected = [Frame(raw, 0, AT, message)]
    assert hear(*(bytes((byte,)) for byte in raw)) == expected
    for cut in range(len(raw) + 1):
        assert hear(raw[:cut], raw[cut:]) == expected


@every_case
def test_a_line_stands_out_from_junk(text: str, message: Report) -> None:
    """Junk before and after a line is rejected, and the line is heard at its place."""
    before, frame, after = hear(JUNK + line(text) + JUNK)
    assert frame == Frame(line(text), len(JUNK), AT, message)
    assert outcome([before, after]) == [(JUNK, Reason.JUNK)] * 2


@every_case
def test_a_flipped_bit_makes_one_line_at_most(text: str, message: Report) -> None:
    """There is no check: it may be read as another message, never as the same one, and no byte is lost."""
    raw = line(text)
    for at in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[at] ^= 1 << bit
            heard = hear(bytes(flipped))
            assert b"".join(each.raw for each in heard) == flipped
            frames = [each.message for each in heard if isinstance(each, Frame)]
            assert len(frames) <= 1
            # Hex digits may be in either case.
            assert message not in frames or (text[0] == "<" and raw[at : at + 1].isalpha())


@every_case
def test_the_next_line_is_heard_unless_its_beginning_is_joined_to_the_last(text: str, message: Report) -> None:
    """A flipped bit costs one line; in an LF it may cost two, and then both are rejected as one."""
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
@pytest.mark.parametrize(("before", "behind"), [(" ", " "), (" ", ""), ("", " "), ("   ", "  ")])
def test_blanks_around_a_line_mean_nothing(before: str, behind: str, text: str, message: Report) -> None:
    """Public programs expect them, or strip them; the bytes are kept with them."""
    raw = line(before + text + behind)
    assert hear(raw) == hear(*(bytes((byte,)) for byte in raw)) == [Frame(raw, 0, AT, message)]


def test_every_card_has_its_text() -> None:
    """The rank and then the suit: 52 faces, and the ten in both ways."""
    heard = [
        hear(line(f"[Game]<Card:{rank}{suit}>"))[0] for rank in ("A", *"23456789", "10", "T", *"JQK") for suit in "SHDC"
    ]
    cards = [each.message.card for each in heard if isinstance(each, Frame) and isinstance(each.message, GameCard)]
    ranks = (*range(1, 11), 10, 11, 12, 13)
    suits = (Suit.SPADES, Suit.HEARTS, Suit.DIAMONDS, Suit.CLUBS)
    assert cards == [Face(rank, suit) for rank in ranks for suit in suits]


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_line_is_kept_whole(text: str) -> None:
    """It is reported with all its bytes, and nothing in it is believed."""
    assert outcome(hear(line(text))) == [(line(text), Reason.UNKNOWN_COMMAND)]


def test_an_unknown_line_is_shown_to_the_operator() -> None:
    """The reason holds its text."""
    said = SHOE.read(line("[Result]<Banker>"))
    assert isinstance(said, Malformed)
    assert "'[Result]<Banker>'" in said.detail


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
def test_what_is_no_line_is_rejected_for_its_reason(raw: bytes, expected: list[Reason]) -> None:
    """And every byte of it is kept."""
    heard = hear(raw)
    assert [each.reason for each in heard if isinstance(each, Rejected)] == expected
    assert b"".join(each.raw for each in heard) == raw


@given(st.binary(max_size=300), st.data())
def test_no_byte_is_lost_however_it_comes(data: bytes, draw: st.DataObject) -> None:
    """Any bytes, cut anywhere, come out once and in order, and give what they give in one piece."""
    cut = draw.draw(st.integers(0, len(data)))
    assert b"".join(each.raw for each in hear(data)) == data
    assert outcome(hear(data[:cut], data[cut:])) == outcome(hear(data))


def test_no_order_is_known() -> None:
    """Whatever a host says to the shoe means nothing that we know."""
    said = orders(BeeTekSettings()).read(line("[Lock]"))
    assert isinstance(said, Malformed)
    assert said.reason is Reason.UNKNOWN_COMMAND


def test_the_family_is_declared() -> None:
    """9600 8N1, and defaults that are allowed."""
    assert (FAMILY.name, FAMILY.line, FAMILY.roles) == ("bee-tek", Line(9600), ("shoe",))
    numbers = [it for it in declared(FAMILY.settings).values() if not it.choices]
    assert [it.default for it in declared(FAMILY.settings).values() if it.choices] == [ManualBurn.BURNT]
    for it in numbers:
        assert isinstance(it.default, int)
        assert it.low is not None
        assert it.high is not None
        assert it.low <= it.default <= it.high
        assert it.reason


def test_the_page_shows_the_declared_tables() -> None:
    """PROTOCOL.md holds each table of the data once, as it is."""
    text = Path(bee_tek.__file__).with_name("PROTOCOL.md").read_text()
    blocks = re.findall(r"<!-- generated: ([\w-]+) -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert dict(blocks) == page.tables()
