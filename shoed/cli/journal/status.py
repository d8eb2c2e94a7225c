"""`shoed journal status`: the size of the journal, its growth, and the rows that the retention will delete."""

import argparse
from pathlib import Path

from shoed.cli.journal.opening import add_journal, opened
from shoed.cli.parser import Parser
from shoed.journal.growth import JournalSize, TableSize, size_of
from shoed.journal.retention import Keep
from shoed.model.moments import rfc3339
from shoed.ports.clock import now


def add_arguments(parser: Parser) -> None:
    add_journal(parser)
    parser.set_defaults(command=status)


def status(arguments: argparse.Namespace) -> int:
    place, keep = arguments.state_dir, Keep()
    if place is None:
        from shoed.service import config

        found = config.load(arguments.config)
        place, keep = Path(found.state_dir), found.journal.keep
    with opened(place) as reader:
        size = size_of(reader, keep, now().utc_us)
        print(f"{reader.path}: {mb(size.file_bytes)}, {mb(size.used_bytes)} of it in use")
    for table in size.tables:
        print(line(table))
    print(growth(size, keep))
    print(retention(size, keep))
    return 0


def line(table: TableSize) -> str:
    shoes = f"shoes {table.first_shoe} to {table.last_shoe}" if table.last_shoe else "no shoe"
    span = f"{rfc3339(table.first_us)[:10]} to {rfc3339(table.last_us)[:10]}"
    return f"{table.table}: {table.rows} rows, {table.events} events, {shoes}, {span}"


def growth(size: JournalSize, keep: Keep) -> str:
    days = size.days_left(keep)
    left = "" if days is None else f": full in {days:.0f} days"
    return f"growth: {mb(size.growth_bytes)} a day (estimated); {mb(size.free_bytes)} are free on the disk{left}"


def retention(size: JournalSize, keep: Keep) -> str:
    limits = [f"{keep.days} days"] * (keep.days is not None) + [f"{keep.mb} MB"] * (keep.mb is not None)
    kept = (
        f"kept: {' and at most '.join(limits)}" if limits else "kept: all rows; keep_days and keep_mb limit the journal"
    )
    return (
        kept
        if size.cut is None
        else f"{kept}; next, the rows of {size.cut.table} before row {size.cut.row} are deleted"
    )


def mb(size: float) -> str:
    return f"{size / 1e6:.1f} MB"
