"""Retention: which rows are deleted, and what remains."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import astuple

from shoed.cli.journal.checked import RowsRead
from shoed.cli.journal.verified import verified
from shoed.engine import ENGINE, Engine
from shoed.errors import JournalError, JournalUnusable
from shoed.journal import Reader, Writer, retention, seal
from shoed.journal.backup import back_up
from shoed.journal.ed25519 import is_signed
from shoed.journal.growth import shoe_of, size_of
from shoed.journal.keys import SigningKey
from shoed.journal.replay import beginning, decode_again, rehearse
from shoed.journal.restore import restore
from shoed.journal.retention import (
    DAY_US,
    CutPoint,
    Keep,
    RowCut,
    by_age,
    delete_batch,
    next_cut,
    possible,
    used_bytes,
)
from shoed.journal.rows import Checkpoint
from shoed.journal.scan import Extent, events, whole
from shoed.journal.store import JOURNAL
from shoed.journal.verify import Verification
from shoed.model.moments import rfc3339
from shoed.service import retention as service
from shoed.service.config import recall
from shoed.service.engines import engine_of
from shoed.service.retention import Retention
from shoed.session import SessionState
from shoed.table.public_state import unfinished
from shoed.table.state import Shoe, TableState
from tests.angel_eye_line import START
from tests.command_clients import shoed
from tests.long_record import Dealer, LongRecord
from tests.patience import PATIENCE_S
from tests.sealed_record import sealed_record
from tests.test_journal import StateAfter, urgent

NOW: Final = 20_000 * DAY_US


def shoes(*days_ago: float) -> list[CutPoint]:
    """Starts of shoes, the oldest first; the sequence number of each is ten times its row."""
    return [CutPoint(row, row * 10, round(NOW - days * DAY_US)) for row, days in enumerate(days_ago, start=1)]


DAILY: Final = shoes(*range(30, -1, -1))


def test_the_rows_before_the_kept_days_are_deleted() -> None:
    """The newest point that is old enough is the cut."""
    cut = by_age(DAILY, 10**9, 10, NOW)
    assert cut is not None
    assert cut.utc_us == NOW - 10 * DAY_US
    assert by_age(DAILY, 10**9, 31, NOW) is None


def test_an_event_that_the_broker_has_not_acknowledged_is_kept() -> None:
    """The cut is before the first such event, also if the broker was away for longer than the kept days."""
    assert by_age(DAILY, 55, 10, NOW) == DAILY[4]
    assert by_age(DAILY, 0, 10, NOW) is None


@pytest.mark.parametrize("number", [1, 2])
def test_the_last_two_shoes_are_kept(number: int) -> None:
    """The age and the size of the journal have no effect on them."""
    assert possible(shoes(9, 8, 7)[-number:], 10**9) == shoes(9, 8, 7)[-number:][: number - 1]


@pytest.mark.parametrize("years", [1, 30])
def test_a_clock_that_jumps_ahead_adds_one_day(years: int) -> None:
    """After the jump every earlier shoe seems to be old. The shoes of as many days as before remain."""
    late = NOW + years * 365 * DAY_US
    assert by_age(DAILY, 10**9, 10, late) == by_age(DAILY, 10**9, 10, NOW)
    later = [CutPoint(100 + hour, 1000, late + hour * 3_600_000_000) for hour in range(23)]
    cut = by_age([*DAILY, *later], 10**9, 10, late + DAY_US)
    assert cut is not None
    assert cut.utc_us == NOW - 9 * DAY_US


def test_a_clock_that_is_late_deletes_nothing() -> None:
    """The clock of a machine without a battery begins in 1970."""
    assert by_age(DAILY, 10**9, 10, 0) is None


def test_a_table_that_plays_on_few_days_keeps_its_days() -> None:
    """The days without a shoe do not count."""
    assert by_age(shoes(300, 200, 100, 50, 0), 10**9, 4, NOW) == shoes(300)[0]
    assert by_age(shoes(300, 200, 100, 50, 0), 10**9, 5, NOW) is None


# --- the deletion


KEY: Final = SigningKey(bytes(range(32)), "")
TABLES: Final = ("bac-901", "bac-902")


@pytest.fixture
def record(tmp_path: Path) -> Iterator[LongRecord]:
    """Two tables with twelve shoes each, one each day."""
    with LongRecord(tmp_path / "state", TABLES) as record:
        record.deal(12)
        yield record


def today(record: LongRecord) -> int:
    """The time of the last row."""
    return START.utc_us + round(max(dealer.second for dealer in record.dealers) * 1e6)


def apply(record: LongRecord, keep: Keep) -> list[RowCut]:
    """Delete all rows that are not kept, as the daemon does; the record is verified after every batch."""
    cuts = []
    with closing(record.store.read()) as reader:
        while (cut := next_cut(reader, keep, today(record))) is not None:
            cuts.append(cut)
            more = True
            while more:
                record.connection.execute("BEGIN IMMEDIATE")
                more = delete_batch(record.connection, cut, KEY)
                record.connection.execute("COMMIT")
                assert [str(each) for each in Verification(reader, cut.table).findings()] == []
    return cuts


def findings(file: Path) -> list[str]:
    with closing(Reader(file)) as reader:
        return [str(each) for table in reader.tables for each in Verification(reader, table).findings()]


def engine_of_settings(word: str, settings: str) -> Engine[SessionState]:
    return engine_of(recall(settings), word)


def first_rows(record: LongRecord) -> dict[str, int]:
    return dict(record.connection.execute("SELECT table_name, min(row) FROM step GROUP BY 1").fetchall())


def test_old_rows_are_deleted_in_batches(record: LongRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest begins with the settings of a shoe, and is verified from the signed cut after every batch."""
    monkeypatch.setattr(retention, "BATCH", 50)
    cuts = apply(record, Keep(days=5))
    assert {cut.table for cut in cuts} == set(TABLES)
    for table in TABLES:
        (kind, utc_us), *_ = record.connection.execute(
            "SELECT kind, utc_us FROM step WHERE table_name = ? ORDER BY row", (table,)
        ).fetchall()
        assert kind == "Configured"
        assert 5 <= (today(record) - utc_us) / DAY_US < 6
        ((row, sequence),) = record.connection.execute(
            "SELECT min(row), min(sequence) FROM event WHERE table_name = ?", (table,)
        ).fetchall()
        (cut,) = record.connection.execute(
            "SELECT row, sequence, hash, utc_us, signature, reason FROM anchor WHERE table_name = ?", (table,)
        ).fetchall()
        assert (cut[0], cut[1], cut[5]) == (first_rows(record)[table] - 1, sequence - 1, "cut")
        assert row > cut[0]
        text = (
            f"shoed cut 1\njournal {record.store.word}\ntable {table}\nrow {cut[0]}\nsequence {cut[1]}\n"
            f"time {rfc3339(cut[3])}\nhash {cut[2].hex()}\n"
        ).encode()
        assert is_signed(KEY.public, cut[4], text)
        assert not is_signed(KEY.public, cut[4], text.replace(b"row ", b"row 1"))
    assert apply(record, Keep(days=5)) == []


