"""The salvage of a damaged journal: every row is found, or named; and only proven rows pass as proven."""

import errno
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from msgspec.structs import replace

from shoed.errors import JournalUnusable
from shoed.journal import Reader, Store, seal
from shoed.journal.from_backup import restore
from shoed.journal.head_log import NAME, HeadLog
from shoed.journal.heads import Head, HeadWriter, in_base64
from shoed.journal.incarnations import begin, words
from shoed.journal.keys import PUBLIC_FILE, SigningKey, daemon_key
from shoed.journal.losses import Losses, LossKind, counted
from shoed.journal.pages import records
from shoed.journal.restore import restore as start
from shoed.journal.salvage import Salvage, salvage
from shoed.journal.store import JOURNAL
from shoed.journal.verify import AlterationKind, Verification
from shoed.model.incarnations import Because, Continued, WordSince, word_of
from shoed.model.step import Configured
from tests.command_clients import shoed
from tests.crash.disk import Call, FaultyDisk, File
from tests.long_record import LongRecord
from tests.sealed_record import sealed_record
from tests.test_journal import urgent, writing, written
from tests.test_journal_verify_heads import play
from tests.test_retention import engine_of_settings

KEY: Final = SigningKey(bytes(range(32)), "")
PAGE: Final = 4096
LEAF: Final = 10  # the kind of a page
TABLES: Final = ("bac-901", "bac-902")
SEEDS: Final = 6


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of two tables, all of it in the file and nothing in the log."""
    folder = tmp_path_factory.mktemp("intact")
    with LongRecord(folder, TABLES) as record:
        record.deal(6, rounds=10)
    return folder / JOURNAL


def ask(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def content(file: Path, name: str) -> set[tuple[Any, ...]]:
    return set(ask(file, f"SELECT * FROM {name}"))  # noqa: S608 -- of this file


def pages_of(file: Path, *names: str) -> list[int]:
    """The pages of a table or an index."""
    marks = ", ".join("?" * len(names))
    with closing(sqlite3.connect(file)) as connection:
        query = f"SELECT pageno FROM dbstat WHERE name IN ({marks})"  # noqa: S608 -- only marks
        return [number for (number,) in connection.execute(query, names)]


def zeroed(data: bytearray, page: int, _: Random) -> None:
    data[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)


def overwritten(data: bytearray, page: int, dice: Random) -> None:
    data[(page - 1) * PAGE : page * PAGE] = dice.randbytes(PAGE)


def flipped(data: bytearray, page: int, dice: Random) -> None:
    for _ in range(20):
        data[(page - 1) * PAGE + dice.randrange(PAGE)] ^= 1 << dice.randrange(8)


def exchanged(data: bytearray, page: int, dice: Random) -> None:
    """A misdirected write: the page has the content of another one."""
    other = dice.randrange(len(data) // PAGE)
    data[(page - 1) * PAGE : page * PAGE] = data[other * PAGE : (other + 1) * PAGE]


def truncated(data: bytearray, page: int, dice: Random) -> None:
    del data[(page - 1) * PAGE + dice.randrange(PAGE) :]


def salvaged(damaged: Path, folder: Path) -> tuple[Path, Salvage]:
    folder.mkdir()
    return folder / JOURNAL, salvage(damaged, folder / JOURNAL)


def assert_honest(intact: Path, file: Path, found: Salvage) -> None:
    """Each row is proven and equal to the original, or named; verify finds the named gaps and nothing else."""
    for table in found.tables:
        original = {step[1]: step for step in content(intact, "step") if step[0] == table.name}
        events = {event[1]: event for event in content(intact, "event") if event[0] == table.name}
        here = {step[1]: step for step in content(file, "step") if step[0] == table.name}
        published = {event[1]: event for event in content(file, "event") if event[0] == table.name}
        named = {
            kind: {
                number
                for loss in table.losses
                if loss.kind is kind
                for number in range(loss.sequence or loss.row, (loss.last_sequence or loss.last_row) + 1)
            }
            for kind in LossKind
        }
        end = max([*here, *named[LossKind.MISSING]])
        assert named[LossKind.MISSING] == set(range(1, end + 1)) - here.keys()
        assert named[LossKind.EVENTS] & published.keys() == set()
        doubtful = named[LossKind.MISSING] | named[LossKind.UNPROVEN]
        assert {row: step for row, step in here.items() if row not in doubtful} == {
            row: step for row, step in original.items() if row in here.keys() - doubtful
        }
        for sequence, event in events.items():
            if event[2] <= max(here) and event[2] not in doubtful:
                assert published[sequence] == event
            elif sequence not in published and event[2] <= end:
                assert sequence in named[LossKind.EVENTS] or sequence > max(published)
    with closing(Reader(file)) as reader:
        assert set(reader.tables) <= {table.name for table in found.tables}
        seen = [each for table in found.tables for each in Verification(reader, table.name).findings()]
        unproven = [each for table in found.tables for each in Losses(reader, table.name).events_without_rows]
    assert {each.kind for each in seen} <= {AlterationKind.LOST}
    assert len(seen) == len(unproven) + sum(len(table.losses) for table in found.tables)


def test_an_intact_journal_is_complete(intact: Path, tmp_path: Path) -> None:
    """The new journal has the same rows, and an incarnation with its reason."""
    file, found = salvaged(intact, tmp_path / "new")
    assert [(table.name, table.losses) for table in found.tables] == [(name, []) for name in TABLES]
    for name in ("step", "event", "checkpoint", "cursor", "head", "key", "journal", "dictionary", "anchor"):
        assert content(file, name) == content(intact, name), name
    assert [reason for (reason,) in ask(file, "SELECT reason FROM incarnation ORDER BY number")][1:] == ["salvaged"]
    assert_honest(intact, file, found)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("damage", [zeroed, overwritten, flipped, exchanged, truncated])
def test_damaged_pages_cost_their_rows_only(
    intact: Path, tmp_path: Path, damage: Callable[[bytearray, int, Random], None], seed: int
) -> None:
    """Whole pages, single bits, a misdirected write, or the end of the file: every gap is named."""
    dice, data = Random(f"{damage.__name__} {seed}"), bytearray(intact.read_bytes())
    pages = len(data) // PAGE
    for _ in range(1 if damage is truncated else dice.randrange(1, 6)):
        damage(
            data, dice.randrange(pages // 3, pages + 1) if damage is truncated else dice.randrange(1, pages + 1), dice
        )
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data)
    file, found = salvaged(damaged, tmp_path / "new")
    assert_honest(intact, file, found)
    rows = ask(intact, "SELECT count(*) FROM step")[0][0]
    if damage is not truncated:
        assert sum(table.rows for table in found.tables) > rows // 2


@pytest.mark.parametrize("names", [("sqlite_schema",), ("step_command", "step_configured"), ("cursor",), ("journal",)])
def test_damage_outside_the_rows_costs_no_row(intact: Path, tmp_path: Path, names: tuple[str, ...]) -> None:
    """The header of the file, an index, the cursor, the word: SQLite may refuse the file, and the salvage does not."""
    data = bytearray(intact.read_bytes())
    for page in pages_of(intact, *names):
        zeroed(data, page, Random(1))
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data)
    file, found = salvaged(damaged, tmp_path / "new")
    assert [(table.name, table.losses) for table in found.tables] == [(name, []) for name in TABLES]
    assert content(file, "step") == content(intact, "step")
    assert ask(file, "SELECT word FROM journal") == ask(intact, "SELECT word FROM journal")
    assert_honest(intact, file, found)


def test_the_trees_above_the_rows_are_not_required(intact: Path, tmp_path: Path) -> None:
    """Every page without rows is overwritten: the roots and the inner pages."""
    data = bytearray(intact.read_bytes())
    with closing(sqlite3.connect(intact)) as connection:
        query = "SELECT pageno FROM dbstat WHERE pagetype = 'internal' AND name IN ('step', 'event')"
        inner = [number for (number,) in connection.execute(query)]
    for page in [1, *inner]:
        zeroed(data, page, Random(1))
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data)
    file, found = salvaged(damaged, tmp_path / "new")
    rows = ask(intact, "SELECT count(*) FROM step")[0][0]
    assert rows - sum(table.rows for table in found.tables) < 40 * len(inner)  # inner pages have some rows, too
    assert_honest(intact, file, found)


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A journal with rows of schema 4, in several sealed runs, and nothing in the log."""
    monkeypatch.setattr(seal, "RUN", 100)
    with sealed_record(tmp_path / "sealed", 750) as record:
        record.deal(2)
    return tmp_path / "sealed" / JOURNAL


