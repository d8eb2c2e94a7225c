"""A queue from the event loop to a thread: the order of its items, its waits, and its descriptors."""

import gc
import threading
from collections.abc import Callable
from time import monotonic

from shoed.ports.thread_queue import ThreadQueue
from tests.links import open_descriptors
from tests.patience import PATIENCE_S

ITEMS = 10_000


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_each_item_arrives_once_and_in_order() -> None:
    """The thread is slower, faster, or as fast as the event loop."""
    queue, taken = ThreadQueue[int](), list[int | None]()
    thread = in_thread(lambda: taken.extend(queue.get(PATIENCE_S) for _ in range(ITEMS)))
    for item in range(ITEMS):
        queue.put(item)
    thread.join(PATIENCE_S)
    assert taken == list(range(ITEMS))
    assert len(queue) == 0


def test_an_item_ends_the_wait() -> None:
    """Also a wait without a limit, and also after a wait that ended without an item."""
    queue, taken, is_taken = ThreadQueue[str](), list[str | None](), threading.Event()

    def take() -> None:
        for _ in range(3):
            taken.append(queue.get(None))
            is_taken.set()

    thread = in_thread(take)
    for item in ("one", "two", "three"):
        is_taken.clear()
        queue.put(item)
        assert is_taken.wait(PATIENCE_S)
    thread.join(PATIENCE_S)
    assert taken == ["one", "two", "three"]


def test_without_an_item_the_wait_ends_at_its_limit() -> None:
    """With a limit of zero or less, there is no wait, and a queued item is returned."""
    queue, began = ThreadQueue[int](), monotonic()
    queue.put(1)
    assert (queue.get(-1), queue.get(0), queue.get(-1)) == (1, None, None)
    assert queue.get(0.05) is None
    assert monotonic() - began >= 0.05


def test_a_queue_that_is_gone_has_no_descriptor() -> None:
    """A daemon may begin many writers."""
    gc.collect()
    before = open_descriptors()
    queue = ThreadQueue[int]()
    queue.put(1)
    assert len(open_descriptors()) == len(before) + 2
    del queue
    gc.collect()
    assert open_descriptors() == before
