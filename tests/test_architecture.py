"""The laws of the house, read from the source itself: who imports whom, what stays in its room, how tests behave."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent

# Each room imports only what stands before it, and itself.
ORDER: Final = (
    *(
        "firmware_protocols",
        "errors",
        "settings",
        "cards",
        "now",
        "words",
        "observations",
        "commands",
        "findings",
        "kept",
        "device_events",
        "events",
        "step",
        "telling",
    ),
    *("wire", "session", "watch", "rules", "table", "engine"),
    *(
        "drivers",
        "ports",
        "journal",
        "bus",
        "contract",
        "telling_page",
        "display",
        "device_config",
        "config",
        "decode",
        "rig",
        "conform",
        "capturing",
        "audit",
        "audit_answer",
        "audit_given",
        "audit_table",
        "watchdog",
        "brief",
        "log",
        "ear",
        "daemon",
        "playing",
        "record",
        "demo",
    ),
    *("cli", "__main__"),
)
PURE: Final = ORDER[: ORDER.index("engine") + 1]

# Nothing that touches the world, keeps a clock or throws dice.
IMPURE: Final = {
    *("asyncio", "concurrent", "multiprocessing", "select", "selectors", "signal", "socket", "ssl", "subprocess"),
    *("threading", "queue", "sqlite3", "serial", "usb", "aiomqtt", "paho", "time", "random", "secrets", "uuid"),
}
CLOCK_CALLS: Final = {"now", "today", "utcnow"}

VENDORS: Final = {
    "construct": ("firmware_protocols/",),
    "cryptography": ("shoed/ports/cipher.py",),
    "aiomqtt": ("shoed/bus/", "shoed/display/subscriber.py"),
    "paho": ("shoed/bus/", "shoed/display/subscriber.py"),
    "serial": ("shoed/ports/",),
    "usb": ("shoed/ports/",),
    "sqlite3": ("shoed/journal/",),
}

# Where a fault of ours ends one task and not its neighbours: logged, counted, and seen in the status.
TASK_BORDERS: Final = {("shoed/daemon.py", "run"), ("shoed/daemon.py", "publish"), ("shoed/journal/writer.py", "run")}
# Where whatever it is belongs to somebody else: a thread hands it to its caller, or undoes what nobody waits for.
HANDED_ON: Final = {
    ("shoed/drivers.py", "load"),
    ("shoed/rig/conformance/__init__.py", "__call__"),
    ("shoed/ports/threads.py", "run"),
    ("shoed/ports/threads.py", "finish"),
}

# Tests that look again and again, within a time limit, for what nobody tells: the kernel's queues, a port that is
# no longer served, a thread that lets go. And a shoe whose cards come apart or together, by a real clock.
LOOKS: Final = {
    ("tests/brokers.py", "cancel_at_every_await"),
    ("tests/foreign_shoe.py", "taken"),
    ("tests/test_broker.py", "until_refused"),
    ("tests/test_e2e_scenarios.py", "pause"),
}

LONGEST_PURE: Final = 500
LONGEST: Final = 450
LONGEST_FUNCTION: Final = 40  # lines, in the table room
MOST_FIELDS: Final = 15  # of a struct of state there; published payloads keep their fields
PUBLISHED: Final = {"PublicQuestion"}

TOP: Final = {
    *("pyproject.toml", "README.md", "shoed", "firmware_protocols", "udev", "systemd", "tests"),
    *(
        "requirements.lock",
        "LICENSE",
        "dev",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "docs",
        "benchmarks",
        ".ci",
        ".github",
        ".gitignore",
    ),
}


def files(*folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


OURS: Final = files("shoed", "firmware_protocols")
FROZEN: Final = ROOT / "tests" / "oracle"  # a copy of an old engine, never edited
TESTS: Final = [file for file in files("tests") if FROZEN not in file.parents]


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES: Final = {module(file): file for file in OURS}


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes())


def imports(file: Path) -> Iterator[str]:
    """Every module that is imported anywhere in a file, as deep as it is one of ours."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(file)}:{node.lineno}: a relative import hides where it leads"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else str(node.module)


def room(of: str) -> str:
    first, _, rest = of.partition(".")
    return rest.split(".")[0] if first == "shoed" and rest else first


def root(of: str) -> str:
    return of.partition(".")[0]


