"""The trials: a daemon that ends at a seeded moment of full play, and the laws after it.

Theory of operation. A Site has two tables, an Angel Eye and an Open Shoe, which are dealt all the time, a real broker,
and a subscriber that is connected all the time. A trial starts the daemon, waits until it records cards, and kills it,
or lets its disk fail, at a moment from the seed of the trial. While the daemon is down, the journal is compared with
the subscriber and with the shoes. The start of the next trial, or `finish`, is the restart: the daemon is ready
again, and publishes the rest. A trial that loses events at the disk (a lost write, a sync that lies) is the last one of
its site.
"""

import asyncio
import errno
import shutil
from asyncio import Task, TaskGroup
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from signal import SIGKILL
from time import monotonic
from typing import Final, NamedTuple

from shoed.rig.broker import Broker
from tests.command_clients import shoed
from tests.crash.dealing import Eye, Open
from tests.crash.disk import CHANGES, JOURNAL, Call, FaultyDisk, File, Mode
from tests.crash.evidence import Journal, read
from tests.crash.laws import Audit, Witness, cards, named
from tests.crash.power import Snapshot, restore
from tests.crash.subscriber import Subscriber
from tests.patience import PATIENCE_S
from tests.soak import pause
from tests.world import Daemon, World, shoe_on

EYE, OPEN = "bac-901", "bac-902"
EYE_GAP_S: Final = (0.01, 0.03)
OPEN_GAP_S: Final = (0.07, 0.1)  # two cards closer than 60 ms were drawn together
MOMENTS: Final = ("play", "play", "play", "start", Mode.KILL_BEFORE, Mode.KILL_AFTER)  # of a kill
LONGEST_S: Final = 1.0  # of play before the moment
STARTING_S: Final = 0.8  # a moment in the start
FAULT_S: Final = (0.1, 2.5)
LATEST_S: Final = 4.0  # for a call that does not occur
MOST_CALLS: Final = 300  # before a moment in a call
START_LIMIT_S: Final = 15.0


class Trial(NamedTuple):
    """One trial of a run. `kind` is "kill" or a fault of the disk."""

    seed: int
    number: int
    kind: str

    @property
    def dice(self) -> Random:
        return Random(f"{self.seed}/{self.number}")

    def __str__(self) -> str:
        return f"trial {self.number} ({self.kind})"


