"""An update replaces the files of a running daemon: no request loads a file of the new version."""

import shutil
import signal
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.command_clients import shoed
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.http_client import SOCKET, fetch
from tests.keyed_shoe import KEY, KeyedShoe, write_key
from tests.witnesses import TABLE
from tests.world import Daemon, World

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("shoed", "firmware_protocols")

SERVICE: Final = """
import sys
sys.path.insert(0, {place!r})
from shoed.cli import main, __file__ as file
print("runs", file, file=sys.stderr)
sys.exit(main(["run", "--config", sys.argv[1]]))
"""
KEYED: Final = """
[[table]]
name = "bac-903"
game = "commission"
[table.shoe]
protocol = "open-shoe"
port = "{port}"
key_file = "{key_file}"
"""


def update(place: Path, *, is_complete: bool) -> None:
    """Remove the files; a complete update then has files that a process of the old version must not load."""
    for package in PACKAGES:
        files = [file.relative_to(place) for file in (place / package).rglob("*.py")]
        shutil.rmtree(place / package)
        for file in files if is_complete else ():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text("raise RuntimeError('a file of the new version')\n")


async def started(world: World, place: Path, shoe: TcpShoe, keyed: KeyedShoe) -> Daemon:
    """A daemon of a copy of the program. One device is online, and a device with a key is absent."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, place / package)
    path = world.configure(shoe)
    key_file = write_key(world.place / "shoe.key", KEY)
    more = KEYED.format(port=keyed.port, key_file=key_file) + f'[metrics]\nlisten = "unix:{SOCKET}"\n'
    path.write_text(path.read_text() + more)
    daemon = await world.launch(path, program=(sys.executable, "-c", SERVICE.format(place=str(place))))
    await daemon.ready()
    await world.recorder.event("device.online")
    await shoe.connected()
    return daemon


@pytest.mark.parametrize("is_complete", [False, True], ids=["during", "after"])
async def test_an_update_does_not_disturb_the_running_process(world: World, is_complete: bool) -> None:  # noqa: FBT001
    """Every kind of request is answered. A reload changes nothing, and its reason names the restart."""
    place, state = world.place / "installed", ("--state-dir", world.state_dir)
    async with TcpShoe() as shoe:
        keyed = KeyedShoe(node=world.place / "tty")
        daemon = await started(world, place, shoe, keyed)
        assert f"runs {place}/shoed/" in str(daemon)
        update(place, is_complete=is_complete)
        async with keyed:  # a device is connected
            await world.recorder.event("device.online", "bac-903")
            await shoe.deal(ROUNDS[0])
            await world.recorder.event("round.confirmed")
            await shoe.cut()
            await world.recorder.event("device.offline")
            await shoe.plug_in()
            await world.recorder.event("device.online", number=2)
            assert (await shoed("status", *state)).status == 0
            capture = world.place / "saved"
            assert (await shoed("capture", "save", TABLE, "--out", capture, *state)).status == 0
            assert capture.read_text().startswith("shoed-capture 1\n")
            assert (await shoed("log", "warning", *state)).status == 0
            assert (await shoed("tell", *state, TABLE, "open-bets", "--role=dealer", "--author=ann")).status == 0
            assert (await fetch(world.state_dir, "/health")).json["failures"] == []
            assert (await fetch(world.state_dir, "/metrics")).value("shoed_unexpected_errors_total") == 0
            daemon.process.send_signal(signal.SIGHUP)
            await daemon.until(lambda: daemon.notified.count("READY=1") == 2)
            assert "reload: refused, an update requires a restart" in daemon.notified[-1]
            await daemon.looking(lambda: "run `shoed restart`" in str(daemon))
            assert (await fetch(world.state_dir, "/health")).json["failures"] == []
        assert await daemon.stop() == 0
    for table in (TABLE, "bac-903"):
        await world.all_published(table)
