"""A subscriber that is connected all the time: MQTT 3.1.1 in a few lines, without a library.

It acknowledges each message, and keeps each event as it was received.
"""

import asyncio
import json
import struct
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tests.patience import PATIENCE_S

CONNACK, PUBLISH, SUBACK = 2, 3, 9
CONNECT: Final = b"\x00\x04MQTT\x04\x02\x00\x00"  # version 4, a clean session, no keep-alive

Json = Any  # a decoded payload


class Received(NamedTuple):
    """One event as it was received."""

    table: str
    event: Json


class Subscriber:
    def __init__(self, site: str) -> None:
        self.root = f"shoed/v1/{site}/"
        self.events: list[Received] = []  # in the order of their arrival, with repetitions
        self.retained: dict[str, bytes] = {}  # the last message of each topic that is not an event
        self.news = asyncio.Event()
        self.ended = False
        self.wrong = b""  # a message that is not JSON

    async def connect(self, host: str, port: int, name: str) -> asyncio.Task[None]:
        """Subscribe; the task receives until it is cancelled."""
        self.reader, self.writer = await asyncio.open_connection(host, port)
        self._send(0x10, CONNECT + text(name))
        kind, body = await self._packet()
        assert (kind >> 4, body[1]) == (CONNACK, 0), body
        self._send(0x82, b"\x00\x01" + text(f"{self.root}#") + b"\x01")
        kind, body = await self._packet()
        while kind >> 4 == PUBLISH:
            self._take(kind, body)
            kind, body = await self._packet()
        assert (kind >> 4, body[-1]) == (SUBACK, 1), body
        return asyncio.create_task(self._receive())

    async def _receive(self) -> None:
        try:
            with suppress(asyncio.IncompleteReadError):
                while True:
                    kind, body = await self._packet()
                    if kind >> 4 == PUBLISH:
                        self._take(kind, body)
        finally:
            self.ended = True
            self.news.set()
            self.writer.close()

    def _send(self, first: int, body: bytes) -> None:
        size, length = bytearray(), len(body)
        while True:
            size.append(length % 128 | (128 if length > 127 else 0))
            length //= 128
            if not length:
                break
        self.writer.write(bytes((first,)) + size + body)

    async def _packet(self) -> tuple[int, bytes]:
        (first,) = await self.reader.readexactly(1)
        length, shift = 0, 0
        while True:
            (part,) = await self.reader.readexactly(1)
            length |= (part & 127) << shift
            shift += 7
            if part < 128:
                return first, await self.reader.readexactly(length)

    def _take(self, first: int, body: bytes) -> None:
        (size,) = struct.unpack_from(">H", body)
        topic, rest = body[2 : 2 + size].decode().removeprefix(self.root), body[2 + size :]
        if first & 0x06:
            self._send(0x40, rest[:2])  # PUBACK
            rest = rest[2:]
        table, _, name = topic.partition("/")
        if name.startswith("event/"):
            self.wrong = topic.encode() + b" " + rest
            self.events.append(Received(table, json.loads(rest)))
        else:
            self.retained[topic] = rest
        self.news.set()

    async def until_it_has(self, ids: set[str]) -> bool:
        """Wait until all these events are received. Return whether they are."""
        missing, seen = set(ids), 0
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while missing and not self.ended:
                    missing -= {each.event["id"] for each in self.events[seen:]}
                    seen = len(self.events)
                    if missing:
                        self.news.clear()
                        await self.news.wait()
        return not missing


def text(words: str) -> bytes:
    coded = words.encode()
    return struct.pack(">H", len(coded)) + coded
