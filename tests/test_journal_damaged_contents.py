"""The reading commands with damaged contents: each names the changed row, and none ends with a traceback."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest

from shoed.cli import main
from shoed.cli.journal import export, query
from shoed.journal import Store
from shoed.journal.heads import HeadWriter
from shoed.journal.keys import daemon_key
from shoed.journal.rows import Columns, pack, unpack
from tests.altered import rehash
from tests.recorded import Play, raw, record

Capture = pytest.CaptureFixture[str]

WHOLE: Final = (("export",), ("export", "--format", "csv"), ("query", "--json"), ("stats", "--by", "day"))
TASKS: Final = (
    *WHOLE,
    ("query",),
    ("query", "--card", "8S"),
    ("query", "--round", "1.2"),
    ("query", "--role", "player"),
    ("stats", "--shoe", "2"),
    ("show", "t1"),
    ("show", "t1", "--round", "1.2"),
    ("show", "t1", "--round", "2.1", "--json"),
    ("show", "t1", "--shoe", "1"),
    ("show", "t1", "--rows", "1-9999"),
    ("show", "t1", "--rows", "1-9999", "--json"),
    ("report", "--shoe", "1"),
    ("report", "--day", "2023-11-14"),
    ("status",),
)
VALUES: Final = {
    "INTEGER": ("-1", "0", "2", "4611686018427387904", "-9223372036854775808"),
    "TEXT": ("''", "'t2'", "CAST(x'ff00' AS TEXT)", "'{'", "'[]'", "'null'"),
    "BLOB": ("x''", "x'01'", "zeroblob(32)", "zeroblob(600)"),
}
WRONG: Final[tuple[object, ...]] = (
    None,
    -1,
    7,
    10**30,
    1e300,
    "x",
    "1-t1-99999999999999999999",
    True,
    [],
    [7],
    {},
    {"cards": 7},
)
HASHED: Final = frozenset({"step", "event"})


class Damage(NamedTuple):
    name: str
    statement: str
    values: tuple[object, ...] = ()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with two shoes in troubled play, and a signed head."""
    folder = record(tmp_path_factory.mktemp("journal"), Play(shoes=2, rounds=3, trouble=0.3))
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        query = (
            "SELECT word, row, utc_us, hash FROM step JOIN journal WHERE table_name = 't1' ORDER BY row DESC LIMIT 1"
        )
        ((word, row, utc_us, hashed),) = connection.execute(query)
        key = daemon_key(folder, None)
        key.prepare(folder)
        HeadWriter(connection, key, word).write("t1", row, utc_us, hashed)
        connection.commit()
    return folder


def in_columns(folder: Path, dice: Random) -> Iterator[tuple[str, Damage]]:
    """The table of each damage, and wrong values in a row of each column."""
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in tables:
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            keys = ", ".join([name for _, name, _, _, _, is_key in columns if is_key]) or "rowid"
            count = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 -- ours
            places = verified_places(folder) if table == "step" else range(count)
            for _, column, kind, *_ in columns if count else ():
                for value in dice.sample(VALUES[kind], 2):
                    of = f"SELECT {keys} FROM {table} ORDER BY {keys} LIMIT 1 OFFSET {dice.choice(places)}"  # noqa: S608 -- ours
                    change = f"UPDATE OR REPLACE {table} SET {column} = {value} WHERE ({keys}) = ({of})"  # noqa: S608 -- ours
                    yield table, of_statement(change)


def of_statement(statement: str) -> Damage:
    return Damage(statement, statement)


def verified_places(folder: Path) -> range:
    """The places of the rows from the first to the last event."""
    found = raw(folder, "t1")
    return range(found[0].row - 1, found[-1].row)


