"""`./dev` in a tree of its own. The programs in `.venv` of this tree log their arguments and do nothing else."""

import os
import re
import shlex
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

from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).resolve().parent.parent

NOTE_ARGUMENTS: Final = '#!/bin/sh\necho "$@" >>"{log}"\n'

UNTIL_INTERRUPTED: Final = f"""\
#!/bin/sh
exec {shlex.quote(sys.executable)} -c '
import signal
try:
    print("running", flush=True)
    signal.pause()
except KeyboardInterrupt:
    print("cleared up")
'
"""


HASH: Final = r"    --hash=sha256:[0-9a-f]{64}( \\)?"

CONFIGURATION: Final = """\
:env:.cert='{folder}/listed'
:env:.index-url='https://first.invalid/simple'
global.extra-index-url='https://a.invalid/simple\\nhttps://b.invalid/simple'
global.find-links='{folder} /no/such/folder https://c.invalid/wheels'
global.index-url='https://third.invalid/simple'
global.retries='5'
install.index-url='https://second.invalid/simple'
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
    """A copy of ./dev and its files, with a .venv whose programs log their arguments."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.log = root.parent / "log"
        for name in ("dev", "requirements-dev.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, root / name)
        self.dev = load(root / "dev")
        self.python(NOTE_ARGUMENTS.format(log=self.log))
        for name in ("pip", "uv", "shoed"):
            script(root / ".venv/bin" / name, NOTE_ARGUMENTS.format(log=self.log))

    def python(self, text: str) -> None:
        script(self.root / ".venv/bin/python", text)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        other = self.root.parent
        command: list[str | Path] = [self.root / "dev", *arguments]
        return subprocess.run(command, cwd=other, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def installed(self) -> list[str]:
        return [line for line in self.logged() if line != "-m pip config list"]

    def logged(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree with a space")


@pytest.fixture
def ready(tree: Tree) -> Tree:
    (tree.root / ".venv/set-up-from").write_text(tree.dev.recipe())
    return tree


@pytest.mark.parametrize(
    ("arguments", "last"),
    [
        ((), "Paths in the arguments of test and bench are relative to the root of the project."),
        (("7",), "./dev: 7 is not a command"),
        (("tset", "tests/test_dev.py"), "./dev: tset is not a command; the nearest command is test"),
        (("--verbose", "test"), "./dev: --verbose is not a command"),
    ],
)
def test_wrong_use_prints_the_commands(tree: Tree, arguments: tuple[str, ...], last: str) -> None:
    """Without a command, or with an unknown one, the usage is on standard error and the status is 2."""
    result = tree.run(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: ./dev COMMAND")
    assert result.stderr.splitlines()[-1] == last
    assert result.stdout == ""
    assert tree.logged() == []


def test_every_command_is_in_the_usage(tree: Tree) -> None:
    """The usage names exactly the commands that exist."""
    result = tree.run("--help")
    assert result.returncode == 0
    assert set(re.findall(r"^  (\w+)", result.stdout, re.MULTILINE)) == set(tree.dev.COMMANDS)


def test_a_ready_environment_does_not_change(ready: Tree) -> None:
    """While the stamp matches the lock, nothing is installed: no network is necessary."""
    assert ready.run("setup").returncode == 0
    assert ready.logged() == []


@pytest.mark.parametrize("changed", ["requirements-dev.lock", "pyproject.toml"])
def test_a_changed_recipe_is_installed_once(ready: Tree, changed: str) -> None:
    """A lock or project file that differs from the stamp is installed, with hashes. After that .venv is ready."""
    with (ready.root / changed).open("a") as file:
        file.write("# another\n")
    result = ready.run("setup")
    assert (result.returncode, result.stdout.splitlines()) == (
        0,
        ["setup: install the packages of requirements-dev.lock (needs the network)", "setup: install shoed"],
    )
    packages, project = ready.installed()
    assert packages.startswith(f"pip sync --require-hashes {ready.root}/requirements-dev.lock")
    assert project.startswith(f"pip install --no-deps --no-build-isolation --editable {ready.root} ")
    assert ready.run("setup").returncode == 0
    assert len(ready.installed()) == 2


def test_a_moved_tree_is_set_up_again(ready: Tree) -> None:
    """Scripts in .venv contain the full path of their interpreter, so a moved .venv is not ready."""
    moved = ready.root.rename(ready.root.parent / "moved")
    subprocess.run([moved / "dev", "setup"], timeout=PATIENCE_S, check=True)
    assert len(ready.installed()) == 2


def test_a_failed_installation_does_not_count_as_finished(tree: Tree) -> None:
    """The message names the command, the status is not 0, and the next run starts again."""
    script(tree.root / ".venv/bin/uv", "#!/bin/sh\nexit 3\n")
    for _ in range(2):
        result = tree.run("setup")
        assert result.returncode == 1
        assert "status 3" in result.stderr
        assert "--require-hashes" in result.stderr
        assert result.stderr.endswith("This step needs the network: connect this machine, then run ./dev again\n")
    assert not (tree.root / ".venv/set-up-from").exists()


def test_pip_installs_uv_with_the_hash_in_the_lock(tree: Tree, tmp_path: Path) -> None:
    """A .venv without uv gets it from pip. The requirements have the pin of uv and nothing else."""
    uv = tree.root / ".venv/bin/uv"
    uv.rename(tmp_path / "uv")
    # After "-m pip install" the last argument is the file of requirements.
    tree.python(f'#!/bin/sh\n[ "$3" = install ] && cat "$8" >"{tree.log}" && cp "{tmp_path}/uv" "{uv}"\n')
    assert tree.run("setup").returncode == 0
    pin, *hashes = tree.logged()[:-2]
    assert re.fullmatch(r"uv==[0-9.]+ \\", pin)
    assert len(hashes) > 1
    assert [line for line in hashes if not re.fullmatch(HASH, line)] == []


def test_an_unfinished_environment_is_made_again(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run has left a .venv without pip, which venv installs last."""
    (tree.root / ".venv/bin/pip").unlink()
    script(tree.root / "python", NOTE_ARGUMENTS.format(log=tree.log))
    monkeypatch.setattr(sys, "executable", str(tree.root / "python"))
    tree.dev.setup()
    assert tree.logged()[0] == f"-m venv --clear {tree.root}/.venv"


def test_without_ensurepip_the_message_has_the_command(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's Python cannot make .venv without the package python3-venv, and the message has its name."""
    shutil.rmtree(tree.root / ".venv")
    monkeypatch.setitem(sys.modules, "ensurepip", None)  # importlib treats the module as absent
    with pytest.raises(tree.dev.Failed, match=r"Run: sudo apt-get install -y python3-venv$"):
        tree.dev.setup()
    assert not (tree.root / ".venv").exists()


def test_uv_has_the_configuration_of_pip(tree: Tree, tmp_path: Path) -> None:
    """A variable of pip precedes its file. A folder that does not exist is omitted, as in pip."""
    script(tmp_path / "listed", CONFIGURATION.format(folder=tmp_path))
    tree.python(f'#!/bin/sh\ncat "{tmp_path}/listed"\n')
    assert tree.dev.pip_configuration() == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://first.invalid/simple",
        "UV_INDEX": "https://a.invalid/simple https://b.invalid/simple",
        "UV_FIND_LINKS": f"{tmp_path},https://c.invalid/wheels",
        "SSL_CERT_FILE": f"{tmp_path}/listed",
    }


def test_arguments_and_status_pass_through(ready: Tree) -> None:
    """A command's arguments reach its tool, from any directory. The status of the tool is the status of the command."""
    ready.python(NOTE_ARGUMENTS.format(log=ready.log) + "exit 7\n")
    assert ready.run("bench", "--only", "latency").returncode == 7
    assert ready.logged() == ["benchmarks/run.py --only latency"]


def test_the_demo_is_the_installed_program(ready: Tree) -> None:
    """`./dev demo` starts `shoed demo` with the same arguments."""
    assert ready.run("demo", "--rounds", "20").returncode == 0
    assert ready.logged() == ["demo --rounds 20"]


def test_the_end_by_a_signal_is_a_status(ready: Tree) -> None:
    """If a signal ends the tool, the status is 128 plus the number of the signal, as in a shell."""
    ready.python("#!/bin/sh\nkill -TERM $$\n")
    assert ready.run("bench").returncode == 128 + signal.SIGTERM


def test_ctrl_c_waits_for_the_end_of_the_tool(ready: Tree) -> None:
    """Ctrl-C gives the status 130 without a traceback, after the tool has ended."""
    ready.python(UNTIL_INTERRUPTED)
    with subprocess.Popen(
        [ready.root / "dev", "bench"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a new process group, as in a terminal
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "running\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert out == "cleared up\n"
    assert err == ""
    assert process.returncode == 130


@pytest.mark.parametrize("wrong", [("0",), ("many",), ("1", "2")])
@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("cuts", "the number of kills"),
        ("sessions", "the number of sessions"),
        ("stalls", "the number of standstills"),
        ("firmware", "the number of steps"),
    ],
)
def test_a_wrong_number_of_repetitions_is_an_error(tree: Tree, command: str, what: str, wrong: tuple[str, ...]) -> None:
    """The error precedes the set-up and the run."""
    with pytest.raises(tree.dev.Failed, match=what):
        tree.dev.COMMANDS[command](*wrong)
    assert tree.logged() == []


NAMED: Final = re.compile(r"(?P<name>[a-z0-9-]+)==[0-9][0-9a-z.]*( ; [^/@]+)? \\")


def lines_of(lock: str) -> list[str]:
    return [line for line in (ROOT / lock).read_text().splitlines() if not line.startswith("#")]


def pinned(lock: str) -> set[str]:
    return {match["name"] for line in lines_of(lock) if (match := NAMED.fullmatch(line))}


PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME: Final = PROJECT["project"]["dependencies"]
WANTED: Final = [
    *PROJECT["build-system"]["requires"],
    *RUNTIME,
    *(each for extra in PROJECT["project"]["optional-dependencies"].values() for each in extra),
]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[ ]", each)[0] for each in requirements}


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_has_pins_and_hashes_only(lock: str) -> None:
    """Each line is a pin, or a hash of a pin. No line names a package index."""
    assert [line for line in lines_of(lock) if not NAMED.fullmatch(line) and not re.fullmatch(HASH, line)] == []


def test_every_requirement_is_in_the_locks() -> None:
    """One lock has the runtime dependencies and no tool; the other one has everything, with the same pins."""
    assert pinned("requirements.lock") >= names(RUNTIME)
    assert pinned("requirements.lock").isdisjoint(names(WANTED) - names(RUNTIME))
    assert pinned("requirements-dev.lock") >= names(WANTED)
    assert set(lines_of("requirements.lock")) <= set(lines_of("requirements-dev.lock"))
    # A package without a wheel for every platform has a marker, and is installed only where the marker is true.
    markers = {each.replace(";", " ;") for each in WANTED if ";" in each}
    assert markers <= {line.removesuffix(" \\") for line in lines_of("requirements-dev.lock")}
