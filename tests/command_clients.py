"""Clients of the command socket: a connection in bytes, and `shoed tell` as a process."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from shoed.model.commands import Answer
from shoed.service.command_socket import address
from tests.patience import PATIENCE_S
from tests.witnesses import TABLE, Journal


class Client:
    """One connection, in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def receive(self) -> Answer | None:
        """The next answer; None at the end of the connection."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                line = await self.reader.readline()
            except ConnectionResetError:  # the daemon closed it with unread bytes of the client
                return None
        return msgspec.json.decode(line, type=Answer) if line else None

    async def request(self, line: bytes) -> Answer | None:
        self.writer.write(line)
        return await self.receive()


@asynccontextmanager
async def client(place: Path) -> AsyncIterator[Client]:
    with address(place) as path:
        reader, writer = await asyncio.open_unix_connection(path)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


class Finished(NamedTuple):
    status: int
    out: str
    err: str


async def shoed(
    *words: str | Path, patience_s: float = PATIENCE_S, environment: Mapping[str, str] = MappingProxyType({})
) -> Finished:
    """Run a `shoed` command to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "shoed",
        *words,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(patience_s):
            out, err = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert process.returncode is not None
    assert "Traceback" not in err.decode()
    return Finished(process.returncode, out.decode(), err.decode())


def line(request_id: str, command: str = "open-bets", table: str = TABLE, **keys: object) -> bytes:
    """A request of a pit supervisor."""
    given = {"command": command, **keys}
    fields = {"table": table, "id": request_id, "author": "ann", "role": "pit-supervisor", "command": given}
    return msgspec.json.encode(fields) + b"\n"


def recorded_commands(journal: Journal, table: str = TABLE) -> list[tuple[int, Any, Any]]:
    """Row, command and answers of every recorded command."""
    rows = ((step.row, msgspec.json.decode(step.input), step.answers) for step in journal.steps(table))
    return [(row, entry, msgspec.json.decode(answers)) for row, entry, answers in rows if entry["came"] == "Told"]
