"""Captures by command: from a line, from a running daemon, and replayed through a daemon."""

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
from shoed.rig import golden
from shoed.service.command_socket import NAME
from tests.command_clients import Finished, client, shoed
from tests.foreign_shoe import COPIES, ROUNDS, Shoe, TcpShoe
from tests.witnesses import TABLE
from tests.world import LINES, SHOED, Daemon, World, shoe_on

SENT: Final = b"".join(bytes.fromhex(frame) * COPIES for each in ROUNDS for frame in each.frames)
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
    """`shoed capture` on the line of the shoe, after the line is open."""
    log = out.with_suffix(".log")
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(SHOED, "capture", shoe.port, "--protocol", "angel-eye", "--out", str(out)), stderr=output
        )
    running = Daemon(process, log)
    try:
        await running.looking(lambda: out.exists() and out.stat().st_size)  # the header: the line is open
        await shoe.connected()
        yield running
    finally:
        if process.returncode is None:
            await running.kill()


# ---------------------------------------------------------------------------------------------- from a line


@pytest.mark.parametrize("line", LINES)
async def test_a_line_is_recorded_with_its_times(tmp_path: Path, line: str) -> None:
    """All bytes are recorded in order. A signal ends the command with 0, and only its user may read the file."""
    out = tmp_path / "one.capture"
    async with shoe_on(line, tmp_path) as shoe, capturing(shoe, out) as running:
        await shoe.deal(*ROUNDS)
        await running.looking(lambda: heard(read(out)) == SENT)
        assert await running.stop() == 0
    found = read(out)
    assert (found.header.family, found.header.firmware, str(found.header.line)) == ("angel-eye", "ii-ex", "4800 8N1")
    assert found.header.started is not None
    assert "origin" not in dict(found.header.others)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGINT])
async def test_the_file_is_valid_after_any_signal(tmp_path: Path, shoe: TcpShoe, number: signal.Signals) -> None:
    """The signal arrives during traffic. The file contains the bytes up to the signal."""
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
    assert (SENT * 20).startswith(found)


async def test_a_full_disk_leaves_a_valid_file(tmp_path: Path) -> None:
    """An incomplete record is removed, and the error is reported."""
    source, out = tmp_path / "source.capture", tmp_path / "one.capture"
    source.write_text(HEADER + "".join(f"0.000000 < {'05 ' * 40}\n" for _ in range(100)))
    command = shlex.join(
        [SHOED, "capture", f"replay:{source}?speed=fast", "--protocol", "angel-eye", "--out", str(out)]
    )
    child = await asyncio.create_subprocess_shell(f"ulimit -f 8; exec {command}", stderr=asyncio.subprocess.PIPE)
    _, finished = await child.communicate()
    assert child.returncode == 1
    assert b"the records in the file are complete" in finished
    assert 1000 < len(heard(read(out))) < 4000


async def test_a_disk_without_space_for_one_record_has_no_file(world: World, shoe: TcpShoe, tmp_path: Path) -> None:
    """The same holds for the recent traffic, which is one record here. The error has the remedy."""
    await world.serve(shoe)
    await shoe.connected()
    source = tmp_path / "source.capture"
    source.write_text(f"{HEADER}0.000000 < 05\n")
    for words in (
        (f"replay:{source}", "--protocol", "angel-eye"),
        ("save", TABLE, "--state-dir", str(world.state_dir)),
    ):
        out = tmp_path / "one.capture"
        command = shlex.join([SHOED, "capture", *words, "--out", str(out)])
        child = await asyncio.create_subprocess_shell(f"ulimit -f 0; exec {command}", stderr=asyncio.subprocess.PIPE)
        _, error = await child.communicate()
        assert child.returncode == 1
        assert b"free space on the disk, or set --out to a file on another disk; no file was made" in error
        assert not out.exists()


async def test_an_existing_file_is_not_changed(tmp_path: Path) -> None:
    """A name that was used before does not destroy evidence."""
    source = tmp_path / "source.capture"
    source.write_text(HEADER)
    finished = await shoed("capture", f"replay:{source}", "--protocol", "angel-eye", "--out", source)
    assert (finished.status, finished.out) == (1, "")
    assert f"{source}: the file exists, and is not changed" in finished.err
    assert source.read_text() == HEADER


