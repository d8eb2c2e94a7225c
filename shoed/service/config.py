"""The configuration of the daemon: the site, the broker, and the tables with their devices.

Theory of operation: one pass over a Sheet requests every possible key. A section [table.shoe] or [table.shuffler] has
the keys of this module and the keys that its device family declares. The same pass compares keys with each other, as in
two tables on one port, or a certificate without its key. The pass opens only the files that the configuration names,
to verify that they can be read.
"""

import errno
import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from firmware_protocols.family import Settings
from shoed.bus.settings import BrokerSettings, MqttVersion, parse_url
from shoed.errors import Problem
from shoed.model.observations import Device
from shoed.model.requests import LogLevel
from shoed.rules.book import Rule, RuleBook
from shoed.rules.house_rules import DifferentialReading, ForgoneFor, OutcomeBasis, Rounding, TableLimits
from shoed.rules.load import GAMES, book
from shoed.service.device_config import device_of
from shoed.service.journal_settings import JournalSettings, journal_of, verify_own_key
from shoed.service.metrics_settings import EXAMPLE, MetricsPlace, parse_listen
from shoed.service.secret_files import LEFT_OUT, Purpose, located
from shoed.session import drivers
from shoed.settings import (
    BOOLEAN,
    Kind,
    Node,
    Sheet,
    TomlTable,
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
from shoed.typed_json import typed

STATE_DIR: Final = "/var/lib/shoed"
URL: Final = "mqtt://127.0.0.1:1883"
DECKS: Final = 8
MIN_DRAW_GAP_MS: Final = 250  # a dealer draws no two cards within a shorter time
LARGEST_DRAW_GAP_MS: Final = 10_000  # with a longer gap, every draw would be a finding
MOST_BURNT: Final = 20
MOST_ROUNDS: Final = 20
MOST_SEATS: Final = 99  # the diagrams of such a game show no number


class ShoeConfig(Struct, frozen=True, omit_defaults=True):
    protocol: str
    firmware: str
    port: str  # the canonical text of the address
    allow_orders: bool
    min_draw_gap_ms: int
    settings: Settings  # of the device family
    key_file: str | None = None


class ShufflerConfig(Struct, frozen=True, omit_defaults=True):
    protocol: str
    firmware: str
    port: str
    allow_orders: bool
    settings: Settings
    key_file: str | None = None


class BetsClosedBy(Enum):
    """How the bets of an announced round are closed."""

    CARD = "card"  # by the first card, or by an earlier command of the dealer
    COMMAND = "command"  # by the command of the dealer only: an earlier card is an error


class HouseRules(Struct, frozen=True):
    """Rules that the rule documents leave to the house, or to the notice at the table."""

    rounding: Rounding = Rounding.DOWN
    outcome_basis: OutcomeBasis = OutcomeBasis.OFFERED
    insurance: bool = True  # off: I 4.2.2
    insurance_forgone: ForgoneFor = ForgoneFor.ROUND
    limits: TableLimits = TableLimits()
    bets_close: BetsClosedBy = BetsClosedBy.CARD
    burn_cards: int | None = None  # at the start of a shoe; None: any number, as in the documents
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
    metrics: MetricsPlace | None = None  # None: switched off
    warnings: tuple[Problem, ...] = ()
    log_level: LogLevel = LogLevel.INFO
    journal: JournalSettings = JournalSettings()


def describe(table: TableConfig) -> bytes:
    """The settings of a table for the journal: equal settings give equal bytes, and the bytes hold no secrets."""
    return msgspec.json.encode(table, order="sorted")


def recall(description: str) -> TableConfig:
    """The inverse of `describe`."""
    raw = msgspec.json.decode(description)
    devices = {each.value: raw[each.value] for each in Device if raw.get(each.value)}
    table = typed(raw | {name: device | {"settings": {}} for name, device in devices.items()}, TableConfig)
    for name, device in devices.items():
        settings = typed(device["settings"], drivers.find(device["protocol"]).family.settings)
        table = replace(table, **{name: replace(getattr(table, name), settings=settings)})
    return table


NAME_FORM: Final = r"[a-z0-9-]{1,32}"
NAME: Final = text("use 1 to 32 of a-z, 0-9 and -", NAME_FORM)
NOT_EMPTY: Final = text("write text that is not empty, between double quotes", r"(?s).+")
PATH: Final = text("write the name of a directory between double quotes", r"[^\0]+")
VERSIONS: Final[Mapping[str, MqttVersion]] = {"5": "5", "3.1.1": "3.1.1"}


def load(path: str, purpose: Purpose = Purpose.READ) -> Config:
    """Load a configuration; a SettingsError has all its problems."""
    sheet = read(path)
    folder = Path(path).parent
    site = sheet.root.table("site")
    config = Config(
        site=site.require("name", NAME),
        state_dir=_state_dir(site, folder, purpose),
        broker=_broker(sheet.root.table("mqtt"), purpose),
        tables=_tables(sheet, purpose),
        log_level=sheet.root.table("log").get("level", choice({each.value: each for each in LogLevel}), LogLevel.INFO),
        metrics=_metrics(sheet.root),
        journal=journal_of(sheet.root.table("journal"), purpose),
    )
    if purpose is not Purpose.READ and config.journal.key_file is None:
        verify_own_key(site, Path(config.state_dir), purpose)
    sheet.finish()
    return replace(config, warnings=tuple(sheet.warnings))


UNKNOWN: Final = "unknown"  # the site of a configuration without a valid name


def place_of(path: str) -> tuple[str, Path] | None:
    """The site and the state directory, also of a configuration with errors; None if it is not TOML."""
    try:
        site = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("site")
    except (OSError, ValueError):
        return None
    name, folder = (site.get("name"), site.get("state_dir")) if isinstance(site, dict) else (None, None)
    is_name = isinstance(name, str) and re.fullmatch(NAME_FORM, name) is not None
    directory = folder if isinstance(folder, str) and folder and "\0" not in folder else STATE_DIR
    return str(name) if is_name else UNKNOWN, Path(path).parent / directory


def _state_dir(site: TomlTable, folder: Path, purpose: Purpose) -> str:
    directory = folder / site.get("state_dir", PATH, STATE_DIR)
    if purpose is not Purpose.READ and (reason := _unusable(directory, purpose)):
        problem = f"{json.dumps(str(directory), ensure_ascii=False)} cannot be used: {reason}"
        site.fault("state_dir", problem, "name a directory that exists or can be created, and that can be written")
    return str(directory)


def _unusable(directory: Path, purpose: Purpose) -> str | None:
    try:
        if directory.is_dir():
            return _unwritable(directory, purpose)
        if directory.exists() or directory.is_symlink():
            return "Not a directory"
        # The check does not create the state directory: it creates and removes another one.
        above = next(each for each in directory.absolute().parents if each.exists())
        trial = above / f".shoed-{os.getpid()}"
        trial.mkdir(mode=0o700)
        trial.rmdir()
    except PermissionError as error:
        by_systemd = purpose is Purpose.SERVE and str(directory) == STATE_DIR  # StateDirectory= of the unit
        return None if purpose is Purpose.CHECK or by_systemd else error.strerror
    except OSError as error:
        return error.strerror
    return None


def _unwritable(directory: Path, purpose: Purpose) -> str | None:
    if purpose is Purpose.SERVE:
        from shoed.service.files import write_problem  # noqa: PLC0415 -- only `shoed check` needs it

        return write_problem(directory)
    if os.statvfs(directory).f_flag & os.ST_RDONLY:  # for every user
        return os.strerror(errno.EROFS)
    if purpose is Purpose.CHECK or os.access(directory, os.W_OK | os.X_OK):
        return None
    return os.strerror(errno.EACCES)


def _broker(mqtt: TomlTable, purpose: Purpose) -> BrokerSettings:
    file = _file(purpose)
    place = mqtt.get("url", or_none(converted(parse_url, URL)), parse_url(URL))
    host, port, tls = place or parse_url(URL)
    broker = BrokerSettings(
        host=host,
        port=port,
        tls=tls,
        version=mqtt.get("version", choice(VERSIONS), "5"),
        user=mqtt.get("user", NOT_EMPTY, None),
        password_file=mqtt.get("password_file", file, None),
        ca=mqtt.get("ca", file, None),
        cert=mqtt.get("cert", file, None),
        key=mqtt.get("key", file, None),
    )
    for one, other in (("password_file", "user"), ("cert", "key"), ("key", "cert")):
        if one in mqtt and other not in mqtt:
            mqtt.fault(one, f"requires {other}", f"write {other} = ..., too")
    for name in ("ca", "cert", "key"):
        if name in mqtt and place is not None and not tls:
            mqtt.fault(name, "requires TLS, and the url has no TLS", 'write url = "mqtts://..."')
    if purpose is not Purpose.READ:
        _verify_files(mqtt, broker, purpose)
    return broker


def _metrics(root: TomlTable) -> MetricsPlace | None:
    section = root.table("metrics")
    return section.require("listen", converted(parse_listen, EXAMPLE)) if "metrics" in root else None


def _verify_files(mqtt: TomlTable, broker: BrokerSettings, purpose: Purpose) -> None:
    """Verify the content of the files, and warn of a secret that other users can read."""
    if any(name in mqtt for name in ("password_file", "ca", "cert", "key")):
        from shoed.service import files  # noqa: PLC0415 -- most configurations name no such file

        for name, secret in (("password_file", broker.password_file), ("key", broker.key)):
            if secret and (exposed := files.exposure(secret)):
                mqtt.warn(name, *exposed)
        named = [each or "" for each in (broker.ca, broker.cert, broker.key) if each is not None]
        if purpose is not Purpose.RUN and broker.tls and all(Path(each).is_file() for each in named):
            for name, problem in files.tls_problems(broker).items():
                mqtt.fault(name, *problem)


def _file(purpose: Purpose) -> Kind[str | None]:
    """A file that can be read now; None: a file that a replay leaves out."""

    def convert(node: Node) -> str | None:
        try:
            return readable(node)
        except ValueError as error:
            if purpose is not Purpose.REPLAY:
                raise
            node.sheet.warn(node.route, str(error.args[0]), LEFT_OUT)
            return None

    def readable(node: Node) -> str:
        written = NOT_EMPTY.read(node)
        path = located(node, written, purpose)
        if path is None:
            return written
        try:
            Path(path).open("rb").close()
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        return path

    return Kind("name a file that exists and can be read", None, convert)


def _tables(sheet: Sheet, purpose: Purpose) -> tuple[TableConfig, ...]:
    tables = []
    names: dict[str, int] = {}  # each with its line
    ports: dict[str, int] = {}
    keys: dict[str, int] = {}
    for table in sheet.root.tables("table", at_least=1):
        config = _table(table, purpose)
        tables.append(config)
        unique = [(table, "name", config.name, names, "table")]
        for device, of in config.devices.items():
            port = of.port.partition("?")[0]  # options do not select another device
            unique.append((table.table(device.value), "port", port, ports, "device"))
            unique.append((table.table(device.value), "key_file", of.key_file or "", keys, "device"))
        for section, key, value, taken, what in unique:
            if value in taken:
                section.fault(key, f"{shown(value)} is also in line {taken[value]}", f"give each {what} its own {key}")
            elif value:  # empty: a stand-in
                taken[value] = section.line(key)
    return tuple(tables)


def _table(table: TomlTable, purpose: Purpose) -> TableConfig:
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


def _places(table: TomlTable, books: Sequence[RuleBook]) -> tuple[str | None, int | None]:
    """The layout; the number of seats if the layouts of the game have no names. Both are optional."""
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


def _house(table: TomlTable, books: Sequence[RuleBook]) -> HouseRules:
    """The house rules. A setting that the game does not have is a problem."""
    for keys, has, what in (
        (("insurance", "insurance_forgone"), any(rules.offers for rules in books), "insurance"),
        (("limits",), any(Rule.DIFFERENTIAL in rules.rules for rules in books), "limits"),
    ):
        for key in keys:
            if key in table and not has:
                table.fault(key, f"has no effect: {books[0].id} has no {what}", "remove it")
    return HouseRules(
        rounding=table.get("rounding", choice({each.value: each for each in Rounding}), Rounding.DOWN),
        outcome_basis=table.get(
            "outcome_basis", choice({each.value: each for each in OutcomeBasis}), OutcomeBasis.OFFERED
        ),
        insurance=table.get("insurance", choice({"on": True, "off": False}), default=True),
        insurance_forgone=table.get(
            "insurance_forgone", choice({each.value: each for each in ForgoneFor}), ForgoneFor.ROUND
        ),
        limits=_limits(table.table("limits"), books),
        bets_close=table.get("bets_close", choice({each.value: each for each in BetsClosedBy}), BetsClosedBy.CARD),
        burn_cards=table.get("burn_cards", BURNT, None),
        rounds_after_cut=table.get("rounds_after_cut", or_none(integer(0, MOST_ROUNDS)), None),
        after_gap=table.get("after_gap", choice({each.value: each for each in AfterGap}), AfterGap.ASK),
        confirm_void=table.get("confirm_void", BOOLEAN, default=True),
    )


def _limits(limits: TomlTable, books: Sequence[RuleBook]) -> TableLimits:
    amount = integer(0)
    minimums = limits.table("minimums")
    boxes = dict.fromkeys(bet.name for rules in books for bet in rules.bets)
    insurances = dict.fromkeys(offer.bet for rules in books for offer in rules.offers)
    by_bet = {bet: minimums.get(bet, amount, None) for bet in (boxes | insurances)}
    minimum, maximum = limits.get("minimum", amount, 0), limits.get("maximum", or_none(amount), None)
    if maximum is not None and maximum < minimum:
        limits.fault("maximum", f"{maximum} is less than minimum, {minimum}", "write at least the minimum")
    for bet in boxes:  # an insurance bet has no box
        least = by_bet[bet]
        if maximum is not None and least is not None and maximum < least:
            minimums.fault(bet, f"{least} is more than maximum, {maximum}", "write at most the maximum of a box")
    return TableLimits(
        minimum=minimum,
        maximum=maximum,
        minimums={bet: least for bet, least in by_bet.items() if least is not None},
        differential=limits.get("differential", amount, None),
        reading=limits.get(
            "reading", choice({each.value: each for each in DifferentialReading}), DifferentialReading.SIDE
        ),
    )


def _shoe(shoe: TomlTable, purpose: Purpose) -> ShoeConfig:
    return ShoeConfig(
        **device_of(shoe, Device.SHOE, purpose),
        min_draw_gap_ms=shoe.get("min_draw_gap_ms", integer(0, LARGEST_DRAW_GAP_MS), MIN_DRAW_GAP_MS),
    )


def _shuffler(table: TomlTable, purpose: Purpose) -> ShufflerConfig | None:
    section = table.table("shuffler")
    if "shuffler" not in table:
        return None
    return ShufflerConfig(**device_of(section, Device.SHUFFLER, purpose))
