"""`./dev` as a person or CI meets it, in a tree of its own whose .venv is a stand-in that notes what it is asked."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
PATIENCE_S: Final = 30

NOTE_ARGUMENTS: Final = '#!/bin/sh\necho "$@" >>"{log}"\n'

UNTIL_INTERRUPTED: Final = f"""\
#!{sys.executable}
import signal
try:
    print("running", flush=True)
    signal.pause()
except KeyboardInterrupt:
    print("cleared up")
"""


def script(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def load(file: Path) -> ModuleType:
    spec = spec_from_loader("dev", SourceFileLoader("dev", str(file)))
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Tree:
    """A copy of the project's shell, with a .venv whose python writes its arguments down."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root.parent / "log"
        for name in ("dev", "requirements.lock", "pyproject.toml", "systemd/shoed.service"):
            (root / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        self.dev = load(root / "dev")
        self.python(NOTE_ARGUMENTS.format(log=self.log))
        script(root / ".venv/bin/pip", "")
        script(root / ".venv/bin/shoed", NOTE_ARGUMENTS.format(log=self.log))

    def python(self, text: str) -> None:
        script(self.root / ".venv/bin/python", text)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        elsewhere = self.root.parent
        command: list[str | Path] = [self.root / "dev", *arguments]
        return subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree with a space")


@pytest.fixture
def ready(tree: Tree) -> Tree:
    (tree.root / ".venv/set-up-from").write_text(tree.dev.recipe())
    return tree


@pytest.mark.parametrize("arguments", [(), ("deploy",), ("--verbose", "test")])
def test_wrong_use_is_answered_with_the_commands_there_are(tree: Tree, arguments: tuple[str, ...]) -> None:
    """No command, or one there is not: usage on standard error, status 2, nothing done."""
    result = tree.run(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: ./dev COMMAND")
    assert result.stdout == ""
    assert tree.asked() == []


def test_every_command_is_in_the_usage(tree: Tree) -> None:
    """What can be run is what the usage names, and the other way round."""
    result = tree.run("--help")
    assert result.returncode == 0
    assert set(re.findall(r"^  (\w+)", result.stdout, re.MULTILINE)) == set(tree.dev.COMMANDS)


def test_a_ready_environment_is_left_alone(ready: Tree) -> None:
    """With the stamp of this lock in place nothing is installed, so that work goes on without a network."""
    assert ready.run("setup").returncode == 0
    assert ready.asked() == []


@pytest.mark.parametrize("changed", ["requirements.lock", "pyproject.toml"])
def test_a_changed_recipe_is_installed_once(ready: Tree, changed: str) -> None:
    """A lock or project file other than the stamp's is installed, hashes required, and then counts as ready."""
    with (ready.root / changed).open("a") as file:
        file.write("# another\n")
    assert ready.run("setup").returncode == 0
    first, second = ready.asked()
    assert first.startswith("-m pip install")
    assert f"--require-hashes -r {ready.root}/requirements.lock" in first
    assert f"--no-deps --no-build-isolation --editable {ready.root}" in second
    assert ready.run("setup").returncode == 0
    assert len(ready.asked()) == 2


def test_a_moved_tree_is_set_up_again(ready: Tree) -> None:
    """Scripts in .venv name their interpreter by its whole path, so a copy elsewhere is not ready."""
    moved = ready.root.rename(ready.root.parent / "moved")
    subprocess.run([moved / "dev", "setup"], timeout=PATIENCE_S, check=True)
    assert len(ready.asked()) == 2


def test_a_failed_installation_is_not_taken_for_a_finished_one(tree: Tree) -> None:
    """What failed is named, the status is not 0, and the next run begins again."""
    tree.python("#!/bin/sh\nexit 3\n")
    for _ in range(2):
        result = tree.run("setup")
        assert result.returncode == 1
        assert "status 3" in result.stderr
        assert "--require-hashes" in result.stderr
    assert not (tree.root / ".venv/set-up-from").exists()


def test_arguments_and_status_pass_through(ready: Tree) -> None:
    """A command's arguments reach the tool behind it, from whatever directory; its status comes back."""
    ready.python(NOTE_ARGUMENTS.format(log=ready.log) + "exit 7\n")
    assert ready.run("bench", "--only", "latency").returncode == 7
    assert ready.asked() == [f"{ready.root}/benchmarks/run.py --only latency"]


def test_the_demo_is_the_installed_program(ready: Tree) -> None:
    """`./dev demo` becomes `shoed demo`, arguments and all."""
    assert ready.run("demo", "--rounds", "20").returncode == 0
    assert ready.asked() == ["demo --rounds 20"]


def test_death_by_signal_is_a_status(ready: Tree) -> None:
    """A tool that a signal ended gives the status a shell gives: 128 and the signal's number."""
    ready.python("#!/bin/sh\nkill -TERM $$\n")
    assert ready.run("bench").returncode == 128 + signal.SIGTERM


def test_ctrl_c_waits_for_the_tool_to_clear_up(ready: Tree) -> None:
    """Ctrl-C ends with status 130 and no traceback, and only after the tool behind it has ended its own way."""
    ready.python(UNTIL_INTERRUPTED)
    with subprocess.Popen(
        [ready.root / "dev", "bench"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a process group of its own, as a terminal gives it
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "running\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert out == "cleared up\n"
    assert err == ""
    assert process.returncode == 130


def test_a_broker_that_is_there_is_used(tree: Tree, tmp_path: Path) -> None:
    """Nothing is installed where mosquitto is on the path."""
    script(tmp_path / "bin/mosquitto", "")
    script(tmp_path / "bin/apt-get", NOTE_ARGUMENTS.format(log=tree.log))
    tree.dev.ensure_broker(str(tmp_path / "bin"), root=True)
    assert tree.asked() == []


def test_without_root_a_missing_broker_costs_one_line(tree: Tree, tmp_path: Path) -> None:
    """An ordinary user is told the one command to run, and nothing is tried in their name."""
    script(tmp_path / "bin/apt-get", NOTE_ARGUMENTS.format(log=tree.log))
    with pytest.raises(tree.dev.Failed, match=r"Run: sudo apt-get install -y mosquitto$"):
        tree.dev.ensure_broker(str(tmp_path / "bin"), root=False)
    assert tree.asked() == []


def test_off_debian_a_missing_broker_is_named(tree: Tree, tmp_path: Path) -> None:
    """Where there is no apt-get nobody is told to run it."""
    with pytest.raises(tree.dev.Failed, match="mosquitto 2: install it with your system's package manager"):
        tree.dev.ensure_broker(str(tmp_path), root=True)


def test_as_root_the_broker_is_installed_and_its_service_stopped(tree: Tree, tmp_path: Path) -> None:
    """The lists are fetched once, the package is installed, and the service it may have started does not stay."""
    for name in ("apt-get", "systemctl", "service"):
        script(tmp_path / "bin" / name, NOTE_ARGUMENTS.format(log=tree.log))
    tree.dev.ensure_broker(str(tmp_path / "bin"), root=True)
    update, install, stop = tree.asked()
    assert update.endswith("update")
    assert install.endswith("install -y --no-install-recommends mosquitto")
    assert stop in ("mosquitto stop", "--quiet disable --now mosquitto")


def test_only_tests_of_pure_rooms_count_for_their_coverage(tree: Tree) -> None:
    """A test that reaches a port, a loop or a process, itself or through a helper, is not one of them."""
    texts = {
        "test_pure.py": "from shoed.cards import Card\nimport tests.cards_of\n",
        "cards_of.py": "from shoed import cards\n",
        "test_loop.py": "def test() -> None:\n    import asyncio.events\n",
        "test_port.py": "from shoed import ports\n",
        "test_helped.py": "from tests import house\n",
        "house.py": "import subprocess\n",
    }
    for name, text in texts.items():
        script(tree.root / "tests" / name, text)
    impure = tree.dev.IMPURE | {"shoed.ports"}
    pure = {name for name in texts if tree.dev.is_pure_test(tree.root / "tests" / name, impure)}
    assert pure == {"test_pure.py", "cards_of.py"}


@pytest.mark.parametrize("wrong", [("0",), ("many",), ("1", "2")])
@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("cuts", "how many kills"),
        ("sessions", "how many sessions"),
        ("stalls", "how many standstills"),
        ("firmware", "how many steps"),
    ],
)
def test_how_often_is_checked(tree: Tree, command: str, what: str, wrong: tuple[str, ...]) -> None:
    """Before anything is set up or run."""
    with pytest.raises(tree.dev.Failed, match=what):
        tree.dev.COMMANDS[command](wrong)
    assert tree.asked() == []


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not on this machine")
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [("WatchdogSec", "WatchdogSecs", "'WatchdogSecs'"), ("Type=notify", "Type=x", "service type, ignoring: x")],
)
def test_a_mistake_in_the_unit_is_found(tree: Tree, right: str, wrong: str, said: str) -> None:
    """What systemd only mutters at, as a key it does not know, the check counts as a failure."""
    assert tree.dev.unit_is_valid() is None
    tree.dev.UNIT.write_text(tree.dev.UNIT.read_text().replace(right, wrong))
    assert said in tree.dev.unit_is_valid()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not on this machine")
def test_a_unit_that_opens_up_is_found(tree: Tree) -> None:
    """A line of the hardening that goes missing takes the unit over its limit of exposure."""
    assert tree.dev.unit_is_hardened() is None
    tree.dev.UNIT.write_text(tree.dev.UNIT.read_text().replace("CapabilityBoundingSet=\n", ""))
    assert "✗ CapabilityBoundingSet=" in tree.dev.unit_is_hardened()


def test_the_lock_pins_everything_and_names_no_place() -> None:
    """Each line is a pin or a hash of one; every requirement of the project is among them."""
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    pin = re.compile(r"(?P<name>[a-z0-9-]+)==[0-9][0-9a-z.]*( ; [^/@]+)? \\")
    for line in lines:
        assert pin.fullmatch(line) or re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line
    pinned = {match["name"] for line in lines if (match := pin.fullmatch(line))}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(name for extra in project["project"]["optional-dependencies"].values() for name in extra),
    ]
    assert pinned >= {re.split(r"[<>=\[ ]", name)[0] for name in wanted}
    # What has no wheel everywhere is not asked for there.
    assert {name.replace(";", " ;") for name in wanted if ";" in name} <= {line.removesuffix(" \\") for line in lines}