async def test_a_line_that_cannot_be_opened_leaves_no_file(tmp_path: Path) -> None:
    """The same command can be used again."""
    out = tmp_path / "one.capture"
    finished = await shoed("capture", "tcp://127.0.0.1:1", "--protocol", "angel-eye", "--out", out)
    assert (finished.status, finished.out) == (1, "")
    assert "tcp://127.0.0.1:1" in finished.err
    assert not out.exists()


async def test_the_command_ends_at_its_time_limit(shoe: TcpShoe) -> None:
    """The standard output has the capture; here it has no records."""
    finished = await shoed("capture", shoe.port, "--protocol", "angel-eye", "--seconds", "0.05")
    assert (finished.status, finished.err) == (0, "")
    assert parse(finished.out, "out").records == ()


async def test_a_lost_line_ends_the_command_with_1(tmp_path: Path, shoe: TcpShoe) -> None:
    """The error contains the reason, because the capture is not complete."""
    out = tmp_path / "one.capture"
    async with capturing(shoe, out) as running:
        await shoe.cut()
        assert await running.ended() == 1
        assert str(running).strip()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("tcp://127.0.0.1:1", "the option --protocol is missing; add --protocol FAMILY, with one of angel-eye"),
        ("tcp://127.0.0.1:1 --protocol bee", "--protocol bee: this family does not exist"),
        (
            "tcp://127.0.0.1:1 --protocol angel-eye --firmware 9",
            "--firmware 9: angel-eye does not have this version",
        ),
        ("/dev/ttyS0 --protocol angel-eye", "write serial:///dev/ttyS0"),
        ("tcp://127.0.0.1:1 bac-901", "write shoed capture save TABLE, or shoed capture PORT"),
        ("save", "save requires a TABLE"),
    ],
)
async def test_wrong_use_has_status_2(words: str, wanted: str) -> None:
    """The error contains a remedy."""
    finished = await shoed("capture", *words.split())
    assert (finished.status, finished.out) == (2, "")
    assert wanted in finished.err


# ---------------------------------------------------------------------------------------------- from the daemon


async def saved(world: World, *words: str | Path) -> Finished:
    return await shoed("capture", "save", *words, "--state-dir", world.state_dir)


async def test_the_daemon_returns_the_recent_traffic_of_a_shoe(world: World, shoe: TcpShoe) -> None:
    """The text is a valid capture with the same cards. The daemon writes no file."""
    await world.serve(shoe)
    await shoe.deal(*ROUNDS)
    await world.settled(shoe)
    out = world.place / "one.capture"
    finished = await saved(world, TABLE, "--out", out)
    assert finished == Finished(0, "", "")
    found = read(out)
    assert heard(found).startswith(SENT)
    assert TABLE in (found.header.note or "")
    assert "the link is open" in out.read_text()
    drawn = [each.data for each in golden.play(found.header, golden.script(found)).events if each.type == "card.drawn"]
    assert len(drawn) == world.journal.count("card.drawn") == sum(len(each.drawn) for each in ROUNDS)
    ours = {"journal.db", "journal.key", "journal.pub", "heads.jsonl", "lock", NAME}
    assert {path.name.partition("-")[0] for path in world.state_dir.iterdir()} <= ours


async def test_an_unknown_device_is_refused(world: World, shoe: TcpShoe) -> None:
    """The error lists the known devices, and no file is written."""
    await world.start(shoe)
    out = world.place / "one.capture"
    for words, wanted in (
        (("bac-999",), "bac-999: no such table; known: bac-901"),
        ((TABLE, "--device", "oven"), "bac-901 has no oven; known: shoe"),
    ):
        finished = await saved(world, *words, "--out", out)
        assert (finished.status, finished.out) == (1, "")
        assert wanted in finished.err
    assert not out.exists()


async def test_the_command_socket_returns_a_capture(world: World, shoe: TcpShoe) -> None:
    """The request and the answer are one line of JSON each. The connection stays open for commands."""
    await world.start(shoe)
    async with client(world.state_dir) as someone:
        someone.writer.write(b'{"table": "bac-901", "id": "7", "capture": "shoe"}\n')
        line = await someone.reader.readline()
        assert b'"capture":"shoed-capture 1\\n' in line
        answer = await someone.request(b'{"table": "bac-901", "id": "8", "capture": "shuffler"}\n')
        assert answer is not None
        assert (answer.id, answer.accepted) == ("8", False)


