"""The journal as an auditor reads it: by SQL of its own, without the code under test.

The files of a stopped daemon are copied first, so that no reader changes them. SQLite recovers the copy as the daemon
would.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from tests.foreign_journal import ForeignVerifier

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAMAGED: Final = "journal-damaged-*.db"

Json = Any  # a decoded payload


class Event(NamedTuple):
    """One event of the journal, with the id that it has for subscribers."""

    id: str
    table: str
    sequence: int
    type: str
    utc_us: int
    data: Json

    @property
    def content(self) -> str:
        time = (EPOCH + timedelta(microseconds=self.utc_us)).isoformat()
        return json.dumps([self.table, self.sequence, f"shoed.{self.type}", time, self.data], sort_keys=True)


def content_of(table: str, event: Json) -> str:
    """The content of a received event, in the form of `Event.content`."""
    time = datetime.fromisoformat(event["time"]).astimezone(UTC).isoformat()
    return json.dumps([table, int(event["sequence"]), event["type"], time, event["data"]], sort_keys=True)


class Incarnation(NamedTuple):
    number: int
    word: str
    reason: str
    after: dict[str, int]  # by table: the sequence after which it begins; another table does not use its word


class Journal(NamedTuple):
    """The record of all tables."""

    events: dict[str, list[Event]]  # by table
    rows: dict[str, tuple[int, int, int]]  # by table: the first and the last row, and their number
    incarnations: list[Incarnation]
    damages: list[str]  # that SQLite finds
    altered: list[str]  # that a second verifier of the chain finds
    set_aside: list[str]  # earlier files

    @property
    def ids(self) -> set[str]:
        return {event.id for events in self.events.values() for event in events}


def read(state_dir: Path) -> Journal:
    """The journal of a stopped daemon."""
    with TemporaryDirectory(dir=state_dir.parent) as place:
        for path in state_dir.glob("journal.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, place)
        set_aside = sorted(path.name for path in state_dir.glob(DAMAGED))
        copy = Path(place) / "journal.db"
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            try:
                reading = Reading(connection)
                altered = ForeignVerifier(copy).problems() if "dictionary" in reading.present else ()
                return reading.journal()._replace(altered=list(altered), set_aside=set_aside)
            except (sqlite3.DatabaseError, ValueError, TypeError) as error:  # TypeError: NULL in a damaged page
                return Journal({}, {}, [], [str(error)], [], set_aside)


class Reading:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.present = {name for (name,) in self.ask("SELECT name FROM sqlite_schema WHERE type = 'table'")}

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()

    def journal(self) -> Journal:
        if "journal" not in self.present:  # the daemon was killed before its first commit
            return Journal({}, {}, [], [], [], [])
        incarnations = self.incarnations()
        events: dict[str, list[Event]] = {}
        query = "SELECT table_name, sequence, type, utc_us, data FROM event ORDER BY table_name, sequence"
        for table, sequence, kind, utc_us, data in self.ask(query):
            first, *later = incarnations
            word = [first.word, *(each.word for each in later if each.after.get(table, sequence) < sequence)][-1]
            name = f"{word}-{table}-{sequence}"
            events.setdefault(table, []).append(Event(name, table, sequence, kind, utc_us, json.loads(data)))
        damages = [text for (text,) in self.ask("PRAGMA integrity_check") if text != "ok"]
        return Journal(events, self.rows(), incarnations, damages, [], [])

    def incarnations(self) -> list[Incarnation]:
        """A journal without incarnations has one."""
        if "incarnation" not in self.present:
            return [Incarnation(1, str(self.ask("SELECT word FROM journal")[0][0]), "", {})]
        after: dict[int, dict[str, int]] = {}
        for number, table, sequence in self.ask("SELECT number, table_name, sequence FROM incarnation_table"):
            after.setdefault(number, {})[table] = sequence
        rows = self.ask("SELECT number, word, reason FROM incarnation ORDER BY number")
        return [Incarnation(number, word, reason, after.get(number, {})) for number, word, reason in rows]

    def rows(self) -> dict[str, tuple[int, int, int]]:
        """Schema 5 keeps the rows of earlier schemas in another table."""
        both = " UNION ALL ".join(
            f"SELECT table_name, row FROM {name}"  # noqa: S608  # one of these two names
            for name in ("step_4", "step")
            if name in self.present
        )
        query = f"SELECT table_name, min(row), max(row), count(*) FROM ({both}) GROUP BY table_name"  # noqa: S608
        return {table: (first, last, number) for table, first, last, number in self.ask(query)}
