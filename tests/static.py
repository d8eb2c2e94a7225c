"""The static checks: `./dev check` runs them all, and exits 1 if one fails."""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SKIPPED: Final = 77  # the status of a check whose tool is not on this machine, as in automake

# The name of each check, and its arguments of Python.
CHECKS: Final = {
    "ruff check": "-m ruff check --quiet",
    "ruff format": "-m ruff format --check --quiet",
    "mypy": "-m mypy --no-error-summary",
    "generated files": "docs/generate.py --check",
    "words": "docs/words.py --check",
    "systemd unit": "-m tests.systemd_unit",
}


def main() -> int:
    failed = []
    for name, words in CHECKS.items():
        status = subprocess.call([sys.executable, *words.split()], cwd=ROOT)
        print(f"{name}: {({0: 'ok', SKIPPED: 'skipped'}).get(status, f'status {status}')}", flush=True)
        if status not in (0, SKIPPED):
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    argparse.ArgumentParser(prog="./dev check", description=__doc__).parse_args()
    sys.exit(main())
