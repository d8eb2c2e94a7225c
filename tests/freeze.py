"""Stop one thread of another process, as a debugger does: `python -m tests.freeze PID NUMBER COUNT`.

The thread stands still until the input of this program ends. A signal stops every thread of a process; ptrace stops
one. The kernel wants all requests from one thread, and the parent of the process must not wait for the stop. Therefore
this is a process of its own. It prints `frozen`. A thread that runs Python code holds the lock of the interpreter, and
would stop the other threads too. A sleeping one does not.
"""

import asyncio
import ctypes
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from tests.patience import PATIENCE_S

FROZEN: Final = b"frozen\n"
SKIPPED: Final = 77  # as in automake

DETACH: Final = 17
SEIZE: Final = 0x4206
INTERRUPT: Final = 0x4207
WAIT_FOR_THREADS: Final = 0x40000000  # __WALL

libc: Final = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
libc.ptrace.restype = ctypes.c_long


def request(kind: int, thread: int) -> None:
    if libc.ptrace(kind, thread, None, None):
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace: {os.strerror(number)}")


def freeze(process: int, number: int, count: int) -> int:
    """Freeze the thread with this number, as soon as the process has this many threads. A thread may end before."""
    while True:
        found = threads(process)
        if len(found) == count:
            with suppress(ProcessLookupError):
                request(SEIZE, found[number])
                break
    state = Path(f"/proc/{found[number]}/stat")
    while state.read_text().rpartition(")")[2].split()[0] != "S":
        pass
    request(INTERRUPT, found[number])
    os.waitpid(found[number], WAIT_FOR_THREADS)
    return found[number]


@asynccontextmanager
async def frozen(process: int, number: int, count: int) -> AsyncIterator[None]:
    """The thread with this number does not run within the context. It begins when there are this many threads."""
    debugger = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.freeze", *map(str, (process, number, count))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )
    assert debugger.stdin is not None
    assert debugger.stdout is not None
    try:
        try:
            line = await asyncio.wait_for(debugger.stdout.readline(), PATIENCE_S)
        except TimeoutError:
            debugger.kill()
            raise
        if not line and await debugger.wait() == SKIPPED:
            pytest.skip("the kernel does not allow ptrace (kernel.yama.ptrace_scope)")
        assert line == FROZEN
        yield
    finally:
        debugger.stdin.close()
        await debugger.wait()


def threads(process: int) -> list[int]:
    """The threads in the order of their start, as the kernel lists them. Their numbers may start again from 1."""
    return [int(each.name) for each in Path(f"/proc/{process}/task").iterdir()]


if __name__ == "__main__":
    try:
        chosen = freeze(*map(int, sys.argv[1:]))
    except PermissionError:
        sys.exit(SKIPPED)
    sys.stdout.buffer.write(FROZEN)
    sys.stdout.flush()
    sys.stdin.read()
    request(DETACH, chosen)