def test_the_tables_play_on_after_a_cut(record: LongRecord) -> None:
    """The new rows continue the chain. The check begins at the first checkpoint, and a start at the last one."""
    apply(record, Keep(days=5))
    record.deal(3)
    assert findings(record.store.path) == []
    with closing(record.store.read()) as reader:
        for dealer in record.dealers:
            engine_for = partial(engine_of_settings, reader.word)
            begin = beginning(reader, dealer.table, engine_for)
            assert begin is not None
            assert first_rows(record)[dealer.table] < begin.state.row < first_rows(record)[dealer.table] + 10
            assert [*rehearse(reader, dealer.table, engine_for), *decode_again(reader, dealer.table, engine_for)] == []
            assert restore(reader, dealer.table, dealer.engine, engine_for).state == dealer.state
    doctor = (
        "UPDATE event SET data = replace(data, 'points', 'pints') WHERE sequence = (SELECT max(sequence) FROM event"
    )
    record.connection.execute(f"{doctor} WHERE type = 'card.drawn' AND table_name = 'bac-901')")
    with closing(record.store.read()) as reader:
        assert [each.what for each in rehearse(reader, "bac-901", partial(engine_of_settings, reader.word))] == [
            "events"
        ]


def test_a_second_cut_follows_the_first(record: LongRecord) -> None:
    """The anchor moves."""
    apply(record, Keep(days=5))
    record.deal(3)
    before = first_rows(record)
    apply(record, Keep(days=5))
    assert all(first_rows(record)[table] > before[table] for table in TABLES)


