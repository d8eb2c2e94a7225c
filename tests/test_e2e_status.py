"""`shoed status`: the state of a running daemon over its command socket."""

import asyncio
import contextlib
import fcntl
import os
import re
import shlex
import signal
import struct
import termios
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from firmware_protocols.angel_eye import FAMILY
from shoed.bus.settings import BrokerSettings
from shoed.cli import ExitStatus
from shoed.journal import Store, hold
from shoed.model.commands import Answer
from shoed.model.moments import Now
from shoed.model.requests import AnyRequest
from shoed.model.step import AnyInput, Received
from shoed.service.command_socket import CommandServer, listening
from shoed.service.config import Config
from shoed.service.daemon import Daemon
from shoed.service.desk import Desk
from shoed.service.watchdog import Systemd
from shoed.session import SessionOutput
from shoed.session.angel_eye import AngelEyeSession, AngelEyeState
from shoed.session.families import BUILT_IN, Driver
from tests.command_clients import Finished, shoed
from tests.foreign_shoe import NATURAL, ROUNDS, TcpShoe
from tests.patience import PATIENCE_S
from tests.test_desk import TABLE as TABLE_CONFIG
from tests.witnesses import TABLE
from tests.world import SHOED, World


@pytest.fixture
async def shoe() -> AsyncIterator[TcpShoe]:
    async with TcpShoe() as shoe:
        yield shoe


async def status(world: World, *words: str) -> Finished:
    return await shoed("status", "--state-dir", world.state_dir, *words)


async def as_json(world: World) -> Any:  # noqa: ANN401 -- JSON has any shape
    found = await status(world, "--json")
    assert (found.status, found.err) == (0, "")
    return msgspec.json.decode(found.out)


async def acknowledged(world: World) -> Any:  # noqa: ANN401 -- JSON has any shape
    """The status as soon as the broker has acknowledged every event."""
    async with asyncio.timeout(PATIENCE_S):
        while (found := await as_json(world))["tables"][0]["broker"]["backlog"]:
            pass
    return found


async def test_it_shows_the_round_the_devices_and_the_broker(world: World, shoe: TcpShoe) -> None:
    """The hands have their cards and points."""
    await world.serve(shoe)
    await shoe.say(*NATURAL[:2])
    await world.settled(shoe)
    await acknowledged(world)
    found = await status(world)
    assert (found.status, found.err) == (0, "")
    text = " ".join(found.out.split())
    assert f"at {world.site}: runs for" in text
    assert f"journal {world.state_dir}; " in text
    assert "bac-901 commission, shoe 1, round 1, dealing player 8S (8) banker 3H (3)" in text
    assert f"shoe online; angel-eye at {shoe.port}?" not in text
    assert f"shoe online; angel-eye at {shoe.port}; last bytes" in text
    assert "broker online; every event is acknowledged" in text


async def test_programs_get_the_messages_of_the_broker(world: World, shoe: TcpShoe) -> None:
    """`state` and `question` are the retained messages of the table."""
    await world.serve(shoe)
    await shoe.deal(ROUNDS[0])
    await world.settled(shoe)
    assert (await shoed("tell", "--state-dir", world.state_dir, TABLE, "other", "--role=dealer")).status == 0
    await world.recorder.event("question.asked")
    sequence = str(world.journal.events()[-1].sequence)
    await world.recorder.until(lambda: world.recorder.states()[-1]["sequence"] == sequence)
    question = await world.recorder.until(
        lambda: [each for each in world.recorder.on(f"{TABLE}/question") if each.payload]
    )
    (table,) = (await acknowledged(world))["tables"]
    assert table["state"] == world.recorder.states()[-1]
    assert table["question"] == question[-1].json
    assert table["broker"] == {"online": True, "reason": None, "backlog": 0}


async def test_each_command_that_it_prints_answers_the_question(world: World, shoe: TcpShoe) -> None:
    """The command has the role, and names the daemon."""
    await world.serve(shoe)
    for word in ("open-bets", "other"):
        assert (await shoed("tell", "--state-dir", world.state_dir, TABLE, word, "--role=dealer")).status == 0
    found = await status(world)
    commands = re.findall(r"^ +(shoed tell .*)$", found.out, re.MULTILINE)
    assert [re.findall("choice=(.*?) ", each) for each in commands] == [["continue"], ["void"]]
    assert (await shoed(*shlex.split(commands[0])[1:])).status == 0
    assert (await world.recorder.event("question.answered"))["choice"] == ["continue"]
    assert "question" not in (await status(world)).out


async def test_without_a_broker_it_counts_the_backlog(world: World, shoe: TcpShoe) -> None:
    """The count includes the events of earlier daemons."""
    daemon = await world.start(shoe, port=1)
    await daemon.looking(lambda: world.journal.count("device.online"))
    await daemon.stop()
    daemon = await world.start(shoe, port=1)
    await daemon.looking(lambda: world.journal.count("device.online") == 2)
    async with asyncio.timeout(PATIENCE_S):  # the daemon knows a commit shortly after the journal has it
        while (broker := (await as_json(world))["tables"][0]["broker"])["backlog"] != len(world.journal.events()):
            pass
    assert broker["online"] is False


