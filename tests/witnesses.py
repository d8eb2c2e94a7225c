"""Observers of a daemon: a subscriber that records its messages, and a reader of its journal.

Theory of operation. Every wait has a condition and the time limit PATIENCE_S. After the limit, the error contains the
messages that were received.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import aiomqtt
import msgspec
from paho.mqtt.subscribeoptions import SubscribeOptions

from shoed.journal import Reader, StoredStep
from shoed.journal.reader import LAST_ROW
from shoed.rig.broker import Broker
from tests.patience import PATIENCE_S

T = TypeVar("T")

TABLE: Final = "bac-901"


class Watched:
    """An object with news, for which a test can wait."""

    patience_s = PATIENCE_S  # of each wait

    def __init__(self) -> None:
        self.news = asyncio.Event()

    async def until(self, predicate: Callable[[], T | None], patience_s: float | None = None) -> T:
        """The first result of the predicate that is not None or empty."""
        patience_s = patience_s or self.patience_s
        try:
            async with asyncio.timeout(patience_s):
                while not (found := predicate()):
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"the condition was not met within {patience_s:g} s; received:\n{self}") from None
        return found


# ---------------------------------------------------------------------------------------------- the subscriber


class Message(NamedTuple):
    topic: str  # below the site: TABLE/...
    payload: bytes
    retain: bool  # as published
    qos: int

    @property
    def json(self) -> Any:  # noqa: ANN401  # JSON has any shape
        return msgspec.json.decode(self.payload)


class Recorder(Watched):
    """Records every message of a site, in order. It has its own connection to the broker."""

    def __init__(self, site: str) -> None:
        super().__init__()
        self.site = site
        self.root = f"shoed/v1/{site}/"
        self.messages: list[Message] = []
        self.envelopes: dict[str, list[Any]] = {}  # by table
        self.listening: asyncio.Task[None] | None = None

    async def listen(self, broker: Broker) -> None:
        """Subscribe. Earlier messages remain."""
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
                    self._hear(Message(topic, bytes(message.payload), message.retain, message.qos))

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
        """The envelopes, in the order of their arrival."""
        return self.envelopes.setdefault(table, [])

    def of(self, kind: str, table: str = TABLE) -> list[Any]:
        """The data of all events of one type, as in `card.drawn`."""
        return [event["data"] for event in self.events(table) if event["type"] == f"shoed.{kind}"]

    def statuses(self, table: str = TABLE) -> list[Any]:
        return [message.json for message in self.on(f"{table}/status")]

    def states(self, table: str = TABLE) -> list[Any]:
        return [message.json for message in self.on(f"{table}/state")]

    async def event(self, kind: str, table: str = TABLE, *, number: int = 1, **data: object) -> Any:  # noqa: ANN401
        """Wait for the event with this number among those of the type with the data; return its data."""

        def found() -> list[Any]:
            return [each for each in self.of(kind, table) if data.items() <= each.items()][number - 1 : number]

        return (await self.until(found))[0]

    async def born(self, table: str = TABLE, *, times: int = 1) -> None:
        """Wait for the last message of a birth."""
        await self.until(lambda: len(self.on(f"{table}/question")) >= times)

    async def status(self, status: str, table: str = TABLE) -> Any:  # noqa: ANN401
        """Wait until the last status has this value; return it."""
        await self.until(lambda: self.statuses(table)[-1:] and self.statuses(table)[-1]["status"] == status)
        return self.statuses(table)[-1]

    def __str__(self) -> str:
        return "\n".join(f"{topic} {payload.decode()}" for topic, payload, *_ in self.messages[-40:])


# ---------------------------------------------------------------------------------------------- the journal


class Row(NamedTuple):
    sequence: int
    type: str
    utc_us: int
    data: Any
    row: int


class Journal:
    """The journal, read while the daemon writes it."""

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

    def steps(self, table: str = TABLE) -> Iterator[StoredStep]:
        with closing(Reader(self.path)) as reader:
            yield from reader.step(table, 1, LAST_ROW)

    def count(self, *kinds: str, table: str = TABLE) -> int:
        marks = ", ".join("?" * len(kinds))
        question = f"SELECT count(*) FROM event WHERE table_name = ? AND type IN ({marks})"  # noqa: S608  # only marks
        return int(self.ask(question, table, *kinds)[0][0])

    def received(self, table: str = TABLE) -> Iterator[tuple[int, bytes]]:
        """The rows that contain bytes of the line."""
        yield from self.ask(
            "SELECT row, bytes FROM step WHERE table_name = ? AND bytes IS NOT NULL ORDER BY row", table
        )

    def observed(self, kind: str, table: str = TABLE) -> int:
        """The number of recorded observations of a kind."""
        return sum(each["saw"] == kind for step in self.steps(table) for each in msgspec.json.decode(step.observations))

    def read_late(self, table: str = TABLE) -> bool:
        """Whether the daemon had a standstill while bytes arrived: then their spacing is not evidence."""
        return any("late_ns" in step.input for step in self.steps(table))

    def arrival(self, row: int, table: str = TABLE) -> tuple[bytes, bytes]:
        """The bytes received before this row, and the bytes received in this row."""
        before = b"".join(data for number, data in self.received(table) if number < row)
        return before, dict(self.received(table))[row]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No other connection can commit within the context."""
        with self.connected("rw") as connection:
            connection.execute("PRAGMA busy_timeout = 5000")
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
