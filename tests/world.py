"""The world around a daemon: its process, a subscriber that records, its journal read from outside, and a broker's proxy.

Theory of operation. Everything waits for what it wants to see, up to PATIENCE_S, and says what was there instead if it
does not come. Only a file of another process tells nobody that it changed: `Daemon.until` looks again whenever the
daemon did not end within a glance.
"""

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import socket
import sqlite3
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import aiomqtt
import msgspec
from paho.mqtt.subscribeoptions import SubscribeOptions

from shoed.rig.broker import Broker
from tests.foreign_shoe import Shoe

T = TypeVar("T")

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SHOED: Final = str(Path(sys.executable).parent / "shoed")
TABLE: Final = "bac-901"
PATIENCE_S: Final = 20.0
GLANCE_S: Final = 0.003

_prctl: Final = ctypes.CDLL(None).prctl
_PR_SET_PDEATHSIG: Final = 1


class Watched:
    """Something that has news, and can be waited for."""

    def __init__(self) -> None:
        self.news = asyncio.Event()

    async def until(self, predicate: Callable[[], T | None], patience_s: float = PATIENCE_S) -> T:
        """What the predicate gives, once that is something."""
        try:
            async with asyncio.timeout(patience_s):
                while not (found := predicate()):
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"it did not come within {patience_s:g} s; there was:\n{self}") from None
        return found


# ---------------------------------------------------------------------------------------------- the subscriber


class Message(NamedTuple):
    topic: str  # below the site: TABLE/...
    payload: bytes
    retain: bool  # as it was published

    @property
    def json(self) -> Any:  # noqa: ANN401  # JSON has any shape
        return msgspec.json.decode(self.payload)


class Recorder(Watched):
    """Everything under one site, in the order it came. Its connection is its own, and the broker's word is kept."""

    def __init__(self, site: str) -> None:
        super().__init__()
        self.root = f"shoed/v1/{site}/"
        self.messages: list[Message] = []
        self.envelopes: dict[str, list[Any]] = {}  # by table
        self.listening: asyncio.Task[None] | None = None

    async def listen(self, broker: Broker) -> None:
        """Subscribe; what was heard before stays."""
        await self.leave()
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.listening = asyncio.create_task(self._listen(broker, ready))
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait((ready, self.listening), return_when=asyncio.FIRST_COMPLETED)
        ready.result()

    async def _listen(self, broker: Broker, ready: asyncio.Future[None]) -> None:
        async with aiomqtt.Client(broker.host, broker.port, protocol=aiomqtt.ProtocolVersion.V5) as client:
            await client.subscribe(f"{self.root}#", options=SubscribeOptions(qos=1, retainAsPublished=True))
            ready.set_result(None)
            with contextlib.suppress(aiomqtt.MqttError):  # the broker was killed
                async for message in client.messages:
                    topic = str(message.topic).removeprefix(self.root)
                    self._hear(Message(topic, bytes(message.payload), message.retain))

    def _hear(self, message: Message) -> None:
        self.messages.append(message)
        table, _, rest = message.topic.partition("/")
        if rest.startswith("event/"):
            self.envelopes.setdefault(table, []).append(message.json)
        self.news.set()

    async def leave(self) -> None:
        if self.listening is not None:
            self.listening.cancel()
            await asyncio.wait((self.listening,))

    def on(self, topic: str) -> list[Message]:
        return [message for message in self.messages if message.topic == topic]

    def events(self, table: str = TABLE) -> list[Any]:
        """The envelopes, as they came."""
        return self.envelopes.setdefault(table, [])

    def of(self, kind: str, table: str = TABLE) -> list[Any]:
        """The data of all events of one type, as in `card.drawn`."""
        return [event["data"] for event in self.events(table) if event["type"] == f"shoed.{kind}"]

    def statuses(self, table: str = TABLE) -> list[Any]:
        return [message.json for message in self.on(f"{table}/status")]

    def states(self, table: str = TABLE) -> list[Any]:
        return [message.json for message in self.on(f"{table}/state")]

    async def event(self, kind: str, table: str = TABLE, *, number: int = 1, **data: object) -> Any:  # noqa: ANN401
        """Wait for the so-maniest event of this type with such data; its data."""

        def found() -> list[Any]:
            return [each for each in self.of(kind, table) if data.items() <= each.items()][number - 1 : number]

        return (await self.until(found))[0]

    async def online(self, table: str = TABLE, *, births: int = 1) -> None:
        await self.until(lambda: sum(each["status"] == "online" for each in self.statuses(table)) >= births)

    async def status(self, status: str, table: str = TABLE) -> Any:  # noqa: ANN401
        """Wait until this is the last status; it."""
        await self.until(lambda: self.statuses(table)[-1:] and self.statuses(table)[-1]["status"] == status)
        return self.statuses(table)[-1]

    def __str__(self) -> str:
        return "\n".join(f"{topic} {payload.decode()}" for topic, payload, _ in self.messages[-40:])


