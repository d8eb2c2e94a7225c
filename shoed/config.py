"""The daemon's configuration: which site, which broker, which tables with which devices.

Theory of operation: one pass over a Sheet asks for every key there may be; the keys of a
[table.shoe] or [table.shuffler] are ours and those that its device family declares. What one key cannot tell
(two tables on one port, a certificate without its key) is checked along the way. Nothing
is opened but the files that are named, and those only to see that they can be read. A state
directory that is absent is left absent: a directory is created beside its place and removed.
"""

import json
import os
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from firmware_protocols.family import Settings
from shoed import drivers
from shoed.bus.settings import BrokerSettings, Version, parse_url
from shoed.device_config import device_of
from shoed.errors import Problem
from shoed.observations import Device
from shoed.rules.book import Rule, RuleBook
from shoed.rules.house import Basis, Forgone, Limits, Reading, Rounding
from shoed.rules.load import GAMES, book
from shoed.settings import (
    BOOLEAN,
    Kind,
    Node,
    Sheet,
    Table,
    choice,
    converted,
    integer,
    one_of,
    or_none,
    read,
    shown,
    text,
)
from shoed.table import BY_FIRST_CARD, AfterGap

STATE_DIR: Final = "/var/lib/shoed"
URL: Final = "mqtt://127.0.0.1:1883"
DECKS: Final = 8
MIN_DRAW_GAP_MS: Final = 250  # a dealer does not draw two cards closer than this on purpose
LARGEST_DRAW_GAP_MS: Final = 10_000  # beyond it every honest draw would be a finding
MOST_BURNT: Final = 20
MOST_ROUNDS: Final = 20
MOST_SEATS: Final = 99  # the diagrams of such a game show no number: any that a table may have


class ShoeConfig(Struct, frozen=True, omit_defaults=True):
    protocol: str
    firmware: str
    port: str  # the address in its canonical text
    allow_orders: bool
    min_draw_gap_ms: int
    settings: Settings  # the family's own
    key_file: str | None = None


class ShufflerConfig(Struct, frozen=True, omit_defaults=True):
    protocol: str
    firmware: str
    port: str
    allow_orders: bool
    settings: Settings
    key_file: str | None = None


class Close(Enum):
    """What closes the bets of a round that was announced."""

    CARD = "card"  # the first one, or the dealer before it
    COMMAND = "command"  # the dealer alone: a card before it is in error


class HouseRules(Struct, frozen=True):
    """What the documents leave to the house, or to the table's own notice."""

    rounding: Rounding = Rounding.DOWN
    outcome_basis: Basis = Basis.OFFERED
    insurance: bool = True  # off: I 4.2.2
    insurance_forgone: Forgone = Forgone.ROUND
    limits: Limits = Limits()
    bets_close: Close = Close.CARD
    burn_cards: int | None = None  # at the start of a shoe; None: as the documents have it, no matter how many
    rounds_after_cut: int | None = None
    after_gap: AfterGap = AfterGap.ASK
    confirm_void: bool = True  # a dealer's notice voids a round only after a person confirms it


class TableConfig(Struct, frozen=True):
    name: str
    game: str
    decks: int
    layout: str | None
    shoe: ShoeConfig
    seats: int | None = None  # where the document names no layouts
    house: HouseRules = HouseRules()
    shuffler: ShufflerConfig | None = None

    @property
    def devices(self) -> Mapping[Device, ShoeConfig | ShufflerConfig]:
        return {Device.SHOE: self.shoe} | ({} if self.shuffler is None else {Device.SHUFFLER: self.shuffler})


class Config(Struct, frozen=True):
    site: str
    state_dir: str
    broker: BrokerSettings
    tables: tuple[TableConfig, ...]
    warnings: tuple[Problem, ...] = ()


def describe(table: TableConfig) -> bytes:
    """What is in force for a table, as the journal keeps it: the same bytes for the same meaning, and no secrets."""
    return msgspec.json.encode(table, order="sorted")


def recall(description: str) -> TableConfig:
    """What `describe` wrote, read back from the journal."""
    raw = msgspec.json.decode(description)
    devices = {each.value: raw[each.value] for each in Device if raw.get(each.value)}
    table = msgspec.convert(raw | {name: device | {"settings": {}} for name, device in devices.items()}, TableConfig)
    for name, device in devices.items():
        settings = msgspec.convert(device["settings"], drivers.find(device["protocol"]).family.settings)
        table = replace(table, **{name: replace(getattr(table, name), settings=settings)})
    return table


class Purpose(Enum):
    """Why a configuration is loaded: how far its state directory is verified depends on it."""

    READ = auto()  # by a command that needs only the name of the directory
    CHECK = auto()  # perhaps by another user than the daemon's: permissions prove nothing
    RUN = auto()  # by the daemon's own user


