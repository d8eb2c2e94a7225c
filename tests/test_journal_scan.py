"""The reading of events in chunks, and the search for rounds, shoes and rows without an index."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shoed.journal import Reader, scan
from shoed.journal.scan import Extent
from tests.recorded import Play, raw, record


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("journal"), Play(("t1", "t2"), shoes=3))


@pytest.fixture(params=[3, scan.CHUNK])
def reader(folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A reader with the chunks of this size."""
    monkeypatch.setattr(scan, "CHUNK", request.param)
    with closing(Reader(folder / "journal.db")) as reader:
        yield reader


def test_all_events_are_read_in_order(reader: Reader, folder: Path) -> None:
    """Each column is that of the table `event`."""
    for table in ("t1", "t2"):
        span = scan.whole(reader, table)
        found = [
            (each.sequence, each.row, each.type, each.utc_us, each.data) for each in scan.events(reader, table, span)
        ]
        assert found == [tuple(each[1:]) for each in raw(folder, table)]
    assert list(scan.events(reader, "none", scan.whole(reader, "none"))) == []


def test_no_transaction_stays_open_between_two_chunks(reader: Reader) -> None:
    """The connection is idle whenever the caller has an event."""
    found = scan.events(reader, "t1", scan.whole(reader, "t1"))
    assert [reader.connection.in_transaction for _ in found] == [False] * scan.whole(reader, "t1").last
    next(scan.events(reader, "t1", scan.whole(reader, "t1")))
    with closing(sqlite3.connect(reader.path, isolation_level=None)) as other:
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0  # 1: a reader prevents it


def test_each_round_and_shoe_is_found(reader: Reader, folder: Path) -> None:
    """A span begins with its start and ends before the next start."""
    found = raw(folder, "t1")
    span = scan.whole(reader, "t1")
    marks = [each for each in found if each.type in ("shoe.started", "round.started")]
    ends = [each.sequence - 1 for each in marks[1:]] + [span.last]
    for mark, end in zip(marks, ends, strict=True):
        if mark.type == "round.started":
            of_round = scan.round_span(reader, "t1", span, mark.data["shoe"], mark.data["round"])
            assert of_round == Extent(mark.sequence, end)
    shoes = [1] + [each.sequence for each in marks if each.type == "shoe.started"] + [span.last + 1]
    for number, first in enumerate(shoes[:-1], start=1):
        assert scan.shoe_span(reader, "t1", span, number) == Extent(first, shoes[number] - 1)
    assert scan.round_span(reader, "t1", span, 2, 99) is None
    assert scan.round_span(reader, "t1", span, 9, 1) is None
    assert scan.shoe_span(reader, "t1", span, 0) is None
    assert scan.shoe_span(reader, "t1", span, 9) is None
    newest = [each.sequence for each in scan.newest_starts(reader, "t1", span)]
    assert newest == [each.sequence for each in reversed(marks)]


def test_the_first_event_of_a_row_is_found(reader: Reader, folder: Path) -> None:
    """Or the first one after a row without an event."""
    found = raw(folder, "t1")
    span = scan.whole(reader, "t1")
    for row in range(found[-1].row + 2):
        expected = next((each.sequence for each in found if each.row >= row), span.last + 1)
        assert scan.from_row(reader, "t1", span, row) == expected


def test_the_names_of_the_tables_need_one_look_each(reader: Reader) -> None:
    """No query reads all rows."""
    assert reader.tables == ["t1", "t2"]
    plans = [
        detail
        for each in ("step", "event")
        for *_, detail in reader.rows(f"EXPLAIN QUERY PLAN SELECT min(table_name) FROM {each} WHERE table_name > 'a'")  # noqa: S608
    ]
    assert all(detail.startswith("SEARCH") for detail in plans)
