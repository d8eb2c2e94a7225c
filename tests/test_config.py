"""The configuration of the daemon: its values, and its problems."""

import errno
import os
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import AngelEyeSettings, Span
from firmware_protocols.family import Family, Settings, declared
from firmware_protocols.open_shoe import FAMILY, OpenShoeSettings
from firmware_protocols.scanner import ScannerSettings
from shoed.bus.settings import BrokerSettings
from shoed.errors import SettingsError
from shoed.journal.keys import daemon_key
from shoed.journal.retention import Keep
from shoed.model.observations import Device
from shoed.model.requests import LogLevel
from shoed.rules.house_rules import DifferentialReading, ForgoneFor, OutcomeBasis, Rounding, TableLimits
from shoed.rules.load import GAMES
from shoed.service.config import (
    Config,
    HouseRules,
    ShoeConfig,
    ShufflerConfig,
    TableConfig,
    describe,
    load,
    recall,
)
from shoed.service.metrics_settings import LoopbackPort
from shoed.service.secret_files import LEFT_OUT, Purpose
from tests import printed

EXAMPLE = """\
[site]
name = "rws"
state_dir = "/var/lib/shoed"        # default
[mqtt]
url = "mqtt://127.0.0.1:1883"       # or mqtts://; user, password_file, ca, cert, key
version = "5"                        # or "3.1.1"
[[table]]
name = "bac-901"
game = "commission"                  # commission super-six-plus fortune-six easy-six tournament
decks = 8
layout = "bean-9"                    # fortune-six: seats = 9 instead
[table.shoe]
protocol = "angel-eye"
port = "tcp://127.0.0.1:4001"       # or serial:///dev/...?baud=4800, rfc2217://, usb://
allow_orders = false                 # shoed writes nothing to the shoe
min_draw_gap_ms = 250                # cards with a shorter gap were drawn together; 0: a short gap is not evidence
"""
TABLE = TableConfig(
    name="bac-901",
    game="commission",
    decks=8,
    layout="bean-9",
    shoe=ShoeConfig(
        protocol="angel-eye",
        firmware="ii-ex",
        port="tcp://127.0.0.1:4001",
        allow_orders=False,
        min_draw_gap_ms=250,
        settings=AngelEyeSettings(),
    ),
)
NO_URL = "does not begin with mqtt:// or mqtts://; write mqtt://HOST[:PORT], or mqtts://HOST[:PORT] for TLS"
WRITE_FAMILY = 'write "angel-eye" or "bee-tek" or "open-shoe" or "scanner"'
VERSIONS = dict.fromkeys(f'"{version}"' for family in FAMILIES.values() for version in family.firmware)
WRITE_VERSION = f"write {' or '.join(VERSIONS)}"
WRITE_GAME = "write " + " or ".join(f'"{game}"' for game in GAMES)
NO_FILE = "name a file that exists and can be read"
NOT_WHOLE = "is not a whole number; write a whole number"
HOUSE = (
    "rounding, outcome_basis, insurance, insurance_forgone, limits, bets_close, burn_cards, rounds_after_cut, "
    "after_gap, confirm_void"
)
KEYS_WITH_LAYOUT = f"name, game, decks, layout, {HOUSE}, shoe, shuffler"
KEYS_WITH_SEATS = f"name, game, decks, seats, {HOUSE}, shoe, shuffler"
SITE = '[site]\nname = "rws"\n'


