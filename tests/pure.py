"""The tests of the pure rooms: `./dev coverage` runs them alone, `./dev mutate` judges mutants by them.

A test is pure if neither it nor a helper that it imports imports a module that does IO. `pyproject.toml` lists the
modules with IO as those that coverage omits, and the bar of the coverage.
"""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

IMPURE: Final = {"asyncio", "pty", "serial", "socket", "sqlite3", "subprocess", "threading", "time", "usb"}


def imports(file: Path) -> set[str]:
    """Every module that a file imports, at any place in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
            case _:
                pass
    return names


def helpers(file: Path, names: set[str], root: Path) -> set[Path]:
    """The files in tests/ that a test imports."""
    files = {root / f"{name.replace('.', '/')}.py" for name in names if name.startswith("tests.")} - {file}
    return {each for each in files if each.exists()}


def is_pure(file: Path, impure: set[str], root: Path = ROOT) -> bool:
    names = imports(file)
    if any(f"{name}.".startswith(f"{module}.") for name in names for module in impure):
        return False
    return all(is_pure(helper, impure, root) for helper in helpers(file, names, root))


def reaches(file: Path, modules: tuple[str, ...], root: Path = ROOT) -> bool:
    """Whether a test, or a helper that it imports, imports one of these modules."""
    names = imports(file)
    return any(name.startswith(modules) for name in names) or any(
        reaches(helper, modules, root) for helper in helpers(file, names, root)
    )


def pure_tests() -> list[Path]:
    rooms = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]["omit"]
    impure = IMPURE | {room.removesuffix("/*").removesuffix(".py").replace("/", ".") for room in rooms}
    return sorted(file for file in (ROOT / "tests").rglob("test_*.py") if is_pure(file, impure))


def main(arguments: list[str]) -> int:
    (ROOT / ".cache").mkdir(exist_ok=True)
    coverage = (sys.executable, "-m", "coverage")
    pytest = ("-m", "pytest", "--quiet", "--numprocesses=2", "-m", "not exhaustive", *arguments)
    steps = ("erase",), ("run", *pytest, *map(str, pure_tests())), ("combine", "--quiet"), ("report",)
    return next(filter(None, (subprocess.call([*coverage, *words], cwd=ROOT) for words in steps)), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
