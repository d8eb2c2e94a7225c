"""A proxy between a daemon and its broker that can hold, cut and record the packets.

Theory of operation. The proxy reads each direction packet by packet, by the length in MQTT's fixed header. A held
packet is not forwarded. `passed` contains the forwarded packets in order. While the proxy is shut, no process listens
on its port, as if the broker were down.
"""

import asyncio
import contextlib
import socket
from enum import Enum
from typing import NamedTuple, Self

from tests.witnesses import Watched

CONNACK, PUBLISH, PUBACK = 2, 3, 4


class Way(Enum):
    UP = "to the broker"
    DOWN = "to the daemon"


class Packet(NamedTuple):
    connection: int
    way: Way
    kind: int
    topic: str  # of a PUBLISH, or of the PUBLISH of a PUBACK


class Proxy(Watched):
    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self.broker = host, port
        # Bound and not listening: no other process gets the port while the proxy is shut.
        self.place = socket.socket()
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind(("127.0.0.1", 0))
        self.port: int = self.place.getsockname()[1]
        self.passed: list[Packet] = []
        self.flowing = {way: asyncio.Event() for way in Way}
        self.connections = 0
        self.lines: set[asyncio.StreamWriter] = set()
        self.topics: dict[tuple[int, bytes], str] = {}  # by connection and packet identifier
        self.server: asyncio.Server | None = None
        self.release()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shut()
        self.place.close()

    async def open(self) -> None:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, reuse_address=True)

    async def shut(self) -> None:
        """Close every connection without the held packets, and accept no new one."""
        if self.server is not None:
            self.server.close()
            self.server = None
        await self.cut()

    async def cut(self) -> None:
        """Close every connection without the held packets."""
        for line in self.lines:
            line.transport.abort()
        await self.until(lambda: not self.lines)

    def hold(self, way: Way) -> None:
        self.flowing[way].clear()

    def release(self) -> None:
        for flow in self.flowing.values():
            flow.set()

    def count(self, kind: int, *topics: str) -> int:
        """The number of packets of a kind on the last connection whose topics have one of these ends."""
        return sum(
            packet.connection == self.connections and packet.kind == kind and packet.topic.endswith(topics)
            for packet in self.passed
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self.lines.add(writer)
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(*self.broker)
            self.lines.add(far_writer)
            pumps = (
                asyncio.create_task(self._pump(number, Way.UP, reader, far_writer)),
                asyncio.create_task(self._pump(number, Way.DOWN, far_reader, writer)),
            )
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)
            far_writer.transport.abort()
            self.lines.discard(far_writer)
        writer.transport.abort()
        self.lines.discard(writer)
        self.news.set()

    async def _pump(self, number: int, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting = b""
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                waiting += data
                while size := packet_size(waiting):
                    packet, waiting = waiting[:size], waiting[size:]
                    await self.flowing[way].wait()
                    writer.write(packet)
                    await writer.drain()
                    self._note(number, way, packet)

    def _note(self, number: int, way: Way, packet: bytes) -> None:
        kind, body = packet[0] >> 4, packet[body_begins(packet) :]
        topic = ""
        if kind == PUBLISH:
            length = int.from_bytes(body[:2], "big")
            topic = body[2 : 2 + length].decode()
            self.topics[number, body[2 + length : 4 + length]] = topic
        elif kind == PUBACK:
            topic = self.topics.pop((number, body[:2]), "")
        self.passed.append(Packet(number, way, kind, topic))
        self.news.set()


def body_begins(packet: bytes) -> int:
    """The position after the type and the length. Only the last byte of the length has bit 7 clear."""
    here = 1
    while packet[here] & 0x80:
        here += 1
    return here + 1


def packet_size(data: bytes) -> int:
    """The size of the first packet; 0 if it is not complete."""
    length = 0
    for place, byte in enumerate(data[1:5]):
        length |= (byte & 0x7F) << 7 * place
        if not byte & 0x80:
            size = 2 + place + length
            return size if len(data) >= size else 0
    return 0
