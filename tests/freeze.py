"""Stop one thread of another process, as a debugger does: `python -m tests.freeze TID`, until its input ends.

A signal stops every thread of a process; ptrace stops one. The kernel wants all requests from one thread, and the
parent of the process must not wait for the stop. Therefore this is a process of its own. It prints `frozen`. A thread
that runs Python code holds the lock of the interpreter, and would stop the other threads too. A sleeping one does not.
"""

import asyncio
import ctypes
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

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


def freeze(thread: int) -> None:
    request(SEIZE, thread)
    state = Path(f"/proc/{thread}/stat")
    while state.read_text().rpartition(")")[2].split()[0] != "S":
        pass
    request(INTERRUPT, thread)
    os.waitpid(thread, WAIT_FOR_THREADS)


@asynccontextmanager
async def frozen(thread: int) -> AsyncIterator[None]:
    """The thread does not run within the context."""
    debugger = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.freeze", str(thread)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )
    assert debugger.stdin is not None
    assert debugger.stdout is not None
    try:
        line = await debugger.stdout.readline()
        if not line and await debugger.wait() == SKIPPED:
            pytest.skip("the kernel does not allow ptrace (kernel.yama.ptrace_scope)")
        assert line == FROZEN
        yield
    finally:
        debugger.stdin.close()
        await debugger.wait()


def threads(process: int) -> list[int]:
    """The threads in the order of their start."""
    return sorted(int(each.name) for each in Path(f"/proc/{process}/task").iterdir())


if __name__ == "__main__":
    chosen = int(sys.argv[1])
    try:
        freeze(chosen)
    except PermissionError:
        sys.exit(SKIPPED)
    sys.stdout.buffer.write(FROZEN)
    sys.stdout.flush()
    sys.stdin.read()
    request(DETACH, chosen)
