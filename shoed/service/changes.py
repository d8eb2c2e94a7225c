"""The differences of two configurations, and the part of them that a running daemon can apply now.

Theory of operation: `changes` compares two configurations, by key. `plan` decides with the present state of the tables:
a change that would affect a round waits for the end of the round. Both are pure. A device that takes the port of
another device waits until the other device has released the port.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Final

import msgspec
from msgspec.structs import replace

from shoed.bus.settings import BrokerSettings
from shoed.model.observations import Device
from shoed.service.config import Config, TableConfig
from shoed.table import TableSettings, TableState
from shoed.table.assess import house_of, judge
from shoed.table.phase import DRAWN, OPEN, Phase
from shoed.table.questions import open_questions
from shoed.table.state import Comparison

URL: Final = ("host", "port", "tls")  # fields of BrokerSettings that are one key of the file
FLAT: Final = ("house", "settings")  # fields whose keys are in the section above them


class Reach(Enum):
    """When a reload applies a change."""

    AT_ONCE = "at once"
    BETWEEN_ROUNDS = "between two rounds"
    WHILE_OFFLINE = "between two rounds; at once while the shoe is offline"
    RESTART = "not by a reload: restart shoed"


# docs/configuration.md prints this table.
REACHES: Final[Mapping[str, tuple[Reach, str]]] = {
    "`site.name`, `site.state_dir`, `[journal]`, `[metrics]`": (Reach.RESTART, ""),
    "`[log]`": (Reach.AT_ONCE, "it replaces a level that `shoed log` set"),
    "`[mqtt]`": (
        Reach.AT_ONCE,
        "a table publishes `offline` on the old broker; on the new one, it continues after the last acknowledged event",
    ),
    "a `[[table]]` that is added": (Reach.AT_ONCE, "an earlier record of its name continues"),
    "a `[[table]]` that is removed": (Reach.BETWEEN_ROUNDS, "it publishes `offline` with the reason"),
    "`[table.shoe]`": (Reach.WHILE_OFFLINE, "its link is closed, and opened with the new settings"),
    "`[table.shuffler]`": (Reach.AT_ONCE, "its link is closed, and opened with the new settings"),
    "every other key of `[[table]]`": (Reach.BETWEEN_ROUNDS, "the links stay open"),
}


class Changes(msgspec.Struct, frozen=True):
    """The changed keys, by their effect."""

    restart: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    broker: tuple[str, ...] = ()
    added: tuple[str, ...] = ()  # names of tables
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = {}  # by the name of the table


def changes(old: Config, new: Config) -> Changes:
    before, after = tables_of(old), tables_of(new)
    both = [name for name in before if name in after]
    restarting = (
        ("site.name", old.site, new.site),
        ("site.state_dir", old.state_dir, new.state_dir),
        ("journal.key_file", old.journal.key_file, new.journal.key_file),
        ("journal.keep_days", old.journal.keep.days, new.journal.keep.days),
        ("journal.keep_mb", old.journal.keep.mb, new.journal.keep.mb),
        ("metrics.listen", old.metrics, new.metrics),
    )
    return Changes(
        restart=tuple(key for key, was, now in restarting if was != now),
        log=() if old.log_level is new.log_level else ("log.level",),
        broker=differing(old.broker, new.broker, "mqtt"),
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        changed={name: keys for name in both if (keys := differing(before[name], after[name], "table"))},
    )


def tables_of(config: Config) -> dict[str, TableConfig]:
    return {table.name: table for table in config.tables}


def differing(old: object, new: object, key: str) -> tuple[str, ...]:
    """The keys below `key` whose values differ, as the file names them."""
    names = field_names(old) if type(old) is type(new) else ()
    if not names:
        return () if old == new else (key,)
    found: list[str] = []
    for name in names:
        if isinstance(old, BrokerSettings) and name in URL:
            below = f"{key}.url"
        else:
            below = key if name in FLAT else f"{key}.{name}"
        found += differing(getattr(old, name), getattr(new, name), below)
    return tuple(dict.fromkeys(found))


def field_names(value: object) -> tuple[str, ...]:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    return tuple(field.name for field in fields(value)) if is_dataclass(value) else ()


# --- the part that can be applied now


class TableNow(msgspec.Struct, frozen=True):
    """A running table, as a plan needs it."""

    config: TableConfig
    held: str = ""  # the reason why the round is not over; "": no round is under way
    offline: tuple[Device, ...] = ()  # the devices without an open link


class Plan(msgspec.Struct, frozen=True):
    """The configuration of each table that can be applied now, and the reason of each change that waits."""

    tables: Mapping[str, TableConfig]
    waiting: Mapping[str, str]  # by the name of the table


def plan(present: Mapping[str, TableNow], wanted: Mapping[str, TableConfig]) -> Plan:
    tables: dict[str, TableConfig] = {}
    waiting: dict[str, str] = {}
    for name, now in present.items():
        target = attainable(now, wanted.get(name))
        if target is not None:
            tables[name] = target
        if target != wanted.get(name):
            waiting[name] = f"waits for {now.held}"
    tables |= {name: table for name, table in wanted.items() if name not in present}
    while (clash := port_clash(present, tables)) is not None:
        name, owner, port = clash
        waiting[name] = f"waits until {owner} releases {port}"
        if name in present:
            tables[name] = with_devices(tables[name], present[name].config)
        else:
            del tables[name]
    return Plan(tables, waiting)


def attainable(now: TableNow, wanted: TableConfig | None) -> TableConfig | None:
    """The configuration that does not affect the round; None: without the table."""
    if wanted is None:
        return now.config if now.held else None
    if not now.held:
        return wanted
    shoe = wanted.shoe if Device.SHOE in now.offline else now.config.shoe
    return replace(now.config, shoe=shoe, shuffler=wanted.shuffler)


def with_devices(table: TableConfig, of: TableConfig) -> TableConfig:
    return replace(table, shoe=of.shoe, shuffler=of.shuffler)


def port_clash(present: Mapping[str, TableNow], tables: Mapping[str, TableConfig]) -> tuple[str, str, str] | None:
    """A table that would take the port of another table: its name, the other name, the port."""
    owners: dict[str, str] = {}
    unchanged = {
        (name, device)
        for name, table in tables.items()
        for device, of in table.devices.items()
        if name in present and present[name].config.devices.get(device) == of
    }
    devices = [(name, device, of) for name, table in tables.items() for device, of in table.devices.items()]
    for name, _, of in sorted(devices, key=lambda each: each[:2] not in unchanged):
        port = of.port.partition("?")[0]  # options do not select another device
        if port in owners:
            return name, owners[port], port
        owners[port] = name
    return None


# --- whether a round is under way


def under_way(settings: TableSettings, state: TableState) -> str:
    """The moment at which no round is affected by a change; "": now.

    A round is over when its last card is drawn and its result has arrived. A shoe that reported no result for the
    round before does not report results.
    """
    number = state.record.number
    if state.phase is Phase.SUSPENDED:
        return f"an answer in round {number}"
    if state.phase in OPEN:
        return f"the end of round {number}"
    last, before = state.last, state.before
    reports = before is None or before.answer in {Comparison.CONFIRMED, Comparison.DISPUTED}
    if state.phase in DRAWN and last is not None and last.answer is Comparison.AWAITED and reports:
        return f"the shoe's result of round {number}"
    if not state.asked:
        return ""
    standing = judge(house_of(settings.game, state.record, insurance=settings.insurance), state.record)
    listed = open_questions(settings.game, state, standing, insurance=settings.insurance)
    return f"an answer after round {number}" if any(each.asked.holds for each in listed) else ""
