"""Families of other packages: found by their entry point, refused with the package's name where they cannot be used."""

import subprocess
import sys
from pathlib import Path

import pytest

from shoed import cli, config, drivers
from shoed.errors import DriverError, SettingsError
from shoed.session.families import DRIVERS

BORROWED = (
    "from msgspec.structs import replace\nfrom shoed.session.families import DRIVERS\nDRIVER = DRIVERS['bee-tek']\n"
)
RENAMED = BORROWED + "DRIVER = replace(DRIVER, family=DRIVER.family._replace(name={name!r}))\n"


class Packages:
    """A place where packages lie as pip leaves them."""

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
    """It is the object that the entry point names; the built-in ones stand before it."""
    packages.install("acme-shoe", "acme = acme_shoe:DRIVER")
    assert drivers.find("acme").family.name == "acme"
    assert drivers.names() == (*DRIVERS, "acme")


@pytest.mark.parametrize("name", DRIVERS)
def test_a_built_in_family_is_nobody_elses(name: str, packages: Packages) -> None:
    """A package that takes its name is not asked; who asks it is told why."""
    packages.install(f"thief-{name}", f"{name} = {f'thief-{name}'.replace('-', '_')}:DRIVER")
    assert drivers.find(name) is DRIVERS[name]
    (point,) = (each for each in drivers.brought() if each.name == name)
    with pytest.raises(DriverError, match=rf"^thief-{name} 1\.2: .* is taken by a built-in family; "):
        drivers.load(point)


@pytest.mark.parametrize(
    ("entry", "code", "said"),
    [
        ("gone = bad_gone:DRIVER", None, "bad_gone:DRIVER cannot be imported: ModuleNotFoundError: "),
        ("syntax = bad_syntax:DRIVER", "def", "cannot be imported: SyntaxError: "),
        ("wild = bad_wild:DRIVER", "1 / 0", "cannot be imported: ZeroDivisionError: division by zero; install what"),
        ("lacks = bad_lacks:DRIVER", "", "cannot be imported: AttributeError: "),
        ("thing = bad_thing:DRIVER", "DRIVER = 3", "bad_thing:DRIVER is a int, and no Driver; its package has to "),
        ("other = bad_other:DRIVER", BORROWED, 'its family is called "bee-tek"; its package has to give both '),
        ("Big_Name = bad_big_name:DRIVER", BORROWED, "that is no name of a family; its package has to use 1 to 32 "),
    ],
    ids=lambda value: str(value).partition(" ")[0],
)
def test_a_driver_that_cannot_be_used_says_whose_it_is(
    entry: str, code: str | None, said: str, packages: Packages
) -> None:
    """With the package and its version, the entry point, what is wrong with it and what to do."""
    name = entry.partition(" ")[0]
    packages.install(f"bad-{name.lower().replace('_', '-')}", entry, code or "")
    if code is None:
        (packages.place / "bad_gone.py").unlink()
    with pytest.raises(DriverError) as raised:
        drivers.find(name)
    assert str(raised.value).startswith(f'bad-{name.lower().replace("_", "-")} 1.2: entry point "{name}" of ')
    assert said in str(raised.value)


def test_two_packages_cannot_bring_one_family(packages: Packages) -> None:
    """Which of them is meant nobody can know."""
    packages.install("first-twin", "twin = first_twin:DRIVER")
    packages.install("second-twin", "twin = second_twin:DRIVER")
    with pytest.raises(DriverError, match=r"first-twin 1\.2.*second-twin 1\.2.*; uninstall all but one"):
        drivers.find("twin")


def test_a_family_that_nobody_brings_is_not_known() -> None:
    """As a journal may name one whose package was uninstalled."""
    with pytest.raises(DriverError, match=r'^no family is called "nowhere"; known: angel-eye, .*; install'):
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
    """With that family's own settings; what is in force is recalled from the journal, too."""
    packages.install("configured-shoe", "configured = configured_shoe:DRIVER")
    (table,) = loaded(packages.place, "configured").tables
    assert config.recall(config.describe(table).decode()) == table
    assert table.shoe.settings == drivers.find("configured").family.settings(copies=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("protocol", "complaint"),
    [
        ("meant2", '"meant2" is unknown; the nearest known is "meant"'),
        ("meant", 'meant-shoe 1.2: entry point "meant" of shoed.protocols: meant_shoe:DRIVER is a int, and no Driver'),
    ],
)
def test_a_wrong_protocol_is_a_problem_of_its_line(protocol: str, complaint: str, packages: Packages) -> None:
    """Families of other packages are among the nearest known; one that cannot be used is named with its package."""
    packages.install("meant-shoe", "meant = meant_shoe:DRIVER", "DRIVER = 3")
    with pytest.raises(SettingsError) as raised:
        loaded(packages.place, protocol)
    assert f"shoed.toml:8: table.shoe.protocol: {complaint}" in str(raised.value)


def test_ports_are_shown_whatever_another_package_does(packages: Packages, capsys: pytest.CaptureFixture[str]) -> None:
    """One that cannot be used is named beside them."""
    packages.install("ports-shoe", "plugged = ports_shoe:DRIVER", "DRIVER = 3")
    assert cli.main(["ports"]) == 0
    shown = capsys.readouterr()
    assert "serial" in shown.out
    assert shown.err.startswith('ports-shoe 1.2: entry point "plugged"')


def test_a_package_that_cannot_be_used_decodes_nothing(packages: Packages, capsys: pytest.CaptureFixture[str]) -> None:
    """That is no wrong use of the command: status 1, and the package's name."""
    packages.install("decoding-shoe", "mute = decoding_shoe:DRIVER", "DRIVER = 3")
    assert cli.main(["decode", "--protocol", "mute", "no-such-file"]) == 1
    assert capsys.readouterr().err.startswith("decoding-shoe 1.2: ")
    assert cli.main(["decode", "--protocol", "mutt", "no-such-file"]) == 2
    assert capsys.readouterr().err.endswith(", mute\n")


def test_a_built_in_family_costs_no_look_at_other_packages() -> None:
    """A start has little time to spare: what looks through packages is not even imported."""
    code = "import sys; from shoed import drivers, daemon; drivers.find('angel-eye'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "shoed.daemon" in done.stdout.split()
    assert "importlib.metadata" not in done.stdout.split()


def test_what_stands_at_a_table_can_be_what_it_stands_as(packages: Packages) -> None:
    """A family of shoes is no shuffler, whoever brings it."""
    packages.install("standing-shoe", "standing = standing_shoe:DRIVER")
    file = packages.place / "shoed.toml"
    shuffler = '[table.shuffler]\nprotocol = "standing"\nport = "tcp://127.0.0.1:4002"\n'
    file.write_text(CONFIGURATION.replace("PROTOCOL", "standing") + shuffler)
    with pytest.raises(SettingsError) as raised:
        config.load(str(file))
    assert [(each.key, each.problem, each.remedy) for each in raised.value.problems] == [
        ("table.shuffler.protocol", '"standing" is no shuffler', 'write "open-shoe"')
    ]
