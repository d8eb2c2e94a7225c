"""The journal: its file, its lock, its one writer, and what happens when the disk says no."""

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import pytest

from shoed.commands import Answer, Author, OpenBets
from shoed.errors import CommitFailed, JournalLocked, JournalUnusable
from shoed.events import Event, ShoeStarted
from shoed.journal import Checkpoint, Store, StoredEvent, Writer, hold
from shoed.journal.store import SCHEMAS
from shoed.journal.writer import ROOM
from shoed.step import LinkUp, Received, Step, Told
from tests.angel_eye_line import at

ROOT: Final = Path(__file__).resolve().parent.parent
PATIENCE_S: Final = 30


class Left(msgspec.Struct):
    """A state, as a table leaves it behind."""

    at: int


def urgent(row: int, *sequences: int) -> Step:
    """A Step with events, for which somebody waits."""
    events = tuple(
        Event(sequence, at(row).utc_us, ShoeStarted(shoe=sequence, shoe_integrity="complete"))
        for sequence in sequences or (row,)
    )
    return Step(row=row, now=at(row), input=LinkUp("p"), events=events)


def rider(row: int) -> Step:
    """A Step for which nobody waits: part of a frame."""
    return Step(row=row, now=at(row), input=Received(b"\x05\x31"))


@asynccontextmanager
async def writing(store: Store) -> AsyncIterator[Writer]:
    writer = Writer(store, 7)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield writer
    finally:
        await writer.close()


async def written(writer: Writer, step: Step, table: str = "t") -> None:
    """Return when it is committed, by its own word."""
    done = asyncio.Event()
    writer.submit(table, step, Left(step.row), done.set)
    await done.wait()


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    with closing(store.read()) as reader:
        return reader.connection.execute(query).fetchall()


def commits(store: Store) -> int:
    """How many transactions the write-ahead log holds: each ends with a frame that names the size of the database."""
    log = store.path.with_name("journal.db-wal").read_bytes()
    frame = 24 + int.from_bytes(log[8:12])
    return sum(log[place + 4 : place + 8] != b"\0\0\0\0" for place in range(32, len(log), frame))


