"""The environment of a daemon: its process, its notifications, a shoe, and one site on a real broker.

Theory of operation: the start of a daemon waits for its READY, as systemd does. There is no event for a change of a
file of another process: `Daemon.looking` looks again after each `GLANCE_S`, until the daemon ends.
"""

import asyncio
import contextlib
import ctypes
import os
import re
import resource
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Final, Protocol, Self, TypeVar

from shoed.rig.broker import Broker
from tests.foreign_shoe import PtyShoe, Shoe, TcpShoe
from tests.patience import PATIENCE_S
from tests.witnesses import TABLE, Journal, Recorder, Watched

T = TypeVar("T")

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SHOED: Final = str(Path(sys.executable).parent / "shoed")
GLANCE_S: Final = 0.003
LINES: Final = ("pty", "tcp")
# Nine reports take 32 s on this line: after an absence in a test, the next number proves that none was missed.
SLOW_LINE: Final = "line_baud = 50"
SLOW_PORT: Final = "?baud=50"

_prctl: Final = ctypes.CDLL(None).prctl
_PR_SET_PDEATHSIG: Final = 1


class Ported(Protocol):
    """A device that a configuration names by its port."""

    @property
    def port(self) -> str: ...


@contextlib.asynccontextmanager
async def shoe_on(line: str, place: Path) -> AsyncIterator[Shoe]:
    """A shoe on either kind of line; the node of a pty is in this directory."""
    async with PtyShoe(place / "tty") if line == "pty" else TcpShoe() as shoe:
        yield shoe


@dataclass
class Daemon(Watched):
    """One `shoed run`, and its notifications to systemd."""

    process: Process
    log: Path
    notified: list[str] = field(default_factory=list)

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
            await self.until(lambda: "READY=1" in self.notified or waiting.done())
        finally:
            waiting.cancel()
        assert "READY=1" in self.notified, f"shoed has ended: {self}"

    async def stuck(self, part: str) -> None:
        """Wait until the status names this part several times without a signal of the watchdog in between."""
        self.notified.clear()

        def reports() -> bool:
            silent = takewhile(lambda line: line != "WATCHDOG=1", reversed(self.notified))
            return sum(line.startswith("STATUS=stuck: ") and part in line for line in silent) > 3

        await self.until(reports)

    async def looking(self, predicate: Callable[[], T | None], patience_s: float = PATIENCE_S) -> T:
        """Wait until the predicate finds something in a file; an error if the daemon ends first."""
        try:
            async with asyncio.timeout(patience_s):
                while not (found := predicate()):
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self.process.wait(), GLANCE_S)
                        raise AssertionError(f"shoed has ended: {self}")
        except TimeoutError:
            raise AssertionError(f"nothing was found within {patience_s:g} s:\n{self}") from None
        return found

    async def kill(self) -> None:
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
    """One site on a broker of the tests. It starts and ends everything except the shoes."""

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

    async def __aenter__(self) -> Self:
        self.notify.bind(str(self.place / "notify"))
        self.notify.setblocking(False)  # noqa: FBT003  # setblocking has no keyword
        asyncio.get_running_loop().add_reader(self.notify, self.read_notifications)
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
                assert "Traceback" not in str(daemon), f"the log has a traceback:\n{daemon}"

    def read_notifications(self) -> None:
        """Read the notifications that have arrived; the event loop calls this, too."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.daemons[-1].notified += self.notify.recv(4096).decode().split("\n")
                self.daemons[-1].news.set()

    def configure(
        self,
        *shoes: Ported,
        port: int | None = None,
        version: str = "5",
        protocol: str = "angel-eye",
        shoe_settings: str = "",
        name: str = "c.toml",
    ) -> Path:
        """Write a configuration for the tables bac-901, bac-902 and so on; `port` is the port of the broker."""
        if protocol == "angel-eye":
            shoe_settings += f"\n{SLOW_LINE}"
        tables = "".join(
            f"""
            [[table]]
            name = "bac-{number}"
            game = "commission"
            [table.shoe]
            protocol = "{protocol}"
            port = "{shoe.port}{SLOW_PORT if isinstance(shoe, PtyShoe) else ""}"
            min_draw_gap_ms = 0  # the foreign shoe deals without a pause
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

    async def launch(
        self, path: Path, settings: Mapping[str, str] | None = None, program: Sequence[str] = (SHOED, "run", "--config")
    ) -> Daemon:
        """Start the process without waiting. The path of the configuration is the last argument of the program."""
        log = self.place / f"log-{len(self.daemons)}"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *program,
                str(path),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "NOTIFY_SOCKET": str(self.place / "notify"), **(settings or {})},
                preexec_fn=_die_with_parent,
            )
        self.daemons.append(Daemon(process, log))
        return self.daemons[-1]

    async def start(
        self, *shoes: Shoe, port: int | None = None, version: str = "5", settings: Mapping[str, str] | None = None
    ) -> Daemon:
        """Start a daemon for these shoes, and wait for its READY."""
        daemon = await self.launch(self.configure(*shoes, port=port, version=version), settings)
        await daemon.ready()
        return daemon

    async def serve(self, *shoes: Shoe, version: str = "5") -> Daemon:
        """Start a daemon, and wait until every shoe is online and has accepted the connection."""
        daemon = await self.start(*shoes, version=version)
        for number, shoe in enumerate(shoes, start=901):
            await self.recorder.event("device.online", f"bac-{number}")
            await shoe.connected()
        return daemon

    def fill_disk(self, daemon: Daemon) -> None:
        """No file of the daemon may grow. The kernel reports a file size limit in place of a full disk."""
        files = (self.journal.path, self.journal.path.with_name("journal.db-wal"))
        size = max(file.stat().st_size for file in files)
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (size, size))

    async def settled(self, shoe: Shoe, table: str = TABLE) -> None:
        """Wait until all earlier reports of the shoe are published: send a changed preset, and wait for its event."""
        self.fences += 1
        value = f"{self.fences:04d}"
        await shoe.say(f"M 30 31 {value.encode().hex(' ')}")
        await self.recorder.event("device.changed", table, address="01", value=value)

    async def all_published(self, table: str = TABLE) -> None:
        """Compare the received events with the journal: they are in order from 1, and equal ids have equal content."""
        record = {row.sequence: row for row in self.journal.events(table)}
        assert list(record) == list(range(1, len(record) + 1))
        events = self.recorder.events(table)
        await self.recorder.until(lambda: events and int(events[-1]["sequence"]) >= len(record))
        newest, word = 0, self.journal.word
        for event in events:
            number = int(event["sequence"])
            assert number <= newest + 1, f"{number} was received before {newest + 1}"
            newest = max(newest, number)
            assert event["id"] == f"{word}-{table}-{number}"
            if number in record:  # else it is newer than `record`
                row = record[number]
                assert (event["type"], event["data"]) == (f"shoed.{row.type}", row.data)
                assert datetime.fromisoformat(event["time"]) == EPOCH + timedelta(microseconds=row.utc_us)


def _die_with_parent() -> None:
    """In the child process: a killed test run ends its daemons."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
