"""`shoed journal show`: the rows of a table with the bytes of every card. The whole output is of one moment."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from shoed.cli.journal.opening import chosen, reading
from shoed.cli.options import add_state_dir, state_dir_of
from shoed.cli.parser import Parser
from shoed.errors import JournalError, UsageError
from shoed.journal import Reader, StoredStep
from shoed.model.moments import rfc3339
from shoed.model.observations import Device
from shoed.model.step import Received
from shoed.settings import shown

LAST_ROW: Final = 2**63 - 1  # of SQLite
LONGEST_PAIR: Final = 30
ROWS: Final = "rows A-B, or a row A, from 1"
ROUND: Final = "a round as SHOE.ROUND, as in 2.17"


def add_arguments(parser: Parser) -> None:
    parser.add_argument("table", metavar="TABLE", help="the name of the table")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--rows", metavar="A-B", help="only these rows; the `provenance` of a card is its row")
    part.add_argument("--round", metavar="SHOE.ROUND", help="only the rows of this round, for example 2.17")
    add_state_dir(parser)
    parser.set_defaults(
        command=lambda arguments: show(state_dir_of(arguments), arguments.table, arguments.rows, arguments.round)
    )


def show(state_dir: Path, name: str, rows: str | None, played: str | None) -> int:
    """Print the rows `A-B` or `A`, or the rows of the round `SHOE.ROUND`; by default all rows."""
    of_rows = None if rows is None else pair(rows, "-", "--rows", ROWS)
    of_round = None if played is None else pair(played, ".", "--round", ROUND)
    if of_rows is not None and not of_rows[0]:
        raise UsageError(f"--rows {rows}: there is no row 0; write {ROWS}")
    if of_rows is not None and of_rows[0] > of_rows[1]:
        raise UsageError(f"--rows {rows}: the first row is after the last row; write {of_rows[1]}-{of_rows[0]}")
    with reading(state_dir) as reader:
        chosen(reader, [name])
        span = reader.rows_of_round(name, *of_round) if of_round is not None else of_rows or (1, LAST_ROW)
        steps = 0
        for step in reader.step(name, *span) if span else ():
            steps += 1
            print("\n".join(row_lines(reader, name, step)))
        if not steps:
            asked = f"round {played}" if played is not None else f"row {rows}"
            last = f"the last row is {reader.last_row(name)}, and the last round {reader.last_round(name)}"
            raise JournalError(f"{name}: the journal does not have {asked}; {last}")
    return 0


def pair(text: str, sign: str, option: str, right: str) -> tuple[int, int]:
    first, sign, last = text.partition(sign)
    if not sign and right is ROWS:
        last = first
    if not (first.isdecimal() and last.isdecimal() and len(text) <= LONGEST_PAIR):
        raise UsageError(f"{option}: {shown(text)} is not allowed; write {right}")
    return min(int(first), LAST_ROW), min(int(last), LAST_ROW)


def row_lines(reader: Reader, name: str, step: StoredStep) -> Iterator[str]:
    yield f"{name} row {step.row} at {rfc3339(step.utc_us)}"
    if step.data is None:
        yield f"    input: {step.input}"
    else:
        incoming = msgspec.json.decode(step.input, type=Received)
        data = (step.received or b"").hex(" ")
        unkept = f"{incoming.unkept} bytes, which are not kept" if incoming.unkept else ""
        yield f"    received{from_or_to('from', incoming.device)}: {unkept or data}"
    for what, several in (
        ("observation", step.observations),
        ("finding", step.findings),
        ("order", step.orders),
        ("answer", step.answers),
    ):
        for each in msgspec.json.decode(several, type=list[msgspec.Raw]):
            yield f"    {what}: {bytes(each).decode()}"
    for device, sent in ((Device.SHOE, step.sent), (Device.SHUFFLER, step.sent_to_shuffler)):
        if sent:
            yield f"    sent{from_or_to('to', device)}: {sent.hex(' ')}"
    for event in reader.events_of_row(name, step.row):
        yield f"    event {event.sequence}: {event.type} {event.data}"


def from_or_to(way: str, device: Device) -> str:
    return "" if device is Device.SHOE else f" {way} the {device.value}"
