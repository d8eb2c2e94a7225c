"""The broker of the suite: `python -m tests.mosquitto` exits 0 if mosquitto is on this machine.

As root on Debian it installs the package. For other users it prints the command that installs the package.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

# Debian keeps servers in sbin, which an ordinary user's PATH lacks.
SERVER_PATH: Final = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))


def missing(path: str, *, root: bool) -> str | None:
    """Install mosquitto if it is missing and the user is root. Return the reason if it is still missing."""
    if shutil.which("mosquitto", path=path):
        return None
    apt = shutil.which("apt-get", path=path)
    if not apt:
        return "the tests need the MQTT broker mosquitto 2: install it with your system's package manager"
    if not root:
        return "the tests need the MQTT broker mosquitto. Run: sudo apt-get install -y mosquitto"
    print("installing mosquitto", flush=True)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", "mosquitto"]):
        done = subprocess.run([apt, *arguments], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"apt-get {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}"
    stop_packaged_broker(path)
    return None


def stop_packaged_broker(path: str) -> None:
    """Stop the service of the package: the installation may have started it, on the standard port."""
    if Path("/run/systemd/system").is_dir():
        command = ["systemctl", "--quiet", "disable", "--now", "mosquitto"]
    else:
        command = ["service", "mosquitto", "stop"]
    tool = shutil.which(command[0], path=path)
    if tool:
        subprocess.run([tool, *command[1:]], check=False, capture_output=True)  # fails if the service does not run


if __name__ == "__main__":
    problem = missing(SERVER_PATH, root=os.geteuid() == 0)
    sys.exit(f"./dev: {problem}" if problem else 0)
