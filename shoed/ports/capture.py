"""The text format of captures: parser and writer. docs/captures.md defines the format.

A capture is evidence, so the parser is strict. Every error contains FILE:LINE and a remedy. `parse` returns the value
that `write` wrote. For long captures, `stream` returns the records one by one, and `header_text` and `record_text`
write them one by one.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from firmware_protocols.family import Line, Parity
from shoed.errors import CaptureError
from shoed.settings import shown

MAGIC: Final = "shoed-capture"
FIRST_LINE: Final = f"{MAGIC} 1"
REQUIRED: Final = ("family", "firmware", "line")

KEY: Final = re.compile(r"[a-z][a-z0-9_-]*")
LINE: Final = re.compile(r"([1-9][0-9]{1,7}) ([5-8])([NEO])([12])")
NO_LINE: Final = "none"
STARTED: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
SECONDS: Final = re.compile(r"([0-9]{1,9})\.([0-9]{6})")
BYTES: Final = re.compile(r"[0-9A-Fa-f]{2}(?:\s+[0-9A-Fa-f]{2})*", re.ASCII)  # the separators of bytes.fromhex

Numbered = Iterator[tuple[int, str]]


class Direction(Enum):
    FROM_DEVICE = "<"
    TO_DEVICE = ">"


@dataclass(frozen=True, slots=True)
class CaptureRecord:
    at_us: int  # since the start
    direction: Direction
    data: bytes


@dataclass(frozen=True, slots=True)
class Header:
    family: str
    firmware: str
    line: Line | None  # None: the device has no serial line
    started: datetime | None = None  # UTC
    note: str | None = None
    others: tuple[tuple[str, str], ...] = ()  # keys that this version does not know, in file order


@dataclass(frozen=True, slots=True)
class Capture:
    header: Header
    records: tuple[CaptureRecord, ...]


def parse(source: str | Iterable[str], name: str) -> Capture:
    """The whole capture. `name` is the name of the file in error messages."""
    header, records = stream(source.split("\n") if isinstance(source, str) else source, name)
    return Capture(header, tuple(records))


def stream(lines: Iterable[str], name: str) -> tuple[Header, Iterator[CaptureRecord]]:
    """The header, and an iterator over the records; the iterator raises CaptureError at the line with the error."""
    numbered: Numbered = enumerate((line.strip() for line in lines), start=1)
    _, first = next(numbered, (1, ""))
    if first != FIRST_LINE:
        remedy = "install a newer shoed" if first.startswith(f"{MAGIC} ") else f"the first line must be {FIRST_LINE}"
        raise CaptureError(
            f"{name}:1: {shown(first[:40])} is not the first line of a capture that this shoed reads; {remedy}"
        )
    return _header(numbered, name), _records(numbered, name)


def _header(numbered: Numbered, name: str) -> Header:
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    place = f"{name}:1"
    for number, line in numbered:
        place = f"{name}:{number}"
        if not line:
            break
        if line.startswith("#"):
            continue
        key, _, value = line.partition(" ")
        if not _fits(key, value.strip()):
            raise CaptureError(
                f"{place}: {shown(line[:40])} is not a header; write KEY VALUE, and a blank line before the records"
            )
        if key in values:
            raise CaptureError(f"{place}: {key} is given twice; remove one")
        values[key], places[key] = value.strip(), place
    if missing := [key for key in REQUIRED if key not in values]:
        raise CaptureError(
            f"{place}: the header ends without {', '.join(missing)}; add a line {missing[0]} VALUE before it"
        )
    return Header(
        family=values.pop("family"),
        firmware=values.pop("firmware"),
        line=_line(values.pop("line"), places["line"]),
        started=_started(values.pop("started"), places["started"]) if "started" in values else None,
        note=values.pop("note", None),
        others=tuple(values.items()),
    )


def _fits(key: str, value: str) -> bool:
    return bool(KEY.fullmatch(key)) and bool(value) and value == value.strip() and value.isprintable()


def _line(text: str, place: str) -> Line | None:
    if text == NO_LINE:
        return None
    match = LINE.fullmatch(text)
    if match is None:
        raise CaptureError(
            f"{place}: {shown(text)} is not a line setting;"
            f" write baud, bits, parity and stop bits as in 4800 8N1, or {NO_LINE}"
        )
    baud, bytesize, parity, stopbits = match.groups()
    return Line(int(baud), int(bytesize), Parity(parity), int(stopbits))


def _started(text: str, place: str) -> datetime:
    try:
        if STARTED.fullmatch(text):
            return datetime.fromisoformat(text)
    except ValueError:
        pass
    raise CaptureError(f"{place}: {shown(text)} is not a time; write UTC as in 2025-03-01T18:00:00.000000Z")


def _records(numbered: Numbered, name: str) -> Iterator[CaptureRecord]:
    latest_us = 0
    for number, line in numbered:
        text = line.partition("#")[0].split(maxsplit=2)
        if not text:
            continue
        seconds, direction, data = (*text, "", "")[:3]
        time = SECONDS.fullmatch(seconds)
        if time is None:
            raise CaptureError(
                f"{name}:{number}: {shown(seconds[:40])} is not a time; write seconds with six decimals, as in 0.016700"
            )
        if direction not in {"<", ">"}:
            raise CaptureError(
                f"{name}:{number}: {shown(direction[:40])} is not a direction; write < from the device, > to the device"
            )
        if not BYTES.fullmatch(data.strip()):
            raise CaptureError(
                f"{name}:{number}: {shown(data[:40])} is not hex; write at least one pair of hex digits, as in 05 31"
            )
        at_us = int(time[1]) * 1_000_000 + int(time[2])
        if at_us < latest_us:
            raise CaptureError(f"{name}:{number}: the time is before {_seconds(latest_us)}; sort the records by time")
        latest_us = at_us
        yield CaptureRecord(at_us, Direction(direction), bytes.fromhex(data.strip()))


def write(capture: Capture) -> str:
    return header_text(capture.header) + "".join(record_text(record) for record in capture.records)


def header_text(header: Header) -> str:
    """The text before the first record. ValueError for a value that the parser would refuse."""
    pairs = [
        ("family", header.family),
        ("firmware", header.firmware),
        ("line", NO_LINE if header.line is None else str(header.line)),
    ]
    if header.started is not None:
        utc = header.started.astimezone(UTC).isoformat(timespec="microseconds")
        pairs.append(("started", utc.removesuffix("+00:00") + "Z"))
    if header.note is not None:
        pairs.append(("note", header.note))
    pairs += header.others
    for key, value in pairs:
        if not _fits(key, value):
            raise ValueError(
                f"{key} {shown(value)} is not allowed in the header of a capture; write one printable line, not empty"
            )
    return "\n".join([FIRST_LINE, *(f"{key} {value}" for key, value in pairs), "", ""])


def record_text(record: CaptureRecord) -> str:
    return f"{_seconds(record.at_us)} {record.direction.value} {record.data.hex(' ').upper()}\n"


def _seconds(at_us: int) -> str:
    return f"{at_us // 1_000_000}.{at_us % 1_000_000:06}"