NAME: Final = text("use 1 to 32 of a-z, 0-9 and -", r"[a-z0-9-]{1,32}")
NOT_EMPTY: Final = text("write it between double quotes, and not empty", r"(?s).+")
PATH: Final = text("write the name of a directory between double quotes", r"[^\0]+")
VERSIONS: Final[Mapping[str, Version]] = {"5": "5", "3.1.1": "3.1.1"}


def load(path: str, purpose: Purpose = Purpose.READ) -> Config:
    """The configuration, or a SettingsError with all that is wrong with it."""
    sheet = read(path)
    folder = Path(path).parent
    site = sheet.root.table("site")
    config = Config(
        site=site.require("name", NAME),
        state_dir=_state_dir(site, folder, purpose),
        broker=_broker(sheet.root.table("mqtt"), folder),
        tables=_tables(sheet, purpose),
    )
    sheet.finish()
    return replace(config, warnings=tuple(sheet.warnings))


def _state_dir(site: Table, folder: Path, purpose: Purpose) -> str:
    directory = folder / site.get("state_dir", PATH, STATE_DIR)
    if purpose is not Purpose.READ and (reason := _unusable(directory, purpose)):
        problem = f"{json.dumps(str(directory), ensure_ascii=False)} cannot be used: {reason}"
        site.fault("state_dir", problem, "name a directory that exists or can be created, and that may be written")
    return str(directory)


def _unusable(directory: Path, purpose: Purpose) -> str | None:
    try:
        if directory.is_dir():
            may_write = purpose is Purpose.CHECK or os.access(directory, os.W_OK | os.X_OK)
            return None if may_write else "Permission denied"
        if directory.exists() or directory.is_symlink():
            return "Not a directory"
        above = next(each for each in directory.absolute().parents if each.exists())
        trial = above / f".shoed-{os.getpid()}"
        trial.mkdir(mode=0o700)
        trial.rmdir()
    except PermissionError as error:
        return None if purpose is Purpose.CHECK else error.strerror
    except OSError as error:
        return error.strerror
    return None


def _broker(mqtt: Table, folder: Path) -> BrokerSettings:
    place = mqtt.get("url", or_none(converted(parse_url, URL)), parse_url(URL))
    host, port, tls = place or parse_url(URL)
    broker = BrokerSettings(
        host=host,
        port=port,
        tls=tls,
        version=mqtt.get("version", choice(VERSIONS), "5"),
        user=mqtt.get("user", NOT_EMPTY, None),
        password_file=mqtt.get("password_file", _file(folder), None),
        ca=mqtt.get("ca", _file(folder), None),
        cert=mqtt.get("cert", _file(folder), None),
        key=mqtt.get("key", _file(folder), None),
    )
    for one, other in (("password_file", "user"), ("cert", "key"), ("key", "cert")):
        if one in mqtt and other not in mqtt:
            mqtt.fault(one, f"is of no use without {other}", f"write {other} = ... as well")
    for name in ("ca", "cert", "key"):
        if name in mqtt and place is not None and not tls:
            mqtt.fault(name, "is for TLS, and the url is not", 'write url = "mqtts://..."')
    return broker


def _file(folder: Path) -> Kind[str]:
    """A file that can be read now. Names that are not absolute begin where the configuration stands."""

    def convert(node: Node) -> str:
        path = folder / NOT_EMPTY.read(node)
        try:
            path.open("rb").close()
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        return str(path)

    return Kind("name a file that is there and may be read", "", convert)


def _tables(sheet: Sheet, purpose: Purpose) -> tuple[TableConfig, ...]:
    tables = []
    names: dict[str, int] = {}  # and the line of each
    ports: dict[str, int] = {}
    keys: dict[str, int] = {}
    for table in sheet.root.tables("table", at_least=1):
        config = _table(table, purpose)
        tables.append(config)
        unique = [(table, "name", config.name, names, "table")]
        for device, of in config.devices.items():
            port = of.port.partition("?")[0]  # other options make no other device of it
            unique.append((table.table(device.value), "port", port, ports, "device"))
            unique.append((table.table(device.value), "key_file", of.key_file or "", keys, "device"))
        for section, key, value, taken, what in unique:
            if value in taken:
                section.fault(key, f"{shown(value)} is taken by line {taken[value]}", f"give each {what} its own")
            elif value:  # not the stand-in
                taken[value] = section.line(key)
    return tuple(tables)


def _table(table: Table, purpose: Purpose) -> TableConfig:
    name = table.require("name", NAME)
    game = table.require("game", or_none(one_of(GAMES)))
    # While the game is unknown, a value is wrong if no game allows it.
    books = [book(each) for each in ([game] if game else GAMES)]
    fewest, most = zip(*(rules.decks for rules in books), strict=True)
    decks = table.get("decks", integer(min(fewest), max(most)), DECKS)
    layout, seats = _places(table, books)
    return TableConfig(
        name=name,
        game=game or "",
        decks=decks,
        layout=layout,
        seats=seats,
        house=_house(table, books),
        shoe=_shoe(table.table("shoe"), purpose),
        shuffler=_shuffler(table, purpose),
    )


