"""`shoed demo`: a virtual shoe, the daemon and a broker in separate processes, and a screen.

Theory of operation: the demo uses the ordinary parts. The rig serves TCP, `shoed run` reads a configuration, the screen
is a subscriber. With --rounds, the demo ends with status 0 after the result of the last round, or with status 130 after
an earlier signal. Without --rounds, a signal ends it with status 0. If a child ends first, the status is 1, and the
error quotes the last lines of the child. All files of the demo are in one temporary directory, so at the end the demo
kills its children: nothing has to be saved. If the demo is killed, the kernel ends the children. A shell that waits for
the end of the demo removes the directory.
"""

import argparse
import asyncio
import errno
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, Never

from shoed.bus.subscriber import ReceivedMessage, subscription
from shoed.cli import ExitStatus
from shoed.cli.options import add_dealing, seed_of
from shoed.display.layout import Importance, fitted, look, screen_lines
from shoed.display.terminal import lamp, plain, screen
from shoed.display.view import ShownEvent, TableView, read, updated
from shoed.errors import BrokerLost, RigError
from shoed.model.events import RoundConfirmed, RoundDisputed
from shoed.rig.broker import Broker, die_with_parent, running_broker

SITE: Final = "demo"
TABLE: Final = "bac-901"
TOPICS: Final = f"shoed/v1/{SITE}/#"

TAIL: Final = 20  # lines of a child's output that an error quotes
PORT_S: Final = 20.0  # for the rig to print its port
FRAME_S: Final = 0.05
ROWS: Final = 24  # of a terminal without a declared height
LINE_BYTES: Final = 1024 * 1024  # of a child's output: it quotes rejected bytes

# The end of the input is the end of the demo. Killed children may still write for a moment.
REMOVE: Final = 'read -r _; command -p rm -rf -- "$0" || { command -p sleep 1; command -p rm -rf -- "$0"; }'

OURS: Final = str(Path(__file__).resolve().parents[2])  # the children use the same code
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
NO_SPACING: Final = "min_draw_gap_ms = 0  # the fast shoe draws faster than a hand"


class DemoPlan(NamedTuple):
    rounds: int | None
    seed: int
    fast: bool


class Stop:
    """A request to end by a signal. The handlers are active before the event loop starts and after it ends."""

    def __init__(self) -> None:
        self.requested = False
        self.wake: Callable[[], None] = lambda: None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.request)

    def request(self, *_: object) -> None:
        self.requested = True
        self.wake()

    async def wait(self) -> None:
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the event loop is closed: the demo ends already
                loop.call_soon_threadsafe(arrived.set)

        self.wake = wake
        if not self.requested:
            await arrived.wait()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dealing(parser)
    parser.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    return asyncio.run(_until(Stop(), DemoPlan(arguments.rounds, seed_of(arguments), arguments.fast)))


async def _until(stop: Stop, plan: DemoPlan) -> int:
    showing, stopped = asyncio.create_task(show(plan)), asyncio.create_task(stop.wait())
    await asyncio.wait((showing, stopped), return_when=asyncio.FIRST_COMPLETED)
    for task in (stopped, showing):
        task.cancel()
    try:
        await showing
    except asyncio.CancelledError:
        return ExitStatus.INTERRUPTED if plan.rounds else 0
    return 0


async def show(plan: DemoPlan) -> None:
    """Start the processes, show the rounds, stop the processes."""
    with vanishing_directory() as directory:
        async with running_broker(place=directory) as broker:
            page = Page(plan, broker)
            dealing = (f"--seed={plan.seed}", *(("--fast",) if plan.fast else ()))
            async with child(directory, "rig", "angel-eye", "--listen=tcp://127.0.0.1:0", *dealing) as shoe:
                file = configure(directory, broker, await shoe.port(), fast=plan.fast)
                async with following(broker) as messages, child(directory, "run", f"--config={file}") as daemon:
                    with page.shown():
                        await first_of(page.follow(messages), page.draw(), shoe.failed(), daemon.failed())


@contextmanager
def vanishing_directory() -> Iterator[Path]:
    """A temporary directory that a shell removes at the end of this process, also after a kill."""
    directory = Path(tempfile.mkdtemp(prefix="shoed-demo-"))
    remover = ("/bin/sh", "-c", REMOVE, str(directory))
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(remover, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, start_new_session=True):
        yield directory


def configure(directory: Path, broker: Broker, port: str, *, fast: bool) -> Path:
    settings, more = broker.settings(), NO_SPACING if fast else ""
    file = directory / "shoed.toml"
    file.write_text(
        CONFIGURATION.format(site=SITE, url=settings.at, version=settings.version, table=TABLE, port=port, more=more)
    )
    return file


