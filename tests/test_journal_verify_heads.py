"""A journal whose hashes were computed again: the signed heads contradict it."""

import shutil
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from shoed.cli import ExitStatus, main
from shoed.cli.journal.verify import EARLIER_KEY, HEADS_DAMAGED, INCOMPLETE, LOST, NOTHING, OLDER, REMEDY
from shoed.journal import Store
from shoed.journal.commit import Committer, Entry
from shoed.journal.head_log import NAME, logged_heads
from shoed.journal.heads import Head, is_genuine, newest_head, stored_heads
from shoed.journal.incarnations import begin, pending, words
from shoed.journal.keys import KEY_FILE, PREVIOUS_FILE, PUBLIC_FILE, SigningKey, daemon_key
from shoed.journal.losses import REASONS
from shoed.journal.reader import Reader
from shoed.journal.retention import cut_text
from shoed.journal.rows import STEP, genesis, row_hash
from shoed.journal.salvage import salvage
from shoed.journal.seal import Run
from shoed.journal.verify_heads import NOT_HEAD
from shoed.model.incarnations import Because
from shoed.model.step import Configured
from tests.foreign_journal import ForeignVerifier
from tests.test_journal import StateAfter, part_of_a_frame, urgent, writing, written

ROWS: Final = 6  # each has a head: `urgent` rows begin a shoe
HASH: Final = 9
GOOD, WRONG = ExitStatus.GOOD, ExitStatus.WRONG

Tamper = Callable[[sqlite3.Connection], None]


@pytest.fixture
async def place(tmp_path: Path) -> Path:
    """A state directory with a signed journal of two tables, and a copy of its heads as a witness has it."""
    await play(tmp_path, 1, ROWS)
    await play(tmp_path, 1, 2, "u")
    (tmp_path / "witness.jsonl").write_bytes((tmp_path / NAME).read_bytes())
    (tmp_path / "auditor.pub").write_bytes((tmp_path / PUBLIC_FILE).read_bytes())
    return tmp_path


async def play(place: Path, first: int, last: int, table: str = "t") -> None:
    key = daemon_key(place, None)
    key.prepare(place)
    async with writing(Store(place), key) as writer:
        for row in range(first, last + 1):
            await written(writer, urgent(row), table)


async def configure(place: Path, row: int) -> None:
    """A start of the daemon records the words of the table, and begins a round."""
    with closing(Reader(place / "journal.db")) as reader:
        settings = Configured("", 7, "", words=words(reader, "t"), continued=pending(reader, "t"))
    async with writing(Store(place), daemon_key(place, None)) as writer:
        await written(writer, replace(urgent(row), input=settings), "t")


def attack(place: Path, *steps: Tamper) -> None:
    with closing(sqlite3.connect(place / "journal.db", isolation_level=None)) as connection:
        for step in steps:
            step(connection)


def sql(statement: str, *values: object) -> Tamper:
    def run(connection: sqlite3.Connection) -> None:
        assert connection.execute(statement, values).rowcount

    return run


def removed(name: str, condition: str) -> Tamper:
    def run(connection: sqlite3.Connection) -> None:
        connection.execute(f"DELETE FROM {name} WHERE {condition}")  # noqa: S608

    return run


def rehash(connection: sqlite3.Connection, table: str = "t") -> None:
    """Compute all hashes of the table again, as docs/journal.md describes them."""
    ((word,),) = connection.execute("SELECT word FROM journal")
    hashed = genesis(word, table)
    rows = f"SELECT {STEP} FROM step WHERE table_name = ? ORDER BY row"  # noqa: S608 -- ours
    for columns in connection.execute(rows, (table,)).fetchall():
        query = "SELECT sequence, type, utc_us, data FROM event WHERE table_name = ? AND row = ? ORDER BY sequence"
        hashed = row_hash(hashed, columns[:HASH], connection.execute(query, (table, columns[1])).fetchall())
        connection.execute("UPDATE step SET hash = ? WHERE table_name = ? AND row = ?", (hashed, table, columns[1]))


