"""Commands and daemons on a faulty disk, each in a fork of one process that has imported shoed: a start takes 0.3 s.

Theory of operation. The process reads requests from its standard input: a line of JSON with the words of a command and
the path of a FIFO. It forks; the child writes its standard error to the FIFO and runs the command. The process prints
the process id of the child, and after a further line its exit status. Until then the id belongs to the child. Retention
looks for old rows at once, and deletes them in small batches.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Timer
from typing import Final, NamedTuple, Self

from tests.patience import PATIENCE_S

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PARENT: Final = """
import json, os, sys
import shoed.bus.publisher, shoed.cli.journal.backup, shoed.cli.journal.restore, shoed.cli.journal.salvage
import shoed.cli.run, shoed.service.daemon, shoed.service.retention
from shoed.cli import main
from shoed.journal import retention
from shoed.service import retention as task

retention.BATCH, task.FIRST_S, task.PAUSE_S = 60, 0, 0
for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(request["err"], os.O_WRONLY), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 120
        try:
            status = main(request["words"])
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)
    print(child, flush=True)
    sys.stdin.readline()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Finished(NamedTuple):
    status: int
    err: str


def nothing() -> None:
    """Wait."""


def never(_: str) -> bool:
    return False


class Forks:
    """The process, from `with` to its end. `place`: a directory for the FIFO."""

    def __init__(self, place: Path, environment: Mapping[str, str]) -> None:
        self.fifo = place / "err"
        os.mkfifo(self.fifo)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=PATIENCE_S)

    def run(
        self, *words: str | Path, until: Callable[[str], bool] = never, meanwhile: Callable[[], None] = nothing
    ) -> Finished:
        """Run a command to its end. Stop it when its standard error fulfils a condition."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"words": [str(each) for each in words], "err": str(self.fifo)}
        self.process.stdin.write(f"{json.dumps(request)}\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        limit = Timer(PATIENCE_S, os.kill, (child, signal.SIGKILL))
        limit.start()
        with self.fifo.open() as stream:
            meanwhile()
            err = ""
            for line in stream:
                err += line
                if until(err):
                    os.kill(child, signal.SIGTERM)
                    until = never
        limit.cancel()
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return Finished(int(self.process.stdout.readline()), err)
