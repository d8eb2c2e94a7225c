"""The log of the daemon, whose reader may stop reading."""

import asyncio
import logging
import os
import threading
from contextlib import suppress

from shoed.service.log import Log
from tests.foreign_shoe import TcpShoe
from tests.witnesses import PATIENCE_S
from tests.world import SHOED, World


class Writer:
    """Blocks each write until `may_write` is set."""

    def __init__(self) -> None:
        self.may_write = threading.Event()
        self.texts: list[str] = []

    def write(self, text: str) -> None:
        self.may_write.wait()
        self.texts.append(text)


def line(text: str) -> logging.LogRecord:
    return logging.LogRecord("shoed", logging.INFO, "", 0, text, None, None)


def test_lines_beyond_the_room_are_dropped_and_counted() -> None:
    """The next line after them has their number; the end writes the lines in the queue."""
    writer = Writer()
    log = Log(writer.write, room=5)
    for number in range(12):
        log.handle(line(str(number)))
    log.lines.get_nowait()
    log.lines.get_nowait()
    log.handle(line("again"))
    writer.may_write.set()
    log.thread.start()
    log.lines.put(None)
    log.thread.join()
    dropped = "WARNING shoed: 7 log lines were dropped: the reader of the log stopped reading; check the reader"
    assert writer.texts == [*(f"INFO shoed: {text}" for text in "234"), dropped, "INFO shoed: again"]


def test_a_reader_that_stops_reading_does_not_delay_the_end() -> None:
    """The queue is full and stays full."""
    log = Log(Writer().write, room=1)
    log.handle(line("one"))
    log.end()
    assert log.lines.qsize() == 1


async def test_no_table_waits_for_the_reader_of_the_log(world: World) -> None:
    """The pipe is full before the daemon starts. The daemon still serves its table and ends at a signal."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    async with TcpShoe() as shoe:
        path = world.configure(shoe)
        process = await asyncio.create_subprocess_exec(SHOED, "run", "--config", str(path), stderr=writer)
        try:
            os.close(writer)
            await world.recorder.event("device.online")
            await world.settled(shoe)
            process.terminate()
            assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
        finally:
            os.close(reader)
            if process.returncode is None:
                process.kill()
                await process.wait()