def shoe(name: str = "bac-901", port: str = "tcp://127.0.0.1:4001", table: str = "", more: str = "") -> str:
    """A [[table]] of nine lines; `table` and `more` are one line each."""
    return (
        f'\n[[table]]\nname = "{name}"\ngame = "commission"\n{table}\n'
        f'[table.shoe]\nprotocol = "angel-eye"\nport = "{port}"\n{more}\n'
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory; `shoed.toml` in it is named without a path."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(here: Path, toml: str) -> Config:
    (here / "shoed.toml").write_text(toml, encoding="utf-8")
    return load("shoed.toml")


def complaints(here: Path, toml: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        loaded(here, toml)
    return str(caught.value).splitlines()


# ------------------------------------------------------------------------------------------- values


def test_the_example_loads_with_its_values(here: Path) -> None:
    """Every key of the example has its value in the Config."""
    broker = BrokerSettings("127.0.0.1", 1883, tls=False, version="5")
    assert loaded(here, EXAMPLE) == Config("rws", "/var/lib/shoed", broker, (TABLE,))


def test_keys_with_a_default_are_optional(here: Path) -> None:
    """Four keys are required for a table, one for the site, none for the broker."""
    config = loaded(here, SITE + shoe())
    assert config.state_dir == "/var/lib/shoed"
    assert config.broker == BrokerSettings("127.0.0.1", 1883)
    (table,) = config.tables
    assert (table.decks, table.layout, table.shoe) == (8, None, TABLE.shoe)


def test_every_given_value_replaces_its_default(here: Path) -> None:
    """Two tables and a broker with certificates have values that differ from the defaults."""
    for name in ("password", "ca.pem", "cert.pem", "key.pem"):
        (here / name).touch()
    config = loaded(
        here,
        '[site]\nname = "a-1"\nstate_dir = "state"\n'
        f'[mqtt]\nurl = "mqtts://broker"\nversion = "3.1.1"\nuser = "u"\npassword_file = "{here}/password"\n'
        'ca = "ca.pem"\ncert = "cert.pem"\nkey = "key.pem"\n'
        + shoe("1", "serial:///dev/shoed/A7?baud=9600", "decks = 4", 'bcc_span = "whole"')
        + shoe("2", "replay:one.capture", 'layout = "big-12"', "allow_orders = true\nmin_draw_gap_ms = 0\ncopies = 1"),
    )
    assert config == Config(
        site="a-1",
        state_dir="state",
        broker=BrokerSettings(
            host="broker",
            port=8883,
            tls=True,
            version="3.1.1",
            user="u",
            password_file=f"{here}/password",
            ca="ca.pem",
            cert="cert.pem",
            key="key.pem",
        ),
        tables=(
            TableConfig(
                name="1",
                game="commission",
                decks=4,
                layout=None,
                shoe=ShoeConfig(
                    protocol="angel-eye",
                    firmware="ii-ex",
                    port="serial:///dev/shoed/A7?baud=9600",
                    allow_orders=False,
                    min_draw_gap_ms=250,
                    settings=AngelEyeSettings(bcc_span=Span.WHOLE),
                ),
            ),
            TableConfig(
                name="2",
                game="commission",
                decks=8,
                layout="big-12",
                shoe=ShoeConfig(
                    protocol="angel-eye",
                    firmware="ii-ex",
                    port="replay:one.capture",
                    allow_orders=True,
                    min_draw_gap_ms=0,
                    settings=AngelEyeSettings(copies=1),
                ),
            ),
        ),
    )


def test_relative_names_begin_in_the_directory_of_the_configuration(here: Path) -> None:
    """The working directory of the daemon has no effect."""
    (here / "etc").mkdir()
    (here / "etc/shoed.toml").write_text(
        '[site]\nname = "rws"\nstate_dir = "state"\n[mqtt]\nurl = "mqtts://h"\nca = "ca.pem"\n' + shoe()
    )
    (here / "etc/ca.pem").touch()
    config = load("etc/shoed.toml")
    assert (config.state_dir, config.broker.ca) == ("etc/state", "etc/ca.pem")


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(here: Path) -> None:
    """The values and the line numbers are the same as with plain line ends."""
    (here / "shoed.toml").write_bytes(b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode())
    assert load("shoed.toml").tables == (TABLE,)
    (here / "shoed.toml").write_bytes(b"\xef\xbb\xbf" + (EXAMPLE + "prot = 1\n").replace("\n", "\r\n").encode())
    with pytest.raises(SettingsError, match=r"^shoed\.toml:17: table\.shoe\.prot: is not a known key"):
        load("shoed.toml")


def test_the_page_shows_a_configuration_that_loads(here: Path) -> None:
    """The example of docs/configuration.md has every key, also with the commented keys active."""
    page = Path(__file__).parent.parent / "docs/configuration.md"
    match = re.search(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert match
    example = re.sub(r'"/etc/shoed/.*?"', '"/dev/null"', match[1])  # files that exist
    config = loaded(here, example)
    assert config.broker == BrokerSettings("127.0.0.1", 1883)
    assert [table.shoe.settings for table in config.tables] == [AngelEyeSettings()]
    commented = loaded(here, re.sub(r"(?m)^# (?=\w+ = |\[)", "", example).replace("mqtt:", "mqtts:"))
    assert commented.broker.tls
    assert commented.metrics == LoopbackPort("127.0.0.1", 9101)


@pytest.mark.parametrize("purpose", [Purpose.CHECK, Purpose.RUN])
@pytest.mark.parametrize(
    ("directory", "reason"),
    [
        ("/proc/nope/state", "No such file or directory"),
        ("file", "Not a directory"),
        ("file/state", "Not a directory"),
        ("dangling", "Not a directory"),
        ("a" * 256, "File name too long"),
    ],
)
def test_an_unusable_state_directory_is_a_problem_of_its_line(
    here: Path, directory: str, reason: str, purpose: Purpose
) -> None:
    """`shoed run` and `shoed check` report it; a command that needs only the name of the directory does not."""
    (here / "file").touch()
    (here / "dangling").symlink_to("nowhere")
    (here / "shoed.toml").write_text(f'[site]\nname = "rws"\nstate_dir = "{directory}"\n{shoe()}')
    with pytest.raises(SettingsError) as caught:
        load("shoed.toml", purpose)
    assert str(caught.value) == (
        f'shoed.toml:3: site.state_dir: "{directory}" cannot be used: {reason}; '
        "name a directory that exists or can be created, and that can be written"
    )
    assert load("shoed.toml").state_dir == directory


def test_a_state_directory_that_can_be_created_is_not_created(here: Path) -> None:
    """Loading leaves no directory in the place of the state directory."""
    (here / "shoed.toml").write_text(f'[site]\nname = "rws"\nstate_dir = "a/b"\n{shoe()}')
    for purpose in Purpose:
        assert load("shoed.toml", purpose).state_dir == "a/b"
    assert [each.name for each in here.iterdir()] == ["shoed.toml"]


def test_permissions_of_the_state_directory_are_verified_for_the_daemon_only(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user may run `shoed check`, before systemd has created the directory."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (here / "there").mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(Path, "mkdir", denied)
    for name in ("there", "absent"):
        (here / "shoed.toml").write_text(f'[site]\nname = "rws"\nstate_dir = "{name}"\n{shoe()}')
        assert load("shoed.toml", Purpose.CHECK).state_dir == name
        with pytest.raises(SettingsError, match=f'^shoed.toml:3: site.state_dir: "{name}" cannot be used: Permission'):
            load("shoed.toml", Purpose.RUN)


def test_an_impossible_name_of_the_state_directory_is_refused(here: Path) -> None:
    """The name is empty, or has a null character."""
    for written in ("", "a\\u0000b"):
        (complaint,) = complaints(here, f'[site]\nname = "rws"\nstate_dir = "{written}"\n{shoe()}')
        assert complaint.startswith("shoed.toml:3: site.state_dir: ")
        assert complaint.endswith(" is not allowed; write the name of a directory between double quotes")


# ------------------------------------------------------------------------------------------- settings in the journal


def test_the_settings_of_a_table_are_described_in_canonical_json() -> None:
    """The keys are sorted, without blanks; every setting of the family is there, and no setting of the broker."""
    assert describe(TABLE) == (
        b'{"decks":8,"game":"commission","house":{"after_gap":"ask","bets_close":"card","burn_cards":null,"confirm_void":true,"insurance":true,"insurance_forgone":"round","limits":'
        b'{"differential":null,"maximum":null,"minimum":0,"minimums":{},"reading":"side"},"outcome_basis":"offered",'
        b'"rounding":"down","rounds_after_cut":null},"layout":"bean-9","name":"bac-901","seats":null,"shoe":{"allow_orders":false,'
        b'"firmware":"ii-ex","min_draw_gap_ms":250,"port":"tcp://127.0.0.1:4001","protocol":"angel-eye",'
        b'"settings":{"bcc_span":"body","copies":3,"line_baud":4800,"order_bcc_span":"whole","order_timeout_ms":3000,'
        b'"quiet_after_s":300,"repeat_window_ms":2000,"torn_after_ms":500}},"shuffler":null}'
    )


def test_recall_is_the_inverse_of_describe() -> None:
    """The settings of the device family have their type again."""
    table = replace(TABLE, shoe=replace(TABLE.shoe, settings=AngelEyeSettings(bcc_span=Span.WHOLE)))
    assert recall(describe(table).decode()) == table


def test_equal_settings_have_equal_descriptions(here: Path) -> None:
    """A written default and an address with a default option change nothing."""
    plain = loaded(here, SITE + shoe(table="decks = 8", more="copies = 3"))
    spelt = loaded(here, SITE + shoe(port="tcp://127.0.0.1:4001?keepalive_s=20"))
    assert describe(plain.tables[0]) == describe(spelt.tables[0])


# ------------------------------------------------------------------------------------------- problems


def test_all_problems_are_reported_together_in_line_order(here: Path) -> None:
    """The problems are in every section of the file."""
    assert complaints(
        here,
        '[site]\nnmae = "rws"\n[mqtt]\nurl = "127.0.0.1"\nversion = 5\n[[table]]\nname = "Bac 901"\ndecks = true\n'
        '[table.shoe]\nprotocol = "angle-eye"\nport = "/dev/ttyUSB0"\n[[table]]\n[tables]\n',
    ) == [
        "shoed.toml:1: site.name: is missing; use 1 to 32 of a-z, 0-9 and -",
        "shoed.toml:2: site.nmae: is not a known key; write name, or remove the key",
        f'shoed.toml:4: mqtt.url: "127.0.0.1" {NO_URL}',
        'shoed.toml:5: mqtt.version: 5 is not text; write "5" or "3.1.1"',
        f"shoed.toml:6: table.game: is missing; {WRITE_GAME}",
        'shoed.toml:7: table.name: "Bac 901" is not allowed; use 1 to 32 of a-z, 0-9 and -',
        "shoed.toml:8: table.decks: true is not a whole number; write a whole number from 4 up to 10",
        'shoed.toml:10: table.shoe.protocol: "angle-eye" is unknown; the nearest known is "angel-eye"',
        'shoed.toml:11: table.shoe.port: "/dev/ttyUSB0" is not the address of a device; write serial:///dev/ttyUSB0',
        "shoed.toml:12: table.name: is missing; use 1 to 32 of a-z, 0-9 and -",
        f"shoed.toml:12: table.game: is missing; {WRITE_GAME}",
        f"shoed.toml:12: table.shoe.protocol: is missing; {WRITE_FAMILY}",
        'shoed.toml:12: table.shoe.port: is missing; write for example "tcp://10.0.0.7:4001"',
        "shoed.toml:13: tables: is not a known key; write table, or remove the key",
    ]


def test_an_empty_file_lacks_a_name_and_a_table(here: Path) -> None:
    """Both problems are in line 1."""
    assert complaints(here, "") == [
        "shoed.toml:1: site.name: is missing; use 1 to 32 of a-z, 0-9 and -",
        "shoed.toml:1: table: is missing; write [[table]] and its keys below",
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("decks = 9", "decks: 9 is out of range; write a whole number from 4 up to 8"),
        ("decks = 3", "decks: 3 is out of range; write a whole number from 4 up to 8"),
        ('decks = "8"', 'decks: "8" is not a whole number; write a whole number from 4 up to 8'),
        ("decks = true", "decks: true is not a whole number; write a whole number from 4 up to 8"),
        ("decks = 8.0", "decks: 8.0 is not a whole number; write a whole number from 4 up to 8"),
        ('layout = "bean9"', 'layout: "bean9" is unknown; the nearest known is "bean-9"'),
        ('layout = "?"', 'layout: "?" is unknown; write "bean-9" or "bean-7" or "mini-7" or "big-12"'),
        ("seats = 9", "seats: is not a key of commission, whose layouts have names; write layout instead"),
        ("places = 9", f"places: is not a known key; write one of {KEYS_WITH_LAYOUT}, or remove the key"),
        ('deck = "8"', "deck: is not a known key; write decks, or remove the key"),
    ],
)
def test_a_wrong_key_of_a_table_is_named(here: Path, line: str, complaint: str) -> None:
    """The ranges and the layouts depend on the game."""
    assert complaints(here, SITE + shoe(table=line)) == [f"shoed.toml:7: table.{complaint}"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("allow_orders = 1", "allow_orders: 1 is neither true nor false; write true or false, without quotes"),
        ("min_draw_gap_ms = -1", "min_draw_gap_ms: -1 is out of range; write a whole number from 0 up to 10000"),
        (
            "min_draw_gap_ms = 0.5",
            f"min_draw_gap_ms: 0.5 {NOT_WHOLE} from 0 up to 10000",
        ),
        ('firmware = "ii"', 'firmware: "ii" is unknown; write "ii-ex"'),
        ("bcc_span = true", 'bcc_span: true is not text; write "body" or "whole"'),
        ('bcc_span = "hole"', 'bcc_span: "hole" is unknown; the nearest known is "whole"'),
        ("copies = 10", "copies: 10 is out of range; write a whole number from 1 up to 9"),
        ("repeat_ms = 10", "repeat_ms: is not a known key; write repeat_window_ms, or remove the key"),
    ],
)
def test_a_wrong_key_of_a_shoe_is_named(here: Path, line: str, complaint: str) -> None:
    """The declaration of the family decides the keys of the family."""
    assert complaints(here, SITE + shoe(more=line)) == [f"shoed.toml:11: table.shoe.{complaint}"]


def scanner(codes: str, port: str = "tcp://10.0.0.7:4001") -> str:
    return SITE + shoe(port=port, more=codes).replace("angel-eye", "scanner")


def test_a_scanners_codes_are_a_table_of_cards(here: Path) -> None:
    """Each code has a card; the journal holds the codes, too."""
    (table,) = loaded(here, scanner('[table.shoe.cards]\n0401 = "8S"\n" a-1" = "TH"\n1401 = "8S"')).tables
    assert table.shoe.settings == ScannerSettings(cards={"0401": "8S", " a-1": "10H", "1401": "8S"})
    assert recall(describe(table).decode()) == table
    (without,) = loaded(here, scanner("")).tables
    assert without.shoe.settings == ScannerSettings()
    assert recall(describe(without).decode()) == without


NO_SPEED = "the speed is not known, because the device family declares no serial line"
WRONG_CARD = 'is not a card; write its rank and its suit, as in "8S" or "10H"'
WRONG_CODE = "is not a code that the device can send; write 1 to 64 printable ASCII characters"


@pytest.mark.parametrize(
    ("codes", "complaint"),
    [
        ('0401 = "8X"', f'12: table.shoe.cards.0401: "8X" {WRONG_CARD}'),
        ('0401 = "10h"', f'12: table.shoe.cards.0401: "10h" {WRONG_CARD}'),
        ("0401 = 8", '12: table.shoe.cards.0401: 8 is not text; write its rank and its suit, as in "8S" or "10H"'),
        ('0401 = "8S"\n"0401" = "9S"', "13: table.shoe.cards.0401: is given twice, first in line 12; write it once"),
        ('"" = "8S"', f'12: table.shoe.cards."": {WRONG_CODE}'),
        ('"é" = "8S"', f'12: table.shoe.cards."é": {WRONG_CODE}'),
        (f'{"7" * 65} = "8S"', f"12: table.shoe.cards.{'7' * 65}: {WRONG_CODE}"),
    ],
)
def test_a_wrong_code_is_named_with_its_line(here: Path, codes: str, complaint: str) -> None:
    """An invalid card, a repeated code, and characters that no keyboard types are problems."""
    assert complaints(here, scanner(f"[table.shoe.cards]\n{codes}")) == [f"shoed.toml:{complaint}"]


def test_codes_are_a_table(here: Path) -> None:
    """Another type of value is a problem."""
    assert complaints(here, scanner('cards = "8S"')) == [
        'shoed.toml:11: table.shoe.cards: "8S" is not a table; write [table.shoe.cards] and its keys below'
    ]


@pytest.mark.parametrize("port", ["serial:///dev/ttyS0", "rfc2217://10.0.0.7:4001"])
def test_a_family_without_a_serial_line_needs_the_speed_of_one(here: Path, port: str) -> None:
    """The family has no default speed: the port must state it."""
    assert complaints(here, scanner("", port)) == [f"shoed.toml:10: table.shoe.port: {NO_SPEED}; add ?baud=9600"]
    assert loaded(here, scanner("", f"{port}?baud=9600")).tables[0].shoe.port == f"{port}?baud=9600"


def test_a_wrong_address_has_the_message_of_the_port(here: Path) -> None:
    """The configuration adds the file, the line and the key."""
    assert complaints(here, SITE + shoe(port="tcp://10.0.0.7:0")) == [
        "shoed.toml:10: table.shoe.port: port 0 does not exist; write a number from 1 to 65535"
    ]


def test_an_unknown_game_hides_no_other_problem(here: Path) -> None:
    """A value that is wrong in every game is reported, and so is a key that no game has."""
    table = (
        'decks = 11\nlayout = "been"\nseats = 0\nrounding = "up"\noutcome_basis = 1\ninsurance = "of"\n'
        'insurance_forgone = "never"\nbets_close = "x"\nburn_cards = 21\nrounds_after_cut = -1\nafter_gap = "foo"\n'
        'confirm_void = "yes"\nlimit = 1\n[table.limits]\nminimum = 100\nmaximum = 50\n'
        'minimums = { tiee = 1, player-insurance = 5, tie = 60 }\nreading = "sides"'
    )
    found = complaints(here, SITE + shoe(table=table).replace('"commission"', '"comission"'))
    assert [each.removeprefix("shoed.toml:") for each in found] == [
        '6: table.game: "comission" is unknown; the nearest known is "commission"',
        "7: table.decks: 11 is out of range; write a whole number from 4 up to 10",
        '8: table.layout: "been" is unknown; the nearest known is "bean-9"',
        "9: table.seats: 0 is out of range; write a whole number from 1 up to 99",
        '10: table.rounding: "up" is unknown; write "down" or "half-up"',
        '11: table.outcome_basis: 1 is not text; write "offered" or "placed"',
        '12: table.insurance: "of" is unknown; the nearest known is "off"',
        '13: table.insurance_forgone: "never" is unknown; write "round" or "stage"',
        '14: table.bets_close: "x" is unknown; write "card" or "command"',
        '15: table.burn_cards: 21 is out of range; write a number from 0 to 20, or "first-card"',
        "16: table.rounds_after_cut: -1 is out of range; write a whole number from 0 up to 20",
        '17: table.after_gap: "foo" is unknown; write "ask" or "abandon" or "partial"',
        '18: table.confirm_void: "yes" is neither true nor false; write true or false, without quotes',
        "19: table.limit: is not a known key; write limits, or remove the key",
        "22: table.limits.maximum: 50 is less than minimum, 100; write at least the minimum",
        "23: table.limits.minimums.tie: 60 is more than maximum, 50; write at most the maximum of a box",
        "23: table.limits.minimums.tiee: is not a known key; write tie, or remove the key",
        '24: table.limits.reading: "sides" is unknown; the nearest known is "side"',
    ]


def test_with_an_unknown_game_a_value_of_some_game_is_accepted(here: Path) -> None:
    """The value may be correct for the intended game."""
    allowed = 'decks = 10\nlayout = "big-12"\ninsurance = "off"\n[table.limits]\nminimums = { player-insurance = 5 }'
    toml = SITE + shoe(table=allowed).replace('"commission"', '"x"')
    assert complaints(here, toml) == [f'shoed.toml:6: table.game: "x" is unknown; {WRITE_GAME}']


def test_with_an_unknown_game_a_value_of_every_game_is_accepted(here: Path) -> None:
    """The value is correct for every game."""
    toml = SITE + shoe(table='rounding = "down"').replace("commission", "comission")
    assert complaints(here, toml) == [
        'shoed.toml:6: table.game: "comission" is unknown; the nearest known is "commission"'
    ]


@pytest.mark.clause(
    "C 2.1.1", "C 2.2.1", "I 2.1.1", "I 2.2.1", "F 2.1", "F 2.2", "E 2.1.1", "E 2.2.1", "T 2.1.1", "T 2.2.1"
)
@pytest.mark.parametrize("game", printed.GAMES)
def test_every_game_has_its_decks_and_its_places(here: Path, game: str) -> None:
    """They are as in its document. Fortune Six names no layouts: its tables have a number of seats."""
    seats, layout = (9, None) if game == "fortune-six" else (None, "bean-7")
    places = f"seats = {seats}" if seats else f'layout = "{layout}"'
    fewest, most = printed.DECKS[game]
    for decks in (fewest, most):
        toml = SITE + shoe(table=f"{places}; decks = {decks}".replace("; ", "\n")).replace("commission", game)
        (table,) = loaded(here, toml).tables
        assert (table.game, table.decks, table.layout, table.seats) == (game, decks, layout, seats)
        assert recall(describe(table).decode()) == table
    for decks in (fewest - 1, most + 1):
        toml = SITE + shoe(table=f"decks = {decks}").replace("commission", game)
        assert complaints(here, toml) == [
            f"shoed.toml:7: table.decks: {decks} is out of range; write a whole number from {fewest} up to {most}"
        ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('layout = "bean-9"', "layout: is not a key of fortune-six, whose layouts have no names; write seats instead"),
        ("bet = 9", f"bet: is not a known key; write one of {KEYS_WITH_SEATS}, or remove the key"),
        ("seats = 0", "seats: 0 is out of range; write a whole number from 1 up to 99"),
    ],
)
def test_fortune_six_has_seats_instead_of_a_layout(here: Path, line: str, complaint: str) -> None:
    """The diagrams of Fortune Six have no names."""
    toml = SITE + shoe(table=line).replace("commission", "fortune-six")
    assert complaints(here, toml) == [f"shoed.toml:7: table.{complaint}"]


def test_house_rules_are_read(here: Path) -> None:
    """Rounding, outcome basis, insurance and limits are keys of a table."""
    given = SITE + shoe(
        table='rounding = "half-up"\noutcome_basis = "placed"\ninsurance = "off"\ninsurance_forgone = "stage"\n'
        "[table.limits]\nminimum = 100\nmaximum = 50000\nminimums = { tie = 50, player-insurance = 10 }\n"
        'differential = 10000\nreading = "box"'
    )
    (table,) = loaded(here, given.replace("commission", "super-six-plus")).tables
    assert table.house == HouseRules(
        rounding=Rounding.HALF_UP,
        outcome_basis=OutcomeBasis.PLACED,
        insurance=False,
        insurance_forgone=ForgoneFor.STAGE,
        limits=TableLimits(100, 50000, {"tie": 50, "player-insurance": 10}, 10000, DifferentialReading.BOX),
    )
    assert recall(describe(table).decode()) == table


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        (
            "minimum = 100\nmaximum = 99",
            "9: table.limits.maximum: 99 is less than minimum, 100; write at least the minimum",
        ),
        (
            "maximum = 50\nminimums = { tie = 51 }",
            "9: table.limits.minimums.tie: 51 is more than maximum, 50; write at most the maximum of a box",
        ),
        (
            'minimum = 100\nmaximum = "50"',
            '9: table.limits.maximum: "50" is not a whole number; write a whole number from 0',
        ),
    ],
)
def test_limits_must_allow_a_bet(here: Path, limits: str, complaint: str) -> None:
    """A minimum above the maximum is a problem; equal limits allow one stake."""
    assert complaints(here, SITE + shoe(table=f"[table.limits]\n{limits}")) == [f"shoed.toml:{complaint}"]
    (table,) = loaded(
        here, SITE + shoe(table="[table.limits]\nminimum = 9\nmaximum = 9\nminimums = { tie = 9 }")
    ).tables
    assert table.house.limits == TableLimits(9, 9, {"tie": 9})


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('insurance = "on"', "7: table.insurance: has no effect: tournament has no insurance; remove it"),
        ("limits = {}", "7: table.limits: has no effect: tournament has no limits; remove it"),
        ('rounding = "up"', '7: table.rounding: "up" is unknown; write "down" or "half-up"'),
    ],
)
def test_a_setting_that_the_game_does_not_have_is_a_problem(here: Path, line: str, complaint: str) -> None:
    """Otherwise the setting would have no effect, without a message."""
    assert complaints(here, SITE + shoe(table=line).replace("commission", "tournament")) == [f"shoed.toml:{complaint}"]


