"""The words of a journal file: after which event a new word begins, and when a loss is recognised."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from shoed.errors import JournalUnusable
from shoed.journal import Reader, Store, incarnations
from shoed.journal.damaged import opened, set_aside, set_aside_journals
from shoed.journal.head_log import HeadLog
from shoed.journal.heads import Head
from shoed.journal.incarnations import Outside, TailLoss
from shoed.model.incarnations import Because, WordSince, word_of
from shoed.model.moments import rfc3339

TABLE = "t"
NOW_US = 1_700_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def write(store: Store, *statements: tuple[str, tuple[object, ...]]) -> None:
    with closing(store.connect()) as connection:
        for statement, values in statements:
            connection.execute(statement, values)


def record(store: Store, *kinds: str) -> None:
    """One row of each kind of input, each with one event."""
    with closing(store.read()) as reader:
        row, sequence = reader.last_row(TABLE), reader.last_sequence(TABLE)
    for number, kind in enumerate(kinds, start=1):
        at = NOW_US + row + number
        step, event = (TABLE, row + number, at, kind, b"h"), (TABLE, sequence + number, row + number, at)
        write(
            store,
            ("INSERT INTO step VALUES (?, ?, ?, 0, ?, NULL, NULL, x'', NULL, ?)", step),
            ("INSERT INTO event VALUES (?, ?, ?, 'a.b', ?, '{}')", event),
        )


def acknowledge(store: Store, sequence: int) -> None:
    write(store, ("INSERT OR REPLACE INTO cursor VALUES (?, ?)", (TABLE, sequence)))


def begin(store: Store, reason: Because, **more: object) -> None:
    with closing(store.connect()) as connection:
        incarnations.begin(connection, reason, "detail", NOW_US, **more)  # type: ignore[arg-type]


@pytest.fixture
def reader(store: Store) -> Iterator[Reader]:
    with closing(store.read()) as reader:
        yield reader


def outside(store: Store, sequence: int, word: str = "", *, utc_us: int | None = None) -> Outside:
    time = None if utc_us is None else rfc3339(utc_us)
    return Outside(store.word, word or store.word, sequence, time, 7, 3)


def test_a_new_journal_has_one_word(store: Store, reader: Reader) -> None:
    """It is the word of the file, and nothing is pending."""
    assert incarnations.words(reader, TABLE) == (WordSince(0, store.word),)
    assert incarnations.pending(reader, TABLE) is None


def test_an_incarnation_is_pending_until_the_table_has_a_row_in_it(store: Store, reader: Reader) -> None:
    """It begins after the last event, and names the word before it."""
    record(store, "Configured", "Received")
    begin(store, Because.RESTORED, outside={TABLE: outside(store, 9)})
    continued = incarnations.pending(reader, TABLE)
    assert continued is not None
    assert (continued.number, continued.reason, continued.detail) == (2, Because.RESTORED, "detail")
    assert (continued.previous, continued.kept, continued.known) == (store.word, 2, 9)
    assert (continued.shoe, continued.round) == (7, 3)
    assert incarnations.words(reader, TABLE) == (WordSince(0, store.word), WordSince(2, continued.word))
    record(store, "Configured")
    assert incarnations.pending(reader, TABLE) is None


def test_a_table_without_a_record_begins_with_the_newest_word(store: Store, reader: Reader) -> None:
    """The file may be an earlier copy: the table may have published events under each earlier word."""
    record(store, "Configured")
    begin(store, Because.RESTORED)
    begin(store, Because.SALVAGED)
    continued = incarnations.pending(reader, "other")
    assert continued is not None
    assert (continued.number, continued.reason, continued.previous) == (3, Because.SALVAGED, None)
    assert (continued.kept, continued.known) == (0, None)
    assert word_of(incarnations.words(reader, "other"), 1) == continued.word != store.word


def test_a_table_with_a_record_keeps_its_word(store: Store, reader: Reader) -> None:
    """Only another table has begun an incarnation, at the broker."""
    record(store, "Configured")
    write(
        store,
        ("INSERT INTO incarnation VALUES (2, 'later', 0, 'tail-lost', '')", ()),
        ("INSERT INTO incarnation_table VALUES (2, 'other', 9, 9, NULL, NULL, 0, 0)", ()),
    )
    assert incarnations.words(reader, TABLE) == (WordSince(0, store.word),)
    assert incarnations.pending(reader, TABLE) is None


@pytest.mark.parametrize("source", ["head", "checkpoint", "cursor", "loss", "anchor", "incarnation_table"])
def test_an_incarnation_is_of_each_table_of_which_anything_remains(store: Store, reader: Reader, source: str) -> None:
    """Its rows and events are lost. Its next event has sequence 1, so it needs another word."""
    values = {
        "head": "('lost', 9, 9, 2, 3, 0, x'', 'a', 1, x'')",
        "checkpoint": "('lost', 9, 1, 9, 0, '', '')",
        "cursor": "('lost', 9)",
        "loss": "('lost', 1, 9, 'missing', NULL, NULL)",
        "anchor": "('lost', 9, 9, x'', NULL, 'cut', 0, NULL)",
        "incarnation_table": "(1, 'lost', 0, 0, NULL, NULL, 0, 0)",
    }
    write(store, (f"INSERT INTO {source} VALUES {values[source]}", ()))  # noqa: S608 -- of this test
    begin(store, Because.RESTORED)
    continued = incarnations.pending(reader, "lost")
    assert continued is not None
    assert (continued.number, continued.previous, continued.kept) == (2, store.word, 0)


def test_a_restored_journal_without_an_event_has_a_new_word(store: Store, reader: Reader) -> None:
    """Its first word may be in the ids of later events of the original."""
    begin(store, Because.RESTORED)
    assert word_of(incarnations.words(reader, TABLE), 1) != store.word


def test_the_next_incarnation_names_the_word_of_the_last_one(store: Store, reader: Reader) -> None:
    """Two restores, one after the other: only the newest one is pending."""
    record(store, "Configured")
    begin(store, Because.RESTORED)
    first = incarnations.pending(reader, TABLE)
    begin(store, Because.SALVAGED)
    second = incarnations.pending(reader, TABLE)
    assert first is not None
    assert second is not None
    assert (second.number, second.previous, second.known) == (3, first.word, None)
    assert word_of(incarnations.words(reader, TABLE), 2) == second.word


def test_the_reason_of_a_new_file_is_on_its_first_word(store: Store, reader: Reader) -> None:
    """The word is not used yet, so it does not change."""
    begin(store, Because.DAMAGED, outside={TABLE: Outside("old", "older", 40, None, 7, 3)})
    continued = incarnations.pending(reader, TABLE)
    assert continued is not None
    assert (continued.number, continued.word, continued.previous, continued.kept) == (1, store.word, "older", 0)
    assert incarnations.words(reader, TABLE) == (WordSince(0, store.word),)


def shown(reader: Reader, outside: Outside) -> TailLoss:
    return incarnations.loss(reader, TABLE, outside)


def test_an_event_outside_is_missing_if_the_journal_lacks_it_or_has_another(store: Store, reader: Reader) -> None:
    """The time of the event is its content; without a time only its number counts."""
    record(store, "Configured", "Received")
    assert shown(reader, outside(store, 2, utc_us=NOW_US + 2)) is TailLoss.NONE
    assert shown(reader, outside(store, 2)) is TailLoss.NONE
    assert shown(reader, outside(store, 0)) is TailLoss.NONE
    assert shown(reader, outside(store, 2, utc_us=NOW_US + 3)) is TailLoss.NEW
    assert shown(reader, outside(store, 3)) is TailLoss.NEW


def test_an_unknown_word_is_a_loss(store: Store, reader: Reader) -> None:
    """A later incarnation is not in this file, or another journal was used after it."""
    record(store, "Configured")
    assert shown(reader, Outside("other", "other", 1)) is TailLoss.NEW
    assert shown(reader, outside(store, 1, "later")) is TailLoss.NEW


def test_a_loss_that_is_on_record_is_not_found_again(store: Store, reader: Reader) -> None:
    """The retained state of the lost events remains until the next one."""
    record(store, "Configured", "Received")
    assert shown(reader, outside(store, 9)) is TailLoss.NEW
    begin(store, Because.TAIL_LOST)
    assert shown(reader, outside(store, 9)) is TailLoss.RECORDED


@pytest.mark.parametrize(("known", "acknowledged", "found"), [(9, 5, 1), (8, 2, 1), (8, 3, 2)])
def test_a_loss_of_another_journal_is_recorded_up_to_its_last_known_event(
    store: Store, reader: Reader, known: int, acknowledged: int, found: int
) -> None:
    """While no event of the new word is acknowledged, a later event of the other journal is not another loss."""
    record(store, "Configured", "Received")
    begin(store, Because.TAIL_LOST, outside={TABLE: Outside("other", "other", known)})
    record(store, "Configured")
    acknowledge(store, acknowledged)
    assert shown(reader, Outside("other", "other", 9)) is TailLoss(found)


def test_the_largest_loss_has_the_last_round_of_all_evidence(store: Store, reader: Reader) -> None:
    """The head at the broker may be of a later round than the state."""
    record(store, "Configured")
    events = (Outside("other", "other", 9, None, 3, 4), Outside(store.word, store.word, 1, None, 5, 6))
    found = incarnations.largest_loss(reader, TABLE, events)
    assert found == (TailLoss.NEW, Outside("other", "other", 9, None, 5, 6))


def test_a_row_with_another_hash_is_missing(store: Store, reader: Reader) -> None:
    """A signed head has the hash of its row."""
    record(store, "Configured", "Received")
    head = Outside(store.word, store.word, 2, None, 1, 1, 2, b"h".hex())
    assert shown(reader, head) is TailLoss.NONE
    assert shown(reader, Outside(store.word, store.word, 2, None, 1, 1, 2, b"g".hex())) is TailLoss.NEW


@pytest.mark.parametrize(
    ("kinds", "cursor", "kept"),
    [
        (("Configured", "Received", "Received"), 0, 0),  # nothing is acknowledged
        (("Configured", "Received", "Received"), 2, 3),  # the process of the cursor wrote the rest
        (("Configured", "Received", "Configured", "Received"), 2, 2),  # a later process wrote the rest
        (("Configured", "Received", "Configured", "Received"), 3, 4),
        (("Configured", "Received", "Configured", "Received", "Configured"), 1, 2),
    ],
)
def test_the_words_of_events_up_to_the_next_start_are_kept(
    store: Store, reader: Reader, kinds: tuple[str, ...], cursor: int, kept: int
) -> None:
    """A file that was replaced or cut has no further event before the next start."""
    record(store, *kinds)
    acknowledge(store, cursor)
    assert incarnations.kept(reader, TABLE) == kept


# --- the opening of a journal


def head(store: Store, sequence: int, row: int = 0, *, word: str = "", shoe: int = 7) -> Head:
    return Head(word or store.word, word or store.word, TABLE, row, sequence, shoe, 3, rfc3339(NOW_US), "", "", "")


def test_a_signed_head_after_the_end_of_the_journal_is_a_loss(store: Store, tmp_path: Path) -> None:
    """It is found once. A head that the journal has is not a loss."""
    record(store, "Configured", "Received")
    acknowledge(store, 2)
    HeadLog(tmp_path).append([head(store, 2)])
    assert opened(tmp_path, [TABLE], NOW_US).note == ""
    HeadLog(tmp_path).append([head(store, 5)])
    found = opened(tmp_path, [TABLE], NOW_US)
    assert f"tail-lost: the signed head {store.word}-t-5 is missing" in found.note
    with closing(found.read()) as reader:
        continued = incarnations.pending(reader, TABLE)
    assert continued is not None
    assert (continued.reason, continued.kept, continued.known, continued.shoe) == (Because.TAIL_LOST, 2, 5, 7)
    record(store, "Configured")
    assert opened(tmp_path, [TABLE], NOW_US).note == ""


def test_a_row_with_another_hash_than_its_head_is_named(store: Store, tmp_path: Path) -> None:
    """Nothing is missing: the row was changed, or the file is another copy."""
    record(store, "Configured", "Received")
    acknowledge(store, 2)
    HeadLog(tmp_path).append([replace(head(store, 2, 2), hash="00")])
    note = opened(tmp_path, [TABLE], NOW_US).note
    assert f"tail-lost: the signed head {store.word}-t-2 has another hash than row 2: the journal was changed" in note
    assert "is missing" not in note


@pytest.mark.parametrize("reason", Because)
def test_a_new_word_is_in_the_log_and_in_the_status_until_the_table_uses_it(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, reason: Because
) -> None:
    """Also the word of a restore, which the command wrote."""
    record(store, "Configured")
    begin(store, reason)
    assert opened(tmp_path, [TABLE], NOW_US).note == f"the ids of events have a new word, {reason.value}: detail"
    assert f"the ids of the next events have a new word, {reason.value}: detail" in caplog.text
    record(store, "Configured")
    assert opened(tmp_path, [TABLE], NOW_US).note == ""


def test_an_early_copy_without_an_event_is_recognised_by_the_signed_heads(store: Store, tmp_path: Path) -> None:
    """The word of the file is in the ids of the heads. Each further start changes nothing."""
    HeadLog(tmp_path).append([head(store, 5)])
    for _ in range(2):
        with closing(opened(tmp_path, [TABLE], NOW_US).read()) as reader:
            continued = incarnations.pending(reader, TABLE)
            words = incarnations.words(reader, TABLE)
        assert continued is not None
        assert (continued.number, continued.reason, continued.known) == (2, Because.TAIL_LOST, 5)
        assert word_of(words, 1) != store.word


def test_a_head_of_another_journal_after_all_others_is_a_loss(store: Store, tmp_path: Path) -> None:
    """The file is older than that journal. The last shoe is that of all heads. A restart finds nothing further."""
    record(store, "Configured", "Received")
    acknowledge(store, 2)
    HeadLog(tmp_path).append([head(store, 1), head(store, 9, word="other", shoe=8), head(store, 2, word="third")])
    found = opened(tmp_path, [TABLE], NOW_US)
    assert "tail-lost: the signed head third-t-2 is missing" in found.note
    with closing(found.read()) as reader:
        continued = incarnations.pending(reader, TABLE)
    assert continued is not None
    assert (continued.previous, continued.known, continued.shoe) == ("third", 2, 8)
    record(store, "Configured")
    assert opened(tmp_path, [TABLE], NOW_US).note == ""


def test_a_head_of_another_journal_before_a_head_of_this_one_is_not_a_loss(store: Store, tmp_path: Path) -> None:
    """The file is newer than that journal."""
    record(store, "Configured", "Received")
    HeadLog(tmp_path).append([head(store, 9, word="other"), head(store, 2)])
    assert opened(tmp_path, [TABLE], NOW_US).note == ""


def test_a_damaged_file_is_set_aside(store: Store, tmp_path: Path) -> None:
    """The new journal names the last readable event, for each table of the configuration."""
    record(store, "Configured", "Received")
    data = bytearray(store.path.read_bytes())
    data[:16] = bytes(16)
    store.path.write_bytes(data)
    HeadLog(tmp_path).append([head(store, 2)])
    found = opened(tmp_path, ["u"], NOW_US)
    (aside,) = set_aside_journals(tmp_path)
    assert aside.name == "journal-damaged-20231114T221320Z.db"
    assert aside.read_bytes() == bytes(data)
    assert found.word != store.word
    with closing(found.read()) as reader:
        of_table, of_other = incarnations.pending(reader, TABLE), incarnations.pending(reader, "u")
    assert of_table is not None
    assert of_other is not None
    assert (of_table.previous, of_table.known, of_table.shoe, of_table.round) == (store.word, 2, 7, 3)
    assert (of_other.previous, of_other.known, of_other.shoe) == (None, None, 0)


@pytest.mark.parametrize(
    ("statement", "detail"),
    [
        ("DELETE FROM journal", "the table `journal` has no row"),
        ("INSERT INTO journal SELECT created, 'other' FROM journal", "the table `journal` has several rows"),
        ("UPDATE dictionary SET bytes = x'00'", "dictionary 1 was altered"),
        ("DELETE FROM dictionary", "dictionary 1 was altered"),
        *((f"DROP TABLE {name}", f": {name}") for name in ("cursor", "event", "journal", "step")),
        ("DROP INDEX step_configured", "step_configured was removed"),
    ],
)
def test_a_file_without_a_readable_row_is_set_aside(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, statement: str, detail: str
) -> None:
    """Its contents are wrong, although SQLite finds no damage."""
    record(store, "Configured", "Received")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute(statement)
    assert opened(tmp_path, [TABLE], NOW_US).word != store.word
    assert len(set_aside_journals(tmp_path)) == 1
    assert detail in caplog.text


def test_a_log_is_set_aside_with_its_file(tmp_path: Path) -> None:
    """SQLite must never read it with another file."""
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"journal.db{suffix}").write_text(suffix)
    aside = set_aside(tmp_path / "journal.db", NOW_US, JournalUnusable("damaged"))
    assert [Path(f"{aside}{suffix}").read_text() for suffix in ("", "-wal", "-shm")] == ["", "-wal", "-shm"]
    assert list(tmp_path.glob("journal.db*")) == []


def test_a_log_without_its_file_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """SQLite would delete it, and it may have the last rounds."""
    (tmp_path / "journal.db-wal").write_bytes(b"rounds")
    opened(tmp_path, [], NOW_US)
    (kept,) = tmp_path.glob("journal-damaged-*.db-wal")
    assert kept.read_bytes() == b"rounds"
    assert f"journal.db is missing, and its log remains; the log is kept as {kept}" in caplog.text


def test_two_files_are_set_aside_under_two_names(tmp_path: Path) -> None:
    """Both in the same second."""
    for number in (1, 2):
        (tmp_path / "journal.db").write_bytes(b"no database %d" % number * 100)
        opened(tmp_path, [], NOW_US)
    assert len(set_aside_journals(tmp_path)) == 2


@pytest.mark.parametrize("statement", ["PRAGMA application_id = 7", "PRAGMA user_version = 99"])
def test_a_file_that_is_not_a_journal_of_this_shoed_is_not_touched(
    store: Store, tmp_path: Path, statement: str
) -> None:
    """It is of another program, or of a newer shoed."""
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(statement)
    data = store.path.read_bytes()
    with pytest.raises(JournalUnusable):
        opened(tmp_path, [TABLE], NOW_US)
    assert store.path.read_bytes() == data
    assert set_aside_journals(tmp_path) == []
