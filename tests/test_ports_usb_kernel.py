"""USB devices in an emulated kernel: unmodified pyusb and libusb, in processes with umockdev's preload."""

import ctypes.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.patience import PATIENCE_S
from tests.usb_kernel import CASES

ROOT: Final = Path(__file__).resolve().parent.parent
MISSING: Final = [name for name in ("umockdev-preload", "usb-1.0") if ctypes.util.find_library(name) is None]
WITHOUT: Final = f"no lib{' and no lib'.join(MISSING)}; run: sudo apt-get install -y umockdev libusb-1.0-0"


@pytest.mark.parametrize("case", CASES)
def test_a_device_in_an_emulated_kernel(case: str) -> None:
    """`usb_kernel.py` describes each case. Without the libraries the case is skipped, except with HIL_REQUIRED."""
    if MISSING:
        (pytest.fail if os.environ.get("HIL_REQUIRED") else pytest.skip)(WITHOUT)
    done = subprocess.run(
        [sys.executable, "-m", "tests.usb_kernel", case],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": "libumockdev-preload.so.0"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
