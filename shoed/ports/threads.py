"""Blocking calls off the loop: opening and closing a UART, looking up a name.

Each call has a daemon thread of its own, never the loop's pool: a driver that hangs in the kernel
must hold up neither another table's port nor the end of the process.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

T = TypeVar("T")
X = TypeVar("X")

# A cancelled caller waits so long for its thread. One that hangs longer undoes its work alone, if it ever returns.
PATIENCE_S: Final = 2.0


async def off_loop(work: Callable[[], T], undo: Callable[[T], object] = lambda _: None) -> T:
    """The result of `work`. When cancelled meanwhile, the work still ends, and its result is undone."""
    working = _start(work)
    result = asyncio.wrap_future(working)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        result.add_done_callback(lambda done: done.exception())  # nobody else asks for it

        def finish() -> None:
            with contextlib.suppress(Exception):  # work that failed leaves nothing to undo
                undo(working.result())

        await asyncio.wait([asyncio.wrap_future(_start(finish))], timeout=PATIENCE_S)
        raise


def tell(loop: asyncio.AbstractEventLoop, call: Callable[[X], object], what: X) -> None:
    """From a thread, what the loop is to hear; one that has ended hears nothing."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, what)


def _start(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # whatever it is, it belongs to the caller
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="shoed-port", daemon=True).start()
    return future
