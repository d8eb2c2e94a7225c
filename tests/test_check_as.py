"""`shoed check --as`: every file and port is tried with the rights of the daemon's user."""

import os
import pty
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from shoed.cli import ExitStatus, main
from shoed.service.as_user import UNIT_GROUPS, UNIT_USER
from tests.command_clients import shoed

ROOT: Final = Path(__file__).resolve().parent.parent
USER: Final = "games"
CONFIG: Final = """\
[site]
name = "rws"
state_dir = "state"
[mqtt]
url = "mqtt://broker"
user = "shoed"
password_file = "password"
[[table]]
name = "bac-901"
game = "commission"
[table.shoe]
protocol = "open-shoe"
port = "PORT"
key_file = "key"
"""

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can take the rights of another user")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can enter, with files that the user can use."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    for name, content, mode in (("password", "secret", 0o600), ("key", "0" * 32, 0o400)):
        (folder / name).write_text(content)
        (folder / name).chmod(mode)
    (folder / "state").mkdir(mode=0o700)
    if os.geteuid() == 0:
        for name in ("password", "key", "state"):
            shutil.chown(folder / name, USER)
    (folder / "shoed.toml").write_text(CONFIG.replace("PORT", "usb://1209:0001"))
    yield folder
    shutil.rmtree(folder)


def allow(path: Path, mode: int) -> None:
    path.chmod(mode)


async def problems(place: Path) -> list[str]:
    done = await shoed("check", place / "shoed.toml", "--as", USER)
    lines = done.err.splitlines()
    assert done.status == (ExitStatus.WRONG if lines else ExitStatus.GOOD)
    return [each.removeprefix(f"{place}/") for each in lines if "tried as" not in each]


@only_root
async def test_the_rights_of_the_user_suffice(place: Path) -> None:
    """The output names the user, and the check leaves nothing in the state directory."""
    done = await shoed("check", place / "shoed.toml", "--as", USER)
    wanted = f"{place}/shoed.toml: good: bac-901 at rws; tried as {USER}\n"
    assert (done.status, done.out, done.err) == (ExitStatus.GOOD, wanted, "")
    assert list((place / "state").iterdir()) == []


async def test_a_file_that_disappears_during_the_check_has_no_owner(place: Path) -> None:
    """The daemon replaces its files. Here, a link without a target is such a file."""
    (place / "state" / "journal.pub.new").symlink_to(place / "gone")
    done = await shoed("check", place / "shoed.toml")
    assert (done.status, done.err) == (ExitStatus.GOOD, "")


@only_root
async def test_every_file_that_the_user_cannot_use_is_a_problem_of_its_line(place: Path) -> None:
    """Root itself can read and write all of them."""
    for name in ("password", "key", "state"):
        shutil.chown(place / name, "root")
    assert [each.partition("; ")[0] for each in await problems(place)] == [
        f'shoed.toml:3: site.state_dir: "{place}/state" cannot be used: Permission denied',
        f"shoed.toml:7: mqtt.password_file: {place}/password cannot be read: Permission denied",
        f"shoed.toml:14: table.shoe.key_file: {place}/key cannot be read: Permission denied",
    ]


@only_root
async def test_a_file_of_root_in_the_state_directory_is_a_problem(place: Path) -> None:
    """An earlier daemon of root made it."""
    (place / "state/journal.db").touch(mode=0o600)
    (only,) = await problems(place)
    assert "journal.db in it belongs to another user, root" in only


@only_root
async def test_a_configuration_that_the_user_cannot_reach_is_a_problem(place: Path) -> None:
    """The folder above the file is closed; the typed name of the file stays in the message."""
    allow(place, 0o700)
    assert await problems(place) == [
        "shoed.toml: cannot be read: Permission denied; name a file that exists and can be read"
    ]


@only_root
async def test_the_group_of_a_port_must_fit(place: Path) -> None:
    """The node is open to its group, then to all users."""
    ours, theirs = pty.openpty()
    node = os.ttyname(theirs)
    denied = f"shoed.toml:13: table.shoe.port: permission denied for {node}; the node belongs to the group "
    (place / "shoed.toml").write_text(CONFIG.replace("PORT", f"serial://{node}?baud=9600"))
    os.chown(node, 0, 20)
    allow(Path(node), 0o660)
    (only,) = await problems(place)
    assert only.startswith(denied)
    assert f"usermod -aG dialout {USER}" in only
    allow(Path(node), 0o666)
    assert await problems(place) == []
    os.close(ours)
    os.close(theirs)


@only_root
def test_root_tries_the_user_of_the_unit(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without this user, the output states that root tried the files."""
    assert main(["check", str(place / "shoed.toml")]) == ExitStatus.GOOD
    shown = capsys.readouterr().out
    assert f"; tried as {UNIT_USER}\n" in shown or f"; tried as root (there is no user {UNIT_USER})\n" in shown


@only_root
def test_the_rights_of_root_are_tried_without_the_user_of_the_unit(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The system makes the files in /proc."""
    file = place / "shoed.toml"
    file.write_text(file.read_text().replace('state_dir = "state"', 'state_dir = "/proc"'))
    assert main(["check", str(file)]) == ExitStatus.WRONG
    assert 'site.state_dir: "/proc" cannot be used: ' in capsys.readouterr().err


def test_the_user_of_the_unit_has_the_groups_of_the_unit() -> None:
    """The unit gives the service a group that the user need not have."""
    unit = (ROOT / "systemd" / "shoed.service").read_text()
    assert re.findall("^User=(.*)$", unit, re.MULTILINE) == [UNIT_USER]
    assert re.findall("^SupplementaryGroups=(.*)$", unit, re.MULTILINE) == [" ".join(UNIT_GROUPS)]


def test_an_unknown_user_is_wrong_use(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check does not begin."""
    assert main(["check", str(place / "shoed.toml"), "--as", "no-such-user"]) == ExitStatus.WRONG_USE
    assert "--as no-such-user: this machine does not have this user" in capsys.readouterr().err


def test_only_root_tries_another_user(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The remedy is sudo."""
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert main(["check", str(place / "shoed.toml"), "--as", "root"]) == ExitStatus.WRONG_USE
    assert "only root can try the rights of another user; run the command with sudo" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "run"])
async def test_a_password_that_every_user_can_read_is_a_warning(place: Path, command: str) -> None:
    """The daemon logs it; here the daemon ends, because the other file is wrong."""
    allow(place / "password", 0o644)
    if command == "run":
        (place / "state/lock").mkdir()
    done = await shoed(command, "--config", place / "shoed.toml")
    assert f"mqtt.password_file: every user of this machine can read {place}/password; run: chmod o= " in done.err


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ('ca = "password"', "mqtt.ca: {place}/password cannot be used: "),
        ('cert = "password"\nkey = "key"', "mqtt.cert: {place}/password and {place}/key cannot be used: "),
    ],
)
def test_a_certificate_is_a_pem_file(place: Path, key: str, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The daemon would find it when it connects."""
    text = CONFIG.replace('user = "shoed"\npassword_file = "password"', key).replace("mqtt:", "mqtts:")
    (place / "shoed.toml").write_text(text.replace("PORT", "usb://1209:0001"))
    assert main(["check", str(place / "shoed.toml")]) == ExitStatus.WRONG
    shown = capsys.readouterr().err
    assert wanted.format(place=place) in shown
    assert "PEM file" in shown
