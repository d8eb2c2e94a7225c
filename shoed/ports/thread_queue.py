"""A queue from the event loop to a thread.

Theory of operation: a semaphore, as in `queue.SimpleQueue`, wakes the thread while the event loop holds the lock of the
interpreter. The thread then sleeps again until the loop waits for its next bytes: with both on one processor, this
takes 40 us. A write to an eventfd gives the lock away before it wakes the thread. The eventfd is edge-triggered, so
it is not read.
"""

import math
import os
import select
import weakref
from collections import deque
from time import monotonic
from typing import Final, Generic, TypeVar

T = TypeVar("T")

EDGE: Final = select.EPOLLIN | select.EPOLLET


class ThreadQueue(Generic[T]):
    """One thread takes the items."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._bell = os.eventfd(0)
        self._bells = select.epoll()
        self._bells.register(self._bell, EDGE)
        weakref.finalize(self, os.close, self._bell)

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        self._items.append(item)
        os.eventfd_write(self._bell, 1)

    def get(self, timeout_s: float | None) -> T | None:
        """The next item; None: there is none within this time. With None as the time, wait without a limit."""
        until = math.inf if timeout_s is None else monotonic() + timeout_s
        while not self._items:
            left_s = until - monotonic()
            if left_s <= 0:
                return None
            self._bells.poll(None if timeout_s is None else left_s)  # it may return for an item that was taken already
        return self._items.popleft()
