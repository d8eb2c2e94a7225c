"""`shoed journal`: the verification and the display of the journal of a running daemon, or of a copy."""

import asyncio
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from shoed.journal import Reader, Store
from tests.altered import doctor, rewrite
from tests.command_clients import Finished, client, line, shoed
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.witnesses import TABLE
from tests.world import World

FROZEN: Final = Path(__file__).resolve().parent / "data" / "journal-v1.sql"


@pytest.fixture
async def dealt(world: World) -> AsyncIterator[World]:
    """A running daemon after six rounds, an accepted command and a refused command."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        async with client(world.state_dir) as someone:
            await someone.request(line("1"))
            await shoe.deal(*ROUNDS)
            await world.recorder.event("round.confirmed", round=len(ROUNDS))
            await someone.request(line("2", "decide", question="none", choice="void"))
        await world.settled(shoe)
        yield world


async def journal(world: World, *words: str) -> Finished:
    return await shoed("journal", *words, "--state-dir", world.state_dir)


async def test_the_journal_of_a_running_daemon_is_recomputed_without_a_difference(dealt: World) -> None:
    """The check covers every row, event and command, and does not affect the daemon."""
    finished = await journal(dealt, "replay", "--check")
    ((rows,),) = dealt.journal.ask("SELECT count(*) FROM step")
    events = len(dealt.journal.events())
    assert finished == Finished(
        0, f"{TABLE}: {rows} rows and {events} events on record; recomputed without a difference\n", ""
    )
    assert await shoed("journal", "replay", "--check", "--config", dealt.place / "c.toml", TABLE) == finished
    assert await dealt.daemons[-1].stop() == 0


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE event SET data = replace(data, '\"points\"', '\"pints\"') WHERE sequence = 5", "events"),
        ({"old": '"accepted":false', "new": '"accepted":true'}, "answers"),
        ({"data": b"\x00"}, "observations"),
    ],
)
async def test_a_change_in_a_copy_is_reported_with_its_row(
    dealt: World, statement: str | dict[str, Any], what: str
) -> None:
    """The output has the recorded and the recomputed value, and the status is 1. The copy is a backup."""
    copy = dealt.place / "copy"
    copy.mkdir()
    with dealt.journal.connected() as theirs, closing(sqlite3.connect(copy / "journal.db")) as ours:
        theirs.backup(ours)
    assert (await shoed("journal", "replay", "--check", "--state-dir", copy)).status == 0
    if isinstance(statement, str):
        doctor(Store(copy), statement)
    else:
        of = "command IS NOT NULL" if what == "answers" else "row = (SELECT row FROM event WHERE sequence = 5)"
        ((row,),) = dealt.journal.ask(f"SELECT max(row) FROM step WHERE {of}")  # noqa: S608 -- from the line above
        rewrite(Store(copy), row, table=TABLE, **statement)
    finished = await shoed("journal", "replay", "--check", "--state-dir", copy)
    assert (finished.status, finished.err) == (1, "")
    head, first, on_record, again, *_ = finished.out.splitlines()
    assert head.endswith("these differ when recomputed:")
    assert first.startswith(f"{TABLE}: row ")
    assert first.endswith(f": {what}")
    assert on_record.removeprefix("    recorded:   ") != again.removeprefix("    again:     ")


async def test_a_copy_is_not_changed(dealt: World) -> None:
    """The copy is the plain file of a stopped daemon."""
    assert await dealt.daemons[-1].stop() == 0
    copy = dealt.place / "copy"
    copy.mkdir()
    shutil.copy(dealt.journal.path, copy)
    before = dealt.journal.path.read_bytes()
    assert (await shoed("journal", "replay", "--check", "--state-dir", copy)).status == 0
    assert (copy / "journal.db").read_bytes() == before


async def test_the_rows_of_a_card_contain_its_bytes(dealt: World) -> None:
    """The row is the provenance in the card's event. The round selects the same row."""
    card = next(row for row in dealt.journal.events() if row.type == "card.drawn" and row.data["round"] == 2)
    _, data = dealt.journal.arrival(card.data["provenance"])
    finished = await journal(dealt, "show", TABLE, "--rows", str(card.data["provenance"]))
    assert (finished.status, finished.err) == (0, "")
    lines = finished.out.splitlines()
    assert any(each.startswith("    received") and each.endswith(f": {data.hex(' ')}") for each in lines)
    assert any(each.startswith(f"    event {card.sequence}: card.drawn ") for each in lines)
    whole = await journal(dealt, "show", TABLE, "--round", f"1.{card.data['round']}")
    assert f"      received: {data.hex(' ')}" in whole.out.splitlines()
    shown = re.findall(r"(?m)^    card \d (Player|Banker) +(\w+) ", whole.out)
    assert [face for _, face in shown] == faces(dealt, 2)


def faces(dealt: World, number: int) -> list[str]:
    drawn = [row.data for row in dealt.journal.events() if row.type == "card.drawn"]
    return [data["card"] for data in drawn if data["round"] == number]