def test_a_description_of_an_earlier_version_is_recalled() -> None:
    """Old journals have descriptions without the newer keys."""
    described = describe(TABLE).decode()
    assert recall(described.replace('"seats":null,', "").replace(',"shuffler":null', "")) == TABLE


SHUFFLER = """
[table.shuffler]
protocol = "open-shoe"
port = "tcp://127.0.0.1:4002"
quiet_after_s = 60
"""


def test_a_table_may_have_a_shuffler(here: Path) -> None:
    """The shuffler has the settings of its family, and its description is recalled."""
    (table,) = loaded(here, SITE + shoe() + SHUFFLER).tables
    settings = OpenShoeSettings(quiet_after_s=60).for_role("shuffler")
    assert table.shuffler == ShufflerConfig("open-shoe", FAMILY.firmware[0], "tcp://127.0.0.1:4002", False, settings)  # noqa: FBT003 -- no orders
    assert table.devices == {Device.SHOE: table.shoe, Device.SHUFFLER: table.shuffler}
    assert recall(describe(table).decode()) == table
    assert loaded(here, SITE + shoe()).tables[0].devices == {Device.SHOE: table.shoe}


def test_the_section_decides_the_role_of_a_device(here: Path) -> None:
    """A family that can have both roles accepts no `role` key in the section."""
    toml = SITE + shoe().replace("angel-eye", "open-shoe") + SHUFFLER
    (table,) = loaded(here, toml).tables
    assert table.shoe.settings == OpenShoeSettings().for_role("shoe")
    assert table.devices[Device.SHUFFLER].settings == OpenShoeSettings(quiet_after_s=60).for_role("shuffler")
    assert recall(describe(table).decode()) == table
    assert complaints(here, toml.replace("quiet_after_s = 60", 'role = "shoe"')) == [
        "shoed.toml:16: table.shuffler.role: has no effect: this section is for the shuffler; remove it"
    ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("open-shoe", "angel-eye", '14: table.shuffler.protocol: "angel-eye" is unknown; write "open-shoe"'),
        (
            "4002",
            "4001",
            '15: table.shuffler.port: "tcp://127.0.0.1:4001" is also in line 10; give each device its own port',
        ),
        (
            "quiet",
            "quit",
            "16: table.shuffler.quit_after_s: is not a known key; write quiet_after_s, or remove the key",
        ),
        ("quiet_after_s", "min_draw_gap_ms", "16: table.shuffler.min_draw_gap_ms: is not a known key; write one of "),
        ('protocol = "open-shoe"\n', "", '13: table.shuffler.protocol: is missing; write "open-shoe"'),
    ],
)
def test_a_wrong_key_of_a_shuffler_is_named(here: Path, old: str, new: str, complaint: str) -> None:
    """A family of shoes, the port of the shoe, and a key that only a shoe has are problems."""
    (only,) = complaints(here, SITE + shoe() + SHUFFLER.replace(old, new))
    assert only.startswith(f"shoed.toml:{complaint}")