@cache
def reached(start: Path) -> frozenset[str]:
    """All that comes in with a module: what it imports, and what that imports in turn."""
    seen: set[str] = set()
    todo = [module(start)]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in MODULES:
            todo += imports(MODULES[current])
    return frozenset(seen)


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(parsed(file)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def within(file: Path) -> Iterator[tuple[str, ast.AST]]:
    """Every node with the name of the innermost function that holds it."""
    todo: list[tuple[str, ast.AST]] = [("", parsed(file))]
    while todo:
        function, node = todo.pop()
        yield function, node
        inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        todo += [(inner, child) for child in ast.iter_child_nodes(node)]


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_every_room_has_its_place() -> None:
    """A new room is put into the order before it is built; no place is kept for one that is gone."""
    assert {room(each) for each in MODULES} - {"shoed"} == set(ORDER)


@pytest.mark.parametrize("file", OURS, ids=name)
def test_a_room_imports_only_what_stands_before_it(file: Path) -> None:
    """Data walks one way; imports within functions count like any other."""
    allowed = {"shoed", *ORDER[: ORDER.index(room(module(file))) + 1]} if module(file) != "shoed" else {"shoed"}
    ours = {each for each in imports(file) if each in MODULES}
    assert {each for each in ours if room(each) not in allowed} == set()


@pytest.mark.parametrize("file", [file for file in OURS if room(module(file)) in PURE], ids=name)
def test_a_pure_room_touches_nothing(file: Path) -> None:
    """No IO, no clock, no dice, not even through what it imports; a moment is given to it, never asked for."""
    assert {each for each in reached(file) if root(each) in IMPURE} == set()
    assert [node.lineno for _, node in within(file) if isinstance(node, ast.Call) and called(node) in CLOCK_CALLS] == []


@pytest.mark.parametrize("file", files("firmware_protocols"), ids=name)
def test_a_family_is_data(file: Path) -> None:
    """It needs construct and the standard library, and nothing else."""
    known = {"construct", "firmware_protocols", *sys.stdlib_module_names}
    assert {root(each) for each in imports(file)} <= known


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendor_stays_in_its_room(vendor: str) -> None:
    """Nobody else can as much as name its types."""
    users = [name(file) for file in OURS if vendor in map(root, imports(file))]
    assert [user for user in users if not user.startswith(VENDORS[vendor])] == []


def test_errors_of_every_kind_are_caught_at_task_borders_only() -> None:
    """A broad except hides defects: it stands where a task ends, or lets the error go on."""
    broad = {
        (name(file), function)
        for file in OURS
        for function, node in within(file)
        if (isinstance(node, ast.ExceptHandler) and is_broad(node.type) and not ends_in_raise(node))
        or (isinstance(node, ast.Call) and called(node) == "suppress" and any(map(is_broad, node.args)))
    }
    assert broad == TASK_BORDERS | HANDED_ON


def is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(map(is_broad, caught.elts))
    return caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))


def ends_in_raise(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


@pytest.mark.parametrize("file", OURS, ids=name)
def test_a_module_has_a_size_that_can_be_read(file: Path) -> None:
    """A pure one past 500 lines is two modules; any other past 450."""
    lines = len(file.read_text().splitlines())
    assert lines <= (LONGEST_PURE if room(module(file)) in PURE else LONGEST)


@pytest.mark.parametrize("file", files("shoed/table"), ids=name)
def test_the_table_room_has_small_parts(file: Path) -> None:
    """No function has more than 40 lines, and no struct of state more than 15 fields."""
    long = [each.name for each in functions(file) if (each.end_lineno or 0) - each.lineno >= LONGEST_FUNCTION]
    structs = [each for each in ast.walk(parsed(file)) if isinstance(each, ast.ClassDef) and each.name not in PUBLISHED]
    wide = [each.name for each in structs if sum(isinstance(field, ast.AnnAssign) for field in each.body) > MOST_FIELDS]
    assert (long, wide) == ([], [])


@pytest.mark.parametrize("file", [*OURS, *TESTS, *files("docs", "benchmarks"), ROOT / "dev"], ids=name)
def test_a_module_says_what_it_is_for(file: Path) -> None:
    """Its first words are for whoever opens it."""
    assert ast.get_docstring(parsed(file))


@pytest.mark.parametrize("file", TESTS, ids=name)
def test_a_test_says_which_behaviour_it_is_about(file: Path) -> None:
    """The tests are the specification: each has a sentence."""
    tests = [function for function in functions(file) if function.name.startswith("test_")]
    assert [function.name for function in tests if not ast.get_docstring(function)] == []


def test_a_test_never_sleeps() -> None:
    """It advances the time, or waits for the event itself; to let the loop go round once is no sleep."""
    slept = {
        (name(file), function)
        for file in TESTS
        for function, node in within(file)
        if isinstance(node, ast.Call) and called(node) == "sleep" and not is_zero(node.args)
    }
    assert slept == LOOKS


def is_zero(arguments: list[ast.expr]) -> bool:
    return len(arguments) == 1 and isinstance(arguments[0], ast.Constant) and arguments[0].value == 0


@pytest.mark.parametrize("file", TESTS, ids=name)
def test_nothing_of_ours_is_replaced_in_a_test(file: Path) -> None:
    """The real room, or the rig: what a mock proves is true of the mock. A time limit may be made shorter."""
    assert "unittest.mock" not in set(imports(file))
    assert [node.lineno for _, node in within(file) if isinstance(node, ast.Call) and replaces_ours(node)] == []


def replaces_ours(call: ast.Call) -> bool:
    target = call.args[0] if called(call) == "setattr" and call.args else None
    if not isinstance(target, ast.Constant) or not str(target.value).startswith(("shoed", "firmware_protocols")):
        return False
    return not str(target.value).rpartition(".")[2].isupper()


def test_the_foreign_shoe_shares_nothing_with_us() -> None:
    """It speaks from literal bytes, so that both ends of a test cannot be wrong together."""
    assert {root(each) for each in imports(ROOT / "tests" / "foreign_shoe.py")} <= sys.stdlib_module_names


def test_the_top_of_the_tree_is_fixed() -> None:
    """What is at the root is there because a tool or a stranger looks for it there."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert {path.partition("/")[0] for path in listed.stdout.splitlines() if (ROOT / path).exists()} == TOP