async def test_all_rows_are_shown_with_their_results(dealt: World) -> None:
    """They are in order, with the answers to the commands."""
    finished = await journal(dealt, "show", TABLE, "--rows", "1-99999")
    ((rows,),) = dealt.journal.ask("SELECT count(*) FROM step")
    assert [each for each in finished.out.splitlines() if each.startswith(f"{TABLE} row ")] != []
    assert sum(each.startswith(f"{TABLE} row ") for each in finished.out.splitlines()) == rows
    answers = [each.partition(": ")[2] for each in finished.out.splitlines() if each.startswith("    answer: ")]
    assert [msgspec.json.decode(each)["id"] for each in answers] == ["1", "2"]


async def test_every_task_reads_the_journal_of_a_running_daemon(dealt: World) -> None:
    """While the shoe deals: the export has each event once, and the daemon continues."""
    tasks = (["show", TABLE], ["query", TABLE, "--round", "1.2"], ["stats"], ["report"], ["export"])
    shown = await asyncio.gather(*(journal(dealt, *task) for task in tasks))
    assert [(each.status, each.err) for each in shown] == [(0, "")] * len(tasks)
    exported = [msgspec.json.decode(line) for line in shown[-1].out.splitlines()]
    published = dealt.recorder.events()
    for each, event in zip(exported, published, strict=True):
        assert (each["id"], each["time"], f"shoed.{each['type']}") == (event["id"], event["time"], event["type"])
        assert (each["data"], str(each["sequence"])) == (event["data"], event["sequence"])
    assert f"<h1>{TABLE}: shoe 1</h1>" in shown[-2].out
    assert f"rounds          {len(ROUNDS)} started; {len(ROUNDS)} complete" in shown[2].out
    assert re.search(r"Signed head: no signed head covers row \d+; the newest one is of row \d+\.", shown[-2].out)
    assert await dealt.daemons[-1].stop() == 0
    signed = await journal(dealt, "report")
    assert re.search(r"Signed head: row \d+, signed at \S+ with the key \S{44}\.", signed.out)


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        ("replay --check unknown", 1, "unknown: no such table; known: bac-901"),
        ("show unknown", 1, "unknown: no such table; known: bac-901"),
        (f"show {TABLE} --rows 3-x", 2, "write rows A-B"),
        (f"show {TABLE} --rows x", 2, '--rows: "x" is not allowed; write rows A-B, or a row A'),
        (f"show {TABLE} --rows 0-1", 2, "there is no row 0; write rows A-B, or a row A, from 1"),
        (f"show {TABLE} --rows 9-3", 2, "the first row is after the last row; write 3-9"),
        (f"show {TABLE} --round 3", 2, "write a round as SHOE.ROUND"),
        (
            f"show {TABLE} --rows 99999-{'9' * 18}",
            1,
            f"the journal does not have rows 99999-{'9' * 18}; it has rows 1 to ",
        ),
        (f"show {TABLE} --rows 99999", 1, "the journal does not have row 99999; it has rows 1 to "),
        (f"show {TABLE} --round 9.9", 1, "the journal does not have round 9.9; it has rows 1 to "),
        (f"show {TABLE} --round 9.9.9", 2, '--round: "9.9.9" is not allowed; write a round as SHOE.ROUND'),
    ],
)
async def test_an_unknown_table_or_row_is_reported(dealt: World, words: str, status: int, wanted: str) -> None:
    """Wrong use has status 2; a missing row has status 1."""
    finished = await journal(dealt, *words.split())
    assert (finished.status, finished.out) == (status, "")
    assert wanted in finished.err


async def test_a_missing_journal_is_reported(tmp_path: Path) -> None:
    """The error contains the name of the file; the status is 1."""
    finished = await shoed("journal", "replay", "--check", "--state-dir", tmp_path)
    assert (finished.status, finished.out) == (1, "")
    assert str(tmp_path / "journal.db") in finished.err


async def test_unknown_settings_are_reported(tmp_path: Path) -> None:
    """The recomputation requires the recorded settings."""
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        connection.executescript(FROZEN.read_text())
    finished = await shoed("journal", "replay", "--check", "--state-dir", tmp_path)
    assert (finished.status, finished.out) == (1, "")
    assert "this shoed cannot read the settings" in finished.err


async def test_a_missing_journal_is_an_error_with_the_options_that_select_another(tmp_path: Path) -> None:
    """The error names the path of the journal, not the disk."""
    for words in (["show", TABLE], ["replay", "--check"]):
        done = await shoed("journal", *words, "--state-dir", tmp_path / "absent")
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith(f"there is no journal at {tmp_path}/absent/journal.db; give ")
        assert "--config" in done.err
        assert "disk" not in done.err


async def test_the_last_rounds_are_found(dealt: World) -> None:
    """From the row with the start of the oldest of them to the last row, within the limit of rows."""
    started = [row.row for row in dealt.journal.events() if row.type == "round.started"]
    ((last,),) = dealt.journal.ask("SELECT max(row) FROM step")
    with closing(Reader(dealt.journal.path)) as reader:
        assert reader.last_rows(TABLE, 2, 10_000) == (started[-2], last)
        assert reader.last_rows(TABLE, 10_000, 10_000) == (started[0], last)
        assert reader.last_rows(TABLE, 10_000, 1) == (last, last)
        assert reader.last_rows("none", 2, 10) == (1, 0)