@asynccontextmanager
async def following(broker: Broker) -> AsyncIterator[AsyncIterator[ReceivedMessage]]:
    try:
        async with subscription(broker.settings(), TOPICS) as messages:
            yield messages
    except BrokerLost as error:
        lines = broker.log.read_text(errors="replace").splitlines()[-TAIL:]
        raise RigError("\n".join((f"{error}; its last lines:", *lines))) from error


async def first_of(*works: Coroutine[None, None, None]) -> None:
    """Run the coroutines until one of them ends or fails."""
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
    """Another shoed process in a new session: Ctrl-C signals only the demo, which ends its children in order."""
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
        self.output: deque[str] = deque(maxlen=TAIL)
        self.news = asyncio.Event()
        self.listening = asyncio.create_task(self.listen())

    async def listen(self) -> None:
        assert self.process.stdout is not None  # noqa: S101  # a pipe, see child()
        async for line in self.process.stdout:
            self.output.append(line.decode(errors="replace").rstrip())
            self.news.set()

    async def port(self) -> str:
        """The address for the configuration, from the output of the child."""
        try:
            async with asyncio.timeout(PORT_S):
                while not (found := PORT.search("\n".join(self.output))):
                    self.news.clear()
                    await first_of(self.heard(), self.failed())
        except TimeoutError:
            raise RigError(
                f"{self.name} did not print its port within {PORT_S:g} s; check the load of this machine"
            ) from None
        return found[1]

    async def heard(self) -> None:
        await self.news.wait()

    async def failed(self) -> None:
        """Raise when the child ends. No child may end before the demo."""
        status = await self.process.wait()
        await asyncio.wait((self.listening,))
        raise RigError("\n".join((f"{self.name} ended with status {status}; its last lines:", *self.output)))

    async def stop(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self.listening.cancel()


# --- the screen


class Page:
    """The output: a live screen on a terminal, otherwise one line for each event."""

    def __init__(self, plan: DemoPlan, broker: Broker) -> None:
        self.wanted = plan.rounds
        self.seen = 0
        self.head = (
            f"virtual shoe (seed {plan.seed}), daemon and broker, all on loopback; Ctrl-C ends the demo",
            f"topic      shoed/v1/{SITE}/{TABLE}/#",
            f"subscribe  mosquitto_sub -h {broker.host} -p {broker.port} -t '{TOPICS}' -v",
        )
        self.broker = lamp("broker", (broker.kind.value, broker.settings().at), well=True)
        self.tables: dict[str, TableView] = {}
        self.news = asyncio.Event()
        self.live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.look = look(os.environ, sys.stdout.encoding)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # for names and texts of other programs
        write("".join(f"{line}\n" for line in self.head))

    async def follow(self, messages: AsyncIterator[ReceivedMessage]) -> None:
        """Show messages until the requested number of rounds is complete."""
        async for topic, payload in messages:
            if self.take(topic, payload):
                return

    def take(self, topic: str, payload: bytes) -> bool:
        """Show one message. True if it completes the requested number of rounds."""
        found = read(topic, payload)
        if found is None:
            return False
        name, heard = found
        self.tables[name] = updated(self.tables.get(name, TableView()), heard)
        self.news.set()
        if not self.live and (line := plain(heard)):
            write(f"{name}  {line}\n")
        self.seen += isinstance(heard, ShownEvent) and isinstance(heard.data, RoundConfirmed | RoundDisputed)
        return self.seen == self.wanted

    async def draw(self) -> Never:
        while True:
            await self.news.wait()
            self.news.clear()
            self.frame()
            await asyncio.sleep(FRAME_S)

    def frame(self) -> None:
        if self.live:
            lines = [
                *screen_lines(Importance.HEAD, *self.head),
                *screen_lines(Importance.SPACE, ""),
                *screen(self.tables),
                *screen_lines(Importance.HEALTH, self.broker),
            ]
            text = "\r\n".join(f"{line}\x1b[K" for line in fitted(lines, rows() - 1))  # the prompt follows
            write(f"\x1b[H{self.look.of(text)}\x1b[J")

    @contextmanager
    def shown(self) -> Iterator[None]:
        if self.live:  # scroll the old text up, hide the cursor, cut off long lines
            write("\n" * rows() + "\x1b[2J\x1b[?25l\x1b[?7l")
        try:
            yield
        finally:
            self.frame()
            if self.live:
                write("\x1b[?7h\x1b[?25h\n")


def rows() -> int:
    """The present height of the terminal. The variable LINES does not follow a change of its window."""
    with suppress(OSError):  # the terminal is closed: the next write ends the demo
        return os.get_terminal_size(sys.stdout.fileno()).lines or ROWS
    return ROWS


def write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise BrokenPipeError from error  # a pipe or a terminal
