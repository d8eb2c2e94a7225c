"""The operations on whole journals: backup, restore, salvage, retention and migration, each with its laws.

Theory of operation. `prepare` makes the files before the operation. `run` starts the real command or the real daemon.
`laws` are true at any moment, also after a kill. `result` is true after an operation that has succeeded. Both compare
copies of the files, so that they leave the files as the next run finds them. They read by SQL of their own, and by the
second verifier of the chain.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec.structs import replace

from shoed.journal import Reader
from shoed.journal.ed25519 import is_signed
from shoed.journal.retention import cut_text
from shoed.journal.schema import SCHEMAS
from shoed.journal.seal import Run
from shoed.journal.verify import Verification
from shoed.journal.verify_file import file_findings
from tests.crash.evidence import read
from tests.crash.forks import Finished, Forks
from tests.long_record import LongRecord
from tests.test_journal_migration import frozen

FILE: Final = "journal.db"
TABLES: Final = ("bac-901", "bac-902")
PAGE: Final = 4096
DEALT: Final = 4  # shoes during a backup
LEAF: Final = 10  # the kind of a page
READY: Final = "INFO shoed: ready: "
CUT: Final = ": older rows were deleted"
CUTS: Final = "SELECT table_name, row FROM anchor WHERE reason = 'cut'"
NOT_CUT: Final = "old rows of the journal are not deleted"

Records = list[tuple[Any, ...]]


class Operation:
    """One operation in a directory: `state` has the journal of the daemon, `copy` the other one."""

    salvaged = False  # the exit status 1 may name gaps
    is_daemon = False  # it continues after a fault, and repeats the operation later

    starts = False  # the daemon uses the result

    def prepare(self, place: Path, forks: Forks) -> None:
        raise NotImplementedError

    def run(self, place: Path, forks: Forks) -> Finished:
        raise NotImplementedError

    def laws(self, place: Path, before: Path) -> Iterator[str]:
        raise NotImplementedError

    def result(self, place: Path, before: Path) -> Iterator[str]:
        raise NotImplementedError


def serve(place: Path, forks: Forks, until: Callable[[str], bool], keep_days: int | None = None) -> Finished:
    """Run the daemon, without a broker and a shoe, until its log fulfils a condition."""
    path = place.parent / "c.toml"
    path.write_text(f"""
        [site]
        name = "crash"
        state_dir = "{place / "state"}"
        [mqtt]
        url = "mqtt://127.0.0.1:1"
        {f"[journal]{chr(10)}keep_days = {keep_days}" if keep_days else ""}
        [[table]]
        name = "{TABLES[0]}"
        game = "commission"
        [table.shoe]
        protocol = "angel-eye"
        port = "tcp://127.0.0.1:1"
    """)
    return forks.run("run", "--config", path, until=until)


def deal(place: Path) -> None:
    with LongRecord(place / "state", TABLES) as record:
        record.deal(3)


# --- evidence


@contextmanager
def copied(folder: Path) -> Iterator[Path]:
    """A copy of a journal with its log: no reader changes the files."""
    with TemporaryDirectory() as copy:
        for path in folder.glob(f"{FILE}*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, copy)
        yield Path(copy, FILE)


def content(folder: Path, *queries: str) -> list[Records]:
    """The results of queries; [] for each without a journal."""
    with copied(folder) as copy:
        return answers(copy, queries) if copy.exists() else [[] for _ in queries]


def answers(path: Path, queries: Sequence[str]) -> list[Records]:
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(query).fetchall() for query in queries]


RECORD: Final = ("SELECT * FROM step ORDER BY 1, 2", "SELECT * FROM event ORDER BY 1, 2")


def record_of(folder: Path) -> list[set[tuple[Any, ...]]]:
    """The rows and the events."""
    return [set(each) for each in content(folder, *RECORD)]


def damages(folder: Path, name: str) -> Iterator[str]:
    """What SQLite and the second verifier find."""
    journal = read(folder)
    yield from (f"{name}: {each}" for each in [*journal.damages, *journal.altered])


def findings(folder: Path) -> Iterator[str]:
    """What SQLite and shoed find. The second verifier does not know a cut."""
    with copied(folder) as copy, closing(Reader(copy)) as reader:
        yield from (text for (text,) in reader.rows("PRAGMA integrity_check") if text != "ok")
        yield from map(str, file_findings(reader))
        for table in reader.tables:
            yield from map(str, Verification(reader, table).findings())


def unchanged(place: Path, before: Path, name: str) -> Iterator[str]:
    """Whether the files of a journal have each byte of before."""
    for path in before.glob(f"{name}*"):
        other = place / path.relative_to(before)
        if not path.name.endswith("-shm") and (not other.exists() or other.read_bytes() != path.read_bytes()):
            yield f"the source was changed: {other.name}"


# --- backup


class Dealing:
    """Two tables that continue a journal."""

    def __init__(self, folder: Path) -> None:
        self.record = LongRecord(folder, TABLES)
        for dealer in self.record.dealers:
            rows, events = content(
                folder,
                f"SELECT max(row) FROM step WHERE table_name = '{dealer.table}'",  # noqa: S608 -- ours
                f"SELECT max(sequence) FROM event WHERE table_name = '{dealer.table}'",  # noqa: S608 -- ours
            )
            table = replace(dealer.state.table, sequence=events[0][0])
            dealer.state = replace(dealer.state, row=rows[0][0], table=table)


class Backup(Operation):
    """A backup while two tables are dealt. `continued`: the directory has an earlier backup."""

    def __init__(self, *, continued: bool) -> None:
        self.continued = continued

    def prepare(self, place: Path, forks: Forks) -> None:
        deal(place)
        if self.continued:
            assert forks.run(*self.words(place)).status == 0
            dealing = Dealing(place / "state")
            with dealing.record as record:
                record.deal(1)

    def words(self, place: Path) -> Sequence[str | Path]:
        return ("journal", "backup", place / "copy", "--state-dir", place / "state")

    def run(self, place: Path, forks: Forks) -> Finished:
        with Dealing(place / "state").record as record:
            return forks.run(*self.words(place), meanwhile=lambda: record.deal(DEALT))

    def laws(self, place: Path, before: Path) -> Iterator[str]:
        yield from damages(place / "state", "the source")
        if (place / "copy" / FILE).exists():
            yield from damages(place / "copy", "the backup")
            present, backup = record_of(place / "state"), record_of(place / "copy")
            least = record_of(before / ("copy" if self.continued else "state"))
            if not all(least_of <= here <= there for least_of, here, there in zip(least, backup, present, strict=True)):
                yield f"the backup is not complete: {[len(each) for each in (*least, *backup, *present)]}"

    def result(self, place: Path, before: Path) -> Iterator[str]:
        for least, here in zip(record_of(before / "state"), record_of(place / "copy"), strict=True):
            if not least <= here:
                yield f"the backup has {len(here)} rows or events, of {len(least)}"


# --- restore


class Restore(Operation):
    """The restore of a backup over a journal with later rows, some of them in the log."""

    starts = True

    def prepare(self, place: Path, forks: Forks) -> None:
        deal(place)
        assert forks.run("journal", "backup", place / "copy", "--state-dir", place / "state").status == 0
        later = place.parent / f"{place.name}-later"
        later.mkdir()
        with Dealing(place / "state").record as record:
            record.deal(1)
            for name in (FILE, f"{FILE}-wal"):
                shutil.copy(place / "state" / name, later)
        for path in later.iterdir():
            path.rename(place / "state" / path.name)
        later.rmdir()

    def run(self, place: Path, forks: Forks) -> Finished:
        return forks.run("journal", "restore", place / "copy", "--state-dir", place / "state")

    def laws(self, place: Path, before: Path) -> Iterator[str]:
        yield from unchanged(place, before, "copy/journal.db")
        yield from damages(place / "state", "the journal")
        earlier, present = record_of(before / "state"), record_of(place / "state")
        if present not in (earlier, record_of(before / "copy")):
            yield f"the journal is neither the old nor the restored one: {[len(each) for each in present]}"
        replaced = (place / "state").glob("journal-replaced-*.db")
        if earlier not in [present, *(record_of_file(path) for path in replaced)]:
            yield "the previous journal is lost"

    def result(self, place: Path, before: Path) -> Iterator[str]:
        if record_of(place / "state") != record_of(before / "copy"):
            yield "the journal is not the restored one"
        ((reasons,),) = content(place / "state", "SELECT count(*) FROM incarnation WHERE reason = 'restored'")[0]
        if reasons != 1:
            yield f"the journal has {reasons} incarnations of a restore"


def record_of_file(path: Path) -> list[set[tuple[Any, ...]]]:
    with TemporaryDirectory() as copy:
        for suffix in ("", "-wal"):
            if (source := path.with_name(f"{path.name}{suffix}")).exists():
                shutil.copy(source, Path(copy, f"{FILE}{suffix}"))
        return record_of(Path(copy))


# --- salvage


class Salvage(Operation):
    """The salvage of a journal without a page of rows."""

    salvaged = True
    compared = ("step", "event", "head", "loss", "journal")

    def prepare(self, place: Path, forks: Forks) -> None:
        deal(place)
        damaged = place / "state" / "damaged.db"
        (place / "state" / FILE).rename(damaged)
        with closing(sqlite3.connect(damaged)) as connection:
            pages = connection.execute("SELECT pageno FROM dbstat WHERE name = 'step' AND pageno > 2").fetchall()
        data = bytearray(damaged.read_bytes())
        page = next(number for (number,) in pages if data[(number - 1) * PAGE] == LEAF)
        data[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
        damaged.write_bytes(data)
        assert self.salvage(place, "expected", forks).status == 1

    def salvage(self, place: Path, name: str, forks: Forks) -> Finished:
        return forks.run("journal", "salvage", place / "state" / "damaged.db", place / name)

    def run(self, place: Path, forks: Forks) -> Finished:
        if (place / "copy" / FILE).exists():
            return Finished(0, "")  # the laws have shown that it is complete
        return self.salvage(place, "copy", forks)

    def laws(self, place: Path, before: Path) -> Iterator[str]:
        yield from unchanged(place, before, "state/damaged.db")
        if (place / "copy" / FILE).exists():
            yield from self.result(place, before)

    def result(self, place: Path, before: Path) -> Iterator[str]:
        queries = [f"SELECT * FROM {name} ORDER BY 1, 2" for name in self.compared]  # noqa: S608 -- ours
        if content(place / "copy", *queries) != content(before / "expected", *queries):
            yield "the salvaged journal is not complete"


# --- the daemon


class Retention(Operation):
    """The deletion of old rows by the daemon. The broker has not acknowledged the last events of one table."""

    is_daemon = True
    ends: dict[str, int]  # the last rows that are deleted

    def prepare(self, place: Path, forks: Forks) -> None:
        with LongRecord(place / "state", TABLES) as record:
            record.deal(9)
            record.connection.execute("UPDATE cursor SET sequence = sequence / 2 WHERE table_name = 'bac-902'")
        assert serve(place, forks, lambda log: READY in log).status == 0  # it makes the key
        before = shutil.copytree(place, place.parent / "uncut", ignore=shutil.ignore_patterns("*.sock"))
        self.ends = dict.fromkeys(TABLES, 0)
        assert self.run(place, forks).status == 0
        self.ends = dict(content(place / "state", CUTS)[0])
        shutil.rmtree(place)
        before.rename(place)

    def run(self, place: Path, forks: Forks) -> Finished:
        left = self.ends.items() - dict(content(place / "state", CUTS)[0]).items()

        def is_over(log: str) -> bool:
            return READY in log and (log.count(CUT) >= len(left) or NOT_CUT in log)

        return serve(place, forks, is_over, keep_days=2)

    def laws(self, place: Path, before: Path) -> Iterator[str]:
        yield from findings(place / "state")
        cuts, cursors, ((word,),), keys = content(
            place / "state",
            "SELECT table_name, row, sequence, hash, utc_us, signature FROM anchor WHERE reason = 'cut'",
            "SELECT * FROM cursor",
            "SELECT word FROM journal",
            "SELECT public FROM key",
        )
        ends = {table: (row, sequence) for table, row, sequence, *_ in cuts}
        for table, row, sequence, hashed, utc_us, signature in cuts:
            text = cut_text(word, table, Run(row, sequence, hashed), utc_us)
            if not any(is_signed(public, signature, text) for (public,) in keys):
                yield f"{table}: the cut of row {row} is not signed"
            if sequence > dict(cursors)[table]:
                yield f"{table}: an event that the broker has not acknowledged was deleted"
        for place_of, earlier, now in zip((0, 1), record_of(before / "state"), record_of(place / "state"), strict=True):
            kept = {each for each in earlier if each[1] > ends.get(each[0], (0, 0))[place_of]}
            if earlier & now != kept:
                yield f"{len(earlier & now)} rows or events remain, and {len(kept)} are after the cuts"

    def result(self, place: Path, _before: Path) -> Iterator[str]:
        ends: dict[str, int] = dict(content(place / "state", CUTS)[0])
        if ends != self.ends:
            yield f"the tables are cut at {ends}"


class Migration(Operation):
    """The first start with a journal of an earlier schema."""

    is_daemon = True

    def __init__(self, schema: int) -> None:
        self.schema = schema

    def prepare(self, place: Path, _forks: Forks) -> None:
        frozen(place / "state", self.schema)

    def run(self, place: Path, forks: Forks) -> Finished:
        return serve(place, forks, lambda log: READY in log)

    def laws(self, place: Path, before: Path) -> Iterator[str]:
        yield from damages(place / "state", "the journal")
        (((schema,),),) = content(place / "state", "PRAGMA user_version")
        if schema == self.schema:
            if dump(place / "state") != dump(before / "state"):
                yield "the old journal was changed"
        else:
            yield from self.result(place, before)

    def result(self, place: Path, before: Path) -> Iterator[str]:
        old, events = content(before / "state", "SELECT * FROM step", RECORD[1])
        rows, now, seals = content(
            place / "state",
            "SELECT * FROM step_4",
            RECORD[1],
            "SELECT table_name, max(row) FROM seal GROUP BY 1",
        )
        if {each[: len(old[0])] for each in rows} != set(old) or not set(events) <= set(now):
            yield "the old rows were changed"
        if dict(seals) != {table: max(row for name, row, *_ in old if name == table) for table, *_ in old}:
            yield f"not all rows are sealed: {seals}"
        (((schema,),),) = content(place / "state", "PRAGMA user_version")
        if schema != len(SCHEMAS):
            yield f"the journal has schema {schema}"


def dump(folder: Path) -> list[str]:
    with copied(folder) as copy, closing(sqlite3.connect(copy)) as connection:
        return list(connection.iterdump())


OPERATIONS: Final[dict[str, Operation]] = {
    "backup": Backup(continued=False),
    "further backup": Backup(continued=True),
    "restore": Restore(),
    "salvage": Salvage(),
    "retention": Retention(),
    "migration of schema 1": Migration(1),
    "migration of schema 4": Migration(4),
}
