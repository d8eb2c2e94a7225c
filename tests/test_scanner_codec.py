"""A scanner's reports: the literal bytes of a boot keyboard, and their damage on the line."""

import re
from pathlib import Path
from typing import Final, get_args

import pytest

from docs import scanner_page
from firmware_protocols import scanner
from firmware_protocols.family import Malformed, Reason, declared
from firmware_protocols.scanner import (
    FAILURES,
    FAMILY,
    PLAIN,
    SHIFTED,
    HeldKeys,
    ScannerFailed,
    ScannerFailure,
    ScannerReport,
    ScannerSettings,
    build,
    orders,
    reports,
)
from shoed import wire
from shoed.model.moments import Chunk, Now
from shoed.wire import Frame, LineState, Rejected

AT: Final = Now(1_700_000_000_000_000, 5_000_000_000)
SCANNER: Final = reports(ScannerSettings())

CASES: Final[list[tuple[str, ScannerReport]]] = [
    ("00 00 00 00 00 00 00 00", HeldKeys()),
    ("00 00 25 00 00 00 00 00", HeldKeys((0x25,))),
    ("02 00 16 00 00 00 00 00", HeldKeys((0x16,), shift=True)),
    ("20 00 16 00 00 00 00 00", HeldKeys((0x16,), shift=True)),
    ("22 00 00 00 00 00 00 00", HeldKeys(shift=True)),
    ("01 00 16 00 00 00 00 00", HeldKeys((0x16,), command=True)),
    ("42 00 16 00 00 00 00 00", HeldKeys((0x16,), shift=True, command=True)),
    ("00 00 00 04 00 00 28 00", HeldKeys((0x04, 0x28))),
    ("00 00 04 05 06 07 08 09", HeldKeys((0x04, 0x05, 0x06, 0x07, 0x08, 0x09))),
    ("00 00 01 01 01 01 01 01", ScannerFailed(ScannerFailure.ROLL_OVER)),
    ("02 00 01 01 01 01 01 01", ScannerFailed(ScannerFailure.ROLL_OVER)),
    ("00 00 02 02 02 02 02 02", ScannerFailed(ScannerFailure.POST)),
    ("00 00 03 03 03 03 03 03", ScannerFailed(ScannerFailure.UNDEFINED)),
]
IMPOSSIBLE: Final = {
    "00 25 00 00 00 00 00 00": "the second byte is 25",
    "00 00 01 00 00 00 00 00": "an error must occupy all six places",
    "00 00 01 01 01 01 01 02": "an error must occupy all six places",
    "00 00 04 04 00 00 00 00": "a key must not occupy two places",
}

every_case = pytest.mark.parametrize(("text", "message"), CASES, ids=[text for text, _ in CASES])


def hear(*pieces: bytes) -> list[Frame[ScannerReport] | Rejected]:
    """Return all results of these pieces, with the link closed after them."""
    state, heard = LineState(), list[Frame[ScannerReport] | Rejected]()
    for piece in pieces:
        state, found = wire.receive(SCANNER, state, Chunk(piece, AT))
        heard += found
    return heard + list(wire.end(SCANNER, state, AT)[1])


def test_every_message_has_a_literal_case() -> None:
    """The cases have every kind of report and every error."""
    assert {type(message) for _, message in CASES} == set(get_args(ScannerReport))
    assert {message.failure for _, message in CASES if isinstance(message, ScannerFailed)} == {
        it.name for it in FAILURES
    }


@every_case
def test_a_report_gives_its_message(text: str, message: ScannerReport) -> None:
    """Eight bytes give a message, with their offset and their time."""
    raw = bytes.fromhex(text)
    assert hear(raw) == [Frame(raw, 0, AT, message)]


@every_case
def test_a_flipped_bit_gives_another_report_or_none(text: str, message: ScannerReport) -> None:
    """Without a check it has the meaning of its changed bytes; only the left and the right Shift are equal."""
    raw = bytes.fromhex(text)
    for at in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[at] ^= 1 << bit
            (heard,) = hear(bytes(flipped))
            assert heard.raw == flipped
            if isinstance(heard, Frame) and heard.message == message:
                assert at == 0
                assert isinstance(message, ScannerFailed) or bool(raw[0] & 0x22) == bool(flipped[0] & 0x22)


@pytest.mark.parametrize("message", [message for _, message in CASES])
def test_a_built_message_is_read_back(message: ScannerReport) -> None:
    """The builder uses the left one of two equal keys, and the first places for keys."""
    assert hear(build(message)) == [Frame(build(message), 0, AT, message)]
    assert build(HeldKeys((0x16,), shift=True)) == bytes.fromhex("02 00 16 00 00 00 00 00")


@pytest.mark.parametrize(("text", "detail"), IMPOSSIBLE.items())
def test_an_impossible_report_is_malformed(text: str, detail: str) -> None:
    """The detail describes the reason in words."""
    result = SCANNER.read(bytes.fromhex(text))
    assert isinstance(result, Malformed)
    assert result.reason is Reason.MALFORMED
    assert result.detail.startswith(detail)


def test_every_printable_character_has_its_key() -> None:
    """No key types two of the 95 characters at once."""
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
def test_a_key_has_the_characters_of_the_usage_tables(usage: int, plain: str, shifted: str) -> None:
    """The first and the last key of each row are checked, so no row is shifted."""
    assert (PLAIN[usage], SHIFTED[usage]) == (plain, shifted)


def test_no_order_is_known() -> None:
    """Any bytes of a host to the scanner are rejected."""
    result = orders(ScannerSettings()).read(bytes(8))
    assert isinstance(result, Malformed)
    assert result.reason is Reason.UNKNOWN_COMMAND


def test_the_family_is_declared() -> None:
    """It has no serial line, and its table of cards is empty by default."""
    assert (FAMILY.name, FAMILY.line, FAMILY.roles) == ("scanner", None, ("shoe",))
    cards = declared(FAMILY.settings)["cards"]
    assert (cards.default, ScannerSettings().cards) == ({}, {})
    assert re.fullmatch(cards.codes, "04-1 x")


def test_the_page_shows_the_declared_tables() -> None:
    """PROTOCOL.md contains each table of the data once, without a difference."""
    text = Path(scanner.__file__).with_name("PROTOCOL.md").read_text()
    blocks = re.findall(r"<!-- generated: ([\w-]+) -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert dict(blocks) == scanner_page.tables()