def test_sealed_rows_are_found(sealed: Path, tmp_path: Path) -> None:
    """Their seals prove them."""
    file, found = salvaged(sealed, tmp_path / "new")
    assert [table.losses for table in found.tables] == [[]]
    for name in ("step_4", "step", "event", "seal", "anchor"):
        assert content(file, name) == content(sealed, name), name


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", ["step_4", "event"])
def test_a_damaged_page_of_sealed_rows_leaves_its_run_unproven(
    sealed: Path, tmp_path: Path, name: str, seed: int
) -> None:
    """The other rows of the run remain. All other runs are proven."""
    dice, data = Random(seed), bytearray(sealed.read_bytes())
    overwritten(data, dice.choice(pages_of(sealed, name)), dice)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data)
    file, found = salvaged(damaged, tmp_path / "new")
    (table,) = found.tables
    assert content(file, "step_4") <= content(sealed, "step_4")
    lost = set(ask(sealed, "SELECT row FROM step_4")) - set(ask(file, "SELECT row FROM step_4"))
    missing = [loss for loss in table.losses if loss.kind is LossKind.MISSING]
    assert lost == {(row,) for loss in missing for row in range(loss.row, loss.last_row + 1)}
    unproven = sum(loss.last_row - loss.row + 1 for loss in table.losses if loss.kind is LossKind.UNPROVEN)
    assert unproven < 600
    with closing(Reader(file)) as reader:
        seen = list(Verification(reader, "bac-901").findings())
    assert {each.kind for each in seen} <= {AlterationKind.LOST}