def _places(table: Table, books: Sequence[RuleBook]) -> tuple[str | None, int | None]:
    """The layout, or the number of seats where layouts have no names. Both may be absent before bets are placed."""
    layouts = {name: None for rules in books for name in rules.seats or ()}
    unnamed = any(rules.seats is None for rules in books)
    if not layouts and "layout" in table:
        table.allow(["layout"])
        table.fault("layout", f"is not a key of {books[0].id}, whose layouts have no names", "write seats instead")
    if not unnamed and "seats" in table:
        table.allow(["seats"])
        table.fault("seats", f"is not a key of {books[0].id}, whose layouts have names", "write layout instead")
    return (
        table.get("layout", one_of(layouts), None) if layouts else None,
        table.get("seats", integer(1, MOST_SEATS), None) if unnamed else None,
    )


def _read_burnt(node: Node) -> int | None:
    return BY_FIRST_CARD if node.value == "first-card" else integer(0, MOST_BURNT).read(node)


BURNT: Final = Kind(f'write a number from 0 to {MOST_BURNT}, or "first-card"', None, _read_burnt)


def _house(table: Table, books: Sequence[RuleBook]) -> HouseRules:
    """Settings of what the game has; one that it has not is of no use, and said to be."""
    for keys, has, what in (
        (("insurance", "insurance_forgone"), any(rules.offers for rules in books), "insurance"),
        (("limits",), any(Rule.DIFFERENTIAL in rules.rules for rules in books), "limits"),
    ):
        for key in keys:
            if key in table and not has:
                table.fault(key, f"is of no use: {books[0].id} has no {what}", "leave it out")
    return HouseRules(
        rounding=table.get("rounding", choice({each.value: each for each in Rounding}), Rounding.DOWN),
        outcome_basis=table.get("outcome_basis", choice({each.value: each for each in Basis}), Basis.OFFERED),
        insurance=table.get("insurance", choice({"on": True, "off": False}), default=True),
        insurance_forgone=table.get("insurance_forgone", choice({each.value: each for each in Forgone}), Forgone.ROUND),
        limits=_limits(table.table("limits"), books),
        bets_close=table.get("bets_close", choice({each.value: each for each in Close}), Close.CARD),
        burn_cards=table.get("burn_cards", BURNT, None),
        rounds_after_cut=table.get("rounds_after_cut", or_none(integer(0, MOST_ROUNDS)), None),
        after_gap=table.get("after_gap", choice({each.value: each for each in AfterGap}), AfterGap.ASK),
        confirm_void=table.get("confirm_void", BOOLEAN, default=True),
    )


def _limits(limits: Table, books: Sequence[RuleBook]) -> Limits:
    amount = integer(0)
    minimums = limits.table("minimums")
    boxes = dict.fromkeys(bet.name for rules in books for bet in rules.bets)
    insurances = dict.fromkeys(offer.bet for rules in books for offer in rules.offers)
    by_bet = {bet: minimums.get(bet, amount, None) for bet in (boxes | insurances)}
    minimum, maximum = limits.get("minimum", amount, 0), limits.get("maximum", or_none(amount), None)
    if maximum is not None and maximum < minimum:
        limits.fault("maximum", f"{maximum} is less than minimum, {minimum}", "write the larger one here")
    for bet in boxes:  # an insurance bet is in no box
        least = by_bet[bet]
        if maximum is not None and least is not None and maximum < least:
            minimums.fault(bet, f"{least} is more than maximum, {maximum}", "write at most the maximum of a box")
    return Limits(
        minimum=minimum,
        maximum=maximum,
        minimums={bet: least for bet, least in by_bet.items() if least is not None},
        differential=limits.get("differential", amount, None),
        reading=limits.get("reading", choice({each.value: each for each in Reading}), Reading.SIDE),
    )


def _shoe(shoe: Table, purpose: Purpose) -> ShoeConfig:
    return ShoeConfig(
        **device_of(shoe, Device.SHOE, reads_key=purpose is not Purpose.READ),
        min_draw_gap_ms=shoe.get("min_draw_gap_ms", integer(0, LARGEST_DRAW_GAP_MS), MIN_DRAW_GAP_MS),
    )


def _shuffler(table: Table, purpose: Purpose) -> ShufflerConfig | None:
    section = table.table("shuffler")
    if "shuffler" not in table:
        return None
    return ShufflerConfig(**device_of(section, Device.SHUFFLER, reads_key=purpose is not Purpose.READ))
