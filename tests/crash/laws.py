"""The laws that no crash may break. Each function returns a text for each defect.

They compare the journal, as `evidence.py` reads it, with the received events and the dealt cards. They import nothing
of the code under test. A loss is permitted only if data on the disk were damaged, and the journal names the loss: by a
new incarnation with a reason, by an earlier file that was set aside, or, for cards, by the event `line/missed`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tests.crash.evidence import Journal, content_of
from tests.crash.subscriber import Received

CARDS: Final = ("card.drawn", "card.set-aside")


class Contents:
    """The content of each id, from every reader and at every time."""

    def __init__(self) -> None:
        self.of: dict[str, tuple[str, str]] = {}  # the content of an id, and its first place
        self.read = 0  # received events

    def note(self, name: str, content: str, place: str) -> Iterator[str]:
        known, where = self.of.setdefault(name, (content, place))
        if known != content:
            yield f"contents: {name} has two contents:\n  {where}: {known}\n  {place}: {content}"

    def journal(self, journal: Journal, place: str) -> Iterator[str]:
        for events in journal.events.values():
            for event in events:
                yield from self.note(event.id, event.content, place)

    def received(self, events: Sequence[Received]) -> Iterator[str]:
        for each in events[self.read :]:
            yield from self.note(each.event["id"], content_of(each.table, each.event), "received")
        self.read = len(events)


class Witness(NamedTuple):
    """What others than the daemon know: the received events, and the cards of the two shoes."""

    received: Sequence[Received]
    open_shoe: Sequence[str]
    acknowledged: int  # cards of the Open Shoe
    angel_eye: Sequence[str]


class Audit:
    """All laws, one time after another. `eye` and `shoe` are the names of the tables."""

    def __init__(self, eye: str, shoe: str) -> None:
        self.eye = eye
        self.shoe = shoe
        self.contents = Contents()
        self.received = Contents()  # a damage may lose events that were never published: their ids are free

    def defects(
        self, journal: Journal, witness: Witness, place: str, *, complete: bool = False, damaged: bool = False
    ) -> list[str]:
        """`complete`: every event must be received by now. `damaged`: data on the disk were lost or changed."""
        contents = [self.received.received(witness.received)]
        if not damaged:
            contents += [self.contents.journal(journal, place), self.contents.received(witness.received)]
        return [
            *dict.fromkeys(defect for each in contents for defect in each),
            *intact(journal),
            *(f"named: {loss}" for loss in losses(journal) if not damaged),
            *acknowledged(journal, self.shoe, witness, damaged=damaged),
            *invented(journal, self.eye, witness.angel_eye),
            *published(journal, witness.received, complete=complete, damaged=damaged),
        ]


def intact(journal: Journal) -> Iterator[str]:
    """SQLite finds no damage; the chain verifies; rows and sequences have no gap."""
    yield from (f"intact: {damage}" for damage in journal.damages)
    yield from (f"chain: {place}" for place in journal.altered)
    for table, (first, last, number) in journal.rows.items():
        if last - first + 1 != number:
            yield f"gapless: {table} has {number} rows from {first} to {last}"
    for table, events in journal.events.items():
        sequences = [event.sequence for event in events]
        if sequences != list(range(1, len(sequences) + 1)):
            jump = next(after for before, after in pairwise((0, *sequences)) if after != before + 1)
            yield f"gapless: {table} has {len(sequences)} events; a gap is before {jump}"


def losses(journal: Journal) -> list[str]:
    """The losses that the journal names."""
    return journal.set_aside + [f"{each.word}: {each.reason}" for each in journal.incarnations[1:] if each.reason]


def cards(journal: Journal, table: str) -> list[str]:
    """Each reported card once: an event with `set_aside` or `source` repeats a card, or is from a person."""
    found = [each for each in journal.events.get(table, ()) if each.type in CARDS]
    return [each.data["card"] for each in found if not each.data.get("set_aside") and "source" not in each.data]


def acknowledged(journal: Journal, table: str, witness: Witness, *, damaged: bool) -> Iterator[str]:
    """The journal has every card that the device saw acknowledged, once and in order, and no other card."""
    found, dealt = cards(journal, table), witness.open_shoe
    missed = any(each.type == "line.missed" for each in journal.events.get(table, ()))
    if damaged and (missed or losses(journal)):
        if not is_part(found, dealt):
            yield f"cards: {table} has cards in another order than the device: {difference(found, dealt)}"
    elif found != list(dealt[: len(found)]):
        yield f"cards: {table} differs from the device: {difference(found, dealt)}"
    elif len(found) < witness.acknowledged:
        yield f"cards: {table} has {len(found)} cards, and the device saw {witness.acknowledged} acknowledged"


def invented(journal: Journal, table: str, dealt: Sequence[str]) -> Iterator[str]:
    """A device without acknowledgements loses cards while no host reads; no card is invented or doubled."""
    found = cards(journal, table)
    if not is_part(found, dealt):
        yield f"cards: {table} has a card that was not dealt there: {len(found)} of {len(dealt)} cards"


def is_part(found: Iterable[str], dealt: Iterable[str]) -> bool:
    rest = iter(dealt)
    return all(card in rest for card in found)


def difference(found: Sequence[str], dealt: Sequence[str]) -> str:
    place = next((at for at, pair in enumerate(zip(found, dealt, strict=False)) if len(set(pair)) > 1), len(dealt))
    return f"from card {place + 1} on, {' '.join(found[place : place + 5])}, not {' '.join(dealt[place : place + 5])}"


def published(journal: Journal, events: Sequence[Received], *, complete: bool, damaged: bool) -> Iterator[str]:
    """The subscriber has exactly the events of the journal, in order; the last ones may be under way.

    Events of an earlier incarnation that the journal has lost are permitted after a named loss.
    """
    recorded = {event.id: event for of_table in journal.events.values() for event in of_table}
    words = {each.word for each in journal.incarnations[:-1]} if not journal.set_aside else None
    newest = firsts(journal)  # by word and table
    received: set[str] = set()
    for each in events:
        name = each.event["id"]
        source, sequence = name.rpartition("-")[0], int(each.event["sequence"])
        before = newest.setdefault(source, 0)
        if sequence > before + 1:
            yield f"published: {name} was received directly after {source}-{before}"
        newest[source] = max(before, sequence)
        received.add(name)
        lost = damaged and losses(journal) and (words is None or name.split("-", 1)[0] in words)
        if name not in recorded and not lost:
            yield f"published: {name} was received, and the journal does not have it"
    missing = sorted(recorded.keys() - received, key=lambda name: recorded[name].sequence)
    if complete and missing:
        yield f"published: {len(missing)} events of the journal were not received, first {missing[0]}"


def firsts(journal: Journal) -> dict[str, int]:
    """By word and table: the sequence before the first event."""
    found: dict[str, int] = {}
    for events in journal.events.values():
        for event in events:
            found.setdefault(event.id.rpartition("-")[0], event.sequence - 1)
    return found