def test_the_size_limits_the_journal(record: LongRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest shoes of all tables are deleted until the used pages are below the limit. No clock has an effect."""
    monkeypatch.setattr(retention, "MB", 1000)
    record.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = record.store.path.stat().st_size
    with closing(record.store.read()) as reader:
        limit = used_bytes(reader) * 2 // 3
        assert limit > size // 2
        cuts = apply(record, Keep(mb=limit // 1000))
        assert limit * 0.8 < used_bytes(reader) <= limit
        assert next_cut(reader, Keep(mb=limit // 1000), 0) is None
    assert [cut.table for cut in cuts] == [TABLES[number % 2] for number in range(len(cuts))]
    record.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert record.store.path.stat().st_size <= size, "the file does not grow"


def test_unacknowledged_events_are_kept(record: LongRecord) -> None:
    """The broker was away since the third day."""
    third = record.connection.execute(
        "SELECT table_name, max(sequence) FROM event WHERE json_extract(data, '$.shoe') = 3 GROUP BY 1"
    ).fetchall()
    record.connection.execute("BEGIN")
    record.connection.executemany("UPDATE cursor SET sequence = ?2 WHERE table_name = ?1", third)
    record.connection.execute("COMMIT")
    apply(record, Keep(days=1, mb=1))
    for table, sequence in third:
        ((first,),) = record.connection.execute("SELECT min(sequence) FROM event WHERE table_name = ?", (table,))
        assert 1 < first <= sequence
    record.acknowledge()
    apply(record, Keep(days=1))
    assert all(first > 1 for first in first_rows(record).values())


def test_a_backup_keeps_the_deleted_rows(record: LongRecord, tmp_path: Path) -> None:
    """It continues after the cut, and is verified as a whole."""
    back_up(record.store.path, tmp_path / "archive")
    apply(record, Keep(days=5))
    record.deal(1)
    back_up(record.store.path, tmp_path / "archive")
    assert findings(tmp_path / "archive" / JOURNAL) == []
    with closing(sqlite3.connect(tmp_path / "archive" / JOURNAL)) as connection:
        rows = connection.execute("SELECT table_name, min(row), max(row), count(*) FROM step GROUP BY 1").fetchall()
    assert all(first == 1 and count == last for _, first, last, count in rows)
    back_up(record.store.path, tmp_path / "new")
    assert findings(tmp_path / "new" / JOURNAL) == []


def test_a_backup_that_ends_before_the_cut_cannot_continue(tmp_path: Path) -> None:
    """The rows between them are deleted; the error names the remedy."""
    with LongRecord(tmp_path / "other") as other:
        other.deal(1)
        back_up(other.store.path, tmp_path / "backup")
        other.deal(9)
        apply(other, Keep(days=3))
        with pytest.raises(JournalError, match="the next rows are not in the journal any more"):
            back_up(other.store.path, tmp_path / "backup")
    assert findings(tmp_path / "backup" / JOURNAL) == []


def test_sealed_rows_are_deleted_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are older than all other rows. The record is verified after each run."""
    monkeypatch.setattr(seal, "RUN", 100)
    with sealed_record(tmp_path / "sealed", 750) as record:
        record.deal(3)
        assert apply(record, Keep(days=5)) == []
        record.deal(6)
        assert len(apply(record, Keep(days=5))) == 1
        for name in ("step_4", "seal"):
            assert record.connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,)  # noqa: S608 -- of this test
        assert record.connection.execute("SELECT reason FROM anchor").fetchall() == [("cut",)]
        record.deal(2)
        assert findings(record.store.path) == []
        back_up(record.store.path, tmp_path / "backup")
        assert findings(tmp_path / "backup" / JOURNAL) == []


@pytest.mark.parametrize("rests", [1, 3, 6])
def test_a_cut_during_a_verification_is_not_a_change(record: LongRecord, rests: int) -> None:
    """The verification continues after the deleted rows."""
    left = rests

    def rest() -> None:
        nonlocal left
        left -= 1
        if not left:
            apply(record, Keep(days=2))

    with closing(record.store.read()) as reader:
        last = reader.last_row("bac-901")
        verification = Verification(reader, "bac-901", 20, rest)
        assert [str(each) for each in verification.findings()] == []
        assert verification.tip.row == last
    assert left <= 0
    assert first_rows(record)["bac-901"] > 20 * rests


