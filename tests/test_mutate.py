"""The mutation tool: its mutants, its verdicts, and its list of survivors."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.mutate.__main__ import Report, Survivor, population, rank
from tests.mutate.judge import ROOT, Verdict
from tests.mutate.mutants import Key, Mutant, mutants

MODULE: Final = '''\
"""A docstring."""
from typing import Final

MOST: Final = 3
NEVER_USED: Final = 5


def few(number: int, *, strict: bool = False) -> bool:
    """Whether there are few."""
    if strict:
        return number < MOST
    return number <= MOST


def never_tested(number: int) -> int:
    return number + 1
'''
TESTS: Final = """\
from {package}.module import few

def test_few() -> None:
    assert [few(each) for each in (2, 3, 4)] == [True, True, False]
    assert [few(each, strict=True) for each in (2, 3)] == [True, False]
"""
ENDLESS: Final = """\
def down(number: int) -> int:
    while number > 0:
        number -= 1
    return number
"""
RUN: Final = """\
import sys
from pathlib import Path
from tests.mutate import judge
from tests.mutate.mutants import mutants
judge.ROOT = Path(sys.argv[1])
sys.path.insert(0, sys.argv[1])
judge.OURS = (*judge.OURS, "made", "test_made")
tracing = judge.tracer(["made"])
tracing.start()
def use(items):
    tracing.stop()
    found = judge.measured(items, ["made"], judge.lines_in(tracing.get_data()))
    every = mutants("made/module.py", Path(sys.argv[1], "made/module.py").read_bytes(), {})
    for mutant, verdict in judge.judge(every, items, found, judge.monotonic() + 60, 1):
        print(verdict.name, mutant.key.function, mutant.key.after, sep="|")
judge.with_tests(["test_made.py"], use)
"""


def verdicts(tmp_path: Path, module: str, tests: str) -> set[tuple[str, ...]]:
    """The verdict, the function and the text of every mutant of a module that a test file imports."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "module.py").write_text(module)
    (tmp_path / "test_made.py").write_text(tests)
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return {tuple(line.split("|")) for line in ran.stdout.splitlines() if "|" in line}


def keys(source: str) -> set[tuple[str, str]]:
    return {
        (each.key.before, each.key.after) for each in mutants("module.py", source.encode(), {"Hue": ("RED", "BLUE")})
    }


def first_mutant() -> Mutant:
    return population()[0]


