"""`shoed journal verify`: its output and its exit status."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from shoed.cli import main
from shoed.cli.journal.verify import SHOWN, verify
from shoed.errors import JournalUnusable, NoSuchTable
from shoed.journal import Store
from tests.angel_eye_line import traffic
from tests.test_journal_replay import record
from tests.test_salvage import pages_of

PAGE: Final = 4096
FROZEN: Final = Path(__file__).resolve().parent / "data" / "journal-v4.sql"


def old(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        connection.executescript(FROZEN.read_text())
    return folder


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        assert connection.execute(statement).rowcount > 0
        connection.commit()


async def test_an_unchanged_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each table has the rows, the events and the hash of the last row, for a person to keep."""
    Store(old(tmp_path))
    await record(tmp_path, traffic(1), "new")
    assert verify(tmp_path, [], [], None) == 0
    out = capsys.readouterr().out
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        query = "SELECT row, hex(hash) FROM step WHERE table_name = 'new' ORDER BY row DESC LIMIT 1"
        last, hashed = connection.execute(query).fetchone()
        ((events,),) = connection.execute("SELECT count(*) FROM event WHERE table_name = 'new'")
    line = f"new: rows 1-{last} and {events} events have their hashes; the hash of row {last} is {hashed.lower()}"
    assert line in out.splitlines()
    assert "t: the rows up to 31 are of an earlier version; its update sealed them" in out.splitlines()
    assert verify(tmp_path / "journal.db", ["new"], [], None) == 0
    assert capsys.readouterr().out.splitlines()[0] == line


async def test_changes_are_named_with_the_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 1. The other tables are verified, too."""
    await record(tmp_path, traffic(1), "one")
    await record(tmp_path, traffic(2), "two")
    change(tmp_path, "DELETE FROM step WHERE table_name = 'one' AND row = 5")
    assert verify(tmp_path, [], [], None) == 1
    first, second, *remedy = capsys.readouterr().out.splitlines()
    assert first == "one: row 5: missing: the next row is 6"
    assert second.startswith("two: rows 1-")
    assert "Keep a copy of its files as evidence." in " ".join(remedy)


async def test_many_changes_are_not_all_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first changes of a table are sufficient. The other tables and the heads are verified, too."""
    for table in ("one", "two"):
        await record(tmp_path, traffic(1), table)
    change(tmp_path, "UPDATE step SET utc_us = utc_us + 1")
    assert verify(tmp_path, [], [], None) == 1
    out = capsys.readouterr().out.splitlines()
    for table in ("one", "two"):
        lines = [line for line in out if line.startswith(f"{table}: ")]
        assert lines[SHOWN] == f"{table}: more changes follow"
        assert not any("altered" in line for line in lines[SHOWN:])
        assert f"{table}: 0 signed heads; none of them proves a row" in lines


def test_a_copy_of_an_old_journal_has_no_hashes(tmp_path: Path) -> None:
    """A reader does not migrate it."""
    with pytest.raises(
        JournalUnusable, match="a journal of schema 4 has no hashes; the first start of this shoed adds"
    ):
        verify(old(tmp_path), [], [], None)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("PRAGMA user_version = 6", "a newer shoed wrote the journal"),
        ("PRAGMA application_id = 1", "the file is not a journal of shoed"),
        ("DROP TABLE event", "event was removed from the file"),
        ("PRAGMA user_version = 4", "the number of the schema was changed to 4"),
        ("PRAGMA user_version = 0", "the number of the schema was changed to 0"),
    ],
)
async def test_a_file_of_another_form_is_refused(tmp_path: Path, statement: str, text: str) -> None:
    """The error has the reason and the remedy."""
    await record(tmp_path, traffic(1), "one")
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        connection.execute(statement)
    with pytest.raises(JournalUnusable, match=text):
        verify(tmp_path, [], [], None)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("CREATE TRIGGER step AFTER INSERT ON event BEGIN SELECT 1; END", "the trigger step"),
        ("CREATE VIEW later AS SELECT * FROM event", "the view later"),
        ("CREATE TABLE other (value)", "the table other"),
        ("CREATE INDEX other ON event (type)", "the index other"),
        ("ANALYZE", ""),
    ],
)
async def test_an_object_that_is_not_of_the_schema_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], statement: str, text: str
) -> None:
    """Also a trigger with the name of a table. The statistics of SQLite are harmless."""
    await record(tmp_path, traffic(1), "one")
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        connection.execute(statement)
    assert verify(tmp_path, [], [], None) == bool(text)
    line = f"journal.db: {text}: inserted: the schema of shoed does not have it"
    assert (line in capsys.readouterr().out.splitlines()) == bool(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [("kind TEXT NOT NULL", "kind TEXT NOT NULL ON CONFLICT IGNORE"), ("body BLOB NOT NULL", "body BLOB")],
)
async def test_a_changed_definition_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str
) -> None:
    """It changes no row, and how SQLite writes the next rows."""
    await record(tmp_path, traffic(1), "one")
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        query = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'step'"
        assert connection.execute(query, (before, after)).rowcount == 1
        connection.commit()
    assert verify(tmp_path, [], [], None) == 1
    line = "journal.db: the definition of step: altered: its definition is not that of the schema of shoed"
    assert line in capsys.readouterr().out.splitlines()


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    """The disk is not the reason."""
    (tmp_path / "journal.db").touch()
    with pytest.raises(JournalUnusable, match="the file is empty: it has no table"):
        verify(tmp_path, [], [], None)