@pytest.mark.parametrize("rests", [1, 4, 8])
def test_a_cut_during_a_verification_of_sealed_rows_is_not_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rests: int
) -> None:
    """All sealed rows are deleted while they are verified."""
    monkeypatch.setattr(seal, "RUN", 100)
    left = rests
    with sealed_record(tmp_path / "sealed", 750) as record, closing(record.store.read()) as reader:
        record.deal(9)

        def rest() -> None:
            nonlocal left
            left -= 1
            if not left:
                assert apply(record, Keep(days=5)) != []

        verification = Verification(reader, "bac-901", 20, rest)
        assert [str(each) for each in verification.findings()] == []
        assert verification.tip.row == reader.last_row("bac-901")
    assert left <= 0


@pytest.mark.parametrize("rests", [0, 3, 7, 8])
def test_a_cut_at_any_sealed_run_is_not_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rests: int) -> None:
    """Retention deletes one run in each transaction, and a verification may see the record between any two of them."""
    monkeypatch.setattr(seal, "RUN", 100)
    with sealed_record(tmp_path / "sealed", 750) as record:
        record.deal(9)
        with closing(record.store.read()) as reader:
            cut = next_cut(reader, Keep(days=5), today(record))
    assert cut is not None
    for batches in range(1, 10):
        place = tmp_path / f"{batches}.db"
        place.write_bytes((tmp_path / "sealed" / JOURNAL).read_bytes())
        left = rests
        with closing(sqlite3.connect(place, isolation_level=None)) as connection, closing(Reader(place)) as reader:

            def rest() -> None:
                nonlocal left
                left -= 1
                if left == -1:
                    connection.execute("BEGIN IMMEDIATE")
                    for _ in range(batches):  # noqa: B023 -- as above
                        delete_batch(connection, cut, KEY)
                    connection.execute("COMMIT")

            verification = Verification(reader, "bac-901", 20, rest)
            if not left:
                rest()
            assert [str(each) for each in verification.findings()] == []
            assert left < 0


def cut_at_each_query(record: LongRecord, place: Path, cut: RowCut) -> Iterator[Reader]:
    """Readers of copies of the record. The rows are cut at the first query of the first reader, at the second of ..."""
    record.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    at, queries = 0, 1
    while at < queries:
        at, queries = at + 1, 0
        place.write_bytes(record.store.path.read_bytes())
        with closing(sqlite3.connect(place, isolation_level=None)) as connection, closing(Reader(place)) as reader:

            def query(_: str) -> None:
                nonlocal queries
                queries += 1
                if queries == at:  # noqa: B023 -- called here
                    connection.execute("BEGIN IMMEDIATE")
                    delete_batch(connection, cut, KEY)
                    connection.execute("COMMIT")

            reader.connection.set_trace_callback(query)
            yield reader


def test_a_cut_during_a_report_is_not_a_change(record: LongRecord, tmp_path: Path) -> None:
    """At any query about the rows of the report: they are verified, or the report ends and can be made again."""
    with closing(record.store.read()) as reader:
        cut = next_cut(reader, Keep(days=5), today(record))
    assert cut is not None
    verifications, deleted = 0, list[str]()
    for reader in cut_at_each_query(record, tmp_path / "copy.db", cut):
        verifications += 1
        try:
            assert verified(reader, cut.table, Extent(1, 20)).is_good
        except JournalUnusable as error:
            deleted.append(str(error))
    assert 0 < len(deleted) < verifications
    assert all("if the daemon deleted them a moment ago, run the command again" in each for each in deleted)


def test_a_cut_after_a_command_has_read_rows_is_not_a_change(record: LongRecord, tmp_path: Path) -> None:
    """At any query of the command, whether the cut deletes some of its rows or all."""
    with closing(record.store.read()) as reader:
        cut = next_cut(reader, Keep(days=5), today(record))
        found = list(events(reader, TABLES[0], whole(reader, TABLES[0])))
    assert cut is not None
    for reader in cut_at_each_query(record, tmp_path / "copy.db", RowCut(TABLES[0], cut.row)):
        several = [RowsRead(reader), RowsRead(reader)]
        for read, part in zip(several, (found[:9], found), strict=True):
            assert list(read.noted(TABLES[0], part)) == part
        assert [read.warn() for read in several] == [0, 0]


def test_a_verification_that_ends_early_leaves_no_transaction(record: LongRecord) -> None:
    """The reader can verify the next table."""
    record.connection.execute("UPDATE step SET mono_ns = mono_ns + 1")
    with closing(record.store.read()) as reader:
        several = [Verification(reader, table).findings() for table in TABLES]
        found = [next(findings) for findings in several]
    assert [(each.table, each.place) for each in found] == [(table, "row 1") for table in TABLES]


