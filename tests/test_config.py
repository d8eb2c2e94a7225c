"""The daemon's configuration: what it gives, and what it says of everything that is wrong."""

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
from shoed.config import Config, HouseRules, Purpose, ShoeConfig, ShufflerConfig, TableConfig, describe, load, recall
from shoed.errors import SettingsError
from shoed.observations import Device
from shoed.rules.house import Basis, Forgone, Limits, Reading, Rounding
from shoed.rules.load import GAMES
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
port = "tcp://127.0.0.1:4001"       # serial:///dev/...?baud=4800, later rfc2217:// usb://
allow_orders = false                 # nothing is ever written to a shoe otherwise
min_draw_gap_ms = 250                # cards closer than this were drawn together; 0: spacing is no evidence
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
FAMILIES_SAID = 'write "angel-eye" or "bee-tek" or "open-shoe" or "scanner"'
VERSIONS = dict.fromkeys(f'"{version}"' for family in FAMILIES.values() for version in family.firmware)
VERSIONS_SAID = f"write {' or '.join(VERSIONS)}"
GAMES_SAID = "write " + " or ".join(f'"{game}"' for game in GAMES)
NO_FILE = "name a file that is there and may be read"
HOUSE = (
    "rounding, outcome_basis, insurance, insurance_forgone, limits, bets_close, burn_cards, rounds_after_cut, "
    "after_gap, confirm_void"
)
LAID_OUT = f"name, game, decks, layout, {HOUSE}, shoe, shuffler"
SEATED = f"name, game, decks, seats, {HOUSE}, shoe, shuffler"
SITE = '[site]\nname = "rws"\n'