def test_with_an_unknown_protocol_the_keys_of_every_family_are_accepted(here: Path) -> None:
    """They may be correct for the intended protocol. Keys without a family, and unknown keys, are verified."""
    toml = SITE + shoe(more="copies = 9\nmin_draw_gap_ms = true\ncopys = 3")
    assert complaints(here, toml.replace("angel-eye", "no-such-eye")) == [
        f'shoed.toml:9: table.shoe.protocol: "no-such-eye" is unknown; {WRITE_FAMILY}',
        f"shoed.toml:12: table.shoe.min_draw_gap_ms: true {NOT_WHOLE} from 0 up to 10000",
        "shoed.toml:13: table.shoe.copys: is not a known key; write copies, or remove the key",
    ]


def test_an_unknown_protocol_hides_no_value_that_every_family_refuses(here: Path) -> None:
    """A value that some family allows is accepted: it may be correct for the intended protocol."""
    toml = SITE + shoe(more='copies = 99\nfirmware = 3\nquiet_after_s = "x"\ntorn_after_ms = 5000\ncards = 3')
    assert complaints(here, toml.replace("angel-eye", "no-such-eye")) == [
        f'shoed.toml:9: table.shoe.protocol: "no-such-eye" is unknown; {WRITE_FAMILY}',
        "shoed.toml:11: table.shoe.copies: 99 is out of range; write a whole number from 1 up to 9",
        f"shoed.toml:12: table.shoe.firmware: 3 is not text; {WRITE_VERSION}",
        'shoed.toml:13: table.shoe.quiet_after_s: "x" is not a whole number; write a whole number from 10 up to 86400',
        "shoed.toml:15: table.shoe.cards: 3 is not a table; write [table.shoe.cards] and its keys below",
    ]


