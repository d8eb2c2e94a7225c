"""The daemon: all tables of a configuration, supervised in one TaskGroup.

Theory of operation: the tables share one journal, one command socket and one watchdog. `Daemon.run` ends at a signal,
when the journal fails, or when every table failed. A journal failure ends the daemon, because an event must not be
published before its commit. At the end, the publishers have `FAREWELL_S` to publish the committed events. The next
start publishes the rest.
"""

import asyncio
import gc
import logging
import signal
import socket
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import Any, Final, Generic, TypeVar, assert_never

from shoed import VERSION
from shoed.engine import ENGINE
from shoed.errors import JournalError, NoSuchTable
from shoed.journal import Store, Writer, hold
from shoed.model.commands import Answer
from shoed.model.requests import AnyRequest, CaptureRequest, Request, StatusRequest
from shoed.model.step import Configured
from shoed.ports.clock import now
from shoed.service import watchdog
from shoed.service.command_socket import CommandServer, listening
from shoed.service.config import Config, describe
from shoed.service.desk import Desk
from shoed.service.disk import Disk
from shoed.service.watchdog import Systemd

LOG: Final = logging.getLogger("shoed")

FAREWELL_S: Final = 5.0

D = TypeVar("D", bound=Desk)


class Daemon(Generic[D]):
    """All tables of one configuration, with one journal."""

    def __init__(self, config: Config, store: Store, systemd: Systemd, listener: socket.socket, desk: type[D]) -> None:
        self.config = config
        self.began_us = now().utc_us
        self.disk = Disk(Path(config.state_dir).absolute())
        self.writer = Writer(store, ENGINE)
        self.desks = [desk(table, config.site, config.broker, store, self.writer) for table in config.tables]
        self.systemd = systemd
        self.listener = listener
        self.stop = asyncio.Event()

    async def run(self) -> int:
        """Serve until a signal, a journal failure, or the failure of every table. Return the exit status."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop.set)
        async with asyncio.TaskGroup() as tasks:
            try:
                for desk in self.desks:
                    desk.take(Configured(describe(desk.config).decode(), ENGINE, VERSION), now())
                await self.writer.flush()
                failure = None
            except JournalError as error:
                failure = f"journal failed: {error}"
            publishers = [tasks.create_task(desk.publish()) for desk in self.desks]
            if failure is None:
                failure = await self.work(tasks)
            for desk in self.desks:
                desk.publisher.finish(failure or "stopped")
            await asyncio.wait(publishers, timeout=FAREWELL_S)
            for publisher in publishers:
                publisher.cancel()
        if failure is not None:
            LOG.error("%s", failure)
        await self.writer.close()
        return 0 if failure is None else 1

    async def work(self, tasks: asyncio.TaskGroup) -> str | None:
        """Serve the tables until the daemon must end. Return the reason of a failure, or None after a signal."""
        tables = [tasks.create_task(desk.run()) for desk in self.desks]
        server = CommandServer(self.execute)
        serving = tasks.create_task(server.run(self.listener))
        watching = tasks.create_task(watchdog.run(self.systemd, self.stuck_parts, self.status))
        stopped = tasks.create_task(self.stop.wait())
        gc.freeze()  # a collection of the objects of the start would delay the event loop
        gc.enable()
        self.systemd.notify("READY=1", f"STATUS={self.status()}")
        LOG.info("ready: %s", self.status())
        ends: list[asyncio.Future[Any]] = [stopped, self.writer.failed, asyncio.ensure_future(asyncio.wait(tables))]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        self.systemd.notify("STOPPING=1")
        for task in (watching, stopped, *tables):
            task.cancel()
        await asyncio.wait(tables)
        failure = (
            None
            if self.stop.is_set()
            else "every table failed; correct the cause of each logged error, then restart shoed"
        )
        try:
            await self.writer.flush()
        except JournalError as error:
            failure = f"journal failed: {error}"
        for desk in self.desks:
            desk.ended = desk.ended or failure or "shoed stops; send the command again after the next start"
            desk.refuse_pending(desk.ended, taken=True)
        server.stopping.set()
        await serving
        return failure

    async def execute(self, request: AnyRequest) -> Answer:
        desks = [desk for desk in self.desks if request.table in (None, desk.name)]
        if not desks:
            request_id = request.input.id if isinstance(request, Request) else request.id
            unknown = NoSuchTable(str(request.table), [desk.name for desk in self.desks])
            return Answer(request_id, accepted=False, detail=str(unknown))
        match request:
            case Request(input=command):
                return await desks[0].execute(command)
            case CaptureRequest():
                return await desks[0].capture(request)
            case StatusRequest():
                from shoed.service.status import status_of  # noqa: PLC0415 -- a daemon without this request does not need it

                return await status_of(self, desks, request)
            case _:
                assert_never(request)

    def stuck_parts(self, limit_s: float) -> list[str]:
        """The parts that have made no progress for longer than the limit."""
        committing = self.writer.committing_since
        parts = ["journal"] if committing is not None and monotonic() - committing > limit_s else []
        for desk in self.desks:
            publishing = desk.publisher.busy_since
            if publishing is not None and monotonic() - publishing > limit_s:
                parts.append(f"{desk.name} bus")
            receiving = [each.receiving_since for each in desk.devices.values() if each.receiving_since is not None]
            if desk.ended is None and receiving and monotonic() - min(receiving) > limit_s:
                parts.append(f"{desk.name} port")
            if desk.ended is None and desk.due_ns is not None and (monotonic_ns() - desk.due_ns) / 1e9 > limit_s:
                parts.append(f"{desk.name} table")
        return parts

    def status(self) -> str:
        return "; ".join(
            f"{desk.name}: {desk.ended or desk.links}, broker {desk.publisher.offline_reason or 'online'}"
            for desk in self.desks
        )


def run(config: Config) -> int:
    """Lock the state directory and serve the tables of the configuration."""
    state_dir = Path(config.state_dir)
    with hold(state_dir), listening(state_dir) as listener:
        store = Store(state_dir)

        async def serve() -> int:
            return await Daemon(config, store, Systemd(), listener, Desk).run()

        return asyncio.run(serve())
