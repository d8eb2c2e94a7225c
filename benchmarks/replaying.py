"""A whole shoe's capture through the daemon, its journal and its broker, against the time that the shoe took.

Ten decks at a real table's pace: half a minute from one round to the next. The subject is `shoed replay --fast`,
the process from its start to its end; the broker is ours, and answers at once.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

from benchmarks.bench import TIMES, report
from benchmarks.latency import Sink
from firmware_protocols import FAMILIES
from firmware_protocols.angel_eye import AngelEyeSettings, StandBy
from shoed.ports.capture import Direction, Header, Record, header_text, record_text
from shoed.rig.dealer import Pace, deal
from shoed.session.angel_eye_shoe import AngelEyeShoe

DECKS: Final = 10
SEED: Final = 5
PACE: Final = Pace(card=(0.8, 1.5), round=(25.0, 35.0))
TIMES_FASTER: Final = 1000

CONFIG: Final = """\
[site]
name = "bench"
state_dir = "state-{number}"
[mqtt]
url = "mqtt://127.0.0.1:{port}"
[[table]]
name = "bac-1"
game = "fortune-six"
decks = 10
[table.shoe]
protocol = "angel-eye"
port = "tcp://127.0.0.1:1"
"""


def shoe() -> Iterator[Record]:
    """What the shoe says from its first card to its stand-by, each of the copies when it is there."""
    family, settings = FAMILIES["angel-eye"], AngelEyeSettings()
    device, at_us = AngelEyeShoe(settings), 0.0
    state = device.begin()
    for pause_s, said in deal(Random(SEED), DECKS, PACE):
        state, frames = device.say(state, said)
        at_us += pause_s * 1_000_000
        size = len(frames) // settings.copies
        for begin in range(0, len(frames), size):
            at_us += size * family.line.seconds_per_byte * 1_000_000
            yield Record(int(at_us), Direction.FROM_DEVICE, frames[begin : begin + size])
        if isinstance(said, StandBy):
            return


def run() -> None:
    records = list(shoe())
    family = FAMILIES["angel-eye"]
    with tempfile.TemporaryDirectory(prefix="shoed-bench-") as name:
        folder = Path(name)
        capture = folder / "shoe.capture"
        header = header_text(Header(family.name, family.firmware[0], family.line))
        capture.write_text(header + "".join(map(record_text, records)))
        seconds = min(replayed(folder, capture, number) for number in range(TIMES))
    name = f"(g) {DECKS} decks, {len(records)} records replayed / 1/{TIMES_FASTER} of their time"
    report(name, seconds, records[-1].at_us / 1_000_000 / TIMES_FASTER, 1.0, unit="s")


def replayed(folder: Path, capture: Path, number: int) -> float:
    sink = Sink()
    config = folder / f"shoed-{number}.toml"
    config.write_text(CONFIG.format(number=number, port=sink.port))
    command = [str(Path(sys.executable).with_name("shoed")), "replay", str(capture), "--config", str(config)]
    began = perf_counter()
    subprocess.run([*command, "--table", "bac-1", "--fast"], check=True)
    return perf_counter() - began
