"""Backup and restore with a running daemon and a real broker."""

import asyncio
from pathlib import Path
from typing import Any

from tests.command_clients import shoed
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.test_backup import findings
from tests.witnesses import Journal
from tests.world import World


async def journal(*words: str | Path) -> str:
    finished = await shoed("journal", *words)
    assert (finished.status, finished.err) == (0, ""), finished
    return finished.out


def contents(world: World) -> dict[str, Any]:
    """By id: the type, the time and the data of every received event. One id never has two contents."""
    found: dict[str, Any] = {}
    for event in world.recorder.events():
        content = event["type"], event["time"], event["data"]
        assert found.setdefault(event["id"], content) == content
    return found


async def test_a_backup_while_the_daemon_deals(world: World) -> None:
    """Each backup is verified and recomputed, and the last one has every row. The daemon is not disturbed."""
    target = world.place / "backup"
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        dealing = asyncio.create_task(shoe.deal(*ROUNDS * 4))
        while not dealing.done():
            await journal("backup", target, "--state-dir", world.state_dir)
            assert findings(target) == []
        await dealing
        await world.recorder.event("round.confirmed", number=4 * len(ROUNDS))
        await world.settled(shoe)
        assert await daemon.stop() == 0
    await journal("backup", target, "--state-dir", world.state_dir)
    assert Journal(target / "journal.db").events() == world.journal.events()
    assert "without a difference" in await journal("replay", "--check", "--state-dir", target)


async def test_a_restored_journal_never_repeats_an_id(world: World) -> None:
    """The rounds after the backup are lost, and the rounds after the restore have the same numbers, but other ids."""
    target = world.place / "backup"
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.deal(*ROUNDS[:2])
        await world.recorder.event("round.confirmed", round=2)
        await journal("backup", target, "--state-dir", world.state_dir)
        await shoe.deal(*ROUNDS[2:4])
        await world.recorder.event("round.confirmed", round=4)
        await world.settled(shoe)
        await daemon.kill()
    before = contents(world)
    out = await journal("restore", target, "--state-dir", world.state_dir)
    assert "restored up to row" in out
    assert "journal-replaced-" in out
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.deal(ROUNDS[4])
        await world.recorder.until(lambda: len(contents(world)) > len(before) + len(ROUNDS[4].frames))
        assert await daemon.stop() == 0
    after = contents(world)
    assert after.items() >= before.items()
    words = {name.partition("-")[0] for name in after}
    assert len(words) == 2
    new = [int(event["sequence"]) for event in world.recorder.events() if event["id"] not in before]
    assert min(new) <= max(int(name.rpartition("-")[2]) for name in before), "the numbers continue after the backup"
    assert findings(world.state_dir) == []
