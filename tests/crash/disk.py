"""A disk that fails on request, for the files below one directory: the control of `shim.c`.

    disk = FaultyDisk(state_dir, place)  # skips the test without a C compiler
    await world.launch(path, disk.environment)
    disk.fail(errno.ENOSPC, Call.WRITE | Call.SYNC, File.WAL, after=3)  # every later write and sync of the WAL
    disk.heal()

Theory of operation. The library `shim.c` is compiled once for each text of it. The process under test loads it by
LD_PRELOAD. Both map one control file, so that a fault begins with the next call. While `logged` is true, the library
writes each change of a file to a log; `tests/crash/power.py` makes the files after a power cut from it.
"""

import errno
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from enum import IntEnum, IntFlag
from mmap import mmap
from pathlib import Path
from typing import Final

import pytest

SOURCE: Final = Path(__file__).with_name("shim.c")
CACHE: Final = SOURCE.parent.parent.parent / ".cache" / "crash"
FLAGS: Final = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
FIELDS: Final = ("mode", "calls", "files", "after", "times", "value", "until_ns", "logged", "matched", "injected")
SIZE: Final = 8  # bytes of a field
ALWAYS: Final = -1  # times
HOUR_S: Final = 3600.0


class Call(IntFlag):
    """The classes of calls."""

    WRITE = 1
    SYNC = 2
    TRUNCATE = 4
    OPEN = 8
    REMOVE = 16
    RENAME = 32
    READ = 64


class File(IntFlag):
    """The classes of files. DB: `*.db`; WAL: `*-wal` and `*-journal`; SHM: `*-shm`; OTHER: such as keys and heads."""

    DB = 1
    WAL = 2
    SHM = 4
    DIRECTORY = 8
    OTHER = 16


class Mode(IntEnum):
    NONE = 0
    FAIL = 1
    FULL = 2
    HANG = 3
    TEAR = 4
    LIE = 5
    LOSE = 6
    KILL_BEFORE = 7
    KILL_AFTER = 8


CHANGES: Final = Call.WRITE | Call.SYNC | Call.TRUNCATE | Call.OPEN | Call.REMOVE | Call.RENAME
JOURNAL: Final = File.DB | File.WAL
ANY: Final = JOURNAL | File.SHM | File.DIRECTORY | File.OTHER


def library(source: Path = SOURCE) -> Path:
    """The compiled library. Without a C compiler, skip the test; in CI, fail."""
    compiler = shutil.which("cc")
    if compiler is None:
        (pytest.fail if os.environ.get("HIL_REQUIRED") else pytest.skip)("a C compiler (cc) is not installed")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    made = CACHE / f"{source.stem}-{digest}.so"
    if not made.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:  # several runs may compile at once
            built = Path(work, made.name)
            command = (compiler, *FLAGS, "-o", built, source, "-ldl", "-lpthread")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            built.rename(made)
    return made


def preloaded(source: Path = SOURCE) -> dict[str, str]:
    """The environment of a process with the library. A path in LD_PRELOAD must not contain a blank."""
    made = library(source)
    return {"LD_PRELOAD": made.name, "LD_LIBRARY_PATH": str(made.parent)}


class FaultyDisk:
    """The files below `directory`; control file and log are in `place`, outside of it. One fault at a time."""

    def __init__(self, directory: Path, place: Path) -> None:
        self.directory = directory.absolute()
        assert self.directory == self.directory.resolve(), "the library compares paths without symbolic links"
        self.log = place / "faults.log"
        control = place / "faults.control"
        control.write_bytes(bytes(SIZE * len(FIELDS)))
        self.log.write_bytes(b"")
        with control.open("r+b") as file:
            self._fields = memoryview(mmap(file.fileno(), SIZE * len(FIELDS))).cast("q")
        self.environment: Final = {
            **preloaded(),
            "FAULTS_BELOW": str(self.directory),
            "FAULTS_CONTROL": str(control),
            "FAULTS_LOG": str(self.log),
        }

    def _set(self, **fields: int) -> None:
        for name, value in fields.items():
            self._fields[FIELDS.index(name)] = value

    def _get(self, name: str) -> int:
        return self._fields[FIELDS.index(name)]

    def begin(  # noqa: PLR0913  # the fields of the control file
        self,
        mode: Mode,
        calls: Call,
        files: File = JOURNAL,
        *,
        after: int = 0,
        times: int = ALWAYS,
        value: int = 0,
        seconds: float = 0,
    ) -> None:
        """Begin a fault: `after` matching calls pass, then `times` calls have the fault."""
        self.heal()
        until_ns = time.monotonic_ns() + round(seconds * 1e9)
        self._set(calls=calls, files=files, after=after, times=times, value=value, until_ns=until_ns)
        self._set(mode=mode)

    def heal(self) -> None:
        """End the fault, also a hang."""
        self._set(mode=Mode.NONE)
        self._set(matched=0, injected=0)

    def fail(
        self, error: int, calls: Call = CHANGES, files: File = JOURNAL, *, after: int = 0, times: int = ALWAYS
    ) -> None:
        """The calls fail with this errno; for EIO of one call: `times=1`."""
        self.begin(Mode.FAIL, calls, files, after=after, times=times, value=error)

    def fill(self, files: File = ANY, *, after: int = 0) -> None:
        """The disk is full: no file can grow or be created; other writes succeed."""
        self.begin(Mode.FULL, CHANGES, files, after=after)

    def read_only(self, files: File = ANY) -> None:
        """The kernel has mounted the file system read-only, after an error."""
        self.fail(errno.EROFS, CHANGES, files)

    def hang(self, seconds: float = HOUR_S, calls: Call = CHANGES, files: File = JOURNAL, *, after: int = 0) -> None:
        """The calls wait until the time is over, or until `heal`."""
        self.begin(Mode.HANG, calls, files, after=after, seconds=seconds)

    @property
    def matched(self) -> int:
        """The number of matching calls since the beginning of the fault."""
        return self._get("matched")

    @property
    def injected(self) -> int:
        """The number of faults since the beginning."""
        return self._get("injected")

    @property
    def logged(self) -> bool:
        return bool(self._get("logged"))

    @logged.setter
    def logged(self, on: bool) -> None:
        """Begin an empty log, or end the log. No process may use the directory at the beginning."""
        if on:
            self.log.write_bytes(b"")
        self._set(logged=on)