def shoe(name: str = "bac-901", port: str = "tcp://127.0.0.1:4001", table: str = "", more: str = "") -> str:
    """A [[table]] of nine lines, where `table` and `more` are one line each."""
    return (
        f'\n[[table]]\nname = "{name}"\ngame = "commission"\n{table}\n'
        f'[table.shoe]\nprotocol = "angel-eye"\nport = "{port}"\n{more}\n'
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which `shoed.toml` is called by that name."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loaded(here: Path, toml: str) -> Config:
    (here / "shoed.toml").write_text(toml, encoding="utf-8")
    return load("shoed.toml")


def complaints(here: Path, toml: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        loaded(here, toml)
    return str(caught.value).splitlines()


# ------------------------------------------------------------------------------------------- what it gives


def test_the_example_gives_its_values(here: Path) -> None:
    """Every key that there is in it."""
    broker = BrokerSettings("127.0.0.1", 1883, tls=False, version="5")
    assert loaded(here, EXAMPLE) == Config("rws", "/var/lib/shoed", broker, (TABLE,))


def test_what_has_a_default_may_be_left_out(here: Path) -> None:
    """Four lines are needed for a table, one for the site, none for the broker."""
    config = loaded(here, SITE + shoe())
    assert config.state_dir == "/var/lib/shoed"
    assert config.broker == BrokerSettings("127.0.0.1", 1883)
    (table,) = config.tables
    assert (table.decks, table.layout, table.shoe) == (8, None, TABLE.shoe)


def test_every_value_that_is_given_is_taken(here: Path) -> None:
    """The ones that differ from the defaults, with two tables and a broker with certificates."""
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


def test_files_are_looked_for_beside_the_configuration(here: Path) -> None:
    """Wherever the daemon was started; what is absolute stays as it is."""
    (here / "etc").mkdir()
    (here / "etc/shoed.toml").write_text(
        '[site]\nname = "rws"\nstate_dir = "state"\n[mqtt]\nurl = "mqtts://h"\nca = "ca.pem"\n' + shoe()
    )
    (here / "etc/ca.pem").touch()
    config = load("etc/shoed.toml")
    assert (config.state_dir, config.broker.ca) == ("etc/state", "etc/ca.pem")


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(here: Path) -> None:
    """Values and lines are the same."""
    (here / "shoed.toml").write_bytes(b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode())
    assert load("shoed.toml").tables == (TABLE,)
    (here / "shoed.toml").write_bytes(b"\xef\xbb\xbf" + (EXAMPLE + "prot = 1\n").replace("\n", "\r\n").encode())
    with pytest.raises(SettingsError, match=r"^shoed\.toml:17: table\.shoe\.prot: is no known key"):
        load("shoed.toml")


def test_the_page_shows_a_configuration_that_loads(here: Path) -> None:
    """With every key of ours in it, and the defaults that it names."""
    page = Path(__file__).parent.parent / "docs/configuration.md"
    match = re.search(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert match
    config = loaded(here, match[1])
    assert config.broker == BrokerSettings("127.0.0.1", 1883)
    assert [table.shoe.settings for table in config.tables] == [AngelEyeSettings()]
    commented = loaded(here, re.sub(r"(?m)^# (?=\w+ = )", "", match[1]).replace("mqtt:", "mqtts:"))
    assert commented.broker.tls


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
def test_an_impossible_state_directory_is_a_problem_of_its_line(
    here: Path, directory: str, reason: str, purpose: Purpose
) -> None:
    """For the daemon and for `shoed check`; a command that only needs its name does not care."""
    (here / "file").touch()
    (here / "dangling").symlink_to("nowhere")
    (here / "shoed.toml").write_text(f'[site]\nname = "rws"\nstate_dir = "{directory}"\n{shoe()}')
    with pytest.raises(SettingsError) as caught:
        load("shoed.toml", purpose)
    assert str(caught.value) == (
        f'shoed.toml:3: site.state_dir: "{directory}" cannot be used: {reason}; '
        "name a directory that exists or can be created, and that may be written"
    )
    assert load("shoed.toml").state_dir == directory


def test_a_state_directory_that_can_be_created_is_not_created(here: Path) -> None:
    """Nothing is left beside its place either."""
    (here / "shoed.toml").write_text(f'[site]\nname = "rws"\nstate_dir = "a/b"\n{shoe()}')
    for purpose in Purpose:
        assert load("shoed.toml", purpose).state_dir == "a/b"
    assert [each.name for each in here.iterdir()] == ["shoed.toml"]


def test_permissions_of_the_state_directory_are_judged_for_the_daemon_alone(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`shoed check` may be run by another user, before systemd has created the directory."""

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


def test_a_state_directory_without_a_name_that_can_be_is_refused(here: Path) -> None:
    """Empty, or with a null character."""
    for written in ("", "a\\u0000b"):
        (said,) = complaints(here, f'[site]\nname = "rws"\nstate_dir = "{written}"\n{shoe()}')
        assert said.startswith("shoed.toml:3: site.state_dir: ")
        assert said.endswith(" is not allowed; write the name of a directory between double quotes")


# ------------------------------------------------------------------------------------------- what goes on record


def test_what_is_in_force_for_a_table_is_described_in_canonical_json() -> None:
    """Keys in order, no blanks, every setting of the family with its value, nothing of the broker."""
    assert describe(TABLE) == (
        b'{"decks":8,"game":"commission","house":{"after_gap":"ask","bets_close":"card","burn_cards":null,"confirm_void":true,"insurance":true,"insurance_forgone":"round","limits":'
        b'{"differential":null,"maximum":null,"minimum":0,"minimums":{},"reading":"side"},"outcome_basis":"offered",'
        b'"rounding":"down","rounds_after_cut":null},"layout":"bean-9","name":"bac-901","seats":null,"shoe":{"allow_orders":false,'
        b'"firmware":"ii-ex","min_draw_gap_ms":250,"port":"tcp://127.0.0.1:4001","protocol":"angel-eye",'
        b'"settings":{"bcc_span":"body","copies":3,"line_baud":4800,"order_bcc_span":"whole","order_timeout_ms":3000,'
        b'"quiet_after_s":300,"repeat_window_ms":2000,"torn_after_ms":500}},"shuffler":null}'
    )


def test_what_was_described_is_recalled() -> None:
    """With the settings of its family as the types they are."""
    table = replace(TABLE, shoe=replace(TABLE.shoe, settings=AngelEyeSettings(bcc_span=Span.WHOLE)))
    assert recall(describe(table).decode()) == table


def test_two_spellings_of_the_same_table_are_described_alike(here: Path) -> None:
    """A default that is written out, another order of keys."""
    plain = loaded(here, SITE + shoe(table="decks = 8", more="copies = 3"))
    spelt = loaded(here, SITE + shoe(port="tcp://127.0.0.1:4001?keepalive_s=20"))
    assert describe(plain.tables[0]) == describe(spelt.tables[0])


# ------------------------------------------------------------------------------------------- what it says


def test_all_that_is_wrong_is_said_at_once_in_line_order(here: Path) -> None:
    """From every corner of the file."""
    assert complaints(
        here,
        '[site]\nnmae = "rws"\n[mqtt]\nurl = "127.0.0.1"\nversion = 5\n[[table]]\nname = "Bac 901"\ndecks = true\n'
        '[table.shoe]\nprotocol = "angle-eye"\nport = "/dev/ttyUSB0"\n[[table]]\n[tables]\n',
    ) == [
        "shoed.toml:1: site.name: is missing; use 1 to 32 of a-z, 0-9 and -",
        "shoed.toml:2: site.nmae: is no known key; the nearest known is name",
        f'shoed.toml:4: mqtt.url: "127.0.0.1" {NO_URL}',
        'shoed.toml:5: mqtt.version: 5 is no text; write "5" or "3.1.1"',
        f"shoed.toml:6: table.game: is missing; {GAMES_SAID}",
        'shoed.toml:7: table.name: "Bac 901" is not allowed; use 1 to 32 of a-z, 0-9 and -',
        "shoed.toml:8: table.decks: true is no whole number; write a whole number from 4 up to 10",
        'shoed.toml:10: table.shoe.protocol: "angle-eye" is unknown; the nearest known is "angel-eye"',
        'shoed.toml:11: table.shoe.port: "/dev/ttyUSB0" is not the address of a device; write serial:///dev/ttyUSB0',
        "shoed.toml:12: table.name: is missing; use 1 to 32 of a-z, 0-9 and -",
        f"shoed.toml:12: table.game: is missing; {GAMES_SAID}",
        f"shoed.toml:12: table.shoe.protocol: is missing; {FAMILIES_SAID}",
        'shoed.toml:12: table.shoe.port: is missing; write for example "tcp://10.0.0.7:4001"',
        "shoed.toml:13: tables: is no known key; the nearest known is table",
    ]


def test_an_empty_file_lacks_a_name_and_a_table(here: Path) -> None:
    """Both at its first line."""
    assert complaints(here, "") == [
        "shoed.toml:1: site.name: is missing; use 1 to 32 of a-z, 0-9 and -",
        "shoed.toml:1: table: is missing; write [[table]] and its keys below",
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("decks = 9", "decks: 9 is out of range; write a whole number from 4 up to 8"),
        ("decks = 3", "decks: 3 is out of range; write a whole number from 4 up to 8"),
        ('decks = "8"', 'decks: "8" is no whole number; write a whole number from 4 up to 8'),
        ("decks = true", "decks: true is no whole number; write a whole number from 4 up to 8"),
        ("decks = 8.0", "decks: 8.0 is no whole number; write a whole number from 4 up to 8"),
        ('layout = "bean9"', 'layout: "bean9" is unknown; the nearest known is "bean-9"'),
        ('layout = "?"', 'layout: "?" is unknown; write "bean-9" or "bean-7" or "mini-7" or "big-12"'),
        ("seats = 9", "seats: is not a key of commission, whose layouts have names; write layout instead"),
        ("places = 9", f"places: is no known key; known here: {LAID_OUT}"),
        ('deck = "8"', "deck: is no known key; the nearest known is decks"),
    ],
)
def test_a_wrong_key_of_a_table_is_named(here: Path, line: str, complaint: str) -> None:
    """Ranges and layouts are those of the game."""
    assert complaints(here, SITE + shoe(table=line)) == [f"shoed.toml:7: table.{complaint}"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("allow_orders = 1", "allow_orders: 1 is neither true nor false; write true or false, without quotes"),
        ("min_draw_gap_ms = -1", "min_draw_gap_ms: -1 is out of range; write a whole number from 0 up to 10000"),
        ("min_draw_gap_ms = 0.5", "min_draw_gap_ms: 0.5 is no whole number; write a whole number from 0 up to 10000"),
        ('firmware = "ii"', 'firmware: "ii" is unknown; write "ii-ex"'),
        ("bcc_span = true", 'bcc_span: true is no text; write "body" or "whole"'),
        ('bcc_span = "hole"', 'bcc_span: "hole" is unknown; the nearest known is "whole"'),
        ("copies = 10", "copies: 10 is out of range; write a whole number from 1 up to 9"),
        ("repeat_ms = 10", "repeat_ms: is no known key; the nearest known is repeat_window_ms"),
    ],
)
def test_a_wrong_key_of_a_shoe_is_named(here: Path, line: str, complaint: str) -> None:
    """Those of its family are judged by what the family declares."""
    assert complaints(here, SITE + shoe(more=line)) == [f"shoed.toml:11: table.shoe.{complaint}"]


def scanner(codes: str, port: str = "tcp://10.0.0.7:4001") -> str:
    return SITE + shoe(port=port, more=codes).replace("angel-eye", "scanner")


def test_a_scanners_codes_are_a_table_of_cards(here: Path) -> None:
    """Each code with its card, as cards are written everywhere; the journal has them too."""
    (table,) = loaded(here, scanner('[table.shoe.cards]\n0401 = "8S"\n" a-1" = "TH"\n1401 = "8S"')).tables
    assert table.shoe.settings == ScannerSettings(cards={"0401": "8S", " a-1": "10H", "1401": "8S"})
    assert recall(describe(table).decode()) == table
    (without,) = loaded(here, scanner("")).tables
    assert without.shoe.settings == ScannerSettings()
    assert recall(describe(without).decode()) == without


NO_SPEED = "the speed is not known: the device's family has no serial line of its own"
NO_CARD = 'is no card; write its rank and its suit, as in "8S" or "10H"'
CODE_SAID = "is no code that the device can tell; write 1 to 64 printable ASCII characters"


@pytest.mark.parametrize(
    ("codes", "complaint"),
    [
        ('0401 = "8X"', f'12: table.shoe.cards.0401: "8X" {NO_CARD}'),
        ('0401 = "10h"', f'12: table.shoe.cards.0401: "10h" {NO_CARD}'),
        ("0401 = 8", '12: table.shoe.cards.0401: 8 is no text; write its rank and its suit, as in "8S" or "10H"'),
        ('0401 = "8S"\n"0401" = "9S"', "13: table.shoe.cards.0401: is given twice, first in line 12; write it once"),
        ('"" = "8S"', f'12: table.shoe.cards."": {CODE_SAID}'),
        ('"é" = "8S"', f'12: table.shoe.cards."é": {CODE_SAID}'),
        (f'{"7" * 65} = "8S"', f"12: table.shoe.cards.{'7' * 65}: {CODE_SAID}"),
    ],
)
def test_a_wrong_code_is_named_with_its_line(here: Path, codes: str, complaint: str) -> None:
    """A card that is none, a code twice, and what no keyboard types."""
    (said,) = complaints(here, scanner(f"[table.shoe.cards]\n{codes}"))
    assert said == f"shoed.toml:{complaint}"


def test_codes_are_a_table(here: Path) -> None:
    """And nothing else."""
    assert complaints(here, scanner('cards = "8S"')) == [
        'shoed.toml:11: table.shoe.cards: "8S" is no table; write [table.shoe.cards] and its keys below'
    ]


@pytest.mark.parametrize("port", ["serial:///dev/ttyS0", "rfc2217://10.0.0.7:4001"])
def test_a_family_without_a_serial_line_needs_the_speed_of_one(here: Path, port: str) -> None:
    """Where a converter gives it one."""
    assert complaints(here, scanner("", port)) == [
        f"shoed.toml:10: table.shoe.port: {NO_SPEED}; write ?baud=9600 behind it"
    ]
    assert loaded(here, scanner("", f"{port}?baud=9600")).tables[0].shoe.port == f"{port}?baud=9600"


def test_an_address_is_judged_by_the_port_that_has_to_open_it(here: Path) -> None:
    """Its words, with our place."""
    assert complaints(here, SITE + shoe(port="tcp://10.0.0.7:0")) == [
        "shoed.toml:10: table.shoe.port: port 0 does not exist; write one from 1 to 65535"
    ]


def test_an_unknown_game_hides_no_other_problem(here: Path) -> None:
    """A value that is wrong in every game is reported, and so is a key that no game has."""
    table = (
        'decks = 11\nlayout = "been"\nseats = 0\nrounding = "up"\noutcome_basis = 1\ninsurance = "of"\n'
        'insurance_forgone = "never"\nbets_close = "x"\nburn_cards = 21\nrounds_after_cut = -1\nafter_gap = "foo"\n'
        'confirm_void = "yes"\nlimit = 1\n[table.limits]\nminimum = 100\nmaximum = 50\n'
        'minimums = { tiee = 1, player-insurance = 5, tie = 60 }\nreading = "sides"'
    )
    said = complaints(here, SITE + shoe(table=table).replace('"commission"', '"comission"'))
    assert [each.removeprefix("shoed.toml:") for each in said] == [
        '6: table.game: "comission" is unknown; the nearest known is "commission"',
        "7: table.decks: 11 is out of range; write a whole number from 4 up to 10",
        '8: table.layout: "been" is unknown; the nearest known is "bean-9"',
        "9: table.seats: 0 is out of range; write a whole number from 1 up to 99",
        '10: table.rounding: "up" is unknown; write "down" or "half-up"',
        '11: table.outcome_basis: 1 is no text; write "offered" or "placed"',
        '12: table.insurance: "of" is unknown; the nearest known is "off"',
        '13: table.insurance_forgone: "never" is unknown; write "round" or "stage"',
        '14: table.bets_close: "x" is unknown; write "card" or "command"',
        '15: table.burn_cards: 21 is out of range; write a number from 0 to 20, or "first-card"',
        "16: table.rounds_after_cut: -1 is out of range; write a whole number from 0 up to 20",
        '17: table.after_gap: "foo" is unknown; write "ask" or "abandon" or "partial"',
        '18: table.confirm_void: "yes" is neither true nor false; write true or false, without quotes',
        "19: table.limit: is no known key; the nearest known is limits",
        "22: table.limits.maximum: 50 is less than minimum, 100; write the larger one here",
        "23: table.limits.minimums.tie: 60 is more than maximum, 50; write at most the maximum of a box",
        "23: table.limits.minimums.tiee: is no known key; the nearest known is tie",
        '24: table.limits.reading: "sides" is unknown; the nearest known is "side"',
    ]


def test_an_unknown_game_leaves_unjudged_what_some_game_allows(here: Path) -> None:
    """It may be right for the game that was meant."""
    allowed = 'decks = 10\nlayout = "big-12"\ninsurance = "off"\n[table.limits]\nminimums = { player-insurance = 5 }'
    toml = SITE + shoe(table=allowed).replace('"commission"', '"x"')
    assert complaints(here, toml) == [f'shoed.toml:6: table.game: "x" is unknown; {GAMES_SAID}']


def test_an_unknown_game_leaves_a_right_key_unjudged(here: Path) -> None:
    """It is right for every game."""
    toml = SITE + shoe(table='rounding = "down"').replace("commission", "comission")
    assert complaints(here, toml) == [
        'shoed.toml:6: table.game: "comission" is unknown; the nearest known is "commission"'
    ]


@pytest.mark.clause(
    "C 2.1.1", "C 2.2.1", "I 2.1.1", "I 2.2.1", "F 2.1", "F 2.2", "E 2.1.1", "E 2.2.1", "T 2.1.1", "T 2.2.1"
)
@pytest.mark.parametrize("game", printed.GAMES)
def test_every_game_has_its_decks_and_its_places(here: Path, game: str) -> None:
    """As its document says; Fortune Six names no layouts, so that its tables say how many seats they have."""
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
        ("bet = 9", f"bet: is no known key; known here: {SEATED}"),
        ("seats = 0", "seats: 0 is out of range; write a whole number from 1 up to 99"),
    ],
)
def test_fortune_six_has_seats_instead_of_a_layout(here: Path, line: str, complaint: str) -> None:
    """Its diagrams have no names."""
    toml = SITE + shoe(table=line).replace("commission", "fortune-six")
    assert complaints(here, toml) == [f"shoed.toml:7: table.{complaint}"]


def test_what_the_house_settles_is_taken(here: Path) -> None:
    """Rounding, the basis of an outcome, insurance and limits, where the game has them."""
    given = SITE + shoe(
        table='rounding = "half-up"\noutcome_basis = "placed"\ninsurance = "off"\ninsurance_forgone = "stage"\n'
        "[table.limits]\nminimum = 100\nmaximum = 50000\nminimums = { tie = 50, player-insurance = 10 }\n"
        'differential = 10000\nreading = "box"'
    )
    (table,) = loaded(here, given.replace("commission", "super-six-plus")).tables
    assert table.house == HouseRules(
        rounding=Rounding.HALF_UP,
        outcome_basis=Basis.PLACED,
        insurance=False,
        insurance_forgone=Forgone.STAGE,
        limits=Limits(100, 50000, {"tie": 50, "player-insurance": 10}, 10000, Reading.BOX),
    )
    assert recall(describe(table).decode()) == table


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        (
            "minimum = 100\nmaximum = 99",
            "9: table.limits.maximum: 99 is less than minimum, 100; write the larger one here",
        ),
        (
            "maximum = 50\nminimums = { tie = 51 }",
            "9: table.limits.minimums.tie: 51 is more than maximum, 50; write at most the maximum of a box",
        ),
        (
            'minimum = 100\nmaximum = "50"',
            '9: table.limits.maximum: "50" is no whole number; write a whole number from 0',
        ),
    ],
)
def test_limits_leave_room_for_a_bet(here: Path, limits: str, complaint: str) -> None:
    """No bet could be both at the minimum and within the maximum; equal ones leave one stake."""
    assert complaints(here, SITE + shoe(table=f"[table.limits]\n{limits}")) == [f"shoed.toml:{complaint}"]
    (table,) = loaded(
        here, SITE + shoe(table="[table.limits]\nminimum = 9\nmaximum = 9\nminimums = { tie = 9 }")
    ).tables
    assert table.house.limits == Limits(9, 9, {"tie": 9})


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('insurance = "on"', "7: table.insurance: is of no use: tournament has no insurance; leave it out"),
        ("limits = {}", "7: table.limits: is of no use: tournament has no limits; leave it out"),
        ('rounding = "up"', '7: table.rounding: "up" is unknown; write "down" or "half-up"'),
    ],
)
def test_what_a_game_has_not_cannot_be_settled_for_it(here: Path, line: str, complaint: str) -> None:
    """It would be silently without effect."""
    assert complaints(here, SITE + shoe(table=line).replace("commission", "tournament")) == [f"shoed.toml:{complaint}"]


def test_a_table_that_an_earlier_version_described_is_recalled() -> None:
    """The journal keeps descriptions for ever, those without seats too."""
    described = describe(TABLE).decode()
    assert recall(described.replace('"seats":null,', "").replace(',"shuffler":null', "")) == TABLE


SHUFFLER = """
[table.shuffler]
protocol = "open-shoe"
port = "tcp://127.0.0.1:4002"
quiet_after_s = 60
"""


def test_a_table_may_have_a_shuffler(here: Path) -> None:
    """With the settings of its family; what is on record of it comes back as it was."""
    (table,) = loaded(here, SITE + shoe() + SHUFFLER).tables
    settings = OpenShoeSettings(quiet_after_s=60).standing("shuffler")
    assert table.shuffler == ShufflerConfig("open-shoe", FAMILY.firmware[0], "tcp://127.0.0.1:4002", False, settings)  # noqa: FBT003 -- no orders
    assert table.devices == {Device.SHOE: table.shoe, Device.SHUFFLER: table.shuffler}
    assert recall(describe(table).decode()) == table
    assert loaded(here, SITE + shoe()).tables[0].devices == {Device.SHOE: table.shoe}


def test_what_a_device_is_follows_from_where_it_stands(here: Path) -> None:
    """Of a family that can be both: the section says which, and nobody may say otherwise in it."""
    toml = SITE + shoe().replace("angel-eye", "open-shoe") + SHUFFLER
    (table,) = loaded(here, toml).tables
    assert table.shoe.settings == OpenShoeSettings().standing("shoe")
    assert table.devices[Device.SHUFFLER].settings == OpenShoeSettings(quiet_after_s=60).standing("shuffler")
    assert recall(describe(table).decode()) == table
    assert complaints(here, toml.replace("quiet_after_s = 60", 'role = "shoe"')) == [
        "shoed.toml:16: table.shuffler.role: is of no use: this is the table's shuffler; leave it out"
    ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("open-shoe", "angel-eye", '14: table.shuffler.protocol: "angel-eye" is unknown; write "open-shoe"'),
        (
            "4002",
            "4001",
            '15: table.shuffler.port: "tcp://127.0.0.1:4001" is taken by line 10; give each device its own',
        ),
        ("quiet", "quit", "16: table.shuffler.quit_after_s: is no known key; the nearest known is quiet_after_s"),
        ("quiet_after_s", "min_draw_gap_ms", "16: table.shuffler.min_draw_gap_ms: is no known key; known here: "),
        ('protocol = "open-shoe"\n', "", '13: table.shuffler.protocol: is missing; write "open-shoe"'),
    ],
)
def test_what_is_wrong_with_a_shuffler_is_named(here: Path, old: str, new: str, complaint: str) -> None:
    """A family that is none, the shoe's own port, a key that only a shoe has."""
    (said,) = complaints(here, SITE + shoe() + SHUFFLER.replace(old, new))
    assert said.startswith(f"shoed.toml:{complaint}")


def test_an_unknown_protocol_leaves_the_keys_of_families_unjudged(here: Path) -> None:
    """They may be right for the protocol that was meant; ours are judged, and so is a key of nobody's."""
    toml = SITE + shoe(more="copies = 9\nmin_draw_gap_ms = true\ncopys = 3")
    assert complaints(here, toml.replace("angel-eye", "no-such-eye")) == [
        f'shoed.toml:9: table.shoe.protocol: "no-such-eye" is unknown; {FAMILIES_SAID}',
        "shoed.toml:12: table.shoe.min_draw_gap_ms: true is no whole number; write a whole number from 0 up to 10000",
        "shoed.toml:13: table.shoe.copys: is no known key; the nearest known is copies",
    ]


def test_an_unknown_protocol_hides_no_value_that_every_family_refuses(here: Path) -> None:
    """A value that some family allows is left unjudged: it may be right for the protocol that was meant."""
    toml = SITE + shoe(more='copies = 99\nfirmware = 3\nquiet_after_s = "x"\ntorn_after_ms = 5000\ncards = 3')
    assert complaints(here, toml.replace("angel-eye", "no-such-eye")) == [
        f'shoed.toml:9: table.shoe.protocol: "no-such-eye" is unknown; {FAMILIES_SAID}',
        "shoed.toml:11: table.shoe.copies: 99 is out of range; write a whole number from 1 up to 9",
        f"shoed.toml:12: table.shoe.firmware: 3 is no text; {VERSIONS_SAID}",
        'shoed.toml:13: table.shoe.quiet_after_s: "x" is no whole number; write a whole number from 10 up to 86400',
        "shoed.toml:15: table.shoe.cards: 3 is no table; write [table.shoe.cards] and its keys below",
    ]


def test_tables_share_neither_names_nor_devices(here: Path) -> None:
    """Options of the address make no other device; the line says who was first. Wrong ones are no namesakes."""
    assert complaints(here, SITE + shoe() + shoe(port="tcp://127.0.0.1:4001?keepalive_s=5") + shoe("bac-902")) == [
        'shoed.toml:14: table.name: "bac-901" is taken by line 5; give each table its own',
        'shoed.toml:19: table.shoe.port: "tcp://127.0.0.1:4001" is taken by line 10; give each device its own',
        'shoed.toml:28: table.shoe.port: "tcp://127.0.0.1:4001" is taken by line 10; give each device its own',
    ]
    assert len(complaints(here, SITE + shoe("A", "a") + shoe("A", "a"))) == 4


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ('password_file = "f"', "4: mqtt.password_file: is of no use without user; write user = ... as well"),
        ('url = "mqtts://h"\ncert = "f"', "5: mqtt.cert: is of no use without key; write key = ... as well"),
        ('url = "mqtts://h"\nkey = "f"', "5: mqtt.key: is of no use without cert; write cert = ... as well"),
        ('ca = "f"', '4: mqtt.ca: is for TLS, and the url is not; write url = "mqtts://..."'),
        ('url = "mqtt://h"\nca = "f"', '5: mqtt.ca: is for TLS, and the url is not; write url = "mqtts://..."'),
        ('url = "h"\nca = "f"', f'4: mqtt.url: "h" {NO_URL}'),
        ('url = "mqtts://h"\nca = "g"', f"5: mqtt.ca: g cannot be read: No such file or directory; {NO_FILE}"),
        ('user = "u"\npassword_file = "."', f"5: mqtt.password_file: . cannot be read: Is a directory; {NO_FILE}"),
        ('user = ""', '4: mqtt.user: "" is not allowed; write it between double quotes, and not empty'),
        ('password = "x"', "4: mqtt.password: is no known key; the nearest known is password_file"),
        ('version = "4"', '4: mqtt.version: "4" is unknown; write "5" or "3.1.1"'),
    ],
)
def test_what_is_wrong_with_the_broker_is_named(here: Path, lines: str, complaint: str) -> None:
    """Keys that need each other, files that are not there, TLS without TLS."""
    (here / "f").touch()
    assert complaints(here, SITE + f"[mqtt]\n{lines}\n" + shoe()) == [f"shoed.toml:{complaint}"]


def test_a_key_given_twice_is_one_problem(here: Path) -> None:
    """As after copying a section and forgetting to change it."""
    assert complaints(here, EXAMPLE + "[mqtt]\n") == [
        "shoed.toml:17: mqtt: is given twice, first in line 4; write it once"
    ]


def test_a_file_that_is_not_there_is_a_settings_error(here: Path) -> None:
    """Named as it was given."""
    with pytest.raises(SettingsError, match=r"^nowhere\.toml:1: file: cannot be read: No such file or directory; "):
        load("nowhere.toml")
    assert not (here / "nowhere.toml").exists()


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_no_family_takes_a_key_of_ours(family: Family[Settings]) -> None:
    """Its settings stand in [table.shoe] beside them."""
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
ON_A_LINE = OPEN.replace("PORT", "serial:///dev/serial/by-id/usb-1")
KEYED = f'{ON_A_LINE}key_file = "shoe.key"\n'


def key(here: Path, text: str = "00" * 16, mode: int = 0o400) -> Path:
    path = here / "shoe.key"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("port", ["serial:///dev/serial/by-id/usb-1", "tcp://h:1", "rfc2217://h:1", "usb://1209:0001"])
def test_a_device_on_a_real_port_may_have_a_key(here: Path, port: str) -> None:
    """The file begins beside the configuration; what is in force names the file and holds no key."""
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


def test_without_a_key_nothing_of_it_is_in_force(here: Path) -> None:
    """A configuration of an earlier version is described as before."""
    assert b"key_file" not in describe(loaded(here, ON_A_LINE).tables[0])


def judged(here: Path, toml: str) -> list[str]:
    """All problems that `shoed check` names."""
    (here / "shoed.toml").write_text(toml)
    with pytest.raises(SettingsError) as caught:
        load("shoed.toml", Purpose.CHECK)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("open-shoe", "angel-eye", "is of no use: Angel Eye II-EX has no secure channel; leave it out"),
        (
            "serial:///dev/serial/by-id/usb-1",
            "replay:one.capture",
            "is of no use: a capture holds what the device said, without the secure channel; leave it out",
        ),
        (
            "key_file",
            'acknowledge = "no"\nkey_file',
            (
                'is of no use with acknowledge = "no": a host that says nothing has no session; '
                'write acknowledge = "yes", or leave key_file out'
            ),
        ),
    ],
)
def test_a_key_that_is_of_no_use_is_named(here: Path, old: str, new: str, complaint: str) -> None:
    """With its line, and what to do."""
    key(here)
    (said,) = judged(here, KEYED.replace(old, new))
    assert re.sub(r":[0-9]+:", ":", said, count=1) == f"shoed.toml: table.shoe.key_file: {complaint}"


