"""Blocking calls in threads: opening and closing a UART, resolving a host name.

Each call has its own daemon thread, and does not use the thread pool of the event loop. A driver that hangs in the
kernel must block neither the port of another table nor the end of the process.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

T = TypeVar("T")
X = TypeVar("X")

# A cancelled caller waits this long for its thread. A thread that needs longer undoes its work without the caller.
PATIENCE_S: Final = 2.0


async def off_loop(work: Callable[[], T], undo: Callable[[T], object] = lambda _: None) -> T:
    """The result of `work`. If the caller is cancelled, the work still ends, and `undo` receives its result."""
    working = _start(work)
    result = asyncio.wrap_future(working)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        result.add_done_callback(lambda done: done.exception())  # or asyncio would log it

        def finish() -> None:
            if working.exception() is None:  # failed work has nothing to undo
                undo(working.result())

        await asyncio.wait([asyncio.wrap_future(_start(finish))], timeout=PATIENCE_S)
        raise


def call_on_loop(loop: asyncio.AbstractEventLoop, call: Callable[[X], object], argument: X) -> None:
    """Schedule a call on the event loop from a thread. After the end of the loop this has no effect."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, argument)


def _start(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # the caller receives every exception
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="shoed-port", daemon=True).start()
    return future
