"""`./dev crash --kind operations`: kills and faults of the disk in backup, restore, salvage, retention and migration.

Theory of operation. A trial runs one operation with one injury: a kill or a fault of the disk at the call with a seeded
number. Then the laws of the operation are checked. Then the operation is repeated without an injury: it must succeed,
and leave the same files as an operation without an injury. An operation that reports success must have its result, and
one that fails must print one line with the cause, the place and the remedy.
"""

import errno
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Final, NamedTuple

from tests.crash.disk import ALWAYS, ANY, CHANGES, Call, FaultyDisk, Mode
from tests.crash.forks import Finished, Forks
from tests.crash.operations import OPERATIONS, READY, serve

READ: Final = "EIO of a read"  # a salvage reports what the disk cannot read, and continues
STAMP: Final = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
# The logs are present if a reader was the last to close; a thread of the daemon writes the public key.
PASSING: Final = ("journal.db-wal", "journal.db-shm", "journal.pub", "journal.pub.new")


class Injury(NamedTuple):
    mode: Mode
    calls: Call = CHANGES
    times: int = 1
    value: int = 0


INJURIES: Final[Mapping[str, Injury]] = {
    "kill before": Injury(Mode.KILL_BEFORE),
    "kill after": Injury(Mode.KILL_AFTER),
    "torn write": Injury(Mode.TEAR, Call.WRITE, value=60),
    "ENOSPC": Injury(Mode.FULL, times=ALWAYS),
    "EIO": Injury(Mode.FAIL, times=ALWAYS, value=errno.EIO),
    "EIO once": Injury(Mode.FAIL, value=errno.EIO),
    READ: Injury(Mode.FAIL, Call.READ, value=errno.EIO),
}


class Trial(NamedTuple):
    operation: str
    injury: str
    after: int

    def __str__(self) -> str:
        return f"{self.operation}, {self.injury} at call {self.after}"


class Ward:
    """One operation, with its files before it and after it without an injury."""

    def __init__(self, name: str, place: Path, disk: FaultyDisk, forks: Forks) -> None:
        self.name = name
        self.operation = OPERATIONS[name]
        self.place = disk.directory
        self.before = place / "before"
        self.disk = disk
        self.forks = forks
        self.place.mkdir()
        self.operation.prepare(self.place, forks)
        self.place.rename(self.before)
        self.measured: dict[tuple[bool, Call], int] = {}

    def calls(self, injury: str) -> int:
        """The number of calls that the injury may meet: those of an operation that succeeds."""
        mode, calls, *_ = INJURIES[injury]
        if (mode is Mode.FULL, calls) not in self.measured:  # a full disk meets growing files only
            self.begin(INJURIES[injury]._replace(times=0), 0)
            finished = self.operation.run(self.place, self.forks)
            self.measured[mode is Mode.FULL, calls] = self.disk.matched
            assert finished.status == int(self.operation.salvaged), finished
            assert (defects := [*self.complete()]) == [], defects
            self.names = names(self.place)
        return self.measured[mode is Mode.FULL, calls]

    def begin(self, injury: Injury, after: int) -> None:
        """The files before the operation, and a disk that fails."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.before, self.place)
        mode, calls, times, value = injury
        self.disk.begin(mode, calls, ANY, after=after, times=times, value=value)

    def complete(self) -> Iterator[str]:
        """The laws of an operation that has reported success."""
        yield from readable(self.operation.laws(self.place, self.before))
        yield from readable(self.operation.result(self.place, self.before))

    def run(self, trial: Trial) -> list[str]:
        """The defects of a trial."""
        self.calls(trial.injury)
        self.begin(INJURIES[trial.injury], trial.after)
        finished = self.operation.run(self.place, self.forks)
        injected = self.disk.injected
        self.disk.heal()
        defects = [*self.reported(finished, injected)]
        if trial.injury == READ and self.operation.salvaged:
            return defects
        defects += readable(self.operation.laws(self.place, self.before))
        if finished.status == 0 and not self.operation.is_daemon:
            defects += readable(self.operation.result(self.place, self.before))
        again = self.operation.run(self.place, self.forks)
        if again.status not in {0, int(self.operation.salvaged)}:
            defects.append(f"repeated: status {again.status}: {again.err}")
        defects += [f"repeated: {each}" for each in self.complete()]
        if litter := names(self.place) - self.names:
            defects.append(f"litter: {sorted(litter)}")
        if self.operation.starts and (started := serve(self.place, self.forks, lambda log: READY in log)).status != 0:
            defects.append(f"the daemon does not start: {started}")
        return [f"{each}\n    {finished}" for each in defects]

    def reported(self, finished: Finished, injected: int) -> Iterator[str]:
        """A failure is reported by its exit status, and by one line."""
        status, err = finished
        if "Traceback" in err:
            yield "a traceback"
        if status not in (0, 1, -SIGKILL) or (status != 0 and not injected and not self.operation.salvaged):
            yield f"status {status}"
        if status == 1 and (err or not self.operation.salvaged):
            lines = err.splitlines()
            complete = [line for line in lines if str(self.place) in line and ";" in line]
            if not complete or (len(lines) > 1 and not self.operation.is_daemon):
                yield "the error is not one line with the cause, the place and the remedy"


def readable(defects: Iterator[str]) -> Iterator[str]:
    """Defects, also that the files cannot be examined."""
    try:
        yield from defects
    except sqlite3.DatabaseError as error:
        yield f"a file cannot be examined: {error}"


@contextmanager
def ward(name: str, place: Path) -> Iterator[Ward]:
    """An operation below a directory without symbolic links."""
    place.mkdir(parents=True)
    disk = FaultyDisk(place / "files", place)
    with Forks(place, disk.environment) as forks:
        yield Ward(name, place, disk, forks)


def names(place: Path) -> set[str]:
    """The files below a directory, without their times. The journals that were replaced are wanted."""
    found = (str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    return {STAMP.sub("TIME", name) for name in found if not name.endswith(PASSING)}


def injury(ward: Ward, seed: int, number: int) -> Trial:
    """A seeded trial: the injuries in turn, each at a random call."""
    dice = Random(f"{seed}/{ward.name}")
    injuries = dice.sample(list(INJURIES), len(INJURIES))
    name = injuries[number % len(injuries)]
    return Trial(ward.name, name, Random(f"{seed}/{ward.name}/{number}").randrange(ward.calls(name)))
