"""The checks of the devices: their names, the programs that use them, their links and their versions.

While the daemon runs, it reports the state of its ports. The checks of this module do not open a port.
"""

import grp
import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from shoed.errors import JournalUnusable
from shoed.journal import Reader
from shoed.journal.store import JOURNAL
from shoed.model.observations import Device
from shoed.ports.address import HidrawAddress, SerialAddress, parse_address
from shoed.ports.holders import holders
from shoed.ports.identity import BY_ID, NAMES, SYS, links_in, names_its_device, stable_path, sysfs_value
from shoed.service.config import Config, ShoeConfig, ShufflerConfig
from shoed.service.device_config import MAY_CHANGE
from shoed.service.doctor.catalogue import CheckName, CheckResult, Level, refused
from shoed.service.status import DaemonStatus, DeviceHealth
from shoed.session import drivers
from shoed.table.state import LinkStatus
from shoed.typed_json import decoder

UNIT_GROUP: Final = "dialout"  # SupplementaryGroups in systemd/shoed.service
LATENCY_MS: Final = 2  # the udev rules set 1


class ConfiguredDevice(Struct, frozen=True):
    """A device of a table in the configuration."""

    table: str
    device: Device
    config: ShoeConfig | ShufflerConfig

    @property
    def where(self) -> str:
        return f"{self.table} {self.device.value}"


def devices_of(config: Config) -> list[ConfiguredDevice]:
    return [ConfiguredDevice(table.name, device, of) for table in config.tables for device, of in table.devices.items()]


# --- names and programs


def check_names(of: ConfiguredDevice, pid: int | None, owner: int | None, sys: Path = SYS) -> Iterator[CheckResult]:
    """The checks that do not open the port. `owner`: the user of the daemon, if root makes the checks for it."""
    address = parse_address(of.config.port)
    if not isinstance(address, SerialAddress | HidrawAddress):
        return
    node = os.path.realpath(address.path)
    yield stable(of, address, sys)
    yield from held(of, node, pid)
    yield from denied(of, node, owner)
    yield from latency(of, node, sys)


def stable(of: ConfiguredDevice, address: SerialAddress | HidrawAddress, sys: Path) -> CheckResult:
    if names_its_device(address):
        return CheckResult(CheckName.PORT_NAME, Level.OK, of.where, f"{address.path} stays with its device")
    steady = stable_path(os.path.normpath(address.path), (links_in(BY_ID), links_in(NAMES)), sys)
    text = f"{address.path} {MAY_CHANGE}"
    remedy = f"write {msgspec.structs.replace(address, path=steady)}" if steady else "install shoed's udev rules"
    return CheckResult(CheckName.PORT_NAME, Level.WARNING, of.where, text, f"{remedy}; `shoed ports` lists the names")


def held(of: ConfiguredDevice, node: str, pid: int | None) -> Iterator[CheckResult]:
    """The programs that have the node open, except the daemon."""
    try:
        others = [each for each in holders(node) if each.pid != pid]
    except OSError:  # the port is absent: the check of the port reports it
        return
    if others:
        text = f"{', '.join(map(str, others))} has {node} open"
        remedy = f"stop it: kill {' '.join(str(each.pid) for each in others)}"
        yield CheckResult(CheckName.PORT_HOLDER, Level.PROBLEM, of.where, text, remedy)
    else:
        seen = "" if os.geteuid() == 0 else "; only root sees the programs of other users"
        yield CheckResult(CheckName.PORT_HOLDER, Level.OK, of.where, f"no other program has {node} open{seen}")


def denied(of: ConfiguredDevice, node: str, owner: int | None) -> Iterator[CheckResult]:
    """Root can open every node. The user of the daemon requires a permission, also from the groups of the unit."""
    try:
        found = Path(node).stat()
        user = None if owner is None else pwd.getpwuid(owner)
    except (OSError, KeyError):  # the check of the port reports an absent node
        return
    if user is None or may_use(found, user.pw_uid, os.getgrouplist(user.pw_name, user.pw_gid)):
        return
    text = f"root can open {node}, and the user {user.pw_name} of the state directory cannot"
    remedy = (
        "install shoed's udev rules (docs/install.md), or add the group of the node to SupplementaryGroups of the unit"
    )
    yield CheckResult(CheckName.PORT, Level.WARNING, of.where, text, remedy)