def test_tables_share_neither_names_nor_devices(here: Path) -> None:
    """An address with other options is the same device. Two invalid names or ports are not compared."""
    assert complaints(here, SITE + shoe() + shoe(port="tcp://127.0.0.1:4001?keepalive_s=5") + shoe("bac-902")) == [
        'shoed.toml:14: table.name: "bac-901" is also in line 5; give each table its own name',
        'shoed.toml:19: table.shoe.port: "tcp://127.0.0.1:4001" is also in line 10; give each device its own port',
        'shoed.toml:28: table.shoe.port: "tcp://127.0.0.1:4001" is also in line 10; give each device its own port',
    ]
    assert len(complaints(here, SITE + shoe("A", "a") + shoe("A", "a"))) == 4


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ('password_file = "f"', "4: mqtt.password_file: requires user; write user = ..., too"),
        ('url = "mqtts://h"\ncert = "f"', "5: mqtt.cert: requires key; write key = ..., too"),
        ('url = "mqtts://h"\nkey = "f"', "5: mqtt.key: requires cert; write cert = ..., too"),
        ('ca = "f"', '4: mqtt.ca: requires TLS, and the url has no TLS; write url = "mqtts://..."'),
        ('url = "mqtt://h"\nca = "f"', '5: mqtt.ca: requires TLS, and the url has no TLS; write url = "mqtts://..."'),
        ('url = "h"\nca = "f"', f'4: mqtt.url: "h" {NO_URL}'),
        ('url = "mqtts://h"\nca = "g"', f"5: mqtt.ca: g cannot be read: No such file or directory; {NO_FILE}"),
        ('user = "u"\npassword_file = "."', f"5: mqtt.password_file: . cannot be read: Is a directory; {NO_FILE}"),
        ('user = ""', '4: mqtt.user: "" is not allowed; write text that is not empty, between double quotes'),
        ('password = "x"', "4: mqtt.password: is not a known key; write password_file, or remove the key"),
        ('version = "4"', '4: mqtt.version: "4" is unknown; write "5" or "3.1.1"'),
    ],
)
def test_a_wrong_key_of_the_broker_is_named(here: Path, lines: str, complaint: str) -> None:
    """Keys that require each other, absent files, and TLS files without TLS are problems."""
    (here / "f").touch()
    assert complaints(here, SITE + f"[mqtt]\n{lines}\n" + shoe()) == [f"shoed.toml:{complaint}"]


