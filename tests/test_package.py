"""The Debian package in fresh Debian systems, and every command of docs/install.md: `./dev deb --try`.

Theory of operation: `packaging/build` makes the package, and the same package with a lower version. Each test has its
own copy of a minimal Debian. In a plain chroot, systemd does not run. In a container of systemd-nspawn, systemd is
process 1 and the service runs as on a machine. Both have only a loopback network: no port of this machine is used.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from shoed import VERSION

ROOT: Final = Path(__file__).resolve().parent.parent
SUITE: Final = os.environ.get("SHOED_SUITE", "bookworm")
EARLIER: Final = "0.0.9"
PACKAGES: Final = (
    *("systemd", "systemd-sysv", "udev", "dbus", "mosquitto", "mosquitto-clients"),
    *("python3", "libusb-1.0-0", "iproute2", "man-db"),  # no test needs the network
)
CHROOT_IMPOSSIBLE: Final = 77
PATIENCE_S: Final = 120.0
TOML: Final = "/etc/shoed/shoed.toml"
ENABLED: Final = Path("etc/systemd/system/multi-user.target.wants/shoed.service")
# One complete round, without systemd and without a broker.
ONE_ROUND: Final = f"""
ip link set lo up
install -m 640 -g shoed {TOML}.example {TOML}
setpriv --reuid shoed --regid shoed --init-groups shoed run --config {TOML} 2>/tmp/log &
shoed rig angel-eye --listen tcp://127.0.0.1:4001 --rounds 1 --fast
until shoed journal query bac-901 --round 1.1 2>/tmp/err | grep -q round.completed; do sleep 0.1; done
kill $!
wait $!
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="a chroot requires root"),
]

Run = Callable[..., str]


