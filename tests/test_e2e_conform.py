"""`shoed conform` in its own process: with the rig over TCP and on a pty, and with broken devices."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from firmware_protocols.open_shoe import OpenShoeSettings
from shoed.cli import ExitStatus
from shoed.ports.address import TcpAddress
from shoed.ports.clock import now
from shoed.rig.open_shoe import VirtualOpenShoe
from shoed.rig.outlets import TcpOutlet
from shoed.rig.virtual import VirtualDevice
from shoed.session.open_shoe_device import OpenShoeDeviceSession as Role
from tests.broken_shoes import AcceptsAnyAcknowledgement, RepeatsItsNumbers
from tests.conforming import Made, device
from tests.keyed_shoe import OTHER_KEY, write_key
from tests.patience import PATIENCE_S

FREE: Final = "tcp://127.0.0.1:0"
# A device with this scenario does nothing by itself for a day.
IDLE: Final = "[[step]]\nafter_ms = 86400000\nfault = 'jam'\n"
OVER_TCP: Final = ("hello.identify", "hello.open", "frame.torn", "version.unknown", "ack.unknown", "repeat.same")
IN_A_SESSION: Final = ("hello.identify", "frame.torn", "repeat.same", "channel.refuses", "channel.counts")
ON_A_PTY: Final = ("hello.identify", "hello.open", "order.done", "window.size", "keep.over-a-cut")
QUICK: Final = ("--answer", "0.5", "--patience", "5")


async def conform(address: str, *words: str) -> tuple[int, list[str], str]:
    """Its exit status, its lines, and its errors."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "shoed", "conform", address, *QUICK, *words), stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode().splitlines(), err.decode()


def only(*names: str) -> list[str]:
    return [word for name in names for word in ("--only", name)]


def verdicts(lines: list[str]) -> dict[str, str]:
    """The verdict of each clause."""
    results = [line.partition(": ")[0] for line in lines if not line.startswith(" ") and ": " in line]
    return {name: verdict.strip() for verdict, _, name in (each.rpartition(" ") for each in results)}


@asynccontextmanager
async def rig(tmp_path: Path, *words: str) -> AsyncIterator[str]:
    """The address of a virtual device in its own process."""
    (tmp_path / "idle.toml").write_text(IDLE)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "shoed", "rig", *words, "--scenario", str(tmp_path / "idle.toml")), stdout=PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            printed = (await process.stdout.readline()).decode()
        yield printed.split('port = "')[1].partition('"')[0]
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def test_the_rig_passes_over_tcp(tmp_path: Path) -> None:
    """The rig detects that a host connects."""
    async with rig(tmp_path, "open-shoe", "--listen", FREE) as address:
        status, lines, _ = await conform(address, "--sees-line", *only(*OVER_TCP))
    assert verdicts(lines) == dict.fromkeys(OVER_TCP, "passed")
    assert lines[-1] == f"{len(OVER_TCP)} passed, 0 failed, 0 not tried"
    assert status == 0


async def test_the_rig_passes_on_a_serial_line(tmp_path: Path) -> None:
    """Version 2, which detects that a host opens its line."""
    where = ("--pty", str(tmp_path / "tty"), "--firmware", "2")
    async with rig(tmp_path, "open-shoe", *where) as address:
        status, lines, _ = await conform(address, "--sees-line", *only(*ON_A_PTY))
    assert verdicts(lines) == dict.fromkeys(ON_A_PTY, "passed")
    assert status == 0


async def test_the_rig_passes_in_the_secure_channel(tmp_path: Path) -> None:
    """It passes with its key; without the key, or with another key, the test reports the reason."""
    path = str(write_key(tmp_path / "key"))
    where = ("--listen", FREE, "--firmware", "3", "--key-file", path)
    async with rig(tmp_path, "open-shoe", *where) as address:
        status, lines, _ = await conform(address, "--key-file", path, *only(*IN_A_SESSION))
        assert verdicts(lines) == dict.fromkeys(IN_A_SESSION, "passed")
        assert status == 0
        status, lines, _ = await conform(address, *only("hello.identify"))
        assert lines[-1] == "the device sends UNKEYED: it has a key; use --key-file with the file of the key"
        assert status == ExitStatus.WRONG
        other = str(write_key(tmp_path / "other", OTHER_KEY))
        status, _, err = await conform(address, "--key-file", other)
        assert "the key of the device is not the key in key_file" in err
        assert status == ExitStatus.WRONG_USE


async def test_a_rig_of_version_1_has_no_key(tmp_path: Path) -> None:
    """A key for version 1 is wrong use."""
    arguments = ("open-shoe", "--listen", FREE, "--key-file", str(write_key(tmp_path / "key")))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "shoed", "rig", *arguments, "--scenario", "none.toml"), stderr=PIPE
    )
    _, err = await process.communicate()
    assert err.decode().endswith("--key-file: version 1 has no secure channel; give --firmware 3\n")
    assert process.returncode == ExitStatus.WRONG_USE


