"""An Open Shoe of version 3 on a line, with or without a key; and an attacker between its TCP port and the host.

Its clock advances by a second with every card: the cards are recorded quickly, and do not count as drawn together.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Self

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe.messages import ReportBody
from shoed.model.moments import Chunk, Now
from shoed.ports.address import TcpAddress
from shoed.ports.cipher import Aes, draw
from shoed.ports.clock import now
from shoed.rig.device import RigDevice
from shoed.rig.open_shoe import VirtualOpenShoe
from shoed.rig.outlets import PtyOutlet, TcpOutlet
from shoed.rig.secured import SecuredDevice
from shoed.session.open_shoe_device import DeviceState
from tests.open_shoe_line import MS, A
from tests.test_open_shoe_table import card

KEY: Final = bytes(range(16))
OTHER_KEY: Final = bytes(16)


class KeyedShoe:
    """`node`: the link of a pseudo-terminal; without it, the shoe listens on TCP."""

    def __init__(self, key: bytes | None = KEY, node: Path | None = None, version: int = 3) -> None:
        self.key = key
        self.version = version
        self.ahead_ms = 0
        self.device = self.made()
        self.outlet: TcpOutlet | PtyOutlet = (
            TcpOutlet(TcpAddress("127.0.0.1", 0), self.heard, patient=False, single=True)
            if node is None
            else PtyOutlet(str(node), self.heard)
        )
        self.port = self.outlet.at
        self.out: asyncio.Queue[bytes] = asyncio.Queue()
        self.tasks: list[asyncio.Task[None]] = []
        self.waking: asyncio.TimerHandle | None = None

    def made(self) -> RigDevice:
        plain = VirtualOpenShoe(OpenShoeSettings(), A, version=self.version)
        return plain if self.key is None else SecuredDevice(plain, self.key, Aes(), draw)

    async def __aenter__(self) -> Self:
        await self.outlet.open()
        self.tasks = [asyncio.create_task(self.greet()), asyncio.create_task(self.give())]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.waking is not None:
            self.waking.cancel()
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)
        await self.outlet.close()

    async def greet(self) -> None:
        while True:
            await self.outlet.connected.wait()
            self.put(self.device.opened(self.at().at))
            await self.outlet.connected.left.wait()

    async def give(self) -> None:
        while True:
            await self.outlet.give(await self.out.get())

    def at(self, data: bytes = b"") -> Chunk:
        moment = now()
        return Chunk(data, Now(moment.utc_us, moment.mono_ns + self.ahead_ms * MS))

    def heard(self, data: bytes = b"") -> None:
        self.put(self.device.hear(self.at(data)))

    def put(self, out: bytes) -> None:
        self.out.put_nowait(out)
        if self.waking is not None:
            self.waking.cancel()
        due_ns = self.device.wake_at()
        if due_ns is not None:
            due_s = max(0.0, (due_ns - self.at().at.mono_ns) / 1e9)
            self.waking = asyncio.get_running_loop().call_later(due_s, self.heard)

    def deal(self, *faces: str) -> None:
        for face in faces:
            self.report(card(face))

    def report(self, body: ReportBody) -> None:
        self.ahead_ms += 1000
        self.put(self.device.say(body, self.at().at))

    @property
    def has_kept(self) -> bool:
        """Whether a report is not acknowledged."""
        state = self.device.state
        assert isinstance(state, DeviceState)
        return bool(state.store.kept)

    def fall_silent(self) -> None:
        self.tasks[1].cancel()

    def restart(self) -> None:
        """The power is cut while the line stays open. The kept reports are lost, and the stream has the same id."""
        self.device = self.made()
        self.put(self.device.opened(self.at().at))


class Attacker:
    """A TCP port in front of another port: it passes everything on and records it, and can insert bytes."""

    def __init__(self, port: str) -> None:
        self.place = port.removeprefix("tcp://").partition(":")
        self.to_host: list[bytes] = []
        self.to_device: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []  # host, device
        self.tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> str:
        return f"tcp://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for task in tuple(self.tasks):
            task.cancel()
        for writer in self.writers:
            writer.close()
        if self.tasks:
            await asyncio.wait(self.tasks)

    async def serve(self, of_host: asyncio.StreamReader, to_host: asyncio.StreamWriter) -> None:
        of_device, to_device = await asyncio.open_connection(self.place[0], int(self.place[2]))
        self.writers = [to_host, to_device]
        for reader, writer, recorded in (
            (of_host, to_device, self.to_device),
            (of_device, to_host, self.to_host),
        ):
            task = asyncio.create_task(passed_on(reader, writer, recorded))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def inject(self, data: bytes, *, to_device: bool = False) -> None:
        self.writers[to_device].write(data)


async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, recorded: list[bytes]) -> None:
    try:
        while data := await reader.read(4096):
            recorded.append(data)
            writer.write(data)
    except OSError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def attacked(key: bytes | None = KEY) -> AsyncIterator[tuple[KeyedShoe, Attacker]]:
    async with KeyedShoe(key) as shoe, Attacker(shoe.port) as attacker:
        yield shoe, attacker


def write_key(path: Path, key: bytes = KEY, mode: int = 0o400) -> Path:
    path.unlink(missing_ok=True)
    path.write_text(f"{key.hex()}\n")
    path.chmod(mode)
    return path
