"""The content of a report: one shoe, or one day, of one table."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Final

import msgspec

from shoed.cli.journal.counts import Counting, Grouping, Tally
from shoed.cli.journal.moments import Period
from shoed.cli.journal.played import RoundView, is_of, rounds
from shoed.cli.journal.selection import Selection, within
from shoed.cli.journal.verified import Verified, verified
from shoed.cli.journal.wording import author_of
from shoed.journal import Reader
from shoed.journal.losses import span
from shoed.journal.scan import (
    OF_NO_SHOE,
    EventFilter,
    EventRow,
    Extent,
    events,
    named,
    newest_starts,
    of_round,
    shoe_span,
    whole,
)

MATTERS: Final = "irregularity"
QUESTIONS: Final = ("question.asked", "question.answered", "question.lapsed")
LINKS: Final = ("device.online", "device.offline", "device.quiet", "line.missed", "journal.continued")
# Reports of a device that are neither faults nor gaps.
NO_FAULTS: Final = (*LINKS, "device.identified", "device.changed", "device.order-answered")


class PeriodReport(msgspec.Struct):
    """`events`: all events of the report, in order, then later events about its rounds. `extent`: without the latter.

    `missing`: the events within the extent that the journal does not have.
    """

    table: str
    title: str
    extent: Extent
    events: list[EventRow]
    rounds: list[RoundView]
    tally: Tally
    missing: list[str] = []
    verified: Verified | None = None

    def of(self, *kinds: str) -> list[EventRow]:
        return [event for event in self.events if is_of(event, kinds)]

    @property
    def irregularities(self) -> list[EventRow]:
        return self.of(MATTERS)

    @property
    def decisions(self) -> list[EventRow]:
        """Every event that a person caused, except notices, and the questions of the report."""
        return [
            event
            for event in self.events
            if is_of(event, QUESTIONS) or (author_of(event.data) and not is_of(event, (MATTERS,)))
        ]

    @property
    def faults(self) -> list[EventRow]:
        return [event for event in self.of("device", "line", "set.failed") if event.type not in NO_FAULTS]

    @property
    def gaps(self) -> list[EventRow]:
        """Closed links, lost reports, suspensions because of a gap, and new words in the ids of the journal."""
        return [
            event
            for event in self.events
            if is_of(event, LINKS) or (event.type == "round.suspended" and event.data.get("gap"))
        ]


def shoe_report(reader: Reader, table: str, shoe: int | None) -> PeriodReport | None:
    """A shoe, or the last one of the table; None if the table does not have it."""
    record = whole(reader, table)
    if shoe is None and (last := next(newest_starts(reader, table, record), None)) is not None:
        shoe = last.shoe
    part = None if shoe is None else shoe_span(reader, table, record, shoe)
    if shoe is None or part is None:
        return None
    of_shoe = of_round(shoe)
    found = [*events(reader, table, part, of_shoe | OF_NO_SHOE)]
    found += events(reader, table, Extent(part.last + 1, record.last), of_shoe)
    views = [view for view in rounds(found) if view.shoe == shoe]
    counts = tally(reader, table, Selection(shoe), found)
    return reported(reader, PeriodReport(table, f"shoe {shoe}", part, found, views, counts))


def day_report(reader: Reader, table: str, title: str, period: Period) -> PeriodReport | None:
    """The rounds that began on the day, with their later events; None if the table has no event of the day.

    The matters and decisions of the day may be about earlier rounds, which are not counted.
    """
    record = whole(reader, table)
    found = list(events(reader, table, record, within(period)))
    if not found:
        return None
    part = Extent(found[0].sequence, found[-1].sequence)
    names = [(event.data["shoe"], event.data["round"]) for event in found if event.type == "round.started"]
    for shoe, several in groupby(names, itemgetter(0)):
        numbers = [number for _, number in several]
        of_shoe = of_round(shoe) & EventFilter(f"{named('round')} BETWEEN ? AND ?", (numbers[0], numbers[-1]))
        found += events(reader, table, Extent(part.last + 1, record.last), of_shoe)
    known = set(names)
    own = [event for event in found if event.data.get("round") is None or place(event) in known]
    views = [view for view in rounds(found) if (view.shoe, view.round) in known]
    counts = tally(reader, table, Selection(period=period), own)
    return reported(reader, PeriodReport(table, title, part, found, views, counts))


def place(event: EventRow) -> tuple[int | None, int | None]:
    return event.data.get("shoe"), event.data.get("round")


def tally(reader: Reader, table: str, selection: Selection, found: Iterable[EventRow]) -> Tally:
    counting = Counting(reader, table, selection, Grouping.TABLE, None)
    for event in found:
        counting.add(event)
    return next((each for _, each in counting.finished()), Tally())


def reported(reader: Reader, report: PeriodReport) -> PeriodReport:
    """The report with the gaps in its sequence numbers, which only a damaged journal has, and with its verification."""
    due, rows = report.extent.first, list[int]()
    for event in events(reader, report.table, report.extent):
        if event.sequence > due:
            report.missing.append(span("event", due, event.sequence - 1))
        due = event.sequence + 1
        rows = [*rows[:1], event.row]
    if rows:
        report.verified = verified(reader, report.table, Extent(rows[0], rows[-1]))
    return report
