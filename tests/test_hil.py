"""The preparation of the virtual machine on a machine without its programs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
NOTHING: Final = {"PATH": "/nonexistent"}  # mke2fs is in /usr/sbin, where the rig looks, too


@pytest.mark.parametrize(("required", "status"), [({}, 77), ({"HIL_REQUIRED": "1"}, 1)])
def test_a_missing_program_is_named(required: dict[str, str], status: int) -> None:
    """The output has the packages and the command that installs them. With HIL_REQUIRED this is a failure."""
    kept = {name: value for name, value in os.environ.items() if name != "HIL_REQUIRED"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.hil"],
        cwd=ROOT,
        env={**kept, **NOTHING, **required},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert "qemu-utils, mmdebstrap missing; run: sudo apt-get install -y --no-install-recommends" in done.stdout