def output_of(*command: str | Path, status: int = 0, patience_s: float = PATIENCE_S) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=patience_s, check=False, cwd=ROOT
    )
    if done.returncode == CHROOT_IMPOSSIBLE and "HIL_REQUIRED" not in os.environ:
        pytest.skip(done.stdout)
    assert done.returncode == status, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the package of this commit in `new`, and with the package of an earlier version in `old`."""
    place = tmp_path_factory.mktemp("packages")
    for name, version in (("old", EARLIER), ("new", VERSION)):
        printed = output_of(ROOT / "packaging/build", SUITE, "--version", version, patience_s=600)
        print(printed)
        file = ROOT / printed.splitlines()[-1]
        (place / name).mkdir()
        shutil.move(file, place / name) if name == "old" else shutil.copy(file, place / name)
    return place


@pytest.fixture
def system(packages: Path, tmp_path: Path) -> Path:
    """A copy of a minimal Debian, with the packages in /root."""
    base = output_of(ROOT / ".ci/debian", "make", f"{SUITE}-try", SUITE, *PACKAGES, patience_s=600).splitlines()[-1]
    copy = tmp_path / "system"
    subprocess.run(["cp", "--archive", base, copy], check=True)
    shutil.copytree(packages, copy / "root", dirs_exist_ok=True)
    return copy


# ---------------------------------------------------------------------------------------------- without systemd


@pytest.fixture
def chroot(system: Path) -> Run:
    """Run a script in the system, with its own processes and network."""

    def run(script: str, status: int = 0) -> str:
        enter = ("unshare", "--net", ROOT / ".ci/debian", "enter", system, "root", "/root")
        return output_of(*enter, "bash", "-euc", script, status=status)

    return run


def install(chroot: Run, which: str) -> str:
    return chroot(f"apt-get install -y --allow-downgrades ./{which}/shoed_*.deb")


def test_an_installation_is_complete_and_starts_nothing(chroot: Run, system: Path) -> None:
    """The program, the user, the enabled unit, the pages and a valid example are present; no process runs."""
    assert "not configured yet" in install(chroot, "new")
    assert chroot("shoed --version") == f"shoed {VERSION}\n"
    assert "good: bac-901 at rws; tried as shoed\n" in chroot(f"shoed check {TOML}.example")
    assert chroot("id -un shoed; stat -c '%a %U %G' /etc/shoed /var/lib/shoed; ls /etc/shoed") == (
        "shoed\n750 root shoed\n700 shoed shoed\nshoed.toml.example\n"
    )
    assert (system / ENABLED).is_symlink()
    assert not (system / TOML[1:]).exists()
    assert "SHOED.TOML(5)" in chroot("man shoed.toml | cat; man shoed-restart | cat")
    assert chroot("dpkg --verify shoed") == ""
    assert list((system / "usr/lib/shoed").rglob("*.pyc")), "the modules are not compiled"


def test_the_first_round_an_update_and_the_removal(chroot: Run, system: Path) -> None:
    """An update keeps the configuration and the journal. A purge keeps only the journal, and prints the reason."""
    install(chroot, "old")
    assert chroot("shoed --version") == f"shoed {EARLIER}\n"
    chroot(ONE_ROUND)
    before = chroot("shoed journal show bac-901")
    install(chroot, "new")
    assert chroot("shoed --version") == f"shoed {VERSION}\n"
    assert chroot("shoed journal show bac-901") == before
    assert "recomputed without a difference" in chroot("shoed journal replay --check")
    chroot("apt-get remove -y shoed")
    assert not (system / "usr/lib/shoed").exists()
    assert (system / TOML[1:]).exists()
    printed = chroot("apt-get purge -y shoed")
    assert "the journal in /var/lib/shoed is kept: it is the record of the rounds" in printed
    assert (system / "var/lib/shoed/journal.db").exists()
    assert not (system / "etc/shoed").exists()
    assert not (system / ENABLED).is_symlink()
    owned = "find / -xdev -name '*shoed*' -not -path '/root/*' -not -path '/var/l*' -not -path '/proc/*' | cat"
    assert chroot(owned) == ""


def test_a_purge_without_a_journal_removes_the_state_directory(chroot: Run, system: Path) -> None:
    """Nothing of the package is left except its user."""
    install(chroot, "new")
    assert "is kept" not in chroot("apt-get purge -y shoed")
    assert not (system / "var/lib/shoed").exists()
    assert not (system / "etc/shoed").exists()
    assert chroot("id -un shoed") == "shoed\n"


# ---------------------------------------------------------------------------------------------- with systemd


@contextmanager
def booted(system: Path) -> Iterator[Run]:
    """Boot the system, and run scripts in it. systemd-nspawn requires a /run in memory, which not every machine has."""
    if not shutil.which("systemd-nspawn"):
        if "HIL_REQUIRED" in os.environ:
            pytest.fail("systemd-nspawn is missing; run: apt-get install -y systemd-container")
        pytest.skip("systemd-nspawn is missing; run: apt-get install -y systemd-container")
    nspawn = "systemd-nspawn --quiet --register=no --keep-unit --private-network --console=pipe --boot --directory"
    boot = f'mount -t tmpfs tmpfs /run && exec {nspawn} "$0"'
    with subprocess.Popen(
        ["unshare", "--mount", "bash", "-c", boot, system],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as container:
        init = ""

        def run(script: str, status: int = 0) -> str:
            enter = (
                "nsenter",
                "--all",
                f"--target={init}",
                "env",
                "--ignore-environment",
                "LANG=C.UTF-8",
                "HOME=/root",
            )
            path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
            return output_of(*enter, path, "bash", "-euc", f"cd /root; {script}", status=status)

        try:
            while not init:
                assert container.poll() is None, container.communicate()[0]
                init = process_1(container.pid)
            with suppress(AssertionError):  # the status is not 0 if a unit of the minimal system has failed
                run("until [ -S /run/dbus/system_bus_socket ]; do sleep 0.1; done; systemctl is-system-running --wait")
            yield run
        finally:
            for patience_s in (10, PATIENCE_S):  # the first signal is an order to systemd, the second one ends it
                container.terminate()
                with suppress(subprocess.TimeoutExpired):
                    container.communicate(timeout=patience_s)
                    break
            container.kill()


def process_1(nspawn: int) -> str:
    """The number of process 1 of the container on this machine; empty if it does not run yet."""
    for child in Path(f"/proc/{nspawn}/task/{nspawn}/children").read_text().split():
        with suppress(OSError):  # a helper of nspawn that has ended
            if Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0] in INIT:
                return child
    return ""


INIT: Final = (b"/usr/lib/systemd/systemd", b"/lib/systemd/systemd", b"/sbin/init")


def until(condition: str) -> str:
    """A script that ends when a condition is met, or fails after the time limit."""
    return f"timeout {PATIENCE_S:g} bash -c 'until {condition}; do sleep 0.2; done'"


MAIN_PID: Final = "systemctl show --value --property MainPID shoed"
ACTIVE: Final = until("systemctl is-active --quiet shoed")
ROUND: Final = until("shoed journal query bac-901 | grep -q round.completed")
PAGE: Final = (ROOT / "docs/install.md").read_text()
# The directory of the package of each section; all other sections have commands for any directory.
SECTIONS: Final = {"Install": "old", "Update": "new", "Roll back": "old"}


def test_every_command_of_the_page_runs(system: Path) -> None:
    """In the order of the page, from the installation to the removal, with the service under systemd."""
    with booted(system) as run:
        sections = re.split(r"^##+ (.*)\n", PAGE, flags=re.MULTILINE)[1:]
        for heading, text in zip(sections[::2], sections[1::2], strict=True):
            for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
                possible = block.replace("shoed ports\n", "shoed ports || [ $? = 1 ]\n")  # the container has no port
                printed = run(f"cd {SECTIONS.get(heading, '.')}; {possible}")
                print(f"--- {heading}\n{block}{printed}")
                if "systemctl start" in block or "restart" in block or heading in SECTIONS:
                    run(f"[ ! -e {TOML} ] || {ACTIVE}")
                if "shoed rig" in block:
                    run(ROUND)
                if (which := SECTIONS.get(heading)) and "shoed --version" in block:
                    assert f"shoed {EARLIER if which == 'old' else VERSION}\n" in printed
        assert run("ls -d /var/lib/shoed* /etc/shoed 2>/dev/null || true").split() == [
            "/var/lib/shoed.earlier",
            "/var/lib/shoed.replaced",
        ]


def test_an_update_restarts_the_service_between_two_rounds(system: Path) -> None:
    """While bets are open, the process continues. After the end of the round, the new version runs."""
    with booted(system) as run:
        run("apt-get install -y ./old/shoed_*.deb; systemctl start shoed")
        run(f"install -m 640 -g shoed {TOML}.example {TOML}")
        assert run("systemctl is-active shoed || true") == "inactive\n"  # it was not configured
        run(f"systemctl start shoed; {ACTIVE}")
        assert f'"{EARLIER}"' in run("shoed journal show bac-901 --rows 1-99999")
        process = run(MAIN_PID)
        run("shoed tell bac-901 open-bets --role dealer --author ann")
        run("apt-get install -y ./new/shoed_*.deb >update.log 2>&1 & disown")
        run(until('grep -q "waits for bac-901: the end of round 1.1" update.log'))
        assert run(MAIN_PID) == process
        run("shoed tell bac-901 void --role pit-supervisor --author bob")
        run(until('grep -q "ended between two rounds" update.log'))
        run(until(f'[ "$({MAIN_PID})" != {process.strip()} ]'))
        run(ACTIVE)
        assert f'"{VERSION}"' in run("shoed journal show bac-901 --rows 1-99999")
        assert "recomputed without a difference" in run("shoed journal replay --check")
        run("apt-get remove -y shoed")
        assert run("systemctl is-active shoed || true") == "inactive\n"
