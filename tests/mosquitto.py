"""The broker of the suite: `python -m tests.mosquitto` exits 0 if mosquitto is on this machine.

Theory of operation: without mosquitto, apt-get resolves and downloads the package and its missing libraries. Its lists
and its cache are in a temporary directory, so no root rights are necessary, and the packages of the machine do not
change. dpkg extracts the packages into .venv/mosquitto. `.venv/bin/mosquitto` starts the broker with these libraries.
This starter is written last: while it exists, `shoed.rig.broker` finds it, and the network is not used.
"""

import fcntl
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from shoed.rig.broker import APT_LINE, BrokerKind, find

STARTER: Final = """\
#!/bin/sh
place=$(dirname "$0")/../mosquitto
export LD_LIBRARY_PATH={libraries}
exec "$place/usr/sbin/mosquitto" "$@"
"""
INSTALL: Final = ("-y", "--no-install-recommends", "--download-only", "install", "mosquitto")


def missing(prefix: Path) -> str | None:
    """Fetch mosquitto into the environment `prefix` if it is missing. Return the reason if it is still missing."""
    with (prefix / "pyvenv.cfg").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once must not extract into one directory
        if find(BrokerKind.MOSQUITTO):
            return None
        if not (shutil.which("apt-get") and shutil.which("dpkg")):
            return "the tests need the MQTT broker mosquitto 2: install it with your system's package manager"
        print(f"setup: fetch mosquitto, the broker of the tests, into {prefix} (needs the network)", flush=True)
        try:
            with tempfile.TemporaryDirectory(dir=prefix) as work:
                fetch(Path(work), prefix)
        except subprocess.CalledProcessError as error:
            return (
                f"mosquitto cannot be fetched: {' '.join(error.cmd[:1])} ended with status {error.returncode}:\n"
                f"{error.output.strip()}\nIf this machine has no network, connect it and run the command again. "
                f"Otherwise run: {APT_LINE}"
            )
    return None


def fetch(work: Path, prefix: Path) -> None:
    own = {
        "Dir::State::Lists": work / "lists",
        "Dir::Cache": work / "cache",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",  # for root: another user cannot write here
        "APT::Update::Error-Mode": "any",  # otherwise a missing network is a warning
        "Debug::NoLocking": "true",  # the locks of the machine are not ours
    }
    options = [f"--option={key}={value}" for key, value in own.items()]
    for place in ("lists", "cache/archives"):
        (work / place / "partial").mkdir(parents=True)
    for words in (("update",), INSTALL):
        quietly("apt-get", "-q", *options, *words)
    tree = work / "tree"
    for package in sorted((work / "cache" / "archives").glob("*.deb")):
        quietly("dpkg", "-x", str(package), str(tree))
    libraries = sorted({file.parent.relative_to(tree) for file in tree.rglob("*.so.*")})
    shutil.rmtree(prefix / "mosquitto", ignore_errors=True)
    tree.rename(prefix / "mosquitto")
    starter = work / "mosquitto"
    starter.write_text(STARTER.format(libraries=":".join(f"$place/{each}" for each in libraries)))
    starter.chmod(0o755)
    starter.rename(prefix / "bin" / "mosquitto")


def quietly(*command: str) -> None:
    subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )


if __name__ == "__main__":
    problem = missing(Path(sys.prefix))
    sys.exit(f"./dev: {problem}" if problem else 0)
