"""Backups: complete, incremental, verified, valid after a kill at any moment; and their restore."""

import errno
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from shoed.errors import JournalError, JournalLocked, JournalUnusable
from shoed.journal import Reader, hold, seal
from shoed.journal.backup import back_up
from shoed.journal.from_backup import restore
from shoed.journal.salvage import salvage
from shoed.journal.store import JOURNAL
from shoed.journal.verify import Verification
from tests.command_clients import shoed
from tests.long_record import LongRecord
from tests.patience import PATIENCE_S
from tests.sealed_record import sealed_record

ROOT: Final = Path(__file__).resolve().parent.parent
TABLES: Final = ("bac-901", "bac-902")
KILLS: Final = 12

# Back up with small chunks, and end the process at one of the calls that it makes.
KILLED: Final = """
import os, sys
from pathlib import Path
from shoed.journal import backup
backup.CHUNK = 7
left = int(sys.argv[3])
def count(*_):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), 9)
sys.setprofile(count)
backup.back_up(Path(sys.argv[1]), Path(sys.argv[2]))
sys.setprofile(None)
print(int(sys.argv[3]) - left)
"""


@pytest.fixture(scope="module")
def dealt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state directory of two tables with four shoes each, and an earlier backup."""
    folder = tmp_path_factory.mktemp("dealt")
    with LongRecord(folder / "state", TABLES) as record:
        record.deal(1)
        back_up(folder / "state" / JOURNAL, folder / "backup")
        record.deal(3)
    return folder


@pytest.fixture
def state(dealt: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(dealt / "state", tmp_path / "state"))


@pytest.fixture
def earlier(dealt: Path, tmp_path: Path) -> Path:
    """A backup after the first shoe."""
    return Path(shutil.copytree(dealt / "backup", tmp_path / "earlier"))


def ask(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / JOURNAL)) as connection:
        return connection.execute(query).fetchall()


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / JOURNAL)) as connection:
        assert connection.execute(statement).rowcount > 0
        connection.commit()


def content(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    names = [name for (name,) in ask(folder, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {name: ask(folder, f"SELECT * FROM {name} ORDER BY 1, 2") for name in names}  # noqa: S608 -- ours


def findings(folder: Path) -> list[str]:
    with closing(Reader(folder / JOURNAL)) as reader:
        return [str(each) for table in reader.tables for each in Verification(reader, table).findings()]


# --- backup


def test_a_backup_has_the_whole_journal(state: Path, tmp_path: Path) -> None:
    """The backup is one file, and is verified like any journal."""
    copied = back_up(state / JOURNAL, tmp_path / "backup")
    rows = dict(ask(state, "SELECT table_name, count(*) FROM step GROUP BY 1"))
    assert {each.name: each.rows for each in copied} == rows
    assert [(each.last_row, each.last_round) for each in copied] == [(rows[name], "4.3") for name in TABLES]
    assert content(tmp_path / "backup") == content(state)
    assert {file.name for file in (tmp_path / "backup").iterdir()} == {JOURNAL, "lock"}
    assert findings(tmp_path / "backup") == []


def test_a_further_backup_copies_the_new_rows_only(tmp_path: Path) -> None:
    """Its result is equal to the journal. The writer of the journal stays open."""
    state, target = tmp_path / "state", tmp_path / "backup"
    with LongRecord(state, TABLES) as record:
        record.deal(2)
        (before,) = ask(state, "SELECT count(*) FROM step")
        assert sum(each.rows for each in back_up(state / JOURNAL, target)) == before[0]
        record.deal(2)
        (after,) = ask(state, "SELECT count(*) FROM step")
        assert sum(each.rows for each in back_up(state / JOURNAL, target)) == after[0] - before[0] > 0
        assert content(target) == content(state)
        assert sum(each.rows for each in back_up(state / JOURNAL, target)) == 0
    assert findings(target) == []


def test_a_killed_backup_is_a_backup_of_an_earlier_moment(state: Path, earlier: Path, tmp_path: Path) -> None:
    """The process is killed at seeded moments. The next backup continues."""
    command = [sys.executable, "-c", KILLED, str(state / JOURNAL)]
    whole = subprocess.run(
        [*command, shutil.copytree(earlier, tmp_path / "whole"), str(10**9)],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    rng, calls = Random(15), int(whole.stdout)
    sizes: set[tuple[int]] = set()
    for number in range(KILLS):
        target = Path(shutil.copytree(earlier, tmp_path / f"backup-{number}"))
        killed = subprocess.run(
            [*command, str(target), str(rng.randrange(1, calls))], cwd=ROOT, check=False, timeout=PATIENCE_S
        )
        assert killed.returncode == -signal.SIGKILL
        assert findings(target) == []
        sizes |= set(ask(target, "SELECT count(*) FROM step"))
        back_up(state / JOURNAL, target)
        assert content(target) == content(state)
    assert len(sizes) > 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE step SET bytes = x'00' WHERE table_name = 'bac-901' AND row = 40",
        "UPDATE event SET utc_us = 1 WHERE table_name = 'bac-901' AND row >= 40 AND row < 50",
        "DELETE FROM step WHERE table_name = 'bac-901' AND row = 40",
    ],
)
def test_a_changed_row_is_not_copied(state: Path, earlier: Path, tmp_path: Path, statement: str) -> None:
    """The backup ends before it, at the end of a chunk. A first backup leaves no file that looks complete."""
    change(state, statement)
    for target in (earlier, tmp_path / "backup"):
        with pytest.raises(JournalError, match=r"bac-901: row 4\d of .* cannot be verified"):
            back_up(state / JOURNAL, target)
    assert findings(earlier) == []
    assert [file.name for file in (tmp_path / "backup").iterdir()] == ["lock"]


@pytest.mark.parametrize("row", ["5", "(SELECT max(row) + 1 FROM step WHERE table_name = 'bac-901')"])
def test_an_event_that_no_row_has_is_not_copied(tmp_path: Path, row: str) -> None:
    """It is after the events of the last row: no hash covers it. The rows before it stay in the backup."""
    state, target = tmp_path / "state", tmp_path / "backup"
    with LongRecord(state) as record:
        record.deal(1)
        back_up(state / JOURNAL, target)
        for shoes in (0, 1):
            record.deal(shoes)
            change(
                state,
                f"INSERT INTO event SELECT table_name, max(sequence) + 1, {row}, type, utc_us, data FROM event",  # noqa: S608 -- ours
            )
            before = content(target)
            with pytest.raises(JournalError, match=r"bac-901: event \d+ of .* cannot be verified"):
                back_up(state / JOURNAL, target)
            assert findings(target) == []
            assert content(target)["step"][: len(before["step"])] == before["step"]
            change(state, "DELETE FROM event WHERE sequence = (SELECT max(sequence) FROM event)")
            back_up(state / JOURNAL, target)
            assert content(target) == content(state)


def test_the_backup_of_another_journal_is_not_changed(state: Path, tmp_path: Path) -> None:
    """The error names both words."""
    with LongRecord(tmp_path / "other") as record:
        record.deal(1)
    back_up(tmp_path / "other" / JOURNAL, tmp_path / "backup")
    before = content(tmp_path / "backup")
    with pytest.raises(JournalError, match="the backup is of the journal "):
        back_up(state / JOURNAL, tmp_path / "backup")
    assert content(tmp_path / "backup") == before


def test_a_backup_with_more_rows_shows_that_the_journal_lost_rows(state: Path, tmp_path: Path) -> None:
    """The backup keeps the lost rows."""
    back_up(state / JOURNAL, tmp_path / "backup")
    before = content(tmp_path / "backup")
    change(state, "DELETE FROM step WHERE table_name = 'bac-902' AND row > 30")
    with pytest.raises(JournalError, match=r"bac-902: the backup has row \d+, and the journal ends with row 30"):
        back_up(state / JOURNAL, tmp_path / "backup")
    assert content(tmp_path / "backup") == before


def test_a_journal_that_continued_separately_is_refused(tmp_path: Path) -> None:
    """A copy of the journal was continued, and has other rows with the same numbers."""
    state, target = tmp_path / "state", tmp_path / "backup"
    with LongRecord(state) as record:
        record.deal(1)
        back_up(state / JOURNAL, target)
        record.deal(1, rounds=1)
        back_up(state / JOURNAL, target)
    change(state, "UPDATE step SET hash = zeroblob(32) WHERE row = (SELECT max(row) FROM step)")
    with pytest.raises(JournalError, match="of the journal and of the backup differ"):
        back_up(state / JOURNAL, target)


def test_a_backup_is_not_continued_after_another_restore(earlier: Path, tmp_path: Path) -> None:
    """The rows are the same, and the next ids have another word."""
    site, second = tmp_path / "site", tmp_path / "second"
    site.mkdir()
    restore(earlier / JOURNAL, site)
    back_up(site / JOURNAL, second)
    restore(earlier / JOURNAL, site)
    before = content(second)
    with pytest.raises(JournalError, match="an older journal was restored; keep this backup"):
        back_up(site / JOURNAL, second)
    assert content(second) == before


def test_the_journal_itself_is_not_a_backup(state: Path) -> None:
    """Also while no daemon runs."""
    with pytest.raises(JournalError, match="is the journal itself"):
        back_up(state / JOURNAL, state)


def test_a_full_disk_is_named(state: Path, tmp_path: Path) -> None:
    """/dev/full refuses every write as a full disk does."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "lock").symlink_to("/dev/full")
    with pytest.raises(JournalUnusable, match=r"No space left on device; .*free space"):
        back_up(state / JOURNAL, tmp_path / "full")


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A journal with rows of schema 4, in several sealed runs."""
    monkeypatch.setattr(seal, "RUN", 100)
    with sealed_record(tmp_path / "sealed", 750) as record:
        record.deal(2)
    return tmp_path / "sealed"


def test_sealed_rows_are_verified_and_copied(sealed: Path, tmp_path: Path) -> None:
    """They are copied once, in runs."""
    (copied,) = back_up(sealed / JOURNAL, tmp_path / "backup")
    ((rows,),) = ask(sealed, "SELECT count(*) FROM step")
    assert copied.rows == 750 + rows
    assert content(tmp_path / "backup") == content(sealed)
    assert findings(tmp_path / "backup") == []
    assert back_up(sealed / JOURNAL, tmp_path / "backup")[0].rows == 0


def test_a_changed_sealed_row_is_not_copied(sealed: Path, tmp_path: Path) -> None:
    """A run is verified as a whole."""
    change(sealed, "UPDATE step_4 SET observations = '[1]' WHERE row = 333")
    with pytest.raises(JournalError, match=r"bac-901: the rows 301 to 400 of .* cannot be verified"):
        back_up(sealed / JOURNAL, tmp_path / "backup")
    assert not (tmp_path / "backup" / JOURNAL).exists()


# --- restore


def test_a_restored_journal_is_the_backup_with_a_new_incarnation(state: Path, tmp_path: Path) -> None:
    """The previous journal is renamed."""
    back_up(state / JOURNAL, tmp_path / "backup")
    with LongRecord(tmp_path / "new") as record:
        record.deal(1)
    before = content(tmp_path / "new")
    restored = restore(tmp_path / "backup" / JOURNAL, tmp_path / "new")
    assert [(name, played) for name, _, played in restored.tables] == [(name, "4.3") for name in TABLES]
    after, backup = content(tmp_path / "new"), content(tmp_path / "backup")
    for name in backup:
        if not name.startswith("incarnation"):
            assert after[name] == backup[name]
    (*_, newest) = after["incarnation"]
    assert newest[1] != backup["incarnation"][0][1]
    assert newest[3:] == ("restored", f"the backup {tmp_path / 'backup' / JOURNAL}")
    assert findings(tmp_path / "new") == []
    assert restored.set_aside is not None
    assert re.fullmatch(r"journal-replaced-\d{8}T\d{6}Z\.db", restored.set_aside.name)
    restored.set_aside.rename(tmp_path / "new" / JOURNAL)
    assert content(tmp_path / "new") == before


def test_a_restored_salvage_has_the_reason_of_the_salvage(state: Path, tmp_path: Path) -> None:
    """A backup of the journal that continues it is a backup like any other."""
    (tmp_path / "salvaged").mkdir()
    salvage(state / JOURNAL, tmp_path / "salvaged" / JOURNAL)
    restore(tmp_path / "salvaged" / JOURNAL, tmp_path / "new")
    with closing(sqlite3.connect(tmp_path / "new" / JOURNAL, isolation_level=None)) as connection:
        connection.execute("UPDATE incarnation_table SET row = row - 1")  # the table has a row after it
    back_up(tmp_path / "new" / JOURNAL, tmp_path / "backup")
    restore(tmp_path / "backup" / JOURNAL, tmp_path / "new")
    with closing(Reader(tmp_path / "new" / JOURNAL)) as reader:
        reasons = list(reader.rows("SELECT reason, detail FROM incarnation WHERE number > 2 ORDER BY number"))
    salvaged = f"the damaged file {state / JOURNAL}, by {tmp_path / 'salvaged' / JOURNAL}"
    assert reasons == [("salvaged", salvaged), ("restored", f"the backup {tmp_path / 'backup' / JOURNAL}")]


async def test_a_backup_of_a_salvage_names_its_gaps(state: Path, tmp_path: Path) -> None:
    """The copy has the gaps of the salvage, and its rows were verified."""
    change(state, "DELETE FROM step WHERE table_name = 'bac-901' AND row = 40")
    (tmp_path / "salvaged").mkdir()
    salvage(state / JOURNAL, tmp_path / "salvaged" / JOURNAL)
    done = await shoed("journal", "backup", tmp_path / "backup", "--state-dir", tmp_path / "salvaged")
    assert done.status == 0
    end = "every row was verified; gaps that a salvage named: 2 (shoed journal verify lists them)"
    assert done.out.splitlines()[-1].endswith(end)
    assert findings(tmp_path / "backup") == findings(tmp_path / "salvaged") != []


def test_a_restore_requires_a_stopped_daemon(state: Path, tmp_path: Path) -> None:
    """The state directory is locked while a daemon runs."""
    back_up(state / JOURNAL, tmp_path / "backup")
    with hold(state), pytest.raises(JournalLocked):
        restore(tmp_path / "backup" / JOURNAL, state)


def test_an_altered_backup_is_not_restored(state: Path, tmp_path: Path) -> None:
    """The journal stays as it is."""
    back_up(state / JOURNAL, tmp_path / "backup")
    change(tmp_path / "backup", "UPDATE step SET bytes = x'00' WHERE row = 40")
    before = content(state)
    with pytest.raises(JournalUnusable, match=r"row 40: altered.*nothing was restored"):
        restore(tmp_path / "backup" / JOURNAL, state)
    assert content(state) == before
    assert [file.name for file in state.iterdir() if file.suffix not in (".db", "") and "-" not in file.name] == []


def test_a_backup_can_continue_a_restored_journal(state: Path, tmp_path: Path) -> None:
    """The restored rows are those of the backup."""
    back_up(state / JOURNAL, tmp_path / "backup")
    restore(tmp_path / "backup" / JOURNAL, state)
    assert sum(each.rows for each in back_up(state / JOURNAL, tmp_path / "backup")) == 0
    assert content(tmp_path / "backup") == content(state)


def test_a_restore_never_leaves_a_directory_without_a_journal(
    state: Path, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is interrupted before the restored file has its name. The next restore uses the second name again."""
    before = content(state)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(Path, "rename", interrupt)
        with pytest.raises(KeyboardInterrupt):
            restore(earlier / JOURNAL, state)
    assert content(state) == before
    (second,) = state.glob("journal-replaced-*.db")
    assert restore(earlier / JOURNAL, state).set_aside == second
    assert content(state)["step"] == content(earlier)["step"]
    second.rename(state / JOURNAL)
    assert content(state) == before


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_file_system_without_second_names_is_supported(
    state: Path, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal is renamed."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    before = content(state)
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    aside = restore(earlier / JOURNAL, state).set_aside
    assert aside is not None
    assert content(state)["step"] == content(earlier)["step"]
    aside.rename(state / JOURNAL)
    assert content(state) == before


def test_a_journal_that_another_program_reads_keeps_its_log(earlier: Path, tmp_path: Path) -> None:
    """SQLite cannot empty the log: the journal and its log are renamed, and the restored file has no log."""
    state = tmp_path / "live"
    with LongRecord(state, TABLES) as record:
        record.deal(1)
        with closing(sqlite3.connect(state / JOURNAL, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM step").fetchall()
            record.deal(1)
            before = content(state)
            aside = restore(earlier / JOURNAL, state).set_aside
    assert aside is not None
    assert content(state)["step"] == content(earlier)["step"]
    aside.with_name(f"{aside.name}-wal").rename(state / f"{JOURNAL}-wal")
    aside.rename(state / JOURNAL)
    assert content(state) == before


def test_the_log_of_a_deleted_journal_is_not_read_with_the_restored_one(earlier: Path, tmp_path: Path) -> None:
    """It is set aside."""
    state = tmp_path / "live"
    with LongRecord(state, TABLES) as record:
        record.deal(2)
        log = (state / f"{JOURNAL}-wal").read_bytes()
    (state / JOURNAL).unlink()
    (state / f"{JOURNAL}-wal").write_bytes(log)
    restore(earlier / JOURNAL, state)
    assert content(state)["step"] == content(earlier)["step"]
    (aside,) = state.glob("journal-replaced-*.db-wal")
    assert aside.read_bytes() == log


# --- wrong paths


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("backup full --state-dir state", "full: No space left on device; free space on the disk, or name another"),
        ("backup file --state-dir state", "file: this is not a directory; name another directory"),
        ("backup text --state-dir state", "text/journal.db: file is not a database; keep the file, and name another"),
        ("backup other --state-dir state", "other/journal.db: the file is not a journal of shoed; name another direct"),
        ("backup no/a/b --state-dir state", "no/a/b: no/a is not a directory; mount its disk, or make it"),
        ("restore nope --state-dir new", "there is no journal at nope; name the directory of a backup, or its file"),
        ("restore text --state-dir new", "text/journal.db: file is not a database; keep the file as evidence, and"),
        ("restore other --state-dir new", "other/journal.db: the file is not a journal of shoed; name another file"),
        ("restore state --state-dir no/a", "no/a: no is not a directory; mount its disk, or make it"),
        ("restore state --state-dir state", "state/journal.db is the journal of this state directory; name a backup"),
        ("salvage state state", "state is the directory of the damaged file; name a new directory"),
        ("salvage state no/a", "no/a: no is not a directory; mount its disk, or make it"),
        ("salvage nope new", "there is no journal at nope; name the damaged file, or the directory with it"),
        ("salvage state full", "full: No space left on device; free space on the disk, or name another directory"),
        ("verify --state-dir begun", "there is no journal at begun/journal.db: it was moved or deleted, or its first"),
        ("restore begun --state-dir new", "there is no journal at begun/journal.db: it was moved or deleted"),
    ],
)
async def test_a_wrong_path_is_named_with_its_remedy(
    state: Path, monkeypatch: pytest.MonkeyPatch, words: str, error: str
) -> None:
    """No directory is made, except the last one of a path; no file is changed."""
    monkeypatch.chdir(state.parent)
    before = wrong_places(state.parent)
    done = await shoed("journal", *words.split())
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(error)
    assert files(state.parent) == before


def wrong_places(place: Path) -> dict[str, bytes]:
    """A full disk, a file, a directory with another file, one with another database, and one without a journal."""
    for name in ("full", "text", "other", "begun"):
        (place / name).mkdir()
    (place / "full" / "lock").symlink_to("/dev/full")
    (place / "begun" / "lock").touch()
    (place / "file").touch()
    (place / "text" / JOURNAL).write_text("text")
    with closing(sqlite3.connect(place / "other" / JOURNAL)) as connection:
        connection.execute("CREATE TABLE other (number)")
    return files(place)


def files(place: Path) -> dict[str, bytes]:
    """The directories and the files, except locks and the files of SQLite for a read."""
    found = (each for each in place.rglob("*") if not each.name.endswith(("lock", "-wal", "-shm")))
    return {str(each): each.read_bytes() if each.is_file() else b"" for each in found}


@pytest.mark.parametrize("words", [("backup", "", "--state-dir", "state"), ("backup", "new", "--state-dir", "")])
async def test_an_empty_path_is_not_the_present_directory(
    state: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """It is wrong use."""
    monkeypatch.chdir(state.parent)
    before = files(state.parent)
    done = await shoed("journal", *words)
    assert done.status == 2
    assert '"" is not a path; write the name of a file or a directory' in done.err
    assert files(state.parent) == before
