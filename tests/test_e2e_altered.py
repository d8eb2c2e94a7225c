"""A changed journal and a real daemon: it never publishes a changed event, and never continues from a changed row."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import pytest

from tests.command_clients import shoed
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe
from tests.witnesses import TABLE
from tests.world import World

OTHER = "bac-902"


@pytest.fixture
async def shoes() -> AsyncIterator[tuple[TcpShoe, TcpShoe]]:
    async with TcpShoe() as one, TcpShoe() as other:
        yield one, other


async def dealt(world: World, shoes: tuple[TcpShoe, TcpShoe], *, kill: bool = False) -> None:
    """A daemon that has recorded two rounds of the first table, and has ended."""
    daemon = await world.serve(*shoes)
    await shoes[0].deal(*ROUNDS[:2])
    await world.recorder.event("round.confirmed", round=2)
    await shoes[0].say(NATURAL[0])
    await world.recorder.event("card.drawn", round=3)
    await world.settled(shoes[0])
    if kill:
        await daemon.kill()
    else:
        assert await daemon.stop() == 0


def change(world: World, *statements: str) -> None:
    with closing(sqlite3.connect(world.journal.path)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0, statement
        connection.commit()


async def set_aside(world: World) -> None:
    """Wait until both tables name the loss. The damaged file is kept, and a new journal begins."""
    for table in (TABLE, OTHER):
        continued = await world.recorder.event("journal.continued", table, reason="damaged", kept=0)
        assert continued["known"] >= max(int(each["sequence"]) for each in before(world, table, continued["previous"]))
    (damaged,) = world.state_dir.glob("journal-damaged-*.db")
    assert f"shoed journal verify --state-dir {damaged}; " in str(world.daemons[-1])
    assert f"shoed journal salvage {damaged}" in str(world.daemons[-1])
    verified = await shoed("journal", "verify", "--state-dir", world.state_dir)
    assert verified.status == 0


def before(world: World, table: str, word: str) -> list[Any]:
    return [each for each in world.recorder.events(table) if each["id"].startswith(word)]


async def test_play_does_not_continue_from_an_edited_checkpoint(world: World, shoes: tuple[TcpShoe, TcpShoe]) -> None:
    """The state is computed from the record, the numbers of the rounds continue, and the status has the reason."""
    await dealt(world, shoes)
    change(world, "UPDATE checkpoint SET state = replace(state, '\"number\":3', '\"number\":7')")
    verified = await shoed("journal", "verify", "--state-dir", world.state_dir)
    assert (verified.status, verified.err) == (1, "")
    assert f"{TABLE}: the checkpoint of row " in verified.out
    daemon = await world.serve(*shoes)
    reason = "is not used: it differs from the digest in its row"
    assert reason in str(daemon)
    assert reason in (await shoed("status", "--state-dir", world.state_dir)).out
    assert world.recorder.states()[-1]["round"] == 3
    assert await daemon.stop() == 0
    assert (await shoed("journal", "verify", "--state-dir", world.state_dir)).status == 0
    assert (await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)).status == 0


async def test_a_broken_checkpoint_does_not_stop_a_start(world: World, shoes: tuple[TcpShoe, TcpShoe]) -> None:
    """The record is complete, so the table is ready."""
    await dealt(world, shoes, kill=True)
    change(world, "UPDATE checkpoint SET state = CAST(x'ff00ff' AS TEXT)")
    daemon = await world.serve(*shoes)
    await world.recorder.event("device.online", number=2)
    assert world.recorder.states()[-1]["round"] == 3
    assert await daemon.stop() == 0
    await world.all_published()


async def test_play_does_not_continue_from_a_changed_row(world: World, shoes: tuple[TcpShoe, TcpShoe]) -> None:
    """The row is after the last checkpoint. The journal is set aside, and the tables continue with a new journal."""
    await dealt(world, shoes, kill=True)
    change(
        world,
        "UPDATE event SET data = replace(data, 'card', 'cart') WHERE table_name = 'bac-901' AND type = 'card.drawn'"
        " AND row > (SELECT max(row) FROM checkpoint WHERE table_name = 'bac-901')",
    )
    daemon = await world.start(*shoes)
    await set_aside(world)
    assert "the journal was changed. It is set aside as " in str(daemon)
    await shoes[0].connected()
    await shoes[0].say(NATURAL[0])
    assert (await world.recorder.event("round.started", number=4))["shoe"] == 2
    assert await daemon.stop() == 0


async def test_play_does_not_continue_before_an_added_event(world: World, shoes: tuple[TcpShoe, TcpShoe]) -> None:
    """Its number is that of the next event, whose commit would fail at every start."""
    await dealt(world, shoes)
    change(
        world,
        "INSERT INTO event SELECT table_name, max(sequence) + 1, 5, type, utc_us, data FROM event"
        " WHERE table_name = 'bac-901'",
    )
    daemon = await world.start(*shoes)
    await set_aside(world)
    assert "is after the last event" in str(daemon)
    for shoe, table in zip(shoes, (TABLE, OTHER), strict=True):
        await shoe.connected()
        await shoe.say(NATURAL[0])
        assert (await world.recorder.event("card.drawn", table, shoe=2 if table == TABLE else 1))["index"] == 1
    assert await daemon.stop() == 0


async def test_a_changed_event_is_not_published(world: World, shoes: tuple[TcpShoe, TcpShoe]) -> None:
    """The broker does not have the event yet. The same process sets the journal aside, and continues."""
    await dealt(world, shoes)
    change(
        world,
        "UPDATE cursor SET sequence = 0 WHERE table_name = 'bac-901'",
        "UPDATE event SET data = replace(data, 'player', 'banker') WHERE table_name = 'bac-901' AND sequence = 4",
    )
    altered = world.journal.events()[3].data
    daemon = await world.start(*shoes)
    await daemon.looking(lambda: "differ from the hash of the row: the journal was changed; run: shoed" in str(daemon))
    await set_aside(world)
    assert altered not in [event["data"] for event in world.recorder.events(TABLE)]
    for shoe, table in zip(shoes, (TABLE, OTHER), strict=True):
        await shoe.connected()
        await shoe.say(NATURAL[0])
        assert (await world.recorder.event("card.drawn", table, shoe=2 if table == TABLE else 1))["index"] == 1
    assert world.recorder.statuses()[-1]["status"] == "online"
    assert await daemon.stop() == 0


async def test_damage_that_a_commit_finds_begins_a_new_journal(world: World, shoes: tuple[TcpShoe, TcpShoe]) -> None:
    """During play. The process continues; the card of the failed commit is not published, and the loss is named."""
    daemon = await world.serve(*shoes)
    for shoe, table in zip(shoes, (TABLE, OTHER), strict=True):
        await shoe.deal(*ROUNDS[:2])
        await world.recorder.event("round.confirmed", table, round=2)
    await daemon.looking(lambda: str(daemon).count("no change was found") == len(shoes))  # no other reader finds it
    events = len(world.recorder.events())
    with closing(sqlite3.connect(world.journal.path)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        ((page,),) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'event'")
    with world.journal.path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    await shoes[0].say(NATURAL[0])
    await set_aside(world)
    assert "the journal is damaged: " in str(daemon)
    assert "database disk image is malformed" in str(daemon)
    assert [each["type"] for each in world.recorder.events()[events:]][:1] == ["shoed.journal.continued"]
    await shoes[0].connected()
    await shoes[0].deal(ROUNDS[2])
    await world.recorder.event("round.confirmed", shoe=2)
    assert await daemon.stop() == 0
    new = [each.data for each in world.journal.events()]
    await world.recorder.until(lambda: len(world.recorder.events()) >= events + len(new))
    assert [each["data"] for each in world.recorder.events()[events:]] == new
