"""A changed journal and a real daemon: it never publishes a changed event, and never continues from a changed row."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing

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


async def failure(world: World) -> str:
    """Wait until the status of the first table is offline because of a row; return the reason."""
    start = "table failed: bac-901: row "
    await world.recorder.until(lambda: world.recorder.statuses()[-1]["reason"].startswith(start))
    assert world.recorder.statuses()[-1]["status"] == "offline"
    return str(world.recorder.statuses()[-1]["reason"])


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


async def test_a_table_does_not_continue_from_a_changed_row(world: World, shoes: tuple[TcpShoe, TcpShoe]) -> None:
    """The row is after the last checkpoint. The table stops, and names the row and the remedy; the other one plays."""
    await dealt(world, shoes, kill=True)
    change(
        world,
        "UPDATE event SET data = replace(data, 'card', 'cart') WHERE table_name = 'bac-901' AND type = 'card.drawn'"
        " AND row > (SELECT max(row) FROM checkpoint WHERE table_name = 'bac-901')",
    )
    states = len(world.recorder.states())
    daemon = await world.start(*shoes)
    assert "run: shoed journal verify" in await failure(world)
    assert len(world.recorder.states()) == states, "the retained state of before remains"
    await shoes[1].say(NATURAL[0])
    await world.recorder.event("card.drawn", OTHER)
    await daemon.stop()


async def test_a_changed_event_is_not_published(world: World, shoes: tuple[TcpShoe, TcpShoe]) -> None:
    """The broker does not have the event yet: the daemon stops the table in place of a publication."""
    await dealt(world, shoes)
    change(
        world,
        "UPDATE cursor SET sequence = 0 WHERE table_name = 'bac-901'",
        "UPDATE event SET data = replace(data, 'player', 'banker') WHERE table_name = 'bac-901' AND sequence = 4",
    )
    altered = world.journal.events()[3].data
    daemon = await world.start(*shoes)
    assert "differ from the hash of the row: the journal was changed; run: shoed" in await failure(world)
    await shoes[1].say(NATURAL[0])
    await world.recorder.event("card.drawn", OTHER)
    assert altered not in [event["data"] for event in world.recorder.events(TABLE)]
    await daemon.stop()
