"""The bytes that a table writes to the disk for each round, for a small computer with an SD card.

A shoe deals at the pace of a table, with a shorter pause between two rounds. A serial line delivers each byte alone;
USB and TCP deliver whole reports. `written` is what the kernel writes to the block device for the daemon
(/proc/PID/io): the write-ahead log, and its copy into the journal file. `kept` is the growth of the rows, without the
unused parts of their pages (SQLite's table dbstat).
"""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from benchmarks.bench import report
from benchmarks.footprint import configuration
from benchmarks.idle import QuietBroker
from firmware_protocols.angel_eye import AngelEyeResult, AngelEyeSettings
from firmware_protocols.family import Line
from shoed.engine import QUIET_NS
from shoed.rig.dealer import Pace, deal
from shoed.session.angel_eye_shoe import AngelEyeShoe

ROUNDS: Final = 6
WARM_UP_ROUNDS: Final = 2
DECKS: Final = 8
SEED: Final = 5
LINE: Final = Line(4800)
PACE: Final = Pace(card=(1.2, 1.5), round=(2.0, 2.5), shoe=(2.0, 2.5))
QUIET_S: Final = QUIET_NS / 1e9 + 0.5  # the journal commits the last copies within this time
BAR_KB: Final = 4.0  # kept for a round
ROUNDS_A_DAY: Final = 1_500  # rounds of one table in 24 hours: one a minute


class Written(NamedTuple):
    """Kilobytes for each round."""

    written: float
    kept: float


def frames() -> Iterator[tuple[float, list[bytes], bool]]:
    """The pause before each report, its copies, and whether it ends a round."""
    settings = AngelEyeSettings()
    device = AngelEyeShoe(settings)
    state = device.begin()
    for pause_s, due in deal(Random(SEED), DECKS, PACE):
        state, data = device.say(state, due)
        size = len(data) // settings.copies
        yield pause_s, [data[at : at + size] for at in range(0, len(data), size)], isinstance(due, AngelEyeResult)


def play(shoe: socket.socket, reports: Iterator[tuple[float, list[bytes], bool]], rounds: int, *, single: bool) -> None:
    for pause_s, copies, ends in reports:
        time.sleep(pause_s)
        for copy in copies:
            for piece in [bytes((byte,)) for byte in copy] if single else [copy]:
                shoe.sendall(piece)
                time.sleep(len(piece) * LINE.seconds_per_byte)
        rounds -= ends
        if not rounds:
            time.sleep(QUIET_S)
            return


def written_kb(pid: int) -> float:
    (line,) = (each for each in Path(f"/proc/{pid}/io").read_text().splitlines() if each.startswith("write_bytes"))
    return int(line.split()[1]) / 1e3


def kept_kb(journal: Path) -> float:
    """The bytes of all rows in their pages; the write-ahead log may hold some of them."""
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        ((used,),) = connection.execute("SELECT sum(pgsize - unused) FROM dbstat")
    return float(used) / 1e3


def measure(*, single: bool) -> Written:
    broker = QuietBroker()
    # /var/tmp is on a disk; /tmp may be in memory, where nothing is written.
    with (
        tempfile.TemporaryDirectory(prefix="shoed-writes-", dir="/var/tmp") as name,
        socket.create_server(("127.0.0.1", 0)) as door,
    ):
        folder = Path(name)
        path = configuration(folder, 1, broker.port, door.getsockname()[1])
        command = [str(Path(sys.executable).with_name("shoed")), "run", "--config", str(path)]
        child = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=folder)
        try:
            shoe, _ = door.accept()
            with shoe:
                shoe.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                reports = frames()
                play(shoe, reports, WARM_UP_ROUNDS, single=single)
                (journal,) = (folder / "state-1").glob("*.db")
                before = written_kb(child.pid), kept_kb(journal)
                play(shoe, reports, ROUNDS, single=single)
                os.sync()
                after = written_kb(child.pid), kept_kb(journal)
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
    written, kept = ((late - early) / ROUNDS for late, early in zip(after, before, strict=True))
    return Written(written, kept)


def run() -> None:
    for how, single in (("a byte", True), ("a report", False)):
        found = measure(single=single)
        daily_mb = found.written * ROUNDS_A_DAY / 1e3
        sys.stdout.write(
            f"(j) {how} at a time: {found.written:.0f} kB written and {found.kept:.1f} kB kept for a round;"
            f" {daily_mb:.0f} MB written and {found.kept * ROUNDS_A_DAY / 1e3:.0f} MB kept in {ROUNDS_A_DAY} rounds\n"
        )
        report(f"(j) kept for a round, {how} at a time / {BAR_KB:g} kB", found.kept, BAR_KB, 1.0, unit="kB")


if __name__ == "__main__":
    run()
