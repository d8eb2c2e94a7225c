"""The capture format: exact reading and writing, and errors with the line number."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocols.family import Line, Parity
from shoed.errors import CaptureError
from shoed.ports.capture import (
    Capture,
    CaptureRecord,
    Direction,
    Header,
    header_text,
    parse,
    record_text,
    stream,
    write,
)

HEADER = "shoed-capture 1\nfamily angel-eye\nfirmware ii-ex\nline 4800 8N1\n"

values = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(
    lambda text: text == text.strip() and text.isprintable()
)
headers = st.builds(
    Header,
    family=values,
    firmware=values,
    line=st.builds(
        Line,
        baud=st.integers(50, 4_000_000),
        bytesize=st.integers(5, 8),
        parity=st.sampled_from(Parity),
        stopbits=st.integers(1, 2),
    ),
    started=st.none() | st.datetimes(timezones=st.just(UTC)),
    note=st.none() | values,
    others=st.lists(
        st.tuples(st.sampled_from(["adapter", "gain_db", "x-1"]), values), unique_by=lambda pair: pair[0]
    ).map(tuple),
)
records = st.lists(
    st.builds(
        CaptureRecord,
        at_us=st.integers(0, 999_999_999_999_999),
        direction=st.sampled_from(Direction),
        data=st.binary(min_size=1, max_size=40),
    )
).map(lambda found: tuple(sorted(found, key=lambda record: record.at_us)))


@given(st.builds(Capture, header=headers, records=records))
def test_a_written_capture_is_read_back_exactly(capture: Capture) -> None:
    """From value to text to value, and from text to value to text."""
    text = write(capture)
    assert parse(text, "a.capture") == capture
    assert write(parse(text, "a.capture")) == text


def test_a_file_read_by_lines_is_the_same_capture(tmp_path: Path) -> None:
    """A file with either line ending is the same capture as its text."""
    text = HEADER + "\n0.000001 < 05\n0.000001 > 06 15\n"
    for ending in ("\n", "\r\n"):
        path = tmp_path / "one.capture"
        path.write_text(text, encoding="utf-8", newline=ending)
        with path.open(encoding="utf-8", newline="") as file:
            assert parse(file, "one.capture") == parse(text, "one.capture")


def test_comments_blank_lines_case_and_spaces_are_ignored() -> None:
    """People may format a capture freely."""
    text = (
        HEADER + "# by hand\nnote  a # is not a comment \n\n\n# dealt\n  1.500000  <  0a  fF # an ace\n\n1.500000 > 15"
    )
    capture = parse(text, "a.capture")
    assert capture.header == Header("angel-eye", "ii-ex", Line(4800), note="a # is not a comment")
    assert capture.records == (
        CaptureRecord(1_500_000, Direction.FROM_DEVICE, b"\x0a\xff"),
        CaptureRecord(1_500_000, Direction.TO_DEVICE, b"\x15"),
    )


def test_a_device_without_a_serial_line_has_no_line_settings_in_its_captures() -> None:
    """The parser and the writer use the header value `none`."""
    capture = parse(HEADER.replace("4800 8N1", "none"), "a.capture")
    assert capture.header.line is None
    assert header_text(capture.header).splitlines()[3] == "line none"


def test_a_header_without_records_is_a_capture() -> None:
    """A recording that was stopped before the first byte can be read."""
    assert parse(HEADER, "a.capture").records == ()


def test_unknown_header_keys_are_kept_in_order() -> None:
    """A capture of a newer shoed is written again with all its keys."""
    text = HEADER + "probe left\nadapter ftdi 3\n\n"
    assert parse(text, "a.capture").header.others == (("probe", "left"), ("adapter", "ftdi 3"))
    assert write(parse(text, "a.capture")) == text


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ("", 1, "the first line must be shoed-capture 1"),
        ("shoed-captures 1\n", 1, "the first line must be shoed-capture 1"),
        ("\nshoed-capture 1\n", 1, "the first line must be shoed-capture 1"),
        ("shoed-capture 2\n", 1, "install a newer shoed"),
        ("shoed-capture 1\n", 2, "add a line family VALUE before it"),
        (
            "shoed-capture 1\nfamily angel-eye\nline 4800 8N1\n\n0.000000 < 05\n",
            4,
            "add a line firmware VALUE before it",
        ),
        (HEADER + "0.000000 < 05\n", 5, "a blank line before the records"),
        (HEADER + "note\n", 5, "write KEY VALUE"),
        (HEADER + "Note a\n", 5, "write KEY VALUE"),
        (HEADER + "note a\x07\n", 5, "write KEY VALUE"),
        (HEADER + "line 4800 8N1\n", 5, "remove one"),
        (HEADER.replace("8N1", "8X1"), 4, "as in 4800 8N1, or none"),
        (HEADER.replace("4800", "0"), 4, "as in 4800 8N1"),
        (HEADER + "started yesterday\n", 5, "as in 2025-03-01T18:00:00.000000Z"),
        (HEADER + "started 2025-02-30T18:00:00.000000Z\n", 5, "as in 2025-03-01T18:00:00.000000Z"),
        (HEADER + "\n0.000000 < 05\n\n-1.000000 < 05\n", 8, "write seconds with six decimals"),
        (HEADER + "\n1.5 < 05\n", 6, "write seconds with six decimals"),
        (HEADER + "\n0.000000\n", 6, "write < from the device"),
        (HEADER + "\n0.000000 05\n", 6, "write < from the device"),
        (HEADER + "\n0.000000 <\n", 6, "at least one pair of hex digits"),
        (HEADER + "\n0.000000 < 5\n", 6, "at least one pair of hex digits"),
        (HEADER + "\n0.000000 < 0x05\n", 6, "at least one pair of hex digits"),
        (HEADER + "\n0.000000 < 0531\n", 6, "at least one pair of hex digits"),
        (HEADER + "\n0.000000 < 05\x1e31\n", 6, "at least one pair of hex digits"),
        (HEADER + "\n1.000000 < 05\n0.999999 > 05\n", 7, "sort the records by time"),
    ],
)
def test_an_error_contains_its_line_and_a_remedy(text: str, line: int, remedy: str) -> None:
    """An error has FILE:LINE, the problem and the remedy."""
    with pytest.raises(CaptureError) as refusal:
        parse(text, "a.capture")
    assert str(refusal.value).startswith(f"a.capture:{line}: ")
    assert remedy in str(refusal.value)


@given(st.text())
def test_any_text_is_a_capture_or_a_capture_error(text: str) -> None:
    """No damage to a file, at any place, raises another exception."""
    for before in ("", "shoed-capture 1\n", HEADER, HEADER + "\n", HEADER + "\n0.000000 < "):
        try:
            capture = parse(before + text, "a.capture")
        except CaptureError:
            continue
        assert parse(write(capture), "a.capture") == capture


def test_an_unusual_space_before_a_comment_is_not_a_byte() -> None:
    """U+001E is a space for `str`, but not for `bytes.fromhex`."""
    assert parse(HEADER + "\n0.000000 < 05 31\x1e# a card\n", "a.capture").records[0].data == b"\x051"


def test_a_long_capture_is_not_read_into_memory() -> None:
    """The iterator reads an endless source one record at a time, and reports an error at the line with the error."""

    def endless() -> Iterator[str]:
        yield from (HEADER + "\n").splitlines()
        yield "0.000000 < 05"
        while True:
            yield "no record"

    header, found = stream(endless(), "a.capture")
    assert header.family == "angel-eye"
    assert next(found) == CaptureRecord(0, Direction.FROM_DEVICE, b"\x05")
    with pytest.raises(CaptureError, match=r"^a\.capture:7: "):
        next(found)


@pytest.mark.parametrize(
    "header",
    [
        Header("angel-eye", "ii-ex", Line(4800), note="two\nlines"),
        Header("angel-eye", "ii-ex", Line(4800), note=""),
        Header("angel-eye", " ii-ex", Line(4800)),
        Header("angel-eye", "ii-ex", Line(4800), others=(("Two Words", "1"),)),
    ],
)
def test_a_value_that_cannot_be_read_back_is_not_written(header: Header) -> None:
    """`header_text` refuses a value that would make the header invalid."""
    with pytest.raises(ValueError, match="is not allowed in the header of a capture"):
        header_text(header)


def test_the_example_of_the_documentation_is_a_capture() -> None:
    """The example of docs/captures.md can be parsed, and its first record is a card."""
    page = (Path(__file__).parent.parent / "docs" / "captures.md").read_text(encoding="utf-8")
    capture = parse(page.split("```")[1].strip("\n"), "docs/captures.md")
    assert capture.header.started == datetime(2025, 3, 1, 18, tzinfo=UTC)
    assert [record.at_us for record in capture.records] == [16700, 33400, 50100, 2_400_000, 2_421_000]
    assert record_text(capture.records[0]) == "0.016700 < 05 31 44 81 B8 03 34 46\n"
    assert {record.direction for record in capture.records} == set(Direction)