def may_use(node: os.stat_result, user: int, groups: Sequence[int]) -> bool:
    """Whether the mode of a node allows a user of these groups, and of the group of the unit, to read and write it."""
    both = stat.S_IROTH | stat.S_IWOTH
    if node.st_uid == user:
        return node.st_mode >> 6 & both == both
    if node.st_gid in groups or group_name(node.st_gid) == UNIT_GROUP:
        return node.st_mode >> 3 & both == both
    return node.st_mode & both == both


def group_name(group: int) -> str:
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return ""


def latency(of: ConfiguredDevice, node: str, sys: Path) -> Iterator[CheckResult]:
    file = sys / "class/tty" / Path(node).name / "device/latency_timer"
    milliseconds = sysfs_value(file)
    if not milliseconds.isdecimal():  # not an FTDI adapter
        return
    text = f"the adapter delays bytes by up to {milliseconds} ms"
    if int(milliseconds) <= LATENCY_MS:
        yield CheckResult(CheckName.PORT_LATENCY, Level.OK, of.where, text)
    else:
        remedy = f"install shoed's udev rules (docs/install.md) and reconnect the adapter, or run: echo 1 > {file}"
        yield CheckResult(CheckName.PORT_LATENCY, Level.WARNING, of.where, text, remedy)


# --- links, as the daemon reports them


def check_links(status: DaemonStatus) -> list[CheckResult]:
    return [link(f"{table.name} {each.device.value}", each) for table in status.tables for each in table.devices]


def link(where: str, each: DeviceHealth) -> CheckResult:
    heard = f"last bytes at {each.heard_at}" if each.heard_at else "no bytes yet"
    if each.link is LinkStatus.OFFLINE:
        reason = each.reason or f"{each.port}: the daemon has not opened the port yet; run doctor again in some seconds"
        return refused(CheckName.PORT, where, reason)
    if each.link is LinkStatus.QUIET:
        remedy = "draw a card; check that the device is on, and its cable"
        return CheckResult(
            CheckName.PORT, Level.WARNING, where, f"the link is open, and the device is quiet; {heard}", remedy
        )
    if each.reason is not None:
        return refused(CheckName.PORT, where, each.reason, Level.WARNING)
    return CheckResult(CheckName.PORT, Level.OK, where, f"the daemon has {each.port} open; {heard}")


# --- versions


class StatedVersion(Struct, frozen=True):
    """The versions in the event `device.identified`."""

    firmware: str
    protocol: str
    vendor: str = ""
    model: str = ""
    device: str = Device.SHOE.value


def check_versions(state_dir: Path, devices: Sequence[ConfiguredDevice]) -> Iterator[CheckResult]:
    """Compare the version that each device stated to the daemon with the configuration."""
    stating = [of for of in devices if drivers.find(of.config.protocol).family.identifies]
    if not stating:
        return
    try:
        with Reader(state_dir / JOURNAL) as reader:
            for of in stating:
                yield firmware(of, stated(reader, of))
    except JournalUnusable as error:
        yield refused(CheckName.FIRMWARE, "journal", error, Level.SKIPPED)


def stated(reader: Reader, of: ConfiguredDevice) -> StatedVersion | None:
    """The newest identity of the device that the daemon recorded."""
    events = reader.newest_events(of.table, "device.identified")
    found = (decoder(StatedVersion).decode(event.data) for event in events)
    return next((each for each in found if each.device == of.device.value), None)


def firmware(of: ConfiguredDevice, its: StatedVersion | None) -> CheckResult:
    if its is None:
        text = "the device has not identified itself to the daemon yet"
        return CheckResult(CheckName.FIRMWARE, Level.SKIPPED, of.where, text)
    known = drivers.find(of.config.protocol).family.firmware
    name = " ".join(each for each in (its.vendor, its.model, its.firmware) if each)
    text = f"{name} states version {its.protocol}; the configuration has {of.config.firmware}"
    if its.protocol == of.config.firmware:
        return CheckResult(CheckName.FIRMWARE, Level.OK, of.where, text)
    if its.protocol not in known:
        remedy = f"update shoed, which knows {', '.join(known)}"
        return CheckResult(CheckName.FIRMWARE, Level.PROBLEM, of.where, text, remedy)
    remedy = f'write firmware = "{its.protocol}" in the section of the device'
    return CheckResult(CheckName.FIRMWARE, Level.WARNING, of.where, text, remedy)
