"""The verdicts on mutants: each mutant runs in its own process, with the tests that execute its lines.

Theory of operation: pytest imports and collects all tests once. One forked process runs all tests under coverage and
records the lines that each test executes. Then one process is forked for each mutant. A mutant inside a function
replaces the code of that function. For a mutant of code that runs at imports, the process imports all modules again,
with the mutated module. The fastest tests run first, and the first failure ends the process.
"""

import ast
import gc
import os
import re
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum, auto
from functools import cache
from importlib.machinery import SourceFileLoader
from itertools import chain
from pathlib import Path
from time import monotonic, process_time
from types import CodeType, FunctionType
from typing import Final, NoReturn

import coverage
import hypothesis
import msgspec
import pytest
from _pytest.runner import runtestprotocol

from tests.mutate.mutants import Mutant, applied

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PROFILE: Final = "mutate"
SLOWER: Final = 5  # a test with more than 5 times its processor time under coverage is in an endless loop
SECONDS_MORE: Final = 2
SECONDS_IMPORTING: Final = 60
MEMORY: Final = 2 << 30
SHORTEST: Final = 0.01  # seconds: 0 would disable the timer
OURS: Final = ("shoed", "firmware_protocols", "tests", "docs", "example_shoe")
SURVIVED: Final = 0
KILLED: Final = 1
BROKEN: Final = 2  # the mutant could not be tried


class Verdict(Enum):
    KILLED = auto()
    TIMED_OUT = auto()  # counts as killed
    SURVIVED = auto()
    NOT_JUDGED = auto()  # the time limit has passed


class Misjudged(Exception):
    """The tests give no verdict on a mutant."""


class Measured(msgspec.Struct, frozen=True):
    """The lines that the tests execute."""

    names: tuple[str, ...]  # of the tests; other fields refer to a test by its position here
    seconds: tuple[float, ...]  # under coverage
    tests: dict[str, dict[int, tuple[int, ...]]]  # by module and line
    imported: dict[str, frozenset[int]]  # lines that run while modules are imported, or while a cache is filled


def with_tests(files: Sequence[str], use: Callable[[Sequence[pytest.Item]], None]) -> None:
    """Collect the tests of these files, and call `use` instead of running them."""
    problems = [Misjudged("the tests cannot be collected; run ./dev coverage and correct what fails")]

    class Collected:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            if session.items and not session.testsfailed:
                problems.clear()
                try:
                    use(session.items)
                except Misjudged as problem:
                    problems.append(problem)
            return True

    # One failure is sufficient: hypothesis does not shrink it.
    phases = hypothesis.Phase.explicit, hypothesis.Phase.generate
    hypothesis.settings.register_profile(PROFILE, hypothesis.settings.get_profile("ci"), phases=phases)
    imported = "-W", "ignore::pytest.PytestAssertRewriteWarning"  # hypothesis, above
    quiet = "-qq", "--no-header", "--no-summary", "--capture=no"
    pytest.main(
        [*quiet, *imported, f"--hypothesis-profile={PROFILE}", "-m", "not exhaustive", *files], plugins=[Collected()]
    )
    for problem in problems:
        raise problem


def passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    return not any(each.failed for each in runtestprotocol(item, nextitem=following, log=False))


def all_pass(items: Sequence[pytest.Item], seconds: Sequence[float]) -> bool:
    """Whether all tests pass; the first failure ends the run. The timer ends the process of an endless test."""
    for item, following, usual in zip(items, (*items[1:], None), seconds, strict=True):
        signal.setitimer(signal.ITIMER_PROF, usual * SLOWER + SECONDS_MORE)
        if not passes(item, following):
            return False
    return True


@contextmanager
def own_process() -> Iterator[None]:
    """The forked process ends here with an error, unless it ended before."""
    try:
        yield
    except BaseException:  # noqa: BLE001  # the fork must not continue as its parent
        traceback.print_exc()
    os._exit(BROKEN)


# --- the lines that tests execute


