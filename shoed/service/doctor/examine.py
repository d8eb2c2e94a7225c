"""The examination: all checks, in the order of the table of checks.

Theory of operation: the configuration decides what is examined. Without a usable configuration, doctor examines
the machine and, if the state directory is known, the daemon and the journal. A port is opened only if no daemon runs.
"""

import asyncio
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from shoed import VERSION
from shoed.errors import NotRunning, Problem, SettingsError, ShoedError
from shoed.model.requests import StatusRequest
from shoed.service import config as configuration
from shoed.service.command_socket import query
from shoed.service.config import Config
from shoed.service.device_config import MAY_CHANGE
from shoed.service.doctor.brokers import check_broker
from shoed.service.doctor.catalogue import CHECKS, CheckName, CheckResult, Level, refused
from shoed.service.doctor.devices import check_links, check_names, check_versions, devices_of
from shoed.service.doctor.lines import check_ports, check_traffic, known_families
from shoed.service.doctor.machine import check_clock, check_disk
from shoed.service.doctor.state import check_directory, check_journal, check_secret_files
from shoed.service.status import DaemonStatus

OF_STATE: Final = (
    CheckName.DAEMON,
    CheckName.STATE_DIRECTORY,
    CheckName.DISK_SPACE,
    CheckName.DISK_SPEED,
    CheckName.DISK_HEALTH,
    CheckName.JOURNAL,
    CheckName.JOURNAL_VERSION,
)


RESTART: Final = "restart the daemon between two rounds, or run the doctor of its installation"
OF_RELOAD: Final = (
    "correct a file that was refused, and reload it; a change that waits needs no action; others need a restart"
)
OF_JOURNAL: Final = "run: shoed journal verify; docs/operation.md describes a damaged journal and a new word in the ids"
NO_CONFIGURATION: Final = "this check requires a configuration that can be read"


class Report(Struct, frozen=True):
    """The results of one examination, and the worst level of them."""

    version: str
    level: Level
    results: tuple[CheckResult, ...]


async def examine(file: str | None, state_dir: Path | None, listen_s: float) -> Report:
    """Make all checks. `file`: the configuration; None with a state directory alone."""
    config, found = (None, []) if file is None else check_configuration(file)
    if file is not None and (place := configuration.place_of(file)) is not None:
        _, state_dir = place
    status, may_run = None, True
    if state_dir is not None:
        result, status, may_run = check_daemon(state_dir)
        found.append(result)
        found += check_state(state_dir, status)
    found.append(check_clock())
    if config is not None:
        found += [] if status is None else unapplied(config, status)
        found += check_secret_files(config)
        found += await check_devices(config, status, listen_s, may_run=may_run)
        found += await check_broker(config, status)
    found += unexamined({each.check for each in found}, config, state_dir)
    order = list(CHECKS)
    found.sort(key=lambda each: order.index(each.check))
    levels = {each.level for each in found}
    worst = next((each for each in (Level.PROBLEM, Level.WARNING) if each in levels), Level.OK)
    return Report(VERSION, worst, tuple(found))


def check_configuration(file: str) -> tuple[Config | None, list[CheckResult]]:
    try:
        config = configuration.load(file)
    except SettingsError as error:
        return None, [of_line(each, Level.PROBLEM) for each in error.problems]
    except ShoedError as error:
        return None, [refused(CheckName.CONFIGURATION, file, error)]
    warnings = [
        of_line(each, Level.WARNING)
        for each in config.warnings
        if not each.problem.endswith(MAY_CHANGE)  # the check of the names has these
    ]
    tables = ", ".join(table.name for table in config.tables)
    return config, warnings or [CheckResult(CheckName.CONFIGURATION, Level.OK, file, f"no error; tables: {tables}")]


def of_line(each: Problem, level: Level) -> CheckResult:
    where = each.file if each.line is None else f"{each.file}:{each.line}"
    return CheckResult(CheckName.CONFIGURATION, level, where, f"{each.key}: {each.problem}", each.remedy)


def check_daemon(state_dir: Path) -> tuple[CheckResult, DaemonStatus | None, bool]:
    """The result, the status of the daemon, and whether a daemon may run."""
    where = str(state_dir)
    try:
        status = query(state_dir, StatusRequest(os.urandom(8).hex(), None), DaemonStatus)
    except NotRunning as error:
        return refused(CheckName.DAEMON, where, error, Level.WARNING), None, False
    except ShoedError as error:
        return refused(CheckName.DAEMON, where, error), None, True
    except msgspec.DecodeError as error:
        text = f"the daemon is of another version than this program, {VERSION}: {error}"
        return CheckResult(CheckName.DAEMON, Level.PROBLEM, where, text, RESTART), None, True
    text = f"process {status.pid}, version {status.version}, since {status.started_at}"
    if status.problems:
        remedy = "correct the cause, and restart shoed; the log of the daemon has the details"
        return CheckResult(CheckName.DAEMON, Level.PROBLEM, where, "; ".join(status.problems), remedy), status, True
    if status.version != VERSION:
        text += f"; this program has version {VERSION}"
        return CheckResult(CheckName.DAEMON, Level.WARNING, where, text, RESTART), status, True
    return CheckResult(CheckName.DAEMON, Level.OK, where, text), status, True


def unapplied(config: Config, status: DaemonStatus) -> Iterator[CheckResult]:
    """The changes that the daemon has not applied, and the losses that it found at its start.

    A change of the site is in every topic.
    """
    if status.note:
        remedy = OF_RELOAD if status.note.startswith("reload") else OF_JOURNAL
        yield CheckResult(CheckName.DAEMON, Level.WARNING, status.site, status.note, remedy)
    elif status.site != config.site:
        text = f"the daemon runs with site.name {status.site}, and the configuration has {config.site}"
        yield CheckResult(CheckName.DAEMON, Level.WARNING, status.site, text, "restart shoed between two rounds")


def check_state(state_dir: Path, status: DaemonStatus | None) -> list[CheckResult]:
    found = check_directory(state_dir, None if status is None else status.pid)
    if os.access(state_dir, os.R_OK | os.X_OK):
        found += [*check_disk(state_dir), *check_journal(state_dir)]
    return found


async def check_devices(
    config: Config, status: DaemonStatus | None, listen_s: float, *, may_run: bool
) -> list[CheckResult]:
    devices = devices_of(config)
    pid = None if status is None else status.pid
    owner = owner_of(Path(config.state_dir)) if status is None and os.geteuid() == 0 else None
    found = [each for of in devices for each in check_names(of, pid, owner)]
    found += check_versions(Path(config.state_dir), devices)
    if status is not None:
        families = known_families()
        found += check_links(status)
        for of in devices:
            found.append(await asyncio.to_thread(check_traffic, Path(config.state_dir), of, families))
    elif may_run:
        text = "a daemon may run and does not answer, so doctor does not open the port"
        found += [CheckResult(CheckName.PORT, Level.SKIPPED, of.where, text) for of in devices]
    else:
        found += await check_ports(devices, listen_s)
    return found


def owner_of(state_dir: Path) -> int | None:
    try:
        return state_dir.stat().st_uid
    except OSError:
        return None


def unexamined(examined: Collection[CheckName], config: Config | None, state_dir: Path | None) -> list[CheckResult]:
    """Each check without a result, with the reason."""
    found = []
    for name, check in CHECKS.items():
        if name not in examined:
            has_subject = state_dir is not None if name in OF_STATE else config is not None
            reason = check.without if has_subject else NO_CONFIGURATION
            found.append(CheckResult(name, Level.SKIPPED, "", reason))
    return found
