"""The crash harness: `./dev crash [KILLS] [--seed S] [--only K]`.

KILLS kills of the daemon in full play, and one fault of the disk for each five kills. A failed trial prints the command
that repeats it alone. The state directory of a failed trial is kept in .cache/crash.

`--kind operations` has KILLS trials of each operation on a whole journal instead (`operations.py`).
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Final

from shoed.rig.broker import Broker, BrokerKind, running_broker
from tests.crash.disk import CACHE
from tests.crash.injuries import injury, ward
from tests.crash.operations import OPERATIONS
from tests.crash.site import keep, site_on
from tests.crash.trials import FAULTS, Trial

KILLS: Final = 1000
EACH: Final = 6  # trials with one fault of the disk
PER_SITE: Final = 24  # trials; then a new site begins, with an empty journal


def plan(seed: int, kills: int) -> list[Trial]:
    """All trials. The kind of a trial depends on its number alone."""
    return [Trial(seed, number, kind(number)) for number in range(kills + kills // (EACH - 1))]


def kind(number: int) -> str:
    turn, place = divmod(number, EACH)
    return "kill" if place < EACH - 1 else list(FAULTS)[turn % len(FAULTS)]


class Run:
    """All sites, one after another."""

    def __init__(self, broker: Broker, place: Path, trials: Sequence[Trial]) -> None:
        self.broker = broker
        self.place = place
        self.trials = list(trials)
        self.counts: Counter[str] = Counter()
        self.failed: list[Trial] = []
        self.slowest_s = 0.0

    async def go(self) -> None:
        left = self.trials
        while left:
            done = await self.one_site(left)
            left = left[done:]

    async def one_site(self, trials: Sequence[Trial]) -> int:
        """Trials on one site, until one fails; return their number."""
        number, last = 0, trials[0]
        place = self.place / f"site-{trials[0].seed}-{trials[0].number}"
        defects: list[str] = []
        try:
            async with site_on(place, self.broker, trials[0].dice) as site:
                for last in trials[:PER_SITE]:
                    number += 1
                    began = monotonic()
                    await last.run(site)
                    if site.defects or site.damaged:
                        break
                    print(f"{last}: ok, {len(site.recorded)} events, {monotonic() - began:.1f} s", flush=True)
                if not site.defects:
                    await site.finish()
                defects = site.defects
                self.counts += site.counts
                self.slowest_s = max(self.slowest_s, site.slowest_s)
        except* AssertionError as group:
            defects = [*defects, *(str(error) for error in leaves(group))]
        if defects:
            self.report(last, defects, place)
        shutil.rmtree(place, ignore_errors=True)
        return number

    def report(self, trial: Trial, defects: Sequence[str], place: Path) -> None:
        kept = CACHE / f"failed-{trial.seed}-{trial.number}"
        keep(place, kept)
        self.failed.append(trial)
        print(f"{trial}: FAILED; {kept} has its files")
        print("\n".join(defects[:10]))
        print(f"repeat it with: ./dev crash --seed {trial.seed} --only {trial.number}", flush=True)


def leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from leaves(each)
    else:
        yield error


async def crash(place: Path, trials: Sequence[Trial]) -> int:
    began = monotonic()
    async with running_broker(BrokerKind.MOSQUITTO) as broker:
        run = Run(broker, place, trials)
        await run.go()
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(run.counts.items()))
    print(f"\nseed {trials[0].seed}: {counts}; slowest start {run.slowest_s:.1f} s; {monotonic() - began:.0f} s")
    print(f"{len(trials)} trials, {len(run.failed)} failed" + "".join(f"; {each}" for each in run.failed))
    return 1 if run.failed else 0


def injure(place: Path, seed: int, numbers: range, only: int | None) -> int:
    """Trials of each operation. Those with one number are repeated with `--only`."""
    failed: list[str] = []
    for name in OPERATIONS:
        began = monotonic()
        with ward(name, place / name.replace(" ", "-")) as injured:
            for number in numbers if only is None else (only,):
                trial = injury(injured, seed, number)
                defects = injured.run(trial)
                if defects:
                    failed.append(str(trial))
                    print("\n".join([f"{trial}: FAILED", *defects[:10]]))
                    print(f"repeat it with: ./dev crash --kind operations --seed {seed} --only {number}", flush=True)
            calls = ", ".join(f"{each:,}" for each in injured.measured.values())
        print(f"{name}: {calls} calls; {monotonic() - began:.0f} s", flush=True)
    print(f"{len(failed)} trials failed" + "".join(f"; {each}" for each in failed))
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev crash", description="kills and disk faults in full play")
    parser.add_argument("kills", nargs="?", type=int, default=KILLS, help=f"the number of kills ({KILLS})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="K", help="this trial alone")
    parser.add_argument("--first", type=int, metavar="K", default=0, help="begin with this trial")
    parser.add_argument("--kind", help="only trials of this kind", choices=("kill", *FAULTS, "operations"))
    given = parser.parse_args()
    if given.kills < 1:
        parser.error("the number of kills is at least 1")
    if shutil.which("cc") is None:
        print("./dev crash: a C compiler (cc) is not installed; on Debian run: sudo apt-get install -y gcc libc6-dev")
        return 77
    if given.kind == "operations":
        with tempfile.TemporaryDirectory(prefix="crash-") as place:
            return injure(Path(place).resolve(), given.seed, range(given.first, given.kills), given.only)
    trials = plan(given.seed, given.kills)[given.first :]
    if given.only is not None:
        trials = [Trial(given.seed, given.only, kind(given.only))]
    elif given.kind is not None:
        trials = [each for each in trials if each.kind == given.kind]
    with tempfile.TemporaryDirectory(prefix="crash-") as place:
        return asyncio.run(crash(Path(place).resolve(), trials))


if __name__ == "__main__":
    sys.exit(main())
