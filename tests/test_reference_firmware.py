"""The reference firmware in C: written only from the page of Open Shoe, it shares no code and no table with the host.

It is compiled with all warnings as errors, and with sanitizers. It builds every frame of the page, passes its
fuzzer and `shoed conform`, and runs tables as shoe and as shuffler.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, cast

import pytest

from firmware_protocols import open_shoe
from tests.foreign_shoe import Shoe
from tests.patience import PATIENCE_S
from tests.world import World

PAGE: Final = Path(open_shoe.__file__).with_name("PROTOCOL.md")
SOURCES: Final = PAGE.with_name("reference")
MOST_LINES: Final = 1500
PAUSE: Final = "pause 500"  # between two cards
KEY: Final = "000102030405060708090a0b0c0d0e0f"
HEADERS: Final = {"stdbool.h", "stddef.h", "stdint.h", "string.h"}
STEPS: Final = os.environ.get("SHOED_FIRMWARE", "100000")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All programs, plain and with sanitizers."""
    make = shutil.which("make")
    if make is None or shutil.which("cc") is None:
        (pytest.fail if os.environ.get("HIL_REQUIRED") else pytest.skip)("make or a C compiler is not installed")
    place = tmp_path_factory.mktemp("reference") / "build"
    made = subprocess.run(
        [make, "-s", "-C", str(SOURCES), f"OUT={place}", "all", "sanitize"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return place


def ran(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_the_firmware_is_small_and_has_no_dependencies() -> None:
    """Fewer than 1,500 lines, no allocation, no IO, and only the library functions of every compiler."""
    texts = [(SOURCES / name).read_text() for name in ("open_shoe.h", "open_shoe.c")]
    assert sum(len(text.splitlines()) for text in texts) < MOST_LINES
    for text in texts:
        assert set(re.findall(r"#include <(.*)>", text)) <= HEADERS
        assert not re.search(r"\b(malloc|calloc|realloc|free|printf)\(", text)


def test_the_firmware_builds_every_frame_of_the_page(built: Path) -> None:
    """The frames are the examples, and the test vectors of the secure channel."""
    rows = len(re.findall(r"^\|[^|]*`7E [0-9A-F ]+ 7F`", PAGE.read_text(), re.MULTILINE))
    for program in ("vectors", "vectors-san"):
        assert ran(built / program, PAGE).splitlines()[-1].endswith(" 0 differences")
    assert rows > 20


def test_the_fuzzer_finds_no_violation(built: Path) -> None:
    """Random and changed bytes, lost power, torn writes: the invariants hold, and the sanitizers report nothing."""
    ran(built / "fuzz-san", "--rounds", STEPS, "--seed", "1")


class Player:
    """The program in its own process, as a device on a pty or a TCP port."""

    def __init__(self, process: asyncio.subprocess.Process, port: str) -> None:
        self.process = process
        self.port = port

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())

    async def obeys(self, *lines: str) -> None:
        """Send each line, and wait until it is executed."""
        assert self.process.stdout is not None
        for line in lines:
            self.say(line)
            while (answer := (await asyncio.wait_for(self.process.stdout.readline(), PATIENCE_S)).decode()) != "ok\n":
                assert not answer.startswith("error"), (line, answer)


@asynccontextmanager
async def player(built: Path, *arguments: str) -> AsyncIterator[Player]:
    process = await asyncio.create_subprocess_exec(
        built / "player-san", *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        printed = (await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)).decode()
        if "--pty" in arguments:
            yield Player(process, f"serial://{arguments[arguments.index('--pty') + 1]}")
        else:
            yield Player(process, f"tcp://127.0.0.1:{printed.split()[-1]}")
    finally:
        if process.returncode is None:
            process.terminate()
            assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "key"), [("1", False), ("2", False), ("3", False), ("3", True)], ids=["1", "2", "3", "key"]
)
async def test_the_firmware_passes_every_tested_clause(built: Path, tmp_path: Path, version: str, *, key: bool) -> None:
    """The firmware is a shoe over TCP."""
    secret = tmp_path / "shoe.key"
    secret.write_text(KEY)
    secret.chmod(0o400)
    keyed = ("--key", KEY) if key else ()
    async with player(built, "--listen", "0", "--role", "shoe", "--version", version, *keyed) as shoe:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "shoed", "conform", shoe.port, "--patience", "5", "--longest", "11"),
            *(("--key-file", str(secret)) if key else ("--sees-line",)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
    lines = out.decode().splitlines()
    assert [line for line in lines if line.startswith(("failed", "  "))] == []
    assert process.returncode == 0


async def test_a_shoe_and_a_shuffler_in_c_run_a_table(built: Path, tmp_path: Path, world: World) -> None:
    """With a key over TCP, and on a pty. Between two cards, the daemon is killed and the power fails: none is lost."""
    secret = tmp_path / "shoe.key"
    secret.write_text(KEY)
    secret.chmod(0o400)
    of_shoe = ("--listen", "0", "--role", "shoe", "--version", "3", "--key", KEY, "--memory", str(tmp_path / "memory"))
    of_shuffler = ("--pty", str(tmp_path / "tty"), "--role", "shuffler", "--version", "3")
    async with player(built, *of_shoe) as shoe, player(built, *of_shuffler) as shuffler:
        path = world.configure(cast("Shoe", shoe), protocol="open-shoe", shoe_settings=f'key_file = "{secret}"')
        settings = f'\n[table.shuffler]\nprotocol = "open-shoe"\nport = "{shuffler.port}"\n'
        path.write_text(path.read_text() + settings)
        daemon = await world.launch(path)
        await daemon.ready()
        await shuffler.obeys("recognised A7", "shuffling A7", "shuffled A7", "inventory A7 8", "delivered A7")
        await world.recorder.event("set.delivered")
        await shoe.obeys("loaded A7", "card 8S player 1", PAUSE, "card 3H banker 1", PAUSE)
        await world.recorder.event("card.drawn", number=2)
        await daemon.kill()
        await shoe.obeys("card JD player 2", "power", PAUSE, "card 4C banker 2")
        await (await world.launch(path)).ready()
        await world.recorder.event("round.completed")
        assert await world.daemons[-1].stop() == 0
    events = [row for row in world.journal.events() if not row.type.startswith(("device.", "line."))]
    assert [row.type for row in events] == [
        *("set.recognised", "set.shuffling", "set.shuffled", "set.delivered", "shoe.started", "round.started"),
        *(["card.drawn"] * 4),
        "round.completed",
    ]
