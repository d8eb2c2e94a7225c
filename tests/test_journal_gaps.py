"""Forged gaps and words: the tables `loss`, `incarnation` and `incarnation_table` are not in the chain."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from shoed.journal import Store
from shoed.journal.head_log import NAME
from shoed.journal.keys import daemon_key
from shoed.journal.salvage import salvage
from shoed.journal.store import JOURNAL
from shoed.model.incarnations import Because, Continued, WordSince
from shoed.model.step import Configured
from tests.test_journal import urgent, writing, written
from tests.test_journal_verify_heads import GOOD, WRONG, attack, place, play, removed, sql, verify

__all__ = ["place"]

WITHOUT_ROW_3: Final = tuple(
    removed(name, "table_name = 't' AND row = 3") for name in ("step", "event", "head", "checkpoint")
)


def with_gap(place: Path, *lost: str) -> Path:
    """The salvage of a journal without row 3, and without the signed heads of other rows."""
    heads = [removed("head", f"table_name = 't' AND row = {row}") for row in lost]
    attack(place, *WITHOUT_ROW_3, *heads)
    with closing(sqlite3.connect(place / JOURNAL)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")
    (place / NAME).unlink()
    (place / "new").mkdir()
    salvage(place / JOURNAL, place / "new" / JOURNAL)
    (place / "new" / "auditor.pub").write_bytes((place / "auditor.pub").read_bytes())
    return place / "new"


def lines(place: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    status, text = verify(place, capsys, *words)
    return status, [line for line in text.splitlines() if ": altered: " in line or ": inserted: " in line]


async def test_an_honest_gap_has_no_change(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Row 4 follows no known row, so it is named as not proven."""
    new = with_gap(place)
    status, text = verify(new, capsys, "--key", str(new / "auditor.pub"))
    assert "t: row 3: missing: not found by the salvage" in text
    assert "t: row 4: not proven: the hash does not follow from the row before" in text
    assert (status, "altered" in text) == (WRONG, False)


async def test_the_row_after_a_gap_is_proven_or_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise any row could be written after a pretended gap."""
    new = with_gap(place)
    attack(new, sql("DELETE FROM loss WHERE kind = 'unproven'"), sql("UPDATE event SET data = '{}' WHERE row = 4"))
    detail = "the row before it is missing, so nothing proves it, and no salvage named it as not proven"
    assert lines(new, capsys) == (WRONG, [f"t: row 4: altered: {detail}"])


async def test_a_head_proves_no_row_before_a_gap(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows between the last head and the gap are named as not signed."""
    new = with_gap(place, "2")
    _, text = verify(new, capsys, "--key", str(new / "auditor.pub"))
    assert "t: not signed: row 2" in text.splitlines()
    attack(new, removed("head", "table_name = 't' AND row > 4"))
    _, text = verify(new, capsys, "--key", str(new / "auditor.pub"))
    assert [line for line in text.splitlines() if "not signed" in line] == [
        "t: not signed: row 2",
        "t: not signed: rows 5-6",
    ]


@pytest.mark.parametrize("kind", ["missing", "unproven", "events"])
async def test_a_salvage_names_no_later_row(place: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """The table has continued after it."""
    new = with_gap(place)
    await play(new, 7, 8)
    before = lines(new, capsys)
    attack(new, sql("INSERT INTO loss VALUES ('t', 7, 7, ?, 7, 7)", kind))
    assert before == (WRONG, [])
    assert lines(new, capsys) == (WRONG, ["t: the loss of row 7: altered: the last salvage ended with row 6"])


FORGED: Final[dict[str, tuple[Sequence[str], str]]] = {
    "a later incarnation": (
        (
            "INSERT INTO incarnation VALUES (2, 'deadbeef', 0, 'restored', '')",
            "INSERT INTO incarnation_table VALUES (2, 't', 99, 6, NULL, NULL, 0, 0)",
        ),
        "t: incarnation 2: altered: it begins after row 99, and the last row is 6",
    ),
    "an incarnation without a word": (
        ("INSERT INTO incarnation_table VALUES (2, 't', 6, 6, NULL, NULL, 0, 0)",),
        "t: incarnation 2: missing: the rows that begin with it remain",
    ),
    "an anchor": (
        ("INSERT INTO anchor VALUES ('t', 0, 0, x'', NULL, 'seal', 0, NULL)",),
        "t: row 0 in the table anchor: inserted: the first row is 1",
    ),
    "a seal": (
        ("INSERT INTO seal VALUES ('t', 0, 0, x'')",),
        "t: row 0 in the table seal: inserted: the first row is 1",
    ),
    "a head": (
        ("INSERT INTO head VALUES ('t', -1, 0, 0, 0, 0, x'', 'a', 1, x'')",),
        "t: row -1 in the table head: inserted: the first row is 1",
    ),
}


@pytest.mark.parametrize("name", FORGED)
async def test_an_impossible_row_is_named(place: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """An entry that no daemon writes is never ignored."""
    statements, finding = FORGED[name]
    attack(place, *map(sql, statements))
    status, text = verify(place, capsys)
    assert (status, finding in text.splitlines()) == (WRONG, True), text


async def test_the_first_row_of_an_incarnation_has_its_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise `export` prints events with ids that were never published."""
    await play(tmp_path, 1, 4)
    continued = Continued(2, "word-2", Because.RESTORED, "", kept=4)
    begun = Configured("", 0, "", words=(WordSince(0, "first"), WordSince(4, "word-2")), continued=continued)
    async with writing(Store(tmp_path), daemon_key(tmp_path, None)) as writer:
        for row in (5, 6):
            step = urgent(row)
            await written(writer, step if row > 5 else replace(step, input=begun), "t")
    assert verify(tmp_path, capsys)[0] == GOOD
    attack(tmp_path, sql("UPDATE incarnation_table SET sequence = 2"))
    detail = "row 5 does not record that the word word-2 begins after event 2"
    assert lines(tmp_path, capsys) == (WRONG, [f"t: incarnation 2: altered: {detail}"])
