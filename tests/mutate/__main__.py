"""`./dev mutate [--number N] [--minutes M] [--seed S]`: small changes of the code that the tests must detect.

The order of the mutants depends on a seed and on the identity of each mutant alone: a change of the code does not
reorder other mutants. The exit status is 1 in these cases: a surviving mutant is not in `survivors.toml`, the list has
an entry without a mutant, a test kills a listed mutant, or the tests kill less than 97 % of a large sample.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from time import monotonic
from typing import Final

import msgspec
import pytest

from tests.mutate.judge import ROOT, Measured, Misjudged, Verdict, judge, lines_in, measured, tracer, with_tests
from tests.mutate.mutants import Key, Mutant, members, mutants
from tests.pure import pure_tests, reaches

PACKAGES: Final = ("shoed/table", "shoed/watch", "shoed/rules")
MUTATED: Final = (
    *("shoed.table", "shoed.watch", "shoed.rules", "shoed.engine"),
    *("shoed.cli.rules.settle", "shoed.model.requests"),
)
NOT_PURE: Final = ("test_rules_settle.py", "test_explore.py")  # they need no daemon, and are fast
TOO_LONG: Final = ("test_settings_toml.py", "test_table_properties.py")  # a minute for each mutant that survives
FOR_PEOPLE: Final = ("shoed/table/wording.py", "shoed/cli/rules/page.py")  # texts and documentation only
LIST: Final = "tests/mutate/survivors.toml"
SURVIVORS: Final = ROOT / LIST
CACHE: Final = ROOT / ".cache" / "mutate"
READ: Final = ("shoed", "firmware_protocols", "tests")
SUFFIXES: Final = {".py", ".toml", ".json", ".md"}
MINUTES: Final = 24 * 60.0
LARGE: Final = 1000
BAR: Final = 0.97


class Survivor(msgspec.Struct, frozen=True):
    """A mutant that no test kills, and the reason."""

    module: str
    function: str
    before: str
    after: str
    reason: str

    @property
    def key(self) -> Key:
        return Key(self.module, self.function, self.before, self.after)


class Survivors(msgspec.Struct, frozen=True):
    survivor: tuple[Survivor, ...] = ()


def population(packages: Sequence[str] = PACKAGES) -> list[Mutant]:
    enums = members(sorted((ROOT / "shoed").rglob("*.py")))
    found: list[Mutant] = []
    for file in sorted(file for each in packages for file in (ROOT / each).rglob("*.py")):
        name = str(file.relative_to(ROOT))
        if name not in FOR_PEOPLE:
            found += mutants(name, file.read_bytes(), enums)
    return found


def rank(seed: int, key: Key) -> bytes:
    """The rank of a mutant in a sample. It does not depend on other mutants."""
    return blake2b("\n".join((str(seed), *key)).encode(), digest_size=8).digest()


def tests() -> list[str]:
    """The files of the tests that judge the mutants: tests without a daemon."""
    files = [file for file in pure_tests() if file.name not in TOO_LONG and reaches(file, MUTATED)]
    files += [ROOT / "tests" / name for name in NOT_PURE]
    return sorted(str(file.relative_to(ROOT)) for file in files)


def executed_lines(items: Sequence[pytest.Item], imported: Mapping[str, frozenset[int]]) -> Measured:
    """The lines that each test executes: measured now, or cached by a run with the same files."""
    digest = blake2b()
    for file in sorted(file for each in READ for file in (ROOT / each).rglob("*.*") if file.suffix in SUFFIXES):
        digest.update(file.read_bytes())
    digest.update("\n".join(each.nodeid for each in items).encode())
    cache = CACHE / f"{digest.hexdigest()[:16]}.msgpack"
    if cache.exists():
        return msgspec.msgpack.decode(cache.read_bytes(), type=Measured)
    found = measured(items, PACKAGES, imported)
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.iterdir():
        old.unlink()
    cache.write_bytes(msgspec.msgpack.encode(found))
    return found


class Report:
    """The verdicts, compared with the list of survivors."""

    def __init__(self, known: Sequence[Survivor], population: Sequence[Mutant]) -> None:
        self.known = {each.key: each for each in known}
        self.counts: Counter[Verdict] = Counter()
        self.unknown = 0
        there = {each.key for each in population}
        self.stale = [each for each in self.known if each not in there]
        for key in self.stale:
            print(f"{shown(key)}\n  stale: no code has this mutant; remove the entry from {LIST}")

    def add(self, mutant: Mutant, verdict: Verdict) -> None:
        self.counts[verdict] += 1
        key, line = mutant.key, mutant.lines.start
        match verdict:
            case Verdict.SURVIVED if key not in self.known:
                self.unknown += 1
                entry = "\n".join(f"    {name} = {json.dumps(value)}" for name, value in key._asdict().items())
                print(f"{shown(key, line)}\n  survived: no test fails. Write a test that fails, or add to {LIST}:")
                print(f'    [[survivor]]\n{entry}\n    reason = ""', flush=True)
            case Verdict.KILLED if key in self.known:  # a time-out may be due to a slow machine
                self.stale.append(key)
                print(f"{shown(key, line)}\n  stale: a test kills it; remove the entry from {LIST}", flush=True)
            case _:
                pass

    def end(self, seconds: float) -> int:
        killed, survived = self.counts[Verdict.KILLED] + self.counts[Verdict.TIMED_OUT], self.counts[Verdict.SURVIVED]
        judged = killed + survived
        share = killed / judged if judged else 1.0
        known = survived - self.unknown
        print(
            f"{judged} mutants judged in {seconds:.0f} s: {killed} killed ({share:.1%}), "
            f"{self.counts[Verdict.TIMED_OUT]} of them by time-out; {survived} survived, {known} of them known"
        )
        if judged >= LARGE and share < BAR:
            print(f"fewer than {BAR:.0%} are killed; write tests for survivors that are listed as not tested")
            return 1
        return 1 if self.unknown or self.stale else 0


def shown(key: Key, line: int | None = None) -> str:
    where = key.module if line is None else f"{key.module}:{line}"
    return f"{where}: {key.function or 'module'}\n  - {key.before}\n  + {key.after}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev mutate", description="Judge mutants of the pure rooms.")
    parser.add_argument("--number", type=int, help="number of mutants (default: all)")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="time limit (default: %(default)g)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default: %(default)s)")
    parser.add_argument("--listed", action="store_true", help="judge only the mutants in the list of survivors")
    parser.add_argument("--only", default="", metavar="TEXT", help="judge only modules and functions with this text")
    asked = parser.parse_args(arguments)
    began = monotonic()
    every = population()
    known = msgspec.toml.decode(SURVIVORS.read_bytes(), type=Survivors).survivor
    listed = {each.key for each in known}
    wanted = [each for each in every if asked.only in f"{each.key.module} {each.key.function}"]
    wanted = [each for each in wanted if each.key in listed or not asked.listed]
    chosen = sorted(wanted, key=lambda each: rank(asked.seed, each.key))[: asked.number]
    report = Report(known, every)
    tracing = tracer(PACKAGES)  # of the lines that run at imports
    tracing.start()

    def use(items: Sequence[pytest.Item]) -> None:
        tracing.stop()
        found = executed_lines(items, lines_in(tracing.get_data()))
        print(f"{len(every)} mutants, {len(items)} tests, measured in {monotonic() - began:.0f} s", flush=True)
        for mutant, verdict in judge(chosen, items, found, began + asked.minutes * 60, asked.jobs):
            report.add(mutant, verdict)

    try:
        with_tests(tests(), use)
    except Misjudged as problem:
        print(f"./dev mutate: {problem}", file=sys.stderr)
        return 1
    return report.end(monotonic() - began)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
