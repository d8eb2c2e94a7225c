"""The journal's cost of one bad line: a real daemon, and a TCP peer that sends noise, undue cards, or resets.

`python -m benchmarks.noise KIND [MEGABYTES or COUNT]`; the kinds are `05`, `random`, `undue` and `resets`. A second
table of the same daemon has a good line: the journal must contain all its cards. The output is the sent bytes, the
size of the journal, their ratio, and the rows, events and log lines. There is no bar, because the input decides.
"""

import asyncio
import random
import socket
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Final

from shoed.journal import Reader
from shoed.journal.reader import LAST_ROW

SHOED: Final = str(Path(sys.executable).parent / "shoed")
MEGABYTE: Final = 1_000_000
PIECE: Final = 1 << 16
SILENT_S: Final = 12.0  # counts are published every ten seconds
RESET: Final = struct.pack("ii", 1, 0)


def report(sequence: int, letter: bytes, data: bytes) -> bytes:
    inside = b"%d%s%s\x03" % (sequence % 9 + 1, letter, data)
    return b"\x05" + inside + b"%02X" % reduce(xor, inside)


async def noise(kind: str, amount: float) -> AsyncIterator[bytes]:
    rng = random.Random(1)
    for _ in range(0, int(amount * MEGABYTE), PIECE):
        yield b"\x05" * PIECE if kind == "05" else rng.randbytes(PIECE)


async def undue(amount: float) -> AsyncIterator[bytes]:
    for number in range(int(amount)):
        yield report(number, b"D", bytes((0x93, 0xB0 | number % 13 + 1))) * 3


async def good() -> AsyncIterator[bytes]:
    for number in range(10**9):
        yield report(number, b"D", bytes((0x81, 0xB0 | number % 13 + 1))) * 3
        await asyncio.sleep(0.5)


class Peer:
    """A device server that sends the same bytes to each client."""

    def __init__(self, source: AsyncIterator[bytes] | None) -> None:
        self.source = source
        self.sent = 0
        self.accepted = 0
        self.over = asyncio.Event()

    async def serve(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self.source is None:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()
            return
        with suppress(ConnectionError, asyncio.CancelledError):  # the daemon, or this run, has ended
            async for piece in self.source:
                writer.write(piece)
                await writer.drain()
                self.sent += len(piece)
        self.over.set()


async def run(kind: str, amount: float) -> None:
    source = None if kind == "resets" else undue(amount) if kind == "undue" else noise(kind, amount)
    bad, fine = Peer(source), Peer(good())
    servers = [await asyncio.start_server(peer.serve, "127.0.0.1", 0) for peer in (bad, fine)]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        config = place / "shoed.toml"
        tables = "".join(
            f'[[table]]\nname = "{name}"\ngame = "commission"\n[table.shoe]\nprotocol = "angel-eye"\n'
            f'port = "tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"\n'
            for name, server in zip(("bad", "good"), servers, strict=True)
        )
        config.write_text(
            f'[site]\nname = "s"\nstate_dir = "{place}/state"\n[mqtt]\nurl = "mqtt://127.0.0.1:1"\n{tables}'
        )
        with (place / "log").open("wb") as log:
            began = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                SHOED, "run", "--config", str(config), stdout=log, stderr=log
            )
            if kind == "resets":
                await asyncio.sleep(amount)
            else:
                await bad.over.wait()
                await asyncio.sleep(SILENT_S)
            elapsed_s = time.monotonic() - began
            biggest = sum(each.stat().st_size for each in (place / "state").glob("journal*"))
            process.terminate()
            await process.wait()
        print(
            f"{kind}: {bad.sent} bytes and {bad.accepted} connections in {elapsed_s:.0f} s; the files: {biggest} bytes"
        )
        print_costs(place, bad, fine)
        check = [SHOED, "journal", "replay", "--check", "--state-dir", str(place / "state")]
        await (await asyncio.create_subprocess_exec(*check)).wait()
    for server in servers:
        server.close()


def print_costs(place: Path, bad: Peer, fine: Peer) -> None:
    path = place / "state" / "journal.db"
    with closing(Reader(path)) as reader:
        events = Counter(reader.rows("SELECT type FROM event WHERE table_name = 'bad'"))
        rows, _ = reader.counts("bad")
        cards, seen = (
            sum(each.observations.count('"CardSeen"') for each in reader.step(name, 1, LAST_ROW))
            for name in ("good", "bad")
        )
        ((kept,),) = reader.rows("SELECT coalesce(sum(length(bytes)), 0) FROM step WHERE table_name = 'bad'")
    lines = (place / "log").read_text().splitlines()
    size = path.stat().st_size
    print(f"journal: {size} bytes; {size / max(1, bad.sent):.3f} of the sent bytes")
    print(f"rows: {rows}, with {kept} bytes of the line; cards on record: {seen}")
    print(f"events: { {name: count for (name,), count in events.items()} }")
    print(f"log: {len(lines)} lines")
    print(f"the other table: {fine.sent // 24} cards sent, {cards} on record")


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], float([*sys.argv, "10"][2])))