def test_a_key_given_twice_is_one_problem(here: Path) -> None:
    """A copied section without a change is an example."""
    assert complaints(here, EXAMPLE + "[mqtt]\n") == [
        "shoed.toml:17: mqtt: is given twice, first in line 4; write it once"
    ]


def test_an_absent_file_is_a_settings_error(here: Path) -> None:
    """The message has the name of the command line."""
    with pytest.raises(SettingsError, match=r"^nowhere\.toml: cannot be read: No such file or directory; "):
        load("nowhere.toml")
    assert not (here / "nowhere.toml").exists()


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_no_family_declares_a_key_of_every_device(family: Family[Settings]) -> None:
    """Both kinds of key are in the same section."""
    assert not declared(family.settings).keys() & set(ShoeConfig.__struct_fields__)


# ------------------------------------------------------------------------------------------- the key of a device

OPEN = """\
[site]
name = "rws"
[[table]]
name = "bac-901"
game = "commission"
[table.shoe]
protocol = "open-shoe"
port = "PORT"
"""
ON_SERIAL_LINE = OPEN.replace("PORT", "serial:///dev/serial/by-id/usb-1")
KEYED = f'{ON_SERIAL_LINE}key_file = "shoe.key"\n'


def key(here: Path, text: str = "00" * 16, mode: int = 0o400) -> Path:
    path = here / "shoe.key"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("port", ["serial:///dev/serial/by-id/usb-1", "tcp://h:1", "rfc2217://h:1", "usb://1209:0001"])
