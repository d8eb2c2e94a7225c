"""`shoed demo`: a virtual shoe, the daemon and a broker, each a process of its own, and a screen.

Theory of operation: everything is what it is elsewhere. The rig serves TCP, `shoed run` reads a
configuration, the screen is one more subscriber. It ends with status 0 by a signal, or after the
rounds that were asked for, each seen with its result (130 when a signal came before the last of
them); with 1, and the last words of whatever failed, when a child ends first. However it ends,
the children are ended and the directories removed; only a kill leaves those, and takes the
children with it.
"""

import asyncio
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, Never

from shoed.display.subscriber import Received, subscription
from shoed.display.terminal import lamp, plain, screen
from shoed.display.view import TableView, Told, hear, read
from shoed.errors import BrokerLost, RigError
from shoed.events import RoundConfirmed, RoundDisputed
from shoed.rig.broker import Broker, die_with_parent, running_broker
from shoed.rig.command import chosen

SITE: Final = "demo"
TABLE: Final = "bac-901"
TOPICS: Final = f"shoed/v1/{SITE}/#"

INTERRUPTED: Final = 130
TAIL: Final = 20  # lines of a child's output that an error quotes
STOP_S: Final = 8.0  # for a child to end in its own way: the daemon gives its farewell 5 s
PORT_S: Final = 20.0  # for the rig to say where it listens
FRAME_S: Final = 0.05
LINE_BYTES: Final = 1024 * 1024  # of a child's output: it quotes what it rejects

OURS: Final = str(Path(__file__).resolve().parent.parent)  # the children run the code that we run
PORT: Final = re.compile(r'port = "(.*)"')

CONFIGURATION: Final = """\
[site]
name = "{site}"
state_dir = "state"

[mqtt]
url = "{url}"
version = "{version}"

[[table]]
name = "{table}"
game = "commission"

[table.shoe]
protocol = "angel-eye"
port = "{port}"
{more}
"""
NO_SPACING: Final = "min_draw_gap_ms = 0  # a fast shoe's cards are not drawn by a hand"


class Plan(NamedTuple):
    rounds: int | None
    seed: int
    fast: bool


class Stop:
    """A signal's wish that we end, whenever it comes: the handlers stand before the loop does, and after it."""

    def __init__(self) -> None:
        self.wished = False
        self.wake: Callable[[], None] = lambda: None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.wish)

    def wish(self, *_: object) -> None:
        self.wished = True
        self.wake()

    async def wait(self) -> None:
        loop, come = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed: we are ending already
                loop.call_soon_threadsafe(come.set)

        self.wake = wake
        if not self.wished:
            await come.wait()


def run(rounds: int | None, seed: int | None, *, fast: bool) -> int:
    return asyncio.run(_until(Stop(), Plan(rounds, chosen(seed), fast)))


async def _until(stop: Stop, plan: Plan) -> int:
    showing, stopped = asyncio.create_task(show(plan)), asyncio.create_task(stop.wait())
    await asyncio.wait((showing, stopped), return_when=asyncio.FIRST_COMPLETED)
    for task in (stopped, showing):
        task.cancel()
    try:
        await showing
    except asyncio.CancelledError:
        return INTERRUPTED if plan.rounds else 0
    return 0


async def show(plan: Plan) -> None:
    """From nothing to the last round."""
    directory = Path(tempfile.mkdtemp(prefix="shoed-demo-"))
    try:
        async with running_broker() as broker:
            page = Page(plan, broker)
            dealing = (f"--seed={plan.seed}", *(("--fast",) if plan.fast else ()))
            async with child(directory, "rig", "angel-eye", "--listen=tcp://127.0.0.1:0", *dealing) as shoe:
                file = configure(directory, broker, await shoe.port(), fast=plan.fast)
                async with following(broker) as messages, child(directory, "run", f"--config={file}") as daemon:
                    with page.shown():
                        await first_of(page.follow(messages), page.draw(), shoe.failed(), daemon.failed())
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def configure(directory: Path, broker: Broker, port: str, *, fast: bool) -> Path:
    settings, more = broker.settings(), NO_SPACING if fast else ""
    file = directory / "shoed.toml"
    file.write_text(
        CONFIGURATION.format(site=SITE, url=settings.at, version=settings.version, table=TABLE, port=port, more=more)
    )
    return file


