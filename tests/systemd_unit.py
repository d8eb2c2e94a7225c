"""The check of `systemd/shoed.service` by systemd itself: `python -m tests.systemd_unit`.

The exit status is 77 on a machine without systemd.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

UNIT: Final = Path(__file__).parent.parent / "systemd" / "shoed.service"
SKIPPED: Final = 77  # as in automake

# The exposure of the unit as systemd measures it, in tenths: 15 with systemd 252. Other versions have other weights.
EXPOSURE_LIMIT: Final = 20


def mistakes(unit: Path) -> str:
    """What systemd prints about the unit. It exits 0 on a misspelt key, so any output is a mistake."""
    text, found = re.subn(r"^(Exec\w+=)\S+", r"\1/bin/true", unit.read_text(), flags=re.MULTILINE)
    if not found:
        return f"{unit}: there is no Exec line; add ExecStart"
    with tempfile.TemporaryDirectory() as scratch:
        # The daemon is not installed on this machine, so the copy of the unit starts /bin/true.
        copy = Path(scratch) / unit.name
        copy.write_text(text)
        command = ("systemd-analyze", "verify", "--man=no", copy)
        verdict = subprocess.run(command, check=False, capture_output=True, text=True)
    printed = (verdict.stdout + verdict.stderr).replace(str(copy), str(unit)).strip()
    return printed or (f"status {verdict.returncode}" if verdict.returncode else "")


def exposure(unit: Path) -> str:
    """The table of systemd with the exposure of the unit, if the exposure is over the limit."""
    options = ("--offline=true", "--no-pager", f"--threshold={EXPOSURE_LIMIT}")
    command = ("systemd-analyze", "security", *options, unit)
    verdict = subprocess.run(command, check=False, capture_output=True, text=True)
    return verdict.stdout + verdict.stderr if verdict.returncode else ""


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is not installed; install systemd to verify the unit")
        sys.exit(SKIPPED)
    sys.exit(mistakes(UNIT) or exposure(UNIT) or 0)
