"""The laws of the architecture, verified in the source: imports, vendor types, sizes, and the tests."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from shoed.cli import COMMANDS

ROOT: Final = Path(__file__).resolve().parent.parent

# Each room imports only rooms before it, and itself. The order is the table of rooms in docs/architecture.md.
TABLE: Final = (ROOT / "docs" / "architecture.md").read_text()
ORDER: Final = (
    "errors",
    "settings",
    "typed_json",
    *re.findall(r"^\| `(?:shoed/)?(\w+)(?:/|\.py)` \| .* \| .* \| .* \|$", TABLE, re.MULTILINE),
    "__main__",
)
PURE: Final = ORDER[: ORDER.index("engine") + 1]

# Modules for IO, clocks and random numbers.
IMPURE: Final = {
    *("asyncio", "concurrent", "multiprocessing", "select", "selectors", "signal", "socket", "ssl", "subprocess"),
    *("threading", "queue", "sqlite3", "serial", "usb", "aiomqtt", "paho", "time", "random", "secrets", "uuid"),
}
TYPED_JSON: Final = "shoed.typed_json"  # its lock changes no result
CLOCK_CALLS: Final = {"now", "today", "utcnow"}

VENDORS: Final = {
    "construct": ("firmware_protocols/",),
    "cryptography": ("shoed/ports/cipher.py", "shoed/journal/ed25519.py"),
    "aiomqtt": ("shoed/bus/",),
    "paho": ("shoed/bus/",),
    "serial": ("shoed/ports/",),
    "usb": ("shoed/ports/",),
    "sqlite3": ("shoed/journal/",),
}

# Functions in which a defect ends one task only: it is logged with its traceback, counted, and shown in the status.
TASK_BORDERS: Final = {
    ("shoed/service/desk.py", "run"),
    ("shoed/service/desk.py", "publish"),
    ("shoed/service/command_socket.py", "answer"),
    ("shoed/service/daemon.py", "reload"),
    ("shoed/service/reload.py", "run"),
    ("shoed/service/retention.py", "run"),
    ("shoed/service/verification.py", "run"),
    ("shoed/service/metrics/endpoint.py", "run"),
    ("shoed/service/metrics/endpoint.py", "page"),
    ("shoed/service/log.py", "emit"),
    ("shoed/journal/writer.py", "recorded"),
    ("shoed/ports/usb.py", "_run"),
}
# Functions that pass any error to their caller, or into the archive for support.
PASSED_ON: Final = {
    ("shoed/cli/bundle.py", "alone"),
    ("shoed/session/drivers.py", "load"),
    ("shoed/rig/family_kit/__init__.py", "__call__"),
    ("shoed/ports/threads.py", "run"),
    ("shoed/ports/inbox.py", "put"),
    ("shoed/journal/attempts.py", "attempt"),
    ("shoed/service/as_user.py", "_work_and_exit"),
}

# Tests that look repeatedly, within a time limit, because there is no event: for the queues of the kernel, for a closed
# port, for the end of a thread. And a shoe with draw gaps on the real clock.
POLLING: Final = {
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
        "requirements-dev.lock",
        "LICENSE",
        "dev",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "docs",
        "benchmarks",
        "packaging",
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
    """Every module that a file imports, also within functions."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(file)}:{node.lineno}: a relative import; write the full name"
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
    """Every module that a module imports, directly or through other modules."""
    seen: set[str] = set()
    todo = [module(start)]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in MODULES:
            todo += [each for each in imports(MODULES[current]) if (current, each) != (TYPED_JSON, "threading")]
    return frozenset(seen)


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(parsed(file)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def within(file: Path) -> Iterator[tuple[str, ast.AST]]:
    """Every node with the name of its innermost function."""
    todo: list[tuple[str, ast.AST]] = [("", parsed(file))]
    while todo:
        function, node = todo.pop()
        yield function, node
        inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        todo += [(inner, child) for child in ast.iter_child_nodes(node)]


def called(node: ast.Call) -> str:
    """The last name of the called expression."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_every_room_is_in_the_order() -> None:
    """Every room of the order exists."""
    assert {room(each) for each in MODULES} - {"shoed"} == set(ORDER)


@pytest.mark.parametrize("file", OURS, ids=name)
def test_a_room_imports_only_rooms_before_it(file: Path) -> None:
    """Data flows one way; imports within functions count, too."""
    allowed = {"shoed", *ORDER[: ORDER.index(room(module(file))) + 1]} if module(file) != "shoed" else {"shoed"}
    ours = {each for each in imports(file) if each in MODULES}
    assert {each for each in ours if room(each) not in allowed} == set()


@pytest.mark.parametrize("file", [file for file in OURS if room(module(file)) in PURE], ids=name)
def test_a_pure_room_has_no_io_clock_or_random_numbers(file: Path) -> None:
    """Imported modules have none either; a moment is an argument."""
    assert {each for each in reached(file) if root(each) in IMPURE} == set()
    assert [node.lineno for _, node in within(file) if isinstance(node, ast.Call) and called(node) in CLOCK_CALLS] == []


@pytest.mark.parametrize("file", [file for file in OURS if module(file) != TYPED_JSON], ids=name)
def test_one_module_makes_decoders(file: Path) -> None:
    """It has the lock for the first use of a type by two threads."""
    for _, node in within(file):
        if isinstance(node, ast.Call):
            typed = any(keyword.arg == "type" for keyword in node.keywords)
            text = ast.unparse(node.func)
            assert text not in {"msgspec.convert", "msgspec.json.Decoder", "msgspec.msgpack.Decoder"}, node.lineno
            assert not (typed and text in {"msgspec.json.decode", "msgspec.msgpack.decode"}), node.lineno


@pytest.mark.parametrize("file", files("firmware_protocols"), ids=name)
def test_a_family_is_data(file: Path) -> None:
    """It imports only construct and the standard library."""
    known = {"construct", "firmware_protocols", *sys.stdlib_module_names}
    assert {root(each) for each in imports(file)} <= known


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendor_stays_in_its_room(vendor: str) -> None:
    """No other room imports its types."""
    users = [name(file) for file in OURS if vendor in map(root, imports(file))]
    assert [user for user in users if not user.startswith(VENDORS[vendor])] == []


def test_errors_of_every_kind_are_caught_at_task_borders_only() -> None:
    """A broad except hides defects: it is allowed at the border of a task, or if it raises the error again."""
    broad = {
        (name(file), function)
        for file in OURS
        for function, node in within(file)
        if (isinstance(node, ast.ExceptHandler) and is_broad(node.type) and not ends_in_raise(node))
        or (isinstance(node, ast.Call) and called(node) == "suppress" and any(map(is_broad, node.args)))
    }
    assert broad == TASK_BORDERS | PASSED_ON


def test_a_task_border_logs_the_traceback() -> None:
    """`UnexpectedErrors` counts these lines."""
    logging = {
        (name(file), function)
        for file in OURS
        for function, node in within(file)
        if isinstance(node, ast.ExceptHandler) and is_broad(node.type) and any(map(is_traceback, ast.walk(node)))
    }
    assert logging >= TASK_BORDERS


def is_traceback(node: ast.AST) -> bool:
    """Whether this is `LOG.exception`."""
    return isinstance(node, ast.Attribute) and node.attr == "exception" and ast.unparse(node.value) == "LOG"


def is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(map(is_broad, caught.elts))
    return caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))


def ends_in_raise(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


@pytest.mark.parametrize("file", OURS, ids=name)
def test_the_size_of_a_module_is_limited(file: Path) -> None:
    """A pure module has at most 500 lines, any other module at most 450."""
    lines = len(file.read_text().splitlines())
    assert lines <= (LONGEST_PURE if room(module(file)) in PURE else LONGEST)


def public_types(file: Path) -> Iterator[str]:
    """The public classes of a module, and its named types."""
    for node in parsed(file).body:
        match node:
            case ast.ClassDef(name=found) | ast.AnnAssign(target=ast.Name(id=found)):
                pass
            case ast.Assign(targets=[ast.Name(id=found)]):
                pass
            case _:
                continue
        if found[0].isupper() and not found.isupper():
            yield found


def test_no_two_public_types_share_a_name() -> None:
    """A name has one meaning in the whole package."""
    places: dict[str, list[str]] = {}
    for file in OURS:
        for each in public_types(file):
            places.setdefault(each, []).append(name(file))
    assert {each: where for each, where in places.items() if len(where) > 1} == {}


def test_every_command_has_its_module() -> None:
    """The modules of the room `cli` are the commands, and what several commands share."""
    modules = {path.stem for path in (ROOT / "shoed" / "cli").iterdir() if path.name[0] not in "_."}
    assert modules == {*COMMANDS, "options", "parser"}


@pytest.mark.parametrize("file", files("shoed/table"), ids=name)
def test_the_table_room_has_small_parts(file: Path) -> None:
    """No function has more than 40 lines, and no struct of state more than 15 fields."""
    long = [each.name for each in functions(file) if (each.end_lineno or 0) - each.lineno >= LONGEST_FUNCTION]
    structs = [each for each in ast.walk(parsed(file)) if isinstance(each, ast.ClassDef) and each.name not in PUBLISHED]
    wide = [each.name for each in structs if sum(isinstance(field, ast.AnnAssign) for field in each.body) > MOST_FIELDS]
    assert (long, wide) == ([], [])


@pytest.mark.parametrize("file", [*OURS, *TESTS, *files("docs", "benchmarks"), ROOT / "dev"], ids=name)
def test_a_module_has_a_docstring(file: Path) -> None:
    """The docstring states the purpose of the module."""
    assert ast.get_docstring(parsed(file))


@pytest.mark.parametrize("file", TESTS, ids=name)
def test_a_test_has_a_docstring(file: Path) -> None:
    """The docstring states the behaviour."""
    tests = [function for function in functions(file) if function.name.startswith("test_")]
    assert [function.name for function in tests if not ast.get_docstring(function)] == []


def test_a_test_never_sleeps() -> None:
    """A test advances the time or waits for an event; one turn of the loop is not a sleep."""
    sleeping = {
        (name(file), function)
        for file in TESTS
        for function, node in within(file)
        if isinstance(node, ast.Call) and called(node) == "sleep" and not is_zero(node.args)
    }
    assert sleeping == POLLING


def is_zero(arguments: list[ast.expr]) -> bool:
    return len(arguments) == 1 and isinstance(arguments[0], ast.Constant) and arguments[0].value == 0


@pytest.mark.parametrize("file", TESTS, ids=name)
def test_a_test_replaces_no_code_of_shoed(file: Path) -> None:
    """Tests use the real rooms or the rig. A test may change a constant, such as a time limit."""
    assert "unittest.mock" not in set(imports(file))
    assert [node.lineno for _, node in within(file) if isinstance(node, ast.Call) and replaces_code(node)] == []


def replaces_code(call: ast.Call) -> bool:
    target = call.args[0] if called(call) == "setattr" and call.args else None
    if not isinstance(target, ast.Constant) or not str(target.value).startswith(("shoed", "firmware_protocols")):
        return False
    return not str(target.value).rpartition(".")[2].isupper()


def test_the_foreign_shoe_shares_no_code_with_shoed() -> None:
    """It sends literal bytes: an error of shoed cannot be in both ends of a test."""
    assert {root(each) for each in imports(ROOT / "tests" / "foreign_shoe.py")} <= sys.stdlib_module_names


def test_the_top_of_the_tree_is_fixed() -> None:
    """Tools and readers look for each of these at the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert {path.partition("/")[0] for path in listed.stdout.splitlines() if (ROOT / path).exists()} == TOP
