"""A reload of a daemon in this process: a change starts a failed table again."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shoed.journal import Store, hold
from shoed.model.moments import Now
from shoed.model.step import AnyInput, LinkUp
from shoed.service.command_socket import listening
from shoed.service.config import load
from shoed.service.daemon import Daemon
from shoed.service.desk import Desk
from shoed.service.watchdog import Systemd
from tests.foreign_shoe import TcpShoe
from tests.witnesses import PATIENCE_S


class FragileDesk(Desk):
    """A table with a defect: it fails when the link of a certain port opens."""

    def take(self, incoming: AnyInput, at: Now) -> None:
        if isinstance(incoming, LinkUp) and self.config.decks == 7:
            raise KeyError(7)
        super().take(incoming, at)


def write(place: Path, *tables: tuple[str, TcpShoe, int]) -> Path:
    path = place / "shoed.toml"
    text = f'[site]\nname = "rws"\nstate_dir = "{place / "state"}"\n[mqtt]\nurl = "mqtt://127.0.0.1:1"\n'
    for name, shoe, decks in tables:
        text += f'[[table]]\nname = "{name}"\ngame = "commission"\ndecks = {decks}\n[table.shoe]\n'
        text += f'protocol = "angel-eye"\nport = "{shoe.port}"\n'
    path.write_text(text)
    return path


@asynccontextmanager
async def daemon_of(path: Path) -> AsyncIterator[Daemon[FragileDesk]]:
    config = load(str(path))
    state_dir = Path(config.state_dir)
    with hold(state_dir), listening(state_dir) as listener:
        daemon = Daemon(config, Store(state_dir), Systemd(), listener, FragileDesk, str(path))
        running = asyncio.create_task(daemon.run())
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield daemon
        finally:
            daemon.stop.set()
            assert await running == 0


async def until(condition: Callable[[], bool], news: Callable[[], Awaitable[object]]) -> None:
    while not condition():
        await news()


async def test_a_change_starts_a_failed_table_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its record continues. The other table is not affected."""
    caplog.set_level(logging.CRITICAL)
    async with TcpShoe() as one, TcpShoe() as other:
        path = write(tmp_path, ("bac-901", one, 8), ("bac-902", other, 7))
        async with daemon_of(path) as daemon:
            await one.connected()
            await until(lambda: daemon.desks[1].ended is not None, lambda: asyncio.sleep(0))
            assert daemon.desks[1].ended == "table failed: KeyError: 7"
            well, failed = daemon.desks
            write(tmp_path, ("bac-901", one, 8), ("bac-902", other, 6))
            daemon.hung_up.set()
            await until(lambda: daemon.desks[-1] is not failed, lambda: asyncio.sleep(0))
            await other.connected()
            await until(lambda: daemon.desks[-1].links == "shoe online", lambda: asyncio.sleep(0))
            assert (daemon.desks[0], well.ended) == (well, None)
            assert daemon.desks[-1].state.row > failed.state.row


def test_a_daemon_without_a_reload_does_not_import_it() -> None:
    """Its start stays fast, and its memory small."""
    code = "import shoed.service.daemon, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "shoed.service.daemon" in loaded
    assert {"shoed.service.reload", "shoed.service.changes", "shoed.service.journal_log"} & set(loaded) == set()
