"""`shoed journal stats`: the numbers of each table, shoe or day."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from shoed.cli.journal.checked import RowsRead, examined
from shoed.cli.journal.counts import Counting, Group, Grouping, Tally
from shoed.cli.journal.moments import add_zone, zone_for, zone_of
from shoed.cli.journal.opening import add_journal, chosen
from shoed.cli.journal.selection import add_selection, existing_rounds, selected, selection_of, with_place
from shoed.cli.options import state_dir_of
from shoed.cli.parser import Parser
from shoed.errors import JournalError

WIDTH: Final = 16
PERCENT: Final = 100


def add_arguments(parser: Parser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all)")
    parser.add_argument(
        "--by",
        choices=[each.value for each in Grouping],
        default=Grouping.TABLE.value,
        help="the numbers of each table, of each shoe, or of each day (default: %(default)s)",
    )
    add_zone(parser)
    add_selection(parser)
    parser.add_argument("--json", action="store_true", help="print JSON: one line for each table, shoe or day")
    add_journal(parser)
    parser.set_defaults(command=stats)


def stats(arguments: Namespace) -> int:
    selection, by = selection_of(arguments), Grouping(arguments.by)
    zone = zone_of(zone_for("--by day", arguments, has_days=by is Grouping.DAY))
    found = False
    with examined(state_dir_of(arguments)) as reader:
        read = RowsRead(reader)
        tables = with_place(reader, chosen(reader, arguments.tables), selection)
        for table in tables:
            counting = Counting(reader, table, selection, by, zone)
            for event in read.noted(table, selected(reader, table, selection)):
                counting.add(event)
            for group, counts in counting.finished():
                if arguments.json:
                    print(as_json(group, counts))
                else:
                    print("\n".join([""] * found + list(lines(group, counts))))
                found = True
        if not found:
            raise JournalError(f"no event has all selected values; the journal has {existing_rounds(reader, tables)}")
        return read.warn()


def as_json(group: Group, counts: Tally) -> str:
    return msgspec.json.encode(msgspec.to_builtins(group) | msgspec.to_builtins(counts)).decode()


def lines(group: Group, counts: Tally) -> Iterator[str]:
    yield title(group)
    yield from (f"  {name:<{WIDTH}}{text}" for name, text in figures(counts).items())


def title(group: Group) -> str:
    if group.day is not None:
        return f"{group.table} {group.day}"
    return group.table if group.shoe is None else f"{group.table} shoe {group.shoe}"


def figures(counts: Tally) -> Mapping[str, str]:
    """The numbers in words, for a person."""
    ends = f"{counts.complete} complete, {counts.void} void, {counts.abandoned} abandoned, {counts.open} open"
    return {
        "rounds": f"{counts.rounds} started; {ends}",
        "outcomes": shares(counts.outcomes, counts.complete),
        "pairs": listed(counts.pairs),
        "naturals": str(counts.naturals),
        "cards": f"{counts.cards} drawn, {counts.entered} of them entered by a person; {counts.set_aside} set aside",
        "integrity": f"partial rounds {counts.partial}, corrections {counts.corrected}",
        "the shoe": f"confirmed {counts.confirmed}, disputed {counts.disputed}, unconfirmed {counts.unconfirmed}",
        "irregularities": listed(counts.noticed),
        "rulings": listed(counts.ruled),
        "decisions": listed(counts.decisions),
        "faults": listed(counts.faults),
        "downtime": downtime(counts),
        "line": f"missed reports {missed(counts)}, rejections {counts.rejected}",
    }


def missed(counts: Tally) -> str:
    if not counts.missed_unknown:
        return f"{'at least ' * bool(counts.missed)}{counts.missed}"
    return f"at least {counts.missed}, losses of unknown size {counts.missed_unknown}"


def listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()) if count) or "none"


def shares(counts: Mapping[str, int], whole: int) -> str:
    shown = (f"{name} {count} ({PERCENT * count / whole:.1f} %)" for name, count in sorted(counts.items()) if count)
    return ", ".join(shown) or "none"


def downtime(counts: Tally) -> str:
    devices = sorted({*counts.offline, *counts.offline_s})
    several = (f"{each} {counts.offline_s.get(each, 0):.1f} s, absences {counts.offline[each]}" for each in devices)
    return "; ".join(several) or "none"
