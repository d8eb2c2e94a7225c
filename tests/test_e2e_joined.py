"""Parts of frames and copies in one row with the next Step: a pty with single bytes, a kill, and a stop."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from shoed.cli.journal.opening import opened
from tests.command_clients import shoed
from tests.foreign_shoe import NATURAL, ROUNDS, PtyShoe, TcpShoe, result
from tests.witnesses import TABLE
from tests.world import Daemon, World


def received(world: World) -> bytes:
    """All bytes of the line on record, in their order."""
    return b"".join(data for _, data in world.journal.received())


def pieces(world: World) -> Iterator[bytes]:
    """The bytes as they were read from the line."""
    with opened(world.state_dir) as reader:
        for step in reader.step(TABLE, 1, 10**9):
            yield from (each.input.data for each in step.quiet)
            if step.received is not None:
                yield step.received


def bytes_read(daemon: Daemon) -> int:
    """The bytes that the process has read; the kernel counts them."""
    (line,) = (each for each in Path(f"/proc/{daemon.pid}/io").read_text().splitlines() if each.startswith("rchar"))
    return int(line.split()[1])


async def replayed(world: World) -> None:
    """The journal is recomputed without a difference."""
    checked = await shoed("journal", "replay", "--check", "--state-dir", world.state_dir)
    assert (checked.status, checked.err) == (0, "")


async def test_single_bytes_of_a_serial_line_are_joined(world: World) -> None:
    """Each byte is on record, in its order and as it was read. A report has at most two rows."""
    sent = b""
    async with PtyShoe(world.place / "tty") as shoe:
        daemon = await world.serve(shoe)
        for frame in (*ROUNDS[0].frames, *ROUNDS[1].frames):
            data = bytes.fromhex(frame) * 3
            sent += data
            for byte in data:
                before = bytes_read(daemon)
                await shoe.send(bytes((byte,)))
                await daemon.looking(lambda before=before: bytes_read(daemon) > before)  # type: ignore[misc]
        await world.recorder.event("round.confirmed", round=2)
        assert await daemon.stop() == 0
    assert received(world) == sent
    parts = list(pieces(world))
    assert b"".join(parts) == sent
    assert len(parts) > len(sent) / 3
    reports = len(ROUNDS[0].frames) + len(ROUNDS[1].frames)
    assert len(list(world.journal.received())) <= 2 * reports + 1
    await replayed(world)


async def test_a_stop_records_the_quiet_inputs(world: World) -> None:
    """The copies and the beginning of a frame arrive immediately before the stop."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.say(NATURAL[0], copies=1)
        await world.recorder.event("card.drawn")
        raw = bytes.fromhex(ROUNDS[0].frames[0])
        await shoe.send(raw * 2 + raw[:3])
        await shoe.taken()
        assert await daemon.stop() == 0
    assert received(world) == raw * 3 + raw[:3]
    await replayed(world)


async def test_quiet_inputs_are_recorded_without_a_further_input(world: World) -> None:
    """No other input follows. The row of the copies has no event."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        await shoe.say(NATURAL[0])
        raw = bytes.fromhex(ROUNDS[0].frames[0])
        await daemon.looking(lambda: received(world) == raw * 3)
        await daemon.kill()
    await replayed(world)


async def test_a_kill_between_the_parts_of_a_frame_loses_no_committed_card(world: World) -> None:
    """The bytes in memory are lost, as bytes in the cable. The sequence proves that no card is missing."""
    async with TcpShoe() as shoe:
        daemon = await world.serve(shoe)
        for sent, body in enumerate(NATURAL, 1):
            await shoe.say(body, copies=1)
            await world.recorder.event("card.drawn", index=sent)
            await shoe.send(bytes.fromhex(ROUNDS[0].frames[sent])[:4])
            await shoe.taken()
            await daemon.kill()
            await shoe.deserted()
            daemon = await world.start(shoe)
            await shoe.connected()
        await shoe.say(result("player"))
        await world.recorder.event("round.confirmed")
        await world.all_published()
        assert await daemon.stop() == 0
    (completed,) = (each.data for each in world.journal.events() if each.type == "round.completed")
    assert completed["integrity"] == "complete"
    await replayed(world)
    with closing(sqlite3.connect(world.journal.path)) as journal:
        ((rows, last),) = journal.execute("SELECT count(*), max(row) FROM step")
    assert rows == last
