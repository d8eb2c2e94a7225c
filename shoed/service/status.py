"""The status of a running daemon, for `shoed status` and for programs: one value, with stable keys in JSON.

Theory of operation: the daemon answers from memory, and reads neither the journal nor the broker, so a journal that
hangs does not delay the answer. A table shows its committed state only, as all messages do. The disk is measured in a
thread. The event loop serves the tables between two tables of an answer.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from shoed import VERSION
from shoed.model.commands import Answer
from shoed.model.moments import rfc3339
from shoed.model.observations import Device
from shoed.model.requests import StatusRequest
from shoed.service.disk import DiskStatus
from shoed.table import PublicQuestion, PublicState, public_state
from shoed.table.public_state import PublicDevice

if TYPE_CHECKING:  # the daemon imports this module for the first request
    from shoed.service.daemon import D, Daemon
    from shoed.service.desk import Desk

SLOW_S: Final = 2.0  # a commit, or an answer of the disk, that takes longer is a problem


class DeviceHealth(PublicDevice, frozen=True):
    """A device of a table: the fields of `state`, and its configuration."""

    device: Device
    protocol: str
    firmware: str
    port: str


class BrokerStatus(msgspec.Struct, frozen=True):
    """The connection of a table to the broker.

    `reason`: why there is no connection; null with a connection. `backlog`: the number of committed events that the
    broker has not acknowledged.
    """

    online: bool
    reason: str | None
    backlog: int


class TableStatus(msgspec.Struct, frozen=True):
    """A table. `failure`: the reason if the table failed, else null. `state`, `question`: the retained messages.

    `stopped`: the reason while the journal cannot record the table, else null. The table then continues by itself.
    """

    name: str
    failure: str | None
    state: PublicState
    question: PublicQuestion | None
    devices: tuple[DeviceHealth, ...]
    broker: BrokerStatus
    stopped: str | None = None


class JournalStatus(msgspec.Struct, frozen=True):
    """The journal. `failure`: the reason while a table is stopped, else null. `disk`: null if the disk does not answer.

    `waiting`: the number of Steps that wait for a commit. `committing_s`: the age of the present commit; null without
    one. `disk_silent_s`: the time for which the disk has not answered; null if it answers.
    """

    state_dir: str
    failure: str | None
    waiting: int
    committing_s: float | None
    disk: DiskStatus | None
    disk_silent_s: float | None = None


class DaemonStatus(Answer, frozen=True, kw_only=True):
    """The daemon and its tables. `broker`: its address. `note`: the changes that a reload has not applied, or empty.

    `unexpected_errors`: the number and the last of the errors with a traceback in the log; null without one.
    `altered`: the first change of the journal that its verification in the background found, and the first part of the
    journal that cannot be read; null without them.
    """

    version: str
    site: str
    pid: int
    started_at: str
    broker: str
    journal: JournalStatus
    tables: tuple[TableStatus, ...]
    note: str = ""
    unexpected_errors: str | None = None
    altered: str | None = None

    @property
    def problems(self) -> list[str]:
        """The problems of the daemon itself: a closed link or a broker that is away is not one of them."""
        found = [f"{each.name}: {each.failure}" for each in self.tables if each.failure is not None]
        stopped = [each.name for each in self.tables if each.stopped is not None]
        if self.journal.failure is not None:
            found.append(f"{', '.join(stopped)}: {self.journal.failure}" if stopped else self.journal.failure)
        elif (reason := overdue(self.journal.committing_s)) is not None:
            found.append(reason)
        if (silent_s := self.journal.disk_silent_s or 0) > SLOW_S:
            found.append(f"the disk has not answered for {silent_s:.0f} s; check the disk of the state directory")
        if self.altered:
            found.append(self.altered)
        if self.unexpected_errors:
            found.append(self.unexpected_errors)
        return found


def overdue(committing_s: float | None) -> str | None:
    """The problem of a commit that began so many seconds ago, independent of the watchdog."""
    if committing_s is None or committing_s <= SLOW_S:
        return None
    return (
        f"a commit of the journal is not complete after {committing_s:.0f} s, and shoed publishes no further event;"
        " check the disk, and end the program that locks the journal; the tables then continue by themselves"
    )


async def status_of(daemon: "Daemon[D]", desks: Sequence["Desk"], request: StatusRequest) -> DaemonStatus:
    disk = await daemon.disk.measure()
    tables = []
    for desk in desks:
        tables.append(table_of(desk))
        await asyncio.sleep(0)  # the tables are served
    writer, config = daemon.writer, daemon.config
    return DaemonStatus(
        request.id,
        accepted=True,
        version=VERSION,
        site=config.site,
        pid=os.getpid(),
        started_at=rfc3339(daemon.began_us),
        broker=config.broker.at,
        journal=JournalStatus(
            state_dir=str(daemon.disk.state_dir),
            failure=daemon.journal_failure,
            waiting=writer.waiting,
            committing_s=writer.committing_s,
            disk=disk,
            disk_silent_s=daemon.disk.silent_s,
        ),
        tables=tuple(tables),
        note=daemon.notes,
        unexpected_errors=daemon.unexpected.text or None,
        altered=daemon.altered or None,
    )


def table_of(desk: "Desk") -> TableStatus:
    state, publisher, table = desk.committed, desk.publisher, desk.publisher.messages
    return TableStatus(
        name=desk.name,
        failure=desk.ended,
        state=public_state(table.game, state, insurance=table.insurance),
        question=publisher.open_question(state),
        devices=devices_of(desk),
        broker=broker_of(desk),
        stopped=None if desk.record.stopped is None else desk.record.stopped.reason,
    )


def broker_of(desk: "Desk") -> BrokerStatus:
    reason = desk.publisher.offline_reason
    return BrokerStatus(online=reason is None, reason=reason, backlog=desk.backlog)


def devices_of(desk: "Desk") -> tuple[DeviceHealth, ...]:
    return tuple(
        DeviceHealth(
            **msgspec.structs.asdict(desk.public_devices[device]),
            device=device,
            protocol=of.protocol,
            firmware=of.firmware,
            port=of.port,
        )
        for device, of in desk.config.devices.items()
    )
