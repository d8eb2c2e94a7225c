"""The daemon: all tables of a configuration, supervised in one TaskGroup.

Theory of operation: the tables share one journal, one command socket and one watchdog. `Daemon.run` ends at a signal,
or when every table failed. A table that cannot be recorded stops, and the daemon continues (`table_record.py`). At the
end, the publishers have `FAREWELL_S` to publish the committed events. The next start publishes the rest. A daemon with
the path of its configuration reloads it at SIGHUP (`reload.py`).
"""

import asyncio
import gc
import logging
import math
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, assert_never

from shoed.engine import ENGINE
from shoed.errors import JournalDamaged, NoSuchTable
from shoed.journal import Store, Writer, hold
from shoed.journal.damaged import opened, set_aside
from shoed.journal.keys import daemon_key, recorded_key
from shoed.journal.store import JOURNAL
from shoed.journal.writer import HANG_S
from shoed.model.commands import Answer
from shoed.model.requests import (
    AnyRequest,
    CaptureRequest,
    LogLevelRequest,
    Request,
    RestartAnswer,
    RestartRequest,
    StatusRequest,
)
from shoed.ports.clock import now
from shoed.service import log, watchdog
from shoed.service.command_socket import CommandServer, listening
from shoed.service.config import Config, TableConfig
from shoed.service.counters import Counters, Histogram
from shoed.service.desk import Desk
from shoed.service.disk import Disk
from shoed.service.installed import InstalledFiles, load_later_modules
from shoed.service.limited_log import LimitedLibrary
from shoed.service.status_line import status_line
from shoed.service.watchdog import Systemd

if TYPE_CHECKING:
    from shoed.service.metrics.endpoint import MetricsEndpoint
    from shoed.service.verification import BackgroundVerification

LOG: Final = logging.getLogger("shoed")

FAREWELL_S: Final = 5.0
AGAIN_S: Final = 60.0  # between two damaged journals; else the process ends
BY_SYSTEMD: Final = "systemd starts the installed version"
BY_HAND: Final = "systemd did not start this process; start shoed again, unless another supervisor starts it"
RESULT_S: Final = 1.0  # after the last card of a round, the shoe reports its result

D = TypeVar("D", bound=Desk)


