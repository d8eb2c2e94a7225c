"""The time from start to ready, and resident memory, compared with an interpreter that imports the same libraries."""

import compileall
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.bench import TIMES, Threads, report

FURTHER: Final = 8
READY_LIMIT_S: Final = 30.0

# The libraries that shoed imports, then the notification of readiness.
BARE: Final = """
import argparse, asyncio, difflib, fcntl, json, logging, os, pathlib, queue, random
import signal, socket, sqlite3, ssl, sys, threading, tomllib
import aiomqtt, construct, msgspec, serial
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
signal.pause()
"""

TABLE: Final = """
[[table]]
name = "bac-{number}"
game = "commission"
[table.shoe]
protocol = "angel-eye"
port = "{port}"
min_draw_gap_ms = 0  # this shoe draws faster than any dealer
"""


def configuration(folder: Path, tables: int, broker_port: int = 1, shoe_port: int = 2) -> Path:
    """Return a configuration. Port 1 of loopback has no broker, and the following ports have no shoe."""
    return configured(folder, [f"tcp://127.0.0.1:{shoe_port + number}" for number in range(tables)], broker_port)


def configured(folder: Path, ports: Sequence[str], broker_port: int) -> Path:
    """Return a configuration with one table for each port."""
    path = folder / "shoed.toml"
    path.write_text(
        f'[site]\nname = "bench"\nstate_dir = "state-{len(ports)}"\n[mqtt]\nurl = "mqtt://127.0.0.1:{broker_port}"\n'
        + "".join(TABLE.format(number=number, port=port) for number, port in enumerate(ports))
    )
    return path


def measure(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Return the seconds to READY=1, the processor seconds until then, and the resident megabytes at that moment."""
    address = folder / "notify"
    address.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(address))
        listener.settimeout(READY_LIMIT_S)
        began = perf_counter()
        child = subprocess.Popen(
            command, env=os.environ | {"NOTIFY_SOCKET": str(address)}, stderr=subprocess.DEVNULL, cwd=folder
        )
        try:
            while b"READY=1" not in listener.recv(4096):
                pass
            seconds = perf_counter() - began
            processor_s = Threads(child.pid).processor_s()
            status = Path(f"/proc/{child.pid}/status").read_text()
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    if found is None:
        raise RuntimeError("this kernel does not report resident memory; run the benchmark on Linux")
    return seconds, processor_s, int(found[1]) / 1024


def run() -> None:
    for package in ("shoed", "firmware_protocols"):  # as pip compiles an installed package
        compileall.compile_dir(Path(__file__).parent.parent / package, quiet=1)
    with tempfile.TemporaryDirectory(prefix="shoed-bench-") as name:
        folder = Path(name)
        shoed = [str(Path(sys.executable).with_name("shoed")), "run", "--config"]
        bare, one, more = [], [], []
        for _ in range(TIMES):
            bare.append(measure([sys.executable, "-c", BARE], folder))
            one.append(measure([*shoed, str(configuration(folder, 1))], folder))
            more.append(measure([*shoed, str(configuration(folder, 1 + FURTHER))], folder))
    start, processor, memory = (min(values) for values in zip(*one, strict=True))
    bare_start, bare_processor, bare_memory = (min(values) for values in zip(*bare, strict=True))
    report("(c) start to ready / bare imports", start * 1e3, bare_start * 1e3, 1.4, unit="ms")
    # On a busy machine, this is the more reliable of the two.
    report("(c) processor time to ready / bare imports", processor * 1e3, bare_processor * 1e3, 1.4, unit="ms")
    report("(c) resident memory / bare imports", memory, bare_memory, 1.2, unit="MB")
    further = (min(each[2] for each in more) - memory) / FURTHER
    report("(c) each further table / 0.5 MB", further, 0.5, 1.0, unit="MB")
