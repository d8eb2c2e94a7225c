"""The journal: its file, its lock, and its only writer. `test_journal_faults.py` has the failed commits."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Final

import msgspec
import pytest

from shoed.errors import JournalLocked, JournalUnusable
from shoed.journal import Checkpoint, Store, StoredEvent, Writer, hold, recording
from shoed.journal.keys import SigningKey
from shoed.journal.schema import SCHEMAS, Use
from shoed.journal.writer import ROOM
from shoed.model.commands import Answer, Author, OpenBets
from shoed.model.events import Event, ShoeStarted
from shoed.model.step import Commanded, LinkDown, LinkUp, Received, Step
from tests.angel_eye_line import at
from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).resolve().parent.parent


class StateAfter(msgspec.Struct):
    """The state after a Step."""

    at: int


def urgent(row: int, *sequences: int) -> Step:
    """A Step with events."""
    events = tuple(
        Event(sequence, at(row).utc_us, ShoeStarted(shoe=sequence, shoe_integrity="complete"))
        for sequence in sequences or (row,)
    )
    return Step(row=row, now=at(row), input=LinkUp("p"), events=events)


def part_of_a_frame(row: int) -> Step:
    """A Step without a result: part of a frame."""
    return Step(row=row, now=at(row), input=Received(b"\x05\x31"))


def end_of_a_link(row: int) -> Step:
    return Step(row=row, now=at(row), input=LinkDown("p"))


@asynccontextmanager
async def writing(store: Store, key: SigningKey | None = None) -> AsyncIterator[Writer]:
    writer = Writer(store, 7, key)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield writer
    finally:
        await writer.close()


async def written(writer: Writer, step: Step, table: str = "t") -> None:
    """Return after the callback of its commit."""
    done = asyncio.Event()
    writer.submit(table, step, StateAfter(step.row), done.set)
    await done.wait()


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    with closing(store.read()) as reader:
        return reader.connection.execute(query).fetchall()


def commits(store: Store) -> int:
    """The number of transactions in the write-ahead log. The last frame of each contains the size of the database."""
    log = store.path.with_name("journal.db-wal").read_bytes()
    frame = 24 + int.from_bytes(log[8:12])
    return sum(log[place + 4 : place + 8] != b"\0\0\0\0" for place in range(32, len(log), frame))


def tree(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def listing(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


# --- the file


def test_a_new_file_has_every_schema_and_a_random_word(tmp_path: Path) -> None:
    """The file has shoed's application id and the schema version. The word is random and does not change."""
    store = Store(tmp_path)
    assert rows(store, "PRAGMA user_version") == [(len(SCHEMAS),)]
    assert rows(store, "PRAGMA application_id") == [(int.from_bytes(b"SHOE"),)]
    names = {name for (name,) in rows(store, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert names == {
        *("journal", "step", "step_4", "event", "cursor", "checkpoint", "dictionary"),
        *("anchor", "seal", "head", "key", "incarnation", "incarnation_table", "loss"),
    }
    assert Store(tmp_path).word == store.word
    (tmp_path / "other").mkdir()
    assert Store(tmp_path / "other").word != store.word


def test_schemas_are_numbered_files() -> None:
    """The numbers have no gap, and every file is used."""
    folder = ROOT / "shoed" / "journal" / "schemas"
    assert [f"v{number}.sql" for number in range(1, len(SCHEMAS) + 1)] == list(SCHEMAS)
    assert {file.name for file in folder.iterdir()} == set(SCHEMAS)


def test_a_commit_is_on_the_disk(tmp_path: Path) -> None:
    """The journal uses a write-ahead log, and a sync for every commit."""
    with closing(Store(tmp_path).connect()) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    """Only one connection writes. Every other connection is read-only."""
    with closing(Store(tmp_path).read()) as reader, pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.connection.execute("INSERT INTO cursor VALUES ('t', 1)")


def test_a_new_journal_is_empty(tmp_path: Path) -> None:
    """A new journal has no checkpoint and no event, and the cursor is 0."""
    with closing(Store(tmp_path).read()) as reader:
        assert list(reader.checkpoints("t")) == []
        assert (reader.cursor("t"), reader.last_sequence("t"), reader.events("t", 0, 10)) == (0, 0, [])


async def test_the_name_of_the_directory_does_not_matter(tmp_path: Path) -> None:
    """A character with a meaning in a URI has no meaning in a path."""
    folder = tmp_path / "a b#c?d%41é&mode=rwc"
    folder.mkdir()
    store = Store(folder)
    async with writing(store) as writer:
        await written(writer, urgent(1))
    assert rows(store, "SELECT row FROM step") == [(1,)]
    assert listing(tmp_path) == [folder.name]


@pytest.mark.parametrize("data", [b"this is a text\n" * 100, b"SQLite format 3\0" + bytes(4080), b"\0" * 4096])
def test_a_file_that_is_not_a_database_is_refused_and_not_changed(tmp_path: Path, data: bytes) -> None:
    """The error contains the name of the file."""
    file = tmp_path / "journal.db"
    file.write_bytes(data)
    with pytest.raises(JournalUnusable, match=re.escape(str(file))):
        Store(tmp_path)
    assert tree(tmp_path) == {"journal.db": data}


def test_the_database_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    """The tables and the journal mode remain; the file is the same, byte for byte."""
    file = tmp_path / "journal.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = tree(tmp_path)
    with pytest.raises(JournalUnusable, match="is not a journal of shoed"):
        Store(tmp_path)
    assert tree(tmp_path) == before


def test_a_journal_of_a_newer_shoed_is_refused(tmp_path: Path) -> None:
    """The schema is unknown to this version."""
    with closing(Store(tmp_path).connect()) as connection:
        connection.execute(f"PRAGMA user_version = {len(SCHEMAS) + 1}")
    with pytest.raises(JournalUnusable, match=rf"newer shoed wrote the journal \(schema {len(SCHEMAS) + 1}"):
        Store(tmp_path)


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    """The error advises to keep the file."""
    file = Store(tmp_path).path
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(JournalUnusable, match="the daemon sets it aside"):
        Store(tmp_path)
    assert file.read_bytes() == data


# --- the lock


def test_one_process_can_use_the_state_directory(tmp_path: Path) -> None:
    """The error of the second process names the first one. The lock ends with its process."""
    folder = tmp_path / "not" / "there" / "yet"
    with hold(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "lock").write_text("99999999999999\n")  # of an earlier process
    with hold(folder), pytest.raises(JournalLocked, match=rf"\(process {os.getpid()}\)"), hold(folder):
        pass
    with hold(folder):
        pass


def test_a_reader_locks_a_directory_and_writes_nothing(tmp_path: Path) -> None:
    """The disk may be read-only. No daemon begins meanwhile, and none may run."""
    with hold(tmp_path):
        pass
    (tmp_path / "lock").write_text("another\n")
    with hold(tmp_path, Use.READ):
        assert tree(tmp_path) == {"lock": b"another\n"}
        with pytest.raises(JournalLocked), hold(tmp_path):
            pass
    with hold(tmp_path), pytest.raises(JournalLocked, match="name another file"), hold(tmp_path, Use.READ):
        pass


def test_a_full_disk_at_the_start_names_the_state_directory(tmp_path: Path) -> None:
    """/dev/full refuses every write as a full disk does."""
    (tmp_path / "lock").symlink_to("/dev/full")
    with pytest.raises(JournalUnusable, match=f"{tmp_path}: No space left on device; .*free space"), hold(tmp_path):
        pass


def test_the_lock_of_a_killed_process_is_released(tmp_path: Path) -> None:
    """The kernel releases the lock, so a person never has to remove a lock."""
    script = "import os, sys; from pathlib import Path; from shoed.journal import hold\n"
    script += "with hold(Path(sys.argv[1])): print('held', flush=True); os.kill(os.getpid(), 9)\n"
    command = [sys.executable, "-c", script, str(tmp_path)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=PATIENCE_S)
    assert (child.stdout, child.returncode) == (b"held\n", -signal.SIGKILL)
    with hold(tmp_path):
        pass


def test_an_invalid_state_directory_is_refused(tmp_path: Path) -> None:
    """A file is in its place. The error contains the path and the setting."""
    (tmp_path / "state").write_text("")
    with pytest.raises(JournalUnusable, match=r"site\.state_dir"), hold(tmp_path / "state"):
        pass


# --- a commit


async def test_a_commit_contains_the_step_and_its_results(tmp_path: Path) -> None:
    """After the callback, a reader gets the Step, its events and the checkpoint as submitted."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        await written(writer, urgent(1, 1, 2))
        with closing(store.read()) as reader:
            assert reader.events("t", 0, 10) == [
                StoredEvent(1, "shoe.started", at(1).utc_us, '{"shoe":1,"shoe_integrity":"complete"}'),
                StoredEvent(2, "shoe.started", at(1).utc_us, '{"shoe":2,"shoe_integrity":"complete"}'),
            ]
            assert reader.events("t", 1, 10) == reader.events("t", 0, 10)[1:]
            assert len(reader.events("t", 0, 1)) == 1
            assert reader.last_sequence("t") == 2
            assert list(reader.checkpoints("t")) == [Checkpoint("t", 1, 7, 2, 0, "", '{"at":1}')]


async def test_waiting_steps_are_committed_together(tmp_path: Path) -> None:
    """The Steps may be of several tables. The checkpoint of a table is the state after its last Step."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        await written(writer, urgent(1), "warm")
        before = commits(store)
        for row in range(1, 101):
            for table in ("a", "b"):
                writer.submit(table, urgent(row), StateAfter(row), None)
        await writer.flush()
        assert commits(store) - before <= 3  # one that had begun, the rest, and the flush
        with closing(store.read()) as reader:
            for name in ("a", "b"):
                assert list(reader.checkpoints(name)) == [Checkpoint(name, 100, 7, 100, 0, "", '{"at":100}')]
            assert reader.last_sequence("a") == reader.last_sequence("b") == 100


async def test_the_records_of_two_tables_are_separate(tmp_path: Path) -> None:
    """Each row, event, state and cursor belongs to one table."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        await written(writer, urgent(1, 1, 2), "a")
        writer.move_cursor("a", 2)
        await written(writer, urgent(1, 1), "b")
    with closing(store.read()) as reader:
        assert (reader.last_sequence("a"), reader.last_sequence("b")) == (2, 1)
        assert (reader.cursor("a"), reader.cursor("b")) == (2, 0)
    assert rows(store, "SELECT table_name, row FROM step ORDER BY 1") == [("a", 1), ("b", 1)]


async def test_the_order_of_submission_is_the_order_of_commit(tmp_path: Path) -> None:
    """Each callback runs on the event loop in order, after a reader can read its row."""
    store = Store(tmp_path)
    done: list[int] = []
    with closing(store.read()) as reader:

        def check(row: int) -> Callable[[], None]:
            def committed() -> None:
                assert reader.connection.execute("SELECT 1 FROM step WHERE row = ?", (row,)).fetchone() == (1,)
                done.append(row)

            return committed

        async with writing(store) as writer:
            for row in range(1, 301):
                writer.submit("t", urgent(row) if row % 3 == 0 else part_of_a_frame(row), StateAfter(row), check(row))
                if row % 50 == 0:
                    await writer.flush()
    assert done == list(range(1, 301))


# --- moves of a cursor


async def test_the_move_of_a_cursor_waits_for_the_end_of_a_round(tmp_path: Path) -> None:
    """It causes no commit before, and the commit of a card does not write it. The end of a link is an end, too."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        await written(writer, urgent(1))
        writer.move_cursor("t", 1)
        await written(writer, urgent(2))
        before = commits(store)
        writer.move_cursor("t", 2)
        await written(writer, part_of_a_frame(3))
        assert rows(store, "SELECT * FROM cursor") == [("t", 1)]
        await written(writer, end_of_a_link(4))
        assert commits(store) == before + 2
        assert rows(store, "SELECT row FROM step ORDER BY row") == [(1,), (2,), (3,), (4,)]
        assert rows(store, "SELECT * FROM cursor") == [("t", 2)]


async def test_the_first_move_to_an_event_of_the_process_waits_for_the_next_commit(tmp_path: Path) -> None:
    """If the tail is lost afterwards, the events of this process keep their ids. Earlier events prove nothing of it."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        await written(writer, urgent(5))
        writer.move_cursor("t", 4)
        await written(writer, part_of_a_frame(6))
        assert rows(store, "SELECT * FROM cursor") == []
        writer.move_cursor("t", 5)
        await written(writer, part_of_a_frame(7))
        assert rows(store, "SELECT * FROM cursor") == [("t", 5)]


async def test_the_move_of_a_cursor_is_committed_after_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without another commit, the writer commits it after RIDE_S, counted from the first move."""
    monkeypatch.setattr(recording, "RIDE_S", 0.1)
    store = Store(tmp_path)
    async with writing(store) as writer:
        committed = asyncio.Event()
        writer.on_commit = lambda _: committed.set()
        writer.move_cursor("t", 5)
        await committed.wait()
        assert rows(store, "SELECT * FROM cursor") == [("t", 5)]


async def test_the_last_move_of_a_cursor_counts(tmp_path: Path) -> None:
    """Moves that wait together become one row."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        for sequence in range(1, 51):
            writer.move_cursor("t", sequence)
        await writer.flush()
        assert rows(store, "SELECT * FROM cursor") == [("t", 50)]


async def test_closing_commits_the_waiting_steps(tmp_path: Path) -> None:
    """Steps without a result are committed, too."""
    store = Store(tmp_path)
    writer = Writer(store, 7)
    writer.submit("t", part_of_a_frame(1), StateAfter(1), None)
    writer.move_cursor("t", 3)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    assert rows(store, "SELECT row FROM step") == [(1,)]
    assert rows(store, "SELECT * FROM cursor") == [("t", 3)]
    assert writer.committing_s is None


async def test_a_table_waits_when_the_queue_is_full(tmp_path: Path) -> None:
    """The flag bounds the memory: it is cleared at the limit, and set after the commits."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        for row in range(1, ROOM):
            writer.submit("t", part_of_a_frame(row), StateAfter(row), None)
        assert writer.has_room.is_set()
        writer.submit("t", part_of_a_frame(ROOM), StateAfter(ROOM), None)
        assert not writer.has_room.is_set()
        await writer.has_room.wait()
        await writer.flush()
        assert writer.waiting == 0
        assert rows(store, "SELECT count(*) FROM step") == [(ROOM,)]


# --- answers


async def test_an_answer_is_found_by_the_id_of_its_command(tmp_path: Path) -> None:
    """The ids of each table are separate. An unknown id has no answer."""
    store = Store(tmp_path)
    command = Commanded(OpenBets(), Author("ann", None), "7f3a")
    step = Step(row=1, now=at(1), input=command, answers=(Answer("7f3a", accepted=False, detail="too late"),))
    async with writing(store) as writer:
        await written(writer, step)
        await written(writer, urgent(1), "other")
    with closing(store.read()) as reader:
        found = reader.answer("t", "7f3a")
        assert found is not None
        assert msgspec.json.decode(found.command, type=Commanded) == command
        assert msgspec.json.decode(found.answers, type=tuple[Answer, ...]) == step.answers
        assert reader.answer("other", "7f3a") is None
        assert reader.answer("t", "") is None
