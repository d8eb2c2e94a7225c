"""The broker of the suite is installed by root on Debian. Elsewhere the message has the remedy."""

from pathlib import Path

import pytest

from tests.mosquitto import missing


class Machine:
    """A folder of programs that write their arguments down."""

    def __init__(self, place: Path) -> None:
        self.path = place / "bin"
        self.path.mkdir()
        self.log = place / "log"

    def has(self, *programs: str) -> None:
        for name in programs:
            (self.path / name).write_text(f'#!/bin/sh\necho "$@" >>"{self.log}"\n')
            (self.path / name).chmod(0o755)

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_broker_that_is_there_is_used(machine: Machine) -> None:
    """Nothing is installed where mosquitto is on the path."""
    machine.has("mosquitto", "apt-get")
    assert missing(str(machine.path), root=True) is None
    assert machine.asked() == []


def test_without_root_one_line_helps(machine: Machine) -> None:
    """An ordinary user gets the one command to run. Nothing is installed."""
    machine.has("apt-get")
    problem = missing(str(machine.path), root=False)
    assert problem
    assert problem.endswith("Run: sudo apt-get install -y mosquitto")
    assert machine.asked() == []


def test_off_debian_a_missing_broker_is_named(machine: Machine) -> None:
    """Without apt-get the message does not name that command."""
    problem = missing(str(machine.path), root=True)
    assert problem
    assert "mosquitto 2: install it with your system's package manager" in problem


def test_as_root_the_broker_is_installed_and_its_service_stopped(machine: Machine) -> None:
    """The lists are fetched once, the package is installed, and its service does not stay."""
    machine.has("apt-get", "systemctl", "service")
    assert missing(str(machine.path), root=True) is None
    update, install, stop = machine.asked()
    assert update == "update"
    assert install == "install -y --no-install-recommends mosquitto"
    assert stop in ("mosquitto stop", "--quiet disable --now mosquitto")


def test_a_failed_installation_is_reported(machine: Machine) -> None:
    """The message has the command and its output."""
    machine.has("apt-get")
    (machine.path / "apt-get").write_text("#!/bin/sh\necho no network >&2\nexit 100\n")
    assert missing(str(machine.path), root=True) == "apt-get update failed:\nno network\n"
