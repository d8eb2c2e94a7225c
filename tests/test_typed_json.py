"""The decoders of JSON in several threads."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.patience import PATIENCE_S
from tests.test_command_line import written

# Tables continue at the same moment: each thread decodes the state of its engine, for the first time in the process.
CONTINUE: Final = """
import sys, threading
from pathlib import Path
import msgspec
from shoed.service.config import load
from shoed.service.engines import engine_of

(table,) = load(Path(sys.argv[1])).tables
engines = [engine_of(table, "5d0c7a12") for _ in range(4)]
begun = engines[0].begin()
state = msgspec.json.encode(begun).decode()
begin, restored = threading.Barrier(len(engines)), []

def restore(engine):
    begin.wait()
    restored.append(engine.restore(state))

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=restore, args=(engine,)) for engine in engines]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert restored == [begun] * len(engines)
"""


def test_threads_use_a_type_for_the_first_time(tmp_path: Path) -> None:
    """Without the lock, most of these processes end with a segmentation fault."""
    command = [sys.executable, "-c", CONTINUE, str(written(tmp_path))]
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert (done.returncode, done.stderr) == (0, "")
