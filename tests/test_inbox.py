"""What a link has received and no consumer has taken: when it was read, and what a pause leaves unread."""

import asyncio

from shoed.now import Chunk, Now
from shoed.ports.clock import now
from shoed.ports.inbox import LIMIT_BYTES, Inbox
from shoed.ports.pulse import GRACE_NS

PAUSED_NS = 10_000_000_000
BUSY_NS = GRACE_NS + 10_000_000  # of a loop, until it reads again


def after(at: Now, ns: int) -> Now:
    return Now(at.utc_us + ns // 1000, at.mono_ns + ns)


async def paused() -> tuple[Inbox, Now]:
    """An inbox that has been full for 10 s, and the moment of its last reading."""
    inbox = Inbox(lambda: None, lambda: None)
    at = after(now(), -PAUSED_NS)
    for _ in range(2):
        inbox.heard(Chunk(bytes(LIMIT_BYTES // 2), at))
    return inbox, at


async def test_what_is_first_read_after_a_pause_may_be_as_old_as_the_pause() -> None:
    """The line held the bytes meanwhile, however long the busy loop needs until it reads."""
    inbox, at = await paused()
    await inbox.receive()
    inbox.heard(Chunk(b"1", after(now(), BUSY_NS)))
    await inbox.receive()
    assert (await inbox.receive()).earliest.mono_ns == at.mono_ns
    inbox.end("closed")


async def test_no_silence_is_known_before_the_line_is_read_again() -> None:
    """The inbox is empty, and the line may hold bytes."""
    inbox, at = await paused()
    for _ in range(2):
        await inbox.receive()
    assert inbox.heard_until().mono_ns == at.mono_ns
    inbox.end("closed")


async def test_a_pause_is_over_once_the_loop_has_read() -> None:
    """What is read after that is not as old as the pause."""
    inbox, _ = await paused()
    for _ in range(2):
        await inbox.receive()
    for _ in range(3):
        await asyncio.sleep(0)
    inbox.heard(Chunk(b"1", after(now(), BUSY_NS)))
    assert (await inbox.receive()).late_ns < PAUSED_NS
    inbox.end("closed")