# ---------------------------------------------------------------------------------------------- the journal


class Row(NamedTuple):
    sequence: int
    type: str
    utc_us: int
    data: Any
    row: int


class Journal:
    """The record, read from outside while the daemon writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def connected(self, mode: str = "ro") -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(f"file:{self.path}?mode={mode}", uri=True, isolation_level=None)) as connection:
            yield connection

    def ask(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        with self.connected() as connection:
            return connection.execute(question, values).fetchall()

    @property
    def word(self) -> str:
        return str(self.ask("SELECT word FROM journal")[0][0])

    def events(self, table: str = TABLE) -> list[Row]:
        rows = self.ask(
            "SELECT sequence, type, utc_us, data, row FROM event WHERE table_name = ? ORDER BY sequence", table
        )
        return [Row(number, kind, utc_us, msgspec.json.decode(data), row) for number, kind, utc_us, data, row in rows]

    def count(self, *kinds: str, table: str = TABLE) -> int:
        marks = ", ".join("?" * len(kinds))
        question = f"SELECT count(*) FROM event WHERE table_name = ? AND type IN ({marks})"  # noqa: S608  # only marks
        return int(self.ask(question, table, *kinds)[0][0])

    def received(self, table: str = TABLE) -> Iterator[tuple[int, bytes]]:
        """The rows that hold bytes of the line."""
        yield from self.ask(
            "SELECT row, bytes FROM step WHERE table_name = ? AND bytes IS NOT NULL ORDER BY row", table
        )

    def arrival(self, row: int, table: str = TABLE) -> tuple[bytes, bytes]:
        """All that was received before this row, and what this row received."""
        before = b"".join(data for number, data in self.received(table) if number < row)
        return before, dict(self.received(table))[row]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else commits meanwhile."""
        with self.connected("rw") as connection:
            connection.execute("PRAGMA busy_timeout = 5000")
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")


# ---------------------------------------------------------------------------------------------- the daemon


@dataclass
class Daemon(Watched):
    """One `shoed run`, and what it tells systemd."""

    process: Process
    log: Path
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def resident_kb(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert found is not None
        return int(found[1])

    async def ready(self) -> None:
        waiting = asyncio.create_task(self.process.wait())
        waiting.add_done_callback(lambda _: self.news.set())
        try:
            await self.until(lambda: "READY=1" in self.told or waiting.done())
        finally:
            waiting.cancel()
        assert "READY=1" in self.told, f"shoed has ended: {self}"

    async def looking(self, predicate: Callable[[], T | None], patience_s: float = PATIENCE_S) -> T:
        """What the predicate finds in a file; an error if the daemon ends first."""
        try:
            async with asyncio.timeout(patience_s):
                while not (found := predicate()):
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self.process.wait(), GLANCE_S)
                        raise AssertionError(f"shoed has ended: {self}")
        except TimeoutError:
            raise AssertionError(f"it did not come within {patience_s:g} s:\n{self}") from None
        return found

    async def kill(self) -> None:
        """At once, and nobody is asked."""
        self.process.kill()
        await self.process.wait()

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await self.ended()

    def __str__(self) -> str:
        return self.log.read_text(errors="replace")


