"""One short session of a complete daemon, with a trace of the function calls of the project in two spans.

Theory of operation: this module simulates a shoe (frames over TCP), a broker (the MQTT packets that a publisher needs)
and a person (lines of JSON). The daemon, its journal on the disk and its publisher are the real ones. A profile
function records the calls of a span, also in the thread of the journal. A span begins while the daemon is idle. It
holds the calls from the first call of one function to the PUBLISH of one topic: the way of one input only. The trace
omits the frames of comprehensions, because Python 3.12 has none.
"""

import asyncio
import io
import json
import logging
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, unwrap
from pathlib import Path
from types import CodeType, CoroutineType, FrameType
from typing import Final, NamedTuple

from benchmarks.latency import HEAD, PUBLISH, answer, remaining
from shoed.bus.client import Connection
from shoed.journal import Store, hold
from shoed.ports.tcp import TcpLink
from shoed.service.command_socket import CommandServer, address, listening
from shoed.service.config import load
from shoed.service.daemon import Daemon
from shoed.service.desk import Desk
from shoed.service.watchdog import Systemd

OURS: Final = ("shoed.", "firmware_protocols.")
LIMIT_S: Final = 60.0  # on an idle machine the session lasts 0.3 s
LOOPBACK: Final = "127.0.0.1"

TABLE: Final = "bac-901"
SETTINGS: Final = """\
[site]
name = "walks"
state_dir = "{state_dir}"
[mqtt]
url = "mqtt://{host}:{broker}"
[[table]]
name = "{table}"
game = "commission"
[table.shoe]
protocol = "angel-eye"
port = "tcp://{host}:{shoe}"
min_draw_gap_ms = 0  # the cards follow each other at once
"""

# Player 8D KH, Banker 2S AC: a natural eight.
CARDS: Final = (
    "05 31 44 81 98 03 36 46",  # 1: D Player 1, eight of diamonds
    "05 32 44 91 B2 03 35 36",  # 2: D Banker 1, two of spades
    "05 33 44 82 CD 03 33 42",  # 3: D Player 2, king of hearts
    "05 34 44 92 A1 03 34 30",  # 4: D Banker 2, ace of clubs
)
# The first two cards were drawn together. A pit supervisor decides their order, and Banker has a natural nine.
NOTICE: Final = {
    "id": "1",
    "author": "ann",
    "role": "dealer",
    "command": {"command": "notice", "kind": "drawn-together", "at": 1},
}
ANSWER: Final = {
    "id": "2",
    "author": "ben",
    "role": "pit-supervisor",
    "command": {"command": "decide", "question": "1", "choice": ["2S", "8D"]},
}

DRAWN: Final = "event/card/drawn"
CORRECTED: Final = "event/round/corrected"


class RunError(Exception):
    """The session failed."""


class Call(NamedTuple):
    code: CodeType
    module: str
    caller: tuple[str, str] | None  # module and function; None: the event loop or a thread calls
    starts: bool  # False: a coroutine or a generator continues


def code_of(function: Callable[..., object]) -> CodeType:
    """The code of a function, a method or a property, without its decorators."""
    code: CodeType = unwrap(getattr(function, "fget", function)).__code__
    return code


def is_named(code: CodeType) -> bool:
    return not code.co_name.startswith("<")


