"""The independent verifier and `verify`: both accept a journal after retention and a new key, and find each change."""

import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from shoed.journal import Reader
from shoed.journal.head_log import NAME, logged_heads
from shoed.journal.keys import daemon_key
from shoed.journal.verify_heads import HeadVerification
from tests.foreign_journal import ForeignVerifier, is_signed
from tests.long_record import LongRecord
from tests.test_journal_verify_running import RESTARTS, TABLES, Running

NEWEST: Final = "table_name = 'bac-901' AND row = (SELECT max(row) FROM head WHERE table_name = 'bac-901')"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Running:
    """The journal of a daemon that deleted old rows, and changed its key."""
    place = tmp_path_factory.mktemp("running")
    with LongRecord(place, TABLES) as record:
        record.connection.execute("PRAGMA synchronous = OFF")
        running = Running(place, record)
        for _ in range(2 * RESTARTS):
            running.act()
        record.connection.execute("PRAGMA journal_mode = DELETE")
    return running


def problems(running: Running, path: Path, *, with_heads: bool) -> tuple[list[str], list[str]]:
    """Of the independent verifier, and of ours."""
    heads = running.place / NAME if with_heads else None
    foreign = list(ForeignVerifier(path, [running.public], heads).problems())
    with closing(Reader(path)) as reader:
        return foreign, [str(each) for each in running.findings(reader, with_heads=with_heads)]


def test_a_journal_after_retention_and_a_change_of_the_key_is_accepted(running: Running) -> None:
    """With the first public key and the heads of the daemon, without heads, and without a key."""
    path = running.place / "journal.db"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM key").fetchone() == (3,)
        assert connection.execute("SELECT count(*) FROM anchor WHERE reason = 'cut'").fetchone() >= (2,)
    assert problems(running, path, with_heads=True) == ([], [])
    assert problems(running, path, with_heads=False) == ([], [])
    assert list(ForeignVerifier(path).problems()) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE anchor SET signature = zeroblob(64)",
        "UPDATE anchor SET signature = NULL",
        "UPDATE anchor SET state = x'00'",
        "UPDATE anchor SET utc_us = utc_us + 1",
        "UPDATE anchor SET utc_us = 1 << 62",
        "UPDATE anchor SET sequence = sequence + 1",
        "UPDATE anchor SET row = row + 1",
        "UPDATE anchor SET hash = zeroblob(32)",
        "UPDATE anchor SET reason = 'seal'",
        "DELETE FROM anchor",
        "INSERT INTO event SELECT table_name, 1, 1, type, utc_us, data FROM event LIMIT 1",
        "UPDATE head SET shoe = shoe + 1 WHERE newest",
        "UPDATE head SET utc_us = 1 << 62 WHERE newest",
        "UPDATE head SET hash = zeroblob(32) WHERE newest",
        "UPDATE head SET signature = zeroblob(64) WHERE newest",
        "UPDATE head SET incarnation = 'other' WHERE newest",
        "UPDATE head SET key = 7 WHERE newest",
        "UPDATE head SET row = row + 999 WHERE newest",
        "DELETE FROM head WHERE newest",
        "DELETE FROM head",
        "UPDATE key SET public = zeroblob(32) WHERE number = 3",
        "UPDATE key SET announced = zeroblob(64) WHERE number = 3",
        "UPDATE key SET announced = NULL, reason = '' WHERE number = 2",
        "UPDATE key SET number = 9 WHERE number = 3",
        "DELETE FROM key",
        "UPDATE incarnation SET word = 'other'",
        "INSERT INTO incarnation_table VALUES (1, 'lost', 5, 0, NULL, NULL, 0, 0)",
        "INSERT INTO cursor VALUES ('lost', 5)",
        "INSERT INTO incarnation_table SELECT 2, table_name, max(row) - 5, 5, NULL, NULL, 0, 0 FROM step GROUP BY 2",
    ],
)
def test_a_change_is_found_by_both(running: Running, tmp_path: Path, statement: str) -> None:
    """A cut, a head, a key, a word or a removed table; with the first public key."""
    path = tmp_path / "journal.db"
    path.write_bytes((running.place / "journal.db").read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO incarnation VALUES (2, 'later', 0, 'restored', '')")  # of no table
        assert connection.execute(statement.replace("newest", NEWEST)).rowcount
    foreign, ours = problems(running, path, with_heads=False)
    assert foreign
    assert ours


def test_a_removed_table_is_found_by_both(running: Running, tmp_path: Path) -> None:
    """By its remains, or by the heads of the witness."""
    path = tmp_path / "journal.db"
    path.write_bytes((running.place / "journal.db").read_bytes())
    sources = ("step", "event", "checkpoint", "anchor", "head", "cursor", "incarnation_table")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number, name in enumerate(sources):
            connection.execute(f"DELETE FROM {name} WHERE table_name = 'bac-901'")  # noqa: S608 -- of this test
            foreign, ours = problems(running, path, with_heads=number == len(sources) - 1)
            if number < sources.index("cursor") or number == len(sources) - 1:
                assert foreign, name
                assert ours, name


@pytest.mark.parametrize(("previous", "is_named"), [("before", True), ("other", False)])
def test_heads_of_another_journal_are_found_by_both(
    running: Running, tmp_path: Path, previous: str, *, is_named: bool
) -> None:
    """Unless the journal names it as an earlier one, and its file is there."""
    path, heads = tmp_path / "journal.db", tmp_path / NAME
    path.write_bytes((running.place / "journal.db").read_bytes())
    own = (running.place / NAME).read_text()
    last, key = list(logged_heads(running.place))[-1], daemon_key(running.place, None)
    other = replace(last, journal="before")
    other = replace(other, signature=b64encode(key.sign(other.text)).decode())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        aside = tmp_path / "journal-damaged-1.db"
        aside.write_bytes((running.place / "journal.db").read_bytes())
        with closing(sqlite3.connect(aside, isolation_level=None)) as earlier:
            earlier.execute("UPDATE journal SET word = 'before'")
        connection.execute(
            "INSERT OR REPLACE INTO incarnation_table VALUES (1, 'bac-901', 0, 0, ?, NULL, 0, 0)", (previous,)
        )
    heads.write_text(own + msgspec.json.encode(other).decode())
    foreign = list(ForeignVerifier(path, [running.public], heads).problems())
    with closing(Reader(path)) as reader:
        ours = list(HeadVerification(reader, [running.public]).witnessed(heads))
    assert (not foreign, not ours) == (is_named, is_named)


def test_both_verify_the_same_signatures() -> None:
    """The arithmetic of RFC 8032, compared with the library."""
    dice = Random(1)
    for length in range(8):
        key, text = Ed25519PrivateKey.from_private_bytes(dice.randbytes(32)), dice.randbytes(length)
        public, signature = key.public_key().public_bytes_raw(), key.sign(text)
        assert is_signed(public, text, signature)
        for changed in (signature[:-1], bytes(64), signature[:5] + bytes((signature[5] ^ 1,)) + signature[6:]):
            assert not is_signed(public, text, changed)
        assert not is_signed(public, text + b"x", signature)
        assert not is_signed(dice.randbytes(32), text, signature)
