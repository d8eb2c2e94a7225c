"""The trials: a daemon that ends, or a disk that fails, at a seeded moment of full play.

Theory of operation. A trial starts the daemon on its site, waits for a moment from the seed of the trial, and kills the
daemon or lets its disk fail. Then the journal is audited. The start of the next trial is the restart. A trial in which
the disk loses or changes data that it has promised to keep also restarts the daemon, and is the last one of its site:
the daemon must notice the damage, and name the loss.
"""

import asyncio
import errno
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.crash.disk import ALWAYS, CHANGES, JOURNAL, Call, File, Mode
from tests.crash.power import Snapshot, restore
from tests.crash.site import Site
from tests.soak import pause
from tests.world import Daemon

# The moments of a kill: in play, in the start, in a clean stop, directly before or after a call of the file system.
MOMENTS: Final = ("play", "play", "play", "start", "stop", Mode.KILL_BEFORE, Mode.KILL_AFTER)
LONGEST_S: Final = 1.0  # of play before the moment
STARTING_S: Final = 0.8  # a moment in the start
STOPPING_S: Final = 0.1  # a moment in the stop
FAULT_S: Final = (0.1, 2.5)
LATEST_S: Final = 4.0  # for a call that does not occur
MOST_CALLS: Final = 300  # before a moment in a call
CALLS_OF_START: Final = 40
IN_START: Final = 0.25  # the share of the faults that begin before the start


class Trial(NamedTuple):
    """One trial of a run. `kind` is "kill" or one of FAULTS."""

    seed: int
    number: int
    kind: str

    @property
    def dice(self) -> Random:
        return Random(f"{self.seed}/{self.number}")

    async def run(self, site: Site) -> None:
        """Its defects are added to those of the site."""
        site.moment = str(self)
        await (kill if self.kind == "kill" else FAULTS[self.kind])(site, self.dice)
        await site.audit()
        site.counts[self.kind] += 1

    def __str__(self) -> str:
        return f"trial {self.number} ({self.kind})"


async def play(site: Site, dice: Random) -> Daemon:
    """The daemon has recorded cards for some time."""
    daemon = await site.start()
    await pause(daemon, dice.uniform(0, LONGEST_S))
    return daemon


async def kill(site: Site, dice: Random) -> None:
    """SIGKILL."""
    moment = dice.choice(MOMENTS)
    if moment == "start":
        daemon = await site.launch()
        await pause(daemon, dice.uniform(0, STARTING_S))
    elif isinstance(moment, Mode) and dice.random() < IN_START:
        daemon = await site.launch()
        await at_call(site, daemon, dice, moment, CALLS_OF_START)
    else:
        daemon = await play(site, dice)
        await later(site, daemon, dice, moment)
    await site.end(daemon, stopping=moment == "stop")


async def later(site: Site, daemon: Daemon, dice: Random, moment: object) -> None:
    """Wait for the moment, in play or in the stop."""
    if isinstance(moment, Mode):
        await at_call(site, daemon, dice, moment, MOST_CALLS)
    elif moment == "stop" and dice.random() < 0.5:
        site.disk.begin(Mode.KILL_BEFORE, CHANGES, after=dice.randint(0, 20), times=1)
        daemon.process.terminate()
        await pause(daemon, LATEST_S)
        site.disk.heal()
    elif moment == "stop":
        daemon.process.terminate()
        await pause(daemon, dice.uniform(0, STOPPING_S))


async def at_call(site: Site, daemon: Daemon, dice: Random, mode: Mode, most: int) -> None:
    """The process ends in a call; if the call does not occur, later."""
    calls = dice.choice((Call.WRITE, Call.SYNC, CHANGES))
    files = dice.choice((File.WAL, JOURNAL, JOURNAL | File.OTHER | File.DIRECTORY | File.SHM))
    site.disk.begin(mode, calls, files, after=dice.randint(0, most), times=1, value=dice.randint(1, 99))
    await pause(daemon, LATEST_S)
    site.disk.heal()


# --- a disk that reports an error, or hangs


async def fault(site: Site, dice: Random, begin: Callable[[], None], *, lasting: bool) -> None:
    """The disk fails while the daemon serves. The daemon must not end, and continues by itself."""
    daemon = await play(site, dice)
    begin()
    await pause(daemon, dice.uniform(*FAULT_S))
    site.counts["injected"] += site.disk.injected
    if lasting:
        site.disk.heal()
    if daemon.process.returncode is None:
        await site.resumed("after the fault")
    site.disk.heal()
    await pause(daemon, dice.uniform(0, LONGEST_S))
    await site.end(daemon)


async def fault_in_start(site: Site, dice: Random, begin: Callable[[], None]) -> None:
    """The disk fails from before the start. The daemon may end with a message; later it starts."""
    begin()
    daemon = await site.launch()
    await pause(daemon, dice.uniform(0.5, 3))
    site.disk.heal()
    if daemon.process.returncode is None:
        await site.end(daemon)
    elif daemon.process.returncode != 1 or str(site.state_dir) not in str(daemon):
        site.defects.append(f"start: without a disk, status {daemon.process.returncode}:\n{daemon}")


async def error(site: Site, dice: Random, number: int, *, once: bool = False) -> None:
    calls = dice.choice((Call.WRITE, Call.SYNC, Call.WRITE | Call.SYNC | Call.TRUNCATE, CHANGES))
    files = dice.choice((File.WAL, JOURNAL, File.DB))

    def begin() -> None:
        site.disk.fail(number, calls, files, after=dice.randint(0, 20), times=1 if once else ALWAYS)

    if not once and dice.random() < IN_START:
        await fault_in_start(site, dice, begin)
    else:
        await fault(site, dice, begin, lasting=not once)


