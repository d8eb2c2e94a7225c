"""`shoed journal show`, `query` and `export`: compared with raw SQL, on a copy, a file, and a journal in use."""

import csv
import gc
import io
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from shoed.cli import main
from shoed.cli.journal import export, selection
from shoed.journal import Reader, Writer, scan
from shoed.model.commands import Author, Decide, ReportIrregularity
from shoed.model.irregularities import IrregularityKind, Role
from shoed.model.moments import rfc3339
from shoed.model.step import LinkUp, Received
from tests.altered import rehash
from tests.angel_eye_line import PORT
from tests.patience import PATIENCE_S
from tests.recorded import CONFIGURED, Play, Player, Raw, raw, record, written
from tests.world import SHOED

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables with three shoes each, in troubled play; the last event is of a person without a role."""
    folder = record(tmp_path_factory.mktemp("journal"), Play(("t1", "t2"), shoes=3, trouble=0.2))
    last = raw(folder, "t2")[-1]
    data = {"shoe": 3, "round": 12, "act": "bet", "then": "refused", "clause": "3.3", "author": "guest", "role": None}
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        values = ("t2", last.sequence + 1, last.row, "bets.late", last.utc_us, json.dumps(data))
        connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", values)
        connection.commit()
    rehash(folder / "journal.db")
    return folder


def output(capsys: Capture, folder: Path, *words: str) -> str:
    assert main(["journal", *words, "--state-dir", str(folder)]) == 0
    done = capsys.readouterr()
    assert done.err == ""
    return done.out


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def as_exported(word: str, each: Raw) -> dict[str, Any]:
    return {
        "id": f"{word}-{each.table}-{each.sequence}",
        "table": each.table,
        "sequence": each.sequence,
        "row": each.row,
        "time": rfc3339(each.utc_us),
        "type": each.type,
        "shoe": each.data.get("shoe"),
        "round": each.data.get("round"),
        "data": each.data,
    }


def word(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        ((found,),) = connection.execute("SELECT word FROM journal")
    return str(found)


@pytest.mark.parametrize("task", ["query", "stats", "export", "verify", "report"])
def test_a_table_is_read_once_in_the_order_of_the_arguments(folder: Path, capsys: Capture, task: str) -> None:
    """Also if its name is given twice."""

    def printed(*tables: str) -> str:
        main(["journal", *task.split(), *tables, "--state-dir", str(folder)])
        return re.sub("made by shoed.*", "", capsys.readouterr().out)

    assert printed("t2", "t1", "t2") == printed("t2", "t1") != printed("t1", "t2")


# ---------------------------------------------------------------------------------------------- export


def test_an_export_is_equal_to_the_table_of_events(folder: Path, capsys: Capture, tmp_path: Path) -> None:
    """JSON lines and CSV have every event of every table, in order; a file is equal to the standard output."""
    expected = [as_exported(word(folder), each) for each in raw(folder)]
    text = output(capsys, folder, "export")
    assert lines(text) == expected
    file = tmp_path / "events.csv"
    assert output(capsys, folder, "export", "--format", "csv", "--out", str(file)) == ""
    assert file.stat().st_mode & 0o777 == 0o600
    rows = list(csv.DictReader(io.StringIO(file.read_bytes().decode(), newline="")))
    numbers = ("sequence", "row", "shoe", "round")
    for row in rows:
        parsed: dict[str, Any] = {**row, "data": json.loads(row["data"])}
        parsed |= {name: int(row[name]) if row[name] else None for name in numbers}
        assert parsed == expected[rows.index(row)]
    assert len(rows) == len(expected)


def test_an_existing_file_is_not_changed(folder: Path, capsys: Capture, tmp_path: Path) -> None:
    """The status is that of wrong use."""
    file = tmp_path / "events.csv"
    file.write_text("mine")
    assert main(["journal", "export", "--out", str(file), "--state-dir", str(folder)]) == 2
    assert f"--out: {file} exists, and is not changed" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_a_full_disk_is_an_error_of_the_file(folder: Path, tmp_path: Path) -> None:
    """The message names the file, and there is no file."""
    file = tmp_path / "out"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        words = [SHOED, "journal", "export", "--out", str(file), "--state-dir", str(folder)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (done.returncode, done.stderr) == (1, f"{file}: File too large; free the disk, or use another file\n")
    assert not file.exists()


def test_parquet_needs_its_library_and_a_file(folder: Path, capsys: Capture, tmp_path: Path) -> None:
    """With pyarrow the file has the events; without pyarrow the error names it, and there is no file."""
    file = tmp_path / "events.parquet"
    words = ["journal", "export", "--format", "parquet", "--state-dir", str(folder)]
    if find_spec("pyarrow") is None:
        assert main([*words, "--out", str(file)]) == 2
        assert "pyarrow cannot be used" in capsys.readouterr().err
        assert not file.exists()
        return
    assert main(words) == 2
    assert "add --out FILE" in capsys.readouterr().err
    assert main([*words, "--out", str(file)]) == 0
    rows = import_module("pyarrow.parquet").read_table(file).to_pylist()
    again = [row | {"data": json.loads(row["data"]), "time": f"{row['time']:%Y-%m-%dT%H:%M:%S.%fZ}"} for row in rows]
    assert again == [as_exported(word(folder), each) for each in raw(folder)]


# ---------------------------------------------------------------------------------------------- query


def shoe_at(found: list[Raw]) -> list[tuple[int | None, int | None]]:
    """The shoe and the round that began last before each event, or at it."""
    present: tuple[int | None, int | None] = (found[0].data.get("shoe") or 1, None)
    places = []
    for each in found:
        if each.type == "shoe.started":
            present = (each.data["shoe"], None)
        elif each.type == "round.started":
            present = (each.data["shoe"], each.data["round"])
        places.append(present)
    return places


@pytest.mark.parametrize(("shoe", "number"), [(1, None), (2, None), (2, 3), (1, 11)])
def test_a_shoe_or_a_round_has_its_events(folder: Path, capsys: Capture, shoe: int, number: int | None) -> None:
    """Those that name it, and those of its time that name no shoe."""
    words = ["--shoe", str(shoe)] if number is None else ["--round", f"{shoe}.{number}"]
    found = lines(output(capsys, folder, "query", "t1", *words, "--json"))
    events = raw(folder, "t1")
    expected = []
    for each, place in zip(events, shoe_at(events), strict=True):
        named = (each.data.get("shoe"), each.data.get("round"))
        if named[0] is None:
            named = place
        if named[0] == shoe and number in (None, named[1]):
            expected.append(each.sequence)
    assert [each["sequence"] for each in found] == expected
    assert len(expected) > 5


def test_each_filter_selects_as_raw_sql(folder: Path, capsys: Capture) -> None:
    """By card, irregularity, author, role and type; several filters select events that pass all of them."""
    events = raw(folder)

    def check(words: str, expected: list[Raw]) -> None:
        found = lines(output(capsys, folder, "query", "--json", *words.split("|")))
        assert [(each["table"], each["sequence"]) for each in found] == [each[:2] for each in expected]
        assert expected

    check("--card|8H", [each for each in events if each.type[:5] == "card." and each.data["card"] == "8H"])
    kind = "card-exposed"
    matters = [each for each in events if each.type[:12] == "irregularity" and each.data["kind"] == kind]
    check(f"--irregularity|{kind}", matters)
    by_ann = [each for each in events if each.data.get("author") == "ann <b>"]
    check("--author|ann <b>", by_ann)
    check("--author|ann <b>|--type|question", [each for each in by_ann if each.type[:8] == "question"])
    roles = [each for each in events if each.data.get("author") and each.data["role"] == "pit-supervisor"]
    check("--role|pit-supervisor", roles)
    players = [each for each in events if each.data.get("author") and each.data["role"] is None]
    check("--role|player", players)
    check(
        "--type|round/voided|--type|shoe",
        [each for each in events if each.type[:5] == "shoe." or each.type == "round.voided"],
    )
    some = events[len(events) // 3].utc_us
    check(f"--from|{rfc3339(some)}", [each for each in events if each.utc_us >= some])
    check(f"--to|{rfc3339(some)}|t2", [each for each in events if each.utc_us <= some and each.table == "t2"])
    check(
        "--from|2023-11-14|--to|2023-11-14", [each for each in events if rfc3339(each.utc_us).startswith("2023-11-14")]
    )


def test_the_words_of_an_event_have_its_card_and_its_person(folder: Path, capsys: Capture) -> None:
    """One line for each event; the name of a bettor is in no line."""
    events = raw(folder)
    shown = output(capsys, folder, "query").splitlines()
    assert len(shown) == len(events)
    for line, each in zip(shown, events, strict=True):
        assert line.startswith(rfc3339(each.utc_us))
        assert each.type in line
        if each.type[:5] == "card." and each.data["card"] is not None:
            assert each.data["card"] in line
        if each.data.get("author"):
            assert f"by {each.data['author']} ({each.data['role'] or 'player'})" in line
        assert "bob" not in line


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        ("query --author none", 1, "no event has all selected values; the journal has t1: rounds 1.1 to 3."),
        ("query --shoe 9", 1, "the journal does not have shoe 9; t1: rounds 1.1 to 3."),
        ("query t3", 1, "t3: no such table; known: t1, t2"),
        ("show t1 --shoe 7", 1, "t1: the journal does not have shoe 7; it has rows 1 to "),
        ("query --round 7", 2, "write a round as SHOE.ROUND"),
        ("query --shoe x", 2, '--shoe: "x" is not allowed; write a number, as in 2'),
        ("query --card 8X", 2, '--card: "8X" is not a card; write a rank'),
        ("query --type crad", 2, "did you mean card?"),
        ("query --type zzzzzz", 2, "or a type of docs/events.md"),
        ("query --role boss", 2, '"boss" is not a valid value'),
        ("query --from yesterday", 2, '--from: "yesterday" is not a moment; write a date or a moment in UTC'),
        (f"query --shoe {10**18}", 2, f'"{10**18}" is not allowed; write a number, as in 2; a number has at most 18 d'),
        (f"show t1 --rows 1-{10**18}", 2, "or a row A, from 1; a number has at most 18 digits"),
        ("query --round 2.\u0661", 2, "is not allowed; write a round as SHOE.ROUND, as in 2.17\n"),
        (
            "query --from 2026-11-20 --to 2026-11-19T23:59",
            2,
            "--from 2026-11-20 --to 2026-11-19T23:59: the end is before the beginning; write --from 2026-11-19T23:59",
        ),
        ("query --from 2026-11-20 --to 2026-11-20", 1, "no event has all selected values"),
        ("export --to 2026-02-30", 2, '--to: "2026-02-30" is not a moment'),
    ],
)
def test_a_wrong_value_has_a_remedy(folder: Path, capsys: Capture, words: str, status: int, wanted: str) -> None:
    """Something that does not exist has status 1, with what exists; wrong use has status 2."""
    assert main(["journal", *words.split(), "--state-dir", str(folder)]) == status
    done = capsys.readouterr()
    assert done.out == ""
    assert wanted in done.err


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2023-11-14T22:20:00Z", "2023-11-15T06:20:00+08:00"),
        ("2023-11-14T22:20", "2023-11-14 17:20 -05:00"),
        ("2023-11-14 22:20 UTC", "2023-11-14T22:20:00.000000"),
    ],
)
def test_a_moment_is_in_utc_or_in_its_zone(folder: Path, capsys: Capture, first: str, second: str) -> None:
    """Two texts of one moment select the same events."""
    assert output(capsys, folder, "query", "--from", first) == output(capsys, folder, "query", "--from", second)


def test_the_last_day_of_the_calendar_includes_all_later_times(folder: Path, capsys: Capture) -> None:
    """The day has no next day."""
    assert output(capsys, folder, "query", "--to", "9999-12-31") == output(capsys, folder, "query")


# ---------------------------------------------------------------------------------------------- show


def test_each_round_shows_its_result_and_the_bytes_of_its_cards(folder: Path, capsys: Capture) -> None:
    """All values are those of raw SQL. The list of a shoe has the same results."""
    events = raw(folder, "t1")
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        received = dict(connection.execute("SELECT row, bytes FROM step WHERE table_name = 't1'"))
    listed: dict[tuple[int, int], dict[str, Any]] = {}
    for shoe in (1, 2, 3):
        listed |= {
            (each["shoe"], each["round"]): each
            for each in lines(output(capsys, folder, "show", "t1", "--shoe", str(shoe), "--json"))
        }
    assert list(listed) == [(each.data["shoe"], each.data["round"]) for each in events if each.type == "round.started"]
    for shoe, number in list(listed)[::3]:
        of_round = [each for each in events if (each.data.get("shoe"), each.data.get("round")) == (shoe, number)]
        (shown,) = lines(output(capsys, folder, "show", "t1", "--round", f"{shoe}.{number}", "--json"))
        cards = [each for each in of_round if each.type[:5] == "card."]
        assert [each["card"] for each in shown["cards"]] == [each.data["card"] for each in cards]
        for each, card in zip(shown["cards"], cards, strict=True):
            assert each["row"] == card.data["provenance"]
            data = received[each["row"]]
            assert each["bytes"] == (None if data is None else data.hex(" "))
        ends = ("round.completed", "round.corrected", "round.voided", "round.abandoned")
        last = next((each for each in reversed(of_round) if each.type in ends), None)
        is_played = last is not None and last.type in ends[:2]
        assert (
            shown["outcome"]
            == listed[shoe, number]["outcome"]
            == (last.data["outcome"] if last and is_played else None)
        )
        assert shown["unusual"] == listed[shoe, number]["unusual"]
        if shown["outcome"]:
            assert shown["pays"][shown["outcome"]]["pays"] != "lose"
        text = output(capsys, folder, "show", "t1", "--round", f"{shoe}.{number}")
        assert text.startswith(f"t1 round {shoe}.{number}: ")
        for each in shown["cards"]:
            assert each["bytes"] is None or f": {each['bytes']}" in text


def test_the_last_rounds_are_shown_by_default(folder: Path, capsys: Capture) -> None:
    """The present round, and the one before."""
    shown = lines(output(capsys, folder, "show", "t1", "--json"))
    started = [(each.data["shoe"], each.data["round"]) for each in raw(folder, "t1") if each.type == "round.started"]
    assert [(each["shoe"], each["round"]) for each in shown] == started[-2:]


def test_a_question_to_the_players_ends_with_the_answer_for_the_others(tmp_path: Path, capsys: Capture) -> None:
    """An answer in the name of one bettor leaves the question open."""

    def play(bettors: Sequence[str], writer: Writer) -> None:
        player = Player(writer, "t1", Random(1))
        player.take(CONFIGURED)
        player.take(LinkUp(PORT))
        player.take(Received(player.shoe.round(Random(1))[0]))
        player.command(ReportIrregularity(kind=IrregularityKind.FACE_UP, at=1), Author("ann", Role.DEALER))
        for each in bettors:
            player.command(Decide(question="1", choice="continue", bettor=each), Author(each, None))

    for bettors, is_open in ((("bob",), True), (("bob", "others"), False)):
        folder = written(tmp_path / str(is_open), partial(play, bettors))
        for words in (("show", "t1"), ("show", "t1", "--shoe", "1"), ("report", "t1")):
            text = output(capsys, folder, *words)
            assert ("question 1 is open" in text) == is_open
            assert ("t1 shoe 1: 1 round\n" in text) == ("--shoe" in words)


def test_rows_are_shown_as_json(folder: Path, capsys: Capture) -> None:
    """Each row once, with its events."""
    shown = lines(output(capsys, folder, "show", "t1", "--rows", "1-99999", "--json"))
    assert [each["row"] for each in shown] == list(range(1, len(shown) + 1))
    assert [event["sequence"] for each in shown for event in each["events"]] == [
        each.sequence for each in raw(folder, "t1")
    ]


# ---------------------------------------------------------------------------------------------- the file


def test_a_file_a_copy_and_a_directory_give_the_same_events(folder: Path, capsys: Capture, tmp_path: Path) -> None:
    """A backup is one file, with any name."""
    backup = tmp_path / "backup-1.db"
    with closing(sqlite3.connect(folder / "journal.db")) as ours, closing(sqlite3.connect(backup)) as copy:
        ours.backup(copy)
    expected = output(capsys, folder, "export")
    assert output(capsys, backup, "export") == expected
    copied = tmp_path / "copy"
    shutil.copytree(folder, copied)
    assert output(capsys, copied, "export") == expected


@pytest.mark.parametrize("task", ["verify", "status", "show t1", "salvage", "restore"])
def test_a_journal_that_is_not_a_file_is_refused(tmp_path: Path, task: str) -> None:
    """A directory, or a pipe: no command waits for its other end."""
    folder, pipe, place = tmp_path / "directory", tmp_path / "pipe", tmp_path / "place"
    (folder / "journal.db").mkdir(parents=True)
    pipe.mkdir()
    place.mkdir()
    os.mkfifo(pipe / "journal.db")
    for given, named in (
        (folder, folder / "journal.db"),
        (pipe, pipe / "journal.db"),
        (pipe / "journal.db", pipe / "journal.db"),
    ):
        words = {
            "salvage": ["salvage", str(given), str(tmp_path / "new")],
            "restore": ["restore", str(given), "--state-dir", str(place)],
        }.get(task, [*task.split(), "--state-dir", str(given)])
        done = subprocess.run(
            [SHOED, "journal", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{named}: this is not a file; name a journal, or move it and restore a backup\n"
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_restore_does_not_replace_what_is_not_a_file(
    folder: Path, capsys: Capture, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """The message names it."""
    make(tmp_path / "journal.db")
    assert main(["journal", "restore", str(folder), "--state-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"{tmp_path}/journal.db: this is not a file; ")
    assert list(tmp_path.iterdir()) == [tmp_path / "journal.db"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without rights")
def test_a_backup_is_read_where_no_file_can_be_made(folder: Path) -> None:
    """As on a read-only medium. A file that a daemon may be writing is not read in this way."""
    with TemporaryDirectory() as place:
        backup = Path(place) / "backup.db"
        with closing(sqlite3.connect(folder / "journal.db")) as ours, closing(sqlite3.connect(backup)) as copy:
            ours.backup(copy)
            copy.execute("PRAGMA journal_mode = WAL")
        Path(place).chmod(0o755)
        backup.chmod(0o644)
        assert last_sequence_without_rights(backup) == raw(folder, "t1")[-1].sequence
        assert [each.name for each in Path(place).iterdir()] == ["backup.db"]
        backup.with_name("backup.db-wal").touch()
        assert last_sequence_without_rights(backup) is None


def last_sequence_without_rights(path: Path) -> int | None:
    """The last sequence number of t1, read by a child with the rights of no user; None after an error."""
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with closing(Reader(path)) as reader:
                os.write(sender, str(reader.last_sequence("t1")).encode())
        finally:
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return int(text) if text else None


@pytest.mark.parametrize("task", ["export --format jsonl", "export --format csv", "query --json", "stats"])
def test_the_memory_does_not_grow_with_the_journal(
    tmp_path: Path, task: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Five times the events need the same memory."""
    monkeypatch.setattr(scan, "CHUNK", 128)
    monkeypatch.setattr(export, "BATCH", 128)
    folder = record(tmp_path, Play(shoes=1, rounds=8, trouble=0))
    repeat(folder, 20)
    small = peak_of(task, folder)
    repeat(folder, 5)
    assert peak_of(task, folder) < small * 1.3  # with garbage that is not collected yet
    assert capsys.readouterr().err == ""


