"""A site for crashes: one daemon after another on a disk that fails, in full play, and the laws.

Theory of operation. Two tables, an Angel Eye and an Open Shoe, are dealt all the time. The broker is real, and a
subscriber is connected to it all the time. `start` is a restart: the daemon is ready again, acknowledges further cards,
and publishes the events that the last audit found in the journal. `audit` compares the journal of the stopped daemon
with the subscriber and with the shoes.
"""

import asyncio
import json
import re
import shutil
from asyncio import Task, TaskGroup
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from signal import SIGKILL
from time import monotonic
from typing import Final

from shoed.rig.broker import Broker
from tests.command_clients import Finished, shoed
from tests.crash.dealing import Eye, Open
from tests.crash.disk import FaultyDisk
from tests.crash.evidence import Journal, read
from tests.crash.laws import Audit, Witness, cards
from tests.crash.subscriber import Subscriber
from tests.patience import PATIENCE_S
from tests.world import Daemon, World, shoe_on

EYE, OPEN = "bac-901", "bac-902"
EYE_GAP_S: Final = (0.01, 0.03)
OPEN_GAP_S: Final = (0.07, 0.1)  # two cards closer than 60 ms were drawn together
START_LIMIT_S: Final = 15.0
REPLAY: Final = ("journal", "replay", "--check")
VERIFY: Final = ("journal", "verify")
CHANGE: Final = re.compile(r"^\S+: [^:]+: (altered|missing|inserted|reordered): ", re.MULTILINE)
DAMAGED: Final = "keep the file as evidence"  # in the error, if the file cannot be read


class Site:
    """One site, its two shoes and its subscriber, for several trials."""

    def __init__(self, world: World, eye: Eye, shoe: Open, disk: FaultyDisk) -> None:
        self.world = world
        self.state_dir = world.state_dir
        self.eye = eye
        self.shoe = shoe
        self.disk = disk
        self.subscriber = Subscriber(world.site)
        self.laws = Audit(EYE, OPEN)
        self.path = world.place / "c.toml"
        self.recorded: set[str] = set()  # the ids of the journal at the last audit
        self.counts: Counter[str] = Counter()
        self.slowest_s = 0.0
        self.moment = ""
        self.defects: list[str] = []
        self.damaged = False  # the disk has lost or changed data: this is the last trial

    def configure(self) -> None:
        port = self.eye.shoe.port
        port += "?baud=115200" if port.startswith("serial") else ""
        self.path.write_text(f"""
            [site]
            name = "{self.world.site}"
            state_dir = "{self.state_dir}"
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
        """Start the daemon as its supervisor does."""
        began = monotonic()
        daemon = await self.launch()
        await daemon.ready()
        needed_s = monotonic() - began
        self.slowest_s = max(self.slowest_s, needed_s)
        if needed_s > START_LIMIT_S:
            self.defects.append(f"start: the daemon needed {needed_s:.1f} s")
        await self.resumed("after the start")
        if not await self.subscriber.until_it_has(self.recorded):
            self.defects.append("published: the backlog was not published after the start")
        return daemon

    async def end(self, daemon: Daemon, *, stopping: bool = False) -> None:
        """Kill the daemon, unless the library has killed it, or it has stopped as requested."""
        if daemon.process.returncode is None:
            await daemon.kill()
        elif daemon.process.returncode not in ((-SIGKILL, 0) if stopping else (-SIGKILL,)):
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

    # --- the laws

    @property
    def witness(self) -> Witness:
        return Witness(self.subscriber.events, self.shoe.cards, self.shoe.acknowledged, self.eye.cards)

    async def audit(self, *, complete: bool = False) -> Journal:
        """Compare the journal of the stopped daemon with all other records."""
        journal = await asyncio.to_thread(read, self.state_dir)
        place = f"journal after {self.moment}"
        found = self.laws.defects(journal, self.witness, place, complete=complete, damaged=self.damaged)
        if self.damaged and found and await self.is_altered():
            found = [defect for defect in found if defect.startswith("contents:")]
        self.defects += found
        if self.subscriber.ended:
            self.defects.append(f"published: the subscriber cannot read a message: {self.subscriber.wrong!r}")
        self.recorded = journal.ids
        for daemon in self.world.daemons:
            if "Traceback" in str(daemon):
                self.defects.append(f"log: the log has a traceback:\n{daemon}")
        return journal

    async def is_altered(self) -> bool:
        """Whether the command of the auditor reports a change of the journal."""
        return names_a_change(await shoed(*VERIFY, "--state-dir", self.state_dir))

    async def finish(self) -> None:
        """Restart, stop cleanly, and compare everything."""
        self.moment = "the last stop"
        daemon = await self.start()
        status = await daemon.stop()
        if status != 0:
            self.defects.append(f"stop: the status of a clean stop is {status}:\n{daemon}")
        self.recorded = (await asyncio.to_thread(read, self.state_dir)).ids
        await self.subscriber.until_it_has(self.recorded)
        journal = await self.audit(complete=True)
        self.counts["events"] += len(journal.ids)
        self.counts["acknowledged cards"] += self.shoe.acknowledged
        self.counts["cards without acknowledgement"] += len(cards(journal, EYE))
        if not (self.damaged and await self.is_altered()):
            key, heads = self.state_dir / "journal.pub", self.world.place / "heads"
            heads.write_bytes(whole_lines(self.state_dir / "heads.jsonl"))
            with_heads = () if self.damaged else ("--key", key, "--heads", heads)
            for words in ((*VERIFY, *with_heads), REPLAY):
                checked = await shoed(*words, "--state-dir", self.state_dir, patience_s=2 * PATIENCE_S)
                if checked.status != 0:
                    self.defects.append(f"{words[1]}: status {checked.status}: {checked.out}{checked.err}")


def names_a_change(checked: Finished) -> bool:
    """Whether VERIFY names a changed place, or a damaged file. Any other error is a defect of the command."""
    return checked.status == 1 and (CHANGE.search(checked.out) is not None or DAMAGED in checked.err)


def whole_lines(file: Path) -> bytes:
    """The lines of JSON. The daemon does not sync its own heads: a power cut leaves zeros in place of some lines."""
    return b"".join(line for line in file.read_bytes().splitlines(keepends=True) if is_json(line))


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


@asynccontextmanager
async def site_on(place: Path, broker: Broker, dice: Random) -> AsyncIterator[Site]:
    """A new site, with shoes that deal from this seed."""
    state_dir = place / "state"
    state_dir.mkdir(mode=0o700, parents=True)
    line = dice.choice(("pty", "tcp"))
    async with (
        World(place, broker) as world,
        shoe_on(line, place) as angel_eye,
        Open(Random(dice.random()), OPEN_GAP_S) as shoe,
        TaskGroup() as tasks,
    ):
        await world.recorder.leave()  # the subscriber of this site takes its place
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