def tree(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def listing(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


# --- the file


def test_a_new_file_has_the_schemas_in_turn_and_its_own_word(tmp_path: Path) -> None:
    """It says that it is ours and of which version; its word is random, and stays."""
    store = Store(tmp_path)
    assert rows(store, "PRAGMA user_version") == [(len(SCHEMAS),)]
    assert rows(store, "PRAGMA application_id") == [(int.from_bytes(b"SHOE"),)]
    names = {name for (name,) in rows(store, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert names == {"journal", "step", "event", "cursor", "checkpoint"}
    assert Store(tmp_path).word == store.word
    (tmp_path / "other").mkdir()
    assert Store(tmp_path / "other").word != store.word


def test_schemas_are_numbered_files_in_their_order() -> None:
    """v1.sql, v2.sql ...: none is left out, and no file lies there unused."""
    folder = ROOT / "shoed" / "journal" / "schemas"
    assert [f"v{number}.sql" for number in range(1, len(SCHEMAS) + 1)] == list(SCHEMAS)
    assert {file.name for file in folder.iterdir()} == set(SCHEMAS)


def test_what_is_committed_is_on_the_disk(tmp_path: Path) -> None:
    """Write-ahead log, and a sync for every commit."""
    with closing(Store(tmp_path).connect()) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    """There is one writing connection; everybody else only looks."""
    with closing(Store(tmp_path).read()) as reader, pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.connection.execute("INSERT INTO cursor VALUES ('t', 1)")


def test_a_new_journal_has_nothing_in_it(tmp_path: Path) -> None:
    """No checkpoint, no event, and the cursor before the first."""
    with closing(Store(tmp_path).read()) as reader:
        assert reader.checkpoint("t") is None
        assert (reader.cursor("t"), reader.last_sequence("t"), reader.events("t", 0, 10)) == (0, 0, [])


async def test_the_name_of_the_directory_does_not_matter(tmp_path: Path) -> None:
    """Characters that mean something in a URI are only characters of a path."""
    folder = tmp_path / "a b#c?d%41é&mode=rwc"
    folder.mkdir()
    store = Store(folder)
    async with writing(store) as writer:
        await written(writer, urgent(1))
    assert rows(store, "SELECT row FROM step") == [(1,)]
    assert listing(tmp_path) == [folder.name]


@pytest.mark.parametrize("data", [b"this is a text\n" * 100, b"SQLite format 3\0" + bytes(4080), b"\0" * 4096])
def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path, data: bytes) -> None:
    """The error names the file; not one byte of it changes."""
    file = tmp_path / "journal.db"
    file.write_bytes(data)
    with pytest.raises(JournalUnusable, match=re.escape(str(file))):
        Store(tmp_path)
    assert tree(tmp_path) == {"journal.db": data}


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Its tables, and its way of writing them: the file is as it was, byte for byte."""
    file = tmp_path / "journal.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = tree(tmp_path)
    with pytest.raises(JournalUnusable, match="no journal of shoed"):
        Store(tmp_path)
    assert tree(tmp_path) == before


def test_a_journal_of_a_newer_shoed_is_refused(tmp_path: Path) -> None:
    """Its schema is not known here; nothing is guessed."""
    with closing(Store(tmp_path).connect()) as connection:
        connection.execute(f"PRAGMA user_version = {len(SCHEMAS) + 1}")
    with pytest.raises(JournalUnusable, match=rf"newer shoed \(schema {len(SCHEMAS) + 1}"):
        Store(tmp_path)


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    """It is kept for those who can read it."""
    file = Store(tmp_path).path
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(JournalUnusable, match="move it away"):
        Store(tmp_path)
    assert file.read_bytes() == data


# --- the lock


def test_one_process_holds_the_state_directory(tmp_path: Path) -> None:
    """The second is told who the first is; the lock goes with its holder, however that ends."""
    folder = tmp_path / "not" / "there" / "yet"
    with hold(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "lock").write_text("99999999999999\n")  # of one that held it before
    with hold(folder), pytest.raises(JournalLocked, match=rf"\(process {os.getpid()}\)"), hold(folder):
        pass
    with hold(folder):
        pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    """The kernel takes it back: no stale lock ever has to be removed by hand."""
    script = "import os, sys; from pathlib import Path; from shoed.journal import hold\n"
    script += "with hold(Path(sys.argv[1])): print('held', flush=True); os.kill(os.getpid(), 9)\n"
    command = [sys.executable, "-c", script, str(tmp_path)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=PATIENCE_S)
    assert (child.stdout, child.returncode) == (b"held\n", -signal.SIGKILL)
    with hold(tmp_path):
        pass


def test_a_state_directory_that_cannot_be_is_said_to_be_so(tmp_path: Path) -> None:
    """A file in its place: the error names it and the setting."""
    (tmp_path / "state").write_text("")
    with pytest.raises(JournalUnusable, match=r"site\.state_dir"), hold(tmp_path / "state"):
        pass


# --- a commit


async def test_a_commit_holds_the_step_with_all_that_follows(tmp_path: Path) -> None:
    """Step, events and checkpoint are there when it is said to be done; readers get them back as they were."""
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
            assert reader.checkpoint("t") == Checkpoint(1, 7, '{"at":1}')


@pytest.mark.parametrize("refused", ["step", "event", "checkpoint", "cursor"])
async def test_a_commit_is_one_transaction(tmp_path: Path, refused: str) -> None:
    """If any part of it cannot be written, no part of it is."""
    store = Store(tmp_path)
    with closing(sqlite3.connect(store.path)) as other:
        other.execute(f"CREATE TRIGGER no BEFORE INSERT ON {refused} BEGIN SELECT RAISE(ABORT, 'not today'); END")
    writer = Writer(store, 7)
    writer.move_cursor("t", 1)
    writer.submit("t", urgent(1), Left(1), None)
    assert isinstance(await asyncio.wait_for(writer.failed, PATIENCE_S), CommitFailed)
    await writer.close()
    for name in ("step", "event", "checkpoint", "cursor"):
        assert rows(store, f"SELECT * FROM {name}") == []  # noqa: S608 -- from the line above


async def test_steps_that_wait_together_are_committed_together(tmp_path: Path) -> None:
    """Of all tables at once, and each table's state is that of its last Step."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        await written(writer, urgent(1), "warm")
        before = commits(store)
        for row in range(1, 101):
            for table in ("a", "b"):
                writer.submit(table, urgent(row), Left(row), None)
        await writer.flush()
        assert commits(store) - before <= 3  # one that had begun, the rest, and the flush
        with closing(store.read()) as reader:
            assert reader.checkpoint("a") == reader.checkpoint("b") == Checkpoint(100, 7, '{"at":100}')
            assert reader.last_sequence("a") == reader.last_sequence("b") == 100


async def test_two_tables_do_not_mix(tmp_path: Path) -> None:
    """Rows, events, states and cursors each belong to one."""
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
    """Each is told in its turn, on the loop, when its row can be read and never before."""
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
                writer.submit("t", urgent(row) if row % 3 == 0 else rider(row), Left(row), check(row))
                if row % 50 == 0:
                    await writer.flush()
    assert done == list(range(1, 301))


# --- what nobody waits for


async def test_riders_wait_for_the_next_commit(tmp_path: Path) -> None:
    """A part of a frame and a move of a cursor cost no commit of their own where another one comes soon."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        await written(writer, urgent(1))
        before = commits(store)
        writer.submit("t", rider(2), Left(2), None)
        writer.move_cursor("t", 1)
        writer.submit("t", rider(3), Left(3), None)
        await written(writer, urgent(4, 2))
        assert commits(store) == before + 1
        assert rows(store, "SELECT row FROM step ORDER BY row") == [(1,), (2,), (3,), (4,)]
        assert rows(store, "SELECT * FROM cursor") == [("t", 1)]


async def test_riders_are_written_by_themselves_after_a_pause(tmp_path: Path) -> None:
    """Nothing else comes: what is in memory only does not stay there."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        writer.move_cursor("t", 5)
        await written(writer, rider(1))
        assert rows(store, "SELECT row FROM step") == [(1,)]
        assert rows(store, "SELECT * FROM cursor") == [("t", 5)]


async def test_a_trickle_of_riders_does_not_put_off_their_commit(tmp_path: Path) -> None:
    """The pause counts from the first of them: about a second, however many follow it."""
    store = Store(tmp_path)
    loop = asyncio.get_running_loop()
    first, last = asyncio.Event(), asyncio.Event()
    async with writing(store) as writer:
        writer.submit("t", rider(1), Left(1), first.set)
        for row in range(2, 7):
            loop.call_later(0.4 * (row - 1), writer.submit, "t", rider(row), Left(row), last.set if row == 6 else None)
        await first.wait()
        assert rows(store, "SELECT max(row) FROM step") < [(6,)], "the first had to wait until the last had come"
        await last.wait()


async def test_the_last_move_of_a_cursor_counts(tmp_path: Path) -> None:
    """Moves that wait together are one row."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        for sequence in range(1, 51):
            writer.move_cursor("t", sequence)
        await writer.flush()
        assert rows(store, "SELECT * FROM cursor") == [("t", 50)]


async def test_closing_writes_what_is_left(tmp_path: Path) -> None:
    """A clean end loses nothing, not even what nobody waited for."""
    store = Store(tmp_path)
    writer = Writer(store, 7)
    writer.submit("t", rider(1), Left(1), None)
    writer.move_cursor("t", 3)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    assert rows(store, "SELECT row FROM step") == [(1,)]
    assert rows(store, "SELECT * FROM cursor") == [("t", 3)]
    assert writer.committing_since is None


async def test_there_is_room_for_so_many_and_then_a_table_waits(tmp_path: Path) -> None:
    """Memory is bounded: the flag falls at the bound, and rises when the disk has caught up."""
    store = Store(tmp_path)
    async with writing(store) as writer:
        for row in range(1, ROOM):
            writer.submit("t", rider(row), Left(row), None)
        assert writer.has_room.is_set()
        writer.submit("t", rider(ROOM), Left(ROOM), None)
        assert not writer.has_room.is_set()
        await writer.has_room.wait()
        await writer.flush()
        assert writer.waiting == 0
        assert rows(store, "SELECT count(*) FROM step") == [(ROOM,)]


# --- a commit that fails


async def assert_everybody_hears(writer: Writer, told: list[int]) -> CommitFailed:
    """The failure is final: nothing that waited is told, nothing more is taken, nobody hangs."""
    failure = await asyncio.wait_for(asyncio.shield(writer.failed), 5)
    assert isinstance(failure, CommitFailed)
    assert told == []
    assert writer.has_room.is_set()
    with pytest.raises(CommitFailed):
        writer.submit("t", urgent(9), Left(9), None)
    with pytest.raises(CommitFailed):
        await asyncio.wait_for(writer.flush(), PATIENCE_S)
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    assert told == []
    return failure


async def test_a_commit_that_fails_tells_everybody(tmp_path: Path) -> None:
    """Here a table is gone; the error names the file and what to do."""
    store = Store(tmp_path)
    told: list[int] = []
    writer = Writer(store, 7)
    await written(writer, urgent(1))
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("DROP TABLE event")
    for row in (2, 3):
        writer.submit("t", urgent(row), Left(row), partial(told.append, row))
    failure = await assert_everybody_hears(writer, told)
    assert str(store.path) in str(failure)
    assert "nothing is told until it can be recorded" in str(failure)
    assert rows(store, "SELECT row FROM step") == [(1,)]


async def test_a_file_that_is_gone_at_the_start_tells_everybody(tmp_path: Path) -> None:
    """The writer cannot even open it."""
    folder = tmp_path / "state"
    folder.mkdir()
    store = Store(folder)
    store.path.unlink()
    folder.rmdir()
    told: list[int] = []
    writer = Writer(store, 7)
    await assert_everybody_hears(writer, told)


async def test_a_step_that_cannot_be_written_tells_everybody(tmp_path: Path) -> None:
    """Not the disk but a value: a reason that is no text. It is as final as a full disk, and nobody waits for ever."""
    store = Store(tmp_path)
    told: list[int] = []
    writer = Writer(store, 7)
    unwritable = Step(row=1, now=at(1), input=LinkUp("\udcff"), events=urgent(1).events)
    writer.submit("t", unwritable, Left(1), partial(told.append, 1))
    await assert_everybody_hears(writer, told)


FULL_DISK: Final = """
import asyncio, resource, sys
from pathlib import Path
from shoed.errors import CommitFailed
from shoed.journal import Store, Writer
from tests.test_journal import Left, urgent

async def main():
    store = Store(Path(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    writer, told, row = Writer(store, 7), [], 0
    try:
        while True:
            row += 1
            writer.submit("t", urgent(row), Left(row), lambda row=row: told.append(row))
            if row % 20 == 0:
                await writer.flush()
    except CommitFailed as error:
        failure = error
    await writer.close()
    print(len(told), told == list(range(1, len(told) + 1)), type(failure).__name__, row > len(told))

asyncio.run(main())
"""


def test_a_full_disk_loses_nothing_that_was_told(tmp_path: Path) -> None:
    """What was said to be committed is there and is all there is; the rest was never told."""
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert child.returncode == 0, child.stderr
    told, in_order, failure, more_was_asked = child.stdout.split()
    assert (in_order, failure, more_was_asked) == ("True", "CommitFailed", "True")
    assert int(told) > 0
    store = Store(tmp_path)
    assert rows(store, "SELECT count(*), max(row) FROM step") == [(int(told), int(told))]
    assert rows(store, "SELECT count(*), max(sequence) FROM event") == [(int(told), int(told))]
    assert rows(store, "SELECT row FROM checkpoint") == [(int(told),)]


# --- answers


async def test_an_answer_is_found_by_the_id_of_its_command(tmp_path: Path) -> None:
    """Each table has ids of its own; what was never told has no answer."""
    store = Store(tmp_path)
    told = Told(OpenBets(), Author("ann", None), "7f3a")
    step = Step(row=1, now=at(1), input=told, answers=(Answer("7f3a", accepted=False, detail="too late"),))
    async with writing(store) as writer:
        await written(writer, step)
        await written(writer, urgent(1), "other")
    with closing(store.read()) as reader:
        found = reader.answer("t", "7f3a")
        assert found is not None
        assert msgspec.json.decode(found.told, type=Told) == told
        assert msgspec.json.decode(found.answers, type=tuple[Answer, ...]) == step.answers
        assert reader.answer("other", "7f3a") is None
        assert reader.answer("t", "") is None