def repeat(folder: Path, times: int) -> None:
    last = raw(folder)[-1]
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        ((rows,),) = connection.execute("SELECT max(row) FROM step")
        for number in range(1, times):
            step = "SELECT table_name, row + ?, utc_us, mono_ns, kind, NULL, bytes, body, state, hash FROM step"
            connection.execute(f"INSERT INTO step {step} WHERE row <= ?", (number * rows, rows))
            event = "SELECT table_name, sequence + ?, row + ?, type, utc_us, data FROM event WHERE sequence <= ?"
            connection.execute(f"INSERT INTO event {event}", (number * last.sequence, number * rows, last.sequence))
        connection.commit()
    rehash(folder / "journal.db")


def peak_of(task: str, folder: Path) -> int:
    """The most memory that the task needs, in bytes, with its output in a file."""
    command = ["journal", *task.split(), "--state-dir", str(folder)]
    with (folder / "output").open("w") as file, redirect_stdout(file):
        assert main(command) == 0  # imports and caches
        gc.collect()
        tracemalloc.start()
        assert main(command) == 0
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


def test_a_journal_is_read_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export never waits in a transaction: the WAL is truncated between two of its chunks. No event is torn."""
    folder = record(tmp_path, Play(rounds=6))
    monkeypatch.setattr(scan, "CHUNK", 16)
    before = [each.sequence for each in raw(folder)]
    with closing(Reader(folder / "journal.db")) as reader, closing(sqlite3.connect(reader.path)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        seen = Counter[str]()
        sequences = []
        for event in selection.selected(reader, "t1", selection.Selection()):
            sequences.append(event.sequence)
            sequence = before[-1] + len(sequences)
            writer.execute("INSERT INTO event VALUES ('t1', ?, 9999, 'line.missed', 0, '{}')", (sequence,))
            writer.commit()
            busy, *_ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            seen["busy" if busy else "free"] += 1
    assert sequences == before
    assert seen == {"free": len(before)}


def test_the_reader_of_the_output_may_close_it(folder: Path) -> None:
    """The status is 141, and there is no error."""
    command = [SHOED, "journal", "export", "--state-dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, error = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, error) == (141, b"")
