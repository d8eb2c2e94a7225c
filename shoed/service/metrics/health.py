"""The answer of /health: whether a person or a supervisor must act now, and the state of each table.

Theory of operation: a failure (the journal, an overdue commit, a table that has ended, a stuck part) gives status 503.
The absence of a device or of the broker is a warning: shoed connects again by itself, a restart does not help, and no
event is lost.
"""

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shoed import VERSION
from shoed.service.status import BrokerStatus, DeviceHealth, broker_of, devices_of, overdue
from shoed.table.state import LinkStatus

if TYPE_CHECKING:
    from shoed.service.daemon import Daemon

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"


class TableHealth(Struct, frozen=True):
    """A table, with the keys of `shoed status --json`."""

    name: str
    failure: str | None
    devices: tuple[DeviceHealth, ...]
    broker: BrokerStatus


class Health(Struct, frozen=True):
    status: str
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    version: str
    tables: tuple[TableHealth, ...]


def health(daemon: "Daemon[Any]") -> Health:
    desks = [each for each in daemon.desks if each.leaving is None]  # a table that a reload removes is not missed
    tables = tuple([TableHealth(each.name, each.ended, devices_of(each), broker_of(each)) for each in desks])
    stopped = {each.name: each.record.stopped for each in desks}
    failures = [f"{name}: {each.reason}" for name, each in stopped.items() if each is not None]
    slow = None if failures else overdue(daemon.writer.committing_s)
    failures += [f"journal: {slow}"] if slow else []
    limit_s = daemon.systemd.watchdog_s
    failures += [f"{part}: no progress for {limit_s:g} s" for part in daemon.stuck_parts(limit_s)]
    failures += [f"{each.name}: {each.failure}" for each in tables if each.failure]
    warnings = [warning for each in tables for warning in absences(each)]
    warnings += [each for each in (daemon.altered, daemon.unexpected.text) if each]
    status = FAILED if failures else WARNING if warnings else OK
    return Health(status, tuple(failures), tuple(warnings), VERSION, tables)


def absences(table: TableHealth) -> list[str]:
    found = [] if table.broker.online else [f"{table.name}: broker: {table.broker.reason}"]
    for device in table.devices:
        if device.link is not LinkStatus.ONLINE:
            reason = f": {device.reason}" if device.reason else ""
            found.append(f"{table.name}: {device.device.value} {device.link.value}{reason}")
    return found
