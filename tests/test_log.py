"""The log of the daemon, whose reader may stop reading."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from shoed.service.journal_log import LONGEST
from shoed.service.log import PLAIN, Log
from tests.foreign_shoe import ROUNDS, TcpShoe
from tests.patience import PATIENCE_S
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
    log = Log(PLAIN.format, writer.write, room=5)
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
    log = Log(PLAIN.format, Writer().write, room=1)
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
            await shoe.connected()
            await world.settled(shoe)
            process.terminate()
            assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
        finally:
            os.close(reader)
            if process.returncode is None:
                process.kill()
                await process.wait()


# ---------------------------------------------------------------------------------------------- the journal of systemd


class SystemJournal:
    """A socket in the place of the journal of systemd."""

    def __init__(self, address: Path) -> None:
        self.address = address
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.line.settimeout(PATIENCE_S)
        self.line.bind(str(address))

    def receive(self) -> dict[str, list[str]]:
        """The fields of the next line: the native protocol, read byte by byte as its page defines it."""
        data = self.line.recv(1 << 20)
        fields: dict[str, list[str]] = {}
        while data:
            end = data.index(b"\n")
            name, sign, value = data[:end].partition(b"=")
            if sign:
                data = data[end + 1 :]
            else:
                size = int.from_bytes(data[end + 1 : end + 9], "little")
                value, data = data[end + 9 : end + 9 + size], data[end + 9 + size :]
                assert data[:1] == b"\n"
                data = data[1:]
            fields.setdefault(name.decode(), []).append(value.decode())
        return fields


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SystemJournal]:
    journal = SystemJournal(tmp_path / "journal")
    yield journal
    journal.line.close()


LINES: Final = f"""
import logging, sys
from shoed.service import log
log.begin(sys.argv[1])
log.ABOUT.set(lambda: {{"TABLE": "bac-901", "ROUND": "2.14"}})
shoed = logging.getLogger("shoed.bus")
shoed.warning("one\\ntwo", extra={{"event_ids": ("w-1", "w-2")}})
shoed.error("x" * {LONGEST + 7})
"""


def journal_stream(file: Path) -> dict[str, str]:
    """The environment of a service whose standard error is this file."""
    found = file.stat()
    return {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}


def log_lines(tmp_path: Path, address: Path, *, is_journal: bool) -> str:
    """The standard error of a process that logs two lines."""
    error = tmp_path / "stderr"
    with error.open("wb") as output:
        settings = journal_stream(error if is_journal else tmp_path)
        code = [sys.executable, "-c", LINES, str(address)]
        subprocess.run(code, stderr=output, check=True, env={**os.environ, **settings})
    return error.read_text()


def test_a_line_in_the_journal_has_its_fields(tmp_path: Path, journal: SystemJournal) -> None:
    """A line break is a part of its message. A message of excessive length is cut, with a note."""
    assert log_lines(tmp_path, journal.address, is_journal=True) == ""
    about = {"SYSLOG_IDENTIFIER": ["shoed"], "LOGGER": ["shoed.bus"], "TABLE": ["bac-901"], "ROUND": ["2.14"]}
    assert journal.receive() == {**about, "MESSAGE": ["one\ntwo"], "PRIORITY": ["4"], "EVENT_ID": ["w-1", "w-2"]}
    long = journal.receive()
    assert long["PRIORITY"] == ["3"]
    assert long["MESSAGE"] == ["x" * LONGEST + f" [cut: the first {LONGEST} of {LONGEST + 7} characters]"]


def test_without_the_socket_of_the_journal_the_lines_have_prefixes(tmp_path: Path) -> None:
    """The journal reads the priority from the prefix of each line of the standard error."""
    one, two, _ = log_lines(tmp_path, tmp_path / "absent", is_journal=True).splitlines()
    assert (one, two) == ("<4>shoed.bus: one", "<4>two")


def test_another_standard_error_has_plain_lines(tmp_path: Path, journal: SystemJournal) -> None:
    """A service may redirect its standard error: JOURNAL_STREAM then names another file."""
    assert log_lines(tmp_path, journal.address, is_journal=False).startswith("WARNING shoed.bus: one\ntwo\nERROR")


SERVICE: Final = """
import sys
from shoed.service import config, daemon, log
from shoed.service.secret_files import Purpose
log.begin(sys.argv[1])
sys.exit(daemon.run(config.load(sys.argv[2], Purpose.RUN), sys.argv[2]))
"""


async def test_lines_about_a_table_have_its_fields(world: World, journal: SystemJournal) -> None:
    """Lines of the port and of the publisher name the table; a line about an event has the id of the event."""
    async with TcpShoe() as shoe:
        port = shoe.port
        log = world.place / "log-0"
        log.touch()
        program = (sys.executable, "-c", SERVICE, str(journal.address))
        await world.launch(world.configure(shoe), journal_stream(log), program)
        await shoe.connected()
        await shoe.deal(ROUNDS[0])
        await world.recorder.event("round.confirmed")
        shoe.lose(2)
        await shoe.say("C")
        await world.recorder.event("line.missed")
        missed = next(each["id"] for each in world.recorder.events() if each["type"] == "shoed.line.missed")
        found: dict[str, dict[str, list[str]]] = {}
        while " row " not in (message := (fields := journal.receive())["MESSAGE"][0]):
            found[message.partition(" ")[2]] = fields
    assert found[f"shoe: {port} is open"]["TABLE"] == ["bac-901"]
    assert found[f"started at mqtt://{world.broker.host}:{world.broker.port}"]["TABLE"] == ["bac-901"]
    assert "TABLE" not in next(fields for text, fields in found.items() if text.startswith("1 table"))
    assert (fields["TABLE"], fields["ROUND"]) == (["bac-901"], ["1.1"])
    assert missed in fields["EVENT_ID"]
