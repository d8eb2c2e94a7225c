"""The journal: the cost of a commit, and the speed of a verification.

A commit is that of one card: a row with its hash, its events, and at the end of a round a checkpoint. The floor is one
FULL commit of the same bytes as one value. The verification reads a journal of ROWS rows. The floor reads the same rows
with sqlite3 and hashes the same bytes.
"""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

from benchmarks.bench import TIMES, interleaved, report
from firmware_protocols.angel_eye import AngelEyeSettings
from shoed.engine import ENGINE, Engine
from shoed.journal import Reader, Store
from shoed.journal.commit import Committer, Entry
from shoed.journal.rows import event_columns, step_columns
from shoed.journal.verify import Verification
from shoed.model.moments import Now
from shoed.model.step import AnyInput, Configured, LinkUp, Received
from shoed.rig.dealer import deal
from shoed.session.angel_eye_shoe import AngelEyeShoe
from shoed.session.families import DRIVERS
from shoed.table import TableSettings
from shoed.watch import WatchSettings

ROWS: Final = 50_000
BATCH: Final = 1_000
COMMITS: Final = 300
COMMIT_BAR: Final = 1.3
VERIFY_BAR: Final = 2.0  # half the speed of the floor
SEED: Final = 5
DECKS: Final = 8
PACE_NS: Final = 1_500_000_000
PORT: Final = "tcp://127.0.0.1:4001"
TABLE: Final = "t"


def entries() -> Iterator[Entry]:
    """The Steps of a shoe that deals legal rounds."""
    settings = AngelEyeSettings()
    engine = Engine(
        DRIVERS["angel-eye"].session(settings, allow_orders=False),
        WatchSettings(250),
        TableSettings(game="commission", port=PORT),
    )
    state, now = engine.begin(), Now(1_700_000_000_000_000, 3_600_000_000_000)
    device = AngelEyeShoe(settings)
    shoe = device.begin()
    inputs: list[AnyInput] = [Configured("{}", ENGINE, "0"), LinkUp(PORT)]
    for _, due in deal(Random(SEED), DECKS):
        for incoming in inputs:
            state, step = engine.step(state, incoming, now)
            if step is not None:
                yield Entry(TABLE, step, state, None)
        shoe, frames = device.say(shoe, due)
        inputs = [Received(frames[: len(frames) // settings.copies])]
        now = Now(now.utc_us + PACE_NS // 1000, now.mono_ns + PACE_NS)


def commits(folder: Path) -> tuple[float, float]:
    """The p50 of a bare commit and of a commit of the journal, in milliseconds."""
    (folder / "subject").mkdir()
    store = Store(folder / "subject")
    with closing(sqlite3.connect(folder / "floor.db", isolation_level=None)) as floor, closing(store.connect()) as ours:
        floor.execute("PRAGMA journal_mode = WAL")
        floor.execute("PRAGMA synchronous = FULL")
        floor.execute("CREATE TABLE value (number INTEGER PRIMARY KEY, bytes BLOB)")
        committer = Committer(ours, ENGINE)
        bare, subject = [], []
        for _, entry in zip(range(COMMITS), entries(), strict=False):
            data = bytes(size_of(entry, committer.dictionary))
            bare.append(timed(lambda data=data: floor.execute("INSERT INTO value (bytes) VALUES (?)", (data,))))  # type: ignore[misc]
            subject.append(timed(lambda entry=entry: committer.commit([entry], {})))  # type: ignore[misc]
    return tuple(sorted(times)[len(times) // 2] * 1e3 for times in (bare, subject))  # type: ignore[return-value]


def size_of(entry: Entry, dictionary: bytes) -> int:
    """The bytes of a row with its hash, and of its events."""
    columns = [*step_columns(entry.table, entry.step, dictionary), b"hash" * 8]
    columns += [value for event in entry.step.events for value in (entry.table, *event_columns(event))]
    return sum(len(value) if isinstance(value, str | bytes) else 8 for value in columns)


def timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def write(folder: Path) -> None:
    committer = Committer(Store(folder).connect(), ENGINE)
    batch: list[Entry] = []
    for _, entry in zip(range(ROWS), entries(), strict=False):
        batch.append(entry)
        if len(batch) == BATCH:
            committer.commit(batch, {})
            batch = []
    committer.commit(batch, {})
    committer.connection.close()


def read_and_hash(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        hashed = sha256()
        for table, order in (("step", "row"), ("event", "sequence")):
            for row in connection.execute(f"SELECT * FROM {table} WHERE table_name = ? ORDER BY {order}", (TABLE,)):  # noqa: S608 -- ours
                hashed.update(b"".join([each if isinstance(each, bytes) else str(each).encode() for each in row]))


def verify(path: Path) -> None:
    with closing(Reader(path)) as reader:
        changes = list(Verification(reader, TABLE).findings())
    if changes:
        raise RuntimeError(str(changes[0]))


def run() -> None:
    # /var/tmp is on a disk; /tmp may be in memory, where a commit costs nothing.
    with tempfile.TemporaryDirectory(prefix="shoed-journal-", dir="/var/tmp") as name:
        series = []
        for number in range(TIMES):
            folder = Path(name) / str(number)
            folder.mkdir()
            series.append(commits(folder))
        bare, ours = (min(each[place] for each in series) for place in (0, 1))
        report("(k) commit of a card, p50 / a bare commit", ours, bare, COMMIT_BAR, unit="ms")
        write(Path(name))
        path = Path(name) / "journal.db"
        floor, subject = interleaved(lambda: timed(lambda: read_and_hash(path)), lambda: timed(lambda: verify(path)))
        report("(k) verification / reading and hashing", subject, floor, VERIFY_BAR, unit="s")


if __name__ == "__main__":
    run()
