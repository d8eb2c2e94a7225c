"""Signed heads of a real daemon: in the journal, on the broker, at a witness, and against a rewritten journal."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from shoed.cli import ExitStatus
from shoed.journal.head_log import logged_heads
from shoed.journal.heads import HEAD_MOMENTS, Head, in_base64, is_genuine
from shoed.journal.keys import KEY_FILE, PUBLIC_FILE, daemon_key, read_public
from shoed.journal.witness import witnessed
from shoed.model.events import TYPES
from shoed.rig.broker import BrokerKind, running_broker
from tests.command_clients import shoed
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.test_journal_verify_heads import rehash, resign, sql
from tests.test_journal_witness import head, publish, witnessing
from tests.witnesses import TABLE
from tests.world import Daemon, World

MOMENTS = {f"shoed.{TYPES[each]}" for each in HEAD_MOMENTS}


def received(world: World) -> list[Head]:
    return [msgspec.json.decode(each.payload, type=Head) for each in world.recorder.on(f"{TABLE}/head")]


async def headed(world: World, row: int) -> Head:
    """The retained head of a row or of a later one."""
    return await world.recorder.until(lambda: next((each for each in received(world) if each.row >= row), None))


def moments(world: World) -> list[int]:
    """The rows in which a round or a shoe begins or ends."""
    return sorted({each.row for each in world.journal.events() if f"shoed.{each.type}" in MOMENTS})


async def played(world: World, shoe: TcpShoe, times: int = 1) -> Daemon:
    daemon = await world.serve(shoe)
    for number, each in enumerate(ROUNDS * times, start=1):
        await shoe.deal(each)
        await world.recorder.event("round.confirmed", round=number)
    return daemon


async def test_every_round_and_shoe_has_a_head(world: World) -> None:
    """In the journal and in `heads.jsonl`; the last row of a clean stop has one, too. All have genuine signatures."""
    async with TcpShoe() as shoe:
        daemon = await played(world, shoe)
        assert await daemon.stop() == 0
    rows = [row for (row,) in world.journal.ask("SELECT row FROM head ORDER BY row")]
    ((last,),) = world.journal.ask("SELECT max(row) FROM step")
    assert len(moments(world)) >= len(ROUNDS)
    assert set(moments(world)) <= set(rows)
    assert rows[-1] == last
    heads = list(logged_heads(world.state_dir))
    assert [each.row for each in heads] == rows
    assert all(map(is_genuine, heads))
    assert {each.key for each in heads} == {in_base64(read_public(world.state_dir / PUBLIC_FILE))}
    for each in heads:
        ((hashed, sequence),) = world.journal.ask(
            "SELECT hex(hash), (SELECT max(sequence) FROM event WHERE event.row <= ?1) FROM step WHERE row = ?1",
            each.row,
        )
        assert (each.hash.upper(), each.sequence, each.journal) == (hashed, sequence, world.journal.word)
    ends = [each for each in heads if each.row in moments(world)]
    assert [(each.shoe, each.round) for each in ends if each.round] == [(1, each + 1) for each in range(len(ROUNDS))]


async def test_the_newest_head_is_retained_after_its_events(world: World) -> None:
    """A subscriber that connects later receives it. A new connection to the broker repeats it."""
    async with TcpShoe() as shoe:
        daemon = await played(world, shoe)
        last = moments(world)[-1]
        assert is_genuine(await headed(world, last))
        assert all(each.retain for each in world.recorder.on(f"{TABLE}/head"))
        topics = [each.topic for each in world.recorder.messages]
        for each in world.recorder.on(f"{TABLE}/head"):
            place = world.recorder.messages.index(each)
            before = sum(topic.startswith(f"{TABLE}/event/") for topic in topics[:place])
            assert before >= each.json["sequence"]
        assert [each.sequence for each in received(world)] == sorted(each.sequence for each in received(world))
        assert await daemon.stop() == 0
        ((row,),) = world.journal.ask("SELECT max(row) FROM step")
        assert (await headed(world, row)).row == row
        count = len(received(world))
        await world.serve(shoe)
        await world.recorder.until(lambda: len(received(world)) > count)
        assert received(world)[count].row == row


async def test_the_head_of_a_closed_link_is_published_although_nothing_follows(world: World) -> None:
    """It is the newest one until the device returns."""
    async with TcpShoe() as shoe:
        await played(world, shoe)
        await headed(world, moments(world)[-1])
    await world.recorder.event("device.offline")
    (offline,) = [each for each in world.journal.events() if each.type == "device.offline"]
    assert (await headed(world, offline.row)).row == offline.row


async def test_a_broker_that_denies_heads_receives_the_events(tmp_path: Path) -> None:
    """The access list of an earlier version has no topic `head`: the log names it once, and nothing else changes."""
    allowed = tmp_path / "allowed"
    kinds = ("status", "state", "question", "event/#")
    allowed.write_text("".join(f"topic readwrite shoed/v1/+/+/{kind}\n" for kind in kinds))
    async with (
        running_broker(BrokerKind.MOSQUITTO, lines=[f"acl_file {allowed}"]) as strict,
        World(tmp_path, strict) as world,
        TcpShoe() as shoe,
    ):
        daemon = await played(world, shoe, 2)
        assert await daemon.stop() == 0
        await world.all_published()
        assert [each["status"] for each in world.recorder.statuses()] == ["online", "offline"]
        assert received(world) == []
        assert str(daemon).count(f"/{TABLE}/head") == 1


async def test_a_lost_key_is_replaced_and_on_record(world: World) -> None:
    """The tables continue; the log, the journal and the new heads name the change."""
    async with TcpShoe() as shoe:
        assert await (await played(world, shoe)).stop() == 0
        first = read_public(world.state_dir / PUBLIC_FILE)
        (world.state_dir / KEY_FILE).unlink()
        daemon = await world.serve(shoe)
        assert await daemon.stop() == 0
    (one, two) = world.journal.ask("SELECT public, reason, announced FROM key ORDER BY number")
    assert one == (first, "the first key of the journal", None)
    assert two[0] == read_public(world.state_dir / PUBLIC_FILE) != first
    assert "journal.key did not exist, and shoed made a new key" in two[1]
    assert "journal.key did not exist, and shoed made a new key" in str(daemon)
    assert "the key of the journal has changed" in str(daemon)


async def test_the_witness_accepts_an_announced_key(world: World) -> None:
    """The operator renames the key to `journal.key.old`. `verify` with the first key accepts both keys, too."""
    file, auditor = world.place / "witness.jsonl", world.place / "auditor.pub"
    url = f"mqtt://{world.broker.host}:{world.broker.port}"
    async with TcpShoe() as shoe, witnessing(file, "--url", url, "--site", world.site) as witness:
        await witness.prints("connected")
        assert await (await played(world, shoe)).stop() == 0
        shutil.copy(world.state_dir / PUBLIC_FILE, auditor)
        (world.state_dir / KEY_FILE).rename(world.state_dir / f"{KEY_FILE}.old")
        daemon = await world.serve(shoe)
        assert await daemon.stop() == 0  # its last row has a head
        await witness.prints("another key signs the heads, and the key before announced it")
        ((row,),) = world.journal.ask("SELECT max(row) FROM head")
        last = await headed(world, row)
        await publish(world.broker, head(1, table="last"), site=world.site)  # it follows all heads of the daemon
        await witness.prints("last: row 1")
        assert await witness.stop() == 0
    assert (last.previous, last.key) == tuple(
        in_base64(read_public(each)) for each in (auditor, world.state_dir / PUBLIC_FILE)
    )
    assert [each.problem for each in witnessed(file)] == [""] * len(list(witnessed(file)))
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))  # without the head of another journal
    audit = await shoed("journal", "verify", "--state-dir", world.state_dir, "--key", auditor, "--heads", file)
    assert (audit.status, audit.err) == (ExitStatus.GOOD, "")


async def test_the_key_may_be_a_credential_of_the_service(world: World) -> None:
    """No key is made in the state directory; the public key is written there."""
    folder = world.place / "credentials"
    folder.mkdir()
    key = daemon_key(folder, None)
    (folder / KEY_FILE).rename(folder / "journal-key")
    async with TcpShoe() as shoe:
        path = world.configure(shoe)
        path.write_text(path.read_text() + '\n[journal]\nkey_file = "credential:journal-key"\n')
        daemon = await world.launch(path, {"CREDENTIALS_DIRECTORY": str(folder)})
        await world.recorder.event("device.online")
        await shoe.connected()
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        key_of_head = (await headed(world, 1)).key
        assert await daemon.stop() == 0
    assert key_of_head == in_base64(key.public) == in_base64(read_public(world.state_dir / PUBLIC_FILE))
    assert not (world.state_dir / KEY_FILE).exists()


async def test_a_key_that_others_can_read_ends_the_start(world: World) -> None:
    """The exit status is 1, and the log has the command that corrects it."""
    async with TcpShoe() as shoe:
        assert await (await world.start(shoe)).stop() == 0
        (world.state_dir / KEY_FILE).chmod(0o644)
        daemon = await world.launch(world.configure(shoe))
        assert await daemon.ended() == 1
        assert f"run: chmod 0600 {world.state_dir / KEY_FILE}" in str(daemon)


async def test_the_copy_of_a_witness_proves_that_a_journal_was_rewritten(world: World) -> None:
    """The attacker replaces the whole chain, with all hashes and heads, and has no key of the daemon."""
    file, auditor = world.place / "witness.jsonl", world.place / "auditor.pub"
    url = f"mqtt://{world.broker.host}:{world.broker.port}"
    async with TcpShoe() as shoe, witnessing(file, "--url", url, "--site", world.site) as witness:
        await witness.prints("connected")
        daemon = await played(world, shoe, 2)
        assert await daemon.stop() == 0
        ((row,),) = world.journal.ask("SELECT max(row) FROM step")
        await headed(world, row)
        await publish(world.broker, head(1, table="last"), site=world.site)  # it follows all heads of the daemon
        await witness.prints("last: row 1: the first head")
        assert await witness.stop() == 0
    assert [each.row for each in witnessed(file)][-2:] == [row, 1]
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))  # without the head of another journal
    shutil.copy(world.state_dir / PUBLIC_FILE, auditor)
    words = ("journal", "verify", "--state-dir", world.state_dir)
    audit = (*words, "--key", auditor, "--heads", file)
    original = await shoed(*audit)
    assert (original.status, original.err) == (ExitStatus.GOOD, "")
    with closing(sqlite3.connect(world.journal.path, isolation_level=None)) as attacked:
        edit = (
            'UPDATE event SET data = replace(data, \'"outcome":"player"\', \'"outcome":"banker"\') WHERE sequence = ?'
        )
        (first, *_) = [each for each in world.journal.events() if each.type == "round.completed"]
        sql(edit, first.sequence)(attacked)
        rehash(attacked, TABLE)
        with_hashes = await shoed(*words, "--key", auditor)
        sql("DELETE FROM key")(attacked)
        resign(daemon_key(world.place, None), TABLE)(attacked)
    with_heads = await shoed(*words)
    by_key, by_witness = await shoed(*words, "--key", auditor), await shoed(*audit)
    assert with_heads.status == ExitStatus.GOOD  # without the public key, it looks original
    assert (with_hashes.status, by_key.status, by_witness.status) == (ExitStatus.WRONG,) * 3
    assert f"of row {first.row}" in with_hashes.out or f"rows {first.row}-" in with_hashes.out
    assert "which no trusted key announced" in by_key.out
    assert "the journal was rewritten" in by_witness.out
