"""Blocking work in threads: its result, its failure, and the cancellation of its caller."""

import asyncio
import threading

import pytest

from shoed.ports.threads import off_loop
from tests.patience import PATIENCE_S


async def test_the_caller_gets_the_result_or_the_failure() -> None:
    """The work runs in another thread."""
    assert await off_loop(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await off_loop(lambda: 1 // 0)


async def test_the_work_of_a_cancelled_caller_is_undone() -> None:
    """The work ends, and its result is undone before the cancellation returns."""
    begun, goes_on = threading.Event(), threading.Event()
    undone: list[str] = []

    def work() -> str:
        begun.set()
        goes_on.wait(PATIENCE_S)
        return "descriptor"

    task = asyncio.create_task(off_loop(work, undo=undone.append))
    assert await off_loop(lambda: begun.wait(PATIENCE_S))
    task.cancel()
    asyncio.get_running_loop().call_later(0.02, goes_on.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert undone == ["descriptor"]


async def test_work_that_hangs_is_left_after_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that does not return does not block the caller. If it returns later, its result is undone."""
    monkeypatch.setattr("shoed.ports.threads.PATIENCE_S", 0.05)
    begun, goes_on, undone = threading.Event(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        goes_on.wait(PATIENCE_S)
        return "descriptor"

    task = asyncio.create_task(off_loop(work, undo=lambda _: undone.set()))
    assert await off_loop(lambda: begun.wait(PATIENCE_S))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not undone.is_set()
    goes_on.set()
    assert await off_loop(lambda: undone.wait(PATIENCE_S))


async def test_failed_work_of_a_cancelled_caller_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """There is nothing to undo."""
    begun = threading.Event()

    def work() -> None:
        begun.set()
        raise OSError("no such device")

    undone: list[None] = []
    task = asyncio.create_task(off_loop(work, undo=undone.append))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises((asyncio.CancelledError, OSError)):
        await task
    assert begun.wait(PATIENCE_S)
    assert (undone, caplog.records) == ([], [])