def in_events(folder: Path, dice: Random) -> Iterator[Damage]:
    """An event of each type without one of its keys, and with a wrong value for another one."""
    by_type: dict[str, list[Any]] = {}
    for each in raw(folder, "t1"):
        by_type.setdefault(each.type, []).append(each)
    for kind, several in by_type.items():
        event = dice.choice(several)
        for text in (*damaged(event.data, dice), '{"shoe":1,"round":', "7", "[]"):
            change = "UPDATE event SET data = ? WHERE table_name = 't1' AND sequence = ?"
            yield Damage(f"{kind} {event.sequence} = {text}", change, (text, event.sequence))


def in_bodies(folder: Path, dice: Random) -> Iterator[Damage]:
    """A row of each kind, as above."""
    with closing(Store(folder).read()) as reader:
        by_kind: dict[str, list[Columns]] = {}
        for each in reader.columns("t1", verified_places(folder)[0] + 1, verified_places(folder)[-1] + 1):
            by_kind.setdefault(each.kind, []).append(each)
        for kind, several in by_kind.items():
            columns = dice.choice(several)
            for text in (*damaged(json.loads(unpack(columns, reader.dictionary)), dice), "{", "7"):
                body = pack(text.encode(), reader.dictionary, columns.utc_us, columns.mono_ns, columns.data)
                change = "UPDATE step SET body = ? WHERE table_name = 't1' AND row = ?"
                yield Damage(f"{kind} {columns.row} = {text}", change, (body, columns.row))


def damaged(data: dict[str, Any], dice: Random) -> Iterator[str]:
    keys = sorted(data)
    for key in dice.sample(keys, min(len(keys), 2)):
        yield json.dumps({name: value for name, value in data.items() if name != key})
        yield json.dumps({**data, key: dice.choice(WRONG)})


def applied(folder: Path, place: Path, damage: Damage) -> bool:
    """Whether the damage has changed the copy."""
    shutil.copy(folder / "journal.db", place / "journal.db")
    with closing(sqlite3.connect(place / "journal.db")) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(damage.statement, damage.values)
        connection.commit()
        return connection.total_changes > 0


def outcome(capsys: Capture, place: Path, words: tuple[str, ...], damage: Damage) -> tuple[int, str]:
    """The status and the errors of a task."""
    try:
        status = main(["journal", *words, "--state-dir", str(place)])
    except Exception as error:
        raise AssertionError(f"{' '.join(words)} with {damage.name}: {error!r}") from error
    return status, capsys.readouterr().err


