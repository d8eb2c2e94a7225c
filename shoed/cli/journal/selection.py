"""The options that select events, for `query`, `export` and `stats`, and the selected events in order.

Theory of operation: SQLite tests each event of the span; a shoe or a round limits the span first. An event that names
no shoe, such as a fault of a device, belongs to the round or the shoe that began last before it.
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from shoed.cli.journal.moments import ALL_TIMES, Period, period_between
from shoed.cli.journal.values import ROUND, number, pair
from shoed.cli.parser import Parser
from shoed.errors import JournalError, UsageError
from shoed.journal import Reader
from shoed.journal.scan import (
    ALL,
    OF_NO_SHOE,
    OF_ROUND,
    EventFilter,
    EventRow,
    Extent,
    event_at,
    events,
    named,
    newest_starts,
    of_round,
    round_span,
    shoe_span,
    start_from,
    whole,
)
from shoed.model.cards import Card
from shoed.model.events import TYPES
from shoed.model.irregularities import PLAYER, IrregularityKind, Role
from shoed.model.moments import rfc3339
from shoed.settings import nearest, shown

KINDS: Final = tuple(each.value for each in IrregularityKind)
NAMES: Final = frozenset(TYPES.values())
NOUNS: Final = frozenset(name.partition(".")[0] for name in NAMES)


class Selection(msgspec.Struct, frozen=True):
    shoe: int | None = None
    round: int | None = None
    period: Period = ALL_TIMES
    which: EventFilter = ALL

    def has_place(self, shoe: int | None, number: int | None) -> bool:
        return self.shoe in (None, shoe) and self.round in (None, number)

    @property
    def place(self) -> str:
        return f"shoe {self.shoe}" if self.round is None else f"round {self.shoe}.{self.round}"


def add_selection(parser: Parser) -> None:
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--shoe", metavar="N", help="only events of this shoe")
    part.add_argument("--round", metavar="SHOE.ROUND", help="only events of this round, for example 2.17")
    parser.add_argument(
        "--from",
        dest="from_time",
        metavar="TIME",
        help="only events from this day or moment on, in UTC; with an offset or with the word local in another zone",
    )
    parser.add_argument("--to", dest="to_time", metavar="TIME", help="only events up to this day or moment, included")


def add_filters(parser: Parser) -> None:
    parser.add_argument("--card", metavar="CARD", help="only events of this card, for example 8S")
    parser.add_argument("--irregularity", metavar="KIND", choices=KINDS, help="only irregularities of this kind")
    parser.add_argument("--author", metavar="NAME", help="only events that this person caused")
    parser.add_argument(
        "--role",
        metavar="ROLE",
        choices=[*(each.value for each in Role), PLAYER],
        help="only events that a person with this role caused",
    )
    parser.add_argument(
        "--type",
        metavar="TYPE",
        action="append",
        help="only events of this type or noun, for example card.drawn or question; several times: any of them",
    )


def selection_of(arguments: Namespace) -> Selection:
    shoe, played = None, None
    if arguments.round is not None:
        shoe, played = pair(arguments.round, ".", "--round", ROUND)
    elif arguments.shoe is not None:
        shoe = number(arguments.shoe, "--shoe")
    period, which = period_between(arguments.from_time, arguments.to_time), ALL
    for each in conditions(arguments, period):
        which = each if which is ALL else which & each
    return Selection(shoe, played, period, which)


def within(period: Period) -> EventFilter:
    return EventFilter("utc_us >= ? AND utc_us < ?", period)


def conditions(arguments: Namespace, period: Period) -> Iterator[EventFilter]:
    if period != ALL_TIMES:
        yield within(period)
    if "card" in arguments:
        yield from filters(arguments)


def filters(arguments: Namespace) -> Iterator[EventFilter]:
    if arguments.card is not None:
        yield EventFilter(f"type GLOB 'card.*' AND {named('card')} = ?", (card_of(arguments.card),))
    if arguments.irregularity is not None:
        yield EventFilter(
            f"(type GLOB 'irregularity.*' OR type = 'round.voided') AND {named('kind')} = ?",
            (arguments.irregularity,),
        )
    if arguments.author is not None:
        yield EventFilter(f"{named('author')} = ?", (arguments.author,))
    if arguments.role is not None:  # a role without an author is the role that a question needs
        yield EventFilter(
            f"{named('author')} IS NOT NULL AND coalesce({named('role')}, ?) = ?",
            (PLAYER, arguments.role),
        )
    if arguments.type:
        any_of = [type_condition(each) for each in arguments.type]
        which = any_of[0]
        for each in any_of[1:]:
            which = which | each
        yield which


def card_of(text: str) -> str:
    try:
        return Card.parse(text).value
    except ValueError as error:
        raise UsageError(f"--card: {error}") from None


def type_condition(text: str) -> EventFilter:
    """`card.drawn`, as in the journal, `card/drawn`, as in a topic, or the noun `card`."""
    name = text.removeprefix("shoed.").replace("/", ".")
    if name in NOUNS:
        return EventFilter("substr(type, 1, ?) = ?", (len(name) + 1, f"{name}."))
    if name not in NAMES:
        near = nearest(name, [*NAMES, *NOUNS])
        remedy = (
            f"did you mean {near}?" if near else f"write one of {', '.join(sorted(NOUNS))}, or a type of docs/events.md"
        )
        raise UsageError(f"--type: {shown(text)} is not a type of an event; {remedy}")
    return EventFilter("type = ?", (name,))


# --- the selected events


def with_place(reader: Reader, tables: Sequence[str], selection: Selection) -> Sequence[str]:
    """The tables that have the selected shoe or round; an error if none has it."""
    found = [name for name in tables if span_of(reader, name, whole(reader, name), selection) is not None]
    if not found:
        raise JournalError(f"the journal does not have {selection.place}; {existing_rounds(reader, tables)}")
    return found


def existing_rounds(reader: Reader, tables: Sequence[str]) -> str:
    """The rounds and the times of the tables, for an error."""
    return "; ".join(f"{name}: {rounds_of(reader, name)}" for name in tables)


def rounds_of(reader: Reader, table: str) -> str:
    span = whole(reader, table)
    ends = [event_at(reader, table, each) for each in span]
    first = start_from(reader, table, span, OF_ROUND)
    last = next(newest_starts(reader, table, span, OF_ROUND), None)
    times = " to ".join(rfc3339(event.utc_us) for event in ends if event is not None)
    if first is None or last is None:
        return f"no round, {times or 'no event'}"
    return f"rounds {first.name} to {last.name}, {times}"


def selected(reader: Reader, table: str, selection: Selection) -> Iterator[EventRow]:
    """The selected events of a table, in order, up to the last event at this moment."""
    span = whole(reader, table)
    if selection.shoe is None:
        yield from events(reader, table, span, selection.which)
        return
    part = span_of(reader, table, span, selection)
    if part is None:
        return
    own = of_round(selection.shoe, selection.round)
    yield from events(reader, table, part, (own | OF_NO_SHOE) & selection.which)
    yield from events(reader, table, Extent(part.last + 1, span.last), own & selection.which)


def span_of(reader: Reader, table: str, span: Extent, selection: Selection) -> Extent | None:
    if selection.shoe is None:
        return span
    if selection.round is None:
        return shoe_span(reader, table, span, selection.shoe)
    return round_span(reader, table, span, selection.shoe, selection.round)
