"""A scanner's reports: the literal bytes of a boot keyboard, and what can become of them on the way."""

import re
from pathlib import Path
from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocols import scanner
from firmware_protocols.family import Malformed, Reason, declared
from firmware_protocols.scanner import (
    FAILURES,
    FAMILY,
    PLAIN,
    SHIFTED,
    Failed,
    Failure,
    Held,
    Report,
    ScannerSettings,
    build,
    orders,
    page,
    reports,
)
from shoed import wire
from shoed.now import Chunk, Now
from shoed.wire import Frame, LineState, Rejected

AT: Final = Now(1_700_000_000_000_000, 5_000_000_000)
LATER: Final = Now(1_700_000_001_000_000, 6_000_000_000)
SCANNER: Final = reports(ScannerSettings())

CASES: Final[list[tuple[str, Report]]] = [
    ("00 00 00 00 00 00 00 00", Held()),
    ("00 00 25 00 00 00 00 00", Held((0x25,))),
    ("02 00 16 00 00 00 00 00", Held((0x16,), shift=True)),
    ("20 00 16 00 00 00 00 00", Held((0x16,), shift=True)),
    ("22 00 00 00 00 00 00 00", Held(shift=True)),
    ("01 00 16 00 00 00 00 00", Held((0x16,), command=True)),
    ("42 00 16 00 00 00 00 00", Held((0x16,), shift=True, command=True)),
    ("00 00 00 04 00 00 28 00", Held((0x04, 0x28))),
    ("00 00 04 05 06 07 08 09", Held((0x04, 0x05, 0x06, 0x07, 0x08, 0x09))),
    ("00 00 01 01 01 01 01 01", Failed(Failure.ROLL_OVER)),
    ("02 00 01 01 01 01 01 01", Failed(Failure.ROLL_OVER)),
    ("00 00 02 02 02 02 02 02", Failed(Failure.POST)),
    ("00 00 03 03 03 03 03 03", Failed(Failure.UNDEFINED)),
]
IMPOSSIBLE: Final = {
    "00 25 00 00 00 00 00 00": "the second byte is 25",
    "00 00 01 00 00 00 00 00": "an error stands in all six places",
    "00 00 01 01 01 01 01 02": "an error stands in all six places",
    "00 00 04 04 00 00 00 00": "a key is down once",
}
JUNK: Final = b"\x02\x00\x04"  # less than a report, so that only time tells it from one

every_case = pytest.mark.parametrize(("text", "message"), CASES, ids=[text for text, _ in CASES])


def hear(*pieces: bytes) -> list[Frame[Report] | Rejected]:
    """All that comes of these pieces, the link closed after them."""
    state, heard = LineState(), list[Frame[Report] | Rejected]()
    for piece in pieces:
        state, found = wire.receive(SCANNER, state, Chunk(piece, AT))
        heard += found
    return heard + list(wire.end(SCANNER, state, AT)[1])


def outcome(heard: list[Frame[Report] | Rejected]) -> list[tuple[bytes, object]]:
    """The bytes of each result, with its message or its reason."""
    return [(each.raw, each.message if isinstance(each, Frame) else each.reason) for each in heard]


def test_every_message_has_a_literal_case() -> None:
    """No kind of report and no error goes untried."""
    assert {type(message) for _, message in CASES} == set(get_args(Report))
    assert {message.failure for _, message in CASES if isinstance(message, Failed)} == {it.name for it in FAILURES}


@every_case
def test_a_report_says_its_message(text: str, message: Report) -> None:
    """Eight bytes are its message, with their place and their time."""
    raw = bytes.fromhex(text)
    assert hear(raw) == [Frame(raw, 0, AT, message)]


@every_case
def test_reports_may_be_split_and_joined(text: str, message: Report) -> None:
    """Byte by byte, cut in two anywhere, or three at once: they are the same reports."""
    raw = bytes.fromhex(text)
    expected = [Frame(raw, 0, AT, message)]
    assert hear(*(bytes((byte,)) for byte in raw)) == expected
    for cut in range(len(raw) + 1):
        assert hear(raw[:cut], raw[cut:]) == expected
    assert hear(raw * 3) == [Frame(raw, offset, AT, message) for offset in (0, 8, 16)]