def tracer(packages: Sequence[str]) -> coverage.Coverage:
    return coverage.Coverage(data_file=None, config_file=False, include=[f"{ROOT / each}/*" for each in packages])


def lines_in(data: coverage.CoverageData) -> dict[str, frozenset[int]]:
    files = {str(Path(file).relative_to(ROOT)): file for file in data.measured_files()}
    return {name: frozenset(data.lines(file) or ()) for name, file in files.items()}


def measured(items: Sequence[pytest.Item], packages: Sequence[str], imported: Mapping[str, frozenset[int]]) -> Measured:
    """Run all tests once in another process, so that caches of this process stay empty."""
    with tempfile.NamedTemporaryFile() as file:
        if not os.fork():
            with own_process():
                Path(file.name).write_bytes(msgspec.msgpack.encode(traced(items, tracer(packages), imported)))
                os._exit(SURVIVED)
        if os.wait()[1]:
            raise Misjudged("the tests fail without any mutant; run ./dev coverage and correct what fails")
        return msgspec.msgpack.decode(Path(file.name).read_bytes(), type=Measured)


def traced(
    items: Sequence[pytest.Item], tracing: coverage.Coverage, imported: Mapping[str, frozenset[int]]
) -> Measured:
    from shoed.rules.load import GAMES, book  # noqa: PLC0415 -- its import is traced where tests are collected

    seconds: list[float] = []
    tracing.start()
    for game in GAMES:
        book(game)
    for at, (item, following) in enumerate(zip(items, (*items[1:], None), strict=True)):
        tracing.switch_context(str(at))
        began = process_time()
        if not passes(item, following):
            raise Misjudged(item.nodeid)
        seconds.append(process_time() - began)
    tracing.stop()
    data = tracing.get_data()
    tests: dict[str, dict[int, tuple[int, ...]]] = {}
    early: dict[str, frozenset[int]] = {}
    for file in data.measured_files():
        name = str(Path(file).relative_to(ROOT))
        by_line = data.contexts_by_lineno(file)
        tests[name] = {line: tuple(map(int, filter(None, each))) for line, each in by_line.items()}
        early[name] = frozenset(line for line, each in by_line.items() if "" in each)
    modules = {*early, *imported}
    none: frozenset[int] = frozenset()
    lines = {name: early.get(name, none) | imported.get(name, none) for name in modules}
    return Measured(tuple([each.nodeid for each in items]), tuple(seconds), tests, lines)


def tests_for(mutant: Mutant, found: Measured) -> list[int]:
    """The tests that execute the mutated lines, the fastest tests of each file first.

    Code that runs at an import, or fills a cache, affects every test. Then the tests that execute a line with the name
    are first, and all other tests are next.
    """
    module = mutant.key.module
    direct = set(chain.from_iterable(found.tests.get(module, {}).get(line, ()) for line in mutant.lines))
    others: set[int] = set()
    if at_import(mutant, found) or "from functools import" in (ROOT / module).read_text():
        word = re.compile(rf"\b({'|'.join(mutant.names)})\b")
        for name, by_line in found.tests.items() if mutant.names else ():
            lines = (ROOT / name).read_text().splitlines()
            direct.update(*(tests for line, tests in by_line.items() if word.search(lines[line - 1])))
        others = {*range(len(found.names))} - direct
    return [*in_turn(direct, found), *in_turn(others, found)]


def in_turn(tests: set[int], found: Measured) -> list[int]:
    """One test of each file, then the next test of each file: many cases of one behaviour do not delay other tests."""
    turns: Counter[str] = Counter()
    order: list[tuple[int, float, int]] = []
    for each in sorted(tests, key=found.seconds.__getitem__):
        file = found.names[each].partition("::")[0]
        turns[file] += 1
        order.append((turns[file], found.seconds[each], each))
    return [each for _, _, each in sorted(order)]


def at_import(mutant: Mutant, found: Measured) -> bool:
    return not set(mutant.lines).isdisjoint(found.imported.get(mutant.key.module, ()))