class World:
    """One site on a broker of the tests: shoes come from outside, everything else begins and ends here."""

    def __init__(self, place: Path, broker: Broker) -> None:
        self.place = place
        self.broker = broker
        self.site = re.sub("[^a-z0-9-]", "-", place.name.lower())[-32:]
        self.state_dir = place / "state"
        self.journal = Journal(self.state_dir / "journal.db")
        self.recorder = Recorder(self.site)
        self.daemons: list[Daemon] = []
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.fences = 0

    async def __aenter__(self) -> "World":
        self.notify.bind(str(self.place / "notify"))
        self.notify.setblocking(False)  # noqa: FBT003  # the socket module knows no other way
        asyncio.get_running_loop().add_reader(self.notify, self._notified)
        await self.recorder.listen(self.broker)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        for daemon in self.daemons:
            if daemon.process.returncode is None:
                await daemon.kill()
        asyncio.get_running_loop().remove_reader(self.notify)
        self.notify.close()
        await self.recorder.leave()
        if error is None:
            for daemon in self.daemons:
                assert "Traceback" not in str(daemon), f"a defect is in the log:\n{daemon}"

    def _notified(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                self.daemons[-1].told += self.notify.recv(4096).decode().split("\n")
                self.daemons[-1].news.set()

    def configure(
        self, *shoes: Shoe, port: int | None = None, version: str = "5", shoe_settings: str = "", name: str = "c.toml"
    ) -> Path:
        """A file for tables bac-901, bac-902 ...; `port` is where the daemon believes the broker to be."""
        tables = "".join(
            f"""
            [[table]]
            name = "bac-{number}"
            game = "commission"
            [table.shoe]
            protocol = "angel-eye"
            port = "{shoe.port}"
            min_draw_gap_ms = 0  # the foreign shoe deals as fast as it can
            {shoe_settings}
            """
            for number, shoe in enumerate(shoes, start=901)
        )
        path = self.place / name
        path.write_text(f"""
            [site]
            name = "{self.site}"
            state_dir = "{self.state_dir}"
            [mqtt]
            url = "mqtt://{self.broker.host}:{port or self.broker.port}"
            version = "{version}"
            {tables}
        """)
        return path

    async def launch(self, path: Path, settings: Mapping[str, str] | None = None) -> Daemon:
        """Start the process and wait for nothing."""
        log = self.place / f"log-{len(self.daemons)}"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                SHOED,
                "run",
                "--config",
                str(path),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "NOTIFY_SOCKET": str(self.place / "notify"), **(settings or {})},
                preexec_fn=_die_with_us,
            )
        self.daemons.append(Daemon(process, log))
        return self.daemons[-1]

    async def start(
        self, *shoes: Shoe, port: int | None = None, version: str = "5", settings: Mapping[str, str] | None = None
    ) -> Daemon:
        """A daemon for these shoes, ready as systemd would see it."""
        daemon = await self.launch(self.configure(*shoes, port=port, version=version), settings)
        await daemon.ready()
        return daemon

    async def serve(self, *shoes: Shoe, version: str = "5") -> Daemon:
        """The same, with every shoe online and every table on the broker."""
        daemon = await self.start(*shoes, version=version)
        for number in range(901, 901 + len(shoes)):
            await self.recorder.event("device.online", f"bac-{number}")
        return daemon

    async def settled(self, shoe: Shoe, table: str = TABLE) -> None:
        """Everything that the shoe said before has had its effect: a changed preset came out behind it."""
        self.fences += 1
        value = f"{self.fences:04d}"
        await shoe.say(f"M 30 31 {value.encode().hex(' ')}")
        await self.recorder.event("device.changed", table, address="01", value=value)

    async def all_told(self, table: str = TABLE) -> None:
        """What the subscriber heard is the journal: in order from 1, nothing missing, one id never with two contents."""
        record = {row.sequence: row for row in self.journal.events(table)}
        assert list(record) == list(range(1, len(record) + 1))
        events = self.recorder.events(table)
        await self.recorder.until(lambda: events and int(events[-1]["sequence"]) >= len(record))
        newest, word = 0, self.journal.word
        for event in events:
            number = int(event["sequence"])
            assert number <= newest + 1, f"{number} came, and {newest + 1} had not come yet"
            newest = max(newest, number)
            assert event["id"] == f"{word}-{table}-{number}"
            if number in record:  # else it is younger than our look at the record
                row = record[number]
                assert (event["type"], event["data"]) == (f"shoed.{row.type}", row.data)
                assert datetime.fromisoformat(event["time"]) == EPOCH + timedelta(microseconds=row.utc_us)


def _die_with_us() -> None:
    """In the child: a test run that is killed leaves no daemons behind."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
