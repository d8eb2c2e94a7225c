"""A report as one HTML page, for a browser and for a printer: no file, script or font from elsewhere.

Every text passes `escape`. The styles of the page contain no text of the journal, except the names in the margins of
printed pages, which pass `in_style`.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from operator import attrgetter
from typing import Final

import msgspec

from shoed.cli.journal.played import RoundStatus, RoundView
from shoed.cli.journal.reported import PeriodReport
from shoed.cli.journal.stats import figures
from shoed.cli.journal.wording import in_words
from shoed.journal.losses import span
from shoed.journal.scan import EventRow
from shoed.model.moments import rfc3339

STYLE: Final = """
@page {
  size: A4; margin: 18mm 14mm 16mm; font: 8pt sans-serif; color: #555;
  @top-left { content: TITLE; } @top-right { content: JOURNAL; }
  @bottom-left { content: MADE; } @bottom-right { content: "page " counter(page) " of " counter(pages); }
}
* { box-sizing: border-box; }
body { font: 10pt/1.4 sans-serif; color: #111; background: #fff; max-width: 190mm; margin: 8mm auto; padding: 0 4mm; }
h1 { font-size: 16pt; margin: 0 0 2mm; }
h2 { font-size: 12pt; margin: 7mm 0 2mm; border-bottom: 0.3mm solid #999; break-after: avoid; }
p { margin: 0 0 2mm; }
section.table + section.table { break-before: page; border-top: 0.6mm solid #111; margin-top: 12mm; padding-top: 6mm; }
table { border-collapse: collapse; width: 100%; font-size: 8.5pt; }
thead { display: table-header-group; }
tr { break-inside: avoid; }
th, td { text-align: left; vertical-align: top; padding: 0.8mm 2mm 0.8mm 0; border-bottom: 0.2mm solid #ddd; }
th { border-bottom: 0.3mm solid #555; font-weight: 600; }
td { white-space: nowrap; font-variant-numeric: tabular-nums; }
td:last-child { white-space: normal; overflow-wrap: anywhere; width: 100%; }
table.figures { width: auto; }
table.figures th { border-bottom: 0.2mm solid #ddd; padding-right: 6mm; white-space: nowrap; }
tr.unusual td { background: #f6f1e3; print-color-adjust: exact; }
.bad { font-weight: 700; color: #8a1500; }
@media print { body { max-width: none; margin: 0; padding: 0; } }
"""


class PageHeader(msgspec.Struct, frozen=True):
    """`made`: the program and the time. `journal`: the file and its word."""

    title: str
    journal: str
    made: str


def page(head: PageHeader, reports: Iterable[PeriodReport]) -> Iterator[str]:
    style = STYLE
    for name, text in (("TITLE", head.title), ("JOURNAL", head.journal), ("MADE", head.made)):
        style = style.replace(name, in_style(text), 1)
    yield f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(head.title)}</title>\n'
    yield f'<meta name="viewport" content="width=device-width">\n<style>{style}</style>\n</head>\n<body>\n'
    for report in reports:
        yield from section(head, report)
    yield "</body>\n</html>\n"


def in_style(text: str) -> str:
    """A text in a style: each character that is not a letter or a digit of ASCII is escaped."""
    return '"' + "".join(each if each.isascii() and each.isalnum() else f"\\{ord(each):06x}" for each in text) + '"'


def section(head: PageHeader, report: PeriodReport) -> Iterator[str]:
    yield f'<section class="table">\n<h1>{escape(report.table)}: {escape(report.title)}</h1>\n'
    yield f"<p>{escape(period(report))}<br>{escape(head.journal)}<br>{escape(head.made)}</p>\n"
    yield from titled("Summary", figure_table(report))
    yield from titled("Integrity", integrity(report))
    yield from titled("Rounds", round_table(report.rounds))
    for title, events in (
        ("Irregularities", report.irregularities),
        ("Questions and decisions", report.decisions),
        ("Device faults", report.faults),
        ("Gaps", report.gaps),
    ):
        yield from titled(title, event_table(events))
    yield "</section>\n"


def period(report: PeriodReport) -> str:
    if not report.events:
        return "no events"
    times = [event.utc_us for event in report.events]
    return f"from {rfc3339(min(times))} to {rfc3339(max(times))}, {span('event', *report.extent)}"


def titled(title: str, parts: Iterable[str]) -> Iterator[str]:
    yield f"<h2>{escape(title)}</h2>\n"
    yield from parts


def figure_table(report: PeriodReport) -> Iterator[str]:
    yield '<table class="figures">\n<tbody>\n'
    for name, text in figures(report.tally).items():
        yield f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>\n'
    yield "</tbody>\n</table>\n"


def integrity(report: PeriodReport) -> Iterator[str]:
    partial = [view.name for view in report.rounds if view.integrity == "partial"]
    yield paragraph(f"Partial rounds: {', '.join(partial) or 'none'}.")
    for shoe, views in groupby(report.rounds, attrgetter("shoe")):
        states = [state for state, _ in groupby(view.start["shoe_integrity"] for view in views if view.start)]
        yield paragraph(f"Shoe {shoe}: {', then '.join(states)}.")
    is_whole = not report.missing
    missing = "every sequence number is present" if is_whole else f"missing: {', '.join(report.missing)}"
    yield paragraph(f"{span('Event', *report.extent)}: {missing}.", is_good=is_whole)
    if report.verified is not None:
        for name, text in (("Chain", report.verified.chain), ("Signed head", report.verified.head)):
            yield paragraph(f"{name}: {text}.", is_good=report.verified.is_good) if text else ""


def paragraph(text: str, *, is_good: bool = True) -> str:
    return f"<p>{escape(text)}</p>\n" if is_good else f'<p class="bad">{escape(text)}</p>\n'


def table(columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """`rows`: the class of each row, and its cells. Only the last cell has several lines."""
    names = "".join(f'<th scope="col">{escape(each)}</th>' for each in columns)
    yield f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n"
    for kind, cells in rows:
        mark = f' class="{kind}"' if kind else ""
        yield f"<tr{mark}>{''.join(f'<td>{escape(each)}</td>' for each in cells)}</tr>\n"
    yield "</tbody>\n</table>\n"


def round_table(views: Sequence[RoundView]) -> Iterator[str]:
    if not views:
        yield paragraph("none")
        return
    columns = ("Round", "Start (UTC)", "Player", "Banker", "Result", "The shoe", "Remarks")
    yield from table(columns, (("unusual" if view.unusual else "", round_cells(view)) for view in views))


def round_cells(view: RoundView) -> Sequence[str]:
    compared = "" if view.compared is None else view.compared.type.removeprefix("round.")
    began = "" if view.began is None else time(view.began)[:-4]
    ends = {RoundStatus.COMPLETE: view.headline, RoundStatus.VOID: f"void: {view.voided.get('kind')}"}
    headline = ends.get(view.status, view.status.value)
    return (view.name, began, hand(view, "player"), hand(view, "banker"), headline, compared, "; ".join(view.unusual))


def hand(view: RoundView, side: str) -> str:
    found = view.last.get(side) or {}
    return f"{' '.join(found.get('cards', ()))} ({found.get('points')})" if found.get("cards") else ""


def event_table(events: Sequence[EventRow]) -> Iterator[str]:
    if not events:
        yield paragraph("none")
        return
    rows = (("", (time(event), place(event), event.type, in_words(event.type, event.data))) for event in events)
    yield from table(("Time (UTC)", "Round", "Event", "Description"), rows)


def time(event: EventRow) -> str:
    """UTC with milliseconds."""
    return rfc3339(event.utc_us).replace("T", " ")[: len("2026-11-19 22:00:00.000")]


def place(event: EventRow) -> str:
    shoe, number = event.data.get("shoe"), event.data.get("round")
    return "" if shoe is None else f"{shoe}" if number is None else f"{shoe}.{number}"
