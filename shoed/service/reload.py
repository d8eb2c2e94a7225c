"""A reload: the running daemon applies a changed configuration.

Theory of operation: `run` reads the file at each SIGHUP, and applies what `changes.plan` allows. The rest waits: after
each input of a waiting table, `run` makes the plan again. A further SIGHUP replaces the wanted configuration, so the
newest valid file counts. First the links of all changed devices are closed, then the tables adopt their settings. A
device may therefore move from one table to another. A file with a problem changes nothing.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic_ns
from typing import Final, Generic, Never

from msgspec.structs import replace

from shoed.errors import SettingsError, ShoedError
from shoed.ports.address import parse_address
from shoed.ports.link import load_port
from shoed.ports.threads import off_loop
from shoed.service import log
from shoed.service.changes import Changes, TableNow, changes, differing, plan, tables_of, under_way
from shoed.service.config import Config, TableConfig, load
from shoed.service.daemon import FAREWELL_S, D, Daemon
from shoed.service.desk import Desk
from shoed.service.secret_files import Purpose

LOG: Final = logging.getLogger("shoed.reload")

REMOVED: Final = "the table was removed from the configuration"
CHANGED: Final = "the configuration of the device was changed"
REPLACED: Final = "the broker was replaced in the configuration"
UPDATED: Final = (
    "the configuration was not reloaded, and nothing has changed: an update has replaced the files of this process;"
    " run `shoed restart`, which restarts shoed between two rounds with the new configuration"
)


class Reloader(Generic[D]):
    def __init__(self, daemon: Daemon[D]) -> None:
        self.daemon = daemon
        self.wanted = daemon.config  # with the site and the state directory of the running daemon
        self.restart: tuple[str, ...] = ()  # the changed keys that a reload does not apply
        self.waiting: Mapping[str, str] = {}  # by the name of the table: the reason
        self.not_started: dict[str, str] = {}  # by the name of an added table: the reason
        self.refusal = ""  # of the newest file
        self.news = asyncio.Event()

    async def run(self) -> Never:
        while True:
            is_requested = self.daemon.hung_up.is_set()
            try:
                if is_requested:
                    self.daemon.hung_up.clear()
                    self.daemon.systemd.notify("RELOADING=1", f"MONOTONIC_USEC={monotonic_ns() // 1000}")
                    await self.read()
                while await self.apply():
                    pass
            except Exception:  # the border of a task
                self.daemon.note = "reload failed: see the log"
                LOG.exception("the reload failed; restart shoed between two rounds, and report this log")
            if is_requested:
                self.daemon.systemd.notify("READY=1", f"STATUS={self.daemon.status()}")
            await self.until_news()

    async def until_news(self) -> None:
        """Return at the next SIGHUP, or after an input of a table that waits."""
        watched = [desk for desk in self.daemon.desks if desk.name in self.waiting]
        self.news.clear()
        for desk in watched:
            desk.stepped = self.news.set
        ends = [asyncio.create_task(event.wait()) for event in (self.news, self.daemon.hung_up)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for desk in watched:
                desk.stepped = None
            for end in ends:
                end.cancel()

    # --- the file

    async def read(self) -> None:
        """Read the file, and apply the changes that do not concern a table alone."""
        if self.daemon.installed.are_replaced:
            LOG.error("%s", UPDATED)
            self.refusal = "refused, an update requires a restart"
            return
        try:
            found = await off_loop(partial(prepared, self.daemon.path or ""))
        except ShoedError as error:
            self.refuse(error.problems if isinstance(error, SettingsError) else (error,))
            return
        for warning in found.warnings:
            LOG.warning("%s", warning)
        tables = tuple([desk.config for desk in self.daemon.desks])
        before = replace(self.daemon.config, tables=tables, log_level=self.daemon.log_level)
        differences = changes(before, found)
        self.restart, self.waiting, self.not_started, self.refusal = differences.restart, {}, {}, ""
        kept = {"state_dir": before.state_dir, "journal": before.journal, "metrics": before.metrics}
        self.wanted = replace(found, site=before.site, **kept)
        self.daemon.config = self.wanted
        if differences == Changes():
            LOG.info("reloaded: no change")
        for key in self.restart:
            LOG.warning("%s: not applied; restart shoed between two rounds to apply it", key)
        self.daemon.log_level = self.wanted.log_level
        log.set_level(self.wanted.log_level)
        if differences.broker:
            await asyncio.gather(*(self.move(desk) for desk in self.daemon.desks))
        for key in (*differences.log, *differences.broker):
            LOG.info("%s: applied", key)

    def refuse(self, problems: Sequence[object]) -> None:
        for problem in problems:
            LOG.error("%s", problem)
        LOG.error("the configuration was not reloaded, and nothing has changed; correct the lines above")
        self.refusal = f"refused, {len(problems)} {'problem' if len(problems) == 1 else 'problems'} in the log"

    async def move(self, desk: D) -> None:
        """Publish the farewell on the old broker, and continue on the new one after the last acknowledged event."""
        old = desk.publisher
        await leave_broker(desk, REPLACED)
        desk.publisher = desk.publisher_to(self.wanted.broker, old.acknowledged)
        if desk.ended is not None:
            await self.daemon.writer.flush()  # the last Steps of a table that has just failed
            desk.publisher.complete(desk.ended)
        desk.publishing = self.daemon.tasks.create_task(desk.publish())

    # --- the tables

    async def apply(self) -> bool:
        """Apply the changes that do not affect a round. Return whether a table has changed: others may wait for it."""
        desks = {desk.name: desk for desk in self.daemon.desks}
        wanted = {name: table for name, table in tables_of(self.wanted).items() if name not in self.not_started}
        failed = [name for name, desk in desks.items() if desk.ended is not None and wanted.get(name) != desk.config]

        def planned() -> tuple[Mapping[str, str], Mapping[str, TableConfig]]:
            """The reasons of the tables that wait, and the tables that are to run now."""
            found = plan({name: now(desk) for name, desk in desks.items()}, wanted)
            return found.waiting, {name: table for name, table in found.tables.items() if name not in failed}

        waiting, targets = planned()
        added = [await self.made(table) for name, table in targets.items() if name not in desks]
        if added:  # a table may have begun a round while the records of the added tables were read
            waiting, targets = planned()
            added = [desk for desk in added if desk is not None and targets.get(desk.name) == desk.config]
        removed = [desk for name, desk in desks.items() if name not in targets]
        changed = [desk for name, desk in desks.items() if name in targets and targets[name] != desk.config]
        await asyncio.gather(
            *(close(desk) for desk in removed), *(close_changed(desk, targets[desk.name]) for desk in changed)
        )
        for desk in changed:
            adopt(desk, targets[desk.name])
        for desk in filter(None, added):
            self.begin(desk)
        await asyncio.gather(*(self.remove(desk) for desk in removed))
        self.report_waiting(waiting)
        self.daemon.end_if_every_table_failed()
        return bool(changed or removed or any(added))

    def report_waiting(self, waiting: Mapping[str, str]) -> None:
        for name, reason in waiting.items():
            if self.waiting.get(name) != reason:
                LOG.info("%s: a change %s", name, reason)
        self.waiting = waiting
        parts = [f"{', '.join(self.restart)} requires a restart"] if self.restart else []
        parts += [self.refusal] if self.refusal else []
        parts += [f"{name} {reason}" for name, reason in (*self.not_started.items(), *waiting.items())]
        self.daemon.note = f"reload: {', '.join(parts)}" if parts else ""

    async def made(self, table: TableConfig) -> D | None:
        """The desk of an added table. Its record may be long, so it is read in a thread."""
        try:
            return await off_loop(partial(self.daemon.desk_of, table))
        except ShoedError as error:
            LOG.error("%s: not started: %s", table.name, error)  # noqa: TRY400 -- the message has the cause
            self.not_started[table.name] = "was not started: correct the cause in the log, then reload again"
            return None

    def begin(self, desk: D) -> None:
        desk.configure()
        self.daemon.desks.append(desk)
        desk.publishing = self.daemon.tasks.create_task(desk.publish())
        self.daemon.serve(desk)
        LOG.info("%s: added", desk.name)

    async def remove(self, desk: D) -> None:
        """Publish the rest of the events and the farewell of a table whose links are closed."""
        await self.daemon.writer.flush()
        desk.end(REMOVED)
        await leave_broker(desk, REMOVED)
        await self.daemon.writer.flush()  # a table of this name continues from its cursor
        self.daemon.writer.forget(desk.name)
        self.daemon.desks.remove(desk)
        LOG.info("%s: removed", desk.name)
        if desk.backlog:
            LOG.warning(
                "%s: events that wait in the journal, because the broker has not acknowledged them: %d; add the table"
                " again to publish them",
                desk.name,
                desk.backlog,
            )


def prepared(path: str) -> Config:
    """The configuration in the file. A table may wait for the end of its round: the modules of its ports are loaded."""
    found = load(path, Purpose.RUN)
    for table in found.tables:
        for each in table.devices.values():
            load_port(parse_address(each.port), is_keyed=each.key_file is not None)
    return found


def now(desk: Desk) -> TableNow:
    held = under_way(desk.engine.table_settings, desk.state.table) if desk.ended is None else ""
    return TableNow(desk.config, held, tuple([device for device, each in desk.devices.items() if each.link is None]))


async def close(desk: Desk) -> None:
    for each in desk.devices.values():
        each.closing_reason = REMOVED
    desk.serving.cancel()
    await asyncio.wait([desk.serving])


async def close_changed(desk: Desk, target: TableConfig) -> None:
    changed = [each for device, each in desk.devices.items() if target.devices.get(device) != each.config]
    await asyncio.gather(*(each.stop(CHANGED) for each in changed))


def adopt(desk: Desk, target: TableConfig) -> None:
    """Replace the settings of a table. While its links were closed, a command may have begun a round."""
    if desk.ended is not None:  # the next plan starts the table again
        return
    if now(desk).held:
        target = replace(desk.config, shoe=target.shoe, shuffler=target.shuffler)
    keys = differing(desk.config, target, "table")
    desk.adopt(target)
    for key in keys:
        LOG.info("%s: %s: applied", desk.name, key)


async def leave_broker(desk: Desk, reason: str) -> None:
    desk.publisher.finish(reason)
    await asyncio.wait([desk.publishing], timeout=FAREWELL_S)
    desk.publishing.cancel()
    await asyncio.wait([desk.publishing])
