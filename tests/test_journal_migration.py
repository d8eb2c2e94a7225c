"""The migration of old journals: complete or not at all, sealed, and play continues."""

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final

import pytest
from msgspec.structs import replace

from shoed.engine import Engine
from shoed.journal import Reader, Store
from shoed.journal.replay import decode_again, rebuild, rehearse
from shoed.journal.restore import restore
from shoed.journal.schema import CHAINED, SCHEMA_FILES, SCHEMAS
from shoed.journal.verify import Verification
from shoed.journal.verify_file import file_findings
from shoed.session import SessionState
from tests.patience import PATIENCE_S
from tests.test_engine_devices import engine
from tests.test_journal_replay import engine_for as shoe_only

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "tests" / "data"

# The frozen journal of each schema. Schemas 2 and 3 only add columns: the frozen journal of schema 1, with them.
FROZEN: Final = {
    1: ("journal-v1.sql", ()),
    2: ("journal-v1.sql", SCHEMAS[1:2]),
    3: ("journal-v1.sql", SCHEMAS[1:3]),
    4: ("journal-v4.sql", ()),
}

KILLS: Final = 6

# The migration of the journal in argv[1], killed before its SQL call number argv[2]. Prints the number of calls.
KILLED: Final = """
import os, sys
from pathlib import Path
from shoed.journal import Store

calls = 0
def count(frame, event, called):
    global calls
    if event == "c_call" and getattr(called, "__qualname__", "").startswith(("Connection.", "Cursor.")):
        calls += 1
        if calls == int(sys.argv[2]):
            os.kill(os.getpid(), 9)

sys.setprofile(count)
Store(Path(sys.argv[1]))
sys.setprofile(None)
print(calls)
"""

FULL_DISK: Final = """
import resource, sys
from pathlib import Path
from shoed.errors import JournalUnusable
from shoed.journal import Store

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    Store(Path(sys.argv[1]))
except JournalUnusable as error:
    print(error)
"""


def frozen(folder: Path, schema: int) -> Path:
    """A journal as that schema has it."""
    name, later = FROZEN[schema]
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        connection.executescript((DATA / name).read_text())
        for script in later:
            connection.executescript((SCHEMA_FILES / script).read_text())
        connection.execute(f"PRAGMA user_version = {schema}")
        connection.execute("PRAGMA journal_mode = WAL")
    return folder


def content(folder: Path) -> tuple[int, list[str]]:
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        ((schema,),) = connection.execute("PRAGMA user_version")
        return schema, list(connection.iterdump())


def engine_of(schema: int) -> Engine[SessionState]:
    return engine() if schema == CHAINED - 1 else shoe_only("{}")


def changes(reader: Reader) -> list[str]:
    found = [*file_findings(reader)]
    for table in reader.tables:
        found += Verification(reader, table).findings()
    return [str(each) for each in found]


@pytest.mark.parametrize("schema", FROZEN)
def test_an_old_journal_is_migrated_and_sealed(tmp_path: Path, schema: int) -> None:
    """Its rows, events, answers and cursors are the same, and its table continues from the same state."""
    with closing(Reader(frozen(tmp_path, schema) / "journal.db")) as old:
        before = [
            (table, list(old.step(table, 0, 9999)), old.events(table, 0, 9999), old.cursor(table))
            for table in old.tables
        ]
        states = {table: rebuild(old, table, lambda _: engine_of(schema)) for table in old.tables}
    store = Store(tmp_path)
    with closing(store.read()) as reader:
        assert reader.schema == len(SCHEMAS)
        assert changes(reader) == []
        assert before == [
            (table, list(reader.step(table, 0, 9999)), reader.events(table, 0, 9999), reader.cursor(table))
            for table in reader.tables
        ]
        for table, state in states.items():
            assert list(rehearse(reader, table, lambda _: engine_of(schema))) == []
            assert list(decode_again(reader, table, lambda _: engine_of(schema))) == []
            restored = restore(reader, table, engine_of(schema), lambda _: engine_of(schema)).state
            assert restored is not None
            assert state is not None
            # A checkpoint of an earlier version does not have the time of the last event.
            assert (restored.row, replace(restored.table, journal=state.table.journal)) == (state.row, state.table)
        if schema == CHAINED - 1:
            answer = reader.answer("t", "7f3a")
            assert answer is not None
            assert "there is no question none" in answer.answers


def test_a_changed_sealed_row_is_found(tmp_path: Path) -> None:
    """Each run of rows has its own hash, so the place of a change is known."""
    with closing(sqlite3.connect(frozen(tmp_path, 4) / "journal.db")) as connection:
        for number in range(1, 9):
            connection.execute(
                "INSERT INTO step SELECT table_name, row + ?, utc_us, mono_ns, input, bytes, observations, findings,"
                " orders, sent, answers, sent_to_shuffler, packed, left_behind FROM step"
                " WHERE table_name = 'noisy' AND row <= 326",
                (326 * number,),
            )
        connection.commit()
    store = Store(tmp_path)
    with closing(sqlite3.connect(store.path)) as connection:
        ((runs,),) = connection.execute("SELECT count(*) FROM seal WHERE table_name = 'noisy'")
        assert runs == 3
        connection.execute("UPDATE step_4 SET utc_us = 1 WHERE table_name = 'noisy' AND row = 2000")
        connection.commit()
    with closing(store.read()) as reader:
        (change,) = changes(reader)
    assert change.startswith("noisy: rows 1025-2048, which an earlier version of shoed wrote: altered")


def run(script: str, folder: Path, number: int) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = [sys.executable, "-c", script, str(folder), str(number)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.mark.parametrize("schema", FROZEN)
def test_a_killed_migration_leaves_the_old_journal(tmp_path: Path, schema: int) -> None:
    """The journal is the old one or the new one, at every moment. The next start migrates it."""
    calls = int(run(KILLED, frozen(tmp_path / "whole", schema), 0).stdout)
    complete = content(tmp_path / "whole")[0]
    assert complete == len(SCHEMAS)
    kept = set()
    for number in Random(schema).sample(range(1, calls + 1), min(KILLS, calls)):
        folder = frozen(tmp_path / str(number), schema)
        before = content(folder)
        assert run(KILLED, folder, number).returncode == -9
        after = content(folder)
        kept.add(after[0])
        assert after == before or after[0] == complete
        with closing(Store(folder).read()) as reader:
            assert changes(reader) == []
    assert schema in kept


def test_a_full_disk_leaves_the_old_journal(tmp_path: Path) -> None:
    """The error names the file and the remedy."""
    folder = frozen(tmp_path / "state", 4)
    before = content(folder)
    finished = run(FULL_DISK, folder, 1000)
    assert str(folder / "journal.db") in finished.stdout
    assert content(folder) == before
    with closing(Store(folder).read()) as reader:
        assert changes(reader) == []
