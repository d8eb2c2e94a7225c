"""The rows of a table as `shoed journal show --rows` prints them: the received bytes and their results."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.journal import Reader, StoredStep
from shoed.journal.scan import EventRow, Extent, events, from_row, whole
from shoed.model.moments import rfc3339
from shoed.model.observations import Device
from shoed.model.step import Received
from shoed.typed_json import decoder

CHUNK: Final = 256


def steps(reader: Reader, table: str, first: int, last: int) -> Iterator[tuple[StoredStep, list[EventRow]]]:
    """The rows with their events. Each part of the rows is read in a short transaction."""
    span = whole(reader, table)
    last = min(last, reader.last_row(table))
    sequence = from_row(reader, table, span, first)
    end = first - 1
    while end < last and (begin := reader.next_row(table, end + 1)) is not None:
        end = min(begin + CHUNK - 1, last)
        found = list(reader.step(table, begin, end))
        part = Extent(sequence, from_row(reader, table, Extent(sequence, span.last), end + 1) - 1)
        sequence = part.last + 1
        of_rows: dict[int, list[EventRow]] = {}
        for event in events(reader, table, part):
            of_rows.setdefault(event.row, []).append(event)
        yield from ((step, of_rows.get(step.row, [])) for step in found)


def row_lines(table: str, step: StoredStep, published: Sequence[EventRow]) -> Iterator[str]:
    yield f"{table} row {step.row} at {rfc3339(step.utc_us)}"
    received = [each.input for each in step.quiet]
    if step.received is not None:
        received.append(replace(decoder(Received).decode(step.input), data=step.received))
    for device, of_device in groupby(received, lambda each: each.device):
        parts = list(of_device)
        data = b"".join(each.data for each in parts).hex(" ")
        unkept = f"{parts[-1].unkept} bytes, which are not kept" if parts[-1].unkept else ""
        count = f" in {len(parts)} parts" if len(parts) > 1 else ""
        yield f"    received{from_or_to('from', device)}{count}: {' and '.join(filter(None, (data, unkept)))}"
    if step.received is None:
        yield f"    input: {step.input}"
    for what, several in (
        ("observation", step.observations),
        ("finding", step.findings),
        ("order", step.orders),
        ("answer", step.answers),
    ):
        for each in decoder(list[msgspec.Raw]).decode(several):
            yield f"    {what}: {bytes(each).decode()}"
    for device, sent in ((Device.SHOE, step.sent), (Device.SHUFFLER, step.sent_to_shuffler)):
        if sent:
            yield f"    sent{from_or_to('to', device)}: {sent.hex(' ')}"
    for event in published:
        yield f"    event {event.sequence}: {event.type} {event.text}"


def from_or_to(way: str, device: Device) -> str:
    return "" if device is Device.SHOE else f" {way} the {device.value}"


class RowShown(msgspec.Struct):
    """A row, as JSON. `bytes`: all received bytes in hexadecimal, or null. `parts`: the size of each part in bytes."""

    table: str
    row: int
    time: str
    input: msgspec.Raw
    bytes: str | None
    parts: list[int]
    observations: msgspec.Raw
    findings: msgspec.Raw
    orders: msgspec.Raw
    answers: msgspec.Raw
    sent: str
    sent_to_shuffler: str
    events: list[msgspec.Raw]


def row_shown(table: str, step: StoredStep, published: Sequence[msgspec.Raw]) -> RowShown:
    return RowShown(
        table=table,
        row=step.row,
        time=rfc3339(step.utc_us),
        input=raw(step.input),
        bytes=None if step.arrived is None else step.arrived.hex(" "),
        parts=[len(each.input.data) for each in step.quiet] + ([] if step.received is None else [len(step.received)]),
        observations=raw(step.observations),
        findings=raw(step.findings),
        orders=raw(step.orders),
        answers=raw(step.answers),
        sent=step.sent.hex(" "),
        sent_to_shuffler=step.sent_to_shuffler.hex(" "),
        events=list(published),
    )


def raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())
