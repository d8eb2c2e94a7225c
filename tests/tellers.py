"""Those who tell: a connection to the socket in bytes, and `shoed tell` as a process."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from shoed.commands import Answer
from shoed.ports.tell import address
from tests.witnesses import TABLE, Journal

PATIENCE_S: Final = 20.0


class Client:
    """One connection, in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def hear(self) -> Answer | None:
        """The next answer; None at the end of the connection."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                line = await self.reader.readline()
            except ConnectionResetError:  # it ended with bytes of ours unread
                return None
        return msgspec.json.decode(line, type=Answer) if line else None

    async def say(self, line: bytes) -> Answer | None:
        self.writer.write(line)
        return await self.hear()


@asynccontextmanager
async def client(place: Path) -> AsyncIterator[Client]:
    with address(place) as path:
        reader, writer = await asyncio.open_unix_connection(path)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


class Said(NamedTuple):
    status: int
    out: str
    err: str


async def shoed(*words: str | Path) -> Said:
    """A command of ours, to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "shoed",
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, err = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert process.returncode is not None
    assert "Traceback" not in err.decode()
    return Said(process.returncode, out.decode(), err.decode())


def line(sender: str, command: str = "open-bets", table: str = TABLE, **keys: object) -> bytes:
    """A request of a supervisor's."""
    told = {"command": command, **keys}
    fields = {"table": table, "id": sender, "author": "ann", "role": "pit-supervisor", "command": told}
    return msgspec.json.encode(fields) + b"\n"


def told(journal: Journal, table: str = TABLE) -> list[tuple[int, Any, Any]]:
    """Row, command and answer of all that was told, as it is on record."""
    question = "SELECT row, input, answers FROM step WHERE table_name = ? AND bytes IS NULL ORDER BY row"
    rows = ((row, msgspec.json.decode(came), answers) for row, came, answers in journal.ask(question, table))
    return [(row, came, msgspec.json.decode(answers)) for row, came, answers in rows if came["came"] == "Told"]