def test_a_device_on_a_real_port_may_have_a_key(here: Path, port: str) -> None:
    """The name begins in the directory of the configuration. The description has the name, and not the key."""
    key(here, "0123456789abcdef" * 2)
    toml = f'{OPEN.replace("PORT", port)}key_file = "shoe.key"\n'
    (here / "shoed.toml").write_text(toml)
    config = load("shoed.toml", Purpose.CHECK)
    (table,) = config.tables
    assert table.shoe.key_file == "shoe.key"
    assert config.warnings == ()
    assert b'"key_file":"shoe.key"' in describe(table)
    assert b"0123456789abcdef" not in describe(table)
    assert recall(describe(table).decode()) == table


def test_without_a_key_the_description_has_no_key_file(here: Path) -> None:
    """The configuration of an earlier version keeps its description."""
    assert b"key_file" not in describe(loaded(here, ON_SERIAL_LINE).tables[0])


def check_problems(here: Path, toml: str) -> list[str]:
    """All problems that `shoed check` reports."""
    (here / "shoed.toml").write_text(toml)
    with pytest.raises(SettingsError) as caught:
        load("shoed.toml", Purpose.CHECK)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("open-shoe", "angel-eye", "has no effect: Angel Eye II-EX has no secure channel; remove it"),
        (
            "serial:///dev/serial/by-id/usb-1",
            "replay:one.capture",
            "has no effect: a capture holds the reports of the device without the secure channel; remove it",
        ),
        (
            "key_file",
            'acknowledge = "no"\nkey_file',
            (
                'has no effect with acknowledge = "no": the secure channel requires bytes of the host; '
                'write acknowledge = "yes", or remove key_file'
            ),
        ),
    ],
)
def test_a_key_without_effect_is_a_problem(here: Path, old: str, new: str, complaint: str) -> None:
    """The message has the reason and the remedy."""
    key(here)
    (here / "one.capture").write_text("shoed-capture 1\nfamily open-shoe\nfirmware 3\nline 9600 8N1\n")
    (only,) = check_problems(here, KEYED.replace(old, new))
    assert re.sub(r":[0-9]+:", ":", only, count=1) == f"shoed.toml: table.shoe.key_file: {complaint}"


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("none", "No such file or directory; write the path of a readable capture"),
        (".", "the path is not a regular file; write the path of a capture"),
        ("shoed.toml", "the first line must be shoed-capture 1"),
    ],
)
def test_the_capture_of_a_replay_port_is_verified(here: Path, path: str, complaint: str) -> None:
    """`shoed check` opens the file. Other commands do not need it."""
    (only,) = check_problems(here, OPEN.replace("PORT", f"replay:{path}"))
    assert only.startswith("shoed.toml:")
    assert "table.shoe.port: " in only
    assert complaint in only
    assert load("shoed.toml").tables


@pytest.mark.parametrize(
    ("text", "mode", "complaint"),
    [
        (None, 0, "shoe.key does not exist; write the key of the device into it; `openssl rand -hex 16` prints"),
        ("0" * 31, 0o400, "shoe.key does not contain a key; write 32 hexadecimal digits into it, and nothing else"),
        (
            "0" * 32,
            0o404,
            "shoe.key has the mode 0404, so that other users can read or change the key; run: chmod 0400",
        ),
    ],
)
def test_a_wrong_key_file_is_named(here: Path, text: str | None, mode: int, complaint: str) -> None:
    """`shoed check` and `shoed run` read the key; a command that needs only the state directory does not."""
    if text is not None:
        key(here, text, mode)
    (only,) = check_problems(here, KEYED)
    assert only.startswith(f"shoed.toml:9: table.shoe.key_file: {complaint}")
    assert load("shoed.toml").tables[0].shoe.key_file == "shoe.key"


def test_each_device_has_a_key_of_its_own(here: Path) -> None:
    """With one key for two devices, one device could be used in place of the other."""
    key(here)
    shuffler = '[table.shuffler]\nprotocol = "open-shoe"\nport = "usb://1209:0001"\nkey_file = "shoe.key"\n'
    assert check_problems(here, KEYED + shuffler) == [
        'shoed.toml:13: table.shuffler.key_file: "shoe.key" is also in line 9; give each device its own key_file'
    ]


@pytest.mark.parametrize(("port", "warned"), [("tcp://h:1", 1), ("rfc2217://h:1", 1), ("usb://1209:0001", 0)])
def test_an_open_shoe_in_a_network_without_a_key_is_a_warning(here: Path, port: str, warned: int) -> None:
    """Any computer in the network can send false reports."""
    warnings = [str(each) for each in loaded(here, OPEN.replace("PORT", port)).warnings]
    assert len(warnings) == warned
    assert all(each.startswith("shoed.toml:8: table.shoe.port: any computer in the network") for each in warnings)
    assert all("write key_file = " in each for each in warnings)


# ------------------------------------------------------------------------------------------- the key of the journal

JOURNAL = f'{SITE}state_dir = "state"\n[journal]\nkey_file = "site.key"\n{shoe()}'


@pytest.mark.parametrize(
    ("content", "mode", "complaint"),
    [
        (None, 0, "site.key does not exist; write the key of the journal into it; `openssl genpkey"),
        (b"0" * 32, 0o400, "site.key does not contain a private key of Ed25519; write a PEM file; `openssl genpkey"),
        (b"", 0o640, "site.key does not contain"),
        (b"", 0o660, "site.key has the mode 0660, so that other users can read or change the key; run: chmod 0600"),
    ],
)
def test_a_wrong_key_of_the_journal_is_named(here: Path, content: bytes | None, mode: int, complaint: str) -> None:
    """`shoed check` and `shoed run` read the key; a command that needs only the state directory does not."""
    if content is not None:
        (here / "site.key").write_bytes(content)
        (here / "site.key").chmod(mode)
    (only,) = check_problems(here, JOURNAL)
    assert only.startswith(f"shoed.toml:5: journal.key_file: {complaint}")
    assert load("shoed.toml").journal.key_file == "site.key"
    with pytest.raises(SettingsError, match=re.escape("site.key")):
        load("shoed.toml", Purpose.RUN)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("keep_days = 0", "keep_days: 0 is out of range; write a whole number from 1 up to 36500"),
        (
            'keep_days = "90 days"',
            'keep_days: "90 days" is not a whole number; write a whole number from 1 up to 36500',
        ),
        ("keep_mb = 1", "keep_mb: 1 is out of range; write a whole number from 10 up to 10000000"),
        ("keep_gb = 1", "keep_gb: is not a known key; write keep_mb, or remove the key"),
    ],
)
def test_a_wrong_limit_of_the_journal_is_named(here: Path, line: str, complaint: str) -> None:
    """By default, there is no limit."""
    assert loaded(here, SITE + shoe()).journal.keep == Keep()
    keep = loaded(here, f"{SITE}[journal]\nkeep_days = 90\nkeep_mb = 500\n{shoe()}").journal.keep
    assert keep == Keep(days=90, mb=500)
    (only,) = complaints(here, f"{SITE}[journal]\n{line}\n{shoe()}")
    assert only == f"shoed.toml:4: journal.{complaint}"