@asynccontextmanager
async def following(broker: Broker) -> AsyncIterator[AsyncIterator[Received]]:
    try:
        async with subscription(broker.settings(), TOPICS) as messages:
            yield messages
    except BrokerLost as error:
        said = broker.log.read_text(errors="replace").splitlines()[-TAIL:]
        raise RigError("\n".join((f"{error}; its last lines:", *said))) from error


async def first_of(*works: Coroutine[None, None, None]) -> None:
    """Until one of them ends, or fails."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# --- the children


@asynccontextmanager
async def child(directory: Path, *arguments: str) -> AsyncIterator["Child"]:
    """One more shoed, in a session of its own: a Ctrl-C at the terminal is for us, who end it in due order."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "shoed", *arguments),
        cwd=directory,
        env={**os.environ, "PYTHONPATH": OURS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        limit=LINE_BYTES,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )
    running = Child(f"shoed {arguments[0]}", process)
    try:
        yield running
    finally:
        await running.stop()


class Child:
    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.process = process
        self.said: deque[str] = deque(maxlen=TAIL)
        self.news = asyncio.Event()
        self.listening = asyncio.create_task(self.listen())

    async def listen(self) -> None:
        assert self.process.stdout is not None  # noqa: S101  # it was asked for
        async for line in self.process.stdout:
            self.said.append(line.decode(errors="replace").rstrip())
            self.news.set()

    async def port(self) -> str:
        """The address that the child says a configuration is to name."""
        try:
            async with asyncio.timeout(PORT_S):
                while not (found := PORT.search("\n".join(self.said))):
                    self.news.clear()
                    await first_of(self.heard(), self.failed())
        except TimeoutError:
            raise RigError(f"{self.name} did not say within {PORT_S:g} s where it listens") from None
        return found[1]

    async def heard(self) -> None:
        await self.news.wait()

    async def failed(self) -> None:
        """A child is not to end before us."""
        status = await self.process.wait()
        await asyncio.wait((self.listening,))
        raise RigError("\n".join((f"{self.name} ended with status {status}; its last lines:", *self.said)))

    async def stop(self) -> None:
        try:
            with suppress(ProcessLookupError):
                self.process.terminate()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self.process.wait()
        finally:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
            self.listening.cancel()


# --- the screen


class Page:
    """What people see: a live screen on a terminal, else a line for each thing worth reading."""

    def __init__(self, plan: Plan, broker: Broker) -> None:
        self.wanted = plan.rounds
        self.seen = 0
        self.head = (
            f"virtual shoe (seed {plan.seed}), daemon and broker, all on loopback; Ctrl-C ends them",
            f"topic      shoed/v1/{SITE}/{TABLE}/#",
            f"subscribe  mosquitto_sub -h {broker.host} -p {broker.port} -t '{TOPICS}' -v",
        )
        self.broker = lamp("broker", (broker.kind.value, broker.settings().at), well=True)
        self.tables: dict[str, TableView] = {}
        self.news = asyncio.Event()
        self.live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal may have no card suits
        write("".join(f"{line}\n" for line in self.head))

    async def follow(self, messages: AsyncIterator[Received]) -> None:
        """Until every round that was asked for is seen."""
        async for topic, payload in messages:
            if self.take(topic, payload):
                return

    def take(self, topic: str, payload: bytes) -> bool:
        """One message; whether it completes the rounds that were asked for."""
        found = read(topic, payload)
        if found is None:
            return False
        name, heard = found
        self.tables[name] = hear(self.tables.get(name, TableView()), heard)
        self.news.set()
        if not self.live and (line := plain(heard)):
            write(f"{name}  {line}\n")
        self.seen += isinstance(heard, Told) and isinstance(heard.data, RoundConfirmed | RoundDisputed)
        return self.seen == self.wanted

    async def draw(self) -> Never:
        while True:
            await self.news.wait()
            self.news.clear()
            self.frame()
            await asyncio.sleep(FRAME_S)

    def frame(self) -> None:
        if self.live:
            lines = [*self.head, "", *screen(self.tables), self.broker][: rows()]
            write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")

    @contextmanager
    def shown(self) -> Iterator[None]:
        if self.live:  # what is there scrolls up and stays; then no cursor, and lines that are too long are cut off
            write("\n" * rows() + "\x1b[2J\x1b[?25l\x1b[?7l")
        try:
            yield
        finally:
            self.frame()
            if self.live:
                write("\x1b[?7h\x1b[?25h\n")


def rows() -> int:
    return shutil.get_terminal_size().lines


def write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:  # a pipe or a terminal
        raise BrokenPipeError from error