class Daemon(Generic[D]):
    """All tables of one configuration, with one journal."""

    tasks: asyncio.TaskGroup

    def __init__(  # noqa: PLR0913, PLR0917 -- the parts of a daemon
        self,
        config: Config,
        store: Store,
        systemd: Systemd,
        listener: socket.socket,
        desk: type[D],
        path: str | None = None,
    ) -> None:
        self.config = config
        self.path = path  # of the configuration; None: SIGHUP stops the daemon
        self.began_us = now().utc_us
        self.disk = Disk(Path(config.state_dir).absolute())
        self.store = store
        with store.read() as reader:
            self.key = daemon_key(self.disk.state_dir, config.journal.key_file, recorded_key(reader))
        self.writer = Writer(store, ENGINE, self.key)
        self.desk = desk
        self.counters: dict[str, Counters] = {}  # by the name of the table, also of a removed one
        try:
            self.desks = [self.desk_of(table) for table in config.tables]
        except JournalDamaged:
            self.writer.abandon()
            raise
        self.systemd = systemd
        self.listener = listener
        self.stop = asyncio.Event()
        self.commits = Histogram()
        self.writer.on_commit = self.commits.add
        self.metrics: MetricsEndpoint | None = None
        if config.metrics is not None:
            from shoed.service.metrics import endpoint_of  # noqa: PLC0415 -- start-up time: few sites request metrics

            self.metrics = endpoint_of(config.metrics, Path(config.state_dir), self)
        self.every_table_failed = asyncio.Event()
        self.damaged = asyncio.Event()  # the journal
        self.hung_up = asyncio.Event()  # a reload is requested
        self.log_level = config.log_level  # at present: `shoed log` changes it without the configuration
        self.note = ""  # the state of the last reload, for the status
        self.unexpected = log.UnexpectedErrors()
        self.verification: BackgroundVerification | None = None
        self.installed = InstalledFiles()

    def desk_of(self, table: TableConfig) -> D:
        counters = self.counters.setdefault(table.name, Counters())
        return self.desk(table, self.config.site, self.config.broker, self.store, self.writer, counters)

    async def run(self) -> int:
        """Serve until a signal, or the failure of every table. Return the exit status."""
        logging.getLogger().addHandler(self.unexpected)
        try:
            return await self.serve_tables()
        finally:
            logging.getLogger().removeHandler(self.unexpected)

    async def serve_tables(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop.set)
        loop.add_signal_handler(signal.SIGHUP, self.stop.set if self.path is None else self.hung_up.set)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
        async with asyncio.TaskGroup() as self.tasks:
            for desk in self.desks:
                desk.configure()
            with suppress(TimeoutError):  # a disk that hangs does not delay the report of the hang
                async with asyncio.timeout(HANG_S):
                    await self.writer.flush()
            for desk in self.desks:
                desk.publishing = self.tasks.create_task(desk.publish())
            failure = await self.work()
            for desk in self.desks:
                desk.publisher.finish(failure or "stopped")
            await ended([desk.publishing for desk in self.desks], FAREWELL_S)
            for desk in self.desks:
                desk.publishing.cancel()
        if failure is not None:
            LOG.error("%s", failure)
        await self.writer.close()
        return 0 if failure is None else 1

    async def work(self) -> str | None:
        """Serve the tables until the daemon must end. Return the reason of a failure, or None after a signal."""
        for desk in self.desks:
            self.serve(desk)
        server = CommandServer(self.execute)
        serving = self.tasks.create_task(server.run(self.listener))
        watching = self.tasks.create_task(watchdog.run(self.systemd, self.stuck_parts, self.status))
        reloading = self.tasks.create_task(self.reload())
        measuring = [self.tasks.create_task(self.metrics.run())] if self.metrics is not None else []
        self.systemd.notify("READY=1", f"STATUS={self.status()}")
        self.writer.on_change = self.journal_changed
        self.journal_changed()
        load_later_modules()
        self.verify()
        self.key.prepare_in_thread(self.disk.state_dir)
        retaining = self.retaining()
        gc.freeze()  # a collection of the objects of the start would delay the event loop
        gc.enable()
        LOG.info("ready: %s", self.status())
        ends: list[asyncio.Future[Any]] = [
            self.tasks.create_task(event.wait()) for event in (self.stop, self.every_table_failed, self.damaged)
        ]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if self.damage is None:
            self.systemd.notify("STOPPING=1")
        if self.verification is not None:
            self.verification.stop()
        for task in (watching, reloading, *measuring, *retaining, *ends):
            task.cancel()
        await asyncio.wait([reloading])  # it starts and ends desks
        for desk in self.desks:
            desk.serving.cancel()
        await ended([desk.serving for desk in self.desks])
        failure = (
            None
            if self.stop.is_set()
            else "every table failed; correct the cause of each logged error, then restart shoed"
        )
        await self.writer.flush()
        failure = self.journal_failure or failure
        for desk in self.desks:
            desk.end(failure or "shoed stops; send the command again after the next start")
        server.stopping.set()
        await serving
        return failure

    def retaining(self) -> list[asyncio.Task[None]]:
        """The task that deletes old rows, if the configuration limits the journal."""
        if not self.config.journal.keep.is_limited:
            return []
        from shoed.service.retention import Retention  # noqa: PLC0415 -- imported after READY

        retention = Retention(self.store, self.writer, self.config.journal.keep, lambda: self.desks)
        return [self.tasks.create_task(retention.run())]

    @property
    def damage(self) -> JournalDamaged | None:
        """The damage of the journal that ends this daemon: `run` begins a new journal."""
        errors = (desk.record.end for desk in self.desks)
        damage = next((error for error in errors if isinstance(error, JournalDamaged)), None)
        return None if self.stop.is_set() else damage

    def journal_changed(self) -> None:
        self.systemd.notify(f"STATUS={self.status()}")
        if self.damage is not None:
            self.damaged.set()

    def serve(self, desk: D) -> None:
        """Start the devices, the deadlines and the commands of a table."""
        desk.serving = self.tasks.create_task(desk.run())
        desk.serving.add_done_callback(lambda _: self.end_if_every_table_failed())

    def end_if_every_table_failed(self) -> None:
        if self.desks and all(desk.ended is not None for desk in self.desks):
            self.every_table_failed.set()

    def verify(self) -> None:
        """Verify the record in the background."""
        from shoed.service.verification import BackgroundVerification  # noqa: PLC0415 -- imported after READY

        self.verification = BackgroundVerification(self.store)
        self.verification.start()

    @property
    def altered(self) -> str:
        """The first change of the journal that its verification found, and the first part that cannot be read."""
        changed = "" if self.verification is None else self.verification.problem
        return "; ".join(filter(None, (changed, self.store.damage)))

    async def reload(self) -> None:
        while True:
            await self.hung_up.wait()
            try:
                from shoed.service.reload import Reloader  # noqa: PLC0415 -- imported after READY

                await Reloader(self).run()
            except Exception:  # the border of a task
                self.hung_up.clear()
                self.note = "reload failed: see the log"
                LOG.exception("the reload failed; restart shoed between two rounds, and report this log")

    async def execute(self, request: AnyRequest) -> Answer:
        if isinstance(request, LogLevelRequest):
            self.log_level = request.level
            log.set_level(request.level)
            return Answer(request.id, accepted=True, detail=f"the log level is {request.level.value}")
        if isinstance(request, RestartRequest):
            return await self.restart(request)
        desks = [desk for desk in self.desks if request.table in (None, desk.name)]
        if not desks and request.table is not None:
            request_id = request.input.id if isinstance(request, Request) else request.id
            unknown = NoSuchTable(str(request.table), [desk.name for desk in self.desks])
            return Answer(request_id, accepted=False, detail=str(unknown))
        match request:
            case Request(input=command):
                return await desks[0].execute(command)
            case CaptureRequest():
                return await desks[0].capture(request)
            case StatusRequest():
                from shoed.service.status import status_of  # noqa: PLC0415 -- imported after READY

                return await status_of(self, desks, request)
            case _:
                assert_never(request)

    async def restart(self, request: RestartRequest) -> RestartAnswer:
        """End the daemon if every table is between two rounds, and still is after the time for a result."""
        waits_for = self.unfinished()
        await asyncio.sleep(RESULT_S)  # also the pause of a client that asks again
        if waits_for := self.unfinished() or waits_for:
            return RestartAnswer(
                request.id, accepted=False, detail=f"waits for {'; '.join(waits_for)}", waits_for=waits_for
            )
        LOG.info("a request ends this process between two rounds")
        self.stop.set()
        return RestartAnswer(request.id, accepted=True, detail=BY_SYSTEMD if self.systemd.address else BY_HAND)

    def unfinished(self) -> tuple[str, ...]:
        """The reason of each table that is not between two rounds. A failed table does not count."""
        reasons = ((desk.name, desk.unfinished) for desk in self.desks if desk.ended is None)
        return tuple(f"{name}: {reason}" for name, reason in reasons if reason is not None)

    def stuck_parts(self, limit_s: float) -> list[str]:
        """The parts that have made no progress for longer than the limit."""
        self.writer.beat()
        parts = ["journal"] if self.writer.is_stuck(limit_s) else []
        for desk in self.desks:
            publishing = desk.publisher.busy_since
            if publishing is not None and monotonic() - publishing > limit_s:
                parts.append(f"{desk.name} bus")
            if not desk.is_served or desk.record.stopped is not None or not self.writer.has_room.is_set():
                continue  # the table takes no input, or waits for the disk
            if any(each.is_stuck(limit_s) for each in desk.devices.values()):
                parts.append(f"{desk.name} port")
            if desk.due_ns is not None and (monotonic_ns() - desk.due_ns) / 1e9 > limit_s:
                parts.append(f"{desk.name} table")
        return parts

    @property
    def notes(self) -> str:
        """The state of the last reload, a loss of the journal, a new key, and checkpoints that were not used."""
        return "; ".join(filter(None, (self.note, self.store.note, self.key.note, *(desk.note for desk in self.desks))))

    @property
    def journal_failure(self) -> str | None:
        """The reason, while the journal cannot record a table."""
        return next((desk.record.failure for desk in self.desks if desk.record.failure is not None), None)

    def status(self) -> str:
        problem = self.metrics.problem if self.metrics is not None else ""
        return status_line(
            self.desks, "; ".join(filter(None, (self.notes, problem, self.altered, self.unexpected.text)))
        )


