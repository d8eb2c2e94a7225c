"""`shoed restart --between-rounds` through a real daemon: it ends between two rounds, or continues."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from shoed.model.commands import Answer
from shoed.service.command_socket import address
from tests.command_clients import Finished, shoed
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe
from tests.patience import PATIENCE_S
from tests.witnesses import TABLE
from tests.world import SHOED, World


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


async def restart(world: World, *words: str) -> Finished:
    return await shoed("restart", "--between-rounds", *words, "--state-dir", world.state_dir)


async def test_it_ends_a_daemon_between_two_rounds(world: World, shoe: TcpShoe) -> None:
    """The exit status of the daemon is 0, its events are published, and its next process continues the record."""
    daemon = await world.serve(shoe)
    await shoe.deal(ROUNDS[0])
    await world.recorder.event("round.confirmed")
    done = await restart(world)
    assert done == Finished(0, "shoed ended between two rounds; systemd starts the installed version\n", "")
    assert await daemon.ended() == 0
    await world.recorder.status("offline")
    await world.all_published()
    await world.serve(shoe)


async def test_without_systemd_a_person_starts_the_daemon_again(world: World, shoe: TcpShoe) -> None:
    """The command does not name a supervisor that it does not know."""
    daemon = await world.launch(world.configure(shoe), {"NOTIFY_SOCKET": ""})
    await world.recorder.event("device.online")
    done = await restart(world)
    assert (done.status, await daemon.ended()) == (0, 0)
    assert "start shoed again, unless another supervisor starts it" in done.out
    assert "systemd starts" not in done.out


async def test_it_waits_for_the_end_of_the_round(world: World, shoe: TcpShoe) -> None:
    """It prints the round that it waits for. The daemon ends after the last card of the round."""
    daemon = await world.serve(shoe)
    await shoe.say(NATURAL[0])
    await world.recorder.event("card.drawn")
    words = ("restart", "--between-rounds", "--state-dir", world.state_dir)
    process = await asyncio.create_subprocess_exec(SHOED, *words, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            assert await process.stdout.readline() == f"waits for {TABLE}: the end of round 1.1\n".encode()
            assert daemon.process.returncode is None
            await shoe.say(*NATURAL[1:])
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert (process.returncode, out.count(b"\n")) == (0, 1)
    assert await daemon.ended() == 0
    assert world.journal.count("round.completed") == 1


async def test_after_the_limit_the_daemon_continues(world: World, shoe: TcpShoe) -> None:
    """The status is 1, the error names the remedy, and the round ends as any other round."""
    await world.serve(shoe)
    await shoe.say(NATURAL[0])
    await world.recorder.event("card.drawn")
    done = await restart(world, "--within", "0")
    assert (done.status, done.out) == (1, f"waits for {TABLE}: the end of round 1.1\n")
    assert "not restarted within 0 minutes; the daemon continues" in done.err
    assert "systemctl restart shoed" in done.err
    await shoe.say(*NATURAL[1:])
    await world.recorder.event("round.completed")


async def test_without_a_daemon_it_is_an_error(tmp_path: Path) -> None:
    """The status is 3, and the error names the state directory and the remedy."""
    done = await shoed("restart", "--between-rounds", "--state-dir", tmp_path)
    assert (done.status, done.out) == (3, "")
    assert f"{tmp_path}: shoed does not run in this state directory" in done.err


@pytest.mark.parametrize(
    ("detail", "is_old"),
    [('"restart" is not a key; give one of table, id', True), ("32 clients are connected; close one of them", False)],
)
async def test_a_refusal_has_its_reason(tmp_path: Path, detail: str, *, is_old: bool) -> None:
    """An older daemon answers as to any unknown key, and the error names the other command."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(msgspec.json.encode(Answer("7", accepted=False, detail=detail)) + b"\n")
        await writer.drain()
        writer.close()

    with address(tmp_path) as path:
        server = await asyncio.start_unix_server(serve, path)
    async with server:
        done = await shoed("restart", "--between-rounds", "--state-dir", tmp_path)
    assert (done.status, done.out) == (1, "")
    assert detail in done.err
    assert ("this shoed is too old for the request" in done.err) is is_old
    assert ("systemctl restart shoed" in done.err) is is_old


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ((), "--between-rounds"),
        (("--between-rounds", "--within", "soon"), '"soon" is not a time; write whole minutes, from 0'),
        (("--between-rounds", "--within", "-1"), "write whole minutes, from 0"),
    ],
)
async def test_wrong_use_is_refused(words: tuple[str, ...], wanted: str) -> None:
    """The status is 2, and the message has the remedy."""
    done = await shoed("restart", *words)
    assert done.status == 2
    assert wanted in done.err