# --- the log


@pytest.fixture
def with_log(tmp_path: Path) -> Path:
    """A copy of an open journal, whose last rows are in the log."""
    folder = tmp_path / "live"
    with LongRecord(folder, TABLES) as record:
        record.deal(2)
        record.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        record.deal(2)
        for file in (JOURNAL, f"{JOURNAL}-wal"):
            shutil.copy(folder / file, tmp_path / file)
    return tmp_path / JOURNAL


def test_rows_in_the_log_are_found(with_log: Path, tmp_path: Path) -> None:
    """They are committed rows like any other."""
    _, found = salvaged(with_log, tmp_path / "new")
    assert all(table.losses == [] for table in found.tables)
    assert content(tmp_path / "new" / JOURNAL, "step") == content(tmp_path / "live" / JOURNAL, "step")


def test_a_missing_log_leaves_an_earlier_moment(with_log: Path, tmp_path: Path) -> None:
    """The rows before the log are complete."""
    with_log.with_name(f"{JOURNAL}-wal").unlink()
    file, found = salvaged(with_log, tmp_path / "new")
    assert all(table.losses == [] and table.rows > 0 for table in found.tables)
    assert content(file, "step") < content(tmp_path / "live" / JOURNAL, "step")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_damaged_log_costs_its_pages_only(with_log: Path, tmp_path: Path, seed: int) -> None:
    """SQLite ignores all frames after a damaged one. The salvage continues after it."""
    dice, log = Random(seed), with_log.with_name(f"{JOURNAL}-wal")
    data = bytearray(log.read_bytes())
    frame = 32 + (24 + PAGE) * dice.randrange(len(data) // (24 + PAGE) // 2)
    for _ in range(9):
        data[frame + 24 + dice.randrange(PAGE)] ^= 0xFF
    log.write_bytes(data)
    file, found = salvaged(with_log, tmp_path / "new")
    assert_honest(tmp_path / "live" / JOURNAL, file, found)
    shutil.copy(with_log, tmp_path / "other.db")
    shutil.copy(log, tmp_path / "other.db-wal")
    (by_sqlite,) = ask(tmp_path / "other.db", "SELECT count(*) FROM step")
    assert sum(table.rows for table in found.tables) >= by_sqlite[0]


@pytest.mark.parametrize("call", [0, 1, 5])
async def test_a_log_that_the_disk_cannot_read_is_reported(with_log: Path, tmp_path: Path, call: int) -> None:
    """At its header and at its frames. The rows at the end of a record may be missing without a gap."""
    source = Path(shutil.copytree(with_log.parent, tmp_path / "source"))
    disk = FaultyDisk(source, tmp_path)
    disk.fail(errno.EIO, Call.READ, File.WAL, after=call, times=1)
    salvaged = await shoed("journal", "salvage", source / with_log.name, tmp_path / "new", environment=disk.environment)
    assert disk.injected == 1
    assert salvaged.status == 1
    assert re.search("the disk could not read [1-9][0-9]* pages; the last rows may be missing, too", salvaged.out)
    with closing(Reader(tmp_path / "new" / JOURNAL)) as reader:
        kinds = {each.kind for table in reader.tables for each in Verification(reader, table).findings()}
    assert kinds <= {AlterationKind.LOST}


def test_a_transaction_that_was_not_committed_is_not_used(with_log: Path, tmp_path: Path) -> None:
    """A kill during a commit leaves frames without their last one."""
    log = with_log.with_name(f"{JOURNAL}-wal")
    data = log.read_bytes()
    log.write_bytes(data[: 32 + (24 + PAGE) * (len(data) // (24 + PAGE) - 1)])
    file, _ = salvaged(with_log, tmp_path / "new")
    (by_sqlite,) = ask(with_log, "SELECT count(*) FROM step")
    assert ask(file, "SELECT count(*) FROM step") == [by_sqlite]


@pytest.fixture
def without_a_page(intact: Path, tmp_path: Path) -> Path:
    """A journal without one page of rows."""
    data = bytearray(intact.read_bytes())
    page = next(number for number in pages_of(intact, "step") if number > 2 and data[(number - 1) * PAGE] == LEAF)
    zeroed(data, page, Random(1))
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data)
    return damaged


async def test_the_output_names_the_gaps(intact: Path, without_a_page: Path, tmp_path: Path) -> None:
    """The gaps are printed by the salvage and by verify, with status 1. The result is never overwritten."""
    new = tmp_path / "new"
    done = await shoed("journal", "salvage", without_a_page, new)
    assert (done.status, done.err) == (1, "")
    assert re.search(
        r"bac-90\d: \d+ rows and \d+ events found; \d+ rows and 0 events lost; rows that are not proven: 1;", done.out
    )
    gaps = [each.strip() for each in done.out.splitlines() if each.startswith("    ")]
    assert [gap.split(": ")[1] for gap in gaps] == ["missing", "not proven", "not proven"]  # rows, a row, and events
    verified = await shoed("journal", "verify", "--state-dir", new)
    assert (verified.status, verified.err) == (1, "")
    assert [each.partition(": ")[2] for each in verified.out.splitlines()[:3]] == gaps
    assert "All other rows are verified." in verified.out
    again = await shoed("journal", "salvage", without_a_page, new)
    assert (again.status, again.out, again.err) == (1, "", f"{new / JOURNAL} exists; name a new directory\n")
    complete = await shoed("journal", "salvage", intact, tmp_path / "complete")
    assert (complete.status, complete.err) == (0, "")


REMAINS: Final = {
    "event": (),
    "checkpoint": (),
    "cursor": (),
    "head": ("INSERT INTO head VALUES ('bac-902', 40, 60, 2, 3, 0, x'', 'a', 1, x'')",),
    "anchor": ("INSERT INTO anchor VALUES ('bac-902', 40, 60, x'', NULL, 'cut', 0, NULL)",),
    "seal": ("INSERT INTO seal VALUES ('bac-902', 40, 60, x'')",),
    "incarnation_table": ("INSERT INTO incarnation_table VALUES (2, 'bac-902', 40, 60, NULL, NULL, 0, 0)",),
}


def reduced(intact: Path, folder: Path, source: str) -> Path:
    """A journal of which one table has only this source left; no freed page has a trace of the rest."""
    file = Path(shutil.copy(intact, folder / "reduced.db"))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in REMAINS[source]:
            connection.execute(statement)
        for name in {"step", *REMAINS} - {source}:
            connection.execute(f"DELETE FROM {name} WHERE table_name = 'bac-902'")  # noqa: S608 -- of this file
        connection.execute("VACUUM")
    return file


@pytest.mark.parametrize("source", REMAINS)
async def test_a_table_of_which_anything_remains_is_named(intact: Path, tmp_path: Path, source: str) -> None:
    """With its lost rows or events, and the exit status of a gap."""
    file = reduced(intact, tmp_path, source)
    done = await shoed("journal", "salvage", file, tmp_path / "new")
    assert (done.status, done.err) == (1, "")
    of_table = next(line for line in done.out.splitlines() if line.startswith("bac-902: "))
    rows, events = ask(intact, "SELECT count(*), max(sequence) FROM event WHERE table_name = 'bac-902'")[0]
    found = rows if source == "event" else 0
    assert of_table.startswith(f"bac-902: 0 rows and {found} events found; ")
    lost_rows, lost_events = map(int, re.findall(r"(\d+) rows and (\d+) events lost", of_table)[0])
    assert (lost_rows > 9) == (source != "cursor")
    assert lost_events == {"event": 0, "checkpoint": events, "cursor": events}.get(source, 60)
    with closing(Reader(tmp_path / "new" / JOURNAL)) as reader:
        seen = list(Verification(reader, "bac-902").findings())
    assert {each.kind for each in seen} == {AlterationKind.LOST}


@pytest.mark.parametrize("first_lost", [1, 4])
async def test_signed_heads_of_lost_rows_add_no_finding(tmp_path: Path, first_lost: int) -> None:
    """Of a table that lost its last rows, or all of them: verify prints the named gaps only."""
    await play(tmp_path, 1, 6)
    with closing(sqlite3.connect(tmp_path / JOURNAL, isolation_level=None)) as connection:
        for name in ("step", "event", "checkpoint"):
            connection.execute(f"DELETE FROM {name} WHERE row >= ?", (first_lost,))  # noqa: S608 -- of this file
        connection.execute("VACUUM")
    salvaged(tmp_path / JOURNAL, tmp_path / "new")
    verified = await shoed("journal", "verify", "--state-dir", tmp_path / "new")
    assert (verified.status, verified.err) == (1, "")
    assert f"t: rows {first_lost}-6: missing: not found by the salvage" in verified.out
    assert f"t: {counted(7 - first_lost, 'signed head')} of rows that a salvage did not find" in verified.out
    assert "All other rows are verified." in verified.out


def test_a_salvaged_journal_is_restored_if_its_end_is_complete(intact: Path, tmp_path: Path) -> None:
    """A table can continue from its last checkpoint. A gap after it is refused."""
    for page_of_row, is_accepted in (("min", True), ("max", False)):
        data, damaged = bytearray(intact.read_bytes()), tmp_path / f"{page_of_row}.db"
        ((row,),) = ask(intact, f"SELECT {page_of_row}(row) FROM step WHERE table_name = 'bac-901'")  # noqa: S608 -- above
        ((hashed,),) = ask(intact, f"SELECT hash FROM step WHERE table_name = 'bac-901' AND row = {row}")  # noqa: S608 -- a number
        zeroed(data, data.index(hashed) // PAGE + 1, Random(1))
        damaged.write_bytes(data)
        file, found = salvaged(damaged, tmp_path / page_of_row)
        assert found.tables[0].losses != []
        if not is_accepted:
            with pytest.raises(JournalUnusable, match=r"bac-901: .*; no table can continue after this gap"):
                restore(file, tmp_path / "state")
            continue
        restore(file, tmp_path / "state")
        with LongRecord(intact.parent, TABLES) as record, closing(Reader(tmp_path / "state" / JOURNAL)) as reader:
            for dealer in record.dealers:
                engine_for = partial(engine_of_settings, reader.word)
                started = start(reader, dealer.table, dealer.engine, engine_for)
                assert started.state is not None
                assert started.state.row == reader.last_row(dealer.table)
                assert started.problems == ()


@pytest.mark.parametrize("page_of_row", ["max", "min"])
def test_a_salvaged_journal_is_salvaged_with_the_same_gaps(intact: Path, tmp_path: Path, page_of_row: str) -> None:
    """Also a gap at the end, of which the rows of the salvaged journal have no trace."""
    data, damaged = bytearray(intact.read_bytes()), tmp_path / "damaged.db"
    ((row,),) = ask(intact, f"SELECT {page_of_row}(row) FROM step WHERE table_name = 'bac-902'")  # noqa: S608 -- above
    ((hashed,),) = ask(intact, f"SELECT hash FROM step WHERE table_name = 'bac-902' AND row = {row}")  # noqa: S608 -- a number
    zeroed(data, data.index(hashed) // PAGE + 1, Random(1))
    damaged.write_bytes(data)
    first, found = salvaged(damaged, tmp_path / "first")
    assert content(first, "loss") != set()
    second, again = salvaged(first, tmp_path / "second")
    assert [each.losses for each in again.tables] == [each.losses for each in found.tables]
    for name in ("loss", "step", "event", "head"):
        assert content(second, name) == content(first, name), name
    assert_honest(intact, second, again)


@pytest.fixture
def without_end(intact: Path, tmp_path: Path) -> Path:
    """A journal without its last rows, and without any trace of them."""
    damaged = tmp_path / "damaged.db"
    shutil.copy(intact, damaged)
    with closing(sqlite3.connect(damaged, isolation_level=None)) as connection:
        for name in ("step", "event", "checkpoint"):
            connection.execute(f"DELETE FROM {name} WHERE row > 100")  # noqa: S608 -- above
        connection.execute("UPDATE cursor SET sequence = 0")
        connection.execute("VACUUM")
    return damaged


def last_head(intact: Path, copy: Path) -> Head:
    """A signed head of the last row of the first table."""
    shutil.copy(intact, copy)
    with closing(sqlite3.connect(copy)) as connection:
        query = "SELECT row, utc_us, hash, word FROM step, journal WHERE table_name = ? ORDER BY row DESC"
        row, utc_us, hashed, word = connection.execute(query, TABLES[:1]).fetchone()
        return HeadWriter(connection, KEY, word).write(TABLES[0], row, utc_us, hashed)


async def test_a_missing_end_is_named_by_the_heads_beside_the_file(
    intact: Path, without_end: Path, tmp_path: Path
) -> None:
    """The gap reaches to the row of the newest head. A table without a head may have lost further rows."""
    head = last_head(intact, tmp_path / "copy.db")
    HeadLog(tmp_path).append([head])
    done = await shoed("journal", "salvage", without_end, tmp_path / "new")
    assert f"    rows 101-{head.row}: missing: not found by the salvage" in done.out
    assert re.search(f"    events [0-9]+-{head.sequence}: missing", done.out)
    assert "bac-901: rows may be missing at the end" not in done.out
    assert "bac-902: rows may be missing at the end: no head of the table in heads.jsonl beside" in done.out
    assert done.status == 1
    with closing(Reader(tmp_path / "new" / JOURNAL)) as reader:
        assert {each.kind for each in Verification(reader, "bac-901").findings()} == {AlterationKind.LOST}


@pytest.mark.parametrize("other", [{"journal": "abad1dea"}, {"incarnation": "abad1dea"}, {"row": 10_000}])
def test_a_head_of_another_journal_names_no_missing_end(
    intact: Path, without_end: Path, tmp_path: Path, other: dict[str, Any]
) -> None:
    """Nor does one of another incarnation, as after a restore, or one without a signature."""
    head = replace(last_head(intact, tmp_path / "copy.db"), **other)
    signature = head.signature if "row" in other else in_base64(KEY.sign(head.text))
    HeadLog(tmp_path).append([replace(head, signature=signature)])
    _, found = salvaged(without_end, tmp_path / "new")
    assert [(table.losses, table.has_head) for table in found.tables] == [([], False), ([], False)]


@pytest.fixture(params=["configured", "heads"])
async def renamed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A signed journal with two later incarnations, which `Configured` rows and heads name, or heads alone."""
    folder = tmp_path / "renamed"
    folder.mkdir()
    await play(folder, 1, 4)
    for number, first in ((2, 5), (3, 9)):
        begun = None
        if request.param == "heads":
            with closing(sqlite3.connect(folder / JOURNAL, isolation_level=None)) as connection:
                begin(connection, Because.RESTORED, "", 0)
        else:
            known = (WordSince(0, "first"), WordSince(4, "word-2"), WordSince(8, "word-3"))[:number]
            continued = Continued(number, f"word-{number}", Because.RESTORED, "", kept=first - 1)
            begun = Configured("", 0, "", words=known, continued=continued)
        async with writing(Store(folder), daemon_key(folder, None)) as writer:
            for row in range(first, first + 4):
                step = urgent(row)
                await written(writer, replace(step, input=begun) if begun and row == first else step, "t")
    return folder / JOURNAL


def contents(file: Path) -> bytearray:
    return bytearray(file.read_bytes())


def words_in(file: Path) -> list[str]:
    with closing(Reader(file)) as reader:
        known = words(reader, "t")
        return [word_of(known, sequence) for sequence in range(1, 13)]


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(
    "lost",
    [
        *(("incarnation_table",), ("incarnation",), ("incarnation", "incarnation_table"), ("journal",), ("key",)),
        *(("head",), ("dictionary",), ("cursor", "incarnation_table"), ("journal", "incarnation")),
    ],
    ids=" ".join,
)
async def test_the_small_tables_are_restored_from_other_places(
    renamed: Path, intact: Path, tmp_path: Path, lost: tuple[str, ...], *, beside: bool
) -> None:
    """Each event keeps its word, so no id is used twice; the heads and their keys are found in `heads.jsonl`.

    A later journal, which began when this one was set aside, has added its heads.
    """
    original, data, dice = words_in(renamed), contents(renamed), Random(1)
    for page in pages_of(renamed, *lost):
        overwritten(data, page, dice)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data)
    if beside:
        shutil.copy(renamed.with_name(NAME), tmp_path / NAME)
        HeadLog(tmp_path).append([last_head(intact, tmp_path / "copy.db")])
    done = await shoed("journal", "salvage", damaged, tmp_path / "new")
    named = {"key": "12 signed heads are lost", "head": "all signed heads are lost"}
    text = "" if beside else named.get(" ".join(lost), "")
    assert (done.status, " signed heads are lost" in done.out) == (int(text != ""), text != "")
    assert text in done.out
    new = tmp_path / "new" / JOURNAL
    assert words_in(new) == original
    if beside:
        audit = await shoed("journal", "verify", "--state-dir", new, "--key", renamed.with_name(PUBLIC_FILE))
        assert (audit.status, audit.err) == (0, ""), audit.out
        assert "t: 12 signed heads; the last genuine one is of row 12" in audit.out
    restored = restore(new, tmp_path / "restored")
    assert restored.tables[0][:2] == ("t", 12)
    assert words_in(tmp_path / "restored" / JOURNAL) == original


@pytest.mark.parametrize(
    "lost",
    [
        *("incarnation_table WHERE number = 2", "incarnation_table WHERE number = 3", "incarnation WHERE number = 2"),
        *("incarnation WHERE number = 3", "incarnation WHERE number > 1", "incarnation WHERE number = 1"),
    ],
)
def test_one_lost_incarnation_keeps_its_place(renamed: Path, tmp_path: Path, lost: str) -> None:
    """Between the others, and with its word."""
    damaged = tmp_path / "damaged.db"
    shutil.copy(renamed, damaged)
    with closing(sqlite3.connect(damaged, isolation_level=None)) as connection:
        connection.execute(f"DELETE FROM {lost}")  # noqa: S608 -- above
        connection.execute("VACUUM")
    file, found = salvaged(damaged, tmp_path / "new")
    assert words_in(file) == words_in(renamed)
    assert found.tables[0].losses == []


@pytest.mark.parametrize("content", [b"", b"a text", bytes(8192), Random(1).randbytes(8192)])
async def test_a_file_without_a_record_is_lost_or_refused(renamed: Path, tmp_path: Path, content: bytes) -> None:
    """With the heads beside it, all rows of their tables are named as lost. Otherwise no journal is written."""
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(content)
    refused = await shoed("journal", "salvage", damaged, tmp_path / "new")
    assert (refused.status, refused.out) == (1, "")
    assert "no record of a journal was found in the file, and no head of one beside it; no journal was" in refused.err
    assert not (tmp_path / "new" / JOURNAL).exists()
    shutil.copy(renamed.with_name(NAME), tmp_path / NAME)
    done = await shoed("journal", "salvage", damaged, tmp_path / "new")
    assert (done.status, done.err) == (1, "")
    assert "t: 0 rows and 0 events found; 12 rows and 12 events lost" in done.out


async def test_a_lost_table_is_named_by_the_heads_beside_the_file(renamed: Path, tmp_path: Path) -> None:
    """Also if nothing in the file names it, and its heads have a later word."""
    damaged = tmp_path / "damaged.db"
    shutil.copy(renamed, damaged)
    with closing(sqlite3.connect(damaged, isolation_level=None)) as connection:
        for name in ("step", "event", "checkpoint", "cursor", "head", "incarnation_table"):
            connection.execute(f"DELETE FROM {name} WHERE table_name = 't'")  # noqa: S608 -- above
        connection.execute("VACUUM")
    shutil.copy(renamed.with_name(NAME), tmp_path / NAME)
    done = await shoed("journal", "salvage", damaged, tmp_path / "new")
    assert done.status == 1
    assert "t: 0 rows and 0 events found; 12 rows and 12 events lost" in done.out


def test_records_longer_than_a_page_are_read(tmp_path: Path) -> None:
    """Their rest is in a list of further pages. A damaged one costs this record only."""
    path, dice = tmp_path / "x.db", Random(1)
    written = {(number, dice.randbytes(dice.choice((10, 3000, 5000, 70_000)))) for number in range(200)}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE x (number INTEGER NOT NULL, data BLOB, PRIMARY KEY (number)) WITHOUT ROWID")
        connection.executemany("INSERT INTO x VALUES (?, ?)", sorted(written))
        connection.commit()
    unread: list[int] = []
    assert {record for record in records(path, unread) if len(record) == 2} == written
    assert unread == []
