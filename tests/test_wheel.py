"""The wheel in a fresh virtual environment, outside of this tree: `./dev wheel`.

The environment has the packages of `requirements.lock` and no others. The author of a driver has such an environment.
"""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLE: Final = ROOT / "tests" / "example_family" / "example_shoe"
PIP: Final = (sys.executable, "-m", "pip", "--disable-pip-version-check")

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, status: int = 0) -> str:
    """What a command prints, in an environment that does not lead to this tree."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The virtual environment with the wheel and its locked dependencies, every hash verified."""
    place = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place, cwd=ROOT)
    (wheel,) = place.glob("shoed-*.whl")
    venv.create(place / "venv")
    install = (*PIP, "--python", place / "venv", "install", "--quiet")
    run(*install, "--require-hashes", "-r", ROOT / "requirements.lock", cwd=place)
    run(*install, "--no-deps", "--no-index", wheel, cwd=place)
    return place / "venv"


def test_the_runtime_lock_has_every_dependency_and_nothing_else(site: Path) -> None:
    """No requirement of the wheel is absent, and every package in the lock is one."""
    run(*PIP, "--python", site, "check", cwd=site)
    listed = run(*PIP, "--python", site, "list", "--not-required", "--format=freeze", cwd=site)
    assert [line.partition("==")[0] for line in listed.splitlines()] == ["shoed"]


def test_every_module_can_be_imported(site: Path) -> None:
    """The wheel has all modules, and the packages of the runtime lock are enough for all of them."""
    ours = [file.relative_to(ROOT) for room in ("shoed", "firmware_protocols") for file in (ROOT / room).rglob("*.py")]
    names = sorted(".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in ours)
    code = f"import importlib\nfor name in {[name for name in names if not name.endswith('__main__')]}:\n"
    code += "    print(importlib.import_module(name).__file__)"
    files = run(site / "bin" / "python", "-I", "-c", code, cwd=site).splitlines()
    assert [file for file in files if not file.startswith(str(site))] == []


def mypy(site: Path, place: Path, status: int = 0) -> str:
    interpreter = f"--python-executable={site / 'bin' / 'python'}"
    command = (sys.executable, "-m", "mypy", "--strict", "--config-file=", interpreter, "-p", "example_shoe")
    return run(*command, cwd=place, status=status)


def test_a_driver_is_type_checked_against_the_wheel(site: Path, tmp_path: Path) -> None:
    """The example driver passes mypy --strict; a value of a wrong type in a call of shoed does not."""
    shutil.copytree(EXAMPLE, tmp_path / "example_shoe")
    mypy(site, tmp_path)
    with (tmp_path / "example_shoe" / "session.py").open("a") as file:
        file.write('\n\nWRONG = not_sent("no settings")\n')
    assert "session.py" in mypy(site, tmp_path, status=1)
