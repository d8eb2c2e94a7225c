"""Families of packages: found by their entry point, refused with the package's name if they cannot be used."""

import subprocess
import sys
from pathlib import Path

import pytest

from shoed import cli
from shoed.errors import DriverError, SettingsError
from shoed.service import config
from shoed.session import drivers
from shoed.session.families import DRIVERS

BORROWED = (
    "from msgspec.structs import replace\nfrom shoed.session.families import DRIVERS\nDRIVER = DRIVERS['bee-tek']\n"
)
RENAMED = BORROWED + "DRIVER = replace(DRIVER, family=DRIVER.family._replace(name={name!r}))\n"


class Packages:
    """A folder with packages, as pip installs them."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def install(self, package: str, entry: str, code: str = RENAMED) -> None:
        module = package.replace("-", "_")
        name = entry.partition(" ")[0]
        (self.place / f"{module}.py").write_text(code.replace("{name!r}", repr(name)))
        info = self.place / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[shoed.protocols]\n{entry}\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    monkeypatch.syspath_prepend(tmp_path)
    return Packages(tmp_path)


def test_a_driver_is_found_by_the_name_of_its_family(packages: Packages) -> None:
    """It is the object of the entry point; built-in drivers have priority."""
    packages.install("acme-shoe", "acme = acme_shoe:DRIVER")
    assert drivers.find("acme").family.name == "acme"
    assert drivers.names() == (*DRIVERS, "acme")


@pytest.mark.parametrize("name", DRIVERS)
def test_no_package_can_provide_a_built_in_family(name: str, packages: Packages) -> None:
    """A package with such a name is ignored; loading it explains why."""
    packages.install(f"thief-{name}", f"{name} = {f'thief-{name}'.replace('-', '_')}:DRIVER")
    assert drivers.find(name) is DRIVERS[name]
    (point,) = (each for each in drivers.installed() if each.name == name)
    with pytest.raises(DriverError, match=rf"^thief-{name} 1\.2: .* a built-in family has this name; "):
        drivers.load(point)


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        ("gone = bad_gone:DRIVER", None, "bad_gone:DRIVER cannot be imported: ModuleNotFoundError: "),
        ("syntax = bad_syntax:DRIVER", "def", "cannot be imported: SyntaxError: "),
        ("wild = bad_wild:DRIVER", "1 / 0", "cannot be imported: ZeroDivisionError: division by zero; install its"),
        ("lacks = bad_lacks:DRIVER", "", "cannot be imported: AttributeError: "),
        (
            "thing = bad_thing:DRIVER",
            "DRIVER = 3",
            "bad_thing:DRIVER has the type int, not Driver; point the entry point at ",
        ),
        ("other = bad_other:DRIVER", BORROWED, 'its driver is of the family "bee-tek"; use the same name '),
        ("Big_Name = bad_big_name:DRIVER", BORROWED, "this is not a valid family name; use 1 to 32 "),
    ],
    ids=lambda value: str(value).partition(" ")[0],
)
def test_an_unusable_driver_is_reported_with_its_package(
    entry: str, code: str | None, message: str, packages: Packages
) -> None:
    """The message names the package and its version, the entry point, the defect and the remedy."""
    name = entry.partition(" ")[0]
    packages.install(f"bad-{name.lower().replace('_', '-')}", entry, code or "")
    if code is None:
        (packages.place / "bad_gone.py").unlink()
    with pytest.raises(DriverError) as raised:
        drivers.find(name)
    assert str(raised.value).startswith(f'bad-{name.lower().replace("_", "-")} 1.2: entry point "{name}" of ')
    assert message in str(raised.value)


def test_two_packages_cannot_provide_one_family(packages: Packages) -> None:
    """The intended one is unknown."""
    packages.install("first-twin", "twin = first_twin:DRIVER")
    packages.install("second-twin", "twin = second_twin:DRIVER")
    with pytest.raises(DriverError, match=r"first-twin 1\.2.*second-twin 1\.2.*; uninstall all but one"):
        drivers.find("twin")


def test_a_missing_family_is_reported() -> None:
    """A journal may name a family whose package was uninstalled."""
    with pytest.raises(
        DriverError, match=r'^the family "nowhere" does not exist; choose one of angel-eye, .*, or install'
    ):
        drivers.find("nowhere")


CONFIGURATION = """
[site]
name = "rws"
[[table]]
name = "bac-901"
game = "commission"
[table.shoe]
protocol = "PROTOCOL"
port = "tcp://127.0.0.1:4001"
copies = 1
"""


def loaded(place: Path, protocol: str) -> config.Config:
    file = place / "shoed.toml"
    file.write_text(CONFIGURATION.replace("PROTOCOL", protocol))
    return config.load(str(file))


def test_a_table_may_have_a_shoe_of_another_package(packages: Packages) -> None:
    """It has that family's own settings; the settings in force are also read from the journal."""
    packages.install("configured-shoe", "configured = configured_shoe:DRIVER")
    (table,) = loaded(packages.place, "configured").tables
    assert config.recall(config.describe(table).decode()) == table
    assert table.shoe.settings == drivers.find("configured").family.settings(copies=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("protocol", "complaint"),
    [
        ("meant2", '"meant2" is unknown; the nearest known is "meant"'),
        (
            "meant",
            'meant-shoe 1.2: entry point "meant" of shoed.protocols: meant_shoe:DRIVER has the type int',
        ),
    ],
)
def test_a_wrong_protocol_is_a_problem_of_its_line(protocol: str, complaint: str, packages: Packages) -> None:
    """Families of packages are among the nearest known; an unusable one is named with its package."""
    packages.install("meant-shoe", "meant = meant_shoe:DRIVER", "DRIVER = 3")
    with pytest.raises(SettingsError) as raised:
        loaded(packages.place, protocol)
    assert f"shoed.toml:8: table.shoe.protocol: {complaint}" in str(raised.value)


