"""The record, for whoever does not take our word: folded again, and shown row by row, with the bytes of every card.

It is only read, a copy of it or the file that a daemon writes just now; all that is said is of one moment.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from shoed.config import recall
from shoed.daemon import engine_of
from shoed.engine import ENGINE, Engine
from shoed.errors import JournalUnusable, UsageError
from shoed.journal import Reader, StoredStep
from shoed.journal.replay import decode_again, rehearse
from shoed.now import rfc3339
from shoed.observations import Device
from shoed.session import SessionState
from shoed.settings import shown
from shoed.step import Received

LAST_ROW: Final = 2**63 - 1  # of SQLite
LONGEST_PAIR: Final = 30
SHOWN: Final = 10  # differences of each kind: the first explains the others


def engine_for(word: str, settings: str) -> Engine[SessionState]:
    try:
        return engine_of(recall(settings), word)
    except (KeyError, TypeError, msgspec.DecodeError) as error:
        raise JournalUnusable(
            f"{settings}: no settings that this shoed knows ({error}); try the one that wrote them"
        ) from error


@contextmanager
def reading(state_dir: Path) -> Iterator[Reader]:
    with closing(Reader(state_dir / "journal.db")) as reader, reader.one_moment():
        yield reader


def chosen(reader: Reader, names: Sequence[str]) -> Sequence[str]:
    known = reader.tables
    for name in names:
        if name not in known:
            raise UsageError(f"{name}: no such table is on record; known: {', '.join(known)}")
    return names or known


def check(state_dir: Path, names: Sequence[str]) -> int:
    """Say of each table whether it comes out again; the exit status."""
    wrong = False
    with reading(state_dir) as reader:
        for name in chosen(reader, names):
            found = [
                difference
                for way in (rehearse, decode_again)
                for difference in islice(way(reader, name, partial(engine_for, reader.word)), SHOWN)
            ]
            wrong = wrong or bool(found)
            rows, events = reader.counts(name)
            verdict = "these do not come out again:" if found else "all come out again"
            print(f"{name}: {rows} rows and {events} events on record; {verdict}")
            for difference in found:
                print(f"{name}: row {difference.row}: {difference.what}")
                print(f"    on record: {difference.recorded}")
                print(f"    again:     {difference.again}")
            others = [engine for engine in reader.engines(name) if engine != ENGINE]
            if found and others:
                print(f"{name}: rows were made by engine {', '.join(map(str, others))}; this one is engine {ENGINE}")
    return int(wrong)


def show(state_dir: Path, name: str, rows: str | None, played: str | None) -> int:
    """Print rows `A-B` or `A`, or those of the round `SHOE.ROUND`; all, where neither is asked for."""
    with reading(state_dir) as reader:
        chosen(reader, [name])
        span: tuple[int, int] | None = (1, LAST_ROW)
        if rows is not None:
            span = pair(rows, "-", "rows A-B, or one row A") if "-" in rows else pair(f"{rows}-{rows}", "-", "a row")
        elif played is not None:
            span = reader.of_round(name, *pair(played, ".", "a round as SHOE.ROUND, as in 2.17"))
        steps = 0
        for step in reader.step(name, *span) if span else ():
            steps += 1
            print("\n".join(told(reader, name, step)))
    if not steps:
        print(f"{name}: no such row is on record", file=sys.stderr)
    return int(not steps)


def pair(text: str, sign: str, right: str) -> tuple[int, int]:
    first, _, last = text.partition(sign)
    if not (first.isdecimal() and last.isdecimal() and len(text) <= LONGEST_PAIR):
        raise UsageError(f"{shown(text)} will not do; give {right}")
    return min(int(first), LAST_ROW), min(int(last), LAST_ROW)


def told(reader: Reader, name: str, step: StoredStep) -> Iterator[str]:
    yield f"{name} row {step.row} at {rfc3339(step.utc_us)}"
    if step.data is None:
        yield f"    came: {step.input}"
    else:
        came = msgspec.json.decode(step.input, type=Received)
        data = (step.received or b"").hex(" ")
        unkept = f"{came.unkept} bytes, which are not kept" if came.unkept else ""
        yield f"    came{from_or_to('from', came.device)}: {unkept or data}"
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
    for event in reader.of_step(name, step.row):
        yield f"    event {event.sequence}: {event.type} {event.data}"


def from_or_to(way: str, device: Device) -> str:
    return "" if device is Device.SHOE else f" {way} the {device.value}"
