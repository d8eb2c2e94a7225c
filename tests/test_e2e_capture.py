"""Captures as people take and play them: from a line, from a running daemon, and back through another one."""

import asyncio
import contextlib
import os
import shlex
import signal
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from shoed.ports.capture import Capture, Direction, parse
from shoed.ports.tell import NAME
from shoed.rig import golden
from tests.foreign_shoe import COPIES, ROUNDS, Shoe, TcpShoe
from tests.tellers import Said, client, shoed
from tests.witnesses import TABLE
from tests.world import LINES, SHOED, Daemon, World, shoe_on

SAID: Final = b"".join(bytes.fromhex(frame) * COPIES for each in ROUNDS for frame in each.frames)
HEADER: Final = "shoed-capture 1\nfamily angel-eye\nfirmware ii-ex\nline 4800 8N1\n\n"


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


def heard(capture: Capture) -> bytes:
    return b"".join(record.data for record in capture.records if record.direction is Direction.FROM_DEVICE)


def read(path: Path) -> Capture:
    return parse(path.read_text(), str(path))


@contextlib.asynccontextmanager
async def capturing(shoe: Shoe, out: Path) -> AsyncIterator[Daemon]:
    """`shoed capture` on the shoe's line, listening."""
    log = out.with_suffix(".log")
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(SHOED, "capture", shoe.port, "--protocol", "angel-eye", "--out", str(out)), stderr=output
        )
    running = Daemon(process, log)
    try:
        await running.looking(lambda: out.exists() and out.stat().st_size)  # the header: the line is open
        yield running
    finally:
        if process.returncode is None:
            await running.kill()


# ---------------------------------------------------------------------------------------------- from a line


@pytest.mark.parametrize("line", LINES)
async def test_a_line_is_written_down_as_it_comes(tmp_path: Path, line: str) -> None:
    """All bytes, in order, each with its moment; a signal ends it with 0, and only its user may read it."""
    out = tmp_path / "one.capture"
    async with shoe_on(line, tmp_path) as shoe, capturing(shoe, out) as running:
        await shoe.deal(*ROUNDS)
        await running.looking(lambda: heard(read(out)) == SAID)
        assert await running.stop() == 0
    found = read(out)
    assert (found.header.family, found.header.firmware, str(found.header.line)) == ("angel-eye", "ii-ex", "4800 8N1")
    assert found.header.started is not None
    assert "origin" not in dict(found.header.others)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGINT])
async def test_whatever_ends_it_the_file_is_whole(tmp_path: Path, shoe: TcpShoe, number: signal.Signals) -> None:
    """In the midst of traffic: what is there can be read, and is what was said up to there."""
    out = tmp_path / "one.capture"
    async with capturing(shoe, out) as running:
        dealing = asyncio.create_task(shoe.deal(*ROUNDS * 20))
        await running.looking(lambda: out.stat().st_size > 5000)
        running.process.send_signal(number)
        assert await running.ended() == (-number if number == signal.SIGKILL else 0)
        dealing.cancel()
        await asyncio.gather(dealing, return_exceptions=True)
    found = heard(read(out))
    assert len(found) > 1000
    assert (SAID * 20).startswith(found)


async def test_a_full_disk_leaves_a_whole_file(tmp_path: Path) -> None:
    """The record that has no room is taken back, and it is said."""
    source, out = tmp_path / "source.capture", tmp_path / "one.capture"
    source.write_text(HEADER + "".join(f"0.000000 < {'05 ' * 40}\n" for _ in range(100)))
    command = shlex.join(
        ["shoed", "capture", f"replay:{source}?speed=fast", "--protocol", "angel-eye", "--out", str(out)]
    )
    child = await asyncio.create_subprocess_shell(
        f"ulimit -f 8; exec {command.replace('shoed', SHOED, 1)}", stderr=asyncio.subprocess.PIPE
    )
    _, said = await child.communicate()
    assert child.returncode == 1
    assert b"the capture is whole up to here" in said
    assert 1000 < len(heard(read(out))) < 4000