async def full(site: Site, dice: Random) -> None:
    def begin() -> None:
        site.disk.fill(after=dice.randint(0, 20))

    if dice.random() < IN_START:
        await fault_in_start(site, dice, begin)
    else:
        await fault(site, dice, begin, lasting=True)


async def hang(site: Site, dice: Random) -> None:
    calls = dice.choice((Call.WRITE, Call.SYNC, CHANGES))
    await fault(site, dice, lambda: site.disk.hang(calls=calls, after=dice.randint(0, 20)), lasting=True)


async def torn(site: Site, dice: Random) -> None:
    """A write that is cut, and SIGKILL."""
    daemon = await site.start()
    files = dice.choice((File.WAL, File.WAL, File.DB, JOURNAL | File.OTHER))
    part = dice.randint(1, 99)
    site.disk.begin(Mode.TEAR, Call.WRITE, files, after=dice.randint(0, MOST_CALLS), times=1, value=part)
    await pause(daemon, LATEST_S)
    site.disk.heal()
    await site.end(daemon)


async def power_cut(site: Site, dice: Random) -> None:
    """A power cut at a random moment, or in a call."""
    before = await power_on(site)
    daemon = await play(site, dice)
    moment = dice.choice(MOMENTS)
    await later(site, daemon, dice, moment)
    await site.end(daemon, stopping=moment == "stop")
    await power_off(site, dice, before)


async def power_on(site: Site) -> Snapshot:
    before = await asyncio.to_thread(Snapshot, site.state_dir)
    site.disk.logged = True
    return before


async def power_off(site: Site, dice: Random, before: Snapshot) -> None:
    """The files after a power cut replace those of the stopped daemon."""
    site.disk.heal()
    site.disk.logged = False
    share = dice.choice((0.0, 0.5, 1.0, dice.random()))
    files = await asyncio.to_thread(before.cut, site.disk.log.read_bytes(), dice, share)
    await asyncio.to_thread(restore, site.state_dir, files)


# --- a disk, or a person, that loses or changes data


async def renew(site: Site) -> None:
    """The daemon starts from the damaged files, and plays on."""
    site.damaged = True
    site.recorded = set()
    daemon = await site.start()
    await pause(daemon, LONGEST_S)
    await site.end(daemon)


async def lying_sync(site: Site, dice: Random) -> None:
    """The disk reports syncs that it did not make, and the power is cut."""
    before = await power_on(site)
    daemon = await play(site, dice)
    site.disk.begin(Mode.LIE, Call.SYNC, JOURNAL | File.OTHER | File.DIRECTORY)
    await pause(daemon, dice.uniform(*FAULT_S))
    await site.end(daemon)
    await power_off(site, dice, before)
    await renew(site)


async def lost_write(site: Site, dice: Random) -> None:
    """The disk reports one write that it did not make."""
    daemon = await play(site, dice)
    files = dice.choice((File.WAL, File.WAL, File.DB))
    site.disk.begin(Mode.LOSE, Call.WRITE, files, after=dice.randint(0, 50), times=1)
    await pause(daemon, dice.uniform(*FAULT_S))
    site.disk.heal()
    if daemon.process.returncode is None:  # it may notice the damage
        await site.end(daemon)
    await renew(site)


async def backup(site: Site, dice: Random) -> None:
    """A person replaces the journal by an old copy."""
    copy = site.state_dir.with_name("copy")
    await site.end(await play(site, dice))
    await asyncio.to_thread(shutil.copytree, site.state_dir, copy, ignore=sockets)
    await site.end(await play(site, dice))
    await site.audit()
    for path in (*site.state_dir.glob("journal.db*"), *copy.glob("journal.db*")):
        if path.parent == copy:
            path.rename(site.state_dir / path.name)
        else:
            path.unlink()
    await renew(site)


def sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if Path(folder, name).is_socket()]


async def no_wal(site: Site, dice: Random) -> None:
    """The WAL is missing."""
    await site.end(await play(site, dice))
    await site.audit()
    (site.state_dir / "journal.db-wal").unlink()
    await renew(site)


async def damaged_wal(site: Site, dice: Random) -> None:
    """Bytes of the WAL have changed."""
    await site.end(await play(site, dice))
    await site.audit()
    flip(site.state_dir / "journal.db-wal", dice)
    await renew(site)


async def damaged_page(site: Site, dice: Random) -> None:
    """Bytes of the database have changed. All data are in it: a checkpoint has emptied the WAL."""
    await site.end(await play(site, dice))
    await site.audit()
    with closing(sqlite3.connect(site.state_dir / "journal.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    flip(site.state_dir / "journal.db", dice)
    await renew(site)


def flip(path: Path, dice: Random) -> None:
    """Change one bit, some bits, or a sector."""
    content = bytearray(path.read_bytes())
    if dice.random() < 0.3:
        start = dice.randrange(0, len(content), 512)
        content[start : start + 512] = dice.choice((bytes(512), dice.randbytes(512)))
    else:
        for _ in range(dice.choice((1, 1, 8))):
            content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)


FAULTS: Final[Mapping[str, Callable[[Site, Random], Awaitable[None]]]] = {
    "power cut": power_cut,
    "EIO once": lambda site, dice: error(site, dice, errno.EIO, once=True),
    "lying sync": lying_sync,
    "full disk": full,
    "damaged page": damaged_page,
    "hang": hang,
    "torn write": torn,
    "old backup": backup,
    "EIO": lambda site, dice: error(site, dice, errno.EIO),
    "damaged WAL": damaged_wal,
    "ENOSPC": lambda site, dice: error(site, dice, errno.ENOSPC),
    "lost write": lost_write,
    "read-only": lambda site, dice: error(site, dice, errno.EROFS),
    "no WAL": no_wal,
}
