"""One bit of the key of an event is changed: the name of its table, which no hash has.

SQLite searches the tree by its keys, so it may miss the events around this one without an error.
"""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final

import pytest

from shoed.cli import main
from shoed.errors import RowAltered
from shoed.journal import Reader
from shoed.journal.store import JOURNAL
from shoed.journal.verify import AlterationKind, Verification, verified_events
from tests.long_record import LongRecord
from tests.sealed_record import sealed_record

TABLES: Final = ("bac-902", "bac-904")
PAGES: Final = "SELECT pageno FROM dbstat WHERE name = 'event' AND pagetype = ?"
NAMES: Final = (b"bac-900", b"bac-903", b"bac-904", b"bac-906")  # in the order of the keys: before and after its own
CHANGES: Final = [(kind, name, seed) for kind in ("leaf", "internal") for name in NAMES for seed in range(2)]
CELL: Final = re.compile("<td[^>]*>([^<]*)")


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of two tables, all of it in the file."""
    folder = tmp_path_factory.mktemp("intact")
    with LongRecord(folder, TABLES) as record:
        record.deal(6, rounds=10)
    return folder


def rename(file: Path, kind: str, table: bytes, name: bytes, seed: int = 1) -> None:
    """Rename the table in the key of one event, in a page of this kind."""
    with closing(sqlite3.connect(file)) as connection:
        pages = [number for (number,) in connection.execute(PAGES, (kind,))]
        ((size,),) = connection.execute("PRAGMA page_size")
    data = bytearray(file.read_bytes())
    places = [
        place
        for page in pages
        for place in range((page - 1) * size, page * size)
        if data.startswith(table, place) and data[place - 1] < 128
    ]
    place = Random(seed).choice(places)
    data[place : place + len(name)] = name
    file.write_bytes(data)


@pytest.fixture(params=CHANGES, ids=lambda change: f"{change[0]}-{change[1].decode()}-{change[2]}")
def copy(request: pytest.FixtureRequest, intact: Path, tmp_path: Path) -> Path:
    kind, name, seed = request.param
    shutil.copytree(intact, tmp_path / "copy")
    rename(tmp_path / "copy" / JOURNAL, kind, b"bac-902", name, seed)
    return tmp_path / "copy"


def test_the_verification_finds_it(copy: Path) -> None:
    """By the name in the key, or by the events that SQLite does not find."""
    with Reader(copy / JOURNAL) as reader:
        found = [each for table in reader.tables for each in Verification(reader, table).findings()]
    assert found
    assert {each.kind for each in found} <= {AlterationKind.ALTERED, AlterationKind.MISSING}


def test_the_verification_of_sealed_rows_finds_it(tmp_path: Path) -> None:
    """A seal does not have the keys of its events either."""
    with sealed_record(tmp_path, 40):
        pass
    rename(tmp_path / JOURNAL, "leaf", b"bac-901", b"bac-900")
    with Reader(tmp_path / JOURNAL) as reader:
        (only,) = Verification(reader, "bac-901").findings()
    assert str(only).endswith("altered: its key names the table bac-900")


@pytest.mark.parametrize(
    "words", [("export",), ("query", "--shoe", "5"), ("stats",), ("report", "--day", "2023-11-15")]
)
def test_a_command_prints_all_events_or_a_warning(
    intact: Path, copy: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """With the warning, the exit status is 1."""
    assert main(["journal", *words, "--state-dir", str(intact)]) == 0
    whole = contents(capsys.readouterr().out)
    status = main(["journal", *words, "--state-dir", str(copy)])
    printed = capsys.readouterr()
    assert (status, "shoed journal verify" in printed.err) in ((1, True), (0, False))
    assert status or contents(printed.out) == whole


def contents(printed: str) -> list[str]:
    """The lines, or the cells of a page, which also names the file and the time."""
    return CELL.findall(printed) or printed.splitlines()


def test_the_publisher_gets_each_event_or_an_error(intact: Path, copy: Path) -> None:
    """Each event is searched."""
    with Reader(intact / JOURNAL) as reader:
        events = reader.events("bac-902", 0, 10**6)
    with Reader(copy / JOURNAL) as reader:
        for after in range(len(events)):
            try:
                found = verified_events(reader, "bac-902", after, min(after + 16, len(events)))
            except RowAltered:
                continue
            assert found == events[after : after + 16]