async def test_a_shuffler_of_the_rig_passes(tmp_path: Path) -> None:
    """It reports nothing by itself: clauses that need reports are not tested, and a person is asked once."""
    async with rig(tmp_path, "open-shoe-shuffler", "--listen", FREE) as address:
        status, lines, err = await conform(
            address, "--patience", "0.3", *only("hello.identify", "ack.unknown", "ack.forgets")
        )
    assert verdicts(lines) == {"hello.identify": "passed", "ack.unknown": "not tried", "ack.forgets": "not tried"}
    assert err == "Let the device report 3 facts, for example by drawing cards.\n"
    assert status == 0


@asynccontextmanager
async def serving(kind: Made) -> AsyncIterator[tuple[str, str, VirtualOpenShoe]]:
    """The address of such a device in this process, the command that cuts its power, and the device."""
    virtual = VirtualOpenShoe(OpenShoeSettings(), 1)
    virtual.role = device(kind)
    virtual.state = virtual.role.begin(1)
    line = VirtualDevice(virtual, None, fast=False, waits=False)
    outlet = TcpOutlet(TcpAddress("127.0.0.1", 0), line.heard, patient=False)

    def restart() -> None:
        virtual.state = virtual.role.begin(2)
        line.transmitter.send(virtual.opened(now()))
        line.follow()

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, restart)
    await outlet.open()
    async with asyncio.TaskGroup() as tasks:
        transmitting = tasks.create_task(line.transmitter.run(outlet))
        try:
            yield (
                outlet.at,
                f"sh -c 'kill -USR1 {os.getpid()}'",
                virtual,
            )  # kill is in every shell, but not on every machine
        finally:
            transmitting.cancel()
            await outlet.close()
            asyncio.get_running_loop().remove_signal_handler(signal.SIGUSR1)


async def test_a_violated_clause_has_its_bytes() -> None:
    """The bytes of both directions are in hex, and the exit status is 1."""
    async with serving(AcceptsAnyAcknowledgement) as (address, _, _):
        status, lines, _ = await conform(address, *only("ack.unknown", "ack.forgets"))
    assert verdicts(lines) == {"ack.forgets": "passed", "ack.unknown": "failed"}
    failed = lines.index("failed     ack.unknown: If the device does not keep `upto`, it does nothing.")
    evidence = lines[failed + 2 : -1]
    assert {each[:6] for each in evidence} == {"    > ", "    < "}
    assert any(each.startswith("    > 7E 01 81 00 00 00 00 00 01") for each in evidence)
    assert status == ExitStatus.WRONG


async def test_a_power_cut_is_a_command() -> None:
    """A relay replaces a person: the stream continues although its reports are lost."""
    async with serving(RepeatsItsNumbers) as (address, power, _):
        status, lines, _ = await conform(address, "--power", power, *only("stream.lost", "hello.power-up"))
    assert verdicts(lines) == {"hello.power-up": "passed", "stream.lost": "failed"}
    assert status == ExitStatus.WRONG


async def test_an_interrupt_leaves_the_exit_unlocked() -> None:
    """A person stops the test while it locks and unlocks the exit; the device keeps no report."""
    async with serving(Role) as (address, _, virtual):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "shoed", "conform", address, *QUICK, *only("order.done", "window.size")),
            stdout=PIPE,
        )
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            await process.stdout.readline()  # from here on, the exit is locked and unlocked
            while virtual.state.store.next < 10:  # noqa: ASYNC110 -- the device has no event for its numbers
                await asyncio.sleep(0)
            process.send_signal(signal.SIGINT)
            await process.communicate()
        assert process.returncode == 130
        assert not virtual.locked
        assert not virtual.state.store.kept


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("tcp://127.0.0.1:1",), "the server refuses connections to port 1"),
        (("replay:one.capture",), "accepts no requests"),
        (("tcp://127.0.0.1:1", "--only", "window"), "--only window: is not a clause"),
        (("tcp://127.0.0.1:1", "--answer", "0"), 'argument --answer: "0" is not a time'),
        (("shoe",), "not the address of a device"),
    ],
    ids=["not reachable", "not a device", "not a clause", "no time", "not an address"],
)
async def test_wrong_use_has_its_own_status(words: tuple[str, ...], error: str) -> None:
    """The error has the problem and the remedy."""
    status, lines, err = await conform(*words)
    assert error in err
    assert (status, lines) == (ExitStatus.WRONG_USE, [])


async def test_a_silent_device_is_not_reached(silent: Callable[[], str]) -> None:
    """A line without a byte is not a device that fails."""
    status, _, err = await conform(silent(), *only("hello.identify"))
    assert "no byte arrived" in err
    assert status == ExitStatus.WRONG_USE


@pytest.fixture
async def silent() -> AsyncIterator[Callable[[], str]]:
    outlet = TcpOutlet(TcpAddress("127.0.0.1", 0), lambda _: None, patient=False)
    await outlet.open()
    yield lambda: outlet.at
    await outlet.close()