def test_a_damaged_column_is_never_a_traceback(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    """If the column is of a row or of an event, a command that reads all events names the change."""
    dice = Random(1)
    for table, damage in in_columns(folder, dice):
        assert applied(folder, tmp_path, damage), damage.name
        for words in (*dice.sample(WHOLE, 2), *dice.sample(TASKS[len(WHOLE) :], 2)):
            status, err = outcome(capsys, tmp_path, words, damage)
            assert bool(err) == bool(status), (words, damage.name, err)
            if words in WHOLE and table in HASHED:
                assert (status, "shoed journal verify" in err) == (1, True), (words, damage.name, err)


def test_damaged_json_is_never_a_traceback(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    """With hashes that differ, a command that reads all events names the row."""
    dice = Random(2)
    for damage in (*in_events(folder, dice), *in_bodies(folder, dice)):
        assert applied(folder, tmp_path, damage), damage.name
        for words in (dice.choice(WHOLE), *dice.sample(TASKS[len(WHOLE) :], 2)):
            status, err = outcome(capsys, tmp_path, words, damage)
            if words in WHOLE:
                assert status == 1, (words, damage.name)
                assert "t1: row " in err, (words, damage.name, err)
                assert "run: shoed journal verify" in err


def test_forged_json_is_never_a_traceback(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    """The hashes are correct. Contents that cannot be read are an error."""
    dice = Random(3)
    for damage in (*in_events(folder, dice), *in_bodies(folder, dice)):
        applied(folder, tmp_path, damage)
        rehash(tmp_path / "journal.db")
        for words in dice.sample(TASKS, 3):
            status, err = outcome(capsys, tmp_path, words, damage)
            assert bool(err) == bool(status), (words, damage.name, err)


@pytest.fixture
def changed(folder: Path, tmp_path: Path) -> Path:
    """The outcome of round 1.2 is changed."""
    (number,) = (
        each.sequence
        for each in raw(folder)
        if each.type == "round.completed" and (each.data["shoe"], each.data["round"]) == (1, 2)
    )
    change = 'UPDATE event SET data = replace(data, \'"outcome":"\', \'"outcome":"not-\')'
    assert applied(folder, tmp_path, of_statement(f"{change} WHERE sequence = {number}"))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        *("show t1 --round 1.2", "show t1 --round 1.2 --json", "show t1 --shoe 1", "query t1 --round 1.2"),
        *("query --type round.completed", "stats", "stats --shoe 1 --json", "report --shoe 1"),
        *("report --day 2023-11-14", "export", "export --format csv", "export --shoe 1"),
    ],
)
def test_a_changed_result_is_shown_with_a_warning(changed: Path, capsys: Capture, words: str) -> None:
    """The output is complete, the warning names the row, and the status is 1."""
    (number,) = (each.row for each in raw(changed) if "not-" in str(each.data.get("outcome")))
    assert main(["journal", *words.split(), "--state-dir", str(changed)]) == 1
    done = capsys.readouterr()
    assert "not-" in done.out.lower()
    assert f"warning: t1: row {number}: altered: " in done.err
    assert "run: shoed journal verify" in done.err


@pytest.mark.parametrize("words", ["show t1 --round 1.1", "query --round 1.1 --card 8S --json", "export --shoe 2"])
def test_a_change_elsewhere_does_not_concern_a_command(changed: Path, capsys: Capture, words: str) -> None:
    """Only the rows that a command reads are verified."""
    main(["journal", *words.split(), "--state-dir", str(changed)])
    assert "altered" not in capsys.readouterr().err


def test_damaged_json_does_not_prevent_the_search_for_another_round(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    """A round of the next shoe is shown. A round with the event is an error."""
    started = next(each.sequence for each in raw(folder) if each.type == "card.drawn" and each.data["round"] == 2)
    statement = f"UPDATE event SET data = '{{' WHERE sequence = {started}"  # noqa: S608 -- ours
    assert applied(folder, tmp_path, of_statement(statement))
    for words in (("show", "t1", "--round", "2.1"), ("query", "--round", "1.1"), ("report", "--shoe", "2")):
        assert main(["journal", *words, "--state-dir", str(tmp_path)]) == 0, words
        assert capsys.readouterr().err == ""
    assert main(["journal", "show", "t1", "--round", "1.2", "--state-dir", str(tmp_path)]) == 1
    assert "the contents cannot be read: DecodeError: " in capsys.readouterr().err


def test_an_error_names_all_changes_that_may_have_caused_it(changed: Path, capsys: Capture) -> None:
    """A row that can be read is changed, and a later one cannot be read."""
    with closing(sqlite3.connect(changed / "journal.db")) as connection:
        connection.execute("UPDATE event SET data = '{' WHERE sequence = (SELECT max(sequence) FROM event)")
        connection.commit()
        query = """SELECT row FROM event WHERE data = '{' OR data LIKE '%"outcome":"not-%'"""
        rows = [row for (row,) in connection.execute(query)]
    assert main(["journal", "stats", "--state-dir", str(changed)]) == 1
    printed = capsys.readouterr().err
    assert "the contents cannot be read: DecodeError: " in printed
    assert [f"t1: row {row}: altered: " in printed for row in rows] == [True, True]


def test_many_rows_are_not_verified_and_a_line_says_so(
    changed: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names the command that verifies them. The numbers of `stats` are always verified."""
    for module in (export, query):
        monkeypatch.setattr(module, "FEW", 300)
    for words in (("export",), ("query", "--json")):
        assert main(["journal", *words, "--state-dir", str(changed)]) == 0
        assert capsys.readouterr().err == (
            "the hashes of the rows were not verified, because they are many; run: shoed journal verify\n"
        )
    assert main(["journal", "stats", "--state-dir", str(changed)]) == 1
