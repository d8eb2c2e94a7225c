"""A device's section of the configuration: its family, its port, and the keys that the family declares.

While the family is unknown, a value is wrong if no family allows it.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypedDict

from msgspec.structs import replace

from firmware_protocols.family import Family, Setting, Settings, declared
from shoed.errors import DriverError, PortRefused
from shoed.model.cards import Card
from shoed.model.observations import Device
from shoed.ports.address import (
    Address,
    HidrawAddress,
    ReplayAddress,
    Rfc2217Address,
    SerialAddress,
    TcpAddress,
    parse_address,
)
from shoed.ports.identity import BY_ID, NAMES, links_in, names_its_device, stable_path
from shoed.ports.key_file import read_key
from shoed.ports.nodes import node_problem
from shoed.service.secret_files import Purpose, located
from shoed.session import drivers
from shoed.session.families import DRIVERS, AnyDriver
from shoed.settings import BOOLEAN, Kind, Node, TomlTable, choice, converted, integer, one_of, or_none, shown, text

MAY_CHANGE: Final = "may name another device after the next start"


class CommonSettings(TypedDict):
    """The settings of every device."""

    protocol: str
    firmware: str
    port: str
    allow_orders: bool
    settings: Settings
    key_file: str | None


def device_of(section: TomlTable, device: Device, purpose: Purpose) -> CommonSettings:
    """The values of the section. Only `shoed check` and `shoed run` read the key of the device."""
    driver = _driver(section, device)
    port = section.require("port", or_none(converted(parse_address, "tcp://10.0.0.7:4001")))
    allow_orders = section.get("allow_orders", BOOLEAN, default=False)
    if isinstance(port, SerialAddress | HidrawAddress) and not names_its_device(port):
        _verify_name(section, port)
    if purpose is Purpose.SERVE and port is not None and (denied := node_problem(port)):
        section.fault("port", *denied)
    if purpose in (Purpose.CHECK, Purpose.SERVE) and isinstance(port, ReplayAddress):
        _verify_capture(section, port)
    if driver is None:
        _verify_for_any_family(section, device)
        section.allow(["key_file"])
        return CommonSettings(
            protocol="",
            firmware="",
            port=str(port or ""),
            allow_orders=allow_orders,
            settings=Settings(),
            key_file=None,
        )
    family = driver.family
    if isinstance(port, SerialAddress | Rfc2217Address):
        try:
            port.line(family.line)
        except ValueError as error:
            section.fault("port", *str(error).split("; "))
    versions = {version: version for version in family.firmware}
    values = {name: _value(section, name, each) for name, each in declared(family.settings).items()}
    settings = family.settings(**values)
    standing = settings.for_role(device.value)
    for name in values:
        if name in section and getattr(settings, name) != getattr(standing, name):
            section.fault(name, f"has no effect: this section is for the {device.value}", "remove it")
    return CommonSettings(
        protocol=family.name,
        firmware=section.get("firmware", choice(versions), family.firmware[0]),
        port=str(port or ""),
        allow_orders=allow_orders,
        settings=standing,
        key_file=_key_file(section, family, port, standing, purpose),
    )


def _key_file(
    section: TomlTable, family: Family[Settings], port: Address | None, settings: Settings, purpose: Purpose
) -> str | None:
    """The file with the key of the device, if the device and its port can have a key."""

    def convert(node: Node) -> str:
        written = KEY_FILE.read(node)
        if purpose is Purpose.REPLAY:  # a capture has the reports without the secure channel
            return written
        path = located(node, written, purpose)
        if path is None:
            return written
        if purpose is not Purpose.READ:
            read_key(path)
        return path

    if "key_file" not in section:
        if family.keyed and isinstance(port, TcpAddress | Rfc2217Address):
            section.warn("port", OPEN_TO_ALL, "give the device a key: write key_file = ... (docs/secure-channel.md)")
        return None
    problem = _key_problem(family, port, settings)
    if problem:
        section.allow(["key_file"])
        section.fault("key_file", *problem)
        return None
    return section.get("key_file", or_none(Kind(KEY_FILE.right, "", convert)), None)


def _key_problem(family: Family[Settings], port: Address | None, settings: Settings) -> tuple[str, str] | None:
    """The problem and the remedy, if the device cannot use a key."""
    if not family.keyed:
        return f"has no effect: {family.title} has no secure channel", "remove it"
    if isinstance(port, ReplayAddress):
        return "has no effect: a capture holds the reports of the device without the secure channel", "remove it"
    if settings == settings.listening():
        remedy = 'write acknowledge = "yes", or remove key_file'
        return 'has no effect with acknowledge = "no": the secure channel requires bytes of the host', remedy
    return None


def _verify_capture(section: TomlTable, port: ReplayAddress) -> None:
    from shoed.ports.replay import open_capture  # noqa: PLC0415 -- only `shoed check` needs it

    try:
        open_capture(port)[0].close()
    except PortRefused as error:
        section.fault("port", *str(error).split("; ", 1))


def _verify_name(section: TomlTable, port: SerialAddress | HidrawAddress) -> None:
    """Report a node whose number depends on the order of connection.

    For a HID device it is an error: the table could take the cards of another table.
    """
    steady = stable_path(os.path.normpath(port.path), (links_in(BY_ID), links_in(NAMES)))
    problem = f"{shown(port.path)} {MAY_CHANGE}"
    known = None if steady is None else f"write {replace(port, path=steady)}"
    if isinstance(port, HidrawAddress):
        right = known or f"write its name in {NAMES}, as hidraw://{NAMES}/hid-SERIAL"
        section.fault("port", problem, f"{right}; `shoed ports` lists it")
    else:
        section.warn("port", problem, f"{known or f'write its name in {BY_ID} or {NAMES}'}; `shoed ports` lists it")


def _built_in(device: Device) -> list[str]:
    """The built-in families of this kind of device. The call imports every family."""
    return [name for name, driver in DRIVERS.items() if device.value in driver.family.roles]


def _driver(section: TomlTable, device: Device) -> AnyDriver | None:
    """The driver of the protocol. Other packages are imported only if the protocol is not a built-in one."""

    def read(node: Node) -> AnyDriver:
        built_in = next((name for name in DRIVERS if name == node.value), None)
        if built_in is not None and device.value in DRIVERS[built_in].family.roles:
            return DRIVERS[built_in]
        others = [name for name in drivers.names() if name not in DRIVERS]
        name = one_of([*_built_in(device), *others]).read(node)
        try:
            driver = drivers.find(name)
        except DriverError as error:
            raise ValueError(error.problem, error.remedy) from error
        if device.value not in driver.family.roles:
            raise ValueError(f"{shown(name)} is not a {device.value}", one_of(_built_in(device)).right)
        return driver

    right = "" if "protocol" in section else one_of(_built_in(device)).right
    return section.require("protocol", Kind[AnyDriver | None](right, None, read))


def _verify_for_any_family(section: TomlTable, device: Device) -> None:
    """The keys of a device whose family is unknown: a value is wrong if no family allows it."""
    families = []
    for name in drivers.names():
        with suppress(DriverError):
            families.append(drivers.find(name).family)
    families = [family for family in families if device.value in family.roles]
    section.get("firmware", one_of(version for family in families for version in family.firmware), None)
    settings: dict[str, list[Setting]] = {}
    for family in families:
        for name, setting in declared(family.settings).items():
            settings.setdefault(name, []).append(setting)
    for name, alike in settings.items():
        if len(alike) == 1:
            _value(section, name, alike[0])
        elif any(setting.codes for setting in alike):
            section.allow([name])
        else:
            section.get(name, _any_of([_kind(setting) for setting in alike]), None)


def _any_of(kinds: Sequence[Kind[object]]) -> Kind[object]:
    def read(node: Node) -> object:
        refusals = []
        for kind in kinds:
            try:
                return kind.read(node)
            except ValueError as error:
                refusals.append(error)
        raise refusals[0]

    return Kind(" or ".join(dict.fromkeys(kind.right for kind in kinds)), kinds[0].stand_in, read)


def _read_card(node: Node) -> str:
    written = text().read(node)
    try:
        return str(Card.parse(written))
    except ValueError as error:
        raise ValueError(f"{shown(written)} is not a card") from error


KEY_FILE: Final = text("write the name of a file with the key of the device between double quotes", r"[^\0]+")
OPEN_TO_ALL: Final = "any computer in the network can acknowledge reports, unlock the exit and send false cards"
CARD: Final = Kind('write its rank and its suit, as in "8S" or "10H"', "", _read_card)


def _value(shoe: TomlTable, name: str, setting: Setting) -> object:
    if not setting.codes:
        return shoe.get(name, _kind(setting), setting.default)
    codes = shoe.table(name)
    for code in codes:
        if not re.fullmatch(setting.codes, code):
            codes.fault(code, "is not a code that the device can send", f"write {setting.unit}")
    return {code: codes.get(code, CARD, "") for code in codes}


def _kind(setting: Setting) -> Kind[object]:
    if setting.choices:
        return choice({str(each.value): each for each in setting.choices})
    return integer(setting.low, setting.high)
