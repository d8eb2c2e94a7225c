"""The time to replay a capture of a complete shoe into the journal and the broker, compared with the shoe's own time.

Ten decks at the pace of a real table: half a minute from one round to the next. The subject is `shoed replay --fast`,
the process from its start to its end. The broker is part of the benchmark and answers immediately.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

from benchmarks.bench import report
from benchmarks.latency import Sink
from firmware_protocols.angel_eye import AngelEyeSettings, StandBy
from firmware_protocols.family import Line
from shoed.ports.capture import CaptureRecord, Direction, Header, header_text, record_text
from shoed.rig.dealer import Pace, deal
from shoed.session.angel_eye_shoe import AngelEyeShoe

DECKS: Final = 10
SEED: Final = 5
LINE: Final = Line(4800)
PACE: Final = Pace(card=(0.8, 1.5), round=(25.0, 35.0))
TIMES_FASTER: Final = 1000
RUNS: Final = 3  # the best run varies by a few percent

CONFIG: Final = """\
[site]
name = "bench"
state_dir = "state"
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


def shoe() -> Iterator[CaptureRecord]:
    """Return the bytes of the shoe from its first card to its stand-by, with the time of each copy."""
    settings = AngelEyeSettings()
    device, at_us = AngelEyeShoe(settings), 0.0
    state = device.begin()
    for pause_s, due in deal(Random(SEED), DECKS, PACE):
        state, frames = device.say(state, due)
        at_us += pause_s * 1_000_000
        size = len(frames) // settings.copies
        for begin in range(0, len(frames), size):
            at_us += size * LINE.seconds_per_byte * 1_000_000
            yield CaptureRecord(int(at_us), Direction.FROM_DEVICE, frames[begin : begin + size])
        if isinstance(due, StandBy):
            return


def alone(records: Iterable[CaptureRecord]) -> Iterator[CaptureRecord]:
    """Send each byte separately, as a serial line may deliver them."""
    return (CaptureRecord(each.at_us, each.direction, bytes((byte,))) for each in records for byte in each.data)


def run() -> None:
    whole = list(shoe())
    seconds = whole[-1].at_us / 1_000_000
    for how, records in (("a report", whole), ("a byte", list(alone(whole)))):
        best = min(replayed(records) for _ in range(RUNS))
        name = f"(g) {DECKS} decks replayed, {how} at a time / 1/{TIMES_FASTER} of it"
        report(name, best, seconds / TIMES_FASTER, 1.0, unit="s")


def replayed(records: Iterable[CaptureRecord]) -> float:
    """Run the complete command, with a journal and a broker of its own."""
    sink, header = Sink(), header_text(Header("angel-eye", "ii-ex", LINE))
    with tempfile.TemporaryDirectory(prefix="shoed-bench-") as name:
        capture, config = Path(name) / "shoe.capture", Path(name) / "shoed.toml"
        capture.write_text(header + "".join(map(record_text, records)))
        config.write_text(CONFIG.format(port=sink.port))
        command = [str(Path(sys.executable).with_name("shoed")), "replay", str(capture), "--config", str(config)]
        began = perf_counter()
        subprocess.run([*command, "--table", "bac-1", "--fast"], check=True, stderr=subprocess.DEVNULL)
        return perf_counter() - began