def test_ports_are_shown_also_with_an_unusable_package(packages: Packages, capsys: pytest.CaptureFixture[str]) -> None:
    """The unusable package is named beside them."""
    packages.install("ports-shoe", "plugged = ports_shoe:DRIVER", "DRIVER = 3")
    assert cli.main(["ports"]) == 0
    shown = capsys.readouterr()
    assert "serial" in shown.out
    assert shown.err.startswith('ports-shoe 1.2: entry point "plugged"')


def test_an_unusable_package_decodes_nothing(packages: Packages, capsys: pytest.CaptureFixture[str]) -> None:
    """The command is used correctly: the status is 1, and the message names the package."""
    packages.install("decoding-shoe", "mute = decoding_shoe:DRIVER", "DRIVER = 3")
    assert cli.main(["decode", "--protocol", "mute", "no-such-file"]) == 1
    assert capsys.readouterr().err.startswith("decoding-shoe 1.2: ")
    assert cli.main(["decode", "--protocol", "mutt", "no-such-file"]) == 2
    assert capsys.readouterr().err.endswith(", mute\n")


def test_a_built_in_family_needs_no_search_of_packages() -> None:
    """A start has little time: the module that searches packages is not even imported."""
    imports = "import sys; from shoed.session import drivers; from shoed.service import daemon"
    code = f"{imports}; drivers.find('angel-eye'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "shoed.service.daemon" in done.stdout.split()
    assert "importlib.metadata" not in done.stdout.split()


def test_a_device_must_support_its_role_at_the_table(packages: Packages) -> None:
    """A family of shoes is not a shuffler."""
    packages.install("standing-shoe", "standing = standing_shoe:DRIVER")
    file = packages.place / "shoed.toml"
    shuffler = '[table.shuffler]\nprotocol = "standing"\nport = "tcp://127.0.0.1:4002"\n'
    file.write_text(CONFIGURATION.replace("PROTOCOL", "standing") + shuffler)
    with pytest.raises(SettingsError) as raised:
        config.load(str(file))
    assert [(each.key, each.problem, each.remedy) for each in raised.value.problems] == [
        ("table.shuffler.protocol", '"standing" is not a shuffler', 'write "open-shoe"')
    ]


def test_the_keys_that_a_family_cannot_declare_are_those_of_every_shoe() -> None:
    """A new key of `[table.shoe]` cannot be a setting of a family, and the kit reports it."""
    assert set(config.ShoeConfig.__struct_fields__) == drivers.SHOE_KEYS
