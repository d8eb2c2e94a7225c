"""The restart with a long journal, compared with the restart with a short one, and the start after an engine change.

Both journals are made by the engine and the committer (`benchmarks.recorded`), and end within a round without a clean
stop. A restart is the time of the process from its start to READY. The start after a change of the engine is the
function that makes the state of a table, with no readable checkpoint.

SHOED_BENCH_ROWS is the number of rows of the long journal (ROWS without it); a million rows take five minutes to make
and 0.3 GB. SHOED_BENCH_JOURNAL is a directory that keeps the journals for the next run.
"""

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.bench import TIMES, report
from benchmarks.footprint import configuration, measure
from benchmarks.recorded import record
from shoed.service.config import load

ROWS: Final = 100_000
SHORT: Final = 10_000
BAR: Final = 1.5
BAR_S: Final = 10.0  # after an engine change: "within seconds"

# The state of the table from a seed, and the peak of the resident memory.
SEEDED: Final = """
import sys, time, resource
from contextlib import closing
from pathlib import Path
from shoed.journal import restore
from shoed.journal.reader import Reader
from shoed.service.config import load, recall
from shoed.service.engines import engine_of
restore.READABLE = frozenset()
config = load(sys.argv[1])
with closing(Reader(Path(config.state_dir) / "journal.db")) as reader:
    engine = engine_of(config.tables[0], reader.word)
    began = time.perf_counter()
    found = restore.restore(reader, config.tables[0].name, engine, lambda of: engine_of(recall(of), reader.word))
    seconds = time.perf_counter() - began
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def journal_of(folder: Path, rows: int) -> Path:
    """The configuration of a daemon with a journal of so many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    path = configuration(folder, 1)
    config = load(str(path))
    if not (Path(config.state_dir) / "journal.db").exists():
        record(Path(config.state_dir), config.tables[0], rows)
    return path


def restart(path: Path) -> float:
    """The best time from the start of the process to READY. Each process is killed, and leaves two further rows."""
    command = [str(Path(sys.executable).with_name("shoed")), "run", "--config", str(path)]
    return min(measure(command, path.parent)[0] for _ in range(TIMES))


def run() -> None:
    rows = int(os.environ.get("SHOED_BENCH_ROWS", ROWS))
    with ExitStack() as stack:
        place = os.environ.get("SHOED_BENCH_JOURNAL")
        folder = Path(
            place or stack.enter_context(tempfile.TemporaryDirectory(prefix="shoed-restart-", dir="/var/tmp"))
        )
        short, long = journal_of(folder / f"{SHORT}", SHORT), journal_of(folder / f"{rows}", rows)
        name = f"restart with {rows} rows / with {SHORT} rows"
        seeded = subprocess.run(
            [sys.executable, "-c", SEEDED, str(long)], check=True, capture_output=True, text=True
        ).stdout.split()
        report(f"(l) {name}", restart(long) * 1e3, restart(short) * 1e3, BAR, unit="ms")
        report(f"(l) state of {rows} rows after an engine change / {BAR_S:g} s", float(seeded[0]), BAR_S, 1.0, unit="s")
        sys.stdout.write(f"(l) peak of the resident memory during this: {float(seeded[1]):.0f} MB\n")


if __name__ == "__main__":
    run()