def test_a_cut_has_no_checkpoint(record: LongRecord) -> None:
    """Its column `state` is not signed, so it cannot prove one."""
    apply(record, Keep(days=5))
    record.connection.execute("UPDATE anchor SET state = x'00' WHERE table_name = 'bac-901'")
    ((row,),) = record.connection.execute("SELECT row FROM anchor WHERE table_name = 'bac-901'")
    assert findings(record.store.path) == [
        f"bac-901: the cut of row {row}: altered: no checkpoint is of a cut, and it has the digest of one"
    ]
    of_cut = Checkpoint("bac-901", row, ENGINE, 0, 1, "{}", "{}")
    record.connection.execute("UPDATE anchor SET state = ?", (of_cut.digest,))
    record.connection.execute("INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?)", astuple(of_cut))
    assert f"bac-901: the checkpoint of row {row}: altered: it differs from the digest in its row" in findings(
        record.store.path
    )


# --- the daemon


class ServedTable:
    """A table of the daemon, as far as the retention knows it."""

    def __init__(self, unfinished: str | None) -> None:
        self.name = unfinished or "idle"
        self.is_served = True
        self.unfinished = unfinished
        self.committed = TableState(shoe=Shoe(number=1))
        self.configured = 0

    def configure(self, *, running: bool = False) -> None:
        assert running
        self.configured += 1