def test_the_key_of_the_journal_may_be_a_credential(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service manager decrypts a credential that is sealed by the TPM, and gives it to the service as a file."""
    daemon_key(here, None)
    (here / "journal-key").write_bytes((here / "journal.key").read_bytes())
    (here / "journal-key").chmod(0o440)
    (here / "shoed.toml").write_text(JOURNAL.replace("site.key", "credential:journal-key"))
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert len(load("shoed.toml", Purpose.CHECK).warnings) == 1
    left_out = load("shoed.toml", Purpose.REPLAY)
    assert (left_out.journal.key_file, [each.remedy for each in left_out.warnings]) == (None, [LEFT_OUT])
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(here))
    assert load("shoed.toml", Purpose.RUN).journal.key_file == str(here / "journal-key")


def test_the_key_in_the_state_directory_is_verified(here: Path) -> None:
    """The daemon refuses a key that others can read, and replaces a damaged one."""
    own = here / "state" / "journal.key"
    own.parent.mkdir()
    toml = JOURNAL.replace('key_file = "site.key"\n', "")
    daemon_key(own.parent, None)
    (here / "shoed.toml").write_text(toml)
    assert load("shoed.toml", Purpose.RUN).warnings == ()
    own.chmod(0o644)
    (only,) = check_problems(here, toml)
    assert only.startswith("shoed.toml:3: site.state_dir: state/journal.key has the mode 0644, so that other users")
    own.chmod(0o600)
    own.write_bytes(b"damaged")
    (warning,) = map(str, load("shoed.toml", Purpose.RUN).warnings)
    assert warning.endswith("Ed25519; restore the file from a copy; otherwise the next start makes a new key")


# ------------------------------------------------------------------------------------------- the log, and credentials


def test_the_log_level_is_one_of_four(here: Path) -> None:
    """The default is info."""
    assert loaded(here, SITE + shoe()).log_level is LogLevel.INFO
    assert loaded(here, f'[log]\nlevel = "debug"\n{SITE}{shoe()}').log_level is LogLevel.DEBUG
    wrong = f'[log]\nlevel = "verbose"\n{SITE}{shoe()}'
    right = 'write "debug" or "info" or "warning" or "error"'
    assert complaints(here, wrong) == [f'shoed.toml:2: log.level: "verbose" is unknown; {right}']


SECRETS = 'ca = "credential:ca"\ncert = "credential:cert"\nkey = "credential:tls-key"'
CREDENTIALS = (
    f'{SITE}state_dir = "state"\n[mqtt]\nurl = "mqtts://10.0.0.8"\nuser = "shoed"\n'
    f'password_file = "credential:password"\n{SECRETS}\n'
    + OPEN.replace("PORT", "usb://1209:0001").removeprefix(SITE)
    + 'key_file = "credential:shoe-key"\n'
)
NAMES = ("ca", "cert", "password", "shoe-key", "tls-key")


def test_every_secret_may_be_a_credential(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A credential is a file in the directory of systemd."""
    folder = here / "credentials"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text("0123456789abcdef0123456789abcdef\n")
        (folder / name).chmod(0o400)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    (here / "shoed.toml").write_text(CREDENTIALS)
    config = load("shoed.toml", Purpose.RUN)
    broker, key_file = config.broker, config.tables[0].shoe.key_file
    found = (broker.ca, broker.cert, broker.password_file, key_file, broker.key)
    assert found == tuple(str(folder / name) for name in NAMES)
    (folder / "password").unlink()
    missing = f"shoed.toml:7: mqtt.password_file: {folder} does not have the credential password; write LoadCredential="
    with pytest.raises(SettingsError, match=re.escape(missing)):
        load("shoed.toml", Purpose.RUN)


def test_outside_the_service_a_credential_is_not_verified(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`shoed check` prints a note for each. `shoed run` needs them, and `shoed tell` does not."""
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    (here / "shoed.toml").write_text(CREDENTIALS)
    notes = [str(each) for each in load("shoed.toml", Purpose.CHECK).warnings]
    assert notes[0] == (
        "shoed.toml:7: mqtt.password_file: the credential password exists in the service only and was not verified;"
        " verify LoadCredential=password:FILE in the unit"
    )
    assert len(notes) == len(NAMES)
    assert load("shoed.toml").warnings == ()
    with pytest.raises(SettingsError, match="CREDENTIALS_DIRECTORY is not set; start shoed as a service") as caught:
        load("shoed.toml", Purpose.RUN)
    assert len(caught.value.problems) == len(NAMES)


def test_a_replay_leaves_out_the_files_that_it_cannot_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture replaces the device, so the key of the device is not read. Each absent file of the broker is named."""
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    (here / "shoed.toml").write_text(CREDENTIALS.replace("credential:ca", "absent.pem"))
    config = load("shoed.toml", Purpose.REPLAY)
    broker = config.broker
    assert (broker.ca, broker.cert, broker.password_file, broker.key) == (None, None, None, None)
    left_out = [str(each) for each in config.warnings if each.remedy == LEFT_OUT]
    assert [each.split(": ")[1] for each in left_out] == ["mqtt.password_file", "mqtt.ca", "mqtt.cert", "mqtt.key"]
    assert "absent.pem cannot be read: No such file or directory; the replay continues without it" in left_out[1]


@pytest.mark.parametrize("name", ["", "..", "a/b", "../mqtt.password"])
def test_a_credential_has_a_name_without_a_path(here: Path, name: str) -> None:
    """The name is that of LoadCredential=."""
    toml = f'{SITE}[mqtt]\nuser = "shoed"\npassword_file = "credential:{name}"\n{shoe()}'
    (only,) = complaints(here, toml)
    assert only.startswith(f'shoed.toml:5: mqtt.password_file: "credential:{name}" does not name a credential; write')
