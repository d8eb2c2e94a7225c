"""`shoed replay`: play a capture through the daemon, into its journal and to its broker.

Theory of operation: the daemon runs with one table of the configuration; the capture replaces the port of its shoe.
The command stops the daemon when the capture has ended, all Steps are committed and the broker has every event.
"""

import argparse
import asyncio
import logging
import sys
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from shoed.cli import ExitStatus
from shoed.cli.options import add_config
from shoed.errors import CaptureError, JournalError, NoSuchTable, UsageError
from shoed.journal import Store, hold
from shoed.model.moments import Now
from shoed.model.observations import Device
from shoed.model.step import AnyInput, LinkDown
from shoed.ports.address import ReplayAddress, Speed
from shoed.ports.capture import Header, stream
from shoed.ports.replay import ENDED
from shoed.service.command_socket import listening
from shoed.service.config import Config, TableConfig, load
from shoed.service.daemon import Daemon
from shoed.service.desk import Desk
from shoed.service.secret_files import LEFT_OUT, Purpose
from shoed.service.watchdog import Systemd


class PlayedDesk(Desk):
    """A desk that reports the end of its line. A capture is opened once, so this is the end of the capture."""

    over: "asyncio.Future[str]"

    def take(self, incoming: AnyInput, at: Now) -> None:
        super().take(incoming, at)
        if isinstance(incoming, LinkDown) and not self.over.done():
            self.over.set_result(incoming.reason)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the capture")
    add_config(parser)
    parser.add_argument("--table", required=True, metavar="NAME", help="the table whose shoe the capture replaces")
    parser.add_argument("--fast", action="store_true", help="as fast as possible (default: in real time)")
    parser.set_defaults(command=replay)


def replay(arguments: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    loaded = load(arguments.config, Purpose.REPLAY)
    for warning in loaded.warnings:
        if warning.remedy == LEFT_OUT:
            print(f"warning: {warning}", file=sys.stderr)
    return play(loaded, arguments.table, arguments.file, fast=arguments.fast)


def play(config: Config, name: str, file: str, *, fast: bool) -> int:
    table = next((each for each in config.tables if each.name == name), None)
    if table is None:
        raise NoSuchTable(name, (each.name for each in config.tables))
    check(header_of(file), table, file)
    port = str(ReplayAddress(file, Speed.FAST if fast else Speed.REAL))
    alone = replace(table, shoe=replace(table.shoe, port=port, key_file=None), shuffler=None)
    config = replace(config, tables=(alone,))
    state_dir = Path(config.state_dir)
    with hold(state_dir), listening(state_dir) as listener:
        store = Store(state_dir)

        async def serve() -> int:
            return await live(Daemon(config, store, Systemd(), listener, PlayedDesk))

        return asyncio.run(serve())


def header_of(file: str) -> Header:
    try:
        with Path(file).open(encoding="utf-8", errors="replace") as lines:
            return stream(lines, file)[0]
    except OSError as error:
        raise CaptureError(f"{file}: {error.strerror}; write the path of a capture") from error


def check(header: Header, table: TableConfig, file: str) -> None:
    device = table.shoe
    if dict(header.others).get("device", Device.SHOE.value) != Device.SHOE.value:
        raise UsageError(f"{file}: the capture is of a shuffler; write a capture of a shoe")
    if (header.family, header.firmware) != (device.protocol, device.firmware):
        raise UsageError(
            f"{file}: the capture is of {header.family} {header.firmware}, but the shoe of {table.name} is"
            f" {device.protocol} {device.firmware}; select a table with the shoe of the capture"
        )


async def live(daemon: Daemon[PlayedDesk]) -> int:
    (desk,) = daemon.desks
    desk.over = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(stop_when_published(daemon, desk))
        status = await daemon.run()
        all_published = waiting.done()
        waiting.cancel()
    reason = desk.over.result() if desk.over.done() else "stopped before its end"
    if reason == ENDED and not all_published:
        reason = (
            "the whole capture is recorded, but not all events are published"
            f" (broker: {desk.publisher.offline_reason or 'busy'}); start the daemon to publish the other events"
        )
    if reason == ENDED:
        return status
    sys.stderr.write(f"{desk.config.shoe.port}: {reason}\n")
    return ExitStatus.WRONG


async def stop_when_published(daemon: Daemon[PlayedDesk], desk: PlayedDesk) -> None:
    """Stop the daemon when the broker has every event of the capture."""
    await desk.over
    with suppress(JournalError):  # the daemon ends with this error
        await daemon.writer.flush()
        with desk.store.read() as reader:
            last = reader.last_sequence(desk.name)
        await desk.publisher.caught_up(last)
        daemon.stop.set()