def module_of(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name


def caller_of(frame: FrameType) -> tuple[str, str] | None:
    """The nearest function of the project that waits for this one."""
    by = frame.f_back
    while by is not None:
        if module_of(by).startswith(OURS):
            return module_of(by), by.f_code.co_qualname
        by = by.f_back
    return None


def suspended() -> Iterator[FrameType]:
    """The frame of every coroutine that waits on the loop."""
    for task in asyncio.all_tasks():
        waiting: object = task.get_coro()
        while isinstance(waiting, CoroutineType) and waiting.cr_frame is not None:
            yield waiting.cr_frame
            waiting = waiting.cr_await


class Tracer:
    """Records the calls of one span. Outside a span, the main thread has no profile function."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.begins: CodeType | None = None
        self.topic = ""
        self.is_on = False
        self.known: set[FrameType] = set()  # coroutines and generators that have started

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code is self.begins:
            self.is_on, self.begins = True, None
        if not self.is_on or not module_of(frame).startswith(OURS):
            return
        starts = True
        if code.co_flags & (CO_COROUTINE | CO_GENERATOR | CO_ASYNC_GENERATOR):
            starts = frame not in self.known
            self.known.add(frame)
        if is_named(code):
            self.calls.append(Call(code, module_of(frame), caller_of(frame), starts))
            if code is SEND and frame.f_locals["message"].topic.endswith(self.topic):
                self.is_on = False

    @contextmanager
    def span(self, begins: Callable[..., object], topic: str) -> Iterator[list[Call]]:
        """Trace the main thread too, from the first call of a function to the PUBLISH of a topic."""
        self.calls, self.begins, self.topic, self.known = [], code_of(begins), topic, set(suspended())
        before = sys.getprofile()
        sys.setprofile(self.profile)
        try:
            yield self.calls
        finally:
            sys.setprofile(before)

    @contextmanager
    def of_threads(self) -> Iterator[None]:
        """Trace every thread that starts, such as the thread of the journal."""
        before = threading.getprofile()
        threading.setprofile(self.profile)
        try:
            yield
        finally:
            threading.setprofile(before)


SEND: Final = code_of(Connection.send)


class World:
    """The simulated shoe and broker."""

    def __init__(self) -> None:
        self.shoe: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()
        self.topics: asyncio.Queue[str] = asyncio.Queue()
        self.broker_closed = asyncio.Event()

    async def serve_shoe(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.shoe.set_result(writer)

    async def serve_broker(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b""
        while piece := await reader.read(65536):
            data += piece
            while (head := HEAD.match(data)) and len(data) >= (end := head.end() + remaining(head[1])):
                self.take_packet(data[0] >> 4, data[head.end() : end], writer)
                data = data[end:]
        writer.close()
        self.broker_closed.set()

    def take_packet(self, kind: int, body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(kind, body))
        if kind == PUBLISH:
            length = int.from_bytes(body[:2])
            self.topics.put_nowait(body[2 : 2 + length].decode())

    async def published(self, *ends: str) -> None:
        """Return when a message to each of these topics has arrived, in this order."""
        for end in ends:
            while not (await self.topics.get()).endswith(end):
                pass


async def idle(desk: Desk) -> None:
    """Return when the broker has acknowledged everything."""
    publisher = desk.publisher
    while publisher.stale or publisher.head_due or publisher.reads.present or publisher.busy_since is not None:  # noqa: ASYNC110 -- the desk has no event for it
        await asyncio.sleep(0)


async def verified(daemon: Daemon[Desk]) -> None:
    """Return when the verification in the background has ended: it calls functions at any time."""
    while daemon.verification is None:  # noqa: ASYNC110 -- the daemon has no event for it
        await asyncio.sleep(0)
    await asyncio.to_thread(daemon.verification.thread.join)


async def session(place: Path, tracer: Tracer) -> Mapping[str, tuple[Call, ...]]:
    world = World()
    shoe = await asyncio.start_server(world.serve_shoe, LOOPBACK, 0)
    broker = await asyncio.start_server(world.serve_broker, LOOPBACK, 0)
    file, ports = place / "shoed.toml", {"shoe": port_of(shoe), "broker": port_of(broker)}
    file.write_text(SETTINGS.format(state_dir=place / "state", table=TABLE, host=LOOPBACK, **ports))
    config = load(str(file))
    state_dir = Path(config.state_dir)
    with hold(state_dir), listening(state_dir) as listener:
        daemon = Daemon(config, Store(state_dir), Systemd(), listener, Desk)
        running = asyncio.create_task(daemon.run())
        playing = asyncio.create_task(play(world, daemon, state_dir, tracer))
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait((running, playing), return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                raise RunError(f"the daemon has ended with status {running.result()}")
            daemon.stop.set()
            await running
            await world.broker_closed.wait()
    (await world.shoe).close()
    shoe.close()
    broker.close()
    return playing.result()


def port_of(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


async def play(world: World, daemon: Daemon[Desk], state_dir: Path, tracer: Tracer) -> Mapping[str, tuple[Call, ...]]:
    """Deal the cards of a round, then send the notice and the answer."""
    desk = daemon.desks[0]
    await world.published("event/device/online")
    await verified(daemon)
    await deal(world, CARDS[0])
    await idle(desk)
    with tracer.span(TcpLink.data_received, DRAWN) as byte:
        await deal(world, CARDS[1])
    await deal(world, CARDS[2])
    await deal(world, CARDS[3])
    with address(state_dir) as path:
        answers, person = await asyncio.open_unix_connection(path)
    await send(answers, person, NOTICE)
    await world.published("event/question/asked")
    await idle(desk)
    with tracer.span(CommandServer.answer, CORRECTED) as answer:
        await send(answers, person, ANSWER)
        await world.published(CORRECTED)
    person.close()
    return {"byte": tuple(byte), "answer": tuple(answer)}


async def deal(world: World, frame: str) -> None:
    (await world.shoe).write(bytes.fromhex(frame))
    await world.published(DRAWN)


async def send(answers: asyncio.StreamReader, person: asyncio.StreamWriter, command: Mapping[str, object]) -> None:
    person.write(json.dumps({"table": TABLE, **command}).encode() + b"\n")
    answer = json.loads(await answers.readline())
    if not answer["accepted"]:
        raise RunError(f"{command}: refused: {answer['detail']}")


def traced() -> Mapping[str, tuple[Call, ...]]:
    """The calls of each span: `byte` is the report of a card, `answer` is the answer of a pit supervisor."""
    log, tracer, logger = io.StringIO(), Tracer(), logging.getLogger("shoed")
    handler = logging.StreamHandler(log)
    logger.addHandler(handler)
    try:
        with tempfile.TemporaryDirectory(prefix="shoed-walks-") as place, tracer.of_threads():
            return asyncio.run(session(Path(place), tracer))
    except TimeoutError:
        raise RunError(f"the session has not ended within {LIMIT_S:g} s; the daemon's log:\n{log.getvalue()}") from None
    finally:
        logger.removeHandler(handler)