@pytest.mark.parametrize("names", [("head",), (), ("key",), ("incarnation_table",)])
async def test_the_other_parts_of_a_damaged_file_are_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: Sequence[str]
) -> None:
    """The row before the damage is named, and the remedy. The other table is intact."""
    for table in ("one", "two"):
        await record(tmp_path, traffic(1), table)
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        leaves = "SELECT pageno FROM dbstat WHERE name = 'step' AND pagetype = 'leaf' ORDER BY path"
        pages = [connection.execute(leaves).fetchall()[-2][0]]
    pages += [pages_of(path, name)[0] for name in names]
    data = bytearray(path.read_bytes())
    for page in pages:
        data[PAGE * (page - 1) : PAGE * page] = bytes(PAGE)
    path.write_bytes(data)
    assert verify(tmp_path, [], [], None) == 1
    out = capsys.readouterr().out
    assert re.search(r"\ntwo: the row after row [0-9]+: altered: it cannot be read: database disk image", out), out
    assert out.startswith("one: rows 1-") or "\none: rows 1-" in out
    assert ("journal.db: a part of the file: altered: it cannot be read" in out) == bool(names), out
    assert "shoed journal salvage" in out


async def test_a_damaged_page_between_two_tables_accuses_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The names of the tables are then those of the signed heads and cursors. A further table is intact."""
    for table in ("one", "three", "two"):
        await record(tmp_path, traffic(1), table)
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.executemany("INSERT INTO cursor VALUES (?, 0)", [("one",), ("three",), ("two",)])
        connection.commit()
        leaves = "SELECT pageno FROM dbstat WHERE name = 'step' AND pagetype = 'leaf' ORDER BY path"
        pages = [number for (number,) in connection.execute(leaves)]
    data = path.read_bytes()
    (page,) = (each for each in pages if b"three" in (of := data[PAGE * (each - 1) : PAGE * each]) and b"two" in of)
    path.write_bytes(data[: PAGE * (page - 1)] + bytes(PAGE) + data[PAGE * page :])
    assert verify(tmp_path, [], [], None) == 1
    out = capsys.readouterr().out
    assert "three: a part of the file: altered: it cannot be read, so that the verification of the rows is not" in out
    assert "two: the row after row 0: altered: it cannot be read" in out
    assert "\none: rows 1-" in out


async def test_named_gaps_are_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary has the verified rows only."""
    await record(tmp_path, traffic(1), "one")
    gap = "row > 1 AND row NOT IN (SELECT row FROM event) ORDER BY row LIMIT 1"
    loss = "INSERT INTO loss SELECT table_name, row{0}, row{0}, '{1}', NULL, NULL FROM step WHERE "
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        ((last,),) = connection.execute("SELECT max(row) FROM step")
    change(tmp_path, loss.format("", "missing") + gap)
    change(tmp_path, loss.format(" + 1", "unproven") + gap)
    change(tmp_path, "DELETE FROM step WHERE row IN (SELECT row FROM loss WHERE kind = 'missing')")
    assert verify(tmp_path, [], [], None) == 1
    assert f"one: {last - 2} of the rows 1-{last} and " in capsys.readouterr().out


async def test_an_unknown_table_is_refused(tmp_path: Path) -> None:
    """The error names the known tables."""
    await record(tmp_path, traffic(1), "one")
    with pytest.raises(NoSuchTable, match="known: one"):
        verify(tmp_path, ["other"], [], None)


def test_the_heads_are_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error states whether the name is absent, or of something else."""
    for name, problem in (("", "this is not a file"), ("absent", "there is no such file")):
        file = tmp_path / name
        assert main(["journal", "verify", "--heads", str(file), "--state-dir", str(tmp_path)]) == 2
        assert f"--heads {file}: {problem}; name the file of a witness" in capsys.readouterr().err