async def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """Nobody loses evidence by a name that was used before."""
    source = tmp_path / "source.capture"
    source.write_text(HEADER)
    said = await shoed("capture", f"replay:{source}", "--protocol", "angel-eye", "--out", source)
    assert (said.status, said.out) == (1, "")
    assert f"{source}: is there already" in said.err
    assert source.read_text() == HEADER


async def test_a_line_that_cannot_be_had_leaves_no_file(tmp_path: Path) -> None:
    """So that the same command may be given again."""
    out = tmp_path / "one.capture"
    said = await shoed("capture", "tcp://127.0.0.1:1", "--protocol", "angel-eye", "--out", out)
    assert (said.status, said.out) == (1, "")
    assert "tcp://127.0.0.1:1" in said.err
    assert not out.exists()


async def test_it_ends_when_its_time_is_over(shoe: TcpShoe) -> None:
    """With what came by then: here nothing, on the standard output."""
    said = await shoed("capture", shoe.port, "--protocol", "angel-eye", "--seconds", "0.05")
    assert (said.status, said.err) == (0, "")
    assert parse(said.out, "out").records == ()


async def test_a_line_that_is_lost_ends_it_with_1(tmp_path: Path, shoe: TcpShoe) -> None:
    """And the reason: what was to be captured is not all there."""
    out = tmp_path / "one.capture"
    async with capturing(shoe, out) as running:
        await shoe.connected()
        await shoe.cut()
        assert await running.ended() == 1
        assert str(running).strip()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("tcp://127.0.0.1:1", "no family is named; give --protocol FAMILY, of angel-eye"),
        ("tcp://127.0.0.1:1 --protocol bee", "--protocol bee: no such family"),
        (
            "tcp://127.0.0.1:1 --protocol angel-eye --firmware 9",
            "--firmware 9: angel-eye has no such version",
        ),
        ("/dev/ttyS0 --protocol angel-eye", "write serial:///dev/ttyS0"),
        ("tcp://127.0.0.1:1 bac-901", "shoed capture --help"),
        ("save", "shoed capture --help"),
    ],
)
async def test_wrong_use_is_status_2(words: str, wanted: str) -> None:
    """With what would be right."""
    said = await shoed("capture", *words.split())
    assert (said.status, said.out) == (2, "")
    assert wanted in said.err


# ---------------------------------------------------------------------------------------------- from the daemon


async def saved(world: World, *words: str | Path) -> Said:
    return await shoed("capture", "save", *words, "--state-dir", world.state_dir)


async def test_the_daemon_gives_what_a_shoe_said_lately(world: World, shoe: TcpShoe) -> None:
    """As a capture that plays like any other: the same cards come of it; the daemon itself writes nothing."""
    await world.serve(shoe)
    await shoe.deal(*ROUNDS)
    await world.settled(shoe)
    out = world.place / "one.capture"
    said = await saved(world, TABLE, "--out", out)
    assert said == Said(0, "", "")
    found = read(out)
    assert heard(found).startswith(SAID)
    assert TABLE in (found.header.note or "")
    assert "the link is open" in out.read_text()
    drawn = [each.data for each in golden.play(found.header, golden.script(found)).events if each.type == "card.drawn"]
    assert len(drawn) == world.journal.count("card.drawn") == sum(len(each.drawn) for each in ROUNDS)
    assert {path.name.partition("-")[0] for path in world.state_dir.iterdir()} <= {"journal.db", "lock", NAME}


async def test_a_device_that_is_not_there_is_refused(world: World, shoe: TcpShoe) -> None:
    """With those that are; nothing is written."""
    await world.start(shoe)
    out = world.place / "one.capture"
    for words, wanted in (
        (("bac-999",), "bac-999: no such table; known: bac-901"),
        ((TABLE, "--device", "oven"), "bac-901 has no oven; known: shoe"),
    ):
        said = await saved(world, *words, "--out", out)
        assert (said.status, said.out) == (1, "")
        assert wanted in said.err
    assert not out.exists()


