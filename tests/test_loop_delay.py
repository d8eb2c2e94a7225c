"""Bytes that the event loop reads late: after a stop, without processor time, or after its own work."""

import asyncio
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_THREAD, getrusage

import pytest

from shoed.model.moments import Chunk
from shoed.ports import loop_delay
from shoed.ports.clock import now
from shoed.ports.inbox import Inbox
from shoed.ports.loop_delay import LATE_NS

LONG_S = 0.5  # the length of a wait or a standstill; a busy machine needs less for anything else
LONG_NS = int(LONG_S * 1e9)


class Line:
    """A pipe that an inbox reads on the event loop."""

    def __init__(self) -> None:
        self.source, self.sink = os.pipe()
        self.inbox = Inbox(lambda: None, lambda: None)
        asyncio.get_running_loop().add_reader(self.source, self.read)

    def read(self) -> None:
        self.inbox.heard(Chunk(os.read(self.source, 64), now()))

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self.source)
        self.inbox.end("closed")
        os.close(self.source)
        os.close(self.sink)


@pytest.fixture
async def line() -> Iterator[Line]:  # type: ignore[misc]
    opened = Line()
    yield opened
    opened.close()


def work() -> None:
    """Keep the event loop from its waits."""
    threading.Event().wait(LONG_S)


async def silence(line: Line) -> None:
    """Wait for bytes; none arrive."""
    receiving = asyncio.create_task(line.inbox.receive())
    assert await asyncio.wait([receiving], timeout=LONG_S) == (set(), {receiving})
    receiving.cancel()


def start(*command: str, inherits: int, stdout: int | None = None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, pass_fds=[inherits], stdout=stdout, stderr=subprocess.DEVNULL)


def helper(script: str, line: Line, *words: object) -> "subprocess.Popen[bytes]":
    """Another process, which acts while this process waits or is stopped. It runs when the function returns."""
    process = start(
        "/bin/sh",
        "-c",
        f"echo; {script}",
        "helper",
        str(os.getpid()),
        f"/dev/fd/{line.sink}",
        *map(str, words),
        inherits=line.sink,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout:
        process.stdout.readline()
    return process


async def test_bytes_after_a_long_wait_arrived_just_now(line: Line) -> None:
    """No timer runs during the wait."""
    writer = helper(f"sleep {LONG_S}; printf A > $2", line)
    assert (await line.inbox.receive()).late_ns < LONG_NS
    writer.wait()


async def test_bytes_that_arrive_during_the_loops_own_work_may_be_as_old_as_the_work(line: Line) -> None:
    """Here the event loop is blocked."""
    await asyncio.sleep(0)
    os.write(line.sink, b"A")
    work()
    assert (await line.inbox.receive()).late_ns >= LONG_NS


async def test_bytes_that_arrive_while_the_process_is_stopped_may_be_as_old_as_the_wait(line: Line) -> None:
    """SIGCONT ends the stop; the time of the stop is unknown. Later bytes are not late."""
    script = "sleep 0.1; kill -STOP $1; printf A > $2; sleep $3; kill -CONT $1"
    stopping = helper(script, line, LONG_S)
    chunk = await line.inbox.receive()
    assert chunk.late_ns > LONG_NS
    assert stopping.wait() == 0
    writer = helper(f"sleep {LONG_S}; printf B > $2", line)
    assert (await line.inbox.receive()).late_ns < LONG_NS
    writer.wait()


async def test_a_wait_that_does_not_end_at_its_limit_is_a_standstill(line: Line) -> None:
    """Without a handler of SIGCONT: a frozen container, or a paused virtual machine."""
    signal.signal(signal.SIGCONT, signal.SIG_DFL)
    script = "sleep 0.02; kill -STOP $1; sleep $3; kill -CONT $1"
    stopping = helper(script, line, 2 * LONG_S)
    await silence(line)
    assert line.inbox.heard_until().mono_ns < time.monotonic_ns() - LATE_NS
    assert stopping.wait() == 0


async def test_a_thread_without_processor_time_reads_late(line: Line) -> None:
    """A busy process of higher priority has the only processor."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    ended = "time.monotonic() + 0.5"
    busy = f"import os,time\nos.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\nuntil={ended}\n"
    busy += f"os.write({line.sink}, b'A')\nwhile time.monotonic() < until: pass"
    try:
        process = start(sys.executable, "-c", busy, inherits=line.sink)
        receiving = asyncio.create_task(line.inbox.receive())
        while process.poll() is None and not receiving.done():
            await asyncio.wait([receiving], timeout=0.1)
        if not receiving.done():
            receiving.cancel()
            pytest.skip("this user may not set a real-time priority")
        assert (await receiving).late_ns > LATE_NS
        process.wait()
    finally:
        os.sched_setaffinity(0, processors)


async def test_a_page_fault_between_two_waits_does_not_disturb_the_second_wait(line: Line, tmp_path: Path) -> None:
    """The thread reads a page of its memory from the disk, and then waits."""
    file = tmp_path / "page"
    file.write_bytes(bytes(mmap.PAGESIZE))
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as page:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        writer = helper(f"sleep {LONG_S}; printf A > $2; sleep {LONG_S}; printf B > $2", line)
        await line.inbox.receive()
        faults = getrusage(RUSAGE_THREAD).ru_majflt
        assert page[0] == 0
        if getrusage(RUSAGE_THREAD).ru_majflt == faults:
            pytest.skip("this file system reads no page from a disk")
        assert (await line.inbox.receive()).late_ns < LONG_NS
    writer.wait()


async def test_without_schedstat_a_timer_finds_the_standstill(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes are late, and undisturbed bytes are not."""
    monkeypatch.setattr(loop_delay, "SCHEDSTAT", "/proc/none")
    opened = Line()
    await silence(opened)
    os.write(opened.sink, b"A")
    assert (await opened.inbox.receive()).late_ns < LONG_NS
    os.write(opened.sink, b"A")
    work()
    assert (await opened.inbox.receive()).late_ns >= LONG_NS
    opened.close()


async def test_asyncio_waits_by_its_selector() -> None:
    """LoopDelay measures the waits there: `_selector` is a private name of asyncio."""
    loop = asyncio.get_running_loop()
    original = loop._selector.select  # type: ignore[attr-defined]  # noqa: SLF001
    opened = Line()
    assert loop._selector.select != original  # type: ignore[attr-defined]  # noqa: SLF001
    opened.close()
    assert loop._selector.select == original  # type: ignore[attr-defined]  # noqa: SLF001
