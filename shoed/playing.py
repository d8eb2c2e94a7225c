"""`shoed replay`: a capture played through the daemon as it is, into its journal and to its broker.

Theory of operation: the configuration's table, alone, with the capture in the place of its shoe's port. When the
capture has ended, all of it is committed and the broker has every event, the daemon is stopped as by a signal.
"""

import asyncio
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from shoed.config import Config, TableConfig
from shoed.daemon import Daemon, Desk
from shoed.errors import CaptureError, JournalError, UsageError
from shoed.journal import Store, hold
from shoed.now import Now
from shoed.observations import Device
from shoed.ports.address import ReplayAddress, Speed
from shoed.ports.capture import Header, stream
from shoed.ports.replay import ENDED
from shoed.ports.tell import listening
from shoed.step import AnyInput, LinkDown
from shoed.watchdog import Systemd

WRONG: Final = 1


class PlayedDesk(Desk):
    """A desk that tells when its line is gone: a capture is opened once."""

    over: "asyncio.Future[str]"

    def take(self, came: AnyInput, at: Now) -> None:
        super().take(came, at)
        if isinstance(came, LinkDown) and not self.over.done():
            self.over.set_result(came.reason)


def play(config: Config, name: str, file: str, *, fast: bool) -> int:
    table = next((each for each in config.tables if each.name == name), None)
    if table is None:
        known = ", ".join(each.name for each in config.tables)
        raise UsageError(f"--table {name}: no such table; known: {known}")
    check(header_of(file), table, file)
    port = str(ReplayAddress(file, Speed.FAST if fast else Speed.REAL))
    alone = replace(table, shoe=replace(table.shoe, port=port), shuffler=None)
    config = replace(config, tables=(alone,))
    state_dir = Path(config.state_dir)
    with hold(state_dir), listening(state_dir) as door:
        store = Store(state_dir)

        async def serve() -> int:
            return await live(Daemon(config, store, Systemd(), door, PlayedDesk))

        return asyncio.run(serve())


def header_of(file: str) -> Header:
    try:
        with Path(file).open(encoding="utf-8", errors="replace") as lines:
            return stream(lines, file)[0]
    except OSError as error:
        raise CaptureError(f"{file}: {error.strerror}; give a capture") from error


def check(header: Header, table: TableConfig, file: str) -> None:
    device = table.shoe
    if dict(header.others).get("device", Device.SHOE.value) != Device.SHOE.value:
        raise UsageError(f"{file}: a capture of a shuffler, and a shoe's is played; give one that a shoe said")
    if (header.family, header.firmware) != (device.protocol, device.firmware):
        raise UsageError(
            f"{file}: a capture of {header.family} {header.firmware}, and {table.name} has a {device.protocol}"
            f" {device.firmware}; give it a table with such a shoe"
        )


async def live(daemon: Daemon[PlayedDesk]) -> int:
    (desk,) = daemon.desks
    desk.over = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(told(daemon, desk))
        status = await daemon.run()
        all_told = waiting.done()
        waiting.cancel()
    reason = desk.over.result() if desk.over.done() else "stopped before its end"
    if reason == ENDED and not all_told:
        reason = f"all of it is on record, and not all of it is told: broker {desk.publisher.trouble or 'busy'}"
    if reason == ENDED:
        return status
    sys.stderr.write(f"{desk.config.shoe.port}: {reason}\n")
    return WRONG


async def told(daemon: Daemon[PlayedDesk], desk: PlayedDesk) -> None:
    """Stop the daemon once the world knows all that the capture has."""
    await desk.over
    with suppress(JournalError):  # the daemon ends by it
        await daemon.writer.flush()
        with closing(desk.store.read()) as reader:
            last = reader.last_sequence(desk.name)
        await desk.publisher.caught_up(last)
        daemon.stop.set()