@every_case
def test_a_report_is_heard_before_and_after_lost_bytes(text: str, message: Report) -> None:
    """What is left of a report is given up after the silence, and the next one begins afresh."""
    raw = bytes.fromhex(text)
    state, (before,) = wire.receive(SCANNER, LineState(), Chunk(raw + JUNK, AT))
    assert before == Frame(raw, 0, AT, message)
    state, (torn, after) = wire.receive(SCANNER, state, Chunk(raw, LATER))
    assert outcome([torn]) == [(JUNK, Reason.TORN)]
    assert after == Frame(raw, 8 + len(JUNK), LATER, message)
    assert state.pending == b""


@every_case
def test_a_flipped_bit_is_another_report_or_none(text: str, message: Report) -> None:
    """There is no check: it is read as what it says now, and only the two sides of Shift are the same."""
    raw = bytes.fromhex(text)
    for at in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[at] ^= 1 << bit
            (heard,) = hear(bytes(flipped))
            assert heard.raw == flipped
            if isinstance(heard, Frame) and heard.message == message:
                assert at == 0
                assert isinstance(message, Failed) or bool(raw[0] & 0x22) == bool(flipped[0] & 0x22)


@pytest.mark.parametrize("message", [message for _, message in CASES])
def test_a_message_is_built_as_it_is_read(message: Report) -> None:
    """The left one of two keys that mean the same, and keys from the first place on."""
    assert hear(build(message)) == [Frame(build(message), 0, AT, message)]
    assert build(Held((0x16,), shift=True)) == bytes.fromhex("02 00 16 00 00 00 00 00")


@pytest.mark.parametrize(("text", "detail"), IMPOSSIBLE.items())
def test_what_cannot_be_is_malformed(text: str, detail: str) -> None:
    """With the reason in words."""
    said = SCANNER.read(bytes.fromhex(text))
    assert isinstance(said, Malformed)
    assert said.reason is Reason.MALFORMED
    assert said.detail.startswith(detail)


@given(st.binary(max_size=100), st.data())
def test_no_byte_is_lost_however_it_comes(data: bytes, draw: st.DataObject) -> None:
    """Any bytes, cut anywhere, come out once and in order, and give what they give in one piece."""
    cut = draw.draw(st.integers(0, len(data)))
    assert b"".join(each.raw for each in hear(data)) == data
    assert outcome(hear(data[:cut], data[cut:])) == outcome(hear(data))


def test_every_printable_character_has_its_key() -> None:
    """All 95 of them, and no key writes two at once."""
    written = {*PLAIN.values(), *SHIFTED.values()}
    assert written == {chr(code) for code in range(0x20, 0x7F)}
    for pair in ("aA", "zZ", "1!", "0)", "-_", "=+", "[{", "]}", "\\|", ";:", "'\"", "`~", ",<", ".>", "/?", "  "):
        usages = [usage for usage, text in PLAIN.items() if text == pair[0]]
        assert SHIFTED[usages[0]] == pair[1]


@pytest.mark.parametrize(
    ("usage", "plain", "shifted"),
    [
        *((0x04, "a", "A"), (0x1D, "z", "Z"), (0x1E, "1", "!"), (0x27, "0", ")"), (0x2C, " ", " "), (0x31, "\\", "|")),
        *((0x33, ";", ":"), (0x38, "/", "?"), (0x54, "/", "/"), (0x59, "1", "1"), (0x62, "0", "0"), (0x63, ".", ".")),
    ],
)
def test_a_key_writes_what_the_usage_tables_say(usage: int, plain: str, shifted: str) -> None:
    """The ends of each row, so that none of it is a place out."""
    assert (PLAIN[usage], SHIFTED[usage]) == (plain, shifted)


def test_no_order_is_known() -> None:
    """Whatever a host says to the scanner means nothing that we know."""
    said = orders(ScannerSettings()).read(bytes(8))
    assert isinstance(said, Malformed)
    assert said.reason is Reason.UNKNOWN_COMMAND


def test_the_family_is_declared() -> None:
    """It has no serial line, and its defaults are allowed."""
    assert (FAMILY.name, FAMILY.line, FAMILY.roles) == ("scanner", None, ("shoe",))
    for name, it in declared(FAMILY.settings).items():
        assert it.reason
        if name == "cards":
            assert (it.default, ScannerSettings().cards) == ({}, {})
            assert re.fullmatch(it.codes, "04-1 x")
            continue
        assert isinstance(it.default, int)
        assert it.low is not None
        assert it.high is not None
        assert it.low <= it.default <= it.high


def test_the_page_shows_the_declared_tables() -> None:
    """PROTOCOL.md holds each table of the data once, as it is."""
    text = Path(scanner.__file__).with_name("PROTOCOL.md").read_text()
    blocks = re.findall(r"<!-- generated: ([\w-]+) -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert dict(blocks) == page.tables()
