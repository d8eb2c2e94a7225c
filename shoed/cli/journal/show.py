"""`shoed journal show`: a round, the rounds of a shoe, or rows, for a person or as JSON."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Final, TypeVar

import msgspec

from shoed.cli.journal import shown_round
from shoed.cli.journal.checked import RowPart, RowsRead, examined
from shoed.cli.journal.exported import exported
from shoed.cli.journal.opening import add_journal, chosen
from shoed.cli.journal.played import RoundView, rounds
from shoed.cli.journal.selection import rounds_of
from shoed.cli.journal.shown_rows import row_lines, row_shown, steps
from shoed.cli.journal.values import ROUND, number, pair, row_pair
from shoed.cli.options import state_dir_of
from shoed.cli.parser import Parser
from shoed.errors import JournalError
from shoed.journal import Reader
from shoed.journal.losses import counted, span
from shoed.journal.scan import (
    OF_NO_SHOE,
    OF_ROUND,
    Extent,
    events,
    newest_starts,
    of_round,
    round_span,
    shoe_span,
    whole,
)

T = TypeVar("T")

RECENT: Final = 2  # rounds: the present one, and the one before


def add_arguments(parser: Parser) -> None:
    parser.add_argument("table", metavar="TABLE", help="the name of the table")
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--round", metavar="SHOE.ROUND", help=f"this round, for example 2.17 (default: the last {RECENT})"
    )
    part.add_argument("--shoe", metavar="N", help="the list of the rounds of this shoe")
    part.add_argument("--rows", metavar="A-B", help="these rows; the `provenance` of a card is its row")
    parser.add_argument("--json", action="store_true", help="print JSON: one line for each round or row")
    add_journal(parser)
    parser.set_defaults(command=show)


def show(arguments: Namespace) -> int:
    wanted = Wanted(
        None if arguments.round is None else pair(arguments.round, ".", "--round", ROUND),
        None if arguments.shoe is None else number(arguments.shoe, "--shoe"),
        None if arguments.rows is None else row_pair(arguments.rows),
    )
    with examined(state_dir_of(arguments)) as reader:
        (table,) = chosen(reader, [arguments.table])
        found = [] if wanted.rows is not None else views(reader, table, wanted)
        status = rows_shown(reader, table, wanted, found).warn()  # before the first line
        for line in json_lines(reader, table, wanted, found) if arguments.json else lines(reader, table, wanted, found):
            print(line)
    return status


class Wanted(msgspec.Struct, frozen=True):
    round: tuple[int, int] | None = None
    shoe: int | None = None
    rows: tuple[int, int] | None = None


def lines(reader: Reader, table: str, wanted: Wanted, found: Sequence[RoundView]) -> Iterator[str]:
    if wanted.rows is not None:
        for step, published in existing(steps(reader, table, *wanted.rows), reader, table, span("row", *wanted.rows)):
            yield from row_lines(table, step, published)
    elif wanted.shoe is not None:
        yield f"{table} shoe {wanted.shoe}: {counted(len(found), 'round')}"
        yield from map(shown_round.list_line, found)
    else:
        for position, view in enumerate(found):
            yield from [""] if position else []
            yield from shown_round.lines(reader, table, view)


def json_lines(reader: Reader, table: str, wanted: Wanted, found: Sequence[RoundView]) -> Iterator[str]:
    if wanted.rows is not None:
        for step, published in existing(steps(reader, table, *wanted.rows), reader, table, span("row", *wanted.rows)):
            yield text(row_shown(table, step, [encoded(exported(reader, table, each)) for each in published]))
    elif wanted.shoe is not None:
        yield from (text(shown_round.listed(table, view)) for view in found)
    else:
        yield from (text(shown_round.shown(reader, table, view)) for view in found)


def rows_shown(reader: Reader, table: str, wanted: Wanted, found: Sequence[RoundView]) -> RowsRead:
    """The rows of the events, and those of the received bytes."""
    read = RowsRead(reader)
    if wanted.rows is not None:
        first, last = wanted.rows[0], min(wanted.rows[1], reader.last_row(table))
        begin = reader.begin(table).row + 1
        read.parts += [RowPart(table, max(first, begin), last)] if first <= last >= begin else []
    for event in sorted((event for view in found for event in view.events), key=attrgetter("sequence")):
        read.note(table, event)
    if wanted.shoe is None:
        read.parts += [RowPart(table, row, row) for view in found for row in shown_round.card_rows(view)]
    return read


def encoded(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def text(value: object) -> str:
    return msgspec.json.encode(value).decode()


# --- rounds


def views(reader: Reader, table: str, wanted: Wanted) -> list[RoundView]:
    if wanted.shoe is not None:
        return of_shoe(reader, table, wanted.shoe)
    return last_rounds(reader, table, RECENT) if wanted.round is None else [one_round(reader, table, *wanted.round)]


def one_round(reader: Reader, table: str, shoe: int, number: int) -> RoundView:
    """The round with its late events: an event of any later time may name it."""
    record = whole(reader, table)
    part = round_span(reader, table, record, shoe, number)
    if part is None:
        raise missing(reader, table, f"round {shoe}.{number}")
    return with_late(reader, table, part, record.last, {(shoe, number)})[0]


def last_rounds(reader: Reader, table: str, count: int) -> list[RoundView]:
    record = whole(reader, table)
    newest = list(islice(newest_starts(reader, table, record, OF_ROUND), count))
    if not newest:
        raise missing(reader, table, "a round")
    part = Extent(newest[-1].sequence, record.last)
    return with_late(reader, table, part, record.last, {(mark.shoe, mark.round) for mark in newest})


def of_shoe(reader: Reader, table: str, shoe: int) -> list[RoundView]:
    record = whole(reader, table)
    part = shoe_span(reader, table, record, shoe)
    if part is None:
        raise missing(reader, table, f"shoe {shoe}")
    which = of_round(shoe)
    found = [
        *events(reader, table, part, which | OF_NO_SHOE),
        *events(reader, table, Extent(part.last + 1, record.last), which),
    ]
    return [view for view in rounds(found) if view.shoe == shoe]


def with_late(reader: Reader, table: str, part: Extent, last: int, names: set[tuple[int, int]]) -> list[RoundView]:
    found = list(events(reader, table, part))
    for name in names:
        found += events(reader, table, Extent(part.last + 1, last), of_round(*name))
    return sorted(
        (view for view in rounds(found) if (view.shoe, view.round) in names), key=lambda view: (view.shoe, view.round)
    )


# --- errors


def missing(reader: Reader, table: str, what: str) -> JournalError:
    rows = f"rows {reader.begin(table).row + 1} to {reader.last_row(table)}"
    return JournalError(f"{table}: the journal does not have {what}; it has {rows}, {rounds_of(reader, table)}")


def existing(found: Iterator[T], reader: Reader, table: str, what: str) -> Iterator[T]:
    """The items; an error without an item."""
    is_empty = True
    for each in found:
        is_empty = False
        yield each
    if is_empty:
        raise missing(reader, table, what)
