"""`shoed journal`: the record of a running daemon or a copy of it, folded again and shown."""

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.tellers import Said, client, line, shoed
from tests.witnesses import TABLE
from tests.world import World

FROZEN: Final = Path(__file__).resolve().parent / "data" / "journal-v1.sql"


@pytest.fixture
async def dealt(world: World) -> AsyncIterator[World]:
    """A daemon at work that heard six rounds, a command that was accepted and one that was not."""
    async with TcpShoe() as shoe:
        await world.serve(shoe)
        await shoe.connected()
        async with client(world.state_dir) as someone:
            await someone.say(line("1"))
            await shoe.deal(*ROUNDS)
            await world.recorder.event("round.confirmed", round=len(ROUNDS))
            await someone.say(line("2", "decide", question="none", choice="void"))
        await world.settled(shoe)
        yield world


async def journal(world: World, *words: str) -> Said:
    return await shoed("journal", *words, "--state-dir", world.state_dir)


async def test_the_record_of_a_running_daemon_comes_out_again(dealt: World) -> None:
    """Every row and every event, commands among them; the daemon never notices."""
    said = await journal(dealt, "replay", "--check")
    ((rows,),) = dealt.journal.ask("SELECT count(*) FROM step")
    events = len(dealt.journal.events())
    assert said == Said(0, f"{TABLE}: {rows} rows and {events} events on record; all come out again\n", "")
    assert await shoed("journal", "replay", "--check", "--config", dealt.place / "c.toml", TABLE) == said
    assert await dealt.daemons[-1].stop() == 0


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE event SET data = replace(data, '\"points\"', '\"pints\"') WHERE sequence = 5", "events"),
        ("UPDATE step SET answers = replace(answers, 'false', 'true') WHERE answers LIKE '%false%'", "answers"),
        (
            "UPDATE step SET bytes = x'00' WHERE row = (SELECT row FROM event WHERE sequence = 5)",
            "observations",
        ),
    ],
)
async def test_what_was_changed_in_a_copy_is_told_with_its_row(dealt: World, statement: str, what: str) -> None:
    """What is on record and what came again; exit status 1. The copy is a backup, made while the daemon ran."""
    copy = dealt.place / "copy"
    copy.mkdir()
    with dealt.journal.connected() as theirs, closing(sqlite3.connect(copy / "journal.db")) as ours:
        theirs.backup(ours)
        assert (await shoed("journal", "replay", "--check", "--state-dir", copy)).status == 0
        assert ours.execute(statement).rowcount == 1
        ours.commit()
    said = await shoed("journal", "replay", "--check", "--state-dir", copy)
    assert (said.status, said.err) == (1, "")
    head, first, on_record, again, *_ = said.out.splitlines()
    assert head.endswith("these do not come out again:")
    assert first.startswith(f"{TABLE}: row ")
    assert first.endswith(f": {what}")
    assert on_record.removeprefix("    on record: ") != again.removeprefix("    again:     ")


async def test_a_copy_is_only_read(dealt: World) -> None:
    """The plain file, taken after a stop: not a byte of it changes."""
    assert await dealt.daemons[-1].stop() == 0
    copy = dealt.place / "copy"
    copy.mkdir()
    shutil.copy(dealt.journal.path, copy)
    before = dealt.journal.path.read_bytes()
    assert (await shoed("journal", "replay", "--check", "--state-dir", copy)).status == 0
    assert (copy / "journal.db").read_bytes() == before


async def test_a_card_leads_to_its_bytes(dealt: World) -> None:
    """By the row that it names as its provenance, or by its round."""
    card = next(row for row in dealt.journal.events() if row.type == "card.drawn" and row.data["round"] == 2)
    _, data = dealt.journal.arrival(card.data["provenance"])
    said = await journal(dealt, "show", TABLE, "--rows", str(card.data["provenance"]))
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert f"    came: {data.hex(' ')}" in lines
    assert any(each.startswith(f"    event {card.sequence}: card.drawn ") for each in lines)
    whole = await journal(dealt, "show", TABLE, "--round", f"1.{card.data['round']}")
    assert said.out in whole.out
    drawn = [each for each in whole.out.splitlines() if ": card.drawn " in each and '"round":2,' in each]
    assert len(drawn) == len(ROUNDS[1].drawn)


async def test_all_rows_are_shown_where_none_is_chosen(dealt: World) -> None:
    """One after the other, with the answers to what was told."""
    said = await journal(dealt, "show", TABLE)
    ((rows,),) = dealt.journal.ask("SELECT count(*) FROM step")
    assert [each for each in said.out.splitlines() if each.startswith(f"{TABLE} row ")] != []
    assert sum(each.startswith(f"{TABLE} row ") for each in said.out.splitlines()) == rows
    answers = [each.partition(": ")[2] for each in said.out.splitlines() if each.startswith("    answer: ")]
    assert [msgspec.json.decode(each)["id"] for each in answers] == ["1", "2"]


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        ("replay --check nobody", 2, "nobody: no such table is on record; known: bac-901"),
        ("show nobody", 2, "nobody: no such table is on record; known: bac-901"),
        (f"show {TABLE} --rows 3-x", 2, "give rows A-B"),
        (f"show {TABLE} --rows x", 2, "give a row"),
        (f"show {TABLE} --round 3", 2, "give a round as SHOE.ROUND"),
        (f"show {TABLE} --rows 99999-{'9' * 20}", 1, "no such row is on record"),
        (f"show {TABLE} --round 1.99", 1, "no such row is on record"),
        ("replay", 2, "--check"),
    ],
)
async def test_what_is_not_there_is_said(dealt: World, words: str, status: int, wanted: str) -> None:
    """Wrong use is status 2, a row that is not there is 1."""
    said = await journal(dealt, *words.split())
    assert (said.status, said.out) == (status, "")
    assert wanted in said.err


async def test_without_a_journal_it_says_so(tmp_path: Path) -> None:
    """The file's name, and exit status 1."""
    said = await shoed("journal", "replay", "--check", "--state-dir", tmp_path)
    assert (said.status, said.out) == (1, "")
    assert str(tmp_path / "journal.db") in said.err


async def test_settings_that_nobody_knows_are_said(tmp_path: Path) -> None:
    """A record is folded under the settings in it; without them there is nothing to fold it by."""
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        connection.executescript(FROZEN.read_text())
    said = await shoed("journal", "replay", "--check", "--state-dir", tmp_path)
    assert (said.status, said.out) == (1, "")
    assert "no settings that this shoed knows" in said.err
