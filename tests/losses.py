"""A site whose journal is lost in part: restored from a copy, cut, damaged or deleted, while a subscriber is connected.

Theory of operation: `Site.play` starts a daemon, deals reports, and stops or kills the daemon. Between two daemons a
test changes the files of the state directory. `Site.check` verifies the law over the whole history: the subscriber has
never received one id with two contents, each event is valid JSON with the known keys, the sequence of each word has no
gap, and a loss is named by `journal.continued`.
"""

import asyncio
import shutil
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path
from typing import Any, Final

from tests.crash.evidence import content_of
from tests.crash.laws import Contents
from tests.crash.subscriber import Received
from tests.foreign_shoe import COPIES, Shoe, endless
from tests.witnesses import TABLE
from tests.world import SHOED, Daemon, World

JOURNAL: Final = ("journal.db", "journal.db-wal", "journal.db-shm")


class Site:
    def __init__(self, world: World, shoe: Shoe, version: str = "5") -> None:
        self.world = world
        self.shoe = shoe
        self.version = version
        self.reports = endless()
        self.contents = Contents()

    @property
    def state_dir(self) -> Path:
        return self.world.state_dir

    @property
    def events(self) -> list[Any]:
        return self.world.recorder.events()

    async def start(self, *, port: int | None = None) -> Daemon:
        daemon = await self.world.start(self.shoe, version=self.version, port=port)
        await self.shoe.connected()
        return daemon

    async def deal(self, reports: int) -> None:
        for _ in range(reports):
            _, _, frame = next(self.reports)
            await self.shoe.send(frame * COPIES)
        await self.shoe.taken()

    async def fence(self) -> None:
        """Wait until the events of all earlier reports are published. A host that closes the line loses reports."""
        published = False
        while not published:
            await self.shoe.connected()
            report = asyncio.create_task(self.world.settled(self.shoe))
            away = asyncio.create_task(self.shoe.deserted())
            await asyncio.wait((report, away), return_when=asyncio.FIRST_COMPLETED)
            published = report.done()
            for task in (report, away):
                task.cancel()
            await asyncio.gather(away, return_exceptions=True)
            if published:
                await report
        await self.caught_up()

    async def caught_up(self) -> None:
        """Wait until the newest retained state includes the newest event of the journal."""

        def newest() -> bool:
            states = self.world.recorder.states()
            last = self.world.journal.ask("SELECT max(sequence) FROM event WHERE table_name = ?", TABLE)[0][0]
            return bool(states) and states[-1]["sequence"] == str(last)

        await self.world.recorder.until(newest)

    async def play(self, reports: int, *, kill: bool = False, after: int = 0) -> None:
        """`after`: the number of incarnations in the complete history before the first report."""
        daemon = await self.start()
        await self.world.recorder.until(lambda: len(self.continued()) >= after)
        await self.deal(reports)
        await self.fence()
        await self.end(daemon, kill=kill)

    async def end(self, daemon: Daemon, *, kill: bool = False) -> None:
        if kill:
            await daemon.kill()
        else:
            assert await daemon.stop() == 0
        await self.shoe.deserted()

    async def verified(self) -> None:
        """The chain of the present journal is intact, and its recomputation gives the same events."""
        for task in ("verify", "replay"):
            command = (SHOED, "journal", task, "--state-dir", str(self.state_dir))
            process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT)
            text, _ = await process.communicate()
            assert process.returncode == 0, f"journal {task}: {text.decode()}"

    # --- the files

    def copy(self, place: Path) -> Path:
        place.mkdir()
        for name in JOURNAL:
            if (self.state_dir / name).exists():
                shutil.copy(self.state_dir / name, place)
        return place

    def restore(self, place: Path) -> None:
        """As `cp` does: the present files are overwritten or removed."""
        self.remove()
        for path in place.iterdir():
            shutil.copy(path, self.state_dir)

    def remove(self) -> None:
        for name in JOURNAL:
            (self.state_dir / name).unlink(missing_ok=True)

    def forget_heads(self) -> None:
        for path in self.state_dir.glob("heads.jsonl*"):
            path.unlink()

    # --- the law

    def last(self) -> tuple[str, int]:
        """The word and the sequence of the last received event."""
        newest = self.events[-1]
        return newest["id"].partition("-")[0], int(newest["sequence"])

    def continued(self) -> list[Any]:
        """The different events about an incarnation, in order."""
        found = {each["id"]: each["data"] for each in self.events if each["type"] == "shoed.journal.continued"}
        return list(found.values())

    def rounds_are_unique(self) -> bool:
        """Whether each number of a shoe and a round names one round."""
        started = {each["id"]: each["data"] for each in self.events if each["type"] == "shoed.round.started"}
        return len({(each["shoe"], each["round"]) for each in started.values()}) == len(started)

    def check(self) -> None:
        received = [Received(TABLE, each) for each in self.events]
        assert list(self.contents.received(received)) == []
        newest: dict[str, int] = {}
        for each in self.events:
            word, number = each["id"].partition("-")[0], int(each["sequence"])
            assert each["id"] == f"{word}-{TABLE}-{number}"
            assert content_of(TABLE, each)
            assert number <= newest.get(word, number - 1) + 1, f"{each['id']}: a gap before it"
            newest[word] = max(number, newest.get(word, 0))
        named = [each["incarnation"] for each in self.continued()]
        words = list(dict.fromkeys(each["id"].partition("-")[0] for each in self.events))
        assert words[1:] == [word for word in named if word in words], "a new word without its reason, or the reverse"
