"""The soak: eight tables in full play for minutes or hours, with faults, and the measurements of one daemon.

Theory of operation. The tables of `tests.pit` play at ten times the pace of a dealer. A first, short life of the daemon
ends by SIGTERM, and a second daemon continues. Meanwhile lines are cut and disturbed, devices report faults, and a
proxy cuts, closes or blocks the connection to the broker. A subscriber is connected to the broker all the time. It
keeps a digest of each event, so that hours fit into memory. At the end, the events, the dealt cards and the metrics are
compared with the journal. The growth of the memory counts from the middle of the second life: before, bounded caches
fill. A seed decides all, except the moments of the answers.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic
from typing import Any, Final, NamedTuple

import msgspec

from shoed.rig.broker import Broker
from shoed.rules.load import GAMES
from tests.command_clients import client, shoed
from tests.http_client import SOCKET, HttpAnswer, fetch
from tests.mqtt_proxy import Proxy, Way
from tests.patience import PATIENCE_S
from tests.pit import Table
from tests.witnesses import Message, Recorder
from tests.world import EPOCH, Daemon, World

FAMILIES: Final = ("angel-eye", "bee-tek", "angel-eye", "open-shoe", "angel-eye", "bee-tek", "angel-eye", "open-shoe")
SCALE: Final = 0.1  # of every pause of a dealer
FIRST_LIFE: Final = 0.15  # of the time
# Of the second life: the caches of the cards fill, the garbage collector runs all its generations once, and the
# recent traffic of the lines fills its rings. The speed of each depends on the number of cards, not on the time.
WARM_UP: Final = 0.5
PART: Final = 0.1  # of the samples: the basis of one figure
SAMPLE_S: Final = 0.5
FAULT_EVERY_S: Final = (4.0, 15.0)
OUTAGE_S: Final = (0.2, 3.0)
NOISE: Final = 0.15  # of the rounds, before the round
CUT: Final = 0.1
SETTLED_S: Final = 6.0
SOAK_PATIENCE_S: Final = 90.0  # several outages of the broker in a row, each with a pause of 5 s, on a loaded machine
LEAST_SET: Final = 60  # cards before a round: a dealer begins a new set
MOST_NOISE: Final = 40  # bytes
MB: Final = 1 << 20

MEMORY_BAR_MB: Final = 2.0
FILES_BAR: Final = 1
SLOWEST_S: Final = 0.6  # a dealer needs about 6 s for a card, with the time between the rounds


class Figure(NamedTuple):
    """One measured figure, and its limit."""

    name: str
    value: float
    bar: float
    unit: str = ""

    @property
    def is_ok(self) -> bool:
        return self.value <= self.bar

    def __str__(self) -> str:
        verdict = "ok" if self.is_ok else "over"
        return f"{self.name:<52} {self.value:12,.2f} {self.unit:<4} bar {self.bar:8.2f}  {verdict}"


class Result(NamedTuple):
    figures: list[Figure]
    pace: Figure  # it depends on the machine: a slow machine is not a defect
    counts: Counter[str]
    defects: list[str]
    memory: str


class Subscriber(Recorder):
    """It is connected all the time, and keeps a digest of each event instead of the event."""

    def __init__(self, site: str) -> None:
        super().__init__(site)
        self.digests: dict[str, list[bytes]] = {}  # by table, in the order of the sequence numbers
        self.repeated = 0
        self.defects: list[str] = []

    def _hear(self, message: Message) -> None:
        table, _, rest = message.topic.partition("/")
        if rest.startswith("event/"):
            event = message.json
            moment = datetime.fromisoformat(event["time"]) - EPOCH
            utc_us = round(moment.total_seconds() * 1e6)
            number, found = int(event["sequence"]), digest(event["id"], event["type"], utc_us, event["data"])
            known = self.digests.setdefault(table, [])
            if number == len(known) + 1:
                known.append(found)
            elif number > len(known):
                self.defects.append(f"{event['id']} was received directly after event {len(known)}")
            else:
                self.repeated += 1
                if known[number - 1] != found:
                    self.defects.append(f"{event['id']} was received again with other data")
        self.news.set()


def digest(event_id: str, kind: str, utc_us: int, data: object) -> bytes:
    text = msgspec.json.encode([event_id, kind, utc_us, data], order="sorted")
    return hashlib.blake2b(text, digest_size=8).digest()


class SoakTable(Table):
    """A table whose line is also disturbed. It forgets the messages that it has read."""

    def __init__(self, world: World, number: int, seed: int) -> None:
        game = GAMES[number % len(GAMES)]
        super().__init__(world, 901 + number, game, FAMILIES[number], seed * len(FAMILIES) + number)
        self.shoe.scale = SCALE
        self.recorder.patience_s = SOAK_PATIENCE_S
        self.state_dir = world.state_dir
        self.before = 0  # the number of cards before the start of the present daemon
        self.linked_s = monotonic()  # the time of the last connection of the daemon

    async def play_until(self, end_s: float) -> None:
        while monotonic() < end_s:
            await self.between_rounds()
            await self.one_round()
            del self.recorder.messages[: self.pit.read]
            self.pit.read = 0
            self.recorder.envelopes.clear()
            self.pit.refusals.clear()
        await self.answers(1.0)
        await self.quiet()
        await self.read()

    async def read(self) -> None:
        """The daemon has read every card: a cable that is out loses the others."""
        series = f'shoed_observations_total{{table="{self.name}",device="shoe",kind="CardSeen"}}'
        async with asyncio.timeout(SOAK_PATIENCE_S):
            while (await fetch(self.state_dir, "/metrics")).value(series) < len(self.shoe.reported) - self.before:
                pass

    async def between_rounds(self) -> None:
        await super().between_rounds()
        if len(self.shoe.set) < LEAST_SET:
            await self.shoe.new_set()
        if self.dice.random() < NOISE:
            await self.noise()
        if self.dice.random() < CUT:
            await self.away()

    async def away(self) -> None:
        """After links of less than 5 s, the daemon waits longer before the next attempt: a cut needs a settled link."""
        if monotonic() - self.linked_s > SETTLED_S:
            await self.read()
            await super().away()
            self.linked_s = monotonic()

    async def noise(self) -> None:
        """Bytes that no frame has, between two reports."""
        await self.quiet()
        data = bytes(self.dice.randrange(0x80, 0x100) for _ in range(self.dice.randint(1, MOST_NOISE)))
        self.shoe.counts["noise"] += 1
        self.shoe.virtual.transmitter.send(data)
        await self.shoe.virtual.transmitter.idle.wait()

    async def back(self) -> None:
        """A restarted daemon is connected."""
        online = self.pit.online
        await self.shoe.outlet.connected.wait()
        self.shoe.greet()
        await self.recorder.until(lambda: self.pit.look() > online)
        self.linked_s = monotonic()


class Sample(NamedTuple):
    memory_mb: float
    files: float


class Samples:
    """The memory and the open files of one daemon, while every table is connected to the broker."""

    def __init__(self) -> None:
        self.taken: list[Sample] = []

    def take(self, page: HttpAnswer, tables: Iterable[str]) -> None:
        if all(page.value(f'shoed_broker_connected{{table="{table}"}}') for table in tables):
            memory = page.value("process_resident_memory_bytes") / MB
            self.taken.append(Sample(memory, page.value("process_open_fds")))

    def figures(self) -> list[Figure]:
        """The growth from the end of the warm-up to the end, between two parts."""
        part = max(1, round(PART * len(self.taken)))
        begin = round(WARM_UP * len(self.taken))
        warm, last = middle(self.taken[begin : begin + part]), middle(self.taken[-part:])
        memory, files = last.memory_mb - warm.memory_mb, last.files - warm.files
        return [
            Figure(f"memory after the warm-up {warm.memory_mb:.1f} MB, growth", memory, MEMORY_BAR_MB, "MB"),
            Figure(f"open files after the warm-up {warm.files:.0f}, growth", files, FILES_BAR),
        ]

    def __str__(self) -> str:
        """The course of the memory, in ten figures."""
        step = max(1, len(self.taken) // 10)
        return " ".join(f"{each.memory_mb:.1f}" for each in self.taken[::step])


def middle(samples: list[Sample]) -> Sample:
    """The median of the memory, and the fewest open files: a read of the journal opens files for a moment."""
    return Sample(median(each.memory_mb for each in samples), min(each.files for each in samples))


class Soak:
    """The whole run."""

    def __init__(self, world: World, proxy: Proxy, seed: int) -> None:
        self.world = world
        self.proxy = proxy
        self.dice = Random(seed)
        self.tables = [SoakTable(world, number, seed) for number in range(len(FAMILIES))]
        self.subscriber = Subscriber(world.site)
        self.subscriber.patience_s = SOAK_PATIENCE_S
        self.counts: Counter[str] = Counter()
        self.defects: list[str] = []
        self.path = world.place / "c.toml"

    def configure(self) -> None:
        self.path.write_text(f"""
            [site]
            name = "{self.world.site}"
            state_dir = "{self.world.state_dir}"
            [mqtt]
            url = "mqtt://127.0.0.1:{self.proxy.port}"
            [metrics]
            listen = "unix:{SOCKET}"
            {"".join(table.section for table in self.tables)}
        """)

    async def run(self, seconds: float) -> Result:
        self.configure()
        async with asyncio.TaskGroup() as lines, AsyncExitStack() as ends:
            await self.subscriber.listen(self.world.broker)
            ends.push_async_callback(self.subscriber.leave)
            for table in self.tables:
                await table.connect(self.world.broker, lines, ends)
            await self.life(FIRST_LIFE * seconds)
            samples = await self.life((1 - FIRST_LIFE) * seconds)
        words = ("journal", "replay", "--check", "--state-dir", self.world.state_dir)
        checked = await shoed(*words, patience_s=PATIENCE_S + seconds)
        if checked.status:
            self.defects.append(f"shoed journal replay --check: {checked.out}{checked.err}")
        self.compare()
        defects = [*self.subscriber.defects, *self.defects]
        differences = Figure("differences of shoes, journal, metrics and subscriber", len(defects), 0)
        return Result([*samples.figures(), differences], self.pace(), self.counts, defects, str(samples))

    async def life(self, seconds: float) -> Samples:
        """One daemon, from its start to SIGTERM, after its last event. Return its samples."""
        is_first = not self.world.daemons
        before = Counter() if is_first else self.recorded()
        daemon = await self.world.launch(self.path)
        await daemon.ready()
        end_s = monotonic() + seconds
        samples = Samples()
        async with AsyncExitStack() as ends:
            for table in self.tables:
                table.pit.socket = await ends.enter_async_context(client(self.world.state_dir))
            for table in self.tables:
                table.before = len(table.shoe.reported)
                await (table.shoe.begin() if is_first else table.back())
            async with asyncio.TaskGroup() as around:
                others = [around.create_task(self.disturb(daemon)), around.create_task(self.sample(daemon, samples))]
                async with asyncio.TaskGroup() as playing:
                    for table in self.tables:
                        playing.create_task(table.play_until(end_s))
                for other in others:
                    other.cancel()
            self.compare_metrics(await self.settled(), before)
            assert await daemon.stop() == 0
        after = self.recorded()
        await self.subscriber.until(lambda: all(len(self.subscriber.digests[name]) >= after[name] for name in after))
        self.counts["daemons"] += 1
        self.counts["seconds"] += round(seconds)
        return samples

    def recorded(self) -> Counter[str]:
        """The number of events of each table in the journal."""
        return Counter(dict(self.world.journal.ask("SELECT table_name, count(*) FROM event GROUP BY table_name")))

    async def settled(self) -> HttpAnswer:
        """The metrics when every table is connected, and the broker has acknowledged every event."""
        async with asyncio.timeout(SOAK_PATIENCE_S):
            while True:
                page = await fetch(self.world.state_dir, "/metrics")
                names = [f'{{table="{table.name}"}}' for table in self.tables]
                away = any(not page.value(f"shoed_broker_connected{name}") for name in names)
                if not away and not any(page.value(f"shoed_backlog_events{name}") for name in names):
                    return page

    async def sample(self, daemon: Daemon, samples: Samples) -> None:
        while True:
            samples.take(await fetch(self.world.state_dir, "/metrics"), [table.name for table in self.tables])
            await pause(daemon, SAMPLE_S)

    async def disturb(self, daemon: Daemon) -> None:
        """Disturb the connections to the broker."""
        try:
            while True:
                await pause(daemon, self.dice.uniform(*FAULT_EVERY_S))
                self.proxy.passed.clear()
                kind, outage_s = self.dice.choice(("cut", "down", "silent")), self.dice.uniform(*OUTAGE_S)
                self.counts[f"broker {kind}"] += 1
                match kind:
                    case "cut":
                        await self.proxy.cut()
                    case "down":
                        await self.proxy.shut()
                        await pause(daemon, outage_s)
                        await self.proxy.open()
                    case _:
                        self.proxy.hold(Way.DOWN)
                        await pause(daemon, outage_s)
                        self.proxy.release()
        finally:
            self.proxy.release()
            if self.proxy.server is None:
                await self.proxy.open()

    # --- the comparison with the journal

    def compare_metrics(self, page: HttpAnswer, before: Counter[str]) -> None:
        """The metrics of a daemon have the events of its life."""
        recorded = self.recorded()
        for name in recorded:
            start = f'shoed_events_total{{table="{name}"'
            made = sum(float(line.rpartition(" ")[2]) for line in page.text.splitlines() if line.startswith(start))
            acknowledged = page.value(f'shoed_acknowledged_events_total{{table="{name}"}}')
            if not made == acknowledged == recorded[name] - before[name]:
                text = f"{made:.0f} events and {acknowledged:.0f} acknowledgements"
                self.defects.append(f"{name}: the metrics have {text}; {recorded[name] - before[name]} are due")

    def compare(self) -> None:
        """The subscriber has the events of the journal, and the journal has every dealt card once."""
        word = self.world.journal.word
        for table in self.tables:
            name, received = table.name, self.subscriber.digests[table.name]
            recorded = [
                digest(f"{word}-{name}-{number}", f"shoed.{kind}", utc_us, msgspec.json.decode(data))
                for number, kind, utc_us, data in self.rows("sequence, type, utc_us, data", "event", name, "sequence")
            ]
            if received != recorded:
                text = f"{len(recorded)} events are in the journal, and {len(received)} were received"
                self.defects.append(f"{name}: {text}; they differ")
            read = [card for card in table.shoe.reported if card is not None]
            cards = [
                seen["card"]
                for step in self.world.journal.steps(name)
                for seen in msgspec.json.decode(step.observations)
                if seen["saw"] == "CardSeen" and seen["card"] is not None
            ]
            if cards != read:
                text = f"{len(read)} cards were dealt, and the journal has {len(cards)}; they differ"
                self.defects.append(f"{name}, {table.shoe.family}: {text}")
            self.counts.update(table.shoe.counts)
            self.counts["events"] += len(recorded)
            self.counts["cards"] += len(cards)
        self.counts["repeated events"] = self.subscriber.repeated

    def rows(self, columns: str, of: str, table: str, order: str) -> Iterator[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM {of} WHERE table_name = ? ORDER BY {order}"  # noqa: S608  # ours
        with self.world.journal.connected() as journal:
            yield from journal.execute(query, (table,))

    def pace(self) -> Figure:
        """The seconds for a card of the slowest table."""
        slowest = min(self.tables, key=lambda table: len(table.shoe.reported))
        each_s = self.counts["seconds"] / len(slowest.shoe.reported)
        return Figure(f"pace of the slowest table ({slowest.shoe.family}), for a card", each_s, SLOWEST_S, "s")


async def pause(daemon: Daemon, seconds: float) -> None:
    """Wait; an end of the daemon ends the wait."""
    ended = asyncio.ensure_future(daemon.process.wait())
    try:
        await asyncio.wait((ended,), timeout=seconds)
    finally:
        ended.cancel()


async def soaked(place: Path, broker: Broker, seconds: float, seed: int = 1) -> Result:
    async with World(place, broker) as world, Proxy(broker.host, broker.port) as proxy:
        await world.recorder.leave()  # it keeps every message: hours of them do not fit into memory
        return await Soak(world, proxy, seed).run(seconds)