@pytest.mark.parametrize(
    ("text", "mode", "complaint"),
    [
        (None, 0, "shoe.key does not exist; write the key of the device into it; `openssl rand -hex 16` makes"),
        ("0" * 31, 0o400, "shoe.key is not a key; write 32 hexadecimal digits into it, and nothing else"),
        (
            "0" * 32,
            0o404,
            "shoe.key has the mode 0404, so that other users can read or change the key; run: chmod 0400",
        ),
    ],
)
def test_a_wrong_key_file_is_named(here: Path, text: str | None, mode: int, complaint: str) -> None:
    """For who checks or runs the configuration; a command that needs the state directory alone reads no key."""
    if text is not None:
        key(here, text, mode)
    (said,) = judged(here, KEYED)
    assert said.startswith(f"shoed.toml:9: table.shoe.key_file: {complaint}")
    assert load("shoed.toml").tables[0].shoe.key_file == "shoe.key"


def test_each_device_has_a_key_of_its_own(here: Path) -> None:
    """Two devices with one key could take each other's place."""
    key(here)
    shuffler = '[table.shuffler]\nprotocol = "open-shoe"\nport = "usb://1209:0001"\nkey_file = "shoe.key"\n'
    assert judged(here, KEYED + shuffler) == [
        'shoed.toml:13: table.shuffler.key_file: "shoe.key" is taken by line 9; give each device its own'
    ]


@pytest.mark.parametrize(("port", "warned"), [("tcp://h:1", 1), ("rfc2217://h:1", 1), ("usb://1209:0001", 0)])
def test_an_open_shoe_in_a_network_without_a_key_is_a_warning(here: Path, port: str, warned: int) -> None:
    """Whoever reaches its port can speak for it."""
    warnings = [str(each) for each in loaded(here, OPEN.replace("PORT", port)).warnings]
    assert len(warnings) == warned
    assert all(each.startswith("shoed.toml:8: table.shoe.port: everybody in the network") for each in warnings)
    assert all("write key_file = " in each for each in warnings)