async def test_a_hung_journal_does_not_delay_the_answer(world: World, shoe: TcpShoe) -> None:
    """A card that is not committed is not shown."""
    await world.serve(shoe)
    with world.journal.locked():
        await shoe.say(NATURAL[0])
        found = await as_json(world)
        while not found["journal"]["waiting"]:
            found = await as_json(world)
        assert found["journal"]["committing_s"] > 0
        assert found["tables"][0]["state"]["hands"]["player"]["cards"] == []
    await world.recorder.event("card.drawn")


async def test_without_a_daemon_it_is_status_3(world: World) -> None:
    """The error has the remedy."""
    found = await status(world)
    assert (found.status, found.out) == (3, "")
    assert "shoed does not run in this state directory" in found.err
    assert "start shoed" in found.err


async def test_an_unknown_table_is_refused(world: World, shoe: TcpShoe) -> None:
    """One known table is shown alone."""
    async with TcpShoe() as second:
        await world.start(shoe, second)
        assert await status(world, "bac-999") == Finished(1, "", "bac-999: no such table; known: bac-901, bac-902\n")
        found = await status(world, "bac-902")
        assert (found.status, "bac-901" in found.out, "bac-902" in found.out) == (0, False, True)


@contextlib.asynccontextmanager
async def watching(world: World, *words: str, output: int = asyncio.subprocess.PIPE) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(SHOED, "status", "--watch", "--state-dir", str(world.state_dir), *words), stdout=output
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_watch_follows_the_table_until_ctrl_c(world: World, shoe: TcpShoe) -> None:
    """The status is printed again also after a restart of the daemon; the end is that of an interrupted command."""
    daemon = await world.serve(shoe)
    async with watching(world, "--json") as process:
        assert process.stdout is not None
        first = msgspec.json.decode(await process.stdout.readline())
        assert first["tables"][0]["state"]["phase"] == "idle"
        await daemon.stop()
        await world.start(shoe)
        pid = first["pid"]
        while pid == first["pid"]:
            pid = msgspec.json.decode(await process.stdout.readline())["pid"]
        assert pid == world.daemons[-1].pid
        process.send_signal(signal.SIGINT)
        assert await process.wait() == ExitStatus.INTERRUPTED


async def test_watch_draws_on_the_terminal(world: World, shoe: TcpShoe) -> None:
    """Each drawing begins at the top, and has no more lines than the terminal."""
    await world.start(shoe)
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 5, 80, 0, 0))
    async with watching(world, output=theirs) as process:
        text = b""
        while text.count(b"\x1b[H") < 2:
            text += await asyncio.to_thread(os.read, ours, 4096)
        process.send_signal(signal.SIGINT)
        assert await process.wait() == ExitStatus.INTERRUPTED
    os.close(ours)
    os.close(theirs)
    first = text.split(b"\x1b[H")[1].decode()
    assert first.count("\n") == 4
    assert "more lines; shoed status TABLE shows one table" in first


# ---------------------------------------------------------------------------------------------- in the daemon


class Jammed(AngelEyeSession):
    """A device family with a defect."""

    def step(self, state: AngelEyeState, incoming: AnyInput, now: Now) -> tuple[AngelEyeState, SessionOutput]:
        if isinstance(incoming, Received):
            raise KeyError(7)
        return super().step(state, incoming, now)


@pytest.fixture
def defective(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(FAMILY._replace(name="jammed"), Jammed)
    monkeypatch.setattr("shoed.session.families.BUILT_IN", {**BUILT_IN, "jammed": lambda: driver})


@pytest.mark.usefixtures("defective")
async def test_a_failed_table_shows_its_reason_and_the_others_continue(tmp_path: Path, shoe: TcpShoe) -> None:
    """The exit status reports the failure."""
    async with TcpShoe() as second, asyncio.timeout(PATIENCE_S):
        tables = tuple(
            replace(TABLE_CONFIG, name=name, shoe=replace(TABLE_CONFIG.shoe, protocol=protocol, port=port))
            for name, protocol, port in (("bac-901", "jammed", shoe.port), ("bac-902", "angel-eye", second.port))
        )
        config = Config("rws", str(tmp_path), BrokerSettings("127.0.0.1", 1), tables)
        with hold(tmp_path), listening(tmp_path) as listener:
            daemon = Daemon(config, Store(tmp_path), Systemd(), listener, Desk)
            running = asyncio.create_task(daemon.run())
            await shoe.connected()
            await shoe.say(NATURAL[0])
            found = await shoed("status", "--state-dir", tmp_path)
            while "KeyError" not in found.out:  # the shoe's bytes are under way
                found = await shoed("status", "--state-dir", tmp_path)
            daemon.stop.set()
            await running
    assert found.status == ExitStatus.WRONG
    assert "PROBLEM  bac-901: table failed: KeyError: 7" in found.out
    assert "FAILED   table failed: KeyError: 7; restart shoed" in found.out
    assert "bac-902  commission, idle" in found.out


async def test_a_defect_of_one_answer_does_not_end_the_daemon(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The answer names the defect, which is in the log."""

    async def fail(_: AnyRequest) -> Answer:
        raise KeyError(7)

    with listening(tmp_path) as listener:
        server = CommandServer(fail)
        serving = asyncio.create_task(server.run(listener))
        found = await shoed("status", "--state-dir", tmp_path)
        again = await shoed("status", "--state-dir", tmp_path)
        server.stopping.set()
        await serving
    assert (found.status, found.out) == (ExitStatus.WRONG, "")
    assert "shoed has a defect (KeyError: 7); report it" in found.err
    assert again == found
    assert "a request has no answer" in caplog.text