async def test_the_writer_deletes_while_a_table_deals(record: LongRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Step of the table is committed, and the record is verified."""
    monkeypatch.setattr(retention, "BATCH", 20)
    monkeypatch.setattr(service, "PAUSE_S", 0)
    before = first_rows(record)
    record.connection.close()
    writer, confirmed = Writer(record.store, ENGINE, KEY), list[int]()
    try:
        deleting = asyncio.create_task(Retention(record.store, writer, Keep(days=5), list).delete())
        row = 0
        while not deleting.done():
            row += 1
            writer.submit("t", urgent(row), StateAfter(row), partial(confirmed.append, row))
            await writer.flush()
        await deleting
        assert confirmed == list(range(1, row + 1))
        assert row > 10
    finally:
        await asyncio.wait_for(writer.close(), PATIENCE_S)
    assert findings(record.store.path) == []
    with closing(sqlite3.connect(record.store.path)) as connection:
        after = dict(connection.execute("SELECT table_name, min(row) FROM step GROUP BY 1").fetchall())
    assert all(after[table] > before[table] for table in TABLES)


async def test_a_failed_deletion_stops_no_table(record: LongRecord) -> None:
    """Nothing is deleted, the error names the file, and the next Step is committed."""
    record.connection.execute(
        "CREATE TRIGGER no BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the disk refuses'); END"
    )
    before = first_rows(record)
    writer, confirmed = Writer(record.store, ENGINE, KEY), list[int]()
    try:
        writer.submit("t", urgent(1), StateAfter(1), partial(confirmed.append, 1))
        await writer.flush()
        with pytest.raises(JournalError, match=f"{record.store.path}: the disk refuses; "):
            await Retention(record.store, writer, Keep(days=5), list).delete()
        writer.submit("t", urgent(2), StateAfter(2), partial(confirmed.append, 2))
        await writer.flush()
        assert (confirmed, writer.stops) == ([1, 2], {})
    finally:
        await asyncio.wait_for(writer.close(), PATIENCE_S)
    after = first_rows(record)
    assert {table: after[table] for table in TABLES} == before
    assert findings(record.store.path) == []


async def test_the_settings_are_recorded_again_in_each_shoe(record: LongRecord) -> None:
    """Once, and only between two rounds: the settings of a table are the place of a cut."""
    writer = Writer(record.store, ENGINE, KEY)
    idle, busy = ServedTable(None), ServedTable("the end of round 1.1")
    task = Retention(record.store, writer, Keep(days=5), lambda: [idle, busy])
    task.record_settings()
    assert (idle.configured, busy.configured) == (0, 0), "the start of the daemon recorded them"
    for table in (idle, busy):
        table.committed = TableState(shoe=Shoe(number=2))
    task.record_settings()
    task.record_settings()
    assert (idle.configured, busy.configured) == (1, 0)
    busy.unfinished = None
    task.record_settings()
    assert (idle.configured, busy.configured) == (1, 1)
    await asyncio.wait_for(writer.close(), PATIENCE_S)


class DealtTable(ServedTable):
    """A table that deals."""

    def __init__(self, dealer: Dealer) -> None:
        super().__init__(None)
        self.dealer = dealer

    def configure(self, *, running: bool = False) -> None:
        super().configure(running=running)
        self.dealer.settings()


async def test_every_shoe_of_one_day_can_be_deleted(tmp_path: Path) -> None:
    """The daemon runs since the first shoe, and the size is the only limit. The rest is verified and recomputed."""
    with LongRecord(tmp_path / "state") as record:
        (dealer,) = record.dealers
        dealer.settings()
        writer, table = Writer(record.store, ENGINE, KEY), DealtTable(dealer)
        task = Retention(record.store, writer, Keep(mb=0), lambda: [table])
        await asyncio.wait_for(writer.close(), PATIENCE_S)
        for _ in range(8):
            dealer.deal(3)
            table.committed = dealer.state.table
            table.unfinished = unfinished("commission", table.committed)
            task.record_settings()
        record.acknowledge()
        assert dealer.state.table.shoe.number == 8
        apply(record, Keep(mb=0))
        assert findings(record.store.path) == []
        with closing(record.store.read()) as reader:
            assert shoe_of(reader, dealer.table, "ASC") == 6, "the last two shoes, and the shoe with their settings"
            engine_for = partial(engine_of_settings, reader.word)
            assert [*rehearse(reader, dealer.table, engine_for), *decode_again(reader, dealer.table, engine_for)] == []
            assert restore(reader, dealer.table, dealer.engine, engine_for).state == dealer.state


# --- the size


async def test_status_prints_the_size_and_the_growth(record: LongRecord) -> None:
    """The growth is that of the last seven days; the deleted rows are named before and after."""
    place = record.store.path.parent
    toml = place.parent / "shoed.toml"
    toml.write_text(
        f"""[site]
name = "rws"
state_dir = "{place}"
[journal]
keep_days = 5
[[table]]
name = "bac-901"
game = "commission"
[table.shoe]
protocol = "angel-eye"
port = "tcp://127.0.0.1:1"
"""
    )
    ((rows, events),) = record.connection.execute(
        "SELECT max(row), (SELECT max(sequence) FROM event WHERE table_name = 'bac-901') FROM step"
        " WHERE table_name = 'bac-901'"
    )
    done = await shoed("journal", "status", "--config", toml)
    assert (done.status, done.err) == (0, "")
    first, table, *_, growth, kept = done.out.splitlines()
    assert first.startswith(f"{record.store.path}: ")
    assert table == f"bac-901: {rows} rows, {events} events, shoes 1 to 12, 2023-11-14 to 2023-11-25"
    with closing(record.store.read()) as reader:
        size = size_of(reader, Keep(), 0)
        assert size.growth_bytes is not None
        assert size.used_bytes / 12 * 0.9 < size.growth_bytes < size.used_bytes / 12 * 1.3
        days = size.days_left(Keep())
        assert days is not None
        assert size.days_left(Keep(days=round(days) // 2)) is None
        assert size.days_left(Keep(days=round(days) * 2)) == days == size.days_left(Keep(mb=10**9))
        assert growth.startswith(f"growth: {size.growth_bytes / 1e6:.1f} MB a day (estimated); ")
    assert kept.startswith("kept: 5 days; next, the rows of bac-901 before row ")
    apply(record, Keep(days=5))
    done = await shoed("journal", "status", "--state-dir", place)
    assert "kept: not known; --config FILE names the configuration with keep_days and keep_mb\n" in done.out
    assert f"bac-901: {rows - first_rows(record)['bac-901'] + 1} rows" in done.out


async def test_the_deleted_beginning_is_reported(record: LongRecord) -> None:
    """A round of a deleted shoe is not there; the error names the first round on record."""
    apply(record, Keep(days=5))
    done = await shoed("journal", "show", "bac-901", "--round", "1.1", "--state-dir", record.store.path)
    assert done.status == 1
    note, error = done.err.splitlines()
    assert note.startswith(f"bac-901: the record begins with row {first_rows(record)['bac-901']}, in shoe ")
    assert error.startswith(
        f"bac-901: the journal does not have round 1.1; it has rows {first_rows(record)['bac-901']} to "
    )
