"""Backup, restore and retention with a running daemon and a real broker."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from shoed.journal.keys import PUBLIC_FILE, read_public
from tests.command_clients import shoed
from tests.foreign_journal import ForeignVerifier
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.long_record import LongRecord
from tests.losses import Site
from tests.test_backup import findings
from tests.witnesses import TABLE, Journal
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
    assert list(ForeignVerifier(world.journal.path, [read_public(world.state_dir / PUBLIC_FILE)]).problems()) == []


@pytest.mark.parametrize("beside", ["heads", "journal", "nothing"])
async def test_after_a_restore_no_round_has_a_used_number(world: World, beside: str) -> None:
    """The later rounds are known by the heads, by the replaced journal, or only by the broker."""
    target = world.place / "backup"
    async with TcpShoe() as shoe:
        site = Site(world, shoe)
        await site.play(8)
        await journal("backup", target, "--state-dir", world.state_dir)
        await site.play(25, kill=True)
        if beside != "heads":
            site.forget_heads()
        if beside != "journal":
            site.remove()
        await journal("restore", target, "--state-dir", world.state_dir)
        await site.play(25, after=2 if beside == "nothing" else 1)
        site.check()
        assert site.rounds_are_unique()
        assert {each["reason"] for each in site.continued()} == {"restored"}
        known = site.continued()
        assert known[-1]["known"] is not None
        (started,) = [each for each in world.recorder.of("shoe.started") if each["shoe_integrity"] == "partial"][-1:]
        assert started["shoe"] == 2
        await site.play(8)
        assert site.continued() == known
        await site.verified()


async def test_the_daemon_deletes_old_rows_while_it_deals(world: World) -> None:
    """The rest is verified from the cut and recomputed from its first checkpoint; play continues after a kill."""
    with LongRecord(world.state_dir) as record:
        record.deal(12)
    (before,) = world.journal.ask("SELECT min(row), max(row) FROM step")
    async with TcpShoe() as shoe:
        path = world.configure(shoe)
        path.write_text(f"{path.read_text()}\n[journal]\nkeep_days = 5\n")
        daemon = await world.launch(path)
        await daemon.ready()
        await shoe.connected()
        await shoe.deal(ROUNDS[0])
        await daemon.looking(lambda: "the journal begins with row" in str(daemon))
        await shoe.deal(ROUNDS[1])
        await world.settled(shoe)
        await daemon.kill()
        (after,) = world.journal.ask("SELECT min(row), max(row) FROM step")
        assert before[0] == 1 < after[0] < before[1] < after[1]
        shutil.copytree(world.state_dir, world.place / "copy", ignore=shutil.ignore_patterns("*.sock"))
        assert findings(world.place / "copy") == []
        replayed = await shoed("journal", "replay", "--check", "--state-dir", world.place / "copy")
        assert replayed.status == 0
        assert replayed.err.startswith(f"{TABLE}: the record begins with row {after[0]}, in shoe ")
        daemon = await world.launch(path)
        await daemon.ready()
        await shoe.connected()
        await shoe.deal(ROUNDS[2])
        await world.settled(shoe)
        assert await daemon.stop() == 0
    assert findings(world.state_dir) == []
    assert list(ForeignVerifier(world.journal.path).problems()) == []
    out = await journal("status", "--state-dir", world.state_dir)
    assert f"{TABLE}: " in out
    assert "days" in out