# --- mutants


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        ("def f(a, b): return a < b", "return a < b", "return a <= b"),
        ("def f(a, b): return a and b", "return a and b", "return a or b"),
        ("def f(a, b): return a and b", "return a and b", "return a"),
        ("def f(a): return not a", "return not a", "return a"),
        ("def f(a): return a[1:]", "return a[1:]", "return a[:]"),
        ("def f(a): return g(a, at=2)", "return g(a, at=2)", "return g(a)"),
        ("def f(a): return g(a, at=2)", "return g(a, at=2)", "return g(a, at=3)"),
        ("def f(a): return Hue.RED", "return Hue.RED", "return Hue.BLUE"),
        ("def f(a): return (*a, 1)", "return (*a, 1)", "return (1,)"),
        ("def f(a) -> bool: return a", "return a", "return not a"),
        ("def f(a):\n if a:\n  g()", "if a:", "if False:"),
        ("def f(a):\n if a:\n  g()", "g()", "pass"),
        ("def f(a):\n a = 1\n return a", "a = 1", "pass"),
        ("def f(a):\n match a:\n  case 1: g()\n  case _: h()", "case 1:", ""),
        ("T = {1: 2, 3: 4}", "T = {1: 2, 3: 4}", "T = {1: 2}"),
    ],
)
def test_code_has_mutants(source: str, before: str, after: str) -> None:
    """Operators, conditions, arguments, statements and rows of tables are changed or removed."""
    assert (before, after) in keys(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Text."""',
        "def f(a: Annotated[int, 1]) -> Literal[True]: 'text'",
        "class A(Struct, frozen=True): a: tuple[int, Literal[1]]",
        "Group = Side | tuple[int, Literal[1]]",
        "def f(a): evidence = f'{a + 1} cards'",
        "def f(a): assert_never(a)",
    ],
)
def test_texts_and_types_have_no_mutants(source: str) -> None:
    """Annotations, docstrings, declarations of structs and messages are not changed."""
    assert keys(source) == set()


def test_the_identity_of_a_mutant_does_not_depend_on_other_code() -> None:
    """Lines above a function may change; its mutants keep their keys and their order in a sample."""
    after = {each.key for each in mutants("m.py", f"X = 7\n\n\n{MODULE}".encode(), {})}
    before = {each.key for each in mutants("m.py", MODULE.encode(), {})}
    assert before < after
    assert sorted(before, key=lambda key: rank(1, key)) == [
        key for key in sorted(after, key=lambda key: rank(1, key)) if key in before
    ]
    assert sorted(before, key=lambda key: rank(1, key)) != sorted(before, key=lambda key: rank(2, key))


# --- verdicts


def test_mutants_are_killed_by_a_test_that_fails_and_survive_otherwise(tmp_path: Path) -> None:
    """Tested lines have no survivor, at module level too; a function that no test calls has survivors only."""
    found = verdicts(tmp_path, MODULE, TESTS.format(package="made"))
    assert ("KILLED", "few", "return number <= MOST") in found
    assert ("KILLED", "", "MOST: Final = 4") in found
    survivors = {(function, after) for verdict, function, after in found if verdict == "SURVIVED"}
    assert survivors == {
        ("", "NEVER_USED: Final = 6"),
        ("never_tested", "return number - 1"),
        ("never_tested", "return number + 2"),
        ("never_tested", "return None"),
    }


def test_an_endless_loop_ends(tmp_path: Path) -> None:
    """A test that needs far more time than without the mutant counts as a failure."""
    found = verdicts(tmp_path, ENDLESS, "from made.module import down\ndef test_down(): assert down(2) == 0\n")
    assert ("TIMED_OUT", "down", "number += 1") in found


# --- the list of survivors


def test_a_known_survivor_is_accepted() -> None:
    """A survivor in the list does not fail the command."""
    mutant = first_mutant()
    report = Report([Survivor(*mutant.key, "equivalent")], [mutant])
    report.add(mutant, Verdict.SURVIVED)
    assert report.end(1) == 0


def test_an_unknown_survivor_fails_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the place, the change, and an entry for the list."""
    mutant = first_mutant()
    report = Report([], [mutant])
    report.add(mutant, Verdict.SURVIVED)
    assert report.end(1) == 1
    printed = capsys.readouterr().out
    assert f"{mutant.key.module}:{mutant.lines.start}" in printed
    assert f"+ {mutant.key.after}" in printed
    assert "[[survivor]]" in printed


@pytest.mark.parametrize(("verdict", "status"), [(Verdict.KILLED, 1), (Verdict.TIMED_OUT, 0)])
def test_an_entry_whose_mutant_is_killed_is_stale(
    verdict: Verdict, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A later test kills the mutant, so the entry must be removed. A time-out may be due to a slow machine."""
    mutant = first_mutant()
    report = Report([Survivor(*mutant.key, "not tested")], [mutant])
    report.add(mutant, verdict)
    assert report.end(1) == status
    assert ("stale: a test kills it" in capsys.readouterr().out) is bool(status)


def test_an_entry_without_code_is_stale(capsys: pytest.CaptureFixture[str]) -> None:
    """The code of an entry was changed or removed."""
    report = Report([Survivor("shoed/table/none.py", "f", "a", "b", "equivalent")], [])
    assert report.end(1) == 1
    assert "stale: no code has this mutant" in capsys.readouterr().out


def test_a_large_sample_fails_below_97_percent_of_killed_mutants() -> None:
    """The tests must kill at least 97 % of a thousand mutants, even if the list explains every survivor."""
    mutant = first_mutant()
    known = [Survivor(*mutant.key, "equivalent")]
    for survivors, status in ((30, 0), (31, 1)):
        report = Report(known, [mutant])
        for at in range(1000):
            other = mutant._replace(key=Key("shoed/table/line.py", "", "a", str(at)))
            report.add(*((mutant, Verdict.SURVIVED) if at < survivors else (other, Verdict.KILLED)))
        assert report.end(1) == status