class Site:
    """One site, its two shoes and its subscriber, for several trials."""

    def __init__(self, world: World, eye: Eye, shoe: Open, disk: FaultyDisk) -> None:
        self.world = world
        self.eye = eye
        self.shoe = shoe
        self.disk = disk
        self.subscriber = Subscriber(world.site)
        self.laws = Audit(EYE, OPEN)
        self.path = world.place / "c.toml"
        self.recorded: set[str] = set()  # the ids of the journal, when the daemon ended
        self.counts: Counter[str] = Counter()
        self.slowest_s = 0.0
        self.moment = ""
        self.defects: list[str] = []
        self.spent = False  # events are lost at the disk: no further trial

    def configure(self) -> None:
        port = self.eye.shoe.port
        port += "?baud=115200" if port.startswith("serial") else ""
        self.path.write_text(f"""
            [site]
            name = "{self.world.site}"
            state_dir = "{self.world.state_dir}"
            [mqtt]
            url = "mqtt://{self.world.broker.host}:{self.world.broker.port}"
            [[table]]
            name = "{EYE}"
            game = "commission"
            after_gap = "abandon"
            [table.shoe]
            protocol = "angel-eye"
            port = "{port}"
            line_baud = 115200
            repeat_window_ms = 100
            min_draw_gap_ms = 0
            [[table]]
            name = "{OPEN}"
            game = "commission"
            after_gap = "abandon"
            [table.shoe]
            protocol = "open-shoe"
            port = "{self.shoe.port}"
            min_draw_gap_ms = 0
        """)

    # --- the daemon

    async def launch(self) -> Daemon:
        return await self.world.launch(self.path, self.disk.environment)

    async def start(self) -> Daemon:
        """Start the daemon as its supervisor does, until it records cards and has published the earlier events."""
        began = monotonic()
        daemon = await self.launch()
        await daemon.ready()
        self.slowest_s = max(self.slowest_s, monotonic() - began)
        if monotonic() - began > START_LIMIT_S:
            self.defects.append(f"start: the daemon needed {monotonic() - began:.1f} s")
        await self.resumed("after the start")
        if not await self.subscriber.until_it_has(self.recorded):
            self.defects.append("published: the backlog was not published after the start")
        return daemon

    async def end(self, daemon: Daemon) -> None:
        """Kill the daemon, unless the library has killed it."""
        if daemon.process.returncode is None:
            await daemon.kill()
        elif daemon.process.returncode != -SIGKILL:
            self.defects.append(f"alive: the daemon ended with status {daemon.process.returncode}:\n{daemon}")

    async def resumed(self, when: str) -> None:
        """The Open Shoe receives acknowledgements of further cards."""
        before = self.shoe.acknowledged
        try:
            async with asyncio.timeout(PATIENCE_S):
                while self.shoe.acknowledged <= before:
                    self.shoe.news.clear()
                    await self.shoe.news.wait()
        except TimeoutError:
            self.defects.append(f"resume: no card was acknowledged {when}")

    @property
    def witness(self) -> Witness:
        return Witness(self.subscriber.events, self.shoe.cards, self.shoe.acknowledged, self.eye.cards)

    async def audit(self, *, complete: bool = False) -> Journal:
        """Compare the journal of the stopped daemon with all other records."""
        journal = await asyncio.to_thread(read, self.world.state_dir)
        self.defects += self.laws.defects(journal, self.witness, f"journal after {self.moment}", complete=complete)
        if self.subscriber.ended:
            self.defects.append("harness: the subscriber has lost its connection")
        self.recorded = journal.ids
        return journal

    # --- the trials

    async def run(self, trial: Trial) -> None:
        """One trial; its defects are in `defects`."""
        dice = trial.dice
        self.moment = str(trial)
        before = len(self.world.daemons)
        if trial.kind == "kill":
            await self.kill(dice)
        else:
            await FAULTS[trial.kind](self, dice)
        await self.audit()
        self.counts[trial.kind] += 1
        for daemon in self.world.daemons[before:]:
            if "Traceback" in str(daemon):
                self.defects.append(f"log: the log has a traceback:\n{daemon}")

    async def kill(self, dice: Random) -> None:
        """SIGKILL in play, in the start, or directly before or after a call of the file system."""
        moment = dice.choice(MOMENTS)
        if moment == "start":
            daemon = await self.launch()
            await pause(daemon, dice.uniform(0, STARTING_S))
        elif isinstance(moment, Mode):
            in_start = dice.random() < 0.3
            daemon = await self.launch() if in_start else await self.start()
            await self.at_call(daemon, dice, moment, 40 if in_start else MOST_CALLS)
        else:
            daemon = await self.start()
            await pause(daemon, dice.uniform(0, LONGEST_S))
        await self.end(daemon)

    async def at_call(self, daemon: Daemon, dice: Random, mode: Mode, most: int) -> None:
        """The process ends in a call; if the call does not occur, later."""
        calls = dice.choice((Call.WRITE, Call.SYNC, CHANGES))
        files = dice.choice((File.WAL, JOURNAL, JOURNAL | File.OTHER | File.DIRECTORY | File.SHM))
        self.disk.begin(mode, calls, files, after=dice.randint(0, most), times=1, value=dice.randint(1, 99))
        await pause(daemon, LATEST_S)
        self.disk.heal()

    async def fault(self, dice: Random, begin: Callable[[], None], *, lasting: bool) -> None:
        """A disk that fails while the daemon serves. The daemon must not end, and continues by itself."""
        daemon = await self.start()
        await pause(daemon, dice.uniform(0, LONGEST_S))
        begin()
        await pause(daemon, dice.uniform(*FAULT_S))
        self.counts["injected"] += self.disk.injected
        if lasting:
            self.disk.heal()
        if daemon.process.returncode is None:
            await self.resumed("after the fault")
        self.disk.heal()
        await pause(daemon, dice.uniform(0, LONGEST_S))
        await self.end(daemon)

    async def fault_in_start(self, dice: Random, begin: Callable[[], None]) -> None:
        """A disk that fails from before the start. The daemon may end with a message; later it starts."""
        begin()
        daemon = await self.launch()
        await pause(daemon, dice.uniform(0.5, 3))
        self.disk.heal()
        if daemon.process.returncode is None:
            await self.end(daemon)
        elif daemon.process.returncode != 1 or "shoed" not in str(daemon):
            self.defects.append(f"start: without a disk, status {daemon.process.returncode}:\n{daemon}")

    async def error(self, dice: Random, number: int, *, once: bool = False) -> None:
        calls = dice.choice((Call.WRITE, Call.SYNC, Call.WRITE | Call.SYNC | Call.TRUNCATE, CHANGES))
        files = dice.choice((File.WAL, JOURNAL, File.DB))

        def begin() -> None:
            self.disk.fail(number, calls, files, after=dice.randint(0, 20), times=1 if once else -1)

        if not once and dice.random() < 0.2:
            await self.fault_in_start(dice, begin)
        else:
            await self.fault(dice, begin, lasting=not once)

    async def full(self, dice: Random) -> None:
        def begin() -> None:
            self.disk.fill(after=dice.randint(0, 20))

        if dice.random() < 0.2:
            await self.fault_in_start(dice, begin)
        else:
            await self.fault(dice, begin, lasting=True)

    async def hang(self, dice: Random) -> None:
        calls = dice.choice((Call.WRITE, Call.SYNC, CHANGES))
        await self.fault(dice, lambda: self.disk.hang(calls=calls, after=dice.randint(0, 20)), lasting=True)

    async def torn(self, dice: Random) -> None:
        daemon = await self.start()
        files = dice.choice((File.WAL, File.WAL, File.DB, JOURNAL | File.OTHER))
        self.disk.begin(
            Mode.TEAR, Call.WRITE, files, after=dice.randint(0, MOST_CALLS), times=1, value=dice.randint(1, 99)
        )
        await pause(daemon, LATEST_S)
        self.disk.heal()
        await self.end(daemon)

    async def power_cut(self, dice: Random, begin: Callable[[], None] | None = None) -> None:
        """The files are those after a power cut at a random moment, or in a call."""
        before = await asyncio.to_thread(Snapshot, self.world.state_dir)
        self.disk.logged = True
        daemon = await self.start()
        await pause(daemon, dice.uniform(0, LONGEST_S))
        if begin is not None:
            begin()
            await pause(daemon, dice.uniform(*FAULT_S))
        elif dice.random() < 0.5:
            await self.at_call(daemon, dice, dice.choice((Mode.KILL_BEFORE, Mode.KILL_AFTER)), MOST_CALLS)
        await self.end(daemon)
        self.disk.heal()
        self.disk.logged = False
        share = dice.choice((0.0, 0.5, 1.0, dice.random()))
        files = await asyncio.to_thread(before.cut, self.disk.log.read_bytes(), dice, share)
        await asyncio.to_thread(restore, self.world.state_dir, files)

    async def lying_sync(self, dice: Random) -> None:
        """The disk reports syncs that it did not make, and the power is cut. The loss must be named at the restart."""
        self.spent = True
        await self.power_cut(dice, lambda: self.disk.begin(Mode.LIE, Call.SYNC, JOURNAL | File.OTHER | File.DIRECTORY))
        await self.renew()

    async def lost_write(self, dice: Random) -> None:
        """The disk reports one write that it did not make."""
        self.spent = True
        daemon = await self.start()
        await pause(daemon, dice.uniform(0, LONGEST_S))
        self.disk.begin(Mode.LOSE, Call.WRITE, dice.choice((File.WAL, File.DB)), after=dice.randint(0, 50), times=1)
        await pause(daemon, dice.uniform(*FAULT_S))
        await self.end(daemon)
        self.disk.heal()
        await self.renew()

    async def renew(self) -> None:
        """The daemon starts from files with a loss, and plays on."""
        self.recorded = set()
        daemon = await self.start()
        await pause(daemon, LONGEST_S)
        await self.end(daemon)

    # --- the end of a site

    async def finish(self) -> None:
        """Restart, stop cleanly, and compare everything."""
        self.moment = "the last stop"
        daemon = await self.start()
        status = await daemon.stop()
        if status != 0:
            self.defects.append(f"stop: the status of a clean stop is {status}:\n{daemon}")
        self.recorded = (await asyncio.to_thread(read, self.world.state_dir)).ids
        await self.subscriber.until_it_has(self.recorded)
        journal = await self.audit(complete=True)
        self.counts["events"] += len(journal.ids)
        self.counts["acknowledged cards"] += self.shoe.acknowledged
        self.counts["cards without acknowledgement"] += len(cards(journal, EYE))
        for words in CHECKS:
            checked = await shoed(*words, "--state-dir", self.world.state_dir, patience_s=2 * PATIENCE_S)
            if checked.status != 0 and not named(journal):
                self.defects.append(f"{' '.join(words)}: status {checked.status}: {checked.out}{checked.err}")


