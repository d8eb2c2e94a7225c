"""Prepare the rig: install its programs, make the disk of the guest, and boot the guest once. `./dev hil` runs it.

The exit status is 77 if the rig cannot run on this machine, or 1 with HIL_REQUIRED. The output has the missing part.
"""

import asyncio
import os
import shutil
import sys

from tests.hil.guest import saved
from tests.hil.image import SBIN, Missing, absent, image, run

SKIPPED = 77


def main() -> int:
    try:
        missing = absent()
        if missing and os.geteuid() == 0 and shutil.which("apt-get", path=SBIN):
            print(f"hil: installing {', '.join(missing)}", flush=True)
            run("apt-get", "-qq", "update")
            run("apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing)
        asyncio.run(saved(image()))
    except Missing as reason:
        print(f"hil: {reason}", flush=True)
        return 1 if os.environ.get("HIL_REQUIRED") else SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