async def test_the_socket_gives_it_to_programs(world: World, shoe: TcpShoe) -> None:
    """One line of JSON each way; the connection stays, also for commands."""
    await world.start(shoe)
    async with client(world.state_dir) as someone:
        someone.writer.write(b'{"table": "bac-901", "id": "7", "capture": "shoe"}\n')
        line = await someone.reader.readline()
        assert b'"capture":"shoed-capture 1\\n' in line
        answer = await someone.say(b'{"table": "bac-901", "id": "8", "capture": "shuffler"}\n')
        assert answer is not None
        assert (answer.id, answer.accepted) == ("8", False)


# ---------------------------------------------------------------------------------------------- and back again


def play(world: World, shoe: Shoe, path: Path, *words: str) -> tuple[str | Path, ...]:
    config = world.configure(shoe)
    return "replay", path, "--config", config, "--table", TABLE, *words


async def test_a_capture_goes_through_the_daemon_to_the_last_event(world: World, shoe: TcpShoe) -> None:
    """As fast as it goes: when the command ends with 0, all is on record and the broker has it."""
    path = golden.FAMILIES_HERE / "angel_eye" / "captures" / "rounds.capture"
    said = await shoed(*play(world, shoe, path, "--fast"))
    assert (said.status, said.out) == (0, "")
    await world.all_told()
    wanted = [each.type for each in golden.play(golden.load(path).header, golden.script(golden.load(path))).events]
    assert [row.type for row in world.journal.events()] == wanted
    await world.recorder.status("offline")
    assert (await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)).status == 0


async def test_without_a_broker_it_waits_and_a_signal_ends_it(world: World, shoe: TcpShoe, tmp_path: Path) -> None:
    """With 1, and the reason: not all of it is told. What was played is on record."""
    path = golden.FAMILIES_HERE / "angel_eye" / "captures" / "both-pairs.capture"
    config = world.configure(shoe, port=1)
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(SHOED, "replay", str(path), "--config", str(config), "--table", TABLE, "--fast"),
            stderr=output,
            env={**os.environ, "NOTIFY_SOCKET": str(world.place / "notify")},
        )
    running = Daemon(process, log)
    world.daemons.append(running)  # who is told that it is ready
    await running.ready()
    await running.looking(lambda: world.journal.count("device.offline"))
    assert await running.stop() == 1
    assert "not all of it is told: broker " in str(running)
    assert world.journal.count("round.confirmed") == 1


async def test_a_capture_with_damage_in_it_ends_with_1(world: World, shoe: TcpShoe, tmp_path: Path) -> None:
    """What stands before the damage is played, and its line is named."""
    path = tmp_path / "one.capture"
    path.write_text(HEADER + "0.000000 < 05 31 44 81 B8 03 34 46\nnonsense\n")
    said = await shoed(*play(world, shoe, path, "--fast"))
    assert said.status == 1
    assert f"{path}:7: " in said.err
    assert world.journal.count("card.drawn") == 1


async def test_what_cannot_be_played_is_said_before_anything_is_opened(
    world: World, shoe: TcpShoe, tmp_path: Path
) -> None:
    """No such table, no such file, no capture, or one of another device."""
    other = golden.FAMILIES_HERE / "bee_tek" / "captures" / "rounds.capture"
    shuffler = golden.FAMILIES_HERE / "open_shoe" / "captures" / "v1-failures.capture"
    for path, words, status, wanted in (
        (other, (), 2, "a capture of bee-tek any, and bac-901 has a angel-eye ii-ex"),
        (shuffler, (), 2, "a capture of a shuffler, and a shoe's is played"),
        (tmp_path / "none", (), 1, "give a capture"),
        (world.configure(shoe), (), 1, "the first line must be shoed-capture 1"),
        (other, ("--table", "bac-9"), 2, "--table bac-9: no such table; known: bac-901"),
    ):
        said = await shoed(*play(world, shoe, path, *words))
        assert (said.status, said.out) == (status, "")
        assert wanted in said.err
    assert not world.state_dir.exists()