CHECKS: Final = (("journal", "replay", "--check"),)

FAULTS: Final = {
    "power cut": Site.power_cut,
    "EIO once": lambda site, dice: site.error(dice, errno.EIO, once=True),
    "full disk": Site.full,
    "torn write": Site.torn,
    "hang": Site.hang,
    "EIO": lambda site, dice: site.error(dice, errno.EIO),
    "lying sync": Site.lying_sync,
    "ENOSPC": lambda site, dice: site.error(dice, errno.ENOSPC),
    "power cut again": Site.power_cut,
    "read-only": lambda site, dice: site.error(dice, errno.EROFS),
    "lost write": Site.lost_write,
}


@asynccontextmanager
async def site_on(place: Path, broker: Broker, trial: Trial) -> AsyncIterator[Site]:
    """A new site. Its shoes deal from the seed of its first trial."""
    state_dir = place / "state"
    state_dir.mkdir(mode=0o700, parents=True)  # a local disk
    dice = trial.dice
    line = dice.choice(("pty", "tcp"))
    async with (
        World(place, broker) as world,
        shoe_on(line, place) as angel_eye,
        Open(Random(dice.random()), OPEN_GAP_S) as shoe,
        TaskGroup() as tasks,
    ):
        await world.recorder.leave()  # the subscriber of this file takes its place
        site = Site(world, Eye(angel_eye, Random(dice.random()), EYE_GAP_S), shoe, FaultyDisk(state_dir, place))
        site.configure()
        receiving = await site.subscriber.connect(broker.host, broker.port, f"crash-{world.site}")
        running = [tasks.create_task(each) for each in (site.eye.deal(), shoe.deal(), shoe.keep_alive())]
        try:
            yield site
        finally:
            site.disk.heal()
            await stopped([receiving, *running])


async def stopped(tasks: list[Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def keep(place: Path, to: Path) -> None:
    """Keep the files of a failed trial, without sockets and lines."""

    def others(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if not (Path(folder, name).is_file() or Path(folder, name).is_dir())]

    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(place, to, ignore=others)
