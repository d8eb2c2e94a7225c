"""Received bytes that no consumer has read yet: their possible age, and the effect of a pause."""

import asyncio

import pytest

from shoed.errors import CommitFailed, LinkLost
from shoed.model.moments import Chunk, Now
from shoed.ports.clock import now
from shoed.ports.inbox import LIMIT_BYTES, PIECE, Inbox, Take
from shoed.ports.loop_delay import GRACE_NS

PAUSED_NS = 10_000_000_000
BUSY_NS = GRACE_NS + 10_000_000  # the time until a busy event loop reads again


def after(at: Now, ns: int) -> Now:
    return Now(at.utc_us + ns // 1000, at.mono_ns + ns)


async def paused() -> tuple[Inbox, Now]:
    """An inbox that has been full for 10 s, and the time of its last reading."""
    inbox = Inbox(lambda: None, lambda: None)
    at = after(now(), -PAUSED_NS)
    for _ in range(2):
        inbox.heard(Chunk(bytes(LIMIT_BYTES // 2), at))
    return inbox, at


async def test_bytes_read_first_after_a_pause_may_be_as_old_as_the_pause() -> None:
    """The line buffered the bytes during the pause, however long the busy event loop needs to read them."""
    inbox, at = await paused()
    await inbox.receive()
    inbox.heard(Chunk(b"1", after(now(), BUSY_NS)))
    await inbox.receive()
    assert (await inbox.receive()).earliest.mono_ns == at.mono_ns
    inbox.end("closed")


async def test_silence_is_unknown_until_the_line_is_read_again() -> None:
    """The inbox is empty, but the line may hold bytes."""
    inbox, at = await paused()
    for _ in range(2):
        await inbox.receive()
    assert inbox.heard_until().mono_ns == at.mono_ns
    inbox.end("closed")


async def test_a_pause_is_over_when_the_event_loop_has_read() -> None:
    """Bytes read after that are not as old as the pause."""
    inbox, _ = await paused()
    for _ in range(2):
        await inbox.receive()
    for _ in range(3):
        await asyncio.sleep(0)
    inbox.heard(Chunk(b"1", after(now(), BUSY_NS)))
    assert (await inbox.receive()).late_ns < PAUSED_NS
    inbox.end("closed")


async def test_another_task_runs_before_each_waiting_chunk() -> None:
    """A line that floods does not delay the other tables."""
    inbox, turns = Inbox(lambda: None, lambda: None), list[int]()
    for _ in range(3):
        inbox.heard(Chunk(b"1", now()))

    async def other_table() -> None:
        for turn in range(10):
            turns.append(turn)
            await asyncio.sleep(0)

    other = asyncio.create_task(other_table())
    seen = [(await inbox.receive(), len(turns)) for _ in range(3)]
    assert [count for _, count in seen] == [1, 2, 3]
    await other
    inbox.end("closed")


# --- a consumer that takes at once


async def waiting(inbox: Inbox, take: Take | None) -> asyncio.Task[Chunk]:
    """A consumer that waits for the next chunk."""
    consumer = asyncio.create_task(inbox.receive(take))
    await asyncio.sleep(0)
    return consumer


async def test_a_waiting_consumer_takes_a_chunk_at_once() -> None:
    """The chunk waits for no turn of the event loop. A chunk that follows it is taken by the next call."""
    inbox, taken = Inbox(lambda: None, lambda: None), list[bytes]()
    consumer = await waiting(inbox, lambda chunk: taken.append(chunk.data))
    inbox.heard(Chunk(b"1", now()))
    assert taken == [b"1"]
    inbox.heard(Chunk(b"2", now()))
    assert taken == [b"1"]
    assert (await consumer).data == b"1"
    await inbox.receive(lambda chunk: taken.append(chunk.data))
    assert taken == [b"1", b"2"]
    inbox.end("closed")


@pytest.mark.parametrize("waits", [True, False])
async def test_a_long_chunk_is_taken_in_pieces(waits: bool) -> None:  # noqa: FBT001
    """Between two pieces, the other tables run."""
    inbox, taken, data = Inbox(lambda: None, lambda: None), list[bytes](), bytes(range(256)) * 8
    if waits:
        consumer = await waiting(inbox, lambda chunk: taken.append(chunk.data))
        inbox.heard(Chunk(data, now()))
        await consumer
    else:
        inbox.heard(Chunk(data, now()))
    while len(b"".join(taken)) < len(data):
        await inbox.receive(lambda chunk: taken.append(chunk.data))
    assert b"".join(taken) == data
    assert [len(each) for each in taken] == [PIECE, PIECE, len(data) - 2 * PIECE]
    inbox.end("closed")


async def test_a_cancelled_consumer_has_taken_its_chunk() -> None:
    """Without a function, the chunk stays in the inbox. No chunk is lost, and none is taken twice."""
    inbox, taken = Inbox(lambda: None, lambda: None), list[bytes]()
    consumer = await waiting(inbox, lambda chunk: taken.append(chunk.data))
    inbox.heard(Chunk(b"1", now()))
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)
    plain = await waiting(inbox, None)
    inbox.heard(Chunk(b"2", now()))
    plain.cancel()
    await asyncio.gather(plain, return_exceptions=True)
    await inbox.receive(lambda chunk: taken.append(chunk.data))
    assert taken == [b"1", b"2"]
    inbox.end("closed")


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_the_consumer_gets_the_error_of_its_function(is_cancelled: bool) -> None:  # noqa: FBT001
    """The reader of the line would close it without a reason. A cancelled table would neither continue nor end."""

    def fail(_: Chunk) -> None:
        raise CommitFailed("the disk is full")

    inbox = Inbox(lambda: None, lambda: None)
    consumer = await waiting(inbox, fail)
    inbox.heard(Chunk(b"1", now()))
    if is_cancelled:
        consumer.cancel()
    with pytest.raises(CommitFailed, match="the disk is full"):
        await consumer
    inbox.end("closed")


async def test_a_function_that_ends_an_iteration_fails() -> None:
    """A future does not accept StopIteration."""
    inbox = Inbox(lambda: None, lambda: None)
    consumer = await waiting(inbox, lambda _: next(iter(())))
    inbox.heard(Chunk(b"1", now()))
    with pytest.raises(RuntimeError, match="StopIteration"):
        await consumer
    inbox.end("closed")


async def test_the_end_of_the_link_wakes_a_waiting_consumer() -> None:
    """After the last chunk."""
    inbox, taken = Inbox(lambda: None, lambda: None), list[bytes]()
    consumer = await waiting(inbox, lambda chunk: taken.append(chunk.data))
    inbox.heard(Chunk(b"1", now()))
    inbox.end("closed")
    assert (await consumer).data == b"1"
    with pytest.raises(LinkLost, match="closed"):
        await inbox.receive()
