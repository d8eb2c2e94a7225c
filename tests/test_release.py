"""`./dev release`: the archives, their sums, the tag, and the refusals."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

import pytest

from shoed import VERSION

ROOT: Final = Path(__file__).resolve().parent.parent
TAG: Final = f"v{VERSION}"
AUTHOR: Final = ("-c", "user.name=a", "-c", "user.email=a@example.org")


def git(tree: Path, *words: str) -> str:
    return subprocess.run(("git", *AUTHOR, *words), cwd=tree, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the files of this project in one commit, and a file that git ignores."""
    copy = tmp_path / "project"
    copy.mkdir()
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    files = [name for name in listed.split("\0") if (ROOT / name).is_file()]
    archive = ("tar", "--create", "--null", "--files-from=-")
    packed = subprocess.run(archive, cwd=ROOT, input="\0".join(files).encode(), check=True, stdout=subprocess.PIPE)
    subprocess.run(("tar", "--extract"), cwd=copy, input=packed.stdout, check=True)
    git(copy, "init", "--quiet")
    git(copy, "config", "user.name", "a")
    git(copy, "config", "user.email", "a@example.org")
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "--message", "All files")
    (copy / "shoed/__pycache__").mkdir()
    (copy / "shoed/__pycache__/secret.pyc").touch()
    return copy


def release(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command: tuple[str | Path, ...] = (sys.executable, tree / "packaging/release.py", *words)
    return subprocess.run(command, cwd=tree.parent, capture_output=True, text=True, check=False)


def test_a_release_has_two_archives_their_sums_and_a_tag(tree: Path) -> None:
    """The archives have the files of the commit and no other; the tag names the commit. A second release is refused."""
    done = release(tree)
    assert done.returncode == 0, done.stderr
    wheel, sdist = f"shoed-{VERSION}-py3-none-any.whl", f"shoed-{VERSION}.tar.gz"
    assert {file.name for file in (tree / "dist").iterdir()} == {wheel, sdist, "SHA256SUMS"}
    subprocess.run(("sha256sum", "--check", "--strict", "SHA256SUMS"), cwd=tree / "dist", check=True)
    modules = set(zipfile.ZipFile(tree / "dist" / wheel).namelist())
    assert {"shoed/__init__.py", "firmware_protocols/__init__.py", "shoed/rules/books/commission.toml"} <= modules
    with tarfile.open(tree / "dist" / sdist) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "README.md",
        "CHANGELOG.md",
        "requirements.lock",
        "tests/test_release.py",
        "systemd/shoed.service",
    } <= sources
    assert not [name for name in (*modules, *sources) if "secret.pyc" in name or name.startswith((".ci", "dist"))]
    assert git(tree, "rev-parse", f"{TAG}^{{commit}}") == git(tree, "rev-parse", "HEAD")
    assert git(tree, "cat-file", "-t", TAG) == "tag\n"
    again = release(tree)
    assert again.returncode == 1
    assert f"tag {TAG}: it exists; increase VERSION" in again.stderr


def test_a_dry_run_leaves_nothing(tree: Path) -> None:
    """It prints the sums; there is no file and no tag."""
    done = release(tree, "--dry-run")
    assert done.returncode == 0
    assert f"shoed-{VERSION}.tar.gz\n" in done.stdout
    assert not (tree / "dist").exists()
    assert git(tree, "tag") == git(tree, "status", "--porcelain") == ""


def test_every_problem_is_refused_at_once(tree: Path) -> None:
    """A changed tree and a version without a section in the changelog: each has its remedy, and nothing is built."""
    module = tree / "shoed/__init__.py"
    module.write_text(module.read_text().replace(VERSION, "9.9.9"))
    done = release(tree)
    assert done.returncode == 1
    dirty, unlisted = done.stderr.splitlines()
    assert "uncommitted changes, such as shoed/__init__.py; commit them, or remove them" in dirty
    assert "CHANGELOG.md: version 9.9.9 has no section; add the heading ## [9.9.9] - YEAR-MONTH-DAY" in unlisted
    assert not (tree / "dist").exists()
    assert git(tree, "tag") == ""
