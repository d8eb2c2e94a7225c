"""The numbers of a journal: rounds, cards, matters, decisions, faults and downtime, for each table, shoe or day.

Theory of operation: one pass over the events; the memory grows with the groups and the abandoned rounds only. A
correction or a void names the event that it replaces: the replaced result is subtracted, and the new result is added to
the group of the first result. A round therefore counts once, with its last result. The seconds without a link depend on
events outside the selection, too: they are those of the whole table, limited to the selected time.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from enum import Enum
from itertools import chain
from typing import Final, NamedTuple, assert_never

import msgspec

from shoed.cli.journal.selection import Selection
from shoed.journal import Reader
from shoed.journal.scan import (
    Data,
    EventFilter,
    EventRow,
    Extent,
    event_at,
    events,
    newest_starts,
    start_from,
    whole,
)
from shoed.model.cards import Card
from shoed.model.irregularities import PLAYER
from shoed.model.moments import EPOCH
from shoed.model.observations import Device
from shoed.rules.drawing import INITIAL_HAND, points
from shoed.rules.load import GAMES, book

RESULTS: Final = ("round.completed", "round.corrected")
ENDS: Final = (*RESULTS, "round.voided", "round.abandoned")
# Damaged data outside the selection do not prevent the count.
OF_ABSENCE: Final = EventFilter(
    "type IN ('device.offline', 'device.online', 'shoe.started', 'round.started') AND json_valid(data)"
)


class Grouping(Enum):
    TABLE = "table"
    SHOE = "shoe"
    DAY = "day"


class Group(msgspec.Struct, frozen=True):
    table: str
    shoe: int | None = None
    day: str | None = None


class Tally(msgspec.Struct):
    """The numbers of a group. Seconds are those between a closed link and its next opening, within the selection.

    `complete`: rounds with a result. `open`: rounds without an end. `partial`: rounds with a result whose integrity is
    partial. `naturals`: rounds with a natural of either hand. `noticed` and `ruled`: events about irregularities.
    `missed`: reports that are lost at least. `missed_unknown`: losses of an unknown number of reports.
    """

    events: int = 0
    shoes: int = 0
    rounds: int = 0
    complete: int = 0
    void: int = 0
    abandoned: int = 0
    open: int = 0
    partial: int = 0
    corrected: int = 0
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    pairs: Counter[str] = msgspec.field(default_factory=Counter)
    naturals: int = 0
    confirmed: int = 0
    disputed: int = 0
    unconfirmed: int = 0
    cards: int = 0
    entered: int = 0
    set_aside: int = 0
    noticed: Counter[str] = msgspec.field(default_factory=Counter)
    ruled: Counter[str] = msgspec.field(default_factory=Counter)
    decisions: Counter[str] = msgspec.field(default_factory=Counter)
    faults: Counter[str] = msgspec.field(default_factory=Counter)
    offline: Counter[str] = msgspec.field(default_factory=Counter)
    offline_s: dict[str, float] = {}
    missed: int = 0
    missed_unknown: int = 0
    rejected: int = 0

    def add_result(self, data: Data, sign: int) -> None:
        self.complete += sign
        self.partial += sign * (data.get("integrity") == "partial")
        self.outcomes[data["outcome"]] += sign
        for pair in data.get("pairs") or ():
            self.pairs[pair] += sign
        self.naturals += sign * is_natural(data)


def is_natural(data: Data) -> bool:
    """Whether the first two cards of a hand are a natural."""
    game = data.get("game")
    if game not in GAMES:
        return False
    rules = book(game)
    hands = [tuple(map(Card.parse, data[side]["cards"][:INITIAL_HAND])) for side in ("player", "banker")]
    return any(len(hand) == INITIAL_HAND and points(rules, hand) in rules.play.natural for hand in hands)


def add_card(counts: Tally, data: Data) -> None:
    counts.cards += 1
    counts.entered += data.get("source") == "person"


def add_set_aside(counts: Tally, data: Data) -> None:
    counts.set_aside += data.get("count", 1)


def add_noticed(counts: Tally, data: Data) -> None:
    counts.noticed[data["kind"]] += 1


def add_ruled(counts: Tally, data: Data) -> None:
    counts.ruled[data["kind"]] += 1


def add_decision(counts: Tally, data: Data) -> None:
    counts.decisions[data.get("role") or PLAYER] += 1


def add_fault(counts: Tally, data: Data) -> None:
    counts.faults[f"{device_of(data)}: {data['name']}"] += 1


def add_offline(counts: Tally, data: Data) -> None:
    counts.offline[device_of(data)] += data.get("count", 1)


def add_missed(counts: Tally, data: Data) -> None:
    counts.missed += data.get("at_least") or 0
    counts.missed_unknown += data.get("at_least") is None


def add_rejected(counts: Tally, data: Data) -> None:
    counts.rejected += data.get("count", 1)


def device_of(data: Data) -> str:
    return str(data.get("device", Device.SHOE.value))


# By the type of an event: the count that increases by 1, or the function that adds the event.
COUNTED: Final[Mapping[str, str]] = {
    "shoe.started": "shoes",
    "round.started": "rounds",
    "round.abandoned": "abandoned",
    "round.voided": "void",
    "round.confirmed": "confirmed",
    "round.disputed": "disputed",
    "round.unconfirmed": "unconfirmed",
    "round.corrected": "corrected",
}
ADDED: Final[Mapping[str, Callable[[Tally, Data], None]]] = {
    "card.drawn": add_card,
    "card.set-aside": add_set_aside,
    "irregularity.noticed": add_noticed,
    "irregularity.ruled": add_ruled,
    "question.answered": add_decision,
    "device.fault": add_fault,
    "device.offline": add_offline,
    "line.missed": add_missed,
    "line.rejected": add_rejected,
}


class Absence(NamedTuple):
    """A time without the link of a device, during one round: from the start of the round to the next start."""

    device: str
    shoe: int | None
    round: int | None
    first: int
    end: int


def absences(reader: Reader, table: str) -> Iterator[Absence]:
    """All absences of a table. A link that is still closed counts up to the last event."""
    span = whole(reader, table)
    first = start_from(reader, table, span)  # the first shoe begins with the record
    shoe, played = (None, None) if first is None else (first.shoe, 0)
    closed, since = set[str](), 0
    last = events(reader, table, Extent(span.last, span.last))
    for event in chain(events(reader, table, span, OF_ABSENCE), last):
        yield from [Absence(device, shoe, played, since, event.utc_us) for device in sorted(closed)]
        since = event.utc_us
        match event.type:
            case "device.offline":
                closed.add(device_of(event.data))
            case "device.online":
                closed.discard(device_of(event.data))
            case "shoe.started" | "round.started":
                shoe, played = event.data.get("shoe"), event.data.get("round", 0)
            case _:
                pass  # the last event


class Counting:
    """The counts of one table, in the making. `zone`: the zone of the days; None: that of this machine."""

    def __init__(self, reader: Reader, table: str, selection: Selection, by: Grouping, zone: tzinfo | None) -> None:
        self.reader, self.table, self.selection, self.by, self.zone = reader, table, selection, by, zone
        self.groups: dict[Group, Tally] = {}
        self.shoe: int | None = None
        self.first = 0
        self.unfinished: dict[tuple[int, int], Tally] = {}  # by round: the group of its start
        self.abandoned: dict[tuple[int, int], Tally] = {}

    def of(self, event: EventRow) -> Tally:
        return self.at(event.data.get("shoe") or self.shoe, event.utc_us)

    def at(self, shoe: int | None, utc_us: int) -> Tally:
        match self.by:
            case Grouping.TABLE:
                group = Group(self.table)
            case Grouping.SHOE:
                group = Group(self.table, shoe=shoe)
            case Grouping.DAY:
                group = Group(self.table, day=self.day_of(utc_us))
            case _:
                assert_never(self.by)
        return self.groups.setdefault(group, Tally())

    def day_of(self, utc_us: int) -> str:
        return self.moment(utc_us).date().isoformat()

    def moment(self, utc_us: int) -> datetime:
        return (EPOCH + timedelta(microseconds=utc_us)).astimezone(self.zone)

    def add(self, event: EventRow) -> None:
        if not self.groups:
            self.shoe, self.first = self.shoe_at(event.sequence), event.sequence
        if event.type in ("shoe.started", "round.started"):
            self.shoe = event.data["shoe"]
        counts = self.of(event)
        counts.events += 1
        if event.type in COUNTED:
            name = COUNTED[event.type]
            setattr(counts, name, getattr(counts, name) + 1)
        elif event.type in ADDED:
            ADDED[event.type](counts, event.data)
        if event.type.startswith("round."):
            self.add_round(event, counts)

    def shoe_at(self, sequence: int) -> int | None:
        """The shoe that began last before the event. The first shoe begins with the record."""
        span = whole(self.reader, self.table)
        before = next(newest_starts(self.reader, self.table, Extent(span.first, sequence)), None)
        found = before or start_from(self.reader, self.table, Extent(sequence, span.last))
        return None if found is None else found.shoe

    # --- results

    def add_round(self, event: EventRow, counts: Tally) -> None:
        key = (event.data["shoe"], event.data["round"])
        if event.type == "round.started":
            self.unfinished[key] = counts
        elif event.type in ENDS:
            self.unfinished.pop(key, None)
            origin = self.superseded(event.data) if "supersedes" in event.data else None
            if event.type == "round.abandoned":
                self.abandoned[key] = counts
            elif event.type == "round.voided" and key in self.abandoned:  # a late void of an abandoned round
                self.abandoned.pop(key).abandoned -= 1
            elif event.type in RESULTS:
                if origin is not None and origin.sequence < self.first:  # a round before the selection
                    return
                counts = counts if origin is None else self.of(origin)
                if event.data.get("outcome") is None:
                    self.unfinished[key] = counts
                else:
                    counts.add_result(event.data, 1)

    def superseded(self, data: Data) -> EventRow | None:
        """Subtract the replaced result. Returns the first result of the round."""
        replaced = self.replaced(data)
        if replaced is None or replaced.type not in RESULTS:
            return None
        origin = replaced
        while origin.type == "round.corrected" and (earlier := self.replaced(origin.data)) is not None:
            if earlier.type not in RESULTS:
                break
            origin = earlier
        if replaced.data.get("outcome") is not None and origin.sequence >= self.first:
            self.of(origin).add_result(replaced.data, -1)
        return origin

    def replaced(self, data: Data) -> EventRow | None:
        named = data.get("supersedes")
        return None if named is None else event_at(self.reader, self.table, int(named.rpartition("-")[2]))

    # --- devices

    def add_absence(self, absence: Absence) -> None:
        """Add the selected time of the absence, to each day on its own."""
        began, last = max(absence.first, self.selection.period.first), min(absence.end, self.selection.period.end)
        while began < last:
            end = min(last, self.midnight_after(began)) if self.by is Grouping.DAY else last
            seconds = self.at(absence.shoe, began).offline_s
            seconds[absence.device] = round(seconds.get(absence.device, 0) + (end - began) / 1_000_000, 6)
            began = end

    def midnight_after(self, utc_us: int) -> int:
        day = self.moment(utc_us).date() + timedelta(days=1)
        midnight = datetime.combine(day, datetime.min.time(), self.zone)
        return (midnight.astimezone() - EPOCH) // timedelta(microseconds=1)

    def finished(self) -> Iterator[tuple[Group, Tally]]:
        """The groups in order."""
        for absence in absences(self.reader, self.table):
            if self.selection.has_place(absence.shoe, absence.round):
                self.add_absence(absence)
        for counts in self.unfinished.values():
            counts.open += 1
        yield from sorted(self.groups.items(), key=lambda each: (each[0].shoe or 0, each[0].day or ""))
