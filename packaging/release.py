"""Make a release of the last commit: the wheel, the source archive, their sums, and the tag. `./dev release`.

The archives are built from a copy of the commit, so a file that git ignores is not in them. They depend on the commit
only: their date is that of the commit. --dry-run builds them in a temporary directory, prints the sums, and leaves
nothing.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
DIST: Final = ROOT / "dist"
SUMS: Final = "SHA256SUMS"


def git(*words: str) -> str:
    return subprocess.run(("git", *words), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.rstrip()


def version() -> str:
    (found,) = re.findall(r'^VERSION = "([^"]+)"', (ROOT / "shoed/__init__.py").read_text(), re.MULTILINE)
    return str(found)


def problems(number: str, tag: str) -> Iterator[str]:
    """Each reason why this commit cannot be released, with its remedy."""
    if changed := git("status", "--porcelain").splitlines():
        yield f"{ROOT}: uncommitted changes, such as {changed[0][3:]}; commit them, or remove them"
    changes = (ROOT / "CHANGELOG.md").read_text()
    if not re.search(rf"^## \[{re.escape(number)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        yield f"CHANGELOG.md: version {number} has no section; add the heading ## [{number}] - YEAR-MONTH-DAY"
    if git("tag", "--list", tag):
        yield f"tag {tag}: it exists; increase VERSION in shoed/__init__.py, or continue from the tag: git show {tag}"


def build(place: Path) -> list[Path]:
    """The archives of the last commit, and the file of their sums."""
    tree = place / "tree"
    tree.mkdir()
    with subprocess.Popen(("git", "archive", "HEAD"), cwd=ROOT, stdout=subprocess.PIPE) as archive:
        subprocess.run(("tar", "--extract"), cwd=tree, stdin=archive.stdout, check=True)
    env = os.environ | {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct")}
    command = (sys.executable, "-m", "hatchling", "build", "-d", place / "made")
    subprocess.run(command, cwd=tree, env=env, check=True, stdout=subprocess.DEVNULL)
    made = sorted((place / "made").iterdir())
    sums = place / "made" / SUMS
    sums.write_text("".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in made))
    return [*made, sums]


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev release", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="check and build, and leave no file and no tag")
    arguments = parser.parse_args()
    number = version()
    tag = f"v{number}"
    if found := list(problems(number, tag)):
        print("\n".join(found), file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as place:
        made = build(Path(place))
        print(made[-1].read_text(), end="")
        if arguments.dry_run:
            print(f"dry run: no file in {DIST.name}/, and no tag {tag}")
            return 0
        DIST.mkdir(exist_ok=True)
        for file in made:
            shutil.copy(file, DIST)
    git("tag", "--annotate", tag, "--message", f"shoed {number}")
    print(f"tagged {tag}; publish the tag and the files of {DIST.name}/: git push origin {tag}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