# --- one mutant


def judge(
    mutants: Sequence[Mutant], items: Sequence[pytest.Item], found: Measured, ends: float, jobs: int
) -> Iterator[tuple[Mutant, Verdict]]:
    functions()  # once, for all processes
    gc.collect()
    gc.freeze()  # the memory stays shared with the forked processes
    running: dict[int, Mutant] = {}
    for mutant in mutants:
        if monotonic() > ends:
            break
        tests = tests_for(mutant, found)
        if not tests:
            yield mutant, Verdict.SURVIVED
            continue
        if len(running) == jobs:
            yield ended(running)
        sys.stdout.flush()
        if pid := os.fork():
            running[pid] = mutant
        else:
            with own_process():
                signal.setitimer(signal.ITIMER_REAL, max(ends - monotonic(), SHORTEST))
                try_tests(mutant, tests, items, found)
    while running:
        yield ended(running)


def ended(running: dict[int, Mutant]) -> tuple[Mutant, Verdict]:
    pid, status = os.wait()
    mutant, signalled = running.pop(pid), os.WIFSIGNALED(status)
    match os.WTERMSIG(status) if signalled else os.WEXITSTATUS(status):
        case signal.SIGALRM if signalled:
            return mutant, Verdict.NOT_JUDGED
        case signal.SIGPROF if signalled:
            return mutant, Verdict.TIMED_OUT
        case code if signalled or code == KILLED:
            return mutant, Verdict.KILLED
        case code if code == SURVIVED:
            return mutant, Verdict.SURVIVED
        case _:
            raise Misjudged(f"this mutant cannot be tried; correct tests/mutate: {mutant.key}")


def try_tests(mutant: Mutant, tests: Sequence[int], items: Sequence[pytest.Item], found: Measured) -> NoReturn:
    """Run as the process of a mutant; the exit status is the verdict."""
    file, seconds = str(ROOT / mutant.key.module), [found.seconds[each] for each in tests]
    with applied(mutant.place):
        code = compile(ast.fix_missing_locations(mutant.tree), file, "exec")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.dup2(silence, sys.stderr.fileno())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if not at_import(mutant, found) and replaced(file, code):
        os._exit(SURVIVED if all_pass([items[each] for each in tests], seconds) else KILLED)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_IMPORTING)
    import_again(file, code)
    wanted = [found.names[each] for each in tests]

    def again(items: Sequence[pytest.Item]) -> None:
        by_name = {each.nodeid: each for each in items}
        there = wanted if by_name.keys() >= {*wanted} else []
        os._exit(SURVIVED if there and all_pass([by_name[each] for each in there], seconds) else KILLED)

    with suppress(Misjudged):
        with_tests(sorted({name.partition("::")[0] for name in wanted}), again)
    os._exit(KILLED)  # the mutated module cannot be imported


@cache
def functions() -> Mapping[str, Sequence[FunctionType]]:
    """All functions of the process, by their files."""
    found = defaultdict[str, list[FunctionType]](list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            found[each.__code__.co_filename].append(each)
    return found


def replaced(file: str, code: CodeType) -> bool:
    """Replace the code of a module's functions by that of the mutant. False: the module must be imported again."""
    new = {(each.co_qualname, each.co_firstlineno): each for each in inner(code)}
    changes = 0
    for function in functions().get(file, ()):
        old = function.__code__
        after = new.get((old.co_qualname, old.co_firstlineno), old)
        if after.co_freevars != old.co_freevars:
            return False
        changes += after != old
        function.__code__ = after
    return changes > 0


def inner(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from inner(each)


def import_again(file: str, code: CodeType) -> None:
    """Remove all modules of the project, so that the next import uses this code for one of them."""
    for name in list(sys.modules):
        if name.partition(".")[0] in OURS and not name.startswith("tests.mutate"):
            del sys.modules[name]
    usual = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return code if loader.path == file else usual(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]
