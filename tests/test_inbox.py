"""Received bytes that no consumer has read yet: their possible age, and the effect of a pause."""

import asyncio

from shoed.model.moments import Chunk, Now
from shoed.ports.clock import now
from shoed.ports.inbox import LIMIT_BYTES, Inbox
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