async def ended(tasks: Sequence[asyncio.Task[None]], limit_s: float | None = None) -> None:
    """Return when the tasks have ended. A reload may have ended the last table."""
    if tasks:
        await asyncio.wait(tasks, timeout=limit_s)


def run(config: Config, path: str) -> int:
    """Lock the state directory and serve the tables of the configuration. A damaged journal is replaced."""
    state_dir = Path(config.state_dir)
    logging.getLogger("asyncio").addFilter(LimitedLibrary("asyncio"))
    with hold(state_dir), listening(state_dir) as listener:
        began = -math.inf
        while True:
            try:
                status, daemon = asyncio.run(serve(config, path, listener))
                config, damage = daemon.config, daemon.damage
            except JournalDamaged as error:  # a table cannot be restored
                status, damage = 1, error
            if damage is None:
                return status
            if monotonic() - began < AGAIN_S:  # the disk damages the new journal, too
                raise damage
            began = monotonic()
            set_aside(state_dir / JOURNAL, now().utc_us, damage)


async def serve(config: Config, path: str, listener: socket.socket) -> tuple[int, Daemon[Desk]]:
    """Serve the tables. Return the exit status, and the daemon that has ended."""
    store = opened(Path(config.state_dir), [table.name for table in config.tables], now().utc_us)
    daemon = Daemon(config, store, Systemd(), listener.dup(), Desk, path)
    return await daemon.run(), daemon
