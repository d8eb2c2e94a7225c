"""The chain of hashes: every change of a journal is found, and play never continues from a changed value."""

import ast
import asyncio
import json
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import pytest

from shoed.engine import ENGINE
from shoed.errors import RowAltered
from shoed.journal import Store, Writer
from shoed.journal.commit import CHECKPOINT_ROWS, Committer, Entry
from shoed.journal.reader import Reader
from shoed.journal.restore import Restored, restore
from shoed.journal.rows import seal_hash, sealed_hash
from shoed.journal.verify import PART, Verification, verified_events
from shoed.journal.verify_file import file_findings
from shoed.model.step import LinkDown, LinkUp, Received, Step
from tests import foreign_journal
from tests.altered import rewrite
from tests.angel_eye_line import CONFIGURED, PORT, Inputs, at, card_report, traffic
from tests.foreign_journal import ForeignVerifier
from tests.patience import PATIENCE_S
from tests.test_journal_replay import COMMAND, SHORT, engine_for, record

DATA: Final = Path(__file__).resolve().parent / "data"
SEALED: Final = "t"  # a table with rows of schema 4 and of schema 5
NEW: Final = "u"  # a table with rows of schema 5
CHANGES: Final = 100

Change = Callable[[sqlite3.Connection], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal of schema 4 that has been migrated and continued, with a new table."""
    folder = tmp_path_factory.mktemp("whole")
    with closing(sqlite3.connect(folder / "journal.db")) as connection:
        connection.executescript((DATA / "journal-v4.sql").read_text())
    more: Inputs = [(CONFIGURED, at(100_000)), (LinkUp(PORT), at(100_001))]
    more += [(Received(card_report(str(n), "P1", "8S")), at(101_000 + 1000 * n)) for n in (1, 2, 3)]
    more += [(COMMAND, at(110_000)), (LinkDown("gone"), at(111_000))]

    async def write() -> Path:
        await record(folder, more, SEALED)
        return (await record(folder, [*traffic(3), (COMMAND, at(9_000_000))], NEW))[0].path

    path = asyncio.run(write())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, whole: bytes) -> Path:
    (tmp_path / "journal.db").write_bytes(whole)
    return tmp_path / "journal.db"


def change(path: Path, *statements: str | tuple[str, tuple[object, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            text, values = (statement, ()) if isinstance(statement, str) else statement
            assert connection.execute(text, values).rowcount > 0, text
        connection.commit()


def found(path: Path) -> list[str]:
    with closing(Reader(path)) as reader:
        several = [*file_findings(reader)]
        for table in reader.tables:
            several += Verification(reader, table).findings()
    return [str(each) for each in several]


def ask(path: Path, query: str) -> Any:  # noqa: ANN401 -- a value of SQLite
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchone()[0]


# --- verification


def test_an_unchanged_journal_has_no_finding(path: Path) -> None:
    """The journal has sealed rows, rows with hashes, events, checkpoints and an unacknowledged event."""
    assert found(path) == []
    with closing(Reader(path)) as reader:
        verification = Verification(reader, SEALED)
        assert list(verification.findings()) == []
        assert (verification.rows, verification.events) == reader.counts(SEALED)
        assert verification.tip.row == reader.last_row(SEALED)
        assert reader.anchors(SEALED)[0].row == 31


LAST_EVENT: Final = "FROM event WHERE table_name = 'u' ORDER BY sequence DESC LIMIT 1"
OTHERS_OF_19: Final = "table_name, 20, utc_us, mono_ns, kind, command, bytes, body, state, hash"
IN_NEW: Final = "WHERE table_name = 'u' AND row = 20"
IN_OLD: Final = "WHERE table_name = 't' AND row = 20"


def test_a_seal_of_more_rows_than_remain_is_found(path: Path) -> None:
    """Its hashes fit: the seal was computed again, too."""
    with closing(Reader(path)) as reader:
        (anchor,) = reader.anchors(SEALED)
        rows = [each for each in reader.old_columns(SEALED, 1, anchor.row) if each[1] != 20]
        events = reader.old_events(SEALED, 0, anchor.sequence)
        run = seal_hash(reader.begin(SEALED).hash, rows, events)
    hashed = sealed_hash(run, SEALED, anchor.row, anchor.sequence, anchor.state, anchor.utc_us)
    change(
        path,
        f"DELETE FROM step_4 {IN_OLD}",
        ("UPDATE seal SET hash = ? WHERE table_name = 't'", (run,)),
        ("UPDATE anchor SET hash = ? WHERE table_name = 't'", (hashed,)),
    )
    assert "t: row 20: missing: the seal is of the rows up to 31" in found(path)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        pytest.param([f"UPDATE step SET body = x'0100' {IN_NEW}"], "u: row 20: altered", id="the body"),
        pytest.param([f"UPDATE step SET utc_us = utc_us + 1 {IN_NEW}"], "u: row 20: altered", id="the time"),
        pytest.param([f"UPDATE step SET kind = 'Woken' {IN_NEW}"], "u: row 20: altered", id="the kind"),
        pytest.param([f"UPDATE step SET bytes = x'06' {IN_NEW}"], "u: row 20: altered", id="the bytes"),
        pytest.param([f"UPDATE step SET hash = zeroblob(32) {IN_NEW}"], "u: row 20: altered", id="the hash"),
        pytest.param(
            ["UPDATE step SET command = 'x' WHERE table_name = 'u' AND command = '7f3a'"],
            r"u: row \d+: altered",
            id="the id of a command",
        ),
        pytest.param(
            ["UPDATE step SET state = zeroblob(32) WHERE table_name = 'u' AND row = 1"],
            "u: row 1: altered",
            id="the digest of a checkpoint",
        ),
        pytest.param(
            ["UPDATE event SET data = replace(data, '}', ' }') WHERE table_name = 'u' AND sequence = 3"],
            r"u: row \d+: altered: the row, its event 3 or",
            id="the data of the only event of a row",
        ),
        pytest.param(
            ["UPDATE event SET data = replace(data, '}', ' }') WHERE table_name = 'u' AND sequence = 5"],
            r"u: row \d+: altered: the row, its events 4-5 or",
            id="the data of an event",
        ),
        pytest.param(
            ["UPDATE event SET utc_us = 1 WHERE table_name = 'u' AND sequence = 3"],
            r"u: row \d+: altered",
            id="the time of an event",
        ),
        pytest.param(
            ["UPDATE event SET row = 9999 WHERE table_name = 'u' AND sequence = 5"],
            r"u: row \d+: altered",
            id="the row of an event",
        ),
        pytest.param(
            ["DELETE FROM event WHERE table_name = 'u' AND sequence = 5"],
            "u: event 5: missing: the next event is 6",
            id="a removed event",
        ),
        pytest.param(
            [f"INSERT INTO event SELECT table_name, sequence + 1, row + 1, type, utc_us, data {LAST_EVENT}"],
            r"u: (row|event) \d+: altered",
            id="an inserted event",
        ),
        pytest.param([f"DELETE FROM step {IN_NEW}"], "u: row 20: missing", id="a removed row"),
        pytest.param(
            ["DELETE FROM step WHERE table_name = 'u' AND row BETWEEN 20 AND 22"],
            "u: rows 20-22: missing",
            id="several removed rows",
        ),
        pytest.param(
            ["DELETE FROM step WHERE table_name = 'u' AND row > 25"],
            r"u: .*missing",
            id="removed rows at the end",
        ),
        pytest.param(
            [
                "UPDATE step SET row = -row WHERE table_name = 'u' AND row >= 20",
                "UPDATE step SET row = 1 - row WHERE table_name = 'u' AND row < 0",
                "UPDATE event SET row = row + 1 WHERE table_name = 'u' AND row >= 20",
                f"INSERT INTO step SELECT {OTHERS_OF_19} FROM step WHERE table_name = 'u' AND row = 19",
            ],
            "u: row 20: inserted",
            id="an inserted row",
        ),
        pytest.param(
            [
                "UPDATE step SET row = -1 WHERE table_name = 'u' AND row = 20",
                "UPDATE step SET row = 20 WHERE table_name = 'u' AND row = 21",
                "UPDATE step SET row = 21 WHERE table_name = 'u' AND row = -1",
            ],
            "u: rows 20 and 21: reordered",
            id="exchanged rows",
        ),
        pytest.param(
            [f"UPDATE step SET body = (SELECT body FROM step WHERE table_name = 't' AND row = 34) {IN_NEW}"],
            "u: row 20: altered",
            id="the body of another table",
        ),
        pytest.param(
            ["UPDATE checkpoint SET state = replace(state, '\"sequence\":', '\"sequence\":1') WHERE table_name = 'u'"],
            r"u: the checkpoint of row \d+: altered",
            id="a checkpoint",
        ),
        pytest.param(
            ["UPDATE checkpoint SET engine = engine + 1 WHERE table_name = 'u'"],
            r"u: the checkpoint of row \d+: altered",
            id="the engine of a checkpoint",
        ),
        pytest.param(
            [f"UPDATE step_4 SET observations = '[]' {IN_OLD}"], "t: rows 1-31, .*: altered", id="a sealed row"
        ),
        pytest.param([f"DELETE FROM step_4 {IN_OLD}"], "t: rows 1-31, .*: altered", id="a removed sealed row"),
        pytest.param(
            ["UPDATE event SET data = '{}' WHERE table_name = 't' AND sequence = 3"],
            "t: rows 1-31, .*: altered",
            id="an event of a sealed row",
        ),
        pytest.param(["DELETE FROM anchor WHERE table_name = 't'"], "t: the seal of row 31: missing", id="no seal"),
        pytest.param(
            ["UPDATE anchor SET state = NULL WHERE table_name = 't'"], "t: the seal of row 31: altered", id="the seal"
        ),
        pytest.param(
            ["UPDATE dictionary SET bytes = x'00'"], "journal.db: the dictionary: altered", id="the dictionary"
        ),
        pytest.param(["UPDATE journal SET word = 'other'"], "journal.db: the word .*: altered", id="the word"),
        pytest.param(
            ["UPDATE incarnation SET word = 'other'"],
            "journal.db: incarnation 1: altered: the journal has the word .*, and incarnation 1 has other",
            id="the word of the first incarnation",
        ),
        pytest.param(
            ["DELETE FROM incarnation"],
            "journal.db: incarnation 1: missing: the journal has the word ",
            id="no first incarnation",
        ),
        pytest.param(
            ["UPDATE cursor SET sequence = 99999 WHERE table_name = 't'"], r"t: events \d+-99999: missing", id="the end"
        ),
        pytest.param(
            ["DELETE FROM step WHERE table_name = 'u'", "DELETE FROM event WHERE table_name = 'u'"],
            "u: all rows: missing: the checkpoint of the table remains",
            id="a removed table",
        ),
        pytest.param(
            [f"UPDATE step SET kind = CAST(x'ff' AS TEXT) {IN_NEW}"],
            "u: the row after row 19: altered: it cannot be read",
            id="a text that is not UTF-8",
        ),
    ],
)
def test_a_change_is_found_with_its_place(path: Path, statements: list[str], expected: str) -> None:
    """The first finding names the table, the row and the kind of change."""
    change(path, *statements)
    several = found(path)
    assert several
    assert re.match(expected, several[0]), several


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("INSERT INTO seal VALUES ('u', 31, 9, zeroblob(32))", "u: the seal of row 31: inserted: no earlier version"),
        (
            "INSERT INTO anchor VALUES ('u', 20, 9, zeroblob(32), NULL, 'seal', 5, NULL)",
            "u: the seal of row 20: inserted: no earlier version wrote row 1: it has its own hash",
        ),
        (
            "INSERT INTO loss VALUES ('u', 12, 15, 'unproven', NULL, NULL)",
            "u: the loss of rows 12-15: altered: the hash of row 12 follows from the row before it",
        ),
        (
            "INSERT INTO loss VALUES ('u', 12, 15, 'missing', NULL, NULL)",
            "u: the loss of rows 12-15: altered: step 12 is present",
        ),
    ],
)
def test_a_forged_seal_or_loss_accuses_no_row(path: Path, statement: str, expected: str) -> None:
    """The rows have their hashes: only the forged entry is a finding."""
    change(path, "INSERT INTO incarnation VALUES (2, 'later', 0, 'salvaged', '')", statement)
    (finding,) = found(path)
    assert finding.startswith(expected)


@pytest.mark.parametrize("with_hash", [False, True])
def test_exchanged_contents_are_one_finding(path: Path, *, with_hash: bool) -> None:
    """The rows and their events have the contents of the other row, under their own numbers."""
    pair = "SELECT row FROM event AS one WHERE table_name = 'u' AND (SELECT count(*) FROM event WHERE table_name = 'u'"
    row = ask(path, f"{pair} AND row = one.row) = 1 AND one.row + 1 IN (SELECT row FROM event WHERE table_name = 'u')")
    columns = "utc_us, mono_ns, kind, command, bytes, body, state" + ", hash" * with_hash
    with closing(sqlite3.connect(path)) as connection:
        for name, content in (("step", columns), ("event", "type, utc_us, data")):
            rows = f"FROM {name} WHERE table_name = 'u' AND row = ?"
            several = [connection.execute(f"SELECT {content} {rows}", (each,)).fetchall() for each in (row, row + 1)]
            assert [len(each) for each in several] == [1, 1]
            marks = ", ".join("?" * len(several[0][0]))
            for each, (values,) in zip((row + 1, row), several, strict=True):
                update = f"UPDATE {name} SET ({content}) = ({marks}) WHERE table_name = 'u' AND row = ?"
                connection.execute(update, (*values, each))
        connection.commit()
    first, *others = found(path)
    assert first == f"u: rows {row} and {row + 1}: reordered: their contents are exchanged"
    assert [each.split(":")[1] for each in others] == [f" row {row + 2}"] * with_hash  # after the other hash


def test_a_recomputed_hash_is_found_in_the_next_row(path: Path) -> None:
    """A person who changes a row and computes its hash again does not have the hash of the next row."""
    before = ask(path, "SELECT hash FROM step WHERE table_name = 'u' AND row = 21")
    change(path, (f"UPDATE step SET hash = ? {IN_NEW}", (before,)))
    assert [each.split(":")[1] for each in found(path)] == [" row 20", " row 21"]


# Every column of every table, except those without an effect on the record: a cursor only repeats events, and a
# removed checkpoint is only a longer fold.
COLUMNS: Final = {
    "step": ("utc_us", "mono_ns", "kind", "bytes", "body", "hash", "state", "row"),
    "step_4": ("utc_us", "mono_ns", "input", "bytes", "observations", "findings", "sent", "packed", "row"),
    "event": ("sequence", "row", "type", "utc_us", "data"),
    "checkpoint": ("row", "engine", "sequence", "kept", "seed", "state"),
    "anchor": ("row", "sequence", "hash", "state", "reason", "utc_us"),
    "seal": ("row", "sequence", "hash"),
    "dictionary": ("number", "bytes"),
}
KEYS: Final = {"event": "sequence", "dictionary": "number"}


def flipped(rng: Random, value: object) -> object:
    match value:
        case None:
            return b"\0"
        case int():
            return value ^ 1 << rng.randrange(16)
        case str():
            data = bytearray(value.encode() or b" ")
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(7)
            return data.decode(errors="replace") if rng.random() < 0.5 else data.decode("latin-1")
        case bytes():
            data = bytearray(value or b"\0")
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            return bytes(data)
        case _:
            raise TypeError(value)


def random_change(rng: Random, connection: sqlite3.Connection) -> str:
    """One change of one row: a flipped bit, a removed row, a copy of a row, or two exchanged contents."""
    connection.row_factory = sqlite3.Row
    table = rng.choice(list(COLUMNS))
    key = KEYS.get(table, "row")
    rows = connection.execute(f"SELECT * FROM {table}").fetchall()
    one, other = rng.choice(rows), rng.choice(rows)
    names = one.keys()
    of = [name for name in ("table_name", key) if name in names]
    where = " AND ".join(f"{name} = ?" for name in of)
    place = tuple(one[name] for name in of)
    removable = table != "checkpoint"
    kinds = ["flip", "flip", *(["remove", "copy"] if removable else []), *(["exchange"] if len(rows) > 1 else [])]
    kind = rng.choice(kinds)
    match kind:
        case "flip":
            name = rng.choice(COLUMNS[table])
            new = flipped(rng, one[name])
            connection.execute(f"UPDATE OR REPLACE {table} SET {name} = ? WHERE {where}", (new, *place))
            return f"{table}.{name} {place}: {one[name]!r} to {new!r}"
        case "remove":
            connection.execute(f"DELETE FROM {table} WHERE {where}", place)
        case "copy":
            values = [one[name] if name != key else 1 + max(row[key] for row in rows) for name in names]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
        case "exchange":
            while tuple(other)[len(of) :] == tuple(one)[len(of) :]:
                other = rng.choice(rows)
            rest = [name for name in names if name not in of]
            change = f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in rest)} WHERE {where}"
            connection.execute(change, (*(other[name] for name in rest), *place))
            connection.execute(change, (*(one[name] for name in rest), *(other[name] for name in of)))
        case _:
            raise ValueError(kind)
    return f"{kind} {table} {place}"


@pytest.mark.parametrize("seed", range(CHANGES))
def test_a_random_change_is_found(path: Path, seed: int) -> None:
    """A flipped bit in any column, a removed row, a copied row, two exchanged rows: none of them stays hidden."""
    with closing(sqlite3.connect(path)) as connection:
        what = random_change(Random(seed), connection)
        connection.commit()
        changed = connection.total_changes
    assert changed
    assert found(path), what
    assert list(ForeignVerifier(path).problems()), what


# --- the independent verifier


def test_the_foreign_verifier_uses_the_standard_library_only() -> None:
    """It shares no code with shoed."""
    tree = ast.parse(Path(foreign_journal.__file__).read_text())
    names = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    names |= {name.name for each in ast.walk(tree) if isinstance(each, ast.Import) for name in each.names}
    assert {str(name).partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_the_foreign_verifier_agrees(path: Path) -> None:
    """The journal has no contradiction, and every row has the same content for both."""
    foreign = ForeignVerifier(path)
    assert list(foreign.problems()) == []
    with closing(Reader(path)) as reader:
        steps = [(table, step) for table in (SEALED, NEW) for step in reader.step(table, 32 * (table == SEALED), 9999)]
    assert any(step.quiet for _, step in steps)
    for table, step in steps:
        body = foreign.body(table, step.row)
        assert body.get("observations", []) == json.loads(step.observations)
        assert body.get("answers", []) == json.loads(step.answers)
        assert body["input"] == json.loads(step.input)
        ours = [(each.now.utc_us, each.now.mono_ns, each.input.data) for each in step.quiet]
        assert foreign.inputs(table, step.row) == [*ours, (step.utc_us, step.mono_ns, step.received or b"")]


def test_both_encode_the_shortest_form() -> None:
    """The format allows several forms of one value; the hash is of the shortest."""
    numbers = [sign * 2**power + more for power in range(63) for sign in (1, -1) for more in (-1, 0, 1)]
    texts = ["x" * length for length in (0, 1, 31, 32, 255, 256, 65_535, 65_536)]
    others = [None, "\N{SNOWMAN}", *(text.encode() for text in texts)]
    for value in [*numbers, *texts, *others, *([None] * length for length in (0, 15, 16, 65_535, 65_536))]:
        assert foreign_journal.msgpack(value) == msgspec.msgpack.encode(value)


# --- use


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def recorded(folder: Path) -> Store:
    """Two rounds, and a checkpoint before the last rows."""
    store, _ = await record(folder, SHORT)
    return store


def restored(store: Store, table: str = "t") -> Any:  # noqa: ANN401 -- a Restored
    with closing(store.read()) as reader:
        return restore(reader, table, engine_for("{}"), engine_for)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE checkpoint SET state = replace(state, '\"number\":1', '\"number\":7')",
        "UPDATE checkpoint SET state = 'null'",
        "UPDATE checkpoint SET state = CAST(x'ff' AS TEXT)",
        "UPDATE checkpoint SET sequence = sequence + 1",
        "UPDATE step SET state = zeroblob(32) WHERE row = (SELECT row FROM checkpoint)",
        "DELETE FROM checkpoint",
    ],
)
async def test_an_edited_checkpoint_is_not_used(folder: Path, statement: str) -> None:
    """The state is computed from the record; the reason is reported."""
    store, state = await record(folder, SHORT)
    change(store.path, statement)
    if "UPDATE step" in statement:  # the record itself was changed: there is no valid source
        with pytest.raises(RowAltered, match=r"t: row \d: the journal was changed; run: shoed journal verify"):
            restored(store)
        return
    found = restored(store)
    assert found.state == state
    assert bool(found.problems) == ("DELETE" not in statement)
    assert all("is not used" in each for each in found.problems)


async def test_the_rows_after_a_checkpoint_are_verified_and_folded(folder: Path) -> None:
    """After a kill, the state is that of the last row. A changed row ends the start of the table, and is named."""
    store, state = await record(folder, SHORT)
    with closing(store.read()) as reader:
        (checkpoint,) = reader.checkpoints("t")
        assert checkpoint.row == 6  # the end of the round
        assert state.row == 6
    store, state = await record(folder, [(Received(card_report("5", "P1", "9S")), at(9000))])
    change(store.path, "DELETE FROM checkpoint WHERE row = 7")
    assert restored(store).state == state
    rewrite(store, 4, "3H", "4H")
    with pytest.raises(RowAltered, match=r"t: row 4: the journal was changed"):
        restored(store)


LAST: Final = "(SELECT max({0}) FROM {1})"
LAST_ROW: Final = LAST.format("row", "step")
LAST_SEQUENCE: Final = LAST.format("sequence", "event")


def added_event(sequence: str, row: str) -> str:
    return f"INSERT INTO event SELECT 't', {sequence}, {row}, type, utc_us, data FROM event LIMIT 1"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (added_event(f"{LAST_SEQUENCE} + 1", "2"), r"event \d+ is after the last event"),
        (added_event(f"{LAST_SEQUENCE} + 1", LAST_ROW), r"row \d"),
        (added_event(f"{LAST_SEQUENCE} + 1", f"{LAST_ROW} + 1"), r"event \d+ is after the last event"),
        (added_event("99", "2"), r"events \d+-98"),
        (added_event(str(2**63 - 1), "2"), r"events \d+-9223372036854775806"),
        (f"DELETE FROM event WHERE sequence = {LAST_SEQUENCE}", r"(row|event) \d"),
        (f"INSERT INTO cursor VALUES ('t', {LAST_SEQUENCE} + 1)", r"the cursor at event \d+ is after the last event"),
        (
            f"INSERT INTO head VALUES ('t', {LAST_ROW} + 1, 7, 1, 1, 0, x'00', 'w', 1, x'00')",
            r"the signed head of row \d is after the last row",
        ),
        (
            f"INSERT INTO incarnation_table VALUES (2, 't', {LAST_ROW} + 1, 7, NULL, NULL, 0, 0)",
            r"the incarnation after row \d is after the last row",
        ),
        (
            f"INSERT INTO incarnation_table VALUES (2, 't', 6, {LAST_SEQUENCE} + 1, NULL, NULL, 0, 0)",
            r"the incarnation after event \d+ is after the last event",
        ),
        (
            "INSERT INTO step SELECT 't', 99, utc_us, mono_ns, kind, NULL, bytes, body, state, hash FROM step LIMIT 1",
            r"row \d is missing",
        ),
        (
            f"INSERT INTO step_4 VALUES ('t', {LAST_ROW} + 1, 0, 0, '', NULL, '', '', '', x'', '[]', x'', 0, '')",
            r"row \d of the sealed rows is after the seal",
        ),
        (
            f"INSERT INTO anchor VALUES ('t', {LAST_ROW} + 1, 7, zeroblob(32), NULL, 'seal', 0, NULL)",
            r"the seal of row \d",
        ),
    ],
)
@pytest.mark.parametrize("folded", [False, True])
async def test_play_continues_only_at_the_end_of_the_file(
    folder: Path, statement: str, expected: str, *, folded: bool
) -> None:
    """Anything after the last row or event is named: a later commit would fail, or an event would not be published."""
    store, state = await record(folder, SHORT)
    if folded:  # the last row is after the checkpoint
        with closing(store.read()) as reader:
            (checkpoint,) = reader.checkpoints("t")
        store, state = await record(folder, [(Received(card_report("5", "P1", "9S")), at(9000))])
        change(
            store.path,
            "DELETE FROM checkpoint",
            ("INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?)", msgspec.structs.astuple(checkpoint)),
        )
    assert restored(store) == Restored(state)
    change(store.path, statement)
    with pytest.raises(RowAltered, match=f"t: ({expected})"):
        restored(store)


async def test_a_table_without_rows_does_not_begin_before_its_events(folder: Path) -> None:
    """The rows and the checkpoint were removed. The number of an event is not used twice."""
    store, _ = await record(folder, SHORT)
    change(store.path, "DELETE FROM step", "DELETE FROM checkpoint")
    with pytest.raises(RowAltered, match="t: event 7 is after the last event, 0"):
        restored(store)


async def test_an_added_checkpoint_is_replaced(folder: Path) -> None:
    """It is not part of the record: the table plays on."""
    store, _ = await record(folder, SHORT)
    change(store.path, "INSERT INTO checkpoint SELECT table_name, 7, engine, sequence, 1, seed, state FROM checkpoint")
    store, state = await record(folder, [(LinkDown("gone"), at(9000))])
    assert restored(store) == Restored(state)
    assert found(store.path) == []


async def test_a_checkpoint_is_written_at_its_moments_only(folder: Path) -> None:
    """The first row of a process, the end of a round, the end of a link, and one row of CHECKPOINT_ROWS."""
    store = Store(folder)
    writer, engine = Writer(store, ENGINE), engine_for("{}")
    state, seen = engine.begin(), []
    inputs: Inputs = [*SHORT, *((LinkUp(PORT), at(5000 + each)) for each in range(CHECKPOINT_ROWS + 9))]
    for incoming, now in [*inputs, (LinkDown("gone"), at(99_000))]:
        state, step = engine.step(state, incoming, now)
        assert step is not None
        writer.submit("t", step, state, None)
        await writer.flush()
        with closing(store.read()) as reader:
            seen.append([each.row for each in reader.checkpoints("t")])
    await asyncio.wait_for(writer.close(), PATIENCE_S)
    moments = sorted({row for rows in seen for row in rows})
    assert moments == [1, 6, 6 + CHECKPOINT_ROWS, len(inputs) + 1]
    assert all(len(rows) == 1 for rows in seen)
    assert found(store.path) == []


async def test_an_event_is_published_only_if_its_row_is_unchanged(folder: Path) -> None:
    """The error names the table, the row and the remedy. The events before the row can be published."""
    store, _ = await record(folder, SHORT)
    with closing(store.read()) as reader:
        assert verified_events(reader, "t", 0, reader.last_sequence("t")) == reader.events("t", 0, 99)
    change(store.path, "UPDATE event SET data = replace(data, '3H', '4H') WHERE sequence = 4")
    with closing(store.read()) as reader:
        assert verified_events(reader, "t", 0, 3) == reader.events("t", 0, 3)
        with pytest.raises(RowAltered, match=r"t: row 4 or its events .*; run: shoed journal verify"):
            verified_events(reader, "t", 3, reader.last_sequence("t"))


@pytest.mark.parametrize(
    "statement", ["DELETE FROM step WHERE row = 4", "UPDATE event SET row = 99 WHERE sequence > 3"]
)
async def test_an_event_without_its_row_is_not_published(folder: Path, statement: str) -> None:
    """The row was removed, or the event names another row."""
    store, _ = await record(folder, SHORT)
    change(store.path, statement)
    with closing(store.read()) as reader, pytest.raises(RowAltered):
        verified_events(reader, "t", 0, reader.last_sequence("t"))


def test_an_event_of_a_sealed_row_is_published_only_if_the_seal_holds(path: Path) -> None:
    """The run of sealed rows is verified as a whole."""
    with closing(Reader(path)) as reader:
        assert verified_events(reader, SEALED, 0, reader.last_sequence(SEALED)) == reader.events(SEALED, 0, 99)
    change(path, "UPDATE event SET data = '{}' WHERE table_name = 't' AND sequence = 3")
    with closing(Reader(path)) as reader, pytest.raises(RowAltered, match="t: rows 1-31"):
        verified_events(reader, SEALED, 9, 10)


async def test_a_running_daemon_may_write_during_the_verification(folder: Path) -> None:
    """The verified rows are those of the first moment. A new checkpoint replaces the one of that moment."""
    store, state = await record(folder, SHORT)
    with closing(store.read()) as reader:
        verification = Verification(reader, "t")
        await record(folder, [(Received(card_report("5", "P1", "9S")), at(9000)), (LinkDown("gone"), at(9001))])
        assert list(verification.findings()) == []
        assert verification.tip.row == state.row < reader.last_row("t")
        assert list(Verification(reader, "t").findings()) == []


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal whose verification needs two transactions."""
    store = Store(tmp_path_factory.mktemp("long"))
    state = engine_for("{}").begin()
    with closing(store.connect()) as connection:
        steps = (Step(row=row, now=at(row), input=Received(b"\x05")) for row in range(1, PART + 10))
        Committer(connection, ENGINE).commit([Entry("t", step, state, None) for step in steps], {})
        connection.execute("PRAGMA journal_mode = DELETE")
    return store.path.read_bytes()


@pytest.mark.parametrize("row", [PART - 1, PART, PART + 1, PART + 2])
def test_a_change_at_the_border_of_two_transactions_is_found(tmp_path: Path, long: bytes, row: int) -> None:
    """It is found once, with its place."""
    path = tmp_path / "journal.db"
    path.write_bytes(long)
    assert found(path) == []
    change(path, f"UPDATE step SET mono_ns = mono_ns + 1 WHERE row = {row}")
    assert [each.split(":")[1] for each in found(path)] == [f" row {row}"]
    change(path, f"DELETE FROM step WHERE row = {row}")
    assert found(path)[0] == f"t: row {row}: missing: the next row is {row + 1}"