def resign(key: SigningKey, table: str = "t") -> Tamper:
    """Replace the key and the heads of the table with heads of another key."""

    def run(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM key")
        key.enroll(connection, "", 0)
        for head in stored(connection, table):
            hashed = connection.execute(
                "SELECT hash FROM step WHERE table_name = ? AND row = ?", (table, head.row)
            ).fetchone()[0]
            signature = key.sign(replace(head, hash=hashed.hex()).text)
            values = (hashed, signature, table, head.row)
            connection.execute("UPDATE head SET hash = ?, signature = ? WHERE table_name = ? AND row = ?", values)

    return run


def cut(key: SigningKey | None) -> Tamper:
    """Delete the first rows, as retention does."""

    def run(connection: sqlite3.Connection) -> None:
        ((word,),) = connection.execute("SELECT word FROM journal")
        ((hashed,),) = connection.execute("SELECT hash FROM step WHERE table_name = 't' AND row = 3")
        signature = key.sign(cut_text(word, "t", Run(3, 3, hashed), 5)) if key else None
        for name in ("step", "event", "head", "checkpoint"):
            connection.execute(f"DELETE FROM {name} WHERE table_name = 't' AND row <= 3")  # noqa: S608 -- ours
        connection.execute("INSERT INTO anchor VALUES ('t', 3, 3, ?, NULL, 'cut', 5, ?)", (hashed, signature))

    return run


def stored(connection: sqlite3.Connection, table: str) -> list[Head]:
    (_, _, path), *_ = connection.execute("PRAGMA database_list")
    with closing(Reader(Path(path))) as reader:
        return list(stored_heads(reader, table))


def signed(place: Path) -> Callable[[Head], Head]:
    """A function that signs a head with the key of the directory."""
    key = daemon_key(place, None)
    return lambda head: replace(head, signature=b64encode(key.sign(head.text)).decode())


def write_heads(place: Path, heads: Iterable[Head]) -> None:
    (place / "witness.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, heads)))


def verify(place: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["journal", "verify", "--state-dir", str(place), *words])
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def audited(place: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """With the public key and the heads of the witness."""
    words = ("--key", str(place / "auditor.pub"), "--heads", str(place / "witness.jsonl"))
    return verify(place, capsys, *words)


EDIT: Final = sql("UPDATE event SET utc_us = utc_us + 1 WHERE table_name = 't' AND sequence = 4")
WITHOUT_TAIL: Final = tuple(
    sql(f"DELETE FROM {name} WHERE table_name = 't' AND row > 3")  # noqa: S608
    for name in ("step", "event", "head", "checkpoint")
)


async def test_an_original_journal_has_no_finding(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With every combination of key and heads. The heads of the daemon itself are a file of heads, too."""
    assert audited(place, capsys)[0] == GOOD
    assert verify(place, capsys)[0] == GOOD
    assert verify(place, capsys, "--key", str(place / "auditor.pub"))[0] == GOOD
    status, text = verify(place, capsys, "--heads", str(place / NAME))
    assert (status, "compared: 8 signed heads" in text) == (GOOD, True)


@pytest.mark.parametrize(
    ("tamper", "status", "text"),
    [
        ((EDIT, rehash), WRONG, "3 signed heads of rows 4-6: altered: the hash of the row is not the hash in the head"),
        ((EDIT, rehash, sql("DELETE FROM head")), WRONG, "signed heads of rows 1-6: missing: a round or a shoe begins"),
        (
            WITHOUT_TAIL,
            GOOD,
            "3 signed heads of rows 4-6: missing: the journal ends before",
        ),
        ((sql("UPDATE head SET shoe = 7 WHERE row = 2"),), WRONG, "row 2: altered: the signature of the head is wrong"),
        (
            (sql("UPDATE key SET public = ?", bytes(32)),),
            WRONG,
            "rows 1-6: altered: the signature of the head is wrong",
        ),
    ],
)
async def test_a_rewritten_journal_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], tamper: Sequence[Tamper], status: int, text: str
) -> None:
    """The attacker can write every file of the state directory, and has no private key.

    `status`: of a verification with the public key alone.
    """
    attack(place, *tamper)
    assert verify(place, capsys, "--key", str(place / "auditor.pub"))[0] == status
    audit, printed = audited(place, capsys)
    assert (audit, text in printed) == (WRONG, True), printed


async def test_heads_of_another_key_are_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The attacker signs a rewritten journal with an own key: without a copy of the public key it looks original."""
    attack(place, EDIT, rehash, resign(SigningKey(bytes(32), "it")), sql("DELETE FROM head WHERE table_name = 'u'"))
    assert verify(place, capsys)[0] == GOOD
    status, text = audited(place, capsys)
    assert status == WRONG
    assert "t: 6 signed heads of rows 1-6: altered: the head is signed by " in text
    assert "which no trusted key announced (the first key of the journal)" in text
    assert f"the hash in the head of {place / 'witness.jsonl'}: the journal was rewritten" in text


@pytest.mark.parametrize("announced", [True, False])
async def test_a_change_of_the_key_must_be_announced(
    place: Path, capsys: pytest.CaptureFixture[str], *, announced: bool
) -> None:
    """The old key signs the new one while both files exist. An unannounced key is accepted if it is given, too."""
    (place / KEY_FILE).rename(place / (PREVIOUS_FILE if announced else "lost"))
    await play(place, ROWS + 1, ROWS + 2)
    status, text = verify(place, capsys, "--key", str(place / "auditor.pub"))
    assert (status, "which no trusted key announced" in text) == (int(not announced), not announced)
    assert ("did not exist, and shoed made a new key" in text) is not announced
    both = ("--key", str(place / "auditor.pub"), "--key", str(place / PUBLIC_FILE))
    assert verify(place, capsys, *both)[0] == GOOD
    assert verify(place, capsys)[0] == GOOD


@pytest.mark.parametrize("announced", [True, False])
async def test_heads_of_an_earlier_key_than_the_given_one_are_not_proven(
    place: Path, capsys: pytest.CaptureFixture[str], *, announced: bool
) -> None:
    """They are not accused. A wrong signature is: the key on record shows it."""
    (place / KEY_FILE).rename(place / (PREVIOUS_FILE if announced else "lost"))
    await play(place, ROWS + 1, ROWS + 2)
    later = ("--key", str(place / PUBLIC_FILE))
    status, text = verify(place, capsys, *later)
    assert status == WRONG
    assert "t: 6 signed heads of rows 1-6: not proven: the earlier key " in text
    assert "u: all signed heads: not proven: no genuine head of a given key proves the rows up to 2" in text
    assert ("altered" in text, text.endswith(f"{EARLIER_KEY}\n")) == (False, True), text
    attack(place, sql("UPDATE head SET hash = zeroblob(32) WHERE table_name = 't' AND row = 2"))
    status, text = verify(place, capsys, *later)
    assert "t: the signed head of row 2: altered: the signature of the head is wrong" in text
    assert (status, text.endswith(f"{REMEDY}\n")) == (WRONG, True), text


async def test_a_cut_of_an_earlier_key_is_not_proven(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the heads of this key."""
    earlier = daemon_key(place, None)
    (place / KEY_FILE).rename(place / PREVIOUS_FILE)
    await play(place, ROWS + 1, ROWS + 2)
    attack(place, cut(earlier))
    status, text = verify(place, capsys, "--key", str(place / PUBLIC_FILE))
    assert "t: the cut of row 3: not proven: the earlier key " in text
    assert (status, "altered" in text, EARLIER_KEY in text) == (WRONG, False, True), text


@pytest.mark.parametrize(("own", "genuine", "kind"), [(1, 2, "not proven"), (2, 1, "missing")])
async def test_a_journal_with_the_key_of_an_attacker_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], own: int, genuine: int, kind: str
) -> None:
    """The attacker writes the own key before or after the genuine one. The numbers of the keys prove nothing."""
    public = daemon_key(place, None).public
    attack(place, EDIT, rehash, resign(SigningKey(bytes(32), "it")), sql("UPDATE key SET number = ?", own))
    attack(place, sql("UPDATE head SET key = ?", own), sql("DELETE FROM head WHERE table_name = 'u'"))
    attack(place, sql("INSERT INTO key VALUES (?, ?, 1, 'it', NULL)", genuine, public))
    status, text = verify(place, capsys, "--key", str(place / "auditor.pub"))
    assert (status, f"t: all signed heads: {kind}: no genuine head" in text) == (WRONG, True), text


async def test_every_head_is_in_the_log_and_in_the_journal(place: Path) -> None:
    """Both have the same heads; the last one has the hash of the last row."""
    with closing(sqlite3.connect(place / "journal.db")) as connection:
        stored = connection.execute("SELECT table_name, row, hex(hash) FROM head ORDER BY table_name, row").fetchall()
        last = connection.execute("SELECT hex(hash) FROM step WHERE table_name = 't' AND row = ?", (ROWS,)).fetchone()
    logged = [(head.table, head.row, head.hash.upper()) for head in logged_heads(place)]
    assert sorted(logged) == stored
    assert [row for table, row, _ in stored if table == "t"] == list(range(1, ROWS + 1))
    assert stored[ROWS - 1][2] == last[0]


@pytest.mark.parametrize("is_signed", [True, False])
async def test_only_the_holder_of_the_key_can_cut(
    place: Path, capsys: pytest.CaptureFixture[str], *, is_signed: bool
) -> None:
    """Retention deletes the oldest rows, and signs the cut. The heads of its last row and of later rows still fit."""
    attack(place, cut(daemon_key(place, None) if is_signed else None))
    status, text = audited(place, capsys)
    if is_signed:
        assert (status, "not compared: 2 signed heads of rows that retention has deleted" in text) == (GOOD, True), text
        return
    first, second, *_ = text.splitlines()
    assert first == "t: the cut of row 3: altered: its signature is wrong or absent"
    assert second == "t: rows 1-3: missing: the next row is 4"
    assert (status, "deleted" in text) == (WRONG, False), text


async def test_a_forged_cut_accuses_no_row(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named first, and the rows before it are verified as without it. They are still there."""
    rows = "INSERT INTO anchor SELECT 't', row, row, hash, NULL, 'cut', 5, zeroblob(64) FROM step"
    attack(
        place,
        sql(f"{rows} WHERE table_name = 't' AND row = 3"),
        sql("INSERT INTO anchor VALUES ('t', 99, 99, x'00', NULL, 'cut', 5, NULL)"),
    )
    status, text = audited(place, capsys)
    first, second, third, *_ = text.splitlines()
    assert first == "t: 2 cuts of rows 3-99: altered: its signature is wrong or absent"
    assert second.startswith("t: rows 1-6 and 6 events have their hashes")
    assert third.startswith("u: rows 1-2 and 2 events have their hashes")
    assert (status, "deleted" in text, text.count("altered")) == (WRONG, False, 1), text
    key = daemon_key(place, None).public
    foreign = ForeignVerifier(place / "journal.db", [key], place / "witness.jsonl").problems()
    assert list(foreign) == ["t: the cut of row 3", "t: the cut of row 99"]


async def test_a_stop_signs_the_last_row(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also a row in which no round ends. A second stop does not sign it again."""
    key = daemon_key(place, None)
    async with writing(Store(place), key) as writer:
        writer.submit("t", part_of_a_frame(ROWS + 1), StateAfter(ROWS + 1), None)
    await play(place, 3, 3, "u")
    assert [head.row for head in logged_heads(place) if head.table == "t"] == list(range(1, ROWS + 2))
    assert verify(place, capsys, "--key", str(place / "auditor.pub"))[0] == GOOD
    attack(place, sql("UPDATE step SET utc_us = 1 WHERE table_name = 't' AND row = ?", ROWS + 1), rehash)
    assert verify(place, capsys, "--key", str(place / "auditor.pub"))[0] == WRONG


async def test_a_failed_commit_leaves_no_head(place: Path) -> None:
    """The commit is repeated with the same head; the log has only committed heads."""
    key, store = daemon_key(place, None), Store(place)
    with closing(store.connect()) as connection:
        committer = Committer(connection, 7, key)
        entry = Entry("t", urgent(ROWS + 1), StateAfter(ROWS + 1), None)
        connection.execute("CREATE TEMP TRIGGER full BEFORE INSERT ON cursor BEGIN SELECT raise(ABORT, 'full'); END")
        with pytest.raises(sqlite3.IntegrityError, match="full"):
            committer.commit([entry], {"t": 1})
        assert committer.taken_heads() == []
        connection.execute("DROP TRIGGER full")
        committer.commit([entry], {"t": 1})
        (head,) = committer.taken_heads()
        assert (head.row, is_genuine(head), committer.taken_heads()) == (ROWS + 1, True, [])
        with closing(store.read()) as reader:
            assert newest_head(reader, "t") == head


async def test_a_restored_journal_names_the_lost_incarnation(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The heads of its lost rows are at the witness. The new heads have another word."""
    attack(place, *WITHOUT_TAIL, lambda connection: begin(connection, Because.RESTORED, "the backup of Monday", 0))
    await configure(place, 4)
    await play(place, 5, 5)
    (*_, last) = [head for head in logged_heads(place) if head.table == "t"]
    assert (last.row, last.incarnation == last.journal) == (5, False)
    assert verify(place, capsys, "--key", str(place / "auditor.pub"))[0] == GOOD
    status, text = audited(place, capsys)
    lost = f"3 signed heads of rows 4-6: missing: the rows of the incarnation {last.journal} are lost"
    assert (status, lost in text) == (WRONG, True)
    assert f"{last.incarnation} begins before them: restored" in text
    assert (REMEDY in text, text.endswith(f"{LOST}\n")) == (False, True), text


async def test_a_removed_incarnation_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row with settings has its word. Without it, an id would be used twice."""
    attack(place, lambda connection: begin(connection, Because.RESTORED, "the backup of Monday", 0))
    await configure(place, 7)
    attack(place, sql("DELETE FROM incarnation_table WHERE number = 2"))
    status, text = verify(place, capsys)
    assert (status, ": missing: row 7 records that it begins after event 6" in text) == (WRONG, True), text


FORGED: Final = (
    sql("INSERT INTO incarnation VALUES (7, 'forged', 1, 'restored', 'x')"),
    sql("INSERT INTO incarnation_table VALUES (7, 't', 3, 3, NULL, NULL, 0, 0)"),
)
OF_2: Final = "incarnation_table SET row = {} WHERE table_name = 't' AND number = 2"


@pytest.mark.parametrize(
    ("tamper", "incarnation", "rows"),
    [
        (FORGED, "7: altered: row 4 does not record that the word forged begins after event 3", "3 words of rows 7-9"),
        ((sql(f"UPDATE {OF_2.format(4)}"),), "2: altered: row 5 does not record that the word ", "2 words of rows 5-6"),
        ((sql(f"UPDATE {OF_2.format(7)}"),), "2: altered: row 7 has its word already", "the word of row 7"),
        ((sql(f"UPDATE {OF_2.format('row, sequence = 5')}"),), "2: altered: row 7 does not record that the word ", ""),
    ],
)
async def test_a_forged_incarnation_is_named_and_no_row_is_lost(
    place: Path, capsys: pytest.CaptureFixture[str], tamper: Sequence[Tamper], incarnation: str, rows: str
) -> None:
    """The first row of an incarnation records it, and each later row with settings. The heads are genuine."""
    attack(place, lambda connection: begin(connection, Because.RESTORED, "the backup of Monday", 0))
    await configure(place, 7)
    await play(place, 8, 8)
    await configure(place, 9)
    key = ("--key", str(place / "auditor.pub"))
    assert verify(place, capsys, *key)[0] == GOOD
    attack(place, *tamper)
    status, text = verify(place, capsys, *key)
    assert (status, f"t: incarnation {incarnation}" in text, text.endswith(f"{REMEDY}\n")) == (WRONG, True, True), text
    assert (f"t: {rows}: altered: the head has the incarnation " in text) == bool(rows), text
    assert ("missing" in text, "the last genuine one is of row 9" in text) == (False, True), text


@pytest.mark.parametrize("own", [0, 8])
@pytest.mark.parametrize(
    ("previous", "beside", "result"),
    [
        ("earlier", "earlier", "not compared: this journal names it as an earlier one; verify it with --state-dir"),
        ("second", "earlier", "not compared: this journal names it as an earlier one; verify it with --state-dir"),
        ("earlier", "other", "missing: no file of it is in"),
        (None, "earlier", "missing: this journal does not name it"),
    ],
)
async def test_heads_of_another_journal_require_it(  # noqa: PLR0913, PLR0917 -- fixtures
    place: Path, capsys: pytest.CaptureFixture[str], own: int, previous: str | None, beside: str, result: str
) -> None:
    """A journal that another one replaced is a finding, unless this one names it by any word, and its file is there."""
    aside = place / "journal-damaged-20261120T000000Z.db"
    shutil.copy(place / "journal.db", aside)
    with closing(sqlite3.connect(aside, isolation_level=None)) as connection:
        sql("UPDATE journal SET word = ?", beside)(connection)
    (place / "journal-damaged-unreadable.db").write_bytes(b"x" * 4096)
    begun = "INSERT INTO incarnation_table VALUES (1, 't', 0, 0, ?, 6, 1, 0)"
    attack(place, sql(begun, previous))
    original = list(logged_heads(place))
    heads = [replace(head, journal="earlier", incarnation="second") for head in original]
    heads[0] = replace(heads[0], incarnation="earlier")
    write_heads(place, [*map(signed(place), heads), *original[:own]])
    status, text = audited(place, capsys)
    is_good = own > 0 and result.startswith("not compared")
    assert (status, "no head could be compared" in text) == (GOOD if is_good else WRONG, not own)
    for table, count in (("t", ROWS), ("u", 2)):
        place_of = f"{table}: {count} signed heads of the journal earlier, the last one of row {count}"
        assert f"{place_of}: {result}" in text, text


async def test_a_journal_that_was_set_aside_has_no_later_heads(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A later journal has them. In the journal of the daemon they are a finding: an older file may have replaced it."""
    heads = list(logged_heads(place))
    later = [replace(head, journal="later", incarnation="later", time="2099-01-01T00:00:00Z") for head in heads]
    write_heads(place, [*heads, *map(signed(place), later)])
    assert audited(place, capsys)[0] == WRONG
    shutil.copy(place / "journal.db", place / "journal-damaged-1.db")
    words = ("--key", str(place / "auditor.pub"), "--heads", str(place / "witness.jsonl"))
    status, text = verify(place / "journal-damaged-1.db", capsys, *words)
    assert status == GOOD, text
    assert "6 signed heads of the journal later, the last one of row 6: not compared: it began after the last" in text


async def test_an_older_copy_is_named_as_such(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A backup has no later rows: it was not changed, as far as it goes. Its end may have been removed."""
    shutil.copy(place / "journal.db", place / "backup.db")
    attack(place, lambda connection: begin(connection, Because.RESTORED, "the backup of Monday", 0))
    await play(place, ROWS + 1, ROWS + 2)
    (place / "witness.jsonl").write_bytes((place / NAME).read_bytes())
    words = ("--key", str(place / "auditor.pub"), "--heads", str(place / "witness.jsonl"))
    status, text = verify(place / "backup.db", capsys, *words)
    assert (status, text.endswith(f"{OLDER}\n"), REMEDY in text) == (WRONG, True, False), text


async def test_a_row_of_an_unknown_incarnation_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The holder of the key signed it. The row has its hash, so that the head is not missing."""
    head = next(head for head in logged_heads(place) if head.table == "t")
    write_heads(place, [signed(place)(replace(head, incarnation="other"))])
    status, text = audited(place, capsys)
    assert (status, "t: the word of row 1: altered: the head of" in text) == (WRONG, True), text


async def test_heads_of_strangers_accuse_no_journal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Anyone who may publish can make a key and a head, of this journal or of another one."""
    (place / "elsewhere").mkdir()
    stranger = daemon_key(place / "elsewhere", None)
    heads = list(logged_heads(place))
    forged = [replace(head, hash="00" * 32, key=b64encode(stranger.public).decode()) for head in heads]
    forged += [replace(head, journal="other") for head in forged]
    write_heads(place, [*heads, *map(signed(place / "elsewhere"), forged)])
    status, text = audited(place, capsys)
    assert (status, "16 signed heads of other keys: not compared" in text) == (GOOD, True), text
    status, text = verify(place, capsys, "--heads", str(place / "witness.jsonl"))
    assert (status, "it is not in the table `key` of the journal" in text) == (WRONG, True), text


async def test_an_empty_file_of_heads_accuses_no_journal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It proves nothing."""
    (place / "witness.jsonl").write_bytes(b"")
    status, text = audited(place, capsys)
    assert (status, text.endswith(f"{NOTHING}\n"), REMEDY in text) == (WRONG, True, False), text


@pytest.mark.parametrize("change", [{"sequence": 4}, {"sequence": 6}, {"sequence": 0}, {"shoe": 9}, {"round": 9}])
async def test_the_place_in_a_head_is_that_of_the_record(
    place: Path, capsys: pytest.CaptureFixture[str], change: dict[str, int]
) -> None:
    """Also if the key of the daemon signed a false place. The hash is genuine."""
    heads = [head for head in logged_heads(place) if head.table == "t"]
    false = signed(place)(replace(heads[4], **change))
    write_heads(place, [false])
    status, text = audited(place, capsys)
    named = "the signed head of row 5: altered: the sequence, the shoe or the round in the head"
    assert (status, f"t: {named} of {place / 'witness.jsonl'} is not" in text) == (WRONG, True), text
    values = (false.sequence, false.shoe, false.round, b64decode(false.signature))
    attack(place, sql("UPDATE head SET (sequence, shoe, round, signature) = (?, ?, ?, ?) WHERE row = 5", *values))
    status, text = verify(place, capsys)
    assert (status, f"t: {named} is not" in text) == (WRONG, True), text


async def test_a_received_name_does_not_begin_a_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters are escaped. Several heads of one row name this row once."""
    (last, *_) = (head for head in logged_heads(place) if head.row == ROWS)
    forged = signed(place)(replace(last, table="x\nt: genuine"))
    write_heads(place, [forged, forged])
    status, text = audited(place, capsys)
    assert (status, f"\nx\\nt: genuine: 2 signed heads of row {ROWS}: missing: the jour" in text) == (WRONG, True), text
    assert "\nt: genuine" not in text


@pytest.mark.parametrize("statement", ["UPDATE head SET key = 7", "DELETE FROM key"])
async def test_a_head_of_an_unknown_key_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    """A complete rewrite without a key would otherwise have no head that contradicts it."""
    attack(place, EDIT, rehash, sql(statement))
    named = "t: 6 signed heads of rows 1-6: altered: the head names a key"
    status, text = verify(place, capsys)
    assert (status, named in text) == (WRONG, True), text
    status, text = verify(place, capsys, "--key", str(place / "auditor.pub"))
    assert (status, named in text) == (WRONG, True), text
    assert "t: all signed heads: missing: no genuine head of a given key proves the rows up to 6" in text
    assert "t: not signed: rows 1-6" in text


async def test_rows_without_a_later_head_are_printed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A running table has them. It has no more than one round there, and no stop of a link."""
    key, store = daemon_key(place, None), Store(place)
    with closing(store.connect()) as connection:
        committer = Committer(connection, 7, key)
        for row in range(ROWS + 1, ROWS + 4):
            committer.commit([Entry("t", part_of_a_frame(row), StateAfter(row), None)], {})
    status, text = verify(place, capsys, "--key", str(place / "auditor.pub"))
    assert (status, "t: not signed: rows 7-9" in text) == (GOOD, True), text
    event = "INSERT INTO event VALUES ('t', ?, ?, ?, 1, '{}')"
    attack(place, sql(event, 7, 7, "round.started"), sql(event, 8, 8, "round.note"), rehash)
    assert verify(place, capsys, "--key", str(place / "auditor.pub"))[0] == GOOD
    attack(place, sql("UPDATE event SET type = 'round.started' WHERE table_name = 't' AND sequence = 8"), rehash)
    status, text = verify(place, capsys, "--key", str(place / "auditor.pub"))
    assert (status, "row 8: missing: a second round begins after the last genuine head" in text) == (WRONG, True), text
    attack(place, sql("UPDATE step SET kind = 'LinkDown' WHERE table_name = 't' AND row = 8"), rehash)
    status, text = verify(place, capsys, "--key", str(place / "auditor.pub"))
    assert (status, "row 8: missing: a link closes in the row" in text) == (WRONG, True), text


async def test_a_removed_table_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without any remains, only the witness knows the table. A file without any head is noticed by its key."""
    names = ("step", "event", "head", "checkpoint", "cursor")
    attack(place, *(removed(name, "table_name = 't'") for name in names))
    witness = ("--heads", str(place / "witness.jsonl"))
    assert verify(place, capsys)[0] == GOOD
    status, text = verify(place, capsys, "t", *witness)
    lost = "t: 6 signed heads of rows 1-6: missing: the journal does not have the table of the head"
    assert (status, lost in text) == (WRONG, True), text
    status, text = verify(place, capsys, "t")
    assert (status, "t: no such table; known: u" in text) == (WRONG, True), text
    attack(place, sql("INSERT INTO incarnation_table VALUES (1, 't', 3, 3, NULL, NULL, 0, 0)"))
    status, text = verify(place, capsys, "t")
    assert (status, "t: all rows: missing: the incarnation_table of the table remains" in text) == (WRONG, True), text
    attack(place, *(removed(name, "true") for name in names))
    status, text = verify(place, capsys, "--key", str(place / "auditor.pub"))
    assert (status, "journal.db: all signed heads: missing: the key that signed them remains" in text) == (WRONG, True)
    assert "journal.db: all tables: missing: no row has a head of a given key" in text


ROWS_OF_T: Final = tuple(removed(name, "table_name = 't'") for name in ("step", "event", "checkpoint"))


@pytest.mark.parametrize("words", [(), ("t",)])
async def test_a_table_without_rows_is_verified_if_a_salvage_names_it(
    place: Path, capsys: pytest.CaptureFixture[str], words: Sequence[str]
) -> None:
    """An entry of the table `loss` does not hide a removed table: only the rows and events that it names are a gap."""
    attack(place, *ROWS_OF_T, sql("INSERT INTO loss VALUES ('t', 1, 1, 'missing', NULL, NULL)"))
    attack(place, sql("INSERT OR REPLACE INTO cursor VALUES ('t', 6)"))
    status, text = verify(place, capsys, *words)
    assert status == WRONG
    assert "t: row 1: missing: not found by the salvage" in text
    assert "t: events 1-6: missing: the broker has acknowledged the events up to 6" in text
    assert "t: 5 signed heads of rows 2-6: missing: the journal ends before the row of the head" in text


async def test_the_salvage_of_a_lost_table_is_verified(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same gaps are printed, and no change."""
    attack(place, *ROWS_OF_T, sql("PRAGMA wal_checkpoint(TRUNCATE)"))
    (place / "new").mkdir()
    found = salvage(place / "journal.db", place / "new" / "journal.db")
    gaps = [f"{table.name}: {loss}: {REASONS[loss.kind]}" for table in found.tables for loss in table.losses]
    assert gaps[0] == "t: rows 1-6: missing: not found by the salvage"
    for key in ((), ("--key", str(place / "auditor.pub"))):
        status, text = verify(place / "new", capsys, *key)
        printed = [line for line in text.splitlines() if "missing" in line or "altered" in line]
        assert (status, sorted(printed)) == (WRONG, sorted(gaps))
        assert INCOMPLETE in text


async def test_heads_that_a_salvage_did_not_find_are_a_gap(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their number is printed, and no change. A head of a later row is required."""
    attack(place, removed("head", "table_name = 't' AND row < 6"), sql("PRAGMA wal_checkpoint(TRUNCATE)"))
    (place / NAME).unlink()
    (place / "new").mkdir()
    salvage(place / "journal.db", place / "new" / "journal.db")
    key = ("--key", str(place / "auditor.pub"))
    status, text = verify(place / "new", capsys, *key)
    assert (status, REMEDY in text, INCOMPLETE in text) == (WRONG, False, True), text
    assert "t: signed heads: lost: the salvage did not find the required signed head of 5 rows" in text
    await play(place / "new", 7, 8)
    attack(place / "new", removed("head", "table_name = 't' AND row = 7"))
    status, text = verify(place / "new", capsys, *key)
    assert (status, "t: the signed head of row 7: missing: a round or a shoe begins" in text) == (WRONG, True), text


async def test_a_row_requires_one_head(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also if a round ends and a shoe begins in the same row."""
    event = "INSERT INTO event VALUES ('t', ?, 6, 'round.completed', 1, '{}')"
    attack(place, sql(event, 7), sql(event, 8), sql("DELETE FROM head WHERE table_name = 't'"))
    status, text = verify(place, capsys, "--key", str(place / "auditor.pub"))
    assert (status, "t: 6 signed heads of rows 1-6: missing: a round or a shoe begins" in text) == (WRONG, True), text


@pytest.mark.parametrize("is_salvaged", [True, False])
async def test_gaps_require_a_salvage(place: Path, capsys: pytest.CaptureFixture[str], *, is_salvaged: bool) -> None:
    """A salvage begins an incarnation. Otherwise a person removed the rows, and wrote the table `loss`."""
    rows = [removed(name, "table_name = 't' AND row = 3") for name in ("step", "event", "head", "checkpoint")]
    gaps = [(3, 3, "missing", None, None), (4, 4, "unproven", None, None), (4, 4, "events", 3, 3)]
    attack(place, *rows, *(sql("INSERT INTO loss VALUES ('t', ?, ?, ?, ?, ?)", *gap) for gap in gaps))
    if is_salvaged:
        attack(place, lambda connection: begin(connection, Because.SALVAGED, "the damaged file", 0))
    status, text = verify(place, capsys)
    assert (status, INCOMPLETE in text, REMEDY in text) == (WRONG, is_salvaged, not is_salvaged), text
    assert ("journal.db: the table `loss`: inserted: it names gaps, and no" in text) is not is_salvaged


@pytest.mark.parametrize(
    ("gap", "text"),
    [
        ((3, 9, "missing", None, None), "the loss of rows 3-9: altered: step 3 is present"),
        ((5, 5, "events", 2, 2), "the loss of event 2: altered: event 2 is present"),
    ],
)
async def test_a_gap_of_present_rows_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], gap: tuple[object, ...], text: str
) -> None:
    """No salvage writes it: it would excuse a later removal."""
    attack(place, lambda connection: begin(connection, Because.SALVAGED, "the damaged file", 0))
    attack(place, sql("INSERT INTO loss VALUES ('t', ?, ?, ?, ?, ?)", *gap))
    status, printed = verify(place, capsys)
    assert (status, f"t: {text}" in printed, REMEDY in printed) == (WRONG, True, True), printed


@pytest.mark.parametrize(
    ("number", "reason", "announced", "status", "text"),
    [
        (2, "the file was lost", None, GOOD, "key 2 was not announced by the key before it: the file was lost"),
        (2, "", None, WRONG, "key 2: altered: it has no announcement, and no reason"),
        (2, "it", bytes(64), WRONG, "key 2: altered: the key before it did not sign the announcement"),
        (0, "it", None, WRONG, "key 0: inserted: its number must be 1"),
    ],
)
async def test_a_wrong_announcement_is_named(  # noqa: PLR0913, PLR0917 -- fixtures
    place: Path,
    capsys: pytest.CaptureFixture[str],
    number: int,
    reason: str,
    announced: bytes | None,
    status: int,
    text: str,
) -> None:
    """Also without the public key. A lost key cannot announce its successor; the record has the reason."""
    attack(place, sql("INSERT INTO key VALUES (?, ?, 1, ?, ?)", number, bytes(32), reason, announced))
    found, printed = verify(place, capsys)
    assert (found, f"journal.db: {text}" in printed) == (status, True), printed


@pytest.mark.parametrize(
    ("content", "place_of"),
    [
        pytest.param(lambda whole: whole + b"{}\n", "line 9", id="another object"),
        pytest.param(lambda whole: whole[:-50], "line 8", id="cut off"),
        pytest.param(lambda whole: whole + bytes(512), "line 9", id="zeros at the end"),
        pytest.param(lambda whole: b"\xef\xbb\xbf" + whole, "line 1", id="a mark of the encoding"),
        pytest.param(lambda whole: b"1\n\xff\n" + whole, "2 of the lines 1-2", id="other lines"),
        pytest.param(lambda whole: whole.replace(b'"row":3', b'"row":4', 1), "line 3", id="another row"),
        pytest.param(lambda whole: whole.replace(b'"journal":"', b'"journal":"x', 1), "line 1", id="another journal"),
        pytest.param(lambda whole: whole.replace(b'"key":"', b'"key":"x', 1), "line 1", id="another key"),
        pytest.param(lambda _: b'[site]\nname = "rws"\n', "2 of the lines 1-2", id="another file"),
    ],
)
async def test_a_damaged_file_of_heads_accuses_no_journal(
    place: Path, capsys: pytest.CaptureFixture[str], content: Callable[[bytes], bytes], place_of: str
) -> None:
    """The finding has the file and the line, and the closing text names the file. A power cut can damage its end."""
    file = place / "witness.jsonl"
    file.write_bytes(content(file.read_bytes()))
    status, printed = audited(place, capsys)
    assert (status, f"{file}: {place_of}: altered: {NOT_HEAD}" in printed) == (WRONG, True), printed
    assert printed.endswith(f"{HEADS_DAMAGED}\n"), printed
    attack(place, EDIT)
    assert audited(place, capsys)[1].endswith(f"{REMEDY}\n")


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("UPDATE head SET utc_us = 1 << 62", "altered: the signature of the head is wrong"),
        (
            "INSERT INTO anchor VALUES ('t', 0, 0, x'00', NULL, 'cut', 1 << 62, NULL)",
            "its signature is wrong or absent",
        ),
        ("DELETE FROM journal", "the table `journal` has no row, and must have one"),
        ("INSERT INTO journal SELECT created, 'other' FROM journal", "the table `journal` has several rows"),
        (
            "INSERT INTO loss VALUES ('t', 3, 3, 'eaten', NULL, NULL)",
            "t: the loss of row 3: altered: no salvage writes",
        ),
        ("DELETE FROM step WHERE table_name = 't' AND row = 3", "the journal does not have the row of the head"),
    ],
)
async def test_a_value_that_shoed_never_writes_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], statement: str, text: str
) -> None:
    """The verification names its place, and does not fail."""
    attack(place, sql(statement))
    status, printed = verify(place, capsys)
    assert (status, text in printed) == (WRONG, True), printed
