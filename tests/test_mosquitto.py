"""A missing broker of the suite is fetched into .venv. The programs apt-get and dpkg log their arguments."""

import os
import subprocess
from pathlib import Path

import pytest

from shoed.rig import broker
from tests.mosquitto import missing

FOUND = "#!/bin/sh\necho mosquitto version 2\n"
# The last argument of apt-get is its command or the package; a package is put into the cache.
APT_GET = """\
#!/bin/sh
for word in "$@"; do case $word in --option=Dir::Cache=*) cache=${word#--option=Dir::Cache=};; esac; done
for last in "$@"; do :; done
echo "apt-get $last" >>"{log}"
[ "$last" = update ] || : >"$cache/archives/mosquitto_2_amd64.deb"
"""
DPKG = """\
#!/bin/sh
echo "dpkg $1" >>"{log}"
mkdir -p "$3/usr/sbin" "$3/usr/lib/any"
: >"$3/usr/lib/any/libmosquitto.so.1"
printf '#!/bin/sh\\necho "$LD_LIBRARY_PATH" "$@"\\n' >"$3/usr/sbin/mosquitto"
chmod +x "$3/usr/sbin/mosquitto"
"""
FAILS = "#!/bin/sh\necho no network >&2\nexit 100\n"


class Machine:
    """A PATH with some programs, and an environment."""

    def __init__(self, place: Path) -> None:
        self.path = place / "path"
        self.log = place / "log"
        self.prefix = place / "the .venv"
        for folder in (self.path, self.prefix / "bin"):
            folder.mkdir(parents=True)
        (self.prefix / "pyvenv.cfg").touch()

    def has(self, **programs: str) -> None:
        for name, text in programs.items():
            program = self.path / name.replace("_", "-")
            program.write_text(text.replace("{log}", str(self.log)))
            program.chmod(0o755)

    def logged(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setattr(broker, "PLACES", (str(made.prefix / "bin"),))
    for tool in ("dirname", "mkdir", "chmod"):
        (made.path / tool).symlink_to(next(Path(folder) / tool for folder in ("/bin", "/usr/bin")))
    monkeypatch.setenv("PATH", str(made.path))
    return made


def test_a_broker_of_the_machine_is_used(machine: Machine) -> None:
    """Nothing is fetched."""
    machine.has(mosquitto=FOUND, apt_get=APT_GET, dpkg=DPKG)
    assert missing(machine.prefix) is None
    assert machine.logged() == []


def test_a_missing_broker_is_fetched_once(machine: Machine) -> None:
    """The starter runs the program of the package with the libraries of the packages, also after a move of the tree."""
    machine.has(apt_get=APT_GET, dpkg=DPKG)
    for _ in range(2):
        assert missing(machine.prefix) is None
    assert machine.logged() == ["apt-get update", "apt-get mosquitto", "dpkg -x"]
    assert sorted(each.name for each in machine.prefix.iterdir()) == ["bin", "mosquitto", "pyvenv.cfg"]
    moved = machine.prefix.rename(machine.prefix.parent / "moved")
    printed = subprocess.run([moved / "bin" / "mosquitto", "-c", "a b"], capture_output=True, text=True, check=True)
    libraries, *arguments = printed.stdout.rstrip().split(" ", 1)
    assert Path(libraries, "libmosquitto.so.1").exists()
    assert arguments == ["-c a b"]


def test_without_apt_a_missing_broker_is_named(machine: Machine) -> None:
    """The message does not name a command of another system."""
    problem = missing(machine.prefix)
    assert problem
    assert "mosquitto 2: install it with your system's package manager" in problem


@pytest.mark.parametrize("failing", ["apt-get", "dpkg"])
def test_a_failure_is_reported_with_the_remedy(machine: Machine, failing: str) -> None:
    """The message has the output of the program. Nothing remains, and the next run starts again."""
    machine.has(apt_get=APT_GET, dpkg=DPKG)
    machine.has(**{failing.replace("-", "_"): FAILS})
    problem = missing(machine.prefix)
    assert problem
    assert f"{failing} ended with status 100:\nno network\n" in problem
    assert problem.endswith("sudo apt-get install -y mosquitto")
    assert os.listdir(machine.prefix / "bin") == []  # noqa: PTH208
    machine.has(apt_get=APT_GET, dpkg=DPKG)
    assert missing(machine.prefix) is None
