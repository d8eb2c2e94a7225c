"""A client of the metrics: one request in bytes, and the whole answer."""

import asyncio
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from shoed.service.command_socket import address
from tests.patience import PATIENCE_S

SOCKET: Final = "metrics.sock"


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  # JSON
        return msgspec.json.decode(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    def value(self, series: str) -> float:
        """The value of a series of /metrics, as in `shoed_backlog_events{table="bac-901"}`."""
        (found,) = [line for line in self.text.splitlines() if line.rpartition(" ")[0] == series]
        return float(found.rpartition(" ")[2])


def parsed(answer: bytes) -> HttpAnswer:
    assert answer, "the connection was closed without an answer"
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *fields = head.decode().split("\r\n")
    return HttpAnswer(int(first.split()[1]), dict(field.split(": ", 1) for field in fields), body)


def request(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


async def exchanged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> bytes:
    """Send the bytes, and read up to the end of the connection."""
    try:
        writer.write(data)
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    finally:
        writer.close()


async def fetch(place: Path, path: str, method: str = "GET") -> HttpAnswer:
    """Request a page at the unix socket of a state directory."""
    with address(place, SOCKET) as socket:
        reader, writer = await asyncio.open_unix_connection(socket)
    return parsed(await exchanged(reader, writer, request(path, method)))


async def fetch_tcp(port: int, path: str) -> HttpAnswer:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    return parsed(await exchanged(reader, writer, request(path)))
