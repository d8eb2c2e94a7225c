"""`shoed journal status`: the size of the journal, its growth, and the rows that the retention will delete."""

import argparse
from pathlib import Path
from typing import Final

from shoed.cli.journal.checked import examined
from shoed.cli.journal.opening import add_journal
from shoed.cli.parser import Parser
from shoed.journal.growth import JournalSize, TableSize, size_of
from shoed.journal.retention import MB, Keep
from shoed.model.moments import rfc3339
from shoed.ports.clock import now

MOST_DAYS: Final = 3650


def add_arguments(parser: Parser) -> None:
    add_journal(parser)
    parser.set_defaults(command=status)


def status(arguments: argparse.Namespace) -> int:
    place, keep = arguments.state_dir, None  # only the configuration has the limits
    if place is None:
        from shoed.service import config

        found = config.load(arguments.config)
        place, keep = Path(found.state_dir), found.journal.keep
    with examined(place) as reader:
        size = size_of(reader, keep or Keep(), now().utc_us)
        print(f"{reader.path}: {mb(size.file_bytes)}, {mb(size.used_bytes)} of it in use")
    for table in size.tables:
        print(line(table))
    print(growth(size, keep or Keep()))
    print(retention(size, keep))
    return int(size.is_disk_full)


def line(table: TableSize) -> str:
    shoes = f"shoes {table.first_shoe} to {table.last_shoe}" if table.last_shoe else "no shoe"
    span = f"{rfc3339(table.first_us)[:10]} to {rfc3339(table.last_us)[:10]}"
    return f"{table.table}: {table.rows} rows, {table.events} events, {shoes}, {span}"


def growth(size: JournalSize, keep: Keep) -> str:
    a_day = (
        f"{mb(size.growth_bytes)} a day (estimated)" if size.growth_bytes else "not known on the first day of a record"
    )
    days = size.days_left(keep)
    if size.is_disk_full:
        left = ": free space on it, or move the state directory"
    elif days is None:
        left = ""
    else:
        left = f": full in {days:.0f} days" if days <= MOST_DAYS else f": full in more than {MOST_DAYS} days"
    return f"growth: {a_day}; {mb(size.free_bytes)} are free on the disk{left}"


def retention(size: JournalSize, keep: Keep | None) -> str:
    if keep is None:
        return "kept: not known; --config FILE names the configuration with keep_days and keep_mb"
    limits = [f"{keep.days} days"] * (keep.days is not None) + [f"at most {keep.mb} MB"] * (keep.mb is not None)
    if not limits:
        return "kept: all rows; keep_days and keep_mb limit the journal"
    kept = f"kept: {' and '.join(limits)}"
    if size.cut is not None:
        return f"{kept}; next, the rows of {size.cut.table} before row {size.cut.row} are deleted"
    if keep.mb is not None and size.used_bytes > keep.mb * MB:
        return f"{kept}; {mb(size.used_bytes)} are in use, and no further row can be deleted now (docs/backup.md)"
    return kept


def mb(size: float) -> str:
    return f"{size / 1e6:.1f} MB"