# ---------------------------------------------------------------------------------------------- replay


def play(world: World, shoe: Shoe, path: Path, *words: str) -> tuple[str | Path, ...]:
    config = world.configure(shoe)
    return "replay", path, "--config", config, "--table", TABLE, *words


async def test_a_capture_is_replayed_to_the_last_event(world: World, shoe: TcpShoe) -> None:
    """The test uses the fast speed. At status 0, all Steps are recorded and the broker has all events."""
    path = golden.FAMILIES_HERE / "angel_eye" / "captures" / "rounds.capture"
    finished = await shoed(*play(world, shoe, path, "--fast"))
    assert (finished.status, finished.out) == (0, "")
    await world.all_published()
    wanted = [each.type for each in golden.play(golden.load(path).header, golden.script(golden.load(path))).events]
    assert [row.type for row in world.journal.events()] == wanted
    await world.recorder.status("offline")
    assert (await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)).status == 0


async def test_a_replay_needs_no_secret(world: World, shoe: TcpShoe) -> None:
    """The credentials of the service are left out, with a warning for each of the broker."""
    path = golden.FAMILIES_HERE / "open_shoe" / "captures" / "v1-rounds.capture"
    config = world.configure(shoe, protocol="open-shoe", shoe_settings='key_file = "credential:shoe"')
    credentials = '[mqtt]\nuser = "shoed"\npassword_file = "credential:password"'
    config.write_text(config.read_text().replace("[mqtt]", credentials))
    finished = await shoed("replay", path, "--config", config, "--table", TABLE, "--fast")
    assert (finished.status, finished.out) == (0, "")
    assert finished.err.startswith(f"warning: {config}:")
    assert finished.err.count("; the replay continues without it\n") == 1
    await world.all_published()


async def test_without_a_broker_the_replay_waits_until_a_signal(world: World, shoe: TcpShoe, tmp_path: Path) -> None:
    """The status is 1, with the reason. The whole capture is recorded."""
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
    world.daemons.append(running)  # the daemon reports READY to its socket
    await running.ready()
    await running.looking(lambda: world.journal.count("device.offline"))
    assert await running.stop() == 1
    assert "not all events are published (broker: " in str(running)
    assert world.journal.count("round.confirmed") == 1


async def test_a_capture_with_an_error_ends_with_1(world: World, shoe: TcpShoe, tmp_path: Path) -> None:
    """The records before the error are played, and the message contains the line."""
    path = tmp_path / "one.capture"
    path.write_text(HEADER + "0.000000 < 05 31 44 81 B8 03 34 46\nnonsense\n")
    finished = await shoed(*play(world, shoe, path, "--fast"))
    assert finished.status == 1
    assert f"{path}:7: " in finished.err
    assert world.journal.count("card.drawn") == 1


async def test_a_capture_that_cannot_be_played_is_refused_before_the_start(
    world: World, shoe: TcpShoe, tmp_path: Path
) -> None:
    """The table is unknown, the file does not exist, is not a capture, or is of another device."""
    other = golden.FAMILIES_HERE / "bee_tek" / "captures" / "rounds.capture"
    shuffler = golden.FAMILIES_HERE / "open_shoe" / "captures" / "v1-failures.capture"
    for path, words, status, wanted in (
        (other, (), 2, "the capture is of bee-tek any, but the shoe of bac-901 is angel-eye ii-ex"),
        (shuffler, (), 2, "the capture is of a shuffler; write a capture of a shoe"),
        (tmp_path / "none", (), 1, "write the path of a capture"),
        (world.configure(shoe), (), 1, "the first line must be shoed-capture 1"),
        (other, ("--table", "bac-9"), 1, "bac-9: no such table; known: bac-901"),
    ):
        finished = await shoed(*play(world, shoe, path, *words))
        assert (finished.status, finished.out) == (status, "")
        assert wanted in finished.err
    assert not world.state_dir.exists()
